//! Collectives on two levels: among the ranks of each host, and among one rank of each host, the leader.
//!
//! Source: X. Luo, W. Wu, G. Bosilca, Y. Pei, Q. Cao, T. Patinyasakdikul, D. Zhong, J. Dongarra, *HAN: a
//! Hierarchical AutotuNed Collective Communication Framework*, CLUSTER 2020. A vector is cut into segments, and
//! the stages of a collective form a pipeline: in step t, stage s works on segment t - s. The next step begins
//! when all stages of a rank have ended.

use super::segments::{segment, segments};
use super::{CollectiveArgs, CollectiveCall, RanksByHost, Round};

/// The ranks of a stage.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum HostLevel {
    /// Those of a host. The root is the leader.
    Inside,
    /// The leaders. The root is the leader of the root's host.
    Leaders,
}

/// A collective among the ranks of a level.
pub(super) struct Stage {
    pub level: HostLevel,
    /// Its rounds, as [`super::CollectiveAlgorithm::round`]. Without an offset of rounds.
    pub round: fn(&CollectiveArgs, u32, &mut Round) -> bool,
    /// Most rounds of a rank, of so many ranks. All ranks count as many, so that they agree on the numbers of
    /// later rounds.
    pub rounds: fn(u32) -> u32,
}

/// Rounds of a binomial tree, and of dissemination.
pub(super) fn doublings(ranks: u32) -> u32 {
    CollectiveCall::new(0, ranks, 0, 0).doublings()
}

/// A round of a collective that cuts its vector into segments.
pub(super) fn pipelined(call: &CollectiveArgs, stages: &[Stage], k: u32, out: &mut Round) -> bool {
    let bytes = |_, index| segment(call.bytes, index).unwrap_or(0);
    round(call, stages, segments(call.bytes), bytes, k, out)
}

/// A round of a collective that executes one stage after the other, each with bytes of its own.
pub(super) fn in_sequence(
    call: &CollectiveArgs,
    stages: &[Stage],
    bytes: impl Fn(usize) -> u64,
    k: u32,
    out: &mut Round,
) -> bool {
    round(call, stages, 1, |stage, _| bytes(stage), k, out)
}

fn round(
    call: &CollectiveArgs,
    stages: &[Stage],
    segments: u32,
    bytes: impl Fn(usize, u32) -> u64,
    k: u32,
    out: &mut Round,
) -> bool {
    // Without hosts there is one rank: rules select these algorithms where ranks share hosts only.
    let Some(hosts) = call.hosts else {
        return false;
    };
    let pipeline = Pipeline {
        rounds: stages
            .iter()
            .map(|stage| (stage.rounds)(size(hosts, stage.level)))
            .collect(),
        segments,
    };
    let Some((step, k)) = pipeline.place(k) else {
        return false;
    };
    for (index, stage) in stages.iter().enumerate() {
        if let Some(part) = pipeline.segment(step, index) {
            add_round(call, hosts, stage, bytes(index, part), k, out);
        }
    }
    true
}

/// Most ranks that a level has.
fn size(hosts: &RanksByHost, level: HostLevel) -> u32 {
    match level {
        HostLevel::Inside => hosts.most(),
        HostLevel::Leaders => hosts.hosts(),
    }
}

/// Adds this rank's messages of a round of a stage.
fn add_round(call: &CollectiveArgs, hosts: &RanksByHost, stage: &Stage, bytes: u64, k: u32, out: &mut Round) {
    let (host, place) = (hosts.host(call.rank), hosts.place(call.rank));
    let leader = hosts.place(call.root);
    let (rank, ranks, root) = match stage.level {
        HostLevel::Inside => (place, hosts.on(host).len() as u32, leader),
        HostLevel::Leaders if place == leader => (host, hosts.hosts(), hosts.host(call.root)),
        HostLevel::Leaders => return,
    };
    let own = CollectiveArgs::new(CollectiveCall::new(rank, ranks, root, bytes), None);
    let (sends, receives) = (out.sends.len(), out.receives.len());
    (stage.round)(&own, k, out);
    debug_assert_eq!(out.round_offset, 0);
    let peer = |peer: u32| match stage.level {
        HostLevel::Inside => hosts.on(host)[peer as usize],
        HostLevel::Leaders => hosts.on(peer)[leader as usize],
    };
    for (to, _) in &mut out.sends[sends..] {
        *to = peer(*to);
    }
    for receive in &mut out.receives[receives..] {
        receive.from = peer(receive.from);
    }
}

/// The steps of a pipeline, each with as many rounds as its longest stage.
struct Pipeline {
    /// Rounds of each stage.
    rounds: Vec<u32>,
    segments: u32,
}

impl Pipeline {
    /// The segment of a stage in a step, if it has one.
    fn segment(&self, step: u32, stage: usize) -> Option<u32> {
        step.checked_sub(stage as u32)
            .filter(|segment| *segment < self.segments)
    }

    fn rounds_of(&self, step: u32) -> u32 {
        let active = (0..self.rounds.len()).filter(|stage| self.segment(step, *stage).is_some());
        active.map(|stage| self.rounds[stage]).max().unwrap_or(0)
    }

    /// The step of a round, and the number of the round in it.
    fn place(&self, k: u32) -> Option<(u32, u32)> {
        let stages = self.rounds.len() as u32;
        let steps = self.segments.saturating_add(stages - 1);
        let mut left = u64::from(k);
        let mut step = 0;
        while step < steps {
            let rounds = u64::from(self.rounds_of(step));
            // In all steps from here to the last segment all stages are active.
            let equal = match step + 1 >= stages && step < self.segments {
                true => self.segments - step,
                false => 1,
            };
            if left < rounds * u64::from(equal) {
                return Some((step + (left / rounds) as u32, (left % rounds) as u32));
            }
            left -= rounds * u64::from(equal);
            step += equal;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::segments::SEGMENT;
    use super::*;

    #[test]
    fn steps_of_a_pipeline_follow_each_other() {
        for (rounds, segments) in [
            (vec![2, 3], 1),
            (vec![2, 3], 5),
            (vec![1, 4, 4, 1], 2),
            (vec![1, 0, 3, 2], 9),
        ] {
            let pipeline = Pipeline { rounds, segments };
            let mut expected = Vec::new();
            for step in 0..segments + pipeline.rounds.len() as u32 - 1 {
                expected.extend((0..pipeline.rounds_of(step)).map(|k| (step, k)));
            }
            let places: Vec<_> = (0..).map_while(|k| pipeline.place(k)).collect();
            assert_eq!(places, expected);
        }
    }

    #[test]
    fn a_long_pipeline_is_found_at_once() {
        let pipeline = Pipeline {
            rounds: vec![3, 12, 12, 3],
            segments: segments(SEGMENT << 24),
        };
        assert_eq!(pipeline.place(12 * (1 << 24)), Some((1 << 24, 9)));
    }
}
