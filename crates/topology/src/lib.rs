//! Networks as graphs: routers, ports, hosts, and their coordinates. No time, no congestion.
//!
//! A topology is computed, not stored. Formulas answer every query, so a million hosts need no table of host or
//! router pairs. Only a network from a file is stored, as its list of cables. Searches find its shortest paths, with
//! a bounded cache.
//!
//! One topology is one file and one line in [`REGISTRY`].

mod arrangement;
mod bisection;
mod cartesian;
mod division;
mod dragonfly;
mod dragonfly_2d;
mod dragonfly_plus;
mod drawing;
mod express_mesh;
mod fat_tree;
mod galois;
mod graph;
mod grouped;
mod host_ports;
mod hyperx;
mod link_speed;
mod mesh;
mod planes;
mod registry;
mod search;
mod shuffle;
mod size;
mod sizing;
mod slim_fly;
mod torus;
mod units;

use std::sync::Arc;

use std::any::Any;

pub use bisection::bisection;
pub use division::Divisor;
pub use dragonfly::Dragonfly;
pub use dragonfly_2d::Dragonfly2d;
pub use dragonfly_plus::DragonflyPlus;
pub use drawing::{Drawing, Layout, Spot};
pub use link_speed::{LONGEST_LATENCY, LinkSpeed, SLOWEST_BITS_PER_S, check_bandwidth, check_latency};
pub use planes::Planes;
pub use registry::{Kind, REGISTRY, build};
pub use sizing::{ChosenParameters, HOSTS, RADIX, SizingRule, size};
pub use units::{Unit, UnitKind, Units};

/// A router.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RouterId(pub u32);

/// An end point of the network: one port of a host. Where hosts have one port each, its number is the host's. A
/// topology does not know which ports belong to one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct HostId(pub u32);

/// A port of a router, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port(pub u16);

/// The far end of a router's port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// Another router, at that port of it.
    Router(RouterId, Port),
    /// A host.
    Host(HostId),
    /// Nothing: the port is not wired.
    Unwired,
}

/// Index into [`Topology::link_classes`]. Class 0 is always `"host"`: injection and ejection links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkClass(pub u8);

/// Largest number of link classes of a topology. The numbers fit 8 bits; samplers use some of these for others.
pub const MOST_LINK_CLASSES: usize = 250;

/// Class of the links between hosts and routers in every topology.
pub const HOST_LINK: LinkClass = LinkClass(0);

