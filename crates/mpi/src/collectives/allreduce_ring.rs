//! Allreduce in a ring: n - 1 rounds reduce one part of the vector per rank, n - 1 more distribute the results.
//! Each rank sends 2 (n - 1)/n of the vector, which is the minimum.

use workload::Collective;

use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Allreduce,
    name: "ring",
    summary: "reduce-scatter and allgather round a ring; best for long vectors",
    source: "Patarasuk, Yuan 2009; Open MPI, NCCL",
    varying: false,
    layout: HostLayout::Any,
    round,
};

/// The part of the vector that a rank sends in round `k`: first its own, then what it received in the previous
/// round.
fn sent_part(call: &CollectiveArgs, rank: u32, k: u32) -> u32 {
    call.as_rank(rank, 0).rank_before(k % call.ranks)
}

fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    if u64::from(k) >= 2 * u64::from(call.ranks - 1) {
        return false;
    }
    let left = call.rank_before(1);
    out.send(call.rank_after(1), call.part(sent_part(call, call.rank, k)));
    let taken = call.part(sent_part(call, left, k));
    match k < call.ranks - 1 {
        true => out.receive_and_reduce(left, taken),
        false => out.receive(left, taken),
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::CollectiveCall;
    use super::super::symbolic::{MessagePassage, every_size, reduces_for_all};
    use super::*;

    #[test]
    fn every_rank_has_every_contribution_once_in_every_part() {
        every_size(|ranks| {
            let call = CollectiveCall::new(0, ranks, 0, 1000);
            let part = CollectiveArgs::new(call, None);
            let sizes: Vec<u64> = (0..ranks).map(|rank| part.part(rank)).collect();
            let carried = |message: MessagePassage| vec![sent_part(&part, message.from, message.round)];
            let adds = |message: MessagePassage| message.round < ranks - 1;
            let tally = reduces_for_all(&ALGORITHM, ranks, 1000, &sizes, carried, adds);
            let n = u64::from(ranks);
            assert_eq!(tally, (2 * n * (n - 1), 2 * (n - 1) * 1000));
        });
    }
}
