//! Minimal routing in networks of groups: local links, at most one global link, local links.
//!
//! Source: J. Kim, W. J. Dally, S. Scott, D. Abts, "Technology-driven, highly-scalable dragonfly topology", ISCA 2008
//! (MIN). A packet goes to a router with a link to the destination's group, over that link, and to the destination's
//! router. Of several links between the groups, one with the fewest local links beside it is taken.
//!
//! Equal paths differ in the link between the groups and in the path inside a group (the spine of a Dragonfly+, the
//! cable of a 2D dragonfly). One of three rules chooses:
//!
//! - [`Hashed`]: source and destination choose at the first router, so the packets of a pair of hosts stay in order.
//! - [`Scattered`] (`random`): a random number of the first router chooses, for each packet.
//! - [`LoadAware`] (`adaptive`): every router takes the least loaded port with which an equal path begins, and breaks
//!   ties at random (A. Shpiner et al., "Dragonfly+: low cost topology for scaling datacenters", HiPINEB 2017).
//!
//! VC 0 is used before the global link, VC 1 from the global link on and for traffic inside a group. Local links on
//! VC 0 wait only for global links, those only for local links on VC 1, and these for hosts, so there is no cycle.
//! Where local paths have several links (2D dragonfly), row links also wait for column links, but never the reverse.
//! Load-aware routing keeps this order. At a router that the packet has reached over a local link, a column link may
//! have come before, so a local link may follow only if no shortest path begins with a global link of this router. A
//! column link ends at a router with such a global link.
//!
//! State of the first two rules: `phase` is 1 after the decision; `via` is the index of the link between the groups,
//! `path` the path inside groups. State of the third: `phase` is 1 from the first hop on.

use topology::{Groups, HostId, Port, RouterId, Topology, pick};

use crate::choice::LeastLoadedHop;
use crate::fixed::Fixed;
use crate::groups::{GroupNetwork, PerTopology, add};
use crate::{At, Chance, Congestion, Hop, Oblivious, Random, RouteState, Routing, spread};

/// The rule that chooses among equal paths. Builds the routing for any topology of groups.
#[derive(Clone, Copy)]
pub(crate) enum PathRule {
    Hashed,
    Scattered,
    LoadAware,
}

impl PerTopology for PathRule {
    type Built = Box<dyn Routing>;

    fn build<T: Topology + Groups + 'static>(self, network: GroupNetwork<T>) -> Self::Built {
        let paths = network.distinct_local_paths();
        match self {
            PathRule::Hashed => Box::new(Hashed { network }),
            PathRule::Scattered => Box::new(Scattered { network, paths }),
            PathRule::LoadAware => Box::new(LoadAware { network, paths }),
        }
    }
}

/// The rule that a topology of groups has by default. Routers without hosts are the spines of a Dragonfly+, whose
/// vendor routes adaptively.
pub(crate) fn default_rule(groups: &dyn Groups) -> &'static str {
    match groups.host_routers_per_group() < groups.routers_per_group() {
        true => "adaptive",
        false => "hashed",
    }
}

const WAY_CHOSEN: u8 = 1;

struct Hashed<T> {
    network: GroupNetwork<T>,
}

impl<T: Topology + Groups> Fixed for Hashed<T> {
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
        even_chances(&self.network, router, destination, state, out);
    }
}

/// The chances where all equal paths are equally likely, and a packet stays on its path.
fn even_chances<T: Topology + Groups>(
    network: &GroupNetwork<T>,
    router: RouterId,
    destination: HostId,
    state: RouteState,
    out: &mut Vec<Chance>,
) {
    let (target, port) = network.attachment(destination);
    if target == router {
        out.push((port, state, 1.0));
        return;
    }
    let chosen = (state.phase == WAY_CHOSEN).then_some((state.via, state.path));
    network.minimal_chances(router, target, chosen, |port, (via, path), chance| {
        let next = RouteState {
            via,
            path,
            phase: WAY_CHOSEN,
            ..state
        };
        add(out, (port, next, chance));
    });
}

struct Scattered<T> {
    network: GroupNetwork<T>,
    /// Number of different paths inside a group.
    paths: u16,
}

impl<T: Topology + Groups> Routing for Scattered<T> {
    fn vcs(&self) -> u8 {
        2
    }

