//! Sizes of datatypes by handle.
//!
//! Handles below 28 are predefined types of MPI. Their sizes are in a table of the file; where it lacks a size,
//! that of 64-bit Unix applies. All other handles are types of the application, or predefined types that the
//! format does not know (those of Fortran, `MPI_INT64_T`). Their sizes follow from the calls that create them,
//! or from `MPI_Type_size` and `MPI_Get_count`.
//!
//! Source: sst-dumpi, `dumpi/common/constants.h`.

use std::collections::BTreeMap;

use super::record::DumpiRecord;

/// Sizes on 64-bit Unix of the types that the format knows: error, null, char, signed and unsigned char,
/// byte, wchar, short, unsigned short, int, unsigned, long, unsigned long, float, double, long double, long
/// long int, unsigned long long, long long, packed, lower and upper bound, float-int, double-int, long-int,
/// short-int, 2int, long double-int.
const SIZES: [u32; 28] = [
    0, 0, 1, 1, 1, 1, 4, 2, 2, 4, 4, 8, 8, 4, 8, 16, 8, 8, 8, 1, 0, 0, 8, 12, 12, 6, 8, 20,
];

/// Size of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TypeSize {
    Bytes(u64),
    /// The call that created it does not determine the size.
    Unknown(&'static str),
}

/// Sizes that calls of a rank's file report for types that no call creates.
#[derive(Clone, Debug, Default)]
pub struct TypeSizeHints {
    sizes: BTreeMap<u16, u64>,
    made: std::collections::BTreeSet<u16>,
}

impl TypeSizeHints {
    /// Adds a call.
    pub fn note(&mut self, record: &DumpiRecord) {
        if let Some((handle, _)) = made(record) {
            self.made.insert(handle);
        } else if let Some((handle, bytes)) = reported_size(record) {
            self.sizes.entry(handle).or_insert(bytes);
        }
    }

    /// The sizes, after all calls.
    pub fn into_sizes(mut self) -> BTreeMap<u16, u64> {
        self.sizes.retain(|handle, _| !self.made.contains(handle));
        self.sizes
    }
}

/// The types of one rank at one point of its calls.
#[derive(Clone, Debug)]
pub struct Datatypes {
    sizes: BTreeMap<u16, TypeSize>,
}

impl Datatypes {
    /// The types before the first call.
    pub fn new(table: &[u32], hints: &BTreeMap<u16, u64>) -> Datatypes {
        let mut sizes: BTreeMap<u16, TypeSize> = BTreeMap::new();
        let mut set = |handle: usize, bytes: u64| {
            if let Ok(handle) = u16::try_from(handle) {
                sizes.insert(handle, TypeSize::Bytes(bytes));
            }
        };
        for (handle, bytes) in SIZES.iter().enumerate() {
            set(handle, (*bytes).into());
        }
        for (handle, bytes) in table.iter().enumerate().filter(|(_, bytes)| **bytes > 0) {
            set(handle, (*bytes).into());
        }
        for (handle, bytes) in hints {
            set((*handle).into(), *bytes);
        }
        Datatypes { sizes }
    }

    /// Bytes of `count` elements of a type.
    ///
    /// # Errors
    /// The size is unknown, the count is negative, or the product is too large.
    pub fn bytes(&self, count: i64, handle: u16) -> Result<u64, String> {
        let count = u64::try_from(count).map_err(|_| format!("a count of {count}"))?;
        if count == 0 {
            return Ok(0);
        }
        let size = match self.sizes.get(&handle) {
            // The types "error" and "null".
            _ if handle < 2 => {
                return Err(format!(
                    "{count} elements of the datatype {handle}, which is none"
                ));
            }
            Some(TypeSize::Bytes(bytes)) => *bytes,
            Some(TypeSize::Unknown(call)) => {
                return Err(format!(
                    "the size of datatype {handle}, made by {call}, is not known from the trace"
                ));
            }
            None => {
                return Err(format!(
                    "the size of datatype {handle} is not known from the trace: no recorded call makes it or says its size"
                ));
            }
        };
        count
            .checked_mul(size)
            .ok_or_else(|| format!("{count} elements of {size} bytes"))
    }

    /// Applies a call that creates a type or reports its size.
    pub fn note(&mut self, record: &DumpiRecord) {
        if let Some((handle, elements)) = made(record) {
            let size = elements
                .and_then(|elements| self.sum(&elements))
                .map_or(TypeSize::Unknown(record.name()), TypeSize::Bytes);
            self.sizes.insert(handle, size);
        } else if let Some((handle, bytes)) = reported_size(record) {
            self.sizes.insert(handle, TypeSize::Bytes(bytes));
        }
    }

    fn sum(&self, elements: &[(i64, u16)]) -> Option<u64> {
        elements.iter().try_fold(0u64, |sum, (count, handle)| {
            sum.checked_add(self.bytes(*count, *handle).ok()?)
        })
    }
}

/// Counts and types of elements.
type Elements = Vec<(i64, u16)>;

/// The type that a call creates, and its elements; no elements if they cannot be counted.
fn made(record: &DumpiRecord) -> Option<(u16, Option<Elements>)> {
    let r = record;
    let elements = match r.name() {
        "MPI_Type_contiguous" => times(&[r.number(0)], r.handle(1)),
        "MPI_Type_vector" | "MPI_Type_hvector" | "MPI_Type_create_hvector" => {
            times(&[r.number(0), r.number(1)], r.handle(3))
        }
        "MPI_Type_indexed" | "MPI_Type_hindexed" | "MPI_Type_create_hindexed" => {
            Some(r.array(0).iter().map(|n| (*n, r.handle(1))).collect())
        }
        "MPI_Type_create_indexed_block" => times(&[r.number(0), r.number(1)], r.handle(2)),
        "MPI_Type_struct" | "MPI_Type_create_struct" => {
            // Old files have one displacement instead of an array.
            let types = r
                .array(2)
                .iter()
                .chain(r.array(1).iter().filter(|_| r.array(2).is_empty()));
            let pairs = r.array(0).iter().zip(types);
            let pairs: Elements = pairs.map(|(n, handle)| (*n, *handle as u16)).collect();
            (pairs.len() == r.array(0).len()).then_some(pairs)
        }
        "MPI_Type_dup" | "MPI_Type_create_resized" => times(&[], r.handle(0)),
        "MPI_Type_create_subarray" => times(r.array(1), r.handle(2)),
        // Each rank has a different part of the array.
        "MPI_Type_create_darray" => None,
        "MPI_Type_match_size" => return None,
        _ => return None,
    };
    Some((r.last_handle(), elements))
}

fn times(factors: &[i64], handle: u16) -> Option<Elements> {
    let count = factors
        .iter()
        .try_fold(1i64, |product, n| product.checked_mul(*n))?;
    Some(vec![(count, handle)])
}

/// The type whose size a call reports, and the size.
fn reported_size(record: &DumpiRecord) -> Option<(u16, u64)> {
    let (handle, bytes) = match record.name() {
        "MPI_Type_size" => (record.handle(0), record.number(1)),
        "MPI_Type_match_size" => (record.handle(2), record.number(1)),
        "MPI_Get_count" => {
            let bytes = i64::from(record.statuses.first()?.bytes);
            let count = record.number(1);
            if count <= 0 || bytes % count != 0 {
                return None;
            }
            (record.handle(0), bytes / count)
        }
        _ => return None,
    };
    let own = usize::from(handle) >= SIZES.len();
    let bytes = u64::try_from(bytes).ok()?;
    own.then_some((handle, bytes))
}
