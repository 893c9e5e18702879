//! Credit batching: credits of an input VC return together, as one event for each batch.
//!
//! # Theorem
//! Until a packet lacks credits, the times at which credits return have no effect on any other event.
//!
//! # Preconditions
//! - Routers and NICs ask only whether credits suffice, and report each packet for which they do not: oblivious
//!   routing, and models of routers and NICs that report such waits.
//! - A credit counts bytes: under bubble flow control it counts slots.
//! - No time series of links, hosts or VCs: their rows come in the order of events, those of credits included.
//! - No checkpoint is written or resumed: the run could not begin again.
//! - The end of the run is known, or depends on arrivals only (a drain phase), and all jobs are synthetic traffic. A
//!   run that ends with its last event may end with a credit; ranks fill buffers at once, so that the attempt would be
//!   lost.
//! - Each VC's buffer has space for 16 of the largest packets, so that batches are worth an attempt.
//!
//! # Proof
//! A batch sets out when it is complete, and not before the tail of its last packet has left: credits come late, never
//! early, and the credit delay of the routers is the same for both. So a sender never has more credits than it would
//! have with each credit by itself. As long as they suffice for each packet, they would have sufficed then, too, and
//! all packets leave at the same times. The first packet that lacks credits might have found enough: the attempt ends
//! there, and the run begins again with each credit by itself. So does a run without an event left, whose end the last
//! credit would have set.
//!
//! # Test
//! `crates/sim/tests/suite/credits.rs` compares runs with and without it, at all loads, on all executors and several
//! processes. The audit at the end of each run counts pending credits.

use des::Time;
use experiment::{CreditSetting, Series};
use serde::{Deserialize, Serialize};

use super::{Declared, Requested};

/// Part of the smallest buffer of a VC that is one batch, whatever the buffer. It is so small that pending credits are
/// seldom missed.
const PART: u32 = 8;

/// Least number of largest packets in a batch that is worth an attempt.
const LEAST: u32 = 2;

/// How credits return in one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreditBatching {
    /// Bytes of a batch; 0: each credit returns by itself.
    batch: u32,
}

impl CreditBatching {
    /// Each credit returns by itself.
    pub const OFF: CreditBatching = CreditBatching { batch: 0 };

    /// Whether credits return in batches, and a packet that lacks credits ends the attempt.
    #[inline(always)]
    pub fn is_on(self) -> bool {
        self.batch > 0
    }

    /// Name in the summary.
    pub fn name(self) -> &'static str {
        if self.is_on() { "batches" } else { "each" }
    }
}

/// The shortcut, if its preconditions hold.
pub fn applies(requested: &Requested, declared: &Declared) -> Option<CreditBatching> {
    let batch = declared.vc_buffer / PART;
    let invisible = declared.router.reports_credit_waits
        && declared.nic.reports_credit_waits
        && declared.oblivious
        && !declared.packet_slots
        && requested.series < Series::Links
        && requested.whole
        && requested.until.is_some()
        && !requested.ranks;
    let worth = batch >= LEAST.saturating_mul(declared.packet);
    let asked = requested.credits == CreditSetting::Auto;
    (asked && invisible && worth).then_some(CreditBatching { batch })
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
    pub fn new(batching: CreditBatching, ports: usize, vcs: u8) -> CreditBatches {
        let ports = if batching.is_on() { ports } else { 0 };
        CreditBatches {
            pending: vec![0; ports * usize::from(vcs)].into(),
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

    /// Adds the credit of a packet whose tail leaves at `tail`. Returns the step that undoes it, and a batch that is
    /// complete: its bytes, and when it may set out.
    #[inline(always)]
    pub fn add(
        &mut self,
        batching: CreditBatching,
        (port, vc): (u16, u8),
        bytes: u32,
        tail: Time,
    ) -> (CreditBatchesUndo, Option<(u32, Time)>) {
        let index = self.index(port, vc);
        let pending = &mut self.pending[index];
        let undo = CreditBatchesUndo {
            port,
            vc,
            pending: *pending,
            last_tail: self.last_tail,
        };
        self.last_tail = self.last_tail.max(tail);
        *pending += bytes;
        let complete = *pending >= batching.batch;
        let batch = complete.then(|| (std::mem::take(pending), self.last_tail));
        (undo, batch)
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

    /// Prefetches the memory that the router's next credits touch.
    #[inline]
    pub fn prefetch(&self) {
        des::prefetch(&*self.pending);
    }

    /// Prefetches the memory that a credit of an input port touches.
    #[inline]
    pub fn prefetch_port(&self, port: u16) {
        if let Some(pending) = self.pending.get(self.index(port, 0)) {
            des::prefetch(pending);
        }
    }
}
