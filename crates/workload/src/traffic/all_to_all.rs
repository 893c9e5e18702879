//! All-to-all: every host cycles through all others.
//!
//! Message i of host s goes to host s + 1 + (i mod (n - 1)) mod n, so that at equal pace each host receives
//! from one host at a time: the linear shift of an all-to-all exchange.

use super::{Pattern, PatternKind, TrafficRandom};

pub(super) const KIND: PatternKind = PatternKind {
    name: "all-to-all",
    summary: "each host to all others in turn, beginning with the next one",
    parameters: &[],
    example: "",
    build: |_, _| Ok(Box::new(AllToAllPattern)),
};

struct AllToAllPattern;

impl Pattern for AllToAllPattern {
    fn destination(&self, source: u32, hosts: u32, index: u64, _: &mut dyn TrafficRandom) -> Option<u32> {
        let others = u64::from(hosts - 1);
        // A job of one host sends nothing.
        let step = 1 + index.checked_rem(others)?;
        Some(((u64::from(source) + step) % u64::from(hosts)) as u32)
    }

    fn shares(&self, source: u32, hosts: u32, each: &mut dyn FnMut(u32, f64)) {
        let share = 1.0 / f64::from(hosts - 1);
        (0..hosts)
            .filter(|host| *host != source)
            .for_each(|host| each(host, share));
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::tests::ScriptedRandom;
    use super::*;

    #[test]
    fn in_turn() {
        let to = |source, index| AllToAllPattern.destination(source, 4, index, &mut ScriptedRandom(vec![]));
        let found: Vec<_> = (0..5).map(|index| to(2, index)).collect();
        assert_eq!(found, [3, 0, 1, 3, 0].map(Some));
        assert_eq!(to(0, u64::MAX), Some(1), "2^64 - 1 is a multiple of 3");
        assert_eq!(
            AllToAllPattern.destination(0, 1, 0, &mut ScriptedRandom(vec![])),
            None
        );
    }
}
