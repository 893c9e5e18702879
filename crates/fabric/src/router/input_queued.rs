//! The `input-queued` router: virtual cut-through with credits, where each input port and virtual channel
//! (VC) is a first-in first-out queue and only its first packet can be sent (head-of-line blocking).
//!
//! A packet's head is taken in when its link and the router's pipeline are behind it, and goes to the end of
//! the queue of its input port and VC. It is routed when it becomes the first there, that is when the tail
//! of the packet before it has left. An output port carries one packet at a time, and so does an input port,
//! all VCs together (no speedup). An output that is free takes one of the first packets that want it, whose
//! input is free and for which the buffer at the far end has credits; of several the [`Arbiter`] chooses.
//! The place in the input buffer becomes free, and the credit for it sets out, when the tail leaves.
//!
//! Tails that leave at one moment are gone before any output chooses; then the free outputs choose one after
//! the other, each time beginning with the next one, so that what is matched cannot be added to.
//!
//! Source: the queueing model is that of M. J. Karol, M. G. Hluchyj and S. P. Morgan, "Input versus output
//! queueing on a space-division packet switch", IEEE Trans. Communications COM-35(12), 1987, with packets of
//! any size, several VCs and finite buffers. What is left out: speedup and iterated matching.
//!
//! Routing at the head means that a packet that needs [`BufferClaim::Reserved`] has its room from the decision on and
//! waits for crossbar and wire only, never behind one that waits for room; so the channel dependencies are
//! those of the routing algorithm, for all kinds of [`BufferClaim`].
//!
//! Changes are taken back by reverse computation ([`Undo`]). A router under an optimistic executor may see
//! a credit for a packet that, in this timeline, it has not sent: load and credits wrap, and come back.

use des::{Journal, Time};
use routing::{At, BufferClaim, Congestion, Random, RouteState};
use serde::{Deserialize, Serialize};
use topology::{HostId, Port, RouterId};

use super::RoutingContext;
use super::packet::PortSetting;
use crate::link::{LinkCounters, StallCounters};
use crate::{LinkUse, Packet, Passage, Rate};

/// A packet that has come in.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Input port.
    pub input: u16,
    /// VC of its buffer.
    pub vc: u8,
    /// The packet.
    pub packet: Packet,
}

/// End of a chain in the pool.
const NONE: u32 = u32::MAX;

/// What a router makes happen, what it draws, and where it notes how to take that back.
pub trait Outputs: Journal<Undo> + Random {
    /// The packet starts onto the link of `port` now, bound for VC `vc`; its tail leaves `serialization`
    /// later.
    fn depart(&mut self, port: u16, vc: u8, packet: Packet, serialization: Time);
    /// After this span the buffer of input `port`, VC `vc` has `bytes` bytes of room more.
    fn credit(&mut self, port: u16, vc: u8, bytes: u32, after: Time);
    /// [`Router::due`] is to be called after this span.
    fn due(&mut self, after: Time);
    /// Whether a diary is kept.
    #[inline]
    fn keeps_diary(&self) -> bool {
        false
    }
    /// For the diary: a packet's head has come in.
    #[inline]
    fn came(&mut self, packet: &Packet) {
        let _ = packet;
    }
    /// For the diary: a packet departs now.
    #[inline]
    fn passes(&mut self, packet: &Packet, passage: Passage) {
        let _ = (packet, passage);
    }
}

/// How an output chooses among packets that could be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arbiter {
    /// The first input port and VC after the one that was chosen last.
    #[default]
    RoundRobin,
    /// Each with equal probability.
    Random,
}

impl Arbiter {
    /// Names in experiments; the first is the default.
    pub const NAMES: [&str; 2] = ["round-robin", "random"];

    /// The one with this name.
    pub fn named(name: &str) -> Option<Arbiter> {
        match name {
            "round-robin" => Some(Arbiter::RoundRobin),
            "random" => Some(Arbiter::Random),
            _ => None,
        }
    }
}

/// What holds for all ports of a router.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// How outputs choose.
    pub arbiter: Arbiter,
    /// Bytes of the largest packet.
    pub largest_packet: u32,
    /// When measuring begins.
    pub warmup: Time,
}

