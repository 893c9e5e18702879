//! A Poisson process: gaps are exponentially distributed.

use super::logarithm::minus_ln;
use super::{ArrivalKind, ArrivalProcess, MeanGap, TrafficRandom};

pub(super) const KIND: ArrivalKind = ArrivalKind {
    name: "exponential",
    summary: "a Poisson process: exponentially distributed gaps",
    parameters: &[],
    example: "",
    build: |_, pace| Ok(Box::new(Exponential { mean: pace.mean })),
};

struct Exponential {
    mean: MeanGap,
}

impl ArrivalProcess for Exponential {
    /// The process is memoryless: the first gap has the same distribution.
    fn gap_ps(&self, _index: u64, random: &mut dyn TrafficRandom) -> u64 {
        self.mean.scaled(minus_ln(random.next_u64()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::MeanBytes;
    use super::super::random::{SplitMix, tests::ScriptedRandom};
    use super::*;

    const MEAN_PS: u64 = 1_000_000;

    fn sample(n: usize) -> Vec<f64> {
        let mean = MeanGap::from_ratio(MEAN_PS.into(), 1).unwrap();
        let mut random = SplitMix(2026);
        (0..n)
            .map(|i| Exponential { mean }.gap_ps(i as u64, &mut random) as f64 / MEAN_PS as f64)
            .collect()
    }

    #[test]
    fn the_ends_of_the_range() {
        let mean = MeanGap::from_ratio(MEAN_PS.into(), 1).unwrap();
        assert_eq!(
            Exponential { mean }.gap_ps(0, &mut ScriptedRandom(vec![u64::MAX])),
            0
        );
        assert_eq!(
            Exponential { mean }.gap_ps(0, &mut ScriptedRandom(vec![0])),
            44_361_420
        );
        let longest = MeanGap::from_ratio((1 << 56) - 1, 1).unwrap();
        assert!(Exponential { mean: longest }.gap_ps(0, &mut ScriptedRandom(vec![0])) > 44 << 56);
    }

    #[test]
    fn golden_values() {
        let mean = MeanGap::for_load(MeanBytes::whole(256), 100_000_000_000, 0.3).unwrap();
        let mut random = SplitMix(1);
        let gaps: Vec<u64> = (0..6)
            .map(|i| Exponential { mean }.gap_ps(i, &mut random))
            .collect();
        assert_eq!(gaps, GOLDEN);
    }

    const GOLDEN: [u64; 6] = [38_787, 20_024, 2009, 55_373, 55_387, 18_475];

    #[test]
    fn moments_are_those_of_the_exponential_law() {
        let n = 1_000_000;
        let x = sample(n);
        let moment = |k: i32| x.iter().map(|v| v.powi(k)).sum::<f64>() / n as f64;
        let (mean, second, third) = (moment(1), moment(2), moment(3));
        // Standard errors: 1, sqrt(4! - 2!^2) and sqrt(6! - 3!^2) over sqrt(n); four of each.
        assert!((mean - 1.0).abs() < 0.004, "{mean}");
        assert!(
            (second - mean * mean - 1.0).abs() < 4.0 * 8f64.sqrt() / 1000.0,
            "{second}"
        );
        assert!((third - 6.0).abs() < 4.0 * 684f64.sqrt() / 1000.0, "{third}");
    }

    /// Kolmogorov-Smirnov.
    #[test]
    fn the_distribution_is_exponential() {
        let n = 200_000;
        let mut x = sample(n);
        x.sort_by(f64::total_cmp);
        let distance = x.iter().enumerate().map(|(i, v)| {
            let law = 1.0 - (-v).exp();
            let below = i as f64 / n as f64;
            (law - below).abs().max((below + 1.0 / n as f64 - law).abs())
        });
        let statistic = distance.fold(0.0, f64::max) * (n as f64).sqrt();
        // 99 % quantile.
        assert!(statistic < 1.628, "{statistic}");
    }

    /// Chi-square over cells of equal probability, in the tail, too.
    #[test]
    fn cells_of_equal_probability_are_equally_full() {
        const CELLS: usize = 100;
        let (n, mut counts) = (1_000_000, [0u32; CELLS]);
        for v in sample(n) {
            counts[((1.0 - (-v).exp()) * CELLS as f64) as usize] += 1;
        }
        let expected = n as f64 / CELLS as f64;
        let chi2: f64 = counts
            .iter()
            .map(|c| (f64::from(*c) - expected).powi(2) / expected)
            .sum();
        // 99 % quantile, 99 degrees of freedom.
        assert!(chi2 < 134.6, "{chi2}");
    }
}
