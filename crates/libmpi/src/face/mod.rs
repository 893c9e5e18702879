//! The C functions of the library, with the ABI of MPICH, each as `MPI_NAME` and `PMPI_NAME` (MPI 4.1, section 15.2).

mod attributes;
mod buffers;
mod collectives;
mod communicators;
mod datatype_queries;
mod datatypes;
mod environment;
mod error_codes;
mod file_accesses;
mod files;
mod generalized;
mod groups;
mod handles;
mod info;
mod intercommunicators;
mod missing;
mod neighbor_collectives;
mod one_sided;
mod packing;
mod partitioned;
mod point_to_point;
mod reductions;
mod requests;
mod sessions;
mod statuses;
mod topologies;
mod windows;

use std::ffi::{CStr, c_char, c_int};
use std::slice;

use crate::abi::{self, class};
use crate::datatype::DatatypeRecipe;
use crate::failure::{Failure, Outcome};

/// Exports a C function under a name with a suffix, and under the same one of the profiling interface.
macro_rules! exported {
    ($name:ident $suffix:literal ($($argument:ident: $type:ty),*) $body:block) => {
        const _: () = {
            #[allow(clippy::too_many_arguments, reason = "MPI has as many")]
            unsafe fn call($($argument: $type),*) -> std::ffi::c_int {
                // Safety: the program passes what MPI asks for.
                #[allow(unused_unsafe, reason = "some functions have no pointers")]
                let act = || -> $crate::failure::Outcome<()> { unsafe { $body } };
                $crate::error::code(concat!(stringify!($name), $suffix), act())
            }
            #[unsafe(export_name = concat!(stringify!($name), $suffix))]
            unsafe extern "C" fn named($($argument: $type),*) -> std::ffi::c_int {
                // Safety: as above.
                unsafe { call($($argument),*) }
            }
            #[unsafe(export_name = concat!("P", stringify!($name), $suffix))]
            unsafe extern "C" fn profiled($($argument: $type),*) -> std::ffi::c_int {
                // Safety: as above.
                unsafe { call($($argument),*) }
            }
        };
    };
}

/// Defines C functions. A body gives an `Outcome<()>`, of which the error handler of the communicator makes the return
/// value. Pointers are those that the caller of MPI promises.
macro_rules! functions {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block)*) => { $(
        $crate::face::exported! { $name "" ($($argument: $type),*) $body }
    )* };
}

/// Defines C functions with their large-count forms, whose names end with `_c`. `Count` is the type of counts and of
/// displacements in elements, `Place` that of displacements in bytes.
macro_rules! counted_functions {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block)*) => { $(
        const _: () = {
            #[allow(dead_code, reason = "not all functions have both")]
            type Count = std::ffi::c_int;
            #[allow(dead_code, reason = "not all functions have both")]
            type Place = isize;
            $crate::face::exported! { $name "" ($($argument: $type),*) $body }
        };
        const _: () = {
            #[allow(dead_code, reason = "not all functions have both")]
            type Count = i64;
            #[allow(dead_code, reason = "not all functions have both")]
            type Place = i64;
            $crate::face::exported! { $name "_c" ($($argument: $type),*) $body }
        };
    )* };
}

pub(crate) use {counted_functions, exported, functions};

/// An argument that is an `int`, an `MPI_Aint` or an `MPI_Count`.
trait CountArgument: Copy {
    fn wide(self) -> i64;

    /// The value in this type; `None` if it is too great.
    fn narrow(value: i64) -> Option<Self>;

    /// Adds values to the list of a recipe that has those of this type.
    fn record(recipe: &mut DatatypeRecipe, values: &[Self]);
}

impl CountArgument for c_int {
    fn wide(self) -> i64 {
        self.into()
    }

    fn narrow(value: i64) -> Option<c_int> {
        value.try_into().ok()
    }

    fn record(recipe: &mut DatatypeRecipe, values: &[c_int]) {
        recipe.integers.extend_from_slice(values);
    }
}

