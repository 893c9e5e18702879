//! Dimension-order routing in a torus, mesh or HyperX: dimension 0 first, each the shorter way round.
//!
//! Source: W. J. Dally and C. L. Seitz, "Deadlock-free message routing in multiprocessor interconnection
//! networks", IEEE Trans. Computers C-36(5), 1987 (e-cube routing and dateline VCs).
//!
//! In a torus a packet uses VC 0 in a dimension as long as the wrap-around link is ahead of it, that link
//! included, and VC 1 behind it or if its way does not wrap around: VC 0 of one ring so never closes, and
//! VC 1 never contains the wrap-around link. A mesh needs one VC. Where both ways round are equally long,
//! source and destination decide, so that half of such pairs go either way.
//!
//! State (torus): `phase` is 1 after the first router; bit d of `flags` is the way to go in dimension d if
//! both are equally long (0: up).
//!
//! In a HyperX every dimension is one link, and links of a dimension wait only for those of later ones: one
//! VC. Source and destination pick one of parallel links. State, if there are any: `phase` is 1 after the
//! first router, `via` what is left of the draw.

use std::sync::Arc;

use topology::{Cartesian, HostId, HyperX, Port, RouterId, Shape, Topology, pick};

use crate::{Algorithm, At, Congestion, Hop, Oblivious, Random, RouteState, Routing, spread};

pub(crate) const ALGORITHM: Algorithm = Algorithm {
    name: "dimension-order",
    works_on: "torus, mesh, hyperx",
    summary: "dimension after dimension, the shorter way round, with dateline VCs (Dally and Seitz 1987)",
    parameters: &[],
    routes: |shape| matches!(shape, Shape::Cartesian(_) | Shape::HyperX(_)),
    build: |_, topology| {
        Ok(match topology.shape() {
            Shape::HyperX(_) => Box::new(LinkPerDimension::new(topology)),
            _ => Box::new(DimensionOrder::new(topology)),
        })
    },
};

struct DimensionOrder {
    topology: Arc<dyn Topology>,
    sizes: Vec<u32>,
    wraps: bool,
}

fn cartesian(topology: &dyn Topology) -> &dyn Cartesian {
    match topology.shape() {
        Shape::Cartesian(cartesian) => cartesian,
        _ => unreachable!("the registry checks the shape"),
    }
}

impl DimensionOrder {
    fn new(topology: Arc<dyn Topology>) -> DimensionOrder {
        let grid = cartesian(&*topology);
        let (sizes, wraps) = (grid.sizes().to_vec(), grid.wraps());
        DimensionOrder {
            topology,
            sizes,
            wraps,
        }
    }

    fn hop(&self, at: At, state: &mut RouteState) -> Hop {
        let (target, port) = self.topology.attachment(at.destination);
        let grid = cartesian(&*self.topology);
        let Some((dimension, here, there)) = grid.first_difference(at.router, target) else {
            return Hop::new(port, 0);
        };
        if !self.wraps {
            let port = grid.step_port(at.router, dimension, there > here);
            return Hop::new(port, 0);
        }
        if state.phase == 0 {
            state.phase = 1;
            state.flags = self.ways(grid, at, target);
        }
        let size = self.sizes[dimension];
        let ahead = if there > here {
            there - here
        } else {
            there + (size - here)
        };
        let up = match (2 * u64::from(ahead)).cmp(&u64::from(size)) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Equal => state.flags >> dimension & 1 == 0,
            std::cmp::Ordering::Greater => false,
        };
        let wraps_ahead = up != (there > here);
        Hop::new(grid.step_port(at.router, dimension, up), u8::from(!wraps_ahead))
    }

    /// One bit for each dimension in which both ways to the target are equally long.
    fn ways(&self, grid: &dyn Cartesian, at: At, target: RouterId) -> u8 {
        let draw = spread(at.source.0, at.destination.0);
        let mut ways = 0;
        for (dimension, size) in self.sizes.iter().enumerate().filter(|(_, size)| *size % 2 == 0) {
            let (a, b) = (
                grid.coordinate(at.router, dimension),
                grid.coordinate(target, dimension),
            );
            if a.abs_diff(b) == size / 2 {
                ways |= (draw >> dimension & 1) << dimension;
            }
        }
        ways as u8
    }
}

