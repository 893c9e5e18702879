//! Minimal paths in a dragonfly: at most one local link, one global link, at most one local link. What
//! `minimal` and the two legs of `ugal` share.

use std::sync::Arc;

use topology::{Groups, HostId, Port, RouterId, Shape, Topology};

use crate::Hop;

/// A topology of groups, with the queries that routing makes.
pub(crate) struct GroupNetwork {
    topology: Arc<dyn Topology>,
}

impl GroupNetwork {
    /// The registry has made sure that the topology consists of groups.
    pub(crate) fn new(topology: Arc<dyn Topology>) -> GroupNetwork {
        GroupNetwork { topology }
    }

    pub(crate) fn groups(&self) -> &dyn Groups {
        match self.topology.shape() {
            Shape::Groups(groups) => groups,
            _ => unreachable!("the registry checks the shape"),
        }
    }

    pub(crate) fn attachment(&self, host: HostId) -> (RouterId, Port) {
        self.topology.attachment(host)
    }

    /// One hop from `router` towards another router, `target`, on VC `first_vc` before the global link, on
    /// the next VC on it and behind it. `link` gives the index of the global link to take, and is asked
    /// only if one is ahead.
    pub(crate) fn towards(
        &self,
        router: RouterId,
        target: RouterId,
        first_vc: u8,
        link: impl FnOnce(&dyn Groups) -> u32,
    ) -> Hop {
        let groups = self.groups();
        let (here, there) = (groups.group(router), groups.group(target));
        if here == there {
            return Hop {
                port: groups.local_port(router, target),
                vc: first_vc + 1,
            };
        }
        self.through(router, there, first_vc, link(groups))
    }

    /// One hop from `router` towards another group through the `link`-th link to it.
    pub(crate) fn through(&self, router: RouterId, group: u32, first_vc: u8, link: u32) -> Hop {
        let groups = self.groups();
        let (gateway, port) = groups.gateway(groups.group(router), group, link);
        if gateway == router {
            return Hop {
                port,
                vc: first_vc + 1,
            };
        }
        Hop {
            port: groups.local_port(router, gateway),
            vc: first_vc,
        }
    }
}
