//! What is collected while a run goes on: records on their way from LPs to tables.
//!
//! An LP notes what has happened as [`Record`](crate::lp::net_event::Record)s, small plain values. The kernel commits them
//! in the total order, and the [`Collector`] makes rows of them, which stream to the disk. So what is collected is
//! the same for every executor, and nothing simulated depends on it. Which records there are, the table `[collect]`
//! of the experiment decides ([`CollectSetting`]). How it works, for users: `docs/methods/collection.md`.

mod bins;
mod collector;
pub mod message_history;
mod plan;
mod sampler;
pub(crate) mod setting;

pub use bins::Bins;
pub use collector::{COLLECTED, Collector, CollectorState};
pub use plan::Plan;
pub use sampler::{
    HostSampler, HostSamples, HostSeen, RailSeen, RouterSampler, RouterSamplerUndo, RouterSamples,
    bytes_of_samples,
};
pub use setting::{CollectSetting, Series};