/// One step back of a router, for [`Router::undo`].
#[derive(Clone, Copy, Debug)]
pub enum Undo {
    /// A packet went to the end of a queue.
    Arrived {
        /// Input port.
        input: u16,
        /// VC.
        vc: u8,
        /// Place of the packet before it.
        after: u32,
    },
    /// The first packet of a queue was routed.
    Routed {
        /// Input port.
        input: u16,
        /// VC.
        vc: u8,
        /// What it carried for its routing before.
        before: RouteState,
    },
    /// The far end of an output gave credits back.
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
        /// What the packet needed there.
        claim: BufferClaim,
        /// Whose turn it had been at the output.
        turn: u32,
        /// Until when the wire had been taken.
        busy_until: Time,
    },
    /// A packet left the front of its queue; with [`Undo::Underway`], all that was known of it.
    Dequeued {
        /// Input port.
        input: u16,
        /// VC.
        vc: u8,
        /// Sending host.
        source: HostId,
        /// Receiving host.
        destination: HostId,
        /// Number of its message.
        message: u32,
        /// Bytes.
        bytes: u32,
        /// Job.
        job: u16,
        /// Links begun.
        hops: u8,
        /// Whether it counts by itself.
        standalone: bool,
    },
    /// The other half of a packet that left the front of its queue.
    Underway {
        /// Input port.
        input: u16,
        /// VC.
        vc: u8,
        /// When its message was handed to the NIC.
        created_at: Time,
        /// When its head had come in.
        arrived: Time,
        /// The routing algorithm's own.
        route: RouteState,
    },
    /// A tail left: input and output became free.
    Released {
        /// Output port.
        output: u16,
        /// Input port.
        input: u16,
        /// VC of the input buffer.
        vc: u8,
    },
    /// The next output is the first to choose.
    Turned,
    /// An output began to idle because no packet had room at the far end.
    Blocked {
        /// Output port.
        output: u16,
    },
    /// That ended.
    Unblocked {
        /// Output port.
        output: u16,
        /// Since when it had idled.
        since: Time,
        /// When it ended.
        now: Time,
    },
}

const _: () = assert!(size_of::<Undo>() <= 32);

/// A packet in an input buffer.
#[derive(Clone, Copy, Debug)]
pub struct Waiting<'a> {
    /// The packet.
    pub packet: &'a Packet,
    /// Input port.
    pub input: u16,
    /// VC of the input buffer.
    pub input_vc: u8,
    /// The output port and VC that it wants; none while it is not the first of its queue.
    pub wants: Option<(u16, u8)>,
}

/// Memory of one port of a router with so many ports and virtual channels, in bytes.
pub fn bytes_per_port(ports: u64, vcs: u64) -> u64 {
    let vc_index = (size_of::<VcState>() + size_of::<Room>()) as u64;
    let port = (size_of::<Output>() + size_of::<Option<u8>>()) as u64;
    port + vcs * vc_index + (ports * vcs).div_ceil(64) * 8
}

/// An output port.
#[derive(Clone, Debug)]
struct Output {
    rate: Rate,
    to_host: bool,
    /// Input port and VC whose packet is leaving.
    from: Option<(u16, u8)>,
    busy_until: Time,
    /// Bytes that wait here, are under way, or whose credit is not back.
    load: u64,
    /// Packets that have been routed here and wait.
    wanted: u32,
    /// The lane that is served first.
    turn: u32,
    /// Since when the wire has idled because no packet has room.
    blocked_since: Option<Time>,
    counters: LinkCounters,
    held: StallCounters,
}

/// The queue of one input port and VC.
#[derive(Clone, Debug)]
struct VcState {
    head: u32,
    tail: u32,
    /// Where the first packet goes; none while there is none, or the tail of the one before it is leaving.
    want: Option<Want>,
}

/// Where a packet goes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Want {
    output: u16,
    vc: u8,
    claim: BufferClaim,
}

/// The buffer of one VC at the far end of an output.
#[derive(Clone, Debug)]
struct Room {
    credits: u32,
    /// Packets that want to enter and have no room yet.
    awaited: u32,
}

/// A place in the pool.
#[derive(Clone, Debug)]
struct PoolEntry {
    packet: Packet,
    arrived: Time,
    next: u32,
}

/// One router.
#[derive(Clone, Debug)]
pub struct Router {
    id: RouterId,
    vcs: u8,
    /// Whether all cables have one speed, so that no packet can run dry.
    one_rate: bool,
    setting: Setting,
    /// The output that chooses first.
    first: u16,
    outputs: Vec<Output>,
    /// By input port: the VC whose packet is leaving.
    inputs: Vec<Option<u8>>,
    /// By input port, then VC.
    vc_states: Vec<VcState>,
    /// By output port, then VC.
    rooms: Vec<Room>,
    /// By output port: a bit for each lane whose first packet wants it.
    requests: Vec<u64>,
    pool: Vec<PoolEntry>,
    free: u32,
}

