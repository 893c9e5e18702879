//! The router as a logical process: turns "port 7" into "LP 311, port 2, 50 ns later".

use std::marker::PhantomData;

use des::{Context, Journal, Time};
use fabric::router::{
    Arrival, FEW_PORTS, PortSetting, Registered, Router, RouterOutputs, RouterSetup, RouterState,
    RouterVisitor, RoutingContext,
};
use fabric::{Packet, PacketFate, WaitTracker};
use routing::{At, Random};
use topology::{Peer, Port, RouterId};

use crate::lp::collection::{RouterCollection, RouterDepartureFacts};
use crate::lp::load_reports::LoadReports;
use crate::lp::lp_random::LpRandom;
use crate::lp::model::LpUndo;
use crate::lp::net_event::{NetEvent, Record};
use crate::lp::not_begun::NotBegun;
use crate::lp::sampling::Plan;
use crate::lp::saved;
use crate::lp::shortcuts::credit_batching::CreditBatches;
use crate::lp::simulation::{LpFailure, Simulation};
use crate::lp::wiring::{LinkEnd, LpIdentity};

/// A router and what its ports are connected to.
pub struct RouterLp {
    /// The state machine.
    pub router: Router,
    /// Link ends by port; `None` without a cable.
    link_ends: Box<[Option<LinkEnd>]>,
    /// Loads that other routers reported, if routing asks for them.
    load_reports: Option<Box<LoadReports>>,
    /// Credits that wait for a complete batch.
    credit_batches: CreditBatches,
    /// What is collected here.
    pub collection: RouterCollection,
}