/// The structure of a topology beyond the graph. Routing algorithms that need more than the graph ask for one of
/// these.
pub enum Shape<'a> {
    /// Groups of routers with links between all groups.
    Groups(&'a dyn Groups),
    /// Levels of a tree.
    Tree(&'a dyn Tree),
    /// A grid or torus.
    Cartesian(&'a dyn Cartesian),
    /// Dimensions with all-to-all links within each.
    HyperX(&'a dyn HyperX),
    /// A graph that finds its shortest paths, without further structure.
    Graph(&'a dyn Graph),
    /// Disjoint copies of one network. Routing applies to one of them.
    Planes(&'a Planes),
}

impl<'a> Shape<'a> {
    /// The topology as a graph that finds its shortest paths, if it offers that.
    pub fn graph(&self) -> Option<&'a dyn Graph> {
        match *self {
            Shape::HyperX(hyperx) => Some(hyperx),
            Shape::Graph(graph) => Some(graph),
            Shape::Groups(_) | Shape::Tree(_) | Shape::Cartesian(_) | Shape::Planes(_) => None,
        }
    }
}

/// A network as a graph.
pub trait Topology: Send + Sync {
    /// Number of end points.
    fn hosts(&self) -> u32;
    /// Number of routers.
    fn routers(&self) -> u32;
    /// Number of ports of a router, wired or not.
    fn ports(&self, router: RouterId) -> u16;
    /// The far end of a port's cable. For every `Peer::Router(r, p)` the peer of `(r, p)` is the queried port.
    fn peer(&self, router: RouterId, port: Port) -> Peer;
    /// The router and port to which an end point attaches.
    fn attachment(&self, host: HostId) -> (RouterId, Port);
    /// Router-to-router links on a shortest path; `u32::MAX` between two planes.
    fn distance(&self, from: RouterId, to: RouterId) -> u32;
    /// Names of the kinds of links, for example `["host", "local", "global"]`; the first is `"host"`.
    fn link_classes(&self) -> Vec<&str>;
    /// The class of the link at a port. An unwired port has any existing class.
    fn link_class(&self, router: RouterId, port: Port) -> LinkClass;
    /// Bandwidth and latency of a class, as far as the topology gives them.
    fn link_speed(&self, class: LinkClass) -> LinkSpeed {
        let _ = class;
        LinkSpeed::default()
    }
    /// The router's coordinates in the notation of the field, for example `group 3, router 1`.
    fn coordinates(&self, router: RouterId) -> String;
    /// One line of description: `dragonfly of 33 groups of 8 routers with 4 hosts each`.
    fn describe(&self) -> String;
    /// The topology as an owned graph that finds its shortest paths, if it offers that ([`Shape::graph`]).
    fn into_graph(self: Arc<Self>) -> Option<Arc<dyn Graph>> {
        None
    }
    /// The shape.
    fn shape(&self) -> Shape<'_>;

    /// The layout of its drawing; by default that of its shape.
    fn layout(&self) -> Layout<'_> {
        drawing::of_shape(self.shape())
    }

    /// Number of wired links between routers, each direction counted.
    fn router_links(&self) -> u64 {
        let mut links = 0;
        for r in 0..self.routers() {
            for p in 0..self.ports(RouterId(r)) {
                links += u64::from(matches!(self.peer(RouterId(r), Port(p)), Peer::Router(..)));
            }
        }
        links
    }

    /// Whether all routers have the same number of hosts, and permutations of the routers that keep links and
    /// classes can map any link to any other of its class. Under traffic that does not distinguish hosts, one
    /// destination then determines the link loads.
    fn is_symmetric(&self) -> bool {
        false
    }
}

/// The group structure of a dragonfly.
pub trait Groups {
    /// The concrete topology, for routing that is compiled for it.
    fn as_any(&self) -> &dyn Any;
    /// Number of groups.
    fn groups(&self) -> u32;
    /// The group of a router.
    fn group(&self, router: RouterId) -> u32;
    /// Number of routers in every group; group `g` has the routers `g * n .. (g + 1) * n`.
    fn routers_per_group(&self) -> u32;
    /// Number of routers in every group that have hosts: the first ones of the group.
    fn host_routers_per_group(&self) -> u32;
    /// Number of links from one group to another (different) one.
    fn links_between(&self, from: u32, to: u32) -> u32;
    /// Router and port of the `index`-th link from group `from` to group `to`.
    fn gateway(&self, from: u32, to: u32, index: u32) -> (RouterId, Port);
    /// Number of links from group `from` to all other groups except `to`, another group.
    fn links_elsewhere(&self, from: u32, to: u32) -> u32;
    /// The `index`-th link from group `from` to other groups except `to`: the group it leads to, and its index among
    /// the links to that group, as [`Groups::gateway`] takes it. Every such link has one index.
    fn link_elsewhere(&self, from: u32, to: u32, index: u32) -> (u32, u32);
    /// Index, as [`Groups::gateway`] takes it, of a link between the groups of two routers of different
    /// groups that lies on a path with one such link and as few local links as possible. `draw`, any
    /// number, picks one where there are several, evenly.
    fn minimal_link(&self, from: RouterId, to: RouterId, draw: u32) -> u32;
    /// The largest number of local links on a shortest path between two routers of one group.
    fn local_diameter(&self) -> u32;
    /// The largest number of shortest paths between two routers of one group.
    fn local_paths(&self) -> u16;
    /// The port of `from` with which a shortest path to `to`, another router of the same group, begins. `path`, below
    /// [`Groups::local_paths`], picks one of several, the same at every router of the path. Local links of these
    /// paths have no cyclic dependency on one VC.
    fn local_port(&self, from: RouterId, to: RouterId, path: u16) -> Port;
}

/// The level structure of a tree.
pub trait Tree {
    /// Number of router levels; leaves are level 0.
    fn levels(&self) -> u32;
    /// The level of a router.
    fn level(&self, router: RouterId) -> u32;
    /// The upward ports of a router; empty at the top.
    fn up_ports(&self, router: RouterId) -> std::ops::Range<u16>;
    /// The port that leads down towards `host`, if `host` is below this router.
    fn down_port(&self, router: RouterId, host: HostId) -> Option<Port>;
}

/// The coordinates of a torus or mesh.
pub trait Cartesian {
    /// Size of each dimension.
    fn sizes(&self) -> &[u32];
    /// Whether each dimension wraps around.
    fn wraps(&self) -> bool;
    /// The router's coordinate in one dimension.
    fn coordinate(&self, router: RouterId, dimension: usize) -> u32;
    /// Number of parallel cables between neighbours in one dimension.
    fn links(&self, dimension: usize) -> u32;
    /// The port that leads one step up (`true`) or down in one dimension over the `cable`-th of the parallel
    /// cables.
    fn step_port(&self, router: RouterId, dimension: usize, up: bool, cable: u32) -> Port;
    /// The first dimension in which two routers differ, with the coordinates of both in it.
    fn first_difference(&self, from: RouterId, to: RouterId) -> Option<(usize, u32, u32)>;
}

/// All shortest paths of a topology, found without visiting every port.
pub trait Graph: Topology {
    /// The next hop of a packet for a host: [`Topology::attachment`] and [`Graph::shortest_path`] in one call, since
    /// routers need both for every packet. `begun` tells whether `draw` is the remainder that a previous router's
    /// call returned; only such calls read it, so it may encode more.
    fn onward(&self, at: RouterId, host: HostId, draw: u32, begun: bool) -> Onward {
        let _ = begun;
        let (target, port) = self.attachment(host);
        if target == at {
            return Onward::Host(port);
        }
        let (port, left) = self.shortest_path(at, target, draw);
        Onward::Router(port, left)
    }
    /// Greatest distance between two routers.
    fn diameter(&self) -> u32;
    /// The port with which a shortest path from one router to another (different) one begins. `draw`, any number,
    /// picks one of several evenly. The second number is the remainder of `draw` for the next router, or 0 if no
    /// later router has a choice.
    fn shortest_path(&self, from: RouterId, to: RouterId, draw: u32) -> (Port, u32);
    /// All ports with which a shortest path from one router to another (different) one begins, in their
    /// order.
    fn shortest_ports(&self, from: RouterId, to: RouterId, each: &mut dyn FnMut(Port)) {
        let distance = self.distance(from, to);
        for port in (0..self.ports(from)).map(Port) {
            if let Peer::Router(next, _) = self.peer(from, port)
                && self.distance(next, to) + 1 == distance
            {
                each(port);
            }
        }
    }
    /// The ports of [`Graph::shortest_ports`] with the fraction of draws for which [`Graph::shortest_path`] picks
    /// each. By default the fractions are equal.
    fn shortest_shares(&self, from: RouterId, to: RouterId, each: &mut dyn FnMut(Port, f64)) {
        let mut ports = 0;
        self.shortest_ports(from, to, &mut |_| ports += 1);
        let share = 1.0 / f64::from(ports);
        self.shortest_ports(from, to, &mut |port| each(port, share));
    }
    /// Number of consecutively numbered routers, from a multiple of it on, that have more links to each other than to
    /// the rest. Partitions keep them together.
    fn neighbourhood(&self) -> u32;
    /// Paths that need one VC only, if the network has them.
    fn straight(&self) -> Option<&dyn Straight> {
        None
    }
}

/// The result of [`Graph::onward`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Onward {
    /// The host is at this port.
    Host(Port),
    /// A router is at this port; the second number is the remainder of the draw.
    Router(Port, u32),
}

/// Paths through dimension after dimension without turning back. They can be longer than shortest paths, but their
/// links have no cyclic dependency on one VC.
pub trait Straight {
    /// The port with which the path from one router to another (different) one begins. Every later router continues
    /// the same path.
    fn straight_port(&self, from: RouterId, to: RouterId) -> Port;
}

/// The coordinates of a network with all-to-all links in every dimension.
pub trait HyperX: Graph {
    /// Number of dimensions.
    fn dimensions(&self) -> usize;
    /// Number of routers in one dimension.
    fn size(&self, dimension: usize) -> u32;
    /// The router's coordinate in one dimension.
    fn coordinate(&self, router: RouterId, dimension: usize) -> u32;
    /// The first dimension in which two routers differ, with the coordinate of the second in it.
    fn first_difference(&self, from: RouterId, to: RouterId) -> Option<(usize, u32)>;
    /// Number of parallel links between two routers that differ in one dimension only.
    fn width(&self, dimension: usize) -> u32;
    /// The port of `from` that leads to another `coordinate` of one dimension over the `cable`-th of the parallel
    /// links.
    fn link_port(&self, from: RouterId, dimension: usize, coordinate: u32, cable: u32) -> Port;
}

/// Scales `draw` to an index below `choices`. The second number is the remainder, for another draw.
pub fn pick(draw: u32, choices: u32) -> (u32, u32) {
    let scaled = u64::from(draw) * u64::from(choices);
    ((scaled >> 32) as u32, scaled as u32)
}
