//! Rails: the NIC of a host, with one port for each rail, and how messages are divided among the ports.

use std::collections::BTreeMap;

use des::{Context, Journal, Time};
use experiment::{MAX_RAILS, RailChoice};
use fabric::{
    LinkUse, Nic, NicArbiter, NicModel, NicOutputs, NicSource, NicState, NicUndo, NicWaitTracker,
    NicWaitTrackerUndo, Outgoing, Packet,
};
use serde::{Deserialize, Serialize};
use topology::{HOST_LINK, HostId};

use super::tracing::Tracer;
use super::undo::{HostJournal, HostUndo, Injected};
use crate::lp::counts::{AllCounts, JobCounts, counts_of};
use crate::lp::net_event::NetEvent;
use crate::lp::sampling::{HostView, RailView, SentRun, TallyStep};
use crate::lp::simulation::{LpFailure, Simulation};
use crate::lp::times_by_job::{TimesByJob, TimesByJobUndo};
use crate::lp::wiring::LinkEnd;

/// The NIC of a host: numbers, counts, divides and sends its messages.
#[repr(C)]
pub struct HostNic {
    /// Number of the next message, modulo 2^32.
    pub next_message: u32,
    pub id: HostId,
    /// `None` where the first is the only rail.
    more: Option<Box<MoreRails>>,
    /// `None` unless timelines or waits are collected, or energy is divided among jobs.
    pub tracer: Option<Box<Tracer>>,
    first: Rail,
    /// By job, in the order in which this host first met them: few, and searched from the front.
    pub counts: AllCounts,
}

/// One port of the NIC.
#[repr(C)]
struct Rail {
    injection: LinkEnd,
    nic: Nic<Injected>,
}

/// State that only a host with several rails has.
struct MoreRails {
    /// All but the first.
    others: Box<[Rail]>,
    /// The rail that is next in round robin.
    next: u8,
    /// By message that is divided among rails and whose injection a rank awaits: rails that still send a part of it.
    divided: BTreeMap<Injected, u8>,
}

/// The state of a NIC that changes, for checkpoints.
#[derive(Serialize, Deserialize)]
pub struct HostNicState {
    /// By rail.
    nics: Vec<NicState<Injected>>,
    next: u8,
    divided: BTreeMap<Injected, u8>,
    next_message: u32,
    counts: Vec<JobCounts>,
    /// By rail; empty unless waits are collected.
    wait_trackers: Vec<NicWaitTracker>,
    /// `None` unless energy is divided among jobs.
    transmissions: Option<TimesByJob>,
}

/// Turns the outputs of a NIC port into events.
pub struct NicLinkAdapter<'a, C> {
    rail: u8,
    link_end: LinkEnd,
    counts: &'a mut AllCounts,
    tracer: Option<&'a mut Tracer>,
    /// Where the message that the NIC gets is added, if the tally of the worker lacks it.
    untallied: Option<&'a mut SentRun>,
    simulation: &'a Simulation,
    context: &'a mut C,
}

impl HostNic {
    /// The NIC of a host before the run.
    pub fn new(simulation: &Simulation, id: HostId) -> HostNic {
        let rails = simulation.network.rails.count();
        let more = (rails > 1).then(|| {
            Box::new(MoreRails {
                others: (1..rails).map(|rail| Rail::new(simulation, id, rail)).collect(),
                next: 0,
                divided: BTreeMap::new(),
            })
        });
        HostNic {
            next_message: 0,
            id,
            more,
            tracer: Tracer::new(simulation).map(Box::new),
            first: Rail::new(simulation, id, 0),
            counts: AllCounts::new(),
        }
    }

    /// Prefetches the memory that the next packet touches.
    #[inline]
    pub fn prefetch(&self) {
        self.first.nic.prefetch();
    }

    /// Whether nothing is queued at the first port, and credits suffice for the next packet.
    #[inline]
    pub fn is_clear(&self) -> bool {
        self.first.nic.is_clear()
    }

