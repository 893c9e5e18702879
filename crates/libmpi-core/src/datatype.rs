//! Datatypes: where the parts of an element lie, and copies between a buffer and contiguous bytes.
//!
//! A datatype is flattened: a list of runs of bytes relative to the start of an element (MPI 4.1, section 5.1, "type
//! map"). Neighbouring runs of the same basic type are one.

use std::ffi::{c_int, c_void};
use std::rc::Rc;
use std::slice;

/// What the bytes of a predefined type mean, for reductions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Basic {
    Byte,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
    C32,
    C64,
    Logical8,
    Logical16,
    Logical32,
    Logical64,
    PairI32,
    PairF32,
    PairF64,
    I16Index,
    I64Index,
    F32Index,
    F64Index,
    /// `long double` of C.
    Long,
    LongComplex,
    LongIndex,
    /// `MPI_LB` and `MPI_UB` of MPI 1: no data, but a bound of what is made of them.
    LowerMarker,
    UpperMarker,
    /// Of no reduction that the library knows.
    Opaque,
}

use Basic::*;

/// A run of bytes of one basic type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ByteRun {
    /// From the start of the element.
    pub offset: isize,
    pub bytes: usize,
    pub basic: Basic,
    /// Bytes of one value of the basic type, of a pair both.
    pub unit: usize,
}

impl ByteRun {
    /// Bytes of the values that a basic type has one after the other: two of a pair.
    fn values(&self) -> (usize, usize) {
        match self.basic {
            PairI32 | PairF32 | F32Index => (4, 4),
            PairF64 => (8, 8),
            I64Index | F64Index => (8, 4),
            LongIndex => (16, 4),
            _ => (self.unit, 0),
        }
    }

    /// How many whole values the first bytes of the run are.
    fn values_in(&self, bytes: usize) -> usize {
        let (first, second) = self.values();
        let (pairs, rest) = (bytes / (first + second), bytes % (first + second));
        match second {
            0 => pairs,
            _ => 2 * pairs + usize::from(rest >= first),
        }
    }

    /// Whether a whole number of values are in the first bytes of the run.
    fn ends_value(&self, bytes: usize) -> bool {
        let (first, second) = self.values();
        let rest = bytes % (first + second);
        rest == 0 || second > 0 && rest == first
    }
}

/// How the program has made a datatype: what `MPI_Type_get_contents` tells.
#[derive(Clone, Debug, Default)]
pub(crate) struct DatatypeRecipe {
    pub combiner: c_int,
    pub integers: Vec<c_int>,
    pub addresses: Vec<isize>,
    /// Of the functions with large counts, which put them here.
    pub large_counts: Vec<i64>,
    pub types: Vec<PartType>,
}

/// A datatype of which another one is made.
#[derive(Clone, Debug)]
pub(crate) enum PartType {
    Predefined(c_int),
    Made(Rc<Datatype>),
}

/// Which bounds of a datatype are markers (MPI 4.1, section 5.1.7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BoundMarkers {
    pub lower: bool,
    pub upper: bool,
}

/// The outermost of some bounds: of markers alone where there are any.
#[derive(Clone, Copy, Debug, Default)]
struct OuterBound {
    bound: Option<isize>,
    is_marker: bool,
}

impl OuterBound {
    fn add(&mut self, bound: isize, is_marker: bool, outer: fn(isize, isize) -> isize) {
        self.bound = match self.bound {
            Some(own) if self.is_marker == is_marker => Some(outer(own, bound)),
            Some(own) if self.is_marker => Some(own),
            _ => Some(bound),
        };
        self.is_marker |= is_marker;
    }
}

/// A datatype.
#[derive(Clone, Debug)]
pub(crate) struct Datatype {
    pub runs: Rc<[ByteRun]>,
    /// Bytes of data in an element.
    pub size: usize,
    pub lower_bound: isize,
    pub extent: isize,
    /// Whether the program has given the bounds, instead of the data: they then decide the bounds of what is made of
    /// it.
    pub markers: BoundMarkers,
    /// `None` of a predefined one.
    pub recipe: Option<Box<DatatypeRecipe>>,
}

/// Adds a run, to the last one if it goes on there.
fn add_run(runs: &mut Vec<ByteRun>, run: ByteRun) {
    match runs.last_mut() {
        Some(last)
            if last.basic == run.basic
                && last.unit == run.unit
                && last.offset + last.bytes as isize == run.offset =>
        {
            last.bytes += run.bytes;
        }
        _ => runs.push(run),
    }
}

