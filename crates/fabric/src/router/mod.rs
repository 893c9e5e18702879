//! Router models of different fidelity, one file each.
//!
//! A model implements [`RouterModel`] and has a line in `router_models!` below, from which follow the enums of
//! all models and their dispatch.

#[cfg(test)]
pub(crate) mod bench;
pub mod input_queued;
pub mod packet;

use std::fmt::Debug;

use config::{Parameter, Section};
use des::{Journal, Time};
use routing::{Random, Reports, Routing};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use topology::RouterId;

use crate::waits::WaitTracker;
use crate::{LinkUse, Packet, Rate};

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
    fn reported_load(&self, slot: usize) -> u64 {
        self.loads
            .get(slot)
            .map_or(0, |units| u64::from(*units) * Reports::UNIT)
    }
}

/// Settings of a router's port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortSetting {
    /// Bandwidth of its cable, in both directions.
    pub rate: Rate,
    /// Whether the port leads to a host, which accepts all packets.
    pub to_host: bool,
    /// Size of each VC's buffer at the far end, in bytes.
    pub credits: u32,
}

/// The settings from which a router of any model is built.
#[derive(Clone, Copy, Debug)]
pub struct RouterSetup<'a> {
    /// Its id.
    pub id: RouterId,
    /// Virtual channels of each port.
    pub vcs: u8,
    /// Its ports.
    pub ports: &'a [PortSetting],
    /// Bytes of the largest packet.
    pub largest_packet: u32,
    /// Whether routing uses bubble flow control ([`routing::BufferClaim::Bubble`]).
    pub bubbles: bool,
    /// Start of the measured part of the run.
    pub warmup: Time,
}

