//! stencil4d: simultaneous exchange with eight neighbours in a grid of four dimensions, as in lattice QCD.
//!
//! Source: Chatterbug, `stencil4d/stencil4d.C`.

use super::parameters::{NO_COMPUTE, cell_bytes, cells, compute, iterations, product};
use super::{Motif, RankGrid, Script, Skeleton, workload};

pub(super) const MOTIF: Motif = Motif {
    name: "stencil4d",
    summary: "exchange with eight neighbours in a grid of four dimensions at once",
    source: "Chatterbug, stencil4d",
    parameters: &[
        (
            "ranks",
            "number of ranks, where pex, pey, pez and pet do not all say",
        ),
        ("pex", "ranks along x (default: as cubic as can be)"),
        ("pey", "ranks along y (default: as cubic as can be)"),
        ("pez", "ranks along z (default: as cubic as can be)"),
        ("pet", "ranks along t (default: as cubic as can be)"),
        ("nx", "cells of a rank along x (default: 8)"),
        ("ny", "cells of a rank along y (default: 8)"),
        ("nz", "cells of a rank along z (default: 8)"),
        ("nt", "cells of a rank along t (default: 8)"),
        ("vars", "numbers per cell (default: 1)"),
        ("item_bytes", "bytes of a number (default: 8)"),
        ("iterations", "how many (default: 1)"),
        (
            "compute",
            "time of the computation of an iteration (default: 0 ps)",
        ),
        (
            "compute_per_cell",
            "more of it for each number of each cell (default: 0 ps)",
        ),
        (
            "periodic",
            "whether the ends of the grid are neighbours (default: true)",
        ),
        ("barriers", "the barriers before and after (default: true)"),
    ],
    example: "pex = 3\npey = 2\npez = 2\npet = 2\nnx = 3\nny = 4\nnz = 5\nnt = 6\nvars = 2\niterations = 2",
    build: |section| {
        let periodic = section.or("periodic", true)?;
        let grid = RankGrid::read(section, ["pex", "pey", "pez", "pet"], periodic)?;
        let sides = cells(section, ["nx", "ny", "nz", "nt"], [8; 4])?;
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
            compute_ps: compute(section, NO_COMPUTE, &[nx, ny, nz, nt, vars])?,
            barriers: section.or("barriers", true)?,
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