/// All of a router that changes: what it has done and what waits in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouterState {
    first: u16,
    outputs: Vec<OutputState>,
    /// By input port, then VC.
    vc_states: Vec<SavedVcState>,
    /// By output port, then VC.
    credits: Vec<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct OutputState {
    from: Option<(u16, u8)>,
    busy_until: Time,
    load: u64,
    turn: u32,
    blocked_since: Option<Time>,
    counters: LinkCounters,
    held: StallCounters,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SavedVcState {
    want: Option<Want>,
    /// With the time at which their heads had come in.
    packets: Vec<(Packet, Time)>,
}

/// The congestion that the routing of a packet of so many bytes sees.
struct LocalCongestion<'a> {
    router: &'a Router,
    bytes: u32,
    context: RoutingContext<'a>,
}

impl Congestion for LocalCongestion<'_> {
    fn load(&self, port: Port) -> u64 {
        self.router.load(port.0)
    }

    fn reported_load(&self, slot: usize) -> u64 {
        self.context.reported_load(slot)
    }

    fn room(&self, port: Port, vc: u8) -> u64 {
        let room = &self.router.rooms[self.router.vc_index(port.0, vc)];
        if room.awaited == 0 && room.credits >= self.bytes {
            u64::from(room.credits)
        } else {
            0
        }
    }
}

impl Router {
    /// An empty router with `vcs` virtual channels on each port.
    pub fn new(id: RouterId, vcs: u8, ports: &[PortSetting], setting: Setting) -> Router {
        let output = |p: &PortSetting| Output {
            rate: p.rate,
            to_host: p.to_host,
            from: None,
            busy_until: Time::ZERO,
            load: 0,
            wanted: 0,
            turn: 0,
            blocked_since: None,
            counters: LinkCounters::default(),
            held: StallCounters::default(),
        };
        let room = |p: &PortSetting| Room {
            credits: p.credits,
            awaited: 0,
        };
        let vc_index = VcState {
            head: NONE,
            tail: NONE,
            want: None,
        };
        let vc_states = ports.len() * usize::from(vcs);
        Router {
            id,
            vcs,
            one_rate: ports.iter().all(|p| p.rate == ports[0].rate),
            setting,
            first: 0,
            outputs: ports.iter().map(output).collect(),
            inputs: vec![None; ports.len()],
            vc_states: vec![vc_index; vc_states],
            rooms: ports
                .iter()
                .flat_map(|p| (0..vcs).map(move |_| room(p)))
                .collect(),
            requests: vec![0; ports.len() * vc_states.div_ceil(64)],
            pool: Vec::new(),
            free: NONE,
        }
    }

    /// A packet's head has come in and is through the pipeline.
    #[inline]
    pub fn arrived<O: Outputs>(
        &mut self,
        now: Time,
        arrival: Arrival,
        context: RoutingContext<'_>,
        out: &mut O,
    ) {
        let Arrival { input, vc, packet } = arrival;
        let vc_index = self.vc_index(input, vc);
        let is_first = self.vc_states[vc_index].head == NONE;
        let after = self.enqueue(vc_index, packet, now);
        if O::KEPT {
            out.note(Undo::Arrived { input, vc, after });
        }
        if out.keeps_diary() {
            out.came(&packet);
        }
        if is_first && self.inputs[usize::from(input)] != Some(vc) {
            let output = self.route(now, input, vc, context, out);
            self.serve(now, output, out);
        }
    }

    /// A tail has left, or a packet has come in so far that it can no longer run dry.
    pub fn due<O: Outputs>(&mut self, now: Time, context: RoutingContext<'_>, out: &mut O) {
        let ports = self.outputs.len() as u16;
        let mut released = false;
        for output in 0..ports {
            let of = &mut self.outputs[usize::from(output)];
            let Some((input, vc)) = of.from.filter(|_| of.busy_until <= now) else {
                continue;
            };
            released = true;
            of.from = None;
            self.inputs[usize::from(input)] = None;
            if O::KEPT {
                out.note(Undo::Released { output, input, vc });
            }
            if self.vc_states[self.vc_index(input, vc)].head != NONE {
                self.route(now, input, vc, context, out);
            }
        }
        if released {
            self.first = (self.first + 1) % ports;
            if O::KEPT {
                out.note(Undo::Turned);
            }
        }
        for output in (self.first..ports).chain(0..self.first) {
            self.serve(now, output, out);
        }
    }

    /// The far end of `port` has room for `bytes` bytes more on `vc`.
    #[inline]
    pub fn credit<O: Outputs>(&mut self, now: Time, port: u16, vc: u8, bytes: u32, out: &mut O) {
        let room = self.vc_index(port, vc);
        let credits = &mut self.rooms[room].credits;
        *credits = credits.wrapping_add(bytes);
        let load = &mut self.outputs[usize::from(port)].load;
        *load = load.wrapping_sub(u64::from(bytes));
        if O::KEPT {
            let output = port;
            out.note(Undo::Credited { output, vc, bytes });
        }
        self.serve(now, port, out);
    }

