//! Exclusive scan from rank to rank, with the messages of the inclusive scan.

use workload::Collective;

use super::scan_linear::step;
use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Exscan,
    name: "linear",
    summary: "from rank to rank; n - 1 messages one after the other",
    source: "Open MPI (linear)",
    varying: false,
    layout: HostLayout::Any,
    round,
};

fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    step(call, k, false, out)
}

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
                |(rank, below), message, news: ContributionSum| {
                    // No rank follows the last one, which passes no sum.
                    let reduced = if *rank + 1 < ranks { 100 } else { 0 };
                    assert_eq!(message.reduced, Some(reduced));
                    below.add(&news);
                },
            );
            for (rank, (_, below)) in (0..).zip(sums) {
                assert_eq!(below, ContributionSum::of_all(0..rank));
            }
            let n = u64::from(ranks);
            assert_eq!(tally, (n - 1, (n - 1) * 100));
        });
    }
}
