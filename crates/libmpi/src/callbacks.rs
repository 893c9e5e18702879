//! Functions of the program, called as the ABI of MPICH says.

use std::ffi::{c_int, c_void};
use std::mem::transmute;

use libmpi_core::abi::{self, MpiStatus};
use libmpi_core::callbacks::{
    Callback, CancelFunction, CopyFunction, DeleteFunction, ErrorHandler, FreeFunction, QueryFunction,
    ReductionFunction,
};

type Reduction<Count> = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut Count, *mut c_int);
type Copy = unsafe extern "C" fn(c_int, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int;
type Delete = unsafe extern "C" fn(c_int, c_int, *mut c_void, *mut c_void) -> c_int;
type Handler = unsafe extern "C" fn(*mut c_void, *mut c_int, ...);
type Query = unsafe extern "C" fn(*mut c_void, *mut MpiStatus) -> c_int;
type Free = unsafe extern "C" fn(*mut c_void) -> c_int;
type Cancel = unsafe extern "C" fn(*mut c_void, c_int) -> c_int;

/// Defines what calls a function of the program, which is null where there is none.
macro_rules! called {
    ($name:ident $kind:ident as $type:ty: ($($argument:ident: $argument_type:ty),*) -> $result:ty) => {
        pub(crate) fn $name(function: usize) -> Option<$kind> {
            /// # Safety
            /// The program has given the function for this.
            unsafe fn call(function: usize, $($argument: $argument_type),*) -> $result {
                // Safety: as the caller says.
                unsafe { transmute::<usize, $type>(function)($($argument),*) }
            }
            (function != 0).then_some(Callback { function, call })
        }
    };
}

called! { copy CopyFunction as Copy: (
    owner: c_int, key: c_int, extra: *mut c_void, value: *mut c_void, copied: *mut c_void, flag: *mut c_int
) -> c_int }
called! { delete DeleteFunction as Delete: (
    owner: c_int, key: c_int, value: *mut c_void, extra: *mut c_void
) -> c_int }
called! { query QueryFunction as Query: (extra: *mut c_void, status: *mut MpiStatus) -> c_int }
called! { free FreeFunction as Free: (extra: *mut c_void) -> c_int }
called! { cancel CancelFunction as Cancel: (extra: *mut c_void, complete: c_int) -> c_int }

/// # Safety
/// The program has given the function as a reduction.
unsafe fn reduce<Count: TryFrom<i64>>(
    function: usize,
    from: *mut c_void,
    to: *mut c_void,
    count: i64,
    datatype: c_int,
) {
    let Ok(mut count) = Count::try_from(count) else {
        return;
    };
    let mut datatype = datatype;
    // Safety: as the caller says.
    unsafe { transmute::<usize, Reduction<Count>>(function)(from, to, &mut count, &mut datatype) }
}

pub(crate) fn reduction(function: usize) -> ReductionFunction {
    Callback {
        function,
        call: reduce::<c_int>,
    }
}

pub(crate) fn large_reduction(function: usize) -> ReductionFunction {
    Callback {
        function,
        call: reduce::<i64>,
    }
}

/// # Safety
/// The program has given the function as an error handler.
unsafe fn handle(function: usize, owner: c_int, code: c_int) {
    let (mut own, mut file, mut code) = (owner, abi::file_pointer(owner), code);
    let owner: *mut c_void = match abi::is_file(owner) {
        true => (&raw mut file).cast(),
        false => (&raw mut own).cast(),
    };
    // Safety: as the caller says.
    unsafe { transmute::<usize, Handler>(function)(owner, &mut code) }
}

pub(crate) fn handler(function: usize) -> ErrorHandler {
    Callback {
        function,
        call: handle,
    }
}

/// `MPI_COMM_DUP_FN` and its like: copies the value of an attribute.
#[unsafe(no_mangle)]
unsafe extern "C" fn MPIR_Dup_fn(
    _owner: c_int,
    _key: c_int,
    _extra: *mut c_void,
    value: *mut c_void,
    copied: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // Safety: `copied` has space for an address.
    unsafe {
        copied.cast::<*mut c_void>().write(value);
        flag.write(1);
    }
    0
}
