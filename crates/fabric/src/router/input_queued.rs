//! The `input-queued` router: virtual cut-through with credits, and a first-in first-out queue for each input port
//! and virtual channel (VC), of which only the first packet can be sent (head-of-line blocking).
//!
//! A packet's head arrives when it has passed its link and the router's pipeline. It goes to the end of the queue
//! of its input port and VC. It is routed when it becomes the first there, that is when the tail of the packet
//! before it has crossed. An output of the crossbar takes one packet at a time, and so does an input, all VCs
//! together. A free output chooses among the first packets that are routed to it, whose input is free, for which the
//! buffer at the far end has credits and the output buffer has space; of several, the [`Arbiter`] selects one. The
//! packet takes its credits, and crosses. When its tail has crossed, its input and output of the crossbar and its
//! buffer space are free, and its credit leaves.
//!
//! The crossbar is [`Speedup`] times as fast as the link of its output, but a tail does not cross before it has
//! arrived. Behind the crossbar packets wait for the link only, in the order in which they cross. So the time of the
//! departure is known when the output takes a packet. The head starts onto a free link when it crosses (cut-through).
//! A packet has space in the output buffer from then until its tail has left the link. Without a speedup the link is
//! free whenever its output of the crossbar is, and nothing waits there.
//!
//! With several traffic classes ([`TrafficClasses`]), each class has its own VCs. An output first chooses a class among
//! those of the packets that could be sent, then a packet of the class. Routing sees the VCs of the packet's class,
//! numbered from 0, and the load of all classes.
//!
//! With several copies of each VC that routing needs, a packet gets one when it is routed: that for which fewest
//! packets of this router wait, of these the one with most credits, of these the first.
//!
//! All tails that have crossed at the same time release their ports before any output chooses. Then the free outputs
//! choose one after the other; the output that chooses first changes by one each time. The matching is maximal.
//!
//! Source: the queueing model is that of M. J. Karol, M. G. Hluchyj and S. P. Morgan, "Input versus output
//! queueing on a space-division packet switch", IEEE Trans. Communications COM-35(12), 1987, with packets of
//! any size, several VCs and finite buffers. Speedup and output buffers: the input-queued router of BookSim 2 with
//! internal speedup (N. Jiang et al., "A detailed and flexible cycle-accurate Network-on-Chip simulator", ISPASS 2013),
//! which takes credits when it allocates the switch. Not modelled: iterated matching.
//!
//! A packet is routed at the head of its queue. So a packet that needs [`BufferClaim::Reserved`] holds its credits
//! from the decision on and waits for crossbar and link only, never behind a packet that waits for credits. The
//! channel dependencies are those of the routing algorithm, for all kinds of [`BufferClaim`].

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::ops::Range;

use config::{Bytes, Parameter, Section, Type, parameters};
use des::Time;
use routing::{At, BufferClaim, Congestion, LoadMetric, Random, RouteState};
use serde::{Deserialize, Serialize};
use topology::{Port, RouterId};

use super::arbiter::Arbiter;
use super::output_buffers::{OutputBuffers, UnsentPacket};
use super::output_load::OutputLoad;
use super::{
    Arrival, Holding, Never, RouterModel, RouterModelKind, RouterOutputs, RouterSetup, RoutingContext,
    Speedup,
};
use crate::capabilities::{PacketLimit, PacketLimits, RouterCapabilities};
use crate::link::{LinkCounters, StallCounters};
use crate::packet_pool::{Fifo, PacketPool, Previous};
use crate::waits::{InputQueuedObservation, InputQueuedWaitTracker, RouterDeparture};
use crate::{
    ClassSet, ClassTurnUndo, ClassTurns, LinkUse, Measured, Packet, PacketIdentity, PacketProgress, Rate,
    TrafficClasses,
};

/// Names of the arbiters of the model; the first is the default.
const ARBITERS: [&str; 2] = ["round-robin", "random"];

const OUTPUT_BUFFER: Parameter = Parameter::computed(
    "output_buffer",
    Type::Size,
    "no limit",
    "buffer of one output port, between crossbar and link, at most 1 GiB",
);

const MOST_OUTPUT_BUFFER: u32 = 1 << 30;

/// The parameters of the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parameters {
    /// Arbitration of the outputs.
    pub arbiter: Arbiter,
    /// Speed of the crossbar over that of the link behind it.
    pub speedup: Speedup,
    /// Bytes between an output of the crossbar and its link; `None` without a limit.
    pub output_buffer: Option<u32>,
}

