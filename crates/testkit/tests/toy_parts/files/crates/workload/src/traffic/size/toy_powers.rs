//! Toy sizes: 64, 128 or 256 bytes with equal probability.

use super::super::{MeanBytes, TrafficRandom};
use super::{SizeDistribution, SizeKind};

pub(super) const KIND: SizeKind = SizeKind {
    name: "toy-powers",
    summary: "64, 128 or 256 B with the same probability",
    parameters: &[],
    example: "",
    build: |_, _| {
        let mean = MeanBytes::from_ratio(64 + 128 + 256, 3)?;
        Ok(Box::new(ToyPowers { mean }))
    },
};

struct ToyPowers {
    mean: MeanBytes,
}

impl SizeDistribution for ToyPowers {
    fn bytes(&self, random: &mut dyn TrafficRandom) -> u64 {
        64 << random.below(3)
    }

    fn mean(&self) -> MeanBytes {
        self.mean
    }

    fn largest(&self) -> u64 {
        64 << 2
    }

    fn mean_packets(&self, payload: u64) -> f64 {
        let packets = [64u64, 128, 256].map(|bytes| bytes.div_ceil(payload) as f64);
        packets.iter().sum::<f64>() / 3.0
    }
}
