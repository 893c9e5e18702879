//! Geometrically distributed numbers in integers.

use super::TrafficRandom;
use super::logarithm::minus_ln;

/// Number of trials up to the first success.
pub(super) struct GeometricGap {
    /// -ln of the probability of failure, in units of 2^-58; `None` if no trial fails.
    minus_ln_failure: Option<u64>,
}

impl GeometricGap {
    /// Successes with the probability `numerator` / `denominator`, above 0 and at most 1. The relative error of
    /// the mean is at most 2^-56 / probability.
    pub(super) fn new(numerator: u64, denominator: u64) -> GeometricGap {
        if numerator >= denominator {
            return GeometricGap {
                minus_ln_failure: None,
            };
        }
        let failure = (u128::from(denominator - numerator) << 64) / u128::from(denominator);
        // Below 2^64, as there are successes; not 0, as the denominator is below 2^64.
        let minus_ln = minus_ln((failure as u64).wrapping_sub(1));
        GeometricGap {
            minus_ln_failure: Some(minus_ln.max(1)),
        }
    }

    /// Draws a number of at least 1.
    pub(super) fn draw(&self, random: &mut dyn TrafficRandom) -> u64 {
        match self.minus_ln_failure {
            None => 1,
            // More than k trials take u <= failure^k, which is -ln u >= k (-ln failure).
            Some(failure) => 1 + minus_ln(random.next_u64()) / failure,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::{SplitMix, tests::ScriptedRandom};
    use super::*;

    #[test]
    fn without_failures_nothing_is_drawn() {
        assert_eq!(GeometricGap::new(7, 7).draw(&mut ScriptedRandom(vec![])), 1);
    }

    #[test]
    fn ends_of_the_range() {
        let half = GeometricGap::new(1, 2);
        assert_eq!(half.draw(&mut ScriptedRandom(vec![u64::MAX])), 1);
        assert_eq!(half.draw(&mut ScriptedRandom(vec![(1 << 63) + 1000])), 1);
        assert_eq!(half.draw(&mut ScriptedRandom(vec![(1 << 63) - 1])), 2);
        // At 2^-64, within the rounding of the logarithm.
        assert!([64, 65].contains(&half.draw(&mut ScriptedRandom(vec![0]))));
        // The smallest probability ends, too.
        assert!(GeometricGap::new(1, u64::MAX).draw(&mut ScriptedRandom(vec![0])) > 1 << 58);
    }

    /// Means of a million draws within four standard errors, for probabilities of all sizes.
    #[test]
    fn means() {
        for denominator in [2u64, 3, 10, 1000, 1_000_000, 1 << 30] {
            let (geometric, mut random, n) = (GeometricGap::new(1, denominator), SplitMix(9), 1_000_000);
            let sum: u128 = (0..n).map(|_| u128::from(geometric.draw(&mut random))).sum();
            let ratio = sum as f64 / n as f64 / denominator as f64;
            assert!((ratio - 1.0).abs() < 0.004, "{denominator}: {ratio}");
        }
    }
}
