//! Allreduce by Rabenseifner: a reduce-scatter by recursive halving, then an allgather by recursive doubling in
//! reverse order. With p the largest power of two in n and r = n - p: 2 p log2 p + 2 r messages.

use workload::Collective;

use super::folding::{Folding, FoldingPhase, halved};
use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Allreduce,
    name: "rabenseifner",
    summary: "reduce-scatter by recursive halving, then allgather by recursive doubling; long vectors",
    source: "Rabenseifner 2004; Thakur, Rabenseifner, Gropp 2005",
    varying: false,
    layout: HostLayout::Any,
    round,
};

fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    let folding = Folding::new(call);
    let doublings = folding.doublings;
    match folding.phase(k, 2 * doublings) {
        Some(FoldingPhase::Fold) => folding.fold_and_reduce(call, call.bytes, out),
        Some(FoldingPhase::Unfold) => folding.unfold(call, call.bytes, out),
        Some(FoldingPhase::Step(step)) => {
            let Some(position) = folding.position(call.rank) else {
                return true;
            };
            let bit = step.min(2 * doublings - 1 - step);
            let peer = position ^ (1 << bit);
            let bytes = |position: u32| call.even_part(1 << doublings, halved(position, bit + 1, doublings));
            let (gives, takes) = match step < doublings {
                true => (bytes(peer), bytes(position)),
                false => (bytes(position), bytes(peer)),
            };
            out.send(folding.rank_at(peer), gives);
            match step < doublings {
                true => out.receive_and_reduce(folding.rank_at(peer), takes),
                false => out.receive(folding.rank_at(peer), takes),
            }
        }
        None => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::CollectiveCall;
    use super::super::symbolic::{MessagePassage, every_size, reduces_for_all};
    use super::*;

    #[test]
    fn every_rank_has_every_contribution_to_every_part_once() {
        every_size(|ranks| {
            let folding = Folding::new(&CollectiveCall::new(0, ranks, 0, 0));
            let (d, p) = (folding.doublings, 1u32 << folding.doublings);
            let position = |rank: u32| folding.position(rank).unwrap();
            let carried = |message: MessagePassage| match folding.phase(message.round, 2 * d).unwrap() {
                FoldingPhase::Step(step) if step < d => halved(position(message.to), step + 1, d).collect(),
                FoldingPhase::Step(step) => {
                    halved(position(message.from), 2 * d - step, d).collect::<Vec<u32>>()
                }
                FoldingPhase::Fold | FoldingPhase::Unfold => (0..p).collect(),
            };
            let adds = |message: MessagePassage| match folding.phase(message.round, 2 * d).unwrap() {
                FoldingPhase::Fold => true,
                FoldingPhase::Step(step) => step < d,
                FoldingPhase::Unfold => false,
            };
            let bytes = 1000u64;
            let edge = |part: u32| bytes * u64::from(part) / u64::from(p);
            let sizes: Vec<u64> = (0..p).map(|part| edge(part + 1) - edge(part)).collect();
            let tally = reduces_for_all(&ALGORITHM, ranks, bytes, &sizes, carried, adds);
            let (d, p, r) = (u64::from(d), u64::from(p), u64::from(folding.rest));
            assert_eq!(tally, (2 * p * d + 2 * r, 2 * (p - 1 + r) * bytes));
        });
    }
}
