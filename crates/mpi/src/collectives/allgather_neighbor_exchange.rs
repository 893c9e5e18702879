//! Allgather by exchange with neighbours: with an even number of ranks, n / 2 rounds in which everyone exchanges
//! with the one and the other neighbour in turns, its own contribution first, then pairs of contributions. An odd
//! number of ranks goes round the ring.

use workload::Collective;

use super::allgather_ring;
use super::{CollectiveAlgorithm, CollectiveArgs, Round};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Allgather,
    name: "neighbor-exchange",
    summary: "n / 2 rounds with both neighbours in turns; long contributions, even n",
    source: "Chen, Zhang, Zhang, Yuan 2005; Open MPI",
    varying: true,
    round,
};

/// The pair of ranks, counted in pairs from that of `rank`, whose contributions `rank` receives in a round
/// after the first: 1 down, 1 up, 2 down, ... for even ranks, the other way for odd ones.
fn received_pair(call: &CollectiveArgs, rank: u32, k: u32) -> u32 {
    let pairs = call.ranks / 2;
    let distance = k.div_ceil(2) % pairs;
    let is_up = k.is_multiple_of(2) == rank.is_multiple_of(2);
    let step = if is_up { distance } else { pairs - distance };
    (rank / 2 + step) % pairs
}

/// The first of the ranks whose contributions `rank` sends in a round, and how many.
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
    fn everyone_has_every_contribution() {
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
