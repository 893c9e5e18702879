//! Broadcast from the root to each rank, all at once. n - 1 messages of the whole vector.

use workload::Collective;

use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Bcast,
    name: "linear",
    summary: "the root sends to all ranks at once",
    source: "Open MPI (basic linear)",
    varying: false,
    layout: HostLayout::Any,
    round,
};

fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    if k > 0 {
        return false;
    }
    if call.rank == call.root {
        (1..call.ranks).for_each(|distance| out.send(call.rank_after(distance), call.bytes));
    } else {
        out.receive(call.root, call.bytes);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::symbolic::{bcasts, every_size_and_root};
    use super::*;

    #[test]
    fn every_rank_gets_the_vector_of_the_root() {
        every_size_and_root(|ranks, root| {
            let n = u64::from(ranks);
            assert_eq!(
                bcasts(&ALGORITHM, ranks, root, 100, &[100], |_| vec![0]),
                (n - 1, (n - 1) * 100)
            );
        });
    }
}
