//! Broadcast by van de Geijn, with a ring: the vector is cut into n parts and scattered down a binomial tree;
//! then everyone passes on what it got in the round before. Ranks are counted from the root.

use workload::Collective;

use super::binomial_tree::{Edge, edge};
use super::{Algorithm, Round, Share};

pub(super) static ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Bcast,
    name: "scatter-ring-allgather",
    summary: "scatter down a binomial tree, then allgather round a ring; long vectors",
    source: "Barnett et al. 1994 (van de Geijn); Thakur, Rabenseifner, Gropp 2005",
    varying: false,
    round,
};

fn round(call: &Share, k: u32, out: &mut Round) -> bool {
    let doublings = call.doublings();
    let place = call.down(call.root);
    let cut = |first: u32, parts: u32| call.cut(call.ranks, first..first + parts);
    let Some(step) = k.checked_sub(doublings) else {
        match edge(call, doublings - 1 - k) {
            Some(Edge::ToParent { peer, subtree }) => out.receive(peer, cut(place, subtree)),
            Some(Edge::ToChild { peer, subtree }) => {
                out.send(
                    peer,
                    cut(call.seen_with(peer, call.root).down(call.root), subtree),
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
    out.send(call.up(1), cut(part(step), 1));
    out.receive(call.down(1), cut(part(step + 1), 1));
    true
}

#[cfg(test)]
mod tests {
    use super::super::symbolic::{bcasts, every_size_and_root, subtrees};
    use super::*;

    #[test]
    fn everyone_gets_every_part() {
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
