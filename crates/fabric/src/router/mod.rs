//! Router models, a ladder of fidelity; one file each.

pub mod input_queued;
pub mod packet;
#[cfg(test)]
mod strategies;

use config::Parameter;
use routing::{Reports, Routing};

use input_queued::Arbiter;

/// What a router decides by where packets go: the routing, and what it has been told of loads elsewhere.
#[derive(Clone, Copy)]
pub struct RoutingContext<'a> {
    /// The routing.
    pub routing: &'a dyn Routing,
    /// Loads that other routers have told, in units of [`Reports::UNIT`].
    pub loads: &'a [u16],
}

impl RoutingContext<'_> {
    /// One of the loads, in bytes.
    fn reported_load(&self, slot: usize) -> u64 {
        self.loads
            .get(slot)
            .map_or(0, |units| u64::from(*units) * Reports::UNIT)
    }
}

/// One router model.
pub struct Model {
    /// Name in experiments, `fabricsim list` and the docs.
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// Parameters.
    pub parameters: &'static [Parameter],
}

/// All router models, in alphabetical order.
pub const MODELS: &[Model] = &[
    Model {
        name: "input-queued",
        summary: "virtual cut-through with credits, a first-in first-out queue for each input port and virtual \
                  channel: head-of-line blocking",
        parameters: &[Parameter::choice(
            "arbiter",
            &Arbiter::NAMES,
            "how an output chooses among inputs",
        )],
    },
    Model {
        name: "packet",
        summary: "virtual cut-through, input-buffered virtual channels with credits, no head-of-line blocking \
                  between outputs",
        parameters: &[],
    },
];
