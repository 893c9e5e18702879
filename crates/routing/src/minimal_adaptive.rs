//! Minimal adaptive routing in a torus, mesh or HyperX: any remaining dimension, by free space and load, with an
//! escape in dimension order.
//!
//! Source: J. Duato, "A necessary and sufficient condition for deadlock-free routing in cut-through and
//! store-and-forward networks", IEEE Trans. Parallel and Distributed Systems 7(8), 1996. With bubbles in the escape,
//! this is the routing of the torus of Blue Gene/L (N. R. Adiga et al., "Blue Gene/L torus interconnection network",
//! IBM J. Research and Development 49(2/3), 2005), there with two adaptive VCs.
//!
//! The last VCs are adaptive: a packet takes one of them only if space is free now ([`BufferClaim::Reserved`]). Of
//! the ports on shortest paths with such a VC the least loaded wins, and on it the VC with the most space. Otherwise
//! the packet waits for the first VCs, which follow dimension order: with dateline or bubbles in a torus, one VC in a
//! mesh or HyperX. At the next router it may leave the escape. A packet decides once per router.
//!
//! A packet in an escape channel has no remaining dimension before that of the channel. So the escape has the
//! dependencies of dimension order, and packets in adaptive channels only add edges into it. In a torus a packet
//! counts as inside an escape ring only if it arrives on that ring's VC.
//!
//! In a HyperX the escape takes the least loaded of parallel links and needs no state. Elsewhere the state is that of
//! dimension order.
//!
//! [`BufferClaim::Reserved`]: crate::BufferClaim::Reserved

use std::sync::Arc;

use config::{Error, Section, parameters};
use topology::{Port, RouterId, Shape, Topology};

use crate::channel_order;
use crate::choice::{CheapestHop, kept};
use crate::dimension_order::{Shorter, Ways, cartesian, hyperx};
use crate::load_metric::{METRIC, METRIC_SCOPE};
use crate::path_parts::{PathVisitor, Unvisited};
use crate::ring_protection::Rings;
use crate::router_parts::{SegmentParts, hosts_of_routers, visit_reserved};
use crate::{Algorithm, At, BufferClaim, Congestion, Hop, LoadMetric, Random, RouteState, Routing};

pub(crate) const ALGORITHM: Algorithm = Algorithm {
    name: "minimal-adaptive",
    works_on: "torus, mesh, hyperx",
    summary: "any shortest path by load, with an escape in dimension order (Duato 1996; Blue Gene/L)",
    parameters: parameters! {
        integer("adaptive_vcs", 1, "VCs on which any shortest path may be taken");
        choice("escape", &["dateline", "bubble"],
            "what keeps the escape rings of a torus moving: dateline (2 VCs) or bubble (1 VC)");
        METRIC;
        METRIC_SCOPE;
    },
    routes: |shape| matches!(shape, Shape::Cartesian(_) | Shape::HyperX(_)),
    build: |section, topology| {
        let rings = Rings::read(section, "escape", &*topology)?;
        let vcs = Vcs::read(section, rings.vcs())?;
        let metric = LoadMetric::read(section)?;
        Ok(match topology.shape() {
            Shape::HyperX(_) => Box::new(AcrossHyperX {
                topology,
                vcs,
                metric,
            }),
            _ => Box::new(AcrossGrid {
                escape: Ways::new(topology, rings),
                vcs,
                metric,
            }),
        })
    },
};

/// Junction: behind a hop with reserved space.
const RESERVED: u8 = 0;

/// The VCs of an algorithm with an escape: first the escape VCs, then the adaptive ones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vcs {
    escape: u8,
    adaptive: u8,
}

impl Vcs {
    pub(crate) fn read(section: &Section, escape: u8) -> Result<Vcs, Error> {
        let adaptive: u8 = section.get("adaptive_vcs")?;
        let most = u8::MAX - escape;
        if !(1..=most).contains(&adaptive) {
            let text = format!("{adaptive} is out of range; expected 1 to {most}");
            return Err(section.error("adaptive_vcs", text));
        }
        Ok(Vcs { escape, adaptive })
    }

