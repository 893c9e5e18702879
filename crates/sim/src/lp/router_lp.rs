//! The router as a logical process: turns "port 7" into "LP 311, port 2, 50 ns".

use des::{Context, Journal, Time};
use fabric::router::input_queued::Arrival;
use fabric::router::packet::{self, FEW_PORTS, Outputs, PortSetting, RoutedPacket};
use fabric::router::{RoutingContext, input_queued};
use fabric::{
    InputQueuedWaitTracker, InputQueuedWaitTrackerUndo, LinkUse, Packet, PacketWaitTracker,
    PacketWaitTrackerUndo, Passage, VcQueue, Wait, WaitOutputs,
};
use routing::{At, BufferClaim, Random};
use topology::{Peer, Port, RouterId};

use crate::collect::{RouterSampler, RouterSamplerUndo, RouterSamples};
use crate::lp::counts::{AllCounts, JobCounts, Unkept, counts_of, of_job};
use crate::lp::load_reports::LoadReports;
use crate::lp::model::{self, Undo};
use crate::lp::net_event::{NetEvent, Record};
use crate::lp::shortcuts::credit_batching::CreditBatches;
use crate::lp::simulation::{Failure, Simulation};
use crate::lp::trace_record::TraceRecord;
use crate::lp::wiring::LinkEnd;
use crate::setup::network::RouterModel;

/// A router and what its ports are wired to.
pub struct RouterLp {
    /// The state machine.
    pub switch: Switch,
    /// By port; none: no cable.
    link_ends: Box<[Option<LinkEnd>]>,
    /// What it has been told of loads elsewhere, if its routing asks for that.
    load_reports: Option<Box<LoadReports>>,
    /// Samples it, if anything is sampled.
    pub sampler: RouterSampler,
    /// Who waits for whom, where that is told.
    wait_tracker: Option<Box<WaitTracker>>,
    /// Credits that wait for a batch.
    credit_batches: CreditBatches,
    /// Packets whose tails reach its hosts, as far as it counted them ahead of their time.
    delivered: AllCounts,
}

/// The diary of a router of one of the models.
pub enum WaitTracker {
    /// `packet`.
    Packet(PacketWaitTracker),
    /// `input-queued`.
    InputQueued(InputQueuedWaitTracker),
}

/// A router of one of the models, the same in all of a simulation; not boxed, as a box would cost a cache
/// miss per turn.
#[allow(clippy::large_enum_variant)]
pub enum Switch {
    /// `packet`.
    Packet(packet::Router),
    /// `input-queued`.
    InputQueued(input_queued::Router),
}

/// The random stream of the LP at work.
pub struct Draws<'a, C>(pub &'a mut C);

/// Where a router's outputs go: into events.
struct RouterLinkAdapter<'a, C> {
    link_ends: &'a [Option<LinkEnd>],
    simulation: &'a Simulation,
    sampler: &'a mut RouterSampler,
    wait_tracker: Option<&'a mut WaitTracker>,
    credit_batches: &'a mut CreditBatches,
    delivered: &'a mut AllCounts,
    /// Parts told of the wait of the packet that departs next.
    loads: u8,
    context: &'a mut C,
}

impl RouterLp {
    /// An idle router.
    pub fn new(simulation: &Simulation, router: RouterId) -> RouterLp {
        let network = &simulation.network;
        let topology = network.topology.as_ref();
        let vcs = network.routing.vcs();
        let ports: Vec<PortSetting> = (0..topology.ports(router))
            .map(|port| PortSetting {
                rate: network.rate(router, Port(port)),
                to_host: matches!(topology.peer(router, Port(port)), Peer::Host(_)),
                credits: network.buffer_of_vc(vcs),
            })
            .collect();
        let switch = match network.model {
            RouterModel::Packet => {
                let slot = network.slot();
                Switch::Packet(packet::Router::new(router, vcs, &ports, slot, simulation.warmup))
            }
            RouterModel::InputQueued { arbiter } => {
                let setting = input_queued::Setting {
                    arbiter,
                    largest_packet: network.packet,
                    warmup: simulation.warmup,
                };
                Switch::InputQueued(input_queued::Router::new(router, vcs, &ports, setting))
            }
        };
        RouterLp {
            switch,
            link_ends: (0..topology.ports(router))
                .map(|port| simulation.numbering.link_end(network, router, Port(port)))
                .collect(),
            load_reports: network
                .routing
                .reports()
                .map(|reports| Box::new(LoadReports::new(reports))),
            sampler: RouterSampler::new(simulation, router),
            wait_tracker: simulation
                .waits
                .then(|| Box::new(WaitTracker::new(network.model, ports.len(), vcs))),
            credit_batches: CreditBatches::new(simulation.shortcuts.credit_batching, ports.len(), vcs),
            delivered: AllCounts::new(),
        }
    }

