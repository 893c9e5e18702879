//! The `crossbar` router: buffers of fixed size before and behind a crossbar, with credits for both.
//!
//! A packet waits in its input buffer until the buffer of its output port and virtual channel (VC) has space for it. It
//! crosses, and its credit leaves. It waits in the output buffer until the buffer at the far end of the link has
//! credits, and starts onto the link. So a packet that waits for credits occupies its output buffer, and neither the
//! crossbar nor its input.
//!
//! The [`Arbiter`] decides how packets cross.
//!
//! - With [`Arbiter::FirstCome`] packets cross in the order in which they get their space. A packet is routed when its
//!   head arrives, and waits for the space of its own output and VC only: there is no head-of-line blocking. Crossbar
//!   and links are booked in advance ([`Bookings`]): the times at which head and tail leave are known as soon as the
//!   packet has its space. The crossbar is one server for each output, or one for the whole router.
//! - With the others, each input port and VC has a first-in first-out queue, and a packet is routed when it is the
//!   first there (head-of-line blocking); or one such queue for each output, and a packet is routed when its head
//!   arrives (virtual output queues: Y. Tamir and G. L. Frazier, "High-performance multi-queue buffers for VLSI
//!   communications switches", ISCA 1988). The crossbar works in cycles of one flit. In each cycle idle outputs and
//!   idle inputs are matched; a packet that has arrived in a cycle takes part from the next one on. It is in the
//!   output buffer at once, and both ports are busy for the cycles of its flits. A link starts a flit after its packet
//!   has entered an empty output buffer, or after a credit that it lacked; it serves its VCs round robin. Packets take
//!   whole flits on links.
//!
//! With cut-through the head of a packet goes on before the tail has arrived. With store-and-forward a packet begins to
//! cross when all of it is there, and starts onto the link when all of it has crossed; a router receives it with its
//! tail.
//!
//! Sources: the router PISCES of SST/macro (arbiter `first-come`, of a crossbar for each router) and `hr_router` of
//! SST/merlin (arbiters `rotating` and `least-recently-used`). Not copied of PISCES: small packets do not pass large
//! ones that wait for the same buffer, and hosts have space for all packets. Not copied of `hr_router`: packets do not
//! leave before they have come where an output link is faster than an input link.
//!
//! A packet in an output buffer waits for the credits of its own VC. A packet in an input buffer waits for the output
//! buffer of its own VC, or for packets before it in its queue. So the channel dependencies are those of the routing
//! algorithm. A packet that needs [`BufferClaim::Reserved`] holds its credits from the decision on. Where routing
//! reserves the space of a VC, it does so for all packets on it, so that none of them waits for credits.

mod booked;
mod cycles;

use std::collections::VecDeque;

use config::{Bandwidth, Bytes, Parameter, Section, Type, parameters};
use des::Time;
use routing::{At, BufferClaim, Congestion, LoadMetric, RouteState};
use serde::{Deserialize, Serialize};
use topology::{Port, RouterId};

use super::arbiter::Arbiter;
use super::bookings::Bookings;
use super::output_load::OutputLoad;
use super::{
    Arrival, Holding, PortSetting, RouterModel, RouterModelKind, RouterOutputs, RouterSetup, RoutingContext,
    Speedup,
};
use crate::capabilities::{PacketLimit, PacketLimits, RouterCapabilities};
use crate::link::{LinkCounters, StallCounters};
use crate::packet_pool::{Fifo, PacketPool, Previous};
use crate::waits::{CrossbarDeparture, CrossbarObservation, CrossbarWaitTracker};
use crate::{LinkUse, Measured, Packet, Rate};

/// Names of the arbiters of the model; the first is the default.
const ARBITERS: [&str; 7] = [
    "round-robin",
    "rotating",
    "least-recently-used",
    "age",
    "random",
    "islip",
    "first-come",
];

/// Names of [`Switch`] in experiments; the first is the default.
const SWITCHES: [&str; 2] = ["per-port", "shared"];

/// Names of the ways in which packets are passed on; the first is the default.
const PASSING: [&str; 2] = ["cut-through", "store-and-forward"];

/// Names of the divisions of an input buffer into queues; the first is the default.
const QUEUES: [&str; 2] = ["per-vc", "per-output"];

const OUTPUT_BUFFER: Parameter = Parameter::computed(
    "vc_output_buffer",
    Type::Size,
    "the buffer of a VC behind the link",
    "buffer of one VC of an output port, at most 1 GiB",
);

const CROSSBAR_BANDWIDTH: Parameter = Parameter::computed(
    "crossbar_bandwidth",
    Type::Rate,
    "speedup times the bandwidth of the fastest link",
    "bandwidth of the crossbar: of each port, or of the whole router if it is shared",
);

const FLIT: Parameter = Parameter::computed(
    "flit",
    Type::Size,
    "16 B",
    "bytes that cross in one cycle; without meaning for first-come, which has no cycles",
);

const ITERATIONS: Parameter = Parameter::computed(
    "iterations",
    Type::Integer,
    "1",
    "iterations of islip in one cycle, 1 to 64",
);

const DEFAULT_FLIT: u32 = 16;
const MOST_BYTES: u32 = 1 << 30;
const MOST_FLIT: u32 = 1 << 16;

/// What a booking of a crossbar occupies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Switch {
    /// The way to one output port.
    #[default]
    PerPort,
    /// The whole crossbar.
    Shared,
}

/// The parameters of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrossbarParameters {
    /// Which packet crosses.
    pub arbiter: Arbiter,
    /// What a packet occupies while it crosses; with the arbiter first-come.
    pub switch: Switch,
    /// Speed of the crossbar over that of the fastest link, if `bandwidth` is `None`.
    pub speedup: Speedup,
    /// Bandwidth of the crossbar.
    pub bandwidth: Option<Rate>,
    /// Bytes of the buffer of a VC of an output port; `None`: as many as behind its link.
    pub vc_output_buffer: Option<u32>,
    /// Whether packets are stored before they go on.
    pub stores: bool,
    /// Whether each input VC has a queue for each output, so that packets only wait for their own output.
    pub queue_per_output: bool,
    /// Bytes of a flit; without a meaning for the arbiter first-come.
    pub flit: u32,
    /// Iterations of iSLIP.
    pub iterations: u8,
}

