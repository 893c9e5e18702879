//! Collection: records on their way from LPs to tables, during the run.
//!
//! An LP emits [`Record`](crate::lp::net_event::Record)s, which are small plain values. The kernel commits them in
//! the total order. Sums by link class and job need no order: where it can, a worker adds them up in its [`BinTally`].
//! The [`Collector`] turns them into rows, which stream to the disk. Collected data are the same for every executor,
//! and the simulation does not depend on them. [`CollectSetting`], the table `[collect]` of the experiment, selects the
//! records. `docs/methods/collection.md` describes collection for users.

mod bin_tally;
mod bins;
mod blocks;
mod collector;
mod deliveries;
mod host_sampler;
mod link_sums;
pub mod message_history;
mod plan;
mod repetitions;
mod router_sampler;
mod sampled_link;
pub(crate) mod setting;

pub use bin_tally::{BinTally, SentAtOnce, TallyStep};
pub use bins::Bins;
pub use blocks::MOST_BLOCKS;
pub use collector::{COLLECTED, Collector, CollectorState};
pub use host_sampler::{HostSampler, HostSamples, HostView, RailView};
pub use plan::Plan;
pub use router_sampler::{RouterSampler, RouterSamplerUndo, RouterSamples};
pub use sampled_link::SampledVc;
pub(crate) use setting::MOST_TALLIED;
pub use setting::{CollectSetting, Series};
