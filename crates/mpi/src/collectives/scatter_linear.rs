//! Scatter by simultaneous sends from the root. n - 1 messages. Empty messages of known size are not sent.

use workload::Collective;

use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Scatter,
    name: "linear",
    summary: "the root sends to all ranks at once",
    source: "MPICH and Open MPI, for scatterv",
    varying: true,
    layout: HostLayout::Any,
    round,
};

fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    if k > 0 {
        return false;
    }
    if call.rank == call.root {
        for distance in 1..call.ranks {
            let to = call.rank_after(distance);
            out.send_some(to, call.bytes_to(to), call);
        }
    } else {
        out.receive_some(call.root, call.received_bytes(), call);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::symbolic::{every_size_and_root, rooted_with_counts};
    use super::*;

    #[test]
    fn every_rank_gets_its_own_block() {
        every_size_and_root(|ranks, root| rooted_with_counts(&ALGORITHM, ranks, root, true));
    }
}