    /// The NIC port of a rail, and the adapter for its outputs.
    #[inline]
    pub fn port<'a, C>(
        &'a mut self,
        simulation: &'a Simulation,
        rail: u8,
        context: &'a mut C,
    ) -> (&'a mut Nic<Injected>, NicLinkAdapter<'a, C>) {
        let port = match (rail, &mut self.more) {
            (1.., Some(more)) => &mut more.others[usize::from(rail) - 1],
            _ => &mut self.first,
        };
        let adapter = NicLinkAdapter {
            rail,
            link_end: port.injection,
            counts: &mut self.counts,
            tracer: self.tracer.as_deref_mut(),
            untallied: None,
            simulation,
            context,
        };
        (&mut port.nic, adapter)
    }

    /// Hands a message that is made at `created_at` to the NIC. Its `destination` is still the number of a host.
    /// `receiver` is the slot of the receiving rank, if a rank sends it. `untallied`: where it is added, if the tally
    /// of the worker lacks it.
    #[inline]
    pub fn inject<'a, C: Context<Simulation>>(
        &'a mut self,
        simulation: &'a Simulation,
        created_at: Time,
        (message, receiver): (Outgoing<Injected>, Option<u16>),
        untallied: Option<&'a mut SentRun>,
        context: &'a mut C,
    ) {
        if self.more.is_some() {
            if untallied.is_some() {
                tally_sent(created_at, message.job, message.bytes, context);
            }
            return self.deal_out(simulation, (message, receiver), context);
        }
        // With one rail, hosts and end points have the same numbers.
        let now = context.now();
        let (nic, mut adapter) = self.port(simulation, 0, context);
        adapter.untallied = untallied;
        adapter.take(now, || nic.source_of(&message));
        nic.send((now, created_at), &message, &mut adapter);
        if adapter.untallied.is_some() {
            tally_sent(created_at, message.job, message.bytes, adapter.context);
        }
    }

    /// Divides a message among several rails.
    // Not inlined, to keep the code of hosts with one rail small.
    #[inline(never)]
    fn deal_out<C: Context<Simulation>>(
        &mut self,
        simulation: &Simulation,
        (message, receiver): (Outgoing<Injected>, Option<u16>),
        context: &mut C,
    ) {
        let Some(more) = &mut self.more else { return };
        let (network, now) = (&simulation.network, context.now());
        let (rails, bytes) = (&network.rails, message.bytes);
        let unit = rails.unit(bytes, network.packet.payload);
        let (mut shares, next_rail) = ([0; MAX_RAILS], more.next);
        let shares = &mut shares[..rails.count() as usize];
        // The rail by which the message arrives, if it is not the one by which it leaves.
        let mut arrives_by = None;
        let choice = match (rails.choice(), receiver) {
            // Traffic has no ranks.
            (RailChoice::ByRank, None) => RailChoice::RoundRobin,
            (choice, _) => choice,
        };
        let advanced = match choice {
            RailChoice::ByRank => {
                let occupants = &simulation.occupants;
                let sender = occupants.place(self.id, message.source);
                let receiver = occupants.place(message.destination, receiver.unwrap_or_default());
                let (leaves_by, arrives) = rails.between_ranks(sender, receiver);
                shares[leaves_by as usize] = bytes;
                arrives_by = Some(arrives);
                usize::from(next_rail)
            }
            RailChoice::RoundRobin => fabric::rails::round_robin(bytes, unit, usize::from(next_rail), shares),
            RailChoice::LeastLoaded => {
                let mut queued = [0; MAX_RAILS];
                queued[0] = self.first.nic.backlog();
                for (queued, rail) in queued[1..].iter_mut().zip(&more.others) {
                    *queued = rail.nic.backlog();
                }
                let queued = &queued[..shares.len()];
                fabric::rails::least_loaded(bytes, unit, usize::from(next_rail), queued, shares)
            }
            RailChoice::ByDestination => {
                shares[rails.by_destination(self.id, message.destination) as usize] = bytes;
                usize::from(next_rail)
            }
        };
        if C::REVERSIBLE && advanced != usize::from(next_rail) {
            context.undo(HostUndo::NextRail { before: next_rail }.into());
        }
        more.next = advanced as u8;
        let parts = shares.iter().filter(|share| **share > 0).count() as u8;
        if let Some(injected) = message.report
            && parts > 1
        {
            more.note_divided(injected, parts, context);
        }
        let to = message.destination;
        for (rail, bytes) in (0..).zip(&*shares).filter(|(_, bytes)| **bytes > 0) {
            let part = Outgoing {
                destination: rails.end_point(to, arrives_by.unwrap_or(u32::from(rail))).0,
                bytes: *bytes,
                ..message
            };
            let (nic, mut adapter) = self.port(simulation, rail, context);
            adapter.take(now, || nic.source_of(&part));
            nic.send((now, now), &part, &mut adapter);
        }
    }

    /// Notes that a rail has sent its part of a message. Returns whether all parts are sent.
    #[inline]
    pub fn take_injection<C: Context<Simulation>>(
        &mut self,
        slot: u16,
        request: u32,
        context: &mut C,
    ) -> bool {
        let Some(more) = &mut self.more else { return true };
        let message = Injected { slot, request };
        let Some(left) = more.divided.get(&message) else {
            return true;
        };
        let left = left - 1;
        more.note_divided(message, left, context);
        left == 0
    }

    /// Counts a message that this host makes. `offered`: the time since the warm-up, if the NIC gets it in the measured
    /// part.
    #[inline]
    pub fn count_message<C: Context<Simulation>>(
        &mut self,
        job: u16,
        bytes: u64,
        offered: Option<Time>,
        context: &mut C,
    ) {
        let notes = &mut HostJournal(context);
        counts_of(&mut self.counts, job, notes).message(bytes, offered, notes);
    }

    /// Undoes a step of the NIC port of a rail.
    pub fn undo_port(&mut self, rail: u8, step: NicUndo<Injected>) {
        match (rail, &mut self.more) {
            (1.., Some(more)) => more.others[usize::from(rail) - 1].nic.undo(step),
            _ => self.first.nic.undo(step),
        }
    }

    /// Undoes an advance of round robin.
    pub fn undo_next_rail(&mut self, before: u8) {
        if let Some(more) = &mut self.more {
            more.next = before;
        }
    }

    /// Undoes a change of the number of rails that send a part of a message.
    pub fn undo_divided(&mut self, message: Injected, before: u8) {
        if let Some(more) = &mut self.more {
            more.set_divided(message, before);
        }
    }

    /// Undoes a step of the wait tracker of a rail.
    pub fn undo_wait_tracker(&mut self, rail: u8, step: NicWaitTrackerUndo) {
        let wait_trackers = self.tracer.as_mut().map(|tracer| &mut tracer.wait_trackers);
        if let Some(wait_tracker) =
            wait_trackers.and_then(|wait_trackers| wait_trackers.get_mut(usize::from(rail)))
        {
            wait_tracker.undo(step);
        }
    }

    /// Undoes the counting of a transmission.
    pub fn undo_transmission(&mut self, step: TimesByJobUndo) {
        let transmissions = self.tracer.as_mut().map(|tracer| &mut tracer.transmissions);
        if let Some(Some(transmissions)) = transmissions {
            transmissions.undo(step);
        }
    }

    /// The state that changes.
    pub fn state(&self) -> HostNicState {
        let more = self.more.as_ref();
        HostNicState {
            nics: self.rails().map(|rail| rail.nic.state()).collect(),
            next: more.map_or(0, |more| more.next),
            divided: more.map_or(BTreeMap::new(), |more| more.divided.clone()),
            next_message: self.next_message,
            counts: self.counts.to_vec(),
            wait_trackers: self.wait_trackers().to_vec(),
            transmissions: self.transmissions().cloned(),
        }
    }

    /// Replaces the state by a saved one.
    ///
    /// # Errors
    /// The saved state is that of another host or experiment.
    pub fn restore(&mut self, state: HostNicState) -> Result<(), String> {
        if state.nics.len() != self.rails().count() || usize::from(state.next) >= state.nics.len() {
            return Err("it has other rails".into());
        }
        let others = self.more.iter_mut().flat_map(|more| more.others.iter_mut());
        for (rail, nic) in std::iter::once(&mut self.first).chain(others).zip(state.nics) {
            rail.nic.restore(nic)?;
        }
        if let Some(more) = &mut self.more {
            more.next = state.next;
            more.divided = state.divided;
            more.divided.retain(|_, left| *left > 0);
        }
        if state.wait_trackers.len() != self.wait_trackers().len() {
            return Err("it has other wait trackers".into());
        }
        if state.transmissions.is_some() != self.transmissions().is_some() {
            return Err("it counts other transmissions".into());
        }
        if let Some(tracer) = &mut self.tracer {
            tracer.wait_trackers = state.wait_trackers.into();
            tracer.transmissions = state.transmissions;
        }
        self.next_message = state.next_message;
        self.counts = state.counts.into();
        Ok(())
    }

    fn wait_trackers(&self) -> &[NicWaitTracker] {
        self.tracer.as_ref().map_or(&[], |tracer| &tracer.wait_trackers)
    }

    /// Times that the injection links took to transmit the packets of each job, if they are counted.
    pub fn transmissions(&self) -> Option<&TimesByJob> {
        self.tracer.as_ref()?.transmissions.as_ref()
    }

    fn rails(&self) -> impl Iterator<Item = &Rail> {
        let others = self.more.iter().flat_map(|more| more.others.iter());
        std::iter::once(&self.first).chain(others)
    }

    fn rail(&self, rail: u32) -> &Rail {
        match (rail, &self.more) {
            (1.., Some(more)) => &more.others[rail as usize - 1],
            _ => &self.first,
        }
    }

    /// Credits of one rail for a traffic class, in bytes.
    pub fn credits(&self, rail: u32, class: u8) -> u32 {
        self.rail(rail).nic.credits(class)
    }

    /// Use of the injection link of one rail.
    pub fn injection_use(&self, rail: u32, end: Time) -> LinkUse {
        self.rail(rail).nic.used(end)
    }

    /// The state of the host, for its sampler.
    pub fn seen(&self) -> HostView<'_, impl Fn(u32, Time) -> RailView + use<'_>> {
        let rail = |rail: u32, time| {
            let nic = &self.rail(rail).nic;
            RailView {
                flow: nic.used(time).total,
                backlog: nic.backlog(),
                classes: std::array::from_fn(|class| nic.class_view(class as u8)),
                is_active: nic.is_active(time),
            }
        };
        HostView {
            id: self.id,
            rail,
            rails: self.rails().count() as u32,
            counts: &self.counts,
        }
    }
}