/// No output: the packet is not routed.
const NO_PORT: u16 = u16::MAX;

/// A timer of a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CrossbarTimer {
    /// All of a packet from a host has arrived.
    Stored {
        /// Input port.
        input: u16,
    },
    /// The head of a packet has crossed.
    Crossed {
        /// Part of the crossbar.
        server: u16,
    },
    /// A packet has left an output buffer.
    Left {
        /// Output port.
        output: u16,
        /// VC.
        vc: u8,
    },
    /// A cycle of the crossbar begins.
    Cycle,
    /// A link can take a packet.
    Link {
        /// Output port.
        output: u16,
    },
}

/// Precedes a packet that comes in more slowly than its link could carry it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlowPacket {
    /// Time in which its bytes come in: in halves, so that an event with it is aligned as others and fits a cache line.
    incoming: [u32; 2],
}

impl SlowPacket {
    fn new(incoming: Time) -> SlowPacket {
        SlowPacket {
            incoming: [incoming.ps() as u32, (incoming.ps() >> 32) as u32],
        }
    }

    fn incoming(self) -> Time {
        Time(u64::from(self.incoming[0]) | u64::from(self.incoming[1]) << 32)
    }
}

/// A packet in a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrossbarPacket {
    packet: Packet,
    /// Arrival time of its head.
    arrived: Time,
    /// Time from which nothing before it in its queue held it up.
    first: Time,
    /// Time from which it may cross.
    ready: Time,
    /// Time at which its head has crossed, or all of it if it is stored there.
    crossed: Time,
    /// Time in which its bytes come in where it is.
    incoming: Time,
    input: u16,
    output: u16,
    input_vc: u8,
    output_vc: u8,
    /// Whether its credits are taken.
    has_reserved: bool,
}

impl AsMut<Packet> for CrossbarPacket {
    fn as_mut(&mut self) -> &mut Packet {
        &mut self.packet
    }
}

/// A packet whose time of departure from an output buffer is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeavingPacket {
    at: Time,
    bytes: u32,
}

/// An undo step of a router.
#[derive(Clone, Debug)]
pub enum CrossbarUndo {
    /// A packet went to the end of a list.
    Pushed(u32, Previous),
    /// The first packet of a list left it.
    Popped(u32, Box<CrossbarPacket>),
    /// The first packet of a list was routed; its route state before.
    Routed(u32, RouteState),
    /// The first packet of a list may cross from another time on; the time before, and the former `first`.
    Ready(u32, Time, Time),
    /// The numbers of an output changed.
    Output(u16, Box<CrossbarOutputState>),
    /// The numbers of a buffer changed.
    Buffer(u32, Box<BufferNumbers>),
    /// A server was booked.
    Booked(u16, Box<Bookings>),
    /// A server without idle stretches was booked: when it was free.
    BookedNext(u16, Time),
    /// A packet was noted that will leave an output buffer.
    Leaves(u32),
    /// A packet has left an output buffer.
    Left(u32, LeavingPacket),
    /// A slow packet was announced at an input.
    Announced(u16),
    /// An announced packet has arrived.
    Came(u16, Time, Time),
    /// A time of the crossbar's ports or of a link changed.
    Clock(u32, Time),
    /// A turn of the arbiter changed.
    Turn(u32, u64),
}

const _: () = assert!(size_of::<CrossbarUndo>() <= 32);

/// The numbers of one VC of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BufferNumbers {
    /// Free bytes of the output buffer.
    space: u32,
    /// Free bytes of the buffer at the far end.
    credits: u32,
    /// Bytes of packets of this router that are routed to the VC and have not left.
    waiting: u64,
    /// The part of these whose credits are taken.
    reserved: u32,
}

/// One VC of an output.
#[derive(Clone, Debug)]
struct Buffer {
    numbers: BufferNumbers,
    /// Size of the buffer at the far end, a setting.
    far: u32,
    /// Packets that hold space until a known time, in order.
    leaving: VecDeque<LeavingPacket>,
}

/// The mutable state of an output port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrossbarOutputState {
    /// Bytes that wait for this port, are in flight, or whose credit has not returned.
    load: u64,
    /// Packets that are routed to this port and have not departed.
    requested: u32,
    /// Packets in its output buffers.
    queued: u32,
    /// Start of the last packet on the link, which may be to come; with the arbiter first-come without a meaning.
    busy_from: Time,
    /// End of that packet.
    busy_until: Time,
    /// Time from which the link takes another packet, where the crossbar has cycles: packets take whole flits.
    free: Time,
    /// VC that was served last.
    last_vc: u8,
    /// Time from which the link idles because no packet has credits. It may be to come.
    blocked_since: Option<Time>,
    counters: LinkCounters,
    stalls: StallCounters,
}

/// An output port.
#[derive(Clone, Debug)]
struct CrossbarOutput {
    rate: Rate,
    to_host: bool,
    /// Pipeline of packets that come in by this port.
    pipeline: Time,
    state: CrossbarOutputState,
}

/// One router.
#[derive(Clone, Debug)]
pub struct CrossbarRouter {
    id: RouterId,
    vcs: u8,
    parameters: CrossbarParameters,
    /// Bandwidth of the crossbar.
    crossbar: Rate,
    /// Time of a flit in the crossbar.
    cycle: Time,
    /// Queues of a VC of an input port.
    queues_per_vc: usize,
    /// Bandwidth at which packets come in from hosts.
    injection: Rate,
    measured: Measured,
    outputs: Box<[CrossbarOutput]>,
    /// By output port, then VC.
    buffers: Box<[Buffer]>,
    /// The links, then the parts of the crossbar; with the arbiter first-come.
    servers: Box<[Bookings]>,
    /// Lists of packets: see [`CrossbarRouter::waiting_list`] and the functions after it.
    lists: Box<[Fifo]>,
    pool: PacketPool<CrossbarPacket>,
    /// A bit for each input queue with a packet; not with the arbiter first-come.
    requests: Box<[u64]>,
    /// Times of arrival and spans of packets that come in slowly, by input.
    slow: Box<[VecDeque<(Time, Time)>]>,
    /// Times: see [`CrossbarRouter::input_clock`] and the functions after it. Not with the arbiter first-come.
    clocks: Box<[Time]>,
    /// Turns of the arbiter: see [`CrossbarRouter::turns`].
    turns: Box<[u64]>,
    /// Queues that are looked at in a cycle; empty between events.
    able: Vec<usize>,
}

