//! Datatypes: where the parts of an element lie, and copies between a buffer and contiguous bytes.
//!
//! A datatype is flattened: a list of runs of bytes relative to the start of an element (MPI 4.1, section 5.1, "type
//! map"). Neighbouring runs of the same basic type are one.

use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::slice;
use std::sync::Arc;

use crate::abi::{self, class};
use crate::failure::{Failure, Outcome};

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
}

/// A datatype.
#[derive(Clone, Debug)]
pub(crate) struct Datatype {
    pub runs: Arc<[ByteRun]>,
    /// Bytes of data in an element.
    pub size: usize,
    pub lower_bound: isize,
    pub extent: isize,
}

impl Datatype {
    fn predefined(size: usize, extent: isize, basic: Basic) -> Datatype {
        // A pair of a short and an int has a gap; all other pairs have their data at the front.
        let run = |offset, bytes| ByteRun { offset, bytes, basic };
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
        }
    }

    /// Elements of other types at displacements in bytes, with counts: what `MPI_Type_create_struct` makes, without the
    /// rounding of its extent.
    pub fn of_parts(parts: &[(isize, usize, &Datatype)]) -> Datatype {
        let mut runs: Vec<ByteRun> = Vec::new();
        let (mut lower, mut upper, mut size) = (isize::MAX, isize::MIN, 0);
        for (displacement, count, part) in parts {
            for index in 0..*count as isize {
                let at = displacement + index * part.extent;
                lower = lower.min(at + part.lower_bound);
                upper = upper.max(at + part.lower_bound + part.extent);
                for run in part.runs.iter() {
                    let offset = at + run.offset;
                    match runs.last_mut() {
                        Some(last)
                            if last.basic == run.basic && last.offset + last.bytes as isize == offset =>
                        {
                            last.bytes += run.bytes;
                        }
                        _ => runs.push(ByteRun { offset, ..*run }),
                    }
                }
            }
            size += count * part.size;
        }
        if lower > upper {
            (lower, upper) = (0, 0);
        }
        Datatype {
            runs: runs.into(),
            size,
            lower_bound: lower,
            extent: upper - lower,
        }
    }

    /// The alignment of the strictest part, as C aligns its basic types.
    pub fn alignment(&self) -> isize {
        let strictest = self.runs.iter().map(|run| match run.basic {
            I16 | U16 | Logical16 => 2,
            I32 | U32 | F32 | C32 | Logical32 | PairI32 | PairF32 | I16Index | F32Index => 4,
            I64 | U64 | F64 | C64 | Logical64 | PairF64 | I64Index | F64Index => 8,
            Byte | I8 | U8 | Logical8 => 1,
            Opaque if run.bytes % 16 == 0 => 16,
            Opaque => 1,
        });
        strictest.max().unwrap_or(1)
    }

    /// The part of an array, with the extent of the whole array: sizes of the array, sizes of the part, starts. The
    /// last dimension is the fastest in C, the first one in Fortran.
    pub fn subarray(
        &self,
        (sizes, parts, starts): (&[c_int], &[c_int], &[c_int]),
        fortran: bool,
    ) -> Datatype {
        let mut made = self.clone();
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
            lower_bound,
            extent,
            ..self.clone()
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
                    slice::from_raw_parts(start.offset(element * self.extent + run.offset), run.bytes)
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
                    let to = start.offset(element * self.extent + run.offset);
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

/// All datatypes of a process.
#[derive(Debug)]
pub(crate) struct DatatypeTable {
    predefined: HashMap<c_int, Datatype>,
    /// Made by the program; freed places are used again.
    made: Vec<Option<Datatype>>,
    free: Vec<usize>,
}

impl Default for DatatypeTable {
    fn default() -> DatatypeTable {
        let predefined = PREDEFINED.iter().map(|&(_, handle, size, extent, basic)| {
            (handle as c_int, Datatype::predefined(size, extent, basic))
        });
        DatatypeTable {
            predefined: predefined.collect(),
            made: Vec::new(),
            free: Vec::new(),
        }
    }
}

/// The name of a predefined type.
pub(crate) fn predefined_name(handle: c_int) -> Option<&'static str> {
    let found = PREDEFINED.iter().find(|row| row.1 as c_int == handle);
    found.map(|row| row.0)
}