    /// The index of a port's VC, among lanes and rooms alike.
    #[inline]
    fn vc_index(&self, port: u16, vc: u8) -> usize {
        usize::from(port) * usize::from(self.vcs) + usize::from(vc)
    }

    /// Routes the first packet of a queue; gives the output.
    fn route<O: Outputs>(
        &mut self,
        now: Time,
        input: u16,
        vc: u8,
        context: RoutingContext<'_>,
        out: &mut O,
    ) -> u16 {
        let vc_index = self.vc_index(input, vc);
        let head = self.vc_states[vc_index].head as usize;
        let packet = &self.pool[head].packet;
        let at = At {
            router: self.id,
            input: Port(input),
            vc,
            source: packet.source,
            destination: packet.destination,
        };
        let before = packet.route;
        let mut route = before;
        let seen = LocalCongestion {
            router: self,
            bytes: packet.bytes,
            context,
        };
        let hop = context.routing.route(at, &mut route, &seen, out);
        self.pool[head].packet.route = route;
        let want = Want {
            output: hop.port.0,
            vc: hop.vc,
            claim: hop.claim,
        };
        self.request(vc_index, want);
        let output = &mut self.outputs[usize::from(want.output)];
        let bytes = self.pool[head].packet.bytes;
        output.load = output.load.wrapping_add(u64::from(bytes));
        if want.claim == BufferClaim::Reserved && !output.to_host {
            let room = self.vc_index(want.output, want.vc);
            let credits = &mut self.rooms[room].credits;
            debug_assert!(*credits >= bytes, "routing keeps room that it has seen");
            *credits = credits.wrapping_sub(bytes);
        }
        if O::KEPT {
            out.note(Undo::Routed { input, vc, before });
        }
        let routed = self.ready_at(vc_index, want);
        if routed > now {
            out.due(routed - now);
        }
        want.output
    }

    /// The first packet of a lane waits for an output.
    fn request(&mut self, vc_index: usize, want: Want) {
        let bit = self.request_bit(want.output, vc_index);
        self.requests[bit / 64] |= 1 << (bit % 64);
        self.vc_states[vc_index].want = Some(want);
        let output = &mut self.outputs[usize::from(want.output)];
        output.wanted += 1;
        if Self::awaits(output, want) {
            let room = self.vc_index(want.output, want.vc);
            self.rooms[room].awaited += 1;
        }
    }

    /// The first packet of a lane waits no longer; gives where it wanted to go.
    fn withdraw(&mut self, vc_index: usize) -> Option<Want> {
        let want = self.vc_states[vc_index].want.take()?;
        let bit = self.request_bit(want.output, vc_index);
        self.requests[bit / 64] &= !(1 << (bit % 64));
        let output = &mut self.outputs[usize::from(want.output)];
        output.wanted -= 1;
        if Self::awaits(output, want) {
            let room = self.vc_index(want.output, want.vc);
            self.rooms[room].awaited -= 1;
        }
        Some(want)
    }

    fn awaits(output: &Output, want: Want) -> bool {
        !output.to_host && want.claim != BufferClaim::Reserved
    }

    fn request_bit(&self, output: u16, vc_index: usize) -> usize {
        usize::from(output) * self.words() * 64 + vc_index
    }

    fn words(&self) -> usize {
        self.vc_states.len().div_ceil(64)
    }

    /// Lanes whose first packets want an output, in their order.
    fn wanting(&self, output: u16) -> impl Iterator<Item = usize> {
        let first = usize::from(output) * self.words();
        let words = &self.requests[first..first + self.words()];
        words.iter().enumerate().flat_map(|(index, word)| {
            let rest = |bits: &u64| Some(bits & (bits - 1)).filter(|bits| *bits != 0);
            let bits = std::iter::successors(Some(*word).filter(|bits| *bits != 0), rest);
            bits.map(move |bits| index * 64 + bits.trailing_zeros() as usize)
        })
    }

    /// When the first packet of a lane can no longer run dry on the way out.
    fn ready_at(&self, vc_index: usize, want: Want) -> Time {
        let place = &self.pool[self.vc_states[vc_index].head as usize];
        if self.one_rate {
            return place.arrived;
        }
        let input = &self.outputs[vc_index / usize::from(self.vcs)];
        let slow = input.rate.serialization(place.packet.bytes);
        let fast = self.outputs[usize::from(want.output)]
            .rate
            .serialization(place.packet.bytes);
        place.arrived + slow.saturating_sub(fast)
    }

