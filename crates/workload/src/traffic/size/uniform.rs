//! All sizes in a range with equal probability.

use config::{Bytes, Type, parameters};

use super::super::{MeanBytes, TrafficRandom};
use super::{SizeDistribution, SizeKind, in_range, packets_up_to};

pub(super) const KIND: SizeKind = SizeKind {
    name: "uniform",
    summary: "all sizes from one to another with the same probability",
    parameters: parameters! {
        required("min", Type::Size, "smallest size");
        required("max", Type::Size, "largest size");
    },
    example: "min = \"100 B\"\nmax = \"4 KiB\"\n",
    build: |section, _| {
        let min = in_range(section, "min", section.required::<Bytes>("min")?)?;
        let max = in_range(section, "max", section.required::<Bytes>("max")?)?;
        if min > max {
            let message = format!("is below min; expected at least {}", Bytes { bytes: min });
            return Err(section.error("max", message));
        }
        let mean = MeanBytes::from_ratio(u128::from(min) + u128::from(max), 2)?;
        Ok(Box::new(UniformSize { min, max, mean }))
    },
};

struct UniformSize {
    min: u64,
    max: u64,
    mean: MeanBytes,
}

impl SizeDistribution for UniformSize {
    fn bytes(&self, random: &mut dyn TrafficRandom) -> u64 {
        self.min + random.below(self.max - self.min + 1)
    }

    fn mean(&self) -> MeanBytes {
        self.mean
    }

    fn largest(&self) -> u64 {
        self.max
    }

    fn mean_packets(&self, payload: u64) -> f64 {
        let packets = packets_up_to(self.max, payload) - packets_up_to(self.min - 1, payload);
        packets / (self.max - self.min + 1) as f64
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::tests::{draw, error, read};

    #[test]
    fn both_ends_are_drawn_as_often_as_the_rest() {
        let size = read(
            "{ distribution = \"uniform\", min = \"3 B\", max = \"8 B\" }",
            Path::new("."),
        )
        .unwrap();
        assert_eq!(size.mean().as_f64(), 5.5);
        let drawn = draw(size.as_ref(), 60_000);
        let chi2: f64 = (3..=8)
            .map(|bytes| drawn.iter().filter(|drawn| **drawn == bytes).count() as f64)
            .map(|count| (count - 10_000.0).powi(2) / 10_000.0)
            .sum();
        // 99.9 % quantile, 5 degrees of freedom.
        assert!(chi2 < 20.52, "{chi2}");
    }

    #[test]
    fn what_cannot_be() {
        let turned = error("{ distribution = \"uniform\", min = \"8 B\", max = \"3 B\" }");
        assert!(
            turned.contains("message.max: is below min; expected at least 8 B"),
            "{turned}"
        );
        assert!(
            error("{ distribution = \"uniform\", min = \"0 B\", max = \"3 B\" }").contains("1 B to 1 TiB")
        );
        assert!(error("{ distribution = \"uniform\", min = \"1 B\" }").contains("message.max: missing"));
    }
}
