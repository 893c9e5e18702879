//! Gather by simultaneous sends of all ranks to the root. n - 1 messages. Empty messages of known size are not
//! sent.

use workload::Collective;

use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Gather,
    name: "linear",
    summary: "all ranks send their contributions to the root at once",
    source: "MPICH and Open MPI, for gatherv",
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
            let from = call.rank_after(distance);
            out.receive_some(from, call.bytes_from(from), call);
        }
    } else {
        out.send_some(call.root, call.sent_bytes(), call);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::symbolic::{every_size_and_root, rooted_with_counts};
    use super::*;

    #[test]
    fn the_root_has_every_contribution_once() {
        every_size_and_root(|ranks, root| rooted_with_counts(&ALGORITHM, ranks, root, false));
    }
}
