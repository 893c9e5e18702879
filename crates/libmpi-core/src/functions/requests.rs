//! The Wait and Test families, persistent requests (MPI 4.1, sections 3.7 and 3.9).

use std::ffi::c_int;
use std::thread;
use std::time::Duration;

use operation::{Call, Takes};

use super::{array, array_mut, functions, put};
use crate::abi::{self, MpiStatus, class};
use crate::failure::{Failure, Outcome};
use crate::process;
use crate::request::ActiveRequest;

/// How often a wait looks whether another thread has completed a generalised request.
const LOOK_AGAIN: Duration = Duration::from_micros(20);

/// Complete requests by position.
type CompleteRequests = Vec<(usize, Outcome<MpiStatus>)>;

/// Waits for all requests of a list.
fn wait_all(handles: &mut [c_int], call: Call) -> Outcome<CompleteRequests> {
    // Another thread of the program completes generalised requests.
    while process::with(|p| p.awaits_program(handles))? {
        thread::sleep(LOOK_AGAIN);
    }
    let found = process::with(|p| p.wait_all(handles, call))?;
    Ok(found.finish())
}

/// Takes complete requests of a list. `None` if all are null or inactive.
fn select(
    handles: &mut [c_int],
    (takes, blocks): (Takes, bool),
    call: Call,
) -> Outcome<Option<CompleteRequests>> {
    loop {
        let Some(found) = process::with(|p| p.select(handles, (takes, blocks), call))? else {
            return Ok(None);
        };
        let complete = found.finish();
        if !blocks || !complete.is_empty() {
            return Ok(Some(complete));
        }
        thread::sleep(LOOK_AGAIN);
    }
}

/// Writes the status of one request, or fails as it did.
///
/// # Safety
/// As of [`MpiStatus::write`].
unsafe fn put_status(outcome: Outcome<MpiStatus>, status: *mut MpiStatus) -> Outcome<()> {
    // Safety: as the caller says.
    outcome.map(|found| unsafe { found.write(status) })
}

/// Writes statuses in the order of a list. If one has failed, all have their error.
///
/// # Safety
/// `statuses` has space for them, or is to be ignored.
unsafe fn put_statuses(
    complete: Vec<(usize, Outcome<MpiStatus>)>,
    statuses: *mut MpiStatus,
    by_position: bool,
) -> Outcome<()> {
    let failed = complete.iter().any(|(_, outcome)| outcome.is_err());
    if (statuses as usize) > 1 {
        for (index, (position, outcome)) in complete.iter().enumerate() {
            let place = if by_position { *position } else { index };
            // Safety: as the caller says.
            unsafe {
                let to = statuses.add(place);
                match outcome {
                    Ok(status) => status.write(to),
                    Err(_) => MpiStatus::empty().write(to),
                }
                if failed {
                    (*to).error = outcome
                        .as_ref()
                        .err()
                        .map_or(class::SUCCESS, |failure| failure.class);
                }
            }
        }
    }
    match failed {
        false => Ok(()),
        true => {
            let first = complete.into_iter().find_map(|(_, outcome)| outcome.err());
            let first = first.unwrap_or_else(|| Failure::new(class::INTERN, ""));
            Err(Failure {
                class: class::IN_STATUS,
                ..first
            })
        }
    }
}

