//! The path of one packet through an idle network, link by link, as routing chooses it where nothing waits.
//!
//! Adaptive algorithms take one of their minimal paths there, so that detours under load are absent.

use routing::{At, Congestion, Random, RouteState};
use topology::{HostId, Peer, Port, RouterId};

use crate::setup::network::NetworkModel;

/// An idle network, as routing sees it.
struct IdleNetwork;

impl Congestion for IdleNetwork {
    fn load(&self, _: Port) -> u64 {
        0
    }

    fn free_space(&self, _: Port, _: u8) -> u64 {
        u64::MAX
    }
}

/// A packet on its way between two end points.
pub struct IdlePath<'a> {
    network: &'a NetworkModel,
    at: At,
    state: RouteState,
}

impl<'a> IdlePath<'a> {
    /// A packet at the router of its source. Both are end points, as for routing.
    pub fn new(network: &'a NetworkModel, source: HostId, destination: HostId) -> IdlePath<'a> {
        let (router, input) = network.topology.attachment(source);
        IdlePath {
            network,
            at: At {
                router,
                input,
                vc: 0,
                source,
                destination,
            },
            state: RouteState::default(),
        }
    }

    /// Crosses the next link between routers: its sending router and port. `None` once the packet is at the router of
    /// its destination.
    pub fn next_link(&mut self, random: &mut dyn Random) -> Option<(RouterId, Port)> {
        let IdlePath { network, at, state } = self;
        let hop = network.routing.route(*at, state, &IdleNetwork, random);
        let Peer::Router(next, input) = network.topology.peer(at.router, hop.port) else {
            return None;
        };
        let crossed = (at.router, hop.port);
        (at.router, at.input, at.vc) = (next, input, hop.vc);
        Some(crossed)
    }
}
