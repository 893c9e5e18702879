//! DOAL in a HyperX: dimension by dimension, in each either straight to the destination's coordinate or, once,
//! through another coordinate if that is less loaded.
//!
//! Source: J. H. Ahn, N. Binkert, A. Davis, M. McLaren, R. S. Schreiber, "HyperX: topology, routing, and packaging of
//! efficient large-scale networks", SC 2009 (dimensionally-ordered, adaptive load-balanced). The decision rule, load
//! times remaining links, is that of DimWAR, which has the same paths: N. McDonald, M. Isaev, A. Flores, A. Davis, J.
//! Kim, "Practical and efficient incremental adaptive routing for HyperX networks", SC 2019. The cheapest link of the
//! current dimension is taken, and a straight link wins a tie. With L remaining links, the costs are
//!
//! ```text
//! straight    load * L
//! detour      load * (L + 1) + bias
//! ```
//!
//! A detour uses VC 0, a straight link VC 1. Links of a dimension on VC 0 wait for its links on VC 1, and these for
//! links of later dimensions, so there is no cycle.
//!
//! State: `phase` is d + 1 while the packet is on a detour in dimension d.

use std::sync::Arc;

use config::{Bytes, Error, Parameter, Section, parameters};
use topology::{Port, RouterId, Shape, Topology};

use crate::channel_order;
use crate::choice::CheapestHop;
use crate::dimension_order::hyperx;
use crate::load_metric::{METRIC, METRIC_SCOPE};
use crate::path_parts::{PathVisitor, Unvisited};
use crate::router_parts::hosts_of_routers;
use crate::{Algorithm, At, Congestion, Hop, LoadMetric, Random, RouteState, Routing};

pub(crate) const ALGORITHM: Algorithm = Algorithm {
    name: "doal",
    works_on: "hyperx",
    summary: "dimension after dimension, in each straight or by one detour, by load (Ahn et al. 2009; DimWAR)",
    parameters: parameters! {
        BIAS;
        METRIC;
        METRIC_SCOPE;
    },
    routes: |shape| matches!(shape, Shape::HyperX(_)),
    build: |section, topology| {
        Ok(Box::new(Doal {
            topology,
            bias: read_bias(section)?,
            metric: LoadMetric::read(section)?,
        }))
    },
};

/// The parameter of both algorithms that take detours in a HyperX.
pub(crate) const BIAS: Parameter = Parameter::size(
    "bias",
    "7680 B",
    "bytes by which the path without a detour may cost more; thirty packets of 256 B",
);

pub(crate) fn read_bias(section: &Section) -> Result<u64, Error> {
    Ok(section.get::<Bytes>("bias")?.bytes)
}

/// The cost of a link, for `doal` and `dal`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LinkCost {
    bytes: u64,
    /// A straight link wins against an equally expensive detour.
    is_detour: bool,
}

impl LinkCost {
    /// The cost of a straight link, with this number of remaining links, itself included.
    pub(crate) fn straight(load: u64, links: u32) -> LinkCost {
        LinkCost {
            bytes: load.saturating_mul(u64::from(links)),
            is_detour: false,
        }
    }

    /// The cost of a detour, where a straight link would leave this number of links.
    pub(crate) fn detour(load: u64, links: u32, bias: u64) -> LinkCost {
        let bytes = load.saturating_mul(u64::from(links) + 1);
        LinkCost {
            bytes: bytes.saturating_add(bias),
            is_detour: true,
        }
    }
}

const DETOUR_VC: u8 = 0;
const STRAIGHT_VC: u8 = 1;

struct Doal {
    topology: Arc<dyn Topology>,
    bias: u64,
    metric: LoadMetric,
}

