//! Minimal routing in networks of groups: local links, at most one global link, local links.
//!
//! Source: J. Kim, W. J. Dally, S. Scott, D. Abts, "Technology-driven, highly-scalable dragonfly topology", ISCA 2008
//! (MIN). A packet goes to a router with a link to the destination's group, over that link, and to the destination's
//! router. Of several links between the groups, one with the fewest local links beside it is taken.
//!
//! Equal paths differ in the link between the groups and in the path inside a group. With `paths = "hashed"` source
//! and destination choose at the first router, so the packets of a pair of hosts stay in order. Otherwise every router
//! chooses, by load or at random ([`EqualPaths`]).
//!
//! VC 0 is used before the global link, VC 1 from the global link on and for traffic inside a group. Local links on
//! VC 0 wait only for global links, those only for local links on VC 1, and these for hosts, so there is no cycle.
//! Where local paths have several links (2D dragonfly), row links also wait for column links, but never the reverse.
//!
//! State: `phase` is 1 from the first hop on. If hashed, `via` is the index of the link between the groups, `path`
//! the path inside groups.

use topology::{Groups, HostId, Port, RouterId, Topology};

use crate::channel_order;
use crate::equal_paths::{EqualPaths, Goal, Rule, Segment};
use crate::fixed::Fixed;
use crate::group_parts::{GroupParts, ToOtherGroup};
use crate::groups::{GroupNetwork, PerTopology, add};
use crate::path_parts::{PathVisitor, Unvisited};
use crate::{At, Chance, Congestion, Hop, LoadMetric, Oblivious, Random, RouteState, Routing, spread};

/// Builds the routing for any topology of groups; `None` is `hashed`.
pub(crate) struct MinimalInGroups(pub(crate) Option<Rule>);

impl PerTopology for MinimalInGroups {
    type Built = Box<dyn Routing>;

    fn build<T: Topology + Groups + 'static>(self, network: GroupNetwork<T>) -> Self::Built {
        match self.0 {
            None => Box::new(HashedInGroups { network }),
            Some(rule) => Box::new(ByRouter {
                paths: EqualPaths::new(network, rule),
            }),
        }
    }
}

const WAY_CHOSEN: u8 = 1;

/// Junction: in the destination's group.
const IN_LAST_GROUP: u8 = 0;

struct HashedInGroups<T> {
    network: GroupNetwork<T>,
}

impl<T: Topology + Groups> Fixed for HashedInGroups<T> {
    const OBLIVIOUS: Oblivious = Oblivious::BETWEEN_ROUTERS;

    fn vcs(&self) -> u8 {
        2
    }

    fn channel_order(&self, router: RouterId, port: Port, vc: u8) -> Option<u64> {
        channel_order::in_groups(self.network.groups(), None, (router, port, vc))
    }

    fn visit_paths(&self, visitor: &mut dyn PathVisitor) -> Result<(), Unvisited> {
        visit(&self.network, visitor)
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

/// Tells the parts of minimal paths.
fn visit<T: Topology + Groups>(
    network: &GroupNetwork<T>,
    visitor: &mut dyn PathVisitor,
) -> Result<(), Unvisited> {
    let mut parts = GroupParts { network, visitor };
    parts.between_groups(&ToOtherGroup {
        begins: &[],
        first_vc: 0,
        tentative: None,
        ends: &[IN_LAST_GROUP],
    })?;
    parts.inside_groups(&[IN_LAST_GROUP], 1, true, &[])
}

/// Every router chooses.
struct ByRouter<T> {
    paths: EqualPaths<T>,
}

impl<T: Topology + Groups> ByRouter<T> {
    fn segment(target: RouterId, state: RouteState) -> Segment {
        Segment {
            goal: Goal::Router(target),
            first_vc: 0,
            under_way: state.phase == WAY_CHOSEN,
        }
    }

    /// Calls `each` with all hops and the state behind them.
    fn each(&self, at: At, mut state: RouteState, mut each: impl FnMut(Hop, RouteState, usize)) {
        let (target, port) = self.paths.network().attachment(at.destination);
        if target == at.router {
            return each(Hop::new(port, 0), state, 1);
        }
        let mut hops = Vec::new();
        self.paths
            .hops(at.router, Self::segment(target, state), &mut hops);
        state.phase = WAY_CHOSEN;
        hops.iter().for_each(|hop| each(*hop, state, hops.len()));
    }
}

impl<T: Topology + Groups> Routing for ByRouter<T> {
    fn vcs(&self) -> u8 {
        2
    }

    fn load_metric(&self) -> LoadMetric {
        self.paths.rule().metric()
    }

    fn channel_order(&self, router: RouterId, port: Port, vc: u8) -> Option<u64> {
        channel_order::in_groups(self.paths.network().groups(), None, (router, port, vc))
    }

    fn visit_paths(&self, visitor: &mut dyn PathVisitor) -> Result<(), Unvisited> {
        visit(self.paths.network(), visitor)
    }

    fn route(
        &self,
        at: At,
        state: &mut RouteState,
        congestion: &dyn Congestion,
        random: &mut dyn Random,
    ) -> Hop {
        let (target, port) = self.paths.network().attachment(at.destination);
        if target == at.router {
            return Hop::new(port, 0);
        }
        let segment = Self::segment(target, *state);
        state.phase = WAY_CHOSEN;
        self.paths.choose(at.router, segment, congestion, random)
    }

    fn options(&self, at: At, state: RouteState, out: &mut Vec<(Hop, RouteState)>) {
        self.each(at, state, |hop, next, _| {
            if !out.contains(&(hop, next)) {
                out.push((hop, next));
            }
        });
    }

    fn oblivious(&self) -> Option<Oblivious> {
        (self.paths.rule() == Rule::AtRandom).then_some(Oblivious::BETWEEN_ROUTERS)
    }

    fn chances(&self, router: RouterId, destination: HostId, state: RouteState, out: &mut Vec<Chance>) {
        self.each(At::anyone(router, destination), state, |hop, next, all| {
            add(out, (hop.port, next, 1.0 / all as f64));
        });
    }
}
