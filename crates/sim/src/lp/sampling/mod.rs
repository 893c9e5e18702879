//! Sampling: what routers, hosts and workers measure over time.
//!
//! An LP samples itself at its next event after a bin and emits [`Record`](crate::lp::net_event::Record)s, which are
//! small plain values. Sums by link class and job need no order: where it can, a worker adds them up in its
//! [`BinTally`]. The [`Plan`] says what is sampled. Sampled data are the same for every executor, and the simulation
//! does not depend on them. Does not know the tables that records become.

mod bin_tally;
mod blocks;
mod deliveries;
mod host_sampler;
mod link_sums;
mod plan;
mod router_sampler;
mod sampled_link;
mod sent_sum;

pub use bin_tally::{BinTally, SentAtOnce, TallyStep};
pub use blocks::{BlockPair, Blocks, MOST_BLOCKS, SumsShape};
pub use host_sampler::{HostSampler, HostSamples, HostView, RailView};
pub use link_sums::LinkSums;
pub use plan::{INJECTION, Plan, link_classes};
pub use router_sampler::{RouterSampler, RouterSamplerUndo, RouterSamples};
pub use sampled_link::SampledVc;
pub use sent_sum::SentSum;
