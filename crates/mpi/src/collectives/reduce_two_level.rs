//! Reduction on [two levels](super::two_level): inside hosts, then among leaders, both up binomial trees. n - 1
//! messages for each segment.

use workload::Collective;

use super::two_level::{HostLevel, Stage, doublings, pipelined};
use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round, reduce_binomial};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Reduce,
    name: "two-level",
    summary: "inside hosts, then from leader to leader of hosts; a pipeline of segments of 64 KiB",
    source: "Luo et al., CLUSTER 2020 (HAN); Open MPI from 5.0 on",
    varying: false,
    layout: HostLayout::SharedEvenly,
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
];

fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    pipelined(call, STAGES, k, out)
}

#[cfg(test)]
mod tests {
    use super::super::segments::SEGMENT;
    use super::super::symbolic::{Tested, on_even_hosts, reduces, totals};
    use super::*;

    #[test]
    fn the_root_has_every_contribution_once() {
        on_even_hosts(|hosts| {
            let n = u64::from(hosts.ranks());
            for root in 0..hosts.ranks() {
                let tally = reduces(
                    Tested::on(&ALGORITHM, hosts),
                    hosts.ranks(),
                    root,
                    100,
                    &[100],
                    |_| vec![0],
                    |_| true,
                );
                assert_eq!(tally, (n - 1, (n - 1) * 100));
                let tally = totals(Tested::on(&ALGORITHM, hosts), hosts.ranks(), root, 2 * SEGMENT);
                assert_eq!(tally, (2 * (n - 1), (n - 1) * 2 * SEGMENT));
            }
        });
    }
}
