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
    links: Option<LinksBetweenGroups>,
    /// Whether all links between two groups are equally far from any router with hosts, at both ends: spines have the
    /// links, and every router with hosts is linked to every spine.
    alike: bool,
}

/// The links between groups by group and other group, each with its router, its port and its far end. Decisions that
/// compare many links would spend most of their time on the formulas of the topology.
struct LinksBetweenGroups {
    /// By group, then other group: the first of their links.
    first: Vec<u32>,
    /// By pair of groups, then router.
    links: Vec<GlobalLink>,
    groups: u32,
}

#[derive(Clone, Copy)]
struct GlobalLink {
    gateway: RouterId,
    port: Port,
    far: RouterId,
}

/// Greatest number of pairs of groups whose links are stored: 16 MiB. In networks of more groups there are few links
/// between two of them.
const MAX_PAIRS: u32 = 1 << 22;

impl LinksBetweenGroups {
    fn new<T: Topology + Groups>(network: &GroupNetwork<T>) -> Option<LinksBetweenGroups> {
        let topology = network.groups();
        let groups = topology.groups();
        if groups.checked_mul(groups).is_none_or(|pairs| pairs > MAX_PAIRS) {
            return None;
        }
        let (mut first, mut links) = (vec![0], Vec::new());
        for here in 0..groups {
            for there in 0..groups {
                let begin = links.len();
                let between = match here == there {
                    true => 0,
                    false => topology.links_between(here, there),
                };
                links.extend((0..between).map(|link| {
                    let (gateway, port) = topology.gateway(here, there, link);
                    GlobalLink {
                        gateway,
                        port,
                        far: network.across(gateway, port),
                    }
                }));
                links[begin..].sort_by_key(|link| (link.gateway, link.port));
                first.push(links.len() as u32);
            }
        }
        Some(LinksBetweenGroups { first, links, groups })
    }