/// An undo step of a router.
#[derive(Clone, Copy, Debug)]
pub enum InputQueuedUndo {
    /// A packet went to the end of a queue.
    Arrived {
        /// Input port.
        input: u16,
        /// VC.
        vc: u8,
        /// Entry of the packet before it.
        previous: Previous,
    },
    /// The first packet of a queue was routed.
    Routed {
        /// Input port.
        input: u16,
        /// VC.
        vc: u8,
        /// Its route state before.
        before: RouteState,
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
    /// An output took the first packet of a queue.
    Sent {
        /// Output port.
        output: u16,
        /// Input port.
        input: u16,
        /// VC of the input buffer.
        input_vc: u8,
        /// VC at the far end of the output.
        output_vc: u8,
        /// The packet's claim on the buffer there.
        claim: BufferClaim,
        /// The queue that the output had preferred.
        preferred: u32,
        /// End of the previous link reservation.
        busy_until: Time,
    },
    /// A packet left the front of its queue.
    Dequeued {
        /// Input port.
        input: u16,
        /// VC.
        vc: u8,
        /// Arrival time of its head.
        arrived: Time,
        /// Half of the packet.
        progress: PacketProgress,
    },
    /// The other half of a packet that left the front of its queue.
    Released(PacketIdentity),
    /// A packet took space in an output buffer.
    Buffered {
        /// Output port.
        output: u16,
    },
    /// A packet that had left an output buffer was removed.
    Unbuffered {
        /// Output port.
        output: u16,
        /// Its bytes.
        bytes: u32,
        /// The time at which its tail left.
        until: Time,
    },
    /// A tail has crossed: input and output became free.
    TailCrossed {
        /// Output port.
        output: u16,
        /// Input port.
        input: u16,
        /// VC of the input buffer.
        vc: u8,
        /// The time at which it had crossed.
        at: Time,
    },
    /// The output that chooses first changed.
    FirstMoved,
    /// The turns of the traffic classes of an output changed.
    ClassTurn {
        /// Output port.
        output: u16,
        /// The change.
        step: ClassTurnUndo,
    },
    /// An output became blocked: no packet had credits.
    Blocked {
        /// Output port.
        output: u16,
    },
    /// An output is no longer blocked.
    Unblocked {
        /// Output port.
        output: u16,
        /// Start of the blocked time.
        since: Time,
        /// End of the blocked time.
        now: Time,
    },
}

const _: () = assert!(size_of::<InputQueuedUndo>() <= 32);

/// An output port.
#[derive(Clone, Debug)]
struct InputQueuedOutput {
    rate: Rate,
    /// Rate of the crossbar.
    crossbar: Rate,
    to_host: bool,
    /// Input port and VC whose packet is crossing.
    from: Option<(u16, u8)>,
    /// The time at which its tail has crossed; without a meaning if there is none.
    crosses_until: Time,
    /// End of the last reservation of the link.
    busy_until: Time,
    /// Bytes that wait for this port, are in flight, or whose credit has not returned.
    load: u64,
    /// Packets that are routed to this port and wait.
    requested: u32,
    /// Time from which the link idles because no packet has credits. It may be to come.
    blocked_since: Option<Time>,
    counters: LinkCounters,
    stalls: StallCounters,
}

/// The queue of one input port and VC.
#[derive(Clone, Debug)]
struct InputQueue {
    packets: Fifo,
    /// Decision for the first packet; `None` if there is no packet, or the tail of the previous one is still
    /// crossing.
    decision: Option<Decision>,
}

/// The routing decision for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Decision {
    output: u16,
    vc: u8,
    claim: BufferClaim,
}

/// The buffer of one VC at the far end of an output.
#[derive(Clone, Debug)]
struct FarBuffer {
    /// Size, a setting.
    size: u32,
    credits: u32,
    /// Packets that wait for its credits.
    waiting: u32,
}

/// A packet in an input buffer.
#[derive(Clone, Copy, Debug)]
struct Buffered {
    packet: Packet,
    /// Arrival time of its head.
    arrived: Time,
}

impl AsMut<Packet> for Buffered {
    fn as_mut(&mut self) -> &mut Packet {
        &mut self.packet
    }
}

/// One router.
#[derive(Clone, Debug)]
pub struct InputQueuedRouter {
    id: RouterId,
    /// VCs of a port, of all traffic classes.
    vcs: u8,
    traffic_classes: TrafficClasses,
    /// Whether all cables have one speed, so that no packet can underrun.
    one_rate: bool,
    /// Bandwidth at which packets come in from hosts.
    injection: Rate,
    arbiter: Arbiter,
    speedup: Speedup,
    largest_packet: u32,
    measured: Measured,
    /// The output that chooses first.
    first: u16,
    outputs: Vec<InputQueuedOutput>,
    /// By output port, then traffic class, the preferred queue: the one after the queue that was served last.
    preferred: Vec<u32>,
    /// By output port; empty with one traffic class.
    class_turns: Vec<ClassTurns>,
    /// The VC whose packet is crossing, by input port.
    inputs: Vec<Option<u8>>,
    /// By input port, then VC.
    queues: Vec<InputQueue>,
    /// By output port, then VC.
    far_buffers: Vec<FarBuffer>,
    /// A bit for each queue whose first packet is routed to the output, by output port.
    requests: Vec<u64>,
    output_buffers: OutputBuffers,
    pool: PacketPool<Buffered>,
}

/// The mutable state of a router.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputQueuedRouterState {
    first: u16,
    outputs: Vec<InputQueuedOutputState>,
    /// By output port, then traffic class.
    preferred: Vec<u32>,
    /// By output port; empty with one traffic class.
    class_turns: Vec<ClassTurns>,
    /// By input port, then VC.
    queues: Vec<QueueState>,
    /// By output port, then VC.
    credits: Vec<u32>,
    /// By output port, if they are limited.
    output_buffers: Vec<VecDeque<UnsentPacket>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct InputQueuedOutputState {
    from: Option<(u16, u8)>,
    /// 0 if no packet crosses.
    crosses_until: Time,
    busy_until: Time,
    load: u64,
    blocked_since: Option<Time>,
    counters: LinkCounters,
    stalls: StallCounters,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct QueueState {
    decision: Option<Decision>,
    /// Packets with the arrival times of their heads.
    packets: Vec<(Packet, Time)>,
}

/// The congestion that the routing of a packet of this size sees. Its VCs are those of the packet's traffic class.
struct InputQueuedCongestion<'a> {
    router: &'a InputQueuedRouter,
    now: Time,
    bytes: u32,
    /// The packet's traffic class.
    class: u8,
    context: &'a RoutingContext<'a>,
}

impl Congestion for InputQueuedCongestion<'_> {
    fn load(&self, port: Port) -> u64 {
        self.router.load(port.0)
    }

    fn load_by(&self, metric: LoadMetric, port: Port, vc: u8) -> u64 {
        let vcs = self.router.traffic_classes.copies_of(self.class, vc);
        self.router.output_load(self.now, port.0, vcs).by(metric)
    }

    fn reported_load(&self, slot: usize) -> u64 {
        self.context.reported_load(slot)
    }

    fn free_space(&self, port: Port, vc: u8) -> u64 {
        let vc = self.router.best_copy(port.0, self.class, vc);
        let buffer = &self.router.far_buffers[self.router.index(port.0, vc)];
        if buffer.waiting == 0 && buffer.credits >= self.bytes {
            u64::from(buffer.credits)
        } else {
            0
        }
    }
}

