//! Path segments in any network that finds its shortest paths.
//!
//! The VC is the number of links that a packet has crossed, over all segments (K. D. Guenther, "Prevention of
//! deadlocks in packet-switched data transport systems", IEEE Trans. Communications 29(4), 1981): a channel waits
//! only for channels of the next VC. Two segments in a network of diameter d need 2d VCs, and 3d - 1 if the second
//! can begin anywhere on a minimal path except at its end.
//!
//! The shortest path of a first segment is drawn at every router from this router, the intermediate one and the
//! destination. That of a last segment is drawn as in `minimal`, from its first router and the destination. A packet
//! that meets its destination's router on the first segment stays there.
//!
//! State: `path` counts the links. On the first segment `via` is the intermediate router, on a minimal path the
//! remainder of the draw.

use std::sync::Arc;

use config::{Error, Section};
use topology::{Graph, Port, RouterId, Topology};

use crate::link_counts;
use crate::path_parts::{PathVisitor, Unvisited};
use crate::{At, Chance, Hop, RouteState, spread};

use super::intermediate_routers::IntermediateRouters;
use super::routers::RouterSegments;
use super::{LAST_SEGMENT, PathStart, TENTATIVE, UNDECIDED};

pub(super) struct GraphSegments {
    topology: Arc<dyn Topology>,
    nodes: IntermediateRouters,
    retractable: bool,
    vcs: u8,
}

impl GraphSegments {
    pub(super) fn new(
        section: &Section,
        topology: Arc<dyn Topology>,
        ends_too: bool,
        retractable: bool,
    ) -> Result<GraphSegments, Error> {
        let nodes = IntermediateRouters::new(&*topology, ends_too);
        let graph = topology.shape().graph().expect("the registry checks the shape");
        // Hosts of a single router exchange packets without any link.
        let diameter = graph.diameter().max(1);
        let longest = match (nodes.any(), retractable) {
            (false, _) => u64::from(diameter),
            (true, false) => 2 * u64::from(diameter),
            (true, true) => 3 * u64::from(diameter) - 1,
        };
        let vcs = u8::try_from(longest).map_err(|_| {
            let text = format!(
                "paths of {longest} links need as many VCs; expected at most {}",
                u8::MAX
            );
            section.error("algorithm", text)
        })?;
        Ok(GraphSegments {
            topology,
            nodes,
            retractable,
            vcs,
        })
    }

    fn graph(&self) -> &dyn Graph {
        let shape = self.topology.shape();
        shape.graph().expect("the registry checks the shape")
    }

    /// One hop on a shortest path, and the remainder of the draw.
    #[inline]
    fn step(&self, at: At, to: RouterId, draw: u32, state: &mut RouteState) -> (Hop, u32) {
        let (port, left) = self.graph().shortest_path(at.router, to, draw);
        let hop = Hop::new(port, state.path as u8);
        state.path += 1;
        (hop, left)
    }
}

impl RouterSegments for GraphSegments {
    fn topology(&self) -> &dyn Topology {
        &*self.topology
    }

    fn all_places(&self) -> &IntermediateRouters {
        &self.nodes
    }

    fn vcs(&self) -> u8 {
        self.vcs
    }

    fn channel_order(&self, _: RouterId, _: Port, vc: u8) -> Option<u64> {
        Some(u64::from(vc))
    }

    fn visit_paths(&self, visitor: &mut dyn PathVisitor) -> Result<(), Unvisited> {
        link_counts::visit(&*self.topology, self.vcs, visitor)
    }

    #[inline]
    fn first_segment(&self, at: At, state: &mut RouteState) -> Hop {
        let draw = spread(spread(at.router.0, state.via), at.destination.0);
        self.step(at, RouterId(state.via), draw, state).0
    }

    #[inline]
    fn last_segment(&self, at: At, target: RouterId, state: &mut RouteState) -> Hop {
        let hop;
        (hop, state.via) = self.step(at, target, state.via, state);
        hop
    }

    fn minimal(&self, at: At, target: RouterId, mut state: RouteState) -> PathStart {
        if state.phase == UNDECIDED {
            state.via = spread(at.source.0, at.destination.0);
        }
        state.phase = if self.retractable { TENTATIVE } else { LAST_SEGMENT };
        (self.last_segment(at, target, &mut state), state)
    }

    fn chances_to(
        &self,
        router: RouterId,
        to: RouterId,
        state: RouteState,
        share: f64,
        out: &mut Vec<Chance>,
    ) {
        self.graph().shortest_shares(router, to, &mut |port, part| {
            out.push((port, state, share * part))
        });
    }
}
