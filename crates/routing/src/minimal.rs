//! Minimal routing, in a dragonfly and in any network that finds its shortest paths.
//!
//! In a dragonfly: J. Kim, W. J. Dally, S. Scott, D. Abts, "Technology-driven, highly-scalable dragonfly topology",
//! ISCA 2008 (MIN). A packet goes to a router with a link to the destination's group, over that link, and to the
//! destination's router. Of several links between the groups, one with the fewest local links is taken. Source and
//! destination pick one of several such links, so that the packets of a pair of hosts stay in order.
//!
//! VC 0 is used before the global link, VC 1 from the global link on and for traffic inside a group. Local links on
//! VC 0 wait only for global links, those only for local links on VC 1, and these for hosts, so there is no cycle.
//!
//! State: `phase` is 1 after the decision; `via` is the index of the link between the groups, `path` the path inside
//! groups.
//!
//! Elsewhere ([`Graph`]): one of all shortest paths, `hashed` by source and destination, or `adaptive`. Adaptive
//! routing takes at every router the least loaded port on a shortest path, and breaks ties at random. The VC is the
//! number of links that the packet has crossed (K. D. Guenther, "Prevention of deadlocks in packet-switched data
//! transport systems", IEEE Trans. Communications 29(4), 1981). A channel waits only for channels of the next VC, so
//! there is no cycle, and a network of diameter d needs d VCs.
//!
//! State: `phase` counts the links; `via`, if hashed, is the remainder of the draw by source and destination.

use std::sync::Arc;

use config::{Error, Section, parameters};
use topology::{Graph, Groups, HostId, Onward, Port, RouterId, Topology};

use crate::fixed::Fixed;
use crate::groups::{GroupNetwork, PerTopology, add, compiled};
use crate::registry::is_groups;
use crate::{
    Algorithm, At, Chance, Congestion, Hop, Oblivious, Random, RouteState, Routing, segments, spread,
};

pub(crate) const ALGORITHM: Algorithm = Algorithm {
    name: "minimal",
    works_on: segments::WORKS_ON,
    summary: "a shortest path; in a dragonfly with at most one global link (MIN of Kim et al. 2008)",
    parameters: parameters! {
        choice("paths", &["hashed", "adaptive"],
            "which of several shortest paths: hashed, by source and destination, or, where there are no \
             groups, adaptive, by load");
    },
    routes: |shape| is_groups(shape) || shape.graph().is_some(),
    build: |section, topology| {
        if is_groups(&topology.shape()) {
            section.choice_of("paths", &["hashed"])?;
            return Ok(compiled(&*topology, AnyMinimal));
        }
        let adaptive = section.choice("paths")? == "adaptive";
        let (graph, vcs) = counted_links(section, topology)?;
        Ok(match adaptive {
            true => Box::new(LeastLoaded { graph, vcs }),
            false => Box::new(ShortestPaths { graph, vcs }),
        })
    },
};

struct AnyMinimal;

impl PerTopology for AnyMinimal {
    type Built = Box<dyn Routing>;

    fn build<T: Topology + Groups + 'static>(self, network: GroupNetwork<T>) -> Self::Built {
        Box::new(Minimal { network })
    }
}

struct Minimal<T> {
    network: GroupNetwork<T>,
}

const WAY_CHOSEN: u8 = 1;

impl<T: Topology + Groups> Fixed for Minimal<T> {
    const OBLIVIOUS: Oblivious = Oblivious::BETWEEN_ROUTERS;

