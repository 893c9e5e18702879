//! Dimension-order routing in a torus, mesh, HyperX or express mesh: dimension 0 first, each in the shorter
//! direction.
//!
//! Source: W. J. Dally and C. L. Seitz, "Deadlock-free message routing in multiprocessor interconnection networks",
//! IEEE Trans. Computers C-36(5), 1987 (e-cube routing and dateline VCs); with bubbles: C. Carrion, R. Beivide, J. A.
//! Gregorio, F. Vallejo, "A flow control mechanism to avoid message deadlock in k-ary n-cube networks", HiPC 1997.
//!
//! A torus has two options against deadlock in its rings. With `deadlock = "dateline"` a packet uses VC 0 in a
//! dimension up to and including the wrap-around link, and VC 1 behind it or if its path does not wrap around. So VC 0
//! of a ring is never closed, and VC 1 never contains the wrap-around link. With `"dateline-at-entry"` (BookSim 2) a
//! packet keeps one VC in a ring: VC 1 if its coordinate exceeds that of the destination when it enters the ring, else
//! VC 0. So each VC has the packets that wrap around in one direction, and those that do not in the other. Packets that
//! wrap around cross at most half of the ring, so no channel of the link opposite the wrap-around link depends on
//! another, and the VC is not closed. With `"bubble"` there is one VC, and a packet enters a ring, from its host or
//! from another dimension, only if it leaves a bubble ([`BufferClaim::Bubble`]). A mesh needs one VC and no bubbles. If
//! both directions are equally long, source and destination decide, so that half of these pairs use each direction, or
//! a random number for each packet.
//!
//! State (torus): `phase` is 1 after the first router; bit d of `via` is the direction in dimension d if both are
//! equally long (0: up). With `"dateline-at-entry"` the VC of the last link says the rest. Source and destination pick
//! one of parallel cables, the same fraction of them in every dimension. State with parallel cables: `phase` as above,
//! and `path`, which is scaled to the number of cables.
//!
//! In a HyperX every dimension is one link, and links of a dimension wait only for those of later ones: one VC.
//! Source and destination pick one of parallel links. State with parallel links: `phase` is 1 after the first router,
//! `via` is the remainder of the draw.
//!
//! In an express mesh every dimension is a long link that does not overshoot, and then steps of one. Upward links
//! wait for links further up, so one VC is enough. Paths that turn back can be shorter; `minimal` takes them.

use std::sync::Arc;

use config::parameters;
use topology::{Cartesian, HostId, HyperX, Port, RouterId, Shape, Topology, pick};

use crate::channel_order;
use crate::fixed::Fixed;
use crate::groups::draw_of;
use crate::path_parts::{PathVisitor, Unvisited};
use crate::ring_protection::Rings;
use crate::router_parts::{SegmentParts, hosts_of_routers};
use crate::{
    Algorithm, At, BufferClaim, Chance, Congestion, Hop, Oblivious, Random, RouteState, Routing, spread,
};

pub(crate) const ALGORITHM: Algorithm = Algorithm {
    name: "dimension-order",
    works_on: "torus, mesh, hyperx, express-mesh",
    summary: "dimension after dimension, in the shorter direction (Dally and Seitz 1987)",
    parameters: parameters! {
        choice("deadlock", &["dateline", "dateline-at-entry", "bubble"],
            "what keeps the rings of a torus moving: dateline (2 VCs), dateline-at-entry (2 VCs, one of which a packet \
             keeps in a ring, as in BookSim) or bubble (1 VC)");
        choice("paths", &["hashed", "random"],
            "which direction of a ring of a torus if both are equally long: hashed, by source and destination, or \
             random, for each packet");
    },
    routes: |shape| match shape {
        Shape::Cartesian(_) | Shape::HyperX(_) => true,
        Shape::Graph(graph) => graph.straight().is_some(),
        _ => false,
    },
    build: |section, topology| {
        let rings = Rings::read(section, "deadlock", &*topology)?;
        let at_random = section.choice("paths")? == "random";
        if at_random && rings == Rings::None {
            let what = topology.describe();
            let text = format!("this {what} has no rings, and only they have a choice; expected hashed");
            return Err(section.error("paths", text));
        }
        Ok(match topology.shape() {
            Shape::HyperX(_) => Box::new(LinkPerDimension::new(topology)),
            Shape::Graph(_) => Box::new(StraightWays { topology }),
            _ if at_random => Box::new(RandomDirections(DimensionOrder {
                ways: Ways::new(topology, rings),
            })),
            _ => Box::new(DimensionOrder {
                ways: Ways::new(topology, rings),
            }),
        })
    },
};

