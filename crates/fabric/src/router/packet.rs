//! The `packet` router: virtual cut-through with input-buffered virtual channels and credits.
//!
//! A packet's head arrives when it has passed its link and the router's pipeline. It is routed at once and keeps its
//! place in the buffer of its input port and virtual channel (VC). If the buffer at the far end of its output has
//! enough free space (credits), the packet takes the credits and reserves the link: packets of all VCs leave in the
//! order of their reservations. Otherwise it waits, in order, for credits of its output's VC, and holds up no packet
//! of another queue. Its buffer space becomes free, and its credit leaves, when the tail leaves.
//!
//! A packet reserves the link when it gets its credits, so a router needs no event for a link that becomes free. A
//! hop costs two events: one for the packet and one for its credit.
//!
//! Besides waiting for credits, a packet can enter a buffer in two ways ([`BufferClaim`]), for routing that needs
//! them against deadlock:
//!
//! - *Reserved*: the credits are there when the packet is routed, and are taken at that moment, even if the packet
//!   leaves later. Such a packet never waits in a queue.
//! - *Bubble*: the packet waits until there are credits for it and for one more packet of the largest size (V. Puente,
//!   C. Izu, R. Beivide, J. A. Gregorio, F. Vallejo, J. M. Prellezo, "The adaptive bubble router", J. Parallel and
//!   Distributed Computing 61(9), 2001). Such packets have a queue of their own, behind those that need credits
//!   only for themselves: traffic inside a ring never waits for traffic that enters it. Buffers between
//!   routers are then divided into slots of the largest packet, and every packet takes one slot, as in that
//!   router. Bubbles counted in bytes could break into pieces that no packet fits into.
//!
//! The model is that of the packet-level models of CODES (Mubarak et al., 2012) with cut-through instead of
//! store-and-forward. Not modelled: crossbar bandwidth and arbitration between inputs.
//!
//! Layout of the data: sending a packet touches one [`PacketOutput`] and one word of credits. Packets without credits
//! wait in one pool per router.

use std::ops::Range;

use config::Section;
use des::Time;
use routing::{At, BufferClaim, Congestion, LoadMetric, Random};
use serde::{Deserialize, Serialize};
use topology::{Port, RouterId};

use super::output_load::OutputLoad;
use super::routed_packet::RoutedPacket;
use super::underrun::{GuardExpired, UnderrunGuards};
use super::{
    Arrival, FEW_PORTS, Holding, Never, PortSetting, RouterModel, RouterModelKind, RouterOutputs,
    RouterSetup, RoutingContext,
};
use crate::capabilities::RouterCapabilities;
use crate::link::{LinkCounters, StallCounters};
use crate::packet_pool::{Fifo, PacketPool, Previous};
use crate::waits::{PacketObservation, PacketWaitTracker};
use crate::{Flow, LinkUse, Measured, PacketIdentity, PacketProgress, Rate};

/// An undo step of a router.
#[derive(Clone, Debug)]
pub enum PacketUndo {
    /// A packet was routed to an output, whose load grew; it was not sent at once.
    Arrived {
        /// Output port.
        output: u16,
        /// Bytes of credits that it takes or waits for.
        needed: u32,
    },
    /// A packet that was routed took its credits.
    Reserved {
        /// Output port.
        output: u16,
        /// VC.
        vc: u8,
        /// Bytes of credits.
        needed: u32,
    },
    /// A packet with reserved credits is sent. The step [`PacketUndo::Sent`] that follows would return its credits a
    /// second time.
    ReservationUsed {
        /// Output port.
        output: u16,
        /// VC.
        vc: u8,
        /// Bytes of credits.
        needed: u32,
    },
    /// The far end of an output returned credits.
    Credited {
        /// Output port.
        output: u16,
        /// VC.
        vc: u8,
        /// Bytes.
        bytes: u32,
    },
    /// A packet took its credits and reserved the link.
    Sent {
        /// Output port.
        output: u16,
        /// VC of the credits; unused on a link to a host.
        vc: u8,
        /// Bytes of the packet.
        bytes: u32,
        /// End of the previous link reservation.
        busy_until: Time,
        /// Time from which the link had idled for lack of credits.
        idle_since: Time,
    },
    /// A packet was routed to an output and sent at once. Fields as above.
    ArrivedAndSent {
        /// Output port.
        output: u16,
        /// VC of the credits.
        vc: u8,
        /// Bytes of the packet.
        bytes: u32,
        /// End of the previous link reservation.
        busy_until: Time,
        /// Time from which the link had idled for lack of credits.
        idle_since: Time,
    },
    /// The first packet of an output began to wait for credits.
    Stalled {
        /// Output port.
        output: u16,
        /// Time from which the link had idled for lack of credits before.
        idle_since: Time,
    },
    /// A packet went to the end of a queue.
    Enqueued {
        /// Output port.
        output: u16,
        /// VC.
        vc: u8,
        /// What it waits for.
        claim: BufferClaim,
        /// Entry of the packet before it.
        previous: Previous,
    },
    /// A packet left the front of a queue.
    Dequeued {
        /// Output port.
        output: u16,
        /// VC.
        vc: u8,
        /// Input port.
        input: u16,
        /// VC of the input buffer.
        input_vc: u8,
        /// What it waited for.
        claim: BufferClaim,
        /// Half of the packet.
        progress: PacketProgress,
    },
    /// The other half of a packet that left the front of a queue.
    Released(PacketIdentity),
    /// A packet began to wait for its tail.
    Guarded {
        /// Input port.
        input: u16,
    },
    /// A packet has waited for its tail.
    GuardExpired(Box<RoutedPacket>),
}

