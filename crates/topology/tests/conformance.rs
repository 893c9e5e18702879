//! Every topology of the registry keeps the contract of `Topology` and of its shape, on its example, on
//! chosen parameters and on random ones.

use std::collections::{HashMap, HashSet, VecDeque};

use config::Section;
use fabricsim_topology::*;
use proptest::prelude::*;

/// Parameters beyond the examples: smallest sizes, uneven links, several cables, unwired ports.
const CASES: &[(&str, &str)] = &[
    (
        "dragonfly",
        "hosts_per_router = 1\nrouters_per_group = 1\nglobal_links_per_router = 1",
    ),
    (
        "dragonfly",
        "hosts_per_router = 1\nrouters_per_group = 1\nglobal_links_per_router = 4",
    ),
    (
        "dragonfly",
        "hosts_per_router = 3\nrouters_per_group = 5\nglobal_links_per_router = 1",
    ),
    (
        "dragonfly",
        "hosts_per_router = 1\nrouters_per_group = 3\nglobal_links_per_router = 2\ngroups = 1",
    ),
    (
        "dragonfly",
        "hosts_per_router = 1\nrouters_per_group = 3\nglobal_links_per_router = 2\ngroups = 2",
    ),
    (
        "dragonfly",
        "hosts_per_router = 1\nrouters_per_group = 4\nglobal_links_per_router = 2\ngroups = 4",
    ),
    (
        "dragonfly",
        "hosts_per_router = 1\nrouters_per_group = 4\nglobal_links_per_router = 2\ngroups = 6",
    ),
    (
        "dragonfly",
        "hosts_per_router = 2\nrouters_per_group = 4\nglobal_links_per_router = 3\ngroups = 8",
    ),
    (
        "dragonfly",
        "hosts_per_router = 1\nrouters_per_group = 8\nglobal_links_per_router = 4\ngroups = 9",
    ),
    (
        "dragonfly",
        "hosts_per_router = 1\nrouters_per_group = 8\nglobal_links_per_router = 4\ngroups = 32",
    ),
    ("fat-tree", "radix = 2"),
    ("fat-tree", "radix = 2\nlevels = 2"),
    ("fat-tree", "radix = 8\nlevels = 2"),
    ("fat-tree", "radix = 8\nlevels = 2\nleaves = 4"),
    ("fat-tree", "radix = 8\nlevels = 2\nleaves = 3"),
    ("fat-tree", "radix = 8\nlevels = 2\nleaves = 1"),
    (
        "fat-tree",
        "radix = 12\nlevels = 2\ntapering = \"2:1\"\nleaves = 6",
    ),
    ("fat-tree", "radix = 8\ntapering = \"3:1\"\npods = 3"),
    ("fat-tree", "radix = 8\npods = 2"),
    ("fat-tree", "radix = 8\npods = 1"),
    ("fat-tree", "radix = 6\nhosts_per_leaf = 2\nuplinks_per_leaf = 3"),
    (
        "fat-tree",
        "radix = 6\nhosts_per_leaf = 5\nuplinks_per_leaf = 1\nlevels = 2",
    ),
    ("hyperx", "shape = [1]"),
    ("hyperx", "shape = [7]\nwidth = 2\nhosts_per_router = 3"),
    ("hyperx", "shape = [2, 2, 2, 2, 2]"),
    (
        "hyperx",
        "shape = [4, 1, 3]\nwidth = [1, 9, 3]\nhosts_per_router = 2",
    ),
    ("hyperx", "shape = [4, 4, 4]\nhosts_per_router = 4"),
    ("mesh", "sizes = [1]"),
    ("mesh", "sizes = [9]"),
    ("mesh", "sizes = [1, 3, 1, 2]\nhosts_per_router = 2"),
    ("mesh", "sizes = [2, 2, 2, 2, 2, 2]"),
    ("slim-fly", "q = 3"),
    ("slim-fly", "q = 4\nhosts_per_router = 1"),
    ("slim-fly", "q = 5"),
    ("slim-fly", "q = 7"),
    ("slim-fly", "q = 8"),
    ("slim-fly", "q = 9"),
    ("slim-fly", "q = 11"),
    ("slim-fly", "q = 13\nhosts_per_router = 9"),
    ("torus", "sizes = [1]"),
    ("torus", "sizes = [2]"),
    ("torus", "sizes = [7]\nhosts_per_router = 3"),
    ("torus", "sizes = [1, 3, 1, 2]"),
    ("torus", "sizes = [2, 2, 2, 2, 2, 2, 2, 1]"),
    ("torus", "sizes = [4, 4, 4]"),
];

