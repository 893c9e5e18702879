//! Paths made of segments: minimal, or through one random intermediate node. `valiant`, `ugal` and `par` use them.
//! Each kind of network has its segments in a file here.
//!
//! A segment is a minimal path with VCs of its own. They are higher than those of the segment before it, so segments
//! never wait for each other in a cycle. A minimal path is the last segment alone. If it can be left (`par`), it has
//! VCs below those of the first segment.
//!
//! State: `phase` has the values below in all networks. Each network defines the other fields.

mod cartesian;
mod graph;
mod group_nodes;
mod group_parts;
mod groups;
mod groups_by_router;
mod hyperx;
mod intermediate_routers;
mod own_links;
mod routers;

use std::sync::Arc;

use config::{Error, Parameter, Section};
use topology::{Groups, HostId, Port, RouterId, Shape, Topology};

use crate::equal_paths::{self, EqualPaths, Rule, rule_in_groups};
use crate::groups::{GroupNetwork, PerTopology, compiled};
use crate::path_parts::{PathVisitor, Unvisited};
use crate::registry::is_groups;
use crate::ugal::UgalRule;
use crate::{At, Chance, Congestion, Hop, Oblivious, Random, Reports, RouteState, Routing};

use cartesian::CartesianSegments;
use graph::GraphSegments;
use group_nodes::GroupNodes;
use groups::GroupSegments;
use groups_by_router::GroupSegmentsByRouter;
use hyperx::DimensionSegments;

/// Phase: undecided.
const UNDECIDED: u8 = 0;
/// Phase: on the path to the intermediate node.
const FIRST_SEGMENT: u8 = 1;
/// Phase: at or behind the intermediate node, before the choice of the path to the destination.
const ARRIVED: u8 = 2;
/// Phase: on a minimal path to the destination.
const LAST_SEGMENT: u8 = 3;
/// Phase: on a minimal path to the destination that may still be left.
const TENTATIVE: u8 = 4;
/// Phase: on the path to an intermediate router of the source's group, which is also the destination's.
const INSIDE_GROUP: u8 = 5;

/// Whether a packet's path is final.
#[inline]
pub(crate) fn is_decided(state: &RouteState) -> bool {
    !matches!(state.phase, UNDECIDED | TENTATIVE)
}

/// The kind of intermediate nodes of non-minimal paths.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Intermediate {
    /// Nodes in groups other than those of the ends; without groups, routers other than the ends.
    Router,
    /// All nodes, the ends and their groups included.
    AnyRouter,
    /// Nodes in all groups. A node in the group of an end means the minimal path.
    AnyGroup,
    Group,
    /// Links from the source's group to groups other than the destination's.
    GlobalLink,
}

impl Intermediate {
    /// Whether the first segment ends on its global link, with any router of the group.
    #[inline]
    fn is_at_group(self) -> bool {
        matches!(self, Intermediate::Group | Intermediate::GlobalLink)
    }
}

/// The start of a path: the next hop, and the packet's state behind it.
pub(crate) type PathStart = (Hop, RouteState);

/// Congestion and random numbers for segments that read neither.
struct Unread;

impl Congestion for Unread {
    fn load(&self, _: Port) -> u64 {
        unreachable!("these segments read no load")
    }

    fn free_space(&self, _: Port, _: u8) -> u64 {
        unreachable!("segments read no free space")
    }
}

impl Random for Unread {
    fn below(&mut self, _: u32) -> u32 {
        unreachable!("these segments draw no random number")
    }
}

/// The path segments of one network.
pub(crate) trait PathSegments: Send + Sync {
    /// Two ends with intermediate nodes between them.
    type Ends: Copy;

    /// An intermediate node.
    type IntermediateNode: Copy;

    /// The dependence of paths without decisions. `None` if they depend on congestion.
    fn oblivious(&self) -> Option<Oblivious>;

    /// Number of virtual channels of all segments together.
    fn vcs(&self) -> u8;

    /// See [`Routing::channel_order`].
    fn channel_order(&self, router: RouterId, port: Port, vc: u8) -> Option<u64>;

    /// See [`Routing::visit_paths`].
    ///
    /// # Errors
    /// The visitor stops.
    fn visit_paths(&self, visitor: &mut dyn PathVisitor) -> Result<(), Unvisited>;

    /// The router and port of a host.
    fn attachment(&self, host: HostId) -> (RouterId, Port);

