//! Partitioned communication (MPI 4.1, chapter 4).

use std::ffi::{c_int, c_void};

use super::{array, count_of, defined, functions, put};
use crate::abi::class;
use crate::failure::{Failure, Outcome};
use crate::message::{Elements, MessageEnvelope};
use crate::process;

/// All elements of a number of parts.
fn elements(buffer: *const c_void, parts: c_int, count: i64, datatype: c_int) -> Outcome<Elements> {
    if parts < 1 {
        return Err(Failure::new(class::ARG, format!("{parts} partitions")));
    }
    Elements::new(buffer, i64::from(parts) * count, datatype)
}

/// Defines the two requests. `count` makes the number of elements of what the caller has given.
macro_rules! partitioned {
    ($suffix:tt $count:expr) => {
        defined! { MPI_Psend_init $suffix (
            buffer: *const c_void, parts: c_int, count: i64, datatype: c_int, peer: c_int, tag: c_int,
            communicator: c_int, _info: c_int, request: *mut c_int
        ) {
            let envelope = MessageEnvelope { peer, tag, communicator };
            let made = elements(buffer, parts, $count(count), datatype).and_then(|elements| {
                process::with(|p| p.partitioned_send_init(envelope, elements, parts as usize))
            });
            put(request, made.map_err(|failure| failure.on(communicator))?)
        } }

        defined! { MPI_Precv_init $suffix (
            buffer: *mut c_void, parts: c_int, count: i64, datatype: c_int, peer: c_int, tag: c_int,
            communicator: c_int, _info: c_int, request: *mut c_int
        ) {
            let envelope = MessageEnvelope { peer, tag, communicator };
            let made = elements(buffer, parts, $count(count), datatype).and_then(|elements| {
                process::with(|p| p.partitioned_receive_init(envelope, elements))
            });
            put(request, made.map_err(|failure| failure.on(communicator))?)
        } }
    };
}

// The standard has an int, and headers differ: what is above its bits is not the program's.
partitioned! { "" |count| i64::from(count as c_int) }
partitioned! { "_c" |count| count }

functions! {
    fn MPI_Pready(part: c_int, request: c_int) {
        process::with(|p| p.parts_ready(request, [part]))
    }

    fn MPI_Pready_range(first: c_int, last: c_int, request: c_int) {
        process::with(|p| p.parts_ready(request, first..=last))
    }

    fn MPI_Pready_list(count: c_int, parts: *const c_int, request: c_int) {
        let parts = array(parts, count)?;
        process::with(|p| p.parts_ready(request, parts.iter().copied()))
    }

    fn MPI_Parrived(request: c_int, part: c_int, flag: *mut c_int) {
        count_of(part)?;
        put(flag, process::with(|p| p.peek(&[request]))?.is_some().into())
    }
}
