//! The MPI library that real programs load in place of MPICH's: `libmpi.so.12`.
//!
//! It has the C functions with the ABI of MPICH, each as `MPI_NAME` and `PMPI_NAME` (MPI 4.1, section 15.2). The build
//! script writes most of them from the table of `libmpi-core`, which does what they are to do. Linux only.

#![cfg(target_os = "linux")]
#![allow(unsafe_code)] // the library is called from C with pointers; functions say what they trust

mod callbacks;
mod handles;

use std::ffi::{c_char, c_double, c_int, c_void};

use libmpi_core::functions::{
    Functions, LargeFunctions, TICK, UNWEIGHTED, WEIGHTS_EMPTY, begin_sample, end_sample, refuse,
    wall_clock_time, word,
};

#[allow(clippy::all, reason = "written by the build script")]
mod written {
    use super::*;

    include!(concat!(env!("OUT_DIR"), "/functions.rs"));
}

/// The variables have the addresses that stand for "no weights" of graphs; only their values count.
#[unsafe(no_mangle)]
static MPI_UNWEIGHTED: usize = UNWEIGHTED;
#[unsafe(no_mangle)]
static MPI_WEIGHTS_EMPTY: usize = WEIGHTS_EMPTY;

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
    // The wheel of mpi4py asks it, and takes the library for one with the ABI of MPICH by this answer.
    MPI_Abi_get_version PMPI_Abi_get_version(major: *mut c_int, minor: *mut c_int) -> c_int {
        // Safety: the program passes two integers.
        unsafe {
            major.write(-1);
            minor.write(-1);
        }
        0
    }
}
