//! A port of the NIC of a host: its inputs, and its outputs as events.

use std::marker::PhantomData;

use des::{Context, Journal, Time};
use fabric::router::RouterSignal;
use fabric::{
    NicOutputs, NicSource, NicTimer, NicVisitor, Outgoing, Packet, PacketFate, RegisteredNic, SignalOf,
};
use routing::Random;

use super::undo::{HostUndo, Injected};
use crate::lp::collection::{HostCollection, HostDepartureFacts};
use crate::lp::lp_random::LpRandom;
use crate::lp::net_event::NetEvent;
use crate::lp::sampling::SentSum;
use crate::lp::simulation::{LpFailure, Simulation};
use crate::lp::wiring::LinkEnd;

/// Turns the outputs of a NIC port into events.
pub struct NicLinkAdapter<'a, 'r, C> {
    pub rail: u8,
    pub link_end: LinkEnd,
    pub collection: &'a mut HostCollection,
    /// For the collection: the sum to which the message that the NIC gets is added if it leaves at once.
    pub sum: Option<&'r mut SentSum>,
    pub simulation: &'a Simulation,
    pub context: &'a mut C,
}

/// The adapter, as a port of model `N` sees it, and credits that return at once: VC and bytes.
struct PortOutputs<'a, 'r, C, N>(NicLinkAdapter<'a, 'r, C>, Option<(u8, u32)>, PhantomData<N>);

/// Gives a message to a port. Returns the sum, unless the message was added to it.
pub struct SendMessage<'a, 'r, 'm, C> {
    pub adapter: NicLinkAdapter<'a, 'r, C>,
    /// Now, and the time at which the message is made.
    pub times: (Time, Time),
    pub message: &'m Outgoing<Injected>,
}

/// What happens to a port, beside messages.
#[derive(Clone, Copy)]
pub enum PortInput {
    /// A packet's tail has arrived.
    Packet(Packet),
    /// Buffer space of a virtual channel has become free.
    Credit {
        /// The channel.
        vc: u8,
        /// Bytes.
        bytes: u32,
    },
    /// A timer expires.
    Timer(NicTimer),
    /// A signal has arrived.
    Signal(RouterSignal),
}

/// Executes an input. Returns the packet that is delivered, if any.
pub struct TakeInput<'a, 'r, C> {
    pub adapter: NicLinkAdapter<'a, 'r, C>,
    pub input: PortInput,
}

impl<'r, C: Context<Simulation>> NicVisitor<Injected> for SendMessage<'_, 'r, '_, C> {
    type Output = Option<&'r mut SentSum>;

    #[inline(always)]
    fn visit<N: RegisteredNic<Report = Injected>>(self, nic: &mut N) -> Self::Output {
        let now = self.times.0;
        let mut out = PortOutputs::<C, N>(self.adapter, None, PhantomData);
        out.0.take(|| nic.source_of(self.message));
        nic.send(self.times, self.message, &mut out);
        out.return_credits(nic, now);
        out.0.sum
    }
}

impl<C: Context<Simulation>> NicVisitor<Injected> for TakeInput<'_, '_, C> {
    type Output = Option<Packet>;

    #[inline(always)]
    fn visit<N: RegisteredNic<Report = Injected>>(self, nic: &mut N) -> Option<Packet> {
        let now = self.adapter.context.now();
        let mut out = PortOutputs::<C, N>(self.adapter, None, PhantomData);
        let foreign = "timers and signals of a port are those of its model";
        let delivered = match self.input {
            PortInput::Packet(packet) => nic.arrived(now, packet, &mut out),
            PortInput::Credit { vc, bytes } => {
                nic.credit(now, vc, bytes, &mut out);
                None
            }
            PortInput::Timer(timer) => nic.timer(now, N::own_timer(timer).expect(foreign), &mut out),
            PortInput::Signal(signal) => nic.signal(now, N::own_signal(signal).expect(foreign), &mut out),
        };
        out.return_credits(nic, now);
        delivered
    }
}

impl<C: Context<Simulation>, N: RegisteredNic<Report = Injected>> PortOutputs<'_, '_, C, N> {
    /// Gives the port the credits that return at once.
    #[inline(always)]
    fn return_credits(&mut self, nic: &mut N, now: Time) {
        while let Some((vc, bytes)) = self.1.take() {
            nic.credit(now, vc, bytes, self);
        }
    }
}

impl<C: Context<Simulation>> NicLinkAdapter<'_, '_, C> {
    /// The NIC takes a message of this source.
    #[inline]
    fn take(&mut self, source: impl FnOnce() -> NicSource) {
        self.collection.taken(self.rail, source, self.context);
    }

    /// Sends a packet to its router. Returns the credits that return at once.
    #[inline(always)]
    fn send(&mut self, vc: u8, packet: Packet, wait: Time) -> Option<(u8, u32)> {
        if self.simulation.path_latencies.is_some() {
            return self.send_to_last_router(vc, packet, wait);
        }
        let port = self.link_end.port;
        let event = NetEvent::PacketArrived { port, vc, packet };
        self.context
            .send(self.link_end.lp, wait + self.link_end.arrival, event);
        None
    }

