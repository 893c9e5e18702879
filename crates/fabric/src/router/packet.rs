//! The `packet` router: virtual cut-through with input-buffered virtual channels and credits.
//!
//! A packet's head is taken in when its link and the router's pipeline are behind it. It is routed at
//! once and keeps its place in the buffer of the input port and virtual channel (VC) it came by. If there
//! is room (credits) in the buffer at the far end of its output, it takes that room and its turn on the
//! wire: packets of all VCs leave in the order in which they got their room. Otherwise it waits, in order,
//! for credits of its output's VC, and holds up nobody else. The place in the input buffer becomes free,
//! and the credit for it sets out, when the tail leaves.
//!
//! Since a turn on the wire is decided when the room is there, a router needs no event for a wire that
//! becomes free: one event for the packet and one for its credit are all that a hop costs.
//!
//! Two ways into a buffer besides waiting for room ([`BufferClaim`]), for routing that needs them against deadlock:
//!
//! - *Kept*: the room is there when the packet is routed, and taken at that moment, even if the packet may
//!   leave only later. Such a packet never waits in a queue.
//! - *Bubble*: the packet waits until there is room for it and for one more of the largest size (V. Puente, C.
//!   Izu, R. Beivide, J. A. Gregorio, F. Vallejo, J. M. Prellezo, "The adaptive bubble router", J. Parallel and
//!   Distributed Computing 61(9), 2001). Such packets have a queue of their own, behind those that need room
//!   only for themselves: traffic inside a ring never waits for traffic that enters it. Buffers between
//!   routers are then divided into slots of the largest packet, of which every packet takes one, as in that
//!   router: bubbles of bytes could be torn to pieces, none of which takes a packet.
//!
//! Same idea as the packet-level models of CODES (Mubarak et al., 2012) with cut-through instead of
//! store-and-forward. What is left out: crossbar bandwidth and arbitration between inputs.
//!
//! Credits need not go back one by one ([`Router::batch_credits`]): while no packet finds too little room, nothing
//! that happens depends on when a credit comes, as long as it does not come too early. So a router may keep them
//! until a batch of them is worth an event, and a hop costs hardly more than the event of its packet. The first
//! packet that finds too little room ends this: it might have found enough, had each credit come by itself. Whoever
//! asks for batches has to begin anew without them when [`Outputs::waits`] is called.
//!
//! The shape of the data: all that sending one packet touches of a port lies in one [`Output`] and two
//! [`VcState`]s; packets without room wait in one pool per router, chained by index.
//!
//! Changes are taken back by reverse computation ([`Undo`]). A router under an optimistic executor may see
//! a credit for a packet that, in this timeline, it has not sent: load and credits wrap, and come back.

use des::{Journal, Time};
use routing::{At, BufferClaim, Congestion, Random, RouteState};
use serde::{Deserialize, Serialize};
use topology::{HostId, Port, RouterId};

use super::RoutingContext;
use crate::link::{LinkCounters, StallCounters};
use crate::{LinkUse, Packet, Rate};

/// End of a chain in the pool.
const NONE: u32 = u32::MAX;

/// Up to so many ports, most of them take part in a turn; of more, it is better not to guess.
pub const FEW_PORTS: usize = 64;

/// What a router makes happen, and where it notes how to take that back.
pub trait Outputs: Journal<Undo> {
    /// The packet starts onto the link of `port` after `wait`, bound for VC `vc`; its tail leaves
    /// `serialization` later.
    fn depart(&mut self, port: u16, vc: u8, packet: Packet, wait: Time, serialization: Time);
    /// After this span packets of `bytes` bytes, one unless credits come in batches, have left the buffer of input
    /// `port`, VC `vc`.
    fn credit(&mut self, port: u16, vc: u8, bytes: u32, after: Time);
    /// [`Router::routed`] is to be called with this packet after this span.
    fn ready(&mut self, routed: RoutedPacket, after: Time);
    /// A packet waits for room from now on. For those who write a diary, or let credits come in batches.
    #[inline]
    fn waits(&mut self, routed: &RoutedPacket) {
        let _ = routed;
    }
    /// A packet has waited for room and leaves its queue, to depart now.
    #[inline]
    fn has_room(&mut self, routed: &RoutedPacket) {
        let _ = routed;
    }
}

