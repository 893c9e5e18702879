//! Networks of groups.

use std::collections::{HashMap, HashSet};

use fabricsim_routing::*;
use topology::{HOST_LINK, HostId, Peer, Port, RouterId, Shape};

use crate::networks::NETWORKS;
use crate::walk::{Draws, Load, network, pairs, path, routing};

/// Uniform traffic with the source allowed as destination, in the dragonfly of 1,056 hosts: BookSim 2 counts 3.69
/// to 3.70 visited routers.
#[test]
fn routers_visited_in_the_dragonfly_of_booksim() {
    let topology = network(
        "kind = \"dragonfly\"\nhosts_per_router = 4\nrouters_per_group = 8\nglobal_links_per_router = 4",
    );
    let minimal = routing("minimal", "", &topology);
    let mut draws = Draws(1);
    let pairs: Vec<_> = pairs(&*topology).collect();
    let visited: u64 = pairs
        .iter()
        .map(|pair| path(&*topology, &*minimal, *pair, &mut draws).len() as u64 + 1)
        .sum();
    // From every router: 1 router for itself, 2 for the 7 others of the group, 3.75 for the 256 others.
    let per_router = 1 + 2 * 7 + 256 * 15 / 4;
    assert_eq!(visited, 264 * 4 * 4 * per_router);
    let mean = visited as f64 / pairs.len() as f64;
    assert!((3.69..3.70).contains(&mean), "{mean}");
}

#[test]
fn minimal_spreads_pairs_over_parallel_links() {
    let topology = network(
        "kind = \"dragonfly\"\nhosts_per_router = 4\nrouters_per_group = 4\nglobal_links_per_router = 4\ngroups = 3",
    );
    let minimal = routing("minimal", "", &topology);
    let mut used: HashMap<_, u32> = HashMap::new();
    for pair in pairs(&*topology) {
        for (router, port, _) in path(&*topology, &*minimal, pair, &mut Draws(1)) {
            assert_ne!(topology.link_class(router, port), HOST_LINK);
            if topology.link_class(router, port).0 == 2 {
                *used.entry((router, port)).or_default() += 1;
            }
        }
    }
    assert_eq!(used.len(), 3 * 16);
    let (least, most) = (used.values().min().unwrap(), used.values().max().unwrap());
    assert!(most < &(least * 2), "{least} to {most} packets on a link");
}

/// All VCs of all ports are loaded; others are asked for by mistake.
struct LoadedVcs(u8);

impl Congestion for LoadedVcs {
    fn load(&self, _: Port) -> u64 {
        4096
    }

    fn load_by(&self, _: LoadMetric, _: Port, vc: u8) -> u64 {
        assert!(vc < self.0, "VC {vc}");
        4096
    }

    fn free_space(&self, _: Port, _: u8) -> u64 {
        0
    }
}

