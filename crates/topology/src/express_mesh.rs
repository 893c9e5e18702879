//! Express mesh: a mesh with additional long links in every line.
//!
//! Sources: W. J. Dally, "Express cubes: improving the performance of k-ary n-cube interconnection networks", IEEE
//! Trans. Computers 40(9), 1991, for links that pass over the neighbours; the choice of links is that of CODES'
//! model of this name (N. Jain, A. Bhatele et al.): in every line, a router is linked to the routers at distance 1,
//! 1 + g, 1 + 2g, ..., where g is the gap. With a gap of 1 a line is all-to-all (HyperX). With a gap of the size of
//! the line it is that of a mesh.
//!
//! In one dimension, let d be the difference of the coordinates, and r the number from 1 to g that equals d modulo
//! g. A path without turns has r steps, of which one is long. Every step changes the remainder by one modulo g. So
//! g - r + 1 steps back and one forward are a path too, if the line has this many routers outside of the two. If
//! d > g, g - r + 2 back and two forward are a path that turns between them. The distance is the least of r,
//! g - r + 2 and g - r + 4 among the possible ones.
//!
//! Router number: dimension 0 varies fastest. Ports of a router: its hosts; then for each dimension one for each
//! distance upwards (1, 1 + g, ... to the longest that fits the line), and as many downwards. Ports that lead out
//! of the mesh are not wired.

use std::sync::Arc;

use config::{Error, OneOrEach, Section, Type, parameters};

use crate::cartesian::{LINK_CLASSES, grid_sides};
use crate::host_ports::HostPorts;
use crate::size::{FEW_DIMENSIONS, SIZED, count, counted, each, nonzero, ports, sizes};
use crate::sizing::ChosenParameters;
use crate::{
    Divisor, Graph, HOST_LINK, HostId, Kind, Layout, LinkClass, Peer, Port, RouterId, Shape, SizingRule,
    Straight, Topology, pick,
};

pub(crate) const KIND: Kind = Kind {
    name: "express-mesh",
    summary: "mesh with links to every gap-th router behind the neighbour (Dally 1991, CODES express mesh)",
    parameters: parameters! {
        required_or("sizes", Type::INTEGERS, SIZED,
            "routers in each dimension, 1 to 8 dimensions, for example [8, 8, 8]");
        required_or("gap", Type::ONE_OR_EACH, SIZED,
            "g: links go to the routers 1, 1 + g, 1 + 2g, ... away, one number or a list with one for each \
             dimension");
        integer("hosts_per_router", 1, "hosts on every router");
    },
    example: "sizes = [7, 3]\ngap = [3, 2]\n",
    build: |section| Ok(Box::new(ExpressMesh::read(section)?)),
    sizing: Some(SizingRule {
        summary: "the grid has three dimensions, or as many as `gap` lists, or as the ports allow, sides within a factor \
                  of two, and the smallest gap from 2 on whose links fit the ports, unless it is given",
        determines: &["sizes"],
        choose: sized,
    }),
};

/// The grid of a mesh with as many links as the ports allow. A gap of 1 would be a HyperX.
fn sized(section: &Section, hosts: u64, radix: u32) -> Result<Option<ChosenParameters>, Error> {
    let per_router = HostPorts::read(section, "hosts_per_router")?.count();
    let given = match section.has("gap") {
        true => Some(section.required::<OneOrEach>("gap")?),
        false => None,
    };
    let dimensions = match &given {
        Some(OneOrEach::Each(gaps)) => Some(gaps.len()),
        _ => None,
    };
    if dimensions.is_some_and(|number| !(1..=FEW_DIMENSIONS).contains(&number)) {
        return Err(section.error("gap", format!("expected 1 to {FEW_DIMENSIONS} dimensions")));
    }
    if let Some(gap) = &given {
        let gaps = match gap {
            OneOrEach::One(gap) => std::slice::from_ref(gap),
            OneOrEach::Each(gaps) => gaps,
        };
        for gap in gaps {
            nonzero(section, "gap", *gap)?;
        }
    }
    let fits = |sides: &[u32], gap: &OneOrEach| {
        let gap_of = |dimension: usize| match gap {
            OneOrEach::One(gap) => *gap,
            OneOrEach::Each(gaps) => gaps[dimension],
        };
        let links = sides.iter().enumerate();
        let links = links.map(|(dimension, side)| 2 * u64::from(reaches(*side, gap_of(dimension))));
        u64::from(per_router) + links.sum::<u64>() <= radix.into()
    };
    let gap_for = |sides: &[u32]| {
        let gaps = match &given {
            Some(gap) => vec![gap.clone()],
            // A gap of the longest side leaves the links of a mesh.
            None => (2..=sides.iter().copied().max().unwrap_or(2).max(2))
                .map(OneOrEach::One)
                .collect(),
        };
        gaps.into_iter().find(|gap| fits(sides, gap))
    };
    let sizes = grid_sides(hosts, per_router, dimensions, |sides| gap_for(sides).is_some());
    Ok(sizes.map(|sizes| {
        let gap = gap_for(&sizes).expect("the sides fit with a gap");
        vec![("sizes", OneOrEach::Each(sizes)), ("gap", gap)]
    }))
}

