//! Messages at equal intervals.

use config::{Section, parameters};

use super::{ArrivalKind, ArrivalProcess, MeanGap, TrafficRandom};

const RANDOM: &str = "random";
const ZERO: &str = "zero";

pub(super) const KIND: ArrivalKind = ArrivalKind {
    name: "fixed",
    summary: "messages at equal intervals",
    parameters: parameters! {
        choice("phase", &[RANDOM, ZERO],
            "time of the first message: random within one interval for each host, or the job's start for all hosts");
    },
    example: "",
    build: |section, pace| Ok(Box::new(FixedGap::read(section, pace.mean)?)),
};

struct FixedGap {
    mean: MeanGap,
    /// Whether each host has a phase of its own, so that hosts do not send at the same time.
    random_phase: bool,
}

impl FixedGap {
    fn read(section: &Section, mean: MeanGap) -> Result<FixedGap, config::Error> {
        let random_phase = section.choice("phase")? == RANDOM;
        Ok(FixedGap { mean, random_phase })
    }
}

impl ArrivalProcess for FixedGap {
    fn gap_ps(&self, index: u64, random: &mut dyn TrafficRandom) -> u64 {
        match index {
            0 if !self.random_phase => 0,
            0 => random.below(self.mean.ps().max(1)),
            _ => self.mean.step(index),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::{SplitMix, tests::ScriptedRandom};
    use super::*;

    fn fixed(mean: MeanGap) -> FixedGap {
        FixedGap {
            mean,
            random_phase: true,
        }
    }

    #[test]
    fn a_phase_of_zero_is_the_start_for_every_host() {
        let section = Section::from_toml("phase = \"zero\"", "x.toml").unwrap();
        let mean = MeanGap::from_ratio(40_961, 4).unwrap();
        let process = FixedGap::read(section.declare(KIND.parameters), mean).unwrap();
        // No random number is drawn: the script is empty.
        let mut random = ScriptedRandom(vec![]);
        assert_eq!(process.gap_ps(0, &mut random), 0);
        let gaps: Vec<u64> = (1..=4000).map(|i| process.gap_ps(i, &mut random)).collect();
        assert_eq!(gaps.iter().sum::<u64>(), 40_961_000);
        let section = Section::from_toml("phase = \"null\"", "x.toml").unwrap();
        let error = FixedGap::read(section.declare(KIND.parameters), mean)
            .map(drop)
            .unwrap_err();
        assert!(
            error.to_string().contains("expected one of: random, zero"),
            "{error}"
        );
    }

    #[test]
    fn a_mean_of_nothing_gives_no_gap() {
        let mean = MeanGap::from_ratio(0, 1).unwrap();
        assert_eq!(fixed(mean).gap_ps(0, &mut SplitMix(1)), 0);
        assert_eq!(fixed(mean).gap_ps(9, &mut ScriptedRandom(vec![])), 0);
    }

    #[test]
    fn the_phase_is_anywhere_in_the_first_interval() {
        let mean = MeanGap::from_ratio(1000, 1).unwrap();
        let mut random = SplitMix(2);
        let phases: Vec<u64> = (0..1000).map(|_| fixed(mean).gap_ps(0, &mut random)).collect();
        assert!(phases.iter().all(|p| *p < 1000));
        assert!(phases.iter().any(|p| *p < 20) && phases.iter().any(|p| *p >= 980));
    }

    #[test]
    fn fractions_of_a_picosecond_add_up() {
        let mean = MeanGap::from_ratio(40_961, 4).unwrap();
        let gaps: Vec<u64> = (1..=4000)
            .map(|i| fixed(mean).gap_ps(i, &mut ScriptedRandom(vec![])))
            .collect();
        assert_eq!(gaps.iter().sum::<u64>(), 40_961_000);
        assert!(gaps.iter().all(|g| [10_240, 10_241].contains(g)));
        // A time so late that it has wrapped.
        assert_eq!(fixed(mean).gap_ps(u64::MAX, &mut ScriptedRandom(vec![])), 10_240);
    }
}
