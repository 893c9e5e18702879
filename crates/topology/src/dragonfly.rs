//! Dragonfly: groups of routers, all-to-all inside a group, links between all groups.
//!
//! Source: J. Kim, W. J. Dally, S. Scott, D. Abts, "Technology-driven, highly-scalable dragonfly topology", ISCA
//! 2008, with p hosts per router, a routers per group, h global links per router, and groups of one dimension.
//! Ports of a router: p to hosts, a - 1 to the other routers of the group in their order, h to other groups (see
//! `arrangement.rs`).

use config::{Error, Section, Type, parameters};

use crate::arrangement::{
    ARRANGEMENT, GROUPS, GlobalLinks, GroupMember, LINKS_BETWEEN_GROUPS, RouterNames, SEED,
};
use crate::grouped::Grouped;
use crate::host_ports::HostPorts;
use crate::size::{SIZED, count, counted, ports, positive};
use crate::sizing::{ChosenParameters, groups_for, one, smallest};
use crate::{Divisor, HOST_LINK, HostId, Kind, LinkClass, Peer, Port, RouterId, Shape, SizingRule, Topology};

pub(crate) const KIND: Kind = Kind {
    name: "dragonfly",
    summary: "groups of routers, all-to-all inside a group, links between all groups (Kim et al. 2008)",
    parameters: parameters! {
        required_or("hosts_per_router", Type::Integer, SIZED, "p, hosts on every router");
        required_or("routers_per_group", Type::Integer, SIZED,
            "a, routers in every group, all linked to each other");
        computed("global_links_per_router", Type::Integer, "required, or links_between_groups, or network.hosts",
            "h, links of every router to other groups");
        LINKS_BETWEEN_GROUPS;
        GROUPS;
        ARRANGEMENT;
        SEED;
    },
    example: "hosts_per_router = 2\nrouters_per_group = 4\nglobal_links_per_router = 2\n",
    build: |section| Ok(Box::new(Dragonfly::read(section)?)),
    sizing: Some(SizingRule {
        summary: "the dragonfly is balanced, a = 2p = 2h (Kim et al. 2008, section 3), of two groups or more",
        determines: &[
            "hosts_per_router",
            "routers_per_group",
            "global_links_per_router",
            "links_between_groups",
            "groups",
        ],
        choose: |_, hosts, radix| Ok(balanced(hosts, radix)),
    }),
};

/// Names of the routers with global ports.
pub(crate) const NAMES: RouterNames = RouterNames {
    routers: "routers",
    per_router: "global_links_per_router",
};

/// The smallest balanced dragonfly with these hosts. With a = 2p = 2h every router has 4p - 1 ports, and uniform
/// traffic loads local and global links as much as those of hosts. All 2p^2 global ports of a group have cables,
/// whatever the number of groups. So few groups lack no bandwidth, and the fewest routers are the best choice.
fn balanced(hosts: u64, radix: u32) -> Option<ChosenParameters> {
    let candidates = (1..=u64::from(radix.saturating_add(1)) / 4).filter_map(|p| {
        let of_group = 2 * p * p;
        let groups = groups_for(hosts, of_group);
        let chosen = [
            ("hosts_per_router", p),
            ("routers_per_group", 2 * p),
            ("global_links_per_router", p),
            ("groups", groups),
        ];
        (groups <= of_group + 1).then_some((groups * 2 * p, groups * of_group, chosen))
    });
    smallest(candidates).map(|chosen| chosen.map(|(key, number)| (key, one(number))).to_vec())
}

const LOCAL_LINK: LinkClass = LinkClass(1);
const GLOBAL_LINK: LinkClass = LinkClass(2);

/// A dragonfly. Public so that routing can be compiled for it: a query through [`Groups`] costs more than a routing
/// decision.
#[derive(Clone, Debug)]
pub struct Dragonfly {
    hosts: u32,
    routers: u32,
    /// Hosts per router (p).
    host_ports: HostPorts,
    /// Routers per group (a).
    routers_per_group: Divisor,
    global: GlobalLinks,
    first_global_port: u16,
    ports: u16,
}

impl Dragonfly {
    fn read(section: &Section) -> Result<Dragonfly, Error> {
        let host_ports = HostPorts::read(section, "hosts_per_router")?;
        let (p, a) = (host_ports.count(), positive(section, "routers_per_group")?);
        let global = GlobalLinks::read(section, a, &NAMES)?;
        let (groups, h) = (global.groups(), global.ports_of_router());
        let ports = ports(section, "routers_per_group", &[p, a - 1, h])?;
        Ok(Dragonfly {
            routers: count(section, "groups", "routers", &[groups, a])?,
            hosts: count(section, "groups", "hosts", &[groups, a, p])?,
            host_ports,
            routers_per_group: Divisor::new(a),
            global,
            first_global_port: ports - h as u16,
            ports,
        })
    }

