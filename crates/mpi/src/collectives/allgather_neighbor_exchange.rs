//! Allgather by neighbour exchange: with an even number of ranks, n / 2 rounds in which each rank exchanges
//! with its two neighbours in turn, first its own contribution, then pairs of contributions. An odd number of
//! ranks uses the ring.

use workload::Collective;

use super::allgather_ring;
use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Allgather,
    name: "neighbor-exchange",
    summary: "n / 2 rounds with both neighbours in turns; long contributions, even n",
    source: "Chen, Zhang, Zhang, Yuan 2005; Open MPI",
    varying: true,
    layout: HostLayout::Any,
    round,
};

/// The pair of ranks, relative to the pair of `rank`, whose contributions `rank` receives in a round after the
/// first: 1 before, 1 after, 2 before, ... for even ranks, the reverse for odd ones.
fn received_pair(call: &CollectiveArgs, rank: u32, k: u32) -> u32 {
    let pairs = call.ranks / 2;
    let distance = k.div_ceil(2) % pairs;
    let is_up = k.is_multiple_of(2) == rank.is_multiple_of(2);
    let step = if is_up { distance } else { pairs - distance };
    (rank / 2 + step) % pairs
}

/// The first rank whose contribution `rank` sends in a round, and the number of ranks.
fn sent(call: &CollectiveArgs, rank: u32, k: u32) -> (u32, u32) {
    match k {
        0 => (rank, 1),
        1 => (rank / 2 * 2, 2),
        _ => (received_pair(call, rank, k - 1) * 2, 2),
    }
}

fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    if !call.ranks.is_multiple_of(2) {
        return (allgather_ring::ALGORITHM.round)(call, k, out);
    }
    if k >= call.ranks / 2 {
        return false;
    }
    let goes_up = k.is_multiple_of(2) == call.rank.is_multiple_of(2);
    let peer = if goes_up {
        call.rank_after(1)
    } else {
        call.rank_before(1)
    };
    let bytes = |rank: u32| {
        let (first, count) = sent(call, rank, k);
        call.contributions_from(first, count)
    };
    out.send(peer, bytes(call.rank));
    out.receive(peer, bytes(peer));
    true
}

#[cfg(test)]
mod tests {
    use super::super::CollectiveCall;
    use super::super::symbolic::{MessagePassage, allgathers, every_size};
    use super::*;

    #[test]
    fn every_rank_has_every_contribution() {
        every_size(|ranks| {
            let call = CollectiveCall::new(0, ranks, 0, 0);
            let n = u64::from(ranks);
            let even = ranks.is_multiple_of(2);
            let carried = |message: MessagePassage| match even {
                true => {
                    let (first, count) = sent(&CollectiveArgs::new(call, None), message.from, message.round);
                    (first..first + count).collect()
                }
                false => vec![(message.from + ranks - message.round % ranks) % ranks],
            };
            let messages = if even { n * n / 2 } else { n * (n - 1) };
            allgathers(&ALGORITHM, ranks, messages, carried);
        });
    }
}
