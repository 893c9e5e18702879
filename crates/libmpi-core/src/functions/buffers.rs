//! Buffers for buffered sends (MPI 4.1, section 3.6). The library stores what a send brings in memory of its own, so a
//! buffer is only kept for the program.

use std::ffi::{c_int, c_void};

use super::{CountArgument, counted_functions, functions, put, put_count};
use crate::abi::{MpiStatus, class};
use crate::failure::{Failure, Outcome};
use crate::process;
use crate::request::ActiveRequest;

/// Whose buffer.
#[derive(Clone, Copy)]
enum BufferOwner {
    Process,
    Communicator(c_int),
}

fn attach(owner: BufferOwner, buffer: *mut c_void, size: i64) -> Outcome<()> {
    if size < 0 {
        return Err(Failure::new(class::ARG, format!("a buffer of {size} bytes")));
    }
    process::with(|p| {
        let place = match owner {
            BufferOwner::Process => &mut p.send_buffer,
            BufferOwner::Communicator(communicator) => {
                &mut p.communicators.get_mut(communicator)?.send_buffer
            }
        };
        match place {
            None => *place = Some((buffer as usize, size)),
            Some(_) => return Err(Failure::new(class::BUFFER, "there is a buffer already")),
        }
        Ok(())
    })
}

/// The buffer that was attached; none is `NULL` with no bytes.
fn detach(owner: BufferOwner) -> Outcome<(usize, i64)> {
    process::with(|p| {
        let place = match owner {
            BufferOwner::Process => &mut p.send_buffer,
            BufferOwner::Communicator(communicator) => {
                &mut p.communicators.get_mut(communicator)?.send_buffer
            }
        };
        Ok(place.take().unwrap_or_default())
    })
}

counted_functions! {
    fn MPI_Buffer_attach(buffer: *mut c_void, size: Count) {
        attach(BufferOwner::Process, buffer, size.wide())
    }

    fn MPI_Buffer_detach(buffer: *mut usize, size: *mut Count) {
        let (start, bytes) = detach(BufferOwner::Process)?;
        put(buffer, start)?;
        put_count(size, Some(bytes as u64))
    }

    fn MPI_Comm_attach_buffer(communicator: c_int, buffer: *mut c_void, size: Count) {
        attach(BufferOwner::Communicator(communicator), buffer, size.wide())
    }

    fn MPI_Comm_detach_buffer(communicator: c_int, buffer: *mut usize, size: *mut Count) {
        let (start, bytes) = detach(BufferOwner::Communicator(communicator))?;
        put(buffer, start)?;
        put_count(size, Some(bytes as u64))
    }
}

/// A request that is complete.
fn complete() -> Outcome<c_int> {
    let pending = ActiveRequest::Complete(Ok(MpiStatus::empty()), None);
    process::with(|p| Ok(p.requests.add(Some(pending), false)))
}

functions! {
    fn MPI_Buffer_flush() {
        process::with(|_| Ok(()))
    }

    fn MPI_Buffer_iflush(request: *mut c_int) {
        put(request, complete()?)
    }

    fn MPI_Comm_flush_buffer(communicator: c_int) {
        process::with(|p| p.communicators.get(communicator).map(|_| ()))
    }

    fn MPI_Comm_iflush_buffer(communicator: c_int, request: *mut c_int) {
        process::with(|p| p.communicators.get(communicator).map(|_| ()))?;
        put(request, complete()?)
    }
}
