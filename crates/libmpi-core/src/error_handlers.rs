//! Error handlers by handle. Programs make those of sessions before anything is initialised (MPI 4.1, section 11.4.1).

use std::ffi::c_int;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::abi::{self, class};
use crate::callbacks::ErrorHandler;
use crate::failure::{Failure, Outcome, Reaction};

/// Handlers of the program. A freed one stays, as what it was set on keeps it.
static HANDLERS: Mutex<Vec<ErrorHandler>> = Mutex::new(Vec::new());

fn handlers() -> MutexGuard<'static, Vec<ErrorHandler>> {
    HANDLERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What an error handler does.
pub(crate) fn reaction_of(handler: c_int) -> Reaction {
    match handler {
        abi::ERRORS_RETURN => Reaction::Return,
        abi::ERRORS_ARE_FATAL | abi::ERRORS_ABORT => Reaction::Fatal,
        _ => match handlers().get((handler & abi::INDEX_BITS) as usize) {
            Some(handler) => Reaction::Call(*handler),
            None => Reaction::Fatal,
        },
    }
}

/// A new error handler.
pub(crate) fn add_handler(handler: ErrorHandler) -> c_int {
    let mut all = handlers();
    all.push(handler);
    abi::ERRHANDLER | (all.len() - 1) as c_int
}

/// Whether a handle is of an error handler.
///
/// # Errors
/// It is not.
pub(crate) fn check_handler(handler: c_int) -> Outcome<()> {
    let is_made = || {
        handler & !abi::INDEX_BITS == abi::ERRHANDLER
            && ((handler & abi::INDEX_BITS) as usize) < handlers().len()
    };
    match handler {
        abi::ERRORS_ARE_FATAL | abi::ERRORS_RETURN | abi::ERRORS_ABORT => Ok(()),
        _ if is_made() => Ok(()),
        _ => Err(Failure::new(
            class::ERRHANDLER,
            format!("there is no error handler {handler:#x}"),
        )),
    }
}
