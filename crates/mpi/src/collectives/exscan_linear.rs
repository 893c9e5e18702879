//! Exclusive scan from rank to rank: the messages of the inclusive one.

use workload::Collective;

use super::Algorithm;
use super::scan_linear::round;

pub(super) static ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Exscan,
    name: "linear",
    summary: "from rank to rank; n - 1 messages one after the other",
    source: "Open MPI (linear)",
    varying: false,
    round,
};

#[cfg(test)]
mod tests {
    use super::super::symbolic::{Sum, every_size, run};
    use super::*;

    #[test]
    fn everyone_has_the_contributions_below_its_own() {
        every_size(|ranks| {
            let (sums, tally) = run(
                &ALGORITHM,
                ranks,
                0,
                100,
                |rank| (rank, Sum::default()),
                |(rank, below), _, _| {
                    let mut sum = below.clone();
                    sum.add(&Sum::of(*rank));
                    (sum, 100)
                },
                |(_, below), _, news: Sum| below.add(&news),
            );
            for (rank, (_, below)) in (0..).zip(sums) {
                assert_eq!(below, Sum::of_all(0..rank));
            }
            let n = u64::from(ranks);
            assert_eq!(tally, (n - 1, (n - 1) * 100));
        });
    }
}