const _: () = assert!(size_of::<PacketUndo>() == 24);

/// Whether the undo step of the packet's arrival has been noted. Otherwise the step of its departure includes it.
#[derive(Clone, Copy)]
struct IsNoted(bool);

/// An output port: the data that sending a packet touches, in one cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct PacketOutput {
    busy_until: Time,
    rate: Rate,
    /// Bytes that wait for this port, are in flight, or whose credit has not returned.
    load: u64,
    /// Packets that wait for credits.
    waiting: u32,
    to_host: bool,
    /// Time from which the link idles, while packets wait for credits.
    idle_since: Time,
    counters: LinkCounters,
}

const _: () = assert!(size_of::<PacketOutput>() == 64);

impl PacketOutput {
    /// Whether it is busy or blocked at a time if no event comes before.
    fn is_active(&self, time: Time) -> bool {
        self.busy_until > time || self.waiting > 0
    }
}

/// One router.
#[derive(Clone, Debug)]
pub struct PacketRouter {
    id: RouterId,
    vcs: u8,
    /// Least bytes of credits that a packet takes in a buffer between routers: the size of the largest packet under
    /// bubble flow control, otherwise 0.
    slot: u32,
    /// Whether all cables have one speed, so that no packet can underrun.
    one_rate: bool,
    /// Bandwidth at which packets come in from hosts.
    injection: Rate,
    measured: Measured,
    outputs: Vec<PacketOutput>,
    /// Counters by output; empty until the first one is needed.
    stalls: Vec<StallCounters>,
    /// Size of each VC's buffer at the far end, by output.
    far_buffers: Vec<u32>,
    /// Free bytes at the far end, by output, then VC.
    credits: Vec<u32>,
    /// Packets that wait for credits, by output, then VC; behind these, under bubble flow control, packets that wait
    /// for a bubble.
    queues: Vec<Fifo>,
    pool: PacketPool<RoutedPacket>,
    guards: UnderrunGuards,
}

/// The mutable state of a router.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PacketRouterState {
    outputs: Vec<PacketOutputState>,
    /// By port, then VC.
    credits: Vec<u32>,
    /// Queues by output, then VC; behind these the queues of packets that wait for a bubble.
    queues: Vec<Vec<RoutedPacket>>,
    /// Packets that wait for their tails, by input.
    guarded: Vec<RoutedPacket>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct PacketOutputState {
    busy_until: Time,
    load: u64,
    /// `None` while no packet waits.
    idle_since: Option<Time>,
    counters: LinkCounters,
    stalls: StallCounters,
}

/// The congestion that the routing of a packet of this size sees.
struct PacketCongestion<'a> {
    router: &'a PacketRouter,
    now: Time,
    bytes: u32,
    /// A reference: a copy of the router would be read before its stores complete.
    context: &'a RoutingContext<'a>,
}

impl Congestion for PacketCongestion<'_> {
    fn load(&self, port: Port) -> u64 {
        self.router.load(port.0)
    }

    fn load_by(&self, metric: LoadMetric, port: Port, vc: u8) -> u64 {
        self.router.output_load(self.now, port.0, vc).by(metric)
    }

    fn reported_load(&self, slot: usize) -> u64 {
        self.context.reported_load(slot)
    }

    fn free_space(&self, port: Port, vc: u8) -> u64 {
        let PacketCongestion { router, bytes, .. } = *self;
        let vc_index = router.vc_index(port.0, vc);
        if router.has_credits(vc_index, bytes.max(router.slot)) {
            u64::from(router.credits[vc_index])
        } else {
            0
        }
    }
}

impl PacketRouter {
    #[inline]
    fn vc_index(&self, port: u16, vc: u8) -> usize {
        usize::from(port) * usize::from(self.vcs) + usize::from(vc)
    }

    /// The queue in which a packet with this claim waits.
    #[inline]
    fn queue_index(&self, vc_index: usize, claim: BufferClaim) -> usize {
        match claim {
            BufferClaim::Bubble if self.slot > 0 => vc_index + self.credits.len(),
            _ => vc_index,
        }
    }