    fn route(&self, at: At, state: &mut RouteState, _: &dyn Congestion, random: &mut dyn Random) -> Hop {
        let (target, port) = self.network.attachment(at.destination);
        if target == at.router {
            return Hop::new(port, 0);
        }
        self.network
            .towards(at.router, target, 0, |groups, to_other_group| {
                if state.phase != WAY_CHOSEN {
                    let draw = random.below(u32::MAX);
                    *state = RouteState {
                        via: match to_other_group {
                            true => groups.minimal_link(at.router, target, draw),
                            false => 0,
                        },
                        // The lower bits are independent of the upper ones, which pick the link.
                        path: pick(draw.rotate_left(16), u32::from(self.paths)).0 as u16,
                        phase: WAY_CHOSEN,
                        flags: 0,
                    };
                }
                (state.via, state.path)
            })
    }

    fn options(&self, at: At, state: RouteState, out: &mut Vec<(Hop, RouteState)>) {
        let (target, port) = self.network.attachment(at.destination);
        if target == at.router {
            out.push((Hop::new(port, 0), state));
            return;
        }
        let mut take = |via: u32, path: u16| {
            let next = RouteState {
                via,
                path,
                phase: WAY_CHOSEN,
                flags: 0,
            };
            let hop = self.network.towards(at.router, target, 0, |_, _| (via, path));
            out.push((hop, next));
        };
        if state.phase == WAY_CHOSEN {
            return take(state.via, state.path);
        }
        self.network.each_minimal_link(at.router, target, |via| {
            (0..self.paths).for_each(|path| take(via, path))
        });
    }

    fn oblivious(&self) -> Option<Oblivious> {
        Some(Oblivious::BETWEEN_ROUTERS)
    }

    fn chances(&self, router: RouterId, destination: HostId, state: RouteState, out: &mut Vec<Chance>) {
        even_chances(&self.network, router, destination, state, out);
    }
}

struct LoadAware<T> {
    network: GroupNetwork<T>,
    /// Number of different paths inside a group.
    paths: u16,
}

impl<T: Topology + Groups> LoadAware<T> {
    /// Calls `each` with candidates for the next hop and a rank of each. Those of the lowest rank begin the paths
    /// that a packet may take.
    #[inline]
    fn candidates(
        &self,
        router: RouterId,
        target: RouterId,
        under_way: bool,
        mut each: impl FnMut(u32, Hop),
    ) {
        let groups = self.network.groups();
        let (here, there) = (groups.group(router), groups.group(target));
        if here == there {
            return self.local_ports(router, target, |port| each(0, Hop::new(port, 1)));
        }
        let links = groups.links_between(here, there);
        let mut least = u32::MAX;
        for link in 0..links {
            let (gateway, port) = groups.gateway(here, there, link);
            let rank = match links {
                1 => 0,
                _ => {
                    let near = groups.distance(router, gateway);
                    // Most links of two large groups end here, before the search for their far end.
                    if 2 * near > least {
                        continue;
                    }
                    let local = near + self.network.links_behind(gateway, port, target);
                    2 * local + u32::from(under_way && gateway != router)
                }
            };
            if rank > least {
                continue;
            }
            least = rank;
            match gateway == router {
                true => each(rank, Hop::new(port, 1)),
                false => self.local_ports(router, gateway, |port| each(rank, Hop::new(port, 0))),
            }
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
}

impl<T: Topology + Groups> Routing for LoadAware<T> {
    fn vcs(&self) -> u8 {
        2
    }

    fn route(
        &self,
        at: At,
        state: &mut RouteState,
        congestion: &dyn Congestion,
        random: &mut dyn Random,
    ) -> Hop {
        let (target, port) = self.network.attachment(at.destination);
        if target == at.router {
            return Hop::new(port, 0);
        }
        let mut best = LeastLoadedHop::new();
        self.candidates(at.router, target, state.phase == WAY_CHOSEN, |rank, hop| {
            best.offer(rank, hop, congestion, random);
        });
        state.phase = WAY_CHOSEN;
        best.hop()
    }

    fn options(&self, at: At, state: RouteState, out: &mut Vec<(Hop, RouteState)>) {
        let (target, port) = self.network.attachment(at.destination);
        if target == at.router {
            out.push((Hop::new(port, 0), state));
            return;
        }
        let next = RouteState {
            phase: WAY_CHOSEN,
            ..state
        };
        let (mut least, before) = (u32::MAX, out.len());
        self.candidates(at.router, target, state.phase == WAY_CHOSEN, |rank, hop| {
            if rank < least {
                out.truncate(before);
                least = rank;
            }
            if !out[before..].contains(&(hop, next)) {
                out.push((hop, next));
            }
        });
    }
}
