//! Dragonfly+, or Megafly: groups of leaf routers, which have hosts, and spine routers, which have the links to
//! other groups. Every leaf of a group is linked to every spine of it.
//!
//! Sources: A. Shpiner, Z. Haramaty, S. Eliad, V. Zdornov, B. Gafni, E. Zahavi, "Dragonfly+: low cost topology
//! for scaling datacenters", HiPINEB 2017; M. Flajslik, E. Borch, M. A. Parker, "Megafly: a topology for
//! exascale systems", ISC High Performance 2018.
//!
//! Router number in its group: leaves first, then spines. Ports of a leaf: its hosts, then the spines in their
//! order. Ports of a spine: the leaves in their order, then the global ports (see `arrangement.rs`).
//!
//! Inside a group, paths lead from leaf to spine to leaf: upward links wait for downward links, and these for no
//! local link. Packets that pass through a group go from spine to spine, down and up, and downward links then wait
//! for upward links. On one VC the two kinds would form a cycle, so routing must keep them on different VCs.

use config::{Error, Section, Type, parameters};

use crate::arrangement::{
    ARRANGEMENT, GROUPS, GlobalLinks, GroupMember, LINKS_BETWEEN_GROUPS, RouterNames, SEED,
};
use crate::grouped::Grouped;
use crate::host_ports::HostPorts;
use crate::size::{SIZED, count, counted, ports, positive, positive_or};
use crate::sizing::{ChosenParameters, groups_for, one, smallest};
use crate::{
    Divisor, HOST_LINK, HostId, Kind, LinkClass, Peer, Port, RouterId, Shape, SizingRule, Topology, search,
};

pub(crate) const KIND: Kind = Kind {
    name: "dragonfly-plus",
    summary: "groups of leaves with hosts and spines with global links (Dragonfly+, Megafly; Shpiner et al. 2017)",
    parameters: parameters! {
        required_or("hosts_per_leaf", Type::Integer, SIZED, "hosts on every leaf");
        required_or("leaves_per_group", Type::Integer, SIZED, "leaf routers in every group");
        computed("spines_per_group", Type::Integer, "leaves_per_group",
            "spine routers in every group, each linked to all of its leaves");
        computed("global_links_per_spine", Type::Integer, "required, or links_between_groups, or network.hosts",
            "links of every spine to other groups");
        LINKS_BETWEEN_GROUPS;
        GROUPS;
        ARRANGEMENT;
        SEED;
    },
    example: "hosts_per_leaf = 2\nleaves_per_group = 3\nspines_per_group = 2\nglobal_links_per_spine = 2\n",
    build: |section| Ok(Box::new(DragonflyPlus::read(section)?)),
    sizing: Some(SizingRule {
        summary: "a group has as many leaves as spines, a leaf as many hosts as spines, and a spine as many links to \
                  other groups as leaves (Shpiner et al. 2017), and there are two groups or more",
        determines: &[
            "hosts_per_leaf",
            "leaves_per_group",
            "spines_per_group",
            "global_links_per_spine",
            "links_between_groups",
            "groups",
        ],
        choose: |_, hosts, radix| Ok(balanced(hosts, radix)),
    }),
};

/// The smallest Dragonfly+ without tapering that has these hosts: half of the ports of leaves and spines lead down, or
/// to leaves, and the other half up, or to other groups.
fn balanced(hosts: u64, radix: u32) -> Option<ChosenParameters> {
    let candidates = (1..=u64::from(radix / 2)).filter_map(|half| {
        let of_group = half * half;
        let groups = groups_for(hosts, of_group);
        let chosen = [
            ("hosts_per_leaf", half),
            ("leaves_per_group", half),
            ("spines_per_group", half),
            ("global_links_per_spine", half),
            ("groups", groups),
        ];
        (groups <= of_group + 1).then_some((groups * 2 * half, groups * of_group, chosen))
    });
    smallest(candidates).map(|chosen| chosen.map(|(key, number)| (key, one(number))).to_vec())
}

const NAMES: RouterNames = RouterNames {
    routers: "spines",
    per_router: "global_links_per_spine",
};

const LOCAL_LINK: LinkClass = LinkClass(1);
const GLOBAL_LINK: LinkClass = LinkClass(2);