    pub(crate) fn all(self) -> u8 {
        self.escape + self.adaptive
    }

    pub(crate) fn adaptive(self) -> std::ops::Range<u8> {
        self.escape..self.all()
    }

    /// The number of a channel where the escape is in dimension order: nothing waits for an adaptive one.
    pub(crate) fn order_in_hyperx(
        self,
        topology: &dyn Topology,
        router: RouterId,
        port: Port,
        vc: u8,
    ) -> Option<u64> {
        match self.adaptive().contains(&vc) {
            true => Some(0),
            false => Some(1 + channel_order::dimension_in_hyperx(hyperx(topology), router, port)?),
        }
    }

    /// Tells the parts of paths in a HyperX: hops with reserved space, and those of the escape, which `routing` offers
    /// for packets with this state.
    pub(crate) fn visit_in_hyperx(
        self,
        topology: &dyn Topology,
        routing: &dyn Routing,
        visitor: &mut dyn PathVisitor,
    ) -> Result<(), Unvisited> {
        visit_reserved(topology, self.adaptive(), RESERVED, visitor)?;
        let part = SegmentParts {
            begins: &[RESERVED],
            on_the_way: None,
            end: None,
        };
        let hosts = hosts_of_routers(topology);
        part.visit(topology, visitor, |from, to, hops| {
            let Some(host) = hosts[to.0 as usize] else {
                return;
            };
            let mut options = Vec::new();
            routing.options(At::anyone(from, host), RouteState::default(), &mut options);
            hops.extend(
                options
                    .iter()
                    .map(|(hop, _)| *hop)
                    .filter(|hop| hop.claim != BufferClaim::Reserved),
            );
        })
    }

    /// The adaptive VC with the most free space for the packet at a port, if any.
    pub(crate) fn roomiest(self, port: Port, congestion: &dyn Congestion) -> Option<u8> {
        let mut best = (0, None);
        for vc in self.adaptive() {
            let free_space = congestion.free_space(port, vc);
            if free_space > best.0 {
                best = (free_space, Some(vc));
            }
        }
        best.1
    }
}

struct AcrossGrid {
    escape: Ways,
    vcs: Vcs,
    metric: LoadMetric,
}

impl AcrossGrid {
    /// The ports on shortest paths.
    fn ports(&self, at: At, mut each: impl FnMut(Port)) {
        let topology = self.escape.topology();
        let (target, _) = topology.attachment(at.destination);
        let grid = cartesian(topology);
        for dimension in 0..grid.sizes().len() {
            let here = grid.coordinate(at.router, dimension);
            let there = grid.coordinate(target, dimension);
            if here == there {
                continue;
            }
            let shorter = match self.escape.rings() {
                Rings::None if there > here => Shorter::Up,
                Rings::None => Shorter::Down,
                Rings::Dateline | Rings::DatelineAtEntry | Rings::Bubble => {
                    self.escape.shorter(dimension, here, there)
                }
            };
            for cable in 0..grid.links(dimension) {
                if shorter != Shorter::Down {
                    each(grid.step_port(at.router, dimension, true, cable));
                }
                if shorter != Shorter::Up {
                    each(grid.step_port(at.router, dimension, false, cable));
                }
            }
        }
    }

    fn has_arrived(&self, at: At) -> bool {
        self.escape.topology().attachment(at.destination).0 == at.router
    }
}

impl Routing for AcrossGrid {
    fn vcs(&self) -> u8 {
        self.vcs.all()
    }

    fn reserves_space(&self) -> bool {
        true
    }

    fn load_metric(&self) -> LoadMetric {
        self.metric
    }

    fn packets_per_vc(&self) -> u32 {
        self.escape.rings().packets_per_vc()
    }

    fn channel_order(&self, router: RouterId, port: Port, vc: u8) -> Option<u64> {
        match self.vcs.adaptive().contains(&vc) {
            true => Some(0),
            false => Some(1 + self.escape.order(router, port, vc)?),
        }
    }

