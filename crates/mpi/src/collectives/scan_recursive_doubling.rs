//! Inclusive scan by recursive doubling: in round `k` ranks that differ in bit `k` exchange the sum of their
//! block of 2^k ranks; the higher one adds it to its result. A rank without partner skips the round.

use workload::Collective;

use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round, RoundReceive};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Scan,
    name: "recursive-doubling",
    summary: "exchanges partial sums at distances 1, 2, 4, ...; log2(n) rounds",
    source: "Hillis, Steele 1986; MPICH",
    varying: false,
    layout: HostLayout::Any,
    round,
};

fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    // The upper rank of a pair reduces the news twice: with the sum of its block, and with its result.
    exchange(call, k, |peer| 1 + u64::from(peer < call.rank), out)
}

/// The exclusive scan uses it, too. `reductions` tells how often a rank reduces the news of a peer.
pub(super) fn exchange(
    call: &CollectiveArgs,
    k: u32,
    reductions: impl Fn(u32) -> u64,
    out: &mut Round,
) -> bool {
    if k >= call.doublings() {
        return false;
    }
    let peer = call.rank ^ (1 << k);
    if peer < call.ranks {
        out.send(peer, call.bytes);
        out.receives.push(RoundReceive {
            from: peer,
            bytes: call.bytes,
            reduced: call.bytes.saturating_mul(reductions(peer)),
        });
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::symbolic::{ContributionSum, every_size, pairs, run};
    use super::*;

    #[test]
    fn every_rank_has_the_contributions_up_to_its_own() {
        every_size(|ranks| {
            let (sums, tally) = run(
                &ALGORITHM,
                ranks,
                0,
                100,
                |rank| (ContributionSum::of(rank), ContributionSum::of(rank)),
                |(_, block), _, _| (block.clone(), 100),
                |(result, block), message, news: ContributionSum| {
                    block.add(&news);
                    let mut reductions = 1;
                    if message.from < message.to {
                        result.add(&news);
                        reductions += 1;
                    }
                    assert_eq!(message.reduced, Some(reductions * 100));
                },
            );
            for (rank, (result, _)) in (0..).zip(sums) {
                assert_eq!(result, ContributionSum::of_all(0..rank + 1));
            }
            assert_eq!(tally, (2 * pairs(ranks), 200 * pairs(ranks)));
        });
    }
}