/// A Dragonfly+. Public so that routing can be compiled for it.
#[derive(Clone, Debug)]
pub struct DragonflyPlus {
    hosts: u32,
    routers: u32,
    host_ports: HostPorts,
    leaves: Divisor,
    spines: Divisor,
    /// Number of leaves and spines of a group.
    routers_per_group: Divisor,
    local_paths: u16,
    global: GlobalLinks,
    leaf_ports: u16,
    spine_ports: u16,
}

impl DragonflyPlus {
    fn read(section: &Section) -> Result<DragonflyPlus, Error> {
        let host_ports = HostPorts::read(section, "hosts_per_leaf")?;
        let leaves = positive(section, "leaves_per_group")?;
        let spines = positive_or(section, "spines_per_group", leaves)?;
        let global = GlobalLinks::read(section, spines, &NAMES)?;
        let routers = leaves.checked_add(spines).ok_or_else(|| {
            let text = format!("{leaves} leaves and {spines} spines of a group are too many");
            section.error("spines_per_group", text)
        })?;
        let groups = global.groups();
        Ok(DragonflyPlus {
            routers: count(section, "groups", "routers", &[groups, routers])?,
            hosts: count(section, "groups", "hosts", &[groups, leaves, host_ports.count()])?,
            leaf_ports: ports(section, "hosts_per_leaf", &[host_ports.count(), spines])?,
            spine_ports: ports(section, "leaves_per_group", &[leaves, global.ports_of_router()])?,
            host_ports,
            leaves: Divisor::new(leaves),
            spines: Divisor::new(spines),
            local_paths: local_paths(leaves, spines),
            routers_per_group: Divisor::new(routers),
            global,
        })
    }

    #[inline]
    fn is_leaf(&self, router: u32) -> bool {
        router < self.leaves.get()
    }

    /// Number of local links between a router, by its number in the group, and a spine of the group.
    #[inline]
    fn to_spine(&self, router: u32, spine: u32) -> u8 {
        match router.checked_sub(self.leaves.get()) {
            None => 1,
            Some(own) if own == spine => 0,
            Some(_) => 2,
        }
    }
}

/// The least common multiple of leaves and spines; the greater of both if the multiple does not fit a path number.
fn local_paths(leaves: u32, spines: u32) -> u16 {
    let most = leaves.max(spines);
    let mut multiples = (1..=u32::from(u16::MAX) / most).map(|times| times * most);
    let even = multiples.find(|n| n.is_multiple_of(leaves) && n.is_multiple_of(spines));
    even.unwrap_or(most) as u16
}

impl Topology for DragonflyPlus {
    fn hosts(&self) -> u32 {
        self.hosts
    }

    fn routers(&self) -> u32 {
        self.routers
    }

    fn ports(&self, router: RouterId) -> u16 {
        if self.is_leaf(self.member(router).router) {
            self.leaf_ports
        } else {
            self.spine_ports
        }
    }

    fn peer(&self, router: RouterId, port: Port) -> Peer {
        let at = self.member(router);
        let (first, leaves) = (router.0 - at.router, self.leaves.get());
        if self.is_leaf(at.router) {
            let leaf = at.group * leaves + at.router;
            let spine = |port: Port| {
                let spine = u32::from(port.0) - self.host_ports.count();
                Peer::Router(RouterId(first + leaves + spine), Port(at.router as u16))
            };
            return self.host_ports.peer(leaf, port).unwrap_or_else(|| spine(port));
        }
        let spine = at.router - leaves;
        let Some(k) = u32::from(port.0).checked_sub(leaves) else {
            let up = (self.host_ports.count() + spine) as u16;
            return Peer::Router(RouterId(first + u32::from(port.0)), Port(up));
        };
        let at = GroupMember { router: spine, ..at };
        self.global_peer(at, k)
    }

    #[inline]
    fn attachment(&self, host: HostId) -> (RouterId, Port) {
        let (leaf, port) = self.host_ports.attachment(host);
        let group = self.leaves.quotient(leaf.0);
        (RouterId(leaf.0 + group * self.spines.get()), port)
    }

