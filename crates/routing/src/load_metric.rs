//! The load that adaptive routing compares: which bytes of an output count, and of which VCs.
//!
//! Simulators differ in this. Merlin (SST) compares credits of the packet's VC in its dragonfly and the queue length of
//! that VC in its HyperX. BookSim 2 compares the taken credits of a port in its dragonfly. CODES compares all bytes of
//! a port, waiting or not credited.

use config::{Error, Parameter, Section};

use crate::{Congestion, Hop};

const QUANTITIES: &[&str] = &["total", "queue", "credits"];
const SCOPES: &[&str] = &["port", "vc"];

/// The parameter of all algorithms that compare loads.
pub(crate) const METRIC: Parameter = Parameter::choice(
    "metric",
    QUANTITIES,
    "bytes that are the load of an output: those that wait in the router (queue), those in flight or in the buffer \
     behind the link by its credits (credits), or both (total)",
);

/// The parameter of all algorithms that compare loads.
pub(crate) const METRIC_SCOPE: Parameter = Parameter::choice(
    "metric_scope",
    SCOPES,
    "virtual channels whose bytes count: all of the port (port), or the one that the packet would take (vc)",
);

/// The bytes that are the load of an output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoadQuantity {
    /// Bytes of both other quantities.
    #[default]
    Total,
    /// Bytes that wait in the router for the output: for credits, for the crossbar, or for the link that is reserved
    /// for them.
    Queue,
    /// Bytes of the buffer behind the link that are taken according to its credits, except by packets that are still
    /// in the router: bytes in flight, bytes in the buffer, and bytes whose credit is on its way back.
    Credits,
}

/// The virtual channels whose bytes count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoadScope {
    /// All of the port.
    #[default]
    Port,
    /// The one on which the packet would go.
    Vc,
}

/// The load that an algorithm compares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadMetric {
    /// The bytes that count.
    pub quantity: LoadQuantity,
    /// The virtual channels that count.
    pub scope: LoadScope,
}

impl LoadMetric {
    /// The load of [`Congestion::load`].
    pub const DEFAULT: LoadMetric = LoadMetric {
        quantity: LoadQuantity::Total,
        scope: LoadScope::Port,
    };

    /// Whether this is the load of [`Congestion::load`].
    #[inline]
    pub fn is_default(self) -> bool {
        self == LoadMetric::DEFAULT
    }

    /// Reads `metric` and `metric_scope`.
    pub(crate) fn read(section: &Section) -> Result<LoadMetric, Error> {
        let quantity = match section.choice(METRIC.name)? {
            "queue" => LoadQuantity::Queue,
            "credits" => LoadQuantity::Credits,
            _ => LoadQuantity::Total,
        };
        let scope = match section.choice(METRIC_SCOPE.name)? {
            "vc" => LoadScope::Vc,
            _ => LoadScope::Port,
        };
        Ok(LoadMetric { quantity, scope })
    }

    /// Refuses `metric` and `metric_scope` where no loads are compared, unless they have their defaults.
    pub(crate) fn refuse(section: &Section, reason: &str) -> Result<(), Error> {
        for (key, names) in [(METRIC.name, QUANTITIES), (METRIC_SCOPE.name, SCOPES)] {
            if section.choice(key)? != names[0] {
                let default = names[0];
                let text = format!("{reason} no loads are compared; expected {default}, or no {key}");
                return Err(section.error(key, text));
            }
        }
        Ok(())
    }

    /// The load of a hop's output, in bytes. The default metric costs one comparison more than
    /// [`Congestion::load`].
    #[inline]
    pub(crate) fn of(self, congestion: &dyn Congestion, hop: Hop) -> u64 {
        match self.is_default() {
            true => congestion.load(hop.port),
            false => congestion.load_by(self, hop.port, hop.vc),
        }
    }
}