    /// The load of an output, with that of one VC. Walks the queue of the VC, or the queues of all other VCs where
    /// packets can underrun, if packets wait.
    ///
    /// A packet that waits until it cannot underrun is in no queue, and counts for every VC.
    #[inline(never)]
    fn output_load(&self, now: Time, port: u16, vc: u8) -> OutputLoad {
        let output = &self.outputs[usize::from(port)];
        if output.to_host {
            // Hosts take all packets and return no credits.
            return OutputLoad {
                all: output.load,
                waiting_for_vc: output.load,
                ..OutputLoad::default()
            };
        }
        let size = self.far_buffers[usize::from(port)];
        let taken_of = |vc| u64::from(size.saturating_sub(self.credits[self.vc_index(port, vc)]));
        let taken = (0..self.vcs).map(taken_of).sum();
        let waiting_for_vc = match (self.one_rate, output.waiting) {
            (true, 0) => 0,
            (true, _) => self.queued(port, vc),
            (false, waiting) => {
                let others = (0..self.vcs).filter(|other| *other != vc && waiting > 0);
                let others: u64 = others.map(|other| self.queued(port, other)).sum();
                output.load.saturating_sub(taken).saturating_sub(others)
            }
        };
        OutputLoad {
            all: output.load,
            waiting_for_vc,
            taken,
            taken_of_vc: taken_of(vc),
            unsent: output.rate.bytes_in(output.busy_until.saturating_sub(now)),
        }
    }

    /// Bytes of credits for which packets wait, of one VC.
    fn queued(&self, port: u16, vc: u8) -> u64 {
        let vc_index = self.vc_index(port, vc);
        let entering = self.queue_index(vc_index, BufferClaim::Bubble);
        let queues = [Some(vc_index), Some(entering).filter(|queue| *queue != vc_index)];
        let packets = queues
            .into_iter()
            .flatten()
            .flat_map(|queue| self.pool.iter(self.queues[queue]));
        packets
            .map(|routed| u64::from(routed.packet.bytes.max(self.slot)))
            .sum()
    }

    /// Routes a packet.
    #[inline]
    fn route(
        &self,
        now: Time,
        routed: &mut RoutedPacket,
        context: &RoutingContext<'_>,
        random: &mut dyn Random,
    ) {
        let RoutedPacket { packet, .. } = routed;
        let at = At {
            router: self.id,
            input: Port(routed.input),
            vc: routed.input_vc,
            source: packet.source,
            destination: packet.destination,
        };
        let seen = PacketCongestion {
            router: self,
            now,
            bytes: packet.bytes,
            context,
        };
        let hop = context.routing.route(at, &mut packet.route, &seen, random);
        (routed.output, routed.output_vc, routed.claim) = (hop.port.0, hop.vc, hop.claim);
    }

    /// A packet has been routed. It may leave when it cannot underrun on its output.
    #[inline(always)]
    fn enter<O: RouterOutputs<PacketRouter>>(&mut self, now: Time, routed: &RoutedPacket, out: &mut O) {
        let needed = routed.packet.bytes.max(self.slot);
        let load = &mut self.outputs[usize::from(routed.output)].load;
        *load = load.wrapping_add(u64::from(needed));
        if routed.claim == BufferClaim::Reserved {
            self.reserve(now, routed, out);
            return;
        }
        self.leave(now, routed, IsNoted(false), out);
    }

    #[inline]
    fn note_arrival<O: RouterOutputs<PacketRouter>>(
        &self,
        routed: &RoutedPacket,
        is_noted: IsNoted,
        out: &mut O,
    ) {
        if !is_noted.0 {
            out.note(|| PacketUndo::Arrived {
                output: routed.output,
                needed: routed.packet.bytes.max(self.slot),
            });
        }
    }

    /// Takes the credits that routing has chosen for a packet. Without credits, the packet waits in the queue.
    #[inline(never)]
    fn reserve<O: RouterOutputs<PacketRouter>>(&mut self, now: Time, routed: &RoutedPacket, out: &mut O) {
        self.note_arrival(routed, IsNoted(false), out);
        let mut routed = *routed;
        let (output, vc) = (routed.output, routed.output_vc);
        let vc_index = self.vc_index(output, vc);
        let needed = routed.packet.bytes.max(self.slot);
        if self.outputs[usize::from(output)].to_host || !self.has_credits(vc_index, needed) {
            routed.claim = BufferClaim::Credit;
        } else {
            self.credits[vc_index] -= needed;
            out.note(|| PacketUndo::Reserved { output, vc, needed });
        }
        self.leave(now, &routed, IsNoted(true), out);
    }

    #[inline(always)]
    fn leave<O: RouterOutputs<PacketRouter>>(
        &mut self,
        now: Time,
        routed: &RoutedPacket,
        is_noted: IsNoted,
        out: &mut O,
    ) {
        if !self.one_rate {
            let bytes = routed.packet.bytes;
            let slow = self.input_rate(routed.input).serialization(bytes);
            let fast = self.outputs[usize::from(routed.output)].rate.serialization(bytes);
            if slow > fast {
                self.note_arrival(routed, is_noted, out);
                self.guard(routed, slow - fast, out);
                return;
            }
        }
        self.ready(now, routed, is_noted, out);
    }

