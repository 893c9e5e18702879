//! The seam of router models: what a router is built from, what it does, and what it acts on.

use std::fmt::Debug;
use std::ops::Range;

use config::{Parameter, Section};
use des::{Journal, Time};
use routing::{Random, Reports, Routing};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use topology::RouterId;

use crate::capabilities::{PacketLimits, RouterCapabilities};
use crate::waits::WaitTracker;
use crate::{Flow, LinkUse, Measured, Packet, PacketFate, Rate, TrafficClasses};

/// Up to this number of ports, most ports take part in a batch of events and are prefetched together. With more
/// ports, single ports are prefetched.
pub const FEW_PORTS: usize = 64;

/// Inputs of routing decisions: the routing algorithm, and the loads that other routers reported.
#[derive(Clone, Copy)]
pub struct RoutingContext<'a> {
    /// The routing algorithm.
    pub routing: &'a dyn Routing,
    /// Loads that other routers reported, in units of [`Reports::UNIT`].
    pub loads: &'a [u16],
}

impl RoutingContext<'_> {
    /// One reported load, in bytes.
    pub(super) fn reported_load(&self, slot: usize) -> u64 {
        self.loads
            .get(slot)
            .map_or(0, |units| u64::from(*units) * Reports::UNIT)
    }
}

/// Settings of a router's port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortSetting {
    /// Bandwidth of its cable; that of a cable to a host applies to the way to the host.
    pub rate: Rate,
    /// Whether the port leads to a host, which accepts all packets.
    pub to_host: bool,
    /// Size of each VC's buffer at the far end, in bytes.
    pub credits: u32,
    /// For a model that applies its pipeline itself ([`RouterCapabilities::own_pipeline`]): from the arrival of a head
    /// by this port to its earliest departure.
    pub pipeline: Time,
    /// Latency of its cable.
    pub cable: Time,
    /// For a model that moves flits ([`RouterCapabilities::flits`]): whether the router at the far end sends and takes
    /// whole packets. Credits of the link then count the bytes of packets.
    pub whole_packets: bool,
}

/// The settings from which a router of any model is built.
#[derive(Clone, Copy, Debug)]
pub struct RouterSetup<'a> {
    /// Its id.
    pub id: RouterId,
    /// Virtual channels of each port, those of all traffic classes.
    pub vcs: u8,
    /// To which traffic classes the virtual channels belong.
    pub traffic_classes: TrafficClasses,
    /// Its ports.
    pub ports: &'a [PortSetting],
    /// Bandwidth at which packets come in from hosts.
    pub injection: Rate,
    /// Bytes of the largest packet.
    pub largest_packet: u32,
    /// Whether routing uses bubble flow control ([`routing::BufferClaim::Bubble`]).
    pub bubbles: bool,
    /// From the release of space in a buffer until its credit starts back.
    pub credit_delay: Time,
    /// The measured part of the run.
    pub measured: Measured,
}

impl RouterSetup<'_> {
    /// Whether all cables have the same speed, in both directions.
    pub(super) fn has_one_rate(&self) -> bool {
        let is_first = |rate: Rate| rate == self.ports[0].rate;
        let comes_in = |p: &PortSetting| !p.to_host || is_first(self.injection);
        self.ports.iter().all(|p| is_first(p.rate) && comes_in(p))
    }

    /// One value for each VC of each port.
    pub(super) fn per_vc<T: Clone>(&self, of: impl Fn(&PortSetting) -> T) -> Vec<T> {
        let vcs = usize::from(self.vcs);
        let ports = self.ports.iter();
        ports
            .flat_map(|port| std::iter::repeat_n(of(port), vcs))
            .collect()
    }
}

/// A packet whose head has arrived.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Input port.
    pub input: u16,
    /// VC of the input buffer.
    pub vc: u8,
    /// The packet.
    pub packet: Packet,
}

/// What a router holds: packets, and buffer space. The two are told apart, as a packet may hold several buffers.
#[derive(Clone, Copy, Debug)]
pub enum Holding {
    /// A packet is here.
    Packet(Packet),
    /// Space of its own input buffers.
    Input {
        /// Input port.
        port: u16,
        /// VC.
        vc: u8,
        /// Bytes of a packet, or of a part of one.
        bytes: u32,
    },
    /// Space of the buffer behind an output, for which credits are taken and nothing has left yet.
    Output {
        /// Output port.
        port: u16,
        /// VC.
        vc: u8,
        /// Bytes of a packet, or of a part of one.
        bytes: u32,
    },
}

impl Holding {
    /// A packet, and the space of all of it in an input buffer: port and VC.
    pub(super) fn whole(packet: &Packet, (port, vc): (u16, u8), see: &mut dyn FnMut(Holding)) {
        see(Holding::Packet(*packet));
        let bytes = packet.bytes;
        see(Holding::Input { port, vc, bytes });
    }
}

