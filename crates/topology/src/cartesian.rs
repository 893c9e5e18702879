//! The common part of torus and mesh: routers at the points of a grid, links between neighbours.
//!
//! Router number: dimension 0 varies fastest. Ports of a router: first its hosts, then for each dimension the ports
//! up (to the next greater coordinate), one for each parallel cable, and as many down. In a dimension of size 1 no
//! port is wired. In a torus dimension of size 2, up and down lead to the same router over different cables, so a
//! port up always meets a port down.

use config::{DefaultValue, Error, OneOrEach, Parameter, Section, Type, parameters};

use crate::host_ports::HostPorts;
use crate::size::{MOST_DIMENSIONS, SIZED, count, counted, each, nonzero, ports, sizes};
use crate::sizing::sides;
use crate::{
    Cartesian, Divisor, HOST_LINK, HostId, LinkClass, Peer, Port, RouterId, Shape, SizingRule, Topology,
};

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
    "dimension-8",
    "dimension-9",
    "dimension-10",
    "dimension-11",
];

pub(crate) const PARAMETERS: &[Parameter] = parameters! {
    required_or("sizes", Type::INTEGERS, SIZED,
        "routers in each dimension, 1 to 12 dimensions, for example [4, 4, 8]");
    new("links", Type::ONE_OR_EACH, DefaultValue::Integer(1),
        "parallel cables between neighbours, one number or a list with one for each dimension");
    integer("hosts_per_router", 1, "hosts on every router");
};

pub(crate) const SIZING: SizingRule = SizingRule {
    summary: "the grid has three dimensions, or as many as `links` lists, or as the ports allow, and sides within a \
              factor of two (Dally and Towles 2004, chapter 5)",
    determines: &["sizes"],
    choose: |section, hosts, radix| {
        let per_router = HostPorts::read(section, "hosts_per_router")?.count();
        let (links, given) = match section.get("links")? {
            OneOrEach::One(links) => (vec![nonzero(section, "links", links)?; MOST_SIZED], None),
            OneOrEach::Each(each) => {
                for links in &each {
                    nonzero(section, "links", *links)?;
                }
                let dimensions = each.len();
                if !(1..=MOST_DIMENSIONS).contains(&dimensions) {
                    let text = format!("{dimensions} dimensions; expected 1 to {MOST_DIMENSIONS}");
                    return Err(section.error("links", text));
                }
                (each, Some(dimensions))
            }
        };
        let ports = |dimensions: usize| {
            let links = links[..dimensions].iter().map(|links| 2 * u64::from(*links));
            u64::from(per_router) + links.sum::<u64>()
        };
        let sizes = grid_sides(hosts, per_router, given, |sides| {
            ports(sides.len()) <= radix.into()
        });
        Ok(sizes.map(|sizes| vec![("sizes", OneOrEach::Each(sizes))]))
    },
};

/// Dimensions of a grid of which only the number of routers is known, at most.
const MOST_SIZED: usize = 3;

/// The sides of the smallest grid that has these hosts: of the `given` dimensions, or else of as many, up to three, as
/// the routers fill with sides of two and as `fits` allows.
pub(crate) fn grid_sides(
    hosts: u64,
    per_router: u32,
    given: Option<usize>,
    fits: impl Fn(&[u32]) -> bool,
) -> Option<Vec<u32>> {
    let routers = hosts.div_ceil(per_router.into()).max(2);
    let dimensions = match given {
        Some(given) => given..=given,
        None => 1..=MOST_SIZED.min(routers.ilog2() as usize),
    };
    let grids = dimensions
        .rev()
        .filter(|dimensions| *dimensions > 0)
        .map(|d| sides(routers, d));
    grids.into_iter().find(|sides| fits(sides))
}

#[derive(Debug)]
pub(crate) struct Grid {
    wraps: bool,
    sizes: Vec<u32>,
    dimensions: Vec<CartesianDimension>,
    host_ports: HostPorts,
    hosts: u32,
    routers: u32,
    ports: u16,
}

#[derive(Clone, Copy, Debug)]
struct CartesianDimension {
    size: Divisor,
    /// Difference of the router numbers of neighbours in this dimension.
    stride: Divisor,
    /// Parallel cables between neighbours.
    links: u32,
    first_port: u32,
}

