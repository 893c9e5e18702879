//! HyperX: a grid of any number of dimensions, all-to-all within each.
//!
//! Source: J. H. Ahn, N. Binkert, A. Davis, M. McLaren, R. S. Schreiber, "HyperX: topology, routing, and packaging
//! of efficient large-scale networks", SC 2009. There (L, S, K, T) are the number of dimensions, their sizes (here
//! `shape`), the links between two routers (`width`) and the hosts of a router. A hypercube has size 2 in every
//! dimension. A flattened butterfly (J. Kim, W. J. Dally, D. Abts, ISCA 2007) has equal sizes and as many hosts on
//! a router. One dimension gives a full mesh.
//!
//! Router number: dimension 0 varies fastest. Ports of a router: first its hosts, then dimension by dimension;
//! within a dimension, cable by cable, the other coordinates in their order.

use std::sync::Arc;

use config::{DefaultValue, Error, OneOrEach, Section, Type, parameters};

use crate::cartesian::LINK_CLASSES;
use crate::host_ports::HostPorts;
use crate::size::{FEW_DIMENSIONS, SIZED, count, counted, each, nonzero, ports, sizes};
use crate::sizing::{ChosenParameters, one, smallest};
use crate::{
    Divisor, Graph, HOST_LINK, HostId, HyperX, Kind, LinkClass, Peer, Port, RouterId, Shape, SizingRule,
    Topology, pick,
};

pub(crate) const KIND: Kind = Kind {
    name: "hyperx",
    summary: "grid of any number of dimensions, all-to-all within each (Ahn et al. 2009)",
    parameters: parameters! {
        required_or("shape", Type::INTEGERS, SIZED,
            "routers in each dimension, 1 to 8 dimensions, for example [4, 4, 4]");
        new("width", Type::ONE_OR_EACH, DefaultValue::Integer(1),
            "links between two routers of a dimension, one number or a list with one for each");
        integer("hosts_per_router", 1, "hosts on every router");
    },
    example: "shape = [3, 2, 3]\nwidth = [1, 2, 1]\n",
    build: |section| Ok(Box::new(AllToAll::read(section)?)),
    sizing: Some(SizingRule {
        summary: "sides differ by one at most, and a router has no more hosts than the routers of a line times their \
                  links, which uniform traffic then cannot overload (Kim et al. 2007; Ahn et al. 2009, relative \
                  bisection 1/2 or more), and there are two dimensions or more, or those of width",
        determines: &["shape", "hosts_per_router"],
        choose: sized,
    }),
};

/// The smallest network with these hosts whose relative bisection, min S K / (2 T) of Ahn et al. 2009, is at least 1/2.
fn sized(section: &Section, hosts: u64, radix: u32) -> Result<Option<ChosenParameters>, Error> {
    let (width, dimensions) = match section.get("width")? {
        OneOrEach::One(width) => (
            vec![nonzero(section, "width", width)?; FEW_DIMENSIONS],
            2..=FEW_DIMENSIONS,
        ),
        OneOrEach::Each(each) => {
            for width in &each {
                nonzero(section, "width", *width)?;
            }
            let dimensions = each.len();
            (each, dimensions..=dimensions)
        }
    };
    let width: Vec<u64> = width.into_iter().map(u64::from).collect();
    let mut candidates = Vec::new();
    for dimensions in dimensions {
        // The last sides are those that are longer by one.
        'sides: for side in 2..=u64::from(radix) {
            for longer in 0..dimensions.min(width.len()) {
                let shape: Vec<u64> = (0..dimensions)
                    .map(|dimension| side + u64::from(dimension + longer >= dimensions))
                    .collect();
                let with_width = || shape.iter().zip(&width);
                let links: u64 = with_width()
                    .map(|(side, width)| (side - 1).saturating_mul(*width))
                    .sum();
                let Some(free) = u64::from(radix).checked_sub(links) else {
                    break 'sides;
                };
                let balanced = with_width().map(|(side, width)| side * width).min().unwrap_or(0);
                let routers = shape
                    .iter()
                    .fold(1u64, |product, side| product.saturating_mul(*side));
                let per_router = hosts.div_ceil(routers).max(1);
                if per_router <= free.min(balanced) {
                    candidates.push((routers, routers.saturating_mul(per_router), (shape, per_router)));
                }
            }
        }
    }
    Ok(smallest(candidates.into_iter()).map(|(shape, per_router)| {
        let shape = shape.into_iter().map(|side| side as u32).collect();
        vec![
            ("shape", OneOrEach::Each(shape)),
            ("hosts_per_router", one(per_router)),
        ]
    }))
}