impl Doal {
    /// All hops that a packet can take between routers, with the phase behind them. Empty at the destination's
    /// router.
    fn hops(&self, at: At, state: RouteState, mut each: impl FnMut(Hop, u8)) {
        let (target, _) = self.topology.attachment(at.destination);
        let network = hyperx(&*self.topology);
        let Some((dimension, there)) = network.first_difference(at.router, target) else {
            return;
        };
        let here = network.coordinate(at.router, dimension);
        let on_detour = dimension as u8 + 1;
        for cable in 0..network.width(dimension) {
            let port = |coordinate| network.link_port(at.router, dimension, coordinate, cable);
            each(Hop::new(port(there), STRAIGHT_VC), 0);
            if state.phase == on_detour {
                continue;
            }
            for coordinate in (0..network.size(dimension)).filter(|c| *c != here && *c != there) {
                each(Hop::new(port(coordinate), DETOUR_VC), on_detour);
            }
        }
    }
}

/// [`Routing::detour_load`] of both algorithms: with L remaining links, a straight link of this load costs more than a
/// detour over idle links. L is at most the number of dimensions.
pub(crate) fn detour_load(bias: u64, topology: &dyn Topology) -> Option<u64> {
    let dimensions = hyperx(topology).dimensions() as u64;
    Some(bias / dimensions.max(1))
}

impl Routing for Doal {
    fn vcs(&self) -> u8 {
        2
    }

    fn load_metric(&self) -> LoadMetric {
        self.metric
    }

    fn detour_load(&self) -> Option<u64> {
        detour_load(self.bias, &*self.topology)
    }

    fn channel_order(&self, router: RouterId, port: Port, vc: u8) -> Option<u64> {
        let dimension = channel_order::dimension_in_hyperx(hyperx(&*self.topology), router, port)?;
        Some(2 * dimension + u64::from(vc))
    }

    fn visit_paths(&self, visitor: &mut dyn PathVisitor) -> Result<(), Unvisited> {
        let network = hyperx(&*self.topology);
        let hosts = hosts_of_routers(&*self.topology);
        let dimensions = network.dimensions() as u8;
        // Junctions: behind a dimension, and from the number of dimensions on, on a detour in one.
        let behind: Vec<u8> = (0..dimensions).collect();
        let mut hops = Vec::new();
        for host in hosts.iter().flatten().copied() {
            let (to, _) = self.topology.attachment(host);
            for router in (0..self.topology.routers()).map(RouterId) {
                let Some((dimension, ..)) = network.first_difference(router, to) else {
                    continue;
                };
                let here = dimension as u8;
                let at = At::anyone(router, host);
                for (phase, begins) in [(0, &behind[..dimension]), (here + 1, &[dimensions + here])] {
                    hops.clear();
                    let state = RouteState {
                        phase,
                        ..RouteState::default()
                    };
                    self.hops(at, state, |hop, phase| hops.push((hop, phase)));
                    for (hop, phase) in &hops {
                        let at = visitor.begin(begins, router, *hop)?;
                        visitor.end(at, if *phase == 0 { here } else { dimensions + phase - 1 });
                    }
                }
            }
        }
        Ok(())
    }

    fn route(
        &self,
        at: At,
        state: &mut RouteState,
        congestion: &dyn Congestion,
        random: &mut dyn Random,
    ) -> Hop {
        let (target, port) = self.topology.attachment(at.destination);
        if target == at.router {
            state.phase = 0;
            return Hop::new(port, 0);
        }
        let links = self.topology.distance(at.router, target);
        let mut choice = CheapestHop::new(&*self.topology, at.router, random);
        self.hops(at, *state, |hop, phase| {
            let load = self.metric.of(congestion, hop);
            let cost = if hop.vc == STRAIGHT_VC {
                LinkCost::straight(load, links)
            } else {
                LinkCost::detour(load, links, self.bias)
            };
            choice.offer(cost, hop, phase);
        });
        let (hop, phase) = choice.best().expect("a dimension is left, with a link");
        state.phase = phase;
        hop
    }

    fn options(&self, at: At, state: RouteState, out: &mut Vec<(Hop, RouteState)>) {
        let (target, port) = self.topology.attachment(at.destination);
        if target == at.router {
            out.push((Hop::new(port, 0), RouteState { phase: 0, ..state }));
        }
        self.hops(at, state, |hop, phase| {
            out.push((hop, RouteState { phase, ..state }))
        });
    }
}
