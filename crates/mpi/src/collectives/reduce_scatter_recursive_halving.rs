//! Reduce-scatter by recursive halving: pairs at distances p/2, p/4, ..., 1 exchange the half of the remaining
//! vector that the other is responsible for. With p the largest power of two in n and r = n - p, r ranks first
//! send their vector to a neighbour, which is responsible for both parts and returns theirs at the end. p log2
//! p + 2 r messages.

use workload::Collective;

use super::folding::{Folding, FoldingPhase, group};
use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::ReduceScatter,
    name: "recursive-halving",
    summary: "log2(n) rounds at distances that halve, as the amounts do; short and medium vectors",
    source: "Thakur, Rabenseifner, Gropp 2005; MPICH",
    varying: true,
    layout: HostLayout::Any,
    round,
};

fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    let folding = Folding::new(call);
    match folding.phase(k, folding.doublings) {
        Some(FoldingPhase::Fold) => folding.fold_and_reduce(call, call.parts(0..call.ranks), out),
        Some(FoldingPhase::Unfold) => {
            let sits_out = folding.twin(call.rank).map_or(0, |twin| twin.min(call.rank));
            folding.unfold(call, call.part(sits_out), out);
        }
        Some(FoldingPhase::Step(step)) => {
            if let Some(position) = folding.position(call.rank) {
                let bit = folding.doublings - 1 - step;
                let peer = position ^ (1 << bit);
                let bytes = |position: u32| call.parts(folding.covered(group(position, bit)));
                out.send(folding.rank_at(peer), bytes(peer));
                out.receive_and_reduce(folding.rank_at(peer), bytes(position));
            }
        }
        None => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::CollectiveCall;
    use super::super::symbolic::{MessagePassage, every_size, reduce_scatters};
    use super::*;

    #[test]
    fn every_rank_has_every_contribution_to_its_part() {
        every_size(|ranks| {
            let folding = Folding::new(&CollectiveCall::new(0, ranks, 0, 0));
            let d = folding.doublings;
            let carried = |message: MessagePassage| match folding.phase(message.round, d).unwrap() {
                FoldingPhase::Fold => (0..ranks).collect::<Vec<_>>(),
                FoldingPhase::Unfold => vec![message.to],
                FoldingPhase::Step(step) => {
                    let position = folding.position(message.to).unwrap();
                    folding.covered(group(position, d - 1 - step)).collect()
                }
            };
            let adds = |message: MessagePassage| {
                !matches!(folding.phase(message.round, d), Some(FoldingPhase::Unfold))
            };
            let (p, r) = (1u64 << d, u64::from(folding.rest));
            let messages = p * u64::from(d) + 2 * r;
            // Whole vectors sent, besides the parts of ranks that sit out.
            let sits_out = |rank: u32| folding.position(rank).is_none();
            reduce_scatters(&ALGORITHM, ranks, carried, adds, messages, p - 1 + r, sits_out);
        });
    }
}