    /// Asks for the memory that its next events will touch.
    #[inline]
    pub fn prefetch(&self) {
        if let Switch::Packet(router) = &self.switch {
            router.prefetch();
        }
        if self.link_ends.len() <= FEW_PORTS {
            des::prefetch(&*self.link_ends);
            self.credit_batches.prefetch();
        }
    }

    /// Asks for the memory that this event will touch.
    #[inline]
    pub fn prefetch_for(&self, simulation: &Simulation, event: &NetEvent) {
        let Switch::Packet(router) = &self.switch else {
            return;
        };
        let few = self.link_ends.len() <= FEW_PORTS;
        match event {
            NetEvent::CreditReturned { port, vc, .. } if few => router.prefetch_waiting(*port, *vc),
            NetEvent::CreditReturned { port, .. } => router.prefetch_output(*port),
            NetEvent::PacketArrived { port, vc, packet } if !few => {
                if simulation.shortcuts.credit_batching.is_on() {
                    self.credit_batches.prefetch_port(*port);
                } else {
                    des::prefetch(&self.link_ends[usize::from(*port)]);
                }
                let at = At {
                    router: router.id(),
                    input: Port(*port),
                    vc: *vc,
                    source: packet.source,
                    destination: packet.destination,
                };
                if let Some(port) = simulation.network.routing.predicted_port(at, packet.route) {
                    router.prefetch_output(port.0);
                    des::prefetch(&self.link_ends[usize::from(port.0)]);
                }
            }
            _ => {}
        }
    }

    /// Carries out one event.
    #[inline]
    pub fn handle(
        &mut self,
        simulation: &Simulation,
        event: &NetEvent,
        context: &mut impl Context<Simulation>,
    ) {
        if self.sampler.is_due(context.now()) {
            self.sample(simulation, context);
        }
        if let NetEvent::PacketArrived { .. } = event
            && self.sampler.receive()
        {
            context.undo(Undo::RouterSampler(RouterSamplerUndo::Received));
        }
        if self.load_reports.is_some() {
            return self.handle_informed(simulation, event, context);
        }
        let adapter = RouterLinkAdapter {
            link_ends: &self.link_ends,
            simulation,
            sampler: &mut self.sampler,
            wait_tracker: self.wait_tracker.as_deref_mut(),
            credit_batches: &mut self.credit_batches,
            delivered: &mut self.delivered,
            loads: 0,
            context,
        };
        self.switch.handle(simulation, &[], event, adapter);
    }

    /// Notes what has been in the bins before the one that begins.
    #[cold]
    #[inline(never)]
    fn sample<C: Context<Simulation>>(&mut self, simulation: &Simulation, context: &mut C) {
        let now = context.now();
        let emit = &mut |record| context.emit(record);
        let before = self
            .sampler
            .sample(&simulation.plan, &self.switch, now, C::REVERSIBLE, emit);
        if let Some(before) = before {
            context.undo(Undo::RouterSampler(RouterSamplerUndo::Sampled(before)));
        }
    }

