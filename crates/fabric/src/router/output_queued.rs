//! The `output-queued` router: packets contend for links only, in queues without bound.
//!
//! A packet is routed when its head has passed the router's pipeline, and reserves the link of its output at once:
//! packets leave in the order in which they arrive. There is no crossbar, no limit of the buffers, and no credit
//! between routers, so a packet never holds up one that goes to another output. A NIC keeps its credits for the buffer
//! of its router, which is free again when the tail has arrived: the credit says that the packet is in the queue of its
//! output.
//!
//! The model is a lower bound of contention. Source: the model SCULPIN of SST/macro (ECP milestone report on SST/macro,
//! section 3.4); the queue of its receiving NIC is [`crate::nic::queued`]'s.
//!
//! There is always space behind a link. So routing that reserves space is never refused it, and no packet waits for a
//! VC. The load that adaptive routing sees is the part of the link's reservations that is to come: bytes that wait, and
//! bytes that the link has not carried yet of the packet on it. It falls without events, so there are no load reports.

use config::Section;
use des::Time;
use routing::{At, BufferClaim, Congestion, Random};
use serde::{Deserialize, Serialize};
use topology::{Port, RouterId};

use super::routed_packet::RoutedPacket;
use super::underrun::{GuardExpired, UnderrunGuards};
use super::{
    Arrival, Holding, Never, PortSetting, RouterModel, RouterModelKind, RouterOutputs, RouterSetup,
    RoutingContext,
};
use crate::capabilities::RouterCapabilities;
use crate::link::{LinkCounters, StallCounters};
use crate::waits::{PacketObservation, PacketWaitTracker};
use crate::{LinkUse, Measured, Rate};

/// An undo step of a router.
#[derive(Clone, Debug)]
pub enum OutputQueuedUndo {
    /// A packet reserved the link of an output.
    Sent {
        /// Output port.
        output: u16,
        /// Bytes of the packet.
        bytes: u32,
        /// End of the previous link reservation.
        busy_until: Time,
    },
    /// A packet began to wait for its tail.
    Guarded {
        /// Input port.
        input: u16,
    },
    /// A packet has waited for its tail.
    GuardExpired(Box<RoutedPacket>),
}

const _: () = assert!(size_of::<OutputQueuedUndo>() <= 16);

/// An output port.
#[derive(Clone, Debug)]
struct OutputQueuedOutput {
    /// End of the last reservation of the link.
    busy_until: Time,
    rate: Rate,
    to_host: bool,
    /// Size of each VC's buffer at the far end, which no packet fills.
    far_buffer: u32,
    counters: LinkCounters,
    /// Use outside of the measured part; nothing stalls.
    outside: StallCounters,
}

/// One router.
#[derive(Clone, Debug)]
pub struct OutputQueuedRouter {
    id: RouterId,
    /// Whether all cables have one speed, so that no packet can underrun.
    one_rate: bool,
    /// Bandwidth at which packets come in from hosts.
    injection: Rate,
    measured: Measured,
    outputs: Vec<OutputQueuedOutput>,
    guards: UnderrunGuards,
}

/// The mutable state of a router.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputQueuedRouterState {
    outputs: Vec<OutputQueuedOutputState>,
    /// Packets that wait for their tails, by input.
    guarded: Vec<RoutedPacket>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct OutputQueuedOutputState {
    busy_until: Time,
    counters: LinkCounters,
    outside: StallCounters,
}

/// The congestion that routing sees.
struct OutputQueuedCongestion<'a> {
    router: &'a OutputQueuedRouter,
    now: Time,
    context: &'a RoutingContext<'a>,
}

impl Congestion for OutputQueuedCongestion<'_> {
    fn load(&self, port: Port) -> u64 {
        let output = &self.router.outputs[usize::from(port.0)];
        output.rate.bytes_in(output.busy_until.saturating_sub(self.now))
    }

    fn reported_load(&self, slot: usize) -> u64 {
        self.context.reported_load(slot)
    }

    fn free_space(&self, port: Port, _: u8) -> u64 {
        u64::from(self.router.outputs[usize::from(port.0)].far_buffer)
    }
}

impl OutputQueuedRouter {
    /// Bandwidth at which packets come in at a port.
    fn input_rate(&self, port: u16) -> Rate {
        let port = &self.outputs[usize::from(port)];
        if port.to_host { self.injection } else { port.rate }
    }