impl RouterSetup<'_> {
    /// Whether all cables have the same speed.
    fn has_one_rate(&self) -> bool {
        self.ports.iter().all(|p| p.rate == self.ports[0].rate)
    }

    /// One value for each VC of each port.
    fn per_vc<T: Clone>(&self, of: impl Fn(&PortSetting) -> T) -> Vec<T> {
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

/// A packet that holds buffer space.
#[derive(Clone, Copy, Debug)]
pub struct BufferedPacket {
    /// The packet.
    pub packet: Packet,
    /// Input port.
    pub input: u16,
    /// VC of the input buffer.
    pub input_vc: u8,
    /// Output port and VC whose credits the packet has reserved, if any.
    pub reserved: Option<(u16, u8)>,
}

/// Registry entry of a router model.
pub struct RouterModelKind {
    /// Name in experiments, `fabricsim list` and the docs.
    pub name: &'static str,
    /// One-line description.
    pub summary: &'static str,
    /// Parameters.
    pub parameters: &'static [Parameter],
}

/// A router model: a state machine that is driven by method calls and acts through [`RouterOutputs`].
///
/// Every method that changes the router notes an undo step ([`Journal`]). Under an optimistic executor a router may
/// receive a credit for a packet that it has not sent in this timeline. So counters wrap, and no method panics.
pub trait RouterModel: Sized {
    /// The registry entry.
    const MODEL: RouterModelKind;
    /// Whether its buffers are divided into slots of the largest packet where routing uses bubbles
    /// ([`routing::BufferClaim::Bubble`]); routing with bubbles needs such a model.
    const HAS_SLOTS: bool;
    /// Whether the router reports each packet that waits for credits ([`RouterOutputs::lacks_credits`]), and
    /// credits have no other effect. The arrival time of a credit then has no effect before the first report.
    const REPORTS_CREDIT_WAITS: bool;

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
    /// Tracks the waits of packets and their causes.
    type WaitTracker: WaitTracker;

    /// Reads the parameters from the section `network.router` of an experiment.
    ///
    /// # Errors
    /// A value is out of range or of a wrong type.
    fn read(section: &Section) -> Result<Self::Parameters, config::Error>;

    /// Memory of one port in bytes, for a router with this many ports and VCs.
    fn bytes_per_port(ports: u64, vcs: u64, bubbles: bool) -> u64;

    /// An empty router.
    fn new(setup: &RouterSetup<'_>, parameters: Self::Parameters) -> Self;

    /// The simulation begins. Only timers may be set.
    #[inline]
    fn start<O: RouterOutputs<Self>>(&mut self, out: &mut O) {
        let _ = out;
    }

    /// A packet's head has arrived and has passed the router's pipeline.
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

    /// Calls `see` for each packet in the input buffers.
    fn for_each_buffered(&self, see: &mut dyn FnMut(BufferedPacket));

    /// The packet in a pending timer, if it holds buffer space.
    fn in_timer(timer: &Self::Timer) -> Option<BufferedPacket> {
        let _ = timer;
        None
    }

    /// The packet in a pending signal to input port `input`, if it holds buffer space there.
    fn in_signal(signal: &Self::Signal, input: u16) -> Option<BufferedPacket> {
        let _ = (signal, input);
        None
    }

    /// Bytes that wait for `port`, are in flight there, or whose credit has not returned.
    fn load(&self, port: u16) -> u64;

    /// Credits for a VC of the link at `port`, in bytes.
    fn credits(&self, port: u16, vc: u8) -> u32;

    /// Use of the link at `port` up to `end`.
    fn used(&self, port: u16, end: Time) -> LinkUse;

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
    /// host receives it with its tail, a router with its head. A model that does not know the time of the tail
    /// sends [`RouterModel::Signal`]s between routers, and calls this for a host when the tail leaves.
    fn depart(&mut self, port: u16, vc: u8, packet: Packet, wait: Time, serialization: Time);

    /// After this span, `bytes` bytes of the buffer of input `port`, VC `vc` become free.
    fn credit(&mut self, port: u16, vc: u8, bytes: u32, after: Time);

    /// [`RouterModel::timer`] is called after this span, at least 1 ps.
    fn timer(&mut self, timer: M::Timer, after: Time);

    /// The signal starts onto the link of `port` after this span. It takes as long as the head of a packet.
    fn signal(&mut self, port: u16, signal: M::Signal, after: Time);

    /// The router's random stream.
    fn random(&mut self) -> impl Random;

    /// A packet begins to wait for credits.
    #[inline]
    fn lacks_credits(&mut self) {}

    /// Whether waits are tracked.
    #[inline]
    fn tracks_waits(&self) -> bool {
        false
    }

    /// Reports an observation of a packet for an output port and VC to the wait tracker, if waits are tracked. It
    /// precedes the packet's departure.
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

/// A registered model: conversions between its own types and the enums of all models.
pub trait Registered: RouterModel {
    /// An undo step of this model.
    fn any_undo(step: Self::Undo) -> RouterUndo;
    /// A timer of this model.
    fn any_timer(timer: Self::Timer) -> RouterTimer;
    /// The timer, if it belongs to this model.
    fn own_timer(timer: RouterTimer) -> Option<Self::Timer>;
    /// A signal of this model.
    fn any_signal(signal: Self::Signal) -> RouterSignal;
    /// The signal, if it belongs to this model.
    fn own_signal(signal: RouterSignal) -> Option<Self::Signal>;
    /// The wait tracker, if it belongs to this model.
    fn own_wait_tracker(wait_tracker: &mut RouterWaitTracker) -> Option<&mut Self::WaitTracker>;
    /// An undo step of this model's wait tracker.
    fn any_wait_undo(step: <Self::WaitTracker as WaitTracker>::Undo) -> RouterWaitUndo;
}

/// Name of the router model of experiments that name none.
pub const DEFAULT_MODEL: &str = packet::Router::MODEL.name;

/// An operation on a router of any model, compiled for each.
pub trait RouterVisitor {
    /// The result.
    type Output;
    /// The operation.
    fn visit<M: Registered>(self, router: &mut M) -> Self::Output;
}

/// Defines the enums of all models, with one variant for each, and their dispatch. The first argument is a dollar
/// sign for the macro that this macro defines.
macro_rules! router_models {
    ($dollar:tt $($name:ident: $module:ident,)*) => {
        /// Evaluates an expression for a router as its own type.
        macro_rules! dispatch {
            ($dollar any:expr, $dollar router:ident => $dollar body:expr) => {
                match $dollar any {
                    $(Router::$name($dollar router) => $dollar body,)*
                }
            };
        }

        /// All router models, in alphabetical order.
        pub const MODELS: &[RouterModelKind] = &[$($module::Router::MODEL),*];

        /// A router model with its parameters.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs)]
        pub enum RouterParameters {
            $($name(<$module::Router as RouterModel>::Parameters),)*
        }

        /// A router of one of the models. It is not boxed, as a box would cost a cache miss per event.
        #[allow(clippy::large_enum_variant, missing_docs)]
        pub enum Router {
            $($name($module::Router),)*
        }

        /// An undo step of a router.
        #[derive(Debug)]
        #[allow(missing_docs)]
        pub enum RouterUndo {
            $($name(<$module::Router as RouterModel>::Undo),)*
        }

        /// Content of a timer of a router.
        #[derive(Clone, Copy, Debug, Serialize, Deserialize)]
        #[allow(missing_docs)]
        pub enum RouterTimer {
            $($name(<$module::Router as RouterModel>::Timer),)*
        }

        /// Content of links besides packets and credits.
        #[derive(Clone, Copy, Debug, Serialize, Deserialize)]
        #[allow(missing_docs)]
        pub enum RouterSignal {
            $($name(<$module::Router as RouterModel>::Signal),)*
        }

        /// The mutable state of a router.
        #[derive(Serialize, Deserialize)]
        #[allow(missing_docs)]
        pub enum RouterState {
            $($name(<$module::Router as RouterModel>::State),)*
        }

        /// The wait tracker of a router.
        #[derive(Serialize, Deserialize)]
        #[allow(missing_docs)]
        pub enum RouterWaitTracker {
            $($name(<$module::Router as RouterModel>::WaitTracker),)*
        }

        /// An undo step of a router's wait tracker.
        #[derive(Debug)]
        #[allow(missing_docs)]
        pub enum RouterWaitUndo {
            $($name(<<$module::Router as RouterModel>::WaitTracker as WaitTracker>::Undo),)*
        }

        impl RouterParameters {
            /// Reads model and parameters from the section `network.router` of an experiment.
            ///
            /// # Errors
            /// The model is unknown, or a parameter wrong.
            pub fn read(section: &Section) -> Result<RouterParameters, config::Error> {
                let names: Vec<&str> = MODELS.iter().map(|model| model.name).collect();
                let name = section.choice_or("model", DEFAULT_MODEL, &names)?;
                $(if name == $module::Router::MODEL.name {
                    section.declare($module::Router::MODEL.parameters);
                    return $module::Router::read(section).map(RouterParameters::$name);
                })*
                unreachable!("{name} is registered")
            }

            /// See [`RouterModel::HAS_SLOTS`].
            pub fn has_slots(&self) -> bool {
                match self {
                    $(RouterParameters::$name(_) => $module::Router::HAS_SLOTS,)*
                }
            }

            /// See [`RouterModel::REPORTS_CREDIT_WAITS`].
            pub fn reports_credit_waits(&self) -> bool {
                match self {
                    $(RouterParameters::$name(_) => $module::Router::REPORTS_CREDIT_WAITS,)*
                }
            }

            /// See [`RouterModel::bytes_per_port`].
            pub fn bytes_per_port(&self, ports: u64, vcs: u64, bubbles: bool) -> u64 {
                match self {
                    $(RouterParameters::$name(_) => $module::Router::bytes_per_port(ports, vcs, bubbles),)*
                }
            }
        }

        impl Router {
            /// An empty router.
            pub fn new(setup: &RouterSetup<'_>, parameters: RouterParameters) -> Router {
                match parameters {
                    $(RouterParameters::$name(parameters) => {
                        Router::$name(RouterModel::new(setup, parameters))
                    })*
                }
            }

            /// See [`RouterModel::undo`].
            #[inline]
            pub fn undo(&mut self, step: RouterUndo) {
                match (self, step) {
                    $((Router::$name(router), RouterUndo::$name(step)) => router.undo(step),)*
                    _ => unreachable!("a router undoes its own steps"),
                }
            }

            /// See [`RouterModel::state`].
            pub fn state(&self) -> RouterState {
                match self {
                    $(Router::$name(router) => RouterState::$name(router.state()),)*
                }
            }

            /// See [`RouterModel::restore`].
            ///
            /// # Errors
            /// The state belongs to another router model, or to other settings.
            pub fn restore(&mut self, state: RouterState) -> Result<(), String> {
                match (self, state) {
                    $((Router::$name(router), RouterState::$name(state)) => router.restore(state),)*
                    _ => Err("its state is that of another router model".into()),
                }
            }
        }

        impl RouterTimer {
            /// See [`RouterModel::in_timer`].
            pub fn packet(&self) -> Option<BufferedPacket> {
                match self {
                    $(RouterTimer::$name(timer) => $module::Router::in_timer(timer),)*
                }
            }
        }

        impl RouterSignal {
            /// See [`RouterModel::in_signal`].
            pub fn packet(&self, input: u16) -> Option<BufferedPacket> {
                match self {
                    $(RouterSignal::$name(signal) => $module::Router::in_signal(signal, input),)*
                }
            }
        }

        impl RouterWaitTracker {
            /// An empty tracker for a router of this model with this many ports and VCs.
            pub fn new(parameters: RouterParameters, ports: usize, vcs: u8) -> RouterWaitTracker {
                match parameters {
                    $(RouterParameters::$name(_) => {
                        RouterWaitTracker::$name(WaitTracker::new(ports, vcs))
                    })*
                }
            }

            /// See [`WaitTracker::undo`].
            pub fn undo(&mut self, step: RouterWaitUndo) {
                match (self, step) {
                    $((RouterWaitTracker::$name(tracker), RouterWaitUndo::$name(step)) => tracker.undo(step),)*
                    _ => unreachable!("a wait tracker undoes its own steps"),
                }
            }

            /// See [`WaitTracker::fits`].
            pub fn fits(&self, other: &RouterWaitTracker) -> bool {
                match (self, other) {
                    $((RouterWaitTracker::$name(one), RouterWaitTracker::$name(other)) => one.fits(other),)*
                    _ => false,
                }
            }
        }

        $(impl Registered for $module::Router {
            #[inline(always)]
            fn any_undo(step: Self::Undo) -> RouterUndo {
                RouterUndo::$name(step)
            }
            #[inline(always)]
            fn any_timer(timer: Self::Timer) -> RouterTimer {
                RouterTimer::$name(timer)
            }
            #[inline(always)]
            fn own_timer(timer: RouterTimer) -> Option<Self::Timer> {
                match timer {
                    RouterTimer::$name(timer) => Some(timer),
                    _ => None,
                }
            }
            fn any_signal(signal: Self::Signal) -> RouterSignal {
                RouterSignal::$name(signal)
            }
            fn own_signal(signal: RouterSignal) -> Option<Self::Signal> {
                match signal {
                    RouterSignal::$name(signal) => Some(signal),
                    _ => None,
                }
            }
            fn own_wait_tracker(wait_tracker: &mut RouterWaitTracker) -> Option<&mut Self::WaitTracker> {
                match wait_tracker {
                    RouterWaitTracker::$name(own) => Some(own),
                    _ => None,
                }
            }
            fn any_wait_undo(step: <Self::WaitTracker as WaitTracker>::Undo) -> RouterWaitUndo {
                RouterWaitUndo::$name(step)
            }
        })*
    };
}

router_models! {
    $
    InputQueued: input_queued,
    Packet: packet,
}

impl Router {
    /// Runs an operation on the router, as its own type.
    #[inline(always)]
    pub fn visit<V: RouterVisitor>(&mut self, visitor: V) -> V::Output {
        dispatch!(self, router => visitor.visit(router))
    }

    /// See [`RouterModel::id`].
    pub fn id(&self) -> RouterId {
        dispatch!(self, router => router.id())
    }

    /// See [`RouterModel::for_each_buffered`].
    pub fn for_each_buffered(&self, see: &mut dyn FnMut(BufferedPacket)) {
        dispatch!(self, router => router.for_each_buffered(see))
    }

    /// See [`RouterModel::load`].
    pub fn load(&self, port: u16) -> u64 {
        dispatch!(self, router => router.load(port))
    }

    /// See [`RouterModel::credits`].
    pub fn credits(&self, port: u16, vc: u8) -> u32 {
        dispatch!(self, router => router.credits(port, vc))
    }

    /// See [`RouterModel::used`].
    pub fn used(&self, port: u16, end: Time) -> LinkUse {
        dispatch!(self, router => router.used(port, end))
    }

    /// See [`RouterModel::waiting_at`].
    pub fn waiting_at(&self, port: u16) -> u32 {
        dispatch!(self, router => router.waiting_at(port))
    }

    /// See [`RouterModel::is_active`].
    pub fn is_active(&self, port: u16, time: Time) -> bool {
        dispatch!(self, router => router.is_active(port, time))
    }

    /// See [`RouterModel::prefetch`].
    #[inline]
    pub fn prefetch(&self) {
        dispatch!(self, router => router.prefetch());
    }

    /// See [`RouterModel::prefetch_credit`].
    #[inline]
    pub fn prefetch_credit(&self, port: u16, vc: u8) {
        dispatch!(self, router => router.prefetch_credit(port, vc));
    }

    /// See [`RouterModel::prefetch_output`].
    #[inline]
    pub fn prefetch_output(&self, port: u16) {
        dispatch!(self, router => router.prefetch_output(port));
    }
}
