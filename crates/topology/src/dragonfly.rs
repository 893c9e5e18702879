//! Dragonfly: groups of routers, all-to-all inside a group, links between all groups.
//!
//! Source: J. Kim, W. J. Dally, S. Scott, D. Abts, "Technology-driven, highly-scalable dragonfly topology",
//! ISCA 2008. Here p hosts per router, a routers per group, h global links per router, groups of one
//! dimension. Ports of a router: p to hosts, a - 1 to the other routers of the group in their order, h to
//! other groups.
//!
//! Arrangement of the global links, `consecutive`. The a*h global ports of a group are counted through its
//! routers (j = router * h + k), the other groups are counted without the own one. Port j leads to the
//! (j mod (groups - 1))-th other group, as long as every other group gets equally many. With the greatest
//! number of groups, a*h + 1, port j of group s so leads to group j if j < s, else to j + 1. Ports left
//! over give one more link each to the groups at distance 1, -1, 2, -2, ... around the ring of groups, so
//! that the links stay symmetric; an odd one joins opposite groups, or stays unwired if the number of
//! groups is odd too.

use std::any::Any;
use std::ops::Range;

use config::{Error, Section};

use crate::size::{count, counted, ports, positive};
use crate::{Divisor, Groups, HOST_LINK, HostId, Kind, LinkClass, Peer, Port, RouterId, Shape, Topology};

pub(crate) const KIND: Kind = Kind {
    name: "dragonfly",
    summary: "groups of routers, all-to-all inside a group, links between all groups (Kim et al. 2008)",
    parameters: &[
        ("hosts_per_router", "p, hosts on every router"),
        (
            "routers_per_group",
            "a, routers in every group, all linked to each other",
        ),
        (
            "global_links_per_router",
            "h, links of every router to other groups",
        ),
        (
            "groups",
            "1 to a*h + 1; fewer groups have several links to each other (default: a*h + 1)",
        ),
        (
            "arrangement",
            "which global port leads where: consecutive (default: consecutive)",
        ),
    ],
    example: "hosts_per_router = 2\nrouters_per_group = 4\nglobal_links_per_router = 2\n",
    build: |section| Ok(Box::new(Dragonfly::read(section)?)),
};

const LOCAL_LINK: LinkClass = LinkClass(1);
const GLOBAL_LINK: LinkClass = LinkClass(2);

const SYMMETRIC: &str = "extra links lead both ways";

/// A dragonfly; see the module. Public so that routing can be compiled for it: asking through
/// [`Groups`] costs a routing decision more than making it.
#[derive(Clone, Debug)]
pub struct Dragonfly {
    hosts: u32,
    routers: u32,
    groups: u32,
    /// p.
    hosts_per_router: Divisor,
    /// a.
    routers_per_group: Divisor,
    /// h.
    global_links: Divisor,
    /// Other groups, groups - 1; 1 where there are none, to divide by.
    others: Divisor,
    /// Links that every pair of groups has at least.
    rounds: u32,
    /// Ports of a group that lead to nearby groups beyond the even rounds.
    extra: u32,
    first_global_port: u16,
    ports: u16,
}

/// The links between two groups, seen from one router in each.
struct Links {
    /// Even links at the router of the first group.
    at_from: Range<u32>,
    /// Even links at the router of the second group.
    at_to: Range<u32>,
    /// Even links in all.
    rounds: u32,
    /// Whether there is an extra link, with the index `rounds`: is it at the first, at the second router?
    extra: Option<(bool, bool)>,
}

impl Dragonfly {
    fn read(section: &Section) -> Result<Dragonfly, Error> {
        let p = positive(section, "hosts_per_router", None)?;
        let a = positive(section, "routers_per_group", None)?;
        let h = positive(section, "global_links_per_router", None)?;
        let global_ports = count(
            section,
            "global_links_per_router",
            "global ports of a group",
            &[a, h],
        )?;
        let most = global_ports.saturating_add(1);
        let groups = positive(section, "groups", Some(most))?;
        section.choice("arrangement", "consecutive", &["consecutive"])?;
        if groups > most {
            return Err(section.error(
                "groups",
                format!(
                    "{groups} groups cannot all be linked: {a} routers per group with {h} global links each \
                     reach {global_ports} other groups; expected 1 to {most}"
                ),
            ));
        }
        let ports = ports(section, "routers_per_group", &[p, a - 1, h])?;
        let routers = count(section, "groups", "routers", &[groups, a])?;
        let hosts = count(section, "groups", "hosts", &[groups, a, p])?;
        let others = groups - 1;
        let (rounds, left) = match others {
            0 => (0, 0),
            others => (global_ports / others, global_ports % others),
        };
        let pairs_up = left.is_multiple_of(2) || groups.is_multiple_of(2);
        Ok(Dragonfly {
            hosts,
            routers,
            groups,
            hosts_per_router: Divisor::new(p),
            routers_per_group: Divisor::new(a),
            global_links: Divisor::new(h),
            others: Divisor::new(others.max(1)),
            rounds,
            extra: if pairs_up { left } else { left - 1 },
            first_global_port: ports - h as u16,
            ports,
        })
    }

