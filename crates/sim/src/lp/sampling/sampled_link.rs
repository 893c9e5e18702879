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

use des::Time;
use experiment::Series;
use fabric::Flow;
use serde::{Deserialize, Serialize};

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
    /// Packets whose link reservation begins in the bin after the open one. Most of those that begin later are here.
    next: Reservations,
    /// Packets whose link reservation begins in a bin after that, by ascending bin.
    later: Vec<(u64, Reservations)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Reservations {
    packets: u64,
    bytes: u64,
}

impl Reservations {
    #[inline(always)]
    fn add(&mut self, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }

    fn take(&mut self, bytes: u32) {
        self.packets -= 1;
        self.bytes -= u64::from(bytes);
    }
}

impl SampledLink {
    /// An idle link of a class.
    pub fn of_class(class: u8) -> SampledLink {
        SampledLink {
            class,
            ..SampledLink::default()
        }
    }

    /// Packets and bytes whose link reservation begins after the open bin; `None` if there are none.
    #[inline]
    pub fn after_open(&self) -> Option<(u64, u64)> {
        if self.next.packets == 0 && self.later.is_empty() {
            return None;
        }
        let next = (self.next.packets, self.next.bytes);
        let all = self.later.iter().fold(next, |(packets, bytes), (_, later)| {
            (packets + later.packets, bytes + later.bytes)
        });
        Some(all)
    }

    /// Makes the bin after `open` the open one.
    pub fn open_next(&mut self, open: u64) {
        self.next = match self.later.first() {
            Some((bin, _)) if *bin == open + 2 => self.later.remove(0).1,
            _ => Reservations::default(),
        };
    }

    /// Adds a packet whose reservation begins in the bin after the open one.
    #[inline(always)]
    pub fn add_next(&mut self, bytes: u32) {
        self.next.add(bytes);
    }

    /// Adds a packet if its reservation begins in a bin after the open one. Returns the bin.
    #[cold]
    #[inline(never)]
    pub fn add_elsewhere(&mut self, plan: &Plan, (open, start): (u64, Time), bytes: u32) -> Option<u64> {
        let bin = plan.bins().of(start);
        if bin <= open {
            return None;
        }
        self.add_later(open, bin, bytes);
        Some(bin)
    }

    fn add_later(&mut self, open: u64, bin: u64, bytes: u32) {
        if bin == open + 1 {
            return self.next.add(bytes);
        }
        match self.later.binary_search_by_key(&bin, |(bin, _)| *bin) {
            Ok(index) => self.later[index].1.add(bytes),
            Err(index) => {
                let mut reservations = Reservations::default();
                reservations.add(bytes);
                self.later.insert(index, (bin, reservations));
            }
        }
    }

    /// Undoes [`SampledLink::add_next`] or [`SampledLink::add_elsewhere`].
    pub fn take_later(&mut self, open: u64, bin: u64, bytes: u32) {
        if bin == open + 1 {
            return self.next.take(bytes);
        }
        let Ok(index) = self.later.binary_search_by_key(&bin, |(bin, _)| *bin) else {
            return;
        };
        let later = &mut self.later[index].1;
        later.take(bytes);
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
    let details = plan.setting.series >= Series::Links;
    // An LP has links of about this many classes.
    let sampled = if details { links } else { links.min(3) };
    let vcs = if plan.vcs() { links * vcs } else { 0 };
    sampled * size_of::<SampledLink>() as u64 + vcs * size_of::<SampledVc>() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Reservations that begin after the open bin are those of a plain list, whatever is undone meanwhile.
        #[test]
        fn later_reservations_are_those_of_a_list(
            steps in proptest::collection::vec((0u64..4, 1u64..6, 1u32..100, any::<bool>()), 0..60),
        ) {
            let (mut link, mut open, mut list) = (SampledLink::of_class(0), 3, Vec::new());
            for (bins, ahead, bytes, undone) in steps {
                for _ in 0..bins {
                    link.open_next(open);
                    open += 1;
                    list.retain(|(bin, _)| *bin > open);
                }
                let (before, bin) = (link.clone(), open + ahead);
                link.add_later(open, bin, bytes);
                match undone {
                    true => {
                        link.take_later(open, bin, bytes);
                        prop_assert_eq!(&link, &before);
                    }
                    false => list.push((bin, u64::from(bytes))),
                }
                let all = (list.len() as u64, list.iter().map(|(_, bytes)| bytes).sum());
                prop_assert_eq!(link.after_open(), (all.0 > 0).then_some(all));
            }
        }
    }
}
