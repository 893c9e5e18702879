//! Barrier up and down a binomial tree below rank 0: reduce and broadcast without payload. 2 (n - 1)
//! messages.

use workload::Collective;

use super::allreduce_reduce_bcast::up_and_down;
use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Barrier,
    name: "tree",
    summary: "signals up and down a binomial tree; 2 log2(n) rounds",
    source: "Open MPI",
    varying: false,
    layout: HostLayout::Any,
    round,
};

fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    up_and_down(call, k, 0, out)
}

#[cfg(test)]
mod tests {
    use super::super::symbolic::{every_size, reaches_all_ranks};
    use super::*;

    #[test]
    fn every_rank_depends_on_every_other() {
        every_size(|ranks| {
            assert_eq!(
                reaches_all_ranks(&ALGORITHM, ranks),
                (2 * u64::from(ranks - 1), 0)
            );
        });
    }
}
