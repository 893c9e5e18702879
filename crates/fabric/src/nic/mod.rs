//! Models of one port of a NIC, one file each: messages become packets on the injection link; packets from the network
//! are delivered.
//!
//! A model implements [`NicModel`] and has a line in `nic_models!` below, from which follow the enums of all models and
//! their dispatch. With one model they cost nothing.

mod arbiter;
pub mod flit;
mod model;
pub mod queued;

use config::Section;
use des::Time;
use serde::{Deserialize, Serialize};

use crate::capabilities::NicCapabilities;
use crate::router::RouterSignal;
use crate::{LinkUse, Rate, TrafficClasses, router};

pub use arbiter::{NIC_ARBITERS, NicArbiter, TurnUndo};
pub use model::{NicClassView, NicModel, NicModelKind, NicOutputs, NicReport, NicSetup, Outgoing, SignalOf};

/// Name of the NIC model of experiments that name none.
pub const DEFAULT_MODEL: &str = <queued::QueuedNic<()> as NicModel>::MODEL.name;

/// A registered model: conversions between its own types and the enums of all models.
pub trait RegisteredNic: NicModel {
    /// An undo step of this model.
    fn any_undo(step: Self::Undo) -> NicUndo<Self::Report>;
    /// A timer of this model.
    fn any_timer(timer: Self::Timer) -> NicTimer;
    /// The timer, if it belongs to this model.
    fn own_timer(timer: NicTimer) -> Option<Self::Timer>;

    /// A signal of this model.
    fn any_signal(signal: SignalOf<Self>) -> RouterSignal {
        <Self::Router as router::Registered>::any_signal(signal)
    }

    /// The signal, if this model understands it.
    fn own_signal(signal: RouterSignal) -> Option<SignalOf<Self>> {
        <Self::Router as router::Registered>::own_signal(signal)
    }
}

/// An operation on a port of any model, compiled for each.
pub trait NicVisitor<T: NicReport> {
    /// The result.
    type Output;
    /// The operation.
    fn visit<N: RegisteredNic<Report = T>>(self, nic: &mut N) -> Self::Output;
}

/// The names of the models that declare something, as a user writes them.
pub fn models_with(has: impl Fn(&NicCapabilities) -> bool) -> Vec<&'static str> {
    let models = MODELS.iter().filter(|model| has(&model.capabilities));
    models.map(|model| model.name).collect()
}

