//! UGAL in a dragonfly: the minimal path, or a path through a random place elsewhere if the minimal one is
//! congested.
//!
//! Sources: A. Singh, "Load-balanced routing in interconnection networks", PhD thesis, Stanford 2005; J. Kim
//! et al., ISCA 2008 (UGAL-L: congestion as the source router sees it, at its own ports). The
//! decision is taken once, at the source router, and its rule is that of BookSim 2 for its dragonfly:
//! minimal if
//!
//! ```text
//! load(minimal port) <= weight * load(non-minimal port) + bias
//! ```
//!
//! The intermediate place is in a group that is neither the source's nor the destination's. With
//! `intermediate = "router"` it is a router, all equally likely, as in BookSim; with `"group"` it is a group,
//! and the packet goes on from whichever of its routers it meets first. Traffic inside a group is always
//! minimal.
//!
//! A path is made of legs that are minimal paths, each with VCs of its own: to an intermediate router VC 0
//! and 1, from there 2 and 3, or, since the leg to an intermediate group ends on its global link, VC 0 and 1
//! (global links only), then 1 (local links) and 2. Minimal paths use the VCs of the second leg. VCs only
//! grow along a path, and within one VC local links only wait for global ones or the reverse: no cycle.
//!
//! State: `phase` as named below; `via` is the intermediate router or group while on the way there, then
//! the index of the link to the destination's group.

use config::{Bytes, Error, Section};
use topology::{Groups, Port, RouterId, Topology};

use crate::groups::{self, GroupNetwork, GroupTopology};
use crate::registry::is_groups;
use crate::{Algorithm, At, Congestion, Hop, Random, RouteState, Routing, spread};

pub(crate) const ALGORITHM: Algorithm = Algorithm {
    name: "ugal",
    works_on: "dragonfly",
    summary: "minimal, or through a random group or router if that is less congested (UGAL-L)",
    parameters: &[
        (
            "bias",
            "bytes by which the minimal path may be more loaded (default: 7680 B, thirty packets of 256 B)",
        ),
        (
            "weight",
            "factor on the load of the non-minimal path before the comparison (default: 2)",
        ),
        (
            "intermediate",
            "what a non-minimal path goes through: router or group (default: router)",
        ),
    ],
    routes: is_groups,
    build: |section, topology| match groups::concrete(topology.as_ref()) {
        GroupTopology::Dragonfly(dragonfly) => Ok(Box::new(Ugal::read(section, dragonfly.clone())?)),
        GroupTopology::Dragonfly2d(dragonfly) => Ok(Box::new(Ugal::read(section, dragonfly.clone())?)),
        GroupTopology::DragonflyPlus(dragonfly) => Ok(Box::new(Ugal::read(section, dragonfly.clone())?)),
    },
};

/// Nothing decided yet.
const UNDECIDED: u8 = 0;
/// On the way to the intermediate router or group.
const FIRST_LEG: u8 = 1;
/// On a minimal path to the destination; the link to its group is to be chosen at the next router.
const ARRIVED: u8 = 2;
/// On a minimal path to the destination.
const LAST_LEG: u8 = 3;

struct Ugal<T> {
    network: GroupNetwork<T>,
    bias: u64,
    weight: u64,
    intermediate: Intermediate,
    routers_per_group: u32,
    groups: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Intermediate {
    Router,
    Group,
}

impl<T: Topology + Groups> Ugal<T> {
    fn read(section: &Section, topology: T) -> Result<Self, Error> {
        let bias = section.or("bias", Bytes { bytes: 7680 })?.bytes;
        let weight = section.or("weight", 2u32)?;
        let intermediate = match section.choice("intermediate", "router", &["router", "group"])? {
            "router" => Intermediate::Router,
            _ => Intermediate::Group,
        };
        let network = GroupNetwork::new(topology);
        Ok(Ugal {
            bias,
            weight: u64::from(weight),
            intermediate,
            routers_per_group: network.groups().routers_per_group(),
            groups: network.groups().groups(),
            network,
        })
    }

    /// The first VC of a minimal path, and of the second leg of another.
    fn last_leg_vc(&self) -> u8 {
        match self.intermediate {
            Intermediate::Router => 2,
            Intermediate::Group => 1,
        }
    }

    /// How many intermediate places there are between two different groups.
    fn places(&self) -> u32 {
        let groups = self.groups - 2;
        match self.intermediate {
            Intermediate::Router => groups * self.routers_per_group,
            Intermediate::Group => groups,
        }
    }

    /// The `index`-th intermediate place: groups are counted without those of source and destination.
    fn place(&self, index: u32, source_group: u32, destination_group: u32) -> u32 {
        let size = match self.intermediate {
            Intermediate::Router => self.routers_per_group,
            Intermediate::Group => 1,
        };
        let (low, high) = (
            source_group.min(destination_group),
            source_group.max(destination_group),
        );
        let without_high = if index >= low * size { index + size } else { index };
        if without_high >= high * size {
            without_high + size
        } else {
            without_high
        }
    }

