//! Reduction by Rabenseifner: a reduce-scatter by recursive halving, then a gather to the root up a binomial
//! tree. Ranks are counted from the root, so that the root never sits out; MPICH sends one more message
//! instead.

use workload::Collective;

use super::folding::{Folding, FoldingPhase, halved};
use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Reduce,
    name: "rabenseifner",
    summary: "reduce-scatter by recursive halving, then gather to the root; long vectors",
    source: "Rabenseifner 2004; Thakur, Rabenseifner, Gropp 2005",
    varying: false,
    layout: HostLayout::Any,
    round,
};

fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    let folding = Folding::from_root(call);
    let doublings = folding.doublings;
    let step = match folding.phase(k, 2 * doublings) {
        Some(FoldingPhase::Fold) => {
            folding.fold_and_reduce(call, call.bytes, out);
            return true;
        }
        Some(FoldingPhase::Step(step)) => step,
        Some(FoldingPhase::Unfold) | None => return false,
    };
    let Some(position) = folding.position(call.rank) else {
        return true;
    };
    let bytes =
        |position: u32, halvings: u32| call.even_part(1 << doublings, halved(position, halvings, doublings));
    if step < doublings {
        let peer = position ^ (1 << step);
        out.send(folding.rank_at(peer), bytes(peer, step + 1));
        out.receive_and_reduce(folding.rank_at(peer), bytes(position, step + 1));
    } else {
        // Gather with the longest edges first, so that the parts are contiguous.
        let bit = 2 * doublings - 1 - step;
        let peer = position ^ (1 << bit);
        match position >> bit {
            0 => out.receive(folding.rank_at(peer), bytes(peer, bit + 1)),
            1 => out.send(folding.rank_at(peer), bytes(position, bit + 1)),
            _ => {}
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::CollectiveCall;
    use super::super::symbolic::{MessagePassage, every_size_and_root, reduces};
    use super::*;

    #[test]
    fn the_root_has_every_contribution_to_every_part_once() {
        every_size_and_root(|ranks, root| {
            let folding = Folding::from_root(&CollectiveCall::new(0, ranks, root, 0));
            let (d, p) = (folding.doublings, 1u32 << folding.doublings);
            let position = |rank: u32| folding.position(rank).unwrap();
            let step = |message: MessagePassage| match folding.phase(message.round, 2 * d).unwrap() {
                FoldingPhase::Step(step) => Some(step),
                _ => None,
            };
            let carried = |message: MessagePassage| match step(message) {
                None => (0..p).collect(),
                Some(step) if step < d => halved(position(message.to), step + 1, d).collect(),
                Some(step) => halved(position(message.from), 2 * d - step, d).collect::<Vec<u32>>(),
            };
            let adds = |message: MessagePassage| step(message).is_none_or(|step| step < d);
            let bytes = 96 * u64::from(p);
            let tally = reduces(
                &ALGORITHM,
                ranks,
                root,
                bytes,
                &vec![96; p as usize],
                carried,
                adds,
            );
            let (d, p, r) = (u64::from(d), u64::from(p), u64::from(folding.rest));
            assert_eq!(tally, (r + p * d + p - 1, (r + p - 1) * bytes + bytes / 2 * d));
        });
    }
}