struct DimensionOrder {
    ways: Ways,
}

/// The hops of dimension order in a torus or mesh, on the first VCs.
pub(crate) struct Ways {
    topology: Arc<dyn Topology>,
    sizes: Vec<u32>,
    rings: Rings,
    /// Whether there are parallel cables.
    parallel: bool,
}

/// The bits of a draw that select directions, one for each dimension. The others select the cable.
const DIRECTIONS: u32 = (1 << CABLE_SHIFT) - 1;
const CABLE_SHIFT: u32 = 16;

pub(crate) fn cartesian(topology: &dyn Topology) -> &dyn Cartesian {
    match topology.shape() {
        Shape::Cartesian(cartesian) => cartesian,
        _ => unreachable!("the registry checks the shape"),
    }
}

impl Ways {
    pub(crate) fn new(topology: Arc<dyn Topology>, rings: Rings) -> Ways {
        let grid = cartesian(&*topology);
        let sizes = grid.sizes().to_vec();
        let parallel = (0..sizes.len()).any(|dimension| grid.links(dimension) > 1);
        Ways {
            topology,
            sizes,
            rings,
            parallel,
        }
    }

    pub(crate) fn topology(&self) -> &dyn Topology {
        &*self.topology
    }

    pub(crate) fn rings(&self) -> Rings {
        self.rings
    }

    /// Tells the parts of the paths to every router, which begin at these junctions, too.
    pub(crate) fn visit_paths(&self, begins: &[u8], visitor: &mut dyn PathVisitor) -> Result<(), Unvisited> {
        // In other rings hops depend on the link on which a packet came.
        if !matches!(self.rings, Rings::None | Rings::Dateline) {
            return Err(Unvisited::Unknown);
        }
        let draws = self.all_draws();
        let part = SegmentParts {
            begins,
            on_the_way: None,
            end: None,
        };
        part.visit(self.topology(), visitor, |from, to, hops| {
            let at = At::anyone(from, HostId(0));
            for draw in &draws {
                let hop = self.hop_to(at, to, || *draw);
                if !hops.contains(&hop) {
                    hops.push(hop);
                }
            }
        })
    }

    /// Draws of which at least one selects each direction and each cable of a dimension.
    pub(crate) fn all_draws(&self) -> Vec<u32> {
        let grid = cartesian(&*self.topology);
        let mut draws = Vec::new();
        for cables in (0..self.sizes.len()).map(|dimension| grid.links(dimension)) {
            let cable_draws = (0..cables).map(|cable| (cable << CABLE_SHIFT).div_ceil(cables) << CABLE_SHIFT);
            draws.extend(cable_draws.flat_map(|draw| [draw, draw | DIRECTIONS]));
        }
        draws.sort_unstable();
        draws.dedup();
        draws
    }

    /// The number of a channel in the order in which a path takes them.
    pub(crate) fn order(&self, router: RouterId, port: Port, vc: u8) -> Option<u64> {
        channel_order::in_grid(
            &*self.topology,
            cartesian(&*self.topology),
            self.rings,
            (router, port, vc),
        )
    }

    /// Number above all of [`Ways::order`].
    pub(crate) fn order_end(&self) -> u64 {
        let most = self.sizes.iter().copied().max().unwrap_or(1);
        self.sizes.len() as u64 * u64::from(self.rings.vcs()) * u64::from(most)
    }

    /// The hop in the first remaining dimension, or to the host.
    pub(crate) fn hop(&self, at: At, state: &mut RouteState) -> Hop {
        self.hop_by(at, state, |hashed| hashed)
    }

