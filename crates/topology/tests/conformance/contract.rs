//! The contract of every topology, whatever its shape.

use std::collections::{HashSet, VecDeque};

use config::Section;
use fabricsim_topology::*;

use crate::{groups, shapes};

pub fn kind(name: &str) -> &'static Kind {
    REGISTRY
        .iter()
        .find(|k| k.name == name)
        .expect("a registered name")
}

pub fn section(kind: &str, parameters: &str) -> Section {
    Section::from_toml(&format!("kind = \"{kind}\"\n{parameters}\n"), "x.toml").expect("valid TOML")
}

pub fn built(name: &str, parameters: &str) -> Box<dyn Topology> {
    build(&section(name, parameters)).unwrap_or_else(|e| panic!("{name}\n{parameters}: {e}"))
}

pub fn routers(topology: &dyn Topology) -> impl Iterator<Item = RouterId> + use<> {
    (0..topology.routers()).map(RouterId)
}

pub fn ports(topology: &dyn Topology, router: RouterId) -> impl Iterator<Item = Port> + use<> {
    (0..topology.ports(router)).map(Port)
}

/// Routers at the other ends of a router's links.
pub fn neighbours(topology: &dyn Topology, router: RouterId) -> Vec<RouterId> {
    let next = |port| match topology.peer(router, port) {
        Peer::Router(next, _) => Some(next),
        _ => None,
    };
    ports(topology, router).filter_map(next).collect()
}

pub fn distances(topology: &dyn Topology, from: RouterId) -> Vec<Option<u32>> {
    let mut distance = vec![None; topology.routers() as usize];
    distance[from.0 as usize] = Some(0);
    let mut queue = VecDeque::from([from]);
    while let Some(router) = queue.pop_front() {
        let next_distance = distance[router.0 as usize].map(|d| d + 1);
        for next in neighbours(topology, router) {
            if distance[next.0 as usize].is_none() {
                distance[next.0 as usize] = next_distance;
                queue.push_back(next);
            }
        }
    }
    distance
}

/// The contract of one router and of its links to other routers.
pub fn check_router(topology: &dyn Topology, router: RouterId) -> u64 {
    let mut links = 0;
    for port in ports(topology, router) {
        let peer = topology.peer(router, port);
        let class = topology.link_class(router, port);
        assert!(
            (class.0 as usize) < topology.link_classes().len(),
            "{router:?} {port:?}, wired or not"
        );
        match peer {
            Peer::Unwired => continue,
            Peer::Host(host) => {
                assert!(host.0 < topology.hosts());
                assert_eq!(topology.attachment(host), (router, port));
                assert_eq!(class, HOST_LINK);
            }
            Peer::Router(other, back) => {
                assert!(
                    other.0 < topology.routers() && other != router,
                    "{router:?} {port:?} {peer:?}"
                );
                assert!(back.0 < topology.ports(other));
                assert_eq!(topology.peer(other, back), Peer::Router(router, port));
                assert_ne!(class, HOST_LINK);
                assert_eq!(class, topology.link_class(other, back));
                links += 1;
            }
        }
    }
    links
}

pub fn check(topology: &dyn Topology) {
    assert_eq!(topology.link_classes()[0], "host");
    let links: u64 = routers(topology)
        .map(|router| check_router(topology, router))
        .sum();
    assert_eq!(topology.router_links(), links, "{}", topology.describe());
    let mut before = None;
    for host in (0..topology.hosts()).map(HostId) {
        let (router, port) = topology.attachment(host);
        assert_eq!(topology.peer(router, port), Peer::Host(host));
        assert!(
            before < Some((router, port)),
            "hosts are numbered router by router"
        );
        before = Some((router, port));
    }
    let names: HashSet<String> = routers(topology).map(|r| topology.coordinates(r)).collect();
    assert_eq!(names.len(), topology.routers() as usize);
    for from in routers(topology) {
        for (to, distance) in distances(topology, from).into_iter().enumerate() {
            let to = RouterId(to as u32);
            assert_eq!(
                distance,
                Some(topology.distance(from, to)),
                "{}: {} to {}",
                topology.describe(),
                topology.coordinates(from),
                topology.coordinates(to)
            );
        }
    }
    match topology.shape() {
        Shape::Groups(groups) => groups::check(topology, groups),
        Shape::Tree(tree) => shapes::check_tree(topology, tree),
        Shape::Cartesian(grid) => shapes::check_cartesian(topology, grid),
        Shape::HyperX(hyperx) => {
            shapes::check_hyperx(topology, hyperx);
            shapes::check_graph(topology, hyperx);
        }
        Shape::Graph(graph) => shapes::check_graph(topology, graph),
        Shape::Planes(_) => unreachable!("a topology of the registry is one plane"),
    }
}
