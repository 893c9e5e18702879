//! Allreduce as a reduction to rank 0 and a broadcast, both over a binomial tree. 2 (n - 1) messages.

use workload::Collective;

use super::{
    CollectiveAlgorithm, CollectiveArgs, CollectiveCall, HostLayout, Round, bcast_binomial, reduce_binomial,
};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Allreduce,
    name: "reduce-bcast",
    summary: "reduce to rank 0 and broadcast over a binomial tree; 2 log2(n) rounds",
    source: "Open MPI (nonoverlapping); MPICH before Thakur et al. 2005",
    varying: false,
    layout: HostLayout::Any,
    round,
};

fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    up_and_down(call, k, call.bytes, out)
}

/// The barrier uses it, too, with no bytes.
pub(super) fn up_and_down(call: &CollectiveArgs, k: u32, bytes: u64, out: &mut Round) -> bool {
    let call = CollectiveCall {
        root: 0,
        bytes,
        ..**call
    };
    let half = CollectiveArgs::new(call, None);
    match k.checked_sub(call.doublings()) {
        None => reduce_binomial::round(&half, k, out),
        Some(k) => bcast_binomial::round(&half, k, out),
    }
}

#[cfg(test)]
mod tests {
    use super::super::symbolic::{every_size, reduces_for_all};
    use super::*;

    #[test]
    fn every_rank_has_every_contribution_once() {
        every_size(|ranks| {
            let n = u64::from(ranks);
            let up = ranks.next_power_of_two().ilog2();
            let tally = reduces_for_all(
                &ALGORITHM,
                ranks,
                100,
                &[100],
                |_| vec![0],
                |message| message.round < up,
            );
            assert_eq!(tally, (2 * (n - 1), 2 * (n - 1) * 100));
        });
    }
}
