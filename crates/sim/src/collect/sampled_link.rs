//! Links as samplers see them, one by one or by class. Each LP samples itself.
//!
//! An LP takes a sample when the first event after the end of a bin reaches it, or at the end of the run. Its state
//! has not changed since the end of the bin. What its links did after the last event (transmit reserved packets, or
//! stall) follows from the state. Sampling needs no events, changes nothing that is simulated, and costs an idle LP
//! nothing.
//!
//! A sample is the difference of counters that the LP has anyway. The sampler counts two things itself: packets of
//! the model `packet` whose link reservation begins in a later bin, and, if VCs are sampled, the peaks of their levels
//! and the packets that wait for each.

use fabric::Flow;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::plan::Plan;
use crate::lp::net_event::{BinFlow, VcLevels};

/// One link, or all links of one class, sampled together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampledLink {
    pub class: u8,
    /// Flow up to the last sample.
    pub flow: Flow,
    /// Packets that waited at the last sample.
    pub waiting_packets: u32,
    pub waiting_bytes: u64,
    /// Packets whose link reservation begins in a later bin, by ascending bin.
    pub later: SmallVec<[LaterReservations; 1]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaterReservations {
    pub bin: u64,
    packets: u32,
    bytes: u64,
}

impl SampledLink {
    /// Packets and bytes whose link reservation begins after a bin.
    pub fn after(&self, bin: u64) -> (u64, u64) {
        let later = self.later.iter().rev().take_while(|later| later.bin > bin);
        later.fold((0, 0), |(packets, bytes), later| {
            (packets + u64::from(later.packets), bytes + later.bytes)
        })
    }

    pub fn add_later(&mut self, bin: u64, bytes: u32) {
        // Nearly always the last entry.
        let place = self.later.iter().rposition(|later| later.bin <= bin);
        match place {
            Some(index) if self.later[index].bin == bin => {
                self.later[index].packets += 1;
                self.later[index].bytes += u64::from(bytes);
            }
            _ => self.later.insert(
                place.map_or(0, |index| index + 1),
                LaterReservations {
                    bin,
                    packets: 1,
                    bytes: u64::from(bytes),
                },
            ),
        }
    }

    pub fn take_later(&mut self, bin: u64, bytes: u32) {
        let Some(index) = self.later.iter().rposition(|later| later.bin == bin) else {
            return;
        };
        let later = &mut self.later[index];
        later.packets -= 1;
        later.bytes -= u64::from(bytes);
        if later.packets == 0 {
            self.later.remove(index);
        }
    }

    /// Sets the flow. Returns the difference to the last sample.
    pub fn advance(&mut self, flow: Flow) -> BinFlow {
        let last = std::mem::replace(&mut self.flow, flow);
        BinFlow {
            bytes: flow.bytes.saturating_sub(last.bytes),
            packets: flow.packets.saturating_sub(last.packets),
            busy_ps: flow.busy.saturating_sub(last.busy).ps(),
            buffer_full_ps: flow.buffer_full.saturating_sub(last.buffer_full).ps(),
        }
    }

    /// Sets the waiting packets and bytes. Returns whether they have changed.
    pub fn wait(&mut self, packets: u32, bytes: u64) -> bool {
        let before = (self.waiting_packets, self.waiting_bytes);
        (self.waiting_packets, self.waiting_bytes) = (packets, bytes);
        before != (packets, bytes)
    }
}

impl BinFlow {
    /// Adds another flow.
    pub fn add(&mut self, other: &BinFlow) {
        self.bytes += other.bytes;
        self.packets += other.packets;
        self.busy_ps += other.busy_ps;
        self.buffer_full_ps += other.buffer_full_ps;
    }

    pub fn is_nothing(&self) -> bool {
        *self == BinFlow::default()
    }
}

/// One VC of a link: its levels at the last sample, and their peaks since.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampledVc(VcLevels);

impl SampledVc {
    /// Raises the peaks to these levels.
    pub fn raise(&mut self, used: u32, waiting: u32) {
        self.0.used_max = self.0.used_max.max(used);
        self.0.waiting_max = self.0.waiting_max.max(waiting);
    }

    /// Ends a bin with these levels. Returns the levels of the bin, if they are not one constant known from before.
    pub fn close(&mut self, used: u32, waiting: u32) -> Option<VcLevels> {
        self.raise(used, waiting);
        let before = self.0;
        let levels = VcLevels {
            used,
            waiting,
            ..before
        };
        // The next bin begins with the levels at the end of this one.
        self.0 = VcLevels {
            used,
            used_max: used,
            waiting,
            waiting_max: waiting,
        };
        (levels != self.0 || levels != before).then_some(levels)
    }
}

/// Memory of the samples of this number of links of one LP, in bytes.
pub fn bytes_of_links(plan: &Plan, links: u64, vcs: u64) -> u64 {
    let details = plan.setting.series >= super::Series::Links;
    // An LP has links of about this many classes.
    let slots = if details { links } else { links.min(3) };
    let vcs = if plan.vcs() { links * vcs } else { 0 };
    slots * size_of::<SampledLink>() as u64 + vcs * size_of::<SampledVc>() as u64
}