impl Datatype {
    pub fn predefined(size: usize, extent: isize, basic: Basic) -> Datatype {
        // A pair of a short and an int has a gap; all other pairs have their data at the front.
        let run = |offset, bytes| ByteRun {
            offset,
            bytes,
            basic,
            unit: bytes,
        };
        let runs = match basic {
            I16Index => vec![run(0, 2), run(4, 4)],
            _ if size == 0 => Vec::new(),
            _ => vec![run(0, size)],
        };
        Datatype {
            runs: runs.into(),
            size,
            lower_bound: 0,
            extent,
            markers: BoundMarkers {
                lower: basic == LowerMarker,
                upper: basic == UpperMarker,
            },
            recipe: None,
        }
    }

    /// Elements of other types at displacements in bytes, with counts: what `MPI_Type_create_struct` makes, without the
    /// rounding of its extent.
    pub fn of_parts(parts: &[(isize, usize, &Datatype)]) -> Datatype {
        let mut runs: Vec<ByteRun> = Vec::new();
        let (mut lower, mut upper, mut size) = (OuterBound::default(), OuterBound::default(), 0);
        for (displacement, count, part) in parts {
            // The elements at both ends have the outermost bounds.
            for index in [0, *count as isize - 1].into_iter().filter(|_| *count > 0) {
                let from = displacement + index * part.extent + part.lower_bound;
                lower.add(from, part.markers.lower, isize::min);
                upper.add(from + part.extent, part.markers.upper, isize::max);
            }
            // Elements without gaps are one run, however many.
            if *count > 1
                && part.is_contiguous()
                && let [run] = *part.runs
            {
                let bytes = run.bytes * count;
                add_run(
                    &mut runs,
                    ByteRun {
                        offset: *displacement,
                        bytes,
                        ..run
                    },
                );
                size += count * part.size;
                continue;
            }
            for index in 0..*count as isize {
                let at = displacement + index * part.extent;
                for run in part.runs.iter() {
                    let offset = at + run.offset;
                    add_run(&mut runs, ByteRun { offset, ..*run });
                }
            }
            size += count * part.size;
        }
        let (lower_bound, upper_bound) = (lower.bound.unwrap_or(0), upper.bound.unwrap_or(0));
        Datatype {
            runs: runs.into(),
            size,
            lower_bound,
            extent: upper_bound - lower_bound,
            markers: BoundMarkers {
                lower: lower.is_marker,
                upper: upper.is_marker,
            },
            recipe: None,
        }
    }

    /// The alignment of the strictest part, as C aligns its basic types.
    pub fn alignment(&self) -> isize {
        let strictest = self.runs.iter().map(|run| match run.basic {
            I16 | U16 | Logical16 => 2,
            I32 | U32 | F32 | C32 | Logical32 | PairI32 | PairF32 | I16Index | F32Index => 4,
            I64 | U64 | F64 | C64 | Logical64 | PairF64 | I64Index | F64Index => 8,
            Byte | I8 | U8 | Logical8 | LowerMarker | UpperMarker => 1,
            Long | LongComplex | LongIndex => 16,
            // As long as they are, but for complex numbers.
            Opaque => run.unit.clamp(1, 16) as isize,
        });
        strictest.max().unwrap_or(1)
    }

    /// The part of an array, with the extent of the whole array: sizes of the array, sizes of the part, starts. The
    /// last dimension is the fastest in C, the first one in Fortran.
    pub fn subarray(&self, (sizes, parts, starts): (&[i64], &[i64], &[i64]), fortran: bool) -> Datatype {
        let mut made = self.resized(self.lower_bound, self.extent);
        // Bytes between neighbours in the dimension.
        let mut stride = self.extent;
        let dimensions: Vec<usize> = match fortran {
            true => (0..sizes.len()).collect(),
            false => (0..sizes.len()).rev().collect(),
        };
        for dimension in dimensions {
            let places = (0..parts[dimension].max(0) as isize)
                .map(|place| ((place + starts[dimension] as isize) * stride, 1, &made));
            let next = Datatype::of_parts(&places.collect::<Vec<_>>());
            stride *= sizes[dimension] as isize;
            made = next;
        }
        made.resized(0, stride)
    }

    /// With other bounds.
    pub fn resized(&self, lower_bound: isize, extent: isize) -> Datatype {
        Datatype {
            runs: self.runs.clone(),
            size: self.size,
            lower_bound,
            extent,
            markers: BoundMarkers {
                lower: true,
                upper: true,
            },
            recipe: None,
        }
    }

    /// Bounds of the data alone.
    pub fn true_bounds(&self) -> (isize, isize) {
        let lower = self.runs.iter().map(|run| run.offset).min().unwrap_or(0);
        let upper = self.runs.iter().map(|run| run.offset + run.bytes as isize).max();
        (lower, upper.unwrap_or(0) - lower)
    }

    /// Whether elements follow each other without gaps.
    pub fn is_contiguous(&self) -> bool {
        match *self.runs {
            [] => true,
            [run] => run.offset == 0 && run.bytes == self.size && self.extent == self.size as isize,
            _ => false,
        }
    }

