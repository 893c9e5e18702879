//! One experiment in, its parts out: the network, the jobs on their hosts, the settings of the run.
//!
//! [`Experiment`] reads the file. [`bounds`] and [`work`] tell what its parts allow and cost, without a run. [`draft`]
//! writes experiments. This crate does not know logical processes or events; the crate `sim` runs what is built here.

mod bounds;
mod draft;
mod error;
mod estimate;
mod idle_path;
mod setup;

pub use bounds::{Effort, bounds};
pub use draft::{DraftCosts, DraftNetwork, DraftRequest, DraftWorkload, Equal, ExperimentDraft, draft};
pub use error::Error;
pub use estimate::{WorkEstimate, work};
pub use setup::collect::{Bins, CollectSetting, MOST_TALLIED, Periods, Series};
pub use setup::experiment::{CreditSetting, Experiment, ExperimentSource, RunSetting};
pub use setup::job::{Job, JobKind, RankJob, TrafficJob};
pub use setup::job_trace::TraceSchedule;
pub use setup::listing::{Listing, PART_KINDS, listing};
pub use setup::network::{LinkSetting, MemorySetting, NetworkModel, Plane};
pub use setup::network_preset::{Origin, PresetValue};
pub use setup::occupants::HostOccupants;
pub use setup::power::PowerSetting;
pub use setup::rails::{EndPoint, MAX_RAILS, RailChoice, Rails};
pub use setup::router_models::RouterModels;
pub use setup::sizing::NetworkSizing;
pub use workload::{Interpreter, Interpreters};
