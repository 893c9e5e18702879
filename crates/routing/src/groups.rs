//! Minimal paths in networks of groups: local links, at most one global link, local links. `minimal` and the path
//! segments of `valiant`, `ugal` and `par` share them.

use std::cmp::Ordering;

use topology::{Groups, HostId, Peer, Port, RouterId, Shape, Topology, pick};

use crate::{Chance, Hop};

/// A topology of groups with the queries of routing. It is compiled for each such topology, since a decision takes
/// several queries.
pub(crate) struct GroupNetwork<T> {
    topology: T,
}

/// A builder that is compiled for each topology of groups.
pub(crate) trait PerTopology {
    type Built;

    fn build<T: Topology + Groups + 'static>(self, network: GroupNetwork<T>) -> Self::Built;
}

/// Builds it for this topology of groups. The registry has checked the shape.
pub(crate) fn compiled<P: PerTopology>(topology: &dyn Topology, what: P) -> P::Built {
    let Shape::Groups(groups) = topology.shape() else {
        unreachable!("the registry checks the shape")
    };
    macro_rules! build_for {
        ($($kind:ty),*) => {
            $(if let Some(concrete) = groups.as_any().downcast_ref::<$kind>() {
                return what.build(GroupNetwork::new(concrete.clone()));
            })*
        };
    }
    topology::for_topologies_of_groups!(build_for);
    unreachable!("every topology of groups is in the list")
}

impl<T: Topology + Groups> GroupNetwork<T> {
    fn new(topology: T) -> Self {
        GroupNetwork { topology }
    }

    #[inline]
    pub(crate) fn groups(&self) -> &T {
        &self.topology
    }

    #[inline]
    pub(crate) fn attachment(&self, host: HostId) -> (RouterId, Port) {
        self.topology.attachment(host)
    }

    /// Picks one of the paths inside a group by any number. It is independent of the upper bits, which pick a global
    /// link. Otherwise all packets of one global link would take the same path to it.
    #[inline]
    pub(crate) fn local_path(&self, draw: u32) -> u16 {
        pick(draw.rotate_left(16), u32::from(self.groups().local_paths())).0 as u16
    }

    /// One hop from `router` towards another router, `target`. The VC is `first_vc` before the global link and the
    /// next VC from the global link on. `choose` gives the index of the global link and the path inside a group; its
    /// argument tells whether a global link is ahead.
    #[inline]
    pub(crate) fn towards(
        &self,
        router: RouterId,
        target: RouterId,
        first_vc: u8,
        choose: impl FnOnce(&T, bool) -> (u32, u16),
    ) -> Hop {
        let groups = self.groups();
        let (here, there) = (groups.group(router), groups.group(target));
        let (link, path) = choose(groups, here != there);
        if here == there {
            return self.inside(router, target, first_vc + 1, path);
        }
        self.through(router, there, first_vc, link, path)
    }

    /// One hop from `router` towards another group through the `link`-th link to it, over `path` inside
    /// the group.
    #[inline]
    pub(crate) fn through(&self, router: RouterId, group: u32, first_vc: u8, link: u32, path: u16) -> Hop {
        let groups = self.groups();
        let (gateway, port) = groups.gateway(groups.group(router), group, link);
        if gateway == router {
            return Hop::new(port, first_vc + 1);
        }
        self.inside(router, gateway, first_vc, path)
    }

    /// One hop from `router` towards another router of its group.
    #[inline]
    pub(crate) fn inside(&self, router: RouterId, target: RouterId, vc: u8, path: u16) -> Hop {
        Hop::new(self.groups().local_port(router, target, path), vc)
    }

    /// Number of links between two groups from which [`Groups::minimal_link`] picks evenly for two routers.
    fn minimal_links(&self, from: RouterId, to: RouterId) -> u32 {
        let groups = self.groups();
        let (here, there) = (groups.group(from), groups.group(to));
        let (mut least, mut links) = (u32::MAX, 0);
        for index in 0..groups.links_between(here, there) {
            let (near, port) = groups.gateway(here, there, index);
            let local = groups.distance(from, near) + self.links_behind(near, port, to);
            match local.cmp(&least) {
                Ordering::Less => (least, links) = (local, 1),
                Ordering::Equal => links += 1,
                Ordering::Greater => {}
            }
        }
        links
    }