/// Registry entry of a router model.
pub struct RouterModelKind {
    /// Name in experiments, `fabricsim list` and the docs.
    pub name: &'static str,
    /// One-line description.
    pub summary: &'static str,
    /// Parameters.
    pub parameters: &'static [Parameter],
    /// What it declares, with any parameters.
    pub capabilities: RouterCapabilities,
}

/// A router model: a state machine that is driven by method calls and acts through [`RouterOutputs`].
///
/// Every method that changes the router notes an undo step ([`Journal`]). Under an optimistic executor a router may
/// receive a credit for a packet that it has not sent in this timeline. So counters wrap, and no method panics.
pub trait RouterModel: Sized {
    /// The registry entry.
    const MODEL: RouterModelKind;
    /// Whether its code is part of the function that executes events, not called by it. Only one model should have
    /// this, that of the largest runs: with the code of several, the function takes more instructions for each of them.
    const IS_INLINED: bool = false;

    /// Its parameters in experiments.
    type Parameters: Copy + Debug + PartialEq + Eq;
    /// An undo step.
    type Undo: Debug + Send;
    /// The mutable state of a router.
    type State: Serialize + DeserializeOwned;
    /// Content of a timer: at most 43 bytes, so that an event fits a cache line.
    type Timer: Copy + Debug + Send + Sync + Serialize + DeserializeOwned + 'static;
    /// Content of links besides packets and credits: tails, flits, acknowledgements, numbered packets. At most 40
    /// bytes, so that an event fits a cache line.
    type Signal: Copy + Debug + Send + Sync + Serialize + DeserializeOwned + 'static;
    /// Tracks the waits of packets and their causes. Its observations also count the packets that wait for a VC
    /// ([`WaitTracker::change`]).
    type WaitTracker: WaitTracker;

    /// Reads the parameters from the section `network.router` of an experiment.
    ///
    /// # Errors
    /// A value is out of range or of a wrong type.
    fn read(section: &Section) -> Result<Self::Parameters, config::Error>;

    /// What shortcuts, checks and the audit may rely on with these parameters.
    fn capabilities(parameters: &Self::Parameters) -> RouterCapabilities {
        let _ = parameters;
        Self::MODEL.capabilities
    }

    /// The sizes of packets, where the parameters limit them.
    fn packet_limits(parameters: &Self::Parameters) -> PacketLimits {
        let _ = parameters;
        PacketLimits::default()
    }

    /// Memory of one port in bytes, for a router with this many ports and VCs.
    fn bytes_per_port(ports: u64, vcs: u64, bubbles: bool) -> u64;

