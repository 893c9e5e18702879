//! all-to-all: repeated all-to-alls of all ranks.
//!
//! Source: SST's motif `Alltoall` (sst-elements, `ember/mpi/motifs/emberalltoall`).

use crate::{Collective, WORLD};
use config::{Type, parameters};

use super::parameters::{bytes, iterations, pause, ranks};
use super::{Motif, Script, Skeleton, workload};

pub(super) const MOTIF: Motif = Motif {
    name: "all-to-all",
    summary: "MPI_Alltoall of all ranks, again and again",
    source: "SST, Ember motif Alltoall",
    parameters: parameters! {
        required("ranks", Type::Integer, "number of ranks");
        size("bytes", "1 KiB", "from each rank to each");
        integer("iterations", 1, "how many");
        time("compute", "0 ps", "time of the computation before each");
    },
    example: "ranks = 5\niterations = 2",
    build: |section| {
        Ok(workload(AllToAllMotif {
            ranks: ranks(section)?,
            bytes: bytes(section, "bytes")?,
            iterations: u64::from(iterations(section)?),
            compute_ps: pause(section)?,
        }))
    },
};

struct AllToAllMotif {
    ranks: u32,
    bytes: u64,
    iterations: u64,
    compute_ps: u64,
}

impl Skeleton for AllToAllMotif {
    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn step(&self, _: u32, step: u64, script: &mut Script) -> bool {
        script.compute(self.compute_ps);
        script.collective(Collective::Alltoall, WORLD, self.bytes);
        step + 1 < self.iterations
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::totals;
    use crate::Collective;

    #[test]
    fn calls_and_bytes() {
        let found = totals(
            "all-to-all",
            "ranks = 7\nbytes = \"3 B\"\niterations = 4\ncompute = \"5 ps\"",
        );
        assert_eq!(found.calls(Collective::Alltoall), 4 * 7);
        assert_eq!(found.all_to_all_bytes, 4 * 7 * 7 * 3);
        assert_eq!((found.messages, found.compute_ps), (0, 4 * 7 * 5));
    }
}
