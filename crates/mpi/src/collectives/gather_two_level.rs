//! Gather on [two levels](super::two_level): inside hosts, then among leaders, both up binomial trees.

use workload::Collective;

use super::two_level::{HostLevel, Stage, doublings, in_sequence};
use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, RanksByHost, Round, gather_binomial};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Gather,
    name: "two-level",
    summary: "to the leader of each host, then from the leaders",
    source: "Luo et al., CLUSTER 2020 (HAN); Open MPI from 5.0 on",
    varying: false,
    layout: HostLayout::SharedEvenly,
    round,
};

const STAGES: &[Stage] = &[
    Stage {
        level: HostLevel::Inside,
        round: gather_binomial::round,
        rounds: doublings,
    },
    Stage {
        level: HostLevel::Leaders,
        round: gather_binomial::round,
        rounds: doublings,
    },
];

fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    let of_host = call.hosts.map_or(1, RanksByHost::most);
    let bytes = [call.bytes, call.bytes.saturating_mul(u64::from(of_host))];
    in_sequence(call, STAGES, |stage| bytes[stage], k, out)
}

#[cfg(test)]
mod tests {
    use super::super::symbolic::{Tested, on_even_hosts, run};
    use super::*;

    #[test]
    fn the_root_has_every_contribution_once() {
        on_even_hosts(|hosts| {
            for root in 0..hosts.ranks() {
                let (gathered, tally) = run(
                    Tested::on(&ALGORITHM, hosts),
                    hosts.ranks(),
                    root,
                    100,
                    |rank| vec![rank],
                    |blocks, _, _| (blocks.clone(), blocks.len() as u64 * 100),
                    |blocks, _, news| blocks.extend(news),
                );
                let mut blocks = gathered[root as usize].clone();
                blocks.sort_unstable();
                assert_eq!(blocks, (0..hosts.ranks()).collect::<Vec<_>>());
                assert_eq!(tally.0, u64::from(hosts.ranks()) - 1);
            }
        });
    }
}
