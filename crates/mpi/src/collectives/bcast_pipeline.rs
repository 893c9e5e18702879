//! Broadcast down a chain of all ranks in segments: a rank forwards one segment while it receives the next. (n
//! - 1) m messages for m segments, in n - 2 + m steps.

use workload::Collective;

use super::segments::{passing, segments};
use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Bcast,
    name: "pipeline",
    summary: "down a chain of all ranks in segments of 64 KiB; best for very long vectors on few ranks",
    source: "Pjesivac-Grbovic et al. 2007; Open MPI",
    varying: false,
    layout: HostLayout::Any,
    round,
};

fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    // Position in the chain. A rank starts when it receives the first segment.
    let place = call.rank_before(call.root);
    let (receives, sends) = (place > 0, place + 1 < call.ranks);
    out.round_offset = place.saturating_sub(1);
    let rounds = segments(call.bytes).saturating_add(u32::from(receives && sends));
    if k >= rounds || call.ranks == 1 {
        return false;
    }
    if let Some(bytes) = passing(call.bytes, k, 0).filter(|_| receives) {
        out.receive(call.rank_before(1), bytes);
    }
    if let Some(bytes) = passing(call.bytes, k, u32::from(receives)).filter(|_| sends) {
        out.send(call.rank_after(1), bytes);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::segments::SEGMENT;
    use super::super::symbolic::{bcasts, every_size_and_root};
    use super::*;

    #[test]
    fn every_rank_gets_every_segment() {
        every_size_and_root(|ranks, root| {
            let n = u64::from(ranks);
            let place = |rank: u32| (rank + ranks - root) % ranks;
            let bytes = 2 * SEGMENT + 5;
            let carried =
                |passage: super::super::symbolic::MessagePassage| vec![passage.round - place(passage.from)];
            let tally = bcasts(&ALGORITHM, ranks, root, bytes, &[SEGMENT, SEGMENT, 5], carried);
            assert_eq!(tally, (3 * (n - 1), bytes * (n - 1)));
            assert_eq!(bcasts(&ALGORITHM, ranks, root, 0, &[0], carried), (n - 1, 0));
        });
    }
}
