//! Slim Fly: a graph of diameter two, with nearly as many routers as its degree allows.
//!
//! Sources: M. Besta, T. Hoefler, "Slim Fly: a cost effective low-diameter network topology", SC 2014, with the
//! graphs of B. D. McKay, M. Miller, J. Siran, "A note on large graphs of diameter two and given maximum degree",
//! J. Combinatorial Theory B 74, 1998, in the form of P. R. Hafner, "Geometric realisation of the graphs of
//! McKay-Miller-Siran", J. Combinatorial Theory B 90, 2004.
//!
//! q = 4w + d with d = -1, 0 or 1 is a prime power. There are 2 q^2 routers (s, a, b) with s in {0, 1} and a, b in
//! GF(q). The generator sets are X and X' = zX, where z is a primitive element:
//!
//! ```text
//! (0, x, y) - (0, x, y')   if y' - y is in X
//! (1, m, c) - (1, m, c')   if c' - c is in X'
//! (0, x, y) - (1, m, c)    if y = m x + c
//! ```
//!
//! X is 1, z^2, z^4, ..., z^(q-3) for d = 1, and ends with z^(q-2) for d = 0. For d = -1 it has the even powers
//! from 0 to 2w - 2 and the odd ones from 2w - 1 to 4w - 3. Each set contains the negatives of its elements, and
//! both together contain all of GF(q) except 0. Every router then has (3q - d)/2 links, and paths have at most two
//! links: from (0, x, y) to (0, x', y') over the one line (1, m, c) through both points; to (1, m, c) with the
//! difference y - mx - c in X by a first step of this difference, or by a last step if it is in X'; within a column
//! by two steps of its set.
//!
//! Router number: (s q + a) q + b. Ports of a router: its hosts, then one for each element of the
//! generator set in the order above, then one for each a of the other subgraph.

use std::sync::Arc;

use config::{Error, Section, Type, parameters};

use crate::galois::{Field, prime_power};
use crate::host_ports::HostPorts;
use crate::size::{SIZED, count, counted, ports, positive_or};
use crate::sizing::{ChosenParameters, one};
use crate::{
    Divisor, Graph, HOST_LINK, HostId, Kind, Layout, LinkClass, Onward, Peer, Port, RouterId, Shape,
    SizingRule, Topology, pick,
};

pub(crate) const KIND: Kind = Kind {
    name: "slim-fly",
    summary: "routers at most two links apart, nearly as many as possible (Besta and Hoefler 2014)",
    parameters: parameters! {
        required_or("q", Type::Integer, SIZED,
            "power of a prime, at least 3: 2 q^2 routers, each with about 3q/2 links to others");
        computed("hosts_per_router", Type::Integer, "half of its links to routers, rounded up",
            "hosts on every router");
    },
    example: "q = 4\n",
    build: |section| Ok(Box::new(SlimFly::read(section)?)),
    sizing: Some(SizingRule {
        summary: "q is the smallest power of a prime for which at most half as many hosts as links to routers, rounded \
                  up, are on a router (Besta and Hoefler 2014)",
        determines: &["q", "hosts_per_router"],
        choose: |_, hosts, radix| Ok(balanced(hosts, radix)),
    }),
};

/// The smallest network with these hosts that has full global bandwidth: at most half as many hosts as links on a
/// router.
fn balanced(hosts: u64, radix: u32) -> Option<ChosenParameters> {
    let orders = (3..=radix).take_while(|q| degree(*q) < radix);
    let mut fitting = orders.filter(|q| prime_power(*q).is_some()).filter_map(|q| {
        let per_router = hosts.div_ceil(2 * u64::from(q) * u64::from(q)).max(1);
        let fits =
            per_router <= degree(q).div_ceil(2).into() && per_router + u64::from(degree(q)) <= radix.into();
        fits.then_some((q, per_router))
    });
    let (q, per_router) = fitting.next()?;
    Some(vec![("q", one(q.into())), ("hosts_per_router", one(per_router))])
}

const LOCAL_LINK: LinkClass = LinkClass(1);
const GLOBAL_LINK: LinkClass = LinkClass(2);

