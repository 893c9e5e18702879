//! The discrete-event kernel: logical processes (LPs) that interact only through timestamped events,
//! one total order of those events, and executors that all produce it.
//!
//! Knows nothing of what the LPs model. Sources: Fujimoto, *Parallel and Distributed Simulation Systems*
//! (2000); Nicol, *The cost of conservative synchronization in parallel discrete event simulations*
//! (JACM 1993; YAWNS windows); McGlohon and Carothers, arXiv 2105.00069 (deterministic tie-breaking).

mod barrier;
mod commit;
mod conservative;
mod control;
mod event;
mod event_signer;
mod gather;
mod model;
mod optimistic;
mod partition;
mod prefetch;
mod processes;
mod queue;
mod random;
mod reverse_check;
mod run;
mod sequential;
mod slot;
mod snapshot;
mod sync;
mod team;
mod time;

pub use control::Control;
pub use event::{Event, Key, LpId};
pub use model::{Context, Journal, Model, Purpose};
pub use partition::Partition;
pub use prefetch::{prefetch, prefetch_begin};
pub use processes::{Processes, SingleProcess};
pub use random::{RandomStream, philox2x64};
pub use run::{Anatomy, Executor, Finished, Observer, Optimism, Run, RunEnd, Settings, ThreadSeconds, run};
pub use slot::Lps;
pub use snapshot::{SavedLp, Snapshot};
pub use time::Time;
