//! Static routing in a fat tree by a hash of source and destination, which picks the upward ports. The downward path
//! is unique.
//!
//! Source: C. Hopps, "Analysis of an equal-cost multi-path algorithm", RFC 2992, 2000 (a hash over the fields that
//! name a flow keeps its packets in order). Ethernet fat trees use such static routing. The hash scaled to the number
//! of ports picks one, and its remainder picks at the next level.
//!
//! One VC: downward links never wait for upward ones.
//!
//! State: `phase` is 1 after the first router; `via` is the remainder of the hash, 0 if no later router needs it.

use std::sync::Arc;

use topology::{HostId, Port, RouterId, Topology, pick};

use crate::channel_order;
use crate::destination_mod_k::{even_upwards, tree};
use crate::fixed::Fixed;
use crate::path_parts::{PathVisitor, Unvisited};
use crate::registry::is_tree;
use crate::tree_parts;
use crate::{Algorithm, At, Chance, Hop, Oblivious, RouteState, spread};

pub(crate) const ALGORITHM: Algorithm = Algorithm {
    name: "source-destination-hashed",
    works_on: "fat-tree",
    summary: "static: a hash of source and destination picks the upward ports (ECMP, RFC 2992)",
    parameters: &[],
    routes: is_tree,
    build: |_, topology| Ok(Box::new(SourceDestinationHashed { topology })),
};

struct SourceDestinationHashed {
    topology: Arc<dyn Topology>,
}

impl Fixed for SourceDestinationHashed {
    const OBLIVIOUS: Oblivious = Oblivious::BY_HOST;

    fn channel_order(&self, router: RouterId, port: Port, _: u8) -> Option<u64> {
        channel_order::in_tree(&*self.topology, tree(&*self.topology), router, port)
    }

    fn visit_paths(&self, visitor: &mut dyn PathVisitor) -> Result<(), Unvisited> {
        tree_parts::visit(&*self.topology, tree(&*self.topology), visitor)
    }

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
        // The routers of the top level have no choice.
        if tree.level(at.router) + 2 < tree.levels() {
            state.via = left;
        }
        Hop::new(Port(up.start + index as u16), 0)
    }

    fn chances(&self, router: RouterId, destination: HostId, state: RouteState, out: &mut Vec<Chance>) {
        even_upwards(&*self.topology, router, destination, state, out);
    }
}