    /// Bandwidth at which packets come in at a port.
    fn input_rate(&self, port: u16) -> Rate {
        let port = &self.outputs[usize::from(port)];
        if port.to_host { self.injection } else { port.rate }
    }

    /// A packet waits for its tail.
    #[inline(never)]
    fn guard<O: RouterOutputs<PacketRouter>>(&mut self, routed: &RoutedPacket, wait: Time, out: &mut O) {
        let input = routed.input;
        if self.guards.keep(routed) {
            out.note(|| PacketUndo::Guarded { input });
        }
        out.timer(GuardExpired { input }, wait);
    }

    /// A packet leaves as soon as it has credits.
    #[inline(always)]
    fn ready<O: RouterOutputs<PacketRouter>>(
        &mut self,
        now: Time,
        routed: &RoutedPacket,
        is_noted: IsNoted,
        out: &mut O,
    ) {
        let vc_index = self.vc_index(routed.output, routed.output_vc);
        if self.outputs[usize::from(routed.output)].to_host {
            self.send(now, routed, is_noted, out);
            return;
        }
        let credits = &mut self.credits[vc_index];
        let needed = routed.packet.bytes.max(self.slot);
        let first = self.outputs[usize::from(routed.output)].waiting == 0 || self.queues[vc_index].is_empty();
        if routed.claim == BufferClaim::Credit && first && *credits >= needed {
            *credits -= needed;
            self.send(now, routed, is_noted, out);
            return;
        }
        self.note_arrival(routed, is_noted, out);
        self.ready_otherwise(now, vc_index, routed, out);
    }

    /// As [`PacketRouter::ready`], for a packet that lacks credits or has another claim.
    #[inline(never)]
    fn ready_otherwise<O: RouterOutputs<PacketRouter>>(
        &mut self,
        now: Time,
        vc_index: usize,
        routed: &RoutedPacket,
        out: &mut O,
    ) {
        let needed = routed.packet.bytes.max(self.slot);
        match routed.claim {
            BufferClaim::Reserved => out.note(|| PacketUndo::ReservationUsed {
                output: routed.output,
                vc: routed.output_vc,
                needed,
            }),
            BufferClaim::Bubble if self.has_credits(vc_index, needed.saturating_add(self.slot)) => {
                self.credits[vc_index] -= needed;
            }
            BufferClaim::Credit | BufferClaim::Bubble => {
                self.wait(now, vc_index, routed, out);
                return;
            }
        }
        self.send(now, routed, IsNoted(true), out);
    }

    /// A packet begins to wait for credits.
    fn wait<O: RouterOutputs<PacketRouter>>(
        &mut self,
        now: Time,
        vc_index: usize,
        routed: &RoutedPacket,
        out: &mut O,
    ) {
        let RoutedPacket {
            packet,
            output: port,
            output_vc: vc,
            claim,
            ..
        } = *routed;
        let output = &mut self.outputs[usize::from(port)];
        if output.waiting == 0 {
            out.note(|| PacketUndo::Stalled {
                output: port,
                idle_since: output.idle_since,
            });
            output.idle_since = now.max(output.busy_until);
        }
        output.waiting += 1;
        out.lacks_credits();
        if out.tracks_waits() {
            out.observe(packet, (port, vc), PacketObservation::Queued(routed.vc_queue()));
        }
        let queue = self.queue_index(vc_index, claim);
        let previous = self.pool.push_back(&mut self.queues[queue], *routed);
        out.note(|| PacketUndo::Enqueued {
            output: port,
            vc,
            claim,
            previous,
        });
    }

    /// Whether this many credits are free and no packet waits for them.
    fn has_credits(&self, vc_index: usize, needed: u32) -> bool {
        let queues = [BufferClaim::Credit, BufferClaim::Bubble];
        queues
            .map(|claim| self.queues[self.queue_index(vc_index, claim)])
            .iter()
            .all(|queue| queue.is_empty())
            && self.credits[vc_index] >= needed
    }

    /// Credits that the first packet of a queue takes; `None` for an empty queue.
    #[inline]
    fn first_needed(&self, queue: usize) -> Option<u32> {
        let routed = self.pool.front(self.queues[queue])?;
        Some(routed.packet.bytes.max(self.slot))
    }

    /// Sends packets that wait for a bubble, while there is one.
    #[inline(never)]
    fn send_entering<O: RouterOutputs<PacketRouter>>(&mut self, now: Time, vc_index: usize, out: &mut O) {
        let queue = self.queue_index(vc_index, BufferClaim::Bubble);
        // With this many credits, no packet waits that needs fewer.
        while let Some(needed) = self.first_needed(queue)
            && self.queues[vc_index].is_empty()
            && self.credits[vc_index] >= needed.saturating_add(self.slot)
        {
            self.send_waiting(now, vc_index, queue, out);
        }
    }

