//! Static routing in a fat tree by a hash of source and destination, which picks the upward ports; downwards
//! on the only way.
//!
//! Source: C. Hopps, "Analysis of an equal-cost multi-path algorithm", RFC 2992, 2000 (hash over the fields
//! that name a flow, so that its packets stay in order); as the static routing that fat trees of Ethernet have.
//! The hash scaled to the number of ports picks one, and what is left of it picks at the next level.
//!
//! One VC: downward links never wait for upward ones.
//!
//! State: `phase` is 1 after the first router; `via` is what is left of the hash, 0 if nobody needs it any more.

use std::sync::Arc;

use topology::{HostId, Port, RouterId, Topology, pick};

use crate::destination_mod_k::{EVEN_UPWARDS, even_upwards, tree};
use crate::registry::is_tree;
use crate::{Algorithm, At, Congestion, Hop, Oblivious, Random, RouteState, Routing, spread};

pub(crate) const ALGORITHM: Algorithm = Algorithm {
    name: "source-destination-hashed",
    works_on: "fat-tree",
    summary: "static: a hash of source and destination picks the upward ports (ECMP, RFC 2992)",
    parameters: &[],
    routes: is_tree,
    build: |_, topology| Ok(Box::new(Hashed { topology })),
};

struct Hashed {
    topology: Arc<dyn Topology>,
}

impl Hashed {
    fn hop(&self, at: At, state: &mut RouteState) -> Hop {
        let tree = tree(&*self.topology);
        let draw = match state.phase {
            0 => spread(at.source.0, at.destination.0),
            _ => state.via,
        };
        state.phase = 1;
        state.via = 0;
        if let Some(port) = tree.down_port(at.router, at.destination) {
            return Hop::new(port, 0);
        }
        let up = tree.up_ports(at.router);
        let (index, left) = pick(draw, u32::from(up.end - up.start));
        // The routers of the top level have nothing to pick.
        if tree.level(at.router) + 2 < tree.levels() {
            state.via = left;
        }
        Hop::new(Port(up.start + index as u16), 0)
    }
}

impl Routing for Hashed {
    fn vcs(&self) -> u8 {
        1
    }

    fn route(&self, at: At, state: &mut RouteState, _: &dyn Congestion, _: &mut dyn Random) -> Hop {
        self.hop(at, state)
    }

    fn options(&self, at: At, mut state: RouteState, out: &mut Vec<(Hop, RouteState)>) {
        out.push((self.hop(at, &mut state), state));
    }
    fn oblivious(&self) -> Option<Oblivious> {
        Some(EVEN_UPWARDS)
    }

    fn chances(
        &self,
        router: RouterId,
        destination: HostId,
        state: RouteState,
        out: &mut Vec<(Port, RouteState, f64)>,
    ) {
        even_upwards(&*self.topology, router, destination, state, out);
    }
}
