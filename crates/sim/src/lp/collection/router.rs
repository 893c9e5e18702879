//! What a router LP collects: samples, waits of packets, deliveries that it counts early, and times of packets by job.

use std::marker::PhantomData;

use des::{Context, Journal, Time};
use fabric::router::{Registered, Router, RouterWaitTracker, RouterWaitUndo};
use fabric::{Packet, PacketFate, Wait, WaitOutputs, WaitTracker};
use topology::{HOST_LINK, LinkClass, RouterId};

use super::door::sample_door;
use crate::lp::counts::{AllCounts, CountsUndo, JobCounts, counts_of, of_job};
use crate::lp::ledger::{PacketLedger, PacketLedgerUndo};
use crate::lp::net_event::{NetEvent, Record};
use crate::lp::not_begun::NotBegun;
use crate::lp::sampling::{Plan, RouterSampler, RouterSamplerUndo, RouterSamples};
use crate::lp::saved;
use crate::lp::simulation::Simulation;
use crate::lp::timeline_record::TimelineRecord;
use crate::lp::times_by_job::{TimesByJob, TimesByJobUndo};
use crate::lp::wiring::{DepartingPart, LinkEnd};

/// What a router LP collects.
pub struct RouterCollection {
    /// Samples the router.
    sampler: RouterSampler,
    /// Early committed deliveries to its hosts.
    delivered: AllCounts,
    /// Waits of the messages of ranks.
    rank_waits: TimesByJob,
    /// What few runs collect; `None` in all others.
    rare: Option<Box<RareCollection>>,
}

/// What a router collects in few runs.
#[derive(Default)]
struct RareCollection {
    /// Whether the router reports what its packets wait for: for the wait tracker, or for samples of VCs.
    observes: bool,
    /// Tracks which packets wait for whom, if waits are collected.
    wait_tracker: Option<RouterWaitTracker>,
    /// Times that its links took to transmit the packets of each job, if energy is divided among jobs.
    transmissions: Option<TimesByJob>,
    /// What became of packets other than departures.
    ledger: PacketLedger,
}

/// One step of a router's collection to undo.
pub enum RouterCollectionUndo {
    /// Of its sampler.
    Sampler(RouterSamplerUndo),
    /// Of its early committed deliveries.
    Delivered(CountsUndo),
    /// Of the waits of messages of ranks.
    RankWait(TimesByJobUndo),
    /// Of the transmissions of each job.
    Transmission(TimesByJobUndo),
    /// Of its wait tracker.
    WaitTracker(RouterWaitUndo),
    /// Of what became of packets.
    Ledger(PacketLedgerUndo),
}

/// A packet that leaves a router.
#[derive(Clone, Copy)]
pub struct RouterDepartureFacts {
    /// Output port.
    pub port: u16,
    /// Time until it starts onto the link.
    pub wait: Time,
    /// Time that it takes to leave.
    pub serialization: Time,
}

/// Keeps undo steps of early committed deliveries.
struct DeliveryJournal<'a, C>(&'a mut C);

impl<C: Context<Simulation>> Journal<CountsUndo> for DeliveryJournal<'_, C> {
    const KEPT: bool = C::REVERSIBLE;

    #[inline]
    fn keep(&mut self, step: CountsUndo) {
        self.0.undo(RouterCollectionUndo::Delivered(step).into());
    }
}

impl RouterCollection {
    /// The collection of an idle router with this number of ports.
    pub fn new(simulation: &Simulation, router: RouterId, ports: usize) -> RouterCollection {
        let network = &simulation.network;
        let sampler = RouterSampler::new(simulation, router);
        let vcs = network.traffic_classes.all_vcs();
        let wait_tracker = simulation
            .waits
            .then(|| RouterWaitTracker::new(network.router_models.of(router), ports, vcs));
        let observes = wait_tracker.is_some() || sampler.counts_waiting();
        let divides_energy = simulation.divides_energy();
        let rare = (observes || divides_energy).then(|| {
            Box::new(RareCollection {
                observes,
                wait_tracker,
                transmissions: divides_energy.then(TimesByJob::default),
                ledger: PacketLedger::default(),
            })
        });
        RouterCollection {
            sampler,
            delivered: AllCounts::new(),
            rank_waits: TimesByJob::default(),
            rare,
        }
    }

    /// Prefetches what events before `until` read.
    #[inline]
    pub fn prefetch(&self, until: Time) {
        if self.sampler.is_due(until) {
            self.sampler.prefetch();
        }
    }