    #[inline]
    fn between(&self, here: u32, there: u32) -> &[GlobalLink] {
        let pair = (here * self.groups + there) as usize;
        &self.links[self.first[pair] as usize..self.first[pair + 1] as usize]
    }
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
        let groups = network.groups();
        let leaves = groups.host_routers_per_group();
        let spines = leaves..groups.routers_per_group();
        let mut from_leaves = spines
            .clone()
            .flat_map(|spine| (0..leaves).map(move |leaf| (leaf, spine)));
        let alike = !spines.is_empty()
            && from_leaves.all(|(leaf, spine)| groups.distance(RouterId(leaf), RouterId(spine)) == 1);
        EqualPaths {
            paths: network.distinct_local_paths(),
            links: LinksBetweenGroups::new(&network),
            rule,
            network,
            alike,
        }
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
        let Some(links) = &self.links else {
            let links = (0..groups.links_between(here, there)).map(|link| {
                let (gateway, port) = groups.gateway(here, there, link);
                (gateway, port, None)
            });
            return self.rank_links(router, segment, links, each);
        };
        let links = links.between(here, there);
        let ends_at_hosts = match segment.goal {
            Goal::Router(target) => self.has_hosts(target),
            Goal::Group(_) | Goal::Link(..) => true,
        };
        if self.alike && ends_at_hosts && self.has_hosts(router) {
            return links.iter().for_each(|link| each(0, link.gateway, link.port));
        }
        let links = links.iter().map(|link| (link.gateway, link.port, Some(link.far)));
        self.rank_links(router, segment, links, each);
    }

    #[inline]
    fn has_hosts(&self, router: RouterId) -> bool {
        let groups = self.network.groups();
        router.0 - groups.group(router) * groups.routers_per_group() < groups.host_routers_per_group()
    }

    /// [`EqualPaths::each_link`] for these links, each with its router, its port and, if known, its far end.
    #[inline]
    fn rank_links(
        &self,
        router: RouterId,
        segment: Segment,
        links: impl ExactSizeIterator<Item = (RouterId, Port, Option<RouterId>)>,
        mut each: impl FnMut(u32, RouterId, Port),
    ) {
        let groups = self.network.groups();
        let is_only = links.len() == 1;
        let mut least = u32::MAX;
        for (gateway, port, far) in links {
            let rank = match is_only {
                true => 0,
                false => {
                    let near = groups.distance(router, gateway);
                    // Most links of two large groups end here, before the look at their far end.
                    if 2 * near > least {
                        continue;
                    }
                    let behind = match segment.goal {
                        Goal::Router(target) => {
                            groups.distance(far.unwrap_or_else(|| self.network.across(gateway, port)), target)
                        }
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

    /// Calls `each` with candidates for the next hop, a rank of each, and the number of equal paths that it stands for.
    /// Those of the lowest rank begin the paths that a packet may take.
    #[inline]
    fn candidates(&self, router: RouterId, segment: Segment, mut each: impl FnMut(u32, Hop, u32)) {
        let first_vc = segment.first_vc;
        if let Goal::Router(target) = segment.goal
            && self.network.groups().group(router) == self.network.groups().group(target)
        {
            return self.local_ports(router, target, |port| each(0, Hop::new(port, first_vc + 1), 1));
        }
        // Links of one router follow each other.
        let mut pending: Option<(u32, RouterId, u32)> = None;
        self.each_link(router, segment, |rank, gateway, port| {
            if gateway == router {
                return each(rank, Hop::new(port, first_vc + 1), 1);
            }
            match &mut pending {
                Some((last_rank, last, links)) if (*last_rank, *last) == (rank, gateway) => *links += 1,
                _ => {
                    if let Some((rank, gateway, links)) = pending.replace((rank, gateway, 1)) {
                        self.local_ports(router, gateway, |port| {
                            each(rank, Hop::new(port, first_vc), links)
                        });
                    }
                }
            }
        });
        if let Some((rank, gateway, links)) = pending {
            self.local_ports(router, gateway, |port| {
                each(rank, Hop::new(port, first_vc), links)
            });
        }
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
        self.pick(congestion, random, |each| {
            self.candidates(router, segment, each);
        })
    }

    /// A hop on a shortest path to one of some other routers of the group.
    pub(crate) fn choose_local(
        &self,
        router: RouterId,
        routers: impl Iterator<Item = RouterId> + Clone,
        vc: u8,
        congestion: &dyn Congestion,
        random: &mut dyn Random,
    ) -> Hop {
        self.pick(congestion, random, |each| {
            for to in routers.clone() {
                self.local_ports(router, to, |port| each(0, Hop::new(port, vc), 1));
            }
        })
    }

    /// Picks one of the hops of the lowest rank and, among these, of the least load, each as often as it stands for an
    /// equal path. `offer` calls its argument with every hop, its rank and its number of paths, and is called once
    /// more if several hops are equal: one draw costs less than a draw for each of them.
    #[inline]
    fn pick(
        &self,
        congestion: &dyn Congestion,
        random: &mut dyn Random,
        offer: impl Fn(&mut dyn FnMut(u32, Hop, u32)),
    ) -> Hop {
        let mut best: Option<(u32, u64, Hop)> = None;
        let (mut hops, mut all_paths) = (0u32, 0u32);
        offer(&mut |rank, hop, paths| {
            if best.is_some_and(|(lowest, _, _)| rank > lowest) {
                return;
            }
            let load = self.load(hop, congestion);
            match best {
                Some((lowest, least, _)) if (rank, load) > (lowest, least) => {}
                Some((lowest, least, _)) if (rank, load) == (lowest, least) => {
                    hops += 1;
                    all_paths += paths;
                }
                _ => {
                    best = Some((rank, load, hop));
                    (hops, all_paths) = (1, paths);
                }
            }
        });
        let (lowest, least, first) = best.expect("a shortest path begins at some port");
        if hops == 1 {
            return first;
        }
        let mut left = random.below(all_paths);
        let mut picked = None;
        offer(&mut |rank, hop, paths| {
            if picked.is_none() && rank == lowest && self.load(hop, congestion) == least {
                match left.checked_sub(paths) {
                    Some(rest) => left = rest,
                    None => picked = Some(hop),
                }
            }
        });
        picked.unwrap_or(first)
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
        self.candidates(router, segment, |rank, hop, paths| {
            if rank < least {
                out.truncate(before);
                least = rank;
            }
            if rank == least {
                out.extend((0..paths).map(|_| hop));
            }
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
