//! Reductions that the program makes (MPI 4.1, section 6.9.5).

use std::ffi::{c_int, c_void};

use super::{count_of, counted_functions, defined, functions, put};
use crate::abi;
use crate::callbacks::ReductionFunction;
use crate::message::Elements;
use crate::process;

defined! { MPI_Op_create "" (function: ReductionFunction, commutes: c_int, operation: *mut c_int) {
    put(operation, process::with(|p| Ok(p.operations.add(function, commutes != 0)))?)
} }

defined! { MPI_Op_create "_c" (function: ReductionFunction, commutes: c_int, operation: *mut c_int) {
    put(operation, process::with(|p| Ok(p.operations.add(function, commutes != 0)))?)
} }

counted_functions! {
    fn MPI_Reduce_local(
        from: *const c_void, into: *mut c_void, count: Count, datatype: c_int, operation: c_int,
    ) {
        let elements = Elements { buffer: into, count: count_of(count)?, datatype };
        let (combination, earlier, mut later) = process::with(|p| {
            let combination = p.combination(elements, operation)?;
            let earlier = combination.datatype.pack(from, elements.count);
            let later = combination.datatype.pack(into, elements.count);
            Ok((combination, earlier, later))
        })?;
        combination.combine(&earlier, &mut later)?;
        combination.datatype.unpack(&later, into);
        Ok(())
    }
}

functions! {
    fn MPI_Op_free(operation: *mut c_int) {
        process::with(|p| p.operations.remove(*operation))?;
        put(operation, abi::OP_NULL)
    }

    fn MPI_Op_commutative(operation: c_int, commutes: *mut c_int) {
        put(commutes, process::with(|p| p.operations.commutes(operation))?.into())
    }
}
