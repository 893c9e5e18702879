//! The contracts of shapes beyond that of graphs, except for groups.

use std::collections::{HashMap, HashSet};

use config::Section;
use fabricsim_topology::*;

use crate::cases::CASES;
use crate::contract::{ports, routers};

/// Shortest paths start with every port that leads closer, each with the same share of the draws. The remainder of
/// a draw is 0 exactly where no choice remains.
pub fn check_graph(topology: &dyn Topology, graph: &dyn Graph) {
    let mut greatest = 0;
    assert_eq!(topology.routers() % graph.neighbourhood(), 0);
    for from in routers(topology) {
        for to in routers(topology).filter(|to| *to != from) {
            let distance = topology.distance(from, to);
            greatest = greatest.max(distance);
            let closer = |router, left| {
                let leads = |port: &Port| match topology.peer(router, *port) {
                    Peer::Router(next, _) => topology.distance(next, to) == left,
                    _ => false,
                };
                ports(topology, router).filter(leads).collect::<Vec<Port>>()
            };
            let expected = closer(from, distance - 1);
            let draws = 12 * expected.len() as u64;
            let mut drawn = HashMap::new();
            for index in 0..draws {
                let draw = ((2 * index + 1) * (1 << 31) / draws) as u32;
                let (port, left) = graph.shortest_path(from, to, draw);
                *drawn.entry(port).or_insert(0) += 1;
                let Peer::Router(next, _) = topology.peer(from, port) else {
                    panic!("not a link between routers");
                };
                let choice = distance > 1 && (distance > 2 || closer(next, 0).len() > 1);
                assert!(choice || left == 0, "nothing left to pick, but {left}");
            }
            assert_eq!(drawn.len(), expected.len());
            // All orders of the dimensions are equally likely, whatever the number of parallel links.
            let even = !matches!(topology.shape(), Shape::HyperX(_));
            for port in expected {
                assert!(
                    drawn.contains_key(&port) && (!even || drawn[&port] == 12),
                    "{drawn:?}"
                );
            }
        }
    }
    assert_eq!(graph.diameter(), greatest);
    if let Some(straight) = graph.straight() {
        check_straight(topology, straight);
    }
}

/// Straight paths arrive, and links have no cyclic dependencies.
fn check_straight(topology: &dyn Topology, straight: &dyn Straight) {
    let mut next_links: HashMap<(RouterId, Port), HashSet<(RouterId, Port)>> = HashMap::new();
    for from in routers(topology) {
        for to in routers(topology) {
            let (mut here, mut before, mut length) = (from, None, 0);
            while here != to {
                let link = (here, straight.straight_port(here, to));
                let Peer::Router(next, _) = topology.peer(link.0, link.1) else {
                    panic!("not a link between routers");
                };
                if let Some(before) = before.replace(link) {
                    next_links.entry(before).or_default().insert(link);
                }
                (here, length) = (next, length + 1);
                assert!(length < topology.routers(), "does not arrive");
            }
            assert!(length >= topology.distance(from, to));
        }
    }
    check_no_circle(next_links);
}

/// Links without dependencies are removed until none is left.
pub fn check_no_circle(mut next_links: HashMap<(RouterId, Port), HashSet<(RouterId, Port)>>) {
    while !next_links.is_empty() {
        let waiting: HashSet<(RouterId, Port)> = next_links.keys().copied().collect();
        let before = next_links.len();
        next_links.retain(|_, next| next.iter().any(|link| waiting.contains(link)));
        assert!(next_links.len() < before, "links wait for each other in a circle");
    }
}

pub fn check_hyperx(topology: &dyn Topology, hyperx: &dyn HyperX) {
    for from in routers(topology) {
        let mut wired = HashSet::new();
        for to in routers(topology).filter(|to| *to != from) {
            let (dimension, coordinate) = hyperx.first_difference(from, to).expect("they differ");
            for cable in 0..hyperx.width(dimension) {
                let port = hyperx.link_port(from, dimension, coordinate, cable);
                let Peer::Router(next, _) = topology.peer(from, port) else {
                    panic!("not a link between routers");
                };
                assert_eq!(topology.distance(next, to) + 1, topology.distance(from, to));
                let next = hyperx.first_difference(next, to);
                assert!(next.is_none_or(|(later, _)| later > dimension));
                wired.insert(port);
            }
        }
        let links = ports(topology, from).filter(|p| matches!(topology.peer(from, *p), Peer::Router(..)));
        assert_eq!(links.count(), wired.len());
        assert_eq!(hyperx.first_difference(from, from), None);
    }
}