    /// The same. `choose` makes the draw at the first router from that of source and destination.
    #[inline]
    fn hop_by(&self, at: At, state: &mut RouteState, choose: impl FnOnce(u32) -> u32) -> Hop {
        let (target, port) = self.topology.attachment(at.destination);
        let grid = cartesian(&*self.topology);
        let Some(difference) = grid.first_difference(at.router, target) else {
            return Hop::new(port, 0);
        };
        if state.phase == 0 && (self.rings != Rings::None || self.parallel) {
            let draw = choose(spread(at.source.0, at.destination.0));
            let needed = self.needed_of(draw, at.router, target);
            *state = RouteState {
                via: needed & DIRECTIONS,
                path: (needed >> CABLE_SHIFT) as u16,
                phase: 1,
                ..*state
            };
        }
        let draw = || u32::from(state.path) << CABLE_SHIFT | state.via;
        self.in_dimension(at, grid, difference, draw)
    }

    /// The hop towards another router. `draw`, any number, selects one of equal ways: bit d the direction in
    /// dimension d, the upper half the cable.
    pub(crate) fn hop_to(&self, at: At, target: RouterId, draw: impl Fn() -> u32) -> Hop {
        let grid = cartesian(&*self.topology);
        let difference = grid.first_difference(at.router, target);
        self.in_dimension(at, grid, difference.expect("another router"), draw)
    }

    /// The hop in a dimension from one coordinate to another.
    #[inline]
    fn in_dimension(
        &self,
        at: At,
        grid: &dyn Cartesian,
        (dimension, here, there): (usize, u32, u32),
        draw: impl Fn() -> u32,
    ) -> Hop {
        let cable = if self.parallel {
            ((draw() >> CABLE_SHIFT) * grid.links(dimension)) >> CABLE_SHIFT
        } else {
            0
        };
        if self.rings == Rings::None {
            let port = grid.step_port(at.router, dimension, there > here, cable);
            return Hop::new(port, 0);
        }
        let up = match self.shorter(dimension, here, there) {
            Shorter::Up => true,
            Shorter::Down => false,
            Shorter::Both => draw() >> dimension & 1 == 0,
        };
        let port = grid.step_port(at.router, dimension, up, cable);
        if self.rings == Rings::Bubble {
            let goes_round = at.vc == 0 && at.input == grid.step_port(at.router, dimension, !up, cable);
            let claim = if goes_round {
                BufferClaim::Credit
            } else {
                BufferClaim::Bubble
            };
            return Hop { port, vc: 0, claim };
        }
        let vc = match self.rings {
            Rings::DatelineAtEntry if at.input == grid.step_port(at.router, dimension, !up, cable) => at.vc,
            Rings::DatelineAtEntry => u8::from(here > there),
            _ => {
                let wraps_ahead = up != (there > here);
                u8::from(!wraps_ahead)
            }
        };
        Hop::new(port, vc)
    }

    /// The part of a draw on which the ways from one router to another depend, and no more: the direction in each
    /// dimension in which both are equally long, and the cable.
    pub(crate) fn needed_of(&self, draw: u32, here: RouterId, target: RouterId) -> u32 {
        draw & self.needed(here, target)
    }

    /// The bits of a draw on which the ways from one router to another depend.
    fn needed(&self, here: RouterId, target: RouterId) -> u32 {
        let grid = cartesian(&*self.topology);
        let mut needed = if self.parallel { !DIRECTIONS } else { 0 };
        if self.rings != Rings::None {
            for (dimension, size) in self.sizes.iter().enumerate().filter(|(_, size)| *size % 2 == 0) {
                let (a, b) = (
                    grid.coordinate(here, dimension),
                    grid.coordinate(target, dimension),
                );
                needed |= u32::from(a.abs_diff(b) == size / 2) << dimension;
            }
        }
        needed
    }

    /// Calls `each` with every port that a hop to another router can take, and its share.
    ///
    /// Both directions can be equally long only at the first step in a dimension, so no later share depends on the
    /// direction. None depends on the cable.
    pub(crate) fn shares(&self, router: RouterId, target: RouterId, mut each: impl FnMut(Port, f64)) {
        let grid = cartesian(&*self.topology);
        let difference = grid.first_difference(router, target);
        let (dimension, here, there) = difference.expect("another router");
        let shorter = match self.rings {
            Rings::None if there > here => Shorter::Up,
            Rings::None => Shorter::Down,
            Rings::Dateline | Rings::DatelineAtEntry | Rings::Bubble => self.shorter(dimension, here, there),
        };
        let ups: &[bool] = match shorter {
            Shorter::Up => &[true],
            Shorter::Down => &[false],
            Shorter::Both => &[true, false],
        };
        let cables = grid.links(dimension);
        let share = 1.0 / (ups.len() as f64 * f64::from(cables));
        for up in ups {
            for cable in 0..cables {
                each(grid.step_port(router, dimension, *up, cable), share);
            }
        }
    }