impl InputQueuedRouter {
    /// Index of a VC of a port, for input queues and far buffers.
    #[inline]
    fn index(&self, port: u16, vc: u8) -> usize {
        usize::from(port) * usize::from(self.vcs) + usize::from(vc)
    }

    /// The VC of a traffic class that a packet takes which is routed now to a VC of routing, at an output.
    #[inline]
    fn best_copy(&self, port: u16, class: u8, routing_vc: u8) -> u8 {
        let copies = self.traffic_classes.copies_of(class, routing_vc);
        if copies.len() == 1 {
            return copies.start;
        }
        let rank = |vc: &u8| {
            let buffer = &self.far_buffers[self.index(port, *vc)];
            (buffer.waiting, Reverse(buffer.credits))
        };
        let first = copies.start;
        // Of equal ones the first.
        copies.min_by_key(rank).unwrap_or(first)
    }

    /// The load of an output, with that of some VCs together. Visits the packets that are routed to the output.
    ///
    /// A packet whose credits are reserved waits in the router until the output takes it.
    fn output_load(&self, now: Time, port: u16, vcs: Range<u8>) -> OutputLoad {
        let output = &self.outputs[usize::from(port)];
        let (mut waiting, mut waiting_for_vc, mut reserved_of_vc) = (0u64, 0u64, 0u64);
        for queue in self.requesting(port) {
            let Some(decision) = self.queues[queue].decision else {
                continue;
            };
            let bytes = u64::from(self.head(queue).packet.bytes);
            waiting += bytes;
            if vcs.contains(&decision.vc) {
                waiting_for_vc += bytes;
                if decision.claim == BufferClaim::Reserved {
                    reserved_of_vc += bytes;
                }
            }
        }
        if output.to_host {
            // Hosts take all packets and return no credits.
            return OutputLoad {
                all: output.load,
                waiting_for_vc,
                ..OutputLoad::default()
            };
        }
        let buffers = &self.far_buffers[self.index(port, vcs.start)..self.index(port, vcs.end)];
        let without_credits = |buffer: &FarBuffer| u64::from(buffer.size.saturating_sub(buffer.credits));
        let without_credits: u64 = buffers.iter().map(without_credits).sum();
        OutputLoad {
            all: output.load,
            waiting_for_vc,
            taken: output.load.saturating_sub(waiting),
            taken_of_vc: without_credits.saturating_sub(reserved_of_vc),
            unsent: output.rate.bytes_in(output.busy_until.saturating_sub(now)),
        }
    }

    /// Routes the first packet of a queue. Returns the output.
    fn route<O: RouterOutputs<InputQueuedRouter>>(
        &mut self,
        now: Time,
        (input, vc): (u16, u8),
        context: &RoutingContext<'_>,
        out: &mut O,
    ) -> u16 {
        let queue = self.index(input, vc);
        let Packet {
            source,
            destination,
            bytes,
            route: before,
            ..
        } = self.head(queue).packet;
        // Each traffic class has all VCs of routing, which does not know that there are several.
        let class = self.traffic_classes.of_vc(vc);
        let at = At {
            router: self.id,
            input: Port(input),
            vc: self.traffic_classes.routing_vc(vc),
            source,
            destination,
        };
        let mut route = before;
        let seen = InputQueuedCongestion {
            router: self,
            now,
            bytes,
            class,
            context,
        };
        let hop = context.routing.route(at, &mut route, &seen, &mut out.random());
        if let Some(head) = self.pool.front_mut(self.queues[queue].packets) {
            head.packet.route = route;
        }
        let decision = Decision {
            output: hop.port.0,
            vc: self.best_copy(hop.port.0, class, hop.vc),
            claim: hop.claim,
        };
        self.request(queue, decision);
        let output = &mut self.outputs[usize::from(decision.output)];
        output.load = output.load.wrapping_add(u64::from(bytes));
        if decision.claim == BufferClaim::Reserved && !output.to_host {
            let buffer = self.index(decision.output, decision.vc);
            let credits = &mut self.far_buffers[buffer].credits;
            debug_assert!(*credits >= bytes, "routing reserves credits that it has seen");
            *credits = credits.wrapping_sub(bytes);
        }
        out.note(|| InputQueuedUndo::Routed { input, vc, before });
        if out.tracks_waits() {
            let packet = self.head(queue).packet;
            let output = (decision.output, decision.vc);
            out.observe(packet, output, InputQueuedObservation::Routed);
        }
        let ready = self.ready_at(queue, decision);
        if ready > now {
            out.timer((), ready - now);
        }
        decision.output
    }

    /// The first packet of a queue, which is not empty.
    fn head(&self, queue: usize) -> &Buffered {
        let head = self.pool.front(self.queues[queue].packets);
        head.expect("the queue has a packet")
    }

    /// The first packet of a queue waits for an output.
    fn request(&mut self, queue: usize, decision: Decision) {
        let bit = self.request_bit(decision.output, queue);
        self.requests[bit / 64] |= 1 << (bit % 64);
        self.queues[queue].decision = Some(decision);
        let output = &mut self.outputs[usize::from(decision.output)];
        output.requested += 1;
        if Self::needs_credits(output, decision) {
            let buffer = self.index(decision.output, decision.vc);
            self.far_buffers[buffer].waiting += 1;
        }
    }

    /// The first packet of a queue no longer waits. Returns its decision.
    fn withdraw(&mut self, queue: usize) -> Option<Decision> {
        let decision = self.queues[queue].decision.take()?;
        let bit = self.request_bit(decision.output, queue);
        self.requests[bit / 64] &= !(1 << (bit % 64));
        let output = &mut self.outputs[usize::from(decision.output)];
        output.requested -= 1;
        if Self::needs_credits(output, decision) {
            let buffer = self.index(decision.output, decision.vc);
            self.far_buffers[buffer].waiting -= 1;
        }
        Some(decision)
    }

    fn needs_credits(output: &InputQueuedOutput, decision: Decision) -> bool {
        !output.to_host && decision.claim != BufferClaim::Reserved
    }

