//! DAL in a HyperX: in any remaining dimension either straight to the destination's coordinate or, once per
//! dimension, through another coordinate, by load.
//!
//! Source: J. H. Ahn, N. Binkert, A. Davis, M. McLaren, R. S. Schreiber, "HyperX: topology, routing, and packaging of
//! efficient large-scale networks", SC 2009 (dimensionally-adaptive, load-balanced). `doal.rs` defines the costs.
//!
//! Paths of up to two links per dimension, in any order, have no VC by dimension. The two remedies are as many VCs as
//! links (2 D), or adaptive VCs with an escape. This is the second: two VCs for any number of dimensions. With
//! virtual cut-through the proof of J. Duato (IEEE Trans. Parallel and Distributed Systems 7(8), 1996) applies
//! directly. The last VCs are adaptive: links of any remaining dimension, straight or by a detour, if buffer space is
//! free now ([`BufferClaim::Reserved`]). VC 0 is the escape: straight in the first remaining dimension. A packet in
//! an escape channel has no remaining dimension before that of the channel, and the next escape channel belongs to a
//! later dimension, so there is no cycle. The escape is taken if no straight link has space and no detour with space
//! is cheaper. At the next router a packet may leave it.
//!
//! A straight link completes a dimension, and each dimension has at most one detour: at most two links per dimension.
//! State: bit d of `flags` is set while the detour in dimension d is in progress.
//!
//! [`BufferClaim::Reserved`]: crate::BufferClaim::Reserved

use config::parameters;
use std::sync::Arc;

use topology::{Port, RouterId, Shape, Topology};

use crate::choice::{CheapestHop, kept};
use crate::dimension_order::hyperx;
use crate::doal::{BIAS, LinkCost, detour_load, read_bias};
use crate::load_metric::{METRIC, METRIC_SCOPE};
use crate::minimal_adaptive::Vcs;
use crate::path_parts::{PathVisitor, Unvisited};
use crate::{Algorithm, At, Congestion, Hop, LoadMetric, Random, RouteState, Routing};

pub(crate) const ALGORITHM: Algorithm = Algorithm {
    name: "dal",
    works_on: "hyperx",
    summary: "dimensions in any order, in each straight or by one detour, by load, with an escape (Ahn et al. 2009)",
    parameters: parameters! {
        integer("adaptive_vcs", 1, "VCs on which any dimension and detour may be taken");
        BIAS;
        METRIC;
        METRIC_SCOPE;
    },
    routes: |shape| matches!(shape, Shape::HyperX(_)),
    build: |section, topology| {
        Ok(Box::new(Dal {
            topology,
            vcs: Vcs::read(section, 1)?,
            bias: read_bias(section)?,
            metric: LoadMetric::read(section)?,
        }))
    },
};

struct Dal {
    topology: Arc<dyn Topology>,
    vcs: Vcs,
    bias: u64,
    metric: LoadMetric,
}

/// The kind of a link, for a packet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LinkKind {
    /// To the destination's coordinate in the first remaining dimension.
    First,
    /// To the destination's coordinate in another dimension.
    Straight,
    Detour,
}

impl Dal {
    /// All links that a packet may take, with the flags behind them. Empty at the destination's router.
    fn links(&self, at: At, state: RouteState, mut each: impl FnMut(Port, LinkKind, u8)) {
        let (target, _) = self.topology.attachment(at.destination);
        let network = hyperx(&*self.topology);
        let mut straight = LinkKind::First;
        for dimension in 0..network.dimensions() {
            let (here, there) = (
                network.coordinate(at.router, dimension),
                network.coordinate(target, dimension),
            );
            if here == there {
                continue;
            }
            let bit = 1 << dimension;
            let may_detour = state.flags & bit == 0;
            for cable in 0..network.width(dimension) {
                let port = |coordinate| network.link_port(at.router, dimension, coordinate, cable);
                each(port(there), straight, state.flags & !bit);
                let elsewhere = |c: &u32| may_detour && *c != here && *c != there;
                for coordinate in (0..network.size(dimension)).filter(elsewhere) {
                    each(port(coordinate), LinkKind::Detour, state.flags | bit);
                }
            }
            straight = LinkKind::Straight;
        }
    }
}

impl Routing for Dal {
    fn vcs(&self) -> u8 {
        self.vcs.all()
    }

    fn reserves_space(&self) -> bool {
        true
    }

    fn load_metric(&self) -> LoadMetric {
        self.metric
    }

    fn detour_load(&self) -> Option<u64> {
        detour_load(self.bias, &*self.topology)
    }

    fn channel_order(&self, router: RouterId, port: Port, vc: u8) -> Option<u64> {
        self.vcs.order_in_hyperx(&*self.topology, router, port, vc)
    }

    fn visit_paths(&self, visitor: &mut dyn PathVisitor) -> Result<(), Unvisited> {
        self.vcs.visit_in_hyperx(&*self.topology, self, visitor)
    }

    fn route(
        &self,
        at: At,
        state: &mut RouteState,
        congestion: &dyn Congestion,
        random: &mut dyn Random,
    ) -> Hop {
        let (target, port) = self.topology.attachment(at.destination);
        if target == at.router {
            return Hop::new(port, 0);
        }
        let links = self.topology.distance(at.router, target);
        let mut choice = CheapestHop::new(&*self.topology, at.router, random);
        let mut straight_has_space = false;
        self.links(at, *state, |port, link, flags| {
            if let Some(vc) = self.vcs.roomiest(port, congestion) {
                let hop = kept(port, vc);
                let load = self.metric.of(congestion, hop);
                let cost = match link {
                    LinkKind::First | LinkKind::Straight => LinkCost::straight(load, links),
                    LinkKind::Detour => LinkCost::detour(load, links, self.bias),
                };
                straight_has_space |= link != LinkKind::Detour;
                choice.offer(cost, hop, flags);
            }
        });
        if !straight_has_space {
            self.links(at, *state, |port, link, flags| {
                if link == LinkKind::First {
                    let hop = Hop::new(port, 0);
                    let cost = LinkCost::straight(self.metric.of(congestion, hop), links);
                    choice.offer(cost, hop, flags);
                }
            });
        }
        let (hop, flags) = choice.best().expect("a dimension is left, with a link");
        state.flags = flags;
        hop
    }

    fn options(&self, at: At, state: RouteState, out: &mut Vec<(Hop, RouteState)>) {
        let (target, port) = self.topology.attachment(at.destination);
        if target == at.router {
            out.push((Hop::new(port, 0), state));
        }
        self.links(at, state, |port, link, flags| {
            let state = RouteState { flags, ..state };
            if link == LinkKind::First {
                out.push((Hop::new(port, 0), state));
            }
            out.extend(self.vcs.adaptive().map(|vc| (kept(port, vc), state)));
        });
    }
}
