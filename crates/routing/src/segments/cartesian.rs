//! Path segments in a torus or mesh: dimension by dimension, each in the shorter direction.
//!
//! Sources: L. G. Valiant, "A scheme for fast parallel communication", SIAM J. Computing 11(2), 1982; in tori W. J.
//! Dally, B. Towles, "Principles and Practices of Interconnection Networks", 2004, section 9.1 (Valiant's algorithm,
//! with dimension order in both phases); A. Singh, "Load-balanced routing in interconnection networks", PhD thesis,
//! Stanford 2005 (UGAL).
//!
//! A segment is a path of `dimension-order` ([`Ways`]) with VCs of its own: one in a mesh, two with a dateline in a
//! torus. So the links of a segment have no cyclic dependency, and segments only wait for later ones. The last
//! segment, and so a minimal path, uses the last VCs. A minimal path that can be left uses the first ones.
//!
//! On a first segment every router draws the direction of two equally long ones, and one of parallel cables, from
//! this router, the intermediate one and the destination. Both directions can be equally long only at the first step
//! in a dimension, so the next router goes on in the same direction. The draw of a last segment is that of its first
//! router and the destination, that of a minimal path is that of source and destination. A packet that meets its
//! destination's router on the first segment stays there.
//!
//! State: on the first segment `via` is the intermediate router; on a minimal path the draw, as far as the path
//! depends on it.

use std::sync::Arc;

use topology::{HostId, Port, RouterId, Topology};

use crate::dimension_order::{Ways, cartesian};
use crate::path_parts::{PathVisitor, Unvisited};
use crate::ring_protection::Rings;
use crate::{At, Chance, Hop, RouteState, spread};

use super::intermediate_routers::IntermediateRouters;
use super::routers::{RouterSegments, visit_segments};
use super::{LAST_SEGMENT, PathStart, TENTATIVE, UNDECIDED};

pub(super) struct CartesianSegments {
    ways: Ways,
    nodes: IntermediateRouters,
    retractable: bool,
    /// First VC of the first segment.
    first_vc: u8,
    /// First VC of the last segment.
    last_vc: u8,
}

impl CartesianSegments {
    pub(super) fn new(topology: Arc<dyn Topology>, ends_too: bool, retractable: bool) -> CartesianSegments {
        let rings = match cartesian(&*topology).wraps() {
            true => Rings::Dateline,
            false => Rings::None,
        };
        let nodes = IntermediateRouters::new(&*topology, ends_too);
        let first_vc = u8::from(retractable) * rings.vcs();
        let last_vc = match nodes.any() {
            true => first_vc + rings.vcs(),
            false => 0,
        };
        CartesianSegments {
            ways: Ways::new(topology, rings),
            nodes,
            retractable,
            first_vc,
            last_vc,
        }
    }

    /// One hop towards another router on the VCs of a segment.
    #[inline]
    fn step(&self, at: At, to: RouterId, draw: impl Fn() -> u32, first_vc: u8) -> Hop {
        let hop = self.ways.hop_to(at, to, draw);
        Hop {
            vc: first_vc + hop.vc,
            ..hop
        }
    }
}

impl RouterSegments for CartesianSegments {
    fn topology(&self) -> &dyn Topology {
        self.ways.topology()
    }

    fn all_places(&self) -> &IntermediateRouters {
        &self.nodes
    }

    fn vcs(&self) -> u8 {
        self.last_vc + self.ways.rings().vcs()
    }

    fn channel_order(&self, router: RouterId, port: Port, vc: u8) -> Option<u64> {
        let vcs = self.ways.rings().vcs();
        let segment = u64::from(vc / vcs) * self.ways.order_end();
        Some(segment + self.ways.order(router, port, vc % vcs)?)
    }

    fn visit_paths(&self, visitor: &mut dyn PathVisitor) -> Result<(), Unvisited> {
        let draws = self.ways.all_draws();
        let vcs = (
            self.retractable.then_some(0),
            self.nodes.any().then_some(self.first_vc),
            self.last_vc,
        );
        visit_segments(self.topology(), vcs, visitor, |from, to, vc, hops| {
            let at = At::anyone(from, HostId(0));
            for draw in &draws {
                let hop = self.step(at, to, || *draw, vc);
                if !hops.contains(&hop) {
                    hops.push(hop);
                }
            }
        })
    }

    #[inline]
    fn first_segment(&self, at: At, state: &mut RouteState) -> Hop {
        let draw = || spread(spread(at.router.0, state.via), at.destination.0);
        self.step(at, RouterId(state.via), draw, self.first_vc)
    }

    #[inline]
    fn draw_of_last(&self, draw: u32, here: RouterId, target: RouterId) -> u32 {
        self.ways.needed_of(draw, here, target)
    }

    #[inline]
    fn last_segment(&self, at: At, target: RouterId, state: &mut RouteState) -> Hop {
        self.step(at, target, || state.via, self.last_vc)
    }

    fn minimal(&self, at: At, target: RouterId, mut state: RouteState) -> PathStart {
        if state.phase == UNDECIDED {
            let draw = spread(at.source.0, at.destination.0);
            state.via = self.draw_of_last(draw, at.router, target);
        }
        let first_vc;
        (state.phase, first_vc) = match self.retractable {
            true => (TENTATIVE, 0),
            false => (LAST_SEGMENT, self.last_vc),
        };
        (self.step(at, target, || state.via, first_vc), state)
    }

    fn chances_to(
        &self,
        router: RouterId,
        to: RouterId,
        state: RouteState,
        share: f64,
        out: &mut Vec<Chance>,
    ) {
        self.ways
            .shares(router, to, |port, part| out.push((port, state, share * part)));
    }
}
