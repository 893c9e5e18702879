//! Exclusive scan by recursive doubling, with the messages of the inclusive scan.

use workload::Collective;

use super::scan_recursive_doubling::exchange;
use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Exscan,
    name: "recursive-doubling",
    summary: "exchanges partial sums at distances 1, 2, 4, ...; log2(n) rounds",
    source: "Hillis, Steele 1986; MPICH",
    varying: false,
    layout: HostLayout::Any,
    round,
};

fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    // The first news from a lower rank become the result as they are.
    let has_result = k > call.rank.trailing_zeros();
    exchange(call, k, |peer| 1 + u64::from(peer < call.rank && has_result), out)
}

#[cfg(test)]
mod tests {
    use super::super::symbolic::{ContributionSum, every_size, pairs, run};
    use super::*;

    #[test]
    fn every_rank_has_the_contributions_below_its_own() {
        every_size(|ranks| {
            let (sums, tally) = run(
                &ALGORITHM,
                ranks,
                0,
                100,
                |rank| (ContributionSum::of_all(0..0), ContributionSum::of(rank)),
                |(_, block), _, _| (block.clone(), 100),
                |(result, block), message, news: ContributionSum| {
                    block.add(&news);
                    let mut reductions = 1;
                    if message.from < message.to {
                        reductions += u64::from(*result != ContributionSum::default());
                        result.add(&news);
                    }
                    assert_eq!(message.reduced, Some(reductions * 100));
                },
            );
            for (rank, (result, _)) in (0..).zip(sums) {
                assert_eq!(result, ContributionSum::of_all(0..rank));
            }
            assert_eq!(tally, (2 * pairs(ranks), 200 * pairs(ranks)));
        });
    }
}