/// One step back of a router, for [`Router::undo`].
#[derive(Clone, Copy, Debug)]
pub enum Undo {
    /// A packet was routed to an output, whose load grew.
    Arrived {
        /// Output port.
        output: u16,
        /// Bytes of room that it takes or waits for.
        room: u32,
    },
    /// A packet that has just been routed took its room; it is to keep it until it is sent.
    Kept {
        /// Output port.
        output: u16,
        /// VC.
        vc: u8,
        /// Bytes of room.
        room: u32,
    },
    /// A packet that is about to be sent gave back the room that was kept for it, to take it as all do.
    Released {
        /// Output port.
        output: u16,
        /// VC.
        vc: u8,
        /// Bytes of room.
        room: u32,
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
    /// A packet took its room and its turn on the wire.
    Sent {
        /// Output port.
        output: u16,
        /// VC whose room it took; none on the way to a host.
        vc: u8,
        /// Bytes of the packet.
        bytes: u32,
        /// Until when the wire had been taken.
        busy_until: Time,
        /// Since when it had idled for lack of room.
        idle_since: Time,
    },
    /// The credit of a packet was kept for a batch, or sent with one.
    Owed {
        /// Input port.
        input: u16,
        /// VC of the input buffer.
        vc: u8,
        /// Bytes that were kept before.
        owed: u32,
        /// When the last tail was to leave before.
        last_tail: Time,
    },
    /// An output's first packet without room began to wait.
    StallCounters {
        /// Output port.
        output: u16,
        /// Since when the wire had idled for lack of room before.
        idle_since: Time,
    },
    /// A packet without room went to the end of a queue.
    Enqueued {
        /// Output port.
        output: u16,
        /// VC.
        vc: u8,
        /// What it waits for.
        claim: BufferClaim,
        /// Place of the packet before it.
        after: u32,
    },
    /// A packet left the front of a queue; with [`Undo::Underway`], all that was known of it.
    Dequeued {
        /// Output port.
        output: u16,
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
        /// [`STANDALONE`] and [`ENTERING`].
        bits: u8,
    },
    /// The other half of a packet that left the front of a queue.
    Underway {
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
        /// When its message was handed to the NIC.
        created_at: Time,
        /// The routing algorithm's own.
        route: RouteState,
    },
}

const _: () = assert!(size_of::<Undo>() == 24);

/// In [`Undo::Dequeued`]: the packet counts by itself.
const STANDALONE: u8 = 1;

/// In [`Undo::Dequeued`]: it waited for a bubble, not only for room.
const ENTERING: u8 = 2;

/// A packet that may go on, with the place that it keeps until it has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoutedPacket {
    /// The packet.
    pub packet: Packet,
    /// Input port.
    pub input: u16,
    /// Output port.
    pub output: u16,
    /// VC of the input buffer.
    pub input_vc: u8,
    /// VC at the far end of the output.
    pub output_vc: u8,
    /// What it needs there.
    pub claim: BufferClaim,
}

impl RoutedPacket {
    /// A packet that has come in, for [`Router::route`].
    #[inline]
    pub fn arrived(packet: Packet, input: u16, input_vc: u8) -> RoutedPacket {
        RoutedPacket {
            packet,
            input,
            output: 0,
            input_vc,
            output_vc: 0,
            claim: BufferClaim::Credit,
        }
    }
}

/// Memory of one port with so many virtual channels, in bytes.
pub fn bytes_per_port(vcs: u64, bubbles: bool) -> u64 {
    let queue = if bubbles { size_of::<Queue>() } else { 0 };
    let vc_index = size_of::<VcState>() + size_of::<Queue>() + queue;
    (size_of::<Output>() + size_of::<StallCounters>()) as u64 + vcs * vc_index as u64
}

/// What a port of a router is wired to, as far as the router needs to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortSetting {
    /// Speed of its cable, both ways.
    pub rate: Rate,
    /// Whether it leads to a host, which takes all that comes.
    pub to_host: bool,
    /// Room for each VC in the buffer at the far end, in bytes.
    pub credits: u32,
}

/// An output port: what sending a packet touches, in one cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Output {
    busy_until: Time,
    rate: Rate,
    /// Bytes that wait here, are under way, or whose credit is not back.
    load: u64,
    /// Packets that wait for credits.
    waiting: u32,
    to_host: bool,
    /// While packets wait for credits: when the wire had nothing to carry any more.
    idle_since: Time,
    counters: LinkCounters,
}

const _: () = assert!(size_of::<Output>() == 64);

/// Packets that wait, chained in the pool.
#[derive(Clone, Copy, Debug)]
struct Queue {
    head: u32,
    tail: u32,
}

/// One VC of one port, both ways.
#[derive(Clone, Copy, Debug)]
struct VcState {
    /// Of the output: the room at the far end, in bytes.
    credits: u32,
    /// Of the input: room that is free again and whose credits are kept for a batch.
    owed: u32,
}

/// A place in the pool.
#[derive(Clone, Debug)]
struct PoolEntry {
    routed: RoutedPacket,
    next: u32,
}

/// One router.
#[derive(Clone, Debug)]
pub struct Router {
    id: RouterId,
    vcs: u8,
    /// Room that a packet takes at least in a buffer between routers: that of the largest one under bubble
    /// flow control, otherwise 0.
    slot: u32,
    /// Whether all cables have one speed, so that no packet can run dry.
    one_rate: bool,
    warmup: Time,
    outputs: Vec<Output>,
    /// By output; none before the first is needed, which may be never.
    held: Vec<StallCounters>,
    /// By port, then VC.
    vc_states: Vec<VcState>,
    /// Credits of a lane go back when they are so many; 0: each by itself.
    batch: u32,
    /// When the last of the tails leaves whose credits were kept.
    last_tail: Time,
    /// By output, then VC: packets that wait for room.
    queues: Vec<Queue>,
    /// By output, then VC: packets that wait for a bubble; empty without bubble flow control.
    entrances: Vec<Queue>,
    pool: Vec<PoolEntry>,
    free: u32,
}

