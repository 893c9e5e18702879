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
use smallvec::SmallVec;
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
    /// Whether all links between two groups are equally far from any router that has none of them, at both ends: spines
    /// have the links, and every router with hosts is linked to every spine.
    alike: bool,
}

/// The links between groups by group and other group. Decisions that compare many links would spend most of their time
/// on the formulas of the topology.
struct LinksBetweenGroups {
    /// By group, then other group: the first of its gateways.
    first: Vec<u32>,
    /// By pair of groups, then router.
    gateways: Vec<Gateway>,
    /// By gateway, then port.
    links: Vec<GlobalLink>,
    groups: u32,
}

/// A router with links to another group.
#[derive(Clone, Copy)]
struct Gateway {
    router: RouterId,
    /// Its first link to the other group, and their number.
    first: u32,
    links: u32,
}

#[derive(Clone, Copy)]
struct GlobalLink {
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
        let (mut first, mut gateways, mut links) = (vec![0], Vec::new(), Vec::new());
        for here in 0..groups {
            for there in 0..groups {
                let between = match here == there {
                    true => 0,
                    false => topology.links_between(here, there),
                };
                let mut ends: Vec<(RouterId, Port)> = (0..between)
                    .map(|link| topology.gateway(here, there, link))
                    .collect();
                ends.sort_unstable();
                for of_router in ends.chunk_by(|one, next| one.0 == next.0) {
                    let router = of_router[0].0;
                    gateways.push(Gateway {
                        router,
                        first: links.len() as u32,
                        links: of_router.len() as u32,
                    });
                    links.extend(of_router.iter().map(|(_, port)| GlobalLink {
                        port: *port,
                        far: network.across(router, *port),
                    }));
                }
                first.push(gateways.len() as u32);
            }
        }
        Some(LinksBetweenGroups {
            first,
            gateways,
            links,
            groups,
        })
    }

    /// The routers of a group with links to another one, in ascending order.
    #[inline]
    fn gateways(&self, here: u32, there: u32) -> &[Gateway] {
        let pair = (here * self.groups + there) as usize;
        &self.gateways[self.first[pair] as usize..self.first[pair + 1] as usize]
    }

    #[inline]
    fn of(&self, gateway: &Gateway) -> &[GlobalLink] {
        &self.links[gateway.first as usize..][..gateway.links as usize]
    }
}

/// Ranks links between two groups by the local links of the paths over them. Links above the lowest rank so far have
/// none.
struct LinkRanking<'a, T> {
    paths: &'a EqualPaths<T>,
    router: RouterId,
    segment: Segment,
    least: u32,
}

impl<T: Topology + Groups> LinkRanking<'_, T> {
    /// Links from the router to a gateway, if its links may have the lowest rank.
    #[inline]
    fn near(&self, gateway: RouterId) -> Option<u32> {
        let near = self.paths.network.groups().distance(self.router, gateway);
        (2 * near <= self.least).then_some(near)
    }

    /// The rank of a link with this far end.
    #[inline]
    fn rank(&mut self, gateway: RouterId, near: u32, far: impl FnOnce() -> RouterId) -> Option<u32> {
        let behind = match self.segment.goal {
            Goal::Router(target) => self.paths.network.groups().distance(far(), target),
            Goal::Group(_) | Goal::Link(..) => 0,
        };
        let rank = 2 * (near + behind) + u32::from(self.segment.under_way && gateway != self.router);
        if rank > self.least {
            return None;
        }
        self.least = rank;
        Some(rank)
    }
}

/// The hops of the lowest rank and, among these, of the least load.
struct LeastLoadedHops {
    rank: u32,
    load: u64,
    /// Each with the number of equal paths that it stands for.
    hops: SmallVec<[(Hop, u32); 32]>,
    /// Sum of these numbers.
    paths: u32,
}

impl LeastLoadedHops {
    #[inline]
    fn new() -> LeastLoadedHops {
        LeastLoadedHops {
            rank: u32::MAX,
            load: u64::MAX,
            hops: SmallVec::new(),
            paths: 0,
        }
    }

    #[inline]
    fn offer(&mut self, rank: u32, (hop, paths): (Hop, u32), load: impl FnOnce() -> u64) {
        if rank > self.rank {
            return;
        }
        let load = load();
        if (rank, load) > (self.rank, self.load) {
            return;
        }
        if (rank, load) < (self.rank, self.load) {
            (self.rank, self.load, self.paths) = (rank, load, 0);
            self.hops.clear();
        }
        self.hops.push((hop, paths));
        self.paths += paths;
    }