    fn wired_global_ports(&self) -> u32 {
        self.rounds * (self.groups - 1) + self.extra
    }

    /// Position of group `of` among the groups other than `seen_from`.
    #[inline]
    fn position(seen_from: u32, of: u32) -> u32 {
        if of < seen_from { of } else { of - 1 }
    }

    /// The global port of group `from`, counted through the group, of the extra link to group `to`.
    #[inline]
    fn extra_port(&self, from: u32, to: u32) -> Option<u32> {
        let ahead = if to > from {
            to - from
        } else {
            to + self.groups - from
        };
        let behind = self.groups - ahead;
        let first = self.rounds * (self.groups - 1);
        if ahead <= self.extra / 2 {
            Some(first + 2 * (ahead - 1))
        } else if behind <= self.extra / 2 {
            Some(first + 2 * (behind - 1) + 1)
        } else if ahead == behind && !self.extra.is_multiple_of(2) {
            Some(first + self.extra - 1)
        } else {
            None
        }
    }

    /// The group that a global port of `group`, counted through the group, leads to, and the port there.
    fn across(&self, group: u32, port: u32) -> Option<(u32, u32)> {
        let even = self.rounds * (self.groups - 1);
        if port < even {
            let (round, position) = self.others.divide(port);
            let to = if position < group { position } else { position + 1 };
            let back = Self::position(to, group);
            return Some((to, round * self.others.get() + back));
        }
        let extra = port - even;
        if extra >= self.extra {
            return None;
        }
        let (step, backwards) = (extra / 2 + 1, !extra.is_multiple_of(2));
        // The last one of an odd number joins opposite groups; forwards and backwards are the same there.
        let opposite = extra == self.extra - 1 && !self.extra.is_multiple_of(2);
        let ahead = match (opposite, backwards) {
            (true, _) => self.groups / 2,
            (false, true) => self.groups - step,
            (false, false) => step,
        };
        let to = if ahead >= self.groups - group {
            ahead - (self.groups - group)
        } else {
            group + ahead
        };
        Some((to, self.extra_port(to, group).expect(SYMMETRIC)))
    }

    /// The router of `group` that has a global port counted through the group, and its own port number.
    #[inline]
    fn global_port(&self, group: u32, port: u32) -> (RouterId, Port) {
        let (router, k) = self.global_links.divide(port);
        (
            RouterId(group * self.routers_per_group.get() + router),
            Port(self.first_global_port + k as u16),
        )
    }

    /// The rounds in which the group at `position` is reached from the `router`-th router of a group.
    fn rounds_at(&self, router: u32, position: u32) -> Range<u32> {
        let h = self.global_links.get();
        let first = (router * h).saturating_sub(position);
        let end = ((router + 1) * h).saturating_sub(position);
        let (first, end) = (self.others.quotient_up(first), self.others.quotient_up(end));
        first.min(self.rounds)..end.min(self.rounds)
    }

    fn links(&self, from: RouterId, to: RouterId) -> Links {
        let (from_group, from_router) = self.routers_per_group.divide(from.0);
        let (to_group, to_router) = self.routers_per_group.divide(to.0);
        Links {
            at_from: self.rounds_at(from_router, Self::position(from_group, to_group)),
            at_to: self.rounds_at(to_router, Self::position(to_group, from_group)),
            rounds: self.rounds,
            extra: self.extra_port(from_group, to_group).map(|port| {
                let back = self.extra_port(to_group, from_group).expect(SYMMETRIC);
                (
                    self.global_links.quotient(port) == from_router,
                    self.global_links.quotient(back) == to_router,
                )
            }),
        }
    }

    /// Links on a shortest path with one global link, between routers of different groups.
    fn direct_distance(&self, from: RouterId, to: RouterId) -> u32 {
        self.links(from, to).choose(0).1
    }
}

impl Links {
    /// The `draw`-th link with the fewest local links beside it, and the length of the path through it.
    fn choose(&self, draw: u32) -> (u32, u32) {
        let both = self.at_from.start.max(self.at_to.start)..self.at_from.end.min(self.at_to.end);
        let none = 0..0;
        let (near, far) = self.extra.unwrap_or((false, false));
        if !both.is_empty() || (near && far) {
            return (pick(draw, both, none, (near && far).then_some(self.rounds)), 1);
        }
        if !self.at_from.is_empty() || !self.at_to.is_empty() || near || far {
            let extra = (near || far).then_some(self.rounds);
            return (pick(draw, self.at_from.clone(), self.at_to.clone(), extra), 2);
        }
        let extra = self.extra.map(|_| self.rounds);
        (pick(draw, 0..self.rounds, none, extra), 3)
    }
}