    /// The basic type of all its bytes; `None` if they differ.
    pub fn basic(&self) -> Option<Basic> {
        let first = self.runs.first()?.basic;
        self.runs.iter().all(|run| run.basic == first).then_some(first)
    }

    /// How many values of basic types the first bytes of elements are; `None` if they end inside of one.
    pub fn values_in(&self, bytes: u64) -> Option<u64> {
        if self.size == 0 {
            return (bytes == 0).then_some(0);
        }
        let whole = |run: &ByteRun| run.values_in(run.bytes) as u64;
        let mut values = bytes / self.size as u64 * self.runs.iter().map(whole).sum::<u64>();
        let mut rest = (bytes % self.size as u64) as usize;
        for run in self.runs.iter() {
            let now = rest.min(run.bytes);
            if !run.ends_value(now) {
                return None;
            }
            values += run.values_in(now) as u64;
            rest -= now;
        }
        Some(values)
    }

    /// The bytes of the first values of basic types of elements.
    pub fn bytes_of_values(&self, values: u64) -> u64 {
        let whole: u64 = self.runs.iter().map(|run| run.values_in(run.bytes) as u64).sum();
        if whole == 0 {
            return 0;
        }
        let mut bytes = values / whole * self.size as u64;
        let mut rest = values % whole;
        for run in self.runs.iter() {
            let (first, second) = run.values();
            let here = rest.min(run.values_in(run.bytes) as u64);
            bytes += match second {
                0 => here * first as u64,
                _ => here / 2 * (first + second) as u64 + here % 2 * first as u64,
            };
            rest -= here;
        }
        bytes
    }

    /// Turns the bytes of each value around, in packed elements: between this machine's order and the other one, which
    /// `external32` has (MPI 4.1, section 14.5.2).
    pub fn swap_bytes(&self, packed: &mut [u8]) {
        let mut rest = packed;
        while !rest.is_empty() && self.size > 0 {
            for run in self.runs.iter() {
                let (now, after) = rest.split_at_mut(run.bytes.min(rest.len()));
                let (mut first, second) = run.values();
                // Both parts of a complex number are values of their own.
                if matches!(run.basic, C32 | C64 | LongComplex) {
                    first /= 2;
                }
                for pair in now.chunks_mut(first + second) {
                    let middle = first.min(pair.len());
                    pair[..middle].reverse();
                    pair[middle..].reverse();
                }
                rest = after;
            }
        }
    }

    /// Bytes of a number of elements.
    pub fn bytes(&self, count: usize) -> usize {
        self.size * count
    }

    /// Copies elements of a buffer into contiguous bytes.
    ///
    /// # Safety
    /// The buffer has the elements.
    pub unsafe fn pack(&self, buffer: *const c_void, count: usize) -> Vec<u8> {
        let mut packed = Vec::with_capacity(self.bytes(count));
        let start: *const u8 = buffer.cast();
        if self.bytes(count) == 0 {
            return packed;
        }
        if self.is_contiguous() {
            // Safety: the buffer has this many contiguous bytes.
            packed.extend_from_slice(unsafe { slice::from_raw_parts(start, self.bytes(count)) });
            return packed;
        }
        for element in 0..count as isize {
            for run in self.runs.iter() {
                // Safety: inside an element of the buffer.
                packed.extend_from_slice(unsafe {
                    slice::from_raw_parts(
                        start.wrapping_offset(element * self.extent + run.offset),
                        run.bytes,
                    )
                });
            }
        }
        packed
    }

    /// Copies contiguous bytes into elements of a buffer, as many as there are; the last may be partial.
    ///
    /// # Safety
    /// The buffer has space for the bytes.
    pub unsafe fn unpack(&self, mut bytes: &[u8], buffer: *mut c_void) {
        let start: *mut u8 = buffer.cast();
        if bytes.is_empty() || self.size == 0 {
            return;
        }
        if self.is_contiguous() {
            // Safety: the buffer has this many contiguous bytes. `copy`, as it may be the buffer itself.
            unsafe { std::ptr::copy(bytes.as_ptr(), start, bytes.len()) };
            return;
        }
        for element in 0.. {
            for run in self.runs.iter() {
                let (now, rest) = bytes.split_at(run.bytes.min(bytes.len()));
                // Safety: inside an element of the buffer.
                unsafe {
                    let to = start.wrapping_offset(element * self.extent + run.offset);
                    std::ptr::copy(now.as_ptr(), to, now.len());
                }
                bytes = rest;
                if bytes.is_empty() {
                    return;
                }
            }
        }
    }
}

/// Where element `index` of a buffer is, of elements that are `extent` bytes apart.
pub(crate) fn element(buffer: *mut c_void, extent: isize, index: isize) -> *mut c_void {
    buffer.wrapping_byte_offset(extent * index)
}