    /// Routes a packet.
    fn route(
        &self,
        now: Time,
        arrival: Arrival,
        context: &RoutingContext<'_>,
        random: &mut dyn Random,
    ) -> RoutedPacket {
        let Arrival {
            input,
            vc,
            mut packet,
        } = arrival;
        let at = At {
            router: self.id,
            input: Port(input),
            vc,
            source: packet.source,
            destination: packet.destination,
        };
        let seen = OutputQueuedCongestion {
            router: self,
            now,
            context,
        };
        let hop = context.routing.route(at, &mut packet.route, &seen, random);
        RoutedPacket {
            packet,
            input,
            output: hop.port.0,
            input_vc: vc,
            output_vc: hop.vc,
            // Space that routing reserves is never short.
            claim: BufferClaim::Credit,
        }
    }

    /// A packet that cannot underrun reserves the link of its output.
    fn send<O: RouterOutputs<OutputQueuedRouter>>(&mut self, now: Time, routed: &RoutedPacket, out: &mut O) {
        let RoutedPacket {
            packet,
            input,
            input_vc,
            ..
        } = *routed;
        let serialization = self.reserve(now, now, routed, out);
        if self.outputs[usize::from(input)].to_host {
            let arrival = self.input_rate(input).serialization(packet.bytes);
            // A packet onto a faster link is here when as much of it is missing as the link carries meanwhile.
            out.credit(input, input_vc, packet.bytes, arrival.min(serialization));
        }
    }

    /// Reserves the link of a packet's output from `ready` on. Returns the time that the packet takes on it.
    pub(super) fn reserve<M, O>(&mut self, now: Time, ready: Time, routed: &RoutedPacket, out: &mut O) -> Time
    where
        M: RouterModel<Undo = OutputQueuedUndo, WaitTracker = PacketWaitTracker>,
        O: RouterOutputs<M>,
    {
        let RoutedPacket {
            packet,
            output: port,
            output_vc: vc,
            ..
        } = *routed;
        let bytes = packet.bytes;
        let output = &mut self.outputs[usize::from(port)];
        let serialization = output.rate.serialization(bytes);
        let start = ready.max(output.busy_until);
        let busy_until = std::mem::replace(&mut output.busy_until, start + serialization);
        out.note(|| OutputQueuedUndo::Sent {
            output: port,
            bytes,
            busy_until,
        });
        output
            .counters
            .depart(start, serialization, bytes, self.measured, || &mut output.outside);
        let packet = packet.on_next_link();
        if out.tracks_waits() {
            let observation = PacketObservation::Departed {
                output: port,
                vc,
                job: packet.job,
                wait: start - now,
                serialization,
            };
            out.observe(packet, (port, vc), observation);
        }
        out.depart(port, vc, packet, start - now, serialization);
        serialization
    }

    /// The time by which the head of a packet from a host waits longer for this output than for one as fast as the
    /// host, so that it cannot underrun.
    pub(super) fn underrun_guard(&self, output: u16, bytes: u32) -> Time {
        let slow = self.injection.serialization(bytes);
        slow.saturating_sub(self.outputs[usize::from(output)].rate.serialization(bytes))
    }
}

impl RouterModel for OutputQueuedRouter {
    const MODEL: RouterModelKind = RouterModelKind {
        name: "output-queued",
        summary: "contention for links only: queues without bound at the outputs, no credits between routers",
        parameters: &[],
        capabilities: RouterCapabilities {
            takes_credits: false,
            // No packet waits for them.
            reports_credit_waits: true,
            final_reservations: true,
            sends_signals: false,
            signals_to_hosts: false,
            reserved_space: true,
            waits_at_departure: true,
            ..RouterCapabilities::NONE
        },
    };

    type Parameters = ();
    type Undo = OutputQueuedUndo;
    type State = OutputQueuedRouterState;
    type Timer = GuardExpired;
    type Signal = Never;
    type WaitTracker = PacketWaitTracker;

    fn read(_: &Section) -> Result<(), config::Error> {
        Ok(())
    }

    fn bytes_per_port(_: u64, _: u64, _: bool) -> u64 {
        size_of::<OutputQueuedOutput>() as u64
    }

    fn new(setup: &RouterSetup<'_>, (): ()) -> OutputQueuedRouter {
        let output = |p: &PortSetting| OutputQueuedOutput {
            busy_until: Time::ZERO,
            rate: p.rate,
            to_host: p.to_host,
            far_buffer: p.credits,
            counters: LinkCounters::default(),
            outside: StallCounters::default(),
        };
        OutputQueuedRouter {
            id: setup.id,
            one_rate: setup.has_one_rate(),
            injection: setup.injection,
            measured: setup.measured,
            outputs: setup.ports.iter().map(output).collect(),
            guards: UnderrunGuards::default(),
        }
    }

