//! The `flit` router: an input-queued router with virtual channels, cycle by cycle and flit by flit.
//!
//! The stages are those of W. J. Dally and B. Towles, "Principles and Practices of Interconnection Networks", 2004,
//! chapter 16, in their order: a flit is written into the buffer of its input port and virtual channel (VC); the head
//! of a packet is routed ([`CongestionOfFlits`] is what routing sees); it gets a VC of its output ([`vc_allocation`]);
//! each flit gets the crossbar ([`switch_allocation`]), passes it and starts onto the link, while a credit goes back
//! ([`traversal`]). A VC passes one stage in a step; a cycle has one step, or more with an internal speedup.
//!
//! A packet holds a VC of an output from the allocation until its tail leaves, so that the packets of a VC follow each
//! other. With wormhole switching a flit needs a credit of the buffer behind its link, and a packet may stand in
//! several routers; with cut-through a head needs credits for all of its packet.
//!
//! The times are those of BookSim 2 (N. Jiang et al., "A detailed and flexible cycle-accurate network-on-chip
//! simulator", ISPASS 2013), router `iq`. A packet of P flits takes, without others,
//!
//! > sum over cables + R (r + 1) + P cycles, r = floor((routing_delay + 2 + crossbar_delay - 1) / speedup)
//!
//! through R routers, and one cycle at its NIC.
//!
//! A router is evaluated in cycles in which something can happen: a flit or credit has arrived, or a packet has lost an
//! arbitration. So routers that have nothing to do cost nothing.

mod allocators;
mod clock;
mod shared_buffers;
mod switch_allocation;
mod traversal;
mod vc_allocation;

use std::collections::VecDeque;
use std::num::NonZeroU32;

use config::{Bytes, Parameter, Section, Type, parameters};
use des::Time;
use routing::{At, Congestion, LoadMetric};
use serde::{Deserialize, Serialize};
use topology::{Port, RouterId};

use super::output_load::OutputLoad;
use super::{
    Arrival, Holding, PortSetting, RouterModel, RouterModelKind, RouterOutputs, RouterSetup, RoutingContext,
    Speedup,
};
use crate::capabilities::{FlitFlow, RouterCapabilities, Switching};
use crate::link::{LinkCounters, StallCounters};
use crate::packet_pool::{Fifo, PacketPool, Previous};
use crate::waits::{CrossbarObservation, CrossbarWaitTracker};
use crate::{LinkUse, Measured, Packet, Rate, TrafficClasses};
use allocators::{Arbiters, Scratch};
use clock::{cycle_of, steps_before};

pub use allocators::{Allocator, ArbiterTree, FlitArbiter, WavefrontPointer};
pub(crate) use clock::FlitClock;
pub(crate) use shared_buffers::SharedBuffer;
pub(crate) use vc_allocation::vcs_by_output;

/// Names of the allocators; the first is the default.
const ALLOCATORS: [&str; 8] = [
    "separable-input-first",
    "separable-output-first",
    "islip",
    "wavefront",
    "rotating-wavefront",
    "lonely-output",
    "maximum-size",
    "select",
];

/// Names of [`FlitArbiter`] in experiments; the first is the default.
const ARBITERS: [&str; 2] = ["round-robin", "matrix"];

/// When a VC of an output may be allocated to another packet; the first is the default.
const VC_REUSE: [&str; 2] = ["after-tail", "after-credits"];

/// Which of the VCs that routing allows a packet may get; the first is the default.
const VC_ASSIGNMENT: [&str; 2] = ["any", "next-output"];

/// Which VCs of the links to and from hosts a packet may get; the first is the default.
const HOST_VCS: [&str; 2] = ["any", "by-routing"];

/// How long a VC keeps the crossbar that it has won; the first is the default.
const SWITCH_ALLOCATION: [&str; 2] = ["per-flit", "per-packet"];

/// Which free VCs of an output a head asks for; the first is the default.
const VC_REQUESTS: [&str; 2] = ["free", "with-credit"];

/// Which of the VCs that it asks for a head prefers; the first is the default.
const VC_PREFERENCE: [&str; 2] = ["none", "empty"];

/// In which order the arbiters of VC allocation know the input VCs; the first is the default.
const VC_REQUESTERS: [&str; 2] = ["by-port", "by-vc"];

/// Which packets go first in all arbiters; the first is the default.
const PRIORITY: [&str; 2] = ["none", "age"];

/// How heads ask for the crossbar before they have a VC; the first is the default.
const SPECULATION: [&str; 4] = ["none", "low-priority", "masked-by-grants", "masked-by-requests"];

/// What a head needs for that; the first is the default.
const SPECULATION_NEEDS: [&str; 3] = ["credit", "free", "nothing"];

/// How VCs are allocated; the first is the default.
const VC_ALLOCATION: [&str; 2] = ["allocator", "with-switch"];

/// How flits move through a stage of several steps; the first is the default.
const STAGES: [&str; 2] = ["pipelined", "batched"];

/// Whether the VCs of an input port share its buffer; the first is the default.
const BUFFERS: [&str; 2] = ["private", "shared"];

/// Names of the ways in which packets move into buffers; the first is the default.
const SWITCHING: [&str; 2] = ["wormhole", "cut-through"];

const FLIT: Parameter = Parameter::computed("flit", Type::Size, "16 B", "bytes that cross in one cycle");

const ITERATIONS: Parameter = Parameter::computed(
    "iterations",
    Type::Integer,
    "1",
    "iterations of islip or select in one cycle, 1 to 64",
);

const OUTPUT_BUFFER: Parameter = Parameter::computed(
    "output_buffer",
    Type::Size,
    "no limit",
    "queue of one output port, between crossbar and link, in whole flits, at most 1 GiB",
);

const PRIVATE_BUFFER: Parameter = Parameter::computed(
    "private_buffer",
    Type::Size,
    "a flit, of shared buffers",
    "part of a shared buffer that one virtual channel has for itself, in whole flits",
);

const MOST_OUTPUT_BUFFER: u64 = 1 << 30;

const DEFAULT_FLIT: u32 = 16;
const MOST_FLIT: u32 = 1 << 16;

/// The most cycles of a stage.
const MOST_CYCLES: u16 = 1000;

/// The most VCs of a port: a word has a bit for each.
pub const MOST_VCS: u8 = 64;

/// How heads ask for the crossbar before they have a VC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speculation {
    /// They do not.
    None,
    /// With a lower priority than flits that have one.
    LowPriority,
    /// By an allocator of their own, of whose grants those count that meet no grant to other flits.
    MaskedByGrants,
    /// The same, but those that meet no request of other flits for the output.
    MaskedByRequests,
}

/// What a head needs to ask for the crossbar before it has a VC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpeculationNeeds {
    /// A free VC with a credit.
    Credit,
    /// A free VC.
    Free,
    /// Nothing.
    Nothing,
}