/// The mutable state of a router.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrossbarRouterState {
    outputs: Vec<CrossbarOutputState>,
    /// By output port, then VC: numbers, and packets that leave.
    buffers: Vec<(BufferNumbers, VecDeque<LeavingPacket>)>,
    servers: Vec<Bookings>,
    lists: Vec<VecDeque<CrossbarPacket>>,
    /// By input.
    slow: Vec<VecDeque<(Time, Time)>>,
    clocks: Vec<Time>,
    turns: Vec<u64>,
}

/// The congestion that routing sees.
struct CrossbarCongestion<'a> {
    router: &'a CrossbarRouter,
    now: Time,
    bytes: u32,
    context: &'a RoutingContext<'a>,
}

impl Congestion for CrossbarCongestion<'_> {
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
        let numbers = &self.router.buffers[self.router.index(port.0, vc)].numbers;
        let none_waits = numbers.waiting == u64::from(numbers.reserved);
        let is_free = none_waits && numbers.credits >= self.bytes;
        if is_free { u64::from(numbers.credits) } else { 0 }
    }
}

impl CrossbarRouter {
    /// Index of a VC of a port.
    #[inline]
    fn index(&self, port: u16, vc: u8) -> usize {
        usize::from(port) * usize::from(self.vcs) + usize::from(vc)
    }

    fn first_come(&self) -> bool {
        self.parameters.arbiter == Arbiter::FirstCome
    }

    /// The list of packets that wait for the space of a buffer, with the arbiter first-come.
    #[inline]
    fn waiting_list(&self, index: usize) -> usize {
        index
    }

    /// Number of input queues; with the arbiter first-come, of the lists of packets that wait for space.
    #[inline]
    fn queues(&self) -> usize {
        self.buffers.len() * self.queues_per_vc
    }

    /// The list of the packets in an input queue; with the arbiter first-come there are none. Only with a queue for
    /// each output the packet has to be routed.
    #[inline]
    fn queue_of(&self, held: &CrossbarPacket) -> usize {
        let of_vc = self.index(held.input, held.input_vc) * self.queues_per_vc;
        match self.parameters.queue_per_output {
            true => of_vc + usize::from(held.output),
            false => of_vc,
        }
    }

    /// The input port and VC of an input queue.
    #[inline]
    fn input_of(&self, queue: usize) -> (usize, usize) {
        let (index, vcs) = (queue / self.queues_per_vc, usize::from(self.vcs));
        (index / vcs, index % vcs)
    }

    /// The list of packets in an output buffer.
    #[inline]
    fn output_list(&self, index: usize) -> usize {
        self.queues() + index
    }

    /// The list of packets whose heads cross a part of the crossbar.
    #[inline]
    fn crossing_list(&self, server: u16) -> usize {
        self.queues() + self.buffers.len() + usize::from(server)
    }

    /// The list of packets of a host of which a part has not arrived.
    #[inline]
    fn arriving_list(&self, input: u16) -> usize {
        self.queues() + self.buffers.len() + self.outputs.len() + usize::from(input)
    }

    /// The time until which an input of the crossbar is busy.
    #[inline]
    fn input_clock(&self, input: u16) -> usize {
        usize::from(input)
    }

    /// The time until which an output of the crossbar is busy.
    #[inline]
    fn output_clock(&self, output: u16) -> usize {
        self.outputs.len() + usize::from(output)
    }

    /// The time at which the link of an output takes a packet; the largest time if there is none.
    #[inline]
    fn link_clock(&self, output: u16) -> usize {
        2 * self.outputs.len() + usize::from(output)
    }

    /// The next cycle in which a packet may cross; the largest time if there is none.
    #[inline]
    fn cycle_clock(&self) -> usize {
        3 * self.outputs.len()
    }

    #[inline]
    fn note_output<J: des::Journal<CrossbarUndo>>(&self, output: u16, journal: &mut J) {
        journal
            .note(|| CrossbarUndo::Output(output, Box::new(self.outputs[usize::from(output)].state.clone())));
    }

    #[inline]
    fn note_buffer<J: des::Journal<CrossbarUndo>>(&self, index: usize, journal: &mut J) {
        journal.note(|| CrossbarUndo::Buffer(index as u32, Box::new(self.buffers[index].numbers)));
    }

    #[inline]
    fn push<J: des::Journal<CrossbarUndo>>(&mut self, list: usize, held: CrossbarPacket, journal: &mut J) {
        let previous = self.pool.push_back(&mut self.lists[list], held);
        self.set_request(list);
        journal.note(|| CrossbarUndo::Pushed(list as u32, previous));
    }

    #[inline]
    fn pop<J: des::Journal<CrossbarUndo>>(&mut self, list: usize, journal: &mut J) -> Option<CrossbarPacket> {
        let held = *self.first(list)?;
        self.pool.pop_front(&mut self.lists[list]);
        self.set_request(list);
        journal.note(|| CrossbarUndo::Popped(list as u32, Box::new(held)));
        Some(held)
    }

    /// The first packet of a list.
    #[inline]
    fn first(&self, list: usize) -> Option<&CrossbarPacket> {
        self.pool.front(self.lists[list])
    }

    #[inline]
    fn first_mut(&mut self, list: usize) -> Option<&mut CrossbarPacket> {
        self.pool.front_mut(self.lists[list])
    }

    /// The bit of an input queue says whether it has a packet.
    #[inline]
    fn set_request(&mut self, list: usize) {
        if let Some(word) = self.requests.get_mut(list / 64)
            && list < self.queues_per_vc * self.buffers.len()
        {
            let bit = 1 << (list % 64);
            match self.lists[list].is_empty() {
                true => *word &= !bit,
                false => *word |= bit,
            }
        }
    }