impl Rail {
    fn new(simulation: &Simulation, host: HostId, rail: u32) -> Rail {
        let (network, occupants) = (&simulation.network, &simulation.occupants);
        let sources = occupants.ranks(host).count() + occupants.sources(host).count();
        let arbiter = match sources {
            0 | 1 => NicArbiter::ByMessage,
            _ => network.nic_arbiter,
        };
        Rail {
            injection: simulation.numbering.injection(network, host, rail),
            // All credits of a traffic class belong to its first VC, the only one into which hosts inject.
            nic: Nic::new(
                network.rails.end_point(host, rail).0,
                network.links[usize::from(HOST_LINK.0)].rate,
                (network.packet, network.buffer_of_vc(HOST_LINK)),
                arbiter,
                simulation.measured,
            )
            .with_traffic_classes(network.traffic_classes),
        }
    }
}

impl MoreRails {
    /// Notes how many rails still send a part of a message.
    fn note_divided<C: Context<Simulation>>(&mut self, message: Injected, left: u8, context: &mut C) {
        let before = self.set_divided(message, left);
        if C::REVERSIBLE {
            context.undo(HostUndo::Divided { message, before }.into());
        }
    }

    /// Sets the number of rails. Returns the number before.
    fn set_divided(&mut self, message: Injected, left: u8) -> u8 {
        let before = match left {
            0 => self.divided.remove(&message),
            _ => self.divided.insert(message, left),
        };
        before.unwrap_or(0)
    }
}