    /// The shorter direction round a ring between two different coordinates.
    pub(crate) fn shorter(&self, dimension: usize, here: u32, there: u32) -> Shorter {
        let size = self.sizes[dimension];
        let ahead = if there > here {
            there - here
        } else {
            there + (size - here)
        };
        match (2 * u64::from(ahead)).cmp(&u64::from(size)) {
            std::cmp::Ordering::Less => Shorter::Up,
            std::cmp::Ordering::Equal => Shorter::Both,
            std::cmp::Ordering::Greater => Shorter::Down,
        }
    }
}

/// The shorter direction round a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shorter {
    Up,
    Down,
    /// Both directions are equally long.
    Both,
}

impl Fixed for DimensionOrder {
    const OBLIVIOUS: Oblivious = Oblivious::SYMMETRIC;

    fn vcs(&self) -> u8 {
        self.ways.rings.vcs()
    }

    fn packets_per_vc(&self) -> u32 {
        self.ways.rings.packets_per_vc()
    }

    fn channel_order(&self, router: RouterId, port: Port, vc: u8) -> Option<u64> {
        self.ways.order(router, port, vc)
    }

    fn visit_paths(&self, visitor: &mut dyn PathVisitor) -> Result<(), Unvisited> {
        self.ways.visit_paths(&[], visitor)
    }

    fn hop(&self, at: At, state: &mut RouteState) -> Hop {
        self.ways.hop(at, state)
    }

    fn chances(&self, router: RouterId, destination: HostId, state: RouteState, out: &mut Vec<Chance>) {
        let (target, port) = self.ways.topology.attachment(destination);
        if target == router {
            out.push((port, state, 1.0));
            return;
        }
        self.ways
            .shares(router, target, |port, share| out.push((port, state, share)));
    }
}

/// Dimension order where each packet draws its direction of equally long ones; source and destination still pick
/// parallel cables.
struct RandomDirections(DimensionOrder);

impl RandomDirections {
    /// The directions that the path of a packet depends on, where it enters the network.
    fn open(&self, at: At, state: RouteState) -> u32 {
        let ways = &self.0.ways;
        let (target, _) = ways.topology.attachment(at.destination);
        match state.phase == 0 && target != at.router {
            true => ways.needed(at.router, target) & DIRECTIONS,
            false => 0,
        }
    }

    /// The hop with these directions, if they are open.
    fn hop(&self, at: At, state: &mut RouteState, directions: u32) -> Hop {
        self.0
            .ways
            .hop_by(at, state, |hashed| hashed & !DIRECTIONS | directions)
    }
}

impl Routing for RandomDirections {
    fn vcs(&self) -> u8 {
        Routing::vcs(&self.0)
    }

    fn packets_per_vc(&self) -> u32 {
        Routing::packets_per_vc(&self.0)
    }

    fn channel_order(&self, router: RouterId, port: Port, vc: u8) -> Option<u64> {
        Routing::channel_order(&self.0, router, port, vc)
    }

    fn route(&self, at: At, state: &mut RouteState, _: &dyn Congestion, random: &mut dyn Random) -> Hop {
        let directions = match self.open(at, *state) {
            0 => 0,
            _ => random.below(DIRECTIONS + 1),
        };
        self.hop(at, state, directions)
    }

    fn predicted_port(&self, at: At, mut state: RouteState) -> Option<Port> {
        (self.open(at, state) == 0).then(|| self.hop(at, &mut state, 0).port)
    }

    fn options(&self, at: At, state: RouteState, out: &mut Vec<(Hop, RouteState)>) {
        let open = self.open(at, state);
        let mut directions = open;
        loop {
            let mut next = state;
            out.push((self.hop(at, &mut next, directions), next));
            if directions == 0 {
                return;
            }
            // The next smaller subset.
            directions = (directions - 1) & open;
        }
    }

