//! Barrier by dissemination: in round `k` each rank signals the rank 2^k after it and is signalled by the rank
//! 2^k before it. Ceil(log2 n) rounds of n messages without payload.

use workload::Collective;

use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Barrier,
    name: "dissemination",
    summary: "signals at distances 1, 2, 4, ...; log2(n) rounds",
    source: "Hensgen, Finkel, Manber 1988; MPICH and Open MPI",
    varying: false,
    layout: HostLayout::Any,
    round,
};

/// Other algorithms use it as a step.
pub(super) fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    if k >= call.doublings() {
        return false;
    }
    out.send(call.rank_after(1 << k), 0);
    out.receive(call.rank_before(1 << k), 0);
    true
}

#[cfg(test)]
mod tests {
    use super::super::symbolic::{every_size, run};
    use super::*;

    #[test]
    fn every_rank_depends_on_every_other() {
        every_size(|ranks| {
            let (heard, tally) = run(
                &ALGORITHM,
                ranks,
                0,
                0,
                |rank| 1u64 << rank,
                |known, _, _| (*known, 0),
                |known, _, news| *known |= news,
            );
            assert!(heard.iter().all(|known| *known == (1 << ranks) - 1));
            assert_eq!(
                tally,
                (ranks as u64 * u64::from(ranks.next_power_of_two().ilog2()), 0)
            );
        });
    }
}
