//! Broadcast by van de Geijn with a ring: the vector is cut into n parts and scattered down a binomial tree;
//! then each rank forwards what it received in the previous round. Ranks are counted from the root.

use workload::Collective;

use super::binomial_tree::{TreeEdge, edge};
use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Bcast,
    name: "scatter-ring-allgather",
    summary: "scatter down a binomial tree, then allgather round a ring; long vectors",
    source: "Barnett et al. 1994 (van de Geijn); Thakur, Rabenseifner, Gropp 2005",
    varying: false,
    layout: HostLayout::Any,
    round,
};

fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    let doublings = call.doublings();
    let place = call.rank_before(call.root);
    let even_part = |first: u32, parts: u32| call.even_part(call.ranks, first..first + parts);
    let Some(step) = k.checked_sub(doublings) else {
        match edge(call, doublings - 1 - k) {
            Some(TreeEdge::ToParent { peer, subtree }) => out.receive(peer, even_part(place, subtree)),
            Some(TreeEdge::ToChild { peer, subtree }) => {
                out.send(
                    peer,
                    even_part(call.as_rank(peer, call.root).rank_before(call.root), subtree),
                );
            }
            None => {}
        }
        return true;
    };
    if step >= call.ranks - 1 {
        return false;
    }
    let part = |down: u32| (place + call.ranks - down) % call.ranks;
    out.send(call.rank_after(1), even_part(part(step), 1));
    out.receive(call.rank_before(1), even_part(part(step + 1), 1));
    true
}

#[cfg(test)]
mod tests {
    use super::super::symbolic::{bcasts, every_size_and_root, subtrees};
    use super::*;

    #[test]
    fn every_rank_gets_every_part() {
        every_size_and_root(|ranks, root| {
            let n = u64::from(ranks);
            let doublings = ranks.next_power_of_two().ilog2();
            let place = |rank: u32| (rank + ranks - root) % ranks;
            let tally = bcasts(
                &ALGORITHM,
                ranks,
                root,
                100 * n,
                &vec![100; ranks as usize],
                |message| {
                    if message.round < doublings {
                        let (from, to) = (place(message.from), place(message.to));
                        (to..ranks.min(to + (to - from))).collect()
                    } else {
                        vec![(place(message.from) + ranks - (message.round - doublings)) % ranks]
                    }
                },
            );
            assert_eq!(
                tally,
                (n - 1 + n * (n - 1), 100 * subtrees(ranks) + (n - 1) * 100 * n)
            );
        });
    }
}
