//! fft3d: a real-to-complex FFT of three dimensions in pencils, and its inverse.
//!
//! Source: SST's motif `FFT3D` (sst-elements, `ember/mpi/motifs/emberfft3d`).

use config::{Type, parameters};

use super::grid::most_cubic;
use super::parameters::{MAX_COUNT, MAX_RANKS, cells, compute, count, in_count, in_range, iterations, ranks};
use super::{Motif, Script, Skeleton, workload};

pub(super) const MOTIF: Motif = Motif {
    name: "fft3d",
    summary: "FFT of three dimensions in pencils, there and back: all-to-alls of uneven parts",
    source: "SST, Ember motif FFT3D",
    parameters: parameters! {
        required("ranks", Type::Integer, "number of ranks");
        computed("rows", Type::Integer, "as square as can be, the smaller side",
            "ranks that divide x, a divisor of ranks");
        integer("nx", 100, "points along x, of all ranks together");
        integer("ny", 100, "points along y, of all ranks together");
        integer("nz", 100, "points along z, of all ranks together");
        integer("item_bytes", 8, "bytes of a real number; a complex one has twice as many");
        integer("iterations", 1, "how many transforms there and back");
        time("compute", "0 ps", "time of the computation along one dimension");
        time("compute_per_cell", "1 ns", "more of it for each point of a rank");
        flag("barriers", true, "the barriers after each transform");
    },
    example: "ranks = 6\nnx = 10\nny = 9\nnz = 7\niterations = 2",
    build: |section| {
        let ranks = ranks(section)?;
        let square = most_cubic(ranks, 2);
        let rows = in_count(section, "rows", section.or("rows", square[1])?, MAX_RANKS)?;
        if ranks % rows != 0 {
            let message = format!("{rows} does not divide ranks = {ranks}; expected a divisor");
            return Err(section.error("rows", message));
        }
        let points = cells(section, ["nx", "ny", "nz"])?;
        let item = u64::from(count(section, "item_bytes", MAX_COUNT)?);
        let [nx, ny, nz] = points;
        // The largest part of any all-to-all is at most the data of the largest rank.
        let columns = u64::from(ranks / rows);
        let rows = u64::from(rows);
        let half = nx / 2 + 1;
        let widest = [
            half.div_ceil(rows),
            ny.div_ceil(rows.min(columns)),
            nz.div_ceil(columns),
            2,
            item,
        ];
        let most = widest
            .iter()
            .map(|f| u128::from(*f))
            .try_fold(1u128, u128::checked_mul);
        in_range(section, "nx", most.unwrap_or(u128::MAX))?;
        let own = [nx, ny, nz].map(u128::from).iter().product::<u128>() / u128::from(ranks);
        let own = u64::try_from(own).unwrap_or(u64::MAX);
        let compute_ps = compute(section, &[own])?;
        Ok(workload(Fft3d {
            rows,
            columns,
            half: EvenParts {
                all: half,
                over: rows,
            },
            y_over_rows: EvenParts { all: ny, over: rows },
            y_over_columns: EvenParts {
                all: ny,
                over: columns,
            },
            z: EvenParts {
                all: nz,
                over: columns,
            },
            complex_bytes: 2 * item,
            iterations: u64::from(iterations(section)?),
            compute_ps,
            barriers: section.get("barriers")?,
        }))
    },
};

/// Points divided over ranks as evenly as possible; the first ranks get the remainder.
struct EvenParts {
    all: u64,
    over: u64,
}

impl EvenParts {
    fn of(&self, index: u64) -> u64 {
        self.all / self.over + u64::from(index < self.all % self.over)
    }
}

/// Rank r is at position r % rows of column r / rows, and in row r % rows. Pencils lie along x, then y, then z.
struct Fft3d {
    rows: u64,
    columns: u64,
    /// Points along x after the transform of real numbers, over the members of a column.
    half: EvenParts,
    y_over_rows: EvenParts,
    y_over_columns: EvenParts,
    z: EvenParts,
    complex_bytes: u64,
    iterations: u64,
    compute_ps: u64,
    barriers: bool,
}

/// Direction of an all-to-all.
#[derive(Clone, Copy, PartialEq)]
enum TransformDirection {
    There,
    Back,
}

