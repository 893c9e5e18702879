//! Geometrically distributed sizes: the discrete form of the exponential distribution, many short messages and
//! few long ones.

use config::{Bytes, Type, parameters};

use super::super::geometric::GeometricGap as Trials;
use super::super::{MeanBytes, TrafficRandom};
use super::{SizeDistribution, SizeKind};

/// Largest mean. No size that can be drawn (44.4 times the mean) exceeds the largest message.
const LARGEST_MEAN: Bytes = Bytes { bytes: 1 << 30 };

/// One message in a thousand is longer than this multiple of the mean, which is -ln(0.001) for long means, and more
/// than that for short ones.
const THOUSANDTH: f64 = 6.908;

pub(super) const KIND: SizeKind = SizeKind {
    name: "geometric",
    summary: "the discrete form of the exponential distribution",
    parameters: parameters! {
        required("mean", Type::Size, "mean size, at most 1 GiB");
    },
    example: "mean = \"1 KiB\"\n",
    build: |section, _| {
        let mean: Bytes = section.required("mean")?;
        if mean.bytes == 0 || mean > LARGEST_MEAN {
            let message = format!("{mean} is out of range; expected 1 B to {LARGEST_MEAN}");
            return Err(section.error("mean", message));
        }
        Ok(Box::new(GeometricSize {
            trials: Trials::new(1, mean.bytes),
            mean: MeanBytes::whole(mean.bytes),
        }))
    },
};

struct GeometricSize {
    trials: Trials,
    mean: MeanBytes,
}

impl SizeDistribution for GeometricSize {
    fn bytes(&self, random: &mut dyn TrafficRandom) -> u64 {
        self.trials.draw(random)
    }

    fn mean(&self) -> MeanBytes {
        self.mean
    }

    fn largest(&self) -> u64 {
        (THOUSANDTH * self.mean.as_f64()).ceil() as u64
    }

    /// A message has more than *k* packets if it is longer than *k* payloads, which has the probability
    /// (1 - 1/mean)^(*k* payload): the sum over all *k*.
    fn mean_packets(&self, payload: u64) -> f64 {
        let ln_longer = (-1.0 / self.mean.as_f64()).ln_1p() * payload as f64;
        -1.0 / ln_longer.exp_m1()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::tests::{draw, error, read};

    #[test]
    fn the_law_is_geometric() {
        let size = read(
            "{ distribution = \"geometric\", mean = \"1000 B\" }",
            Path::new("."),
        )
        .unwrap();
        let drawn = draw(size.as_ref(), 200_000);
        for bytes in [1i32, 100, 1000, 5000] {
            let longer = drawn.iter().filter(|drawn| **drawn > bytes as u64).count() as f64 / 200_000.0;
            let expected = 0.999f64.powi(bytes);
            assert!((longer - expected).abs() < 4.0 * 0.5 / 447.0, "{bytes}: {longer}");
        }
    }

    #[test]
    fn the_largest_sizes_fit() {
        let size = read(
            "{ distribution = \"geometric\", mean = \"1 GiB\" }",
            Path::new("."),
        )
        .unwrap();
        draw(size.as_ref(), 100_000);
        let one = read("{ distribution = \"geometric\", mean = \"1 B\" }", Path::new(".")).unwrap();
        assert!(draw(one.as_ref(), 1000).iter().all(|bytes| *bytes == 1));
    }

    #[test]
    fn what_cannot_be() {
        assert!(error("{ distribution = \"geometric\", mean = \"2 GiB\" }").contains("1 B to 1 GiB"));
        assert!(error("{ distribution = \"geometric\" }").contains("message.mean: missing"));
    }
}
