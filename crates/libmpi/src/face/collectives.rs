//! Collectives, blocking and non-blocking.

use std::ffi::{c_int, c_void};

use super::{array, functions, put};
use crate::abi::{self, is_in_place};
use crate::collective::{self, MemberBlocks};
use crate::failure::Outcome;
use crate::point_to_point::Elements;
use crate::process;
use crate::reduction::UserFunction;

/// Elements whose datatype and count mean nothing, where the buffer is in place.
fn in_place() -> Elements {
    Elements {
        buffer: -1_isize as *mut c_void,
        count: 0,
        datatype: 0x4c00_010d,
    }
}

fn elements(buffer: *const c_void, count: c_int, datatype: c_int) -> Outcome<Elements> {
    match is_in_place(buffer) {
        true => Ok(in_place()),
        false => Elements::new(buffer, count, datatype),
    }
}

/// Defines a collective with a blocking and a non-blocking name. The body prepares it from the process, or fails.
macro_rules! collectives {
    ($(fn $blocking:ident $nonblocking:ident($($argument:ident: $type:ty),*) on $communicator:ident
        |$process:ident| $body:block)*) => {
        functions! { $(
            fn $blocking($($argument: $type),*) {
                collective::run($communicator, true, |$process| $body).map(|_| ())
            }

            fn $nonblocking($($argument: $type,)* request: *mut c_int) {
                put(request, collective::run($communicator, false, |$process| $body)?)
            }
        )* }
    };
}

