//! The router as a logical process: turns "port 7" into "LP 311, port 2, 50 ns later".

use std::marker::PhantomData;

use des::{Context, Journal, Time};
use fabric::router::{
    Arrival, FEW_PORTS, PortSetting, Registered, Router, RouterOutputs, RouterSetup, RouterState,
    RouterVisitor, RouterWaitTracker, RoutingContext,
};
use fabric::{Packet, Wait, WaitOutputs, WaitTracker};
use routing::{At, Random};
use topology::{HOST_LINK, LinkClass, Peer, Port, RouterId};

use crate::lp::counts::{AllCounts, CountsUndo, JobCounts, counts_of, of_job};
use crate::lp::load_reports::LoadReports;
use crate::lp::lp_random::LpRandom;
use crate::lp::model::{self, LpUndo};
use crate::lp::net_event::{NetEvent, Record};
use crate::lp::not_begun::NotBegun;
use crate::lp::sampling::{Plan, RouterSampler, RouterSamplerUndo, RouterSamples, TallyStep};
use crate::lp::shortcuts::credit_batching::CreditBatches;
use crate::lp::simulation::{LpFailure, Simulation};
use crate::lp::times_by_job::TimesByJob;
use crate::lp::trace_record::TraceRecord;
use crate::lp::wiring::LinkEnd;

/// A router and what its ports are connected to.
pub struct RouterLp {
    /// The state machine.
    pub router: Router,
    /// Link ends by port; `None` without a cable.
    link_ends: Box<[Option<LinkEnd>]>,
    /// Loads that other routers reported, if routing asks for them.
    load_reports: Option<Box<LoadReports>>,
    /// Samples the router.
    sampler: RouterSampler,
    /// What its observations are for, if anything.
    observer: Option<Box<RouterObserver>>,
    /// Credits that wait for a complete batch.
    credit_batches: CreditBatches,
    /// Early committed deliveries to its hosts.
    delivered: AllCounts,
    /// Waits of the messages of ranks.
    rank_waits: TimesByJob,
    /// Times that its links took to transmit the packets of each job, if energy is divided among jobs.
    transmissions: Option<Box<TimesByJob>>,
}

/// The receiver of a router's observations, besides its sampler. It exists if waits are collected or VCs sampled.
struct RouterObserver {
    /// Tracks which packets wait for whom, if waits are collected.
    wait_tracker: Option<RouterWaitTracker>,
}

/// Turns the outputs of a router into events.
struct RouterLinkAdapter<'a, 'c, C> {
    link_ends: &'a [Option<LinkEnd>],
    simulation: &'a Simulation,
    sampler: &'a mut RouterSampler,
    observer: Option<&'a mut RouterObserver>,
    credit_batches: &'a mut CreditBatches,
    delivered: &'a mut AllCounts,
    rank_waits: &'a mut TimesByJob,
    transmissions: Option<&'a mut TimesByJob>,
    /// Number of records of the wait of the departing packet so far.
    parts: u8,
    context: &'c mut C,
}

/// The adapter, as a router of model `M` sees it.
struct Outputs<'a, 'c, C, M>(RouterLinkAdapter<'a, 'c, C>, PhantomData<M>);

/// Sends the first events of a router.
struct StartRouter<'a, 'c, C>(RouterLinkAdapter<'a, 'c, C>);

/// Executes one event of a router.
struct ExecuteEvent<'a, 'c, 'e, C> {
    adapter: RouterLinkAdapter<'a, 'c, C>,
    loads: &'e [u16],
    event: &'e NetEvent,
}