pub fn check_tree(topology: &dyn Topology, tree: &dyn Tree) {
    for router in routers(topology) {
        let level = tree.level(router);
        assert!(level < tree.levels());
        let up = tree.up_ports(router);
        assert_eq!(up.is_empty(), level + 1 == tree.levels());
        for port in ports(topology, router) {
            match topology.peer(router, port) {
                Peer::Router(other, _) if up.contains(&port.0) => assert_eq!(tree.level(other), level + 1),
                Peer::Router(other, _) => assert_eq!(tree.level(other) + 1, level),
                Peer::Host(_) => assert!(level == 0 && !up.contains(&port.0)),
                Peer::Unwired => assert!(!up.contains(&port.0)),
            }
        }
        for host in (0..topology.hosts()).map(HostId) {
            let (leaf, port) = topology.attachment(host);
            match tree.down_port(router, host) {
                Some(down) => match topology.peer(router, down) {
                    Peer::Host(reached) => assert_eq!((reached, down), (host, port)),
                    Peer::Router(below, _) => {
                        assert_eq!(tree.level(below) + 1, level);
                        assert!(tree.down_port(below, host).is_some());
                    }
                    Peer::Unwired => panic!("down port not wired"),
                },
                None => assert!(topology.distance(router, leaf) > level),
            }
        }
    }
}

pub fn check_cartesian(topology: &dyn Topology, grid: &dyn Cartesian) {
    let sizes = grid.sizes();
    let point = |router| -> Vec<u32> { (0..sizes.len()).map(|d| grid.coordinate(router, d)).collect() };
    for router in routers(topology) {
        let here = point(router);
        let mut stepped = HashSet::new();
        for (dimension, size) in sizes.iter().enumerate() {
            let cables = (0..grid.links(dimension)).flat_map(|cable| [(true, cable), (false, cable)]);
            for (up, cable) in cables {
                let step = if up { 1 } else { size - 1 };
                let mut expected = here.clone();
                expected[dimension] = (here[dimension] + step) % size;
                let at_edge = if up {
                    here[dimension] + 1 == *size
                } else {
                    here[dimension] == 0
                };
                let port = grid.step_port(router, dimension, up, cable);
                assert!(stepped.insert(port), "a port for each cable and direction");
                match topology.peer(router, port) {
                    Peer::Router(next, _) => assert_eq!(point(next), expected),
                    Peer::Unwired => assert!(*size == 1 || (at_edge && !grid.wraps())),
                    Peer::Host(_) => panic!("a host at a port between routers"),
                }
            }
        }
        let hosts = ports(topology, router)
            .filter(|port| matches!(topology.peer(router, *port), Peer::Host(_)))
            .count();
        assert_eq!(stepped.len() + hosts, usize::from(topology.ports(router)));
        for other in routers(topology) {
            let there = point(other);
            let differing = (0..sizes.len()).find(|d| here[*d] != there[*d]);
            let expected = differing.map(|d| (d, here[d], there[d]));
            assert_eq!(grid.first_difference(router, other), expected);
        }
    }
}

/// Ports have the declared shares of draws.
#[test]
fn shortest_shares_are_those_of_the_draws() {
    const DRAWS: u32 = 3600;
    let mut graphs = 0;
    for (kind, parameters) in CASES {
        let section = Section::from_toml(&format!("kind = \"{kind}\"\n{parameters}"), "x.toml").unwrap();
        let topology = build(&section).unwrap();
        let shape = topology.shape();
        let Some(graph) = shape.graph().filter(|graph| graph.routers() <= 100) else {
            continue;
        };
        graphs += 1;
        for from in (0..graph.routers()).map(RouterId) {
            for to in (0..graph.routers())
                .map(RouterId)
                .filter(|to| *to != from)
                .take(20)
            {
                let mut shares: HashMap<Port, f64> = HashMap::new();
                graph.shortest_shares(from, to, &mut |port, share| {
                    assert!(
                        shares.insert(port, share).is_none(),
                        "{parameters}: {port:?} twice"
                    );
                });
                let mut found: HashMap<Port, f64> = HashMap::new();
                for i in 0..u64::from(DRAWS) {
                    let draw = (((2 * i + 1) << 31) / u64::from(DRAWS)) as u32;
                    *found.entry(graph.shortest_path(from, to, draw).0).or_default() +=
                        1.0 / f64::from(DRAWS);
                }
                assert_eq!(shares.len(), found.len(), "{kind} {parameters}: {from:?} {to:?}");
                for (port, share) in shares {
                    let found = found[&port];
                    assert!(
                        (found - share).abs() <= 2.0 / f64::from(DRAWS),
                        "{kind} {parameters}: {from:?} {to:?} {port:?}: {found}, said {share}"
                    );
                }
            }
        }
    }
    assert!(graphs >= 5, "{graphs} graphs");
}