collectives! {
    fn MPI_Barrier MPI_Ibarrier(communicator: c_int) on communicator |p| {
        p.barrier(communicator)
    }

    fn MPI_Bcast MPI_Ibcast(buffer: *mut c_void, count: c_int, datatype: c_int, root: c_int, communicator: c_int)
        on communicator |p|
    {
        p.broadcast(Elements::new(buffer, count, datatype)?, root, communicator)
    }

    fn MPI_Gather MPI_Igather(
        sent: *const c_void, send_count: c_int, send_type: c_int, received: *mut c_void, receive_count: c_int,
        receive_type: c_int, root: c_int, communicator: c_int
    ) on communicator |p| {
        let (rank, size) = p.place(communicator)?;
        let receives = match rank as c_int == root {
            true => Some(MemberBlocks::equal(p, Elements::new(received, receive_count, receive_type)?, size)?),
            false => None,
        };
        p.gather(elements(sent, send_count, send_type)?, receives, root, communicator, false)
    }

    fn MPI_Gatherv MPI_Igatherv(
        sent: *const c_void, send_count: c_int, send_type: c_int, received: *mut c_void, counts: *const c_int,
        displacements: *const c_int, receive_type: c_int, root: c_int, communicator: c_int
    ) on communicator |p| {
        let (rank, size) = p.place(communicator)?;
        let receives = match rank as c_int == root {
            true => {
                let (counts, places) = (array(counts, size as c_int)?, array(displacements, size as c_int)?);
                Some(MemberBlocks::varying(p, (received, receive_type), counts, places)?)
            }
            false => None,
        };
        p.gather(elements(sent, send_count, send_type)?, receives, root, communicator, true)
    }

    fn MPI_Scatter MPI_Iscatter(
        sent: *const c_void, send_count: c_int, send_type: c_int, received: *mut c_void, receive_count: c_int,
        receive_type: c_int, root: c_int, communicator: c_int
    ) on communicator |p| {
        let (rank, size) = p.place(communicator)?;
        let sends = match rank as c_int == root {
            true => Some(MemberBlocks::equal(p, Elements::new(sent, send_count, send_type)?, size)?),
            false => None,
        };
        p.scatter(sends, elements(received, receive_count, receive_type)?, root, communicator, false)
    }

    fn MPI_Scatterv MPI_Iscatterv(
        sent: *const c_void, counts: *const c_int, displacements: *const c_int, send_type: c_int, received: *mut c_void,
        receive_count: c_int, receive_type: c_int, root: c_int, communicator: c_int
    ) on communicator |p| {
        let (rank, size) = p.place(communicator)?;
        let sends = match rank as c_int == root {
            true => {
                let (counts, places) = (array(counts, size as c_int)?, array(displacements, size as c_int)?);
                Some(MemberBlocks::varying(p, (sent, send_type), counts, places)?)
            }
            false => None,
        };
        p.scatter(sends, elements(received, receive_count, receive_type)?, root, communicator, true)
    }

    fn MPI_Allgather MPI_Iallgather(
        sent: *const c_void, send_count: c_int, send_type: c_int, received: *mut c_void, receive_count: c_int,
        receive_type: c_int, communicator: c_int
    ) on communicator |p| {
        let (_, size) = p.place(communicator)?;
        let receives = MemberBlocks::equal(p, Elements::new(received, receive_count, receive_type)?, size)?;
        p.allgather(elements(sent, send_count, send_type)?, receives, communicator, false)
    }

    fn MPI_Allgatherv MPI_Iallgatherv(
        sent: *const c_void, send_count: c_int, send_type: c_int, received: *mut c_void, counts: *const c_int,
        displacements: *const c_int, receive_type: c_int, communicator: c_int
    ) on communicator |p| {
        let (_, size) = p.place(communicator)?;
        let (counts, places) = (array(counts, size as c_int)?, array(displacements, size as c_int)?);
        let receives = MemberBlocks::varying(p, (received, receive_type), counts, places)?;
        p.allgather(elements(sent, send_count, send_type)?, receives, communicator, true)
    }

    fn MPI_Alltoall MPI_Ialltoall(
        sent: *const c_void, send_count: c_int, send_type: c_int, received: *mut c_void, receive_count: c_int,
        receive_type: c_int, communicator: c_int
    ) on communicator |p| {
        let (_, size) = p.place(communicator)?;
        let receives = MemberBlocks::equal(p, Elements::new(received, receive_count, receive_type)?, size)?;
        let sends = match is_in_place(sent) {
            true => None,
            false => Some(MemberBlocks::equal(p, Elements::new(sent, send_count, send_type)?, size)?),
        };
        p.alltoall(sends, receives, communicator, false)
    }

    fn MPI_Alltoallv MPI_Ialltoallv(
        sent: *const c_void, send_counts: *const c_int, send_places: *const c_int, send_type: c_int,
        received: *mut c_void, receive_counts: *const c_int, receive_places: *const c_int, receive_type: c_int,
        communicator: c_int
    ) on communicator |p| {
        let size = p.place(communicator)?.1 as c_int;
        let (counts, places) = (array(receive_counts, size)?, array(receive_places, size)?);
        let receives = MemberBlocks::varying(p, (received, receive_type), counts, places)?;
        let sends = match is_in_place(sent) {
            true => None,
            false => {
                let (counts, places) = (array(send_counts, size)?, array(send_places, size)?);
                Some(MemberBlocks::varying(p, (sent, send_type), counts, places)?)
            }
        };
        p.alltoall(sends, receives, communicator, true)
    }

    fn MPI_Reduce MPI_Ireduce(
        sent: *const c_void, received: *mut c_void, count: c_int, datatype: c_int, operation: c_int, root: c_int,
        communicator: c_int
    ) on communicator |p| {
        p.reduce(sent, Elements::new(received, count, datatype)?, operation, Some(root), communicator)
    }

    fn MPI_Allreduce MPI_Iallreduce(
        sent: *const c_void, received: *mut c_void, count: c_int, datatype: c_int, operation: c_int, communicator: c_int
    ) on communicator |p| {
        p.reduce(sent, Elements::new(received, count, datatype)?, operation, None, communicator)
    }

    fn MPI_Scan MPI_Iscan(
        sent: *const c_void, received: *mut c_void, count: c_int, datatype: c_int, operation: c_int, communicator: c_int
    ) on communicator |p| {
        p.scan(sent, Elements::new(received, count, datatype)?, operation, communicator, false)
    }

    fn MPI_Exscan MPI_Iexscan(
        sent: *const c_void, received: *mut c_void, count: c_int, datatype: c_int, operation: c_int, communicator: c_int
    ) on communicator |p| {
        p.scan(sent, Elements::new(received, count, datatype)?, operation, communicator, true)
    }

    fn MPI_Reduce_scatter_block MPI_Ireduce_scatter_block(
        sent: *const c_void, received: *mut c_void, count: c_int, datatype: c_int, operation: c_int, communicator: c_int
    ) on communicator |p| {
        let (_, size) = p.place(communicator)?;
        let elements = Elements::new(received, count, datatype)?;
        p.reduce_scatter(sent, (elements, vec![elements.count; size]), operation, communicator, true)
    }

    fn MPI_Reduce_scatter MPI_Ireduce_scatter(
        sent: *const c_void, received: *mut c_void, counts: *const c_int, datatype: c_int, operation: c_int,
        communicator: c_int
    ) on communicator |p| {
        let (_, size) = p.place(communicator)?;
        let counts = array(counts, size as c_int)?.iter();
        let counts = counts.map(|count| Ok(Elements::new(received, *count, datatype)?.count));
        let counts = counts.collect::<Outcome<Vec<_>>>()?;
        p.reduce_scatter(sent, (Elements::new(received, 0, datatype)?, counts), operation, communicator, false)
    }
}

functions! {
    fn MPI_Op_create(function: UserFunction, commutes: c_int, operation: *mut c_int) {
        put(operation, process::with(|p| Ok(p.operations.add(function, commutes != 0)))?)
    }

    fn MPI_Op_free(operation: *mut c_int) {
        process::with(|p| p.operations.remove(*operation))?;
        put(operation, abi::OP_NULL)
    }

    fn MPI_Op_commutative(operation: c_int, commutes: *mut c_int) {
        put(commutes, process::with(|p| p.operations.commutes(operation))?.into())
    }
}