#[derive(Debug)]
struct AllToAll {
    dimensions: Vec<HyperXDimension>,
    host_ports: HostPorts,
    hosts: u32,
    routers: u32,
    ports: u16,
}

#[derive(Clone, Copy, Debug)]
struct HyperXDimension {
    size: Divisor,
    /// Difference of the numbers of two routers whose coordinates in this dimension differ by one.
    stride: Divisor,
    /// Number of other coordinates, size - 1, but at least 1.
    others: Divisor,
    /// Number of parallel links.
    width: u32,
    first_port: u32,
    /// The port behind the last one of this dimension.
    end_port: u32,
}

impl HyperXDimension {
    #[inline]
    fn coordinate(self, router: RouterId) -> u32 {
        self.size.remainder(self.stride.quotient(router.0))
    }

    /// The port at coordinate `here` that leads to coordinate `there`.
    #[inline]
    fn port(self, here: u32, there: u32, cable: u32) -> Port {
        let position = if there < here { there } else { there - 1 };
        Port((self.first_port + cable * self.others.get() + position) as u16)
    }
}

impl AllToAll {
    fn read(section: &Section) -> Result<AllToAll, Error> {
        let shape = sizes(section, "shape", FEW_DIMENSIONS)?;
        let width = each(section, "width", shape.len())?;
        let host_ports = HostPorts::read(section, "hosts_per_router")?;
        let hosts_per_router = host_ports.count();
        let routers = count(section, "shape", "routers", &shape)?;
        let hosts = count(section, "hosts_per_router", "hosts", &[routers, hosts_per_router])?;
        let mut links = vec![hosts_per_router];
        for (size, width) in shape.iter().zip(&width) {
            links.push(count(section, "width", "links", &[size - 1, *width])?);
        }
        let ports = ports(section, "shape", &links)?;
        let (mut stride, mut first_port) = (1, hosts_per_router);
        let dimensions = shape.iter().zip(&width).map(|(size, width)| {
            let dimension = HyperXDimension {
                size: Divisor::new(*size),
                stride: Divisor::new(stride),
                others: Divisor::new((size - 1).max(1)),
                width: *width,
                first_port,
                end_port: first_port + (size - 1) * width,
            };
            (stride, first_port) = (stride * size, dimension.end_port);
            dimension
        });
        Ok(AllToAll {
            dimensions: dimensions.collect(),
            host_ports,
            hosts,
            routers,
            ports,
        })
    }

    /// The dimension of a port between routers, and its index.
    fn dimension(&self, port: Port) -> (usize, HyperXDimension) {
        let mut dimensions = self.dimensions.iter().copied().enumerate();
        let found = dimensions.find(|(_, dimension)| u32::from(port.0) < dimension.end_port);
        found.expect("the port exists")
    }

    /// The dimensions in which two routers differ, with the coordinates of both.
    fn differences(&self, from: RouterId, to: RouterId) -> impl Iterator<Item = (usize, u32, u32)> {
        let (mut from, mut to) = (from.0, to.0);
        let coordinates = self.dimensions.iter().enumerate().map(move |(index, dimension)| {
            let (a, b);
            (from, a) = dimension.size.divide(from);
            (to, b) = dimension.size.divide(to);
            (index, a, b)
        });
        coordinates.filter(|(_, a, b)| a != b)
    }
}

impl Topology for AllToAll {
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
        let (_, dimension) = self.dimension(port);
        let (cable, position) = dimension.others.divide(u32::from(port.0) - dimension.first_port);
        let here = dimension.coordinate(router);
        let there = if position < here { position } else { position + 1 };
        let origin = router.0 - here * dimension.stride.get();
        Peer::Router(
            RouterId(origin + there * dimension.stride.get()),
            dimension.port(there, here, cable),
        )
    }

    fn attachment(&self, host: HostId) -> (RouterId, Port) {
        self.host_ports.attachment(host)
    }

    fn distance(&self, from: RouterId, to: RouterId) -> u32 {
        self.differences(from, to).count() as u32
    }

    fn link_classes(&self) -> Vec<&str> {
        const CLASSES: &[&str] = &LINK_CLASSES;
        CLASSES[..=self.dimensions.len()].to_vec()
    }

    fn link_class(&self, _: RouterId, port: Port) -> LinkClass {
        if self.host_ports.has(port) {
            return HOST_LINK;
        }
        LinkClass(self.dimension(port).0 as u8 + 1)
    }

    fn coordinates(&self, router: RouterId) -> String {
        let coordinates: Vec<String> = self
            .dimensions
            .iter()
            .map(|dimension| dimension.coordinate(router).to_string())
            .collect();
        format!("({})", coordinates.join(", "))
    }

    fn describe(&self) -> String {
        let joined = |number: fn(&HyperXDimension) -> u32| {
            let numbers: Vec<String> = self.dimensions.iter().map(|d| number(d).to_string()).collect();
            numbers.join(" x ")
        };
        let mut text = format!(
            "HyperX of {} routers with {} each",
            joined(|dimension| dimension.size.get()),
            counted(self.host_ports.count(), "host"),
        );
        if self.dimensions.iter().any(|dimension| dimension.width > 1) {
            text += &format!(", {} parallel links", joined(|dimension| dimension.width));
        }
        text
    }

    fn into_graph(self: Arc<Self>) -> Option<Arc<dyn Graph>> {
        Some(self)
    }

    fn shape(&self) -> Shape<'_> {
        Shape::HyperX(self)
    }

    fn router_links(&self) -> u64 {
        u64::from(self.routers) * u64::from(u32::from(self.ports) - self.host_ports.count())
    }

    /// Permutations of the coordinates of a dimension map a HyperX onto itself.
    fn is_symmetric(&self) -> bool {
        true
    }
}

