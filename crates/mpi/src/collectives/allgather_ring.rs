//! Allgather in a ring: in each of n - 1 rounds each rank forwards what it received in the previous round.

use workload::Collective;

use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Allgather,
    name: "ring",
    summary: "n - 1 rounds to the next rank; best for long contributions",
    source: "Thakur, Rabenseifner, Gropp 2005; NCCL",
    varying: true,
    layout: HostLayout::Any,
    round,
};

/// Other algorithms use it as a step.
pub(super) fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    if k >= call.ranks - 1 {
        return false;
    }
    out.send(
        call.rank_after(1),
        call.contributions_from(call.rank_before(k), 1),
    );
    out.receive(
        call.rank_before(1),
        call.contributions_from(call.rank_before(k + 1), 1),
    );
    true
}

#[cfg(test)]
mod tests {
    use super::super::symbolic::{MessagePassage, allgathers, every_size};
    use super::*;

    #[test]
    fn every_rank_has_every_contribution() {
        every_size(|ranks| {
            let n = u64::from(ranks);
            let carried = |message: MessagePassage| vec![(message.from + ranks - message.round) % ranks];
            allgathers(&ALGORITHM, ranks, n * (n - 1), carried);
        });
    }
}
