//! Path segments in a HyperX: dimension by dimension, one VC for each segment.
//!
//! Source: J. H. Ahn et al., "HyperX: topology, routing, and packaging of efficient large-scale networks", SC 2009
//! (Valiant and UGAL with segments in dimension order: two VCs). Within a VC links of a dimension wait only for those
//! of later ones. The last segment, and so a minimal path, uses the last VC. A minimal path that can be left uses a
//! VC of its own below the others.
//!
//! The parallel link of a first segment is drawn at every router from this router, the intermediate one and the
//! destination. That of a last segment is drawn from its first router and the destination. A packet that meets its
//! destination's router on the first segment stays there.
//!
//! State: on the first segment `via` is the intermediate router; on a minimal path the remainder of the draw, if
//! there are parallel links.

use std::sync::Arc;

use topology::{HyperX, Port, RouterId, Shape, Topology, pick};

use crate::channel_order;
use crate::groups::draw_of;
use crate::path_parts::{PathVisitor, Unvisited};
use crate::{At, Chance, Hop, RouteState, spread};

use super::intermediate_routers::IntermediateRouters;
use super::routers::{RouterSegments, visit_segments};
use super::{LAST_SEGMENT, PathStart, TENTATIVE, UNDECIDED};

pub(super) struct DimensionSegments {
    topology: Arc<dyn Topology>,
    nodes: IntermediateRouters,
    /// Whether there are parallel links.
    parallel: bool,
    retractable: bool,
    /// VC of the first segment; the last segment has the next one.
    first_vc: u8,
}

impl DimensionSegments {
    pub(super) fn new(topology: Arc<dyn Topology>, ends_too: bool, retractable: bool) -> DimensionSegments {
        let network = hyperx(&*topology);
        let parallel = (0..network.dimensions()).any(|dimension| network.width(dimension) > 1);
        DimensionSegments {
            nodes: IntermediateRouters::new(&*topology, ends_too),
            parallel,
            retractable,
            first_vc: u8::from(retractable),
            topology,
        }
    }

    /// One hop towards another router, and the remainder of the draw.
    #[inline]
    fn step(&self, here: RouterId, to: RouterId, draw: impl FnOnce() -> u32, vc: u8) -> (Hop, u32) {
        let network = hyperx(&*self.topology);
        let (dimension, coordinate) = network.first_difference(here, to).expect("another router");
        let (cable, left) = match self.parallel {
            true => pick(draw(), network.width(dimension)),
            false => (0, 0),
        };
        let port = network.link_port(here, dimension, coordinate, cable);
        (Hop::new(port, vc), left)
    }
}

fn hyperx(topology: &dyn Topology) -> &dyn HyperX {
    match topology.shape() {
        Shape::HyperX(hyperx) => hyperx,
        _ => unreachable!("built for this shape"),
    }
}

impl RouterSegments for DimensionSegments {
    fn topology(&self) -> &dyn Topology {
        &*self.topology
    }

    fn all_places(&self) -> &IntermediateRouters {
        &self.nodes
    }

    fn vcs(&self) -> u8 {
        match self.nodes.any() {
            true => self.first_vc + 2,
            false => 1,
        }
    }

    fn channel_order(&self, router: RouterId, port: Port, vc: u8) -> Option<u64> {
        let network = hyperx(&*self.topology);
        let dimension = channel_order::dimension_in_hyperx(network, router, port)?;
        Some(u64::from(vc) * network.dimensions() as u64 + dimension)
    }

    fn visit_paths(&self, visitor: &mut dyn PathVisitor) -> Result<(), Unvisited> {
        let network = hyperx(&*self.topology);
        let draws: Vec<Vec<u32>> = (0..network.dimensions())
            .map(|dimension| network.width(dimension))
            .map(|width| (0..width).map(|cable| draw_of(cable, width)).collect())
            .collect();
        let vcs = (
            self.retractable.then_some(0),
            self.nodes.any().then_some(self.first_vc),
            self.vcs() - 1,
        );
        visit_segments(&*self.topology, vcs, visitor, |from, to, vc, hops| {
            let (dimension, ..) = network.first_difference(from, to).expect("another router");
            hops.extend(
                draws[dimension]
                    .iter()
                    .map(|draw| self.step(from, to, || *draw, vc).0),
            );
        })
    }

    #[inline]
    fn first_segment(&self, at: At, state: &mut RouteState) -> Hop {
        let draw = || spread(spread(at.router.0, state.via), at.destination.0);
        self.step(at.router, RouterId(state.via), draw, self.first_vc).0
    }

    #[inline]
    fn last_segment(&self, at: At, target: RouterId, state: &mut RouteState) -> Hop {
        let hop;
        (hop, state.via) = self.step(at.router, target, || state.via, self.vcs() - 1);
        hop
    }

    fn minimal(&self, at: At, target: RouterId, mut state: RouteState) -> PathStart {
        let draw = || match state.phase {
            UNDECIDED => spread(at.source.0, at.destination.0),
            _ => state.via,
        };
        let (phase, vc) = match self.retractable {
            true => (TENTATIVE, 0),
            false => (LAST_SEGMENT, self.vcs() - 1),
        };
        let (hop, left) = self.step(at.router, target, draw, vc);
        (state.phase, state.via) = (phase, left);
        (hop, state)
    }

    fn chances_to(
        &self,
        router: RouterId,
        to: RouterId,
        state: RouteState,
        share: f64,
        out: &mut Vec<Chance>,
    ) {
        let network = hyperx(&*self.topology);
        let (dimension, coordinate) = network.first_difference(router, to).expect("another router");
        let width = network.width(dimension);
        for cable in 0..width {
            let port = network.link_port(router, dimension, coordinate, cable);
            out.push((port, state, share / f64::from(width)));
        }
    }
}