/// Defines the enums of all models, with one variant for each, and their dispatch. The first argument is a dollar
/// sign for the macro that this macro defines.
macro_rules! nic_models {
    ($dollar:tt $($name:ident: $module:ident::$model:ident,)*) => {
        /// Evaluates an expression for a port as its own type.
        macro_rules! dispatch {
            ($dollar any:expr, $dollar nic:ident => $dollar body:expr) => {
                match $dollar any {
                    $(Nic::$name($dollar nic) => $dollar body,)*
                }
            };
        }

        /// All NIC models, in alphabetical order.
        pub const MODELS: &[NicModelKind] = &[$(<$module::$model<()> as NicModel>::MODEL),*];

        /// A NIC model with its parameters.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs)]
        pub enum NicParameters {
            $($name(<$module::$model<()> as NicModel>::Parameters),)*
        }

        /// A port of one of the models. It is not boxed, as a box would cost a cache miss per event. `T` identifies
        /// a message to the layer above.
        #[allow(missing_docs)]
        pub enum Nic<T: NicReport> {
            $($name($module::$model<T>),)*
        }

        /// An undo step of a port.
        #[derive(Debug)]
        #[allow(missing_docs)]
        pub enum NicUndo<T: NicReport> {
            $($name(<$module::$model<T> as NicModel>::Undo),)*
        }

        /// Content of a timer of a port.
        #[derive(Clone, Copy, Debug, Serialize, Deserialize)]
        #[allow(missing_docs)]
        pub enum NicTimer {
            $($name(<$module::$model<()> as NicModel>::Timer),)*
        }

        /// The mutable state of a port.
        #[derive(Serialize, Deserialize)]
        #[serde(bound = "")]
        #[allow(missing_docs)]
        pub enum NicState<T: NicReport> {
            $($name(<$module::$model<T> as NicModel>::State),)*
        }

        impl NicParameters {
            /// Reads model and parameters from the section `network.nic` of an experiment; without a model, those of
            /// the one with the name `default`.
            ///
            /// # Errors
            /// The model is unknown, or a parameter wrong.
            pub fn read(section: &Section, default: &str) -> Result<NicParameters, config::Error> {
                let names: Vec<&str> = MODELS.iter().map(|model| model.name).collect();
                let name = section.choice_or("model", default, &names)?;
                NicParameters::read_named(section, name)
            }

            /// Reads the parameters of the model with a name, which the section does not give.
            ///
            /// # Errors
            /// A parameter is wrong.
            pub fn read_named(section: &Section, name: &str) -> Result<NicParameters, config::Error> {
                $(if name == <$module::$model<()> as NicModel>::MODEL.name {
                    section.declare(<$module::$model<()> as NicModel>::MODEL.parameters);
                    return <$module::$model<()> as NicModel>::read(section).map(NicParameters::$name);
                })*
                unreachable!("{name} is registered")
            }

            /// What the model declares.
            pub fn capabilities(&self) -> NicCapabilities {
                match self {
                    $(NicParameters::$name(own) => <$module::$model<()> as NicModel>::capabilities(*own),)*
                }
            }

            /// See [`NicModel::more_bytes`].
            pub fn more_bytes(&self, classes: &TrafficClasses) -> u64 {
                match self {
                    $(NicParameters::$name(own) => {
                        <$module::$model<()> as NicModel>::more_bytes(classes, *own)
                    })*
                }
            }

            /// See [`NicModel::memory_rate`].
            pub fn memory_rate(&self) -> Option<Rate> {
                match self {
                    $(NicParameters::$name(own) => <$module::$model<()> as NicModel>::memory_rate(*own),)*
                }
            }

            /// See [`NicModel::mark_after`].
            pub fn mark_after(&self) -> Option<Time> {
                match self {
                    $(NicParameters::$name(own) => <$module::$model<()> as NicModel>::mark_after(*own),)*
                }
            }
        }

        impl<T: NicReport> Nic<T> {
            /// An idle port.
            pub fn new(setup: &NicSetup, parameters: NicParameters) -> Nic<T> {
                match parameters {
                    $(NicParameters::$name(parameters) => Nic::$name(NicModel::new(setup, parameters)),)*
                }
            }

            /// See [`NicModel::undo`].
            #[inline]
            pub fn undo(&mut self, step: NicUndo<T>) {
                match (self, step) {
                    $((Nic::$name(nic), NicUndo::$name(step)) => nic.undo(step),)*
                    #[allow(unreachable_patterns, reason = "with one model")]
                    _ => unreachable!("a port undoes its own steps"),
                }
            }

            /// See [`NicModel::state`].
            pub fn state(&self) -> NicState<T> {
                match self {
                    $(Nic::$name(nic) => NicState::$name(nic.state()),)*
                }
            }

            /// See [`NicModel::restore`].
            ///
            /// # Errors
            /// The state belongs to another NIC model, or to other settings.
            pub fn restore(&mut self, state: NicState<T>) -> Result<(), String> {
                match (self, state) {
                    $((Nic::$name(nic), NicState::$name(state)) => nic.restore(state),)*
                    #[allow(unreachable_patterns, reason = "with one model")]
                    _ => Err("its state is that of another NIC model".into()),
                }
            }
        }

        $(impl<T: NicReport> RegisteredNic for $module::$model<T> {
            #[inline(always)]
            fn any_undo(step: Self::Undo) -> NicUndo<T> {
                NicUndo::$name(step)
            }
            #[inline(always)]
            fn any_timer(timer: Self::Timer) -> NicTimer {
                NicTimer::$name(timer)
            }
            #[inline(always)]
            fn own_timer(timer: NicTimer) -> Option<Self::Timer> {
                match timer {
                    NicTimer::$name(timer) => Some(timer),
                    #[allow(unreachable_patterns, reason = "with one model")]
                    _ => None,
                }
            }
        })*
    };
}

nic_models! {
    $
    Flit: flit::FlitNic,
    Queued: queued::QueuedNic,
}

/// Methods of all models, each with the name that it has in [`NicModel`].
macro_rules! delegate {
    ($($(#[$attribute:meta])* fn $name:ident($($argument:ident: $type:ty),*) $(-> $output:ty)?;)*) => {
        impl<T: NicReport> Nic<T> {
            $(
                #[doc = concat!("See [`NicModel::", stringify!($name), "`].")]
                $(#[$attribute])*
                pub fn $name(&self $(, $argument: $type)*) $(-> $output)? {
                    dispatch!(self, nic => nic.$name($($argument),*))
                }
            )*
        }
    };
}

delegate! {
    #[inline]
    fn is_clear() -> bool;
    fn backlog() -> u64;
    fn held_packets() -> u64;
    fn credits(vc: u8) -> u32;
    fn class_view(class: u8) -> NicClassView;
    fn used(end: Time) -> LinkUse;
    fn is_active(time: Time) -> bool;
    #[inline]
    fn prefetch();
}

impl<T: NicReport> Nic<T> {
    /// Runs an operation on the port, as its own type.
    #[inline(always)]
    pub fn visit<V: NicVisitor<T>>(&mut self, visitor: V) -> V::Output {
        dispatch!(self, nic => visitor.visit(nic))
    }
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Nic<(u16, u32)>>() == 176);

const _: () = assert!(size_of::<NicUndo<(u16, u32)>>() == 32);