/// The parameters of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlitParameters {
    /// Bytes of a flit.
    pub flit: u32,
    /// Allocator of VCs and of the switch.
    pub allocator: Allocator,
    /// Arbiters of the allocators that have any.
    pub arbiter: ArbiterTree,
    /// Whether a VC of an output is free when all of its credits have returned, and not when a tail has left.
    pub awaits_credits: bool,
    /// Whether the VCs of a link are divided by the output at the router behind it, and not shared by all packets.
    pub vcs_by_next_output: bool,
    /// Whether a packet gets a random VC of the link from its host, and on the link to a host the VC that routing
    /// gives, and not any one.
    pub host_vcs_by_routing: bool,
    /// Whether a VC that has won the crossbar holds it while its packet has flits and credits.
    pub holds_crossbar: bool,
    /// Inputs of the crossbar for each input port.
    pub input_speedup: u8,
    /// Outputs of the crossbar for each output port.
    pub output_speedup: u8,
    /// Flits between the crossbar and a link at which no other flit gets the crossbar; `None`: without a limit.
    pub output_flits: Option<u32>,
    /// Whether a head asks only for VCs that have a credit.
    pub asks_with_credit: bool,
    /// Whether a head prefers VCs that have all of their credits.
    pub prefers_empty: bool,
    /// Whether VC allocation numbers input VCs by VC, then port, and not by port, then VC.
    pub requesters_by_vc: bool,
    /// Whether packets that were created in an earlier cycle go first.
    pub oldest_first: bool,
    /// How heads ask for the crossbar before they have a VC.
    pub speculation: Speculation,
    /// What they need for that.
    pub speculation_needs: SpeculationNeeds,
    /// Whether a head gets a VC when it has won the crossbar, without an allocator of VCs.
    pub vcs_with_switch: bool,
    /// Bytes that a VC has for itself of a buffer whose rest all VCs share; `None`: each has an equal part.
    pub private_part: Option<NonZeroU32>,
    /// Whether what comes into routing or into the crossbar waits until what is there has passed, at all ports
    /// together.
    pub batched: bool,
    /// Steps of a cycle.
    pub speedup: Speedup,
    /// Steps in which a head is routed; 0: its output is known when it arrives (lookahead).
    pub routing_delay: u16,
    /// Steps in which a flit passes the crossbar, at least 1.
    pub crossbar_delay: u16,
    /// When a head may leave.
    pub switching: Switching,
}

/// No packet holds the VC.
const FREE: u32 = u32::MAX;

/// No packet holds the VC, and credits of one before have not returned.
const DRAINING: u32 = u32::MAX - 1;

/// The places of VCs that flits from links bring into a stage, by input port, are after those of others in a step.
const FROM_LINK: u32 = 1 << 19;

/// The turn of a VC that goes before all that have come into its stage in earlier steps.
fn first_turn(step: u64, place: u32) -> i64 {
    ((step as i64) << 20).wrapping_neg() + i64::from(place)
}

/// The turn of a VC that goes after all that have come into its stage in earlier steps.
fn last_turn(step: u64, place: u32) -> i64 {
    ((step as i64) << 20) + i64::from(place)
}

/// No cycle is to be evaluated.
const ASLEEP: u64 = u64::MAX;

/// A timer of a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FlitTimer {
    /// The middle of a cycle.
    Cycle,
    /// The next flit is there of a packet that a router without flits sends: its port and VC, and the flits after it.
    Flit(u16, u8, u32),
}

/// A flit on a link that is no head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BodyFlit {
    /// VC.
    pub vc: u8,
    /// Bytes of a flit.
    pub bytes: u32,
}

/// What the first packet of an input VC waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum FlitStage {
    /// There is no packet.
    Idle,
    /// A VC of its output.
    VcAllocation,
    /// The crossbar, flit by flit.
    SwitchAllocation,
}

/// The mutable state of an input VC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputVc {
    /// The first step in which its stage may be passed.
    ready: u64,
    /// Its place among the VCs of the same stage: see [`FlitRouter::in_turn`].
    turn: i64,
    /// Flits in its buffer.
    flits: u32,
    /// Flits of its first packet that have left.
    sent: u32,
    /// Output of its first packet.
    output: u16,
    /// VC of that output: the one for routing until one is allocated.
    vc: u8,
    stage: FlitStage,
    /// The first VC of that output that it may get.
    first_vc: u8,
    /// How many from that one on it may get.
    vcs: u8,
    /// Whether it holds the crossbar from its input to its output.
    holds: bool,
}

/// The mutable state of a VC of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputVc {
    /// The input VC whose packet holds it, or [`FREE`].
    owner: u32,
    /// Free bytes of the buffer at the far end.
    credits: u32,
    /// Bytes of whole flits that are routed to it and have not left; all copies of a VC have them in the first one.
    waiting: u32,
}

/// The mutable state of a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlitPortState {
    /// Bytes of whole flits that are routed to the output, are in flight, or whose credit has not returned.
    load: u64,
    /// Packets that are routed to the output and have not departed: with their heads, for hosts with their tails.
    requested: u32,
    /// First cycle in which the link takes another flit.
    link_free: u64,
    /// First cycle in which another message with credits goes back.
    credit_free: u64,
    /// The step of the flits whose credits the last message has.
    credit_step: u64,
    /// Cycles in which flits leave, to come and not long ago.
    booked: VecDeque<u64>,
    /// If the queue before the link is bounded: flits that have the crossbar and have not left, as the steps in which
    /// they reach the queue, and the cycles in which they leave.
    queued: VecDeque<(u64, u64)>,
    /// Time from which the link idles because no flit has credits.
    blocked_since: Option<Time>,
    /// Flits that a host has not returned: the cycle in which the credit counts, and the VC.
    at_host: VecDeque<(u64, u8)>,
    counters: LinkCounters,
    stalls: StallCounters,
}

/// A port.
#[derive(Clone, Debug)]
struct FlitPort {
    /// Time of a flit on the link.
    flit: Time,
    /// The same in cycles.
    flit_cycles: u64,
    to_host: bool,
    /// Whether the router at the far end sends and takes whole packets: see [`joined_after`].
    whole_packets: bool,
    /// From a flit's arrival at the far end of the cable until it is in the buffer.
    pipeline: Time,
    /// Cycles from the one in which a flit leaves for a host until its credit counts.
    host_loop: u64,
    /// Size of each VC's buffer at the far end.
    far: u32,
    state: FlitPortState,
}

/// A packet with flits in a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BufferedPacket {
    packet: Packet,
    /// Arrival time of its head.
    arrived: Time,
    /// Time from which no packet before it held it up.
    first: Time,
    /// The earliest start of its head on the link.
    ready: Time,
}

impl AsMut<Packet> for BufferedPacket {
    fn as_mut(&mut self) -> &mut Packet {
        &mut self.packet
    }
}

/// An undo step of a router.
#[derive(Clone, Debug)]
pub enum FlitUndo {
    /// A head went to the end of the buffer of an input VC.
    Pushed(u32, Previous),
    /// The tail of the first packet of an input VC left.
    Popped(u32, Box<BufferedPacket>),
    /// The first packet of an input VC was routed.
    Routed(u32, Box<BufferedPacket>),
    /// An input VC changed.
    Input(u32, Box<InputVc>),
    /// A VC of an output changed.
    Output(u32, OutputVc),
    /// A port changed.
    Port(u16, Box<FlitPortState>),
    /// The pointer of an arbiter changed.
    Pointer(u32, u32),
    /// The next cycle changed.
    Next(u64),
    /// Another batch begins in a stage.
    Batch(StageOfBatches, u64),
}

/// A stage that can take batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageOfBatches {
    /// Routing.
    Routing,
    /// The crossbar.
    Crossbar,
}

const _: () = assert!(size_of::<FlitUndo>() <= 24);

/// When a router without flits handles a packet, from the arrival of the tail's first bit: it takes the packet as one
/// that has come at the rate of the link, with this tail. So its head came earlier, and it has been in the pipeline
/// since then. A pipeline that is shorter than that begins with the tail.
pub fn joined_after(pipeline: Time, flit: Time, flits: u32) -> Time {
    pipeline.saturating_sub(Time(flit.ps() * u64::from(flits.max(1) - 1)))
}