    fn vcs(&self) -> u8 {
        2
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

    fn chances(&self, router: RouterId, destination: HostId, state: RouteState, out: &mut Vec<Chance>) {
        let (target, port) = self.network.attachment(destination);
        if target == router {
            out.push((port, state, 1.0));
            return;
        }
        let chosen = (state.phase == WAY_CHOSEN).then_some((state.via, state.path));
        self.network
            .minimal_chances(router, target, chosen, |port, (via, path), chance| {
                let next = RouteState {
                    via,
                    path,
                    phase: WAY_CHOSEN,
                    ..state
                };
                add(out, (port, next, chance));
            });
    }
}

struct ShortestPaths {
    graph: Arc<dyn Graph>,
    vcs: u8,
}

/// A topology with as many VCs as links on its longest shortest path.
fn counted_links(section: &Section, topology: Arc<dyn Topology>) -> Result<(Arc<dyn Graph>, u8), Error> {
    let graph = topology.into_graph().expect("the registry checks the shape");
    let diameter = graph.diameter();
    // Hosts of a single router exchange packets without any link.
    match u8::try_from(diameter.max(1)) {
        Ok(vcs) => Ok((graph, vcs)),
        Err(_) => {
            let text = format!(
                "paths of {diameter} links need as many VCs; expected at most {}",
                u8::MAX
            );
            Err(section.error("algorithm", text))
        }
    }
}

impl Fixed for ShortestPaths {
    const OBLIVIOUS: Oblivious = Oblivious::SYMMETRIC;

    fn vcs(&self) -> u8 {
        self.vcs
    }

    fn hop(&self, at: At, state: &mut RouteState) -> Hop {
        let begun = state.phase > 0;
        let draw = match begun {
            true => state.via,
            false => spread(at.source.0, at.destination.0),
        };
        match self.graph.onward(at.router, at.destination, draw, begun) {
            Onward::Host(port) => Hop::new(port, 0),
            Onward::Router(port, left) => {
                let vc = state.phase;
                state.phase += 1;
                state.via = left;
                Hop::new(port, vc)
            }
        }
    }

    fn chances(&self, router: RouterId, destination: HostId, state: RouteState, out: &mut Vec<Chance>) {
        match self.graph.attachment(destination) {
            (target, port) if target == router => out.push((port, state, 1.0)),
            // Each router consumes part of the draw, as if it had a draw of its own.
            (target, _) => self
                .graph
                .shortest_shares(router, target, &mut |port, share| out.push((port, state, share))),
        }
    }
}

struct LeastLoaded {
    graph: Arc<dyn Graph>,
    vcs: u8,
}

impl LeastLoaded {
    /// The least loaded port on a shortest path. Ties are broken evenly.
    fn port(&self, at: At, target: RouterId, congestion: &dyn Congestion, random: &mut dyn Random) -> Port {
        let (mut best, mut equal) = (None, 0);
        self.graph.shortest_ports(at.router, target, &mut |port| {
            let load = congestion.load(port);
            let is_best = match best {
                Some((least, _)) if load > least => false,
                // The n-th of equal ports replaces the previous choice with probability 1/n.
                Some((least, _)) if load == least => {
                    equal += 1;
                    random.below(equal) == 0
                }
                _ => {
                    equal = 1;
                    true
                }
            };
            if is_best {
                best = Some((load, port));
            }
        });
        best.expect("a shortest path begins at some port").1
    }

    fn go_on(&self, port: Port, state: &mut RouteState) -> Hop {
        let vc = state.phase;
        state.phase += 1;
        Hop::new(port, vc)
    }
}

impl Routing for LeastLoaded {
    fn vcs(&self) -> u8 {
        self.vcs
    }

    fn route(
        &self,
        at: At,
        state: &mut RouteState,
        congestion: &dyn Congestion,
        random: &mut dyn Random,
    ) -> Hop {
        let (target, port) = self.graph.attachment(at.destination);
        if target == at.router {
            return Hop::new(port, 0);
        }
        let port = self.port(at, target, congestion, random);
        self.go_on(port, state)
    }

    fn options(&self, at: At, state: RouteState, out: &mut Vec<(Hop, RouteState)>) {
        let (target, port) = self.graph.attachment(at.destination);
        if target == at.router {
            out.push((Hop::new(port, 0), state));
            return;
        }
        self.graph.shortest_ports(at.router, target, &mut |port| {
            let mut next = state;
            out.push((self.go_on(port, &mut next), next));
        });
    }
}
