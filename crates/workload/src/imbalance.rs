//! Imbalance of computation: ranks whose computations are longer or shorter than the mean.

use crate::traffic::{SplitMix, TrafficRandom};

/// Fractional bits of a deviation.
pub(crate) const FRACTION_BITS: u32 = 32;

/// Deviations of the computation of ranks from the mean: that of a rank is uniform from the fraction below the mean to
/// the fraction above it, and the same for all its computations. In integers, so that all machines agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Imbalance {
    /// With [`FRACTION_BITS`] fractional bits.
    fraction: u64,
    seed: u64,
}

impl Imbalance {
    /// The greatest deviation as a fraction of the mean, which is from 0 to 1; `None` for another one.
    pub fn new(fraction: f64, seed: u64) -> Option<Imbalance> {
        let fraction = (0.0..=1.0).contains(&fraction).then_some(fraction)?;
        let fraction = (fraction * (1u64 << FRACTION_BITS) as f64).round() as u64;
        Some(Imbalance { fraction, seed })
    }

    /// Whether no rank deviates.
    pub fn is_none(&self) -> bool {
        self.fraction == 0
    }

    /// The time of a rank whose mean over ranks is `ps`.
    pub fn apply(&self, ps: u64, rank: u32) -> u64 {
        self.and_stream(ps, rank).0
    }

    /// This time, and a stream of further random numbers of the rank.
    pub(crate) fn and_stream(&self, ps: u64, rank: u32) -> (u64, SplitMix) {
        // One stream for each rank: its first number is the deviation of the rank.
        let mut random = SplitMix(SplitMix(self.seed).next_u64().wrapping_add(u64::from(rank)));
        let own = random.next_u64();
        (deviated(ps, self.fraction, own), random)
    }
}

/// A time between `ps` less the fraction and `ps` plus it; each with equal probability for uniform `random`.
pub(crate) fn deviated(ps: u64, fraction: u64, random: u64) -> u64 {
    // At most ps, since a fraction is at most 1.
    let most = ((u128::from(ps) * u128::from(fraction)) >> FRACTION_BITS) as u64;
    let times = 2 * u128::from(most) + 1;
    let part = |times: u128| {
        (times >> 64) * u128::from(random) + (((times as u64 as u128) * u128::from(random)) >> 64)
    };
    u64::try_from(u128::from(ps - most) + part(times)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deviations_are_even_around_the_mean() {
        let imbalance = Imbalance::new(0.2, 7).unwrap();
        let times: Vec<u64> = (0..10_000).map(|rank| imbalance.apply(1_000_000, rank)).collect();
        let (least, most) = (times.iter().min().unwrap(), times.iter().max().unwrap());
        assert!((800_000..800_500).contains(least), "{least}");
        assert!((1_199_500..=1_200_000).contains(most), "{most}");
        // The standard deviation of the mean of 10,000 is 1155.
        let mean = times.iter().sum::<u64>() / 10_000;
        assert!((996_000..1_004_000).contains(&mean), "{mean}");
        assert_eq!(imbalance.apply(0, 5), 0);
    }

    #[test]
    fn extremes_do_not_overflow() {
        let all = Imbalance::new(1.0, 1).unwrap();
        for rank in 0..100 {
            all.apply(u64::MAX, rank);
            all.apply(u64::MAX / 2, rank);
        }
        assert!(Imbalance::new(0.0, 1).unwrap().is_none());
        assert_eq!(Imbalance::new(0.0, 1).unwrap().apply(u64::MAX, 3), u64::MAX);
        for wrong in [-0.1, 1.1, f64::NAN] {
            assert_eq!(Imbalance::new(wrong, 1), None);
        }
    }
}