    /// The same where routers tell each other of their loads.
    #[inline(never)]
    fn handle_informed(
        &mut self,
        simulation: &Simulation,
        event: &NetEvent,
        context: &mut impl Context<Simulation>,
    ) {
        let RouterLp {
            switch,
            link_ends,
            load_reports,
            sampler,
            wait_tracker,
            credit_batches,
            delivered,
        } = self;
        let (Some(load_reports), Some(reports)) = (load_reports, simulation.network.routing.reports()) else {
            unreachable!("who has been told something is told by routing what")
        };
        match *event {
            NetEvent::ReportDue => {
                let load = |port| switch.load(port);
                load_reports.report(simulation, reports, switch.id(), load, context);
            }
            NetEvent::LoadsTold { slot, count, loads } => load_reports.received(slot, count, loads, context),
            _ => {
                let adapter = RouterLinkAdapter {
                    link_ends,
                    simulation,
                    sampler,
                    wait_tracker: wait_tracker.as_deref_mut(),
                    credit_batches,
                    delivered,
                    loads: 0,
                    context: &mut *context,
                };
                switch.handle(simulation, load_reports.loads(), event, adapter);
                load_reports.look(reports, switch.id(), |port| switch.load(port), context);
            }
        }
    }

    /// Takes back one step.
    #[inline]
    pub fn undo(&mut self, simulation: &Simulation, step: Undo) {
        match (step, &mut self.load_reports) {
            (Undo::RouterSampler(step), _) => self.sampler.undo(&simulation.plan, step),
            (Undo::LoadReports(step), Some(load_reports)) => load_reports.undo(step),
            (Undo::WaitTracker(step), _) => {
                if let Some(WaitTracker::Packet(wait_tracker)) = self.wait_tracker.as_deref_mut() {
                    wait_tracker.undo(step);
                }
            }
            (Undo::InputQueuedWaitTracker(step), _) => {
                if let Some(WaitTracker::InputQueued(wait_tracker)) = self.wait_tracker.as_deref_mut() {
                    wait_tracker.undo(step);
                }
            }
            (Undo::CreditBatches(step), _) => self.credit_batches.undo(step),
            (step, _) => self.switch.undo(step),
        }
    }

    /// What it has counted of a job's packets for its hosts, ahead of their time.
    pub fn delivered(&self, job: usize) -> Option<&JobCounts> {
        of_job(&self.delivered, job)
    }

    /// Bytes that have left the input buffer of a VC of `port`, and whose credits have not set out.
    pub fn pending_credits(&self, port: u16, vc: u8) -> u32 {
        self.credit_batches.pending(port, vc)
    }

    /// Appends its state.
    pub fn save(&self, bytes: &mut Vec<u8>) {
        model::write(&self.delivered.to_vec(), bytes);
        model::write(&self.credit_batches, bytes);
        if let Some(load_reports) = &self.load_reports {
            model::write(load_reports, bytes);
        }
        if let Some(samples) = self.sampler.state() {
            model::write(&samples, bytes);
        }
        match self.wait_tracker.as_deref() {
            Some(WaitTracker::Packet(wait_tracker)) => model::write(wait_tracker, bytes),
            Some(WaitTracker::InputQueued(wait_tracker)) => model::write(wait_tracker, bytes),
            None => {}
        }
        self.switch.save(bytes);
    }

    /// Brings a new one into a saved state.
    ///
    /// # Errors
    /// The bytes are no state of such a router.
    pub fn restore(&mut self, simulation: &Simulation, bytes: &[u8]) -> Result<(), String> {
        let ((delivered, batches), mut bytes): ((Vec<JobCounts>, CreditBatches), _) =
            model::read_first(bytes)?;
        self.delivered = delivered.into();
        self.credit_batches.restore(batches)?;
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
        if let Some(wait_tracker) = &mut self.wait_tracker {
            bytes = wait_tracker.restore(bytes)?;
        }
        self.switch.restore(bytes)
    }
}