impl RouterLp {
    /// An idle router.
    pub fn new(simulation: &Simulation, router: RouterId) -> RouterLp {
        let network = &simulation.network;
        let topology = network.topology.as_ref();
        let vcs = network.traffic_classes.all_vcs();
        let ports: Vec<PortSetting> = (0..topology.ports(router))
            .map(|port| PortSetting {
                rate: network.rate(router, Port(port)),
                to_host: matches!(topology.peer(router, Port(port)), Peer::Host(_)),
                credits: network.buffer_of_vc(topology.link_class(router, Port(port))),
            })
            .collect();
        let setup = RouterSetup {
            id: router,
            vcs,
            traffic_classes: network.traffic_classes,
            ports: &ports,
            largest_packet: network.packet.largest(),
            bubbles: network.slot() > 0,
            measured: simulation.measured,
        };
        let sampler = RouterSampler::new(simulation, router);
        let wait_tracker = simulation
            .waits
            .then(|| RouterWaitTracker::new(network.model, ports.len(), vcs));
        let is_observed = wait_tracker.is_some() || sampler.counts_waiting();
        RouterLp {
            router: Router::new(&setup, network.model),
            link_ends: (0..topology.ports(router))
                .map(|port| {
                    let link_end = simulation.numbering.link_end(network, router, Port(port))?;
                    let far = simulation.hop_latency.is_far(network, link_end.class);
                    Some(if far { link_end.far() } else { link_end })
                })
                .collect(),
            load_reports: network
                .routing
                .reports()
                .map(|reports| Box::new(LoadReports::new(reports))),
            sampler,
            observer: is_observed.then(|| Box::new(RouterObserver { wait_tracker })),
            credit_batches: CreditBatches::new(simulation.shortcuts.credit_batching, ports.len(), vcs),
            delivered: AllCounts::new(),
            rank_waits: TimesByJob::default(),
            transmissions: simulation.divides_energy().then(Box::default),
        }
    }

    /// Prefetches the state that most events before `until` touch.
    #[inline]
    pub fn prefetch(&self, until: Time) {
        self.router.prefetch();
        if self.sampler.is_due(until) {
            self.sampler.prefetch();
        }
        if self.link_ends.len() <= FEW_PORTS {
            des::prefetch(&*self.link_ends);
            self.credit_batches.prefetch();
        }
    }

    /// Prefetches the state that this event touches.
    #[inline]
    pub fn prefetch_for(&self, simulation: &Simulation, event: &NetEvent) {
        match event {
            NetEvent::CreditReturned { port, vc, .. } => self.router.prefetch_credit(*port, *vc),
            NetEvent::PacketArrived { port, vc, packet } if self.link_ends.len() > FEW_PORTS => {
                if simulation.shortcuts.credit_batching.is_on() {
                    self.credit_batches.prefetch_port(*port);
                } else {
                    des::prefetch(&self.link_ends[usize::from(*port)]);
                }
                let classes = &simulation.network.traffic_classes;
                let at = At {
                    router: self.router.id(),
                    input: Port(*port),
                    vc: *vc - classes.first_vc(classes.of_vc(*vc)),
                    source: packet.source,
                    destination: packet.destination,
                };
                if let Some(port) = simulation.network.routing.predicted_port(at, packet.route) {
                    self.router.prefetch_output(port.0);
                    des::prefetch(&self.link_ends[usize::from(port.0)]);
                }
            }
            _ => {}
        }
    }

    /// The state machine, the adapter of its outputs, and the reported loads.
    #[inline(always)]
    fn parts<'a, 'c, C>(
        &'a mut self,
        simulation: &'a Simulation,
        context: &'c mut C,
    ) -> (
        &'a mut Router,
        RouterLinkAdapter<'a, 'c, C>,
        Option<&'a mut LoadReports>,
    ) {
        let adapter = RouterLinkAdapter {
            link_ends: &self.link_ends,
            simulation,
            sampler: &mut self.sampler,
            observer: self.observer.as_deref_mut(),
            credit_batches: &mut self.credit_batches,
            delivered: &mut self.delivered,
            rank_waits: &mut self.rank_waits,
            transmissions: self.transmissions.as_deref_mut(),
            parts: 0,
            context,
        };
        (&mut self.router, adapter, self.load_reports.as_deref_mut())
    }

    /// Sends the first events.
    pub fn start(&mut self, simulation: &Simulation, context: &mut impl Context<Simulation>) {
        let (router, adapter, _) = self.parts(simulation, context);
        router.visit(StartRouter(adapter));
    }

    /// Executes one event.
    // A call takes twenty instructions, and the compiler's own choice depends on the size of all that is inlined here.
    #[inline(always)]
    pub fn handle<C: Context<Simulation>>(
        &mut self,
        simulation: &Simulation,
        event: &NetEvent,
        context: &mut C,
    ) {
        if self.sampler.is_due(context.now()) {
            self.sample(simulation, event, context);
        }
        if let NetEvent::PacketArrived { .. } = event
            && self.sampler.receive()
            && C::REVERSIBLE
        {
            context.undo(LpUndo::RouterSampler(RouterSamplerUndo::Received));
        }
        if self.load_reports.is_some() {
            return self.handle_informed(simulation, event, context);
        }
        let (router, adapter, _) = self.parts(simulation, context);
        router.visit(ExecuteEvent {
            adapter,
            loads: &[],
            event,
        });
    }