/// The VCs of a path with the VC to the host are those of its phases: up to the intermediate router, from there on, and
/// from the next link between groups on.
#[test]
fn virtual_channels_by_phase_are_those_of_booksim() {
    let topology = network(NETWORKS[6]);
    let Shape::Groups(groups) = topology.shape() else {
        panic!("no groups")
    };
    let minimal = routing("minimal", "vcs = \"by-phase\"", &topology);
    let ugal = routing(
        "ugal",
        "vcs = \"by-phase\"\nmetric = \"credits\"\nbias = \"0 B\"\nweight = 0",
        &topology,
    );
    let (mut draws, mut detours) = (Draws(1), 0);
    for (source, destination) in pairs(&*topology) {
        for (routing, is_minimal) in [(&minimal, true), (&ugal, false)] {
            let (router, input) = topology.attachment(source);
            let mut at = At {
                router,
                input,
                vc: 0,
                source,
                destination,
            };
            let (mut state, mut crossed, mut vcs) = (RouteState::default(), Vec::new(), Vec::new());
            let to_host = loop {
                // The port of the minimal path is loaded, so that all packets that may take a detour do.
                let hop = routing.route(at, &mut state, &LoadedVcs(routing.vcs()), &mut draws);
                let Peer::Router(router, input) = topology.peer(at.router, hop.port) else {
                    break routing.host_vc(at, state);
                };
                crossed.push(groups.group(at.router) != groups.group(router));
                vcs.push(hop.vc);
                at = At {
                    router,
                    input,
                    vc: hop.vc,
                    ..at
                };
            };
            let globals = crossed.iter().filter(|crossed| **crossed).count();
            let last = crossed.iter().rposition(|crossed| *crossed);
            let expected: Vec<u8> = (0..crossed.len())
                .map(|hop| match (is_minimal, globals, last) {
                    (true, _, last) => u8::from(last.is_some_and(|last| hop >= last)),
                    (false, 0, _) => 2,
                    (false, 1, last) => 1 + u8::from(last.is_some_and(|last| hop >= last)),
                    (false, _, last) if last.is_some_and(|last| hop >= last) => 2,
                    // The intermediate router is somewhere between the links between groups.
                    (false, ..) => vcs[hop].min(1),
                })
                .collect();
            assert_eq!(vcs, expected, "{source:?} to {destination:?}");
            if globals == 2 {
                detours += 1;
                let first = crossed.iter().position(|crossed| *crossed).expect("a link");
                assert!(vcs[..=first].iter().all(|vc| *vc == 0), "{vcs:?}");
                assert!(vcs.is_sorted(), "{vcs:?}");
            }
            let of_host = match is_minimal {
                true => vcs.last().copied().unwrap_or(0),
                false => 2,
            };
            assert_eq!(to_host, Some(of_host), "{source:?} to {destination:?}");
        }
    }
    assert!(detours > 1000, "{detours}");
    let proof = prove_deadlock_free(&*topology, &*ugal, 1_000_000);
    assert!(matches!(proof, Err(NotProven::Cycle(_))), "{proof:?}");
}

/// From host 0 to the last one: the minimal port, and the least load on it with which the packet takes another
/// path.
fn first_load_refused(parameters: &str, other_load: u64) -> Option<u64> {
    let topology = network(NETWORKS[6]);
    let (ugal, minimal) = (
        routing("ugal", parameters, &topology),
        routing("minimal", "", &topology),
    );
    let (source, destination) = (HostId(0), HostId(topology.hosts() - 1));
    let (router, input) = topology.attachment(source);
    let at = At {
        router,
        input,
        vc: 0,
        source,
        destination,
    };
    let direct = minimal
        .route(at, &mut RouteState::default(), &Load(|_| 0), &mut Draws(1))
        .port;
    (0..20_000).step_by(10).find(|load| {
        let load = Load(|port| if port == direct { *load } else { other_load });
        // Some draws select nodes behind the same port: a draw of another port refuses the minimal path.
        (0..50).any(|seed| {
            ugal.route(at, &mut RouteState::default(), &load, &mut Draws(seed))
                .port
                != direct
        })
    })
}

#[test]
fn ugal_compares_as_booksim_does() {
    assert_eq!(first_load_refused("", 0), Some(7690));
    assert_eq!(first_load_refused("", 1000), Some(9690));
    assert_eq!(first_load_refused("bias = \"0 B\"", 1000), Some(2010));
    assert_eq!(
        first_load_refused("bias = \"100 B\"\nweight = 1", 1000),
        Some(1110)
    );
    assert_eq!(first_load_refused("bias = \"1 TB\"", 1000), None);
}

