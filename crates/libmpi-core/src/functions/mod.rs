//! The functions of MPI, for the libraries that export them to C.

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
mod info;
mod intercommunicators;
mod neighbor_collectives;
mod one_sided;
mod packing;
mod partitioned;
mod point_to_point;
mod reductions;
mod removed;
mod requests;
mod sessions;
mod statuses;
mod topologies;
mod windows;

pub use environment::{TICK, begin_sample, end_sample, refuse, wall_clock_time};

use std::ffi::{CStr, c_char, c_int};
use std::slice;

use crate::abi::{self, class};
use crate::datatype::DatatypeRecipe;
use crate::failure::{Failure, Outcome};
use crate::process;

/// The functions of MPI as Rust functions, with the types and constants of the MPICH ABI. Names are those in C.
#[derive(Debug)]
pub struct Functions;

/// The same with large counts: those whose names in C end with `_c`.
#[derive(Debug)]
pub struct LargeFunctions;

/// Defines a function, of the name in C and the end of that name.
macro_rules! defined {
    ($name:ident "" $arguments:tt $body:block) => {
        $crate::functions::defined_of! { Functions $name "" $arguments $body }
    };
    ($name:ident "_c" $arguments:tt $body:block) => {
        $crate::functions::defined_of! { LargeFunctions $name "_c" $arguments $body }
    };
}

macro_rules! defined_of {
    ($form:ident $name:ident $suffix:literal ($($argument:ident: $type:ty),*) $body:block) => {
        impl $crate::functions::$form {
            #[allow(missing_docs, non_snake_case, reason = "the names and functions of MPI")]
            #[allow(clippy::missing_safety_doc, reason = "the caller passes what MPI asks for")]
            #[allow(clippy::too_many_arguments, reason = "MPI has as many")]
            // The library with the C function has the code in that function.
            #[inline]
            pub unsafe fn $name($($argument: $type),*) -> std::ffi::c_int {
                // Safety: the program passes what MPI asks for.
                #[allow(unused_unsafe, reason = "some functions have no pointers")]
                let act = || -> $crate::failure::Outcome<()> { unsafe { $body } };
                $crate::error::code(concat!(stringify!($name), $suffix), act())
            }
        }
    };
}

/// Defines functions. A body gives an `Outcome<()>`, of which the error handler of the communicator makes the return
/// value. Pointers are those that the caller of MPI promises.
macro_rules! functions {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block)*) => { $(
        $crate::functions::defined! { $name "" ($($argument: $type),*) $body }
    )* };
}

/// Defines functions with their large-count forms, whose names end with `_c`. `Count` is the type of counts and of
/// displacements in elements, `Place` that of displacements in bytes.
macro_rules! counted_functions {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block)*) => { $(
        const _: () = {
            #[allow(dead_code, reason = "not all functions have both")]
            type Count = std::ffi::c_int;
            #[allow(dead_code, reason = "not all functions have both")]
            type Place = isize;
            $crate::functions::defined! { $name "" ($($argument: $type),*) $body }
        };
        const _: () = {
            #[allow(dead_code, reason = "not all functions have both")]
            type Count = i64;
            #[allow(dead_code, reason = "not all functions have both")]
            type Place = i64;
            $crate::functions::defined! { $name "_c" ($($argument: $type),*) $body }
        };
    )* };
}

pub(crate) use {counted_functions, defined, defined_of, functions};

/// An integer of C with a fixed size, as another one of that size.
pub trait SameSize<T> {
    /// The value.
    fn into_word(self) -> T;
}

macro_rules! words {
    ($($from:ty as $to:ty;)*) => { $(
        impl SameSize<$to> for $from {
            fn into_word(self) -> $to {
                self as $to
            }
        }
    )* };
}

words! { i64 as i64; i64 as isize; isize as i64; isize as isize; }

/// An `MPI_Aint`, `MPI_Count` or `MPI_Offset` as the type that a function has for it.
pub fn word<T>(value: impl SameSize<T>) -> T {
    value.into_word()
}

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

/// How many datatypes an all-to-all collective has of a rank of a communicator; none without such a communicator.
pub fn block_count(communicator: c_int) -> usize {
    process::with(|p| p.block_count(communicator)).unwrap_or(0)
}

/// The same of the neighbours that send to a rank, and of those that it sends to.
pub fn neighbor_counts(communicator: c_int) -> (usize, usize) {
    process::with(|p| p.neighbor_counts(communicator)).unwrap_or((0, 0))
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

/// What stands for "no weights" of graphs.
pub const UNWEIGHTED: usize = 0x5547_0001;
/// What stands for weights of no edges.
pub const WEIGHTS_EMPTY: usize = 0x5547_0002;

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
