//! Barrier by recursive doubling: pairs at distances 1, 2, 4, ... signal each other, as in the allreduce.

use workload::Collective;

use super::allreduce_recursive_doubling::exchange;
use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Barrier,
    name: "recursive-doubling",
    summary: "pairs at distances 1, 2, 4, ... signal each other",
    source: "Open MPI, for powers of two; remainder as in MPICH",
    varying: false,
    layout: HostLayout::Any,
    round,
};

fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    exchange(call, k, 0, out)
}

#[cfg(test)]
mod tests {
    use super::super::symbolic::{every_size, reaches_all_ranks};
    use super::*;

    #[test]
    fn every_rank_depends_on_every_other() {
        every_size(|ranks| {
            let rest = ranks - (1 << ranks.ilog2());
            let messages = u64::from((ranks - rest) * ranks.ilog2() + 2 * rest);
            assert_eq!(reaches_all_ranks(&ALGORITHM, ranks), (messages, 0));
        });
    }
}