impl Graph for AllToAll {
    fn diameter(&self) -> u32 {
        let wide = |dimension: &&HyperXDimension| dimension.size.get() > 1;
        self.dimensions.iter().filter(wide).count() as u32
    }

    /// Every order of the differing dimensions and every choice of parallel links gives a shortest path. The draw
    /// picks with one division per dimension.
    fn shortest_path(&self, from: RouterId, to: RouterId, draw: u32) -> (Port, u32) {
        let distance = self.distance(from, to);
        let (chosen, draw) = pick(draw, distance);
        let chosen = self.differences(from, to).nth(chosen as usize);
        let (index, here, there) = chosen.expect("the routers differ");
        let dimension = self.dimensions[index];
        let (cable, draw) = pick(draw, dimension.width);
        let wider = |(later, _, _): (usize, u32, u32)| later != index && self.dimensions[later].width > 1;
        let choice_left = distance > 2 || self.differences(from, to).any(wider);
        let left = if choice_left { draw } else { 0 };
        (dimension.port(here, there, cable), left)
    }

    fn shortest_shares(&self, from: RouterId, to: RouterId, each: &mut dyn FnMut(Port, f64)) {
        let distance = self.distance(from, to);
        for (index, here, there) in self.differences(from, to) {
            let dimension = self.dimensions[index];
            let share = 1.0 / (f64::from(distance) * f64::from(dimension.width));
            for cable in 0..dimension.width {
                each(dimension.port(here, there, cable), share);
            }
        }
    }

    fn neighbourhood(&self) -> u32 {
        let last = self.dimensions.last().expect("at least one dimension");
        last.stride.get()
    }
}

impl HyperX for AllToAll {
    fn dimensions(&self) -> usize {
        self.dimensions.len()
    }

    fn size(&self, dimension: usize) -> u32 {
        self.dimensions[dimension].size.get()
    }

    fn coordinate(&self, router: RouterId, dimension: usize) -> u32 {
        self.dimensions[dimension].coordinate(router)
    }

    fn first_difference(&self, from: RouterId, to: RouterId) -> Option<(usize, u32)> {
        let first = self.differences(from, to).next();
        first.map(|(dimension, _, there)| (dimension, there))
    }

    fn width(&self, dimension: usize) -> u32 {
        self.dimensions[dimension].width
    }

    fn link_port(&self, from: RouterId, dimension: usize, coordinate: u32, cable: u32) -> Port {
        let dimension = self.dimensions[dimension];
        dimension.port(dimension.coordinate(from), coordinate, cable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parallel_links_join_the_same_two_routers() {
        let text = "shape = [2, 3]\nwidth = [1, 2]\nhosts_per_router = 2";
        let section = Section::from_toml(text, "x.toml").unwrap();
        let network = AllToAll::read(section.declare(KIND.parameters)).unwrap();
        // Two hosts, one link along dimension 0 and two parallel links to each of two routers along dimension 1.
        assert_eq!(network.ports, 7);
        assert_eq!(
            network.peer(RouterId(3), Port(2)),
            Peer::Router(RouterId(2), Port(2))
        );
        assert_eq!(
            network.peer(RouterId(3), Port(3)),
            Peer::Router(RouterId(1), Port(3))
        );
        assert_eq!(
            network.peer(RouterId(3), Port(4)),
            Peer::Router(RouterId(5), Port(4))
        );
        assert_eq!(
            network.peer(RouterId(3), Port(5)),
            Peer::Router(RouterId(1), Port(5))
        );
        assert_eq!(
            network.peer(RouterId(3), Port(6)),
            Peer::Router(RouterId(5), Port(6))
        );
        assert_eq!(network.link_port(RouterId(3), 1, 2, 1), Port(6));
    }
}
