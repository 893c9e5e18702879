//! One experiment in, one result out. This crate is the only one that sees all others.
//!
//! [`Experiment`] reads the file and builds the parts. [`run`] wraps them in logical processes, runs the kernel,
//! checks that nothing was lost, and returns a [`results::RunResult`]. [`run_in`] also supports several processes and
//! checkpoints. [`run_with_interference`] also runs each job alone.

mod bounds;
mod check;
mod checkpoint;
mod collect;
mod draft;
mod error;
mod estimate;
mod idle_path;
mod interference;
mod lp;
mod outcome;
mod run;
mod setup;

pub use bounds::{Effort, bounds};
pub use check::{CheckReport, check};
pub use checkpoint::{Checkpoint, Checkpoints, Every};
pub use collect::COLLECTED;
pub use draft::{DraftNetwork, DraftRequest, DraftWorkload, Equal, ExperimentDraft, draft};
pub use error::Error;
pub use estimate::{WorkEstimate, work};
pub use interference::run_with_interference;
pub use run::{RunContext, RunControl, run, run_in};
pub use setup::collect::{CollectSetting, Series};
pub use setup::experiment::{CreditSetting, Experiment, RunSetting};
pub use setup::job::{Job, JobKind, RankJob, TrafficJob};
pub use setup::job_trace::TraceSchedule;
pub use setup::listing::{Listing, PART_KINDS, listing};
pub use setup::network::{LinkSetting, MemorySetting, NetworkModel, Plane};
pub use setup::network_preset::{Origin, PresetValue};
pub use setup::rails::{EndPoint, Rails};
pub use setup::sizing::NetworkSizing;
pub use workload::{Interpreter, Interpreters};

/// Names of the tables that the folder of a running simulation may contain: the description of the network, and the
/// collected tables.
pub fn running_tables() -> impl Iterator<Item = &'static str> {
    outcome::inventory::KNOWN_BEFORE.iter().chain(COLLECTED).copied()
}