    /// One of them, each as often as it stands for an equal path. A single one needs no random number.
    #[inline]
    fn pick(&self, random: &mut dyn Random) -> Hop {
        if let [(only, _)] = self.hops[..] {
            return only;
        }
        let mut left = random.below(self.paths);
        for (hop, paths) in &self.hops {
            match left.checked_sub(*paths) {
                Some(rest) => left = rest,
                None => return *hop,
            }
        }
        unreachable!("a shortest path begins at some port")
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
        let mut spines = leaves..groups.routers_per_group();
        // A path between two spines leads over a leaf.
        let at = |spine: u32, from: u32| match (from == spine, from < leaves) {
            (true, _) => 0,
            (false, true) => 1,
            (false, false) => 2,
        };
        let alike = !spines.is_empty()
            && spines.all(|spine| {
                (0..groups.routers_per_group())
                    .all(|from| groups.distance(RouterId(from), RouterId(spine)) == at(spine, from))
            });
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
        if let Some((links, gateways)) = self.equal_gateways(router, segment.goal) {
            for gateway in gateways {
                let links = links.of(gateway).iter();
                links.for_each(|link| each(0, gateway.router, link.port));
            }
            return;
        }
        let mut ranking = LinkRanking {
            paths: self,
            router,
            segment,
            least: u32::MAX,
        };
        match &self.links {
            Some(links) => match links.gateways(here, there) {
                [only] if only.links == 1 => each(0, only.router, links.of(only)[0].port),
                gateways => {
                    for gateway in gateways {
                        // Most links of two large groups end here, before the look at their far end.
                        let Some(near) = ranking.near(gateway.router) else {
                            continue;
                        };
                        for link in links.of(gateway) {
                            if let Some(rank) = ranking.rank(gateway.router, near, || link.far) {
                                each(rank, gateway.router, link.port);
                            }
                        }
                    }
                }
            },
            None => {
                let links = groups.links_between(here, there);
                for link in 0..links {
                    let (gateway, port) = groups.gateway(here, there, link);
                    if links == 1 {
                        return each(0, gateway, port);
                    }
                    if let Some(near) = ranking.near(gateway)
                        && let Some(rank) = ranking.rank(gateway, near, || self.network.across(gateway, port))
                    {
                        each(rank, gateway, port);
                    }
                }
            }
        }
    }

    /// The gateways that begin the shortest paths to another group, where that follows from the network alone: the
    /// router itself, if it has links to that group, and all gateways otherwise.
    #[inline]
    fn equal_gateways(&self, router: RouterId, goal: Goal) -> Option<(&LinksBetweenGroups, &[Gateway])> {
        let ends_at_hosts = match goal {
            Goal::Router(target) => self.has_hosts(target),
            Goal::Group(_) => true,
            Goal::Link(..) => false,
        };
        let links = self.links.as_ref().filter(|_| self.alike && ends_at_hosts)?;
        let all = links.gateways(self.network.groups().group(router), self.group_of(goal));
        if self.has_hosts(router) {
            return Some((links, all));
        }
        Some(
            match all.binary_search_by_key(&router, |gateway| gateway.router) {
                Ok(own) => (links, &all[own..=own]),
                Err(_) => (links, all),
            },
        )
    }

    /// Whether the shortest paths to a router of another group begin with a link of this router to that group.
    pub(crate) fn is_gateway(&self, router: RouterId, target: RouterId) -> bool {
        let goal = Goal::Router(target);
        if let Some((_, gateways)) = self.equal_gateways(router, goal) {
            return matches!(gateways, [only] if only.router == router);
        }
        let mut owns_link = false;
        self.each_global_link(router, goal, None, |gateway, _| owns_link |= gateway == router);
        owns_link
    }

