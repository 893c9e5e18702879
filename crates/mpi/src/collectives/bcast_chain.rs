//! Broadcast down a chain of all ranks: a rank passes the whole vector on when it has it. n - 1 messages, one
//! after the other.

use workload::Collective;

use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Bcast,
    name: "chain",
    summary: "down a chain of all ranks, the whole vector on each edge; n - 1 steps",
    source: "Open MPI: its chain and pipeline without segments",
    varying: false,
    layout: HostLayout::Any,
    round,
};

fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    let place = call.rank_before(call.root);
    let receives = u32::from(place > 0);
    out.round_offset = place.saturating_sub(1);
    if k < receives {
        out.receive(call.rank_before(1), call.bytes);
        return true;
    }
    if k > receives || place + 1 == call.ranks {
        return false;
    }
    out.send(call.rank_after(1), call.bytes);
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
            let tally = bcasts(&ALGORITHM, ranks, root, 1 << 20, &[1 << 20], |_| vec![0]);
            assert_eq!(tally, (n - 1, (n - 1) << 20));
        });
    }
}
