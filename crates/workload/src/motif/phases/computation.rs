//! The time of a computation, as a function of its phase, the rank and the number of the draw.

use config::{Duration, Error, Section};

use crate::motif::parameters::pause_of;
use crate::traffic::{SplitMix, TrafficRandom, minus_ln};

/// Fractional bits of [`minus_ln`].
const LOGARITHM_BITS: u32 = 58;

/// Fractional bits of a deviation.
const FRACTION_BITS: u32 = 32;

/// Distribution of the times of one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Distribution {
    /// The rank's mean.
    Fixed,
    /// All times from the mean less a fraction of it to the mean plus that, with equal probability; the fraction has
    /// [`FRACTION_BITS`] fractional bits.
    Uniform(u64),
    /// Exponential.
    Exponential,
}

/// A computation of every rank.
#[derive(Clone, Copy, Debug)]
pub(super) struct Computation {
    mean_ps: u64,
    /// Greatest deviation of a rank's mean, with [`FRACTION_BITS`] fractional bits.
    imbalance: u64,
    distribution: Distribution,
    seed: u64,
}

impl Computation {
    /// Reads the keys of a phase that computes for `mean`.
    pub(super) fn read(section: &Section, mean: Duration) -> Result<Computation, Error> {
        let distribution = match section.choice("distribution")? {
            "uniform" => Distribution::Uniform(fraction(section, "variation")?),
            "exponential" => Distribution::Exponential,
            _ => Distribution::Fixed,
        };
        Ok(Computation {
            mean_ps: pause_of(section, mean)?,
            imbalance: fraction(section, "imbalance")?,
            distribution,
            seed: section.get("seed")?,
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
        // One stream for each rank: its first number is the deviation of the rank.
        let mut random = SplitMix(SplitMix(self.seed).next_u64().wrapping_add(u64::from(rank)));
        let stream = random.next_u64();
        let mean = deviated(self.mean_ps, self.imbalance, stream);
        let mut next = || SplitMix(random.next_u64().wrapping_add(draw)).next_u64();
        match self.distribution {
            Distribution::Fixed => mean,
            Distribution::Uniform(variation) => deviated(mean, variation, next()),
            Distribution::Exponential => {
                let ps = (u128::from(mean) * u128::from(minus_ln(next()))) >> LOGARITHM_BITS;
                u64::try_from(ps).unwrap_or(u64::MAX)
            }
        }
    }
}

/// A time between `ps` less the fraction and `ps` plus it; each with equal probability for uniform `random`.
fn deviated(ps: u64, fraction: u64, random: u64) -> u64 {
    // At most ps, since a fraction is at most 1.
    let most = ((u128::from(ps) * u128::from(fraction)) >> FRACTION_BITS) as u64;
    let times = 2 * u128::from(most) + 1;
    // Less than 2^52 times: the product fits.
    ps - most + ((times * u128::from(random)) >> 64) as u64
}

/// A number from 0 to 1, with [`FRACTION_BITS`] fractional bits.
fn fraction(section: &Section, key: &str) -> Result<u64, Error> {
    let value: f64 = section.get(key)?;
    if !(0.0..=1.0).contains(&value) {
        let message = format!("{value} is out of range; expected a fraction from 0 to 1");
        return Err(section.error(key, message));
    }
    Ok((value * (1u64 << FRACTION_BITS) as f64).round() as u64)
}
