//! Paths made of legs: minimal, or through one random intermediate place. What `valiant`, `ugal` and `par`
//! are written over; each kind of network has its legs in a file here.
//!
//! A leg is a minimal path with VCs of its own, higher ones than the leg before it, so that legs never wait
//! for each other in a circle. A minimal path is the last leg alone. If it can be taken back on its way (`par`),
//! it has VCs below those of the first leg up to where that ends.
//!
//! State: `phase` as named below, in all networks; each of them says what the other fields mean.

mod graph;
mod groups;
mod hyperx;
mod places;
mod routers;

use std::sync::Arc;

use config::{Error, Section};
use topology::{Groups, HostId, Port, RouterId, Shape, Topology};

use crate::groups::{GroupNetwork, PerTopology, compiled};
use crate::registry::is_groups;
use crate::{At, Chance, Hop, Oblivious, Reports, RouteState, Routing};

use graph::GraphSegments;
use groups::GroupSegments;
use hyperx::DimensionSegments;

/// Nothing decided yet.
const UNDECIDED: u8 = 0;
/// On the way to the intermediate place.
const FIRST_LEG: u8 = 1;
/// At the intermediate place, or behind it, with the way to the destination still to be chosen.
const ARRIVED: u8 = 2;
/// On a minimal path to the destination.
const LAST_LEG: u8 = 3;
/// On a minimal path to the destination that may still be left.
const TENTATIVE: u8 = 4;

/// Whether nothing can change a packet's path any more.
#[inline]
pub(crate) fn is_decided(state: &RouteState) -> bool {
    !matches!(state.phase, UNDECIDED | TENTATIVE)
}

/// What non-minimal paths go through.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Intermediate {
    /// In networks of groups in another group than the ends; elsewhere another one than these.
    Router,
    Group,
    /// The ends and their groups included.
    AnyRouter,
}

/// How a path begins: the next hop, and the packet's state behind it.
pub(crate) type Start = (Hop, RouteState);

/// The legs of one network.
pub(crate) trait PathSegments: Send + Sync {
    /// Two ends with intermediate places between them.
    type Ends: Copy;

    /// What paths without decisions depend on.
    const OBLIVIOUS: Oblivious;

    /// Virtual channels of all legs together.
    fn vcs(&self) -> u8;

    /// The router and port of a host.
    fn attachment(&self, host: HostId) -> (RouterId, Port);

    /// The ends of a path from `here` to `target`, another router; none if it can only be minimal.
    fn ends(&self, here: RouterId, target: RouterId) -> Option<Self::Ends>;

    /// How many intermediate places there are, at least one.
    fn places(&self, ends: Self::Ends) -> u32;

    /// The `index`-th of them, as `via` below.
    fn place(&self, index: u32, ends: Self::Ends) -> u32;

    /// The minimal path, of a packet that has not decided ([`is_decided`]).
    fn minimal(&self, at: At, target: RouterId, state: RouteState) -> Start;

    /// A path through an intermediate place, of a packet that has not decided; none if it cannot begin at
    /// this router. Where a packet enters the network that is so only if the place is this router.
    fn through(&self, at: At, via: u32, state: RouteState) -> Option<Start>;

    /// The next hop of a path that has been decided on.
    fn go_on(&self, at: At, target: RouterId, state: &mut RouteState) -> Hop;

    /// The first link to another group of a path that has been begun, as its router and port; none without
    /// groups.
    fn global_link(&self, at: At, target: RouterId, start: &Start) -> Option<(RouterId, Port)> {
        let _ = (at, target, start);
        None
    }

    /// What routers tell each other of the links to other groups; none without groups.
    fn reports(&self, period_ps: u64) -> Option<Reports> {
        let _ = period_ps;
        None
    }

    /// Links between routers on a path that [`PathSegments::minimal`] has begun.
    fn minimal_links(&self, at: At, target: RouterId, start: &Start) -> u32;

    /// Links between routers on a path that [`PathSegments::through`] has begun.
    fn links_through(&self, at: At, target: RouterId, via: u32, start: &Start) -> u32;

    /// The chances, times `share`, of the first hop of a path through an intermediate place. States are a
    /// matter between this and [`PathSegments::chances`].
    fn chances_through(
        &self,
        router: RouterId,
        target: RouterId,
        via: u32,
        share: f64,
        out: &mut Vec<Chance>,
    );

    /// The chances of the next hop to another router: of a path that has been decided on, or of the minimal
    /// one if nothing has been.
    fn chances(
        &self,
        router: RouterId,
        target: RouterId,
        state: RouteState,
        share: f64,
        out: &mut Vec<Chance>,
    );
}

/// A routing algorithm written over legs, yet to be compiled for those of a network.
pub(crate) trait OverSegments {
    fn over<L: PathSegments + 'static>(self, segments: L) -> Box<dyn Routing>;
}

/// The parameter of all algorithms over legs.
pub(crate) const INTERMEDIATE: (&str, &str) = (
    "intermediate",
    "what a non-minimal path goes through: router or, in networks of groups, group (default: router)",
);

pub(crate) const WORKS_ON: &str =
    "dragonfly, dragonfly-2d, dragonfly-plus, express-mesh, graph, hyperx, slim-fly";

pub(crate) fn routes(shape: &Shape<'_>) -> bool {
    is_groups(shape) || shape.graph().is_some()
}

/// The values of `intermediate`.
pub(crate) const ROUTER_OR_GROUP: &[&str] = &["router", "group"];

/// Compiles an algorithm for the legs of a topology; `RETRACTABLE` if it may leave minimal paths on the
/// way. `known`: the values of `intermediate`.
///
/// # Errors
/// An intermediate place that the network does not have, or paths that need too many VCs.
pub(crate) fn build<const RETRACTABLE: bool>(
    section: &Section,
    topology: Arc<dyn Topology>,
    known: &[&str],
    algorithm: impl OverSegments,
) -> Result<Box<dyn Routing>, Error> {
    let intermediate = match section.choice("intermediate", "router", known)? {
        "router" => Intermediate::Router,
        "any-router" => Intermediate::AnyRouter,
        _ => Intermediate::Group,
    };
    if is_groups(&topology.shape()) {
        let in_groups = InGroups::<_, RETRACTABLE> {
            intermediate,
            algorithm,
        };
        return Ok(compiled(&*topology, in_groups));
    }
    if intermediate != Intermediate::Router {
        let text = format!(
            "this {} has no groups to go through; expected router",
            topology.describe()
        );
        return Err(section.error("intermediate", text));
    }
    Ok(match topology.shape() {
        Shape::HyperX(_) => algorithm.over(DimensionSegments::new(topology, RETRACTABLE)),
        _ => algorithm.over(GraphSegments::new(section, topology, RETRACTABLE)?),
    })
}

struct InGroups<A, const RETRACTABLE: bool> {
    intermediate: Intermediate,
    algorithm: A,
}

impl<A: OverSegments, const RETRACTABLE: bool> PerTopology for InGroups<A, RETRACTABLE> {
    type Built = Box<dyn Routing>;

    fn build<T: Topology + Groups + 'static>(self, network: GroupNetwork<T>) -> Self::Built {
        let segments = GroupSegments::<T, RETRACTABLE>::new(network, self.intermediate);
        self.algorithm.over(segments)
    }
}
