//! Allreduce by recursive doubling of whole vectors. With n ranks, p the largest power of two in n and r = n -
//! p, r ranks first send their vector to a neighbour and receive the result at the end; the others exchange in
//! log2 p rounds. p log2 p + 2 r messages.

use workload::Collective;

use super::folding::{Folding, FoldingPhase};
use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Allreduce,
    name: "recursive-doubling",
    summary: "exchanges whole vectors at distances 1, 2, 4, ...; best for short vectors",
    source: "Thakur, Rabenseifner, Gropp 2005; remainder as in MPICH",
    varying: false,
    layout: HostLayout::Any,
    round,
};

fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    exchange(call, k, call.bytes, out)
}

/// The barrier uses it, too, with no bytes.
pub(super) fn exchange(call: &CollectiveArgs, k: u32, bytes: u64, out: &mut Round) -> bool {
    let folding = Folding::new(call);
    match folding.phase(k, folding.doublings) {
        Some(FoldingPhase::Fold) => folding.fold_and_reduce(call, bytes, out),
        Some(FoldingPhase::Unfold) => folding.unfold(call, bytes, out),
        Some(FoldingPhase::Step(step)) => {
            if let Some(position) = folding.position(call.rank) {
                let peer = folding.rank_at(position ^ (1 << step));
                out.send(peer, bytes);
                out.receive_and_reduce(peer, bytes);
            }
        }
        None => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::symbolic::{ContributionSum, every_size, run};
    use super::*;

    #[test]
    fn every_rank_has_every_contribution_once() {
        every_size(|ranks| {
            let doublings = ranks.ilog2();
            let rest = ranks - (1 << doublings);
            let (sums, tally) = run(
                &ALGORITHM,
                ranks,
                0,
                100,
                ContributionSum::of,
                |sum, _, _| (sum.clone(), 100),
                |sum, message, news| {
                    // The last round sends the result to the ranks that sat out.
                    if rest > 0 && message.round == doublings + 1 {
                        assert_eq!(message.reduced, Some(0));
                        *sum = news;
                    } else {
                        assert_eq!(message.reduced, Some(100));
                        sum.add(&news);
                    }
                },
            );
            assert!(
                sums.iter().all(|sum| *sum == ContributionSum::of_all(0..ranks)),
                "{ranks}"
            );
            let messages = u64::from((ranks - rest) * doublings + 2 * rest);
            assert_eq!(tally, (messages, messages * 100));
        });
    }
}
