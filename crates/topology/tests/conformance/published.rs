//! Sizes, distances and wirings of papers, machines and other simulators.

use std::collections::HashMap;

use fabricsim_topology::*;

use crate::contract::{built, check, kind, routers};

/// The dragonfly of 1,056 hosts, wired as BookSim 2 wires it.
#[test]
fn dragonfly_of_booksim() {
    let (p, a, h) = (4, 8, 4);
    let parameters = "hosts_per_router = 4\nrouters_per_group = 8\nglobal_links_per_router = 4";
    let topology = built(kind("dragonfly").name, parameters);
    assert_eq!(
        topology.describe(),
        "dragonfly of 33 groups of 8 routers with 4 hosts each"
    );
    assert_eq!((topology.routers(), topology.hosts()), (264, 1056));
    for group in 0..33 {
        for port in 0..a * h {
            let router = RouterId(group * a + port / h);
            let Peer::Router(other, _) = topology.peer(router, Port((p + a - 1 + port % h) as u16)) else {
                panic!("not wired");
            };
            let expected = if port < group { port } else { port + 1 };
            assert_eq!(other.0 / a, expected);
        }
    }
    check(&*topology);
}

/// Minimal routing over one global link takes 2.6957 links between routers on average over all pairs of
/// different hosts of that dragonfly.
#[test]
fn mean_distance_in_the_dragonfly_of_1056_hosts() {
    let parameters = "hosts_per_router = 4\nrouters_per_group = 8\nglobal_links_per_router = 4";
    let topology = built("dragonfly", parameters);
    let Shape::Groups(groups) = topology.shape() else {
        panic!("a dragonfly has groups");
    };
    let length = |from: RouterId, to: RouterId| {
        let (here, there) = (groups.group(from), groups.group(to));
        if here == there {
            return u32::from(from != to);
        }
        let (router, port) = groups.gateway(here, there, groups.minimal_link(from, to, 0));
        let Peer::Router(other, _) = topology.peer(router, port) else {
            panic!("not a link between routers");
        };
        1 + u32::from(router != from) + u32::from(other != to)
    };
    let links: u32 = routers(&*topology).map(|to| length(RouterId(0), to)).sum();
    // Four hosts on each router; a host sends to 1,055 others.
    assert!((f64::from(4 * links) / 1055.0 - 2.6957).abs() < 5e-5, "{links}");
}

/// With routers of radix k, half of the ports of a leaf lead to hosts and half of those of a spine to other groups:
/// (k/2)^2 hosts in each of (k/2)^2 + 1 groups. Every two leaves of different groups are three links apart.
#[test]
fn dragonfly_plus_of_the_field() {
    for (half, hosts, routers) in [(4, 272, 136), (18, 105_300, 11_700), (32, 1_049_600, 65_600)] {
        let parameters =
            format!("hosts_per_leaf = {half}\nleaves_per_group = {half}\nglobal_links_per_spine = {half}");
        let network = built("dragonfly-plus", &parameters);
        assert_eq!((network.hosts(), network.routers()), (hosts, routers));
        let last = network.attachment(HostId(hosts - 1)).0;
        assert_eq!(network.distance(RouterId(0), last), 3);
        assert_eq!(network.ports(last), 2 * half as u16);
    }
}

/// "Cray XC series network": up to 241 groups of 384 hosts with one optical cable between any two.
#[test]
fn dragonfly_2d_of_the_cray_xc() {
    let network = built("dragonfly-2d", "links_between_groups = 4\ngroups = 241");
    assert_eq!(network.hosts(), 241 * 384);
    // 4 x 240 links on 96 routers use all ten global ports of a router.
    assert_eq!(network.ports(RouterId(0)), 4 + 15 + 15 + 10);
    assert!(ports_are_wired(&*network, RouterId(95)));
}

fn ports_are_wired(topology: &dyn Topology, router: RouterId) -> bool {
    let peer = |port| topology.peer(router, Port(port));
    (0..topology.ports(router)).all(|port| peer(port) != Peer::Unwired)
}

#[test]
fn fat_trees_of_the_field() {
    for (parameters, hosts, routers) in [
        ("radix = 16", 1024, 320),
        ("radix = 8", 128, 80),
        ("radix = 16\nlevels = 2", 128, 24),
        ("radix = 36\nlevels = 2", 648, 54),
        ("radix = 36\nlevels = 2\ntapering = \"2:1\"", 864, 48),
        ("radix = 16\nlevels = 2\nleaves = 8", 64, 12),
        ("radix = 36", 11_664, 1_620),
        ("radix = 48", 27_648, 2_880),
        ("radix = 64", 65_536, 5_120),
        ("radix = 36\nlevels = 4", 209_952, 40_824),
        // The seed network of CODES for Summit: 36 ports, 11 pods, 3 cables from spine to core.
        ("radix = 36\npods = 11", 3_564, 504),
        ("down = [18, 18, 33]\nup = [18, 18]\ncables = [1, 3]", 3_564, 504),
        // The last pod is half full.
        ("radix = 36\nleaves = 189", 3_402, 495),
    ] {
        let tree = built("fat-tree", parameters);
        assert_eq!((tree.hosts(), tree.routers()), (hosts, routers), "{parameters}");
    }
}