    fn visit_paths(&self, visitor: &mut dyn PathVisitor) -> Result<(), Unvisited> {
        visit_reserved(self.escape.topology(), self.vcs.adaptive(), RESERVED, visitor)?;
        self.escape.visit_paths(&[RESERVED], visitor)
    }

    fn route(
        &self,
        at: At,
        state: &mut RouteState,
        congestion: &dyn Congestion,
        random: &mut dyn Random,
    ) -> Hop {
        let escape = self.escape.hop(at, state);
        if self.has_arrived(at) {
            return escape;
        }
        let mut choice = CheapestHop::new(self.escape.topology(), at.router, random);
        self.ports(at, |port| {
            if let Some(vc) = self.vcs.roomiest(port, congestion) {
                let hop = kept(port, vc);
                choice.offer(self.metric.of(congestion, hop), hop, ());
            }
        });
        choice.best().map_or(escape, |(hop, ())| hop)
    }

    fn options(&self, at: At, mut state: RouteState, out: &mut Vec<(Hop, RouteState)>) {
        out.push((self.escape.hop(at, &mut state), state));
        if self.has_arrived(at) {
            return;
        }
        self.ports(at, |port| {
            out.extend(self.vcs.adaptive().map(|vc| (kept(port, vc), state)));
        });
    }
}

struct AcrossHyperX {
    topology: Arc<dyn Topology>,
    vcs: Vcs,
    metric: LoadMetric,
}

impl AcrossHyperX {
    /// The ports on shortest paths, and whether they belong to the first remaining dimension. Empty at the
    /// destination's router.
    fn ports(&self, at: At, mut each: impl FnMut(Port, bool)) {
        let (target, _) = self.topology.attachment(at.destination);
        let network = hyperx(&*self.topology);
        let mut is_first = true;
        for dimension in 0..network.dimensions() {
            let there = network.coordinate(target, dimension);
            if network.coordinate(at.router, dimension) == there {
                continue;
            }
            for cable in 0..network.width(dimension) {
                each(network.link_port(at.router, dimension, there, cable), is_first);
            }
            is_first = false;
        }
    }
}

impl Routing for AcrossHyperX {
    fn vcs(&self) -> u8 {
        self.vcs.all()
    }

    fn reserves_space(&self) -> bool {
        true
    }

    fn load_metric(&self) -> LoadMetric {
        self.metric
    }

    fn channel_order(&self, router: RouterId, port: Port, vc: u8) -> Option<u64> {
        self.vcs.order_in_hyperx(&*self.topology, router, port, vc)
    }

    fn visit_paths(&self, visitor: &mut dyn PathVisitor) -> Result<(), Unvisited> {
        self.vcs.visit_in_hyperx(&*self.topology, self, visitor)
    }

    fn route(&self, at: At, _: &mut RouteState, congestion: &dyn Congestion, random: &mut dyn Random) -> Hop {
        let (target, port) = self.topology.attachment(at.destination);
        if target == at.router {
            return Hop::new(port, 0);
        }
        let mut choice = CheapestHop::new(&*self.topology, at.router, random);
        self.ports(at, |port, is_first| {
            // Any free space is preferred to the escape.
            let (is_escape, hop) = match self.vcs.roomiest(port, congestion) {
                Some(vc) => (false, kept(port, vc)),
                None if is_first => (true, Hop::new(port, 0)),
                None => return,
            };
            choice.offer((is_escape, self.metric.of(congestion, hop)), hop, ());
        });
        let (hop, ()) = choice.best().expect("a dimension is left, with a link");
        hop
    }

    fn options(&self, at: At, state: RouteState, out: &mut Vec<(Hop, RouteState)>) {
        let (target, port) = self.topology.attachment(at.destination);
        if target == at.router {
            out.push((Hop::new(port, 0), state));
        }
        self.ports(at, |port, is_first| {
            if is_first {
                out.push((Hop::new(port, 0), state));
            }
            out.extend(self.vcs.adaptive().map(|vc| (kept(port, vc), state)));
        });
    }
}