    /// An event comes, which the router has not seen yet.
    #[inline(always)]
    pub fn event<C: Context<Simulation>>(
        &mut self,
        simulation: &Simulation,
        router: &Router,
        event: &NetEvent,
        context: &mut C,
    ) {
        if self.sampler.is_due(context.now()) {
            self.sample(simulation, router, event, context);
        }
        if let NetEvent::PacketArrived { .. } = event
            && self.sampler.receive()
            && C::REVERSIBLE
        {
            context.undo(RouterCollectionUndo::Sampler(RouterSamplerUndo::Received).into());
        }
    }

    /// Samples the bins that end before the event, and the peaks before it.
    #[cold]
    #[inline(never)]
    fn sample<C: Context<Simulation>>(
        &mut self,
        simulation: &Simulation,
        router: &Router,
        event: &NetEvent,
        context: &mut C,
    ) {
        let now = context.now();
        self.sampler
            .settle(&mut |step| context.undo(RouterCollectionUndo::Sampler(step).into()));
        let (plan, state) = (&simulation.plan, (router, &*self.delivered));
        let sampler = &mut self.sampler;
        let before = sample_door!(simulation, context, sink => {
            sampler.sample(plan, state, now, C::REVERSIBLE, sink)
        });
        if let Some(before) = before {
            context.undo(RouterCollectionUndo::Sampler(RouterSamplerUndo::Sampled(before)).into());
        }
        if let NetEvent::CreditReturned { port, vc, .. } = *event {
            let note = |step: RouterSamplerUndo| context.undo(RouterCollectionUndo::Sampler(step).into());
            self.sampler.raise_use(router, (port, vc), note);
        }
    }

    /// A packet departs onto a link.
    #[inline(always)]
    pub fn departed<C: Context<Simulation>>(
        &mut self,
        simulation: &Simulation,
        link_end: &LinkEnd,
        packet: &Packet,
        facts: RouterDepartureFacts,
        context: &mut C,
    ) {
        let start = context.now() + facts.wait;
        if self.sampler.is_later(start) {
            let sent = (packet.bytes, link_end.departing());
            self.note_later(simulation, facts.port, start, sent, context);
        }
        if self.rare.is_some() {
            self.count_transmission(link_end, packet.job, facts.serialization, context);
        }
        // What divides the time of the message of a rank by cause.
        if !packet.standalone() && (facts.wait > Time::ZERO || link_end.is_slow()) {
            self.count_wait(simulation, link_end, packet, facts, context);
        }
    }

    /// A packet departs whose delivery is certain: its tail arrives at its host at `arrival`.
    #[inline(always)]
    pub fn delivered_early<C: Context<Simulation>>(
        &mut self,
        simulation: &Simulation,
        arrival: Time,
        packet: &Packet,
        context: &mut C,
    ) {
        let journal = &mut DeliveryJournal(&mut *context);
        let counts = counts_of(&mut self.delivered, packet.job, journal);
        let payload = simulation.payload(packet);
        counts.delivered(arrival, (packet, payload), simulation.measured, journal);
        if self.sampler.is_later(arrival) {
            self.note_later_delivery(simulation, arrival, packet.job, payload, context);
        }
    }

    #[cold]
    #[inline(never)]
    fn note_later_delivery<C: Context<Simulation>>(
        &mut self,
        simulation: &Simulation,
        arrival: Time,
        job: u16,
        bytes: u32,
        context: &mut C,
    ) {
        let plan = &simulation.plan;
        if let Some(bin) = self.sampler.note_later_delivery(plan, arrival, job, bytes)
            && C::REVERSIBLE
        {
            context.undo(
                RouterCollectionUndo::Sampler(RouterSamplerUndo::LaterDelivery { job, bytes, bin }).into(),
            );
        }
    }

    /// Counts the wait of a packet of a rank for a link. The time that a link takes longer than those of hosts is part
    /// of it.
    // Not inlined, to keep the code of synthetic traffic small.
    #[inline(never)]
    fn count_wait<C: Context<Simulation>>(
        &mut self,
        simulation: &Simulation,
        link_end: &LinkEnd,
        packet: &Packet,
        facts: RouterDepartureFacts,
        context: &mut C,
    ) {
        let mut wait = facts.wait;
        if link_end.is_slow() {
            let host_link = &simulation.network.links[usize::from(HOST_LINK.0)];
            wait += facts
                .serialization
                .saturating_sub(host_link.rate.serialization(packet.bytes));
        }
        let step = self.rank_waits.add(packet.job, link_end.class, wait);
        if C::REVERSIBLE {
            context.undo(RouterCollectionUndo::RankWait(step).into());
        }
    }

