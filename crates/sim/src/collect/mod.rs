//! Collection: committed records on their way to tables, during the run.
//!
//! LPs emit [`Record`](crate::lp::net_event::Record)s. The kernel commits them in the total order. The [`Collector`]
//! turns them into rows, which stream to the disk. `crate::lp::sampling` has what LPs measure, and
//! [`CollectSetting`](experiment::CollectSetting), the table `[collect]` of the experiment, selects the
//! records. `docs/methods/collection.md` describes collection for users.

mod collector;
pub mod message_history;
mod repetitions;

pub use collector::{COLLECTED, Collector, CollectorState};