impl CountArgument for isize {
    fn wide(self) -> i64 {
        self as i64
    }

    fn narrow(value: i64) -> Option<isize> {
        value.try_into().ok()
    }

    fn record(recipe: &mut DatatypeRecipe, values: &[isize]) {
        recipe.addresses.extend_from_slice(values);
    }
}

impl CountArgument for i64 {
    fn wide(self) -> i64 {
        self
    }

    fn narrow(value: i64) -> Option<i64> {
        Some(value)
    }

    fn record(recipe: &mut DatatypeRecipe, values: &[i64]) {
        recipe.large_counts.extend_from_slice(values);
    }
}

/// The values of an array of counts or displacements.
///
/// # Safety
/// As of [`array`].
unsafe fn wide_array<T: CountArgument>(start: *const T, length: usize) -> Outcome<Vec<i64>> {
    // Safety: as the caller says.
    let values = unsafe { array(start, length as i64)? };
    Ok(values.iter().map(|value| value.wide()).collect())
}

/// Writes a count, or `MPI_UNDEFINED` if it is too great for its type.
///
/// # Safety
/// As of [`put`].
unsafe fn put_count<T: CountArgument>(to: *mut T, value: Option<u64>) -> Outcome<()> {
    let value = value.and_then(|value| T::narrow(i64::try_from(value).ok()?));
    let undefined = || T::narrow(abi::UNDEFINED.into());
    match value.or_else(undefined) {
        // Safety: as the caller says.
        Some(value) => unsafe { put(to, value) },
        None => Ok(()),
    }
}

/// A number of elements.
fn count_of(count: impl CountArgument) -> Outcome<usize> {
    let count = count.wide();
    usize::try_from(count).map_err(|_| Failure::new(class::COUNT, count.to_string()))
}

/// The variables have the addresses that stand for "no weights" of graphs; only their values count.
#[unsafe(no_mangle)]
static MPI_UNWEIGHTED: usize = 0x5547_0001;
#[unsafe(no_mangle)]
static MPI_WEIGHTS_EMPTY: usize = 0x5547_0002;

/// Writes a result.
///
/// # Safety
/// The pointer is null or valid.
unsafe fn put<T>(to: *mut T, value: T) -> Outcome<()> {
    if to.is_null() {
        return Err(Failure::new(class::ARG, "a null pointer for a result"));
    }
    // Safety: valid, as the caller says.
    unsafe { to.write(value) };
    Ok(())
}

/// The elements of an array that C passes.
///
/// # Safety
/// The array has this many elements.
unsafe fn array<'a, T>(start: *const T, length: impl CountArgument) -> Outcome<&'a [T]> {
    let length = count_of(length)?;
    if length == 0 || start.is_null() {
        return Ok(&[]);
    }
    // Safety: as the caller says.
    Ok(unsafe { slice::from_raw_parts(start, length) })
}

/// As [`array`], to change it.
///
/// # Safety
/// As of [`array`], and nothing else uses it.
unsafe fn array_mut<'a, T>(start: *mut T, length: impl CountArgument) -> Outcome<&'a mut [T]> {
    let length = count_of(length)?;
    if length == 0 || start.is_null() {
        return Ok(&mut []);
    }
    // Safety: as the caller says.
    Ok(unsafe { slice::from_raw_parts_mut(start, length) })
}

/// Writes a text, cut to the greatest length with its final zero, and its length.
///
/// # Safety
/// The text has space for the greatest length.
unsafe fn put_text(text: &str, to: *mut c_char, greatest: usize, length: *mut c_int) -> Outcome<()> {
    let bytes = &text.as_bytes()[..text.len().min(greatest - 1)];
    // Safety: as the caller says.
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr().cast(), to, bytes.len());
        to.add(bytes.len()).write(0);
        put(length, bytes.len() as c_int)
    }
}

/// A text of the program.
///
/// # Safety
/// It ends with a zero.
unsafe fn text_of(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // Safety: as the caller says.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