/// All of a router that changes: what it has done and what waits in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouterState {
    outputs: Vec<OutputState>,
    /// By port, then VC.
    vc_states: Vec<SavedVcState>,
    last_tail: Time,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct OutputState {
    busy_until: Time,
    load: u64,
    /// Only while packets wait: otherwise nothing depends on it.
    idle_since: Option<Time>,
    counters: LinkCounters,
    held: StallCounters,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SavedVcState {
    credits: u32,
    owed: u32,
    waiting: Vec<RoutedPacket>,
    /// Those that wait for a bubble.
    entering: Vec<RoutedPacket>,
}

/// The congestion that the routing of a packet of so many bytes sees.
struct LocalCongestion<'a> {
    router: &'a Router,
    bytes: u32,
    /// Behind a reference: copied whole, it would be read before it is all written.
    context: &'a RoutingContext<'a>,
}

impl Congestion for LocalCongestion<'_> {
    fn load(&self, port: Port) -> u64 {
        self.router.load(port.0)
    }

    fn reported_load(&self, slot: usize) -> u64 {
        self.context.reported_load(slot)
    }

    fn room(&self, port: Port, vc: u8) -> u64 {
        let LocalCongestion { router, bytes, .. } = *self;
        let vc_index = router.vc_index(port.0, vc);
        if router.has_room(vc_index, bytes.max(router.slot)) {
            u64::from(router.vc_states[vc_index].credits)
        } else {
            0
        }
    }
}

impl Queue {
    const EMPTY: Queue = Queue {
        head: NONE,
        tail: NONE,
    };
}

impl Router {
    /// An empty router with `vcs` virtual channels on each port. `slot` is the size of the largest packet if
    /// routing asks for bubbles, otherwise 0.
    pub fn new(id: RouterId, vcs: u8, ports: &[PortSetting], slot: u32, warmup: Time) -> Router {
        let output = |p: &PortSetting| Output {
            busy_until: Time::ZERO,
            rate: p.rate,
            load: 0,
            waiting: 0,
            to_host: p.to_host,
            idle_since: Time::ZERO,
            counters: LinkCounters::default(),
        };
        let vc_index = |p: &PortSetting| VcState {
            credits: p.credits,
            owed: 0,
        };
        let vc_states = ports.len() * usize::from(vcs);
        let entrances = if slot > 0 { vc_states } else { 0 };
        Router {
            id,
            vcs,
            slot,
            one_rate: ports.iter().all(|p| p.rate == ports[0].rate),
            warmup,
            held: Vec::new(),
            outputs: ports.iter().map(output).collect(),
            vc_states: ports
                .iter()
                .flat_map(|p| (0..vcs).map(move |_| vc_index(p)))
                .collect(),
            batch: 0,
            last_tail: Time::ZERO,
            queues: vec![Queue::EMPTY; vc_states],
            entrances: vec![Queue::EMPTY; entrances],
            pool: Vec::new(),
            free: NONE,
        }
    }

    /// Lets credits of an input buffer's VC go back when they are so many bytes, instead of each by itself. What the
    /// router does is the same until [`Outputs::waits`] is called, and nothing is certain from there on.
    ///
    /// # Panics
    /// Under bubble flow control, where a credit counts slots.
    pub fn batch_credits(&mut self, bytes: u32) {
        assert!(bytes == 0 || self.slot == 0, "credits of slots come one by one");
        self.batch = bytes;
    }

    /// Decides where a packet goes whose head has come in and is through the pipeline.
    #[inline]
    pub fn route(&self, routed: &mut RoutedPacket, context: &RoutingContext<'_>, random: &mut dyn Random) {
        let RoutedPacket { packet, .. } = routed;
        let at = At {
            router: self.id,
            input: Port(routed.input),
            vc: routed.input_vc,
            source: packet.source,
            destination: packet.destination,
        };
        let seen = LocalCongestion {
            router: self,
            bytes: packet.bytes,
            context,
        };
        let hop = context.routing.route(at, &mut packet.route, &seen, random);
        (routed.output, routed.output_vc, routed.claim) = (hop.port.0, hop.vc, hop.claim);
    }

    /// A packet has been routed; it may leave once it cannot run dry on the way out.
    #[inline]
    pub fn arrived<O: Outputs>(&mut self, now: Time, routed: &RoutedPacket, out: &mut O) {
        let room = routed.packet.bytes.max(self.slot);
        let load = &mut self.outputs[usize::from(routed.output)].load;
        *load = load.wrapping_add(u64::from(room));
        if O::KEPT {
            out.note(Undo::Arrived {
                output: routed.output,
                room,
            });
        }
        if routed.claim == BufferClaim::Reserved {
            self.arrived_to_keep(now, routed, out);
            return;
        }
        self.leave(now, routed, out);
    }

