//! How credits go back: each by itself, or in batches where nobody can tell.
//!
//! While no packet finds too little room for it, nothing depends on when a credit comes: whether there is room for
//! a packet is all that routers and NICs ask, and credits that come late can only make it look less than it is. So
//! a run may let routers keep credits for batches, which spares it nearly all of their events. Should a packet find
//! too little room, all that happened before is what would have happened anyway, but what happens next is not known:
//! the run begins anew, with each credit by itself. Either way the results are the same, to the last bit.

use crate::collect::Series;
use crate::run::RunContext;
use crate::setup::experiment::{Experiment, RouterModel};
use crate::setup::job::Job;

/// Batches are this part of a buffer: small enough that what is kept is seldom missed.
const PART: u32 = 8;

/// Packets of a batch at least, for it to be worth the bookkeeping.
const LEAST: u32 = 2;

/// What the experiment asks for, `[run] credits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreditSetting {
    /// In batches, where that may well be invisible.
    Auto,
    /// Each by itself.
    Each,
}

impl CreditSetting {
    /// Names in experiments, in the order of the variants.
    pub const NAMES: [&str; 2] = ["auto", "each"];
}

/// How credits go back in one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credits {
    batch: u32,
}

impl Credits {
    /// Each by itself.
    pub const EACH: Credits = Credits { batch: 0 };

    /// For the first try of a run. Batches need that nothing looks at credits but for whether there is room: no
    /// adaptive routing, and no series of single links, hosts or VCs, whose rows come in the order of events, those of
    /// credits included. With a checkpoint a run could not begin anew. Ranks fill buffers at once, and a run of theirs
    /// ends with its last event, which may be that of a credit; synthetic traffic often does neither.
    pub fn choose(experiment: &Experiment, context: &RunContext<'_>) -> Credits {
        let network = &experiment.network;
        let room = network.buffer_of_vc(network.routing.vcs());
        let invisible = network.model == RouterModel::Packet
            && network.slot() == 0
            && network.routing.oblivious().is_some()
            && experiment.collect.series < Series::Links
            && context.checkpoints.is_none()
            && context.from.is_none()
            && experiment.run.until.is_some()
            && experiment.jobs.iter().all(Job::is_traffic);
        let batch = room / PART;
        let worth = batch >= LEAST.saturating_mul(network.packet);
        match experiment.run.credits {
            CreditSetting::Auto if invisible && worth => Credits { batch },
            _ => Credits::EACH,
        }
    }

    /// Bytes that routers keep for one credit; 0: none.
    #[inline]
    pub fn batch(self) -> u32 {
        self.batch
    }

    /// Name in the summary.
    pub fn name(self) -> &'static str {
        match self.batch {
            0 => "each",
            _ => "batches",
        }
    }
}
