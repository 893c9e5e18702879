//! Errors of calls, and what the error handlers of communicators do with them.

use std::ffi::c_int;

use rank_channel::Post;

use crate::abi::{self, class};
use crate::process::{self, Process};

/// Why a call fails.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub class: c_int,
    pub text: String,
    /// The communicator whose error handler decides; `MPI_COMM_SELF`'s for others.
    pub communicator: Option<c_int>,
}

pub(crate) type Outcome<T> = Result<T, Failure>;

impl Failure {
    pub fn new(class: c_int, text: impl Into<String>) -> Failure {
        Failure {
            class,
            text: text.into(),
            communicator: None,
        }
    }

    /// With the communicator in which it happened.
    pub fn on(self, communicator: c_int) -> Failure {
        Failure {
            communicator: Some(communicator),
            ..self
        }
    }
}

/// An error handler that the program has made.
pub(crate) type Handler = unsafe extern "C" fn(*mut c_int, *mut c_int, ...);

/// What the error handler of a communicator does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reaction {
    Fatal,
    Return,
    Call(Handler),
}

/// Ends the run: the simulator says why, and ends all other ranks.
pub(crate) fn abort(process: &mut Process, status: c_int, message: String) -> ! {
    process.end.end(&Post::Abort { status, message });
    std::process::exit(1)
}

/// The return value of a call.
pub(crate) fn code(call: &str, outcome: Outcome<()>) -> c_int {
    let failure = match outcome {
        Ok(()) => return class::SUCCESS,
        Err(failure) => failure,
    };
    let on = failure.communicator.unwrap_or(abi::COMM_SELF);
    let message = format!("{call}: {}: {}", class::text(failure.class), failure.text);
    let reaction = process::with(|process| Ok(process.communicators.reaction(on)));
    match reaction {
        Ok(Reaction::Return) => failure.class,
        Ok(Reaction::Call(handler)) => {
            let (mut communicator, mut code) = (on, failure.class);
            // Safety: the program has given the function as an error handler.
            unsafe { handler(&mut communicator, &mut code) };
            failure.class
        }
        Ok(Reaction::Fatal) => {
            let aborted = process::with(|process| -> Outcome<()> { abort(process, failure.class, message) });
            debug_assert!(aborted.is_err());
            failure.class
        }
        // Before MPI_Init or after MPI_Finalize nobody hears us.
        Err(_) => {
            eprintln!("{message}");
            std::process::exit(1)
        }
    }
}
