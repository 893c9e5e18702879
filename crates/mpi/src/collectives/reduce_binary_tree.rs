//! Reduction up a complete binary tree. A rank sends the whole vector when it has those of both children. n - 1
//! messages.

use workload::Collective;

use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round, binary_tree};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Reduce,
    name: "binary-tree",
    summary: "up a complete binary tree; floor(log2(n)) rounds, the whole vector on each edge",
    source: "Pjesivac-Grbovic et al. 2007; TraceR",
    varying: false,
    layout: HostLayout::Any,
    round,
};

fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    binary_tree::up(call, k, call.bytes, out)
}

#[cfg(test)]
mod tests {
    use super::super::symbolic::{every_size_and_root, reduces};
    use super::*;

    #[test]
    fn the_root_has_every_contribution_once() {
        every_size_and_root(|ranks, root| {
            let n = u64::from(ranks);
            let tally = reduces(&ALGORITHM, ranks, root, 100, &[100], |_| vec![0], |_| true);
            assert_eq!(tally, (n - 1, (n - 1) * 100));
        });
    }
}
