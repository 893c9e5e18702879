//! Allgather on [two levels](super::two_level): gather inside hosts up a binomial tree, allgather among leaders in
//! a ring, broadcast inside hosts down a binomial tree.

use workload::Collective;

use super::two_level::{HostLevel, Stage, doublings, in_sequence};
use super::{
    CollectiveAlgorithm, CollectiveArgs, HostLayout, RanksByHost, Round, allgather_ring, bcast_binomial,
    gather_binomial,
};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Allgather,
    name: "two-level",
    summary: "gather inside hosts, ring of leaders of hosts, broadcast inside hosts",
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
        round: allgather_ring::round,
        rounds: |ranks| ranks - 1,
    },
    Stage {
        level: HostLevel::Inside,
        round: bcast_binomial::round,
        rounds: doublings,
    },
];

fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    let of_host = call.hosts.map_or(1, RanksByHost::most);
    let times = |ranks: u32| call.bytes.saturating_mul(u64::from(ranks));
    let bytes = [call.bytes, times(of_host), times(call.ranks)];
    in_sequence(call, STAGES, |stage| bytes[stage], k, out)
}

#[cfg(test)]
mod tests {
    use super::super::symbolic::{Tested, on_even_hosts, run};
    use super::*;

    #[test]
    fn every_rank_has_every_contribution() {
        on_even_hosts(|hosts| {
            let (among, inside) = (hosts.hosts(), hosts.most());
            let ring = doublings(inside)..doublings(inside) + among - 1;
            let (gathered, tally) = run(
                Tested::on(&ALGORITHM, hosts),
                hosts.ranks(),
                0,
                100,
                |rank| vec![rank],
                |blocks: &mut Vec<u32>, passage, size| {
                    // In the ring a leader passes on the blocks of one host, which came last.
                    let first = match ring.contains(&passage.round) {
                        true => blocks.len() - inside as usize,
                        false => 0,
                    };
                    (blocks[first..].to_vec(), size)
                },
                |blocks, _, news| {
                    blocks.extend(
                        news.into_iter()
                            .filter(|block| !blocks.contains(block))
                            .collect::<Vec<_>>(),
                    )
                },
            );
            for mut blocks in gathered {
                blocks.sort_unstable();
                assert_eq!(blocks, (0..hosts.ranks()).collect::<Vec<_>>());
            }
            let messages = among * (inside - 1) + among * (among - 1) + among * (inside - 1);
            assert_eq!(tally.0, u64::from(messages));
        });
    }
}