/// One router.
#[derive(Clone, Debug)]
pub struct FlitRouter {
    id: RouterId,
    vcs: u8,
    classes: TrafficClasses,
    parameters: FlitParameters,
    clock: FlitClock,
    measured: Measured,
    /// The next cycle that is evaluated, or [`ASLEEP`].
    next: u64,
    /// The step after the last batch in each of [`StageOfBatches`].
    batches: Box<[u64; 2]>,
    ports: Box<[FlitPort]>,
    /// By input port, then VC.
    inputs: Box<[InputVc]>,
    /// By input port, then VC: packets in its buffer.
    buffers: Box<[Fifo]>,
    pool: PacketPool<BufferedPacket>,
    /// By output port, then VC.
    outputs: Box<[OutputVc]>,
    /// What arbiters know: see [`FlitRouter::place_of`].
    pointers: Box<[u32]>,
    /// Entries of `pointers` of the allocators of VCs and of the switch, and of that for heads without a VC.
    entries: [u32; 3],
    /// By input port.
    waiting: Box<[WaitingVcs]>,
    /// By number of an input of the crossbar at its port, a bit for each VC that uses it.
    lanes: Box<[u64]>,
    /// `None` before the first cycle.
    work: Option<Box<Work>>,
}

/// VCs of an input port, one bit each. They follow from the states of the VCs.
#[derive(Clone, Copy, Debug, Default)]
struct WaitingVcs {
    /// The first packet waits for a VC.
    allocating: u64,
    /// The first packet has a VC, and a flit here.
    sending: u64,
    /// It holds the crossbar.
    holding: u64,
}

/// Memory that is empty between cycles.
#[derive(Clone, Debug, Default)]
struct Work {
    requests: Vec<allocators::Request>,
    /// VCs of the requests for the switch.
    stands_for: Vec<u8>,
    /// By request, what goes before the arbiters of requester and resource, the least first; empty: nothing.
    ranks: Vec<[u64; 2]>,
    /// By input port, a bit for each VC whose head asks for the crossbar and has no VC of its output.
    early: Vec<u64>,
    /// The requests of such heads, where they have an allocator of their own.
    early_requests: Vec<allocators::Request>,
    early_stands_for: Vec<u8>,
    early_granted: Vec<usize>,
    granted: Vec<usize>,
    changed: Vec<(u32, u32)>,
    scratch: Scratch,
    /// Ports with flits that lack credits, and with flits that have them.
    /// Inputs and outputs of the crossbar that a packet held when the step began.
    held_inputs: Vec<u32>,
    held_outputs: Vec<u32>,
    lacking: Vec<u16>,
    able: Vec<u16>,
    /// Whether a VC waits in the stage of the allocator.
    has_waiting: bool,
    /// Whether something may happen in the next cycle.
    again: bool,
}

/// Whose pointers.
#[derive(Clone, Copy, Debug)]
enum PointersOf {
    /// The allocator of VCs.
    Vcs,
    /// The allocator of the switch.
    Switch,
    /// The inputs of the crossbar: which of its VCs each prefers.
    Inputs,
    /// The allocator of the switch for heads without a VC.
    Early,
    /// The outputs: which of its VCs the next head gets that has won the crossbar.
    Outputs,
}

/// The mutable state of a router.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlitRouterState {
    next: u64,
    batches: [u64; 2],
    ports: Vec<FlitPortState>,
    inputs: Vec<InputVc>,
    outputs: Vec<OutputVc>,
    buffers: Vec<Vec<BufferedPacket>>,
    pointers: Vec<u32>,
}

/// Reads `buffers` and `private_buffer`, for flits of this size.
///
/// # Errors
/// A private part that is none or too small, or routers that would take the same place twice.
fn read_private_part(
    section: &Section,
    flit: u32,
    (switching, output_speedup): (Switching, u8),
) -> Result<Option<NonZeroU32>, config::Error> {
    let is_shared = section.choice("buffers")? == BUFFERS[1];
    let private: Option<Bytes> = section.optional(PRIVATE_BUFFER.name)?;
    if !is_shared {
        return match private {
            None => Ok(None),
            Some(_) => {
                let message = "only shared buffers have private parts; expected no private_buffer, or buffers = \"shared\"";
                Err(section.error(PRIVATE_BUFFER.name, message))
            }
        };
    }
    if switching == Switching::CutThrough {
        let message = "a packet does not keep the space of a shared buffer for its next flits; expected buffers = \
                       \"private\", or switching = \"wormhole\"";
        return Err(section.error("buffers", message));
    }
    if output_speedup > 1 {
        let message = "two flits that reach one output in a step could take the last place of a shared buffer; expected \
                       buffers = \"private\", or output_speedup = 1";
        return Err(section.error("buffers", message));
    }
    match private {
        None => Ok(NonZeroU32::new(flit)),
        Some(size) if (u64::from(flit)..=MOST_OUTPUT_BUFFER).contains(&size.bytes) => {
            Ok(NonZeroU32::new(size.bytes as u32 / flit * flit))
        }
        Some(size) => {
            let message = format!("{size} is out of range; expected a flit, {flit} B, to 1 GiB");
            Err(section.error(PRIVATE_BUFFER.name, message))
        }
    }
}

/// The congestion that routing sees.
struct CongestionOfFlits<'a> {
    router: &'a FlitRouter,
    now: Time,
    context: &'a RoutingContext<'a>,
}

impl Congestion for CongestionOfFlits<'_> {
    fn load(&self, port: Port) -> u64 {
        self.router.load(port.0)
    }

    fn load_by(&self, metric: LoadMetric, port: Port, vc: u8) -> u64 {
        self.router.output_load(self.now, port.0, vc).by(metric)
    }

    fn reported_load(&self, slot: usize) -> u64 {
        self.context.reported_load(slot)
    }

    /// No routing that reserves space can use this model.
    fn free_space(&self, _: Port, _: u8) -> u64 {
        0
    }
}

impl FlitRouter {
    /// Index of a VC of a port.
    #[inline]
    fn index(&self, port: u16, vc: u8) -> usize {
        usize::from(port) * usize::from(self.vcs) + usize::from(vc)
    }

    /// Port and VC of an index.
    #[inline]
    fn port_of(&self, index: usize) -> (u16, u8) {
        // Short divisions are faster.
        let (index, vcs) = (index as u32, u32::from(self.vcs));
        ((index / vcs) as u16, (index % vcs) as u8)
    }

    /// Flits of a packet.
    #[inline]
    fn flits_of(&self, packet: &Packet) -> u32 {
        packet.bytes.div_ceil(self.parameters.flit)
    }

    /// Bytes of the flits of a packet.
    #[inline]
    fn whole_flits(&self, packet: &Packet) -> u32 {
        self.flits_of(packet).saturating_mul(self.parameters.flit)
    }

    /// Where the bytes that wait for a VC of routing are counted: in its first copy, or the first VC of a host's port.
    fn counted_at(&self, port: u16, class: u8, routing_vc: u8) -> usize {
        let first = match self.ports[usize::from(port)].to_host {
            true => self.classes.first_vc(class),
            false => self.classes.copies_of(class, routing_vc).start,
        };
        self.index(port, first)
    }

    /// The first entry of an allocator, the number of its entries, and those of its requesters and its resources.
    fn place_of(&self, of: PointersOf) -> (usize, usize, (u32, u32)) {
        let (all, ports) = (self.inputs.len() as u32, self.ports.len() as u32);
        let [vcs, switch, early] = self.entries.map(|entries| entries as usize);
        let inputs = ports * u32::from(self.parameters.input_speedup);
        let outputs = ports * u32::from(self.parameters.output_speedup);
        match of {
            PointersOf::Vcs => (0, vcs, (all, all)),
            PointersOf::Switch => (vcs, switch, (inputs, outputs)),
            PointersOf::Inputs => (vcs + switch, inputs as usize, (inputs, outputs)),
            PointersOf::Early => (vcs + switch + inputs as usize, early, (inputs, outputs)),
            PointersOf::Outputs => {
                let first = vcs + switch + inputs as usize + early;
                (first, self.pointers.len() - first, (ports, ports))
            }
        }
    }

