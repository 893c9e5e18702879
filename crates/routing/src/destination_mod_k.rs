//! Destination-mod-k routing in a fat tree: the destination's number picks the upward ports, and the downward path is
//! unique.
//!
//! Source: E. Zahavi, "D-Mod-K routing providing non-blocking traffic for shift permutations on real life fat trees",
//! CCIT report 776, Technion 2010. At level l the upward port is (destination / (u_0 * ... * u_(l-1))) mod u_l with
//! u_i upward ports at level i. So all packets to a host meet at one router of the top level and descend together. No
//! two destinations of a leaf share a downward path where the tree is not tapered.
//!
//! One VC: downward links never wait for upward ones.

use std::sync::Arc;

use topology::{Divisor, HostId, Port, RouterId, Shape, Topology, Tree};

use crate::channel_order;
use crate::fixed::Fixed;
use crate::path_parts::{PathVisitor, Unvisited};
use crate::registry::is_tree;
use crate::tree_parts;
use crate::{Algorithm, At, Chance, Hop, Oblivious, RouteState};

pub(crate) const ALGORITHM: Algorithm = Algorithm {
    name: "destination-mod-k",
    works_on: "fat-tree",
    summary: "static: the destination's number picks the upward ports (D-mod-k, Zahavi 2010)",
    parameters: &[],
    routes: is_tree,
    build: |_, topology| Ok(Box::new(DestinationModK::new(topology))),
};

struct DestinationModK {
    topology: Arc<dyn Topology>,
    levels: Vec<Level>,
}

/// The upward ports of a level.
#[derive(Clone, Copy)]
struct Level {
    first_port: u16,
    ports: Divisor,
    /// Product of the numbers of upward ports of all levels below.
    below: Divisor,
}

/// The registry has made sure that the topology is a tree.
pub(crate) fn tree(topology: &dyn Topology) -> &dyn Tree {
    match topology.shape() {
        Shape::Tree(tree) => tree,
        _ => unreachable!("the registry checks the shape"),
    }
}

/// The chances of packets that go upwards through any port, at random or by a hash of both ends: all chances are
/// equal, and the remainder of a hash counts as another hash. The destination's number picks one of parallel links
/// down, so paths are [`Oblivious::BY_HOST`].
pub(crate) fn even_upwards(
    topology: &dyn Topology,
    router: RouterId,
    destination: HostId,
    state: RouteState,
    out: &mut Vec<Chance>,
) {
    let tree = tree(topology);
    match tree.down_port(router, destination) {
        Some(port) => out.push((port, state, 1.0)),
        None => {
            let up = tree.up_ports(router);
            let share = 1.0 / f64::from(up.end - up.start);
            out.extend(up.map(|port| (Port(port), state, share)));
        }
    }
}

impl DestinationModK {
    fn new(topology: Arc<dyn Topology>) -> DestinationModK {
        let tree = tree(&*topology);
        let mut below = 1u32;
        let mut levels: Vec<Level> = Vec::new();
        for router in (0..topology.routers()).map(RouterId) {
            let up = tree.up_ports(router);
            if tree.level(router) as usize == levels.len() && !up.is_empty() {
                let ports = u32::from(up.end - up.start);
                levels.push(Level {
                    first_port: up.start,
                    ports: Divisor::new(ports),
                    below: Divisor::new(below),
                });
                // Every host number divided by a divisor above 32 bits is 0, as it is by the greatest number.
                below = below.saturating_mul(ports);
            }
        }
        DestinationModK { topology, levels }
    }
}

impl Fixed for DestinationModK {
    const OBLIVIOUS: Oblivious = Oblivious::BY_HOST;

    fn channel_order(&self, router: RouterId, port: Port, _: u8) -> Option<u64> {
        channel_order::in_tree(&*self.topology, tree(&*self.topology), router, port)
    }

    fn visit_paths(&self, visitor: &mut dyn PathVisitor) -> Result<(), Unvisited> {
        tree_parts::visit(&*self.topology, tree(&*self.topology), visitor)
    }

    fn hop(&self, at: At, _: &mut RouteState) -> Hop {
        let tree = tree(&*self.topology);
        let port = tree.down_port(at.router, at.destination).unwrap_or_else(|| {
            let level = self.levels[tree.level(at.router) as usize];
            let index = level.ports.remainder(level.below.quotient(at.destination.0));
            Port(level.first_port + index as u16)
        });
        Hop::new(port, 0)
    }

    fn chances(&self, router: RouterId, destination: HostId, mut state: RouteState, out: &mut Vec<Chance>) {
        let hop = self.hop(At::anyone(router, destination), &mut state);
        out.push((hop.port, state, 1.0));
    }
}
