//! All topologies by name.

use config::{Error, Parameter, Section};

use crate::{
    SizingRule, Topology, dragonfly, dragonfly_2d, dragonfly_plus, express_mesh, fat_tree, graph, hyperx,
    mesh, slim_fly, torus,
};

/// One kind of topology.
pub struct Kind {
    /// Name in experiments, `fabricsim list` and the docs.
    pub name: &'static str,
    /// One-line description.
    pub summary: &'static str,
    /// Parameters.
    pub parameters: &'static [Parameter],
    /// A small valid set of parameters in TOML, for help and for the conformance suite.
    pub example: &'static str,
    /// Reads the parameters and builds the topology.
    pub build: fn(&Section) -> Result<Box<dyn Topology>, Error>,
    /// How its parameters follow from a number of hosts and a radix; `None` if they do not.
    pub sizing: Option<SizingRule>,
}

/// All topologies, in alphabetical order.
pub static REGISTRY: &[Kind] = &[
    dragonfly::KIND,
    dragonfly_2d::KIND,
    dragonfly_plus::KIND,
    express_mesh::KIND,
    fat_tree::KIND,
    graph::KIND,
    hyperx::KIND,
    mesh::KIND,
    slim_fly::KIND,
    torus::KIND,
];

/// Builds the topology that `section` (`network.topology`) describes; its `kind` names it.
///
/// # Errors
/// The kind is unknown, or the parameters cannot be built.
pub fn build(section: &Section) -> Result<Box<dyn Topology>, Error> {
    let kind = kind_of(section)?;
    (kind.build)(section.declare(kind.parameters))
}

/// The kind of topology that `section` names.
pub(crate) fn kind_of(section: &Section) -> Result<&'static Kind, Error> {
    let name: String = section.required("kind")?;
    let kind = REGISTRY.iter().find(|k| k.name == name);
    kind.ok_or_else(|| section.unknown_name("kind", &name, REGISTRY.iter().map(|k| k.name)))
}

/// Calls a macro with the type of every topology of groups. Routing is compiled for each of them, since a query
/// through [`Groups`](crate::Groups) costs more than a routing decision.
#[macro_export]
macro_rules! for_topologies_of_groups {
    ($apply:ident) => {
        $apply!($crate::Dragonfly, $crate::Dragonfly2d, $crate::DragonflyPlus)
    };
}
