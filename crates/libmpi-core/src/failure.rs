//! Why calls fail.

use std::ffi::c_int;

use crate::callbacks::ErrorHandler;

/// Why a call fails.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub class: c_int,
    pub text: String,
    /// The communicator, window or file whose error handler decides; `MPI_COMM_SELF`'s for others.
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

    /// With the communicator, window or file in which it happened.
    pub fn on(self, communicator: c_int) -> Failure {
        Failure {
            communicator: Some(communicator),
            ..self
        }
    }
}

/// What the error handler of a communicator, window or file does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reaction {
    Fatal,
    Return,
    Call(ErrorHandler),
}