    /// The ends of a path from `here` to `target`, another router, for a packet without a decision. `None` if it can
    /// only be minimal.
    fn ends(&self, here: RouterId, target: RouterId, state: RouteState) -> Option<Self::Ends>;

    /// Number of intermediate nodes, at least one.
    fn nodes(&self, ends: Self::Ends) -> u32;

    /// The `index`-th of them, as `via` below.
    fn node(&self, index: u32, ends: Self::Ends) -> Self::IntermediateNode;

    /// Whether source and destination are in one group, and the node between them is in this group, too.
    fn is_inside_group(&self, ends: Self::Ends) -> bool {
        let _ = ends;
        false
    }

    /// The minimal path of a packet without a decision ([`is_decided`]).
    fn minimal(
        &self,
        at: At,
        target: RouterId,
        state: RouteState,
        congestion: &dyn Congestion,
        random: &mut dyn Random,
    ) -> PathStart;

    /// A path through an intermediate node, for a packet without a decision. `None` if it cannot begin at this
    /// router. Where a packet enters the network, that holds only if the node is this router.
    fn through(
        &self,
        at: At,
        via: Self::IntermediateNode,
        state: RouteState,
        congestion: &dyn Congestion,
        random: &mut dyn Random,
    ) -> Option<PathStart>;

    /// The next hop of a decided path.
    fn go_on(
        &self,
        at: At,
        target: RouterId,
        state: &mut RouteState,
        congestion: &dyn Congestion,
        random: &mut dyn Random,
    ) -> Hop;

    /// All results of [`PathSegments::minimal`] for any congestion and random numbers.
    fn all_minimal(&self, at: At, target: RouterId, state: RouteState, out: &mut Vec<PathStart>) {
        out.push(self.minimal(at, target, state, &Unread, &mut Unread));
    }

    /// All results of [`PathSegments::through`] for any congestion and random numbers.
    fn all_through(&self, at: At, via: Self::IntermediateNode, state: RouteState, out: &mut Vec<PathStart>) {
        out.extend(self.through(at, via, state, &Unread, &mut Unread));
    }

    /// All results of [`PathSegments::go_on`] for any congestion and random numbers.
    fn all_going_on(&self, at: At, target: RouterId, mut state: RouteState, out: &mut Vec<PathStart>) {
        let hop = self.go_on(at, target, &mut state, &Unread, &mut Unread);
        out.push((hop, state));
    }

    /// Calls `each` with the router and port of every link to another group that can be the first one of a path that
    /// has begun. Never without groups.
    fn each_global_link(
        &self,
        at: At,
        target: RouterId,
        start: &PathStart,
        each: &mut dyn FnMut(RouterId, Port),
    ) {
        let _ = (at, target, start, each);
    }

    /// The load reports of links to other groups. `None` without groups.
    fn reports(&self, report_period_ps: u64) -> Option<Reports> {
        let _ = report_period_ps;
        None
    }

    /// Number of links between routers on a path from [`PathSegments::minimal`].
    fn minimal_links(&self, at: At, target: RouterId, start: &PathStart) -> u32;

    /// Number of links between routers on a path from [`PathSegments::through`].
    fn links_through(&self, at: At, target: RouterId, via: Self::IntermediateNode, start: &PathStart) -> u32;

    /// Number of links of a shortest path from the next router of a path to the destination, with the one to its host.
    fn links_remaining(&self, at: At, target: RouterId, start: &PathStart) -> u32;

    /// The chances, times `share`, of the first hop of a path through an intermediate node. States are private to
    /// this method and [`PathSegments::chances`].
    fn chances_through(
        &self,
        router: RouterId,
        target: RouterId,
        via: Self::IntermediateNode,
        share: f64,
        out: &mut Vec<Chance>,
    );

    /// The chances of the next hop to another router, on a decided path, or on the minimal path without a decision.
    fn chances(
        &self,
        router: RouterId,
        target: RouterId,
        state: RouteState,
        share: f64,
        out: &mut Vec<Chance>,
    );
}

/// A routing algorithm over path segments, before it is compiled for those of a network.
pub(crate) trait OverSegments {
    /// The rule that decides between the minimal and another path, if the algorithm has one.
    fn rule(&self) -> Option<UgalRule> {
        None
    }

    fn over<L: PathSegments + 'static>(self, segments: L) -> Box<dyn Routing>;
}

