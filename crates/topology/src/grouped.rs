//! The common part of topologies of groups: the [`Groups`] of a topology whose groups are linked by
//! [`GlobalLinks`].

use std::any::Any;

use crate::arrangement::{GlobalLinks, GroupMember};
use crate::{Divisor, Groups, Peer, Port, RouterId, Topology};

/// A topology of groups whose global links follow an arrangement.
pub(crate) trait Grouped: Topology + Sized + 'static {
    /// The links between the groups.
    fn global(&self) -> &GlobalLinks;
    /// Number of routers of a group.
    fn group_size(&self) -> Divisor;
    /// Number of the first router of a group that has global ports.
    #[inline]
    fn first_global_router(&self) -> u32 {
        0
    }
    /// The first global port of a router that has any.
    fn first_global_port(&self) -> u16;
    /// Routers of a group that have hosts.
    fn routers_with_hosts(&self) -> u32 {
        self.group_size().get()
    }
    /// The link between the groups of two routers with the fewest local links on its path, and the number of such
    /// links. `draw` picks one of several, evenly.
    fn nearest(&self, from: GroupMember, to: GroupMember, draw: u32) -> (u32, u32);
    /// [`Groups::local_diameter`].
    fn group_diameter(&self) -> u32;
    /// [`Groups::local_paths`].
    fn group_paths(&self) -> u16;
    /// [`Groups::local_port`].
    fn group_port(&self, from: RouterId, to: RouterId, path: u16) -> Port;

    /// The group of a router and its number in it.
    #[inline]
    fn member(&self, router: RouterId) -> GroupMember {
        let (group, router) = self.group_size().divide(router.0);
        GroupMember { group, router }
    }

    /// The router and port of a global port: `at` counts routers with global ports only.
    #[inline]
    fn global_port(&self, at: GroupMember, k: u32) -> (RouterId, Port) {
        (
            RouterId(at.group * self.group_size().get() + self.first_global_router() + at.router),
            Port(self.first_global_port() + k as u16),
        )
    }

    /// The far end of the `k`-th global port of a router: `at` counts routers with global ports only.
    fn global_peer(&self, at: GroupMember, k: u32) -> Peer {
        match self.global().across(at, k) {
            Some((to, k)) => {
                let (router, port) = self.global_port(to, k);
                Peer::Router(router, port)
            }
            None => Peer::Unwired,
        }
    }
}

impl<T: Grouped> Groups for T {
    fn as_any(&self) -> &dyn Any {
        self
    }

    #[inline]
    fn groups(&self) -> u32 {
        self.global().groups()
    }

    #[inline]
    fn group(&self, router: RouterId) -> u32 {
        self.group_size().quotient(router.0)
    }

    fn routers_per_group(&self) -> u32 {
        self.group_size().get()
    }

    fn host_routers_per_group(&self) -> u32 {
        self.routers_with_hosts()
    }

    #[inline]
    fn links_between(&self, from: u32, to: u32) -> u32 {
        self.global().links_between(from, to)
    }

    #[inline]
    fn gateway(&self, from: u32, to: u32, index: u32) -> (RouterId, Port) {
        let (router, k) = self.global().gateway(from, to, index);
        self.global_port(GroupMember { group: from, router }, k)
    }

    #[inline]
    fn links_elsewhere(&self, from: u32, to: u32) -> u32 {
        self.global().links_elsewhere(from, to)
    }

    fn link_elsewhere(&self, from: u32, to: u32, index: u32) -> (u32, u32) {
        self.global().link_elsewhere(from, to, index)
    }

    #[inline]
    fn minimal_link(&self, from: RouterId, to: RouterId, draw: u32) -> u32 {
        if self.global().is_single() {
            return 0;
        }
        self.nearest(self.member(from), self.member(to), draw).0
    }

    fn local_diameter(&self) -> u32 {
        self.group_diameter()
    }

    #[inline]
    fn local_paths(&self) -> u16 {
        self.group_paths()
    }

    #[inline]
    fn local_port(&self, from: RouterId, to: RouterId, path: u16) -> Port {
        self.group_port(from, to, path)
    }
}