/// Adds a message to the tally of the worker.
// Not inlined, to keep the code of runs without series small.
#[inline(never)]
pub fn tally_sent(made_at: Time, job: u16, bytes: u64, context: &mut impl Context<Simulation>) {
    context.tally(TallyStep::Sent {
        time: made_at,
        job,
        bytes,
    });
}

/// Memory of the rails after the first, and of the queues of traffic classes, in bytes.
pub fn bytes_of_more(rails: u32, classes: u8) -> u64 {
    let of_classes = u64::from(rails) * Nic::<Injected>::bytes_of_classes(classes);
    let more = match rails {
        1 => 0,
        _ => (size_of::<MoreRails>() + (rails as usize - 1) * size_of::<Rail>()) as u64,
    };
    more + of_classes
}

impl<C: Context<Simulation>> Journal<NicUndo<Injected>> for NicLinkAdapter<'_, C> {
    const KEPT: bool = C::REVERSIBLE;

    #[inline]
    fn keep(&mut self, step: NicUndo<Injected>) {
        let rail = self.rail;
        self.context.undo(HostUndo::Nic { rail, step }.into());
    }
}

impl<C: Context<Simulation>> Journal<NicWaitTrackerUndo> for NicLinkAdapter<'_, C> {
    const KEPT: bool = C::REVERSIBLE;

    fn keep(&mut self, step: NicWaitTrackerUndo) {
        let rail = self.rail;
        self.context.undo(HostUndo::WaitTracker { rail, step }.into());
    }
}

