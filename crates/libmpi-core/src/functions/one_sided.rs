//! Puts, gets and accumulates (MPI 4.1, section 12.3), also as requests, which are complete at once.

use std::ffi::{c_int, c_void};

use super::{CountArgument, count_of, counted_functions, functions, put};
use crate::abi::MpiStatus;
use crate::failure::Outcome;
use crate::message::Elements;
use crate::one_sided::WindowTarget;
use crate::process::{self, Process};
use crate::request::ActiveRequest;

/// Does an access, whose failures are the window's.
fn access(window: c_int, act: impl FnOnce(&mut Process) -> Outcome<()>) -> Outcome<()> {
    process::with(act).map_err(|failure| failure.on(window))
}

/// Does an access, and makes a request of it.
fn request_of(window: c_int, act: impl FnOnce(&mut Process) -> Outcome<()>) -> Outcome<c_int> {
    access(window, act)?;
    let pending = ActiveRequest::Complete(Ok(MpiStatus::empty()), None);
    process::with(|p| Ok(p.requests.add(Some(pending), false)))
}

/// The target of an access.
fn target_of(
    rank: c_int,
    displacement: isize,
    count: impl CountArgument,
    datatype: c_int,
) -> Outcome<WindowTarget> {
    let (displacement, count) = (displacement as i64, count_of(count)?);
    Ok(WindowTarget {
        rank,
        displacement,
        count,
        datatype,
    })
}

counted_functions! {
    fn MPI_Put(
        origin: *const c_void, count: Count, datatype: c_int, rank: c_int, place: isize, target_count: Count,
        target_type: c_int, window: c_int,
    ) {
        access(window, |p| {
            let target = target_of(rank, place, target_count, target_type)?;
            p.put(window, Elements::new(origin, count, datatype)?, target)
        })
    }

    fn MPI_Rput(
        origin: *const c_void, count: Count, datatype: c_int, rank: c_int, place: isize, target_count: Count,
        target_type: c_int, window: c_int, request: *mut c_int,
    ) {
        put(request, request_of(window, |p| {
            let target = target_of(rank, place, target_count, target_type)?;
            p.put(window, Elements::new(origin, count, datatype)?, target)
        })?)
    }

    fn MPI_Get(
        origin: *mut c_void, count: Count, datatype: c_int, rank: c_int, place: isize, target_count: Count,
        target_type: c_int, window: c_int,
    ) {
        access(window, |p| {
            let target = target_of(rank, place, target_count, target_type)?;
            p.get(window, Elements::new(origin, count, datatype)?, target)
        })
    }

    fn MPI_Rget(
        origin: *mut c_void, count: Count, datatype: c_int, rank: c_int, place: isize, target_count: Count,
        target_type: c_int, window: c_int, request: *mut c_int,
    ) {
        put(request, request_of(window, |p| {
            let target = target_of(rank, place, target_count, target_type)?;
            p.get(window, Elements::new(origin, count, datatype)?, target)
        })?)
    }

    fn MPI_Accumulate(
        origin: *const c_void, count: Count, datatype: c_int, rank: c_int, place: isize, target_count: Count,
        target_type: c_int, operation: c_int, window: c_int,
    ) {
        access(window, |p| {
            let target = target_of(rank, place, target_count, target_type)?;
            p.accumulate(window, Elements::new(origin, count, datatype)?, None, target, operation)
        })
    }

    fn MPI_Raccumulate(
        origin: *const c_void, count: Count, datatype: c_int, rank: c_int, place: isize, target_count: Count,
        target_type: c_int, operation: c_int, window: c_int, request: *mut c_int,
    ) {
        put(request, request_of(window, |p| {
            let target = target_of(rank, place, target_count, target_type)?;
            p.accumulate(window, Elements::new(origin, count, datatype)?, None, target, operation)
        })?)
    }

    fn MPI_Get_accumulate(
        origin: *const c_void, count: Count, datatype: c_int, result: *mut c_void, result_count: Count,
        result_type: c_int, rank: c_int, place: isize, target_count: Count, target_type: c_int, operation: c_int,
        window: c_int,
    ) {
        access(window, |p| {
            let target = target_of(rank, place, target_count, target_type)?;
            let result = Elements::new(result, result_count, result_type)?;
            p.accumulate(window, Elements::new(origin, count, datatype)?, Some(result), target, operation)
        })
    }

    fn MPI_Rget_accumulate(
        origin: *const c_void, count: Count, datatype: c_int, result: *mut c_void, result_count: Count,
        result_type: c_int, rank: c_int, place: isize, target_count: Count, target_type: c_int, operation: c_int,
        window: c_int, request: *mut c_int,
    ) {
        put(request, request_of(window, |p| {
            let target = target_of(rank, place, target_count, target_type)?;
            let result = Elements::new(result, result_count, result_type)?;
            p.accumulate(window, Elements::new(origin, count, datatype)?, Some(result), target, operation)
        })?)
    }
}

functions! {
    fn MPI_Fetch_and_op(
        origin: *const c_void, result: *mut c_void, datatype: c_int, rank: c_int, place: isize, operation: c_int,
        window: c_int,
    ) {
        access(window, |p| {
            let target = target_of(rank, place, 1, datatype)?;
            let result = Elements::new(result, 1, datatype)?;
            p.accumulate(window, Elements::new(origin, 1, datatype)?, Some(result), target, operation)
        })
    }

    fn MPI_Compare_and_swap(
        origin: *const c_void, expected: *const c_void, result: *mut c_void, datatype: c_int, rank: c_int,
        place: isize, window: c_int,
    ) {
        access(window, |p| {
            let target = target_of(rank, place, 1, datatype)?;
            let one = |buffer: *const c_void| Elements::new(buffer, 1, datatype);
            p.compare_and_swap(window, (one(origin)?, one(expected)?, one(result)?), target)
        })
    }
}