    /// Bytes that a VC of an output may send into the buffer behind its link.
    #[inline]
    fn room(&self, output: usize) -> u32 {
        match self.parameters.private_part {
            None => self.outputs[output].credits,
            Some(private) => self.room_of_shared(output, private.get()),
        }
    }

    #[inline(never)]
    fn room_of_shared(&self, output: usize, private: u32) -> u32 {
        let port = self.port_of(output).0;
        let equal = self.ports[usize::from(port)].far;
        let first = self.index(port, 0);
        let of_port = &self.outputs[first..first + usize::from(self.vcs)];
        let credits = of_port.iter().map(|vc| vc.credits);
        SharedBuffer { private, equal }.room(credits, self.outputs[output].credits)
    }

    #[inline]
    fn note_input<J: des::Journal<FlitUndo>>(&self, index: usize, journal: &mut J) {
        journal.note(|| FlitUndo::Input(index as u32, Box::new(self.inputs[index])));
    }

    #[inline]
    fn note_output<J: des::Journal<FlitUndo>>(&self, index: usize, journal: &mut J) {
        journal.note(|| FlitUndo::Output(index as u32, self.outputs[index]));
    }

    #[inline]
    fn note_port<J: des::Journal<FlitUndo>>(&self, port: u16, journal: &mut J) {
        journal.note(|| FlitUndo::Port(port, Box::new(self.ports[usize::from(port)].state.clone())));
    }

    /// The bits of an input VC follow from its state.
    #[inline]
    fn set_bits(&mut self, index: usize) {
        let (port, vc) = self.port_of(index);
        let (port, bit) = (usize::from(port), 1u64 << vc);
        let InputVc {
            stage, flits, holds, ..
        } = self.inputs[index];
        let set = |word: &mut u64, is_set: bool| if is_set { *word |= bit } else { *word &= !bit };
        set(
            &mut self.waiting[port].allocating,
            stage == FlitStage::VcAllocation,
        );
        set(
            &mut self.waiting[port].sending,
            stage == FlitStage::SwitchAllocation && flits > 0,
        );
        set(&mut self.waiting[port].holding, holds);
    }

    /// The first cycle that is evaluated after a time will be evaluated.
    #[inline]
    fn wake<O: RouterOutputs<FlitRouter>>(&mut self, now: Time, out: &mut O) {
        let cycle = self.clock.after(now);
        if cycle < self.next {
            let before = std::mem::replace(&mut self.next, cycle);
            out.note(|| FlitUndo::Next(before));
            out.timer(FlitTimer::Cycle, self.clock.middle(cycle) - now);
        }
    }

    /// A flit is in the buffer of an input VC.
    fn take_flit<O: RouterOutputs<FlitRouter>>(&mut self, now: Time, index: usize, out: &mut O) {
        self.note_input(index, out);
        let input = &mut self.inputs[index];
        input.flits = input.flits.wrapping_add(1);
        let port = self.port_of(index).0;
        let step = steps_before(self.parameters.speedup, self.clock.after(now));
        let input = &mut self.inputs[index];
        if input.stage == FlitStage::SwitchAllocation && input.flits == 1 {
            input.turn = last_turn(step, FROM_LINK + u32::from(port));
            self.set_bits(index);
            self.wake(now, out);
        }
    }

    /// So many flits of a packet come at the rate of their link.
    fn await_flits<O: RouterOutputs<FlitRouter>>(&self, (port, vc): (u16, u8), flits: u32, out: &mut O) {
        if flits > 0 {
            let flit = self.ports[usize::from(port)].flit;
            out.timer(FlitTimer::Flit(port, vc, flits - 1), flit);
        }
    }

    /// Bytes of a flit as the link of a port counts them for credits: beside a router without flits, those of the
    /// packet.
    fn counted_bytes(&self, port: u16, packet: &Packet, is_tail: bool) -> u32 {
        match is_tail && self.ports[usize::from(port)].whole_packets {
            true => packet.bytes - (self.flits_of(packet) - 1) * self.parameters.flit,
            false => self.parameters.flit,
        }
    }

    /// Whether the far end of a port gets a packet with its tail, and not with its head.
    fn sends_with_tail(&self, port: u16) -> bool {
        let port = &self.ports[usize::from(port)];
        port.to_host || port.whole_packets
    }

    /// The first packet of an input VC is routed, from a step on. It has a place among those of that step.
    fn begin_packet<O: RouterOutputs<FlitRouter>>(
        &mut self,
        now: Time,
        (index, step, place): (usize, u64, u32),
        context: &RoutingContext<'_>,
        out: &mut O,
    ) {
        let Some(before) = self.pool.front(self.buffers[index]).copied() else {
            return;
        };
        let mut packet = before.packet;
        let (port, vc) = self.port_of(index);
        let at = At {
            router: self.id,
            input: Port(port),
            // The VCs of a link to or from a host are alike.
            vc: match self.ports[usize::from(port)].to_host {
                true => 0,
                false => self.classes.routing_vc(vc),
            },
            source: packet.source,
            destination: packet.destination,
        };
        let seen = CongestionOfFlits {
            router: self,
            now,
            context,
        };
        let hop = context
            .routing
            .route(at, &mut packet.route, &seen, &mut out.random());
        let waits_for_vc = u64::from(self.parameters.speculation == Speculation::None);
        let routed = self.after_stage(StageOfBatches::Routing, step, out);
        let ready = self.crossed(routed + waits_for_vc);
        if let Some(of) = self.pool.front_mut(self.buffers[index]) {
            of.packet.route = packet.route;
            of.first = now;
            of.ready = self.clock.end(ready);
        }
        out.note(|| FlitUndo::Routed(index as u32, Box::new(before)));
        let bytes = self.whole_flits(&packet);
        self.note_port(hop.port.0, out);
        let state = &mut self.ports[usize::from(hop.port.0)].state;
        state.load = state.load.wrapping_add(u64::from(bytes));
        state.requested = state.requested.wrapping_add(1);
        let output = self.counted_at(hop.port.0, self.classes.of_vc(vc), hop.vc);
        if out.tracks_waits() {
            out.observe(packet, self.port_of(output), CrossbarObservation::Routed);
        }
        self.note_output(output, out);
        let waiting = &mut self.outputs[output].waiting;
        *waiting = waiting.wrapping_add(bytes);
        let host_vc = match self.parameters.host_vcs_by_routing && self.ports[usize::from(hop.port.0)].to_host
        {
            true => context.routing.host_vc(at, packet.route),
            false => None,
        };
        let vcs = match host_vc {
            Some(host_vc) => self.classes.copies_of(self.classes.of_vc(vc), host_vc),
            None => self.allowed_vcs((port, vc), (hop.port.0, hop.vc), &packet, out),
        };
        self.note_input(index, out);
        let input = &mut self.inputs[index];
        input.ready = routed;
        (input.output, input.vc, input.sent) = (hop.port.0, hop.vc, 0);
        (input.first_vc, input.vcs) = (vcs.start, vcs.len() as u8);
        input.stage = FlitStage::VcAllocation;
        input.turn = match self.parameters.routing_delay {
            0 => last_turn(step, place),
            _ => first_turn(step, place),
        };
        self.set_bits(index);
    }

    /// The step after a stage for what comes into it in a step.
    fn after_stage<J: des::Journal<FlitUndo>>(
        &mut self,
        stage: StageOfBatches,
        step: u64,
        journal: &mut J,
    ) -> u64 {
        let steps = u64::from(match stage {
            StageOfBatches::Routing => self.parameters.routing_delay,
            StageOfBatches::Crossbar => self.parameters.crossbar_delay,
        });
        if !self.parameters.batched || steps < 2 {
            return step + steps;
        }
        let last = self.batches[stage as usize];
        let after = match last {
            _ if step >= last => step + steps,
            // It comes with the last batch, or waits for it as others do.
            _ if step + steps <= last => last,
            _ => last.saturating_add(steps),
        };
        if after != last {
            journal.note(|| FlitUndo::Batch(stage, last));
            self.batches[stage as usize] = after;
        }
        after
    }