    /// Whether the first packet of a lane has room at the far end of its output.
    fn has_room(&self, vc_index: usize, want: Want) -> bool {
        let bytes = u64::from(self.pool[self.vc_states[vc_index].head as usize].packet.bytes);
        let needed = match want.claim {
            BufferClaim::Credit => bytes,
            BufferClaim::Reserved => 0,
            BufferClaim::Bubble => bytes + u64::from(self.setting.largest_packet),
        };
        let credits = self.rooms[self.vc_index(want.output, want.vc)].credits;
        self.outputs[usize::from(want.output)].to_host || u64::from(credits) >= needed
    }

    /// Lets an output take a packet if it is free.
    fn serve<O: Outputs>(&mut self, now: Time, output: u16, out: &mut O) {
        let of = &self.outputs[usize::from(output)];
        if of.from.is_some() || of.wanted == 0 {
            return;
        }
        let turn = of.turn as usize;
        let mut any_room = false;
        let (mut count, mut first, mut next) = (0u32, None, None);
        for vc_index in self.wanting(output) {
            let Some(want) = self.vc_states[vc_index]
                .want
                .filter(|want| self.has_room(vc_index, *want))
            else {
                continue;
            };
            any_room = true;
            if !self.may_go(now, vc_index, want) {
                continue;
            }
            count += 1;
            first.get_or_insert(vc_index);
            if vc_index >= turn {
                next.get_or_insert(vc_index);
            }
        }
        let chosen = match self.setting.arbiter {
            Arbiter::RoundRobin => next.or(first),
            Arbiter::Random if count > 1 => {
                let number = out.below(count) as usize;
                let goes = |vc_index: &usize| {
                    let want = self.vc_states[*vc_index].want;
                    want.is_some_and(|want| {
                        self.has_room(*vc_index, want) && self.may_go(now, *vc_index, want)
                    })
                };
                self.wanting(output).filter(goes).nth(number)
            }
            Arbiter::Random => first,
        };
        self.set_blocked(now, output, !any_room, out);
        if let Some(vc_index) = chosen {
            self.send(now, vc_index, out);
        }
    }

    /// Whether nothing inside the router holds up the first packet of a lane, but for its output.
    fn may_go(&self, now: Time, vc_index: usize, want: Want) -> bool {
        self.inputs[vc_index / usize::from(self.vcs)].is_none() && self.ready_at(vc_index, want) <= now
    }

    /// Counts the time for which a free output had packets, but none with room.
    fn set_blocked<O: Outputs>(&mut self, now: Time, output: u16, blocked: bool, out: &mut O) {
        let of = &mut self.outputs[usize::from(output)];
        match of.blocked_since {
            None if blocked => {
                of.blocked_since = Some(now);
                if O::KEPT {
                    out.note(Undo::Blocked { output });
                }
            }
            Some(since) if !blocked => {
                of.blocked_since = None;
                of.held.unblock(since, now, self.setting.warmup);
                if O::KEPT {
                    out.note(Undo::Unblocked { output, since, now });
                }
            }
            _ => {}
        }
    }

    /// Sends the first packet of a lane to the output that it wants.
    fn send<O: Outputs>(&mut self, now: Time, vc_index: usize, out: &mut O) {
        let routed = if out.keeps_diary() {
            self.vc_states[vc_index]
                .want
                .map(|want| self.ready_at(vc_index, want))
        } else {
            None
        };
        let Some(want) = self.withdraw(vc_index) else {
            return;
        };
        let vcs = usize::from(self.vcs);
        let (input, vc) = ((vc_index / vcs) as u16, (vc_index % vcs) as u8);
        let (mut packet, arrived) = self.dequeue(vc_index);
        let bytes = packet.bytes;
        let output = &mut self.outputs[usize::from(want.output)];
        let serialization = output.rate.serialization(bytes);
        if O::KEPT {
            out.note(Undo::Sent {
                output: want.output,
                input,
                input_vc: vc,
                output_vc: want.vc,
                claim: want.claim,
                turn: output.turn,
                busy_until: output.busy_until,
            });
            for step in Undo::of_dequeued(input, vc, &packet, arrived) {
                out.note(step);
            }
        }
        output.busy_until = now + serialization;
        output.from = Some((input, vc));
        output.turn = (vc_index as u32 + 1) % self.vc_states.len() as u32;
        let warmup = self.setting.warmup;
        output
            .counters
            .depart(now, serialization, bytes, warmup, || &mut output.held);
        if output.to_host {
            output.load = output.load.wrapping_sub(u64::from(bytes));
        } else if want.claim != BufferClaim::Reserved {
            let room = self.vc_index(want.output, want.vc);
            self.rooms[room].credits -= bytes;
        }
        if let Some(routed) = routed {
            let passage = Passage {
                input,
                input_vc: vc,
                output: want.output,
                output_vc: want.vc,
                job: packet.job,
                arrived,
                ready: routed,
                serialization,
            };
            out.passes(&packet, passage);
        }
        self.inputs[usize::from(input)] = Some(vc);
        packet.hops = packet.hops.saturating_add(1);
        out.depart(want.output, want.vc, packet, serialization);
        out.credit(input, vc, bytes, serialization);
        out.due(serialization);
    }

