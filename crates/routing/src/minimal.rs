//! Minimal routing in a dragonfly.
//!
//! Source: J. Kim, W. J. Dally, S. Scott, D. Abts, "Technology-driven, highly-scalable dragonfly topology",
//! ISCA 2008 (MIN): to the router with a link to the destination's group, over it, to the
//! destination's router. Of several links between the groups one is taken that needs the fewest local
//! links, and of those one by source and destination, so that the packets of a pair of hosts stay in order.
//!
//! VC 0 is used before the global link, VC 1 on it and behind it, and so for traffic inside a group. Local
//! links on VC 0 wait for global ones only, those for local links on VC 1 only, and these for hosts: there
//! is no cycle.
//!
//! State: `phase` is 1 once the link between the groups is chosen; `via` is its index.

use topology::{Groups, Topology};

use crate::groups::{self, GroupNetwork, GroupTopology};
use crate::registry::is_groups;
use crate::{Algorithm, At, Congestion, Hop, Random, RouteState, Routing, spread};

pub(crate) const ALGORITHM: Algorithm = Algorithm {
    name: "minimal",
    works_on: "dragonfly",
    summary: "at most one global link, the fewest local links (MIN of Kim et al. 2008)",
    parameters: &[],
    routes: is_groups,
    build: |_, topology| match groups::concrete(topology.as_ref()) {
        GroupTopology::Dragonfly(dragonfly) => Ok(Box::new(Minimal::new(dragonfly.clone()))),
    },
};

struct Minimal<T> {
    network: GroupNetwork<T>,
}

const LINK_CHOSEN: u8 = 1;

impl<T: Topology + Groups> Minimal<T> {
    fn new(topology: T) -> Self {
        Minimal {
            network: GroupNetwork::new(topology),
        }
    }

    fn hop(&self, at: At, state: &mut RouteState) -> Hop {
        let (target, port) = self.network.attachment(at.destination);
        if target == at.router {
            return Hop { port, vc: 0 };
        }
        self.network.towards(at.router, target, 0, |groups| {
            if state.phase != LINK_CHOSEN {
                state.phase = LINK_CHOSEN;
                state.via = groups.minimal_link(at.router, target, spread(at.source.0, at.destination.0));
            }
            state.via
        })
    }
}

impl<T: Topology + Groups> Routing for Minimal<T> {
    fn vcs(&self) -> u8 {
        2
    }

    fn route(&self, at: At, state: &mut RouteState, _: &dyn Congestion, _: &mut dyn Random) -> Hop {
        self.hop(at, state)
    }

    fn options(&self, at: At, mut state: RouteState, out: &mut Vec<(Hop, RouteState)>) {
        out.push((self.hop(at, &mut state), state));
    }
}