impl Routing for DimensionOrder {
    fn vcs(&self) -> u8 {
        if self.wraps { 2 } else { 1 }
    }

    fn route(&self, at: At, state: &mut RouteState, _: &dyn Congestion, _: &mut dyn Random) -> Hop {
        self.hop(at, state)
    }

    fn options(&self, at: At, mut state: RouteState, out: &mut Vec<(Hop, RouteState)>) {
        out.push((self.hop(at, &mut state), state));
    }

    fn oblivious(&self) -> Option<Oblivious> {
        Some(Oblivious {
            by_host: false,
            symmetric: true,
        })
    }

    fn chances(
        &self,
        router: RouterId,
        destination: HostId,
        state: RouteState,
        out: &mut Vec<(Port, RouteState, f64)>,
    ) {
        let (target, port) = self.topology.attachment(destination);
        let grid = cartesian(&*self.topology);
        let Some((dimension, here, there)) = grid.first_difference(router, target) else {
            out.push((port, state, 1.0));
            return;
        };
        let (size, ahead) = (u64::from(self.sizes[dimension]), u64::from(here.abs_diff(there)));
        // Both ways can be equally long at the first step in a dimension only: the choice need not be kept.
        if self.wraps && 2 * ahead == size {
            for up in [true, false] {
                out.push((grid.step_port(router, dimension, up), state, 0.5));
            }
            return;
        }
        let up = (there > here) == (!self.wraps || 2 * ahead < size);
        out.push((grid.step_port(router, dimension, up), state, 1.0));
    }
}

struct LinkPerDimension {
    topology: Arc<dyn Topology>,
    /// Whether there are parallel links.
    parallel: bool,
}

fn hyperx(topology: &dyn Topology) -> &dyn HyperX {
    match topology.shape() {
        Shape::HyperX(hyperx) => hyperx,
        _ => unreachable!("the registry checks the shape"),
    }
}

impl LinkPerDimension {
    fn new(topology: Arc<dyn Topology>) -> LinkPerDimension {
        let network = hyperx(&*topology);
        let parallel = (0..network.dimensions()).any(|dimension| network.width(dimension) > 1);
        LinkPerDimension { topology, parallel }
    }

    fn hop(&self, at: At, state: &mut RouteState) -> Hop {
        let (target, port) = self.topology.attachment(at.destination);
        let network = hyperx(&*self.topology);
        let Some((dimension, coordinate)) = network.first_difference(at.router, target) else {
            return Hop::new(port, 0);
        };
        let mut cable = 0;
        if self.parallel {
            let draw = match state.phase {
                0 => spread(at.source.0, at.destination.0),
                _ => state.via,
            };
            state.phase = 1;
            (cable, state.via) = pick(draw, network.width(dimension));
        }
        let port = network.link_port(at.router, dimension, coordinate, cable);
        Hop::new(port, 0)
    }
}

impl Routing for LinkPerDimension {
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
        Some(Oblivious {
            by_host: false,
            symmetric: true,
        })
    }

    fn chances(
        &self,
        router: RouterId,
        destination: HostId,
        state: RouteState,
        out: &mut Vec<(Port, RouteState, f64)>,
    ) {
        let (target, port) = self.topology.attachment(destination);
        let network = hyperx(&*self.topology);
        let Some((dimension, coordinate)) = network.first_difference(router, target) else {
            out.push((port, state, 1.0));
            return;
        };
        let width = network.width(dimension);
        for cable in 0..width {
            let port = network.link_port(router, dimension, coordinate, cable);
            out.push((port, state, 1.0 / f64::from(width)));
        }
    }
}
