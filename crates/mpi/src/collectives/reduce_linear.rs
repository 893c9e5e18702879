//! Reduction by simultaneous sends of all ranks to the root. n - 1 messages.

use workload::Collective;

use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Reduce,
    name: "linear",
    summary: "all ranks send their vectors to the root at once",
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
        (1..call.ranks).for_each(|distance| out.receive_and_reduce(call.rank_after(distance), call.bytes));
    } else {
        out.send(call.root, call.bytes);
    }
    true
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
