//! Gather up a binomial tree, shortest edges first: an edge carries the contributions of the subtree
//! below it.

use workload::Collective;

use super::binomial_tree::{TreeEdge, edge};
use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Gather,
    name: "binomial",
    summary: "up a binomial tree; log2(n) rounds, an edge carries its subtree",
    source: "MPICH",
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
    match edge(call, k) {
        Some(TreeEdge::ToParent { peer, subtree }) => out.send(peer, bytes(subtree)),
        Some(TreeEdge::ToChild { peer, subtree }) => out.receive(peer, bytes(subtree)),
        None => {}
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::symbolic::{every_size_and_root, run, subtrees};
    use super::*;

    #[test]
    fn the_root_has_every_contribution_once() {
        every_size_and_root(|ranks, root| {
            let (gathered, tally) = run(
                &ALGORITHM,
                ranks,
                root,
                100,
                |rank| vec![rank],
                |blocks, _, _| (blocks.clone(), blocks.len() as u64 * 100),
                |blocks, _, news| blocks.extend(news),
            );
            let mut blocks = gathered[root as usize].clone();
            blocks.sort_unstable();
            assert_eq!(blocks, (0..ranks).collect::<Vec<_>>());
            assert_eq!(tally, (u64::from(ranks) - 1, subtrees(ranks) * 100));
        });
    }
}