    /// An empty router.
    fn new(setup: &RouterSetup<'_>, parameters: Self::Parameters) -> Self;

    /// The simulation begins. Only timers may be set.
    #[inline]
    fn start<O: RouterOutputs<Self>>(&mut self, out: &mut O) {
        let _ = out;
    }

    /// A packet's head has arrived. It has passed the router's pipeline, unless the model applies that itself
    /// ([`RouterCapabilities::own_pipeline`]).
    fn arrived<O: RouterOutputs<Self>>(
        &mut self,
        now: Time,
        arrival: Arrival,
        context: &RoutingContext<'_>,
        out: &mut O,
    );

    /// Packets of `bytes` bytes in total have left the buffer of `vc` at the far end of `port`.
    fn credit<O: RouterOutputs<Self>>(&mut self, now: Time, port: u16, vc: u8, bytes: u32, out: &mut O);

    /// A timer that was set by [`RouterOutputs::timer`] expires.
    fn timer<O: RouterOutputs<Self>>(
        &mut self,
        now: Time,
        timer: Self::Timer,
        context: &RoutingContext<'_>,
        out: &mut O,
    );

    /// A signal has arrived at an input port.
    fn signal<O: RouterOutputs<Self>>(
        &mut self,
        now: Time,
        port: u16,
        signal: Self::Signal,
        context: &RoutingContext<'_>,
        out: &mut O,
    );

    /// Undoes one step that was noted in [`RouterOutputs`]. Steps are undone in reverse order.
    fn undo(&mut self, step: Self::Undo);

    /// The mutable state. States that no input can distinguish are equal.
    fn state(&self) -> Self::State;

    /// Restores a saved state into a new router with the same settings.
    ///
    /// # Errors
    /// The state does not fit these settings; the router is unchanged.
    fn restore(&mut self, state: Self::State) -> Result<(), String>;

    /// Its id.
    fn id(&self) -> RouterId;

    /// Calls `see` for each packet here, and for what is taken of buffers.
    fn for_each_held(&self, see: &mut dyn FnMut(Holding));

    /// Calls `see` for what a pending timer holds, in addition to [`RouterModel::for_each_held`].
    fn in_timer(timer: &Self::Timer, see: &mut dyn FnMut(Holding)) {
        let _ = (timer, see);
    }

    /// Calls `see` for what a pending signal holds: a packet on a link, or space of the buffer at the end of that,
    /// input port `input`, which is 0 where the end is a NIC.
    fn in_signal(signal: &Self::Signal, input: u16, see: &mut dyn FnMut(Holding)) {
        let _ = (signal, input, see);
    }

    /// Bytes that wait for `port`, are in flight there, or whose credit has not returned.
    fn load(&self, port: u16) -> u64;

    /// Credits for a VC of the link at `port`, in bytes.
    fn credits(&self, port: u16, vc: u8) -> u32;

    /// Use of the link at `port` up to `end`.
    fn used(&self, port: u16, end: Time) -> LinkUse;

    /// Shows, for samples, what each link at `ports` has carried from the start of the run to `end`, the total of
    /// [`RouterModel::used`], and whether it is busy or blocked then ([`RouterModel::is_active`]).
    #[inline]
    fn flows(&self, ports: Range<u16>, end: Time, mut see: impl FnMut(u16, Flow, bool)) {
        for port in ports {
            see(port, self.used(port, end).total, self.is_active(port, end));
        }
    }

    /// The sum of the [`RouterModel::flows`] of some links, and whether one of them is busy or blocked at `end`.
    // Not inlined: samplers call it once for many links, and for each model its sum then stays in registers.
    #[inline(never)]
    fn flow_of(&self, ports: Range<u16>, end: Time) -> (Flow, bool) {
        let (mut sum, mut is_one_active) = (Flow::default(), false);
        self.flows(ports, end, |_, flow, is_active| {
            sum.add(&flow);
            is_one_active |= is_active;
        });
        (sum, is_one_active)
    }

    /// Number of packets known to wait for `port`.
    fn waiting_at(&self, port: u16) -> u32;

    /// Whether the link at `port` is busy or blocked at `time` if no event comes before.
    fn is_active(&self, port: u16, time: Time) -> bool;

    /// Prefetches the memory that most events touch.
    #[inline]
    fn prefetch(&self) {}

    /// Prefetches the memory that a credit for this VC touches.
    #[inline]
    fn prefetch_credit(&self, port: u16, vc: u8) {
        let _ = (port, vc);
    }

    /// Prefetches the memory that a packet to this output touches, in a router with many ports.
    #[inline]
    fn prefetch_output(&self, port: u16) {
        let _ = port;
    }
}

/// The outputs of a router, and the journal of its undo steps.
pub trait RouterOutputs<M: RouterModel>: Journal<M::Undo> {
    /// The packet starts onto the link of `port` after `wait`, to VC `vc`; its tail leaves `serialization` later. A
    /// host receives it with its tail, a router with its head, or with its tail if the model says so
    /// ([`RouterCapabilities::stores_packets`]). A model that does not know the time of the tail
    /// sends [`RouterModel::Signal`]s between routers, and calls this for a host when the tail leaves.
    fn depart(&mut self, port: u16, vc: u8, packet: Packet, wait: Time, serialization: Time);

    /// The tail of a packet starts onto the link of `port` after `wait` and leaves `serialization` later, behind all
    /// other flits. The router at the far end takes whole packets, and handles it `after` the arrival of the tail's
    /// first bit ([`PortSetting::whole_packets`]).
    fn depart_with_tail(
        &mut self,
        port: u16,
        vc: u8,
        packet: Packet,
        (wait, serialization): (Time, Time),
        after: Time,
    ) {
        let _ = after;
        self.depart(port, vc, packet, wait, serialization);
    }

    /// After this span, `bytes` bytes of the buffer of input `port`, VC `vc` become free.
    fn credit(&mut self, port: u16, vc: u8, bytes: u32, after: Time);

    /// [`RouterModel::timer`] is called after this span, at least 1 ps.
    fn timer(&mut self, timer: M::Timer, after: Time);

    /// The signal starts onto the link of `port` after this span. It takes the latency of the cable, without the
    /// pipeline of the router at the far end.
    fn signal(&mut self, port: u16, signal: M::Signal, after: Time);

    /// Lookahead: the output of a packet at the router behind a port, and the number of that router's ports. The packet
    /// takes a virtual channel of routing and has been routed here. `None`: there is a host, or the output depends on
    /// more than the packet.
    fn output_ahead(&self, port: u16, routing_vc: u8, packet: &Packet) -> Option<(u16, u16)> {
        let _ = (port, routing_vc, packet);
        None
    }

    /// The router's random stream.
    fn random(&mut self) -> impl Random;

    /// Something becomes of the packet other than a departure.
    fn fate(&mut self, packet: &Packet, fate: PacketFate);

    /// A packet begins to wait for credits.
    #[inline]
    fn lacks_credits(&mut self) {}

    /// Whether the model has to report observations: waits are tracked, or packets that wait are counted by VC.
    #[inline]
    fn tracks_waits(&self) -> bool {
        false
    }

    /// Reports an observation of a packet for an output port and VC, if [`RouterOutputs::tracks_waits`]. It precedes
    /// the packet's departure.
    fn observe(
        &mut self,
        packet: Packet,
        output: (u16, u8),
        observation: <M::WaitTracker as WaitTracker>::Observation,
    ) {
        let _ = (packet, output, observation);
    }
}

/// The type of timers and signals of models that have none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Never {}