#[inline]
fn handle_packet<C: Context<Simulation>>(
    router: &mut packet::Router,
    context: &RoutingContext<'_>,
    event: &NetEvent,
    mut adapter: RouterLinkAdapter<'_, C>,
) {
    let now = adapter.context.now();
    match *event {
        NetEvent::PacketArrived { port, vc, packet } => {
            let mut routed = RoutedPacket::arrived(packet, port, vc);
            router.route(&mut routed, context, &mut Draws(&mut *adapter.context));
            router.arrived(now, &routed, &mut adapter);
        }
        NetEvent::PacketReady {
            input,
            output,
            input_vc,
            output_vc,
            claim,
            packet,
        } => {
            let routed = RoutedPacket {
                packet,
                input,
                output,
                input_vc,
                output_vc,
                claim,
            };
            router.ready(now, &routed, &mut adapter);
        }
        NetEvent::CreditReturned { port, vc, bytes } => router.credit(now, port, vc, bytes, &mut adapter),
        _ => unreachable!("{event:?} does not happen to a router of the model packet"),
    }
}

/// Not inlined: `packet` is to stay as small as it is without it.
#[inline(never)]
fn handle_input_queued<C: Context<Simulation>>(
    router: &mut input_queued::Router,
    context: RoutingContext<'_>,
    event: &NetEvent,
    mut adapter: RouterLinkAdapter<'_, C>,
) {
    let now = adapter.context.now();
    match *event {
        NetEvent::PacketArrived { port, vc, packet } => {
            let arrival = Arrival {
                input: port,
                vc,
                packet,
            };
            router.arrived(now, arrival, context, &mut adapter);
        }
        NetEvent::SwitchDue => router.due(now, context, &mut adapter),
        NetEvent::CreditReturned { port, vc, bytes } => router.credit(now, port, vc, bytes, &mut adapter),
        _ => unreachable!("{event:?} does not happen to a router of the model input-queued"),
    }
}

impl WaitTracker {
    fn new(model: RouterModel, ports: usize, vcs: u8) -> WaitTracker {
        match model {
            RouterModel::Packet => WaitTracker::Packet(PacketWaitTracker::new(ports, vcs)),
            RouterModel::InputQueued { .. } => {
                WaitTracker::InputQueued(InputQueuedWaitTracker::new(ports, vcs))
            }
        }
    }

    /// Takes over a saved one; gives the bytes behind it.
    fn restore<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], String> {
        let (fits, rest) = match self {
            WaitTracker::Packet(wait_tracker) => {
                let (saved, rest): (PacketWaitTracker, _) = model::read_first(bytes)?;
                let fits = saved.fits(wait_tracker);
                *wait_tracker = saved;
                (fits, rest)
            }
            WaitTracker::InputQueued(wait_tracker) => {
                let (saved, rest): (InputQueuedWaitTracker, _) = model::read_first(bytes)?;
                let fits = saved.fits(wait_tracker);
                *wait_tracker = saved;
                (fits, rest)
            }
        };
        fits.then_some(rest)
            .ok_or_else(|| "its diary of waits is that of another router".into())
    }
}

impl Switch {
    #[inline(always)]
    fn handle<C: Context<Simulation>>(
        &mut self,
        simulation: &Simulation,
        loads: &[u16],
        event: &NetEvent,
        adapter: RouterLinkAdapter<'_, C>,
    ) {
        let context = RoutingContext {
            routing: simulation.network.routing.as_ref(),
            loads,
        };
        match self {
            Switch::Packet(router) => handle_packet(router, &context, event, adapter),
            Switch::InputQueued(router) => handle_input_queued(router, context, event, adapter),
        }
    }

    /// Packets that wait for a port.
    pub fn waiting_at(&self, port: u16) -> u32 {
        match self {
            Switch::Packet(router) => router.waiting_at(port),
            Switch::InputQueued(router) => router.waiting_at(port),
        }
    }

    /// Whether the link at a port goes on to be used, or to be held up, at `time`, if nothing happens.
    pub fn is_active(&self, port: u16, time: Time) -> bool {
        match self {
            Switch::Packet(router) => router.is_active(port, time),
            Switch::InputQueued(router) => router.is_active(port, time),
        }
    }

    /// Bytes that wait for a port, are under way there, or whose credit is not back.
    pub fn load(&self, port: Port) -> u64 {
        match self {
            Switch::Packet(router) => router.load(port.0),
            Switch::InputQueued(router) => router.load(port.0),
        }
    }