    /// Sends the first packet of a queue. The packet moves from the pool directly into its event: an intermediate
    /// copy would be read before its stores complete.
    #[inline]
    fn send_waiting<O: RouterOutputs<PacketRouter>>(
        &mut self,
        now: Time,
        vc_index: usize,
        queue: usize,
        out: &mut O,
    ) {
        let Some(routed) = self.pool.front(self.queues[queue]) else {
            return;
        };
        let (bytes, output, vc) = (routed.packet.bytes, routed.output, routed.output_vc);
        self.credits[vc_index] -= bytes.max(self.slot);
        if out.tracks_waits() {
            let observation = PacketObservation::HasCredits(routed.vc_queue());
            out.observe(routed.packet, (output, vc), observation);
        }
        let span = self.reserve_link(now, (output, vc), bytes, IsNoted(true), out);
        // Follows the reservation: while the packet waited, the link idled because of full buffers.
        self.outputs[usize::from(output)].waiting -= 1;
        let Some(routed) = self.pool.front(self.queues[queue]) else {
            return;
        };
        let (input, input_vc) = (routed.input, routed.input_vc);
        depart(routed, span, out);
        out.note(|| PacketUndo::Dequeued {
            output,
            vc,
            input,
            input_vc,
            claim: routed.claim,
            progress: routed.packet.split().1,
        });
        out.note(|| PacketUndo::Released(routed.packet.split().0));
        self.pool.pop_front(&mut self.queues[queue]);
        out.credit(input, input_vc, bytes, span[0] + span[1]);
    }

    /// Sends a packet that has its credits.
    #[inline(always)]
    fn send<O: RouterOutputs<PacketRouter>>(
        &mut self,
        now: Time,
        routed: &RoutedPacket,
        is_noted: IsNoted,
        out: &mut O,
    ) {
        let bytes = routed.packet.bytes;
        let output = (routed.output, routed.output_vc);
        let span = self.reserve_link(now, output, bytes, is_noted, out);
        depart(routed, span, out);
        out.credit(routed.input, routed.input_vc, bytes, span[0] + span[1]);
    }

    /// Reserves the link of `port` for a packet of this size. Returns the wait until its start, and its
    /// serialization time.
    #[inline(always)]
    fn reserve_link<O: RouterOutputs<PacketRouter>>(
        &mut self,
        now: Time,
        (port, vc): (u16, u8),
        bytes: u32,
        is_noted: IsNoted,
        out: &mut O,
    ) -> [Time; 2] {
        let ports = self.outputs.len();
        let output = &mut self.outputs[usize::from(port)];
        let serialization = output.rate.serialization(bytes);
        let start = now.max(output.busy_until);
        let wait = start - now;
        let (busy_until, idle_since) = (output.busy_until, output.idle_since);
        out.note(|| match is_noted.0 {
            true => PacketUndo::Sent {
                output: port,
                vc,
                bytes,
                busy_until,
                idle_since,
            },
            false => PacketUndo::ArrivedAndSent {
                output: port,
                vc,
                bytes,
                busy_until,
                idle_since,
            },
        });
        output.busy_until = start + serialization;
        output
            .counters
            .depart(start, serialization, bytes, self.measured, || {
                stalls_of(&mut self.stalls, ports, port)
            });
        if output.waiting > 0 {
            let stalls = stalls_of(&mut self.stalls, ports, port);
            stalls.unblock(output.idle_since, start, self.measured);
            output.idle_since = output.busy_until;
        }
        if output.to_host {
            output.load = output.load.wrapping_sub(u64::from(bytes.max(self.slot)));
        }
        [wait, serialization]
    }

    fn undo_arrival(&mut self, output: u16, needed: u32) {
        let load = &mut self.outputs[usize::from(output)].load;
        *load = load.wrapping_sub(u64::from(needed));
    }

    fn undo_send(&mut self, port: u16, vc: u8, bytes: u32, busy_until: Time, idle_since: Time) {
        let vc_index = self.vc_index(port, vc);
        let ports = self.outputs.len();
        let output = &mut self.outputs[usize::from(port)];
        let stalls = stalls_of(&mut self.stalls, ports, port);
        let serialization = output.rate.serialization(bytes);
        let start = output.busy_until - serialization;
        if output.waiting > 0 {
            stalls.undo_unblock(idle_since, start, self.measured);
        }
        output
            .counters
            .undo_depart(start, serialization, bytes, self.measured, || stalls);
        output.busy_until = busy_until;
        output.idle_since = idle_since;
        if output.to_host {
            output.load = output.load.wrapping_add(u64::from(bytes.max(self.slot)));
        } else {
            self.add_credits(vc_index, bytes.max(self.slot));
        }
    }

    fn add_credits(&mut self, vc_index: usize, bytes: u32) {
        let credits = &mut self.credits[vc_index];
        *credits = credits.wrapping_add(bytes);
    }