    /// Bandwidth at which packets come in at a port.
    fn input_rate(&self, port: u16) -> Rate {
        let port = &self.outputs[usize::from(port)];
        if port.to_host { self.injection } else { port.rate }
    }

    /// The part of the crossbar that leads to an output.
    fn server(&self, output: u16) -> u16 {
        match self.parameters.switch {
            Switch::PerPort => output,
            Switch::Shared => 0,
        }
    }

    /// The bytes of the flits of a packet, where the crossbar has cycles.
    fn whole_flits(&self, bytes: u32) -> u32 {
        match self.first_come() {
            true => bytes,
            false => bytes
                .div_ceil(self.parameters.flit)
                .saturating_mul(self.parameters.flit),
        }
    }

    /// Time after `time` for which the link of an output is taken.
    fn to_come(&self, port: u16, time: Time) -> Time {
        if let Some(link) = self.servers.get(usize::from(port)) {
            return link.to_come(time);
        }
        let state = &self.outputs[usize::from(port)].state;
        state.busy_until.saturating_sub(time.max(state.busy_from))
    }

    /// The load of an output, with that of a VC.
    fn output_load(&self, now: Time, port: u16, vc: u8) -> OutputLoad {
        let output = &self.outputs[usize::from(port)];
        let of_port = self.index(port, 0)..self.index(port, 0) + usize::from(self.vcs);
        let waiting: u64 = self.buffers[of_port]
            .iter()
            .map(|buffer| buffer.numbers.waiting)
            .sum();
        let Buffer { numbers, far, .. } = &self.buffers[self.index(port, vc)];
        if output.to_host {
            // Hosts take all packets and return no credits.
            return OutputLoad {
                all: output.state.load,
                waiting_for_vc: numbers.waiting,
                ..OutputLoad::default()
            };
        }
        OutputLoad {
            all: output.state.load,
            waiting_for_vc: numbers.waiting,
            taken: output.state.load.saturating_sub(waiting),
            taken_of_vc: u64::from(far.saturating_sub(numbers.credits.wrapping_add(numbers.reserved))),
            unsent: output.rate.bytes_in(self.to_come(port, now)),
        }
    }

    /// Routes a packet.
    fn route<O: RouterOutputs<CrossbarRouter>>(
        &mut self,
        now: Time,
        held: &mut CrossbarPacket,
        context: &RoutingContext<'_>,
        out: &mut O,
    ) {
        let packet = &mut held.packet;
        let at = At {
            router: self.id,
            input: Port(held.input),
            vc: held.input_vc,
            source: packet.source,
            destination: packet.destination,
        };
        let seen = CrossbarCongestion {
            router: self,
            now,
            bytes: packet.bytes,
            context,
        };
        let hop = context
            .routing
            .route(at, &mut packet.route, &seen, &mut out.random());
        (held.output, held.output_vc) = (hop.port.0, hop.vc);
        let (bytes, index) = (u64::from(packet.bytes), self.index(hop.port.0, hop.vc));
        self.note_output(hop.port.0, out);
        let state = &mut self.outputs[usize::from(hop.port.0)].state;
        state.load = state.load.wrapping_add(bytes);
        state.requested = state.requested.wrapping_add(1);
        self.note_buffer(index, out);
        let numbers = &mut self.buffers[index].numbers;
        numbers.waiting = numbers.waiting.wrapping_add(bytes);
        held.has_reserved =
            hop.claim == BufferClaim::Reserved && !self.outputs[usize::from(hop.port.0)].to_host;
        if held.has_reserved {
            debug_assert!(
                numbers.credits >= packet.bytes,
                "routing reserves credits that it has seen"
            );
            numbers.credits = numbers.credits.wrapping_sub(packet.bytes);
            numbers.reserved = numbers.reserved.wrapping_add(packet.bytes);
        }
        if out.tracks_waits() {
            out.observe(*packet, (hop.port.0, hop.vc), CrossbarObservation::Routed);
        }
    }

    /// A packet has arrived as far as it has to before it can cross.
    fn received<O: RouterOutputs<CrossbarRouter>>(
        &mut self,
        now: Time,
        mut held: CrossbarPacket,
        context: &RoutingContext<'_>,
        out: &mut O,
    ) {
        if self.first_come() {
            self.route(now, &mut held, context, out);
            (held.first, held.ready) = (held.arrived, now);
            self.admit(now, held, out);
        } else {
            if self.parameters.queue_per_output {
                self.route(now, &mut held, context, out);
            }
            let queue = self.queue_of(&held);
            let is_first = self.lists[queue].is_empty();
            self.push(queue, held, out);
            if is_first {
                self.begin_first(now, queue, context, out);
            }
        }
    }

    /// The space of packets that have left an output buffer is free.
    fn forget_left<O: RouterOutputs<CrossbarRouter>>(&mut self, now: Time, index: usize, out: &mut O) {
        while let Some(left) = self.buffers[index]
            .leaving
            .front()
            .copied()
            .filter(|left| left.at <= now)
        {
            self.note_buffer(index, out);
            let buffer = &mut self.buffers[index];
            buffer.numbers.space = buffer.numbers.space.wrapping_add(left.bytes);
            buffer.leaving.pop_front();
            out.note(|| CrossbarUndo::Left(index as u32, left));
        }
    }

    /// The head of a packet is in its output buffer.
    fn reach_output<O: RouterOutputs<CrossbarRouter>>(
        &mut self,
        now: Time,
        held: CrossbarPacket,
        out: &mut O,
    ) {
        let (output, index) = (held.output, self.index(held.output, held.output_vc));
        let list = self.output_list(index);
        let goes_on = self.lists[list].is_empty() && self.has_credits(index, &held);
        if goes_on && self.first_come() {
            self.send_booked(now, held, out);
            self.set_blocked(
                now,
                output,
                self.outputs[usize::from(output)].state.queued > 0,
                out,
            );
            return;
        }
        if goes_on && self.is_next(now, output) {
            self.send_next(now, held, out);
            return;
        }
        self.note_output(output, out);
        self.outputs[usize::from(output)].state.queued += 1;
        self.push(list, held, out);
        if self.first_come() {
            out.lacks_credits();
            self.set_blocked(now, output, true, out);
        } else {
            self.await_link(now, output, out);
        }
    }