impl<C: Context<Simulation>> NicLinkAdapter<'_, C> {
    /// Adds a reservation of the injection link to the tally of the worker.
    // Not inlined, to keep the code of runs without series small.
    #[inline(never)]
    fn tally_injection(&mut self, wait: Time, serialization: Time, bytes: u32) {
        let start = self.context.now() + wait;
        self.context.tally(TallyStep::Injection {
            start,
            serialization,
            bytes,
        });
    }

    /// Sends a packet to its router, and counts it.
    #[inline(always)]
    fn send(&mut self, mut packet: Packet, source: NicSource, wait: Time, serialization: Time, last: bool) {
        if self.tracer.is_some() {
            self.trace_departure(packet, source, serialization, last);
        }
        let notes = &mut HostJournal(&mut *self.context);
        let counts = counts_of(self.counts, packet.job, notes);
        counts.injected(notes);
        if !packet.standalone() {
            let start = notes.0.now() + wait;
            counts.message_injected((start, serialization), &packet, last, notes);
        } else if self.simulation.uses_source_wait {
            let start = notes.0.now() + wait;
            if self.simulation.drains {
                counts.waited(start, &packet, self.simulation.measured, notes);
            }
            if self.simulation.network_latency {
                packet.set_source_wait(start.saturating_sub(packet.created_at()));
            }
        }
        let classes = &self.simulation.network.traffic_classes;
        let event = NetEvent::PacketArrived {
            port: self.link_end.port,
            vc: classes.first_vc(self.simulation.class_of(packet.job)),
            packet,
        };
        self.context
            .send(self.link_end.lp, wait + self.link_end.arrival, event);
    }

    /// Traces a message that the NIC takes.
    #[inline]
    fn take(&mut self, now: Time, source: impl FnOnce() -> NicSource) {
        if self.tracer.is_some() {
            self.trace_taken(now, source());
        }
    }

    #[inline(never)]
    fn trace_taken(&mut self, now: Time, source: NicSource) {
        let Some(tracer) = self.tracer.take() else { return };
        if let Some(wait_tracker) = tracer.wait_trackers.get_mut(usize::from(self.rail)) {
            wait_tracker.taken(now, source, self);
        }
        self.tracer = Some(tracer);
    }

    #[inline(never)]
    fn trace_departure(&mut self, packet: Packet, source: NicSource, serialization: Time, last: bool) {
        if let Some(tracer) = &mut self.tracer {
            let class = self.simulation.class_of(packet.job);
            let vc = self.simulation.network.traffic_classes.first_vc(class);
            tracer.departed((self.rail, vc, source), packet, serialization, last, self.context);
        }
    }
}

impl<C: Context<Simulation>> NicOutputs<Nic<Injected>> for NicLinkAdapter<'_, C> {
    #[inline]
    fn depart(&mut self, packet: Packet, source: NicSource, wait: Time, serialization: Time, last: bool) {
        if self.simulation.shortcuts.tallies.is_on() {
            self.tally_injection(wait, serialization, packet.bytes);
        }
        self.send(packet, source, wait, serialization, last);
    }

    #[inline]
    fn depart_at_once(&mut self, packet: Packet, source: NicSource, wait: Time, serialization: Time) {
        if let Some(run) = self.untallied.take() {
            run.add(self.simulation, &packet, (wait, serialization), self.context);
        } else if self.simulation.shortcuts.tallies.is_on() {
            self.tally_injection(wait, serialization, packet.bytes);
        }
        self.send(packet, source, wait, serialization, true);
    }

    #[inline]
    fn sends_ahead(&self, start: Time) -> bool {
        self.simulation.shortcuts.send_ahead.covers(start)
    }

    #[inline]
    fn timer(&mut self, (): (), after: Time) {
        let event = NetEvent::InjectionFree { rail: self.rail };
        self.context.send(self.context.lp(), after, event);
    }

    fn injected(&mut self, report: Injected, after: Time) {
        let Injected { slot, request } = report;
        self.context.send(
            self.context.lp(),
            after,
            NetEvent::MessageInjected { slot, request },
        );
    }

    #[inline]
    fn link_stalled(&mut self, since: Time, until: Time) {
        if self.simulation.shortcuts.tallies.is_on() {
            self.context.tally(TallyStep::InjectionStalled { since, until });
        }
    }

    #[inline]
    fn lacks_credits(&mut self) {
        if self.simulation.shortcuts.credit_batching.is_on() {
            self.context.fail(LpFailure::CreditsRanShort);
        }
    }
}
