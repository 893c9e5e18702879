//! Scatter from the root, which sends to everyone at once. n - 1 messages. Where sizes are known, nothing is
//! sent to those that get nothing.

use workload::Collective;

use super::{Algorithm, Round, Share};

pub(super) static ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Scatter,
    name: "linear",
    summary: "the root sends to everyone at once",
    source: "MPICH and Open MPI, for scatterv",
    varying: true,
    round,
};

fn round(call: &Share, k: u32, out: &mut Round) -> bool {
    if k > 0 {
        return false;
    }
    if call.rank == call.root {
        for distance in 1..call.ranks {
            let to = call.up(distance);
            out.send_some(to, call.to(to), call);
        }
    } else {
        out.receive_some(call.root, call.taken(), call);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::symbolic::{every_size_and_root, rooted_with_counts};
    use super::*;

    #[test]
    fn everyone_gets_its_own_block() {
        every_size_and_root(|ranks, root| rooted_with_counts(&ALGORITHM, ranks, root, true));
    }
}
