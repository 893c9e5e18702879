//! The discrete-event kernel: logical processes (LPs) that interact only through time-stamped events, one total order
//! of those events, and executors that all produce it.
//!
//! The kernel is independent of what the LPs model. Sources: Fujimoto, *Parallel and Distributed Simulation Systems*
//! (2000); Nicol, *The cost of conservative synchronization in parallel discrete event simulations* (JACM 1993; YAWNS
//! windows); McGlohon and Carothers, arXiv 2105.00069 (deterministic tie-breaking).

mod auto;
mod barrier;
mod commit;
mod conservative;
mod control;
mod event;
mod event_signer;
mod executor;
mod fewer_threads;
mod gather;
mod gears;
mod leg;
mod lps;
mod model;
mod optimistic;
mod partition;
mod pending;
mod prefetch;
mod processes;
mod queue;
mod random;
mod reverse_check;
mod run;
mod sequential;
mod service;
mod settings;
mod snapshot;
mod statistics;
mod sync;
mod tally;
mod team;
mod time;
mod windows;

pub use control::Control;
pub use event::{Event, Key, LpId};
pub use executor::run;
pub use lps::Lps;
pub use model::{Context, Journal, Model, Purpose, TallyStep};
pub use partition::Partition;
pub use prefetch::{prefetch, prefetch_begin};
pub use processes::{Processes, SingleProcess};
pub use random::{RandomStream, philox2x64};
pub use run::{Finished, Observer, Run, RunEnd};
pub use settings::{Executor, Optimism, Pace, Settings};
pub use snapshot::{SavedLp, Snapshot};
pub use statistics::{EngineStatistics, GearTime, ThreadSeconds};
pub use tally::Tally;
pub use time::Time;
