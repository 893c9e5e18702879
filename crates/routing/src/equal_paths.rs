//! Equal paths in networks of groups, of which every router chooses one for each packet.
//!
//! Equal paths have the same number of links. They differ in the link between two groups and in the path inside a
//! group (the spine of a Dragonfly+, the cable of a 2D dragonfly). Two rules are here:
//!
//! - [`Rule::LeastLoaded`] (`adaptive`): the least loaded port with which an equal path begins; ties are broken at
//!   random (A. Shpiner et al., "Dragonfly+: low cost topology for scaling datacenters", HiPINEB 2017).
//! - [`Rule::AtRandom`] (`random`): any of them, evenly over the links between the groups and the paths to them.
//!
//! The third rule (`hashed`) chooses at the first router, by source and destination ([`GroupNetwork`]).
//!
//! Choices at later routers keep the order of channels of a path that is chosen once. A router that a packet has
//! reached over a local link of the same segment offers another local link only if no shortest path begins with a
//! global link of its own: a column link of a 2D dragonfly may have come before, and it ends at a router with such a
//! global link.

use config::{Error, Section, Type};
use topology::{Groups, Port, RouterId, Topology};

use crate::choice::LeastLoadedHop;
use crate::groups::GroupNetwork;
use crate::{Congestion, Hop, LoadMetric, Random};

/// The rule of a router that chooses among equal paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    AtRandom,
    /// By this metric.
    LeastLoaded(LoadMetric),
}

pub(crate) const NAMES: &[&str] = &["hashed", "random", "adaptive"];

/// The values of `paths` in networks of groups, and its default.
pub(crate) const PATHS: Type = Type::Choice(NAMES);
pub(crate) const DEFAULT_PATHS: &str = "adaptive in a dragonfly-plus; elsewhere hashed";

/// Reads `paths` in a network of groups; `None` is `hashed`. Routers without hosts are the spines of a Dragonfly+,
/// whose vendor routes adaptively.
///
/// # Errors
/// An unknown value.
pub(crate) fn rule_in_groups(section: &Section, groups: &dyn Groups) -> Result<Option<Rule>, Error> {
    let default = match groups.host_routers_per_group() < groups.routers_per_group() {
        true => "adaptive",
        false => "hashed",
    };
    Ok(match section.choice_or("paths", default, NAMES)? {
        "random" => Some(Rule::AtRandom),
        "adaptive" => Some(Rule::LeastLoaded(LoadMetric::read(section)?)),
        _ => None,
    })
}

/// The end of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goal {
    /// Another router.
    Router(RouterId),
    /// Any router of another group.
    Group(u32),
    /// The far end of one link to another group: the group, and which of the links to it.
    Link(u32, u32),
}

/// A part of a path: local links, at most one global link, local links.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub(crate) goal: Goal,
    /// VC of local links before the global link. The next VC is for the global link, for local links behind it, and
    /// for all links of a segment inside a group.
    pub(crate) first_vc: u8,
    /// Whether the packet has crossed a link of this segment.
    pub(crate) under_way: bool,
}

pub(crate) struct EqualPaths<T> {
    network: GroupNetwork<T>,
    rule: Rule,
    /// Number of different paths inside a group.
    paths: u16,
}

impl Rule {
    /// The metric of compared loads; the default if none are compared.
    pub(crate) fn metric(self) -> LoadMetric {
        match self {
            Rule::LeastLoaded(metric) => metric,
            Rule::AtRandom => LoadMetric::DEFAULT,
        }
    }
}

impl<T: Topology + Groups> EqualPaths<T> {
    pub(crate) fn new(network: GroupNetwork<T>, rule: Rule) -> Self {
        let paths = network.distinct_local_paths();
        EqualPaths { network, rule, paths }
    }

    #[inline]
    pub(crate) fn network(&self) -> &GroupNetwork<T> {
        &self.network
    }

    #[inline]
    pub(crate) fn rule(&self) -> Rule {
        self.rule
    }

    #[inline]
    fn group_of(&self, goal: Goal) -> u32 {
        match goal {
            Goal::Router(router) => self.network.groups().group(router),
            Goal::Group(group) | Goal::Link(group, _) => group,
        }
    }

    /// Calls `each` with links between two groups, each with a rank, its router and its port. Those of the lowest
    /// rank are on paths with the fewest local links. They include all that a packet may take.
    #[inline]
    fn each_link(&self, router: RouterId, segment: Segment, mut each: impl FnMut(u32, RouterId, Port)) {
        let groups = self.network.groups();
        let (here, there) = (groups.group(router), self.group_of(segment.goal));
        if let Goal::Link(_, link) = segment.goal {
            let (gateway, port) = groups.gateway(here, there, link);
            return each(0, gateway, port);
        }
        let links = groups.links_between(here, there);
        let mut least = u32::MAX;
        for link in 0..links {
            let (gateway, port) = groups.gateway(here, there, link);
            let rank = match links {
                1 => 0,
                _ => {
                    let near = groups.distance(router, gateway);
                    // Most links of two large groups end here, before the search for their far end.
                    if 2 * near > least {
                        continue;
                    }
                    let behind = match segment.goal {
                        Goal::Router(target) => self.network.links_behind(gateway, port, target),
                        Goal::Group(_) | Goal::Link(..) => 0,
                    };
                    2 * (near + behind) + u32::from(segment.under_way && gateway != router)
                }
            };
            if rank > least {
                continue;
            }
            least = rank;
            each(rank, gateway, port);
        }
    }