    /// Sends a packet across the network at once, to the port of the last router that leads to its destination.
    // Not inlined, to keep the code of other networks small.
    #[inline(never)]
    fn send_to_last_router(&mut self, vc: u8, mut packet: Packet, wait: Time) -> Option<(u8, u32)> {
        let simulation = self.simulation;
        let (network, paths) = (&simulation.network, simulation.path_latencies.as_ref()?);
        let first = network.topology.attachment(packet.source).0;
        let (last, port) = network.topology.attachment(packet.destination);
        let is_far = |class| simulation.hop_latency.is_far(network, class);
        let path = paths.between(network, (first, last), is_far);
        packet.hops = packet.hops.saturating_add(path.links);
        (0..path.far).for_each(|_| packet.count_far_link());
        let (port, credits) = (port.0, (vc, packet.bytes));
        let event = NetEvent::PacketArrived { port, vc: 0, packet };
        let arrival = wait + self.link_end.arrival + path.latency;
        self.context
            .send(simulation.numbering.router(last), arrival, event);
        Some(credits)
    }
}

impl<C: Context<Simulation>, N: RegisteredNic<Report = Injected>> Journal<N::Undo>
    for PortOutputs<'_, '_, C, N>
{
    const KEPT: bool = C::REVERSIBLE;

    #[inline]
    fn keep(&mut self, step: N::Undo) {
        let (rail, step) = (self.0.rail, N::any_undo(step));
        self.0.context.undo(HostUndo::Nic { rail, step }.into());
    }
}

impl<C: Context<Simulation>, N: RegisteredNic<Report = Injected>> NicOutputs<N>
    for PortOutputs<'_, '_, C, N>
{
    #[inline]
    fn depart(
        &mut self,
        vc: u8,
        mut packet: Packet,
        source: NicSource,
        wait: Time,
        serialization: Time,
        last: bool,
    ) {
        let adapter = &mut self.0;
        if !N::MODEL.capabilities.sends_only_messages && packet.is_control() {
            adapter.collection.sent_control(adapter.context);
            self.1 = adapter.send(vc, packet, wait);
            return;
        }
        let facts = HostDepartureFacts {
            rail: adapter.rail,
            vc,
            source,
            wait,
            serialization,
            last,
        };
        adapter
            .collection
            .departed(adapter.simulation, &mut packet, facts, adapter.context);
        self.1 = adapter.send(vc, packet, wait);
    }

    fn depart_control(&mut self, vc: u8, packet: Packet, wait: Time, serialization: Time) {
        let adapter = &mut self.0;
        let link = (wait, serialization);
        adapter
            .collection
            .control_departed(adapter.simulation, packet.bytes, link, adapter.context);
        self.1 = adapter.send(vc, packet, wait);
    }

    #[inline]
    fn depart_at_once(
        &mut self,
        vc: u8,
        mut packet: Packet,
        source: NicSource,
        wait: Time,
        serialization: Time,
    ) {
        let adapter = &mut self.0;
        let facts = HostDepartureFacts {
            rail: adapter.rail,
            vc,
            source,
            wait,
            serialization,
            last: true,
        };
        let sum = adapter.sum.take();
        adapter
            .collection
            .departed_at_once(adapter.simulation, &mut packet, facts, sum, adapter.context);
        self.1 = adapter.send(vc, packet, wait);
    }

    #[inline]
    fn sends_ahead(&self, start: Time) -> bool {
        self.0.simulation.shortcuts.send_ahead.covers(start)
    }

    #[inline]
    fn timer(&mut self, timer: N::Timer, after: Time) {
        let context = &mut *self.0.context;
        let event = NetEvent::NicTimer {
            rail: self.0.rail,
            timer: N::any_timer(timer),
        };
        context.send(context.lp(), after, event);
    }

    #[allow(
        unreachable_code,
        unused_variables,
        reason = "no registered model has signals"
    )]
    fn signal(&mut self, signal: SignalOf<N>, after: Time) {
        let adapter = &mut self.0;
        let event = NetEvent::SignalArrived {
            port: adapter.link_end.port,
            signal: N::any_signal(signal),
        };
        let delay = after + adapter.link_end.cable(&adapter.simulation.network);
        adapter.context.send(adapter.link_end.lp, delay, event);
    }

    fn first_output(&self, packet: &Packet) -> Option<(u16, u16)> {
        let simulation = self.0.simulation;
        let at = simulation.network.topology.attachment(packet.source);
        simulation.output_ahead(at, 0, packet)
    }

    fn random(&mut self) -> impl Random {
        LpRandom(&mut *self.0.context)
    }

    fn fate(&mut self, packet: &Packet, fate: PacketFate) {
        self.0.collection.fate(packet, fate, self.0.context);
    }

    fn injected(&mut self, report: Injected, after: Time) {
        let Injected { slot, request } = report;
        let context = &mut *self.0.context;
        context.send(context.lp(), after, NetEvent::MessageInjected { slot, request });
    }

    #[inline]
    fn link_stalled(&mut self, since: Time, until: Time) {
        let adapter = &mut self.0;
        adapter
            .collection
            .stalled(adapter.simulation, since, until, adapter.context);
    }

    #[inline]
    fn lacks_credits(&mut self) {
        if self.0.simulation.shortcuts.credit_batching.is_on() {
            self.0.context.fail(LpFailure::CreditsRanShort);
        }
    }
}
