//! What statuses say, and how the program makes them (MPI 4.1, sections 3.2.5 and 13.3).

use std::ffi::c_int;

use super::{CountArgument, counted_functions, functions, put, put_count};
use crate::abi::{MpiStatus, class};
use crate::failure::{Failure, Outcome};
use crate::process;

fn values_of(status: &MpiStatus, datatype: c_int) -> Outcome<Option<u64>> {
    process::with(|p| Ok(p.datatypes.get(datatype)?.values_in(status.bytes())))
}

/// Sets the number of values of basic types.
///
/// # Safety
/// The status is valid.
unsafe fn set_values(status: *mut MpiStatus, datatype: c_int, values: i64) -> Outcome<()> {
    let values = u64::try_from(values).map_err(|_| Failure::new(class::COUNT, values.to_string()))?;
    let bytes = process::with(|p| Ok(p.datatypes.get(datatype)?.bytes_of_values(values)))?;
    // Safety: as the caller says.
    unsafe { (*status).set_bytes(bytes) };
    Ok(())
}

counted_functions! {
    fn MPI_Get_count(status: *const MpiStatus, datatype: c_int, count: *mut Count) {
        let (size, bytes) = (process::with(|p| Ok(p.datatypes.get(datatype)?.size))? as u64, (*status).bytes());
        let whole = match bytes.checked_rem(size) {
            Some(0) => Some(bytes / size),
            // Elements without data.
            None if bytes == 0 => Some(0),
            _ => None,
        };
        put_count(count, whole)
    }

    fn MPI_Get_elements(status: *const MpiStatus, datatype: c_int, count: *mut Count) {
        put_count(count, values_of(&*status, datatype)?)
    }

    fn MPI_Status_set_elements(status: *mut MpiStatus, datatype: c_int, count: Count) {
        set_values(status, datatype, count.wide())
    }
}

functions! {
    fn MPI_Get_elements_x(status: *const MpiStatus, datatype: c_int, count: *mut i64) {
        put_count(count, values_of(&*status, datatype)?)
    }

    fn MPI_Status_set_elements_x(status: *mut MpiStatus, datatype: c_int, count: i64) {
        set_values(status, datatype, count)
    }

    fn MPI_Status_set_cancelled(status: *mut MpiStatus, flag: c_int) {
        (*status).set_cancelled(flag != 0);
        Ok(())
    }

    fn MPI_Test_cancelled(status: *const MpiStatus, flag: *mut c_int) {
        put(flag, (*status).is_cancelled().into())
    }

    fn MPI_Status_get_source(status: *const MpiStatus, source: *mut c_int) {
        put(source, (*status).source)
    }

    fn MPI_Status_get_tag(status: *const MpiStatus, tag: *mut c_int) {
        put(tag, (*status).tag)
    }

    fn MPI_Status_get_error(status: *const MpiStatus, error: *mut c_int) {
        put(error, (*status).error)
    }

    fn MPI_Status_set_source(status: *mut MpiStatus, source: c_int) {
        (*status).source = source;
        Ok(())
    }

    fn MPI_Status_set_tag(status: *mut MpiStatus, tag: c_int) {
        (*status).tag = tag;
        Ok(())
    }

    fn MPI_Status_set_error(status: *mut MpiStatus, error: c_int) {
        (*status).error = error;
        Ok(())
    }

    // A status is the same in Fortran, as an array of its five words.
    fn MPI_Status_c2f(status: *const MpiStatus, words: *mut [c_int; 5]) {
        put(words, status.cast::<[c_int; 5]>().read())
    }

    fn MPI_Status_f2c(words: *const [c_int; 5], status: *mut MpiStatus) {
        put(status.cast::<[c_int; 5]>(), words.read())
    }
}