    /// Counts the transmission of a packet for its job, if energy is divided among jobs.
    #[inline(never)]
    fn count_transmission<C: Context<Simulation>>(
        &mut self,
        link_end: &LinkEnd,
        job: u16,
        serialization: Time,
        context: &mut C,
    ) {
        let Some(transmissions) = self.transmissions_mut() else {
            return;
        };
        let step = transmissions.add(job, link_end.class, serialization);
        if C::REVERSIBLE {
            context.undo(RouterCollectionUndo::Transmission(step).into());
        }
    }

    #[cold]
    #[inline(never)]
    fn note_later<C: Context<Simulation>>(
        &mut self,
        simulation: &Simulation,
        port: u16,
        start: Time,
        (packet, part): (u32, DepartingPart),
        context: &mut C,
    ) {
        let bytes = part.bytes(&simulation.network, packet);
        if let Some(bin) = self.sampler.note_later(&simulation.plan, port, start, bytes)
            && C::REVERSIBLE
        {
            context.undo(
                RouterCollectionUndo::Sampler(RouterSamplerUndo::LaterReservation { port, bytes, bin })
                    .into(),
            );
        }
    }

    /// Whether the router reports what its packets wait for ([`RouterCollection::observed`]).
    #[inline]
    pub fn observes(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.observes)
    }

    /// The router reports what a packet waits for. `parts`: records of the wait of the departing packet so far.
    #[cold]
    #[inline(never)]
    pub fn observed<M: Registered, C: Context<Simulation>>(
        &mut self,
        packet: Packet,
        (port, vc): (u16, u8),
        observation: <M::WaitTracker as WaitTracker>::Observation,
        parts: &mut u8,
        context: &mut C,
    ) {
        let now = context.now();
        if let Some(change) = M::WaitTracker::change(&observation) {
            let note =
                &mut |step: RouterSamplerUndo| context.undo(RouterCollectionUndo::Sampler(step).into());
            self.sampler.count_waiting(now, (port, vc), change, note);
        }
        let Some(wait_tracker) = self.wait_tracker().and_then(M::own_wait_tracker) else {
            return;
        };
        let mut sink = RouterWaitSink {
            port,
            vc,
            packet,
            parts,
            context,
            model: PhantomData::<M>,
        };
        wait_tracker.observe(now, observation, &mut sink);
    }

    /// Something becomes of a packet other than a departure.
    #[cold]
    #[inline(never)]
    pub fn fate<C: Context<Simulation>>(&mut self, packet: &Packet, fate: PacketFate, context: &mut C) {
        let step = self.rare.get_or_insert_default().ledger.note(packet, fate);
        if C::REVERSIBLE {
            context.undo(RouterCollectionUndo::Ledger(step).into());
        }
    }

    fn wait_tracker(&mut self) -> Option<&mut RouterWaitTracker> {
        self.rare.as_mut()?.wait_tracker.as_mut()
    }

    fn transmissions_mut(&mut self) -> Option<&mut TimesByJob> {
        self.rare.as_mut()?.transmissions.as_mut()
    }

    /// Undoes one step.
    #[inline]
    pub fn undo(&mut self, simulation: &Simulation, step: RouterCollectionUndo) {
        match step {
            RouterCollectionUndo::Sampler(step) => self.sampler.undo(&simulation.plan, step),
            RouterCollectionUndo::Delivered(step) => step.undo(&mut self.delivered),
            RouterCollectionUndo::RankWait(step) => self.rank_waits.undo(step),
            RouterCollectionUndo::Transmission(step) => {
                if let Some(transmissions) = self.transmissions_mut() {
                    transmissions.undo(step);
                }
            }
            RouterCollectionUndo::WaitTracker(step) => {
                if let Some(wait_tracker) = self.wait_tracker() {
                    wait_tracker.undo(step);
                }
            }
            RouterCollectionUndo::Ledger(step) => {
                if let Some(rare) = &mut self.rare {
                    rare.ledger.undo(step);
                }
            }
        }
    }

    /// Takes the last samples, at the end of the run.
    pub fn finish(
        &self,
        plan: &Plan,
        router: &Router,
        end: Time,
        not_begun: &NotBegun,
        emit: &mut impl FnMut(Record),
    ) {
        let state = (router, &*self.delivered);
        self.sampler.finish(plan, state, end, not_begun, emit);
    }

    /// Early committed deliveries of a job.
    pub fn delivered(&self, job: usize) -> Option<&JobCounts> {
        of_job(&self.delivered, job)
    }

    /// Waits of the messages of a job for the router's links, by link class.
    pub fn rank_waits(&self, job: usize) -> impl Iterator<Item = (LinkClass, Time)> {
        self.rank_waits.of_job(job)
    }

    /// Times that its links took, or will take, to transmit the packets of each job. `None` unless energy is divided
    /// among jobs.
    pub fn transmissions(&self) -> Option<&TimesByJob> {
        self.rare.as_ref()?.transmissions.as_ref()
    }

    /// What became of packets other than departures; `None` where nothing did.
    pub fn ledger(&self) -> Option<&PacketLedger> {
        let ledger = self.rare.as_ref().map(|rare| &rare.ledger);
        ledger.filter(|ledger| **ledger != PacketLedger::default())
    }

    /// Appends the state.
    pub fn save(&self, bytes: &mut Vec<u8>) {
        saved::write(&self.delivered.to_vec(), bytes);
        saved::write(&self.rank_waits, bytes);
        saved::write(&self.ledger(), bytes);
        if let Some(transmissions) = self.transmissions() {
            saved::write(transmissions, bytes);
        }
        if let Some(samples) = self.sampler.state() {
            saved::write(&samples, bytes);
        }
        let rare = self.rare.as_ref();
        if let Some(wait_tracker) = rare.and_then(|rare| rare.wait_tracker.as_ref()) {
            saved::write(wait_tracker, bytes);
        }
    }

    /// Replaces the state by a saved one, and returns the bytes behind it.
    ///
    /// # Errors
    /// The bytes are not the state of such a collection.
    pub fn restore<'b>(&mut self, simulation: &Simulation, bytes: &'b [u8]) -> Result<&'b [u8], String> {
        type Always = (Vec<JobCounts>, TimesByJob, Option<PacketLedger>);
        let ((delivered, rank_waits, ledger), mut bytes): (Always, _) = saved::read_first(bytes)?;
        self.delivered = delivered.into();
        self.rank_waits = rank_waits;
        if let Some(ledger) = ledger {
            self.rare.get_or_insert_default().ledger = ledger;
        }
        if let Some(transmissions) = self.transmissions_mut() {
            let (saved, rest): (TimesByJob, _) = saved::read_first(bytes)?;
            *transmissions = saved;
            bytes = rest;
        }
        if self.sampler.samples() {
            let ((received, samples), rest): ((u64, RouterSamples), _) = saved::read_first(bytes)?;
            self.sampler.restore(&simulation.plan, received, samples)?;
            bytes = rest;
        }
        if let Some(wait_tracker) = self.wait_tracker() {
            let (saved, rest): (RouterWaitTracker, _) = saved::read_first(bytes)?;
            if !saved.fits(wait_tracker) {
                return Err("its wait tracker is that of another router".into());
            }
            *wait_tracker = saved;
            bytes = rest;
        }
        Ok(bytes)
    }
}