    /// Samples the bins that end before the event, and the peaks before it.
    #[cold]
    #[inline(never)]
    fn sample<C: Context<Simulation>>(&mut self, simulation: &Simulation, event: &NetEvent, context: &mut C) {
        let now = context.now();
        self.sampler
            .settle(&mut |step| context.undo(LpUndo::RouterSampler(step)));
        let (plan, tallies) = (&simulation.plan, simulation.shortcuts.tallies.is_on());
        let state = (&self.router, &*self.delivered);
        let before = match context.certain_tally() {
            Some(tally) if tallies => self.sampler.sample(plan, state, now, C::REVERSIBLE, tally),
            _ => {
                let sink = &mut |record| match tallies {
                    true => context.tally(TallyStep::Sample(record)),
                    false => context.emit(record),
                };
                self.sampler.sample(plan, state, now, C::REVERSIBLE, sink)
            }
        };
        if let Some(before) = before {
            context.undo(LpUndo::RouterSampler(RouterSamplerUndo::Sampled(before)));
        }
        if let NetEvent::CreditReturned { port, vc, .. } = *event {
            let note = |step| context.undo(LpUndo::RouterSampler(step));
            self.sampler.raise_use(&self.router, (port, vc), note);
        }
    }

    /// Executes one event of a router that exchanges load reports.
    #[inline(never)]
    fn handle_informed(
        &mut self,
        simulation: &Simulation,
        event: &NetEvent,
        context: &mut impl Context<Simulation>,
    ) {
        let (router, adapter, load_reports) = self.parts(simulation, &mut *context);
        let (Some(load_reports), Some(reports)) = (load_reports, simulation.network.routing.reports()) else {
            unreachable!("routing that asks for load reports says which")
        };
        match *event {
            NetEvent::ReportDue => {
                let load = |port: Port| router.load(port.0);
                load_reports.report(simulation, reports, router.id(), load, context);
            }
            NetEvent::LoadsReported { slot, count, loads } => {
                load_reports.received(slot, count, loads, context)
            }
            _ => {
                let loads = load_reports.loads();
                router.visit(ExecuteEvent {
                    adapter,
                    loads,
                    event,
                });
                load_reports.look(reports, router.id(), |port| router.load(port.0), context);
            }
        }
    }

    fn wait_tracker(&mut self) -> Option<&mut RouterWaitTracker> {
        self.observer.as_mut()?.wait_tracker.as_mut()
    }

    /// Undoes one step.
    #[inline]
    pub fn undo(&mut self, simulation: &Simulation, step: LpUndo) {
        match (step, &mut self.load_reports) {
            (LpUndo::RouterSampler(step), _) => self.sampler.undo(&simulation.plan, step),
            (LpUndo::LoadReports(step), Some(load_reports)) => load_reports.undo(step),
            (LpUndo::WaitTracker(step), _) => {
                if let Some(wait_tracker) = self.wait_tracker() {
                    wait_tracker.undo(step);
                }
            }
            (LpUndo::CreditBatches(step), _) => self.credit_batches.undo(step),
            (LpUndo::Delivered(step), _) => step.undo(&mut self.delivered),
            (LpUndo::RankWait(step), _) => self.rank_waits.undo(step),
            (LpUndo::Transmission(step), _) => {
                if let Some(transmissions) = &mut self.transmissions {
                    transmissions.undo(step);
                }
            }
            (LpUndo::Router(step), _) => self.router.undo(step),
            _ => unreachable!("a router undoes its own steps"),
        }
    }

    /// Takes the last samples, at the end of the run.
    pub fn finish(&self, plan: &Plan, end: Time, not_begun: &NotBegun, emit: &mut impl FnMut(Record)) {
        let state = (&self.router, &*self.delivered);
        self.sampler.finish(plan, state, end, not_begun, emit);
    }

    /// Early committed deliveries of a job.
    pub fn delivered(&self, job: usize) -> Option<&JobCounts> {
        of_job(&self.delivered, job)
    }

    /// Waits of the messages of a job for its links, by link class.
    pub fn rank_waits(&self, job: usize) -> impl Iterator<Item = (LinkClass, Time)> {
        self.rank_waits.of_job(job)
    }

    /// Times that its links took, or will take, to transmit the packets of each job. `None` unless energy is divided
    /// among jobs.
    pub fn transmissions(&self) -> Option<&TimesByJob> {
        self.transmissions.as_deref()
    }

