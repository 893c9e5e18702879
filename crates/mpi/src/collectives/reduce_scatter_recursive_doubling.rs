//! Reduce-scatter by recursive doubling: in step k ranks at distance 2^k exchange all parts except those of
//! their blocks of 2^k ranks. It has few rounds and many bytes and keeps the order of the operands, unlike
//! recursive halving. Remaining ranks as in recursive halving.

use workload::Collective;

use super::folding::{Folding, FoldingPhase, group};
use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::ReduceScatter,
    name: "recursive-doubling",
    summary: "log2(n) rounds with nearly the whole vector each; for operations that do not commute",
    source: "Thakur, Rabenseifner, Gropp 2005; MPICH",
    varying: true,
    layout: HostLayout::Any,
    round,
};

fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    let folding = Folding::new(call);
    let all = || call.parts(0..call.ranks);
    match folding.phase(k, folding.doublings) {
        Some(FoldingPhase::Fold) => folding.fold_and_reduce(call, all(), out),
        Some(FoldingPhase::Unfold) => {
            let sits_out = folding.twin(call.rank).map_or(0, |twin| twin.min(call.rank));
            folding.unfold(call, call.part(sits_out), out);
        }
        Some(FoldingPhase::Step(step)) => {
            if let Some(position) = folding.position(call.rank) {
                let peer = position ^ (1 << step);
                let others =
                    |position: u32| all().saturating_sub(call.parts(folding.covered(group(position, step))));
                out.send(folding.rank_at(peer), others(position));
                out.receive_and_reduce(folding.rank_at(peer), others(peer));
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
                    let own = folding.covered(group(folding.position(message.from).unwrap(), step));
                    (0..ranks).filter(|rank| !own.contains(rank)).collect()
                }
            };
            let adds = |message: MessagePassage| {
                !matches!(folding.phase(message.round, d), Some(FoldingPhase::Unfold))
            };
            let (p, r) = (1u64 << d, u64::from(folding.rest));
            let messages = p * u64::from(d) + 2 * r;
            let vectors = p * u64::from(d) - (p - 1) + r;
            let sits_out = |rank: u32| folding.position(rank).is_none();
            reduce_scatters(&ALGORITHM, ranks, carried, adds, messages, vectors, sits_out);
        });
    }
}
