//! Barrier by one rank: all ranks signal rank 0, which then signals all. 2 (n - 1) messages.

use workload::Collective;

use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Barrier,
    name: "linear",
    summary: "all signal rank 0, which signals all",
    source: "Open MPI",
    varying: false,
    layout: HostLayout::Any,
    round,
};

fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    match (k, call.rank) {
        (0, 0) => (1..call.ranks).for_each(|rank| out.receive(rank, 0)),
        (0, _) => out.send(0, 0),
        (1, 0) => (1..call.ranks).for_each(|rank| out.send(rank, 0)),
        (1, _) => out.receive(0, 0),
        _ => return false,
    }
    true
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
