//! Allreduce as a reduction to rank 0 and a broadcast, both over a complete binary tree. 2 (n - 1) messages.

use workload::Collective;

use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round, binary_tree};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Allreduce,
    name: "binary-tree",
    summary: "reduce to rank 0 and broadcast over a complete binary tree; 2 floor(log2(n)) rounds",
    source: "TraceR",
    varying: false,
    layout: HostLayout::Any,
    round,
};

fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    binary_tree::up_and_down(call, k, call.bytes, out)
}

#[cfg(test)]
mod tests {
    use super::super::symbolic::{every_size, reduces_for_all};
    use super::*;

    #[test]
    fn every_rank_has_every_contribution_once() {
        every_size(|ranks| {
            let n = u64::from(ranks);
            let up = binary_tree::height(ranks);
            let adds = |message: super::super::symbolic::MessagePassage| message.round < up;
            let tally = reduces_for_all(&ALGORITHM, ranks, 100, &[100], |_| vec![0], adds);
            assert_eq!(tally, (2 * (n - 1), 2 * (n - 1) * 100));
        });
    }
}
