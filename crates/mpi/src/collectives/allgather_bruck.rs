//! Allgather by Bruck: in round `k` each rank sends all its contributions, at most 2^k, to the rank 2^k before
//! it. Ceil(log2 n) rounds for any n; the same bytes as the ring.

use workload::Collective;

use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Allgather,
    name: "bruck",
    summary: "log2(n) rounds with doubling amounts; best for short contributions",
    source: "Bruck, Ho, Kipnis, Upfal, Weathersby 1997; Thakur, Rabenseifner, Gropp 2005",
    varying: true,
    layout: HostLayout::Any,
    round,
};

fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    if k >= call.doublings() {
        return false;
    }
    let distance = 1 << k;
    let blocks = distance.min(call.ranks - distance);
    // Each rank holds the contributions of the ranks from its own on.
    let up = call.rank_after(distance);
    out.send(
        call.rank_before(distance),
        call.contributions_from(call.rank, blocks),
    );
    out.receive(up, call.contributions_from(up, blocks));
    true
}

#[cfg(test)]
mod tests {
    use super::super::symbolic::{MessagePassage, allgathers, every_size};
    use super::*;

    #[test]
    fn every_rank_has_every_contribution() {
        every_size(|ranks| {
            let carried = |message: MessagePassage| {
                let distance = 1 << message.round;
                let blocks = distance.min(ranks - distance);
                (0..blocks).map(|up| (message.from + up) % ranks).collect()
            };
            let rounds = u64::from(ranks.next_power_of_two().ilog2());
            allgathers(&ALGORITHM, ranks, u64::from(ranks) * rounds, carried);
        });
    }
}