/// Number of links of different lengths in a line: it has the differences 1 to size - 1.
fn reaches(size: u32, gap: u32) -> u32 {
    if size > 1 { (size - 2) / gap + 1 } else { 0 }
}

#[derive(Debug)]
struct ExpressMesh {
    dimensions: Vec<ExpressMeshDimension>,
    host_ports: HostPorts,
    hosts: u32,
    routers: u32,
    diameter: u32,
    ports: u16,
}

#[derive(Clone, Copy, Debug)]
struct ExpressMeshDimension {
    size: Divisor,
    /// Difference of the router numbers of neighbours in this dimension.
    stride: Divisor,
    gap: Divisor,
    /// Number of ports that lead upwards, which is also the number of ports downwards.
    reaches: u32,
    first_port: u32,
}

/// A port between routers.
#[derive(Clone, Copy)]
struct ExpressPort {
    dimension: usize,
    up: bool,
    /// Number of gaps beyond the neighbour.
    reach: u32,
}

impl ExpressMeshDimension {
    #[inline]
    fn coordinate(self, router: RouterId) -> u32 {
        self.size.remainder(self.stride.quotient(router.0))
    }

    /// Length of a link in the line.
    #[inline]
    fn length(self, reach: u32) -> u32 {
        1 + reach * self.gap.get()
    }

    /// The coordinate at the end of a step, if it is in the mesh.
    #[inline]
    fn next(self, here: u32, up: bool, reach: u32) -> Option<u32> {
        let length = self.length(reach);
        if up {
            (length < self.size.get() - here).then(|| here + length)
        } else {
            here.checked_sub(length)
        }
    }

    #[inline]
    fn port(self, up: bool, reach: u32) -> Port {
        Port((self.first_port + reach + if up { 0 } else { self.reaches }) as u16)
    }

    /// The least number of links between two coordinates.
    #[inline]
    fn distance(self, from: u32, to: u32) -> u32 {
        let difference = from.abs_diff(to);
        if difference == 0 {
            return 0;
        }
        let gap = self.gap.get();
        let straight = self.gap.remainder(difference - 1) + 1;
        let back = gap - straight + 1;
        let outside = self.size.get() - 1 - difference;
        let turning = match (outside >= back, difference > gap) {
            (true, _) => back + 1,
            (false, true) => back + 3,
            (false, false) => straight,
        };
        straight.min(turning)
    }
}

impl ExpressMesh {
    fn read(section: &Section) -> Result<ExpressMesh, Error> {
        let sizes = sizes(section, "sizes", FEW_DIMENSIONS)?;
        let gaps = each(section, "gap", sizes.len())?;
        let host_ports = HostPorts::read(section, "hosts_per_router")?;
        let routers = count(section, "sizes", "routers", &sizes)?;
        let hosts = count(
            section,
            "hosts_per_router",
            "hosts",
            &[routers, host_ports.count()],
        )?;
        let mut port_counts = vec![host_ports.count()];
        for (size, gap) in sizes.iter().zip(&gaps) {
            port_counts.push(count(section, "gap", "links", &[2, reaches(*size, *gap)])?);
        }
        let ports = ports(section, "gap", &port_counts)?;
        let (mut stride, mut first_port) = (1, host_ports.count());
        let dimensions = sizes.iter().zip(&gaps).map(|(size, gap)| {
            let dimension = ExpressMeshDimension {
                size: Divisor::new(*size),
                stride: Divisor::new(stride),
                gap: Divisor::new(*gap),
                reaches: reaches(*size, *gap),
                first_port,
            };
            stride *= size;
            first_port += 2 * dimension.reaches;
            dimension
        });
        let dimensions: Vec<ExpressMeshDimension> = dimensions.collect();
        Ok(ExpressMesh {
            diameter: dimensions.iter().map(|dimension| width(*dimension)).sum(),
            dimensions,
            host_ports,
            hosts,
            routers,
            ports,
        })
    }