    fn oblivious(&self) -> Option<Oblivious> {
        Routing::oblivious(&self.0)
    }

    fn chances(&self, router: RouterId, destination: HostId, state: RouteState, out: &mut Vec<Chance>) {
        Routing::chances(&self.0, router, destination, state, out);
    }
}

struct LinkPerDimension {
    topology: Arc<dyn Topology>,
    /// Whether there are parallel links.
    parallel: bool,
}

pub(crate) fn hyperx(topology: &dyn Topology) -> &dyn HyperX {
    match topology.shape() {
        Shape::HyperX(hyperx) => hyperx,
        _ => unreachable!("the registry checks the shape"),
    }
}

impl LinkPerDimension {
    fn new(topology: Arc<dyn Topology>) -> LinkPerDimension {
        let network = hyperx(&*topology);
        let parallel = (0..network.dimensions()).any(|dimension| network.width(dimension) > 1);
        LinkPerDimension { topology, parallel }
    }
}

impl Fixed for LinkPerDimension {
    const OBLIVIOUS: Oblivious = Oblivious::SYMMETRIC;

    fn channel_order(&self, router: RouterId, port: Port, _: u8) -> Option<u64> {
        channel_order::dimension_in_hyperx(hyperx(&*self.topology), router, port)
    }

    fn visit_paths(&self, visitor: &mut dyn PathVisitor) -> Result<(), Unvisited> {
        let network = hyperx(&*self.topology);
        let hosts = hosts_of_routers(&*self.topology);
        let part = SegmentParts {
            begins: &[],
            on_the_way: None,
            end: None,
        };
        part.visit(&*self.topology, visitor, |from, to, hops| {
            let (Some(host), Some((dimension, ..))) =
                (hosts[to.0 as usize], network.first_difference(from, to))
            else {
                return;
            };
            let width = network.width(dimension);
            for cable in 0..width {
                let mut state = RouteState {
                    via: draw_of(cable, width),
                    phase: 1,
                    ..RouteState::default()
                };
                hops.push(self.hop(At::anyone(from, host), &mut state));
            }
        })
    }

    fn hop(&self, at: At, state: &mut RouteState) -> Hop {
        let (target, port) = self.topology.attachment(at.destination);
        let network = hyperx(&*self.topology);
        let Some((dimension, coordinate)) = network.first_difference(at.router, target) else {
            return Hop::new(port, 0);
        };
        let mut cable = 0;
        if self.parallel {
            let draw = match state.phase {
                0 => spread(at.source.0, at.destination.0),
                _ => state.via,
            };
            state.phase = 1;
            (cable, state.via) = pick(draw, network.width(dimension));
        }
        let port = network.link_port(at.router, dimension, coordinate, cable);
        Hop::new(port, 0)
    }

    fn chances(&self, router: RouterId, destination: HostId, state: RouteState, out: &mut Vec<Chance>) {
        let (target, port) = self.topology.attachment(destination);
        let network = hyperx(&*self.topology);
        let Some((dimension, coordinate)) = network.first_difference(router, target) else {
            out.push((port, state, 1.0));
            return;
        };
        let width = network.width(dimension);
        for cable in 0..width {
            let port = network.link_port(router, dimension, coordinate, cable);
            out.push((port, state, 1.0 / f64::from(width)));
        }
    }
}

struct StraightWays {
    topology: Arc<dyn Topology>,
}

impl Fixed for StraightWays {
    const OBLIVIOUS: Oblivious = Oblivious::BETWEEN_ROUTERS;

    fn channel_order(&self, _: RouterId, _: Port, _: u8) -> Option<u64> {
        None
    }

    fn hop(&self, at: At, _: &mut RouteState) -> Hop {
        let (target, port) = self.topology.attachment(at.destination);
        if target == at.router {
            return Hop::new(port, 0);
        }
        let shape = self.topology.shape();
        let straight = shape.graph().and_then(|graph| graph.straight());
        let straight = straight.expect("the registry checks the shape");
        Hop::new(straight.straight_port(at.router, target), 0)
    }

    fn chances(&self, router: RouterId, destination: HostId, mut state: RouteState, out: &mut Vec<Chance>) {
        let hop = self.hop(At::anyone(router, destination), &mut state);
        out.push((hop.port, state, 1.0));
    }
}
