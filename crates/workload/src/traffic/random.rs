//! Random numbers from the caller.

/// A source of random numbers. In a simulation it is the stream of the sending host.
pub trait TrafficRandom {
    /// 64 uniformly random bits.
    fn next_u64(&mut self) -> u64;

    /// A uniformly distributed number below `bound`, which must not be 0.
    ///
    /// Draws once, and again with a probability below `bound` / 2^64. Source: Lemire, *Fast random integer
    /// generation in an interval* (ACM TOMACS 29, 2019).
    fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "no number is below 0");
        let mut product = u128::from(self.next_u64()) * u128::from(bound);
        if (product as u64) < bound {
            let surplus = bound.wrapping_neg() % bound;
            while (product as u64) < surplus {
                product = u128::from(self.next_u64()) * u128::from(bound);
            }
        }
        (product >> 64) as u64
    }
}

/// SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
pub(crate) struct SplitMix(pub u64);

impl TrafficRandom for SplitMix {
    fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Replays given numbers.
    pub struct ScriptedRandom(pub Vec<u64>);

    impl TrafficRandom for ScriptedRandom {
        fn next_u64(&mut self) -> u64 {
            self.0.remove(0)
        }
    }

    #[test]
    #[should_panic(expected = "no number is below 0")]
    fn below_zero_is_refused() {
        SplitMix(1).below(0);
    }

    #[test]
    fn the_first_numbers_are_those_of_the_reference() {
        let mut random = SplitMix(1_234_567);
        let drawn = [random.next_u64(), random.next_u64()];
        assert_eq!(drawn, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }

    #[test]
    fn below_is_exact_at_the_ends_and_rejects_the_surplus() {
        assert_eq!(ScriptedRandom(vec![u64::MAX]).below(10), 9);
        assert_eq!(ScriptedRandom(vec![0]).below(1), 0);
        assert_eq!(ScriptedRandom(vec![u64::MAX]).below(u64::MAX), u64::MAX - 1);
        // 2^64 mod 10 is 6: the products 0 to 5 are too many.
        assert_eq!(ScriptedRandom(vec![0, (1 << 63) + 1]).below(10), 5);
    }

    #[test]
    fn below_is_uniform() {
        const CELLS: usize = 13;
        let (mut counts, mut random, n) = ([0u32; CELLS], SplitMix(3), 130_000);
        for _ in 0..n {
            counts[random.below(CELLS as u64) as usize] += 1;
        }
        let expected = f64::from(n) / CELLS as f64;
        let chi2: f64 = counts
            .iter()
            .map(|c| (f64::from(*c) - expected).powi(2) / expected)
            .sum();
        // 99.9 % quantile of chi-square with 12 degrees of freedom.
        assert!(chi2 < 32.91, "{chi2}");
    }
}
