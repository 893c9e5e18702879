//! Samples a router: its links, their buffers and its packets.

use des::Time;
use fabric::Flow;
use fabric::router::Router;
use serde::{Deserialize, Serialize};
use topology::{Port, RouterId};

use super::plan::{Plan, RouterLinks};
use super::sampled_link::{SampledLink, add, bytes_of_links, record_vc_use};
use crate::lp::net_event::{Record, VCS_PER_RECORD};
use crate::lp::simulation::Simulation;
use crate::outcome::not_begun::NotBegun;

/// Slot of a port without a cable.
const NO_SLOT: u16 = u16::MAX;

/// State of a router's sampler at the last sample: everything that changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouterSamples {
    /// Bin of the latest event; `None` before the first event.
    open: Option<u64>,
    slots: Vec<SampledLink>,
    /// Buffer space in use, by slot, then VC; empty unless VCs are sampled.
    vc_use: Vec<u32>,
    /// Packets received.
    received: u64,
}

/// The constant part of a router's sampler.
struct RouterSlots {
    /// Slot by port.
    slots: Box<[u16]>,
    /// Link number of the first slot, if each slot is one link.
    first: Option<u32>,
    vcs: u8,
    /// Buffer size of one VC at the far end by port, in bytes; empty unless each slot is one link.
    capacities: Box<[u32]>,
}

/// Samples a router.
pub struct RouterSampler {
    /// End of the open bin. A sample must precede the next event from then on. The largest time if nothing is
    /// sampled.
    until: Time,
    /// Packets received.
    received: u64,
    sampled: Option<Box<(RouterSlots, RouterSamples)>>,
}

/// One undo step of a sampler.
pub enum RouterSamplerUndo {
    /// A sample was taken.
    Sampled(Box<RouterSamples>),
    /// A packet was received.
    Received,
    /// A packet reserved a link in a later bin.
    LaterReservation {
        /// Output port.
        port: u16,
        /// Bytes.
        bytes: u32,
        /// The bin.
        bin: u64,
    },
}

impl RouterSampler {
    /// Memory of the sampler of a router with this number of ports, in bytes.
    pub fn bytes(plan: &Plan, ports: u64, vcs: u64) -> u64 {
        let capacities = plan.setting.series >= super::Series::Links;
        let bytes_per_port = 2 + if capacities { 4 } else { 0 };
        match plan.samples() {
            true => {
                size_of::<(RouterSlots, RouterSamples)>() as u64
                    + ports * bytes_per_port
                    + bytes_of_links(plan, ports, vcs)
            }
            false => 0,
        }
    }

    /// The sampler of an idle router.
    pub fn new(simulation: &Simulation, router: RouterId) -> RouterSampler {
        let plan = &simulation.plan;
        if !plan.samples() {
            return RouterSampler {
                until: Time::MAX,
                received: 0,
                sampled: None,
            };
        }
        let network = &simulation.network;
        let vcs = network.routing.vcs();
        let RouterLinks { classes, first } = plan.links_of(network, router);
        let mut slots: Vec<SampledLink> = Vec::new();
        let mut by_port = vec![NO_SLOT; classes.len()];
        for (place, class) in by_port.iter_mut().zip(classes) {
            let Some(class) = class else { continue };
            let known = match first {
                Some(_) => None,
                None => slots.iter().position(|slot| slot.class == class),
            };
            *place = known.unwrap_or_else(|| {
                slots.push(SampledLink {
                    class,
                    ..SampledLink::default()
                });
                slots.len() - 1
            }) as u16;
        }
        let vc_use = match first {
            Some(_) if plan.vcs() => slots.len() * usize::from(vcs),
            _ => 0,
        };
        let ports = match first {
            Some(_) => 0..network.topology.ports(router),
            None => 0..0,
        };
        let capacities = ports
            .map(|port| network.buffer_of_vc(network.topology.link_class(router, Port(port))))
            .collect();
        let router_slots = RouterSlots {
            slots: by_port.into(),
            first,
            vcs,
            capacities,
        };
        let samples = RouterSamples {
            open: None,
            slots,
            vc_use: vec![0; vc_use],
            received: 0,
        };
        RouterSampler {
            until: Time::ZERO,
            received: 0,
            sampled: Some(Box::new((router_slots, samples))),
        }
    }

    /// Whether a sample must precede an event at this time.
    #[inline(always)]
    pub fn is_due(&self, now: Time) -> bool {
        now >= self.until
    }

    /// Samples up to the bin of the event that is executed next. Returns the state before, if it may have to be
    /// restored.
    #[cold]
    #[inline(never)]
    pub fn sample(
        &mut self,
        plan: &Plan,
        switch: &Router,
        now: Time,
        reversible: bool,
        emit: &mut impl FnMut(Record),
    ) -> Option<Box<RouterSamples>> {
        let (router_slots, samples) = &mut **self.sampled.as_mut()?;
        let before = reversible.then(|| Box::new(samples.clone()));
        let bin = plan.bins().of(now);
        if let Some(open) = samples.open {
            let wanted = SampleInput {
                plan,
                router_slots,
                switch,
                received: self.received,
                not_begun: None,
            };
            wanted.sample(samples, open..bin, None, emit);
        }
        samples.open = Some(bin);
        self.until = plan.bins().end(bin);
        before
    }