    /// Bytes that have left the input buffer of a VC of `port`, and whose credits are not sent yet.
    pub fn pending_credits(&self, port: u16, vc: u8) -> u32 {
        self.credit_batches.pending(port, vc)
    }

    /// Appends the state.
    pub fn save(&self, bytes: &mut Vec<u8>) {
        model::write(&self.delivered.to_vec(), bytes);
        model::write(&self.rank_waits, bytes);
        model::write(&self.credit_batches, bytes);
        if let Some(transmissions) = &self.transmissions {
            model::write(transmissions, bytes);
        }
        if let Some(load_reports) = &self.load_reports {
            model::write(load_reports, bytes);
        }
        if let Some(samples) = self.sampler.state() {
            model::write(&samples, bytes);
        }
        let observer = self.observer.as_ref();
        if let Some(wait_tracker) = observer.and_then(|observer| observer.wait_tracker.as_ref()) {
            model::write(wait_tracker, bytes);
        }
        model::write(&self.router.state(), bytes);
    }

    /// Replaces the state of a new router by a saved one.
    ///
    /// # Errors
    /// The bytes are not the state of such a router.
    pub fn restore(&mut self, simulation: &Simulation, bytes: &[u8]) -> Result<(), String> {
        let ((delivered, rank_waits, batches), mut bytes): ((Vec<JobCounts>, TimesByJob, CreditBatches), _) =
            model::read_first(bytes)?;
        self.delivered = delivered.into();
        self.rank_waits = rank_waits;
        self.credit_batches.restore(batches)?;
        if let Some(transmissions) = &mut self.transmissions {
            let (saved, rest): (TimesByJob, _) = model::read_first(bytes)?;
            **transmissions = saved;
            bytes = rest;
        }
        if let Some(load_reports) = &mut self.load_reports {
            let (saved, rest): (LoadReports, _) = model::read_first(bytes)?;
            load_reports.restore(saved)?;
            bytes = rest;
        }
        if self.sampler.samples() {
            let ((received, samples), rest): ((u64, RouterSamples), _) = model::read_first(bytes)?;
            self.sampler.restore(&simulation.plan, received, samples)?;
            bytes = rest;
        }
        if let Some(wait_tracker) = self.wait_tracker() {
            let (saved, rest): (RouterWaitTracker, _) = model::read_first(bytes)?;
            if !saved.fits(wait_tracker) {
                return Err("its wait tracker is that of another router".into());
            }
            *wait_tracker = saved;
            bytes = rest;
        }
        let state: RouterState = model::read(bytes)?;
        self.router.restore(state)
    }
}

impl<C: Context<Simulation>> RouterVisitor for StartRouter<'_, '_, C> {
    type Output = ();

    fn visit<M: Registered>(self, router: &mut M) {
        router.start(&mut Outputs::<C, M>(self.0, PhantomData));
    }
}

impl<C: Context<Simulation>> RouterVisitor for ExecuteEvent<'_, '_, '_, C> {
    type Output = ();

    #[inline(always)]
    fn visit<M: Registered>(self, router: &mut M) {
        if M::IS_INLINED {
            self.execute(router);
        } else {
            self.execute_apart(router);
        }
    }
}

impl<C: Context<Simulation>> ExecuteEvent<'_, '_, '_, C> {
    #[inline(never)]
    fn execute_apart<M: Registered>(self, router: &mut M) {
        self.execute(router);
    }

    #[inline(always)]
    fn execute<M: Registered>(self, router: &mut M) {
        let context = &RoutingContext {
            routing: self.adapter.simulation.network.routing.as_ref(),
            loads: self.loads,
        };
        let now = self.adapter.context.now();
        let mut out = Outputs::<C, M>(self.adapter, PhantomData);
        let foreign = || unreachable!("{:?} does not happen to a router of this model", self.event);
        match *self.event {
            NetEvent::PacketArrived { port, vc, packet } => {
                let arrival = Arrival {
                    input: port,
                    vc,
                    packet,
                };
                router.arrived(now, arrival, context, &mut out);
            }
            NetEvent::CreditReturned { port, vc, bytes } => router.credit(now, port, vc, bytes, &mut out),
            NetEvent::RouterTimer(timer) => match M::own_timer(timer) {
                Some(timer) => router.timer(now, timer, context, &mut out),
                None => foreign(),
            },
            NetEvent::SignalArrived { port, signal } => match M::own_signal(signal) {
                Some(signal) => router.signal(now, port, signal, context, &mut out),
                None => foreign(),
            },
            _ => foreign(),
        }
    }
}

