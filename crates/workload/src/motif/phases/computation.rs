//! The time of a computation, as a function of its phase, the rank and the number of the draw.

use config::{Duration, Error, Section};

use crate::Imbalance;
use crate::imbalance::{FRACTION_BITS, deviated};
use crate::motif::parameters::pause_of;
use crate::traffic::{SplitMix, TrafficRandom, minus_ln};

/// Fractional bits of [`minus_ln`].
const LOGARITHM_BITS: u32 = 58;

/// Largest standard deviation of a normal distribution, as a fraction of its mean.
const MAX_NORMAL_VARIATION: f64 = 0.5;

/// Distribution of the times of one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Distribution {
    /// The rank's mean.
    Fixed,
    /// All times from the mean less a fraction of it to the mean plus that, with equal probability; the fraction has
    /// [`FRACTION_BITS`] fractional bits.
    Uniform(u64),
    /// The normal distribution, truncated at zero; its standard deviation is this fraction of the mean, with
    /// [`FRACTION_BITS`] fractional bits.
    Normal(u64),
    /// Exponential.
    Exponential,
}

/// A computation of every rank.
#[derive(Clone, Copy, Debug)]
pub(super) struct Computation {
    mean_ps: u64,
    imbalance: Imbalance,
    distribution: Distribution,
}

impl Computation {
    /// Reads the keys of a phase that computes for `mean`.
    pub(super) fn read(section: &Section, mean: Duration) -> Result<Computation, Error> {
        let distribution = match section.choice("distribution")? {
            "uniform" => Distribution::Uniform(fraction(section, "variation", 1.0)?),
            "normal" => Distribution::Normal(fraction(section, "variation", MAX_NORMAL_VARIATION)?),
            "exponential" => Distribution::Exponential,
            _ => Distribution::Fixed,
        };
        Ok(Computation {
            mean_ps: pause_of(section, mean)?,
            imbalance: imbalance(section)?,
            distribution,
        })
    }

    /// Whether it takes no time.
    pub(super) fn is_free(&self) -> bool {
        self.mean_ps == 0
    }

    /// Whether its time depends on the number of the draw.
    pub(super) fn is_drawn(&self) -> bool {
        self.distribution != Distribution::Fixed
    }

    /// Picoseconds for a rank in draw number `draw`.
    pub(super) fn ps(&self, rank: u32, draw: u64) -> u64 {
        let (mean, mut random) = self.imbalance.and_stream(self.mean_ps, rank);
        let mut next = || SplitMix(random.next_u64().wrapping_add(draw)).next_u64();
        match self.distribution {
            Distribution::Fixed => mean,
            Distribution::Uniform(variation) => deviated(mean, variation, next()),
            Distribution::Normal(variation) => normal(mean, variation, next),
            Distribution::Exponential => {
                let ps = (u128::from(mean) * u128::from(minus_ln(next()))) >> LOGARITHM_BITS;
                u64::try_from(ps).unwrap_or(u64::MAX)
            }
        }
    }
}

/// A time of mean `ps`, whose standard deviation is the fraction of it: at most [`MAX_NORMAL_VARIATION`], so that
/// truncation at zero raises the mean by 0.42 % at most.
///
/// The deviation is the sum of twelve uniform numbers, whose variance is 1 (M. E. Muller, *A comparison of methods for
/// generating normal deviates on digital computers*, J. ACM 6, 1959): at most six standard deviations.
fn normal(ps: u64, fraction: u64, mut next: impl FnMut() -> u64) -> u64 {
    // Each number from 0 to 2^32 - 1 has the mean 2^31 - 1/2. Their sum has the variance 2^64 - 1.
    let mut sum = 6 - 6 * (1i128 << 32);
    for _ in 0..6 {
        let two = next();
        sum += i128::from(two >> 32) + i128::from(two & u64::from(u32::MAX));
    }
    // At most 2^62, times less than 2^35.
    let deviation = (i128::from(ps) * i128::from(fraction)) >> FRACTION_BITS;
    let deviation = (deviation * sum + (1 << 31)) >> 32;
    // At most four times 100 days.
    u64::try_from((i128::from(ps) + deviation).max(0)).unwrap_or(u64::MAX)
}

fn imbalance(section: &Section) -> Result<Imbalance, Error> {
    let fraction: f64 = section.get("imbalance")?;
    Imbalance::new(fraction, section.get("seed")?)
        .ok_or_else(|| out_of_range(section, "imbalance", fraction, 1.0))
}

/// A number from 0 to `most`, which is at most 1, with [`FRACTION_BITS`] fractional bits.
fn fraction(section: &Section, key: &str, most: f64) -> Result<u64, Error> {
    let value: f64 = section.get(key)?;
    if !(0.0..=most).contains(&value) {
        return Err(out_of_range(section, key, value, most));
    }
    Ok((value * (1u64 << FRACTION_BITS) as f64).round() as u64)
}

fn out_of_range(section: &Section, key: &str, value: f64, most: f64) -> Error {
    let message = format!("{value} is out of range; expected a fraction from 0 to {most}");
    section.error(key, message)
}