functions! {
    fn MPI_Wait(request: *mut c_int, status: *mut MpiStatus) {
        let handles = std::slice::from_mut(&mut *request);
        let complete = wait_all(handles, Call::Wait)?;
        complete.into_iter().try_for_each(|(_, outcome)| put_status(outcome, status))
    }

    fn MPI_Waitall(count: c_int, requests: *mut c_int, statuses: *mut MpiStatus) {
        let handles = array_mut(requests, count)?;
        let complete = wait_all(handles, Call::Waitall)?;
        put_statuses(complete, statuses, true)
    }

    fn MPI_Waitany(count: c_int, requests: *mut c_int, index: *mut c_int, status: *mut MpiStatus) {
        let handles = array_mut(requests, count)?;
        let complete = select(handles, (Takes::First, true), Call::Waitany)?.unwrap_or_default();
        match complete.into_iter().next() {
            Some((position, outcome)) => {
                put(index, position as c_int)?;
                put_status(outcome, status)
            }
            None => {
                put(index, abi::UNDEFINED)?;
                put_status(Ok(MpiStatus::empty()), status)
            }
        }
    }

    fn MPI_Waitsome(
        count: c_int, requests: *mut c_int, found: *mut c_int, indices: *mut c_int, statuses: *mut MpiStatus,
    ) {
        some(array_mut(requests, count)?, (found, indices, statuses), (true, Call::Waitsome))
    }

    fn MPI_Testsome(
        count: c_int, requests: *mut c_int, found: *mut c_int, indices: *mut c_int, statuses: *mut MpiStatus,
    ) {
        some(array_mut(requests, count)?, (found, indices, statuses), (false, Call::Testsome))
    }

    fn MPI_Test(request: *mut c_int, flag: *mut c_int, status: *mut MpiStatus) {
        let handles = std::slice::from_mut(&mut *request);
        let found = select(handles, (Takes::All, false), Call::Test)?;
        let Some(found) = found else {
            put(flag, 1)?;
            return put_status(Ok(MpiStatus::empty()), status);
        };
        let complete = found;
        put(flag, (!complete.is_empty()).into())?;
        complete.into_iter().try_for_each(|(_, outcome)| put_status(outcome, status))
    }

    fn MPI_Testall(count: c_int, requests: *mut c_int, flag: *mut c_int, statuses: *mut MpiStatus) {
        let handles = array_mut(requests, count)?;
        let all = handles.to_vec();
        let found = select(handles, (Takes::All, false), Call::Testall)?;
        let mut complete = found;
        let nothing_left = complete.as_ref().is_none_or(|complete| !complete.is_empty());
        put(flag, nothing_left.into())?;
        if !nothing_left {
            return Ok(());
        }
        // Null and inactive requests have empty statuses.
        let complete = complete.get_or_insert_default();
        for position in 0..all.len() {
            if !complete.iter().any(|(own, _)| *own == position) {
                complete.push((position, Ok(MpiStatus::empty())));
            }
        }
        put_statuses(std::mem::take(complete), statuses, true)
    }

    fn MPI_Testany(count: c_int, requests: *mut c_int, index: *mut c_int, flag: *mut c_int, status: *mut MpiStatus) {
        let handles = array_mut(requests, count)?;
        let found = select(handles, (Takes::First, false), Call::Testany)?;
        let Some(found) = found else {
            put(index, abi::UNDEFINED)?;
            put(flag, 1)?;
            return put_status(Ok(MpiStatus::empty()), status);
        };
        match found.into_iter().next() {
            Some((position, outcome)) => {
                put(index, position as c_int)?;
                put(flag, 1)?;
                put_status(outcome, status)
            }
            None => {
                put(index, abi::UNDEFINED)?;
                put(flag, 0)
            }
        }
    }

    fn MPI_Start(request: *mut c_int) {
        process::with(|p| p.start(*request))
    }

    fn MPI_Startall(count: c_int, requests: *mut c_int) {
        let handles = array_mut(requests, count)?;
        process::with(|p| handles.iter().try_for_each(|handle| p.start(*handle)))
    }

    fn MPI_Request_free(request: *mut c_int) {
        let handles = [*request];
        if process::with(|p| p.awaits_program(&handles))? {
            // Its free function is called when the program completes it, or at the end.
            process::with(|p| p.requests.abandon(&mut *request))?;
            return Ok(());
        }
        let found = process::with(|p| p.free_request(&mut *request))?;
        found.finish().into_iter().try_for_each(|(_, outcome)| outcome.map(|_| ()))
    }

    fn MPI_Cancel(request: *mut c_int) {
        let generalized = process::with(|p| p.cancel(*request))?;
        let Some(generalized) = generalized else { return Ok(()) };
        let Some(cancel) = generalized.cancel else { return Ok(()) };
        // The program has given the function for this; nothing of the library is locked.
        match (cancel.call)(cancel.function, generalized.extra, generalized.is_complete.into()) {
            class::SUCCESS => Ok(()),
            code => Err(Failure::new(code, "the cancel function of a generalised request has failed")),
        }
    }

    fn MPI_Request_get_status(request: c_int, flag: *mut c_int, status: *mut MpiStatus) {
        let found = process::with(|p| p.peek(&[request]))?;
        let found = found.map(|peeked| queried(&[request], peeked)).transpose()?;
        put(flag, found.is_some().into())?;
        found.into_iter().flatten().try_for_each(|outcome| put_status(outcome, status))
    }

    fn MPI_Request_get_status_all(
        count: c_int, requests: *const c_int, flag: *mut c_int, statuses: *mut MpiStatus,
    ) {
        let handles = array(requests, count)?;
        let found = process::with(|p| p.peek(handles))?;
        let found = found.map(|peeked| queried(handles, peeked)).transpose()?;
        put(flag, found.is_some().into())?;
        match found {
            Some(found) => put_statuses(found.into_iter().enumerate().collect(), statuses, true),
            None => Ok(()),
        }
    }

    fn MPI_Request_get_status_any(
        count: c_int, requests: *const c_int, index: *mut c_int, flag: *mut c_int, status: *mut MpiStatus,
    ) {
        let handles = array(requests, count)?;
        let complete = peek_each(handles)?;
        let Some(complete) = complete else {
            put(index, abi::UNDEFINED)?;
            put(flag, 1)?;
            return put_status(Ok(MpiStatus::empty()), status);
        };
        let first = complete.into_iter().next();
        put(flag, first.is_some().into())?;
        put(index, first.as_ref().map_or(abi::UNDEFINED, |(position, _)| *position as c_int))?;
        first.into_iter().try_for_each(|(_, outcome)| put_status(outcome, status))
    }

    fn MPI_Request_get_status_some(
        count: c_int, requests: *const c_int, found: *mut c_int, indices: *mut c_int, statuses: *mut MpiStatus,
    ) {
        let handles = array(requests, count)?;
        put_some(peek_each(handles)?, found, indices, statuses)
    }
}