    /// Puts a packet at the end of a queue; gives the place of the one before it.
    fn enqueue(&mut self, vc_index: usize, packet: Packet, arrived: Time) -> u32 {
        let place = PoolEntry {
            packet,
            arrived,
            next: NONE,
        };
        let index = self.free;
        let index = if index == NONE {
            self.pool.push(place);
            (self.pool.len() - 1) as u32
        } else {
            self.free = self.pool[index as usize].next;
            self.pool[index as usize] = place;
            index
        };
        let vc_index = &mut self.vc_states[vc_index];
        let after = vc_index.tail;
        match after {
            NONE => vc_index.head = index,
            after => self.pool[after as usize].next = index,
        }
        vc_index.tail = index;
        after
    }

    fn dequeue(&mut self, vc_index: usize) -> (Packet, Time) {
        let vc_index = &mut self.vc_states[vc_index];
        let index = vc_index.head;
        let place = &mut self.pool[index as usize];
        vc_index.head = place.next;
        if vc_index.head == NONE {
            vc_index.tail = NONE;
        }
        place.next = self.free;
        self.free = index;
        (place.packet, place.arrived)
    }

    /// Takes back one step that was noted in [`Outputs`]. Steps are taken back in reverse order, all of
    /// those that were noted since.
    ///
    /// Steps name places of the pool, and every packet comes back to its own: free places are a stack,
    /// and those by which the pool has grown since lie at its bottom in the order in which it grew.
    pub fn undo(&mut self, step: Undo) {
        match step {
            Undo::Arrived { input, vc, after } => self.undo_enqueue(self.vc_index(input, vc), after),
            Undo::Routed { input, vc, before } => self.undo_route(self.vc_index(input, vc), before),
            Undo::Credited { output, vc, bytes } => {
                let room = self.vc_index(output, vc);
                let credits = &mut self.rooms[room].credits;
                *credits = credits.wrapping_sub(bytes);
                let load = &mut self.outputs[usize::from(output)].load;
                *load = load.wrapping_add(u64::from(bytes));
            }
            Undo::Sent {
                output,
                input,
                input_vc,
                output_vc: vc,
                claim,
                turn,
                busy_until,
            } => {
                let of = &mut self.outputs[usize::from(output)];
                of.turn = turn;
                let vc_index = self.vc_index(input, input_vc);
                self.undo_send(vc_index, Want { output, vc, claim }, busy_until);
            }
            Undo::Dequeued {
                input,
                vc,
                source,
                destination,
                message,
                bytes,
                job,
                hops,
                standalone,
            } => {
                let place = self.undo_dequeue(self.vc_index(input, vc));
                place.packet = Packet::new(source, destination, message, bytes, Time::ZERO, job);
                place.packet.hops = hops;
                place.packet.standalone = standalone;
            }
            Undo::Underway {
                input,
                vc,
                created_at,
                arrived,
                route,
            } => {
                let head = self.vc_states[self.vc_index(input, vc)].head;
                let place = &mut self.pool[head as usize];
                place.arrived = arrived;
                place.packet.set_created_at(created_at);
                place.packet.route = route;
            }
            Undo::Released { output, input, vc } => {
                self.outputs[usize::from(output)].from = Some((input, vc));
                self.inputs[usize::from(input)] = Some(vc);
            }
            Undo::Turned => {
                let ports = self.outputs.len() as u16;
                self.first = (self.first + ports - 1) % ports;
            }
            Undo::Blocked { output } => self.outputs[usize::from(output)].blocked_since = None,
            Undo::Unblocked { output, since, now } => {
                let of = &mut self.outputs[usize::from(output)];
                of.blocked_since = Some(since);
                of.held.undo_unblock(since, now, self.setting.warmup);
            }
        }
    }

    fn undo_enqueue(&mut self, vc_index: usize, after: u32) {
        let vc_index = &mut self.vc_states[vc_index];
        let index = vc_index.tail;
        vc_index.tail = after;
        match after {
            NONE => vc_index.head = NONE,
            after => self.pool[after as usize].next = NONE,
        }
        self.pool[index as usize].next = self.free;
        self.free = index;
    }

    fn undo_route(&mut self, vc_index: usize, before: RouteState) {
        let Some(want) = self.withdraw(vc_index) else {
            return;
        };
        let packet = &mut self.pool[self.vc_states[vc_index].head as usize].packet;
        packet.route = before;
        let bytes = packet.bytes;
        let output = &mut self.outputs[usize::from(want.output)];
        output.load = output.load.wrapping_sub(u64::from(bytes));
        if want.claim == BufferClaim::Reserved && !output.to_host {
            let room = self.vc_index(want.output, want.vc);
            let credits = &mut self.rooms[room].credits;
            *credits = credits.wrapping_add(bytes);
        }
    }