    fn take_credits(&mut self, vc_index: usize, bytes: u32) {
        let credits = &mut self.credits[vc_index];
        *credits = credits.wrapping_sub(bytes);
    }

    fn stalls(&self, port: u16) -> StallCounters {
        self.stalls.get(usize::from(port)).copied().unwrap_or_default()
    }

    /// Checks that a saved state belongs to a router with these settings and does not contradict itself.
    fn check(&self, state: &PacketRouterState) -> Result<(), String> {
        let id = self.id.0;
        let (ports, queues) = (self.outputs.len(), self.queues.len());
        let (saved_ports, saved_queues) = (state.outputs.len(), state.queues.len());
        if (saved_ports, saved_queues, state.credits.len()) != (ports, queues, self.credits.len()) {
            return Err(format!(
                "router {id} has {ports} ports and {queues} queues, its saved state {saved_ports} and {saved_queues}"
            ));
        }
        let mut waits = vec![false; ports];
        for (index, queue) in state.queues.iter().enumerate() {
            let vc_index = index % self.credits.len();
            let vcs = usize::from(self.vcs);
            let (port, vc) = (vc_index / vcs, vc_index % vcs);
            let fits = |routed: &RoutedPacket| {
                (usize::from(routed.output), usize::from(routed.output_vc)) == (port, vc)
                    && usize::from(routed.input) < ports
                    && routed.input_vc < self.vcs
                    && !self.outputs[port].to_host
                    && routed.claim != BufferClaim::Reserved
                    && self.queue_index(vc_index, routed.claim) == index
            };
            if !queue.iter().all(fits) {
                return Err(format!(
                    "router {id}: a packet in the saved state cannot wait for port {port}, VC {vc}"
                ));
            }
            waits[port] |= !queue.is_empty();
        }
        let contradicts =
            |(output, waits): (&PacketOutputState, &bool)| output.idle_since.is_some() != *waits;
        match state.outputs.iter().zip(&waits).position(contradicts) {
            Some(port) => Err(format!(
                "router {id}: the saved state of port {port} contradicts its queues"
            )),
            None => Ok(()),
        }
    }
}

impl RouterModel for PacketRouter {
    const MODEL: RouterModelKind = RouterModelKind {
        name: "packet",
        summary: "virtual cut-through, input-buffered virtual channels with credits, no head-of-line blocking \
                  between outputs",
        parameters: &[],
        capabilities: RouterCapabilities {
            reports_credit_waits: true,
            final_reservations: true,
            sends_signals: false,
            signals_to_hosts: false,
            bubbles: true,
            reserved_space: true,
            load_metrics: true,
            load_reports: true,
            waits_at_departure: true,
            ..RouterCapabilities::NONE
        },
    };
    const IS_INLINED: bool = true;

    type Parameters = ();
    type Undo = PacketUndo;
    type State = PacketRouterState;
    type Timer = GuardExpired;
    type Signal = Never;
    type WaitTracker = PacketWaitTracker;

    fn read(_: &Section) -> Result<(), config::Error> {
        Ok(())
    }

    fn bytes_per_port(_: u64, vcs: u64, bubbles: bool) -> u64 {
        let queues = if bubbles { 2 } else { 1 };
        let per_vc = size_of::<u32>() + queues * size_of::<Fifo>();
        let port = size_of::<PacketOutput>() + size_of::<StallCounters>() + size_of::<u32>();
        port as u64 + vcs * per_vc as u64
    }

    fn new(setup: &RouterSetup<'_>, (): ()) -> PacketRouter {
        let output = |p: &PortSetting| PacketOutput {
            busy_until: Time::ZERO,
            rate: p.rate,
            load: 0,
            waiting: 0,
            to_host: p.to_host,
            idle_since: Time::ZERO,
            counters: LinkCounters::default(),
        };
        let credits = setup.per_vc(|p| p.credits);
        let queues = if setup.bubbles { 2 } else { 1 };
        PacketRouter {
            id: setup.id,
            vcs: setup.vcs,
            slot: if setup.bubbles { setup.largest_packet } else { 0 },
            one_rate: setup.has_one_rate(),
            injection: setup.injection,
            measured: setup.measured,
            stalls: Vec::new(),
            outputs: setup.ports.iter().map(output).collect(),
            queues: vec![Fifo::EMPTY; queues * credits.len()],
            far_buffers: setup.ports.iter().map(|port| port.credits).collect(),
            credits,
            pool: PacketPool::default(),
            guards: UnderrunGuards::default(),
        }
    }

    // The compiler's own choice depends on the number of models.
    #[inline(always)]
    fn arrived<O: RouterOutputs<Self>>(
        &mut self,
        now: Time,
        arrival: Arrival,
        context: &RoutingContext<'_>,
        out: &mut O,
    ) {
        let mut routed = RoutedPacket {
            packet: arrival.packet,
            input: arrival.input,
            output: 0,
            input_vc: arrival.vc,
            output_vc: 0,
            claim: BufferClaim::Credit,
        };
        self.route(now, &mut routed, context, &mut out.random());
        self.enter(now, &routed, out);
    }