    /// Decodes a port between routers.
    fn decode(&self, port: Port) -> ExpressPort {
        let port = u32::from(port.0);
        let mut dimensions = self.dimensions.iter().enumerate();
        // A dimension without ports begins at the same port as the next one.
        let found = dimensions.find(|(_, d)| port < d.first_port + 2 * d.reaches);
        let (dimension, found) = found.expect("the port exists");
        let index = port - found.first_port;
        match index.checked_sub(found.reaches) {
            None => ExpressPort {
                dimension,
                up: true,
                reach: index,
            },
            Some(reach) => ExpressPort {
                dimension,
                up: false,
                reach,
            },
        }
    }

    /// The dimensions in which two routers differ, with the coordinates of both.
    fn differences(
        &self,
        from: RouterId,
        to: RouterId,
    ) -> impl Iterator<Item = (ExpressMeshDimension, u32, u32)> {
        let (mut from, mut to) = (from.0, to.0);
        let coordinates = self.dimensions.iter().map(move |dimension| {
            let (a, b);
            (from, a) = dimension.size.divide(from);
            (to, b) = dimension.size.divide(to);
            (*dimension, a, b)
        });
        coordinates.filter(|(_, a, b)| a != b)
    }

    /// The ports with which a shortest path begins, dimension by dimension.
    fn first_ports(&self, from: RouterId, to: RouterId) -> impl Iterator<Item = Port> {
        self.differences(from, to).flat_map(|(dimension, here, there)| {
            let distance = dimension.distance(here, there);
            let both = [true, false].into_iter();
            let ways = both.flat_map(move |up| (0..dimension.reaches).map(move |reach| (up, reach)));
            ways.filter(move |(up, reach)| {
                let next = dimension.next(here, *up, *reach);
                next.is_some_and(|next| dimension.distance(next, there) < distance)
            })
            .map(move |(up, reach)| dimension.port(up, reach))
        })
    }
}

/// The greatest distance in a line. Among differences that are equal modulo the gap, the greatest one has the least
/// space outside. It is not enough to turn back there if r is at most t, the greatest of all differences modulo the
/// gap, or if t is 0.
fn width(dimension: ExpressMeshDimension) -> u32 {
    let (most, gap) = (dimension.size.get() - 1, dimension.gap.get());
    // Turning back helps most where r equals g - r + 2 or g - r + 4.
    let (outside, inside) = (gap / 2 + 1, gap / 2 + 2);
    match dimension.gap.remainder(most) {
        _ if most <= gap => most,
        0 => gap.min(inside),
        t => outside.max(t.min(inside)),
    }
}

impl Topology for ExpressMesh {
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
        let way = self.decode(port);
        let dimension = self.dimensions[way.dimension];
        let here = dimension.coordinate(router);
        let Some(there) = dimension.next(here, way.up, way.reach) else {
            return Peer::Unwired;
        };
        let origin = router.0 - here * dimension.stride.get();
        Peer::Router(
            RouterId(origin + there * dimension.stride.get()),
            dimension.port(!way.up, way.reach),
        )
    }

    fn attachment(&self, host: HostId) -> (RouterId, Port) {
        self.host_ports.attachment(host)
    }

    fn distance(&self, from: RouterId, to: RouterId) -> u32 {
        let differences = self.differences(from, to);
        differences
            .map(|(dimension, here, there)| dimension.distance(here, there))
            .sum()
    }

    fn link_classes(&self) -> Vec<&str> {
        const CLASSES: &[&str] = &LINK_CLASSES;
        CLASSES[..=self.dimensions.len()].to_vec()
    }

    fn link_class(&self, _: RouterId, port: Port) -> LinkClass {
        if self.host_ports.has(port) {
            return HOST_LINK;
        }
        LinkClass(self.decode(port).dimension as u8 + 1)
    }

    fn coordinates(&self, router: RouterId) -> String {
        let coordinates = self.dimensions.iter().map(|d| d.coordinate(router).to_string());
        format!("({})", coordinates.collect::<Vec<_>>().join(", "))
    }

    fn describe(&self) -> String {
        let joined = |number: fn(&ExpressMeshDimension) -> u32| {
            let numbers: Vec<String> = self.dimensions.iter().map(|d| number(d).to_string()).collect();
            numbers.join(" x ")
        };
        format!(
            "express mesh of {} routers with {} each, gap {}",
            joined(|dimension| dimension.size.get()),
            counted(self.host_ports.count(), "host"),
            joined(|dimension| dimension.gap.get()),
        )
    }

    fn into_graph(self: Arc<Self>) -> Option<Arc<dyn Graph>> {
        Some(self)
    }

    fn shape(&self) -> Shape<'_> {
        Shape::Graph(self)
    }

    fn layout(&self) -> Layout<'_> {
        Layout::Grid(self.dimensions.iter().map(|d| d.size.get()).collect())
    }

    fn router_links(&self) -> u64 {
        let of_dimension = |dimension: &ExpressMeshDimension| {
            let size = dimension.size.get();
            let lines = u64::from(self.routers / size);
            // A link of that length begins at all routers except the last ones, in both directions.
            let lengths = (0..dimension.reaches).map(|reach| dimension.length(reach));
            2 * lines * lengths.map(|length| u64::from(size - length)).sum::<u64>()
        };
        self.dimensions.iter().map(of_dimension).sum()
    }
}