    /// Between leaves this is the distance of minimal routing. From and to spines several global links can be shorter
    /// than one with its local links; a search finds these cases.
    fn distance(&self, from: RouterId, to: RouterId) -> u32 {
        if from == to {
            return 0;
        }
        let (here, there) = (self.member(from), self.member(to));
        let leaves = u32::from(self.is_leaf(here.router)) + u32::from(self.is_leaf(there.router));
        if here.group == there.group {
            return if leaves == 1 { 1 } else { 2 };
        }
        let direct = self.nearest(here, there, 0).1 + 1;
        // The shortest indirect path has a link between spines and one from each leaf to a spine. A path with one
        // global link is a direct one.
        let least = if leaves == 0 { 2 } else { 1 + leaves };
        search::distance(self, from, to, least, direct)
    }

    fn link_classes(&self) -> Vec<&str> {
        vec!["host", "local", "global"]
    }

    fn link_class(&self, router: RouterId, port: Port) -> LinkClass {
        let leaf = self.is_leaf(self.member(router).router);
        if leaf && self.host_ports.has(port) {
            HOST_LINK
        } else if leaf || u32::from(port.0) < self.leaves.get() {
            LOCAL_LINK
        } else {
            GLOBAL_LINK
        }
    }

    fn coordinates(&self, router: RouterId) -> String {
        let at = self.member(router);
        match at.router.checked_sub(self.leaves.get()) {
            None => format!("group {}, leaf {}", at.group, at.router),
            Some(spine) => format!("group {}, spine {spine}", at.group),
        }
    }

    fn describe(&self) -> String {
        let leaves = match self.leaves.get() {
            1 => "1 leaf".to_string(),
            n => format!("{n} leaves"),
        };
        format!(
            "Dragonfly+ of {} of {leaves} with {} each and {}{}",
            counted(self.global.groups(), "group"),
            counted(self.host_ports.count(), "host"),
            counted(self.spines.get(), "spine"),
            self.global.describe(),
        )
    }

    fn shape(&self) -> Shape<'_> {
        Shape::Groups(self)
    }

    fn router_links(&self) -> u64 {
        let local = 2 * u64::from(self.leaves.get()) * u64::from(self.spines.get());
        u64::from(self.global.groups()) * (local + u64::from(self.global.wired()))
    }
}

impl Grouped for DragonflyPlus {
    #[inline]
    fn global(&self) -> &GlobalLinks {
        &self.global
    }

    #[inline]
    fn group_size(&self) -> Divisor {
        self.routers_per_group
    }

    #[inline]
    fn first_global_router(&self) -> u32 {
        self.leaves.get()
    }

    #[inline]
    fn first_global_port(&self) -> u16 {
        self.leaves.get() as u16
    }

    #[inline]
    fn nearest(&self, from: GroupMember, to: GroupMember, draw: u32) -> (u32, u32) {
        if self.is_leaf(from.router) && self.is_leaf(to.router) {
            let links = self.global.links_between(from.group, to.group);
            return (crate::pick(draw, links).0, 2);
        }
        self.global.nearest_by(from.group, to.group, draw, |here, there| {
            self.to_spine(from.router, here) + self.to_spine(to.router, there)
        })
    }

    fn routers_with_hosts(&self) -> u32 {
        self.leaves.get()
    }

    fn group_diameter(&self) -> u32 {
        if self.routers_per_group.get() > 2 { 2 } else { 1 }
    }

    /// A path leads over each spine or, between spines, over each leaf. Several path numbers stand for one path, so
    /// that all paths are drawn equally often.
    #[inline]
    fn group_paths(&self) -> u16 {
        self.local_paths
    }

    #[inline]
    fn group_port(&self, from: RouterId, to: RouterId, path: u16) -> Port {
        let (from, to) = (self.member(from).router, self.member(to).router);
        let leaves = self.leaves.get();
        let spine = to.checked_sub(leaves);
        if self.is_leaf(from) {
            let spine = spine.unwrap_or_else(|| self.spines.remainder(u32::from(path)));
            return Port((self.host_ports.count() + spine) as u16);
        }
        match spine {
            None => Port(to as u16),
            Some(_) => Port(self.leaves.remainder(u32::from(path)) as u16),
        }
    }
}
