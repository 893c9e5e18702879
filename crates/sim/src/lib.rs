//! One experiment in, one result out.
//!
//! [`run`] wraps the parts of an [`experiment::Experiment`] in logical processes, runs the kernel, checks that nothing
//! was lost, and returns a [`results::RunResult`]. [`run_in`] also supports several processes and checkpoints.
//! [`run_with_interference`] also runs each job alone. A [`Session`] is stepped from outside. [`check`] says what an
//! experiment builds and needs.

mod check;
mod checkpoint;
mod collect;
mod error;
mod interference;
mod lp;
mod memory;
mod outcome;
mod recordings;
mod run;
mod session;

pub use check::{CheckSummary, check};
pub use checkpoint::{Checkpoint, Checkpoints, Every};
pub use collect::COLLECTED;
pub use error::{Error, SessionError};
pub use interference::run_with_interference;
pub use memory::refuse_too_large;
pub use recordings::leave_operations;
pub use run::{RunContext, RunControl, run, run_in};
pub use session::{DeliveredMessage, Session};

/// Names of the tables that the folder of a running simulation may contain: the description of the network, and the
/// collected tables.
pub fn running_tables() -> impl Iterator<Item = &'static str> {
    outcome::inventory::KNOWN_BEFORE.iter().chain(COLLECTED).copied()
}
