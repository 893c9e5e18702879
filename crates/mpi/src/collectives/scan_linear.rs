//! Scan from rank to rank: each rank receives the sum of the ranks below it, adds its own contribution and
//! forwards it. n - 1 messages.

use workload::Collective;

use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Scan,
    name: "linear",
    summary: "from rank to rank; n - 1 messages one after the other",
    source: "Open MPI (linear)",
    varying: false,
    layout: HostLayout::Any,
    round,
};

fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    step(call, k, true, out)
}

/// The exclusive scan uses it, too: its last rank does not reduce what it receives.
pub(super) fn step(call: &CollectiveArgs, k: u32, last_reduces: bool, out: &mut Round) -> bool {
    let (receives, sends) = (call.rank > 0, call.rank + 1 < call.ranks);
    // A message belongs to the round of its sender's rank.
    out.round_offset = call.rank.saturating_sub(1);
    if k > u32::from(receives) || call.ranks == 1 {
        return false;
    }
    if receives && k == 0 {
        match sends || last_reduces {
            true => out.receive_and_reduce(call.rank - 1, call.bytes),
            false => out.receive(call.rank - 1, call.bytes),
        }
    } else if sends {
        out.send(call.rank + 1, call.bytes);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::symbolic::{ContributionSum, every_size, run};
    use super::*;

    #[test]
    fn every_rank_has_the_contributions_up_to_its_own() {
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
                |(_, below), message, news: ContributionSum| {
                    assert_eq!(message.reduced, Some(100));
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