#[derive(Debug)]
struct SlimFly {
    field: Field,
    /// The order of the field (q).
    q: Divisor,
    /// The generator sets X and X'.
    generators: [Generators; 2],
    host_ports: HostPorts,
    hosts: u32,
    routers: u32,
    /// The first port behind hosts and generators.
    first_global_port: u32,
    ports: u16,
}

/// The differences between neighbours in a column.
#[derive(Debug)]
struct Generators {
    elements: Vec<u16>,
    /// Index of each element of the field in `elements`, or `ABSENT`.
    index: Vec<u16>,
}

const ABSENT: u16 = u16::MAX;

/// A router's coordinates.
#[derive(Clone, Copy, PartialEq, Eq)]
struct SlimFlyRouter {
    subgraph: u32,
    a: u32,
    b: u32,
}

/// The ports of a shortest path between two routers.
#[derive(Clone, Copy)]
enum ShortestPath {
    Link(Port),
    Links(Port, Port),
}

impl ShortestPath {
    fn first(self) -> Port {
        match self {
            ShortestPath::Link(port) | ShortestPath::Links(port, _) => port,
        }
    }
}

impl Generators {
    fn new(field: &Field, exponents: impl Iterator<Item = u32>) -> Generators {
        let elements: Vec<u16> = exponents.map(|e| field.power(e) as u16).collect();
        let mut index = vec![ABSENT; field.order() as usize];
        for (i, element) in elements.iter().enumerate() {
            index[usize::from(*element)] = i as u16;
        }
        Generators { elements, index }
    }

    #[inline]
    fn index(&self, difference: u32) -> Option<u32> {
        let index = self.index[difference as usize];
        (index != ABSENT).then_some(u32::from(index))
    }
}

/// Exponents of the elements of X.
fn exponents(q: u32) -> Vec<u32> {
    if q % 4 == 3 {
        let w = q.div_ceil(4);
        let even = (0..w).map(|i| 2 * i);
        even.chain((0..w).map(|i| 2 * w - 1 + 2 * i)).collect()
    } else {
        (0..q / 2).map(|i| 2 * i).collect()
    }
}

/// Number of links of a router to other routers.
fn degree(q: u32) -> u32 {
    q + match q % 4 {
        3 => q / 2 + 1,
        _ => q / 2,
    }
}

/// Names the possible numbers: all prime powers except 2 have one of the three forms.
fn refuse(section: &Section, q: u32) -> Error {
    let buildable = |q: &u32| *q > 2 && prime_power(*q).is_some();
    let below = (0..q).rev().find(buildable);
    let above = (q..).find(buildable);
    let nearest: Vec<String> = below.into_iter().chain(above).map(|q| q.to_string()).collect();
    section.error(
        "q",
        format!(
            "{q} is not a power of a prime of the form 4w - 1, 4w or 4w + 1; nearest: {}",
            nearest.join(" and ")
        ),
    )
}

impl SlimFly {
    fn read(section: &Section) -> Result<SlimFly, Error> {
        let q: u32 = section.required("q")?;
        let routers = count(section, "q", "routers", &[2, q, q])?;
        let (p, k) = prime_power(q)
            .filter(|_| q > 2)
            .ok_or_else(|| refuse(section, q))?;
        let degree = degree(q);
        let host_ports = HostPorts::new(positive_or(section, "hosts_per_router", degree.div_ceil(2))?);
        let hosts_per_router = host_ports.count();
        let ports = ports(section, "q", &[hosts_per_router, degree])?;
        let hosts = count(section, "q", "hosts", &[routers, hosts_per_router])?;
        let field = Field::new(p, k);
        let of_first = exponents(q);
        let generators =
            [0, 1].map(|subgraph| Generators::new(&field, of_first.iter().map(|e| e + subgraph)));
        Ok(SlimFly {
            field,
            q: Divisor::new(q),
            first_global_port: hosts_per_router + of_first.len() as u32,
            generators,
            host_ports,
            hosts,
            routers,
            ports,
        })
    }

    #[inline]
    fn place(&self, router: RouterId) -> SlimFlyRouter {
        let (column, b) = self.q.divide(router.0);
        let subgraph = u32::from(column >= self.q.get());
        SlimFlyRouter {
            subgraph,
            a: column - subgraph * self.q.get(),
            b,
        }
    }