    /// The far end of a global link.
    #[inline]
    pub(crate) fn across(&self, gateway: RouterId, port: Port) -> RouterId {
        match self.groups().peer(gateway, port) {
            Peer::Router(router, _) => router,
            _ => unreachable!("a gateway's port leads to the other group"),
        }
    }

    /// Number of links from the far end of a global link to `to`, a router of the group there.
    #[inline]
    pub(crate) fn links_behind(&self, gateway: RouterId, port: Port, to: RouterId) -> u32 {
        self.groups().distance(self.across(gateway, port), to)
    }

    /// The chances of one hop on the minimal path to another router, with a link by [`Groups::minimal_link`] and a
    /// path by [`GroupNetwork::local_path`], or with the `chosen` ones. `each` receives the global link (0 if none is
    /// ahead) and the path inside groups.
    pub(crate) fn minimal_chances(
        &self,
        router: RouterId,
        target: RouterId,
        chosen: Option<(u32, u16)>,
        mut each: impl FnMut(Port, (u32, u16), f64),
    ) {
        let groups = self.groups();
        let to_other_group = groups.group(router) != groups.group(target);
        let mut take = |link: u32, path: u16, chance: f64| {
            let hop = self.towards(router, target, 0, |_, _| (link, path));
            each(hop.port, (link, path), chance);
        };
        if let Some((link, path)) = chosen {
            return take(if to_other_group { link } else { 0 }, path, 1.0);
        }
        let (links, paths) = match to_other_group {
            true => (self.minimal_links(router, target), self.local_paths()),
            false => (1, self.local_paths()),
        };
        let chance = 1.0 / (f64::from(links) * f64::from(paths));
        for index in 0..links {
            let link = match to_other_group {
                true => groups.minimal_link(router, target, draw_of(index, links)),
                false => 0,
            };
            (0..paths).for_each(|path| take(link, path, chance));
        }
    }

    /// The chances of one hop to another group, over a link drawn from all links, or over the `chosen` one. `each`
    /// receives the link.
    pub(crate) fn chances_to_group(
        &self,
        router: RouterId,
        group: u32,
        chosen: Option<u32>,
        mut each: impl FnMut(Port, u32, f64),
    ) {
        let groups = self.groups();
        let paths = self.local_paths();
        let links = match chosen {
            Some(link) => link..link + 1,
            None => 0..groups.links_between(groups.group(router), group),
        };
        let chance = 1.0 / (links.len() as f64 * f64::from(paths));
        for link in links {
            for path in 0..paths {
                let hop = self.through(router, group, 0, link, path);
                each(hop.port, link, chance);
            }
        }
    }

    pub(crate) fn local_paths(&self) -> u16 {
        self.groups().local_paths().max(1)
    }

    /// The smallest number of paths inside a group that stand for all of them, each as often as any other. The
    /// paths of a group's first router tell it: groups are alike, and so are their routers with hosts.
    pub(crate) fn distinct_local_paths(&self) -> u16 {
        let (groups, all) = (self.groups(), self.local_paths());
        let port = |to: u32, path: u16| groups.local_port(RouterId(0), RouterId(to), path);
        let repeats = |count: u16| {
            let same = |to: u32| (count..all).all(|path| port(to, path) == port(to, path % count));
            all.is_multiple_of(count) && (1..groups.routers_per_group()).all(same)
        };
        (1..all).find(|count| repeats(*count)).unwrap_or(all)
    }
}

/// The `index`-th of `count` draws in equal steps, which hit each of `count` choices once.
pub(crate) fn draw_of(index: u32, count: u32) -> u32 {
    (((2 * u64::from(index) + 1) << 31) / u64::from(count)) as u32
}

/// Adds a chance to `out`. Merges hops that several draws lead to.
pub(crate) fn add(out: &mut Vec<Chance>, (port, state, chance): Chance) {
    match out.last_mut() {
        Some(last) if (last.0, last.1) == (port, state) => last.2 += chance,
        _ => out.push((port, state, chance)),
    }
}
