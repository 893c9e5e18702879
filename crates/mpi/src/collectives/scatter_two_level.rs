//! Scatter on [two levels](super::two_level): among leaders, then inside hosts, both down binomial trees.

use workload::Collective;

use super::two_level::{HostLevel, Stage, doublings, in_sequence};
use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, RanksByHost, Round, scatter_binomial};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Scatter,
    name: "two-level",
    summary: "to the leaders of hosts, then inside hosts",
    source: "Luo et al., CLUSTER 2020 (HAN); Open MPI from 5.0 on",
    varying: false,
    layout: HostLayout::SharedEvenly,
    round,
};

const STAGES: &[Stage] = &[
    Stage {
        level: HostLevel::Leaders,
        round: scatter_binomial::round,
        rounds: doublings,
    },
    Stage {
        level: HostLevel::Inside,
        round: scatter_binomial::round,
        rounds: doublings,
    },
];

fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    let of_host = call.hosts.map_or(1, RanksByHost::most);
    let bytes = [call.bytes.saturating_mul(u64::from(of_host)), call.bytes];
    in_sequence(call, STAGES, |stage| bytes[stage], k, out)
}

#[cfg(test)]
mod tests {
    use super::super::symbolic::{Tested, on_even_hosts, subtrees, totals};
    use super::*;

    #[test]
    fn blocks_of_hosts_go_to_leaders_and_each_block_inside() {
        on_even_hosts(|hosts| {
            let (among, inside) = (u64::from(hosts.hosts()), u64::from(hosts.most()));
            for root in 0..hosts.ranks() {
                let tally = totals(Tested::on(&ALGORITHM, hosts), hosts.ranks(), root, 100);
                let bytes = subtrees(hosts.hosts()) * inside + among * subtrees(hosts.most());
                assert_eq!(tally, (among * inside - 1, bytes * 100));
            }
        });
    }
}
