//! Allgather by recursive doubling: pairs at distances 1, 2, 4, ... exchange all contributions they have. With
//! n ranks, p the largest power of two in n and r = n - p, r ranks first send their contribution to a neighbour
//! and receive the rest at the end. p log2 p + 2 r messages, n - 1 contributions for each rank.

use workload::Collective;

use super::folding::{Folding, FoldingPhase, group};
use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Allgather,
    name: "recursive-doubling",
    summary: "pairs at distances 1, 2, 4, ... exchange all they have; powers of two",
    source: "Thakur, Rabenseifner, Gropp 2005; remainder as in its allreduce",
    varying: true,
    layout: HostLayout::Any,
    round,
};

fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    let folding = Folding::new(call);
    match folding.phase(k, folding.doublings) {
        Some(FoldingPhase::Fold) => {
            let given = folding.twin(call.rank).map_or(0, |twin| twin.min(call.rank));
            folding.fold(call, call.contributions(given..given + 1), out);
        }
        Some(FoldingPhase::Unfold) => {
            let lacks = folding.twin(call.rank).map_or(0, |twin| twin.min(call.rank));
            let others = call
                .contributions(0..lacks)
                .saturating_add(call.contributions(lacks + 1..call.ranks));
            folding.unfold(call, others, out);
        }
        Some(FoldingPhase::Step(step)) => {
            if let Some(position) = folding.position(call.rank) {
                let peer = position ^ (1 << step);
                let bytes = |position: u32| call.contributions(folding.covered(group(position, step)));
                out.send(folding.rank_at(peer), bytes(position));
                out.receive(folding.rank_at(peer), bytes(peer));
            }
        }
        None => return false,
    }
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
            let folding = Folding::new(&CollectiveCall::new(0, ranks, 0, 0));
            let carried =
                |message: MessagePassage| match folding.phase(message.round, folding.doublings).unwrap() {
                    FoldingPhase::Fold => vec![message.from],
                    FoldingPhase::Unfold => (0..ranks).filter(|rank| *rank != message.to).collect(),
                    FoldingPhase::Step(step) => {
                        let position = folding.position(message.from).unwrap();
                        folding.covered(group(position, step)).collect()
                    }
                };
            let rest = u64::from(folding.rest);
            let messages = (u64::from(ranks) - rest) * u64::from(folding.doublings) + 2 * rest;
            allgathers(&ALGORITHM, ranks, messages, carried);
        });
    }
}