    /// The router's id.
    pub fn id(&self) -> RouterId {
        match self {
            Switch::Packet(router) => router.id(),
            Switch::InputQueued(router) => router.id(),
        }
    }

    /// Shows each packet that holds a place in an input buffer, with port and VC.
    pub fn buffered(&self, see: &mut dyn FnMut(&Packet, u16, u8)) {
        match self {
            Switch::Packet(router) => router.waiting().for_each(|w| see(&w.packet, w.input, w.input_vc)),
            Switch::InputQueued(router) => router.waiting().for_each(|w| see(w.packet, w.input, w.input_vc)),
        }
    }

    /// Credits for a VC of the link at `port`, in bytes.
    pub fn credits(&self, port: u16, vc: u8) -> u32 {
        match self {
            Switch::Packet(router) => router.credits(port, vc),
            Switch::InputQueued(router) => router.credits(port, vc),
        }
    }

    /// Use of the link at `port` up to `end`.
    pub fn used(&self, port: u16, end: Time) -> LinkUse {
        match self {
            Switch::Packet(router) => router.used(port, end),
            Switch::InputQueued(router) => router.used(port, end),
        }
    }

    /// Takes back one step.
    #[inline]
    fn undo(&mut self, step: Undo) {
        match (self, step) {
            (Switch::Packet(router), Undo::Router(step)) => router.undo(step),
            (Switch::InputQueued(router), Undo::InputQueued(step)) => router.undo(step),
            _ => unreachable!("a router takes back its own steps"),
        }
    }

    /// Appends its state.
    fn save(&self, bytes: &mut Vec<u8>) {
        match self {
            Switch::Packet(router) => model::write(&router.state(), bytes),
            Switch::InputQueued(router) => model::write(&router.state(), bytes),
        }
    }

    /// Brings a new one into a saved state.
    ///
    /// # Errors
    /// The bytes are no state of such a router.
    fn restore(&mut self, bytes: &[u8]) -> Result<(), String> {
        match self {
            Switch::Packet(router) => router.restore(model::read(bytes)?),
            Switch::InputQueued(router) => router.restore(model::read(bytes)?),
        }
    }
}

impl<C: Context<Simulation>> Random for Draws<'_, C> {
    #[inline]
    fn below(&mut self, bound: u32) -> u32 {
        // Lemire's multiply-shift: the bias is below bound / 2^64.
        ((u128::from(self.0.random()) * u128::from(bound)) >> 64) as u32
    }
}

impl<C: Context<Simulation>> RouterLinkAdapter<'_, C> {
    #[inline]
    fn link_end(&self, port: u16) -> LinkEnd {
        self.link_ends[usize::from(port)].expect("routing uses wired ports only")
    }
}

impl<C: Context<Simulation>> Journal<packet::Undo> for RouterLinkAdapter<'_, C> {
    const KEPT: bool = C::REVERSIBLE;

    #[inline]
    fn note(&mut self, step: packet::Undo) {
        self.context.undo(Undo::Router(step));
    }
}

