//! Random routing in a fat tree: each packet goes upwards through a random port, and the downward path is unique.
//!
//! Source: A. Dixit, P. Prakash, Y. C. Hu, R. R. Kompella, "On the impact of packet spraying in data center
//! networks", INFOCOM 2013; it equals oblivious random routing in the fat trees of supercomputers.
//!
//! One VC: downward links never wait for upward ones. Packets of one pair of hosts can overtake each other.

use std::sync::Arc;

use topology::{HostId, Port, RouterId, Topology};

use crate::channel_order;
use crate::destination_mod_k::{even_upwards, tree};
use crate::path_parts::{PathVisitor, Unvisited};
use crate::registry::is_tree;
use crate::tree_parts;
use crate::{Algorithm, At, Congestion, Hop, Oblivious, Random, RouteState, Routing};

pub(crate) const ALGORITHM: Algorithm = Algorithm {
    name: "scatter",
    works_on: "fat-tree",
    summary: "upwards through a random port, each packet for itself (packet spraying)",
    parameters: &[],
    routes: is_tree,
    build: |_, topology| Ok(Box::new(Scatter { topology })),
};

struct Scatter {
    topology: Arc<dyn Topology>,
}

impl Routing for Scatter {
    fn vcs(&self) -> u8 {
        1
    }

    fn channel_order(&self, router: RouterId, port: Port, _: u8) -> Option<u64> {
        channel_order::in_tree(&*self.topology, tree(&*self.topology), router, port)
    }

    fn visit_paths(&self, visitor: &mut dyn PathVisitor) -> Result<(), Unvisited> {
        tree_parts::visit(&*self.topology, tree(&*self.topology), visitor)
    }

    fn route(&self, at: At, _: &mut RouteState, _: &dyn Congestion, random: &mut dyn Random) -> Hop {
        let tree = tree(&*self.topology);
        let port = tree.down_port(at.router, at.destination).unwrap_or_else(|| {
            let up = tree.up_ports(at.router);
            Port(up.start + random.below(u32::from(up.end - up.start)) as u16)
        });
        Hop::new(port, 0)
    }

    fn options(&self, at: At, state: RouteState, out: &mut Vec<(Hop, RouteState)>) {
        let tree = tree(&*self.topology);
        match tree.down_port(at.router, at.destination) {
            Some(port) => out.push((Hop::new(port, 0), state)),
            None => {
                let up = tree.up_ports(at.router);
                out.extend(up.map(|port| (Hop::new(Port(port), 0), state)));
            }
        }
    }

    fn oblivious(&self) -> Option<Oblivious> {
        Some(Oblivious::BY_HOST)
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
