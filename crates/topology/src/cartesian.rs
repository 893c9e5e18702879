//! What torus and mesh share: routers at the points of a grid, links between neighbours.
//!
//! Router number: dimension 0 varies fastest. Ports of a router: first its hosts, then for each dimension
//! the port up (to the next greater coordinate) and the port down. A dimension of size 1 has both ports
//! unwired. In a torus dimension of size 2 up and down lead to the same router, by two parallel cables:
//! every router keeps its two links, and the port up always meets a port down.

use config::{Error, Section};

use crate::size::{count, counted, nonzero, ports, positive};
use crate::{Cartesian, Divisor, HOST_LINK, HostId, LinkClass, Peer, Port, RouterId, Shape, Topology};

/// One bit of routing state for each dimension has to fit into a byte.
pub(crate) const MOST_DIMENSIONS: usize = 8;

pub(crate) const LINK_CLASSES: [&str; MOST_DIMENSIONS + 1] = [
    "host",
    "dimension-0",
    "dimension-1",
    "dimension-2",
    "dimension-3",
    "dimension-4",
    "dimension-5",
    "dimension-6",
    "dimension-7",
];

pub(crate) const PARAMETERS: &[(&str, &str)] = &[
    (
        "sizes",
        "routers in each dimension, 1 to 8 dimensions, for example [4, 4, 8]",
    ),
    ("hosts_per_router", "hosts on every router (default: 1)"),
];

#[derive(Debug)]
pub(crate) struct Grid {
    wraps: bool,
    sizes: Vec<u32>,
    dimensions: Vec<Dimension>,
    hosts_per_router: Divisor,
    hosts: u32,
    routers: u32,
    ports: u16,
}

#[derive(Clone, Copy, Debug)]
struct Dimension {
    size: Divisor,
    /// Difference of the numbers of two routers that are neighbours in this dimension.
    stride: Divisor,
}

impl Grid {
    pub(crate) fn read(section: &Section, wraps: bool) -> Result<Grid, Error> {
        let sizes: Vec<u32> = section.required("sizes")?;
        let hosts_per_router = positive(section, "hosts_per_router", Some(1))?;
        if sizes.is_empty() || sizes.len() > MOST_DIMENSIONS {
            return Err(section.error(
                "sizes",
                format!("{} dimensions; expected 1 to {MOST_DIMENSIONS}", sizes.len()),
            ));
        }
        for size in &sizes {
            nonzero(section, "sizes", *size)?;
        }
        let routers = count(section, "sizes", "routers", &sizes)?;
        let hosts = count(section, "hosts_per_router", "hosts", &[routers, hosts_per_router])?;
        let ports = ports(
            section,
            "hosts_per_router",
            &[hosts_per_router, 2 * sizes.len() as u32],
        )?;
        let mut stride = 1;
        let dimensions = sizes.iter().map(|size| {
            let dimension = Dimension {
                size: Divisor::new(*size),
                stride: Divisor::new(stride),
            };
            stride *= size;
            dimension
        });
        Ok(Grid {
            wraps,
            dimensions: dimensions.collect(),
            sizes,
            hosts_per_router: Divisor::new(hosts_per_router),
            hosts,
            routers,
            ports,
        })
    }

    /// The router one step up or down, if there is one.
    fn neighbour(&self, router: RouterId, dimension: usize, up: bool) -> Option<RouterId> {
        let Dimension { size, stride } = self.dimensions[dimension];
        let (size, coordinate) = (size.get(), self.coordinate(router, dimension));
        let round = (size - 1) * stride.get();
        let next = match up {
            true if coordinate + 1 < size => router.0 + stride.get(),
            false if coordinate > 0 => router.0 - stride.get(),
            _ if !self.wraps || size == 1 => return None,
            true => router.0 - round,
            false => router.0 + round,
        };
        Some(RouterId(next))
    }

    /// The dimension of a port between routers and whether it leads up.
    fn direction(&self, port: Port) -> (usize, bool) {
        let index = u32::from(port.0) - self.hosts_per_router.get();
        ((index / 2) as usize, index.is_multiple_of(2))
    }
}