/// The choice among equal paths of all algorithms over path segments.
pub(crate) const PATHS: Parameter = Parameter::computed(
    "paths",
    equal_paths::PATHS,
    equal_paths::DEFAULT_PATHS,
    "which of equal paths in networks of groups (spine, link between two groups): hashed, by source, intermediate \
     node and destination; random or adaptive, at every router",
);

/// The intermediate nodes of all algorithms over path segments.
pub(crate) const INTERMEDIATE: Parameter = Parameter::choice(
    "intermediate",
    INTERMEDIATES,
    "what a non-minimal path goes through: router or, in networks of groups, group, or global-link, a link of the \
     source's group; there router is one of a third group, and any-group one of all, of which those in the groups of \
     source and destination mean the minimal path",
);

/// The paths of packets that stay in their group, of the algorithms that compare loads.
pub(crate) const LOCAL: Parameter = Parameter::choice(
    "local",
    &["minimal", "ugal"],
    "paths of packets that stay in their group, in networks of groups: minimal, or ugal, also through a random router \
     of the group",
);

/// The intermediate nodes of packets that leave a minimal path, of algorithms that may leave it.
pub(crate) const DETOURS: Parameter = Parameter::choice(
    "detours",
    &["any", "linked"],
    "groups among which a later router draws, in networks of groups: any, or linked, only those to which it has a link",
);

/// The way of a packet from a spine of the intermediate group to which it has come.
pub(crate) const SPINE: Parameter = Parameter::choice(
    "intermediate_spine",
    &["direct", "leaf", "load"],
    "way from a spine of an intermediate group, if it has a link to the destination's group: direct, over this link; \
     leaf, down to a router with hosts first; load, by the rule of the algorithm",
);

/// See [`SPINE`].
#[derive(Clone, Copy, PartialEq, Eq)]
enum AtSpine {
    Direct,
    Leaf,
    /// Over the link unless the rule prefers the way down.
    Load,
}

/// The nodes of detours besides [`Intermediate`].
#[derive(Clone, Copy)]
struct Detours {
    at_spine: AtSpine,
    /// Whether packets inside a group have intermediate nodes.
    inside_groups: bool,
    /// Whether a packet leaves a minimal path only for a group to which the router that decides has a link.
    linked: bool,
}

pub(crate) const WORKS_ON: &str =
    "dragonfly, dragonfly-2d, dragonfly-plus, express-mesh, graph, hyperx, mesh, slim-fly, torus";

pub(crate) fn routes(shape: &Shape<'_>) -> bool {
    is_groups(shape) || matches!(shape, Shape::Cartesian(_)) || shape.graph().is_some()
}

/// The values of `intermediate` of the algorithms that compare loads.
pub(crate) const INTERMEDIATES: &[&str] = &["router", "any-group", "group", "global-link"];

/// Largest number of links between two groups with `intermediate = "global-link"`: a packet keeps the drawn link in 16
/// bits.
const MOST_DRAWN_LINKS: u32 = 1 << 16;