/// Turns the outputs of a router into events.
struct RouterLinkAdapter<'a, 'c, C> {
    link_ends: &'a [Option<LinkEnd>],
    simulation: &'a Simulation,
    credit_batches: &'a mut CreditBatches,
    collection: &'a mut RouterCollection,
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
        let models = &network.router_models;
        let has_flits = |router| models.capabilities_of(router).flits.is_some();
        let joins = |port| match topology.peer(router, Port(port)) {
            Peer::Router(far, _) => has_flits(router) && !has_flits(far),
            Peer::Host(_) | Peer::Unwired => false,
        };
        let ports: Vec<PortSetting> = (0..topology.ports(router))
            .map(|port| PortSetting {
                whole_packets: joins(port),
                rate: network.rate(router, Port(port)),
                to_host: matches!(topology.peer(router, Port(port)), Peer::Host(_)),
                credits: network.buffer_of_vc(topology.link_class(router, Port(port))),
                pipeline: network.links[usize::from(topology.link_class(router, Port(port)).0)].router_delay,
                cable: network.links[usize::from(topology.link_class(router, Port(port)).0)].latency,
            })
            .collect();
        let setup = RouterSetup {
            id: router,
            vcs,
            traffic_classes: network.traffic_classes,
            ports: &ports,
            injection: network.injection,
            largest_packet: network.packet.largest(),
            bubbles: network.packet_slot() > 0,
            credit_delay: network.credit_delay,
            measured: simulation.measured,
        };
        RouterLp {
            router: Router::new(&setup, network.router_models.of(router)),
            link_ends: (0..topology.ports(router))
                .map(|port| {
                    let link_end = simulation.numbering.link_end(network, router, Port(port))?;
                    let far = simulation.hop_latency.is_far(network, link_end.class);
                    Some(if far { link_end.far() } else { link_end })
                })
                .collect(),
            // Where packets pass routers by, no router asks for loads.
            load_reports: network
                .routing
                .reports()
                .filter(|_| simulation.path_latencies.is_none())
                .map(|reports| Box::new(LoadReports::new(reports))),
            credit_batches: CreditBatches::new(simulation.shortcuts.credit_batching, ports.len(), vcs),
            collection: RouterCollection::new(simulation, router, ports.len()),
        }
    }

    /// Prefetches the state that most events before `until` touch.
    #[inline]
    pub fn prefetch(&self, until: Time) {
        self.router.prefetch();
        self.collection.prefetch(until);
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
            NetEvent::PacketArrived { .. } if simulation.path_latencies.is_some() => {}
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
                    vc: classes.routing_vc(*vc),
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
            credit_batches: &mut self.credit_batches,
            collection: &mut self.collection,
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
        self.collection.event(simulation, &self.router, event, context);
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
            NetEvent::LoadReportDue => {
                let load = |port: Port| router.load(port.0);
                load_reports.report(simulation, reports, router.id(), load, context);
            }
            NetEvent::LoadsReported { first, count, loads } => {
                load_reports.received(first, count, loads, context)
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

    /// Undoes one step.
    #[inline]
    pub fn undo(&mut self, simulation: &Simulation, step: LpUndo) {
        match (step, &mut self.load_reports) {
            (LpUndo::RouterCollection(step), _) => self.collection.undo(simulation, step),
            (LpUndo::LoadReports(step), Some(load_reports)) => load_reports.undo(step),
            (LpUndo::CreditBatches(step), _) => self.credit_batches.undo(step),
            (LpUndo::Router(step), _) => self.router.undo(step),
            _ => unreachable!("a router undoes its own steps"),
        }
    }

    /// Bytes that have left the input buffer of a VC of `port`, and whose credits are not sent yet.
    pub fn pending_credits(&self, port: u16, vc: u8) -> u32 {
        self.credit_batches.pending(port, vc)
    }

    /// Takes the last samples, at the end of the run.
    pub fn finish(&self, plan: &Plan, end: Time, not_begun: &NotBegun, emit: &mut impl FnMut(Record)) {
        self.collection.finish(plan, &self.router, end, not_begun, emit);
    }

    /// Appends the state.
    pub fn save(&self, bytes: &mut Vec<u8>) {
        self.collection.save(bytes);
        saved::write(&self.credit_batches, bytes);
        if let Some(load_reports) = &self.load_reports {
            saved::write(load_reports, bytes);
        }
        saved::write(&self.router.state(), bytes);
    }

    /// Replaces the state of a new router by a saved one.
    ///
    /// # Errors
    /// The bytes are not the state of such a router.
    pub fn restore(&mut self, simulation: &Simulation, bytes: &[u8]) -> Result<(), String> {
        let bytes = self.collection.restore(simulation, bytes)?;
        let (batches, mut bytes): (CreditBatches, _) = saved::read_first(bytes)?;
        self.credit_batches.restore(batches)?;
        if let Some(load_reports) = &mut self.load_reports {
            let (saved, rest): (LoadReports, _) = saved::read_first(bytes)?;
            load_reports.restore(saved)?;
            bytes = rest;
        }
        let state: RouterState = saved::read(bytes)?;
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
        let link_end = self.link_end(port);
        let delay = wait + link_end.delay(serialization);
        let facts = RouterDepartureFacts {
            port,
            wait,
            serialization,
        };
        self.collection
            .departed(self.simulation, &link_end, &packet, facts, self.context);
        if link_end.marks() && wait > self.simulation.mark_after {
            packet.set_mark(1);
        }
        if !packet.standalone() {
            if link_end.is_far() {
                packet.count_far_link();
            }
        } else if link_end.leads_to_host() {
            let arrival = self.context.now() + delay;
            if self.simulation.shortcuts.early_commit.covers(arrival) {
                let collection = &mut *self.collection;
                return collection.delivered_early(self.simulation, arrival, &packet, self.context);
            }
        }
        let event = NetEvent::PacketArrived {
            port: link_end.port,
            vc,
            packet,
        };
        self.context.send(link_end.lp, delay, event);
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

    fn depart_with_tail(
        &mut self,
        port: u16,
        vc: u8,
        mut packet: Packet,
        (wait, serialization): (Time, Time),
        after: Time,
    ) {
        let adapter = &mut self.0;
        adapter.parts = 0;
        let link_end = adapter.link_end(port);
        let facts = RouterDepartureFacts {
            port,
            wait,
            serialization,
        };
        adapter
            .collection
            .departed(adapter.simulation, &link_end, &packet, facts, adapter.context);
        if !packet.standalone() && link_end.is_far() {
            packet.count_far_link();
        }
        let event = NetEvent::PacketArrived {
            port: link_end.port,
            vc,
            packet,
        };
        let cable = link_end.cable(&adapter.simulation.network);
        adapter.context.send(link_end.lp, wait + cable + after, event);
    }

    #[inline]
    fn timer(&mut self, timer: M::Timer, after: Time) {
        let event = NetEvent::RouterTimer(M::any_timer(timer));
        let context = &mut *self.0.context;
        context.send(context.lp(), after, event);
    }

    fn signal(&mut self, port: u16, signal: M::Signal, after: Time) {
        let link_end = self.0.link_end(port);
        let event = NetEvent::SignalArrived {
            port: link_end.port,
            signal: M::any_signal(signal),
        };
        let delay = after + link_end.cable(&self.0.simulation.network);
        self.0.context.send(link_end.lp, delay, event);
    }

    fn output_ahead(&self, port: u16, routing_vc: u8, packet: &Packet) -> Option<(u16, u16)> {
        let (link_end, simulation) = (self.0.link_end(port), self.0.simulation);
        match simulation.numbering.identity(link_end.lp) {
            LpIdentity::Router(far) => {
                simulation.output_ahead((far, Port(link_end.port)), routing_vc, packet)
            }
            _ => None,
        }
    }

    #[inline]
    fn random(&mut self) -> impl Random {
        LpRandom(&mut *self.0.context)
    }

    fn fate(&mut self, packet: &Packet, fate: PacketFate) {
        self.0.collection.fate(packet, fate, self.0.context);
    }

    #[inline]
    fn lacks_credits(&mut self) {
        if self.0.simulation.shortcuts.credit_batching.is_on() {
            self.0.context.fail(LpFailure::CreditsRanShort);
        }
    }

    #[inline]
    fn tracks_waits(&self) -> bool {
        self.0.collection.observes()
    }

    // Takes the packet by value: with a reference, it would be kept in memory.
    #[inline]
    fn observe(
        &mut self,
        packet: Packet,
        at: (u16, u8),
        observation: <M::WaitTracker as WaitTracker>::Observation,
    ) {
        let adapter = &mut self.0;
        let collection = &mut *adapter.collection;
        collection.observed::<M, C>(packet, at, observation, &mut adapter.parts, adapter.context);
    }
}