impl Fft3d {
    /// Transposes pencils along x into pencils along y, in the rank's column.
    fn in_column(&self, row: u64, column: u64, way: TransformDirection, script: &mut Script) {
        let part = |x: u64, y: u64| {
            self.complex_bytes * self.half.of(x) * self.y_over_rows.of(y) * self.z.of(column)
        };
        let along_x: Vec<u64> = (0..self.rows).map(|other| part(other, row)).collect();
        let along_y: Vec<u64> = (0..self.rows).map(|other| part(row, other)).collect();
        let communicator = 1 + column as u32;
        match way {
            TransformDirection::There => script.all_to_all_v(communicator, along_x, along_y),
            TransformDirection::Back => script.all_to_all_v(communicator, along_y, along_x),
        }
    }

    /// Transposes pencils along y into pencils along z, in the rank's row.
    fn in_row(&self, row: u64, column: u64, way: TransformDirection, script: &mut Script) {
        let part = |y: u64, z: u64| {
            self.complex_bytes * self.half.of(row) * self.y_over_columns.of(y) * self.z.of(z)
        };
        let along_y: Vec<u64> = (0..self.columns).map(|other| part(other, column)).collect();
        let along_z: Vec<u64> = (0..self.columns).map(|other| part(column, other)).collect();
        let communicator = 1 + (self.columns + row) as u32;
        match way {
            TransformDirection::There => script.all_to_all_v(communicator, along_y, along_z),
            TransformDirection::Back => script.all_to_all_v(communicator, along_z, along_y),
        }
    }
}

impl Skeleton for Fft3d {
    fn ranks(&self) -> u32 {
        (self.rows * self.columns) as u32
    }

    /// All columns, then all rows.
    fn communicators(&self) -> Vec<Vec<u32>> {
        let (rows, columns) = (self.rows as u32, self.columns as u32);
        let of_column = |column| (0..rows).map(|row| column * rows + row).collect();
        let of_row = |row| (0..columns).map(|column| column * rows + row).collect();
        (0..columns).map(of_column).chain((0..rows).map(of_row)).collect()
    }

    fn step(&self, rank: u32, step: u64, script: &mut Script) -> bool {
        let (row, column) = (u64::from(rank) % self.rows, u64::from(rank) / self.rows);
        script.compute(self.compute_ps);
        self.in_column(row, column, TransformDirection::There, script);
        script.compute(self.compute_ps);
        self.in_row(row, column, TransformDirection::There, script);
        script.compute(self.compute_ps);
        if self.barriers {
            script.barrier();
        }
        script.compute(self.compute_ps);
        self.in_row(row, column, TransformDirection::Back, script);
        script.compute(self.compute_ps);
        self.in_column(row, column, TransformDirection::Back, script);
        // The last inverse transform, complex to real, takes twice as long.
        script.compute(2 * self.compute_ps);
        if self.barriers {
            script.barrier();
        }
        step + 1 < self.iterations
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{error, totals};
    use crate::Collective;

    /// Every all-to-all moves the whole field: nx / 2 + 1 by ny by nz complex numbers.
    #[test]
    fn calls_and_bytes() {
        for rows in [1, 2, 3, 4, 6, 12] {
            let text = format!(
                "ranks = 12\nrows = {rows}\nnx = 13\nny = 10\nnz = 5\niterations = 3\nitem_bytes = 4\ncompute = \"2 ns\"\ncompute_per_cell = \"1 ps\""
            );
            let found = totals("fft3d", &text);
            assert_eq!((found.messages, found.bytes), (0, 0));
            assert_eq!(found.calls(Collective::Alltoall), 3 * 4 * 12);
            assert_eq!(found.all_to_all_bytes, 3 * 4 * 7 * 10 * 5 * 8, "{rows}");
            assert_eq!(found.calls(Collective::Barrier), 3 * 2 * 12);
            assert_eq!(found.compute_ps, 3 * 7 * 12 * (2000 + 650 / 12));
        }
    }

    #[test]
    fn rows_have_to_fit() {
        assert!(error("fft3d", "ranks = 12\nrows = 5").contains("rows: 5 does not divide ranks = 12"));
        assert!(error("fft3d", "nx = 4").contains("ranks"));
    }
}
