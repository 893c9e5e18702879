//! Toy arrival process: two messages at once, then twice the mean gap.

use super::{Arrival, ArrivalKind, MeanGap, Random};

pub(super) const KIND: ArrivalKind = ArrivalKind {
    name: "toy-twos",
    summary: "two messages at once, at equal intervals",
    parameters: &[],
    example: "",
    build: |_, load| Ok(Box::new(ToyTwos { mean: load.mean })),
};

struct ToyTwos {
    mean: MeanGap,
}

impl Arrival for ToyTwos {
    fn gap_ps(&self, index: u64, random: &mut dyn Random) -> u64 {
        match index {
            // A random phase, so that hosts do not send at the same time.
            0 => random.below(2 * self.mean.ps().max(1)),
            _ if index % 2 == 1 => 0,
            _ => self.mean.step(index - 1) + self.mean.step(index),
        }
    }
}