    /// Takes the room that routing has chosen for a packet. Should there be none, it waits as all others.
    #[inline(never)]
    fn arrived_to_keep<O: Outputs>(&mut self, now: Time, routed: &RoutedPacket, out: &mut O) {
        let mut routed = *routed;
        let (output, vc) = (routed.output, routed.output_vc);
        let vc_index = self.vc_index(output, vc);
        let room = routed.packet.bytes.max(self.slot);
        if self.outputs[usize::from(output)].to_host || !self.has_room(vc_index, room) {
            routed.claim = BufferClaim::Credit;
        } else {
            self.vc_states[vc_index].credits -= room;
            if O::KEPT {
                out.note(Undo::Kept { output, vc, room });
            }
        }
        self.leave(now, &routed, out);
    }

    #[inline(always)]
    fn leave<O: Outputs>(&mut self, now: Time, routed: &RoutedPacket, out: &mut O) {
        if !self.one_rate {
            let bytes = routed.packet.bytes;
            let slow = self.outputs[usize::from(routed.input)].rate.serialization(bytes);
            let fast = self.outputs[usize::from(routed.output)].rate.serialization(bytes);
            if slow > fast {
                out.ready(*routed, slow - fast);
                return;
            }
        }
        self.ready(now, routed, out);
    }

    /// A packet may leave as soon as there is room for it.
    #[inline(always)]
    pub fn ready<O: Outputs>(&mut self, now: Time, routed: &RoutedPacket, out: &mut O) {
        let vc_index = self.vc_index(routed.output, routed.output_vc);
        if self.outputs[usize::from(routed.output)].to_host {
            self.send(now, routed, out);
            return;
        }
        let there = &mut self.vc_states[vc_index];
        let room = routed.packet.bytes.max(self.slot);
        let first =
            self.outputs[usize::from(routed.output)].waiting == 0 || self.queues[vc_index].head == NONE;
        if routed.claim == BufferClaim::Credit && first && there.credits >= room {
            there.credits -= room;
            self.send(now, routed, out);
            return;
        }
        self.ready_otherwise(now, vc_index, routed, out);
    }

    /// The same for a packet that finds too little room, or needs another kind of it.
    #[inline(never)]
    fn ready_otherwise<O: Outputs>(
        &mut self,
        now: Time,
        vc_index: usize,
        routed: &RoutedPacket,
        out: &mut O,
    ) {
        let room = routed.packet.bytes.max(self.slot);
        match routed.claim {
            // What is noted with the departure takes the room a second time.
            BufferClaim::Reserved if O::KEPT => out.note(Undo::Released {
                output: routed.output,
                vc: routed.output_vc,
                room,
            }),
            BufferClaim::Reserved => {}
            BufferClaim::Bubble if self.has_room(vc_index, room.saturating_add(self.slot)) => {
                self.vc_states[vc_index].credits -= room;
            }
            BufferClaim::Credit | BufferClaim::Bubble => {
                self.wait(now, vc_index, routed, out);
                return;
            }
        }
        self.send(now, routed, out);
    }

    /// A packet waits for room.
    fn wait<O: Outputs>(&mut self, now: Time, vc_index: usize, routed: &RoutedPacket, out: &mut O) {
        let output = &mut self.outputs[usize::from(routed.output)];
        if output.waiting == 0 {
            if O::KEPT {
                out.note(Undo::StallCounters {
                    output: routed.output,
                    idle_since: output.idle_since,
                });
            }
            output.idle_since = now.max(output.busy_until);
        }
        out.waits(routed);
        self.enqueue(vc_index, routed, out);
    }

    /// Whether so much room is there that nobody waits for.
    fn has_room(&self, vc_index: usize, room: u32) -> bool {
        let entrance = self
            .entrances
            .get(vc_index)
            .map_or(NONE, |entrance| entrance.head);
        self.queues[vc_index].head == NONE && entrance == NONE && self.vc_states[vc_index].credits >= room
    }

    /// At the far end of `port` packets of so many bytes have left the buffer of `vc`: one packet, unless credits
    /// come in batches.
    #[inline]
    pub fn credit<O: Outputs>(&mut self, now: Time, port: u16, vc: u8, bytes: u32, out: &mut O) {
        let vc_index = self.vc_index(port, vc);
        let bytes = bytes.max(self.slot);
        let output = &mut self.outputs[usize::from(port)];
        output.load = output.load.wrapping_sub(u64::from(bytes));
        let credits = &mut self.vc_states[vc_index].credits;
        *credits = credits.wrapping_add(bytes);
        if O::KEPT {
            let output = port;
            out.note(Undo::Credited { output, vc, bytes });
        }
        if output.waiting == 0 {
            return;
        }
        while let Queue { head, .. } = self.queues[vc_index]
            && head != NONE
            && self.vc_states[vc_index].credits >= self.pool[head as usize].routed.packet.bytes.max(self.slot)
        {
            self.send_waiting(now, vc_index, BufferClaim::Credit, out);
        }
        if self.slot > 0 {
            self.let_in(now, vc_index, out);
        }
    }

    /// Sends packets that have waited for a bubble, if there is one.
    #[inline(never)]
    fn let_in<O: Outputs>(&mut self, now: Time, vc_index: usize, out: &mut O) {
        // With so much room, nobody is left who waits for less.
        while let Queue { head, .. } = self.entrances[vc_index]
            && head != NONE
            && self.queues[vc_index].head == NONE
            && let room = self.pool[head as usize].routed.packet.bytes.max(self.slot)
            && self.vc_states[vc_index].credits >= room.saturating_add(self.slot)
        {
            self.send_waiting(now, vc_index, BufferClaim::Bubble, out);
        }
    }

