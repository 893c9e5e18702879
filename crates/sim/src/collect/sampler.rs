//! Samplers: each LP samples itself.
//!
//! An LP takes a sample when the first event after the end of a bin reaches it, or at the end of the run. Its state
//! has not changed since the end of the bin. What its links did after the last event (transmit reserved packets, or
//! stall) follows from the state. Sampling needs no events, changes nothing that is simulated, and costs an idle LP
//! nothing.
//!
//! A sample is the difference of counters that the LP has anyway. The sampler counts one thing itself: packets of
//! the model `packet` whose link reservation begins in a later bin.

use std::collections::VecDeque;

use des::Time;
use fabric::Flow;
use fabric::router::Router;
use serde::{Deserialize, Serialize};
use topology::{HostId, RouterId};

use super::plan::{INJECTION, Plan, RouterLinks};
use crate::lp::counts::JobCounts;
use crate::lp::net_event::{BinFlow, Record, VCS_PER_RECORD};
use crate::lp::simulation::Simulation;
use crate::outcome::not_begun::NotBegun;
use crate::setup::job::JobKind;

/// Slot of a port without a cable.
const NO_SLOT: u16 = u16::MAX;

/// One link, or all links of one class, sampled together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct SampledLink {
    class: u8,
    /// Flow up to the last sample.
    flow: Flow,
    /// Packets that waited at the last sample.
    waiting_packets: u32,
    waiting_bytes: u64,
    /// Packets whose link reservation begins in a later bin, by ascending bin.
    later: VecDeque<LaterReservations>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct LaterReservations {
    bin: u64,
    packets: u32,
    bytes: u64,
}

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
    /// Buffer size of one VC at the far end, in bytes.
    capacity: u32,
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

impl SampledLink {
    /// Packets and bytes whose link reservation begins after a bin.
    fn after(&self, bin: u64) -> (u64, u64) {
        let later = self.later.iter().rev().take_while(|later| later.bin > bin);
        later.fold((0, 0), |(packets, bytes), later| {
            (packets + u64::from(later.packets), bytes + later.bytes)
        })
    }

