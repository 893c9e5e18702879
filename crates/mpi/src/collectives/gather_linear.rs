//! Gather at the root, to which everyone sends its contribution at once. n - 1 messages. Where sizes are known,
//! those that give nothing send nothing.

use workload::Collective;

use super::{Algorithm, Round, Share};

pub(super) static ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Gather,
    name: "linear",
    summary: "everyone sends its contribution to the root at once",
    source: "MPICH and Open MPI, for gatherv",
    varying: true,
    round,
};

fn round(call: &Share, k: u32, out: &mut Round) -> bool {
    if k > 0 {
        return false;
    }
    if call.rank == call.root {
        for distance in 1..call.ranks {
            let from = call.up(distance);
            out.receive_some(from, call.from(from), call);
        }
    } else {
        out.send_some(call.root, call.given(), call);
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