    /// Sends the first packet of a queue. It goes from its place straight into its event: a copy on the way would
    /// be read before it is all written.
    #[inline]
    fn send_waiting<O: Outputs>(&mut self, now: Time, vc_index: usize, claim: BufferClaim, out: &mut O) {
        let index = self.queue_of(vc_index, claim).head as usize;
        let RoutedPacket {
            packet: Packet { bytes, .. },
            output,
            output_vc,
            ..
        } = self.pool[index].routed;
        self.vc_states[vc_index].credits -= bytes.max(self.slot);
        out.has_room(&self.pool[index].routed);
        let span = self.reserve_link(now, output, output_vc, bytes, out);
        // Only now: while it waited, the wire's idle time was the time of full buffers.
        self.outputs[usize::from(output)].waiting -= 1;
        let routed = &self.pool[index].routed;
        let (input, input_vc) = (routed.input, routed.input_vc);
        depart(routed, span, out);
        if O::KEPT {
            for step in Undo::of_dequeued(routed) {
                out.note(step);
            }
        }
        self.dequeue(vc_index, claim);
        self.give_back(now, (input, input_vc), bytes, span, out);
    }

    #[inline]
    fn vc_index(&self, port: u16, vc: u8) -> usize {
        usize::from(port) * usize::from(self.vcs) + usize::from(vc)
    }

    /// Gives a packet that has its room the next turn on the wire.
    #[inline(always)]
    fn send<O: Outputs>(&mut self, now: Time, routed: &RoutedPacket, out: &mut O) {
        let bytes = routed.packet.bytes;
        let span = self.reserve_link(now, routed.output, routed.output_vc, bytes, out);
        depart(routed, span, out);
        self.give_back(now, (routed.input, routed.input_vc), bytes, span, out);
    }

    /// The place of a packet in the input buffer becomes free when its turn on the wire is over.
    #[inline]
    fn give_back<O: Outputs>(
        &mut self,
        now: Time,
        (input, vc): (u16, u8),
        bytes: u32,
        [wait, serialization]: [Time; 2],
        out: &mut O,
    ) {
        let after = wait + serialization;
        if self.batch == 0 {
            return out.credit(input, vc, bytes, after);
        }
        let vc_index = self.vc_index(input, vc);
        let owed = &mut self.vc_states[vc_index].owed;
        if O::KEPT {
            out.note(Undo::Owed {
                input,
                vc,
                owed: *owed,
                last_tail: self.last_tail,
            });
        }
        // Of all lanes together: a credit may come late, but not early.
        self.last_tail = self.last_tail.max(now + after);
        *owed += bytes;
        if *owed >= self.batch {
            out.credit(input, vc, *owed, self.last_tail - now);
            *owed = 0;
        }
    }

    /// The next turn on the wire of `port` for a packet of so many bytes: how long until then, and how long it
    /// takes.
    #[inline(always)]
    fn reserve_link<O: Outputs>(
        &mut self,
        now: Time,
        port: u16,
        vc: u8,
        bytes: u32,
        out: &mut O,
    ) -> [Time; 2] {
        let ports = self.outputs.len();
        let output = &mut self.outputs[usize::from(port)];
        let serialization = output.rate.serialization(bytes);
        let start = now.max(output.busy_until);
        let wait = start - now;
        if O::KEPT {
            out.note(Undo::Sent {
                output: port,
                vc,
                bytes,
                busy_until: output.busy_until,
                idle_since: output.idle_since,
            });
        }
        output.busy_until = start + serialization;
        output
            .counters
            .depart(start, serialization, bytes, self.warmup, || {
                held_of(&mut self.held, ports, port)
            });
        if output.waiting > 0 {
            let held = held_of(&mut self.held, ports, port);
            held.unblock(output.idle_since, start, self.warmup);
            output.idle_since = output.busy_until;
        }
        if output.to_host {
            output.load = output.load.wrapping_sub(u64::from(bytes.max(self.slot)));
        }
        [wait, serialization]
    }

    /// The queue in which a packet with that need waits.
    #[inline]
    fn queue_of(&mut self, vc_index: usize, claim: BufferClaim) -> &mut Queue {
        match self.entrances.get_mut(vc_index) {
            Some(entrance) if claim == BufferClaim::Bubble => entrance,
            _ => &mut self.queues[vc_index],
        }
    }