    /// Index of router `of` among the routers of its group other than `seen_from`.
    #[inline]
    fn position(seen_from: u32, of: u32) -> u32 {
        if of < seen_from { of } else { of - 1 }
    }

    /// Number of links of a shortest path with one global link, between routers of different groups.
    fn direct_distance(&self, from: RouterId, to: RouterId) -> u32 {
        self.global.nearest(self.member(from), self.member(to), 0).1
    }
}

impl Topology for Dragonfly {
    fn hosts(&self) -> u32 {
        self.hosts
    }

    fn routers(&self) -> u32 {
        self.routers
    }

    fn ports(&self, _: RouterId) -> u16 {
        self.ports
    }

    fn peer(&self, router: RouterId, port: Port) -> Peer {
        if let Some(host) = self.host_ports.peer(router.0, port) {
            return host;
        }
        let at = self.member(router);
        if port.0 < self.first_global_port {
            let position = u32::from(port.0) - self.host_ports.count();
            let other = if position < at.router {
                position
            } else {
                position + 1
            };
            let other = RouterId(router.0 - at.router + other);
            return Peer::Router(other, self.group_port(other, router, 0));
        }
        self.global_peer(at, u32::from(port.0 - self.first_global_port))
    }

    #[inline]
    fn attachment(&self, host: HostId) -> (RouterId, Port) {
        self.host_ports.attachment(host)
    }

    /// Two global links through a third group can be shorter than a local, a global and a local link. So this
    /// distance can be less than that of minimal routing, which takes one global link.
    fn distance(&self, from: RouterId, to: RouterId) -> u32 {
        if from == to {
            return 0;
        }
        if self.member(from).group == self.member(to).group {
            return 1;
        }
        let direct = self.direct_distance(from, to);
        let meets = |port| match self.peer(from, Port(port)) {
            Peer::Router(third, _) if self.member(third).group != self.member(to).group => {
                self.direct_distance(third, to) == 1
            }
            _ => false,
        };
        if direct == 3 && (self.first_global_port..self.ports).any(meets) {
            2
        } else {
            direct
        }
    }

    fn link_classes(&self) -> Vec<&str> {
        vec!["host", "local", "global"]
    }

    fn link_class(&self, _: RouterId, port: Port) -> LinkClass {
        if self.host_ports.has(port) {
            HOST_LINK
        } else if port.0 < self.first_global_port {
            LOCAL_LINK
        } else {
            GLOBAL_LINK
        }
    }

    fn coordinates(&self, router: RouterId) -> String {
        let (group, router) = self.routers_per_group.divide(router.0);
        format!("group {group}, router {router}")
    }

    fn describe(&self) -> String {
        format!(
            "dragonfly of {} of {} with {} each{}",
            counted(self.global.groups(), "group"),
            counted(self.routers_per_group.get(), "router"),
            counted(self.host_ports.count(), "host"),
            self.global.describe(),
        )
    }

    fn shape(&self) -> Shape<'_> {
        Shape::Groups(self)
    }

    fn router_links(&self) -> u64 {
        let a = self.routers_per_group.get();
        u64::from(self.routers) * u64::from(a - 1)
            + u64::from(self.global.groups()) * u64::from(self.global.wired())
    }
}

impl Grouped for Dragonfly {
    #[inline]
    fn global(&self) -> &GlobalLinks {
        &self.global
    }

    #[inline]
    fn group_size(&self) -> Divisor {
        self.routers_per_group
    }

    #[inline]
    fn first_global_port(&self) -> u16 {
        self.first_global_port
    }

    #[inline]
    fn nearest(&self, from: GroupMember, to: GroupMember, draw: u32) -> (u32, u32) {
        self.global.nearest(from, to, draw)
    }

    fn group_diameter(&self) -> u32 {
        1
    }

    #[inline]
    fn group_paths(&self) -> u16 {
        1
    }

    #[inline]
    fn group_port(&self, from: RouterId, to: RouterId, _: u16) -> Port {
        let own = self.routers_per_group.remainder(from.0);
        let other = self.routers_per_group.remainder(to.0);
        Port((self.host_ports.count() + Self::position(own, other)) as u16)
    }
}
