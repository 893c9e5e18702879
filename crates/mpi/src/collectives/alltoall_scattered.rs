//! Alltoall with 32 messages each way at once: the linear algorithm in rounds of 32 partners, which bounds the
//! open requests.

use workload::Collective;

use super::alltoall_linear::exchange;
use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Alltoall,
    name: "scattered",
    summary: "sends and receives with 32 partners at once; medium messages",
    source: "Thakur, Rabenseifner, Gropp 2005; the 32 of MPICH",
    varying: true,
    layout: HostLayout::Any,
    round,
};

/// Partners per round.
const AT_ONCE: u32 = 32;

fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    let first = k.saturating_mul(AT_ONCE).saturating_add(1);
    if first >= call.ranks {
        return false;
    }
    exchange(call, first..call.ranks.min(first.saturating_add(AT_ONCE)), out);
    true
}

#[cfg(test)]
mod tests {
    use super::super::symbolic::{alltoalls, every_size};
    use super::*;

    #[test]
    fn every_rank_gets_its_block_from_everyone() {
        every_size(|ranks| alltoalls(&ALGORITHM, ranks, true));
        alltoalls(&ALGORITHM, 70, true);
    }
}