    fn enqueue<O: Outputs>(&mut self, vc_index: usize, routed: &RoutedPacket, out: &mut O) {
        let place = PoolEntry {
            routed: *routed,
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
        let queue = self.queue_of(vc_index, routed.claim);
        let after = queue.tail;
        queue.tail = index;
        if after == NONE {
            queue.head = index;
        } else {
            self.pool[after as usize].next = index;
        }
        if O::KEPT {
            out.note(Undo::Enqueued {
                output: routed.output,
                vc: routed.output_vc,
                claim: routed.claim,
                after,
            });
        }
        self.outputs[usize::from(routed.output)].waiting += 1;
    }

    fn dequeue(&mut self, vc_index: usize, claim: BufferClaim) {
        let index = self.queue_of(vc_index, claim).head;
        let next = self.pool[index as usize].next;
        let queue = self.queue_of(vc_index, claim);
        queue.head = next;
        if next == NONE {
            queue.tail = NONE;
        }
        let place = &mut self.pool[index as usize];
        place.next = self.free;
        self.free = index;
    }

    /// Takes back one step that was noted in [`Outputs`]. Steps are taken back in reverse order, all of
    /// those that were noted since.
    ///
    /// Steps name places of the pool, and every packet comes back to its own: free places are a stack,
    /// and those by which the pool has grown since lie at its bottom in the order in which it grew.
    pub fn undo(&mut self, step: Undo) {
        match step {
            Undo::Arrived { output, room } => {
                let load = &mut self.outputs[usize::from(output)].load;
                *load = load.wrapping_sub(u64::from(room));
            }
            Undo::Kept { output, vc, room } => {
                let vc_index = self.vc_index(output, vc);
                let credits = &mut self.vc_states[vc_index].credits;
                *credits = credits.wrapping_add(room);
            }
            Undo::Released { output, vc, room } => {
                let vc_index = self.vc_index(output, vc);
                let credits = &mut self.vc_states[vc_index].credits;
                *credits = credits.wrapping_sub(room);
            }
            Undo::Credited { output, vc, bytes } => {
                let vc_index = self.vc_index(output, vc);
                let load = &mut self.outputs[usize::from(output)].load;
                *load = load.wrapping_add(u64::from(bytes));
                let credits = &mut self.vc_states[vc_index].credits;
                *credits = credits.wrapping_sub(bytes);
            }
            Undo::Sent {
                output,
                vc,
                bytes,
                busy_until,
                idle_since,
            } => self.undo_send(output, vc, bytes, busy_until, idle_since),
            Undo::Owed {
                input,
                vc,
                owed,
                last_tail,
            } => {
                let vc_index = self.vc_index(input, vc);
                self.vc_states[vc_index].owed = owed;
                self.last_tail = last_tail;
            }
            Undo::StallCounters { output, idle_since } => {
                self.outputs[usize::from(output)].idle_since = idle_since
            }
            Undo::Enqueued {
                output,
                vc,
                claim,
                after,
            } => {
                let vc_index = self.vc_index(output, vc);
                self.undo_enqueue(vc_index, claim, after);
                self.outputs[usize::from(output)].waiting -= 1;
            }
            Undo::Dequeued {
                output,
                vc,
                source,
                destination,
                message,
                bytes,
                job,
                hops,
                bits,
            } => {
                let claim = if bits & ENTERING == 0 {
                    BufferClaim::Credit
                } else {
                    BufferClaim::Bubble
                };
                let place = self.undo_dequeue(output, vc, claim);
                let mut packet = Packet::new(source, destination, message, bytes, Time::ZERO, job);
                packet.hops = hops;
                packet.standalone = bits & STANDALONE != 0;
                place.routed = RoutedPacket {
                    packet,
                    input: 0,
                    output,
                    input_vc: 0,
                    output_vc: vc,
                    claim,
                };
            }
            Undo::Underway {
                output,
                vc,
                claim,
                input,
                input_vc,
                created_at,
                route,
            } => {
                let vc_index = self.vc_index(output, vc);
                let head = self.queue_of(vc_index, claim).head;
                let routed = &mut self.pool[head as usize].routed;
                routed.input = input;
                routed.input_vc = input_vc;
                routed.packet.set_created_at(created_at);
                routed.packet.route = route;
            }
        }
    }

    fn undo_send(&mut self, port: u16, vc: u8, bytes: u32, busy_until: Time, idle_since: Time) {
        let vc_index = self.vc_index(port, vc);
        let ports = self.outputs.len();
        let output = &mut self.outputs[usize::from(port)];
        let held = held_of(&mut self.held, ports, port);
        let serialization = output.rate.serialization(bytes);
        let start = output.busy_until - serialization;
        if output.waiting > 0 {
            held.undo_unblock(idle_since, start, self.warmup);
        }
        output
            .counters
            .undo_depart(start, serialization, bytes, self.warmup, || held);
        output.busy_until = busy_until;
        output.idle_since = idle_since;
        if output.to_host {
            output.load = output.load.wrapping_add(u64::from(bytes.max(self.slot)));
        } else {
            let credits = &mut self.vc_states[vc_index].credits;
            *credits = credits.wrapping_add(bytes.max(self.slot));
        }
    }

    fn undo_enqueue(&mut self, vc_index: usize, claim: BufferClaim, after: u32) {
        let queue = self.queue_of(vc_index, claim);
        let index = queue.tail;
        queue.tail = after;
        if after == NONE {
            queue.head = NONE;
        } else {
            self.pool[after as usize].next = NONE;
        }
        self.pool[index as usize].next = self.free;
        self.free = index;
    }

    /// Gives a packet its place back, which is the one that became free last; what was in it is lost.
    fn undo_dequeue(&mut self, port: u16, vc: u8, claim: BufferClaim) -> &mut PoolEntry {
        let vc_index = self.vc_index(port, vc);
        self.outputs[usize::from(port)].waiting += 1;
        let index = self.free;
        self.free = self.pool[index as usize].next;
        let queue = self.queue_of(vc_index, claim);
        let after = queue.head;
        queue.head = index;
        if queue.tail == NONE {
            queue.tail = index;
        }
        let place = &mut self.pool[index as usize];
        place.next = after;
        place
    }

    /// Asks for the memory that its next packets and credits will touch.
    #[inline]
    pub fn prefetch(&self) {
        if self.outputs.len() <= FEW_PORTS {
            des::prefetch(self.outputs.as_slice());
            des::prefetch(self.vc_states.as_slice());
        }
    }

    /// Asks for what an event at this output will touch.
    #[inline]
    pub fn prefetch_output(&self, port: u16) {
        if let Some(output) = self.outputs.get(usize::from(port)) {
            des::prefetch(output);
            des::prefetch(&self.vc_states[self.vc_index(port, 0)]);
        }
    }

    /// Asks for what a packet that leaves this input will touch.
    #[inline]
    pub fn prefetch_input(&self, port: u16) {
        if let Some(vc_index) = self.vc_states.get(self.vc_index(port, 0)) {
            des::prefetch(vc_index);
        }
    }

    /// Asks for the packet that waits first for a credit of this VC.
    #[inline]
    pub fn prefetch_waiting(&self, port: u16, vc: u8) {
        if self.outputs[usize::from(port)].waiting > 0
            && let Queue { head, .. } = self.queues[self.vc_index(port, vc)]
            && head != NONE
        {
            des::prefetch(&self.pool[head as usize]);
        }
    }

    /// Its id.
    pub fn id(&self) -> RouterId {
        self.id
    }

    /// Packets that wait in its buffers.
    pub fn waiting(&self) -> impl Iterator<Item = &RoutedPacket> {
        let queues = self.queues.iter().chain(&self.entrances);
        queues.flat_map(|queue| self.queued(*queue))
    }

    fn queued(&self, queue: Queue) -> impl Iterator<Item = &RoutedPacket> {
        let place = |index| (index != NONE).then(|| &self.pool[index as usize]);
        std::iter::successors(place(queue.head), move |p| place(p.next)).map(|p| &p.routed)
    }

    /// Bytes that wait for `port`, are under way there, or whose credit is not back.
    pub fn load(&self, port: u16) -> u64 {
        self.outputs[usize::from(port)].load
    }

    /// Credits for a VC of the link at `port`, in bytes.
    pub fn credits(&self, port: u16, vc: u8) -> u32 {
        self.vc_states[self.vc_index(port, vc)].credits
    }

    /// Bytes that have left the input buffer of a VC of `port`, and whose credits are kept for a batch.
    pub fn owed(&self, port: u16, vc: u8) -> u32 {
        self.vc_states[self.vc_index(port, vc)].owed
    }

    /// Use of the link at `port` up to `end`.
    pub fn used(&self, port: u16, end: Time) -> LinkUse {
        let output = &self.outputs[usize::from(port)];
        let mut held = self.held(port);
        if output.waiting > 0 {
            held.unblock(output.idle_since, end, self.warmup);
        }
        LinkUse::new(output.counters, held, end, output.busy_until)
    }

    fn held(&self, port: u16) -> StallCounters {
        self.held.get(usize::from(port)).copied().unwrap_or_default()
    }

    /// Packets that wait for room behind `port`.
    pub fn waiting_at(&self, port: u16) -> u32 {
        self.outputs[usize::from(port)].waiting
    }

    /// Whether the link at `port` goes on to be used, or to be held up, at `time`, if nothing happens.
    pub fn is_active(&self, port: u16, time: Time) -> bool {
        let output = &self.outputs[usize::from(port)];
        output.busy_until > time || output.waiting > 0
    }

    /// All that changes; equal where no input can tell two routers apart.
    pub fn state(&self) -> RouterState {
        let output = |(port, output): (usize, &Output)| OutputState {
            busy_until: output.busy_until,
            load: output.load,
            idle_since: (output.waiting > 0).then_some(output.idle_since),
            counters: output.counters,
            held: self.held(port as u16),
        };
        let vc_index = |(index, vc_index): (usize, &VcState)| {
            let entrance = self.entrances.get(index).copied().unwrap_or(Queue::EMPTY);
            SavedVcState {
                credits: vc_index.credits,
                owed: vc_index.owed,
                waiting: self.queued(self.queues[index]).copied().collect(),
                entering: self.queued(entrance).copied().collect(),
            }
        };
        RouterState {
            outputs: self.outputs.iter().enumerate().map(output).collect(),
            vc_states: self.vc_states.iter().enumerate().map(vc_index).collect(),
            last_tail: self.last_tail,
        }
    }

    /// Brings a new router into the state of one with the same settings.
    ///
    /// # Errors
    /// What does not fit these settings; the router is then as it was.
    pub fn restore(&mut self, state: RouterState) -> Result<(), String> {
        self.check(&state)?;
        self.held.clear();
        for (port, saved) in state.outputs.into_iter().enumerate() {
            let output = &mut self.outputs[port];
            output.busy_until = saved.busy_until;
            output.load = saved.load;
            output.waiting = 0;
            output.idle_since = saved.idle_since.unwrap_or_default();
            output.counters = saved.counters;
            self.held.push(saved.held);
        }
        self.last_tail = state.last_tail;
        self.pool.clear();
        self.free = NONE;
        for (vc_index, saved) in state.vc_states.into_iter().enumerate() {
            self.queues[vc_index] = self.restored(saved.waiting);
            self.vc_states[vc_index] = VcState {
                credits: saved.credits,
                owed: saved.owed,
            };
            let entrance = self.restored(saved.entering);
            if let Some(queue) = self.entrances.get_mut(vc_index) {
                *queue = entrance;
            }
        }
        Ok(())
    }

    /// Lets packets wait, in their order.
    fn restored(&mut self, waiting: Vec<RoutedPacket>) -> Queue {
        let first = self.pool.len() as u32;
        for (routed, next) in waiting.into_iter().zip(first + 1..) {
            self.outputs[usize::from(routed.output)].waiting += 1;
            self.pool.push(PoolEntry { routed, next });
        }
        let tail = self.pool.len() as u32;
        if tail == first {
            return Queue::EMPTY;
        }
        self.pool[tail as usize - 1].next = NONE;
        Queue {
            head: first,
            tail: tail - 1,
        }
    }

    fn check(&self, state: &RouterState) -> Result<(), String> {
        let id = self.id.0;
        let (ports, vc_states) = (self.outputs.len(), self.vc_states.len());
        let (saved_ports, saved_lanes) = (state.outputs.len(), state.vc_states.len());
        if (saved_ports, saved_lanes) != (ports, vc_states) {
            return Err(format!(
                "router {id} has {ports} ports and {vc_states} queues, its saved state {saved_ports} and {saved_lanes}"
            ));
        }
        for (index, vc_index) in state.vc_states.iter().enumerate() {
            let (port, vc) = (index / usize::from(self.vcs), index % usize::from(self.vcs));
            let fits = |routed: &RoutedPacket| {
                (usize::from(routed.output), usize::from(routed.output_vc)) == (port, vc)
                    && usize::from(routed.input) < ports
                    && routed.input_vc < self.vcs
                    && !self.outputs[port].to_host
            };
            let bubbles = !self.entrances.is_empty();
            let waits = |routed: &RoutedPacket| {
                fits(routed)
                    && (routed.claim == BufferClaim::Credit
                        || routed.claim == BufferClaim::Bubble && !bubbles)
            };
            let enters =
                |routed: &RoutedPacket| fits(routed) && routed.claim == BufferClaim::Bubble && bubbles;
            if !vc_index.waiting.iter().all(waits) || !vc_index.entering.iter().all(enters) {
                return Err(format!(
                    "router {id}: a packet in the saved state cannot wait for port {port}, VC {vc}"
                ));
            }
        }
        for (port, output) in state.outputs.iter().enumerate() {
            let vcs = usize::from(self.vcs);
            let mut vc_states = state.vc_states[port * vcs..(port + 1) * vcs].iter();
            let waits =
                vc_states.any(|vc_index| !vc_index.waiting.is_empty() || !vc_index.entering.is_empty());
            if output.idle_since.is_some() != waits {
                return Err(format!(
                    "router {id}: the saved state of port {port} contradicts its queues"
                ));
            }
        }
        Ok(())
    }
}

/// What is counted of an output besides what it carries.
#[inline]
fn held_of(held: &mut Vec<StallCounters>, ports: usize, port: u16) -> &mut StallCounters {
    if held.is_empty() {
        hold(held, ports);
    }
    &mut held[usize::from(port)]
}

#[cold]
#[inline(never)]
fn hold(held: &mut Vec<StallCounters>, ports: usize) {
    held.resize(ports, StallCounters::default());
}

/// A packet starts its turn on the wire after the first span, which takes the second.
#[inline]
fn depart<O: Outputs>(routed: &RoutedPacket, [wait, serialization]: [Time; 2], out: &mut O) {
    let packet = routed.packet.on_next_link();
    out.depart(routed.output, routed.output_vc, packet, wait, serialization);
}

impl Undo {
    /// The steps that put a packet back at the front of its queue, in the order of noting.
    fn of_dequeued(routed: &RoutedPacket) -> [Undo; 2] {
        let RoutedPacket {
            packet,
            input,
            output,
            input_vc,
            output_vc: vc,
            claim,
        } = *routed;
        let underway = Undo::Underway {
            output,
            vc,
            input,
            input_vc,
            claim,
            created_at: packet.created_at(),
            route: packet.route,
        };
        let dequeued = Undo::Dequeued {
            output,
            vc,
            source: packet.source,
            destination: packet.destination,
            message: packet.message,
            bytes: packet.bytes,
            job: packet.job,
            hops: packet.hops,
            bits: u8::from(packet.standalone) * STANDALONE
                + u8::from(claim == BufferClaim::Bubble) * ENTERING,
        };
        [underway, dequeued]
    }
}

#[cfg(test)]
#[path = "packet_tests.rs"]
mod tests;