    #[inline]
    fn router(&self, place: SlimFlyRouter) -> RouterId {
        RouterId((place.subgraph * self.q.get() + place.a) * self.q.get() + place.b)
    }

    /// The neighbour of a router in column `a` of the other subgraph.
    #[inline]
    fn across(&self, place: SlimFlyRouter, a: u32) -> SlimFlyRouter {
        let product = self.field.multiply(place.a, a);
        let b = match place.subgraph {
            0 => self.field.subtract(place.b, product),
            _ => self.field.add(place.b, product),
        };
        SlimFlyRouter {
            subgraph: 1 - place.subgraph,
            a,
            b,
        }
    }

    #[inline]
    fn generators(&self, place: SlimFlyRouter) -> &Generators {
        &self.generators[place.subgraph as usize]
    }

    /// Index of the generator that leads from one router to another one of its column, if they are
    /// neighbours.
    #[inline]
    fn step(&self, from: SlimFlyRouter, to: SlimFlyRouter) -> Option<u32> {
        self.generators(from).index(self.field.subtract(to.b, from.b))
    }

    #[inline]
    fn local_port(&self, generator: u32) -> Port {
        Port((self.host_ports.count() + generator) as u16)
    }

    #[inline]
    fn global_port(&self, a: u32) -> Port {
        Port((self.first_global_port + a) as u16)
    }

    /// Within a column: one link, or two, where each generator can be the first.
    fn along_column(&self, from: SlimFlyRouter, to: SlimFlyRouter, draw: u32) -> ShortestPath {
        let difference = self.field.subtract(to.b, from.b);
        let generators = self.generators(from);
        if let Some(generator) = generators.index(difference) {
            return ShortestPath::Link(self.local_port(generator));
        }
        let ways = generators
            .elements
            .iter()
            .zip(0..)
            .filter_map(|(element, first)| {
                let rest = self.field.subtract(difference, u32::from(*element));
                Some((first, generators.index(rest)?))
            });
        let (index, _) = pick(draw, ways.clone().count() as u32);
        let (first, second) = ways
            .clone()
            .nth(index as usize)
            .expect("two steps lead everywhere in a column");
        ShortestPath::Links(self.local_port(first), self.local_port(second))
    }

    /// Between columns of one subgraph: over the only common neighbour in the other subgraph.
    fn across_and_back(&self, from: SlimFlyRouter, to: SlimFlyRouter) -> ShortestPath {
        let f = &self.field;
        let rise = f.divide(f.subtract(from.b, to.b), f.subtract(from.a, to.a));
        // y - y' = m (x - x') in subgraph 0, c - c' = -x (m - m') in subgraph 1.
        let over = match from.subgraph {
            0 => rise,
            _ => f.subtract(0, rise),
        };
        ShortestPath::Links(self.global_port(over), self.global_port(to.a))
    }

    /// To the other subgraph: one link, or a step in the first or in the last column.
    fn to_other_subgraph(&self, from: SlimFlyRouter, to: SlimFlyRouter, draw: u32) -> ShortestPath {
        let f = &self.field;
        // The difference by which the direct link misses.
        let (product, difference) = (f.multiply(from.a, to.a), f.subtract(to.b, from.b));
        let step = match from.subgraph {
            0 => f.add(difference, product),
            _ => f.subtract(difference, product),
        };
        let across = self.global_port(to.a);
        if step == 0 {
            return ShortestPath::Link(across);
        }
        let [first, last] = [from, to].map(|place| self.generators(place).index(step));
        match (first, last) {
            (Some(generator), None) => ShortestPath::Links(self.local_port(generator), across),
            (Some(generator), Some(_)) if pick(draw, 2).0 == 0 => {
                ShortestPath::Links(self.local_port(generator), across)
            }
            (_, Some(generator)) => ShortestPath::Links(across, self.local_port(generator)),
            (None, None) => unreachable!("the two sets of generators hold all steps"),
        }
    }

