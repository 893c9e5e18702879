//! Alltoall with all messages at once: each rank posts all receives, starts all sends, and waits.

use std::ops::Range;

use workload::Collective;

use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Alltoall,
    name: "linear",
    summary: "all sends and receives at once",
    source: "Open MPI (basic linear); Thakur, Rabenseifner, Gropp 2005",
    varying: true,
    layout: HostLayout::Any,
    round,
};

fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    if k > 0 {
        return false;
    }
    exchange(call, 1..call.ranks, out);
    true
}

/// Receives from and sends to the ranks at these distances. As in MPI libraries, empty messages of known size
/// are not sent.
pub(super) fn exchange(call: &CollectiveArgs, distances: Range<u32>, out: &mut Round) {
    for distance in distances.clone() {
        let from = call.rank_after(distance);
        out.receive_some(from, call.bytes_from(from), call);
    }
    for distance in distances {
        let to = call.rank_before(distance);
        out.send_some(to, call.bytes_to(to), call);
    }
}

#[cfg(test)]
mod tests {
    use super::super::symbolic::{alltoalls, every_size};
    use super::*;

    #[test]
    fn every_rank_gets_its_block_from_everyone() {
        every_size(|ranks| alltoalls(&ALGORITHM, ranks, true));
    }
}
