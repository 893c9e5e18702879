//! stencil4d: simultaneous exchange with eight neighbours in a grid of four dimensions, as in lattice QCD.
//!
//! Source: Chatterbug, `stencil4d/stencil4d.C`.

use super::parameters::{cell_bytes, cells, compute, iterations, product};
use super::{Motif, RankGrid, Script, Skeleton, workload};
use config::{Type, parameters};

pub(super) const MOTIF: Motif = Motif {
    name: "stencil4d",
    summary: "exchange with eight neighbours in a grid of four dimensions at once",
    source: "Chatterbug, stencil4d",
    parameters: parameters! {
        computed("ranks", Type::Integer, "the product of the sides, which must then all be given",
            "number of ranks");
        computed("pex", Type::Integer, "as cubic as can be", "ranks along x");
        computed("pey", Type::Integer, "as cubic as can be", "ranks along y");
        computed("pez", Type::Integer, "as cubic as can be", "ranks along z");
        computed("pet", Type::Integer, "as cubic as can be", "ranks along t");
        integer("nx", 8, "cells of a rank along x");
        integer("ny", 8, "cells of a rank along y");
        integer("nz", 8, "cells of a rank along z");
        integer("nt", 8, "cells of a rank along t");
        integer("vars", 1, "numbers per cell");
        integer("item_bytes", 8, "bytes of a number");
        integer("iterations", 1, "how many");
        time("compute", "0 ps", "time of the computation of an iteration");
        time("compute_per_cell", "0 ps", "more of it for each number of each cell");
        flag("periodic", true, "whether the ends of the grid are neighbours");
        flag("barriers", true, "the barriers before and after");
    },
    example: "pex = 3\npey = 2\npez = 2\npet = 2\nnx = 3\nny = 4\nnz = 5\nnt = 6\nvars = 2\niterations = 2",
    build: |section| {
        let periodic = section.get("periodic")?;
        let grid = RankGrid::read(section, ["pex", "pey", "pez", "pet"], periodic)?;
        let sides = cells(section, ["nx", "ny", "nz", "nt"])?;
        let [vars, item] = cell_bytes(section)?;
        let mut bytes = [0; 4];
        for (dimension, (bytes, key)) in bytes.iter_mut().zip(["ny", "nx", "nx", "nx"]).enumerate() {
            let mut factors = [sides[0], sides[1], sides[2], sides[3], vars, item];
            factors[dimension] = 1;
            *bytes = product(section, key, &factors)?;
        }
        let [nx, ny, nz, nt] = sides;
        Ok(workload(Stencil4d {
            grid,
            bytes,
            iterations: u64::from(iterations(section)?),
            compute_ps: compute(section, &[nx, ny, nz, nt, vars])?,
            barriers: section.get("barriers")?,
        }))
    },
};

struct Stencil4d {
    grid: RankGrid<4>,
    /// Bytes of a message along each dimension.
    bytes: [u64; 4],
    iterations: u64,
    compute_ps: u64,
    barriers: bool,
}

impl Stencil4d {
    /// The neighbour at an offset along a dimension.
    fn neighbour(&self, rank: u32, dimension: usize, step: i32) -> Option<u32> {
        let mut offset = [0; 4];
        offset[dimension] = step;
        self.grid.neighbour(rank, offset)
    }
}

impl Skeleton for Stencil4d {
    fn ranks(&self) -> u32 {
        self.grid.ranks()
    }

    fn step(&self, rank: u32, step: u64, script: &mut Script) -> bool {
        if step == 0 && self.barriers {
            script.barrier();
        }
        script.compute(self.compute_ps);
        // The tag of a message names the side on which it arrives: 1 and 2 along x, up to 7 and 8 along t.
        // Order and pairs are Chatterbug's.
        let tags = |dimension: usize| {
            let (low, high) = (2 * dimension as u32 + 1, 2 * dimension as u32 + 2);
            // Along x, messages from above have the even tag; along the others, the odd one.
            if dimension == 0 { (high, low) } else { (low, high) }
        };
        let mut receives = 0;
        for (dimension, bytes) in self.bytes.into_iter().enumerate() {
            let (from_above, from_below) = tags(dimension);
            for (step, tag) in [(1, from_above), (-1, from_below)] {
                if let Some(peer) = self.neighbour(rank, dimension, step) {
                    script.start_receive(peer, tag, bytes);
                    receives += 1;
                }
            }
        }
        for (dimension, bytes) in self.bytes.into_iter().enumerate() {
            let (from_above, from_below) = tags(dimension);
            for (step, tag) in [(-1, from_above), (1, from_below)] {
                if let Some(peer) = self.neighbour(rank, dimension, step) {
                    script.start_send(peer, tag, bytes);
                }
            }
        }
        script.wait_for_first(receives);
        script.wait_all();
        script.end_iteration(step + 1 < self.iterations, self.barriers)
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::totals;
    use crate::Collective;

    #[test]
    fn messages_and_bytes() {
        let text =
            "pex = 2\npey = 3\npez = 1\npet = 4\nnx = 3\nny = 5\nnz = 7\nnt = 11\nvars = 2\niterations = 3";
        let found = totals("stencil4d", text);
        assert_eq!(found.messages, 3 * 8 * 24);
        let faces = 5 * 7 * 11 + 3 * 7 * 11 + 3 * 5 * 11 + 3 * 5 * 7;
        assert_eq!(found.bytes, 3 * 24 * 2 * 16 * faces);
        assert_eq!(found.calls(Collective::Barrier), 2 * 24);
        let open = totals("stencil4d", &format!("{text}\nperiodic = false"));
        assert_eq!(open.messages, 3 * 2 * (12 + 2 * 8 + 3 * 6));
    }
}
