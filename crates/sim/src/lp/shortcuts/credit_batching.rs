//! How credits go back: each by itself, or in batches where nobody can tell.
//!
//! While no packet finds too little room for it, nothing depends on when a credit comes: whether there is room for
//! a packet is all that routers and NICs ask, and credits that come late can only make it look less than it is. So
//! a run may let routers keep credits for batches, which spares it nearly all of their events. Should a packet find
//! too little room, all that happened before is what would have happened anyway, but what happens next is not known:
//! the run begins anew, with each credit by itself. Either way the results are the same, to the last bit.

use des::{Context, Time};
use serde::{Deserialize, Serialize};

use crate::collect::Series;
use crate::lp::model::{Simulation, Undo};
use crate::run::RunContext;
use crate::setup::experiment::Experiment;
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
        let invisible = network.model.allows_credit_batches()
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

/// Credits of one router that wait until a batch is complete.
#[derive(Serialize, Deserialize)]
pub struct CreditBatches {
    /// Bytes by input port, then VC; empty where each credit goes back by itself.
    pending: Box<[u32]>,
    vcs: u8,
    /// When the last tail leaves of the packets whose credits have been pending. One for all VCs: a credit may come
    /// late, but not early.
    last_tail: Time,
}

/// State of a router's batches before a credit was added.
pub struct CreditBatchesUndo {
    port: u16,
    vc: u8,
    pending: u32,
    last_tail: Time,
}

impl CreditBatches {
    /// Memory of one VC of one port, in bytes.
    pub const BYTES_PER_VC: u64 = size_of::<u32>() as u64;

    /// Empty batches of a router.
    pub fn new(credits: Credits, ports: usize, vcs: u8) -> CreditBatches {
        let pending = if credits == Credits::EACH {
            0
        } else {
            ports * usize::from(vcs)
        };
        CreditBatches {
            pending: vec![0; pending].into(),
            vcs,
            last_tail: Time::ZERO,
        }
    }

    fn index(&self, port: u16, vc: u8) -> usize {
        usize::from(port) * usize::from(self.vcs) + usize::from(vc)
    }

    /// Bytes that have left the input buffer of a VC of `port`, and whose credits wait for a batch.
    pub fn pending(&self, port: u16, vc: u8) -> u32 {
        self.pending.get(self.index(port, vc)).copied().unwrap_or(0)
    }

    /// Adds the credit of a packet whose tail leaves after `after`. Returns a complete batch: its bytes, and the time
    /// until it may set out.
    #[inline]
    pub fn add<C: Context<Simulation>>(
        &mut self,
        credits: Credits,
        (port, vc): (u16, u8),
        bytes: u32,
        after: Time,
        context: &mut C,
    ) -> Option<(u32, Time)> {
        let now = context.now();
        let index = self.index(port, vc);
        let pending = &mut self.pending[index];
        if C::REVERSIBLE {
            context.undo(Undo::CreditBatches(CreditBatchesUndo {
                port,
                vc,
                pending: *pending,
                last_tail: self.last_tail,
            }));
        }
        self.last_tail = self.last_tail.max(now + after);
        *pending += bytes;
        if *pending < credits.batch {
            return None;
        }
        Some((std::mem::take(pending), self.last_tail - now))
    }

    /// Undoes one [`CreditBatches::add`].
    pub fn undo(&mut self, step: CreditBatchesUndo) {
        let index = self.index(step.port, step.vc);
        self.pending[index] = step.pending;
        self.last_tail = step.last_tail;
    }

    /// Replaces the state by a saved one.
    ///
    /// # Errors
    /// The saved state is that of another router.
    pub fn restore(&mut self, saved: CreditBatches) -> Result<(), String> {
        if (saved.pending.len(), saved.vcs) != (self.pending.len(), self.vcs) {
            return Err("its credit batches are those of another router".into());
        }
        *self = saved;
        Ok(())
    }

    /// Asks for the memory that the router's next credits will touch.
    #[inline]
    pub fn prefetch(&self) {
        des::prefetch(&*self.pending);
    }

    /// Asks for the memory that a credit of an input port will touch.
    #[inline]
    pub fn prefetch_port(&self, port: u16) {
        if let Some(pending) = self.pending.get(self.index(port, 0)) {
            des::prefetch(pending);
        }
    }
}
