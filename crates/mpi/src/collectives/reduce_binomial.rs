//! Reduction up a binomial tree, shortest edges first. n - 1 messages of the whole vector.

use workload::Collective;

use super::binomial_tree::{TreeEdge, edge};
use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Reduce,
    name: "binomial",
    summary: "up a binomial tree; log2(n) rounds, the whole vector on each edge",
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
    match edge(call, k) {
        Some(TreeEdge::ToParent { peer, .. }) => out.send(peer, call.bytes),
        Some(TreeEdge::ToChild { peer, .. }) => out.receive_and_reduce(peer, call.bytes),
        None => {}
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::symbolic::{ContributionSum, every_size_and_root, run};
    use super::*;

    #[test]
    fn the_root_has_every_contribution_once() {
        every_size_and_root(|ranks, root| {
            let (sums, tally) = run(
                &ALGORITHM,
                ranks,
                root,
                100,
                ContributionSum::of,
                |sum, _, _| (sum.clone(), 100),
                |sum, _, news| sum.add(&news),
            );
            assert_eq!(sums[root as usize], ContributionSum::of_all(0..ranks));
            assert_eq!(tally, (u64::from(ranks) - 1, (u64::from(ranks) - 1) * 100));
        });
    }
}
