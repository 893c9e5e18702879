//! Routing without choices: position, source, destination and state of a packet determine one hop.

use topology::{HostId, Port, RouterId};

use crate::path_parts::{PathVisitor, Unvisited};
use crate::{At, Chance, Congestion, Hop, Oblivious, Random, RouteState, Routing};

/// The definition of an algorithm without choices. [`Routing`] follows from it.
pub(crate) trait Fixed: Send + Sync {
    /// See [`Routing::oblivious`].
    const OBLIVIOUS: Oblivious;

    /// See [`Routing::vcs`].
    fn vcs(&self) -> u8 {
        1
    }

    /// See [`Routing::packets_per_vc`].
    fn packets_per_vc(&self) -> u32 {
        1
    }

    /// See [`Routing::channel_order`].
    fn channel_order(&self, router: RouterId, port: Port, vc: u8) -> Option<u64>;

    /// See [`Routing::visit_paths`].
    fn visit_paths(&self, visitor: &mut dyn PathVisitor) -> Result<(), Unvisited> {
        let _ = visitor;
        Err(Unvisited::Unknown)
    }

    /// The next hop, to the host at its router.
    fn hop(&self, at: At, state: &mut RouteState) -> Hop;

    /// See [`Routing::chances`].
    fn chances(&self, router: RouterId, destination: HostId, state: RouteState, out: &mut Vec<Chance>);
}

impl<F: Fixed> Routing for F {
    fn vcs(&self) -> u8 {
        Fixed::vcs(self)
    }

    fn packets_per_vc(&self) -> u32 {
        Fixed::packets_per_vc(self)
    }

    fn channel_order(&self, router: RouterId, port: Port, vc: u8) -> Option<u64> {
        Fixed::channel_order(self, router, port, vc)
    }

    fn visit_paths(&self, visitor: &mut dyn PathVisitor) -> Result<(), Unvisited> {
        Fixed::visit_paths(self, visitor)
    }

    fn route(&self, at: At, state: &mut RouteState, _: &dyn Congestion, _: &mut dyn Random) -> Hop {
        self.hop(at, state)
    }

    fn predicted_port(&self, at: At, mut state: RouteState) -> Option<Port> {
        Some(self.hop(at, &mut state).port)
    }

    fn options(&self, at: At, mut state: RouteState, out: &mut Vec<(Hop, RouteState)>) {
        out.push((self.hop(at, &mut state), state));
    }

    fn oblivious(&self) -> Option<Oblivious> {
        Some(F::OBLIVIOUS)
    }

    fn chances(&self, router: RouterId, destination: HostId, state: RouteState, out: &mut Vec<Chance>) {
        Fixed::chances(self, router, destination, state, out);
    }
}