    /// Calls `each` with candidates for the next hop and a rank of each. Those of the lowest rank begin the paths
    /// that a packet may take.
    #[inline]
    fn candidates(&self, router: RouterId, segment: Segment, mut each: impl FnMut(u32, Hop)) {
        let first_vc = segment.first_vc;
        if let Goal::Router(target) = segment.goal
            && self.network.groups().group(router) == self.network.groups().group(target)
        {
            return self.local_ports(router, target, |port| each(0, Hop::new(port, first_vc + 1)));
        }
        self.each_link(router, segment, |rank, gateway, port| match gateway == router {
            true => each(rank, Hop::new(port, first_vc + 1)),
            false => self.local_ports(router, gateway, |port| each(rank, Hop::new(port, first_vc))),
        });
    }

    /// The ports that begin the shortest paths to another router of the group.
    #[inline]
    fn local_ports(&self, from: RouterId, to: RouterId, mut each: impl FnMut(Port)) {
        let port = |path| self.network.groups().local_port(from, to, path);
        let first = port(0);
        each(first);
        // A router with a single port to the other one has it for the first and for the last path.
        if first != port(self.paths - 1) {
            (1..self.paths).for_each(|path| each(port(path)));
        }
    }

    /// The next hop of a packet that is not at its goal.
    #[inline]
    pub(crate) fn choose(
        &self,
        router: RouterId,
        segment: Segment,
        congestion: &dyn Congestion,
        random: &mut dyn Random,
    ) -> Hop {
        let mut best = LeastLoadedHop::new();
        self.candidates(router, segment, |rank, hop| {
            best.offer(rank, self.load(hop, congestion), hop, random);
        });
        best.hop()
    }

    /// A hop on a shortest path to one of some other routers of the group.
    pub(crate) fn choose_local(
        &self,
        router: RouterId,
        routers: impl Iterator<Item = RouterId>,
        vc: u8,
        congestion: &dyn Congestion,
        random: &mut dyn Random,
    ) -> Hop {
        let mut best = LeastLoadedHop::new();
        for to in routers {
            self.local_ports(router, to, |port| {
                let hop = Hop::new(port, vc);
                best.offer(0, self.load(hop, congestion), hop, random);
            });
        }
        best.hop()
    }

    /// The load of a hop's output, if it counts.
    #[inline]
    fn load(&self, hop: Hop, congestion: &dyn Congestion) -> u64 {
        match self.rule {
            Rule::LeastLoaded(metric) => metric.of(congestion, hop),
            Rule::AtRandom => 0,
        }
    }

    /// Adds all hops that [`EqualPaths::choose`] can return to `out`, each as often as it stands for an equal path.
    pub(crate) fn hops(&self, router: RouterId, segment: Segment, out: &mut Vec<Hop>) {
        let (mut least, before) = (u32::MAX, out.len());
        self.candidates(router, segment, |rank, hop| {
            if rank < least {
                out.truncate(before);
                least = rank;
            }
            out.push(hop);
        });
    }

    /// Adds all hops that [`EqualPaths::choose_local`] can return to `out`.
    pub(crate) fn local_hops(
        &self,
        router: RouterId,
        routers: impl Iterator<Item = RouterId>,
        vc: u8,
        out: &mut Vec<Hop>,
    ) {
        for to in routers {
            self.local_ports(router, to, |port| out.push(Hop::new(port, vc)));
        }
    }

    /// Number of links of the paths to the goal.
    pub(crate) fn links(&self, router: RouterId, goal: Goal) -> u32 {
        let groups = self.network.groups();
        if let Goal::Router(target) = goal
            && groups.group(router) == groups.group(target)
        {
            return groups.distance(router, target);
        }
        let mut fewest = u32::MAX;
        self.each_global_link(router, goal, None, |gateway, port| {
            let behind = match goal {
                Goal::Router(target) => self.network.links_behind(gateway, port, target),
                Goal::Group(_) | Goal::Link(..) => 0,
            };
            fewest = fewest.min(groups.distance(router, gateway) + 1 + behind);
        });
        fewest
    }

    /// Calls `each` with the router and port of every link to another group that a packet may take on its way to the
    /// goal, if it leaves this router through `first`. None if the goal is in this group.
    pub(crate) fn each_global_link(
        &self,
        router: RouterId,
        goal: Goal,
        first: Option<Port>,
        mut each: impl FnMut(RouterId, Port),
    ) {
        let here = self.network.groups().group(router);
        if self.group_of(goal) == here {
            return;
        }
        let segment = Segment {
            goal,
            first_vc: 0,
            under_way: false,
        };
        let mut least = u32::MAX;
        self.each_link(router, segment, |rank, _, _| least = least.min(rank));
        self.each_link(router, segment, |rank, gateway, port| {
            let mut begins = first.is_none();
            if let Some(first) = first {
                match gateway == router {
                    true => begins = port == first,
                    false => self.local_ports(router, gateway, |port| begins |= port == first),
                }
            }
            if rank == least && begins {
                each(gateway, port);
            }
        });
    }
}