/// Slim Fly of Wolfe et al.: q = 13, 338 routers of degree 19, on average 1.9436 links from each other.
#[test]
fn slim_fly_of_the_field() {
    let network = built("slim-fly", "q = 13\nhosts_per_router = 9");
    assert_eq!((network.routers(), network.hosts()), (338, 3042));
    assert_eq!(network.router_links(), 338 * 19);
    let distances: u32 = routers(&*network)
        .map(|to| network.distance(RouterId(0), to))
        .sum();
    assert_eq!(distances, 19 + 2 * (337 - 19));
    assert!((f64::from(distances) / 337.0 - 1.9436).abs() < 5e-5);
    // One unit from every router to every other, in three parts as there are one or three shortest paths: 37 over a
    // global link is 3042 / (81 * 37) = 1.015 of the link rate if all hosts send all they can.
    let loads = link_loads(&*network, 3);
    for ((router, port), load) in loads {
        let class = network.link_classes()[usize::from(network.link_class(router, port).0)];
        assert_eq!(load, 3 * if class == "local" { 29 } else { 37 }, "{class}");
    }
}

/// Load of each link on shortest paths if every router sends `parts` units to every other, one for each of `parts`
/// draws.
fn link_loads(topology: &dyn Topology, parts: u64) -> HashMap<(RouterId, Port), u64> {
    let graph = topology.shape().graph().expect("finds its shortest paths");
    let mut loads = HashMap::new();
    for from in routers(topology) {
        for to in routers(topology) {
            for part in 0..parts {
                let mut draw = ((2 * part + 1) * (1 << 31) / parts) as u32;
                let mut here = from;
                while here != to {
                    let port;
                    (port, draw) = graph.shortest_path(here, to, draw);
                    *loads.entry((here, port)).or_insert(0) += 1;
                    let Peer::Router(next, _) = topology.peer(here, port) else {
                        panic!("not a link between routers");
                    };
                    here = next;
                }
            }
        }
    }
    loads
}

#[test]
fn slim_fly_of_a_million_hosts_costs_no_time() {
    let start = std::time::Instant::now();
    let network = built("slim-fly", "q = 163\nhosts_per_router = 19");
    assert!(start.elapsed().as_secs_f64() < 0.5, "{:?}", start.elapsed());
    assert_eq!((network.routers(), network.hosts()), (53_138, 1_009_622));
    assert_eq!(network.ports(RouterId(0)), 264);
}

/// A hypercube, a flattened butterfly and a full mesh are HyperX networks.
#[test]
fn hyperx_has_the_others_as_cases() {
    for (parameters, routers, degree, diameter) in [
        ("shape = [2, 2, 2, 2]", 16, 4, 4),
        ("shape = [4, 4, 4]\nhosts_per_router = 4", 64, 9, 3),
        ("shape = [9]", 9, 8, 1),
    ] {
        let network = built("hyperx", parameters);
        assert_eq!(network.routers(), routers);
        assert_eq!(network.router_links(), u64::from(routers * degree));
        let graph = network.shape().graph().expect("finds its shortest paths");
        assert_eq!(graph.diameter(), diameter);
    }
}

#[test]
fn descriptions_say_what_is_built() {
    for (kind, parameters, expected) in [
        (
            "dragonfly",
            "hosts_per_router = 1\nrouters_per_group = 3\nglobal_links_per_router = 3\ngroups = 7",
            "dragonfly of 7 groups of 3 routers with 1 host each, 1 or 2 links between any two groups, \
             1 global port of each group not wired",
        ),
        (
            "fat-tree",
            "radix = 8\npods = 4",
            "fat tree of 4 pods of 4 leaves and 4 spines, 8 cores, 4 hosts and 4 uplinks per leaf, radix 8, \
             2 parallel spine-core links",
        ),
        (
            "dragonfly",
            "hosts_per_router = 1\nrouters_per_group = 3\nlinks_between_groups = 2\ngroups = 3\n\
             arrangement = \"random\"",
            "dragonfly of 3 groups of 3 routers with 1 host each, 2 links between any two groups, global links \
             random",
        ),
        (
            "dragonfly-plus",
            "hosts_per_leaf = 2\nleaves_per_group = 3\nspines_per_group = 2\nglobal_links_per_spine = 2",
            "Dragonfly+ of 5 groups of 3 leaves with 2 hosts each and 2 spines",
        ),
        (
            "express-mesh",
            "sizes = [7, 3]\ngap = [3, 2]",
            "express mesh of 7 x 3 routers with 1 host each, gap 3 x 2",
        ),
        (
            "fat-tree",
            "radix = 8\nleaves = 14",
            "fat tree of 4 pods of 4 leaves and 4 spines, 8 cores, 4 hosts and 4 uplinks per leaf, radix 8, \
             2 parallel spine-core links, 2 in the last pod",
        ),
        (
            "fat-tree",
            "down = [2, 4, 3, 2]\nup = [2, 2, 4]\ncables = [1, 1, 2]",
            "fat tree of 4 levels of 12, 6, 4, 8 routers, 2 hosts and 2 uplinks per leaf, 2 parallel links \
             between levels 2 and 3",
        ),
        (
            "hyperx",
            "shape = [4, 2]",
            "HyperX of 4 x 2 routers with 1 host each",
        ),
        (
            "hyperx",
            "shape = [4, 2]\nwidth = [1, 3]\nhosts_per_router = 2",
            "HyperX of 4 x 2 routers with 2 hosts each, 1 x 3 parallel links",
        ),
        (
            "slim-fly",
            "q = 5",
            "Slim Fly with q = 5 of 50 routers with 4 hosts and 7 links to routers each",
        ),
        (
            "torus",
            "sizes = [4, 2]\nlinks = [1, 2]",
            "torus of 4 x 2 routers with 1 host each, 1 x 2 parallel links",
        ),
        (
            "torus",
            "sizes = [4, 2]",
            "torus of 4 x 2 routers with 1 host each",
        ),
    ] {
        assert_eq!(built(kind, parameters).describe(), expected);
    }
}
