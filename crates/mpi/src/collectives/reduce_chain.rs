//! Reduction up a chain of all ranks: a rank adds its vector to the one it gets and passes it on. n - 1
//! messages, one after the other.

use workload::Collective;

use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Reduce,
    name: "chain",
    summary: "up a chain of all ranks, the whole vector on each edge; n - 1 steps",
    source: "Open MPI: its chain and pipeline without segments",
    varying: false,
    layout: HostLayout::Any,
    round,
};

fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    // The chain ends at the root.
    let place = call.ranks - 1 - call.rank_before(call.root);
    let receives = u32::from(place > 0);
    out.round_offset = place.saturating_sub(1);
    if k < receives {
        out.receive_and_reduce(call.rank_after(1), call.bytes);
        return true;
    }
    if k > receives || place + 1 == call.ranks {
        return false;
    }
    out.send(call.rank_before(1), call.bytes);
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
            let tally = reduces(
                &ALGORITHM,
                ranks,
                root,
                1 << 20,
                &[1 << 20],
                |_| vec![0],
                |_| true,
            );
            assert_eq!(tally, (n - 1, (n - 1) << 20));
        });
    }
}