    /// Costs a few products and sums. In a column whose routers are not neighbours, it searches the set of generators
    /// (q/2) for the first steps. One in 4q destinations is such.
    #[inline]
    fn path(&self, from: RouterId, to: RouterId, draw: u32) -> ShortestPath {
        let (from, to) = (self.place(from), self.place(to));
        if from.subgraph != to.subgraph {
            self.to_other_subgraph(from, to, draw)
        } else if from.a != to.a {
            self.across_and_back(from, to)
        } else {
            self.along_column(from, to, draw)
        }
    }
}

impl Topology for SlimFly {
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
        let (hosts, port) = (self.host_ports.count(), u32::from(port.0));
        let place = self.place(router);
        if port >= self.first_global_port {
            let other = self.across(place, port - self.first_global_port);
            return Peer::Router(self.router(other), self.global_port(place.a));
        }
        let element = self.generators(place).elements[(port - hosts) as usize];
        let b = self.field.add(place.b, u32::from(element));
        let other = SlimFlyRouter { b, ..place };
        let back = self.step(other, place).expect("generators hold their negatives");
        Peer::Router(self.router(other), self.local_port(back))
    }

    fn attachment(&self, host: HostId) -> (RouterId, Port) {
        self.host_ports.attachment(host)
    }

    fn distance(&self, from: RouterId, to: RouterId) -> u32 {
        if from == to {
            return 0;
        }
        let (from, to) = (self.place(from), self.place(to));
        let linked = if from.subgraph != to.subgraph {
            self.across(from, to.a) == to
        } else {
            from.a == to.a && self.step(from, to).is_some()
        };
        if linked { 1 } else { 2 }
    }

    fn link_classes(&self) -> Vec<&str> {
        vec!["host", "local", "global"]
    }

    fn link_class(&self, _: RouterId, port: Port) -> LinkClass {
        if self.host_ports.has(port) {
            HOST_LINK
        } else if u32::from(port.0) < self.first_global_port {
            LOCAL_LINK
        } else {
            GLOBAL_LINK
        }
    }

    fn coordinates(&self, router: RouterId) -> String {
        let SlimFlyRouter { subgraph, a, b } = self.place(router);
        format!("subgraph {subgraph}, ({a}, {b})")
    }

    fn describe(&self) -> String {
        format!(
            "Slim Fly with q = {} of {} routers with {} and {} to routers each",
            self.q.get(),
            self.routers,
            counted(self.host_ports.count(), "host"),
            counted(degree(self.q.get()), "link"),
        )
    }

    fn into_graph(self: Arc<Self>) -> Option<Arc<dyn Graph>> {
        Some(self)
    }

    fn shape(&self) -> Shape<'_> {
        Shape::Graph(self)
    }

    /// The two subgraphs are drawn side by side.
    fn layout(&self) -> Layout<'_> {
        let q = self.q.get();
        Layout::Columns {
            blocks: 2,
            columns: q,
            rows: q,
        }
    }

    fn router_links(&self) -> u64 {
        u64::from(self.routers) * u64::from(degree(self.q.get()))
    }
}

impl Graph for SlimFly {
    fn diameter(&self) -> u32 {
        2
    }

    fn shortest_path(&self, from: RouterId, to: RouterId, draw: u32) -> (Port, u32) {
        // Each first link has exactly one second link.
        (self.path(from, to, draw).first(), 0)
    }

    /// The first router finds the whole path and returns the second port, counted from 1, or 0 at the last router.
    fn onward(&self, at: RouterId, host: HostId, draw: u32, begun: bool) -> Onward {
        if begun && draw > 0 {
            return Onward::Router(Port((draw - 1) as u16), 0);
        }
        let (target, port) = self.attachment(host);
        if begun || target == at {
            return Onward::Host(port);
        }
        match self.path(at, target, draw) {
            ShortestPath::Link(port) => Onward::Router(port, 0),
            ShortestPath::Links(port, second) => Onward::Router(port, u32::from(second.0) + 1),
        }
    }

    fn neighbourhood(&self) -> u32 {
        self.q.get()
    }