#[test]
fn ugal_offers_every_place_outside_the_two_groups_once() {
    let topology = network(NETWORKS[6]);
    let Shape::Groups(groups) = topology.shape() else {
        panic!("groups")
    };
    for (parameters, nodes) in [
        ("", 7 * 4),
        ("intermediate = \"group\"", 7),
        ("intermediate = \"global-link\"", 7),
    ] {
        let ugal = routing("ugal", parameters, &topology);
        for (source, destination) in pairs(&*topology) {
            let (router, input) = topology.attachment(source);
            let (here, there) = (
                groups.group(router),
                groups.group(topology.attachment(destination).0),
            );
            let mut options = Vec::new();
            let at = At {
                router,
                input,
                vc: 0,
                source,
                destination,
            };
            ugal.options(at, RouteState::default(), &mut options);
            if here == there {
                assert_eq!(options.len(), 1);
                continue;
            }
            // The minimal path comes first.
            let vias: HashSet<u32> = options[1..].iter().map(|(_, state)| state.via).collect();
            assert_eq!((options.len(), vias.len()), (1 + nodes, nodes));
            let group = |via: u32| {
                if nodes == 7 {
                    via
                } else {
                    groups.group(RouterId(via))
                }
            };
            assert!(vias.iter().all(|via| ![here, there].contains(&group(*via))));
        }
    }
}

/// A Dragonfly+ of 3 leaves and 4 spines in each group, with several links from a spine to another group.
const PLUS: &str = "kind = \"dragonfly-plus\"\nhosts_per_leaf = 2\nleaves_per_group = 3\nspines_per_group = 4\n\
                    global_links_per_spine = 4\ngroups = 3";

/// The position of a packet at a router where it does not enter the network.
fn passing(router: u32, destination: u32) -> At {
    At {
        router: RouterId(router),
        input: Port(0),
        vc: 0,
        source: HostId(0),
        destination: HostId(destination),
    }
}

/// The hops of many packets, each with its count. `loaded` ports have a load.
fn hops(parameters: &str, toml: &str, at: At, state: RouteState, loaded: &[u16]) -> HashMap<(u16, u8), u32> {
    let topology = network(toml);
    let minimal = routing("minimal", parameters, &topology);
    let (mut counts, mut draws) = (HashMap::new(), Draws(11));
    for _ in 0..8000 {
        let load = Load(|port| u64::from(loaded.contains(&port.0)) * 256);
        let hop = minimal.route(at, &mut state.clone(), &load, &mut draws);
        *counts.entry((hop.port.0, hop.vc)).or_default() += 1;
    }
    counts
}

/// Whether all choices were made, each about as often as any other: chi-squared with up to 7 degrees of freedom is
/// below 26 in all but 0.05 % of cases.
fn assert_even(counts: &HashMap<(u16, u8), u32>, expected: &[(u16, u8)]) {
    let found: HashSet<_> = counts.keys().copied().collect();
    assert_eq!(found, expected.iter().copied().collect(), "{counts:?}");
    let mean = f64::from(counts.values().sum::<u32>()) / expected.len() as f64;
    let chi_squared: f64 = counts
        .values()
        .map(|count| (f64::from(*count) - mean).powi(2) / mean)
        .sum();
    assert!(chi_squared < 26.0, "{counts:?}: {chi_squared}");
}

const UNDER_WAY: RouteState = RouteState {
    via: 0,
    path: 0,
    phase: 1,
    flags: 0,
};

#[test]
fn adaptive_takes_the_idle_spine() {
    // From leaf 0 to leaf 1; ports 2 to 5 of a leaf lead to the spines.
    let at = passing(0, 2);
    for idle in 2..6 {
        let loaded: Vec<u16> = (2..6).filter(|port| *port != idle).collect();
        for state in [RouteState::default(), UNDER_WAY] {
            let counts = hops("paths = \"adaptive\"", PLUS, at, state, &loaded);
            assert_eq!(counts, HashMap::from([((idle, 1), 8000)]));
        }
    }
    // Equally loaded spines are equally likely. This is the default of the topology.
    for loaded in [&[][..], &[2, 3, 4, 5]] {
        let counts = hops("", PLUS, at, RouteState::default(), loaded);
        assert_even(&counts, &[(2, 1), (3, 1), (4, 1), (5, 1)]);
    }
    assert_even(
        &hops("", PLUS, at, RouteState::default(), &[3]),
        &[(2, 1), (4, 1), (5, 1)],
    );
}

