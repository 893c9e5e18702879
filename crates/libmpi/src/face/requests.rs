//! The Wait and Test families, persistent requests (MPI 4.1, sections 3.7 and 3.9).

use std::ffi::c_int;

use operation::{Call, Takes};

use super::{array_mut, functions, put};
use crate::abi::{self, MpiStatus, class};
use crate::failure::{Failure, Outcome};
use crate::process;
use crate::request::Found;

/// What was found, after what remained to be done.
fn finished(found: Found) -> Outcome<Vec<(usize, Outcome<MpiStatus>)>> {
    let Found { complete, rest } = found;
    Found::finish(rest)?;
    Ok(complete)
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
            let text = first.map(|failure| failure.text).unwrap_or_default();
            Err(Failure::new(class::IN_STATUS, text))
        }
    }
}

functions! {
    fn MPI_Wait(request: *mut c_int, status: *mut MpiStatus) {
        let handles = std::slice::from_mut(&mut *request);
        let complete = finished(process::with(|p| p.wait_all(handles, Call::Wait))?)?;
        complete.into_iter().try_for_each(|(_, outcome)| put_status(outcome, status))
    }

    fn MPI_Waitall(count: c_int, requests: *mut c_int, statuses: *mut MpiStatus) {
        let handles = array_mut(requests, count)?;
        let complete = finished(process::with(|p| p.wait_all(handles, Call::Waitall))?)?;
        put_statuses(complete, statuses, true)
    }

    fn MPI_Waitany(count: c_int, requests: *mut c_int, index: *mut c_int, status: *mut MpiStatus) {
        let handles = array_mut(requests, count)?;
        let found = process::with(|p| p.select(handles, (Takes::First, true), Call::Waitany))?;
        let complete = found.map(finished).transpose()?.unwrap_or_default();
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
        let found = process::with(|p| p.select(handles, (Takes::All, false), Call::Test))?;
        let Some(found) = found else {
            put(flag, 1)?;
            return put_status(Ok(MpiStatus::empty()), status);
        };
        let complete = finished(found)?;
        put(flag, (!complete.is_empty()).into())?;
        complete.into_iter().try_for_each(|(_, outcome)| put_status(outcome, status))
    }

    fn MPI_Testall(count: c_int, requests: *mut c_int, flag: *mut c_int, statuses: *mut MpiStatus) {
        let handles = array_mut(requests, count)?;
        let all = handles.to_vec();
        let found = process::with(|p| p.select(handles, (Takes::All, false), Call::Testall))?;
        let mut complete = found.map(finished).transpose()?;
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
        let found = process::with(|p| p.select(handles, (Takes::First, false), Call::Testany))?;
        let Some(found) = found else {
            put(index, abi::UNDEFINED)?;
            put(flag, 1)?;
            return put_status(Ok(MpiStatus::empty()), status);
        };
        match finished(found)?.into_iter().next() {
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
        process::with(|p| p.free_request(&mut *request))
    }
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
    let selected = process::with(|p| p.select(handles, (Takes::Complete, blocks), call))?;
    let Some(selected) = selected else {
        // Safety: as the caller says.
        return unsafe { put(found, abi::UNDEFINED) };
    };
    let complete = finished(selected)?;
    // Safety: as the caller says.
    unsafe {
        put(found, complete.len() as c_int)?;
        for (index, (position, _)) in complete.iter().enumerate() {
            indices.add(index).write(*position as c_int);
        }
        put_statuses(complete, statuses, false)
    }
}
