//! Two sizes: short messages and long ones.

use config::{Bytes, Error, Type, parameters};

use super::super::gap::LOAD_STEPS;
use super::super::{MeanBytes, TrafficRandom};
use super::{SizeDistribution, SizeKind, in_range};

pub(super) const KIND: SizeKind = SizeKind {
    name: "bimodal",
    summary: "two sizes, such as requests and data",
    parameters: parameters! {
        required("small", Type::Size, "the one size");
        required("large", Type::Size, "the other size");
        number("large_share", 0.5, "share of the messages that have it, 0 to 1");
    },
    example: "small = \"64 B\"\nlarge = \"4 KiB\"\n",
    build: |section, _| {
        let small = in_range(section, "small", section.required::<Bytes>("small")?)?;
        let large = in_range(section, "large", section.required::<Bytes>("large")?)?;
        let share: f64 = section.get("large_share")?;
        if !(0.0..=1.0).contains(&share) {
            let message = format!("{share} is out of range; expected 0 to 1");
            return Err(section.error("large_share", message));
        }
        let steps = (share * LOAD_STEPS as f64 + 0.5) as u64;
        Ok(Box::new(Bimodal::new(small, large, steps)?))
    },
};

struct Bimodal {
    small: u64,
    large: u64,
    /// Share of the large ones in units of 1e-9.
    steps: u64,
    mean: MeanBytes,
}

impl Bimodal {
    fn new(small: u64, large: u64, steps: u64) -> Result<Bimodal, Error> {
        let sum = u128::from(large) * u128::from(steps) + u128::from(small) * u128::from(LOAD_STEPS - steps);
        Ok(Bimodal {
            small,
            large,
            steps,
            mean: MeanBytes::from_ratio(sum, LOAD_STEPS.into())?,
        })
    }
}

impl SizeDistribution for Bimodal {
    fn bytes(&self, random: &mut dyn TrafficRandom) -> u64 {
        match random.below(LOAD_STEPS) < self.steps {
            true => self.large,
            false => self.small,
        }
    }

    fn mean(&self) -> MeanBytes {
        self.mean
    }

    fn largest(&self) -> u64 {
        match self.steps {
            0 => self.small,
            LOAD_STEPS => self.large,
            _ => self.small.max(self.large),
        }
    }

    fn mean_packets(&self, payload: u64) -> f64 {
        let large_share = self.steps as f64 / LOAD_STEPS as f64;
        let packets = |bytes: u64| bytes.div_ceil(payload) as f64;
        packets(self.large) * large_share + packets(self.small) * (1.0 - large_share)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::tests::{draw, error, read};

    #[test]
    fn shares() {
        let text = "{ distribution = \"bimodal\", small = \"64 B\", large = \"4096 B\", large_share = 0.25 }";
        let size = read(text, Path::new(".")).unwrap();
        assert_eq!(size.mean().as_f64(), 64.0 * 0.75 + 1024.0);
        let drawn = draw(size.as_ref(), 100_000);
        let large = drawn.iter().filter(|bytes| **bytes == 4096).count();
        // Four standard deviations.
        assert!(large.abs_diff(25_000) < 548, "{large}");
        assert!(drawn.iter().all(|bytes| [64, 4096].contains(bytes)));
    }

    #[test]
    fn what_cannot_be() {
        let text = "{ distribution = \"bimodal\", small = \"1 B\", large = \"2 B\", large_share = 1.5 }";
        assert!(error(text).contains("1.5 is out of range; expected 0 to 1"));
        assert!(error("{ distribution = \"bimodal\", small = \"1 B\" }").contains("message.large: missing"));
    }
}