    /// Takes the last samples, at the end of the run.
    pub fn finish(
        &self,
        plan: &Plan,
        switch: &Router,
        end: Time,
        not_begun: &NotBegun,
        emit: &mut impl FnMut(Record),
    ) {
        let Some(sampled) = &self.sampled else { return };
        let (router_slots, mut samples) = (&sampled.0, sampled.1.clone());
        let Some(open) = samples.open else { return };
        let wanted = SampleInput {
            plan,
            router_slots,
            switch,
            received: self.received,
            not_begun: Some(not_begun),
        };
        wanted.sample(&mut samples, open..plan.last_before(end) + 1, Some(end), emit);
    }

    /// Counts a received packet. Returns whether it was counted.
    #[inline(always)]
    pub fn receive(&mut self) -> bool {
        let samples = self.until != Time::MAX;
        self.received += u64::from(samples);
        samples
    }

    /// Whether a link reservation that begins at this time must be counted.
    #[inline(always)]
    pub fn is_later(&self, start: Time) -> bool {
        start >= self.until
    }

    /// Counts a link reservation in a later bin. Returns the bin.
    #[cold]
    #[inline(never)]
    pub fn note_later(&mut self, plan: &Plan, port: u16, start: Time, bytes: u32) -> Option<u64> {
        let (router_slots, samples) = &mut **self.sampled.as_mut()?;
        let bin = plan.bins().of(start);
        let slot = router_slots.slots[usize::from(port)];
        samples.slots.get_mut(usize::from(slot))?.add_later(bin, bytes);
        Some(bin)
    }

    /// Undoes one step.
    pub fn undo(&mut self, plan: &Plan, step: RouterSamplerUndo) {
        let Some(sampled) = &mut self.sampled else { return };
        let (router_slots, samples) = &mut **sampled;
        match step {
            RouterSamplerUndo::Sampled(before) => {
                *samples = *before;
                self.until = samples.open.map_or(Time::ZERO, |bin| plan.bins().end(bin));
            }
            RouterSamplerUndo::Received => self.received -= 1,
            RouterSamplerUndo::LaterReservation { port, bytes, bin } => {
                let slot = usize::from(router_slots.slots[usize::from(port)]);
                if let Some(slot) = samples.slots.get_mut(slot) {
                    slot.take_later(bin, bytes);
                }
            }
        }
    }

    /// All state that changes; `None` if nothing is sampled.
    pub fn state(&self) -> Option<(u64, &RouterSamples)> {
        self.sampled.as_ref().map(|sampled| (self.received, &sampled.1))
    }

    /// Whether it has state.
    pub fn samples(&self) -> bool {
        self.sampled.is_some()
    }

    /// Replaces the state by one that [`RouterSampler::state`] returned.
    ///
    /// # Errors
    /// The state belongs to another router, or the collection settings differ.
    pub fn restore(&mut self, plan: &Plan, received: u64, saved: RouterSamples) -> Result<(), String> {
        let Some(sampled) = &mut self.sampled else {
            return Ok(());
        };
        let samples = &mut sampled.1;
        let shape = |samples: &RouterSamples| (samples.slots.len(), samples.vc_use.len());
        if shape(samples) != shape(&saved) {
            return Err("the router was sampled differently".into());
        }
        self.received = received;
        self.until = saved.open.map_or(Time::ZERO, |bin| plan.bins().end(bin));
        *samples = saved;
        Ok(())
    }
}

/// The inputs of a sample.
struct SampleInput<'a> {
    plan: &'a Plan,
    router_slots: &'a RouterSlots,
    switch: &'a Router,
    received: u64,
    /// At the end of the run: reservations that had not begun.
    not_begun: Option<&'a NotBegun>,
}