impl Topology for Grid {
    fn hosts(&self) -> u32 {
        self.hosts
    }

    fn routers(&self) -> u32 {
        self.routers
    }

    fn ports(&self, _: RouterId) -> u16 {
        self.ports
    }

    fn peer(&self, router: RouterId, port: Port) -> Peer {
        let hosts = self.hosts_per_router.get();
        if u32::from(port.0) < hosts {
            return Peer::Host(HostId(router.0 * hosts + u32::from(port.0)));
        }
        let (dimension, up) = self.direction(port);
        match self.neighbour(router, dimension, up) {
            Some(next) => Peer::Router(next, self.step_port(next, dimension, !up)),
            None => Peer::Unwired,
        }
    }

    fn attachment(&self, host: HostId) -> (RouterId, Port) {
        let (router, port) = self.hosts_per_router.divide(host.0);
        (RouterId(router), Port(port as u16))
    }

    fn distance(&self, from: RouterId, to: RouterId) -> u32 {
        let (mut from, mut to, mut distance) = (from.0, to.0, 0);
        for dimension in &self.dimensions {
            let (a, b);
            (from, a) = dimension.size.divide(from);
            (to, b) = dimension.size.divide(to);
            let straight = a.abs_diff(b);
            distance += match self.wraps {
                true => straight.min(dimension.size.get() - straight),
                false => straight,
            };
        }
        distance
    }

    fn link_classes(&self) -> &'static [&'static str] {
        const CLASSES: &[&str] = &LINK_CLASSES;
        &CLASSES[..=self.sizes.len()]
    }

    fn link_class(&self, _: RouterId, port: Port) -> LinkClass {
        if u32::from(port.0) < self.hosts_per_router.get() {
            return HOST_LINK;
        }
        LinkClass(self.direction(port).0 as u8 + 1)
    }

    fn coordinates(&self, router: RouterId) -> String {
        let coordinates: Vec<String> = (0..self.sizes.len())
            .map(|dimension| self.coordinate(router, dimension).to_string())
            .collect();
        format!("({})", coordinates.join(", "))
    }

    fn describe(&self) -> String {
        let sizes: Vec<String> = self.sizes.iter().map(u32::to_string).collect();
        format!(
            "{} of {} routers with {} each",
            if self.wraps { "torus" } else { "mesh" },
            sizes.join(" x "),
            counted(self.hosts_per_router.get(), "host"),
        )
    }

    fn shape(&self) -> Shape<'_> {
        Shape::Cartesian(self)
    }

    fn router_links(&self) -> u64 {
        let routers = u64::from(self.routers);
        let of_dimension = |size: &u32| match (self.wraps, u64::from(*size)) {
            (_, 1) => 0,
            (true, _) => 2 * routers,
            (false, size) => 2 * (routers / size) * (size - 1),
        };
        self.sizes.iter().map(of_dimension).sum()
    }

    /// A torus can be shifted and mirrored.
    fn is_symmetric(&self) -> bool {
        self.wraps
    }
}

impl Cartesian for Grid {
    fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    fn wraps(&self) -> bool {
        self.wraps
    }

    fn coordinate(&self, router: RouterId, dimension: usize) -> u32 {
        let Dimension { size, stride } = self.dimensions[dimension];
        size.remainder(stride.quotient(router.0))
    }

    fn step_port(&self, _: RouterId, dimension: usize, up: bool) -> Port {
        let index = 2 * dimension as u32 + u32::from(!up);
        Port((self.hosts_per_router.get() + index) as u16)
    }

    fn first_difference(&self, from: RouterId, to: RouterId) -> Option<(usize, u32, u32)> {
        let (mut from, mut to) = (from.0, to.0);
        for (index, dimension) in self.dimensions.iter().enumerate() {
            let (a, b);
            (from, a) = dimension.size.divide(from);
            (to, b) = dimension.size.divide(to);
            if a != b {
                return Some((index, a, b));
            }
        }
        None
    }
}
