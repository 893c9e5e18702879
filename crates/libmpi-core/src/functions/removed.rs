//! Functions that MPI 3.0 has removed. MPICH still exports them, so there are programs that call them.

use std::ffi::{c_int, c_void};

use super::{Functions, functions, put};
use crate::callbacks::ErrorHandler;
use crate::process;

/// Names of MPI 1 for functions that have another name since MPI 2.
macro_rules! renamed {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?) = $today:ident;)*) => { $(
        impl Functions {
            #[allow(missing_docs, non_snake_case, reason = "the names and functions of MPI")]
            #[allow(clippy::missing_safety_doc, reason = "the caller passes what MPI asks for")]
            #[inline]
            pub unsafe fn $name($($argument: $type),*) -> c_int {
                // Safety: the arguments are the same.
                unsafe { Functions::$today($($argument),*) }
            }
        }
    )* };
}

renamed! {
    fn MPI_Address(location: *const c_void, address: *mut isize) = MPI_Get_address;
    fn MPI_Errhandler_create(function: ErrorHandler, handler: *mut c_int) = MPI_Comm_create_errhandler;
    fn MPI_Errhandler_get(communicator: c_int, handler: *mut c_int) = MPI_Comm_get_errhandler;
    fn MPI_Errhandler_set(communicator: c_int, handler: c_int) = MPI_Comm_set_errhandler;
    fn MPI_Type_hvector(count: c_int, length: c_int, stride: isize, from: c_int, made: *mut c_int)
        = MPI_Type_create_hvector;
    fn MPI_Type_hindexed(
        count: c_int, lengths: *const c_int, places: *const isize, from: c_int, made: *mut c_int,
    ) = MPI_Type_create_hindexed;
    fn MPI_Type_struct(
        count: c_int, lengths: *const c_int, places: *const isize, from: *const c_int, made: *mut c_int,
    ) = MPI_Type_create_struct;
}

functions! {
    fn MPI_Type_extent(datatype: c_int, extent: *mut isize) {
        put(extent, process::with(|p| Ok(p.datatypes.get(datatype)?.extent))?)
    }

    fn MPI_Type_lb(datatype: c_int, lower: *mut isize) {
        put(lower, process::with(|p| Ok(p.datatypes.get(datatype)?.lower_bound))?)
    }

    fn MPI_Type_ub(datatype: c_int, upper: *mut isize) {
        let own = process::with(|p| p.datatypes.get(datatype).map(|own| own.lower_bound + own.extent))?;
        put(upper, own)
    }
}
