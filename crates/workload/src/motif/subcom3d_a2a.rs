//! subcom3d-a2a: all-to-all in the rows of a grid along each of its three dimensions, as in an FFT.
//!
//! Source: Chatterbug, `subcom3d-a2a/subcom3d-a2a.C`.

use crate::Collective;
use config::{Type, parameters};

use super::parameters::{bytes, iterations, pause};
use super::{Motif, RankGrid, Script, Skeleton, workload};

pub(super) const MOTIF: Motif = Motif {
    name: "subcom3d-a2a",
    summary: "all-to-all in the rows of a grid along x, then y, then z",
    source: "Chatterbug, subcom3d-a2a",
    parameters: parameters! {
        computed("ranks", Type::Integer, "the product of the sides, which must then all be given",
            "number of ranks");
        computed("pex", Type::Integer, "as cubic as can be", "ranks along x");
        computed("pey", Type::Integer, "as cubic as can be", "ranks along y");
        computed("pez", Type::Integer, "as cubic as can be", "ranks along z");
        size("bytes_x", "4 KiB", "from each rank to each of its row along x; 0: none of these all-to-alls");
        size("bytes_y", "4 KiB", "the same along y");
        size("bytes_z", "4 KiB", "the same along z");
        integer("iterations", 1, "how many");
        time("compute", "0 ps", "time of the computation before each all-to-all");
        flag("barriers", true, "the barriers before and after");
    },
    example: "pex = 3\npey = 2\npez = 2\niterations = 2",
    build: |section| {
        let grid = RankGrid::read(section, ["pex", "pey", "pez"], false)?;
        Ok(workload(Subcom3d {
            grid,
            bytes: [
                bytes(section, "bytes_x")?,
                bytes(section, "bytes_y")?,
                bytes(section, "bytes_z")?,
            ],
            iterations: u64::from(iterations(section)?),
            compute_ps: pause(section)?,
            barriers: section.get("barriers")?,
        }))
    },
};

struct Subcom3d {
    grid: RankGrid<3>,
    /// Bytes to each member of the row along each dimension; 0 for no all-to-all.
    bytes: [u64; 3],
    iterations: u64,
    compute_ps: u64,
    barriers: bool,
}

impl Subcom3d {
    /// Number of rows along a dimension with an all-to-all; 0 without.
    fn rows(&self, dimension: usize) -> u32 {
        if self.bytes[dimension] == 0 {
            return 0;
        }
        self.grid.ranks() / self.grid.sides[dimension]
    }

    /// Index of the row along a dimension, by the two other coordinates, the earlier one fastest.
    fn row(&self, dimension: usize, place: [u32; 3]) -> u32 {
        let others = (0..3).rev().filter(|other| *other != dimension);
        others.fold(0, |row, other| row * self.grid.sides[other] + place[other])
    }
}

impl Skeleton for Subcom3d {
    fn ranks(&self) -> u32 {
        self.grid.ranks()
    }

    /// All rows along x, then along y, then along z.
    fn communicators(&self) -> Vec<Vec<u32>> {
        let mut all = Vec::new();
        for dimension in 0..3 {
            let mut rows = vec![Vec::new(); self.rows(dimension) as usize];
            if rows.is_empty() {
                continue;
            }
            // Ranks ascend along every dimension, so members are in order.
            for rank in 0..self.grid.ranks() {
                rows[self.row(dimension, self.grid.place(rank)) as usize].push(rank);
            }
            all.append(&mut rows);
        }
        all
    }

    fn step(&self, rank: u32, step: u64, script: &mut Script) -> bool {
        if step == 0 && self.barriers {
            script.barrier();
        }
        let place = self.grid.place(rank);
        let mut first = 1;
        for (dimension, bytes) in self.bytes.into_iter().enumerate() {
            if bytes > 0 {
                script.compute(self.compute_ps);
                let communicator = first + self.row(dimension, place);
                script.collective(Collective::Alltoall, communicator, bytes);
            }
            first += self.rows(dimension);
        }
        script.end_iteration(step + 1 < self.iterations, self.barriers)
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{open, totals};
    use crate::Collective;

    #[test]
    fn calls_and_bytes() {
        let text = "pex = 2\npey = 3\npez = 5\nbytes_x = \"7 B\"\nbytes_y = \"0 B\"\nbytes_z = \"11 B\"\niterations = 3\ncompute = \"1 ns\"";
        let found = totals("subcom3d-a2a", text);
        assert_eq!((found.messages, found.bytes), (0, 0));
        assert_eq!(found.calls(Collective::Alltoall), 3 * 2 * 30);
        assert_eq!(found.all_to_all_bytes, 3 * 30 * (2 * 7 + 5 * 11));
        assert_eq!(found.calls(Collective::Barrier), 2 * 30);
        assert_eq!(found.compute_ps, 3 * 2 * 30 * 1000);
        let communicators = open("subcom3d-a2a", text).communicators();
        assert_eq!(communicators.len(), 1 + 15 + 6);
        assert_eq!(communicators[1], [0, 1]);
        assert_eq!(communicators[16], [0, 6, 12, 18, 24]);
        assert_eq!(communicators[21], [5, 11, 17, 23, 29]);
    }
}