    /// The cycle by which a flit has crossed that gets the crossbar in a step.
    fn crossed(&self, step: u64) -> u64 {
        cycle_of(
            self.parameters.speedup,
            step + u64::from(self.parameters.crossbar_delay),
        )
    }

    /// A cycle is evaluated.
    fn run_cycle<O: RouterOutputs<FlitRouter>>(
        &mut self,
        now: Time,
        context: &RoutingContext<'_>,
        out: &mut O,
    ) {
        let cycle = self.next;
        if cycle == ASLEEP || self.clock.middle(cycle) != now {
            return;
        }
        self.next = ASLEEP;
        out.note(|| FlitUndo::Next(cycle));
        let mut work = self.work.take().unwrap_or_default();
        let speedup = self.parameters.speedup;
        for step in steps_before(speedup, cycle)..steps_before(speedup, cycle + 1) {
            work.lacking.clear();
            work.able.clear();
            work.again = false;
            self.allocate_vcs((cycle, step), &mut work, out);
            self.allocate_switch((now, cycle, step), &mut work, context, out);
        }
        self.count_blocked(now, &work, out);
        let again = work.again;
        self.work = Some(work);
        if again {
            self.wake(now, out);
        }
    }

    /// Whether an allocator changes in a step without requests.
    fn turns(&self, work: &Work) -> bool {
        work.has_waiting && self.parameters.allocator.turns_without_requests()
    }

    /// Lets an allocator grant requests: their indices are in `work.granted`.
    fn allocate<J: des::Journal<FlitUndo>>(&mut self, of: PointersOf, work: &mut Work, journal: &mut J) {
        work.granted.clear();
        if work.requests.is_empty() && !self.turns(work) {
            return;
        }
        let (first, count, (requesters, resources)) = self.place_of(of);
        let mut arbiters = Arbiters {
            arbiter: self.parameters.arbiter,
            memory: &mut self.pointers[first..first + count],
            requesters,
            resources,
            changed: &mut work.changed,
            ranks: &work.ranks,
            scratch: &mut work.scratch,
        };
        self.parameters
            .allocator
            .allocate(&work.requests, &mut arbiters, &mut work.granted);
        for (place, before) in work.changed.drain(..) {
            journal.note(|| FlitUndo::Pointer(first as u32 + place, before));
        }
    }

    /// Sorts grants by the turns of their input VCs, as BookSim does, which takes VCs with new output VCs first, then
    /// those that stay in a stage, then those to which a link brings flits. It makes a difference only where two flits
    /// can reach one output in a step.
    fn in_turn(&self, granted: &mut [usize], input_vc: impl Fn(usize) -> usize) {
        if self.parameters.output_speedup > 1 {
            granted.sort_by_key(|request| self.inputs[input_vc(*request)].turn);
        }
    }

    /// The load of an output, with that of a VC of routing.
    fn output_load(&self, now: Time, port: u16, vc: u8) -> OutputLoad {
        let of_port = self.index(port, 0)..self.index(port, 0) + usize::from(self.vcs);
        let waiting: u64 = self.outputs[of_port].iter().map(|vc| u64::from(vc.waiting)).sum();
        let FlitPort {
            to_host, far, state, ..
        } = &self.ports[usize::from(port)];
        let copies = self.classes.copies_of(0, vc);
        let of_vc = self.index(port, copies.start)..self.index(port, copies.end - 1) + 1;
        let waiting_for_vc = u64::from(self.outputs[self.counted_at(port, 0, vc)].waiting);
        if *to_host {
            return OutputLoad {
                all: state.load,
                waiting_for_vc,
                ..OutputLoad::default()
            };
        }
        let taken_of = |vc: &OutputVc| match self.parameters.private_part {
            None => u64::from(far.saturating_sub(vc.credits)),
            Some(_) => u64::from(far.wrapping_sub(vc.credits)),
        };
        let ahead = state.link_free.saturating_sub(self.clock.after(now));
        OutputLoad {
            all: state.load,
            waiting_for_vc,
            taken: state.load.saturating_sub(waiting),
            taken_of_vc: self.outputs[of_vc].iter().map(taken_of).sum(),
            unsent: ahead.saturating_mul(u64::from(self.parameters.flit)),
        }
    }

    /// Checks that a saved state belongs to a router with these settings and does not contradict itself.
    fn check(&self, state: &FlitRouterState) -> Result<(), String> {
        let id = self.id.0;
        let own = [
            self.ports.len(),
            self.inputs.len(),
            self.outputs.len(),
            self.buffers.len(),
            self.pointers.len(),
        ];
        let saved = [
            state.ports.len(),
            state.inputs.len(),
            state.outputs.len(),
            state.buffers.len(),
            state.pointers.len(),
        ];
        if own != saved {
            return Err(format!(
                "router {id}: the saved state is that of a router with other ports, virtual channels or parameters"
            ));
        }
        let is_input = |(input, packets): (&InputVc, &Vec<BufferedPacket>)| {
            let is_idle = input.stage == FlitStage::Idle;
            let has_place = usize::from(input.output) < self.ports.len()
                && input.vc < self.vcs
                && u16::from(input.first_vc) + u16::from(input.vcs) <= u16::from(self.vcs);
            packets.is_empty() == is_idle
                && (input.stage == FlitStage::SwitchAllocation || !input.holds)
                && (is_idle || has_place)
                && packets.iter().all(|held| held.packet.bytes > 0)
                && packets
                    .first()
                    .is_none_or(|held| input.sent < self.flits_of(&held.packet))
        };
        let has_owner =
            |vc: &OutputVc| [FREE, DRAINING].contains(&vc.owner) || (vc.owner as usize) < self.inputs.len();
        let ArbiterTree { arbiter, groups } = self.parameters.arbiter;
        // The arbiters of a tree have several sizes, and any pointer is a place for them.
        let is_open = arbiter == FlitArbiter::Matrix || groups > 1;
        let sizes = |place: usize| {
            let (switch, of_switch, (inputs, outputs)) = self.place_of(PointersOf::Switch);
            let (early, of_early, _) = self.place_of(PointersOf::Early);
            let first = match place {
                _ if (early..early + of_early).contains(&place) => early,
                _ => switch,
            };
            let size = match place {
                _ if place >= first + of_switch => u32::from(self.vcs),
                _ if is_open => u32::MAX,
                _ if place < first => self.inputs.len() as u32,
                // A wavefront has one pointer, other allocators those of inputs, then those of outputs.
                _ if of_switch == 1 => inputs.max(outputs),
                _ if place - first < inputs as usize => outputs,
                _ => inputs,
            };
            size as usize
        };
        let mut pointers = state.pointers.iter().enumerate();
        let at_hosts = state.ports.iter().flat_map(|port| &port.at_host);
        let is_good = state.inputs.iter().zip(&state.buffers).all(is_input)
            && state.outputs.iter().all(has_owner)
            && at_hosts.into_iter().all(|(_, vc)| *vc < self.vcs)
            && pointers.all(|(place, pointer)| (*pointer as usize) < sizes(place));
        match is_good {
            true => Ok(()),
            false => Err(format!("router {id}: the saved state contradicts itself")),
        }
    }
}