impl<C: Context<Simulation>> RouterLinkAdapter<'_, C> {
    #[inline(always)]
    fn depart_after(&mut self, port: u16, vc: u8, packet: Packet, wait: Time, serialization: Time) {
        let start = self.context.now() + wait;
        if self.sampler.is_later(start) {
            self.note_later(port, start, packet.bytes);
        }
        let link_end = self.link_end(port);
        let delay = wait + link_end.delay(serialization);
        // Known when it is compiled: executors that undo commit nothing early.
        if !C::REVERSIBLE && link_end.to_host && packet.standalone {
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

    /// What the host would do with a packet whose tail comes at `arrival`.
    #[inline]
    fn count_delivered(&mut self, arrival: Time, packet: &Packet) {
        let counts = counts_of(self.delivered, packet.job, &mut Unkept);
        counts.delivered(arrival, packet, self.simulation.warmup, &mut Unkept);
    }

    #[cold]
    #[inline(never)]
    fn note_later(&mut self, port: u16, start: Time, bytes: u32) {
        if let Some(bin) = self.sampler.note_later(&self.simulation.plan, port, start, bytes)
            && C::REVERSIBLE
        {
            let step = RouterSamplerUndo::Later { port, bytes, bin };
            self.context.undo(Undo::RouterSampler(step));
        }
    }

    #[inline]
    fn return_credit(&mut self, port: u16, vc: u8, bytes: u32, after: Time) {
        let batching = self.simulation.shortcuts.credit_batching;
        if !batching.is_on() {
            return self.send_credit(port, vc, bytes, after, Time::ZERO);
        }
        let now = self.context.now();
        let (step, batch) = self.credit_batches.add(batching, (port, vc), bytes, now + after);
        if C::REVERSIBLE {
            self.context.undo(Undo::CreditBatches(step));
        }
        if let Some((bytes, tail)) = batch {
            // Only credits in batches can be due sooner, and these may come late.
            let least = self.simulation.shortcuts.lookahead;
            self.send_credit(port, vc, bytes, tail - now, least);
        }
    }

    #[inline]
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

/// The diary of a router, about one packet.
struct WaitSink<'a, C> {
    port: u16,
    vc: u8,
    packet: &'a Packet,
    /// Parts told of its wait.
    loads: &'a mut u8,
    context: &'a mut C,
}

impl<C: Context<Simulation>> Journal<PacketWaitTrackerUndo> for WaitSink<'_, C> {
    const KEPT: bool = C::REVERSIBLE;

    fn note(&mut self, step: PacketWaitTrackerUndo) {
        self.context.undo(Undo::WaitTracker(step));
    }
}

impl<C: Context<Simulation>> WaitOutputs<PacketWaitTrackerUndo> for WaitSink<'_, C> {
    fn waited(&mut self, wait: Wait) {
        self.tell(wait);
    }
}

impl<C: Context<Simulation>> Journal<InputQueuedWaitTrackerUndo> for WaitSink<'_, C> {
    const KEPT: bool = C::REVERSIBLE;

    fn note(&mut self, step: InputQueuedWaitTrackerUndo) {
        self.context.undo(Undo::InputQueuedWaitTracker(step));
    }
}

impl<C: Context<Simulation>> WaitOutputs<InputQueuedWaitTrackerUndo> for WaitSink<'_, C> {
    fn waited(&mut self, wait: Wait) {
        self.tell(wait);
    }
}

impl<C: Context<Simulation>> WaitSink<'_, C> {
    fn tell(&mut self, wait: Wait) {
        let Packet {
            job,
            source,
            message: number,
            bytes,
            ..
        } = *self.packet;
        self.context.emit(Record::Trace(TraceRecord::Waited {
            job,
            source,
            number,
            lp: self.context.lp(),
            port: self.port,
            vc: self.vc,
            bytes,
            part: *self.loads,
            wait,
        }));
        *self.loads = self.loads.saturating_add(1);
    }
}

impl<C: Context<Simulation>> RouterLinkAdapter<'_, C> {
    /// Writes about a packet for a port and VC into the diary, if there is one.
    #[inline(never)]
    fn write(
        &mut self,
        (port, vc): (u16, u8),
        packet: &Packet,
        line: impl FnOnce(&mut WaitTracker, Time, &mut WaitSink<'_, C>),
    ) {
        let Some(wait_tracker) = &mut self.wait_tracker else {
            return;
        };
        let now = self.context.now();
        let mut sink = WaitSink {
            port,
            vc,
            packet,
            loads: &mut self.loads,
            context: &mut *self.context,
        };
        line(wait_tracker, now, &mut sink);
    }
}

impl<C: Context<Simulation>> RouterLinkAdapter<'_, C> {
    /// Writes a departure into the diary. Takes the packet by value: who asks for its address keeps it in memory.
    #[cold]
    #[inline(never)]
    fn write_departure(&mut self, port: u16, vc: u8, packet: Packet, [wait, serialization]: [Time; 2]) {
        self.write((port, vc), &packet, |wait_tracker, now, sink| {
            if let WaitTracker::Packet(wait_tracker) = wait_tracker {
                wait_tracker.sent(now, (port, vc, packet.job), wait, serialization, sink);
            }
        });
        self.loads = 0;
    }
}

