//! Reduce-scatter in a ring: in each of n - 1 rounds each rank adds its contribution to the received part and
//! forwards it. Each part ends at its owner.

use workload::Collective;

use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::ReduceScatter,
    name: "ring",
    summary: "n - 1 rounds to the next rank, a part each; long vectors",
    source: "Patarasuk, Yuan 2009; Open MPI, NCCL",
    varying: true,
    layout: HostLayout::Any,
    round,
};

fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    if k >= call.ranks - 1 {
        return false;
    }
    out.send(call.rank_after(1), call.part(call.rank_before(k + 1)));
    out.receive_and_reduce(
        call.rank_before(1),
        call.part(call.rank_before((k + 2) % call.ranks)),
    );
    true
}

#[cfg(test)]
mod tests {
    use super::super::symbolic::{MessagePassage, every_size, reduce_scatters};
    use super::*;

    #[test]
    fn every_rank_has_every_contribution_to_its_part() {
        every_size(|ranks| {
            let carried = |message: MessagePassage| vec![(message.from + ranks - 1 - message.round) % ranks];
            let n = u64::from(ranks);
            reduce_scatters(
                &ALGORITHM,
                ranks,
                carried,
                |_| true,
                n * (n - 1),
                n - 1,
                |_| false,
            );
        });
    }
}