    #[inline]
    fn has_hosts(&self, router: RouterId) -> bool {
        let groups = self.network.groups();
        router.0 - groups.group(router) * groups.routers_per_group() < groups.host_routers_per_group()
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
        if let Some((links, gateways)) = self.equal_gateways(router, segment.goal) {
            for gateway in gateways {
                if gateway.router == router {
                    let links = links.of(gateway).iter();
                    links.for_each(|link| each(0, Hop::new(link.port, first_vc + 1), 1));
                } else {
                    self.local_ports(router, gateway.router, |port| {
                        each(0, Hop::new(port, first_vc), gateway.links);
                    });
                }
            }
            return;
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
        self.choose_by(router, segment, congestion, random, |_| 1)
    }

    /// The same, by the load times a factor of each hop.
    #[inline]
    pub(crate) fn choose_by(
        &self,
        router: RouterId,
        segment: Segment,
        congestion: &dyn Congestion,
        random: &mut dyn Random,
        factor: impl Fn(Hop) -> u64,
    ) -> Hop {
        let mut best = LeastLoadedHops::new();
        self.candidates(router, segment, |rank, hop, paths| {
            let load = || self.load(hop, congestion).saturating_mul(factor(hop));
            best.offer(rank, (hop, paths), load);
        });
        best.pick(random)
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
        let mut best = LeastLoadedHops::new();
        for to in routers {
            self.local_ports(router, to, |port| {
                let hop = Hop::new(port, vc);
                best.offer(0, (hop, 1), || self.load(hop, congestion));
            });
        }
        best.pick(random)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::groups::{PerTopology, compiled};
    use config::Section;

    /// Compares the next hops from what is known of all links together with those that rank each link by the formulas
    /// of the topology. Returns whether the links were known to be alike.
    struct ByFormulas;

    impl PerTopology for ByFormulas {
        type Built = bool;

        fn build<T: Topology + Groups + 'static>(self, network: GroupNetwork<T>) -> bool {
            let mut paths = EqualPaths::new(network, Rule::AtRandom);
            let is_alike = paths.alike;
            let known = all_hops(&paths);
            (paths.links, paths.alike) = (None, false);
            assert_eq!(all_hops(&paths), known, "{}", paths.network.groups().describe());
            is_alike
        }
    }

    /// The next hops from each router to each goal in another group, by port, and whether the router is a gateway.
    fn all_hops<T: Topology + Groups>(paths: &EqualPaths<T>) -> Vec<(RouterId, Goal, bool, Vec<u16>, bool)> {
        let groups = paths.network.groups();
        let routers = || (0..groups.routers()).map(RouterId);
        let mut found = Vec::new();
        for router in routers() {
            let goals = routers()
                .map(Goal::Router)
                .chain((0..groups.groups()).map(Goal::Group));
            for goal in goals.filter(|goal| paths.group_of(*goal) != groups.group(router)) {
                for under_way in [false, true] {
                    let segment = Segment {
                        goal,
                        first_vc: 0,
                        under_way,
                    };
                    let mut hops = Vec::new();
                    paths.hops(router, segment, &mut hops);
                    let mut ports: Vec<u16> = hops.iter().map(|hop| hop.port.0).collect();
                    ports.sort_unstable();
                    let is_gateway = match goal {
                        Goal::Router(target) => paths.is_gateway(router, target),
                        Goal::Group(_) | Goal::Link(..) => false,
                    };
                    found.push((router, goal, under_way, ports, is_gateway));
                }
            }
        }
        found
    }

    #[test]
    fn hops_are_those_that_the_formulas_of_the_topology_give() {
        for (toml, is_alike) in [
            (
                "kind = \"dragonfly-plus\"\nhosts_per_leaf = 1\nleaves_per_group = 3\ngroups = 4\nlinks_between_groups = 2",
                true,
            ),
            (
                "kind = \"dragonfly-plus\"\nhosts_per_leaf = 2\nleaves_per_group = 2\nspines_per_group = 3\ngroups = 3\nlinks_between_groups = 2",
                true,
            ),
            // Some spines have no link to some groups.
            (
                "kind = \"dragonfly-plus\"\nhosts_per_leaf = 1\nleaves_per_group = 3\ngroups = 5\nlinks_between_groups = 1",
                true,
            ),
            (
                "kind = \"dragonfly\"\nhosts_per_router = 1\nrouters_per_group = 4\nglobal_links_per_router = 2\ngroups = 5",
                false,
            ),
            (
                "kind = \"dragonfly-2d\"\nhosts_per_router = 1\ncolumns = 3\nrows = 2\nglobal_links_per_router = 2\ngroups = 3",
                false,
            ),
        ] {
            let topology = topology::build(&Section::from_toml(toml, "x.toml").unwrap()).unwrap();
            assert_eq!(compiled(&*topology, ByFormulas), is_alike, "{toml}");
        }
    }
}
