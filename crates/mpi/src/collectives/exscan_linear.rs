//! Exclusive scan from rank to rank, with the messages of the inclusive scan.

use workload::Collective;

use super::scan_linear::round;
use super::{CollectiveAlgorithm, HostLayout};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Exscan,
    name: "linear",
    summary: "from rank to rank; n - 1 messages one after the other",
    source: "Open MPI (linear)",
    varying: false,
    layout: HostLayout::Any,
    round,
};

#[cfg(test)]
mod tests {
    use super::super::symbolic::{ContributionSum, every_size, run};
    use super::*;

    #[test]
    fn every_rank_has_the_contributions_below_its_own() {
        every_size(|ranks| {
            let (sums, tally) = run(
                &ALGORITHM,
                ranks,
                0,
                100,
                |rank| (rank, ContributionSum::default()),
                |(rank, below), _, _| {
                    let mut sum = below.clone();
                    sum.add(&ContributionSum::of(*rank));
                    (sum, 100)
                },
                |(_, below), _, news: ContributionSum| below.add(&news),
            );
            for (rank, (_, below)) in (0..).zip(sums) {
                assert_eq!(below, ContributionSum::of_all(0..rank));
            }
            let n = u64::from(ranks);
            assert_eq!(tally, (n - 1, (n - 1) * 100));
        });
    }
}