#[test]
fn adaptive_takes_the_idle_of_parallel_links() {
    // From group 0 to the first host of group 1: each spine has two links there, at ports 3 to 6 of a spine, of which
    // two lead to group 2.
    let topology = network(PLUS);
    let Shape::Groups(groups) = topology.shape() else {
        panic!("groups")
    };
    let mut links: HashMap<RouterId, Vec<u16>> = HashMap::new();
    for index in 0..groups.links_between(0, 1) {
        let (spine, port) = groups.gateway(0, 1, index);
        links.entry(spine).or_default().push(port.0);
    }
    assert_eq!(links.len(), 4);
    for (spine, ports) in links {
        let [a, b] = ports[..] else {
            panic!("{spine:?} has two links: {ports:?}")
        };
        let at = passing(spine.0, 6);
        let choose = |loaded: &[u16]| hops("paths = \"adaptive\"", PLUS, at, UNDER_WAY, loaded);
        assert_eq!(choose(&[a]), HashMap::from([((b, 1), 8000)]));
        assert_eq!(choose(&[b]), HashMap::from([((a, 1), 8000)]));
        assert_even(&choose(&[a, b]), &[(a, 1), (b, 1)]);
    }
    // The leaf chooses among the spines, on the VC before the global link.
    let leaf = passing(0, 6);
    let counts = hops("paths = \"adaptive\"", PLUS, leaf, RouteState::default(), &[2, 5]);
    assert_even(&counts, &[(3, 0), (4, 0)]);
}

/// A router with a link to the other group and a neighbour whose link ends at the destination: both paths have two
/// links, so the source's router may take either, but a packet on its way takes the router's own link.
#[test]
fn adaptive_takes_a_local_link_before_a_global_one_only_at_the_source() {
    let toml = "kind = \"dragonfly\"\nhosts_per_router = 1\nrouters_per_group = 2\nlinks_between_groups = 2\ngroups = 2";
    // Router 0 has a link to router 2, router 1 one to router 3, the destination.
    let at = passing(0, 3);
    let choose = |state| hops("paths = \"adaptive\"", toml, at, state, &[]);
    assert_even(&choose(RouteState::default()), &[(1, 0), (2, 1)]);
    assert_eq!(choose(UNDER_WAY), HashMap::from([((2, 1), 8000)]));
    // The load decides at the source.
    let loaded = hops("paths = \"adaptive\"", toml, at, RouteState::default(), &[2]);
    assert_eq!(loaded, HashMap::from([((1, 0), 8000)]));
}

#[test]
fn random_takes_all_paths_evenly_whatever_the_loads() {
    let parameters = "paths = \"random\"";
    for loaded in [&[][..], &[2, 3, 4]] {
        let inside = hops(parameters, PLUS, passing(0, 2), RouteState::default(), loaded);
        assert_even(&inside, &[(2, 1), (3, 1), (4, 1), (5, 1)]);
        let outside = hops(parameters, PLUS, passing(0, 6), RouteState::default(), loaded);
        assert_even(&outside, &[(2, 0), (3, 0), (4, 0), (5, 0)]);
    }
    // A spine has two links to the other group.
    let topology = network(PLUS);
    let Shape::Groups(groups) = topology.shape() else {
        panic!("groups")
    };
    let spine = groups.gateway(0, 1, 0).0;
    let links = (0..groups.links_between(0, 1)).map(|link| groups.gateway(0, 1, link));
    let ports: Vec<_> = links
        .filter(|(router, _)| *router == spine)
        .map(|(_, port)| (port.0, 1))
        .collect();
    assert_eq!(ports.len(), 2);
    let outside = hops(parameters, PLUS, passing(spine.0, 6), UNDER_WAY, &[ports[0].0]);
    assert_even(&outside, &ports);
}