/// The complete requests of a list, which stay. `None` if all are null or inactive.
fn peek_each(handles: &[c_int]) -> Outcome<Option<CompleteRequests>> {
    let mut complete = Vec::new();
    let mut is_any_active = false;
    for (position, handle) in handles.iter().enumerate() {
        if !process::with(|p| p.requests.is_active(*handle))? {
            continue;
        }
        is_any_active = true;
        if let Some(peeked) = process::with(|p| p.peek(&[*handle]))? {
            let outcomes = queried(&[*handle], peeked)?;
            complete.extend(outcomes.into_iter().map(|outcome| (position, outcome)));
        }
    }
    Ok(is_any_active.then_some(complete))
}

/// The statuses of requests that stay: generalised ones are asked for theirs.
fn queried(handles: &[c_int], peeked: Vec<Outcome<MpiStatus>>) -> Outcome<Vec<Outcome<MpiStatus>>> {
    let mut statuses = Vec::new();
    for (handle, outcome) in handles.iter().zip(peeked) {
        let generalized = process::with(|p| {
            Ok(
                match p.requests.get(*handle)?.and_then(|own| own.pending.as_ref()) {
                    Some(ActiveRequest::Generalized(own)) => Some(*own),
                    _ => None,
                },
            )
        })?;
        let mut status = MpiStatus::empty();
        let query = generalized.and_then(|own| Some((own.query?, own.extra)));
        statuses.push(match query {
            None => outcome,
            // Safety: the program has given the function for this; nothing of the library is locked.
            Some((query, extra)) => match unsafe { (query.call)(query.function, extra, &mut status) } {
                class::SUCCESS => Ok(status),
                code => Err(Failure::new(
                    code,
                    "the query function of a generalised request has failed",
                )),
            },
        });
    }
    Ok(statuses)
}

/// Waitsome and Testsome.
///
/// # Safety
/// The lists have space for all requests.
unsafe fn some(
    handles: &mut [c_int],
    (found, indices, statuses): (*mut c_int, *mut c_int, *mut MpiStatus),
    (blocks, call): (bool, Call),
) -> Outcome<()> {
    let selected = select(handles, (Takes::Complete, blocks), call)?;
    // Safety: as the caller says.
    unsafe { put_some(selected, found, indices, statuses) }
}

/// Writes how many requests are complete, which, and their statuses; `MPI_UNDEFINED` without any active one.
///
/// # Safety
/// As of [`some`].
unsafe fn put_some(
    complete: Option<CompleteRequests>,
    found: *mut c_int,
    indices: *mut c_int,
    statuses: *mut MpiStatus,
) -> Outcome<()> {
    // Safety: as the caller says.
    unsafe {
        let Some(complete) = complete else {
            return put(found, abi::UNDEFINED);
        };
        put(found, complete.len() as c_int)?;
        for (index, (position, _)) in complete.iter().enumerate() {
            indices.add(index).write(*position as c_int);
        }
        put_statuses(complete, statuses, false)
    }
}
