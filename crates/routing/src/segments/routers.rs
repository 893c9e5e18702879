//! PathSegments through routers, where there are no groups: what is the same in all such networks.
//!
//! State: on the first leg `via` is the intermediate router; on a last leg what is left to draw from.

use topology::{HostId, Port, RouterId, Topology};

use crate::{At, Chance, Hop, Oblivious, RouteState, spread};

use super::places::{Ends, Places};
use super::{FIRST_LEG, LAST_LEG, PathSegments, Start};

/// What a network without groups says of its legs; all of [`PathSegments`] follows from it.
pub(super) trait RouterSegments: Send + Sync {
    fn topology(&self) -> &dyn Topology;

    fn all_places(&self) -> &Places;

    /// See [`PathSegments::vcs`].
    fn vcs(&self) -> u8;

    /// One hop towards the intermediate router, another one.
    fn first_leg(&self, at: At, state: &mut RouteState) -> Hop;

    /// One hop towards the destination's router, with `via` to draw from.
    fn last_leg(&self, at: At, target: RouterId, state: &mut RouteState) -> Hop;

    /// See [`PathSegments::minimal`].
    fn minimal(&self, at: At, target: RouterId, state: RouteState) -> Start;

    /// The chances, times `share`, of one hop towards another router, with `state` behind it: draws are used up
    /// hop by hop, so every router picks as if by a draw of its own.
    fn chances_to(
        &self,
        router: RouterId,
        to: RouterId,
        state: RouteState,
        share: f64,
        out: &mut Vec<Chance>,
    );
}

impl<L: RouterSegments> PathSegments for L {
    type Ends = Ends;

    const OBLIVIOUS: Oblivious = Oblivious::SYMMETRIC;

    fn vcs(&self) -> u8 {
        RouterSegments::vcs(self)
    }

    fn attachment(&self, host: HostId) -> (RouterId, Port) {
        self.topology().attachment(host)
    }

    fn ends(&self, here: RouterId, target: RouterId) -> Option<Ends> {
        self.all_places().without(here, target)
    }

    fn places(&self, ends: Ends) -> u32 {
        self.all_places().left(ends)
    }

    fn place(&self, index: u32, ends: Ends) -> u32 {
        self.all_places().nth(index, ends)
    }

    fn minimal(&self, at: At, target: RouterId, state: RouteState) -> Start {
        RouterSegments::minimal(self, at, target, state)
    }

    fn through(&self, at: At, via: u32, mut state: RouteState) -> Option<Start> {
        (state.phase, state.via) = (FIRST_LEG, via);
        Some((self.first_leg(at, &mut state), state))
    }

    fn go_on(&self, at: At, target: RouterId, state: &mut RouteState) -> Hop {
        if state.phase == FIRST_LEG {
            if at.router.0 != state.via {
                return self.first_leg(at, state);
            }
            (state.phase, state.via) = (LAST_LEG, spread(state.via, at.destination.0));
        }
        self.last_leg(at, target, state)
    }

    fn minimal_links(&self, at: At, target: RouterId, _: &Start) -> u32 {
        self.topology().distance(at.router, target)
    }

    fn links_through(&self, at: At, target: RouterId, via: u32, _: &Start) -> u32 {
        let (topology, via) = (self.topology(), RouterId(via));
        topology.distance(at.router, via) + topology.distance(via, target)
    }

    fn chances_through(&self, router: RouterId, _: RouterId, via: u32, share: f64, out: &mut Vec<Chance>) {
        let state = RouteState {
            via,
            phase: FIRST_LEG,
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
        if state.phase == FIRST_LEG && router.0 != state.via {
            return self.chances_to(router, RouterId(state.via), state, share, out);
        }
        let last = RouteState {
            phase: LAST_LEG,
            ..RouteState::default()
        };
        self.chances_to(router, target, last, share, out);
    }
}
