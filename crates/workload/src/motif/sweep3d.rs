//! sweep3d: wavefronts through a grid of two dimensions from each of its corners, in blocks (KBA), blocking.
//!
//! Source: Ember, `mpi/sweep3d/sweep3d.c`; the method: K. R. Koch, R. S. Baker, R. E. Alcouffe, "Solution of the
//! first-order form of the 3-D discrete ordinates equation on a massively parallel processor", Trans. Am. Nucl.
//! Soc. 65 (1992).

use super::parameters::{MAX_COUNT, cell_bytes, cells, compute, count, iterations, product};
use super::{Motif, RankGrid, Script, Skeleton, workload};
use config::{Type, parameters};

pub(super) const MOTIF: Motif = Motif {
    name: "sweep3d",
    summary: "blocking wavefronts through a grid of two dimensions, two from each corner, in blocks",
    source: "Ember, mpi/sweep3d",
    parameters: parameters! {
        computed("ranks", Type::Integer, "the product of the sides, which must then all be given",
            "number of ranks");
        computed("pex", Type::Integer, "as square as can be", "ranks along x");
        computed("pey", Type::Integer, "as square as can be", "ranks along y");
        integer("nx", 50, "cells of a rank along x");
        integer("ny", 50, "cells of a rank along y");
        integer("nz", 100, "cells along z, which is not divided");
        integer("kba", 10, "cells along z in a block, a divisor of nz");
        integer("vars", 1, "numbers per cell");
        integer("item_bytes", 8, "bytes of a number");
        integer("iterations", 1, "how many times all eight sweeps");
        time("compute", "1 us", "time of the computation of a block");
        time("compute_per_cell", "0 ps", "more of it for each number of each cell of a block");
        flag("barriers", true, "the barrier at the end");
    },
    example: "pex = 3\npey = 2\nnx = 4\nny = 5\nnz = 6\nkba = 2\nvars = 2\niterations = 2",
    build: |section| {
        let grid = RankGrid::read(section, ["pex", "pey"], false)?;
        let [nx, ny, nz] = cells(section, ["nx", "ny", "nz"])?;
        let kba = u64::from(count(section, "kba", MAX_COUNT)?);
        if nz % kba != 0 {
            let message = format!("{kba} does not divide nz = {nz}; expected a divisor");
            return Err(section.error("kba", message));
        }
        let [vars, item] = cell_bytes(section)?;
        Ok(workload(Sweep3d {
            grid,
            bytes: [
                product(section, "nx", &[nx, kba, vars, item])?,
                product(section, "ny", &[ny, kba, vars, item])?,
            ],
            blocks: nz / kba,
            iterations: u64::from(iterations(section)?),
            compute_ps: compute(section, &[nx, ny, kba, vars])?,
            barriers: section.get("barriers")?,
        }))
    },
};

/// Directions of the sweeps along x and y, and their tags. In Ember's order, top and bottom have the same.
const SWEEPS: [([i32; 2], u32); 4] = [([1, 1], 1000), ([-1, 1], 2000), ([-1, -1], 3000), ([1, -1], 4000)];

struct Sweep3d {
    grid: RankGrid<2>,
    /// Bytes of a message along x and along y.
    bytes: [u64; 2],
    blocks: u64,
    iterations: u64,
    compute_ps: u64,
    barriers: bool,
}

impl Skeleton for Sweep3d {
    fn ranks(&self) -> u32 {
        self.grid.ranks()
    }

    /// One step is one block of a sweep.
    fn step(&self, rank: u32, step: u64, script: &mut Script) -> bool {
        let sweep = step / self.blocks;
        let ([x, y], tag) = SWEEPS[(sweep % 4) as usize];
        let [bytes_x, bytes_y] = self.bytes;
        let along_x = |step| self.grid.neighbour(rank, [step, 0]);
        let along_y = |step| self.grid.neighbour(rank, [0, step]);
        for (from, bytes) in [(along_x(-x), bytes_x), (along_y(-y), bytes_y)] {
            if let Some(from) = from {
                script.receive(from, tag, bytes);
            }
        }
        script.compute(self.compute_ps);
        for (to, bytes) in [(along_x(x), bytes_x), (along_y(y), bytes_y)] {
            if let Some(to) = to {
                script.send(to, tag, bytes);
            }
        }
        script.end_iteration(step + 1 < self.iterations * 8 * self.blocks, self.barriers)
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{error, totals};
    use crate::Collective;

    /// Each block of each of eight sweeps crosses (p - 1) q borders along x and p (q - 1) along y.
    #[test]
    fn messages_and_bytes() {
        let found = totals(
            "sweep3d",
            "pex = 5\npey = 3\nnx = 7\nny = 11\nnz = 12\nkba = 4\nvars = 2\niterations = 2",
        );
        let (x, y) = (2 * 8 * 3 * 4 * 3, 2 * 8 * 3 * 5 * 2);
        assert_eq!(found.messages, x + y);
        assert_eq!(found.bytes, 4 * 16 * (x * 7 + y * 11));
        assert_eq!(found.calls(Collective::Barrier), 15);
        assert_eq!(found.compute_ps, 15 * 2 * 8 * 3 * 1_000_000);
    }

    #[test]
    fn blocks_have_to_fit() {
        let text = error("sweep3d", "ranks = 4\nnz = 10\nkba = 4");
        assert!(text.contains("kba: 4 does not divide nz = 10"), "{text}");
    }
}