    fn shortest_ports(&self, from: RouterId, to: RouterId, each: &mut dyn FnMut(Port)) {
        let (from, to) = (self.place(from), self.place(to));
        if from.subgraph != to.subgraph {
            let (there, here) = (self.across(from, to.a), self.across(to, from.a));
            if there != to
                && let Some(generator) = self.step(from, here)
            {
                each(self.local_port(generator));
            }
            if there == to || self.step(there, to).is_some() {
                each(self.global_port(to.a));
            }
        } else if from.a != to.a {
            each(self.across_and_back(from, to).first());
        } else if let Some(generator) = self.step(from, to) {
            each(self.local_port(generator));
        } else {
            let generators = self.generators(from);
            for (generator, element) in generators.elements.iter().enumerate() {
                let between = self.field.add(from.b, u32::from(*element));
                if self.step(SlimFlyRouter { b: between, ..from }, to).is_some() {
                    each(self.local_port(generator as u32));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built(q: u32) -> SlimFly {
        SlimFly::read(&Section::from_toml(&format!("q = {q}"), "x.toml").unwrap()).unwrap()
    }

    /// The port that the first router returns is the one that the second router would pick.
    #[test]
    fn paths_found_at_the_first_router_are_shortest_ones() {
        for q in [4, 5, 7, 9] {
            let network = built(q);
            let per_router = network.host_ports.count();
            for (from, to) in (0..network.routers).flat_map(|from| [(from, 0), (0, from)]) {
                for draw in [0, 1 << 30, u32::MAX] {
                    let host = HostId(to * per_router + 1);
                    let (mut at, mut links, mut next) = (
                        RouterId(from),
                        0,
                        network.onward(RouterId(from), host, draw, false),
                    );
                    while let Onward::Router(port, left) = next {
                        let expected =
                            network.shortest_path(at, RouterId(to), if links == 0 { draw } else { 0 });
                        assert_eq!(port, expected.0, "q = {q}, {from} to {to}, link {links}");
                        let Peer::Router(far, _) = network.peer(at, port) else {
                            panic!("port {} of router {} leads to no router", port.0, at.0)
                        };
                        (at, links) = (far, links + 1);
                        next = network.onward(at, host, left, true);
                    }
                    assert_eq!((at, next), (RouterId(to), Onward::Host(Port(1))));
                    assert_eq!(links, network.distance(RouterId(from), RouterId(to)));
                }
            }
        }
    }

    #[test]
    fn sizes_are_those_of_the_paper() {
        for (q, routers, degree) in [
            (3, 18, 5),
            (4, 32, 6),
            (5, 50, 7),
            (7, 98, 11),
            (8, 128, 12),
            (9, 162, 13),
            (11, 242, 17),
            (13, 338, 19),
            (16, 512, 24),
            (17, 578, 25),
            (19, 722, 29),
        ] {
            let network = built(q);
            assert_eq!(network.routers(), routers);
            assert_eq!(super::degree(q), degree);
            let hosts = degree.div_ceil(2);
            assert_eq!(network.hosts(), routers * hosts);
            assert_eq!(u32::from(network.ports), hosts + degree);
        }
    }

    /// The example of Besta and Hoefler 2014: q = 5 has the primitive element 2, X = {1, 4}, X' = {2, 3}. The graph
    /// is that of Hoffman and Singleton.
    #[test]
    fn q_5_is_the_hoffman_singleton_graph() {
        let network = built(5);
        assert_eq!(network.generators[0].elements, [1, 4]);
        assert_eq!(network.generators[1].elements, [2, 3]);
        assert_eq!(
            network
                .across(
                    SlimFlyRouter {
                        subgraph: 0,
                        a: 3,
                        b: 4
                    },
                    2
                )
                .b,
            3
        );
    }

    #[test]
    fn generators_are_symmetric_and_cover_the_field() {
        for q in [3, 4, 5, 7, 8, 9, 11, 13, 16, 25, 27, 163] {
            let network = built(q);
            for set in &network.generators {
                assert_eq!(set.elements.len() as u32, degree(q) - q);
                for element in &set.elements {
                    let negative = network.field.subtract(0, u32::from(*element));
                    assert!(set.index(negative).is_some());
                }
            }
            for element in 1..q {
                assert!(network.generators.iter().any(|set| set.index(element).is_some()));
            }
        }
    }
}