    /// Whether a packet for a buffer behind a link has its credits.
    fn has_credits(&self, index: usize, held: &CrossbarPacket) -> bool {
        let port = index / usize::from(self.vcs);
        let credits = self.buffers[index].numbers.credits;
        held.has_reserved || self.outputs[port].to_host || credits >= held.packet.bytes
    }

    /// A packet takes its credits and starts onto the link at `start`, which it takes for `busy`.
    fn send<O: RouterOutputs<CrossbarRouter>>(
        &mut self,
        now: Time,
        held: CrossbarPacket,
        start: Time,
        busy: Time,
        out: &mut O,
    ) {
        let (output, vc, bytes) = (held.output, held.output_vc, held.packet.bytes);
        let index = self.index(output, vc);
        let whole_flits = self.whole_flits(bytes);
        self.note_output(output, out);
        self.note_buffer(index, out);
        let measured = self.measured;
        let CrossbarOutput {
            rate, to_host, state, ..
        } = &mut self.outputs[usize::from(output)];
        let on_link = rate.serialization(bytes);
        let of_a_flit = rate.serialization(self.parameters.flit);
        if let Some(since) = state.blocked_since.take() {
            state.stalls.unblock(since, now.max(since), measured);
        }
        state.requested = state.requested.wrapping_sub(1);
        let link = self.servers.get(usize::from(output)).map(Bookings::free);
        state.busy_from = start;
        state.busy_until = link.unwrap_or(start + busy);
        state.free = start + rate.serialization(whole_flits);
        let CrossbarOutputState { counters, stalls, .. } = state;
        counters.depart(start, busy, bytes, measured, || stalls);
        let numbers = &mut self.buffers[index].numbers;
        numbers.waiting = numbers.waiting.wrapping_sub(u64::from(bytes));
        if *to_host {
            state.load = state.load.wrapping_sub(u64::from(bytes));
        } else if held.has_reserved {
            numbers.reserved = numbers.reserved.wrapping_sub(bytes);
        } else {
            numbers.credits = numbers.credits.wrapping_sub(bytes);
        }
        let packet = held.packet.on_next_link();
        if out.tracks_waits() {
            let departure = CrossbarDeparture {
                server: self.server(output),
                output,
                vc,
                job: packet.job,
                queue: self.index(held.input, held.input_vc) as u32,
                arrived: held.arrived,
                first: held.first,
                ready: held.ready,
                crossed: match self.first_come() {
                    true => held.crossed,
                    // A flit later it could have started.
                    false => held.crossed + of_a_flit,
                },
                wait: start - now,
                serialization: on_link,
            };
            out.observe(packet, (output, vc), CrossbarObservation::Departs(departure));
            if start > now {
                out.observe(packet, (output, vc), CrossbarObservation::Reserved(start - now));
            }
        }
        out.depart(output, vc, packet, start - now, on_link);
    }

    /// Counts the time during which an idle link had packets, but none with credits.
    fn set_blocked<O: RouterOutputs<CrossbarRouter>>(
        &mut self,
        now: Time,
        output: u16,
        blocked: bool,
        out: &mut O,
    ) {
        let state = &self.outputs[usize::from(output)].state;
        if blocked == state.blocked_since.is_some() {
            return;
        }
        self.note_output(output, out);
        let measured = self.measured;
        let state = &mut self.outputs[usize::from(output)].state;
        match state.blocked_since.take() {
            Some(since) => state.stalls.unblock(since, now.max(since), measured),
            None => state.blocked_since = Some(now.max(state.busy_until)),
        }
    }

    /// Checks that a saved state belongs to a router with these settings and does not contradict itself.
    fn check(&self, state: &CrossbarRouterState) -> Result<(), String> {
        let id = self.id.0;
        let own = [
            self.outputs.len(),
            self.buffers.len(),
            self.servers.len(),
            self.lists.len(),
            self.slow.len(),
            self.clocks.len(),
            self.turns.len(),
        ];
        let saved = [
            state.outputs.len(),
            state.buffers.len(),
            state.servers.len(),
            state.lists.len(),
            state.slow.len(),
            state.clocks.len(),
            state.turns.len(),
        ];
        if own != saved {
            return Err(format!(
                "router {id}: the saved state is that of a router with other ports, virtual channels or parameters"
            ));
        }
        let ports = self.outputs.len();
        let fits = |held: &CrossbarPacket, routed: bool| {
            usize::from(held.input) < ports
                && held.input_vc < self.vcs
                && held.packet.bytes > 0
                && (!routed || (usize::from(held.output) < ports && held.output_vc < self.vcs))
        };
        let queues = if self.first_come() { 0 } else { self.queues() };
        let per_output = self.parameters.queue_per_output;
        for (list, packets) in state.lists.iter().enumerate() {
            // Of the input queue of a VC only the first packet is routed, of those that arrive none.
            let all_routed = (list >= queues || per_output) && list < self.arriving_list(0);
            let good = packets.iter().enumerate().all(|(place, held)| {
                fits(held, all_routed || (list < queues && place == 0))
                    && (list >= queues || self.queue_of(held) == list)
            });
            if !good {
                return Err(format!(
                    "router {id}: a packet in the saved state has no such port"
                ));
            }
        }
        let limit = |place: usize| match self.parameters.arbiter {
            Arbiter::LeastRecentlyUsed => u64::MAX,
            Arbiter::RoundRobin if place < self.buffers.len() => self.queues() as u64,
            Arbiter::Islip if place < 2 * ports => ports as u64,
            _ => u64::from(self.vcs),
        };
        let are_turns = state
            .turns
            .iter()
            .enumerate()
            .all(|(place, turn)| *turn < limit(place));
        if !are_turns
            || !state.servers.iter().all(Bookings::is_valid)
            || state.outputs.iter().any(|output| output.last_vc >= self.vcs)
        {
            return Err(format!("router {id}: the saved state contradicts itself"));
        }
        Ok(())
    }
}