impl RouterModel for FlitRouter {
    const MODEL: RouterModelKind = RouterModelKind {
        name: "flit",
        summary: "cycle by cycle: flits, allocation of virtual channels and of the switch, wormhole or cut-through",
        parameters: parameters! {
            FLIT;
            choice("allocator", &ALLOCATORS, "how virtual channels and the switch are allocated in a cycle");
            choice("arbiter", &ARBITERS, "arbiters of separable allocators, islip and select");
            choice("vc_assignment", &VC_ASSIGNMENT, "whether a packet may get any virtual channel that routing allows, or one of those for its output at the next router");
            choice("host_vcs", &HOST_VCS, "whether a packet may get any virtual channel of a link to or from a host, or a random one from its host and the one that routing gives to its host");
            choice("switch_allocation", &SWITCH_ALLOCATION, "whether each flit asks for the crossbar, or a packet holds it while it has flits and credits");
            choice("speculation", &SPECULATION, "whether a head asks for the crossbar before it has a virtual channel, and what comes before it");
            choice("speculation_needs", &SPECULATION_NEEDS, "whether such a head needs a free virtual channel with a credit, a free one, or nothing");
            choice("vc_allocation", &VC_ALLOCATION, "whether virtual channels have an allocator, or a head gets one when it has won the crossbar");
            choice("vc_requests", &VC_REQUESTS, "whether a head asks for all free virtual channels, or for those with a credit");
            choice("vc_preference", &VC_PREFERENCE, "whether a head prefers virtual channels whose buffers are empty");
            choice("vc_requesters", &VC_REQUESTERS, "whether the arbiters of virtual channels know their requesters by port, then channel, or by channel, then port");
            choice("priority", &PRIORITY, "whether the oldest packets go first in all arbiters");
            choice("vc_reuse", &VC_REUSE, "whether a virtual channel is free when a tail has left, or when all of its credits have returned");
            integer("arbiter_groups", 1, "groups of the members of an arbiter, each with an arbiter of its own in a tree of two levels, 1 to 64");
            ITERATIONS;
            OUTPUT_BUFFER;
            integer("input_speedup", 1, "inputs of the crossbar for each input port, 1 to 64");
            integer("output_speedup", 1, "outputs of the crossbar for each output port, 1 to 64");
            choice("stages", &STAGES, "whether routing and the crossbar, if they take several cycles, are pipelined, or take one batch after the other at all ports together");
            choice("buffers", &BUFFERS, "whether each virtual channel has its part of a buffer, or all of a port share what exceeds a private part");
            PRIVATE_BUFFER;
            number("speedup", 1.0, "internal steps of a cycle, 1 to 1000 with at most six decimals");
            integer("routing_delay", 1, "cycles in which a head is routed, 0 (lookahead) to 1000");
            integer("crossbar_delay", 1, "cycles in which a flit passes the crossbar, 1 to 1000");
            choice("switching", &SWITCHING, "whether a head needs space for a flit or for its packet");
        },
        capabilities: RouterCapabilities {
            switching: Switching::Wormhole,
            signals_to_hosts: true,
            load_metrics: true,
            load_reports: true,
            vc_copies: true,
            ..RouterCapabilities::NONE
        },
    };

    type Parameters = FlitParameters;
    type Undo = FlitUndo;
    type State = FlitRouterState;
    type Timer = FlitTimer;
    type Signal = BodyFlit;
    type WaitTracker = CrossbarWaitTracker;

    fn read(section: &Section) -> Result<FlitParameters, config::Error> {
        let flit: Option<Bytes> = section.optional(FLIT.name)?;
        let flit = match flit.map(|size| (size, u32::try_from(size.bytes))) {
            None => DEFAULT_FLIT,
            Some((_, Ok(bytes))) if (1..=MOST_FLIT).contains(&bytes) => bytes,
            Some((size, _)) => {
                let message = format!("{size} is out of range; expected 1 B to {MOST_FLIT} B");
                return Err(section.error(FLIT.name, message));
            }
        };
        let name = section.choice("allocator")?;
        let iterations: Option<u8> = section.optional(ITERATIONS.name)?;
        match iterations {
            Some(_) if !["islip", "select"].contains(&name) => {
                let message = "only the allocators islip and select iterate; expected no iterations, or allocator = \
                               \"islip\" or \"select\"";
                return Err(section.error(ITERATIONS.name, message));
            }
            Some(0 | 65..) => {
                return Err(section.error(ITERATIONS.name, "out of range; expected 1 to 64"));
            }
            _ => {}
        }
        let allocator = match name {
            "separable-output-first" => Allocator::SeparableOutputFirst,
            "islip" => Allocator::Islip(iterations.unwrap_or(1)),
            "select" => Allocator::Select(iterations.unwrap_or(1)),
            "lonely-output" => Allocator::LonelyOutput,
            "maximum-size" => Allocator::MaximumSize,
            "wavefront" => Allocator::Wavefront(WavefrontPointer::Next),
            "rotating-wavefront" => Allocator::Wavefront(WavefrontPointer::AfterFirstGrant),
            _ => Allocator::SeparableInputFirst,
        };
        let cycles = |key: &str, least: u16| {
            let cycles: u32 = section.get(key)?;
            match (least.into()..=MOST_CYCLES.into()).contains(&cycles) {
                true => Ok(cycles as u16),
                false => {
                    let message =
                        format!("{cycles} is out of range; expected {least} to {MOST_CYCLES} cycles");
                    Err(section.error(key, message))
                }
            }
        };
        let speedup = |key: &str| {
            let speedup: u32 = section.get(key)?;
            match u8::try_from(speedup)
                .ok()
                .filter(|times| (1..=MOST_VCS).contains(times))
            {
                Some(times) => Ok(times),
                None => {
                    let message = format!("{speedup} is out of range; expected 1 to {MOST_VCS}");
                    Err(section.error(key, message))
                }
            }
        };
        let output_buffer: Option<Bytes> = section.optional(OUTPUT_BUFFER.name)?;
        let output_flits = match output_buffer {
            None => None,
            Some(size) if (u64::from(flit)..=MOST_OUTPUT_BUFFER).contains(&size.bytes) => {
                Some((size.bytes / u64::from(flit)) as u32)
            }
            Some(size) => {
                let message = format!("{size} is out of range; expected a flit, {flit} B, to 1 GiB");
                return Err(section.error(OUTPUT_BUFFER.name, message));
            }
        };
        let arbiter = ArbiterTree {
            arbiter: match section.choice("arbiter")? {
                "matrix" => FlitArbiter::Matrix,
                _ => FlitArbiter::RoundRobin,
            },
            groups: u32::from(speedup("arbiter_groups")?),
        };
        let is_default = [
            ("arbiter", arbiter.arbiter == FlitArbiter::RoundRobin),
            ("arbiter_groups", arbiter.groups == 1),
        ];
        for (key, is_default) in is_default {
            if !is_default && !allocator.has_arbiters() {
                let message = format!(
                    "the allocator {name} makes no use of arbiters; expected no {key}, or a separable allocator, islip \
                     or select"
                );
                return Err(section.error(key, message));
            }
        }
        let oldest_first = section.choice("priority")? == PRIORITY[1];
        if oldest_first && !allocator.has_priorities() {
            let message = format!(
                "the allocator {name} has no priorities; expected priority = \"none\", or a separable allocator or a \
                 wavefront"
            );
            return Err(section.error("priority", message));
        }
        let speculation = match section.choice("speculation")? {
            "low-priority" => Speculation::LowPriority,
            "masked-by-grants" => Speculation::MaskedByGrants,
            "masked-by-requests" => Speculation::MaskedByRequests,
            _ => Speculation::None,
        };
        let speculation_needs = match section.choice("speculation_needs")? {
            "free" => SpeculationNeeds::Free,
            "nothing" => SpeculationNeeds::Nothing,
            _ => SpeculationNeeds::Credit,
        };
        let vcs_with_switch = section.choice("vc_allocation")? == VC_ALLOCATION[1];
        if speculation == Speculation::None {
            let expected = "expected speculation = \"low-priority\" or another kind";
            if vcs_with_switch {
                let message = format!(
                    "heads ask for the crossbar without a virtual channel, which is speculation; {expected}, or \
                     vc_allocation = \"allocator\""
                );
                return Err(section.error("vc_allocation", message));
            }
            if speculation_needs != SpeculationNeeds::Credit {
                let message = format!("there is no speculation; {expected}, or no speculation_needs");
                return Err(section.error("speculation_needs", message));
            }
        }
        let prefers_empty = section.choice("vc_preference")? == VC_PREFERENCE[1];
        if prefers_empty && !allocator.has_preferences() {
            let message = format!(
                "with the allocator {name} requesters have no preferences; expected vc_preference = \"none\", or a \
                 separable allocator"
            );
            return Err(section.error("vc_preference", message));
        }
        let vcs_by_next_output = section.choice("vc_assignment")? == VC_ASSIGNMENT[1];
        let routing_delay = cycles("routing_delay", 0)?;
        if vcs_by_next_output && routing_delay > 0 {
            let message = "virtual channels by the next output need lookahead; expected routing_delay = 0, or \
                           vc_assignment = \"any\"";
            return Err(section.error("vc_assignment", message));
        }
        let host_vcs_by_routing = section.choice("host_vcs")? == HOST_VCS[1];
        if vcs_by_next_output && host_vcs_by_routing {
            let message = "virtual channels by the next output leave no choice to routing; expected host_vcs = \"any\", or \
                           vc_assignment = \"any\"";
            return Err(section.error("host_vcs", message));
        }
        let output_speedup = speedup("output_speedup")?;
        let switching = match section.choice("switching")? {
            "cut-through" => Switching::CutThrough,
            _ => Switching::Wormhole,
        };
        let steps = Speedup::read(section)?;
        let batched = section.choice("stages")? == STAGES[1];
        if batched && steps.units() != Speedup::UNIT {
            let message =
                "batches are those of whole cycles; expected speedup = 1, or stages = \"pipelined\"";
            return Err(section.error("stages", message));
        }
        Ok(FlitParameters {
            flit,
            allocator,
            arbiter,
            awaits_credits: section.choice("vc_reuse")? == VC_REUSE[1],
            vcs_by_next_output,
            host_vcs_by_routing,
            holds_crossbar: section.choice("switch_allocation")? == SWITCH_ALLOCATION[1],
            input_speedup: speedup("input_speedup")?,
            output_speedup,
            private_part: read_private_part(section, flit, (switching, output_speedup))?,
            output_flits,
            asks_with_credit: section.choice("vc_requests")? == VC_REQUESTS[1],
            prefers_empty,
            requesters_by_vc: section.choice("vc_requesters")? == VC_REQUESTERS[1],
            oldest_first,
            speculation,
            speculation_needs,
            vcs_with_switch,
            batched,
            speedup: steps,
            routing_delay,
            crossbar_delay: cycles("crossbar_delay", 1)?,
            switching,
        })
    }