impl DatatypeTable {
    fn made_index(handle: c_int) -> Option<usize> {
        let index = handle.wrapping_sub(abi::DATATYPE);
        (0..=abi::INDEX_BITS).contains(&index).then_some(index as usize)
    }

    /// The datatype of a handle.
    ///
    /// # Errors
    /// There is none.
    pub fn get(&self, handle: c_int) -> Outcome<&Datatype> {
        let made = || DatatypeTable::made_index(handle).and_then(|index| self.made.get(index)?.as_ref());
        match self.predefined.get(&handle).or_else(made) {
            Some(datatype) => Ok(datatype),
            None if handle == abi::DATATYPE_NULL => Err(Failure::new(class::TYPE, "MPI_DATATYPE_NULL")),
            None => Err(Failure::new(
                class::TYPE,
                format!("there is no datatype {handle:#x}"),
            )),
        }
    }

    /// A new datatype.
    pub fn add(&mut self, datatype: Datatype) -> c_int {
        let index = match self.free.pop() {
            Some(index) => {
                self.made[index] = Some(datatype);
                index
            }
            None => {
                self.made.push(Some(datatype));
                self.made.len() - 1
            }
        };
        abi::DATATYPE + index as c_int
    }

    /// Frees a datatype that the program has made.
    ///
    /// # Errors
    /// It is none of those.
    pub fn remove(&mut self, handle: c_int) -> Outcome<()> {
        self.get(handle)?;
        let index = DatatypeTable::made_index(handle);
        match index.and_then(|index| self.made.get_mut(index)?.take().map(|_| index)) {
            Some(index) => self.free.push(index),
            None => return Err(Failure::new(class::TYPE, "a predefined datatype cannot be freed")),
        }
        Ok(())
    }
}

