//! Alltoall in n - 1 rounds: in round `k` each rank sends to the rank k + 1 after it and receives from the rank
//! k + 1 before it. Every byte is sent once, for any n.

use workload::Collective;

use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Alltoall,
    name: "pairwise",
    summary: "n - 1 rounds, one partner each; best for long messages",
    source: "Thakur, Rabenseifner, Gropp 2005",
    varying: true,
    layout: HostLayout::Any,
    round,
};

/// Other algorithms use it, too.
pub(super) fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    if k >= call.ranks - 1 {
        return false;
    }
    let (up, down) = (call.rank_after(k + 1), call.rank_before(k + 1));
    out.send(up, call.bytes_to(up));
    out.receive(down, call.bytes_from(down));
    true
}

#[cfg(test)]
mod tests {
    use super::super::symbolic::{alltoalls, every_size};
    use super::*;

    #[test]
    fn every_rank_gets_its_block_from_everyone() {
        every_size(|ranks| alltoalls(&ALGORITHM, ranks, false));
    }
}