    #[inline]
    fn credit<O: RouterOutputs<Self>>(&mut self, now: Time, port: u16, vc: u8, bytes: u32, out: &mut O) {
        let vc_index = self.vc_index(port, vc);
        let bytes = bytes.max(self.slot);
        let output = &mut self.outputs[usize::from(port)];
        output.load = output.load.wrapping_sub(u64::from(bytes));
        let credits = &mut self.credits[vc_index];
        *credits = credits.wrapping_add(bytes);
        out.note(|| PacketUndo::Credited {
            output: port,
            vc,
            bytes,
        });
        if output.waiting == 0 {
            return;
        }
        while let Some(needed) = self.first_needed(vc_index)
            && self.credits[vc_index] >= needed
        {
            self.send_waiting(now, vc_index, vc_index, out);
        }
        if self.slot > 0 {
            self.send_entering(now, vc_index, out);
        }
    }

    #[inline]
    fn timer<O: RouterOutputs<Self>>(
        &mut self,
        now: Time,
        timer: GuardExpired,
        _: &RoutingContext<'_>,
        out: &mut O,
    ) {
        // None comes only in a timeline that is undone later.
        if let Some(routed) = self.guards.take(timer.input) {
            out.note(|| PacketUndo::GuardExpired(Box::new(routed)));
            self.ready(now, &routed, IsNoted(true), out);
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

    fn undo(&mut self, step: PacketUndo) {
        match step {
            PacketUndo::Arrived { output, needed } => self.undo_arrival(output, needed),
            PacketUndo::Reserved { output, vc, needed } => {
                self.add_credits(self.vc_index(output, vc), needed)
            }
            PacketUndo::ReservationUsed { output, vc, needed } => {
                self.take_credits(self.vc_index(output, vc), needed);
            }
            PacketUndo::Credited { output, vc, bytes } => {
                let load = &mut self.outputs[usize::from(output)].load;
                *load = load.wrapping_add(u64::from(bytes));
                self.take_credits(self.vc_index(output, vc), bytes);
            }
            PacketUndo::Sent {
                output,
                vc,
                bytes,
                busy_until,
                idle_since,
            } => self.undo_send(output, vc, bytes, busy_until, idle_since),
            PacketUndo::ArrivedAndSent {
                output,
                vc,
                bytes,
                busy_until,
                idle_since,
            } => {
                self.undo_send(output, vc, bytes, busy_until, idle_since);
                self.undo_arrival(output, bytes.max(self.slot));
            }
            PacketUndo::Stalled { output, idle_since } => {
                self.outputs[usize::from(output)].idle_since = idle_since;
            }
            PacketUndo::Enqueued {
                output,
                vc,
                claim,
                previous,
            } => {
                let queue = self.queue_index(self.vc_index(output, vc), claim);
                self.pool.undo_push_back(&mut self.queues[queue], previous);
                self.outputs[usize::from(output)].waiting -= 1;
            }
            PacketUndo::Released(identity) => self.pool.undo_release(identity),
            PacketUndo::Guarded { input } => {
                self.guards.take(input);
            }
            PacketUndo::GuardExpired(routed) => {
                self.guards.keep(&routed);
            }
            PacketUndo::Dequeued {
                output,
                vc,
                input,
                input_vc,
                claim,
                progress,
            } => {
                let queue = self.queue_index(self.vc_index(output, vc), claim);
                let routed = self.pool.undo_pop_front(&mut self.queues[queue], progress);
                (routed.output, routed.output_vc) = (output, vc);
                (routed.input, routed.input_vc) = (input, input_vc);
                routed.claim = claim;
                self.outputs[usize::from(output)].waiting += 1;
            }
        }
    }

    fn state(&self) -> PacketRouterState {
        let output = |(port, output): (usize, &PacketOutput)| PacketOutputState {
            busy_until: output.busy_until,
            load: output.load,
            idle_since: (output.waiting > 0).then_some(output.idle_since),
            counters: output.counters,
            stalls: self.stalls(port as u16),
        };
        let queue = |queue: &Fifo| self.pool.iter(*queue).copied().collect();
        PacketRouterState {
            outputs: self.outputs.iter().enumerate().map(output).collect(),
            credits: self.credits.clone(),
            queues: self.queues.iter().map(queue).collect(),
            guarded: self.guards.iter().copied().collect(),
        }
    }

    fn restore(&mut self, state: PacketRouterState) -> Result<(), String> {
        self.check(&state)?;
        self.guards = UnderrunGuards::restored(&state.guarded, self.outputs.len())
            .map_err(|why| format!("router {}: its saved state {why}", self.id.0))?;
        self.stalls = state.outputs.iter().map(|saved| saved.stalls).collect();
        for (output, saved) in self.outputs.iter_mut().zip(state.outputs) {
            output.busy_until = saved.busy_until;
            output.load = saved.load;
            output.waiting = 0;
            output.idle_since = saved.idle_since.unwrap_or_default();
            output.counters = saved.counters;
        }
        self.credits = state.credits;
        self.pool.clear();
        for (queue, saved) in self.queues.iter_mut().zip(state.queues) {
            *queue = Fifo::EMPTY;
            for routed in saved {
                self.outputs[usize::from(routed.output)].waiting += 1;
                self.pool.push_back(queue, routed);
            }
        }
        Ok(())
    }

    fn id(&self) -> RouterId {
        self.id
    }

    fn for_each_held(&self, see: &mut dyn FnMut(Holding)) {
        let waiting = self.queues.iter().flat_map(|queue| self.pool.iter(*queue));
        waiting.for_each(|routed| Holding::whole(&routed.packet, (routed.input, routed.input_vc), see));
        for routed in self.guards.iter() {
            Holding::whole(&routed.packet, (routed.input, routed.input_vc), see);
            if routed.claim == BufferClaim::Reserved {
                see(Holding::Output {
                    port: routed.output,
                    vc: routed.output_vc,
                    bytes: routed.packet.bytes,
                });
            }
        }
    }

    fn load(&self, port: u16) -> u64 {
        self.outputs[usize::from(port)].load
    }

    fn credits(&self, port: u16, vc: u8) -> u32 {
        self.credits[self.vc_index(port, vc)]
    }

    fn used(&self, port: u16, end: Time) -> LinkUse {
        let output = &self.outputs[usize::from(port)];
        let mut stalls = self.stalls(port);
        if output.waiting > 0 {
            stalls.unblock(output.idle_since, end, self.measured);
        }
        LinkUse::new(output.counters, stalls, (end, output.busy_until), self.measured)
    }

    #[inline]
    fn flows(&self, ports: Range<u16>, end: Time, mut see: impl FnMut(u16, Flow, bool)) {
        let places = usize::from(ports.start)..usize::from(ports.end);
        let mut see_output = |port, output: &PacketOutput, mut stalls: StallCounters| {
            if output.waiting > 0 {
                stalls.unblock(output.idle_since, end, self.measured);
            }
            let flow = Flow::new(output.counters, stalls, (end, output.busy_until));
            see(port, flow, output.is_active(end));
        };
        let outputs = ports.zip(&self.outputs[places.clone()]);
        match self.stalls.get(places) {
            Some(stalls) => {
                for ((port, output), stalls) in outputs.zip(stalls) {
                    see_output(port, output, *stalls);
                }
            }
            None => {
                for (port, output) in outputs {
                    see_output(port, output, StallCounters::default());
                }
            }
        }
    }

    fn waiting_at(&self, port: u16) -> u32 {
        self.outputs[usize::from(port)].waiting
    }

    fn is_active(&self, port: u16, time: Time) -> bool {
        self.outputs[usize::from(port)].is_active(time)
    }

    #[inline]
    fn prefetch(&self) {
        if self.outputs.len() <= FEW_PORTS {
            des::prefetch(self.outputs.as_slice());
            des::prefetch(self.credits.as_slice());
        }
    }

    #[inline]
    fn prefetch_credit(&self, port: u16, vc: u8) {
        if self.outputs.len() > FEW_PORTS {
            self.prefetch_output(port);
        } else if self.outputs[usize::from(port)].waiting > 0
            && let Some(routed) = self.pool.front(self.queues[self.vc_index(port, vc)])
        {
            des::prefetch(routed);
        }
    }

    #[inline]
    fn prefetch_output(&self, port: u16) {
        if let Some(output) = self.outputs.get(usize::from(port)) {
            des::prefetch(output);
            des::prefetch(&self.credits[self.vc_index(port, 0)]);
        }
    }
}

/// The counters of an output that packets seldom touch.
#[inline]
fn stalls_of(stalls: &mut Vec<StallCounters>, ports: usize, port: u16) -> &mut StallCounters {
    if stalls.is_empty() {
        resize(stalls, ports);
    }
    &mut stalls[usize::from(port)]
}

#[cold]
#[inline(never)]
fn resize(stalls: &mut Vec<StallCounters>, ports: usize) {
    stalls.resize(ports, StallCounters::default());
}

/// A packet starts onto its link after the first span; its serialization takes the second.
#[inline(always)]
fn depart<O: RouterOutputs<PacketRouter>>(
    routed: &RoutedPacket,
    [wait, serialization]: [Time; 2],
    out: &mut O,
) {
    let packet = routed.packet.on_next_link();
    let (output, vc) = (routed.output, routed.output_vc);
    if out.tracks_waits() {
        let observation = PacketObservation::Departed {
            output,
            vc,
            job: packet.job,
            wait,
            serialization,
        };
        out.observe(packet, (output, vc), observation);
    }
    out.depart(output, vc, packet, wait, serialization);
}

#[cfg(test)]
#[path = "packet_tests.rs"]
mod tests;
