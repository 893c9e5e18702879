//! Incast: all hosts send to a few, which send nothing themselves.
//!
//! The term comes from data centres (A. Phanishayee et al., "Measurement and analysis of TCP throughput
//! collapse in cluster-based storage systems", FAST 2008): many servers answer one client at the same time.

use super::targets::targets;
use super::{Pattern, PatternKind, TrafficRandom};
use config::{DefaultValue, Type, parameters};

pub(super) const KIND: PatternKind = PatternKind {
    name: "incast",
    summary: "all hosts to a few, which are silent",
    parameters: parameters! {
        new("targets", Type::ONE_OR_EACH, DefaultValue::Integer(1),
            "the hosts that are sent to: how many, spread evenly, or a list of their numbers in the job");
    },
    example: "",
    build: |section, place| {
        let targets = targets(section, place.hosts)?;
        if targets.len() == place.hosts as usize {
            return Err(section.error("targets", "leave no sender; expected fewer than all hosts"));
        }
        Ok(Box::new(IncastPattern { targets }))
    },
};

struct IncastPattern {
    /// Targets in ascending order.
    targets: Box<[u32]>,
}

impl IncastPattern {
    fn is_target(&self, host: u32) -> bool {
        self.targets.binary_search(&host).is_ok()
    }
}

impl Pattern for IncastPattern {
    fn destination(&self, source: u32, _: u32, _: u64, random: &mut dyn TrafficRandom) -> Option<u32> {
        match &self.targets[..] {
            _ if self.is_target(source) => None,
            [only] => Some(*only),
            several => Some(several[random.below(several.len() as u64) as usize]),
        }
    }

    fn shares(&self, source: u32, _: u32, each: &mut dyn FnMut(u32, f64)) {
        if !self.is_target(source) {
            let share = 1.0 / self.targets.len() as f64;
            self.targets.iter().for_each(|target| each(*target, share));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{check_shares, error, partners, pattern, shares};

    #[test]
    fn to_the_first_by_default() {
        assert_eq!(partners("incast", "", 4), [None, Some(0), Some(0), Some(0)]);
    }

    #[test]
    fn to_several() {
        let built = pattern("incast", "targets = [5, 2]", 7);
        assert_eq!(shares(built.as_ref(), 0, 7), [(2, 0.5), (5, 0.5)]);
        assert_eq!(shares(built.as_ref(), 5, 7), []);
        check_shares(built.as_ref(), 7);
    }

    #[test]
    fn a_host_has_to_send() {
        assert!(error("incast", "targets = 4", 4).contains("leave no sender"));
    }
}
