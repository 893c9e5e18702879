//! Minimal routing, in a dragonfly and in any network that finds its shortest paths.
//!
//! In a dragonfly: J. Kim, W. J. Dally, S. Scott, D. Abts, "Technology-driven, highly-scalable dragonfly
//! topology", ISCA 2008 (MIN): to the router with a link to the destination's group, over it, to the
//! destination's router. Of several links between the groups one is taken that needs the fewest local
//! links, and of those one by source and destination, so that the packets of a pair of hosts stay in order.
//!
//! VC 0 is used before the global link, VC 1 on it and behind it, and so for traffic inside a group. Local
//! links on VC 0 wait for global ones only, those for local links on VC 1 only, and these for hosts: there
//! is no cycle.
//!
//! State: `phase` is 1 once the way is chosen; `via` is the index of the link between the groups, `path` the
//! path inside groups.
//!
//! Elsewhere ([`Graph`]): one of all shortest paths, again by source and destination. The VC is the number
//! of links that the packet has crossed (K. D. Guenther, "Prevention of deadlocks in packet-switched data
//! transport systems", IEEE Trans. Communications 29(4), 1981): a channel waits only for channels of the next
//! VC, so there is no cycle, and a network of diameter d needs d VCs.
//!
//! State: `phase` counts the links; `via` is what is left of the draw by source and destination.

use std::sync::Arc;

use config::{Error, Section};
use topology::{Graph, Groups, HostId, Port, RouterId, Shape, Topology};

use crate::groups::{self, GroupNetwork, GroupTopology};
use crate::registry::is_groups;
use crate::{Algorithm, At, Congestion, Hop, Oblivious, Random, RouteState, Routing, spread};

pub(crate) const ALGORITHM: Algorithm = Algorithm {
    name: "minimal",
    works_on: "dragonfly, hyperx, slim-fly",
    summary: "a shortest path; in a dragonfly with at most one global link (MIN of Kim et al. 2008)",
    parameters: &[],
    routes: |shape| is_groups(shape) || shape.graph().is_some(),
    build: |section, topology| {
        if !is_groups(&topology.shape()) {
            return Ok(Box::new(ShortestPaths::new(section, topology)?));
        }
        match groups::concrete(topology.as_ref()) {
            GroupTopology::Dragonfly(dragonfly) => Ok(Box::new(Minimal::new(dragonfly.clone()))),
        }
    },
};

struct Minimal<T> {
    network: GroupNetwork<T>,
}

const WAY_CHOSEN: u8 = 1;

impl<T: Topology + Groups> Minimal<T> {
    fn new(topology: T) -> Self {
        Minimal {
            network: GroupNetwork::new(topology),
        }
    }

    fn hop(&self, at: At, state: &mut RouteState) -> Hop {
        let (target, port) = self.network.attachment(at.destination);
        if target == at.router {
            return Hop::new(port, 0);
        }
        self.network
            .towards(at.router, target, 0, |groups, to_other_group| {
                if state.phase != WAY_CHOSEN {
                    let draw = spread(at.source.0, at.destination.0);
                    state.phase = WAY_CHOSEN;
                    state.path = self.network.local_path(draw);
                    if to_other_group {
                        state.via = groups.minimal_link(at.router, target, draw);
                    }
                }
                (state.via, state.path)
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

    fn oblivious(&self) -> Option<Oblivious> {
        Some(Oblivious {
            by_host: false,
            symmetric: false,
        })
    }

    fn chances(
        &self,
        router: RouterId,
        destination: HostId,
        state: RouteState,
        out: &mut Vec<(Port, RouteState, f64)>,
    ) {
        let (target, port) = self.network.attachment(destination);
        if target == router {
            out.push((port, state, 1.0));
            return;
        }
        let groups = self.network.groups();
        let to_other_group = groups.group(router) != groups.group(target);
        // Draws in equal steps, as many as there are choices, meet each as often as all draws do.
        let draws = match state.phase {
            WAY_CHOSEN => 1,
            _ => self.network.minimal_ways(router, target),
        };
        for draw in (0..draws).map(|i| (((2 * u64::from(i) + 1) << 31) / u64::from(draws)) as u32) {
            let mut next = state;
            if state.phase != WAY_CHOSEN {
                next.phase = WAY_CHOSEN;
                next.path = self.network.local_path(draw);
            }
            next.via = match (to_other_group, state.phase) {
                (false, _) => 0,
                (true, WAY_CHOSEN) => state.via,
                (true, _) => groups.minimal_link(router, target, draw),
            };
            let hop = self
                .network
                .towards(router, target, 0, |_, _| (next.via, next.path));
            out.push((hop.port, next, 1.0 / f64::from(draws)));
        }
    }
}

struct ShortestPaths {
    topology: Arc<dyn Topology>,
    vcs: u8,
}

fn graph<'a>(shape: &Shape<'a>) -> &'a dyn Graph {
    shape.graph().expect("the registry checks the shape")
}

impl ShortestPaths {
    fn new(section: &Section, topology: Arc<dyn Topology>) -> Result<Self, Error> {
        let diameter = graph(&topology.shape()).diameter();
        let too_long = |_| {
            let text = format!(
                "paths of {diameter} links need as many VCs; expected at most {}",
                u8::MAX
            );
            section.error("algorithm", text)
        };
        // Hosts of a single router exchange packets without any link.
        let vcs = u8::try_from(diameter.max(1)).map_err(too_long)?;
        Ok(ShortestPaths { topology, vcs })
    }

    fn hop(&self, at: At, state: &mut RouteState) -> Hop {
        let (target, port) = self.topology.attachment(at.destination);
        if target == at.router {
            return Hop::new(port, 0);
        }
        let draw = match state.phase {
            0 => spread(at.source.0, at.destination.0),
            _ => state.via,
        };
        let (port, left) = graph(&self.topology.shape()).shortest_path(at.router, target, draw);
        let vc = state.phase;
        state.phase += 1;
        state.via = left;
        Hop::new(port, vc)
    }
}

impl Routing for ShortestPaths {
    fn vcs(&self) -> u8 {
        self.vcs
    }

    fn route(&self, at: At, state: &mut RouteState, _: &dyn Congestion, _: &mut dyn Random) -> Hop {
        self.hop(at, state)
    }

    fn options(&self, at: At, mut state: RouteState, out: &mut Vec<(Hop, RouteState)>) {
        out.push((self.hop(at, &mut state), state));
    }

    fn oblivious(&self) -> Option<Oblivious> {
        Some(Oblivious {
            by_host: false,
            symmetric: true,
        })
    }

    fn chances(
        &self,
        router: RouterId,
        destination: HostId,
        state: RouteState,
        out: &mut Vec<(Port, RouteState, f64)>,
    ) {
        match self.topology.attachment(destination) {
            (target, port) if target == router => out.push((port, state, 1.0)),
            // A draw is used up bit by bit: every router picks as if by a draw of its own.
            (target, _) => {
                graph(&self.topology.shape())
                    .shortest_shares(router, target, &mut |port, share| out.push((port, state, share)))
            }
        }
    }
}
