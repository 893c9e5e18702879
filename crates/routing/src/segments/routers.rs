//! Path segments through routers, for networks without groups.
//!
//! State: on the first segment `via` is the intermediate router; on a last segment the remainder of the draw.

use topology::{HostId, Peer, Port, RouterId, Topology};

use crate::path_parts::{PathVisitor, Unvisited};
use crate::router_parts::SegmentParts;
use crate::{At, Chance, Congestion, Hop, Oblivious, Random, RouteState, spread};

use super::intermediate_routers::{IntermediateRouters, RemainingRouters};
use super::{FIRST_SEGMENT, LAST_SEGMENT, PathSegments, PathStart};

/// The definition of the segments of a network without groups. [`PathSegments`] follows from it.
pub(super) trait RouterSegments: Send + Sync {
    fn topology(&self) -> &dyn Topology;

    fn all_places(&self) -> &IntermediateRouters;

    /// See [`PathSegments::vcs`].
    fn vcs(&self) -> u8;

    /// See [`Routing::channel_order`].
    fn channel_order(&self, router: RouterId, port: Port, vc: u8) -> Option<u64>;

    /// See [`Routing::visit_paths`].
    fn visit_paths(&self, visitor: &mut dyn PathVisitor) -> Result<(), Unvisited>;

    /// One hop towards the intermediate router, which is another one.
    fn first_segment(&self, at: At, state: &mut RouteState) -> Hop;

    /// The draw of a last segment from `here` to `target`, as `via` keeps it, of any number.
    #[inline]
    fn draw_of_last(&self, draw: u32, here: RouterId, target: RouterId) -> u32 {
        let _ = (here, target);
        draw
    }

    /// One hop towards the destination's router, with `via` to draw from.
    fn last_segment(&self, at: At, target: RouterId, state: &mut RouteState) -> Hop;

    /// See [`PathSegments::minimal`].
    fn minimal(&self, at: At, target: RouterId, state: RouteState) -> PathStart;

    /// The chances, times `share`, of one hop towards another router, with `state` behind it. Each router consumes
    /// part of the draw, as if it had a draw of its own.
    fn chances_to(
        &self,
        router: RouterId,
        to: RouterId,
        state: RouteState,
        share: f64,
        out: &mut Vec<Chance>,
    );
}

/// Junction: at the intermediate router.
pub(super) const AT_NODE: u8 = 0;
/// Junction: on a minimal path that can be left.
pub(super) const ON_TENTATIVE: u8 = 1;

/// Tells the parts of all segments of paths, with the first VC of each: minimal ones that can be left, those to
/// intermediate nodes, and those to the destination.
pub(super) fn visit_segments(
    topology: &dyn Topology,
    (tentative, first, last): (Option<u8>, Option<u8>, u8),
    visitor: &mut dyn PathVisitor,
    hops: impl Fn(RouterId, RouterId, u8, &mut Vec<Hop>),
) -> Result<(), Unvisited> {
    let on = |vc: u8| {
        let hops = &hops;
        move |from: RouterId, to: RouterId, out: &mut Vec<Hop>| hops(from, to, vc, out)
    };
    if let Some(vc) = tentative {
        let part = SegmentParts {
            begins: &[],
            on_the_way: Some(ON_TENTATIVE),
            end: None,
        };
        part.visit(topology, visitor, on(vc))?;
    }
    if let Some(vc) = first {
        let part = SegmentParts {
            begins: &[ON_TENTATIVE],
            on_the_way: None,
            end: Some(AT_NODE),
        };
        part.visit(topology, visitor, on(vc))?;
    }
    let part = SegmentParts {
        begins: &[AT_NODE],
        on_the_way: None,
        end: None,
    };
    part.visit(topology, visitor, on(last))
}

impl<L: RouterSegments> PathSegments for L {
    type Ends = RemainingRouters;
    type IntermediateNode = u32;

    fn oblivious(&self) -> Option<Oblivious> {
        Some(Oblivious::SYMMETRIC)
    }

    fn vcs(&self) -> u8 {
        RouterSegments::vcs(self)
    }

    fn channel_order(&self, router: RouterId, port: Port, vc: u8) -> Option<u64> {
        RouterSegments::channel_order(self, router, port, vc)
    }

    fn visit_paths(&self, visitor: &mut dyn PathVisitor) -> Result<(), Unvisited> {
        RouterSegments::visit_paths(self, visitor)
    }

    fn attachment(&self, host: HostId) -> (RouterId, Port) {
        self.topology().attachment(host)
    }

    fn ends(&self, here: RouterId, target: RouterId, _: RouteState) -> Option<RemainingRouters> {
        self.all_places().between(here, target)
    }

    fn nodes(&self, ends: RemainingRouters) -> u32 {
        self.all_places().left(ends)
    }

    fn node(&self, index: u32, ends: RemainingRouters) -> u32 {
        self.all_places().nth(index, ends)
    }

    fn minimal(
        &self,
        at: At,
        target: RouterId,
        state: RouteState,
        _: &dyn Congestion,
        _: &mut dyn Random,
    ) -> PathStart {
        RouterSegments::minimal(self, at, target, state)
    }

    fn through(
        &self,
        at: At,
        via: u32,
        mut state: RouteState,
        _: &dyn Congestion,
        _: &mut dyn Random,
    ) -> Option<PathStart> {
        if at.router.0 == via {
            return None;
        }
        (state.phase, state.via) = (FIRST_SEGMENT, via);
        Some((self.first_segment(at, &mut state), state))
    }

    fn go_on(
        &self,
        at: At,
        target: RouterId,
        state: &mut RouteState,
        _: &dyn Congestion,
        _: &mut dyn Random,
    ) -> Hop {
        if state.phase == FIRST_SEGMENT {
            if at.router.0 != state.via {
                return self.first_segment(at, state);
            }
            let draw = spread(state.via, at.destination.0);
            (state.phase, state.via) = (LAST_SEGMENT, self.draw_of_last(draw, at.router, target));
        }
        self.last_segment(at, target, state)
    }

    fn minimal_links(&self, at: At, target: RouterId, _: &PathStart) -> u32 {
        self.topology().distance(at.router, target)
    }

    fn links_through(&self, at: At, target: RouterId, via: u32, _: &PathStart) -> u32 {
        let (topology, via) = (self.topology(), RouterId(via));
        topology.distance(at.router, via) + topology.distance(via, target)
    }

    #[inline(never)]
    fn links_remaining(&self, at: At, target: RouterId, (hop, _): &PathStart) -> u32 {
        match self.topology().peer(at.router, hop.port) {
            Peer::Router(next, _) => self.topology().distance(next, target) + 1,
            _ => unreachable!("a path to another router begins with a link to a router"),
        }
    }

    fn chances_through(
        &self,
        router: RouterId,
        target: RouterId,
        via: u32,
        share: f64,
        out: &mut Vec<Chance>,
    ) {
        if router.0 == via {
            return self.chances(router, target, RouteState::default(), share, out);
        }
        let state = RouteState {
            via,
            phase: FIRST_SEGMENT,
            ..RouteState::default()
        };
        self.chances_to(router, RouterId(via), state, share, out);
    }

    fn chances(
        &self,
        router: RouterId,
        target: RouterId,
        state: RouteState,
        share: f64,
        out: &mut Vec<Chance>,
    ) {
        if state.phase == FIRST_SEGMENT && router.0 != state.via {
            return self.chances_to(router, RouterId(state.via), state, share, out);
        }
        let last = RouteState {
            phase: LAST_SEGMENT,
            ..RouteState::default()
        };
        self.chances_to(router, target, last, share, out);
    }
}
