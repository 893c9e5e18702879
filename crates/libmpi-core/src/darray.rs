//! Arrays that are distributed over a grid of processes (MPI 4.1, section 5.1.4).

use std::ffi::c_int;

use crate::abi::class;
use crate::datatype::Datatype;
use crate::failure::{Failure, Outcome};

const BLOCK: c_int = 121;
const CYCLIC: c_int = 122;
const NONE: c_int = 123;
const DEFAULT_ARGUMENT: c_int = -49_767;

/// How an array is distributed, each list by dimension.
pub(crate) struct ArrayDistribution<'a> {
    pub size: c_int,
    pub rank: c_int,
    pub lengths: &'a [i64],
    pub kinds: &'a [c_int],
    pub arguments: &'a [c_int],
    pub grid: &'a [c_int],
}

fn wrong(text: impl Into<String>) -> Failure {
    Failure::new(class::ARG, text)
}

impl ArrayDistribution<'_> {
    /// Places in a dimension that the process at a coordinate has: starts and lengths of blocks.
    fn blocks(&self, dimension: usize, coordinate: i64) -> Outcome<Vec<(i64, i64)>> {
        let (length, processes) = (self.lengths[dimension], i64::from(self.grid[dimension]));
        let argument = self.arguments[dimension];
        let block = match self.kinds[dimension] {
            NONE if processes == 1 => length,
            NONE => return Err(wrong("a dimension that is not distributed has several processes")),
            BLOCK if argument == DEFAULT_ARGUMENT => (length + processes - 1) / processes,
            CYCLIC if argument == DEFAULT_ARGUMENT => 1,
            BLOCK | CYCLIC if argument > 0 => argument.into(),
            BLOCK | CYCLIC => return Err(wrong(format!("{argument} as the argument of a distribution"))),
            kind => return Err(wrong(format!("{kind} as a distribution"))),
        };
        if self.kinds[dimension] == BLOCK && block * processes < length {
            return Err(wrong("the blocks do not cover a dimension"));
        }
        let starts = (coordinate * block..length).step_by((block * processes).max(1) as usize);
        Ok(starts.map(|start| (start, block.min(length - start))).collect())
    }
}

/// The elements of an array that a process has, with the extent of the whole array.
pub(crate) fn distributed_array(
    element: &Datatype,
    distribution: &ArrayDistribution<'_>,
    is_fortran: bool,
) -> Outcome<Datatype> {
    let processes: i64 = distribution
        .grid
        .iter()
        .map(|length| i64::from(*length))
        .product();
    if processes != distribution.size.into() || !(0..distribution.size).contains(&distribution.rank) {
        return Err(wrong("the grid of processes does not have the size"));
    }
    // Processes are counted in the order of C, whatever the order of the array.
    let mut rest = i64::from(distribution.rank);
    let mut coordinates = vec![0; distribution.grid.len()];
    for (coordinate, length) in coordinates.iter_mut().zip(distribution.grid).rev() {
        *coordinate = rest % i64::from(*length);
        rest /= i64::from(*length);
    }
    let dimensions: Vec<usize> = match is_fortran {
        true => (0..coordinates.len()).collect(),
        false => (0..coordinates.len()).rev().collect(),
    };
    let mut made = element.resized(element.lower_bound, element.extent);
    let mut stride = element.extent;
    for dimension in dimensions {
        let blocks = distribution.blocks(dimension, coordinates[dimension])?;
        let placed = made.resized(0, stride);
        let parts: Vec<(isize, usize, &Datatype)> = blocks
            .iter()
            .map(|(start, length)| (*start as isize * stride, *length as usize, &placed))
            .collect();
        let next = Datatype::of_parts(&parts);
        stride *= distribution.lengths[dimension] as isize;
        made = next;
    }
    Ok(made.resized(0, stride))
}
