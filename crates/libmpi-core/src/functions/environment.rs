//! Start and end, clocks, versions, errors (MPI 4.1, chapters 9 and 11).

use std::alloc::{Layout, alloc, dealloc};
use std::ffi::{c_char, c_double, c_int, c_void};

use super::{functions, put, put_text};
use crate::abi::{self, class};
use crate::attribute_calls::{self, AttributeOwner};
use crate::error;
use crate::failure::Failure;
use crate::info;
use crate::process;

/// Version of MPI whose functions there are.
const VERSION: (c_int, c_int) = (4, 1);

/// Before the memory that `MPI_Alloc_mem` gives: its size.
const ALLOCATION_HEAD: usize = 64;

functions! {
    fn MPI_Init(_count: *mut c_int, _arguments: *mut *mut *mut c_char) {
        process::initialize()
    }

    fn MPI_Init_thread(_count: *mut c_int, _arguments: *mut *mut *mut c_char, required: c_int, provided: *mut c_int) {
        process::initialize()?;
        put(provided, required.min(abi::THREAD_SERIALIZED))
    }

    fn MPI_Query_thread(provided: *mut c_int) {
        put(provided, abi::THREAD_SERIALIZED)
    }

    fn MPI_Is_thread_main(flag: *mut c_int) {
        put(flag, 1)
    }

    fn MPI_Initialized(flag: *mut c_int) {
        put(flag, process::stage().0.into())
    }

    fn MPI_Finalized(flag: *mut c_int) {
        put(flag, process::stage().1.into())
    }

    fn MPI_Finalize() {
        attribute_calls::delete_attributes(AttributeOwner::Communicator(abi::COMM_SELF))?;
        process::finalize()
    }

    fn MPI_Abort(_communicator: c_int, status: c_int) {
        process::with(|process| {
            let message = format!("the program called MPI_Abort with {status}");
            error::abort(process, status, message)
        })
    }

    fn MPI_Get_version(version: *mut c_int, subversion: *mut c_int) {
        put(version, VERSION.0)?;
        put(subversion, VERSION.1)
    }

    fn MPI_Get_library_version(version: *mut c_char, length: *mut c_int) {
        let text = concat!("FabricSim ", env!("CARGO_PKG_VERSION"), ", a simulated network");
        put_text(text, version, 8192, length)
    }

    fn MPI_Get_processor_name(name: *mut c_char, length: *mut c_int) {
        let text = process::with(|process| Ok(process.end.host_name()))?;
        put_text(&text, name, abi::MAX_PROCESSOR_NAME, length)
    }

    // The level decides about a profiling library's output; there is none below.
    fn MPI_Pcontrol(_level: c_int) {
        Ok(())
    }

    fn MPI_Abi_get_info(info: *mut c_int) {
        let sizes = ["mpi_aint_size", "mpi_count_size", "mpi_offset_size"];
        let entries = sizes.map(|key| (key.to_string(), size_of::<isize>().to_string()));
        put(info, info::table().add(entries.into()))
    }

    // It would tell about a library of Fortran, which there is not.
    fn MPI_Abi_get_fortran_info(info: *mut c_int) {
        put(info, abi::INFO_NULL)
    }

    fn MPI_Get_address(location: *const c_void, address: *mut isize) {
        put(address, location as isize)
    }

    fn MPI_Alloc_mem(size: isize, _info: c_int, memory: *mut *mut c_void) {
        let bytes = usize::try_from(size).map_err(|_| Failure::new(class::ARG, size.to_string()))?;
        let layout = layout_of(bytes).ok_or_else(|| Failure::new(class::NO_MEM, size.to_string()))?;
        let start = alloc(layout);
        if start.is_null() {
            return Err(Failure::new(class::NO_MEM, size.to_string()));
        }
        start.cast::<usize>().write(bytes);
        put(memory, start.add(ALLOCATION_HEAD).cast())
    }

    fn MPI_Free_mem(memory: *mut c_void) {
        if memory.is_null() {
            return Ok(());
        }
        let start = memory.cast::<u8>().sub(ALLOCATION_HEAD);
        if let Some(layout) = layout_of(start.cast::<usize>().read()) {
            dealloc(start, layout);
        }
        Ok(())
    }
}

fn layout_of(bytes: usize) -> Option<Layout> {
    Layout::from_size_align(bytes.checked_add(ALLOCATION_HEAD)?, ALLOCATION_HEAD).ok()
}

/// `MPI_Wtime`, in seconds.
pub fn wall_clock_time() -> c_double {
    match process::with(|process| Ok(process.clock_ps() as f64 / 1e12)) {
        Ok(now) => now,
        Err(failure) => {
            error::code("MPI_Wtime", Err(failure));
            0.0
        }
    }
}

/// `fabricsim_sample_begin` of `fabricsim.h`: 1 if the section at this place has to run, 0 if it is skipped. Outside of
/// MPI all of them run.
pub fn begin_sample(file: usize, line: c_int, most: c_int) -> c_int {
    // At least one has to run for a mean.
    let most = u64::try_from(most).unwrap_or(0).max(1);
    process::with(|process| Ok(process.begin_section((file, line), most))).map_or(1, c_int::from)
}

/// `fabricsim_sample_end`.
pub fn end_sample() {
    // Outside of MPI there is nothing to end.
    let _ = process::with(|process| {
        process.end_section();
        Ok(())
    });
}

/// `MPI_Wtick`, in seconds.
pub const TICK: c_double = 1e-12;

/// A call of a function that is not there yet, but that programs expect to be able to name: mpi4py's wheel does not
/// load without them.
pub fn refuse(name: &str) -> c_int {
    let text = "FabricSim's MPI library does not have this function";
    error::code(name, Err(Failure::new(class::UNSUPPORTED_OPERATION, text)))
}
