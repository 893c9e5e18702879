//! What the error handlers of communicators, windows and files do with failures.

use std::ffi::c_int;

use rank_channel::Post;

use crate::abi::{self, class};
use crate::failure::{Failure, Outcome, Reaction};
use crate::process::{self, Process};

/// Ends the run: the simulator says why, and ends all other ranks.
pub(crate) fn abort(process: &mut Process, status: c_int, message: String) -> ! {
    process.end.end(&Post::Abort { status, message });
    std::process::exit(1)
}

/// The return value of a call.
pub(crate) fn code(call: &str, outcome: Outcome<()>) -> c_int {
    match outcome {
        Ok(()) => class::SUCCESS,
        Err(failure) => {
            react(&failure, call);
            failure.class
        }
    }
}

/// Does what the error handler of a failure's communicator does.
pub(crate) fn react(failure: &Failure, call: &str) {
    let on = failure.communicator;
    let on = on
        .unwrap_or_else(|| process::with(|p| Ok(p.communicators.without_object())).unwrap_or(abi::COMM_SELF));
    let message = || format!("{call}: {}: {}", class::text(failure.class), failure.text);
    let reaction = process::with(|process| Ok(process.reaction(on)));
    match reaction {
        Ok(Reaction::Return) => {}
        Ok(Reaction::Call(handler)) => {
            // Safety: the program has given the function as an error handler.
            unsafe { (handler.call)(handler.function, on, failure.class) };
        }
        Ok(Reaction::Fatal) => {
            let aborted =
                process::with(|process| -> Outcome<()> { abort(process, failure.class, message()) });
            debug_assert!(aborted.is_err());
        }
        // Before MPI_Init or after MPI_Finalize there is no simulator to tell.
        Err(_) => {
            eprintln!("{}", message());
            std::process::exit(1)
        }
    }
}
