//! Router models of different fidelity, one file each.
//!
//! A model implements [`RouterModel`] and has a line in `router_models!` below, from which follow the enums of
//! all models and their dispatch.

pub mod analytic;
mod arbiter;
#[cfg(test)]
pub(crate) mod bench;
mod bookings;
pub mod crossbar;
pub mod flit;
pub mod input_queued;
mod model;
mod output_buffers;
mod output_load;
pub mod output_queued;
pub mod packet;
mod routed_packet;
mod speedup;
mod underrun;

use std::ops::Range;

use config::Section;
use des::Time;
use serde::{Deserialize, Serialize};
use topology::RouterId;

use crate::capabilities::{PacketLimits, RouterCapabilities};
use crate::waits::WaitTracker;
use crate::{Flow, LinkUse};

pub use arbiter::Arbiter;
pub use model::{
    Arrival, FEW_PORTS, Holding, Never, PortSetting, RouterModel, RouterModelKind, RouterOutputs,
    RouterSetup, RoutingContext,
};
pub use speedup::Speedup;

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
pub const DEFAULT_MODEL: &str = packet::PacketRouter::MODEL.name;

/// The names of the models that declare something, as a user writes them. A model in which nothing contends declares
/// all that routing can need, and is no substitute for another one.
pub fn models_with(has: impl Fn(&RouterCapabilities) -> bool) -> Vec<&'static str> {
    let contends = |model: &&RouterModelKind| !model.capabilities.crosses_at_once;
    let models = MODELS
        .iter()
        .filter(contends)
        .filter(|model| has(&model.capabilities));
    models.map(|model| model.name).collect()
}

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
    ($dollar:tt $($name:ident: $module:ident::$model:ident,)*) => {
        /// Evaluates an expression for a router as its own type.
        macro_rules! dispatch {
            ($dollar any:expr, $dollar router:ident => $dollar body:expr) => {
                match $dollar any {
                    $(Router::$name($dollar router) => $dollar body,)*
                }
            };
        }

        /// All router models, in alphabetical order.
        pub const MODELS: &[RouterModelKind] = &[$($module::$model::MODEL),*];

        /// A router model with its parameters.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs)]
        pub enum RouterParameters {
            $($name(<$module::$model as RouterModel>::Parameters),)*
        }

        /// A router of one of the models. It is not boxed, as a box would cost a cache miss per event.
        #[allow(clippy::large_enum_variant, missing_docs)]
        pub enum Router {
            $($name($module::$model),)*
        }

        /// An undo step of a router.
        #[derive(Debug)]
        #[allow(missing_docs)]
        pub enum RouterUndo {
            $($name(<$module::$model as RouterModel>::Undo),)*
        }

        /// Content of a timer of a router.
        #[derive(Clone, Copy, Debug, Serialize, Deserialize)]
        #[allow(missing_docs)]
        pub enum RouterTimer {
            $($name(<$module::$model as RouterModel>::Timer),)*
        }

        /// Content of links besides packets and credits.
        #[derive(Clone, Copy, Debug, Serialize, Deserialize)]
        #[allow(missing_docs)]
        pub enum RouterSignal {
            $($name(<$module::$model as RouterModel>::Signal),)*
        }

        /// The mutable state of a router.
        #[derive(Serialize, Deserialize)]
        #[allow(missing_docs)]
        pub enum RouterState {
            $($name(<$module::$model as RouterModel>::State),)*
        }

        /// The wait tracker of a router.
        #[derive(Serialize, Deserialize)]
        #[allow(missing_docs)]
        pub enum RouterWaitTracker {
            $($name(<$module::$model as RouterModel>::WaitTracker),)*
        }

        /// An undo step of a router's wait tracker.
        #[derive(Debug)]
        #[allow(missing_docs)]
        pub enum RouterWaitUndo {
            $($name(<<$module::$model as RouterModel>::WaitTracker as WaitTracker>::Undo),)*
        }

        impl RouterParameters {
            /// Reads model and parameters from the section `network.router` of an experiment.
            ///
            /// # Errors
            /// The model is unknown, or a parameter wrong.
            pub fn read(section: &Section) -> Result<RouterParameters, config::Error> {
                let names: Vec<&str> = MODELS.iter().map(|model| model.name).collect();
                let name = section.choice_or("model", DEFAULT_MODEL, &names)?;
                $(if name == $module::$model::MODEL.name {
                    section.declare($module::$model::MODEL.parameters);
                    return $module::$model::read(section).map(RouterParameters::$name);
                })*
                unreachable!("{name} is registered")
            }

            /// Name of the model.
            pub fn name(&self) -> &'static str {
                match self {
                    $(RouterParameters::$name(_) => $module::$model::MODEL.name,)*
                }
            }

            /// What the model declares.
            pub fn capabilities(&self) -> RouterCapabilities {
                match self {
                    $(RouterParameters::$name(parameters) => $module::$model::capabilities(parameters),)*
                }
            }

            /// See [`RouterModel::packet_limits`].
            pub fn packet_limits(&self) -> PacketLimits {
                match self {
                    $(RouterParameters::$name(parameters) => $module::$model::packet_limits(parameters),)*
                }
            }

            /// See [`RouterModel::bytes_per_port`].
            pub fn bytes_per_port(&self, ports: u64, vcs: u64, bubbles: bool) -> u64 {
                match self {
                    $(RouterParameters::$name(_) => $module::$model::bytes_per_port(ports, vcs, bubbles),)*
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
            pub fn for_each_held(&self, see: &mut dyn FnMut(Holding)) {
                match self {
                    $(RouterTimer::$name(timer) => $module::$model::in_timer(timer, see),)*
                }
            }
        }

        impl RouterSignal {
            /// See [`RouterModel::in_signal`].
            pub fn for_each_held(&self, input: u16, see: &mut dyn FnMut(Holding)) {
                match self {
                    $(RouterSignal::$name(signal) => $module::$model::in_signal(signal, input, see),)*
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

        $(impl Registered for $module::$model {
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
    Analytic: analytic::AnalyticRouter,
    Crossbar: crossbar::CrossbarRouter,
    Flit: flit::FlitRouter,
    InputQueued: input_queued::InputQueuedRouter,
    OutputQueued: output_queued::OutputQueuedRouter,
    Packet: packet::PacketRouter,
}

/// Methods of all models, each with the name that it has in [`RouterModel`].
macro_rules! delegate {
    ($($(#[$attribute:meta])* fn $name:ident($($argument:ident: $type:ty),*) $(-> $output:ty)?;)*) => {
        impl Router {
            $(
                #[doc = concat!("See [`RouterModel::", stringify!($name), "`].")]
                $(#[$attribute])*
                pub fn $name(&self $(, $argument: $type)*) $(-> $output)? {
                    dispatch!(self, router => router.$name($($argument),*))
                }
            )*
        }
    };
}

delegate! {
    fn id() -> RouterId;
    fn for_each_held(see: &mut dyn FnMut(Holding));
    fn load(port: u16) -> u64;
    fn credits(port: u16, vc: u8) -> u32;
    fn used(port: u16, end: Time) -> LinkUse;
    fn waiting_at(port: u16) -> u32;
    fn is_active(port: u16, time: Time) -> bool;
    #[inline]
    fn prefetch();
    #[inline]
    fn prefetch_credit(port: u16, vc: u8);
    #[inline]
    fn prefetch_output(port: u16);
}

impl Router {
    /// Shows the use of the links at `ports` until `end`, and whether they are busy or blocked then
    /// ([`RouterModel::flows`]).
    #[inline]
    pub fn flows(&self, ports: Range<u16>, end: Time, see: impl FnMut(u16, Flow, bool)) {
        dispatch!(self, router => router.flows(ports, end, see));
    }

    /// The sum of the use of the links at `ports` until `end`, and whether one of them is busy or blocked then
    /// ([`RouterModel::flow_of`]).
    #[inline]
    pub fn flow_of(&self, ports: Range<u16>, end: Time) -> (Flow, bool) {
        dispatch!(self, router => router.flow_of(ports, end))
    }

    /// Runs an operation on the router, as its own type.
    #[inline(always)]
    pub fn visit<V: RouterVisitor>(&mut self, visitor: V) -> V::Output {
        dispatch!(self, router => visitor.visit(router))
    }
}
