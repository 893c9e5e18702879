//! All routing algorithms by name.

use std::sync::Arc;

use config::{Error, Section};
use topology::Topology;

use crate::Routing;

/// One routing algorithm.
pub struct Algorithm {
    /// Name in experiments, `fabricsim list` and the docs.
    pub name: &'static str,
    /// Topology kinds or shapes it works on, for people.
    pub works_on: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// Parameters: name and one line with its meaning and default.
    pub parameters: &'static [(&'static str, &'static str)],
    /// Reads the parameters; fails with a message that names both if it cannot route the topology.
    pub build: fn(&Section, Arc<dyn Topology>) -> Result<Box<dyn Routing>, Error>,
}

/// All routing algorithms, in alphabetical order.
pub static REGISTRY: &[Algorithm] = &[];

/// Builds the routing that `section` (`network.routing`) describes; its `algorithm` names it.
///
/// # Errors
/// An unknown algorithm, wrong parameters, or one that cannot route this topology.
pub fn build(section: &Section, topology: Arc<dyn Topology>) -> Result<Box<dyn Routing>, Error> {
    let name: String = section.required("algorithm")?;
    let algorithm = REGISTRY
        .iter()
        .find(|k| k.name == name)
        .ok_or_else(|| section.unknown_name("algorithm", &name, REGISTRY.iter().map(|k| k.name)))?;
    (algorithm.build)(section, topology)
}