    fn undo_send(&mut self, vc_index: usize, want: Want, busy_until: Time) {
        let bytes = self.pool[self.vc_states[vc_index].head as usize].packet.bytes;
        let output = &mut self.outputs[usize::from(want.output)];
        let serialization = output.rate.serialization(bytes);
        let (start, warmup) = (output.busy_until - serialization, self.setting.warmup);
        output
            .counters
            .undo_depart(start, serialization, bytes, warmup, || &mut output.held);
        output.busy_until = busy_until;
        output.from = None;
        if output.to_host {
            output.load = output.load.wrapping_add(u64::from(bytes));
        } else if want.claim != BufferClaim::Reserved {
            let room = self.vc_index(want.output, want.vc);
            self.rooms[room].credits += bytes;
        }
        self.inputs[vc_index / usize::from(self.vcs)] = None;
        self.request(vc_index, want);
    }

    /// Gives a packet its place back, which is the one that became free last; what was in it is lost.
    fn undo_dequeue(&mut self, vc_index: usize) -> &mut PoolEntry {
        let vc_index = &mut self.vc_states[vc_index];
        let index = self.free;
        let place = &mut self.pool[index as usize];
        self.free = place.next;
        place.next = vc_index.head;
        vc_index.head = index;
        if vc_index.tail == NONE {
            vc_index.tail = index;
        }
        place
    }

    /// Its id.
    pub fn id(&self) -> RouterId {
        self.id
    }

