//! The MPI library that programs of the standard ABI of MPI 5.0 load: `libmpi_abi.so.1`.
//!
//! It has the C functions of that ABI, each as `MPI_NAME` and `PMPI_NAME`. The build script writes most of them from
//! the table of `libmpi-core`: they translate arguments to the handles and constants of the MPICH ABI, which the inside
//! of the library has, call a function there, and translate what it has written (`values` single values, `arguments`
//! what the program gives by its address, `callbacks` what is passed to functions of the program). Linux only.

#![cfg(target_os = "linux")]
#![allow(unsafe_code)] // the library is called from C with pointers; functions say what they trust

mod arguments;
mod callbacks;
mod handles;
mod values;

use std::ffi::{c_char, c_double, c_int, c_void};

use libmpi_core::functions::{
    Functions, LargeFunctions, TICK, begin_sample, block_count, end_sample, neighbor_counts, refuse,
    wall_clock_time, word,
};

#[allow(clippy::all, reason = "written by the build script")]
mod written {
    use super::*;
    use crate::arguments::*;
    use crate::values::*;

    include!(concat!(env!("OUT_DIR"), "/functions.rs"));
}

/// Of `fabricsim.h`. The file is known by the address of its name.
#[unsafe(no_mangle)]
extern "C" fn fabricsim_sample_begin(file: *const c_char, line: c_int, most: c_int) -> c_int {
    begin_sample(file.addr(), line, most)
}

/// Of `fabricsim.h`.
#[unsafe(no_mangle)]
extern "C" fn fabricsim_sample_end() {
    end_sample();
}

/// Defines functions, with their names of the profiling interface.
macro_rules! valued {
    ($($name:ident $profiled:ident($($argument:ident: $type:ty),*) -> $result:ty $body:block)*) => { $(
        #[unsafe(no_mangle)]
        extern "C" fn $name($($argument: $type),*) -> $result $body

        #[unsafe(no_mangle)]
        extern "C" fn $profiled($($argument: $type),*) -> $result $body
    )* };
}

use valued;

valued! {
    MPI_Wtime PMPI_Wtime() -> c_double { wall_clock_time() }
    MPI_Wtick PMPI_Wtick() -> c_double { TICK }
    MPI_Aint_add PMPI_Aint_add(base: isize, distance: isize) -> isize { base.wrapping_add(distance) }
    MPI_Aint_diff PMPI_Aint_diff(one: isize, other: isize) -> isize { one.wrapping_sub(other) }
    MPI_Abi_get_version PMPI_Abi_get_version(major: *mut c_int, minor: *mut c_int) -> c_int {
        // Safety: the program passes two integers.
        unsafe {
            major.write(1);
            minor.write(0);
        }
        0
    }
}
