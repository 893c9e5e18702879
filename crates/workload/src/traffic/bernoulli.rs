//! A Bernoulli process: each time slot has a message with the same probability.
//!
//! Dally and Towles 2004, section 24.2; BookSim: `bernoulli`. A time slot is the time of a message of mean size at
//! full injection bandwidth, so the probability is the load. The number of slots to the next message is
//! geometrically distributed: 1 + floor(ln u / ln(1 - load)), drawn in integers.

use super::gap::LOAD_STEPS;
use super::geometric::GeometricGap;
use super::{ArrivalKind, ArrivalProcess, MeanGap, TrafficRandom};

pub(super) const KIND: ArrivalKind = ArrivalKind {
    name: "bernoulli",
    summary: "slots of a message's time, each with a message or not; each host with a random phase",
    parameters: &[],
    example: "",
    build: |_, pace| {
        Ok(Box::new(Bernoulli {
            time_slot: pace.time_slot,
            slots: GeometricGap::new(pace.load, LOAD_STEPS),
        }))
    },
};

struct Bernoulli {
    time_slot: MeanGap,
    slots: GeometricGap,
}

impl ArrivalProcess for Bernoulli {
    fn gap_ps(&self, index: u64, random: &mut dyn TrafficRandom) -> u64 {
        let slots = self.slots.draw(random);
        match index {
            // A random phase, so that slots of hosts do not coincide.
            0 => self.time_slot.rounded(slots - 1) + random.below(self.time_slot.ps().max(1)),
            _ => self.time_slot.rounded(slots),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::SplitMix;
    use super::super::{MeanBytes, OfferedLoad};
    use super::*;

    fn process(load: f64) -> Bernoulli {
        let pace = OfferedLoad::new(MeanBytes::whole(250), 100_000_000_000, load).unwrap();
        Bernoulli {
            time_slot: pace.time_slot,
            slots: GeometricGap::new(pace.load, LOAD_STEPS),
        }
    }

    #[test]
    fn gaps_are_whole_slots_of_the_right_frequency() {
        let (process, mut random) = (process(0.4), SplitMix(3));
        let (mut counts, n) = ([0u32; 12], 200_000);
        for index in 1..=n {
            let gap = process.gap_ps(index, &mut random);
            assert_eq!(gap % 20_000, 0);
            counts[(gap as usize / 20_000 - 1).min(11)] += 1;
        }
        let mut chi2 = 0.0;
        for (cell, count) in counts.iter().enumerate() {
            let last = if cell == 11 { 0.4 } else { 1.0 };
            let expected = n as f64 * 0.4 / last * 0.6f64.powi(cell as i32);
            chi2 += (f64::from(*count) - expected).powi(2) / expected;
        }
        // 99.9 % quantile, 11 degrees of freedom.
        assert!(chi2 < 31.26, "{chi2}");
    }

    #[test]
    fn at_full_load_every_slot_has_one() {
        let (process, mut random) = (process(1.0), SplitMix(4));
        assert!(process.gap_ps(0, &mut random) < 20_000);
        assert!((1..1000).all(|index| process.gap_ps(index, &mut random) == 20_000));
    }

    #[test]
    fn golden_values() {
        let (process, mut random) = (process(0.3), SplitMix(1));
        let gaps: Vec<u64> = (0..6).map(|i| process.gap_ps(i, &mut random) / 1000).collect();
        assert_eq!(gaps, GOLDEN);
    }

    const GOLDEN: [u64; 6] = [34, 20, 60, 60, 20, 20];
}
