//! Functions that the program has given. Each library calls them with handles and constants in the form of its own ABI.

use std::ffi::{c_int, c_void};

use crate::abi::MpiStatus;

/// A function of the program.
#[derive(Clone, Copy, Debug)]
pub struct Callback<F> {
    /// Its address.
    pub function: usize,
    /// Calls it: the first argument is the address.
    pub call: F,
}

/// Combines elements of the first buffer into the second: count, datatype.
pub type ReductionFunction = Callback<unsafe fn(usize, *mut c_void, *mut c_void, i64, c_int)>;

/// Copies an attribute to a new object: old object, key, extra state, value, new value, whether it is copied.
pub type CopyFunction =
    Callback<unsafe fn(usize, c_int, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int>;

/// Is told that an attribute goes: object, key, value, extra state.
pub type DeleteFunction = Callback<unsafe fn(usize, c_int, c_int, *mut c_void, *mut c_void) -> c_int>;

/// Handles an error: the communicator, window, file or session, and the error code.
pub type ErrorHandler = Callback<unsafe fn(usize, c_int, c_int)>;

/// Tells the status of a generalised request: extra state, status.
pub type QueryFunction = Callback<unsafe fn(usize, *mut c_void, *mut MpiStatus) -> c_int>;

/// Is told that a generalised request goes: extra state.
pub type FreeFunction = Callback<unsafe fn(usize, *mut c_void) -> c_int>;

/// Is told that a generalised request is to be cancelled: extra state, whether it is complete.
pub type CancelFunction = Callback<unsafe fn(usize, *mut c_void, c_int) -> c_int>;
