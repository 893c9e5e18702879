//! Adaptive routing in a fat tree: upwards through the least loaded port, downwards on the only path.
//!
//! Source: C. Gomez, F. Gilabert, M. E. Gomez, P. Lopez, J. Duato, "Deterministic versus adaptive routing in
//! fat-trees", IPDPS 2007. The search visits the ports in a circle from a random one and takes the first of the least
//! loaded, so it breaks ties at random. It ends at a port without load.
//!
//! One VC: downward links never wait for upward ones. Packets of one pair of hosts can overtake each other.

use std::sync::Arc;

use config::parameters;
use topology::{Port, RouterId, Topology};

use crate::channel_order;
use crate::destination_mod_k::tree;
use crate::load_metric::{METRIC, METRIC_SCOPE};
use crate::path_parts::{PathVisitor, Unvisited};
use crate::registry::is_tree;
use crate::tree_parts;
use crate::{Algorithm, At, Congestion, Hop, LoadMetric, Random, RouteState, Routing};

pub(crate) const ALGORITHM: Algorithm = Algorithm {
    name: "adaptive",
    works_on: "fat-tree",
    summary: "upwards through the least loaded port, downwards on the unique path",
    parameters: parameters! {
        METRIC;
        METRIC_SCOPE;
    },
    routes: is_tree,
    build: |section, topology| {
        let metric = LoadMetric::read(section)?;
        Ok(Box::new(Adaptive { topology, metric }))
    },
};

struct Adaptive {
    topology: Arc<dyn Topology>,
    metric: LoadMetric,
}

impl Routing for Adaptive {
    fn vcs(&self) -> u8 {
        1
    }

    fn load_metric(&self) -> LoadMetric {
        self.metric
    }

    fn channel_order(&self, router: RouterId, port: Port, _: u8) -> Option<u64> {
        channel_order::in_tree(&*self.topology, tree(&*self.topology), router, port)
    }

    fn visit_paths(&self, visitor: &mut dyn PathVisitor) -> Result<(), Unvisited> {
        tree_parts::visit(&*self.topology, tree(&*self.topology), visitor)
    }

    fn route(&self, at: At, _: &mut RouteState, congestion: &dyn Congestion, random: &mut dyn Random) -> Hop {
        let tree = tree(&*self.topology);
        let port = tree
            .down_port(at.router, at.destination)
            .unwrap_or_else(|| least_loaded(tree.up_ports(at.router), self.metric, congestion, random));
        Hop::new(port, 0)
    }

    fn options(&self, at: At, state: RouteState, out: &mut Vec<(Hop, RouteState)>) {
        let tree = tree(&*self.topology);
        match tree.down_port(at.router, at.destination) {
            Some(port) => out.push((Hop::new(port, 0), state)),
            None => out.extend(
                tree.up_ports(at.router)
                    .map(|port| (Hop::new(Port(port), 0), state)),
            ),
        }
    }
}

fn least_loaded(
    ports: std::ops::Range<u16>,
    metric: LoadMetric,
    congestion: &dyn Congestion,
    random: &mut dyn Random,
) -> Port {
    let start = ports.start + random.below(u32::from(ports.end - ports.start)) as u16;
    let mut best = (u64::MAX, start);
    for port in (start..ports.end).chain(ports.start..start) {
        let load = metric.of(congestion, Hop::new(Port(port), 0));
        if load < best.0 {
            best = (load, port);
        }
        if load == 0 {
            break;
        }
    }
    Port(best.1)
}
