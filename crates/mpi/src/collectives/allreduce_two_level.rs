//! Allreduce on [two levels](super::two_level): reduction inside hosts, reduction among leaders, broadcast among
//! leaders, broadcast inside hosts. All on binomial trees. 2 (n - 1) messages for each segment.

use workload::Collective;

use super::two_level::{HostLevel, Stage, doublings, pipelined};
use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round, bcast_binomial, reduce_binomial};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Allreduce,
    name: "two-level",
    summary: "reduce to the leader of each host, among leaders, and back; a pipeline of segments of 64 KiB",
    source: "Luo et al., CLUSTER 2020 (HAN); Open MPI from 5.0 on",
    varying: false,
    layout: HostLayout::Shared,
    round,
};

const STAGES: &[Stage] = &[
    Stage {
        level: HostLevel::Inside,
        round: reduce_binomial::round,
        rounds: doublings,
    },
    Stage {
        level: HostLevel::Leaders,
        round: reduce_binomial::round,
        rounds: doublings,
    },
    Stage {
        level: HostLevel::Leaders,
        round: bcast_binomial::round,
        rounds: doublings,
    },
    Stage {
        level: HostLevel::Inside,
        round: bcast_binomial::round,
        rounds: doublings,
    },
];

fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    pipelined(call, STAGES, k, out)
}

#[cfg(test)]
mod tests {
    use super::super::segments::SEGMENT;
    use super::super::symbolic::{MessagePassage, Tested, on_hosts, reduces_for_all, totals};
    use super::*;

    #[test]
    fn every_rank_has_every_contribution_once() {
        on_hosts(|hosts| {
            let n = u64::from(hosts.ranks());
            // The first two stages add, the others replace.
            let up = doublings(hosts.most()) + doublings(hosts.hosts());
            let adds = |message: MessagePassage| message.round < up;
            let tally = reduces_for_all(
                Tested::on(&ALGORITHM, hosts),
                hosts.ranks(),
                100,
                &[100],
                |_| vec![0],
                adds,
            );
            assert_eq!(tally, (2 * (n - 1), 2 * (n - 1) * 100));
        });
    }

    #[test]
    fn each_segment_passes_all_stages() {
        on_hosts(|hosts| {
            let n = u64::from(hosts.ranks());
            let tally = totals(Tested::on(&ALGORITHM, hosts), hosts.ranks(), 0, 5 * SEGMENT + 9);
            assert_eq!(tally, (6 * 2 * (n - 1), 2 * (n - 1) * (5 * SEGMENT + 9)));
        });
    }
}
