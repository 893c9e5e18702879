//! Scatter down a binomial tree, longest edges first: an edge carries the blocks of the subtree below it.

use workload::Collective;

use super::binomial_tree::{TreeEdge, edge};
use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Scatter,
    name: "binomial",
    summary: "down a binomial tree; log2(n) rounds, an edge carries its subtree",
    source: "MPICH; Thakur, Rabenseifner, Gropp 2005 for its use in broadcast",
    varying: false,
    layout: HostLayout::Any,
    round,
};

/// Other algorithms use it as a step.
pub(super) fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    if k >= call.doublings() {
        return false;
    }
    let bytes = |subtree: u32| call.bytes.saturating_mul(u64::from(subtree));
    match edge(call, call.doublings() - 1 - k) {
        Some(TreeEdge::ToParent { peer, subtree }) => out.receive(peer, bytes(subtree)),
        Some(TreeEdge::ToChild { peer, subtree }) => out.send(peer, bytes(subtree)),
        None => {}
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::symbolic::{every_size_and_root, run, subtrees};
    use super::*;

    #[test]
    fn every_rank_keeps_its_own_block() {
        every_size_and_root(|ranks, root| {
            // Blocks by rank counted from the root, the root's block first.
            let all: Vec<u32> = (0..ranks).map(|relative| (relative + root) % ranks).collect();
            let (kept, tally) = run(
                &ALGORITHM,
                ranks,
                root,
                100,
                |rank| if rank == root { all.clone() } else { Vec::new() },
                |blocks, _, bytes| {
                    let sent = blocks.split_off(blocks.len() - (bytes / 100) as usize);
                    let size = sent.len() as u64 * 100;
                    (sent, size)
                },
                |blocks, _, news| blocks.extend(news),
            );
            for (rank, blocks) in (0..).zip(kept) {
                assert_eq!(blocks, [rank]);
            }
            assert_eq!(tally, (u64::from(ranks) - 1, subtrees(ranks) * 100));
        });
    }
}