impl RouterModel for CrossbarRouter {
    const MODEL: RouterModelKind = RouterModelKind {
        name: "crossbar",
        summary: "buffers of fixed size before and behind a crossbar with its own bandwidth and arbitration, credits \
                  for both; cut-through or store-and-forward",
        parameters: parameters! {
            choice("arbiter", &ARBITERS, "how packets cross; all but first-come need queues = \"per-output\" to have no head-of-line blocking");
            ITERATIONS;
            choice("crossbar", &SWITCHES, "one crossbar port for each output, or one server for the whole router (first-come)");
            CROSSBAR_BANDWIDTH;
            number("speedup", 1.0, "speed of the crossbar over that of the fastest link, 1 to 1000 with at most six decimals");
            FLIT;
            OUTPUT_BUFFER;
            choice("queues", &QUEUES, "one queue for each VC of an input port, or one for each VC and output");
            choice("switching", &PASSING, "whether a packet goes on when its head or its tail has arrived");
        },
        capabilities: RouterCapabilities {
            reports_credit_waits: true,
            signals_to_hosts: false,
            reserved_space: true,
            load_metrics: true,
            load_reports: true,
            ..RouterCapabilities::NONE
        },
    };

    type Parameters = CrossbarParameters;
    type Undo = CrossbarUndo;
    type State = CrossbarRouterState;
    type Timer = CrossbarTimer;
    type Signal = SlowPacket;
    type WaitTracker = CrossbarWaitTracker;

    fn read(section: &Section) -> Result<CrossbarParameters, config::Error> {
        let size = |parameter: Parameter, most: u32| -> Result<Option<u32>, config::Error> {
            let size: Option<Bytes> = section.optional(parameter.name)?;
            size.map(|size| match u32::try_from(size.bytes) {
                Ok(bytes) if (1..=most).contains(&bytes) => Ok(bytes),
                _ => {
                    let message = format!("{size} is out of range; expected 1 B to {most} B");
                    Err(section.error(parameter.name, message))
                }
            })
            .transpose()
        };
        let arbiter = section.choice("arbiter")?;
        let arbiter = Arbiter::named(arbiter).expect("one of the names");
        let first_come = arbiter == Arbiter::FirstCome;
        let switch = match section.choice("crossbar")? {
            "shared" => Switch::Shared,
            _ => Switch::PerPort,
        };
        if switch == Switch::Shared && !first_come {
            let message = "a shared crossbar has no ports among which this arbiter could choose; expected crossbar = \
                           \"per-port\", or arbiter = \"first-come\"";
            return Err(section.error("crossbar", message));
        }
        let bandwidth: Option<Bandwidth> = section.optional(CROSSBAR_BANDWIDTH.name)?;
        if let Some(bandwidth) = bandwidth
            && bandwidth.bits_per_s < Rate::MIN_BITS_PER_S
        {
            let message = format!("{bandwidth} is too slow; expected at least 1 Mbps");
            return Err(section.error(CROSSBAR_BANDWIDTH.name, message));
        }
        if bandwidth.is_some() && section.has("speedup") {
            let message = "both say how fast the crossbar is; expected one of crossbar_bandwidth and speedup";
            return Err(section.error("speedup", message));
        }
        let flit = size(FLIT, MOST_FLIT)?;
        if flit.is_some() && first_come {
            let message = "the arbiter first-come has no cycles; expected no flit, or another arbiter";
            return Err(section.error(FLIT.name, message));
        }
        let iterations: Option<u8> = section.optional(ITERATIONS.name)?;
        match iterations {
            Some(_) if arbiter != Arbiter::Islip => {
                let message =
                    "only the arbiter islip iterates; expected no iterations, or arbiter = \"islip\"";
                return Err(section.error(ITERATIONS.name, message));
            }
            Some(0 | 65..) => {
                return Err(section.error(ITERATIONS.name, "out of range; expected 1 to 64"));
            }
            _ => {}
        }
        let queue_per_output = section.choice("queues")? == QUEUES[1];
        if queue_per_output && matches!(arbiter, Arbiter::FirstCome | Arbiter::Rotating) {
            let why = match first_come {
                true => "with first-come, packets wait for their own output only, without queues",
                false => "the arbiter rotating asks each VC of an input for one packet",
            };
            let message = format!("{why}; expected queues = \"per-vc\", or another arbiter");
            return Err(section.error("queues", message));
        }
        Ok(CrossbarParameters {
            arbiter,
            switch,
            speedup: Speedup::read(section)?,
            bandwidth: bandwidth.map(|bandwidth| Rate::bits_per_s(bandwidth.bits_per_s)),
            vc_output_buffer: size(OUTPUT_BUFFER, MOST_BYTES)?,
            stores: section.choice("switching")? == PASSING[1],
            queue_per_output,
            flit: flit.unwrap_or(DEFAULT_FLIT),
            iterations: iterations.unwrap_or(1),
        })
    }

    fn capabilities(parameters: &CrossbarParameters) -> RouterCapabilities {
        let booked = parameters.arbiter == Arbiter::FirstCome;
        RouterCapabilities {
            // A link is not taken from the start to the end of a packet that comes in slowly.
            final_reservations: !booked,
            sends_signals: booked,
            stores_packets: parameters.stores,
            ..Self::MODEL.capabilities
        }
    }

    fn packet_limits(parameters: &CrossbarParameters) -> PacketLimits {
        let key = OUTPUT_BUFFER.name;
        PacketLimits {
            most: parameters
                .vc_output_buffer
                .map(|bytes| PacketLimit { bytes, key }),
            ..PacketLimits::default()
        }
    }

    fn bytes_per_port(_: u64, vcs: u64, _: bool) -> u64 {
        let list = size_of::<Fifo>();
        let per_vc = size_of::<Buffer>() + 2 * list + 1 + size_of::<u64>();
        let port = size_of::<CrossbarOutput>()
            + 2 * size_of::<Bookings>()
            + 2 * list
            + size_of::<VecDeque<(Time, Time)>>()
            + 3 * size_of::<Time>()
            + 3 * size_of::<u64>();
        port as u64 + vcs * per_vc as u64
    }