/// Picks one of two ranges and a single number by scaling `draw` to their total length.
fn pick(draw: u32, first: Range<u32>, second: Range<u32>, single: Option<u32>) -> u32 {
    let total = (first.len() + second.len() + usize::from(single.is_some())) as u64;
    let index = ((u64::from(draw) * total) >> 32) as u32;
    let (first_len, second_len) = (first.len() as u32, second.len() as u32);
    if index < first_len {
        first.start + index
    } else if index < first_len + second_len {
        second.start + (index - first_len)
    } else {
        single.expect("there is a link between every two groups")
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
        let hosts = self.hosts_per_router.get();
        if u32::from(port.0) < hosts {
            return Peer::Host(HostId(router.0 * hosts + u32::from(port.0)));
        }
        let (group, own) = self.routers_per_group.divide(router.0);
        if port.0 < self.first_global_port {
            let position = u32::from(port.0) - hosts;
            let other = if position < own { position } else { position + 1 };
            let other = RouterId(router.0 - own + other);
            return Peer::Router(other, self.local_port(other, router, 0));
        }
        let k = u32::from(port.0 - self.first_global_port);
        match self.across(group, own * self.global_links.get() + k) {
            Some((to, port)) => {
                let (router, port) = self.global_port(to, port);
                Peer::Router(router, port)
            }
            None => Peer::Unwired,
        }
    }

    #[inline]
    fn attachment(&self, host: HostId) -> (RouterId, Port) {
        let (router, port) = self.hosts_per_router.divide(host.0);
        (RouterId(router), Port(port as u16))
    }

    /// Two global links through a third group can be shorter than a local, a global and a local one, so
    /// this may be less than minimal routing takes, which crosses one global link.
    fn distance(&self, from: RouterId, to: RouterId) -> u32 {
        if from == to {
            return 0;
        }
        if self.group(from) == self.group(to) {
            return 1;
        }
        let direct = self.direct_distance(from, to);
        let meets = |port| match self.peer(from, Port(port)) {
            Peer::Router(third, _) if self.group(third) != self.group(to) => {
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

    fn link_classes(&self) -> &'static [&'static str] {
        &["host", "local", "global"]
    }

    fn link_class(&self, _: RouterId, port: Port) -> LinkClass {
        if u32::from(port.0) < self.hosts_per_router.get() {
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
        let a = self.routers_per_group.get();
        let mut text = format!(
            "dragonfly of {} of {} with {} each",
            counted(self.groups, "group"),
            counted(a, "router"),
            counted(self.hosts_per_router.get(), "host")
        );
        let (least, most) = (self.rounds, self.rounds + u32::from(self.extra > 0));
        match (least, most) {
            (0, _) | (1, 1) => {}
            (_, _) if least == most => text += &format!(", {least} links between any two groups"),
            _ => text += &format!(", {least} or {most} links between any two groups"),
        }
        match a * self.global_links.get() - self.wired_global_ports() {
            0 => {}
            1 => text += ", 1 global port of each group not wired",
            n => text += &format!(", {n} global ports of each group not wired"),
        }
        text
    }

    fn shape(&self) -> Shape<'_> {
        Shape::Groups(self)
    }

    fn router_links(&self) -> u64 {
        let a = self.routers_per_group.get();
        u64::from(self.routers) * u64::from(a - 1)
            + u64::from(self.groups) * u64::from(self.wired_global_ports())
    }
}

impl Groups for Dragonfly {
    fn as_any(&self) -> &dyn Any {
        self
    }

    #[inline]
    fn groups(&self) -> u32 {
        self.groups
    }

    #[inline]
    fn group(&self, router: RouterId) -> u32 {
        self.routers_per_group.quotient(router.0)
    }

    fn routers_per_group(&self) -> u32 {
        self.routers_per_group.get()
    }

    #[inline]
    fn links_between(&self, from: u32, to: u32) -> u32 {
        self.rounds + u32::from(self.extra > 0 && self.extra_port(from, to).is_some())
    }

    #[inline]
    fn gateway(&self, from: u32, to: u32, index: u32) -> (RouterId, Port) {
        let port = if index < self.rounds {
            index * self.others.get() + Self::position(from, to)
        } else {
            self.extra_port(from, to).expect("index < links_between")
        };
        self.global_port(from, port)
    }

    #[inline]
    fn minimal_link(&self, from: RouterId, to: RouterId, draw: u32) -> u32 {
        if self.rounds == 1 && self.extra == 0 {
            return 0;
        }
        self.links(from, to).choose(draw).0
    }

    fn host_routers_per_group(&self) -> u32 {
        self.routers_per_group.get()
    }

    fn local_diameter(&self) -> u32 {
        1
    }

    #[inline]
    fn local_paths(&self) -> u16 {
        1
    }

    #[inline]
    fn local_port(&self, from: RouterId, to: RouterId, _: u16) -> Port {
        let own = self.routers_per_group.remainder(from.0);
        let other = self.routers_per_group.remainder(to.0);
        Port((self.hosts_per_router.get() + Self::position(own, other)) as u16)
    }
}