    fn request_bit(&self, output: u16, queue: usize) -> usize {
        usize::from(output) * self.words() * 64 + queue
    }

    fn words(&self) -> usize {
        self.queues.len().div_ceil(64)
    }

    /// Queues whose first packets are routed to an output, in ascending order.
    fn requesting(&self, output: u16) -> impl Iterator<Item = usize> {
        let first = usize::from(output) * self.words();
        let words = &self.requests[first..first + self.words()];
        words.iter().enumerate().flat_map(|(index, word)| {
            let rest = |bits: &u64| Some(bits & (bits - 1)).filter(|bits| *bits != 0);
            let bits = std::iter::successors(Some(*word).filter(|bits| *bits != 0), rest);
            bits.map(move |bits| index * 64 + bits.trailing_zeros() as usize)
        })
    }

    /// Time from which the first packet of a queue cannot underrun on its output.
    fn ready_at(&self, queue: usize, decision: Decision) -> Time {
        let Buffered { packet, arrived } = self.head(queue);
        if self.one_rate {
            return *arrived;
        }
        let input = (queue / usize::from(self.vcs)) as u16;
        let slow = self.input_rate(input).serialization(packet.bytes);
        let fast = self.outputs[usize::from(decision.output)]
            .rate
            .serialization(packet.bytes);
        *arrived + slow.saturating_sub(fast)
    }

    /// Bandwidth at which packets come in at a port.
    fn input_rate(&self, port: u16) -> Rate {
        let port = &self.outputs[usize::from(port)];
        if port.to_host { self.injection } else { port.rate }
    }

    /// Whether the first packet of a queue has its credits.
    fn has_credits(&self, queue: usize, decision: Decision) -> bool {
        let bytes = u64::from(self.head(queue).packet.bytes);
        let needed = match decision.claim {
            BufferClaim::Credit => bytes,
            BufferClaim::Reserved => 0,
            BufferClaim::Bubble => bytes + u64::from(self.largest_packet),
        };
        let credits = self.far_buffers[self.index(decision.output, decision.vc)].credits;
        self.outputs[usize::from(decision.output)].to_host || u64::from(credits) >= needed
    }

    /// Lets a free output take a packet.
    fn serve<O: RouterOutputs<InputQueuedRouter>>(&mut self, now: Time, port: u16, out: &mut O) {
        let output = &self.outputs[usize::from(port)];
        if output.from.is_some() || output.requested == 0 {
            return;
        }
        let class = match self.traffic_classes.is_one() {
            true => 0,
            false => match self.choose_class(now, port, out) {
                Some(class) => class,
                None => return,
            },
        };
        let preferred = self.preferred[self.of_class(port, class)] as usize;
        let mut any_credits = false;
        let (mut count, mut first, mut next) = (0u32, None, None);
        for queue in self.requesting(port) {
            if self.class_of(queue) != class {
                continue;
            }
            let decision = self.queues[queue].decision;
            let Some(decision) = decision.filter(|decision| self.has_credits(queue, *decision)) else {
                continue;
            };
            any_credits = true;
            if !self.may_go(now, queue, decision) {
                continue;
            }
            count += 1;
            first.get_or_insert(queue);
            if queue >= preferred {
                next.get_or_insert(queue);
            }
        }
        let chosen = match self.arbiter {
            Arbiter::Random if count > 1 => {
                let number = out.random().below(count) as usize;
                let goes = |queue: &usize| {
                    let decision = self.queues[*queue].decision;
                    self.class_of(*queue) == class
                        && decision.is_some_and(|decision| {
                            self.has_credits(*queue, decision) && self.may_go(now, *queue, decision)
                        })
                };
                self.requesting(port).filter(goes).nth(number)
            }
            Arbiter::Random => first,
            // Round robin: the first input port and VC after the last chosen one.
            _ => next.or(first),
        };
        self.set_blocked(now, port, !any_credits, out);
        if let Some(queue) = chosen {
            self.send(now, queue, out);
        }
    }

    /// The traffic class that an output serves next. Without a packet that could be sent, `None`.
    // Not inlined, to keep the code of networks with one class small.
    #[inline(never)]
    fn choose_class<O: RouterOutputs<InputQueuedRouter>>(
        &mut self,
        now: Time,
        port: u16,
        out: &mut O,
    ) -> Option<u8> {
        let (mut waiting, mut able, mut any_credits) = (ClassSet::default(), ClassSet::default(), false);
        for queue in self.requesting(port) {
            let Some(decision) = self.queues[queue].decision else {
                continue;
            };
            let class = self.class_of(queue);
            waiting.insert(class);
            let has_credits = self.has_credits(queue, decision);
            any_credits |= has_credits;
            // Without regard to the space in the output buffer: small packets of one class would always take it before
            // large ones of another. The link is busy until there is space.
            if has_credits && self.may_cross(now, queue, decision) {
                able.insert(class);
            }
        }
        let turns = &mut self.class_turns[usize::from(port)];
        let sets = (waiting, able);
        let class = self
            .traffic_classes
            .choose(turns, sets, self.largest_packet, |step| {
                out.note(|| InputQueuedUndo::ClassTurn { output: port, step });
            });
        if class.is_none() {
            self.set_blocked(now, port, !any_credits, out);
        }
        class
    }

    /// The traffic class of the packets of a queue.
    #[inline]
    fn class_of(&self, queue: usize) -> u8 {
        match self.traffic_classes.is_one() {
            true => 0,
            false => self.traffic_classes.of_vc((queue % usize::from(self.vcs)) as u8),
        }
    }

    /// Index of a traffic class of an output.
    #[inline]
    fn of_class(&self, output: u16, class: u8) -> usize {
        usize::from(output) * usize::from(self.traffic_classes.count()) + usize::from(class)
    }

    /// Whether nothing in the router except its output delays the first packet of a queue.
    fn may_go(&self, now: Time, queue: usize, decision: Decision) -> bool {
        let bytes = self.head(queue).packet.bytes;
        self.may_cross(now, queue, decision) && self.output_buffers.has_space(now, decision.output, bytes)
    }

