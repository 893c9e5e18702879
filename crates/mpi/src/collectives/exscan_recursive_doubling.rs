//! Exclusive scan by recursive doubling, with the messages of the inclusive scan.

use workload::Collective;

use super::scan_recursive_doubling::round;
use super::{CollectiveAlgorithm, HostLayout};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Exscan,
    name: "recursive-doubling",
    summary: "exchanges partial sums at distances 1, 2, 4, ...; log2(n) rounds",
    source: "Hillis, Steele 1986; MPICH",
    varying: false,
    layout: HostLayout::Any,
    round,
};

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
                    if message.from < message.to {
                        result.add(&news);
                    }
                },
            );
            for (rank, (result, _)) in (0..).zip(sums) {
                assert_eq!(result, ContributionSum::of_all(0..rank));
            }
            assert_eq!(tally, (2 * pairs(ranks), 200 * pairs(ranks)));
        });
    }
}