/// Keeps undo steps of early committed deliveries.
struct DeliveryJournal<'a, C>(&'a mut C);

impl<C: Context<Simulation>> Journal<CountsUndo> for DeliveryJournal<'_, C> {
    const KEPT: bool = C::REVERSIBLE;

    #[inline]
    fn keep(&mut self, step: CountsUndo) {
        self.0.undo(LpUndo::Delivered(step));
    }
}

impl<C: Context<Simulation>> RouterLinkAdapter<'_, '_, C> {
    #[inline]
    fn link_end(&self, port: u16) -> LinkEnd {
        self.link_ends[usize::from(port)].expect("routing uses wired ports only")
    }
}

impl<C: Context<Simulation>> RouterLinkAdapter<'_, '_, C> {
    #[inline(always)]
    fn depart(&mut self, port: u16, vc: u8, mut packet: Packet, wait: Time, serialization: Time) {
        self.parts = 0;
        let start = self.context.now() + wait;
        if self.sampler.is_later(start) {
            self.note_later(port, start, packet.bytes);
        }
        let link_end = self.link_end(port);
        let delay = wait + link_end.delay(serialization);
        if self.transmissions.is_some() {
            self.count_transmission(&link_end, packet.job, serialization);
        }
        if !packet.standalone() {
            // What divides the time of the message of a rank by cause.
            if wait > Time::ZERO || link_end.is_slow() {
                self.count_wait(&link_end, &packet, wait, serialization);
            }
            if link_end.is_far() {
                packet.count_far_link();
            }
        } else if link_end.leads_to_host() {
            let arrival = self.context.now() + delay;
            if self.simulation.shortcuts.early_commit.covers(arrival) {
                return self.count_delivered(arrival, &packet);
            }
        }
        let event = NetEvent::PacketArrived {
            port: link_end.port,
            vc,
            packet,
        };
        self.context.send(link_end.lp, delay, event);
    }

    /// Counts the delivery of a packet whose tail arrives at `arrival`, as the host would.
    #[inline(always)]
    fn count_delivered(&mut self, arrival: Time, packet: &Packet) {
        let journal = &mut DeliveryJournal(&mut *self.context);
        let counts = counts_of(self.delivered, packet.job, journal);
        let payload = self.simulation.payload(packet);
        counts.delivered(arrival, (packet, payload), self.simulation.measured, journal);
        if self.sampler.is_later(arrival) {
            self.note_later_delivery(arrival, packet.job, payload);
        }
    }

    #[cold]
    #[inline(never)]
    fn note_later_delivery(&mut self, arrival: Time, job: u16, bytes: u32) {
        let plan = &self.simulation.plan;
        if let Some(bin) = self.sampler.note_later_delivery(plan, arrival, job, bytes)
            && C::REVERSIBLE
        {
            let step = RouterSamplerUndo::LaterDelivery { job, bytes, bin };
            self.context.undo(LpUndo::RouterSampler(step));
        }
    }

    /// Counts the wait of a packet of a rank for a link. The time that a link takes longer than those of hosts is part
    /// of it.
    // Not inlined, to keep the code of synthetic traffic small.
    #[inline(never)]
    fn count_wait(&mut self, link_end: &LinkEnd, packet: &Packet, wait: Time, serialization: Time) {
        let mut wait = wait;
        if link_end.is_slow() {
            let host_link = &self.simulation.network.links[usize::from(HOST_LINK.0)];
            wait += serialization.saturating_sub(host_link.rate.serialization(packet.bytes));
        }
        let step = self.rank_waits.add(packet.job, link_end.class, wait);
        if C::REVERSIBLE {
            self.context.undo(LpUndo::RankWait(step));
        }
    }

    /// Counts the transmission of a packet for its job.
    #[inline(never)]
    fn count_transmission(&mut self, link_end: &LinkEnd, job: u16, serialization: Time) {
        let Some(transmissions) = &mut self.transmissions else {
            return;
        };
        let step = transmissions.add(job, link_end.class, serialization);
        if C::REVERSIBLE {
            self.context.undo(LpUndo::Transmission(step));
        }
    }

    #[cold]
    #[inline(never)]
    fn note_later(&mut self, port: u16, start: Time, bytes: u32) {
        if let Some(bin) = self.sampler.note_later(&self.simulation.plan, port, start, bytes)
            && C::REVERSIBLE
        {
            let step = RouterSamplerUndo::LaterReservation { port, bytes, bin };
            self.context.undo(LpUndo::RouterSampler(step));
        }
    }