    /// The link to the group of an intermediate router. It is chosen once: at a router on the way to it
    /// others may be as near.
    fn first_link(&self, at: At, via: u32) -> u16 {
        if self.intermediate == Intermediate::Group {
            return 0;
        }
        let draw = spread(via, at.destination.0);
        let link = self.network.groups().minimal_link(at.router, RouterId(via), draw);
        u16::try_from(link).unwrap_or(0)
    }

    /// One hop towards the intermediate place, or none if the packet is there.
    fn first_leg(&self, at: At, via: u32, link: u16) -> Option<Hop> {
        let draw = spread(via, at.destination.0);
        let groups = self.network.groups();
        match self.intermediate {
            Intermediate::Router if at.router.0 == via => None,
            Intermediate::Router => {
                let via = RouterId(via);
                let path = self.network.local_path(draw);
                let way = |_: &T, _| (u32::from(link), path);
                Some(self.network.towards(at.router, via, 0, way))
            }
            Intermediate::Group => {
                let here = groups.group(at.router);
                (here != via).then(|| {
                    let links = u64::from(groups.links_between(here, via));
                    let link = ((u64::from(draw) * links) >> 32) as u32;
                    self.network
                        .through(at.router, via, 0, link, self.network.local_path(draw))
                })
            }
        }
    }

    /// One hop on the minimal path to `target`, another router.
    fn last_leg(&self, at: At, target: RouterId, state: &mut RouteState) -> Hop {
        let vc = self.last_leg_vc();
        self.network
            .towards(at.router, target, vc, |groups, to_other_group| {
                if state.phase != LAST_LEG {
                    let from = if state.phase == UNDECIDED {
                        at.source.0
                    } else {
                        state.via
                    };
                    let draw = spread(from, at.destination.0);
                    *state = RouteState {
                        via: match to_other_group {
                            true => groups.minimal_link(at.router, target, draw),
                            false => 0,
                        },
                        path: self.network.local_path(draw),
                        phase: LAST_LEG,
                        flags: 0,
                    };
                }
                (state.via, state.path)
            })
    }

    /// Continues a path that has been decided on.
    fn go_on(&self, at: At, target: RouterId, state: &mut RouteState) -> Hop {
        if state.phase == FIRST_LEG {
            match self.first_leg(at, state.via, state.path) {
                Some(hop) => return hop,
                None => state.phase = ARRIVED,
            }
        }
        self.last_leg(at, target, state)
    }

    /// The groups of router and target if there is something to decide between them.
    fn choice(&self, router: RouterId, target: RouterId, state: RouteState) -> Option<(u32, u32)> {
        let groups = self.network.groups();
        let ends = (groups.group(router), groups.group(target));
        (state.phase == UNDECIDED && ends.0 != ends.1 && self.groups > 2).then_some(ends)
    }

    /// The minimal path from the source router.
    fn minimal(&self, at: At, target: RouterId) -> (Hop, RouteState) {
        let mut state = RouteState::default();
        let hop = self.last_leg(at, target, &mut state);
        (hop, state)
    }

    /// A path through an intermediate place, from the source router.
    fn through(&self, at: At, via: u32) -> (Hop, RouteState) {
        let path = self.first_link(at, via);
        let hop = self.first_leg(at, via, path);
        let hop = hop.expect("the place is in another group");
        let state = RouteState {
            via,
            path,
            phase: FIRST_LEG,
            ..RouteState::default()
        };
        (hop, state)
    }

    fn prefers_minimal(&self, minimal: Port, other: Port, congestion: &dyn Congestion) -> bool {
        let allowed = congestion
            .load(other)
            .saturating_mul(self.weight)
            .saturating_add(self.bias);
        congestion.load(minimal) <= allowed
    }
}

impl<T: Topology + Groups> Routing for Ugal<T> {
    fn vcs(&self) -> u8 {
        self.last_leg_vc() + 2
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
        let Some((here, there)) = self.choice(at.router, target, *state) else {
            return self.go_on(at, target, state);
        };
        let via = self.place(random.below(self.places()), here, there);
        let minimal = self.minimal(at, target);
        let other = self.through(at, via);
        let best = if self.prefers_minimal(minimal.0.port, other.0.port, congestion) {
            minimal
        } else {
            other
        };
        *state = best.1;
        best.0
    }

    fn options(&self, at: At, mut state: RouteState, out: &mut Vec<(Hop, RouteState)>) {
        let (target, port) = self.network.attachment(at.destination);
        if target == at.router {
            out.push((Hop::new(port, 0), state));
            return;
        }
        let Some((here, there)) = self.choice(at.router, target, state) else {
            out.push((self.go_on(at, target, &mut state), state));
            return;
        };
        out.push(self.minimal(at, target));
        for index in 0..self.places() {
            out.push(self.through(at, self.place(index, here, there)));
        }
    }
}