    /// As [`InputQueuedRouter::may_go`], but the output buffer may have no space.
    fn may_cross(&self, now: Time, queue: usize, decision: Decision) -> bool {
        self.inputs[queue / usize::from(self.vcs)].is_none() && self.ready_at(queue, decision) <= now
    }

    /// Counts the time during which a free output with an idle link had packets, but none with credits.
    fn set_blocked<O: RouterOutputs<InputQueuedRouter>>(
        &mut self,
        now: Time,
        port: u16,
        blocked: bool,
        out: &mut O,
    ) {
        let output = &mut self.outputs[usize::from(port)];
        match output.blocked_since {
            None if blocked => {
                output.blocked_since = Some(now.max(output.busy_until));
                out.note(|| InputQueuedUndo::Blocked { output: port });
            }
            Some(since) if !blocked => {
                output.blocked_since = None;
                output.stalls.unblock(since, now, self.measured);
                out.note(|| InputQueuedUndo::Unblocked {
                    output: port,
                    since,
                    now,
                });
            }
            _ => {}
        }
    }

    /// The span in which a packet crosses, if its head arrived at `arrived` at this input and it starts now.
    fn crossing(&self, now: Time, arrived: Time, (input, output): (u16, u16), bytes: u32) -> Time {
        let fast = &self.outputs[usize::from(output)];
        if self.speedup == Speedup::ONE {
            // As it could not underrun, its tail has arrived when it leaves.
            return fast.rate.serialization(bytes);
        }
        let tail = arrived + self.input_rate(input).serialization(bytes);
        fast.crossbar.serialization(bytes).max(tail.saturating_sub(now))
    }

    /// A packet takes space in the output buffer until its tail leaves the link.
    fn buffer<O: RouterOutputs<InputQueuedRouter>>(
        &mut self,
        now: Time,
        output: u16,
        held: UnsentPacket,
        out: &mut O,
    ) {
        while let Some(UnsentPacket { until, bytes }) = self.output_buffers.remove_left(now, output) {
            out.note(|| InputQueuedUndo::Unbuffered { output, bytes, until });
        }
        self.output_buffers.add(output, held);
        out.note(|| InputQueuedUndo::Buffered { output });
    }

    /// Sends the first packet of a queue to its output.
    fn send<O: RouterOutputs<InputQueuedRouter>>(&mut self, now: Time, queue: usize, out: &mut O) {
        let Some(decision) = self.withdraw(queue) else {
            return;
        };
        let vcs = usize::from(self.vcs);
        let (input, vc) = ((queue / vcs) as u16, (queue % vcs) as u8);
        let Buffered { mut packet, arrived } = *self.head(queue);
        let bytes = packet.bytes;
        let queues = self.queues.len() as u32;
        let crossing = self.crossing(now, arrived, (input, decision.output), bytes);
        let class = self.class_of(queue);
        let of_class = self.of_class(decision.output, class);
        let preferred = std::mem::replace(&mut self.preferred[of_class], (queue as u32 + 1) % queues);
        if let Some(turns) = self.class_turns.get_mut(usize::from(decision.output))
            && let Some(step) = self.traffic_classes.sent(turns, class, bytes)
        {
            let output = decision.output;
            out.note(|| InputQueuedUndo::ClassTurn { output, step });
        }
        let output = &mut self.outputs[usize::from(decision.output)];
        let serialization = output.rate.serialization(bytes);
        let start = now.max(output.busy_until);
        out.note(|| InputQueuedUndo::Sent {
            output: decision.output,
            input,
            input_vc: vc,
            output_vc: decision.vc,
            claim: decision.claim,
            preferred,
            busy_until: output.busy_until,
        });
        let end = start + serialization;
        output.busy_until = end;
        output.crosses_until = now + crossing;
        output.from = Some((input, vc));
        output
            .counters
            .depart(start, serialization, bytes, self.measured, || &mut output.stalls);
        if output.to_host {
            output.load = output.load.wrapping_sub(u64::from(bytes));
        } else if decision.claim != BufferClaim::Reserved {
            let buffer = self.index(decision.output, decision.vc);
            self.far_buffers[buffer].credits -= bytes;
        }
        self.inputs[usize::from(input)] = Some(vc);
        let (identity, progress) = packet.split();
        out.note(|| InputQueuedUndo::Dequeued {
            input,
            vc,
            arrived,
            progress,
        });
        out.note(|| InputQueuedUndo::Released(identity));
        if out.tracks_waits() {
            let departure = RouterDeparture {
                input,
                input_vc: vc,
                output: decision.output,
                output_vc: decision.vc,
                job: packet.job,
                arrived,
                ready: self.ready_at(queue, decision),
                crossing,
                wait: start - now,
                serialization,
                space: self.output_buffers.size().map(|size| size.saturating_sub(bytes)),
                bytes,
            };
            let output = (decision.output, decision.vc);
            out.observe(packet, output, InputQueuedObservation::Crosses(departure));
            if start > now {
                out.observe(packet, output, InputQueuedObservation::Reserved(start - now));
            }
        }
        self.pool.pop_front(&mut self.queues[queue].packets);
        packet.hops = packet.hops.saturating_add(1);
        out.depart(decision.output, decision.vc, packet, start - now, serialization);
        out.credit(input, vc, bytes, crossing);
        out.timer((), crossing);
        if self.output_buffers.size().is_some() {
            self.buffer(now, decision.output, UnsentPacket { until: end, bytes }, out);
            if end > now + crossing {
                out.timer((), end - now);
            }
        }
    }

    fn undo_route(&mut self, queue: usize, before: RouteState) {
        let Some(decision) = self.withdraw(queue) else {
            return;
        };
        let Some(Buffered { packet, .. }) = self.pool.front_mut(self.queues[queue].packets) else {
            return;
        };
        packet.route = before;
        let bytes = packet.bytes;
        let output = &mut self.outputs[usize::from(decision.output)];
        output.load = output.load.wrapping_sub(u64::from(bytes));
        if decision.claim == BufferClaim::Reserved && !output.to_host {
            let buffer = self.index(decision.output, decision.vc);
            let credits = &mut self.far_buffers[buffer].credits;
            *credits = credits.wrapping_add(bytes);
        }
    }