/// Where a wait tracker reports the waits of one packet.
struct RouterWaitSink<'a, C, M> {
    port: u16,
    vc: u8,
    packet: Packet,
    parts: &'a mut u8,
    context: &'a mut C,
    model: PhantomData<M>,
}

impl<C: Context<Simulation>, M: Registered> Journal<<M::WaitTracker as WaitTracker>::Undo>
    for RouterWaitSink<'_, C, M>
{
    const KEPT: bool = C::REVERSIBLE;

    fn keep(&mut self, step: <M::WaitTracker as WaitTracker>::Undo) {
        let step = RouterCollectionUndo::WaitTracker(M::any_wait_undo(step));
        self.context.undo(step.into());
    }
}

impl<C: Context<Simulation>, M: Registered> WaitOutputs<<M::WaitTracker as WaitTracker>::Undo>
    for RouterWaitSink<'_, C, M>
{
    fn waited(&mut self, wait: Wait) {
        let Packet {
            job,
            source,
            message: number,
            bytes,
            ..
        } = self.packet;
        self.context.emit(Record::Timeline(TimelineRecord::Waited {
            job,
            source,
            number,
            lp: self.context.lp(),
            port: self.port,
            vc: self.vc,
            bytes,
            part: *self.parts,
            wait,
        }));
        *self.parts = self.parts.saturating_add(1);
    }
}
