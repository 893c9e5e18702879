//! Functions of the program, called as the standard ABI says: handles and constants are translated on the way out,
//! error codes on the way back.

use std::ffi::{c_int, c_void};
use std::mem::transmute;

use libmpi_core::abi::MpiStatus;
use libmpi_core::callbacks::{
    Callback, CancelFunction, CopyFunction, DeleteFunction, ErrorHandler, FreeFunction, QueryFunction,
    ReductionFunction,
};

use crate::arguments::StandardStatus;
use crate::values::{code_in, code_out, handle_out, keyval_out};

type Reduction<Count> = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut Count, *mut usize);
type Copy = unsafe extern "C" fn(usize, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int;
type Delete = unsafe extern "C" fn(usize, c_int, *mut c_void, *mut c_void) -> c_int;
type Handler = unsafe extern "C" fn(*mut usize, *mut c_int, ...);
type Query = unsafe extern "C" fn(*mut c_void, *mut StandardStatus) -> c_int;
type Free = unsafe extern "C" fn(*mut c_void) -> c_int;
type Cancel = unsafe extern "C" fn(*mut c_void, c_int) -> c_int;

/// `MPI_COMM_DUP_FN` and its like.
const DUPLICATE: usize = 1;

/// Defines what calls a function of the program, which is null where there is none.
macro_rules! called {
    ($name:ident $kind:ident as $type:ty: ($($argument:ident: $argument_type:ty),*) |$function:ident| $body:expr) => {
        pub(crate) fn $name(function: usize) -> Option<$kind> {
            /// # Safety
            /// The program has given the function for this.
            unsafe fn call(function: usize, $($argument: $argument_type),*) -> c_int {
                // Safety: as the caller says.
                unsafe {
                    let $function = transmute::<usize, $type>(function);
                    code_in($body)
                }
            }
            (function != 0).then_some(Callback { function, call })
        }
    };
}

called! { called_copy CopyFunction as Copy: (
    owner: c_int, key: c_int, extra: *mut c_void, value: *mut c_void, copied: *mut c_void, flag: *mut c_int
) |copy| copy(handle_out(owner), keyval_out(key), extra, value, copied, flag) }
called! { delete DeleteFunction as Delete: (owner: c_int, key: c_int, value: *mut c_void, extra: *mut c_void)
|delete| delete(handle_out(owner), keyval_out(key), value, extra) }
called! { free FreeFunction as Free: (extra: *mut c_void) |free| free(extra) }
called! { cancel CancelFunction as Cancel: (extra: *mut c_void, complete: c_int) |cancel| cancel(extra, complete) }
called! { query QueryFunction as Query: (extra: *mut c_void, status: *mut MpiStatus) |query| {
    let mut own = StandardStatus::of(&*status, 0);
    let code = query(extra, &mut own);
    *status = own.inside();
    code
} }

/// Copies the value of an attribute.
///
/// # Safety
/// `copied` has space for an address, `flag` is an integer.
unsafe fn duplicate(
    _function: usize,
    _owner: c_int,
    _key: c_int,
    _extra: *mut c_void,
    value: *mut c_void,
    copied: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // Safety: as the caller says.
    unsafe {
        copied.cast::<*mut c_void>().write(value);
        flag.write(1);
    }
    0
}

pub(crate) fn copy(function: usize) -> Option<CopyFunction> {
    match function {
        DUPLICATE => Some(Callback {
            function,
            call: duplicate,
        }),
        function => called_copy(function),
    }
}

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
    let mut datatype = handle_out(datatype);
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
    let (mut owner, mut code) = (handle_out(owner), code_out(code));
    // Safety: as the caller says.
    unsafe { transmute::<usize, Handler>(function)(&mut owner, &mut code) }
}

pub(crate) fn handler(function: usize) -> ErrorHandler {
    Callback {
        function,
        call: handle,
    }
}
