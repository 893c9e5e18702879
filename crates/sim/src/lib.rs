//! One experiment in, one result out: the only crate that sees all the others.
//!
//! [`Experiment`] reads the file and builds the parts; [`run`] makes logical processes of them, runs the
//! kernel, checks that nothing was lost, and gathers a [`results::RunResult`]. [`run_in`] does so with other
//! processes, writes checkpoints and goes on from them. [`run_with_interference`] also runs each job alone.

mod audit;
mod bounds;
mod check;
mod checkpoint;
mod collect;
mod counts;
mod credits;
mod early_commit;
mod error;
mod experiment;
mod geometry;
mod host;
mod interference;
mod inventory;
mod job;
mod listing;
mod load_reports;
mod mapping;
mod message_history;
mod model;
mod named;
mod net_event;
mod outcome;
mod placement;
mod rails;
mod router_lp;
mod run;
mod termination_detector;
mod trace_record;
mod wait_cycles;
mod wiring;

pub use bounds::{Effort, bounds};
pub use check::{CheckReport, check};
pub use checkpoint::{Checkpoint, Checkpoints, Every};
pub use collect::{COLLECTED, CollectSetting, Series};
pub use credits::CreditSetting;
pub use error::Error;
pub use experiment::{Experiment, LinkSetting, Network, Plane, RouterModel, RunSetting};
pub use interference::run_with_interference;
pub use job::{Job, JobKind, RankJob, TrafficJob};
pub use listing::{Listing, PART_KINDS, listing};
pub use rails::{EndPoint, Rails};
pub use run::{Control, RunContext, run, run_in};
pub use workload::{Interpreter, Interpreters};

/// Names of the tables that the folder of a run under way may hold: what is known of the network from the beginning,
/// and what is collected.
pub fn running_tables() -> impl Iterator<Item = &'static str> {
    inventory::KNOWN_BEFORE.iter().chain(COLLECTED).copied()
}
