//! Barrier up and down a complete binary tree: an allreduce of no bytes. 2 (n - 1) messages.

use workload::Collective;

use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round, binary_tree};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Barrier,
    name: "binary-tree",
    summary: "up and down a complete binary tree; 2 floor(log2(n)) rounds",
    source: "TraceR",
    varying: false,
    layout: HostLayout::Any,
    round,
};

fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    binary_tree::up_and_down(call, k, 0, out)
}

#[cfg(test)]
mod tests {
    use super::super::symbolic::{every_size, reaches_all_ranks};
    use super::*;

    #[test]
    fn every_rank_hears_of_every_other() {
        every_size(|ranks| {
            let n = u64::from(ranks);
            assert_eq!(reaches_all_ranks(&ALGORITHM, ranks), (2 * (n - 1), 0));
        });
    }
}