/// Compiles an algorithm for the segments of a topology; `RETRACTABLE` if it may leave minimal paths. `known` lists
/// the values of `intermediate`.
///
/// # Errors
/// An intermediate node that the network does not have, or paths that need too many VCs.
pub(crate) fn build<const RETRACTABLE: bool>(
    section: &Section,
    topology: Arc<dyn Topology>,
    known: &'static [&'static str],
    algorithm: impl OverSegments,
) -> Result<Box<dyn Routing>, Error> {
    let intermediate = match section.choice_of("intermediate", known)? {
        "router" => Intermediate::Router,
        "any-router" => Intermediate::AnyRouter,
        "any-group" => Intermediate::AnyGroup,
        "global-link" => Intermediate::GlobalLink,
        _ => Intermediate::Group,
    };
    let local_detours = section.choice("local")? != "minimal";
    let linked = RETRACTABLE && section.choice(DETOURS.name)? == "linked";
    if let Shape::Groups(groups) = topology.shape() {
        if local_detours && intermediate == Intermediate::AnyRouter {
            let text =
                "with intermediate = \"any-router\" packets leave their group anyway; expected minimal";
            return Err(section.error("local", text));
        }
        if intermediate == Intermediate::GlobalLink {
            check_drawn_links(section, groups)?;
        }
        let paths = rule_in_groups(section, groups)?;
        let in_groups = InGroups::<_, RETRACTABLE> {
            intermediate,
            detours: Detours {
                at_spine: read_at_spine(section, groups, intermediate, paths)?,
                inside_groups: local_detours,
                linked,
            },
            rule: paths,
            algorithm,
        };
        return Ok(compiled(&*topology, in_groups));
    }
    if !matches!(intermediate, Intermediate::Router | Intermediate::AnyRouter) {
        let others = match known.contains(&"any-router") {
            true => " or any-router",
            false => "",
        };
        let text = format!(
            "this {} has no groups to go through; expected router{others}",
            topology.describe()
        );
        return Err(section.error("intermediate", text));
    }
    if section.choice_or("paths", "hashed", equal_paths::NAMES)? != "hashed" {
        let text = format!(
            "this {} has no groups, and only they have a choice here; expected hashed",
            topology.describe()
        );
        return Err(section.error("paths", text));
    }
    if local_detours {
        let text = format!("this {} has no groups; expected minimal", topology.describe());
        return Err(section.error("local", text));
    }
    if section.choice(SPINE.name)? != "direct" {
        let text = format!("this {} has no groups; expected direct", topology.describe());
        return Err(section.error(SPINE.name, text));
    }
    if linked {
        let text = format!("this {} has no groups; expected any", topology.describe());
        return Err(section.error(DETOURS.name, text));
    }
    let ends_too = intermediate == Intermediate::AnyRouter;
    Ok(match topology.shape() {
        Shape::Cartesian(_) => algorithm.over(CartesianSegments::new(topology, ends_too, RETRACTABLE)),
        Shape::HyperX(_) => algorithm.over(DimensionSegments::new(topology, ends_too, RETRACTABLE)),
        _ => algorithm.over(GraphSegments::new(section, topology, ends_too, RETRACTABLE)?),
    })
}

/// Reads [`SPINE`].
///
/// # Errors
/// A network without spines, paths through routers, whose node is a router with hosts, or a choice by load where no
/// loads are compared.
fn read_at_spine(
    section: &Section,
    groups: &dyn Groups,
    intermediate: Intermediate,
    paths: Option<Rule>,
) -> Result<AtSpine, Error> {
    let at_spine = match section.choice(SPINE.name)? {
        "leaf" => AtSpine::Leaf,
        "load" => AtSpine::Load,
        _ => return Ok(AtSpine::Direct),
    };
    let refuse = |text: &str| Err(section.error(SPINE.name, text));
    if groups.host_routers_per_group() == groups.routers_per_group() {
        return refuse("all routers of this network have hosts, so that it has no spines; expected direct");
    }
    if !intermediate.is_at_group() {
        return refuse(
            "paths through a router lead to one with hosts; expected direct, or intermediate = \"group\" or \
             \"global-link\"",
        );
    }
    if at_spine == AtSpine::Load && !matches!(paths, Some(Rule::LeastLoaded(_))) {
        return refuse("unless paths = \"adaptive\" no loads are compared; expected direct or leaf");
    }
    Ok(at_spine)
}

/// Refuses more links between two groups than the state of a packet can name. The groups are alike.
fn check_drawn_links(section: &Section, groups: &dyn Groups) -> Result<(), Error> {
    let most = (1..groups.groups()).map(|to| groups.links_between(0, to)).max();
    match most {
        Some(links) if links > MOST_DRAWN_LINKS => {
            let text = format!(
                "with \"global-link\" there are at most {MOST_DRAWN_LINKS} links between two groups, but here are {links}; \
                 expected router or group"
            );
            Err(section.error("intermediate", text))
        }
        _ => Ok(()),
    }
}

struct InGroups<A, const RETRACTABLE: bool> {
    intermediate: Intermediate,
    detours: Detours,
    rule: Option<Rule>,
    algorithm: A,
}

impl<A: OverSegments, const RETRACTABLE: bool> PerTopology for InGroups<A, RETRACTABLE> {
    type Built = Box<dyn Routing>;

    fn build<T: Topology + Groups + 'static>(self, network: GroupNetwork<T>) -> Self::Built {
        let nodes = GroupNodes::new(network.groups(), self.intermediate, self.detours, RETRACTABLE);
        let decides_by = self.algorithm.rule();
        match self.rule {
            None => self
                .algorithm
                .over(GroupSegments::<T, RETRACTABLE>::new(network, nodes)),
            Some(rule) => {
                let paths = EqualPaths::new(network, rule);
                self.algorithm.over(GroupSegmentsByRouter::<T, RETRACTABLE>::new(
                    paths, nodes, decides_by,
                ))
            }
        }
    }
}