    fn capabilities(parameters: &FlitParameters) -> RouterCapabilities {
        RouterCapabilities {
            switching: parameters.switching,
            flits: Some(FlitFlow {
                bytes: parameters.flit,
                awaits_credits: parameters.awaits_credits,
                vcs_by_next_output: parameters.vcs_by_next_output,
                host_vcs_by_routing: parameters.host_vcs_by_routing,
                private_part: parameters.private_part.map(NonZeroU32::get),
            }),
            ..Self::MODEL.capabilities
        }
    }

    fn bytes_per_port(_: u64, vcs: u64, _: bool) -> u64 {
        let per_vc = size_of::<InputVc>() + size_of::<OutputVc>() + size_of::<Fifo>() + 2 * size_of::<u32>();
        let port = size_of::<FlitPort>() + 3 * size_of::<u32>() + size_of::<WaitingVcs>();
        port as u64 + vcs * per_vc as u64
    }

    fn new(setup: &RouterSetup<'_>, parameters: FlitParameters) -> FlitRouter {
        // The clock is that of the fastest link.
        let flit = |rate: Rate| rate.serialization(parameters.flit);
        let rates = setup.ports.iter().map(|port| port.rate);
        let fastest = rates.chain([setup.injection]).map(flit).min();
        let clock = FlitClock::new(fastest.expect("the injection rate"));
        let port = |port: &PortSetting| {
            let flit = flit(port.rate).max(clock.cycle());
            // Both ways over the cable, each with the rest of its cycle; a host returns the credit at once.
            let cable = clock.cycles(port.cable) + 1;
            FlitPort {
                flit,
                flit_cycles: clock.cycles(flit).max(1),
                to_host: port.to_host,
                whole_packets: port.whole_packets,
                pipeline: port.pipeline,
                host_loop: 2 * cable + clock.cycles(setup.credit_delay),
                far: port.credits,
                state: FlitPortState {
                    load: 0,
                    requested: 0,
                    link_free: 0,
                    credit_free: 0,
                    credit_step: u64::MAX,
                    booked: VecDeque::new(),
                    queued: VecDeque::new(),
                    blocked_since: None,
                    at_host: VecDeque::new(),
                    counters: LinkCounters::default(),
                    stalls: StallCounters::default(),
                },
            }
        };
        let all = setup.ports.len() * usize::from(setup.vcs);
        let input = InputVc {
            ready: 0,
            turn: 0,
            flits: 0,
            sent: 0,
            output: 0,
            vc: 0,
            stage: FlitStage::Idle,
            first_vc: 0,
            vcs: 0,
            holds: false,
        };
        let outputs = setup.per_vc(|port| OutputVc {
            owner: FREE,
            credits: port.credits,
            waiting: 0,
        });
        let count = setup.ports.len();
        let memory = |requesters: usize, resources: usize| {
            let (requesters, resources) = (requesters as u32, resources as u32);
            parameters
                .allocator
                .memory(parameters.arbiter, requesters, resources)
        };
        let (input_speedup, output_speedup) = (
            usize::from(parameters.input_speedup),
            usize::from(parameters.output_speedup),
        );
        let (of_vcs, of_switch) = (
            memory(all, all),
            memory(count * input_speedup, count * output_speedup),
        );
        let of_early = match parameters.speculation {
            Speculation::MaskedByGrants | Speculation::MaskedByRequests => of_switch.clone(),
            Speculation::None | Speculation::LowPriority => Vec::new(),
        };
        // As in BookSim, from the last VC on.
        let of_outputs = match parameters.vcs_with_switch {
            true => vec![u32::from(setup.vcs) - 1; count],
            false => Vec::new(),
        };
        let entries = [&of_vcs, &of_switch, &of_early].map(|entries| entries.len() as u32);
        let of_inputs = vec![0; count * input_speedup];
        let pointers: Vec<u32> = [of_vcs, of_switch, of_inputs, of_early, of_outputs].concat();
        let lane = |lane: usize| {
            let vcs = (lane..usize::from(setup.vcs)).step_by(input_speedup);
            vcs.fold(0u64, |bits, vc| bits | 1 << vc)
        };
        FlitRouter {
            id: setup.id,
            vcs: setup.vcs,
            classes: setup.traffic_classes,
            parameters,
            clock,
            measured: setup.measured,
            next: ASLEEP,
            batches: Box::new([0; 2]),
            ports: setup.ports.iter().map(port).collect(),
            inputs: vec![input; all].into(),
            buffers: vec![Fifo::EMPTY; all].into(),
            pool: PacketPool::default(),
            outputs: outputs.into(),
            pointers: pointers.into(),
            entries,
            waiting: vec![WaitingVcs::default(); count].into(),
            lanes: (0..input_speedup).map(lane).collect(),
            work: None,
        }
    }