/// Load-aware routing compares the first and the last path to learn whether there is a choice.
#[test]
fn first_and_last_path_differ_where_paths_do() {
    for toml in NETWORKS {
        let topology = network(toml);
        let Shape::Groups(groups) = topology.shape() else {
            continue;
        };
        let routers = groups.routers_per_group();
        for (from, to) in (0..routers).flat_map(|from| (0..routers).map(move |to| (from, to))) {
            if from == to {
                continue;
            }
            let port = |path| groups.local_port(RouterId(from), RouterId(to), path);
            let ports: HashSet<_> = (0..groups.local_paths()).map(port).collect();
            let differ = port(0) != port(groups.local_paths() - 1);
            assert_eq!(ports.len() > 1, differ, "{toml}: {from} to {to}");
        }
    }
}

/// With a drawn link all links to groups other than the destination's are used equally, also where groups have
/// different numbers of links between them.
#[test]
fn drawn_links_are_all_links_to_third_groups() {
    let global_link = "intermediate = \"global-link\"\npaths = ";
    for (toml, links) in [
        // One link between any two groups, and another one between neighbours.
        (
            "kind = \"dragonfly\"\nhosts_per_router = 1\nrouters_per_group = 3\nglobal_links_per_router = 2\ngroups = 5",
            6,
        ),
        (
            "kind = \"dragonfly-2d\"\nhosts_per_router = 1\nrows = 2\ncolumns = 3\nglobal_links_per_router = 1\ngroups = 5\narrangement = \"random\"",
            6,
        ),
        (
            "kind = \"dragonfly-plus\"\nhosts_per_leaf = 1\nleaves_per_group = 2\nspines_per_group = 2\nglobal_links_per_spine = 3\ngroups = 5\narrangement = \"palmtree\"",
            6,
        ),
    ] {
        let topology = network(toml);
        let Shape::Groups(groups) = topology.shape() else {
            panic!("groups")
        };
        for paths in ["hashed", "random"] {
            let valiant = routing("valiant", &format!("{global_link}\"{paths}\""), &topology);
            assert_eq!(valiant.vcs(), 3);
            for (source, destination) in pairs(&*topology) {
                let (from, to) = (topology.attachment(source).0, topology.attachment(destination).0);
                let (here, there) = (groups.group(from), groups.group(to));
                if here == there {
                    continue;
                }
                let mut used: HashMap<(RouterId, Port), f64> = HashMap::new();
                let mut packets = vec![(from, RouteState::default(), 1.0)];
                while let Some((router, state, load)) = packets.pop() {
                    let mut chances = Vec::new();
                    valiant.chances(router, destination, state, &mut chances);
                    for (port, state, chance) in chances {
                        match topology.peer(router, port) {
                            Peer::Router(next, _) if groups.group(next) == here => {
                                packets.push((next, state, load * chance));
                            }
                            Peer::Router(next, _) => {
                                assert_ne!(groups.group(next), there);
                                *used.entry((router, port)).or_default() += load * chance;
                            }
                            other => panic!("{other:?} in the source's group"),
                        }
                    }
                }
                let elsewhere = links - groups.links_between(here, there);
                assert_eq!(used.len() as u32, elsewhere, "{toml} {paths}");
                let share = 1.0 / f64::from(elsewhere);
                let even = |load: &f64| (load - share).abs() < 1e-9;
                assert!(used.values().all(even), "{toml} {paths}: {used:?}");
            }
        }
    }
}

