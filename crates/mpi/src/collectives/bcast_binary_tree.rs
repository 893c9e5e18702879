//! Broadcast down a complete binary tree. A rank sends the whole vector to both children at once. n - 1
//! messages.

use workload::Collective;

use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round, binary_tree};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Bcast,
    name: "binary-tree",
    summary: "down a complete binary tree; floor(log2(n)) rounds, the whole vector to both children at once",
    source: "Pjesivac-Grbovic et al. 2007; TraceR",
    varying: false,
    layout: HostLayout::Any,
    round,
};

fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    binary_tree::down(call, k, call.bytes, out)
}

#[cfg(test)]
mod tests {
    use super::super::symbolic::{bcasts, every_size_and_root};
    use super::*;

    #[test]
    fn every_rank_gets_the_vector_of_the_root() {
        every_size_and_root(|ranks, root| {
            let n = u64::from(ranks);
            let tally = bcasts(&ALGORITHM, ranks, root, 100, &[100], |_| vec![0]);
            assert_eq!(tally, (n - 1, (n - 1) * 100));
        });
    }
}
