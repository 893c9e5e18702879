//! Barrier on [two levels](super::two_level): a barrier inside hosts, one among leaders, one inside hosts. All by
//! dissemination.

use workload::Collective;

use super::two_level::{HostLevel, Stage, doublings, in_sequence};
use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round, barrier_dissemination};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Barrier,
    name: "two-level",
    summary: "inside hosts, among leaders of hosts, inside hosts",
    source: "Luo et al., CLUSTER 2020 (HAN); Open MPI from 5.0 on",
    varying: false,
    layout: HostLayout::Shared,
    round,
};

const STAGES: &[Stage] = &[
    Stage {
        level: HostLevel::Inside,
        round: barrier_dissemination::round,
        rounds: doublings,
    },
    Stage {
        level: HostLevel::Leaders,
        round: barrier_dissemination::round,
        rounds: doublings,
    },
    Stage {
        level: HostLevel::Inside,
        round: barrier_dissemination::round,
        rounds: doublings,
    },
];

fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    in_sequence(call, STAGES, |_| 0, k, out)
}

#[cfg(test)]
mod tests {
    use super::super::symbolic::{Tested, on_hosts, reaches_all_ranks};
    use super::*;

    #[test]
    fn every_rank_depends_on_every_other() {
        on_hosts(|hosts| {
            let signals = |ranks: u32| u64::from(ranks) * u64::from(doublings(ranks));
            let inside: u64 = (0..hosts.hosts())
                .map(|host| signals(hosts.on(host).len() as u32))
                .sum();
            let tally = reaches_all_ranks(Tested::on(&ALGORITHM, hosts), hosts.ranks());
            assert_eq!(tally, (2 * inside + signals(hosts.hosts()), 0));
        });
    }
}