/// A packet keeps the drawn link up to the router that has it, and goes on to the destination from its far end.
#[test]
fn a_drawn_link_is_kept() {
    let toml = "kind = \"dragonfly-plus\"\nhosts_per_leaf = 1\nleaves_per_group = 2\nspines_per_group = 3\n\
                global_links_per_spine = 2\ngroups = 4";
    let topology = network(toml);
    let Shape::Groups(groups) = topology.shape() else {
        panic!("groups")
    };
    for paths in ["hashed", "random", "adaptive"] {
        let parameters = format!("intermediate = \"global-link\"\npaths = \"{paths}\"");
        let valiant = routing("valiant", &parameters, &topology);
        let (source, destination) = (HostId(0), HostId(topology.hosts() - 1));
        let (router, input) = topology.attachment(source);
        let start = At {
            router,
            input,
            vc: 0,
            source,
            destination,
        };
        let mut draws = Draws(5);
        let mut drawn = HashSet::new();
        for _ in 0..200 {
            let (mut at, mut state) = (start, RouteState::default());
            let first = valiant.route(at, &mut state, &Load(|_| 0), &mut draws);
            let link = groups.gateway(0, state.via, u32::from(state.path));
            drawn.insert(link);
            let mut hop = first;
            let mut left = None;
            while let Peer::Router(next, input) = topology.peer(at.router, hop.port) {
                if groups.group(at.router) == 0 && groups.group(next) != 0 {
                    left = Some((at.router, hop.port));
                }
                at = At {
                    router: next,
                    input,
                    vc: hop.vc,
                    ..at
                };
                hop = valiant.route(at, &mut state, &Load(|_| 0), &mut draws);
            }
            assert_eq!(left, Some(link), "{paths}");
        }
        // Two links to each of the two third groups.
        assert_eq!(drawn.len(), 4, "{paths}");
    }
}

/// Routing with other VCs.
struct WithVcs(Box<dyn Routing>, fn(u8) -> u8);

impl Routing for WithVcs {
    fn vcs(&self) -> u8 {
        self.0.vcs()
    }

    fn channel_order(&self, router: RouterId, port: Port, vc: u8) -> Option<u64> {
        self.0.channel_order(router, port, vc)
    }

    fn route(&self, at: At, state: &mut RouteState, load: &dyn Congestion, random: &mut dyn Random) -> Hop {
        let hop = self.0.route(at, state, load, random);
        Hop {
            vc: (self.1)(hop.vc),
            ..hop
        }
    }

    fn options(&self, at: At, state: RouteState, out: &mut Vec<(Hop, RouteState)>) {
        self.0.options(at, state, out);
        for (hop, _) in out {
            hop.vc = (self.1)(hop.vc);
        }
    }
}

#[test]
fn a_wrong_vc_is_found_by_enumeration_and_by_order() {
    for (small, large) in [
        (
            "kind = \"dragonfly\"\nhosts_per_router = 2\nrouters_per_group = 4\nglobal_links_per_router = 2",
            "kind = \"dragonfly\"\nhosts_per_router = 16\nrouters_per_group = 32\nglobal_links_per_router = 16",
        ),
        (
            "kind = \"dragonfly-plus\"\nhosts_per_leaf = 2\nleaves_per_group = 2\nspines_per_group = 3\n\
             global_links_per_spine = 2\ngroups = 4",
            "kind = \"dragonfly-plus\"\nhosts_per_leaf = 16\nleaves_per_group = 16\nglobal_links_per_spine = 16",
        ),
    ] {
        for name in ["valiant", "ugal", "par"] {
            // The last segment shares the VCs of the first one.
            let with = |toml, vcs| WithVcs(routing(name, "", &network(toml)), vcs);
            let shared = |vc| vc % 2;
            let small_network = network(small);
            let proof = prove_deadlock_free(&*small_network, &with(small, shared), 20_000_000);
            assert!(matches!(proof, Err(NotProven::Cycle(_))), "{name}: {proof:?}");
            for toml in [small, large] {
                let order = |vcs| check_order(&*network(toml), &with(toml, vcs), 400_000);
                let sampled = order(shared);
                assert!(
                    matches!(sampled, Err(NotProven::Unordered(_))),
                    "{name}: {sampled:?}"
                );
                assert!(matches!(order(|vc| vc), Ok(Some(_))), "{name} on {toml}");
            }
        }
    }
}
