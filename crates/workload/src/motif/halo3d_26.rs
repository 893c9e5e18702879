//! halo3d-26: simultaneous exchange with all neighbours of a block.
//!
//! Source: Ember, `mpi/halo3d-26/halo3d-26.c`, which finds its eight corner neighbours and sends them nothing;
//! SST's motif `Halo3D26` does. `corners` selects.

use crate::{Collective, WORLD};
use config::{Type, parameters};

use super::halo::{CORNERS, EDGES, FACES, HaloDirection, exchange};
use super::parameters::{cell_bytes, cells, compute, iterations, product};
use super::{Motif, RankGrid, Script, Skeleton, workload};

pub(super) const MOTIF: Motif = Motif {
    name: "halo3d-26",
    summary: "exchange with all 26 neighbours in a grid at once: faces, edges, corners",
    source: "Ember, mpi/halo3d-26",
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
        flag("corners", true, "whether the eight corners take part; not so in Ember's own MPI code");
        flag("reduce", false, "whether each iteration ends with an allreduce of 8 bytes");
        flag("barriers", true, "the two barriers before and the one after");
    },
    example: "pex = 3\npey = 2\npez = 2\nnx = 4\nny = 5\nnz = 6\nvars = 2\niterations = 2",
    build: |section| {
        let periodic = section.get("periodic")?;
        let grid = RankGrid::read(section, ["pex", "pey", "pez"], periodic)?;
        let sides = cells(section, ["nx", "ny", "nz"])?;
        let [vars, item] = cell_bytes(section)?;
        let corners: &[HaloDirection] = if section.get("corners")? { &CORNERS } else { &[] };
        let directions = FACES.iter().chain(&EDGES).chain(corners);
        let exchanges = directions
            .map(|direction| {
                let [x, y, z] = direction.cells(sides);
                Ok((direction, product(section, "nx", &[x, y, z, vars, item])?))
            })
            .collect::<Result<_, _>>()?;
        let [nx, ny, nz] = sides;
        Ok(workload(Halo3d26 {
            grid,
            exchanges,
            iterations: u64::from(iterations(section)?),
            compute_ps: compute(section, &[nx, ny, nz, vars])?,
            reduce: section.get("reduce")?,
            barriers: section.get("barriers")?,
        }))
    },
};

struct Halo3d26 {
    grid: RankGrid<3>,
    /// Directions in the order of messages, with their sizes.
    exchanges: Vec<(&'static HaloDirection, u64)>,
    iterations: u64,
    compute_ps: u64,
    reduce: bool,
    barriers: bool,
}

impl Skeleton for Halo3d26 {
    fn ranks(&self) -> u32 {
        self.grid.ranks()
    }

    /// A step is one direction or the end of an iteration, so that operations of all directions are never in
    /// memory together.
    fn step(&self, rank: u32, step: u64, script: &mut Script) -> bool {
        let parts = self.exchanges.len() as u64 + 1;
        let (iteration, part) = (step / parts, step % parts);
        if step == 0 && self.barriers {
            script.barrier();
            script.barrier();
        }
        if part == 0 {
            script.compute(self.compute_ps);
        }
        if let Some(direction) = self.exchanges.get(part as usize) {
            exchange(&self.grid, rank, [*direction], script);
            return true;
        }
        script.wait_all();
        if self.reduce {
            script.collective(Collective::Allreduce, WORLD, 8);
        }
        script.end_iteration(iteration + 1 < self.iterations, self.barriers)
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::totals;

    /// Where a direction has a step there are p - 1 pairs, else p, and one cell, else n.
    #[test]
    fn messages_and_bytes() {
        let (sides, cells) = ([3u64, 4, 5], [7u64, 11, 13]);
        for corners in [false, true] {
            let (mut messages, mut bytes) = (0, 0);
            for number in 0..27u32 {
                let steps = [number % 3, number / 3 % 3, number / 9].map(|digit| digit != 1);
                let count = steps.iter().filter(|step| **step).count();
                if count == 0 || (count == 3 && !corners) {
                    continue;
                }
                let pairs: u64 = (0..3).map(|i| sides[i] - u64::from(steps[i])).product();
                let shared: u64 = (0..3).map(|i| if steps[i] { 1 } else { cells[i] }).product();
                messages += pairs;
                bytes += pairs * shared * 24;
            }
            let text = format!(
                "pex = 3\npey = 4\npez = 5\nnx = 7\nny = 11\nnz = 13\nvars = 3\niterations = 2\ncorners = {corners}"
            );
            let found = totals("halo3d-26", &text);
            assert_eq!((found.messages, found.bytes), (2 * messages, 2 * bytes));
        }
    }

    #[test]
    fn in_a_torus_everybody_has_26_neighbours() {
        let found = totals("halo3d-26", "ranks = 60\nperiodic = true\nnx = 1\nny = 1\nnz = 1");
        assert_eq!((found.messages, found.bytes), (26 * 60, 26 * 60 * 8));
    }
}