    /// The head of a packet is in its buffer.
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
        let index = self.index(input, vc);
        let is_first = self.buffers[index].is_empty();
        let held = BufferedPacket {
            packet,
            arrived: now,
            first: now,
            ready: now,
        };
        let previous = self.pool.push_back(&mut self.buffers[index], held);
        out.note(|| FlitUndo::Pushed(index as u32, previous));
        if out.tracks_waits() {
            out.observe(packet, (0, 0), CrossbarObservation::Arrived);
        }
        self.take_flit(now, index, out);
        if self.ports[usize::from(input)].whole_packets {
            self.await_flits((input, vc), self.flits_of(&packet) - 1, out);
        }
        if is_first {
            let step = steps_before(self.parameters.speedup, self.clock.after(now));
            self.begin_packet(now, (index, step, FROM_LINK + u32::from(input)), context, out);
            self.wake(now, out);
        }
    }

    #[inline(never)]
    fn credit<O: RouterOutputs<Self>>(&mut self, now: Time, port: u16, vc: u8, bytes: u32, out: &mut O) {
        let index = self.index(port, vc);
        self.note_output(index, out);
        let far = self.ports[usize::from(port)].far;
        let output = &mut self.outputs[index];
        output.credits = output.credits.wrapping_add(bytes);
        let owner = output.owner as usize;
        if output.owner == DRAINING && output.credits == far {
            output.owner = FREE;
            self.wake(now, out);
        }
        if self.parameters.private_part.is_some() {
            // Any VC of the port may have waited for the place.
            self.wake(now, out);
        }
        self.note_port(port, out);
        let load = &mut self.ports[usize::from(port)].state.load;
        *load = load.wrapping_sub(u64::from(bytes));
        if owner < self.inputs.len() {
            let (port, vc) = self.port_of(owner);
            if self.waiting[usize::from(port)].sending & 1 << vc != 0 {
                self.wake(now, out);
            }
        }
    }

    #[inline(never)]
    fn timer<O: RouterOutputs<Self>>(
        &mut self,
        now: Time,
        timer: FlitTimer,
        context: &RoutingContext<'_>,
        out: &mut O,
    ) {
        match timer {
            FlitTimer::Cycle => self.run_cycle(now, context, out),
            FlitTimer::Flit(port, vc, after) => {
                self.await_flits((port, vc), after, out);
                self.take_flit(now, self.index(port, vc), out);
            }
        }
    }

    /// A body flit or a tail is in its buffer.
    #[inline(never)]
    fn signal<O: RouterOutputs<Self>>(
        &mut self,
        now: Time,
        port: u16,
        signal: BodyFlit,
        _: &RoutingContext<'_>,
        out: &mut O,
    ) {
        self.take_flit(now, self.index(port, signal.vc), out);
    }

    fn undo(&mut self, step: FlitUndo) {
        match step {
            FlitUndo::Pushed(index, previous) => {
                self.pool
                    .undo_push_back(&mut self.buffers[index as usize], previous);
            }
            FlitUndo::Popped(index, held) => {
                let (identity, progress) = held.packet.split();
                self.pool.undo_release(identity);
                *self
                    .pool
                    .undo_pop_front(&mut self.buffers[index as usize], progress) = *held;
            }
            FlitUndo::Routed(index, before) => {
                if let Some(held) = self.pool.front_mut(self.buffers[index as usize]) {
                    *held = *before;
                }
            }
            FlitUndo::Input(index, before) => {
                self.inputs[index as usize] = *before;
                self.set_bits(index as usize);
            }
            FlitUndo::Output(index, before) => self.outputs[index as usize] = before,
            FlitUndo::Port(port, before) => self.ports[usize::from(port)].state = *before,
            FlitUndo::Pointer(place, before) => self.pointers[place as usize] = before,
            FlitUndo::Next(before) => self.next = before,
            FlitUndo::Batch(stage, before) => self.batches[stage as usize] = before,
        }
    }

    fn state(&self) -> FlitRouterState {
        FlitRouterState {
            next: self.next,
            batches: *self.batches,
            ports: self.ports.iter().map(|port| port.state.clone()).collect(),
            inputs: self.inputs.to_vec(),
            outputs: self.outputs.to_vec(),
            buffers: self
                .buffers
                .iter()
                .map(|buffer| self.pool.iter(*buffer).copied().collect())
                .collect(),
            pointers: self.pointers.to_vec(),
        }
    }

    fn restore(&mut self, state: FlitRouterState) -> Result<(), String> {
        self.check(&state)?;
        (self.next, *self.batches) = (state.next, state.batches);
        for (port, saved) in self.ports.iter_mut().zip(state.ports) {
            port.state = saved;
        }
        (self.inputs, self.outputs) = (state.inputs.into(), state.outputs.into());
        self.pointers = state.pointers.into();
        self.pool.clear();
        for (buffer, packets) in self.buffers.iter_mut().zip(state.buffers) {
            *buffer = Fifo::EMPTY;
            for packet in packets {
                self.pool.push_back(buffer, packet);
            }
        }
        (0..self.inputs.len()).for_each(|index| self.set_bits(index));
        Ok(())
    }

    fn id(&self) -> RouterId {
        self.id
    }

    /// A packet is where its head is, or in the last router until its tail leaves that.
    fn for_each_held(&self, see: &mut dyn FnMut(Holding)) {
        for (index, input) in self.inputs.iter().enumerate() {
            let (port, vc) = self.port_of(index);
            let with_tail = self.sends_with_tail(input.output);
            // A packet from a router without flits has taken the space of all of it.
            let mut whole = 0;
            for (place, packet) in self.pool.iter(self.buffers[index]).enumerate() {
                if place > 0 || input.sent == 0 || with_tail {
                    see(Holding::Packet(packet.packet));
                }
                whole += packet.packet.bytes;
            }
            let left = input.sent.saturating_mul(self.parameters.flit);
            let bytes = match self.ports[usize::from(port)].whole_packets {
                true => whole.saturating_sub(left),
                false => input.flits.saturating_mul(self.parameters.flit),
            };
            if bytes > 0 {
                see(Holding::Input { port, vc, bytes });
            }
            // A packet for a router without flits is with its tail, and has taken the space of the flits before.
            if self.ports[usize::from(input.output)].whole_packets && input.sent > 0 {
                see(Holding::Output {
                    port: input.output,
                    vc: input.vc,
                    bytes: left,
                });
            }
        }
    }

    fn in_signal(signal: &BodyFlit, input: u16, see: &mut dyn FnMut(Holding)) {
        see(Holding::Input {
            port: input,
            vc: signal.vc,
            bytes: signal.bytes,
        });
    }

    /// Bytes of whole flits that are routed to `port`, are in flight there, or whose credit has not returned.
    fn load(&self, port: u16) -> u64 {
        self.ports[usize::from(port)].state.load
    }

    fn credits(&self, port: u16, vc: u8) -> u32 {
        self.outputs[self.index(port, vc)].credits
    }

    fn used(&self, port: u16, end: Time) -> LinkUse {
        let FlitPort { state, .. } = &self.ports[usize::from(port)];
        let mut stalls = state.stalls;
        if let Some(since) = state.blocked_since {
            stalls.unblock(since, end.max(since), self.measured);
        }
        let busy = (end, end + self.to_come(port, end));
        LinkUse::new(state.counters, stalls, busy, self.measured)
    }

    /// Counts only the first packets of buffers, since the others are not routed yet.
    fn waiting_at(&self, port: u16) -> u32 {
        self.ports[usize::from(port)].state.requested
    }

    fn is_active(&self, port: u16, time: Time) -> bool {
        let state = &self.ports[usize::from(port)].state;
        self.to_come(port, time) > Time::ZERO || state.blocked_since.is_some()
    }
}

#[cfg(test)]
#[path = "flit_tests.rs"]
mod tests;