    #[inline(always)]
    fn return_credit(&mut self, port: u16, vc: u8, bytes: u32, after: Time) {
        let batching = self.simulation.shortcuts.credit_batching;
        if !batching.is_on() {
            return self.send_credit(port, vc, bytes, after, Time::ZERO);
        }
        let now = self.context.now();
        let (step, batch) = self.credit_batches.add(batching, (port, vc), bytes, now + after);
        if C::REVERSIBLE {
            self.context.undo(LpUndo::CreditBatches(step));
        }
        if let Some((bytes, tail)) = batch {
            // Only batched credits can be due sooner, and they may be late.
            let least = self.simulation.shortcuts.lookahead;
            self.send_credit(port, vc, bytes, tail - now, least);
        }
    }

    // Not inlined: batches are rare.
    #[inline(never)]
    fn send_credit(&mut self, port: u16, vc: u8, bytes: u32, after: Time, least: Time) {
        let link_end = self.link_end(port);
        let event = NetEvent::CreditReturned {
            port: link_end.port,
            vc,
            bytes,
        };
        let delay = after + link_end.credit;
        self.context.send(link_end.lp, delay.max(least), event);
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
        self.context.undo(LpUndo::WaitTracker(M::any_wait_undo(step)));
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
        self.context.emit(Record::Trace(TraceRecord::Waited {
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

impl<C: Context<Simulation>, M: Registered> Journal<M::Undo> for Outputs<'_, '_, C, M> {
    const KEPT: bool = C::REVERSIBLE;

    #[inline]
    fn keep(&mut self, step: M::Undo) {
        self.0.context.undo(LpUndo::Router(M::any_undo(step)));
    }
}

impl<C: Context<Simulation>, M: Registered> RouterOutputs<M> for Outputs<'_, '_, C, M> {
    // Inlined into its callers, since the packet would be written once more otherwise.
    #[inline(always)]
    fn depart(&mut self, port: u16, vc: u8, packet: Packet, wait: Time, serialization: Time) {
        self.0.depart(port, vc, packet, wait, serialization);
    }

    #[inline(always)]
    fn credit(&mut self, port: u16, vc: u8, bytes: u32, after: Time) {
        self.0.return_credit(port, vc, bytes, after);
    }

    #[inline]
    fn timer(&mut self, timer: M::Timer, after: Time) {
        let event = NetEvent::RouterTimer(M::any_timer(timer));
        let context = &mut *self.0.context;
        context.send(context.lp(), after, event);
    }

    #[allow(
        unreachable_code,
        unused_variables,
        reason = "no registered model has signals"
    )]
    fn signal(&mut self, port: u16, signal: M::Signal, after: Time) {
        let link_end = self.0.link_end(port);
        let event = NetEvent::SignalArrived {
            port: link_end.port,
            signal: M::any_signal(signal),
        };
        self.0.context.send(link_end.lp, after + link_end.arrival, event);
    }

    #[inline]
    fn random(&mut self) -> impl Random {
        LpRandom(&mut *self.0.context)
    }

    #[inline]
    fn lacks_credits(&mut self) {
        if self.0.simulation.shortcuts.credit_batching.is_on() {
            self.0.context.fail(LpFailure::CreditsRanShort);
        }
    }

    #[inline]
    fn tracks_waits(&self) -> bool {
        self.0.observer.is_some()
    }

    // Takes the packet by value: with a reference, it would be kept in memory.
    #[cold]
    #[inline(never)]
    fn observe(
        &mut self,
        packet: Packet,
        (port, vc): (u16, u8),
        observation: <M::WaitTracker as WaitTracker>::Observation,
    ) {
        let adapter = &mut self.0;
        let now = adapter.context.now();
        if let Some(change) = M::WaitTracker::change(&observation) {
            let note = &mut |step| adapter.context.undo(LpUndo::RouterSampler(step));
            adapter.sampler.count_waiting(now, (port, vc), change, note);
        }
        let observer = adapter.observer.as_deref_mut();
        let wait_tracker = observer.and_then(|observer| observer.wait_tracker.as_mut());
        let Some(wait_tracker) = wait_tracker.and_then(M::own_wait_tracker) else {
            return;
        };
        let mut sink = RouterWaitSink {
            port,
            vc,
            packet,
            parts: &mut adapter.parts,
            context: &mut *adapter.context,
            model: PhantomData::<M>,
        };
        wait_tracker.observe(now, observation, &mut sink);
    }
}
