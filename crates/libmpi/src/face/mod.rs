//! The C functions of the library, with the ABI of MPICH, each as `MPI_NAME` and `PMPI_NAME` (MPI 4.1, section 15.2).

mod collectives;
mod communicators;
mod datatypes;
mod environment;
mod handles;
mod missing;
mod point_to_point;
mod requests;

use std::ffi::{CStr, c_char, c_int};
use std::slice;

use crate::abi::class;
use crate::failure::{Failure, Outcome};

/// Defines C functions. A body gives an `Outcome<()>`, of which the error handler of the communicator makes the return
/// value. Pointers are those that the caller of MPI promises.
macro_rules! functions {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block)*) => { $(
        #[allow(clippy::too_many_arguments, reason = "MPI has them")]
        const _: () = {
            unsafe fn call($($argument: $type),*) -> std::ffi::c_int {
                // Safety: the program passes what MPI asks for.
                #[allow(unused_unsafe, reason = "some functions have no pointers")]
                let act = || -> $crate::failure::Outcome<()> { unsafe { $body } };
                $crate::error::code(stringify!($name), act())
            }
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($argument: $type),*) -> std::ffi::c_int {
                // Safety: as above.
                unsafe { call($($argument),*) }
            }
            #[unsafe(export_name = concat!("P", stringify!($name)))]
            unsafe extern "C" fn profiled($($argument: $type),*) -> std::ffi::c_int {
                // Safety: as above.
                unsafe { call($($argument),*) }
            }
        };
    )* };
}

pub(crate) use functions;

/// Addresses that stand for "no weights" of graphs; only their values count.
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
unsafe fn array<'a, T>(start: *const T, length: c_int) -> Outcome<&'a [T]> {
    let length = usize::try_from(length).map_err(|_| Failure::new(class::COUNT, length.to_string()))?;
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
unsafe fn array_mut<'a, T>(start: *mut T, length: c_int) -> Outcome<&'a mut [T]> {
    let length = usize::try_from(length).map_err(|_| Failure::new(class::COUNT, length.to_string()))?;
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