    /// Packets that wait in its buffers.
    pub fn waiting(&self) -> impl Iterator<Item = Waiting<'_>> {
        let vcs = usize::from(self.vcs);
        self.vc_states
            .iter()
            .enumerate()
            .flat_map(move |(index, vc_index)| {
                let (input, input_vc) = ((index / vcs) as u16, (index % vcs) as u8);
                self.queue(vc_index)
                    .enumerate()
                    .map(move |(place, (packet, _))| Waiting {
                        packet,
                        input,
                        input_vc,
                        wants: vc_index
                            .want
                            .filter(|_| place == 0)
                            .map(|want| (want.output, want.vc)),
                    })
            })
    }

    fn queue(&self, vc_index: &VcState) -> impl Iterator<Item = (&Packet, Time)> {
        let place = |index| (index != NONE).then(|| &self.pool[index as usize]);
        std::iter::successors(place(vc_index.head), move |p| place(p.next)).map(|p| (&p.packet, p.arrived))
    }

    /// Bytes that have been routed to `port`, are under way there, or whose credit is not back.
    pub fn load(&self, port: u16) -> u64 {
        self.outputs[usize::from(port)].load
    }

    /// Credits for a VC of the link at `port`, in bytes: those of packets that have kept them and have not
    /// left yet, too.
    pub fn credits(&self, port: u16, vc: u8) -> u32 {
        let kept = |vc_index: usize| {
            let vc_index = &self.vc_states[vc_index];
            let keeps = |want: &Want| want.vc == vc && want.claim == BufferClaim::Reserved;
            vc_index
                .want
                .filter(keeps)
                .map_or(0, |_| self.pool[vc_index.head as usize].packet.bytes)
        };
        let credits = self.rooms[self.vc_index(port, vc)].credits;
        self.wanting(port).map(kept).fold(credits, u32::wrapping_add)
    }

    /// Use of the link at `port` up to `end`.
    pub fn used(&self, port: u16, end: Time) -> LinkUse {
        let output = &self.outputs[usize::from(port)];
        let mut held = output.held;
        if let Some(since) = output.blocked_since {
            held.unblock(since, end, self.setting.warmup);
        }
        LinkUse::new(output.counters, held, end, output.busy_until)
    }

    /// Packets that wait for `port`: the first ones of their queues, as others do not know yet where they go.
    pub fn waiting_at(&self, port: u16) -> u32 {
        self.outputs[usize::from(port)].wanted
    }

    /// Whether the link at `port` goes on to be used, or to be held up, at `time`, if nothing happens.
    pub fn is_active(&self, port: u16, time: Time) -> bool {
        let output = &self.outputs[usize::from(port)];
        output.busy_until > time || output.blocked_since.is_some()
    }

    /// All that changes; equal where no input can tell two routers apart.
    pub fn state(&self) -> RouterState {
        let output = |output: &Output| OutputState {
            from: output.from,
            busy_until: output.busy_until,
            load: output.load,
            turn: output.turn,
            blocked_since: output.blocked_since,
            counters: output.counters,
            held: output.held,
        };
        let vc_index = |vc_index: &VcState| SavedVcState {
            want: vc_index.want,
            packets: self
                .queue(vc_index)
                .map(|(packet, arrived)| (*packet, arrived))
                .collect(),
        };
        RouterState {
            first: self.first,
            outputs: self.outputs.iter().map(output).collect(),
            vc_states: self.vc_states.iter().map(vc_index).collect(),
            credits: self.rooms.iter().map(|room| room.credits).collect(),
        }
    }

    /// Brings a new router into the state of one with the same settings.
    ///
    /// # Errors
    /// What does not fit these settings; the router is then as it was.
    pub fn restore(&mut self, state: RouterState) -> Result<(), String> {
        self.check(&state)?;
        self.first = state.first;
        self.inputs.fill(None);
        for (output, saved) in self.outputs.iter_mut().zip(&state.outputs) {
            output.from = saved.from;
            output.busy_until = saved.busy_until;
            output.load = saved.load;
            output.wanted = 0;
            output.turn = saved.turn;
            output.blocked_since = saved.blocked_since;
            output.counters = saved.counters;
            output.held = saved.held;
            if let Some((input, vc)) = saved.from {
                self.inputs[usize::from(input)] = Some(vc);
            }
        }
        for (room, credits) in self.rooms.iter_mut().zip(state.credits) {
            *room = Room { credits, awaited: 0 };
        }
        self.requests.fill(0);
        self.pool.clear();
        self.free = NONE;
        for (index, saved) in state.vc_states.into_iter().enumerate() {
            self.vc_states[index] = VcState {
                head: NONE,
                tail: NONE,
                want: None,
            };
            for (packet, arrived) in saved.packets {
                self.enqueue(index, packet, arrived);
            }
            if let Some(want) = saved.want {
                self.request(index, want);
            }
        }
        Ok(())
    }

    fn check(&self, state: &RouterState) -> Result<(), String> {
        let id = self.id.0;
        let (ports, vc_states) = (self.outputs.len(), self.vc_states.len());
        let found = (state.outputs.len(), state.vc_states.len(), state.credits.len());
        if found != (ports, vc_states, vc_states) {
            return Err(format!(
                "router {id} has {ports} ports, {vc_states} queues and {vc_states} buffers behind it, its saved state {}, {} and {}",
                found.0, found.1, found.2
            ));
        }
        if usize::from(state.first) >= ports {
            return Err(format!(
                "router {id}: port {} in the saved state is none",
                state.first
            ));
        }
        let fits = |port: u16, vc: u8| usize::from(port) < ports && vc < self.vcs;
        let mut leaving = vec![false; ports];
        let mut wanted = vec![false; ports];
        for (index, vc_index) in state.vc_states.iter().enumerate() {
            let (input, vc) = (index / usize::from(self.vcs), index % usize::from(self.vcs));
            let from = Some((input as u16, vc as u8));
            let is_routable = !vc_index.packets.is_empty() && state.outputs.iter().all(|o| o.from != from);
            let is_routed = vc_index.want.is_some_and(|want| fits(want.output, want.vc));
            if is_routable != is_routed || vc_index.want.is_some() != is_routed {
                return Err(format!(
                    "router {id}: the saved state of input {input}, VC {vc} contradicts itself"
                ));
            }
            if let Some(want) = vc_index.want {
                wanted[usize::from(want.output)] = true;
            }
        }
        for (port, output) in state.outputs.iter().enumerate() {
            let mut is_good = (output.turn as usize) < vc_states;
            if let Some((input, vc)) = output.from {
                is_good &=
                    fits(input, vc) && !std::mem::replace(&mut leaving[usize::from(input) % ports], true);
            }
            is_good &= output.blocked_since.is_none() || (output.from.is_none() && wanted[port]);
            if !is_good {
                return Err(format!(
                    "router {id}: the saved state of output {port} contradicts itself"
                ));
            }
        }
        Ok(())
    }
}

impl Undo {
    /// The steps that put a packet back at the front of its queue, in the order of noting.
    fn of_dequeued(input: u16, vc: u8, packet: &Packet, arrived: Time) -> [Undo; 2] {
        let underway = Undo::Underway {
            input,
            vc,
            created_at: packet.created_at(),
            arrived,
            route: packet.route,
        };
        let dequeued = Undo::Dequeued {
            input,
            vc,
            source: packet.source,
            destination: packet.destination,
            message: packet.message,
            bytes: packet.bytes,
            job: packet.job,
            hops: packet.hops,
            standalone: packet.standalone,
        };
        [underway, dequeued]
    }
}

#[cfg(test)]
#[path = "input_queued_tests.rs"]
mod tests;