    fn undo_send(&mut self, queue: usize, decision: Decision, busy_until: Time) {
        let bytes = self.head(queue).packet.bytes;
        let output = &mut self.outputs[usize::from(decision.output)];
        let serialization = output.rate.serialization(bytes);
        let start = output.busy_until - serialization;
        output
            .counters
            .undo_depart(start, serialization, bytes, self.measured, || &mut output.stalls);
        output.busy_until = busy_until;
        output.from = None;
        if output.to_host {
            output.load = output.load.wrapping_add(u64::from(bytes));
        } else if decision.claim != BufferClaim::Reserved {
            let buffer = self.index(decision.output, decision.vc);
            self.far_buffers[buffer].credits += bytes;
        }
        self.inputs[queue / usize::from(self.vcs)] = None;
        self.request(queue, decision);
    }

    /// Checks that a saved state belongs to a router with these settings and does not contradict itself.
    fn check(&self, state: &InputQueuedRouterState) -> Result<(), String> {
        let id = self.id.0;
        let (ports, queues) = (self.outputs.len(), self.queues.len());
        let found = (state.outputs.len(), state.queues.len(), state.credits.len());
        if found != (ports, queues, queues) {
            return Err(format!(
                "router {id} has {ports} ports, {queues} queues and {queues} buffers behind it, its saved state {}, {} and {}",
                found.0, found.1, found.2
            ));
        }
        if usize::from(state.first) >= ports {
            let first = state.first;
            return Err(format!(
                "router {id}: port {first} in the saved state does not exist"
            ));
        }
        let fits = |port: u16, vc: u8| usize::from(port) < ports && vc < self.vcs;
        let classes = &self.traffic_classes;
        let have_turns = |turns: &ClassTurns| classes.allows(turns, self.largest_packet);
        if (state.preferred.len(), state.class_turns.len()) != (self.preferred.len(), self.class_turns.len())
            || !state.preferred.iter().all(|queue| (*queue as usize) < queues)
            || !state.class_turns.iter().all(have_turns)
        {
            return Err(format!(
                "router {id}: the turns in the saved state are not those of its queues and traffic classes"
            ));
        }
        let mut leaving = vec![false; ports];
        let mut requested = vec![false; ports];
        for (index, queue) in state.queues.iter().enumerate() {
            let (input, vc) = (index / usize::from(self.vcs), index % usize::from(self.vcs));
            let from = Some((input as u16, vc as u8));
            let is_routable = !queue.packets.is_empty() && state.outputs.iter().all(|o| o.from != from);
            let decision = queue
                .decision
                .filter(|decision| fits(decision.output, decision.vc));
            if is_routable != decision.is_some() || queue.decision != decision {
                return Err(format!(
                    "router {id}: the saved state of input {input}, VC {vc} contradicts itself"
                ));
            }
            if let Some(decision) = decision {
                requested[usize::from(decision.output)] = true;
            }
        }
        if !self.output_buffers.allows(&state.output_buffers) {
            return Err(format!(
                "router {id}: the output buffers in the saved state are not those of this router"
            ));
        }
        for (port, output) in state.outputs.iter().enumerate() {
            let mut is_good = true;
            if let Some((input, vc)) = output.from {
                is_good &=
                    fits(input, vc) && !std::mem::replace(&mut leaving[usize::from(input) % ports], true);
            }
            is_good &= match output.from {
                Some(_) => output.crosses_until <= output.busy_until,
                None => output.crosses_until == Time::ZERO,
            };
            is_good &= output.blocked_since.is_none() || (output.from.is_none() && requested[port]);
            if !is_good {
                return Err(format!(
                    "router {id}: the saved state of output {port} contradicts itself"
                ));
            }
        }
        Ok(())
    }
}

impl RouterModel for InputQueuedRouter {
    const MODEL: RouterModelKind = RouterModelKind {
        name: "input-queued",
        summary: "virtual cut-through with credits, a first-in first-out queue for each input port and virtual \
                  channel: head-of-line blocking",
        parameters: parameters! {
            choice("arbiter", &ARBITERS, "how an output chooses among inputs");
            number("speedup", 1.0, "speed of the crossbar over that of a link, 1 to 1000 with at most six decimals");
            OUTPUT_BUFFER;
        },
        // A credit that arrives at the time of a timer lets its output choose before the others, so credits have an
        // effect beside the waits for them.
        capabilities: RouterCapabilities {
            final_reservations: true,
            sends_signals: false,
            signals_to_hosts: false,
            reserved_space: true,
            load_metrics: true,
            load_reports: true,
            traffic_classes: true,
            vc_copies: true,
            ..RouterCapabilities::NONE
        },
    };

    type Parameters = Parameters;
    type Undo = InputQueuedUndo;
    type State = InputQueuedRouterState;
    /// A tail has crossed, or left its output buffer, or an underrun guard has expired.
    type Timer = ();
    type Signal = Never;
    type WaitTracker = InputQueuedWaitTracker;

    fn read(section: &Section) -> Result<Parameters, config::Error> {
        let arbiter = section.choice("arbiter")?;
        let arbiter = Arbiter::named(arbiter).expect("one of the names");
        let speedup = Speedup::read(section)?;
        let output_buffer: Option<Bytes> = section.optional(OUTPUT_BUFFER.name)?;
        let output_buffer = output_buffer.map(|size| match u32::try_from(size.bytes) {
            Ok(bytes) if bytes <= MOST_OUTPUT_BUFFER => Ok(bytes),
            _ => {
                let message = format!("{size} is out of range; expected at most 1 GiB");
                Err(section.error(OUTPUT_BUFFER.name, message))
            }
        });
        Ok(Parameters {
            arbiter,
            speedup,
            output_buffer: output_buffer.transpose()?,
        })
    }