impl SampleInput<'_> {
    /// Samples successive bins while anything happens in them.
    fn sample(
        &self,
        samples: &mut RouterSamples,
        bins: std::ops::Range<u64>,
        run_end: Option<Time>,
        emit: &mut impl FnMut(Record),
    ) {
        for bin in bins {
            let mut end = self.plan.bins().end(bin);
            let mut is_last = false;
            if let Some(run_end) = run_end {
                is_last = end >= run_end;
                end = end.min(run_end);
            }
            let goes_on = match self.router_slots.first {
                Some(first) => self.sample_links(samples, first, bin, end, is_last, emit),
                None => self.sample_classes(samples, bin, end, is_last, emit),
            };
            if !goes_on {
                break;
            }
        }
    }

    /// What the link at a port has carried up to the end of a bin, and the reservations after that.
    fn flow(
        &self,
        port: u16,
        slot: Option<&SampledLink>,
        bin: u64,
        end: Time,
        is_last: bool,
    ) -> (Flow, (u64, u64)) {
        let mut flow = self.switch.used(port, end).total;
        let later = match (self.not_begun, slot) {
            (Some(not_begun), _) if is_last => {
                let key = (self.switch.id(), Port(port));
                not_begun.get(&key).copied().unwrap_or_default()
            }
            (_, Some(slot)) => slot.after(bin),
            _ => (0, 0),
        };
        flow.packets = flow.packets.saturating_sub(later.0);
        flow.bytes = flow.bytes.saturating_sub(later.1);
        (flow, later)
    }

    /// Samples each link. Returns whether anything happens after the bin.
    fn sample_links(
        &self,
        samples: &mut RouterSamples,
        first: u32,
        bin: u64,
        end: Time,
        is_last: bool,
        emit: &mut impl FnMut(Record),
    ) -> bool {
        let (mut goes_on, mut sent, number) = (false, 0, bin as u32);
        let vcs = usize::from(self.router_slots.vcs);
        for (port, index) in (0..).zip(&self.router_slots.slots) {
            let index = usize::from(*index);
            let Some(slot) = samples.slots.get_mut(index) else {
                continue;
            };
            let (flow, later) = self.flow(port, Some(slot), bin, end, is_last);
            while slot.later.front().is_some_and(|later| later.bin <= bin) {
                slot.later.pop_front();
            }
            goes_on |= !slot.later.is_empty() || self.switch.is_active(port, end);
            let flow = slot.advance(flow);
            sent += flow.packets;
            let is_to_router = slot.class > super::plan::EJECTION;
            let taken = match is_to_router {
                true => (0..self.router_slots.vcs)
                    .map(|vc| self.used(port, vc))
                    .fold(0, |sum, used| sum + u64::from(used)),
                false => 0,
            };
            let waiting_packets = self.switch.waiting_at(port).saturating_add(later.0 as u32);
            let waiting_bytes = self
                .switch
                .load(port)
                .saturating_sub(taken)
                .saturating_add(later.1);
            let link = first + index as u32;
            if slot.wait(waiting_packets, waiting_bytes) || !flow.is_nothing() {
                emit(Record::LinkSample {
                    bin: number,
                    link,
                    class: slot.class,
                    flow,
                    waiting_packets,
                    waiting_bytes,
                });
            }
            if is_to_router && let Some(vc_use) = samples.vc_use.get_mut(index * vcs..(index + 1) * vcs) {
                for (part, known) in vc_use.chunks_mut(VCS_PER_RECORD).enumerate() {
                    let capacity = self.router_slots.capacities[usize::from(port)];
                    let credits = |vc| self.switch.credits(port, vc);
                    let first_vc = part * VCS_PER_RECORD;
                    record_vc_use(number, link, first_vc, known, (capacity, credits), emit);
                }
            }
        }
        let received = (self.received - samples.received) as u32;
        samples.received = self.received;
        if sent > 0 || received > 0 {
            emit(Record::RouterSample {
                bin: number,
                router: self.switch.id().0,
                packets_sent: sent,
                packets_received: received,
            });
        }
        goes_on
    }

    /// Bytes in use of the buffer of a VC at the far end, if each slot is one link.
    fn used(&self, port: u16, vc: u8) -> u32 {
        self.router_slots.capacities[usize::from(port)].saturating_sub(self.switch.credits(port, vc))
    }

    /// Samples the sums by class. Returns whether anything happens after the bin.
    fn sample_classes(
        &self,
        samples: &mut RouterSamples,
        bin: u64,
        end: Time,
        is_last: bool,
        emit: &mut impl FnMut(Record),
    ) -> bool {
        let mut goes_on = false;
        let mut sums = [Flow::default(); 16];
        let mut more = Vec::new();
        let sums = match sums.get_mut(..samples.slots.len()) {
            Some(sums) => sums,
            None => {
                more.resize(samples.slots.len(), Flow::default());
                &mut more[..]
            }
        };
        for (port, index) in (0..).zip(&self.router_slots.slots) {
            let Some(sum) = sums.get_mut(usize::from(*index)) else {
                continue;
            };
            add(sum, self.flow(port, None, bin, end, is_last).0);
            goes_on |= self.switch.is_active(port, end);
        }
        for (slot, mut flow) in samples.slots.iter_mut().zip(sums.iter().copied()) {
            if self.not_begun.is_none() || !is_last {
                let later = slot.after(bin);
                flow.packets = flow.packets.saturating_sub(later.0);
                flow.bytes = flow.bytes.saturating_sub(later.1);
            }
            while slot.later.front().is_some_and(|later| later.bin <= bin) {
                slot.later.pop_front();
            }
            goes_on |= !slot.later.is_empty();
            let (class, flow) = (slot.class, slot.advance(flow));
            if !flow.is_nothing() {
                let bin = bin as u32;
                emit(Record::ClassSample { bin, class, flow });
            }
        }
        goes_on
    }
}
