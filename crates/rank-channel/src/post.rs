//! What a rank says, and what the simulator replies.

use operation::{Answer, Operation};
use serde::{Deserialize, Serialize};

use crate::Payload;

/// What a rank says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Post {
    /// An operation of MPI, or computation before one.
    Operation {
        /// The operation.
        operation: Operation,
        /// What it sends, or contributes to a collective.
        contribution: PostedData,
    },
    /// Reads the clock.
    Clock {
        /// Whether the clock was the last thing that the program asked, so that this is a loop that waits for it.
        again: bool,
    },
    /// `MPI_Finalize`: nothing follows.
    Finished,
    /// `MPI_Abort`, or an error under `MPI_ERRORS_ARE_FATAL`: the run ends.
    Abort {
        /// The exit status that the program wants.
        status: i32,
        /// What the rank tells about it.
        message: String,
    },
}

impl Post {
    /// An operation that moves no bytes of the program.
    pub fn of(operation: Operation) -> Post {
        Post::Operation {
            operation,
            contribution: PostedData::default(),
        }
    }
}

/// The bytes that an operation brings, and those that it needs from others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PostedData {
    /// What it brings; `None` for nothing.
    pub payload: Option<Payload>,
    /// Whose contributions a member of a collective gets at the end of it.
    pub needs: Needs,
}

/// Members of a communicator, by rank in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Needs {
    /// None of them.
    #[default]
    Nothing,
    /// One.
    Of(u32),
    /// All before this one.
    Before(u32),
    /// All.
    All,
}

/// What the simulator replies when the rank waits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// What the last operation brought.
    pub answer: Answer,
    /// Where the bytes of the received messages are, by position in the answer's list of completions.
    pub messages: Vec<(u32, Payload)>,
    /// Contributions to collectives that are complete: by request, or without one for a blocking collective. The list
    /// has an entry for each member that was needed, in their order.
    pub contributions: Vec<(Option<u64>, Vec<Option<Payload>>)>,
    /// Payloads of this rank that have no reader left.
    pub released: Vec<Payload>,
}