impl Graph for ExpressMesh {
    fn diameter(&self) -> u32 {
        self.diameter
    }

    /// Visits all ports of the dimensions in which the routers differ.
    fn shortest_path(&self, from: RouterId, to: RouterId, draw: u32) -> (Port, u32) {
        let choices = self.first_ports(from, to).count() as u32;
        let (chosen, draw) = pick(draw, choices);
        let port = self.first_ports(from, to).nth(chosen as usize);
        // The last link is the only one between its routers.
        let left = if self.distance(from, to) > 2 { draw } else { 0 };
        (port.expect("the routers differ"), left)
    }

    fn shortest_ports(&self, from: RouterId, to: RouterId, each: &mut dyn FnMut(Port)) {
        self.first_ports(from, to).for_each(each);
    }

    fn neighbourhood(&self) -> u32 {
        let last = self.dimensions.last().expect("at least one dimension");
        last.stride.get()
    }

    fn straight(&self) -> Option<&dyn Straight> {
        Some(self)
    }
}

impl Straight for ExpressMesh {
    /// Takes the longest link that does not overshoot, then steps of one.
    fn straight_port(&self, from: RouterId, to: RouterId) -> Port {
        let first = self.differences(from, to).next();
        let (dimension, here, there) = first.expect("the routers differ");
        let reach = dimension.gap.quotient(here.abs_diff(there) - 1);
        dimension.port(there > here, reach)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built(parameters: &str) -> ExpressMesh {
        let section = Section::from_toml(parameters, "x.toml").unwrap();
        ExpressMesh::read(section.declare(KIND.parameters)).unwrap()
    }

    #[test]
    fn links_are_those_of_codes() {
        let line = built("sizes = [9]\ngap = 3");
        let neighbours = |router| -> Vec<u32> {
            let next = |port| match line.peer(RouterId(router), Port(port)) {
                Peer::Router(next, _) => Some(next.0),
                _ => None,
            };
            (0..line.ports).filter_map(next).collect()
        };
        assert_eq!(neighbours(0), [1, 4, 7]);
        assert_eq!(neighbours(4), [5, 8, 3, 0]);
        assert_eq!(neighbours(8), [7, 4, 1]);
    }

    #[test]
    fn gap_1_is_all_to_all_and_a_large_one_a_mesh() {
        assert_eq!(built("sizes = [5, 4]\ngap = 1").diameter, 2);
        assert_eq!(built("sizes = [5, 4]\ngap = 1").router_links(), 20 * (4 + 3));
        assert_eq!(built("sizes = [5, 4]\ngap = 9").diameter, 4 + 3);
        assert_eq!(
            built("sizes = [5, 4]\ngap = 9").router_links(),
            2 * (4 * 4 + 5 * 3)
        );
    }

    #[test]
    fn turning_back_can_be_shorter() {
        let line = built("sizes = [12]\ngap = 5");
        // The path has 5 steps of 1, or 6 forwards and 1 back.
        assert_eq!(line.distance(RouterId(3), RouterId(8)), 2);
        // The path goes 11 forwards, 4 back, 21 forwards.
        let ends = built("sizes = [29]\ngap = 10");
        assert_eq!(ends.distance(RouterId(0), RouterId(28)), 6);
        // A line of 6 routers has no router beyond these.
        assert_eq!(
            built("sizes = [6]\ngap = 5").distance(RouterId(0), RouterId(5)),
            5
        );
    }
}