    // Not inlined, so that this model does not enlarge the dispatch for `packet`.
    #[inline(never)]
    fn arrived<O: RouterOutputs<Self>>(
        &mut self,
        now: Time,
        arrival: Arrival,
        context: &RoutingContext<'_>,
        out: &mut O,
    ) {
        let routed = self.route(now, arrival, context, &mut out.random());
        if !self.one_rate {
            let bytes = routed.packet.bytes;
            let slow = self.input_rate(routed.input).serialization(bytes);
            let fast = self.outputs[usize::from(routed.output)].rate.serialization(bytes);
            if slow > fast {
                let input = routed.input;
                if self.guards.keep(&routed) {
                    out.note(|| OutputQueuedUndo::Guarded { input });
                }
                out.timer(GuardExpired { input }, slow - fast);
                return;
            }
        }
        self.send(now, &routed, out);
    }

    /// Routers send no credits to each other. Nothing to do.
    fn credit<O: RouterOutputs<Self>>(&mut self, _: Time, _: u16, _: u8, _: u32, _: &mut O) {}

    #[inline(never)]
    fn timer<O: RouterOutputs<Self>>(
        &mut self,
        now: Time,
        timer: GuardExpired,
        _: &RoutingContext<'_>,
        out: &mut O,
    ) {
        // None comes only in a timeline that is undone later.
        if let Some(routed) = self.guards.take(timer.input) {
            out.note(|| OutputQueuedUndo::GuardExpired(Box::new(routed)));
            self.send(now, &routed, out);
        }
    }

    fn signal<O: RouterOutputs<Self>>(
        &mut self,
        _: Time,
        _: u16,
        signal: Never,
        _: &RoutingContext<'_>,
        _: &mut O,
    ) {
        match signal {}
    }

    fn undo(&mut self, step: OutputQueuedUndo) {
        let (output, bytes, busy_until) = match step {
            OutputQueuedUndo::Sent {
                output,
                bytes,
                busy_until,
            } => (output, bytes, busy_until),
            OutputQueuedUndo::Guarded { input } => {
                self.guards.take(input);
                return;
            }
            OutputQueuedUndo::GuardExpired(routed) => {
                self.guards.keep(&routed);
                return;
            }
        };
        let output = &mut self.outputs[usize::from(output)];
        let serialization = output.rate.serialization(bytes);
        let start = output.busy_until - serialization;
        output
            .counters
            .undo_depart(start, serialization, bytes, self.measured, || &mut output.outside);
        output.busy_until = busy_until;
    }

    fn state(&self) -> OutputQueuedRouterState {
        let output = |output: &OutputQueuedOutput| OutputQueuedOutputState {
            busy_until: output.busy_until,
            counters: output.counters,
            outside: output.outside,
        };
        OutputQueuedRouterState {
            outputs: self.outputs.iter().map(output).collect(),
            guarded: self.guards.iter().copied().collect(),
        }
    }

    fn restore(&mut self, state: OutputQueuedRouterState) -> Result<(), String> {
        let (ports, saved) = (self.outputs.len(), state.outputs.len());
        if ports != saved {
            let id = self.id.0;
            return Err(format!("router {id} has {ports} ports, its saved state {saved}"));
        }
        self.guards = UnderrunGuards::restored(&state.guarded, ports)
            .map_err(|why| format!("router {}: its saved state {why}", self.id.0))?;
        for (output, saved) in self.outputs.iter_mut().zip(state.outputs) {
            output.busy_until = saved.busy_until;
            output.counters = saved.counters;
            output.outside = saved.outside;
        }
        Ok(())
    }

    fn id(&self) -> RouterId {
        self.id
    }

    /// A packet that has reserved its link is in the event of its arrival. Only those that wait for their tails are
    /// here.
    fn for_each_held(&self, see: &mut dyn FnMut(Holding)) {
        let guarded = self.guards.iter();
        guarded.for_each(|routed| Holding::whole(&routed.packet, (routed.input, routed.input_vc), see));
    }

    /// None: packets that wait have reserved the link, and there are no credits.
    fn load(&self, _: u16) -> u64 {
        0
    }

    /// All of the buffer, since no packet takes credits.
    fn credits(&self, port: u16, _: u8) -> u32 {
        self.outputs[usize::from(port)].far_buffer
    }

    fn used(&self, port: u16, end: Time) -> LinkUse {
        let output = &self.outputs[usize::from(port)];
        LinkUse::new(
            output.counters,
            output.outside,
            (end, output.busy_until),
            self.measured,
        )
    }

    fn waiting_at(&self, _: u16) -> u32 {
        0
    }

    fn is_active(&self, port: u16, time: Time) -> bool {
        self.outputs[usize::from(port)].busy_until > time
    }
}

#[cfg(test)]
#[path = "output_queued_tests.rs"]
mod tests;