impl Grid {
    pub(crate) fn read(section: &Section, wraps: bool) -> Result<Grid, Error> {
        let sizes = sizes(section, "sizes", MOST_DIMENSIONS)?;
        let links = each(section, "links", sizes.len())?;
        let host_ports = HostPorts::read(section, "hosts_per_router")?;
        let hosts_per_router = host_ports.count();
        let routers = count(section, "sizes", "routers", &sizes)?;
        let hosts = count(section, "hosts_per_router", "hosts", &[routers, hosts_per_router])?;
        let mut port_counts = vec![hosts_per_router];
        for links in &links {
            port_counts.push(count(section, "links", "links", &[2, *links])?);
        }
        let ports = ports(section, "hosts_per_router", &port_counts)?;
        let (mut stride, mut first_port) = (1, hosts_per_router);
        let dimensions = sizes.iter().zip(&links).map(|(size, links)| {
            let dimension = CartesianDimension {
                size: Divisor::new(*size),
                stride: Divisor::new(stride),
                links: *links,
                first_port,
            };
            stride *= size;
            first_port += 2 * links;
            dimension
        });
        Ok(Grid {
            wraps,
            dimensions: dimensions.collect(),
            sizes,
            host_ports,
            hosts,
            routers,
            ports,
        })
    }

    /// The router one step up or down, if it exists.
    fn neighbour(&self, router: RouterId, dimension: usize, up: bool) -> Option<RouterId> {
        let CartesianDimension { size, stride, .. } = self.dimensions[dimension];
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

    /// The dimension of a port between routers, whether it leads up, and its cable.
    fn direction(&self, port: Port) -> (usize, bool, u32) {
        let port = u32::from(port.0);
        let mut dimensions = self.dimensions.iter().enumerate();
        let found = dimensions.rfind(|(_, dimension)| dimension.first_port <= port);
        let (index, dimension) = found.expect("the port is not one of a host");
        let cable = port - dimension.first_port;
        match cable.checked_sub(dimension.links) {
            None => (index, true, cable),
            Some(cable) => (index, false, cable),
        }
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
        if let Some(host) = self.host_ports.peer(router.0, port) {
            return host;
        }
        let (dimension, up, cable) = self.direction(port);
        match self.neighbour(router, dimension, up) {
            Some(next) => Peer::Router(next, self.step_port(next, dimension, !up, cable)),
            None => Peer::Unwired,
        }
    }

    fn attachment(&self, host: HostId) -> (RouterId, Port) {
        self.host_ports.attachment(host)
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

    fn link_classes(&self) -> Vec<&str> {
        const CLASSES: &[&str] = &LINK_CLASSES;
        CLASSES[..=self.sizes.len()].to_vec()
    }

    fn link_class(&self, _: RouterId, port: Port) -> LinkClass {
        if self.host_ports.has(port) {
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
        let mut text = format!(
            "{} of {} routers with {} each",
            if self.wraps { "torus" } else { "mesh" },
            sizes.join(" x "),
            counted(self.host_ports.count(), "host"),
        );
        if self.dimensions.iter().any(|dimension| dimension.links > 1) {
            let links: Vec<String> = self.dimensions.iter().map(|d| d.links.to_string()).collect();
            text += &format!(", {} parallel links", links.join(" x "));
        }
        text
    }

    fn shape(&self) -> Shape<'_> {
        Shape::Cartesian(self)
    }

    fn router_links(&self) -> u64 {
        let routers = u64::from(self.routers);
        let of_dimension = |dimension: &CartesianDimension| {
            let links = 2 * u64::from(dimension.links);
            match (self.wraps, u64::from(dimension.size.get())) {
                (_, 1) => 0,
                (true, _) => links * routers,
                (false, size) => links * (routers / size) * (size - 1),
            }
        };
        self.dimensions.iter().map(of_dimension).sum()
    }

    /// Translations and reflections map a torus onto itself.
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
        let CartesianDimension { size, stride, .. } = self.dimensions[dimension];
        size.remainder(stride.quotient(router.0))
    }

    fn links(&self, dimension: usize) -> u32 {
        self.dimensions[dimension].links
    }

    fn step_port(&self, _: RouterId, dimension: usize, up: bool, cable: u32) -> Port {
        let CartesianDimension {
            links, first_port, ..
        } = self.dimensions[dimension];
        Port((first_port + cable + if up { 0 } else { links }) as u16)
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
