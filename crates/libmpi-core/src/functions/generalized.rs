//! Requests that the program itself completes (MPI 4.1, section 13.2).

use std::ffi::{c_int, c_void};

use operation::Call;

use super::{functions, put};
use crate::abi::class;
use crate::callbacks::{CancelFunction, FreeFunction, QueryFunction};
use crate::failure::Failure;
use crate::process;
use crate::request::{ActiveRequest, Found, GeneralizedRequest};

functions! {
    fn MPI_Grequest_start(
        query: Option<QueryFunction>, free: Option<FreeFunction>, cancel: Option<CancelFunction>, extra: *mut c_void,
        request: *mut c_int,
    ) {
        let generalized = GeneralizedRequest { query, free, cancel, extra, is_complete: false };
        put(request, process::with(|p| {
            p.requests.awaited += 1;
            Ok(p.requests.add(Some(ActiveRequest::Generalized(generalized)), false))
        })?)
    }

    fn MPI_Grequest_complete(request: c_int) {
        process::with(|p| {
            let found = p.requests.get(request)?;
            let Some(ActiveRequest::Generalized(generalized)) = found.and_then(|own| own.pending.as_mut()) else {
                return Err(Failure::new(class::REQUEST, "the request is not a generalised one"));
            };
            let was_complete = std::mem::replace(&mut generalized.is_complete, true);
            p.requests.awaited -= usize::from(!was_complete);
            Ok(())
        })?;
        // The program freed it before.
        let found = process::with(|p| {
            let place = p.requests.abandoned.iter().position(|own| *own == request);
            let Some(place) = place else { return Ok(None) };
            let mut handle = [p.requests.abandoned.swap_remove(place)];
            p.wait_all(&mut handle, Call::Other).map(Some)
        })?;
        let complete = found.map(Found::finish).unwrap_or_default();
        complete.into_iter().try_for_each(|(_, outcome)| outcome.map(|_| ()))
    }
}