fn kind(name: &str) -> &'static Kind {
    REGISTRY
        .iter()
        .find(|k| k.name == name)
        .expect("a registered name")
}

fn section(kind: &str, parameters: &str) -> Section {
    Section::from_toml(&format!("kind = \"{kind}\"\n{parameters}\n"), "x.toml").expect("valid TOML")
}

fn built(name: &str, parameters: &str) -> Box<dyn Topology> {
    build(&section(name, parameters)).unwrap_or_else(|e| panic!("{name}\n{parameters}: {e}"))
}

fn routers(topology: &dyn Topology) -> impl Iterator<Item = RouterId> + use<> {
    (0..topology.routers()).map(RouterId)
}

fn ports(topology: &dyn Topology, router: RouterId) -> impl Iterator<Item = Port> + use<> {
    (0..topology.ports(router)).map(Port)
}

/// Routers at the other ends of a router's links.
fn neighbours(topology: &dyn Topology, router: RouterId) -> Vec<RouterId> {
    let next = |port| match topology.peer(router, port) {
        Peer::Router(next, _) => Some(next),
        _ => None,
    };
    ports(topology, router).filter_map(next).collect()
}

fn distances(topology: &dyn Topology, from: RouterId) -> Vec<Option<u32>> {
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

/// What one router promises, and the links that it has to other routers.
fn check_router(topology: &dyn Topology, router: RouterId) -> u64 {
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

fn check(topology: &dyn Topology) {
    assert_eq!(topology.link_classes()[0], "host");
    let links: u64 = routers(topology)
        .map(|router| check_router(topology, router))
        .sum();
    assert_eq!(topology.router_links(), links, "{}", topology.describe());
    for host in (0..topology.hosts()).map(HostId) {
        let (router, port) = topology.attachment(host);
        assert_eq!(topology.peer(router, port), Peer::Host(host));
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
        Shape::Groups(groups) => check_groups(topology, groups),
        Shape::Tree(tree) => check_tree(topology, tree),
        Shape::Cartesian(grid) => check_cartesian(topology, grid),
        Shape::HyperX(hyperx) => {
            check_hyperx(topology, hyperx);
            check_graph(topology, hyperx);
        }
        Shape::Graph(graph) => check_graph(topology, graph),
        Shape::Planes(_) => unreachable!("a topology of the registry is one plane"),
    }
}

/// Shortest paths begin with every port that leads closer, each with the same share of the draws, and what
/// is left of a draw is 0 exactly where there is nothing left to pick.
fn check_graph(topology: &dyn Topology, graph: &dyn Graph) {
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
            // Every order of the dimensions is as likely, however many parallel links one has.
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
}

fn check_hyperx(topology: &dyn Topology, hyperx: &dyn HyperX) {
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

fn check_groups(topology: &dyn Topology, groups: &dyn Groups) {
    let size = groups.routers_per_group();
    assert_eq!(groups.groups() * size, topology.routers());
    let mut counts = HashSet::new();
    for from in 0..groups.groups() {
        for to in (0..groups.groups()).filter(|to| *to != from) {
            let count = groups.links_between(from, to);
            counts.insert(count);
            let ends: HashSet<_> = (0..count).map(|i| groups.gateway(from, to, i)).collect();
            assert_eq!(ends.len() as u32, count);
            for (router, port) in ends {
                assert_eq!(groups.group(router), from);
                let Peer::Router(other, _) = topology.peer(router, port) else {
                    panic!("not a link");
                };
                assert_eq!(groups.group(other), to);
            }
        }
    }
    let (least, most) = (counts.iter().min(), counts.iter().max());
    assert!(
        least
            .zip(most)
            .is_none_or(|(least, most)| *least > 0 && most - least <= 1)
    );
    for from in routers(topology) {
        for to in routers(topology).filter(|to| *to != from) {
            if groups.group(from) == groups.group(to) {
                let port = groups.local_port(from, to, 0);
                assert!(matches!(topology.peer(from, port), Peer::Router(other, _) if other == to));
            } else {
                check_minimal_links(topology, groups, from, to);
            }
        }
    }
}

/// The draws reach exactly the links with the fewest local links beside them.
fn check_minimal_links(topology: &dyn Topology, groups: &dyn Groups, from: RouterId, to: RouterId) {
    let (here, there) = (groups.group(from), groups.group(to));
    let count = groups.links_between(here, there);
    let local_links = |index| {
        let (router, port) = groups.gateway(here, there, index);
        let Peer::Router(other, _) = topology.peer(router, port) else {
            panic!("not a link");
        };
        u32::from(router != from) + u32::from(other != to)
    };
    let fewest = (0..count).map(local_links).min().expect("a link");
    let expected: HashSet<u32> = (0..count).filter(|i| local_links(*i) == fewest).collect();
    let draws = 4 * count;
    let drawn: HashSet<u32> = (0..draws)
        .map(|i| groups.minimal_link(from, to, (u64::from(i) * (1 << 32) / u64::from(draws)) as u32))
        .chain([groups.minimal_link(from, to, u32::MAX)])
        .collect();
    assert_eq!(drawn, expected);
}

fn check_tree(topology: &dyn Topology, tree: &dyn Tree) {
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

fn check_cartesian(topology: &dyn Topology, grid: &dyn Cartesian) {
    let sizes = grid.sizes();
    let point = |router| -> Vec<u32> { (0..sizes.len()).map(|d| grid.coordinate(router, d)).collect() };
    for router in routers(topology) {
        let here = point(router);
        for (dimension, size) in sizes.iter().enumerate() {
            for up in [true, false] {
                let step = if up { 1 } else { size - 1 };
                let mut expected = here.clone();
                expected[dimension] = (here[dimension] + step) % size;
                let at_edge = if up {
                    here[dimension] + 1 == *size
                } else {
                    here[dimension] == 0
                };
                match topology.peer(router, grid.step_port(router, dimension, up)) {
                    Peer::Router(next, _) => assert_eq!(point(next), expected),
                    Peer::Unwired => assert!(*size == 1 || (at_edge && !grid.wraps())),
                    Peer::Host(_) => panic!("a host at a port between routers"),
                }
            }
        }
        for other in routers(topology) {
            let there = point(other);
            let differing = (0..sizes.len()).find(|d| here[*d] != there[*d]);
            let expected = differing.map(|d| (d, here[d], there[d]));
            assert_eq!(grid.first_difference(router, other), expected);
        }
    }
}

#[test]
fn wrong_parameters_are_refused_where_they_stand() {
    let dragonfly = "hosts_per_router = 4\nrouters_per_group = 8\n";
    for (kind, parameters, expected) in [
        ("dragonfly", "", "x.toml:1: hosts_per_router: missing"),
        (
            "dragonfly",
            "hosts_per_router = 0",
            "x.toml:2: hosts_per_router: 0 is not possible",
        ),
        (
            "dragonfly",
            "hosts_per_router = -1",
            "x.toml:2: hosts_per_router: -1 is out of range",
        ),
        ("dragonfly", dragonfly, "global_links_per_router: missing"),
        (
            "dragonfly",
            &format!("{dragonfly}global_links_per_router = 4\ngroups = 34"),
            "x.toml:5: groups: 34 groups cannot all be linked: 8 routers per group with 4 global links each \
             reach 32 other groups; expected 1 to 33",
        ),
        (
            "dragonfly",
            &format!("{dragonfly}global_links_per_router = 4\narrangement = \"consecutiv\""),
            "x.toml:5: arrangement: unknown name 'consecutiv'; did you mean 'consecutive'?",
        ),
        (
            "dragonfly",
            "hosts_per_router = 1\nrouters_per_group = 70000\nglobal_links_per_router = 1\ngroups = 2",
            "x.toml:3: routers_per_group: 70001 ports on a router are too many",
        ),
        (
            "dragonfly",
            "hosts_per_router = 60000\nrouters_per_group = 999\nglobal_links_per_router = 1",
            "x.toml:1: groups: 1000 x 999 x 60000 hosts are too many; expected at most 4294967295",
        ),
        (
            "dragonfly",
            "hosts_per_router = 1\nrouters_per_group = 4000000000\nglobal_links_per_router = 4",
            "global_links_per_router: 4000000000 x 4 global ports of a group are too many",
        ),
        (
            "fat-tree",
            "radix = 7",
            "x.toml:2: radix: 7 is odd; expected an even number",
        ),
        ("fat-tree", "radix = 0", "x.toml:2: radix: 0 is not possible"),
        (
            "fat-tree",
            "radix = 65536",
            "x.toml:2: radix: 65536 ports are too many",
        ),
        (
            "fat-tree",
            "radix = 65534",
            "radix: 2147352578 x 32767 hosts are too many",
        ),
        (
            "fat-tree",
            "radix = 8\nlevels = 4",
            "x.toml:3: levels: 4 levels; expected 2 or 3",
        ),
        (
            "fat-tree",
            "radix = 8\npods = 9",
            "x.toml:3: pods: 9 pods cannot all be linked",
        ),
        (
            "fat-tree",
            "radix = 8\nleaves = 4",
            "x.toml:3: leaves: is for two levels",
        ),
        (
            "fat-tree",
            "radix = 8\nlevels = 2\npods = 4",
            "x.toml:4: pods: is for three levels",
        ),
        (
            "fat-tree",
            "radix = 8\nlevels = 2\nleaves = 0",
            "x.toml:4: leaves: 0 is not possible",
        ),
        (
            "fat-tree",
            "radix = 8\ntapering = 2",
            "x.toml:3: tapering: 2 is not a string",
        ),
        (
            "fat-tree",
            "radix = 8\ntapering = \"2\"",
            "tapering: \"2\" is not hosts : uplinks of a leaf",
        ),
        (
            "fat-tree",
            "radix = 8\ntapering = \"2:0\"",
            "tapering: \"2:0\" is not hosts : uplinks",
        ),
        (
            "fat-tree",
            "radix = 8\ntapering = \"8:1\"",
            "tapering: 8:1 needs at least 9 ports",
        ),
        (
            "fat-tree",
            "radix = 8\nhosts_per_leaf = 4",
            "x.toml:3: hosts_per_leaf: needs uplinks_per_leaf",
        ),
        (
            "fat-tree",
            "radix = 8\nuplinks_per_leaf = 4",
            "uplinks_per_leaf: needs hosts_per_leaf",
        ),
        (
            "fat-tree",
            "radix = 8\nhosts_per_leaf = 4\nuplinks_per_leaf = 5",
            "x.toml:3: hosts_per_leaf: 4 hosts and 5 uplinks do not fit a leaf of 8 ports",
        ),
        (
            "fat-tree",
            "radix = 8\nhosts_per_leaf = 4\nuplinks_per_leaf = 4\ntapering = \"1:1\"",
            "x.toml:5: tapering: is given already",
        ),
        ("hyperx", "", "shape: missing; expected a list"),
        (
            "hyperx",
            "shape = []",
            "x.toml:2: shape: 0 dimensions; expected 1 to 8",
        ),
        ("hyperx", "shape = [4, 0]", "x.toml:2: shape: 0 is not possible"),
        (
            "hyperx",
            "shape = [4, 4]\nwidth = [1, 2, 3]",
            "x.toml:3: width: 3 numbers for 2 dimensions; expected one number, or a list of 2",
        ),
        (
            "hyperx",
            "shape = [4, 4]\nwidth = [1, 0]",
            "x.toml:3: width: 0 is not possible",
        ),
        (
            "hyperx",
            "shape = [4, 4]\nwidth = \"2\"",
            "x.toml:3: width: \"2\" is not a whole number or a list of whole numbers",
        ),
        (
            "hyperx",
            "shape = [40000, 2]\nwidth = [2, 1]",
            "x.toml:2: shape: 80000 ports on a router are too many",
        ),
        ("slim-fly", "", "q: missing"),
        (
            "slim-fly",
            "q = 0",
            "x.toml:2: q: 0 is not a power of a prime of the form 4w - 1, 4w or 4w + 1; nearest: 3",
        ),
        ("slim-fly", "q = 1", "4w + 1; nearest: 3"),
        ("slim-fly", "q = 2", "4w + 1; nearest: 3"),
        ("slim-fly", "q = 6", "4w + 1; nearest: 5 and 7"),
        ("slim-fly", "q = 10", "4w + 1; nearest: 9 and 11"),
        ("slim-fly", "q = 14", "4w + 1; nearest: 13 and 16"),
        ("slim-fly", "q = 15", "4w + 1; nearest: 13 and 16"),
        (
            "slim-fly",
            "q = 46341",
            "x.toml:2: q: 2 x 46341 x 46341 routers are too many",
        ),
        (
            "slim-fly",
            "q = 43691",
            "x.toml:2: q: 98306 ports on a router are too many",
        ),
        (
            "slim-fly",
            "q = 5\nhosts_per_router = 0",
            "x.toml:3: hosts_per_router: 0 is not possible",
        ),
        ("torus", "", "sizes: missing; expected a list"),
        (
            "torus",
            "sizes = []",
            "x.toml:2: sizes: 0 dimensions; expected 1 to 8",
        ),
        (
            "torus",
            "sizes = [2, 2, 2, 2, 2, 2, 2, 2, 2]",
            "sizes: 9 dimensions; expected 1 to 8",
        ),
        ("torus", "sizes = [4, 0]", "x.toml:2: sizes: 0 is not possible"),
        ("torus", "sizes = 4", "sizes: 4 is not a list"),
        (
            "mesh",
            "sizes = [70000, 70000]",
            "sizes: 70000 x 70000 routers are too many",
        ),
        (
            "mesh",
            "sizes = [70000]\nhosts_per_router = 70000",
            "hosts are too many",
        ),
        (
            "mesh",
            "sizes = [2]\nhosts_per_router = 65534",
            "65536 ports on a router are too many",
        ),
        (
            "mesh",
            "sizes = [2]\nhosts_per_router = 0",
            "x.toml:3: hosts_per_router: 0 is not possible",
        ),
        (
            "tours",
            "",
            "x.toml:1: kind: unknown name 'tours'; did you mean 'torus'?",
        ),
    ] {
        let Err(error) = build(&section(kind, parameters)) else {
            panic!("{kind}\n{parameters}: was built");
        };
        let error = error.to_string();
        assert!(
            error.contains(expected),
            "{kind}\n{parameters}:\n{error}\nnot\n{expected}"
        );
    }
}

#[test]
fn registry_is_sorted_and_declares_the_parameters_that_are_read() {
    assert!(REGISTRY.is_sorted_by_key(|k| k.name));
    for kind in REGISTRY {
        let section = Section::from_toml(kind.example, "x.toml").unwrap();
        (kind.build)(&section).unwrap();
        let mut asked = section.asked();
        let mut declared: Vec<&str> = kind.parameters.iter().map(|p| p.0).collect();
        asked.sort();
        declared.sort();
        assert_eq!(asked, declared, "{}", kind.name);
        section.finish().unwrap();
    }
}

#[test]
fn every_topology_and_parameter_is_documented() {
    let page = include_str!("../../../docs/methods/topologies.md");
    for kind in REGISTRY {
        let start = page.find(&format!("\n## {}\n", kind.name)).expect(kind.name);
        let section = page[start + 4..].split("\n## ").next().expect("a section");
        for (parameter, _) in kind.parameters {
            assert!(
                section.contains(&format!("`{parameter}`")),
                "{}: {parameter}",
                kind.name
            );
        }
    }
}

#[test]
fn examples_keep_the_contract() {
    for kind in REGISTRY {
        check(&*built(kind.name, kind.example));
    }
}

#[test]
fn chosen_cases_keep_the_contract() {
    for (kind, parameters) in CASES {
        check(&*built(kind, parameters));
    }
    for kind in REGISTRY {
        assert!(
            CASES.iter().any(|c| c.0 == kind.name),
            "no case for {}",
            kind.name
        );
    }
}

#[test]
fn a_million_hosts_cost_no_tables() {
    for (kind, parameters) in [
        (
            "dragonfly",
            "hosts_per_router = 16\nrouters_per_group = 32\nglobal_links_per_router = 64",
        ),
        ("fat-tree", "radix = 160"),
        ("hyperx", "shape = [32, 32, 32]\nhosts_per_router = 32"),
        ("mesh", "sizes = [1000, 1000]"),
        ("slim-fly", "q = 163\nhosts_per_router = 19"),
        ("torus", "sizes = [128, 128, 64]"),
    ] {
        let topology = built(kind, parameters);
        assert!(topology.hosts() >= 1_000_000, "{}", topology.describe());
        for router in routers(&*topology).step_by(997) {
            check_router(&*topology, router);
            let far = RouterId(topology.routers() - 1 - router.0);
            assert_eq!(topology.distance(router, far), topology.distance(far, router));
        }
    }
    let all = ["dragonfly", "fat-tree", "hyperx", "mesh", "slim-fly", "torus"];
    assert!(REGISTRY.iter().all(|k| all.contains(&k.name)));
}

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

#[test]
fn fat_trees_of_the_field() {
    for (parameters, hosts, routers) in [
        ("radix = 16", 1024, 320),
        ("radix = 8", 128, 80),
        ("radix = 16\nlevels = 2", 128, 24),
        ("radix = 36\nlevels = 2", 648, 54),
        ("radix = 36\nlevels = 2\ntapering = \"2:1\"", 864, 48),
        ("radix = 16\nlevels = 2\nleaves = 8", 64, 12),
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
    // One unit from every router to every other, in three parts as there are one or three shortest paths: 37 over a global link is 3042 / (81 * 37) = 1.015 of the
    // link rate if all hosts send all they can.
    let loads = link_loads(&*network, 3);
    for ((router, port), load) in loads {
        let class = network.link_classes()[usize::from(network.link_class(router, port).0)];
        assert_eq!(load, 3 * if class == "local" { 29 } else { 37 }, "{class}");
    }
}

/// What each link carries on shortest paths if every router sends `parts` units to every other, one for each of as
/// many draws.
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
            "sizes = [4, 2]",
            "torus of 4 x 2 routers with 1 host each",
        ),
    ] {
        assert_eq!(built(kind, parameters).describe(), expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(40) })]

    #[test]
    fn random_dragonflies_keep_the_contract(p in 1u32..4, a in 1u32..6, h in 1u32..5, share in 0.0..1.0f64) {
        let groups = 1 + (f64::from(a * h) * share).round() as u32;
        let parameters = format!(
            "hosts_per_router = {p}\nrouters_per_group = {a}\nglobal_links_per_router = {h}\ngroups = {groups}"
        );
        check(&*built("dragonfly", &parameters));
    }

    #[test]
    fn random_fat_trees_keep_the_contract(half in 1u32..5, levels in 2u32..4, cut in 0.0..1.0f64, share in 0.0..1.0f64) {
        let radix = 2 * half;
        let hosts = 1 + (f64::from(radix - 2) * cut).round() as u32;
        let uplinks = 1 + (f64::from(radix - hosts - 1) * share).round() as u32;
        let breadth = 1 + (f64::from(radix - 1) * share).round() as u32;
        let key = if levels == 2 { "leaves" } else { "pods" };
        let parameters = format!(
            "radix = {radix}\nlevels = {levels}\nhosts_per_leaf = {hosts}\nuplinks_per_leaf = {uplinks}\n\
             {key} = {breadth}"
        );
        check(&*built("fat-tree", &parameters));
    }

    #[test]
    fn random_grids_keep_the_contract(sizes in prop::collection::vec(1u32..5, 1..5), hosts in 1u32..4) {
        for kind in ["mesh", "torus"] {
            check(&*built(kind, &format!("sizes = {sizes:?}\nhosts_per_router = {hosts}")));
        }
    }

    #[test]
    fn random_hyperx_keep_the_contract(sides in prop::collection::vec((1u32..5, 1u32..4), 1..4), hosts in 1u32..4) {
        let (shape, width): (Vec<u32>, Vec<u32>) = sides.into_iter().unzip();
        check(&*built(
            "hyperx",
            &format!("shape = {shape:?}\nwidth = {width:?}\nhosts_per_router = {hosts}"),
        ));
    }

    /// Whatever the numbers, a topology is built or refused, and what is built has ids that fit.
    #[test]
    fn any_numbers_are_built_or_refused(n in prop::array::uniform4(any::<u32>()), shift in 0u32..32) {
        let n = n.map(|n| n >> shift);
        for (kind, parameters) in [
            ("dragonfly", format!(
                "hosts_per_router = {}\nrouters_per_group = {}\nglobal_links_per_router = {}\ngroups = {}",
                n[0], n[1], n[2], n[3]
            )),
            ("fat-tree", format!("radix = {}\ntapering = \"{}:{}\"", n[0], n[1], n[2])),
            ("fat-tree", format!("radix = {}\nhosts_per_leaf = {}\nuplinks_per_leaf = {}", n[0], n[1], n[2])),
            ("hyperx", format!("shape = [{}, {}]\nwidth = {}\nhosts_per_router = {}", n[0], n[1], n[2], n[3])),
            ("slim-fly", format!("q = {}\nhosts_per_router = {}", n[0], n[1])),
            ("torus", format!("sizes = {n:?}")),
            ("mesh", format!("sizes = [{}, {}]\nhosts_per_router = {}", n[0], n[1], n[2])),
        ] {
            if let Ok(topology) = build(&section(kind, &parameters)) {
                check_router(&*topology, RouterId(topology.routers() - 1));
                check_router(&*topology, RouterId(0));
            }
        }
    }
}