fn vc_queue(routed: &RoutedPacket) -> VcQueue {
    VcQueue {
        output: routed.output,
        vc: routed.output_vc,
        entering: routed.claim == BufferClaim::Bubble,
    }
}

impl<C: Context<Simulation>> Outputs for RouterLinkAdapter<'_, C> {
    // Into its callers, or the packet would be written once more on the way.
    #[inline(always)]
    fn depart(&mut self, port: u16, vc: u8, packet: Packet, wait: Time, serialization: Time) {
        if self.wait_tracker.is_some() {
            self.write_departure(port, vc, packet, [wait, serialization]);
        }
        self.depart_after(port, vc, packet, wait, serialization);
    }

    #[inline]
    fn credit(&mut self, port: u16, vc: u8, bytes: u32, after: Time) {
        self.return_credit(port, vc, bytes, after);
    }

    #[inline]
    fn ready(&mut self, routed: RoutedPacket, after: Time) {
        let event = NetEvent::PacketReady {
            input: routed.input,
            output: routed.output,
            input_vc: routed.input_vc,
            output_vc: routed.output_vc,
            claim: routed.claim,
            packet: routed.packet,
        };
        self.context.send(self.context.lp(), after, event);
    }

    #[inline]
    fn waits(&mut self, routed: &RoutedPacket) {
        if self.simulation.shortcuts.credit_batching.is_on() {
            self.context.fail(Failure::CreditsRanShort);
        }
        if self.wait_tracker.is_some() {
            let place = (routed.output, routed.output_vc);
            self.write(place, &routed.packet, |wait_tracker, now, sink| {
                if let WaitTracker::Packet(wait_tracker) = wait_tracker {
                    wait_tracker.queued(now, vc_queue(routed), sink);
                }
            });
        }
    }

    #[inline]
    fn has_room(&mut self, routed: &RoutedPacket) {
        if self.wait_tracker.is_some() {
            let place = (routed.output, routed.output_vc);
            self.write(place, &routed.packet, |wait_tracker, now, sink| {
                if let WaitTracker::Packet(wait_tracker) = wait_tracker {
                    wait_tracker.left(now, vc_queue(routed), sink);
                }
            });
        }
    }
}

impl<C: Context<Simulation>> Journal<input_queued::Undo> for RouterLinkAdapter<'_, C> {
    const KEPT: bool = C::REVERSIBLE;

    fn note(&mut self, step: input_queued::Undo) {
        self.context.undo(Undo::InputQueued(step));
    }
}

impl<C: Context<Simulation>> Random for RouterLinkAdapter<'_, C> {
    fn below(&mut self, bound: u32) -> u32 {
        Draws(&mut *self.context).below(bound)
    }
}

impl<C: Context<Simulation>> input_queued::Outputs for RouterLinkAdapter<'_, C> {
    fn depart(&mut self, port: u16, vc: u8, packet: Packet, serialization: Time) {
        self.depart_after(port, vc, packet, Time::ZERO, serialization);
    }

    fn credit(&mut self, port: u16, vc: u8, bytes: u32, after: Time) {
        self.return_credit(port, vc, bytes, after);
    }

    fn due(&mut self, after: Time) {
        self.context.send(self.context.lp(), after, NetEvent::SwitchDue);
    }

    #[inline]
    fn keeps_diary(&self) -> bool {
        self.wait_tracker.is_some()
    }

    fn came(&mut self, packet: &Packet) {
        self.write((0, 0), packet, |wait_tracker, now, sink| {
            if let WaitTracker::InputQueued(wait_tracker) = wait_tracker {
                wait_tracker.arrived(now, sink);
            }
        });
    }

    fn passes(&mut self, packet: &Packet, passage: Passage) {
        self.write(
            (passage.output, passage.output_vc),
            packet,
            |wait_tracker, now, sink| {
                if let WaitTracker::InputQueued(wait_tracker) = wait_tracker {
                    wait_tracker.sent(now, passage, sink);
                }
            },
        );
        self.loads = 0;
    }
}
