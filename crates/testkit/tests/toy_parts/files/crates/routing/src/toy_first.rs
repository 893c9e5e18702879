//! Toy routing: the first of all shortest paths. The virtual channel is the number of links crossed, so a channel
//! waits only for channels of the next VC.
//!
//! State: `phase` counts the links.

use std::sync::Arc;

use topology::{Graph, HostId, Port, RouterId};

use crate::fixed::Fixed;
use crate::{Algorithm, At, Chance, Hop, Oblivious, RouteState};

pub(crate) const ALGORITHM: Algorithm = Algorithm {
    name: "toy-first",
    works_on: "networks that find their shortest paths",
    summary: "the first of all shortest paths",
    parameters: &[],
    routes: |shape| shape.graph().is_some(),
    build: |_, topology| {
        let graph = topology.into_graph().expect("the registry checks the shape");
        Ok(Box::new(ToyFirst { graph }))
    },
};

struct ToyFirst {
    graph: Arc<dyn Graph>,
}

impl ToyFirst {
    fn port(&self, router: RouterId, destination: HostId) -> (Port, bool) {
        let (target, port) = self.graph.attachment(destination);
        match target == router {
            true => (port, true),
            false => (self.graph.shortest_path(router, target, 0).0, false),
        }
    }
}

impl Fixed for ToyFirst {
    const OBLIVIOUS: Oblivious = Oblivious::BETWEEN_ROUTERS;

    fn vcs(&self) -> u8 {
        self.graph.diameter().clamp(1, u32::from(u8::MAX)) as u8
    }

    fn hop(&self, at: At, state: &mut RouteState) -> Hop {
        let (port, is_host) = self.port(at.router, at.destination);
        if is_host {
            return Hop::new(port, 0);
        }
        let vc = state.phase;
        state.phase += 1;
        Hop::new(port, vc)
    }

    /// The VC counts the hops.
    fn channel_order(&self, _: RouterId, _: Port, vc: u8) -> Option<u64> {
        Some(vc.into())
    }

    fn chances(&self, router: RouterId, destination: HostId, state: RouteState, out: &mut Vec<Chance>) {
        out.push((self.port(router, destination).0, state, 1.0));
    }
}
