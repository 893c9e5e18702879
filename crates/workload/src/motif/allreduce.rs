//! allreduce: repeated allreduces of all ranks, as in an iterative solver.
//!
//! Source: SST's motif `Allreduce` (sst-elements, `ember/mpi/motifs/emberallreduce`).

use crate::{Collective, WORLD};
use config::{Type, parameters};

use super::parameters::{bytes, iterations, pause, ranks};
use super::{Motif, Script, Skeleton, workload};

pub(super) const MOTIF: Motif = Motif {
    name: "allreduce",
    summary: "MPI_Allreduce of all ranks, again and again",
    source: "SST, Ember motif Allreduce",
    parameters: parameters! {
        required("ranks", Type::Integer, "number of ranks");
        size("bytes", "8 B", "of each rank's contribution");
        integer("iterations", 1, "how many");
        time("compute", "0 ps", "time of the computation before each");
    },
    example: "ranks = 5\niterations = 2",
    build: |section| {
        Ok(workload(Allreduce {
            ranks: ranks(section)?,
            bytes: bytes(section, "bytes")?,
            iterations: u64::from(iterations(section)?),
            compute_ps: pause(section)?,
        }))
    },
};

struct Allreduce {
    ranks: u32,
    bytes: u64,
    iterations: u64,
    compute_ps: u64,
}

impl Skeleton for Allreduce {
    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn step(&self, _: u32, step: u64, script: &mut Script) -> bool {
        script.compute(self.compute_ps);
        script.collective(Collective::Allreduce, WORLD, self.bytes);
        step + 1 < self.iterations
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::totals;
    use crate::Collective;

    #[test]
    fn calls() {
        let found = totals("allreduce", "ranks = 7\niterations = 4\ncompute = \"5 ps\"");
        assert_eq!(found.calls(Collective::Allreduce), 4 * 7);
        assert_eq!((found.messages, found.compute_ps), (0, 4 * 7 * 5));
    }
}