    fn new(setup: &RouterSetup<'_>, parameters: CrossbarParameters) -> CrossbarRouter {
        let ports = setup.ports;
        let first_come = parameters.arbiter == Arbiter::FirstCome;
        // The rate with the shortest time for the bytes of a long packet.
        let fastest = ports.iter().map(|port| port.rate).chain([setup.injection]);
        let fastest = fastest.min_by_key(|rate| rate.serialization(u32::MAX));
        let fastest = fastest.expect("the injection rate");
        let crossbar = parameters.bandwidth.unwrap_or(parameters.speedup.of(fastest));
        let output = |port: &PortSetting| CrossbarOutput {
            rate: port.rate,
            to_host: port.to_host,
            pipeline: port.pipeline,
            state: CrossbarOutputState {
                load: 0,
                requested: 0,
                queued: 0,
                busy_from: Time::ZERO,
                busy_until: Time::ZERO,
                free: Time::ZERO,
                last_vc: setup.vcs - 1,
                blocked_since: None,
                counters: LinkCounters::default(),
                stalls: StallCounters::default(),
            },
        };
        let buffers = setup.per_vc(|port| {
            let size = parameters.vc_output_buffer.unwrap_or(port.credits);
            Buffer {
                numbers: BufferNumbers {
                    space: size,
                    credits: port.credits,
                    waiting: 0,
                    reserved: 0,
                },
                far: port.credits,
                leaving: VecDeque::new(),
            }
        });
        let count = ports.len();
        let queues_per_vc = if parameters.queue_per_output { count } else { 1 };
        let queues = buffers.len() * queues_per_vc;
        CrossbarRouter {
            id: setup.id,
            vcs: setup.vcs,
            parameters,
            crossbar,
            cycle: crossbar.serialization(parameters.flit).max(Time(1)),
            queues_per_vc,
            injection: setup.injection,
            measured: setup.measured,
            outputs: ports.iter().map(output).collect(),
            servers: vec![Bookings::default(); if first_come { 2 * count } else { 0 }].into(),
            lists: vec![Fifo::EMPTY; queues + buffers.len() + 2 * count].into(),
            pool: PacketPool::default(),
            requests: vec![0; if first_come { 0 } else { queues.div_ceil(64) }].into(),
            slow: vec![VecDeque::new(); count].into(),
            clocks: match first_come {
                true => Box::default(),
                false => {
                    let busy = vec![Time::ZERO; 2 * count];
                    busy.into_iter().chain(vec![Time::MAX; count + 1]).collect()
                }
            },
            turns: CrossbarRouter::turns(parameters.arbiter, (count, queues), setup.vcs).into(),
            able: Vec::new(),
            buffers: buffers.into(),
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
        let from_host = self.outputs[usize::from(input)].to_host;
        let mut incoming = self.input_rate(input).serialization(packet.bytes);
        if self.parameters.stores && !from_host {
            // It comes with its tail.
            incoming = Time::ZERO;
        }
        if let Some((_, span)) = self.slow[usize::from(input)]
            .front()
            .copied()
            .filter(|(at, _)| *at <= now)
        {
            self.slow[usize::from(input)].pop_front().inspect(|(at, span)| {
                out.note(|| CrossbarUndo::Came(input, *at, *span));
            });
            incoming = span;
        }
        let held = CrossbarPacket {
            packet,
            arrived: now,
            first: now,
            ready: now,
            crossed: now,
            incoming,
            input,
            output: NO_PORT,
            input_vc: vc,
            output_vc: 0,
            has_reserved: false,
        };
        if out.tracks_waits() {
            out.observe(packet, (0, 0), CrossbarObservation::Arrived);
        }
        if self.parameters.stores && self.first_come() && incoming > Time::ZERO {
            self.push(self.arriving_list(input), held, out);
            out.timer(CrossbarTimer::Stored { input }, incoming);
        } else {
            self.received(now, held, context, out);
        }
    }

    #[inline(never)]
    fn credit<O: RouterOutputs<Self>>(&mut self, now: Time, port: u16, vc: u8, bytes: u32, out: &mut O) {
        let index = self.index(port, vc);
        self.note_output(port, out);
        self.note_buffer(index, out);
        let load = &mut self.outputs[usize::from(port)].state.load;
        *load = load.wrapping_sub(u64::from(bytes));
        let credits = &mut self.buffers[index].numbers.credits;
        *credits = credits.wrapping_add(bytes);
        if self.first_come() {
            let list = self.output_list(index);
            while let Some(first) = self.first(list)
                && self.has_credits(index, first)
            {
                if let Some(held) = self.pop(list, out) {
                    let queued = &mut self.outputs[usize::from(port)].state.queued;
                    *queued = queued.wrapping_sub(1);
                    self.send_booked(now, held, out);
                }
            }
            self.set_blocked(now, port, self.outputs[usize::from(port)].state.queued > 0, out);
        } else {
            self.await_link(now, port, out);
        }
    }

    #[inline(never)]
    fn timer<O: RouterOutputs<Self>>(
        &mut self,
        now: Time,
        timer: CrossbarTimer,
        context: &RoutingContext<'_>,
        out: &mut O,
    ) {
        match timer {
            CrossbarTimer::Stored { input } => {
                // None comes only in a timeline that is undone later.
                if let Some(mut held) = self.pop(self.arriving_list(input), out) {
                    held.incoming = Time::ZERO;
                    self.received(now, held, context, out);
                }
            }
            CrossbarTimer::Crossed { server } => {
                let list = self.crossing_list(server);
                while let Some(first) = self.first(list)
                    && first.crossed <= now
                {
                    if let Some(held) = self.pop(list, out) {
                        self.reach_output(now, held, out);
                    }
                }
            }
            CrossbarTimer::Left { output, vc } => {
                let index = self.index(output, vc);
                self.forget_left(now, index, out);
                self.use_space(now, index, out);
                if !self.lists[self.waiting_list(index)].is_empty() {
                    self.await_space(now, index, out);
                }
            }
            CrossbarTimer::Cycle => self.run_cycle(now, context, out),
            CrossbarTimer::Link { output } => self.serve_link(now, output, out),
        }
    }

    fn signal<O: RouterOutputs<Self>>(
        &mut self,
        now: Time,
        port: u16,
        signal: SlowPacket,
        _: &RoutingContext<'_>,
        out: &mut O,
    ) {
        let input = usize::from(port);
        let arrives = now + self.outputs[input].pipeline;
        self.slow[input].push_back((arrives, signal.incoming()));
        out.note(|| CrossbarUndo::Announced(port));
    }

    fn undo(&mut self, step: CrossbarUndo) {
        match step {
            CrossbarUndo::Pushed(list, previous) => {
                self.pool.undo_push_back(&mut self.lists[list as usize], previous);
                self.set_request(list as usize);
            }
            CrossbarUndo::Popped(list_index, held) => {
                let (identity, progress) = held.packet.split();
                self.pool.undo_release(identity);
                let list = &mut self.lists[list_index as usize];
                *self.pool.undo_pop_front(list, progress) = *held;
                self.set_request(list_index as usize);
            }
            CrossbarUndo::Routed(list, before) => {
                if let Some(held) = self.first_mut(list as usize) {
                    held.packet.route = before;
                    (held.output, held.output_vc, held.has_reserved) = (NO_PORT, 0, false);
                }
            }
            CrossbarUndo::Ready(list, ready, first) => {
                if let Some(held) = self.first_mut(list as usize) {
                    (held.ready, held.first) = (ready, first);
                }
            }
            CrossbarUndo::Output(output, state) => self.outputs[usize::from(output)].state = *state,
            CrossbarUndo::Buffer(index, numbers) => self.buffers[index as usize].numbers = *numbers,
            CrossbarUndo::Booked(server, bookings) => self.servers[usize::from(server)] = *bookings,
            CrossbarUndo::BookedNext(server, free) => {
                self.servers[usize::from(server)] = Bookings::until(free);
            }
            CrossbarUndo::Leaves(index) => {
                self.buffers[index as usize].leaving.pop_back();
            }
            CrossbarUndo::Left(index, left) => self.buffers[index as usize].leaving.push_front(left),
            CrossbarUndo::Announced(input) => {
                self.slow[usize::from(input)].pop_back();
            }
            CrossbarUndo::Came(input, at, span) => self.slow[usize::from(input)].push_front((at, span)),
            CrossbarUndo::Clock(clock, before) => self.clocks[clock as usize] = before,
            CrossbarUndo::Turn(turn, before) => self.turns[turn as usize] = before,
        }
    }

    fn state(&self) -> CrossbarRouterState {
        CrossbarRouterState {
            outputs: self.outputs.iter().map(|output| output.state.clone()).collect(),
            buffers: self
                .buffers
                .iter()
                .map(|buffer| (buffer.numbers, buffer.leaving.clone()))
                .collect(),
            servers: self.servers.to_vec(),
            lists: self
                .lists
                .iter()
                .map(|list| self.pool.iter(*list).copied().collect())
                .collect(),
            slow: self.slow.to_vec(),
            clocks: self.clocks.to_vec(),
            turns: self.turns.to_vec(),
        }
    }

    fn restore(&mut self, state: CrossbarRouterState) -> Result<(), String> {
        self.check(&state)?;
        for (output, saved) in self.outputs.iter_mut().zip(state.outputs) {
            output.state = saved;
        }
        for (buffer, (numbers, leaving)) in self.buffers.iter_mut().zip(state.buffers) {
            (buffer.numbers, buffer.leaving) = (numbers, leaving);
        }
        self.servers = state.servers.into();
        self.pool.clear();
        for (list, packets) in self.lists.iter_mut().zip(state.lists) {
            *list = Fifo::EMPTY;
            for held in packets {
                self.pool.push_back(list, held);
            }
        }
        self.slow = state.slow.into();
        self.clocks = state.clocks.into();
        self.turns = state.turns.into();
        (0..self.queues()).for_each(|list| self.set_request(list));
        Ok(())
    }

    fn id(&self) -> RouterId {
        self.id
    }

    fn for_each_held(&self, see: &mut dyn FnMut(Holding)) {
        let before_the_crossbar = |list: usize| list < self.queues() || list >= self.arriving_list(0);
        for (list, packets) in self.lists.iter().enumerate() {
            for held in self.pool.iter(*packets) {
                if before_the_crossbar(list) {
                    Holding::whole(&held.packet, (held.input, held.input_vc), see);
                } else {
                    // The credit for its input buffer is on the way.
                    see(Holding::Packet(held.packet));
                }
            }
        }
    }

    /// Bytes that are routed to `port`, are in flight there, or whose credit has not returned.
    fn load(&self, port: u16) -> u64 {
        self.outputs[usize::from(port)].state.load
    }

    /// Includes the credits that routed packets have reserved.
    fn credits(&self, port: u16, vc: u8) -> u32 {
        let numbers = &self.buffers[self.index(port, vc)].numbers;
        numbers.credits.wrapping_add(numbers.reserved)
    }

    fn used(&self, port: u16, end: Time) -> LinkUse {
        let state = &self.outputs[usize::from(port)].state;
        let mut stalls = state.stalls;
        if let Some(since) = state.blocked_since {
            stalls.unblock(since, end.max(since), self.measured);
        }
        let busy = (end, end + self.to_come(port, end));
        LinkUse::new(state.counters, stalls, busy, self.measured)
    }

    /// With head-of-line blocking, counts only the first packets of queues, since the others are not routed yet.
    fn waiting_at(&self, port: u16) -> u32 {
        self.outputs[usize::from(port)].state.requested
    }

    fn is_active(&self, port: u16, time: Time) -> bool {
        let state = &self.outputs[usize::from(port)].state;
        state.busy_until > time || state.blocked_since.is_some()
    }
}

#[cfg(test)]
#[path = "crossbar_tests.rs"]
mod tests;
