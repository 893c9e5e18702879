//! Messages at equal intervals.

use super::{ArrivalKind, ArrivalProcess, MeanGap, TrafficRandom};

pub(super) const KIND: ArrivalKind = ArrivalKind {
    name: "fixed",
    summary: "messages at equal intervals, each host with a random phase",
    parameters: &[],
    example: "",
    build: |_, pace| Ok(Box::new(FixedGap { mean: pace.mean })),
};

struct FixedGap {
    mean: MeanGap,
}

impl ArrivalProcess for FixedGap {
    fn gap_ps(&self, index: u64, random: &mut dyn TrafficRandom) -> u64 {
        match index {
            // A random phase, so that hosts do not send at the same time.
            0 => random.below(self.mean.ps().max(1)),
            _ => self.mean.step(index),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::{SplitMix, tests::ScriptedRandom};
    use super::*;

    #[test]
    fn a_mean_of_nothing_gives_no_gap() {
        let mean = MeanGap::from_ratio(0, 1).unwrap();
        assert_eq!(FixedGap { mean }.gap_ps(0, &mut SplitMix(1)), 0);
        assert_eq!(FixedGap { mean }.gap_ps(9, &mut ScriptedRandom(vec![])), 0);
    }

    #[test]
    fn the_phase_is_anywhere_in_the_first_interval() {
        let mean = MeanGap::from_ratio(1000, 1).unwrap();
        let mut random = SplitMix(2);
        let phases: Vec<u64> = (0..1000)
            .map(|_| FixedGap { mean }.gap_ps(0, &mut random))
            .collect();
        assert!(phases.iter().all(|p| *p < 1000));
        assert!(phases.iter().any(|p| *p < 20) && phases.iter().any(|p| *p >= 980));
    }

    #[test]
    fn fractions_of_a_picosecond_add_up() {
        let mean = MeanGap::from_ratio(40_961, 4).unwrap();
        let gaps: Vec<u64> = (1..=4000)
            .map(|i| FixedGap { mean }.gap_ps(i, &mut ScriptedRandom(vec![])))
            .collect();
        assert_eq!(gaps.iter().sum::<u64>(), 40_961_000);
        assert!(gaps.iter().all(|g| [10_240, 10_241].contains(g)));
        // A time so late that it has wrapped.
        assert_eq!(
            FixedGap { mean }.gap_ps(u64::MAX, &mut ScriptedRandom(vec![])),
            10_240
        );
    }
}