    fn packet_limits(parameters: &Parameters) -> PacketLimits {
        let key = OUTPUT_BUFFER.name;
        PacketLimits {
            most: parameters.output_buffer.map(|bytes| PacketLimit { bytes, key }),
            ..PacketLimits::default()
        }
    }

    fn bytes_per_port(ports: u64, vcs: u64, _: bool) -> u64 {
        let per_vc = (size_of::<InputQueue>() + size_of::<FarBuffer>()) as u64;
        let port = size_of::<InputQueuedOutput>()
            + size_of::<Option<u8>>()
            + size_of::<VecDeque<UnsentPacket>>()
            + size_of::<u32>();
        port as u64 + vcs * per_vc + (ports * vcs).div_ceil(64) * 8
    }

    fn new(setup: &RouterSetup<'_>, parameters: Parameters) -> InputQueuedRouter {
        let (ports, classes) = (setup.ports, setup.traffic_classes);
        let output = |p: &super::PortSetting| InputQueuedOutput {
            rate: p.rate,
            crossbar: parameters.speedup.of(p.rate),
            to_host: p.to_host,
            from: None,
            crosses_until: Time::ZERO,
            busy_until: Time::ZERO,
            load: 0,
            requested: 0,
            blocked_since: None,
            counters: LinkCounters::default(),
            stalls: StallCounters::default(),
        };
        let queues = setup.per_vc(|_| InputQueue {
            packets: Fifo::EMPTY,
            decision: None,
        });
        let far_buffers = setup.per_vc(|p| FarBuffer {
            size: p.credits,
            credits: p.credits,
            waiting: 0,
        });
        InputQueuedRouter {
            id: setup.id,
            vcs: setup.vcs,
            traffic_classes: classes,
            one_rate: setup.has_one_rate(),
            injection: setup.injection,
            arbiter: parameters.arbiter,
            speedup: parameters.speedup,
            largest_packet: setup.largest_packet,
            measured: setup.measured,
            first: 0,
            outputs: ports.iter().map(output).collect(),
            preferred: vec![0; ports.len() * usize::from(classes.count())],
            class_turns: match classes.is_one() {
                true => Vec::new(),
                false => vec![ClassTurns::new(&classes); ports.len()],
            },
            inputs: vec![None; ports.len()],
            requests: vec![0; ports.len() * queues.len().div_ceil(64)],
            queues,
            far_buffers,
            output_buffers: OutputBuffers::new(parameters.output_buffer, ports.len()),
            pool: PacketPool::default(),
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
        let Arrival { input, vc, packet } = arrival;
        let queue = self.index(input, vc);
        let packets = &mut self.queues[queue].packets;
        let is_first = packets.is_empty();
        let buffered = Buffered { packet, arrived: now };
        let previous = self.pool.push_back(packets, buffered);
        out.note(|| InputQueuedUndo::Arrived { input, vc, previous });
        if out.tracks_waits() {
            out.observe(packet, (0, 0), InputQueuedObservation::Arrived);
        }
        if is_first && self.inputs[usize::from(input)] != Some(vc) {
            let output = self.route(now, (input, vc), context, out);
            self.serve(now, output, out);
        }
    }

    #[inline(never)]
    fn credit<O: RouterOutputs<Self>>(&mut self, now: Time, port: u16, vc: u8, bytes: u32, out: &mut O) {
        let buffer = self.index(port, vc);
        let credits = &mut self.far_buffers[buffer].credits;
        *credits = credits.wrapping_add(bytes);
        let load = &mut self.outputs[usize::from(port)].load;
        *load = load.wrapping_sub(u64::from(bytes));
        out.note(|| InputQueuedUndo::Credited {
            output: port,
            vc,
            bytes,
        });
        self.serve(now, port, out);
    }

    #[inline(never)]
    fn timer<O: RouterOutputs<Self>>(
        &mut self,
        now: Time,
        (): (),
        context: &RoutingContext<'_>,
        out: &mut O,
    ) {
        let ports = self.outputs.len() as u16;
        let mut released = false;
        for port in 0..ports {
            let output = &mut self.outputs[usize::from(port)];
            let Some((input, vc)) = output.from.filter(|_| output.crosses_until <= now) else {
                continue;
            };
            released = true;
            output.from = None;
            self.inputs[usize::from(input)] = None;
            out.note(|| InputQueuedUndo::TailCrossed {
                output: port,
                input,
                vc,
                at: output.crosses_until,
            });
            if !self.queues[self.index(input, vc)].packets.is_empty() {
                self.route(now, (input, vc), context, out);
            }
        }
        if released {
            self.first = (self.first + 1) % ports;
            out.note(|| InputQueuedUndo::FirstMoved);
        }
        for output in (self.first..ports).chain(0..self.first) {
            self.serve(now, output, out);
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

    fn undo(&mut self, step: InputQueuedUndo) {
        match step {
            InputQueuedUndo::Arrived { input, vc, previous } => {
                let queue = self.index(input, vc);
                self.pool
                    .undo_push_back(&mut self.queues[queue].packets, previous);
            }
            InputQueuedUndo::Routed { input, vc, before } => self.undo_route(self.index(input, vc), before),
            InputQueuedUndo::Credited { output, vc, bytes } => {
                let buffer = self.index(output, vc);
                let credits = &mut self.far_buffers[buffer].credits;
                *credits = credits.wrapping_sub(bytes);
                let load = &mut self.outputs[usize::from(output)].load;
                *load = load.wrapping_add(u64::from(bytes));
            }
            InputQueuedUndo::Sent {
                output,
                input,
                input_vc,
                output_vc: vc,
                claim,
                preferred,
                busy_until,
            } => {
                let queue = self.index(input, input_vc);
                let of_class = self.of_class(output, self.class_of(queue));
                self.preferred[of_class] = preferred;
                self.undo_send(queue, Decision { output, vc, claim }, busy_until);
            }
            InputQueuedUndo::Released(identity) => self.pool.undo_release(identity),
            InputQueuedUndo::Dequeued {
                input,
                vc,
                arrived,
                progress,
            } => {
                let queue = self.index(input, vc);
                let packets = &mut self.queues[queue].packets;
                self.pool.undo_pop_front(packets, progress).arrived = arrived;
            }
            InputQueuedUndo::Buffered { output } => self.output_buffers.undo_add(output),
            InputQueuedUndo::Unbuffered { output, bytes, until } => self
                .output_buffers
                .undo_remove(output, UnsentPacket { until, bytes }),
            InputQueuedUndo::TailCrossed {
                output,
                input,
                vc,
                at,
            } => {
                let output = &mut self.outputs[usize::from(output)];
                output.from = Some((input, vc));
                output.crosses_until = at;
                self.inputs[usize::from(input)] = Some(vc);
            }
            InputQueuedUndo::FirstMoved => {
                let ports = self.outputs.len() as u16;
                self.first = (self.first + ports - 1) % ports;
            }
            InputQueuedUndo::ClassTurn { output, step } => self.class_turns[usize::from(output)].undo(step),
            InputQueuedUndo::Blocked { output } => self.outputs[usize::from(output)].blocked_since = None,
            InputQueuedUndo::Unblocked { output, since, now } => {
                let output = &mut self.outputs[usize::from(output)];
                output.blocked_since = Some(since);
                output.stalls.undo_unblock(since, now, self.measured);
            }
        }
    }

    fn state(&self) -> InputQueuedRouterState {
        let output = |output: &InputQueuedOutput| InputQueuedOutputState {
            from: output.from,
            crosses_until: output.from.map_or(Time::ZERO, |_| output.crosses_until),
            busy_until: output.busy_until,
            load: output.load,
            blocked_since: output.blocked_since,
            counters: output.counters,
            stalls: output.stalls,
        };
        let queue = |queue: &InputQueue| QueueState {
            decision: queue.decision,
            packets: self
                .pool
                .iter(queue.packets)
                .map(|buffered| (buffered.packet, buffered.arrived))
                .collect(),
        };
        InputQueuedRouterState {
            first: self.first,
            outputs: self.outputs.iter().map(output).collect(),
            preferred: self.preferred.clone(),
            class_turns: self.class_turns.clone(),
            queues: self.queues.iter().map(queue).collect(),
            credits: self.far_buffers.iter().map(|buffer| buffer.credits).collect(),
            output_buffers: self.output_buffers.state(),
        }
    }

    fn restore(&mut self, state: InputQueuedRouterState) -> Result<(), String> {
        self.check(&state)?;
        self.first = state.first;
        self.preferred = state.preferred;
        self.class_turns = state.class_turns;
        self.inputs.fill(None);
        for (output, saved) in self.outputs.iter_mut().zip(&state.outputs) {
            *output = InputQueuedOutput {
                rate: output.rate,
                crossbar: output.crossbar,
                to_host: output.to_host,
                from: saved.from,
                crosses_until: saved.crosses_until,
                busy_until: saved.busy_until,
                load: saved.load,
                requested: 0,
                blocked_since: saved.blocked_since,
                counters: saved.counters,
                stalls: saved.stalls,
            };
            if let Some((input, vc)) = saved.from {
                self.inputs[usize::from(input)] = Some(vc);
            }
        }
        for (buffer, credits) in self.far_buffers.iter_mut().zip(state.credits) {
            *buffer = FarBuffer {
                credits,
                waiting: 0,
                ..*buffer
            };
        }
        self.output_buffers.restore(state.output_buffers);
        self.requests.fill(0);
        self.pool.clear();
        for (index, saved) in state.queues.into_iter().enumerate() {
            let mut packets = Fifo::EMPTY;
            for (packet, arrived) in saved.packets {
                self.pool.push_back(&mut packets, Buffered { packet, arrived });
            }
            self.queues[index] = InputQueue {
                packets,
                decision: None,
            };
            if let Some(decision) = saved.decision {
                self.request(index, decision);
            }
        }
        Ok(())
    }

    fn id(&self) -> RouterId {
        self.id
    }

    fn for_each_held(&self, see: &mut dyn FnMut(Holding)) {
        let vcs = usize::from(self.vcs);
        for (index, queue) in self.queues.iter().enumerate() {
            let input = ((index / vcs) as u16, (index % vcs) as u8);
            self.pool
                .iter(queue.packets)
                .for_each(|buffered| Holding::whole(&buffered.packet, input, see));
        }
    }

    /// Bytes that are routed to `port`, are in flight there, or whose credit has not returned.
    fn load(&self, port: u16) -> u64 {
        self.outputs[usize::from(port)].load
    }

    /// Includes the credits that routed packets have reserved.
    fn credits(&self, port: u16, vc: u8) -> u32 {
        let reserved = |queue: usize| {
            let reserves = |d: &Decision| d.vc == vc && d.claim == BufferClaim::Reserved;
            let decision = self.queues[queue].decision.filter(reserves);
            decision.map_or(0, |_| self.head(queue).packet.bytes)
        };
        let credits = self.far_buffers[self.index(port, vc)].credits;
        self.requesting(port)
            .map(reserved)
            .fold(credits, u32::wrapping_add)
    }

    fn used(&self, port: u16, end: Time) -> LinkUse {
        let output = &self.outputs[usize::from(port)];
        let mut stalls = output.stalls;
        if let Some(since) = output.blocked_since {
            stalls.unblock(since, end, self.measured);
        }
        LinkUse::new(output.counters, stalls, (end, output.busy_until), self.measured)
    }

    /// Counts the first packets of queues only, since the others are not routed yet.
    fn waiting_at(&self, port: u16) -> u32 {
        self.outputs[usize::from(port)].requested
    }

    fn is_active(&self, port: u16, time: Time) -> bool {
        let output = &self.outputs[usize::from(port)];
        output.busy_until > time || output.blocked_since.is_some()
    }
}

#[cfg(test)]
#[path = "input_queued_tests.rs"]
mod tests;
