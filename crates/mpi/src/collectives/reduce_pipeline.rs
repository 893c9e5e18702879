//! Reduction up a chain of all ranks in segments: a rank forwards one segment while it receives the next. (n -
//! 1) m messages for m segments, in n - 2 + m steps.

use workload::Collective;

use super::segments::{passing, segments};
use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Reduce,
    name: "pipeline",
    summary: "up a chain of all ranks in segments of 64 KiB; best for very long vectors on few ranks",
    source: "Pjesivac-Grbovic et al. 2007; Open MPI",
    varying: false,
    layout: HostLayout::Any,
    round,
};

fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    // The chain ends at the root. A rank starts when it receives the first segment.
    let place = call.ranks - 1 - call.rank_before(call.root);
    let (receives, sends) = (place > 0, place + 1 < call.ranks);
    out.round_offset = place.saturating_sub(1);
    let rounds = segments(call.bytes).saturating_add(u32::from(receives && sends));
    if k >= rounds || call.ranks == 1 {
        return false;
    }
    if let Some(bytes) = passing(call.bytes, k, 0).filter(|_| receives) {
        out.receive_and_reduce(call.rank_after(1), bytes);
    }
    if let Some(bytes) = passing(call.bytes, k, u32::from(receives)).filter(|_| sends) {
        out.send(call.rank_before(1), bytes);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::segments::SEGMENT;
    use super::super::symbolic::{MessagePassage, every_size_and_root, reduces};
    use super::*;

    #[test]
    fn the_root_has_every_contribution_once() {
        every_size_and_root(|ranks, root| {
            let n = u64::from(ranks);
            let place = |rank: u32| ranks - 1 - (rank + ranks - root) % ranks;
            let bytes = 2 * SEGMENT + 5;
            let carried = |passage: MessagePassage| vec![passage.round - place(passage.from)];
            let tally = reduces(
                &ALGORITHM,
                ranks,
                root,
                bytes,
                &[SEGMENT, SEGMENT, 5],
                carried,
                |_| true,
            );
            assert_eq!(tally, (3 * (n - 1), bytes * (n - 1)));
        });
    }
}
