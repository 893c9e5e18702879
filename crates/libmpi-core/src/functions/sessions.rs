//! Sessions (MPI 4.1, section 11.3). A session is another way to the same process: it has the process sets of all ranks
//! and of this one.

use std::ffi::{c_char, c_int, c_void};

use super::{CountArgument, counted_functions, functions, put, put_count, put_text, text_of};
use crate::abi::{self, MpiStatus, class};
use crate::callbacks::ErrorHandler;
use crate::error_handlers;
use crate::failure::{Failure, Outcome, Reaction};
use crate::info;
use crate::process::{self, Process};
use crate::request::ActiveRequest;
use crate::session::Session;

const SETS: [&str; 2] = ["mpi://WORLD", "mpi://SELF"];

/// The members of a process set.
///
/// # Safety
/// The name ends with a zero.
unsafe fn set_of(process: &Process, session: c_int, name: *const c_char) -> Outcome<Vec<u32>> {
    process.sessions.get(session)?;
    // Safety: as the caller says.
    let name = unsafe { text_of(name) };
    match SETS.iter().position(|set| set.eq_ignore_ascii_case(&name)) {
        Some(0) => Ok((0..process.communicators.ranks()).collect()),
        Some(_) => Ok(vec![process.communicators.own()]),
        None => Err(Failure::new(
            class::ARG,
            format!("there is no process set {name:?}"),
        )),
    }
}

functions! {
    fn MPI_Session_init(info: c_int, handler: c_int, session: *mut c_int) {
        // A program of sessions alone does not call MPI_Init.
        if !process::stage().0 {
            process::initialize()?;
            process::finalize_at_exit();
        }
        put(session, process::with(|p| {
            error_handlers::check_handler(handler)?;
            let hints = info::table().hints(info)?;
            Ok(p.sessions.add(Session { error_handler: handler, hints, send_buffer: None }))
        })?)
    }

    fn MPI_Session_finalize(session: *mut c_int) {
        process::with(|p| p.sessions.remove(*session))?;
        put(session, abi::SESSION_NULL)
    }

    fn MPI_Session_get_info(session: c_int, info: *mut c_int) {
        put(info, process::with(|p| {
            let hints = p.sessions.get(session)?.hints.clone();
            Ok(info::table().add(hints))
        })?)
    }

    fn MPI_Session_get_num_psets(session: c_int, _info: c_int, count: *mut c_int) {
        process::with(|p| p.sessions.get(session).map(|_| ()))?;
        put(count, SETS.len() as c_int)
    }

    fn MPI_Session_get_nth_pset(
        session: c_int, _info: c_int, index: c_int, length: *mut c_int, name: *mut c_char,
    ) {
        process::with(|p| p.sessions.get(session).map(|_| ()))?;
        let set = usize::try_from(index).ok().and_then(|index| SETS.get(index));
        let set = set.ok_or_else(|| Failure::new(class::ARG, format!("process set {index} of {}", SETS.len())))?;
        let space = *length;
        if space > 0 {
            let mut written = 0;
            put_text(set, name, space as usize, &mut written)?;
        }
        put(length, set.len() as c_int + 1)
    }

    fn MPI_Session_get_pset_info(session: c_int, name: *const c_char, info: *mut c_int) {
        put(info, process::with(|p| {
            let members = set_of(p, session, name)?;
            Ok(info::table().add(vec![("mpi_size".into(), members.len().to_string())]))
        })?)
    }

    fn MPI_Group_from_session_pset(session: c_int, name: *const c_char, group: *mut c_int) {
        put(group, process::with(|p| {
            let members = set_of(p, session, name)?;
            Ok(p.communicators.add_group(members.into()))
        })?)
    }

    fn MPI_Session_create_errhandler(function: ErrorHandler, handler: *mut c_int) {
        put(handler, error_handlers::add_handler(function))
    }

    fn MPI_Session_get_errhandler(session: c_int, handler: *mut c_int) {
        put(handler, process::with(|p| Ok(p.sessions.get(session)?.error_handler))?)
    }

    fn MPI_Session_set_errhandler(session: c_int, handler: c_int) {
        process::with(|p| {
            error_handlers::check_handler(handler)?;
            p.sessions.get_mut(session)?.error_handler = handler;
            Ok(())
        })
    }

    fn MPI_Session_call_errhandler(session: c_int, code: c_int) {
        let reaction = process::with(|p| {
            let handler = p.sessions.get(session)?.error_handler;
            Ok(error_handlers::reaction_of(handler))
        })?;
        match reaction {
            Reaction::Return => Ok(()),
            Reaction::Call(function) => {
                (function.call)(function.function, session, code);
                Ok(())
            }
            Reaction::Fatal => Err(Failure::new(code, "the program called the error handler of a session")),
        }
    }

    fn MPI_Session_flush_buffer(session: c_int) {
        process::with(|p| p.sessions.get(session).map(|_| ()))
    }

    fn MPI_Session_iflush_buffer(session: c_int, request: *mut c_int) {
        put(request, process::with(|p| {
            p.sessions.get(session)?;
            let pending = ActiveRequest::Complete(Ok(MpiStatus::empty()), None);
            Ok(p.requests.add(Some(pending), false))
        })?)
    }
}

counted_functions! {
    fn MPI_Session_attach_buffer(session: c_int, buffer: *mut c_void, size: Count) {
        process::with(|p| {
            let place = &mut p.sessions.get_mut(session)?.send_buffer;
            match place {
                None => *place = Some((buffer as usize, size.wide())),
                Some(_) => return Err(Failure::new(class::BUFFER, "there is a buffer already")),
            }
            Ok(())
        })
    }

    fn MPI_Session_detach_buffer(session: c_int, buffer: *mut usize, size: *mut Count) {
        let own = process::with(|p| Ok(p.sessions.get_mut(session)?.send_buffer.take()))?;
        let (start, bytes) = own.unwrap_or_default();
        put(buffer, start)?;
        put_count(size, Some(bytes as u64))
    }
}
