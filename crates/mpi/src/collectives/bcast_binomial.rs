//! Broadcast down a binomial tree, longest edges first. n - 1 messages of the whole vector.

use workload::Collective;

use super::binomial_tree::{TreeEdge, edge};
use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Bcast,
    name: "binomial",
    summary: "down a binomial tree; log2(n) rounds, the whole vector on each edge",
    source: "Thakur, Rabenseifner, Gropp 2005",
    varying: false,
    layout: HostLayout::Any,
    round,
};

/// Other algorithms use it as a step.
pub(super) fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    if k >= call.doublings() {
        return false;
    }
    match edge(call, call.doublings() - 1 - k) {
        Some(TreeEdge::ToParent { peer, .. }) => out.receive(peer, call.bytes),
        Some(TreeEdge::ToChild { peer, .. }) => out.send(peer, call.bytes),
        None => {}
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::symbolic::{every_size_and_root, run};
    use super::*;

    #[test]
    fn every_rank_gets_the_vector_of_the_root() {
        every_size_and_root(|ranks, root| {
            let (vectors, tally) = run(
                &ALGORITHM,
                ranks,
                root,
                100,
                |rank| (rank == root).then_some(root),
                |vector, _, _| (vector.expect("a rank sends after it has received"), 100),
                |vector, _, news| assert_eq!(vector.replace(news), None),
            );
            assert_eq!(vectors, vec![Some(root); ranks as usize]);
            assert_eq!(tally, (u64::from(ranks) - 1, (u64::from(ranks) - 1) * 100));
        });
    }
}