    fn add_later(&mut self, bin: u64, bytes: u32) {
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

    fn take_later(&mut self, bin: u64, bytes: u32) {
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
    fn advance(&mut self, flow: Flow) -> BinFlow {
        let last = std::mem::replace(&mut self.flow, flow);
        BinFlow {
            bytes: flow.bytes.saturating_sub(last.bytes),
            packets: flow.packets.saturating_sub(last.packets) as u32,
            busy_ps: flow.busy.saturating_sub(last.busy).ps(),
            buffer_full_ps: flow.buffer_full.saturating_sub(last.buffer_full).ps(),
        }
    }

    /// Sets the waiting packets and bytes. Returns whether they have changed.
    fn wait(&mut self, packets: u32, bytes: u64) -> bool {
        let before = (self.waiting_packets, self.waiting_bytes);
        (self.waiting_packets, self.waiting_bytes) = (packets, bytes);
        before != (packets, bytes)
    }
}

fn add(sum: &mut Flow, flow: Flow) {
    sum.packets += flow.packets;
    sum.bytes += flow.bytes;
    sum.busy += flow.busy;
    sum.buffer_full += flow.buffer_full;
}

impl BinFlow {
    fn is_nothing(&self) -> bool {
        *self == BinFlow::default()
    }
}

/// Records the buffer space in use of up to [`VCS_PER_RECORD`] VCs, if any has changed.
fn record_vc_use(
    bin: u32,
    link: u32,
    first: usize,
    known: &mut [u32],
    used: impl Fn(u8) -> u32,
    emit: &mut impl FnMut(Record),
) {
    let (mut changed, mut now) = (0, [0; VCS_PER_RECORD]);
    for (index, known) in known.iter_mut().enumerate() {
        now[index] = used((first + index) as u8);
        if std::mem::replace(known, now[index]) != now[index] {
            changed |= 1 << index;
        }
    }
    if changed != 0 {
        emit(Record::VcSample {
            bin,
            link,
            first: first as u8,
            changed,
            used: now,
        });
    }
}

impl RouterSampler {
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
        let router_slots = RouterSlots {
            slots: by_port.into(),
            first,
            vcs,
            capacity: network.buffer_of_vc(vcs),
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
                let key = (self.switch.id(), topology::Port(port));
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
                    let used = |vc| self.used(port, vc);
                    record_vc_use(number, link, part * VCS_PER_RECORD, known, used, emit);
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

    fn used(&self, port: u16, vc: u8) -> u32 {
        self.router_slots
            .capacity
            .saturating_sub(self.switch.credits(port, vc))
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

/// State of a host's sampler at the last sample: everything that changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostSamples {
    /// Bin of the latest event; `None` before the first event.
    open: Option<u64>,
    /// One entry for each rail, or one for all of them.
    links: Vec<SampledLink>,
    /// Buffer space in use by rail; empty unless VCs are sampled.
    vc_use: Vec<u32>,
    /// Jobs in the order of the host's counts.
    jobs: Vec<JobCountsSeen>,
    packets_sent: u64,
    bytes_sent: u64,
    packets_received: u64,
    bytes_received: u64,
    queue_bytes: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct JobCountsSeen {
    messages_sent: u64,
    bytes_sent: u64,
    messages_received: u64,
    bytes_received: u64,
    packets_delivered: u64,
}

/// Samples a host.
pub struct HostSampler {
    /// See [`RouterSampler::until`].
    until: Time,
    details: bool,
    samples: Option<Box<HostSamples>>,
}

/// Memory of the sampler of one router or host with this number of links, in bytes.
pub fn bytes_of_samples(plan: &Plan, router: bool, links: u64, vcs: u64) -> u64 {
    if !plan.samples() {
        return 0;
    }
    let details = plan.setting.series >= super::Series::Links;
    // A router has links of about this many classes.
    let slots = if details { links } else { links.min(3) };
    let vc_use = if plan.vcs() { links * vcs } else { 0 };
    let samples = match router {
        true => size_of::<(RouterSlots, RouterSamples)>() as u64 + 2 * links,
        false => (size_of::<HostSamples>() + size_of::<JobCountsSeen>()) as u64,
    };
    samples + slots * size_of::<SampledLink>() as u64 + vc_use * 4
}

/// The state of one rail, as the sampler sees it.
pub struct RailView {
    /// What its link has carried up to the end of the bin.
    pub flow: Flow,
    /// Bytes in the queue.
    pub backlog: u64,
    /// Credits.
    pub credits: u32,
    /// Whether anything happens after the bin.
    pub is_active: bool,
}

/// The state of a host, as the sampler sees it.
pub struct HostView<'a, R> {
    /// Number of the host.
    pub id: HostId,
    /// State of a rail at a time.
    pub rail: R,
    /// Number of rails.
    pub rails: u32,
    /// Counts of the host.
    pub counts: &'a [JobCounts],
}

impl HostSampler {
    /// The sampler of a host before the run.
    pub fn new(simulation: &Simulation, host: HostId) -> HostSampler {
        let (plan, network) = (&simulation.plan, &simulation.network);
        if !plan.samples() {
            return HostSampler {
                until: Time::MAX,
                details: false,
                samples: None,
            };
        }
        // A host belongs to the router of its first rail.
        let (router, _) = network.attachment(host, 0);
        let details = plan.setting.details(router);
        let rails = network.rails.count() as usize;
        let (links, vc_use) = match details {
            true if plan.vcs() => (rails, rails),
            true => (rails, 0),
            false => (1, 0),
        };
        HostSampler {
            until: Time::ZERO,
            details,
            samples: Some(Box::new(HostSamples {
                links: vec![SampledLink::default(); links],
                vc_use: vec![0; vc_use],
                ..HostSamples::default()
            })),
        }
    }

    /// Whether a sample must precede an event at this time.
    #[inline(always)]
    pub fn is_due(&self, now: Time) -> bool {
        now >= self.until
    }

    /// As [`RouterSampler::sample`].
    pub fn sample<R: Fn(u32, Time) -> RailView>(
        &mut self,
        simulation: &Simulation,
        seen: &HostView<'_, R>,
        now: Time,
        reversible: bool,
        emit: &mut impl FnMut(Record),
    ) -> Option<Box<HostSamples>> {
        let samples = &mut **self.samples.as_mut()?;
        let before = reversible.then(|| Box::new(samples.clone()));
        let bins = simulation.plan.bins();
        let bin = bins.of(now);
        if let Some(open) = samples.open {
            for bin in open..bin {
                if !samples.sample(simulation, seen, self.details, (bin, bins.end(bin)), emit) {
                    break;
                }
            }
        }
        samples.open = Some(bin);
        self.until = bins.end(bin);
        before
    }

    /// As [`RouterSampler::finish`].
    pub fn finish<R: Fn(u32, Time) -> RailView>(
        &self,
        simulation: &Simulation,
        seen: &HostView<'_, R>,
        end: Time,
        emit: &mut impl FnMut(Record),
    ) {
        let Some(before) = &self.samples else { return };
        let Some(open) = before.open else { return };
        let mut samples = (**before).clone();
        let plan = &simulation.plan;
        for bin in open..=plan.last_before(end) {
            let bin_end = plan.bins().end(bin).min(end);
            if !samples.sample(simulation, seen, self.details, (bin, bin_end), emit) {
                break;
            }
        }
    }

    /// Restores the state before a sample.
    pub fn undo(&mut self, bins: super::Bins, before: Box<HostSamples>) {
        self.until = before.open.map_or(Time::ZERO, |bin| bins.end(bin));
        self.samples = Some(before);
    }

    /// All state that changes; `None` if nothing is sampled.
    pub fn state(&self) -> Option<HostSamples> {
        self.samples.as_deref().cloned()
    }

    /// Replaces the state by one that [`HostSampler::state`] returned.
    ///
    /// # Errors
    /// The state belongs to another host, or the collection settings differ.
    pub fn restore(&mut self, bins: super::Bins, saved: Option<HostSamples>) -> Result<(), String> {
        let shape = |samples: &HostSamples| (samples.links.len(), samples.vc_use.len());
        if self.samples.as_deref().map(shape) != saved.as_ref().map(shape) {
            return Err("the host was sampled differently".into());
        }
        if let Some(saved) = saved {
            self.undo(bins, Box::new(saved));
        }
        Ok(())
    }
}

impl HostSamples {
    /// Samples one bin, which ends at a time. Returns whether anything happens after it.
    fn sample<R: Fn(u32, Time) -> RailView>(
        &mut self,
        simulation: &Simulation,
        seen: &HostView<'_, R>,
        details: bool,
        (bin, end): (u64, Time),
        emit: &mut impl FnMut(Record),
    ) -> bool {
        let (network, bin) = (&simulation.network, bin as u32);
        let capacity = network.buffer_of_vc(network.routing.vcs());
        let (mut goes_on, mut all, mut queue_bytes) = (false, Flow::default(), 0);
        for rail in 0..seen.rails {
            let RailView {
                flow,
                backlog,
                credits,
                is_active,
            } = (seen.rail)(rail, end);
            goes_on |= is_active;
            queue_bytes += backlog;
            add(&mut all, flow);
            if !details {
                continue;
            }
            let link = seen.id.0 * seen.rails + rail;
            let slot = &mut self.links[rail as usize];
            let flow = slot.advance(flow);
            let packets = u32::try_from(backlog.div_ceil(u64::from(network.packet))).unwrap_or(u32::MAX);
            if slot.wait(packets, backlog) || !flow.is_nothing() {
                emit(Record::LinkSample {
                    bin,
                    link,
                    class: INJECTION,
                    flow,
                    waiting_packets: packets,
                    waiting_bytes: backlog,
                });
            }
            if let Some(known) = self.vc_use.get_mut(rail as usize..=rail as usize) {
                record_vc_use(bin, link, 0, known, |_| capacity.saturating_sub(credits), emit);
            }
        }
        if details {
            self.sample_host(seen, all, queue_bytes, bin, emit);
        } else {
            let flow = self.links[0].advance(all);
            if !flow.is_nothing() {
                let class = INJECTION;
                emit(Record::ClassSample { bin, class, flow });
            }
        }
        self.sample_jobs(simulation, seen.counts, bin, emit);
        goes_on
    }

    fn sample_host<R>(
        &mut self,
        seen: &HostView<'_, R>,
        all: Flow,
        queue_bytes: u64,
        bin: u32,
        emit: &mut impl FnMut(Record),
    ) {
        let since = |known: &mut u64, now: u64| now.saturating_sub(std::mem::replace(known, now));
        let sum = |of: fn(&JobCounts) -> u64| seen.counts.iter().map(of).sum();
        let packets_received = since(&mut self.packets_received, sum(|c| c.packets_delivered)) as u32;
        let bytes_received = since(&mut self.bytes_received, sum(|c| c.bytes_delivered));
        let packets_sent = since(&mut self.packets_sent, all.packets) as u32;
        let bytes_sent = since(&mut self.bytes_sent, all.bytes);
        let is_other = std::mem::replace(&mut self.queue_bytes, queue_bytes) != queue_bytes;
        if packets_sent > 0 || packets_received > 0 || is_other {
            emit(Record::HostSample {
                bin,
                host: seen.id.0,
                packets_sent,
                packets_received,
                bytes_sent,
                bytes_received,
                queue_bytes,
            });
        }
    }

    fn sample_jobs(
        &mut self,
        simulation: &Simulation,
        counts: &[JobCounts],
        bin: u32,
        emit: &mut impl FnMut(Record),
    ) {
        self.jobs.resize(counts.len(), JobCountsSeen::default());
        for (last, counts) in self.jobs.iter_mut().zip(counts) {
            let now = JobCountsSeen {
                messages_sent: counts.messages,
                bytes_sent: counts.bytes,
                messages_received: counts.messages_received,
                bytes_received: match &simulation.jobs[usize::from(counts.job)].kind {
                    JobKind::Ranks(_) => counts.message_bytes_received,
                    JobKind::Traffic(_) => counts.bytes_delivered,
                },
                packets_delivered: counts.packets_delivered,
            };
            let last = std::mem::replace(last, now);
            if last != now {
                emit(Record::JobSample {
                    bin,
                    job: counts.job,
                    messages_sent: now.messages_sent.saturating_sub(last.messages_sent) as u32,
                    messages_received: now.messages_received.saturating_sub(last.messages_received) as u32,
                    packets_delivered: now.packets_delivered.saturating_sub(last.packets_delivered) as u32,
                    bytes_sent: now.bytes_sent.saturating_sub(last.bytes_sent),
                    bytes_received: now.bytes_received.saturating_sub(last.bytes_received),
                });
            }
        }
    }
}
