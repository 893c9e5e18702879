//! halo3d: exchange with six neighbours, one dimension after the other.
//!
//! Source: Ember, `mpi/halo3d/halo3d.c`. With `reduce`, the reduction of SST's motif `Halo3D` (`doreduce`).

use crate::{Collective, WORLD};
use config::{Type, parameters};

use super::halo::{FACES, exchange};
use super::parameters::{cell_bytes, cells, compute, iterations, product};
use super::{Motif, RankGrid, Script, Skeleton, workload};

pub(super) const MOTIF: Motif = Motif {
    name: "halo3d",
    summary: "exchange with six neighbours in a grid, one dimension after the other",
    source: "Ember, mpi/halo3d",
    parameters: parameters! {
        computed("ranks", Type::Integer, "the product of the sides, which must then all be given",
            "number of ranks");
        computed("pex", Type::Integer, "as cubic as can be", "ranks along x");
        computed("pey", Type::Integer, "as cubic as can be", "ranks along y");
        computed("pez", Type::Integer, "as cubic as can be", "ranks along z");
        integer("nx", 10, "cells of a rank along x");
        integer("ny", 10, "cells of a rank along y");
        integer("nz", 10, "cells of a rank along z");
        integer("vars", 1, "numbers per cell");
        integer("item_bytes", 8, "bytes of a number");
        integer("iterations", 1, "how many");
        time("compute", "1 us", "time of the computation of an iteration");
        time("compute_per_cell", "0 ps", "more of it for each number of each cell");
        flag("periodic", false, "whether the ends of the grid are neighbours");
        flag("reduce", false, "whether each iteration ends with an allreduce of 8 bytes");
        flag("barriers", true, "the two barriers before and the one after");
    },
    example: "pex = 3\npey = 2\npez = 2\nnx = 4\nny = 5\nnz = 6\nvars = 2\niterations = 2",
    build: |section| {
        let periodic = section.get("periodic")?;
        let grid = RankGrid::read(section, ["pex", "pey", "pez"], periodic)?;
        let [nx, ny, nz] = cells(section, ["nx", "ny", "nz"])?;
        let [vars, item] = cell_bytes(section)?;
        let face = |key, a, b| product(section, key, &[a, b, vars, item]);
        Ok(workload(Halo3d {
            grid,
            bytes: [face("nz", ny, nz)?, face("nz", nx, nz)?, face("ny", nx, ny)?],
            iterations: u64::from(iterations(section)?),
            compute_ps: compute(section, &[nx, ny, nz, vars])?,
            reduce: section.get("reduce")?,
            barriers: section.get("barriers")?,
        }))
    },
};

struct Halo3d {
    grid: RankGrid<3>,
    /// Bytes of a message along each dimension.
    bytes: [u64; 3],
    iterations: u64,
    compute_ps: u64,
    reduce: bool,
    barriers: bool,
}

impl Skeleton for Halo3d {
    fn ranks(&self) -> u32 {
        self.grid.ranks()
    }

    fn step(&self, rank: u32, step: u64, script: &mut Script) -> bool {
        if step == 0 && self.barriers {
            script.barrier();
            script.barrier();
        }
        script.compute(self.compute_ps);
        for (ends, bytes) in FACES.chunks(2).zip(self.bytes) {
            exchange(&self.grid, rank, ends.iter().map(|end| (end, bytes)), script);
            script.wait_all();
        }
        if self.reduce {
            script.collective(Collective::Allreduce, WORLD, 8);
        }
        script.end_iteration(step + 1 < self.iterations, self.barriers)
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::totals;
    use crate::Collective;

    /// 2 (p - 1) q r messages along each dimension.
    #[test]
    fn messages_and_bytes() {
        let found = totals(
            "halo3d",
            "pex = 3\npey = 4\npez = 5\nnx = 7\nny = 11\nnz = 13\nvars = 2\niterations = 3\nreduce = true",
        );
        let (x, y, z) = (2 * 2 * 4 * 5, 2 * 3 * 3 * 5, 2 * 4 * 3 * 4);
        assert_eq!(found.messages, 3 * (x + y + z));
        assert_eq!(found.bytes, 3 * 16 * (x * 11 * 13 + y * 7 * 13 + z * 7 * 11));
        assert_eq!(found.calls(Collective::Barrier), 3 * 60);
        assert_eq!(found.calls(Collective::Allreduce), 3 * 60);
        assert_eq!(found.compute_ps, 3 * 60 * 1_000_000);
    }

    #[test]
    fn in_a_ring() {
        let found = totals(
            "halo3d",
            "pex = 3\npey = 4\npez = 5\nperiodic = true\nbarriers = false\nitem_bytes = 4",
        );
        assert_eq!((found.messages, found.bytes), (6 * 60, 6 * 60 * 400));
        assert_eq!(found.calls(Collective::Barrier), 0);
    }

    #[test]
    fn computation_grows_with_cells() {
        let found = totals(
            "halo3d",
            "ranks = 2\nnx = 2\nny = 3\nnz = 5\nvars = 7\ncompute = \"3 ns\"\ncompute_per_cell = \"2 ns\"",
        );
        assert_eq!(found.compute_ps, 2 * (3000 + 2 * 3 * 5 * 7 * 2000));
    }
}