/// Name, handle, size, extent and meaning of all predefined types.
#[rustfmt::skip]
const PREDEFINED: &[(&str, u32, usize, isize, Basic)] = &[
    ("MPI_FLOAT_INT", 0x8c000000, 8, 8, F32Index),
    ("MPI_DOUBLE_INT", 0x8c000001, 12, 16, F64Index),
    ("MPI_LONG_INT", 0x8c000002, 12, 16, I64Index),
    ("MPI_SHORT_INT", 0x8c000003, 6, 8, I16Index),
    ("MPI_LONG_DOUBLE_INT", 0x8c000004, 20, 32, Opaque),
    ("MPI_LB", 0x4c000010, 0, 0, Opaque),
    ("MPI_UB", 0x4c000011, 0, 0, Opaque),
    ("MPI_CHAR", 0x4c000101, 1, 1, I8),
    ("MPI_UNSIGNED_CHAR", 0x4c000102, 1, 1, U8),
    ("MPI_BYTE", 0x4c00010d, 1, 1, Byte),
    ("MPI_PACKED", 0x4c00010f, 1, 1, Byte),
    ("MPI_SIGNED_CHAR", 0x4c000118, 1, 1, I8),
    ("MPI_CHARACTER", 0x4c00011a, 1, 1, Byte),
    ("MPI_INTEGER1", 0x4c00012d, 1, 1, I8),
    ("MPI_CXX_BOOL", 0x4c000133, 1, 1, Logical8),
    ("MPI_INT8_T", 0x4c000137, 1, 1, I8),
    ("MPI_UINT8_T", 0x4c00013b, 1, 1, U8),
    ("MPI_C_BOOL", 0x4c00013f, 1, 1, Logical8),
    ("MPI_LOGICAL1", 0x4c000147, 1, 1, Logical8),
    ("MPI_SHORT", 0x4c000203, 2, 2, I16),
    ("MPI_UNSIGNED_SHORT", 0x4c000204, 2, 2, U16),
    ("MPI_REAL2", 0x4c000226, 2, 2, Opaque),
    ("MPI_INTEGER2", 0x4c00022f, 2, 2, I16),
    ("MPI_INT16_T", 0x4c000238, 2, 2, I16),
    ("MPI_UINT16_T", 0x4c00023c, 2, 2, U16),
    ("MPIX_C_FLOAT16", 0x4c000246, 2, 2, Opaque),
    ("MPI_LOGICAL2", 0x4c000248, 2, 2, Logical16),
    ("MPIX_BFLOAT16", 0x4c00024c, 2, 2, Opaque),
    ("MPI_INT", 0x4c000405, 4, 4, I32),
    ("MPI_UNSIGNED", 0x4c000406, 4, 4, U32),
    ("MPI_FLOAT", 0x4c00040a, 4, 4, F32),
    ("MPI_WCHAR", 0x4c00040e, 4, 4, I32),
    ("MPI_INTEGER", 0x4c00041b, 4, 4, I32),
    ("MPI_REAL", 0x4c00041c, 4, 4, F32),
    ("MPI_LOGICAL", 0x4c00041d, 4, 4, Logical32),
    ("MPI_REAL4", 0x4c000427, 4, 4, F32),
    ("MPI_COMPLEX4", 0x4c00042e, 4, 4, Opaque),
    ("MPI_INTEGER4", 0x4c000430, 4, 4, I32),
    ("MPI_INT32_T", 0x4c000439, 4, 4, I32),
    ("MPI_UINT32_T", 0x4c00043d, 4, 4, U32),
    ("MPI_LOGICAL4", 0x4c000449, 4, 4, Logical32),
    ("MPI_LONG", 0x4c000807, 8, 8, I64),
    ("MPI_UNSIGNED_LONG", 0x4c000808, 8, 8, U64),
    ("MPI_LONG_LONG_INT", 0x4c000809, 8, 8, I64),
    ("MPI_DOUBLE", 0x4c00080b, 8, 8, F64),
    ("MPI_2INT", 0x4c000816, 8, 8, PairI32),
    ("MPI_UNSIGNED_LONG_LONG", 0x4c000819, 8, 8, U64),
    ("MPI_COMPLEX", 0x4c00081e, 8, 8, C32),
    ("MPI_DOUBLE_PRECISION", 0x4c00081f, 8, 8, F64),
    ("MPI_2INTEGER", 0x4c000820, 8, 8, PairI32),
    ("MPI_2REAL", 0x4c000821, 8, 8, PairF32),
    ("MPI_COMPLEX8", 0x4c000828, 8, 8, C32),
    ("MPI_REAL8", 0x4c000829, 8, 8, F64),
    ("MPI_INTEGER8", 0x4c000831, 8, 8, I64),
    ("MPI_CXX_FLOAT_COMPLEX", 0x4c000834, 8, 8, C32),
    ("MPI_INT64_T", 0x4c00083a, 8, 8, I64),
    ("MPI_UINT64_T", 0x4c00083e, 8, 8, U64),
    ("MPI_C_FLOAT_COMPLEX", 0x4c000840, 8, 8, C32),
    ("MPI_AINT", 0x4c000843, 8, 8, I64),
    ("MPI_OFFSET", 0x4c000844, 8, 8, I64),
    ("MPI_COUNT", 0x4c000845, 8, 8, I64),
    ("MPI_LOGICAL8", 0x4c00084a, 8, 8, Logical64),
    ("MPI_LONG_DOUBLE", 0x4c00100c, 16, 16, Opaque),
    ("MPI_DOUBLE_COMPLEX", 0x4c001022, 16, 16, C64),
    ("MPI_2DOUBLE_PRECISION", 0x4c001023, 16, 16, PairF64),
    ("MPI_COMPLEX16", 0x4c00102a, 16, 16, C64),
    ("MPI_REAL16", 0x4c00102b, 16, 16, Opaque),
    ("MPI_INTEGER16", 0x4c001032, 16, 16, Opaque),
    ("MPI_CXX_DOUBLE_COMPLEX", 0x4c001035, 16, 16, C64),
    ("MPI_C_DOUBLE_COMPLEX", 0x4c001041, 16, 16, C64),
    ("MPI_LOGICAL16", 0x4c00104b, 16, 16, Opaque),
    ("MPI_COMPLEX32", 0x4c00202c, 32, 32, Opaque),
    ("MPI_CXX_LONG_DOUBLE_COMPLEX", 0x4c002036, 32, 32, Opaque),
    ("MPI_C_LONG_DOUBLE_COMPLEX", 0x4c002042, 32, 32, Opaque),
];
