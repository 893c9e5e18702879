//! One experiment in, one result out: the only crate that sees all the others.
//!
//! [`Experiment`] reads the file and builds the parts; [`run`] makes logical processes of them, runs the
//! kernel, checks that nothing was lost, and gathers a [`results::RunResult`]. [`run_in`] does so with other
//! processes, writes checkpoints and goes on from them. [`run_with_interference`] also runs each job alone.

mod bounds;
mod checkpoint;
mod collect;
mod error;
mod interference;
mod lp;
mod outcome;
mod run;
mod setup;

pub use bounds::{Effort, bounds};
pub use checkpoint::{Checkpoint, Checkpoints, Every};
pub use collect::{COLLECTED, CollectSetting, Series};
pub use error::Error;
pub use interference::run_with_interference;
pub use run::{Control, RunContext, run, run_in};
pub use setup::check::{CheckReport, check};
pub use setup::experiment::{CreditSetting, Experiment, LinkSetting, Network, Plane, RunSetting};
pub use setup::job::{Job, JobKind, RankJob, TrafficJob};
pub use setup::listing::{Listing, PART_KINDS, listing};
pub use setup::rails::{EndPoint, Rails};
pub use workload::{Interpreter, Interpreters};

/// Names of the tables that the folder of a run under way may hold: what is known of the network from the beginning,
/// and what is collected.
pub fn running_tables() -> impl Iterator<Item = &'static str> {
    outcome::inventory::KNOWN_BEFORE.iter().chain(COLLECTED).copied()
}
