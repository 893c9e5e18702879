//! All routing algorithms by name.

use std::sync::Arc;

use config::{Error, Parameter, Section};
use topology::{Shape, Topology};

use crate::{
    Routing, adaptive, dal, destination_mod_k, dimension_order, doal, minimal, minimal_adaptive, par,
    piggyback, scatter, source_destination_hashed, ugal, valiant,
};

/// One routing algorithm.
pub struct Algorithm {
    /// Name in experiments, `fabricsim list` and the docs.
    pub name: &'static str,
    /// Topology kinds or shapes it works on, for people.
    pub works_on: &'static str,
    /// One-line description.
    pub summary: &'static str,
    /// Parameters.
    pub parameters: &'static [Parameter],
    /// Whether it can route topologies of this shape.
    pub routes: fn(&Shape<'_>) -> bool,
    /// Reads the parameters, for a topology of a shape that the algorithm routes.
    pub build: Build,
}

/// Reads an algorithm's parameters and prepares it for a topology.
pub type Build = fn(&Section, Arc<dyn Topology>) -> Result<Box<dyn Routing>, Error>;

/// All routing algorithms, in alphabetical order.
pub static REGISTRY: &[Algorithm] = &[
    adaptive::ALGORITHM,
    dal::ALGORITHM,
    destination_mod_k::ALGORITHM,
    dimension_order::ALGORITHM,
    doal::ALGORITHM,
    minimal::ALGORITHM,
    minimal_adaptive::ALGORITHM,
    par::ALGORITHM,
    piggyback::ALGORITHM,
    scatter::ALGORITHM,
    source_destination_hashed::ALGORITHM,
    ugal::ALGORITHM,
    valiant::ALGORITHM,
];

/// The algorithm that routes networks of this shape where an experiment names none: the adaptive one that the network's
/// authors or machines use, or the one that most studies use. `docs/methods/routing.md` says why.
pub fn default_algorithm(shape: &Shape<'_>) -> &'static str {
    match shape {
        Shape::Groups(_) => ugal::ALGORITHM.name,
        Shape::Tree(_) => adaptive::ALGORITHM.name,
        Shape::Cartesian(_) => dimension_order::ALGORITHM.name,
        Shape::HyperX(_) => doal::ALGORITHM.name,
        Shape::Graph(_) => minimal::ALGORITHM.name,
        Shape::Planes(planes) => default_algorithm(&planes.plane().shape()),
    }
}

/// Builds the routing that `section` (`network.routing`) describes; its `algorithm` names it, or it is the
/// [default](default_algorithm).
///
/// # Errors
/// An unknown algorithm, wrong parameters, or one that cannot route this topology; the message then names
/// both and lists the algorithms that can.
pub fn build(section: &Section, topology: Arc<dyn Topology>) -> Result<Box<dyn Routing>, Error> {
    let shape = topology.shape();
    let name = section.or("algorithm", default_algorithm(&shape).to_string())?;
    let fitting: Vec<&str> = REGISTRY
        .iter()
        .filter(|a| (a.routes)(&shape))
        .map(|a| a.name)
        .collect();
    let algorithm = REGISTRY
        .iter()
        .find(|k| k.name == name)
        .ok_or_else(|| section.unknown_name("algorithm", &name, fitting.iter().copied()))?;
    if !fitting.contains(&algorithm.name) {
        return Err(section.error(
            "algorithm",
            format!(
                "'{name}' works on {}, not on this {}; expected one of: {}",
                algorithm.works_on,
                topology.describe(),
                fitting.join(", ")
            ),
        ));
    }
    (algorithm.build)(section.declare(algorithm.parameters), topology)
}

pub(crate) fn is_groups(shape: &Shape<'_>) -> bool {
    matches!(shape, Shape::Groups(_))
}

pub(crate) fn is_tree(shape: &Shape<'_>) -> bool {
    matches!(shape, Shape::Tree(_))
}
