//! Routing over path segments: path lengths, VCs, compared loads, and the routers where a minimal path can be left.

use std::collections::HashMap;
use std::sync::Arc;

use config::Section;
use fabricsim_routing::*;
use topology::{HostId, Peer, Port, RouterId, Shape, Topology};

/// p = h = 4, a = 8: 33 groups, 264 routers, 1,056 hosts.
const BOOKSIM: &str =
    "kind = \"dragonfly\"\nhosts_per_router = 4\nrouters_per_group = 8\nglobal_links_per_router = 4";
const SMALL: &str =
    "kind = \"dragonfly\"\nhosts_per_router = 2\nrouters_per_group = 4\nglobal_links_per_router = 2";

struct Load<F: Fn(Port) -> u64>(F);

impl<F: Fn(Port) -> u64> Congestion for Load<F> {
    fn load(&self, port: Port) -> u64 {
        (self.0)(port)
    }

    fn free_space(&self, _: Port, _: u8) -> u64 {
        unreachable!("no path segment asks for free space")
    }
}

/// A linear congruential generator.
struct Draws(u64);

impl Random for Draws {
    fn below(&mut self, bound: u32) -> u32 {
        assert!(bound >= 1);
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        ((self.0 >> 33) % u64::from(bound)) as u32
    }
}

fn network(toml: &str) -> Arc<dyn Topology> {
    let section = Section::from_toml(toml, "x.toml").unwrap();
    topology::build(&section).unwrap().into()
}

fn routing(algorithm: &str, parameters: &str, topology: &Arc<dyn Topology>) -> Box<dyn Routing> {
    let text = format!("algorithm = \"{algorithm}\"\n{parameters}\n");
    build(&Section::from_toml(&text, "x.toml").unwrap(), topology.clone()).unwrap()
}

fn start(topology: &dyn Topology, source: HostId, destination: HostId) -> At {
    let (router, input) = topology.attachment(source);
    At {
        router,
        input,
        vc: 0,
        source,
        destination,
    }
}

fn beyond(topology: &dyn Topology, at: At, hop: Hop) -> Option<At> {
    match topology.peer(at.router, hop.port) {
        Peer::Router(router, input) => Some(At {
            router,
            input,
            vc: hop.vc,
            ..at
        }),
        Peer::Host(host) if host == at.destination => None,
        other => panic!("{hop:?} leads to {other:?}"),
    }
}

/// The routers after the first one, with the VC on which the packet arrived.
fn path(
    topology: &dyn Topology,
    routing: &dyn Routing,
    mut at: At,
    congestion: &dyn Congestion,
    draws: &mut Draws,
) -> Vec<(RouterId, u8)> {
    let (mut state, mut path) = (RouteState::default(), Vec::new());
    loop {
        let hop = routing.route(at, &mut state, congestion, draws);
        match beyond(topology, at, hop) {
            Some(next) => at = next,
            None => return path,
        }
        path.push((at.router, at.vc));
        assert!(path.len() < 100, "does not arrive");
    }
}

/// A segment between routers of different groups has 1 + 2 * 7/8 links on average: each end is one of the eight
/// routers, of which one has the global link. A segment to an intermediate group has 1 + 7/8.
#[test]
fn valiant_takes_two_segments_between_groups() {
    let topology = network(BOOKSIM);
    for (parameters, segments) in [("", 2.0 * 2.75), ("intermediate = \"group\"", 1.875 + 2.75)] {
        let valiant = routing("valiant", parameters, &topology);
        let (mut draws, mut links, mut packets) = (Draws(1), 0, 0);
        let mut through = HashMap::new();
        for source in (0..1056).step_by(4) {
            for destination in (0..1056).step_by(12) {
                let at = start(&*topology, HostId(source), HostId(destination));
                let path = path(&*topology, &*valiant, at, &Load(|_| 0), &mut draws);
                let (from, to) = (source / 32, destination / 32);
                if from == to {
                    assert!(path.len() <= 1, "traffic inside a group is minimal");
                    continue;
                }
                let mut groups: Vec<u32> = path.iter().map(|(router, _)| router.0 / 8).collect();
                groups.dedup();
                let groups: Vec<u32> = groups.into_iter().skip_while(|group| *group == from).collect();
                assert!(groups.len() == 2 && groups[1] == to, "{groups:?}");
                *through.entry(groups[0]).or_insert(0u32) += 1;
                links += path.len();
                packets += 1;
            }
        }
        let mean = links as f64 / f64::from(packets);
        assert!(
            (mean - segments).abs() < 0.03,
            "{parameters}: {mean}, not {segments}"
        );
        let (least, most) = (through.values().min().unwrap(), through.values().max().unwrap());
        assert!(through.len() == 33 && most * 4 < least * 5, "{least} to {most}");
    }
}

/// Source and destination in one group and in two: every router is offered once, the source's as the minimal path.
#[test]
fn valiant_can_go_through_any_router() {
    let topology = network(SMALL);
    let valiant = routing("valiant", "intermediate = \"any-router\"", &topology);
    let minimal = routing("minimal", "", &topology);
    assert_eq!(valiant.vcs(), 4);
    for destination in [HostId(7), HostId(71)] {
        let at = start(&*topology, HostId(0), destination);
        let (mut options, mut direct) = (Vec::new(), Vec::new());
        valiant.options(at, RouteState::default(), &mut options);
        minimal.options(at, RouteState::default(), &mut direct);
        // On VC 2 and 3, as the last segment.
        let (there, elsewhere): (Vec<(Hop, RouteState)>, Vec<_>) =
            options.iter().partition(|(hop, _)| hop.vc > 1);
        assert_eq!((there.len(), there[0].0.port), (1, direct[0].0.port));
        let mut nodes: Vec<u32> = elsewhere.iter().map(|(_, state)| state.via).collect();
        nodes.sort();
        assert!(nodes.iter().copied().eq(1..36), "{nodes:?}");
        let mut draws = Draws(1);
        let left_groups = (0..1000).filter(|_| {
            let path = path(&*topology, &*valiant, at, &Load(|_| 0), &mut draws);
            path.iter()
                .any(|(router, _)| ![0, destination.0 / 8].contains(&(router.0 / 4)))
        });
        // Between two groups through 28 of 36 routers; within one group through 24, since the path to the other 8
        // passes the destination and ends there.
        let (left, expected) = match destination {
            HostId(7) => (left_groups.count(), 667),
            _ => (left_groups.count(), 778),
        };
        assert!(left.abs_diff(expected) < 60, "{left}, not {expected}");
    }
}

/// Without groups, too: the source's router means the minimal path, that of the destination a path on the first VC.
#[test]
fn valiant_goes_through_any_router_of_a_hyperx() {
    let topology = network("kind = \"hyperx\"\nshape = [4, 4]\nhosts_per_router = 4");
    let valiant = routing("valiant", "intermediate = \"any-router\"", &topology);
    assert_eq!(valiant.vcs(), 2);
    let at = start(&*topology, HostId(0), HostId(63));
    let mut options = Vec::new();
    valiant.options(at, RouteState::default(), &mut options);
    let (there, elsewhere): (Vec<(Hop, RouteState)>, Vec<_>) =
        options.iter().partition(|(hop, _)| hop.vc == 1);
    assert_eq!(there.len(), 1);
    let mut nodes: Vec<u32> = elsewhere.iter().map(|(_, state)| state.via).collect();
    nodes.sort();
    assert!(nodes.iter().copied().eq(1..16), "{nodes:?}");
    // A path has 1.5 links to a router at random and as many from there, less what is behind the destination's router
    // where the packet meets it first.
    let (mut draws, mut links) = (Draws(1), 0);
    for source in (0..64).map(HostId) {
        for destination in (0..64).map(HostId) {
            let at = start(&*topology, source, destination);
            links += path(&*topology, &*valiant, at, &Load(|_| 0), &mut draws).len();
        }
    }
    let mean = f64::from(links as u32) / (64.0 * 64.0);
    assert!((mean - 2.74).abs() < 0.04, "{mean}");
}

/// With a loaded minimal path all packets to other groups take a detour but those that have drawn a node in the group
/// of an end: two of nine groups.
#[test]
fn ugal_can_draw_from_all_groups() {
    let topology = network(SMALL);
    let ugal = |intermediate: &str| {
        routing(
            "ugal",
            &format!("bias = \"0 B\"\nweight = 0\nintermediate = \"{intermediate}\""),
            &topology,
        )
    };
    let detours = |intermediate: &str| {
        let (routing, mut draws, mut detours) = (ugal(intermediate), Draws(1), 0);
        for _ in 0..9000 {
            let at = start(&*topology, HostId(0), HostId(71));
            let path = path(&*topology, &*routing, at, &Load(|_| 4096), &mut draws);
            let through: Vec<u32> = path.iter().map(|(router, _)| router.0 / 4).collect();
            detours += u32::from(through.iter().any(|group| ![0, 8].contains(group)));
        }
        detours
    };
    assert_eq!(detours("router"), 9000);
    let drawn = detours("any-group");
    assert!(drawn.abs_diff(7000) < 150, "{drawn}");
}

#[test]
fn slim_fly_takes_four_links_with_four_vcs_at_most() {
    let topology = network("kind = \"slim-fly\"\nq = 5\nhosts_per_router = 2");
    for (algorithm, vcs) in [("valiant", 4), ("ugal", 4), ("par", 5)] {
        let routing = routing(algorithm, "", &topology);
        assert_eq!(routing.vcs(), vcs, "{algorithm}");
        let (mut draws, mut longest, mut links) = (Draws(1), 0, 0);
        for source in (0..100).map(HostId) {
            for destination in (0..100).map(HostId) {
                let at = start(&*topology, source, destination);
                let load = Load(|port| u64::from(port.0 % 3) * 1000);
                let path = path(&*topology, &*routing, at, &load, &mut draws);
                assert!(path.iter().enumerate().all(|(n, (_, vc))| n == usize::from(*vc)));
                longest = path.len().max(longest);
                links += path.len();
            }
        }
        // Valiant: twice the mean distance, (7 + 42 * 2) / 49, slightly less if the destination comes first.
        if algorithm == "valiant" {
            let mean = f64::from(links as u32) / (100.0 * 98.0);
            assert!((3.55..2.0 * 91.0 / 49.0).contains(&mean), "{mean}");
        }
        assert_eq!(longest, usize::from(vcs), "{algorithm}");
    }
}

#[test]
fn vcs_are_those_of_the_segments() {
    let hyperx = "kind = \"hyperx\"\nshape = [4, 4, 4]";
    for (toml, algorithm, parameters, vcs) in [
        (SMALL, "valiant", "", 4),
        (SMALL, "ugal", "", 4),
        (SMALL, "par", "", 5),
        (SMALL, "valiant", "intermediate = \"group\"", 3),
        (SMALL, "ugal", "intermediate = \"group\"", 3),
        (SMALL, "par", "intermediate = \"group\"", 4),
        (SMALL, "valiant", "intermediate = \"global-link\"", 3),
        (SMALL, "ugal", "intermediate = \"global-link\"", 3),
        (SMALL, "par", "intermediate = \"global-link\"", 4),
        (hyperx, "valiant", "", 2),
        (hyperx, "ugal", "", 2),
        (hyperx, "par", "", 3),
        // No intermediate node exists.
        ("kind = \"hyperx\"\nshape = [2]", "par", "", 1),
    ] {
        let topology = network(toml);
        let needed = routing(algorithm, parameters, &topology).vcs();
        assert_eq!(needed, vcs, "{algorithm} {parameters} on {toml}");
    }
}

#[test]
fn without_a_third_place_all_paths_are_minimal() {
    for toml in [
        "kind = \"dragonfly\"\nhosts_per_router = 2\nrouters_per_group = 3\nglobal_links_per_router = 2\ngroups = 2",
        "kind = \"hyperx\"\nshape = [2]\nhosts_per_router = 3",
    ] {
        let topology = network(toml);
        for algorithm in ["valiant", "ugal", "par"] {
            let [routing, minimal] = [algorithm, "minimal"].map(|name| routing(name, "", &topology));
            for source in (0..topology.hosts()).map(HostId) {
                for destination in (0..topology.hosts()).map(HostId) {
                    let at = start(&*topology, source, destination);
                    let routers = |routing: &dyn Routing| -> Vec<RouterId> {
                        let load = Load(|port| u64::from(port.0) * 100_000);
                        let path = path(&*topology, routing, at, &load, &mut Draws(1));
                        path.into_iter().map(|(router, _)| router).collect()
                    };
                    assert_eq!(routers(&*routing), routers(&*minimal), "{algorithm}");
                }
            }
        }
    }
}

/// Over all draws of one node: the least load on the port of the minimal path, in steps of 10 bytes, with which a
/// packet takes another path.
fn first_load_refused(
    topology: &Arc<dyn Topology>,
    parameters: &str,
    ends: (u32, u32),
    other: u64,
) -> Option<u64> {
    let ugal = routing("ugal", parameters, topology);
    let at = start(&**topology, HostId(ends.0), HostId(ends.1));
    let mut options = Vec::new();
    ugal.options(at, RouteState::default(), &mut options);
    // The minimal path comes first.
    let direct = options[0].0.port;
    (0..20_000).step_by(10).find(|load| {
        let load = Load(|port| if port == direct { *load } else { other });
        (0..200).any(|seed| {
            ugal.route(at, &mut RouteState::default(), &load, &mut Draws(seed))
                .port
                != direct
        })
    })
}

/// 3 x 3 x 3 routers: to a router three links away, through routers on a minimal path (three links) or others (up
/// to six links). To a neighbour, paths through a third router of the same line have two links.
#[test]
fn hop_weighted_cost_is_load_times_links() {
    let topology = network("kind = \"hyperx\"\nshape = [3, 3, 3]");
    let refused = |parameters, ends, other| first_load_refused(&topology, parameters, ends, other);
    // Neighbours: minimal while load <= 2 * other.
    assert_eq!(refused("", (0, 1), 100), Some(210));
    assert_eq!(refused("weight = 3", (0, 1), 100), Some(610));
    assert_eq!(refused("weight = 3.0", (0, 1), 100), Some(610));
    assert_eq!(refused("weight = 0.75", (0, 1), 100), Some(160));
    // With one link on both paths 0.3 * 100 is just above 30.
    assert_eq!(refused("cost = \"load\"\nweight = 0.3", (0, 1), 100), Some(40));
    assert_eq!(refused("bias = \"500 B\"", (0, 1), 100), Some(710));
    assert_eq!(refused("cost = \"load\"", (0, 1), 100), Some(110));
    assert_eq!(refused("weight = 0", (0, 1), 100), Some(10));
    // Three links against three: only the loads count.
    assert_eq!(refused("", (0, 26), 100), Some(110));

    // Slim Fly: one link against at least two, two against at least two; some candidates share the port.
    let topology = network("kind = \"slim-fly\"\nq = 5\nhosts_per_router = 1");
    let neighbour = (1..50).find(|to| topology.distance(RouterId(0), RouterId(*to)) == 1);
    let far = (1..50).find(|to| topology.distance(RouterId(0), RouterId(*to)) == 2);
    // A Slim Fly of q = 5 has no triangles: three links between neighbours.
    let refused = |ends, other| first_load_refused(&topology, "", ends, other);
    assert_eq!(refused((0, neighbour.unwrap()), 100), Some(310));
    // Two links if the first one differs: three through a neighbour.
    assert_eq!(refused((0, far.unwrap()), 100), Some(160));

    // A dragonfly: at least four links through another group, unless over the minimal port.
    let topology = network(SMALL);
    let refused = |parameters| first_load_refused(&topology, parameters, (0, 71), 100);
    let weighted = refused("bias = \"0 B\"\nweight = 1\ncost = \"load-hops\"").unwrap();
    assert!(weighted > 110, "{weighted}");
    assert_eq!(refused("bias = \"0 B\"\nweight = 1"), Some(110));
}

/// With many candidates the path through the only port without load is found.
#[test]
fn the_cheapest_of_the_candidates_is_taken() {
    let topology = network("kind = \"slim-fly\"\nq = 5\nhosts_per_router = 1");
    let at = start(&*topology, HostId(0), HostId(27));
    let taken = |candidates: u32| {
        let ugal = routing("ugal", &format!("candidates = {candidates}"), &topology);
        let mut options = Vec::new();
        ugal.options(at, RouteState::default(), &mut options);
        let direct = options[0].0.port;
        let free = options.iter().map(|o| o.0.port).find(|port| *port != direct);
        let load = Load(|port| if Some(port) == free { 0 } else { 10_000 });
        let mut draws = Draws(1);
        let mut hops = (0..1000).map(|_| ugal.route(at, &mut RouteState::default(), &load, &mut draws).port);
        hops.by_ref().filter(|port| Some(*port) == free).count()
    };
    let (one, four, many) = (taken(1), taken(4), taken(100));
    assert!(
        one < 300 && one + 100 < four && four < many && many > 990,
        "{one} {four} {many}"
    );
}

/// The source router, and the router with the global link: the load there that diverts the packet, to VCs above
/// that of the link between the two.
#[test]
fn par_leaves_the_minimal_path_at_the_second_router() {
    for (toml, ends) in [
        (BOOKSIM, (0, 1055)),
        ("kind = \"hyperx\"\nshape = [4, 4]", (0, 15)),
    ] {
        let topology = network(toml);
        let (par, ugal) = (routing("par", "", &topology), routing("ugal", "", &topology));
        let at = start(&*topology, HostId(ends.0), HostId(ends.1));
        // Minimal at the source: no load.
        let mut draws = Draws(7);
        let mut first = RouteState::default();
        let hop = par.route(at, &mut first, &Load(|_| 0), &mut draws);
        assert_eq!(hop.vc, 0);
        let second = beyond(&*topology, at, hop).expect("two links at least");
        assert_eq!(second.router, minimal_next(&topology, at));
        let (mut stays, mut leaves) = (first, first);
        let direct = par.route(second, &mut stays, &Load(|_| 0), &mut draws).port;
        let load = Load(|port| if port == direct { 100_000 } else { 0 });
        let hop = par.route(second, &mut leaves, &load, &mut draws);
        assert_ne!(hop.port, direct, "{toml}");
        assert!(hop.vc >= 1);
        // It continues to its destination and leaves no other path.
        let (mut here, mut state, mut vcs, mut links) = (second, leaves, vec![0, hop.vc], 2);
        let mut next = beyond(&*topology, here, hop);
        while let Some(at) = next {
            here = at;
            let options = {
                let mut options = Vec::new();
                par.options(here, state, &mut options);
                options.len()
            };
            assert_eq!(options, 1, "decided once and for all");
            let hop = par.route(here, &mut state, &load, &mut draws);
            next = beyond(&*topology, here, hop);
            if next.is_some() {
                vcs.push(hop.vc);
                links += 1;
            }
        }
        assert_eq!(here.router, topology.attachment(at.destination).0);
        assert!(vcs.is_sorted() && vcs[vcs.len() - 1] == par.vcs() - 1, "{vcs:?}");
        assert!((4..=7).contains(&links), "{links}");
        // UGAL keeps its path, whatever the load at the second router.
        let mut state = RouteState::default();
        ugal.route(at, &mut state, &Load(|_| 0), &mut draws);
        let hop = ugal.route(second, &mut state, &load, &mut draws);
        assert_eq!(hop.port, direct, "{toml}");
    }
}

fn minimal_next(topology: &Arc<dyn Topology>, at: At) -> RouterId {
    let algorithm = match topology.shape() {
        Shape::HyperX(_) => "dimension-order",
        _ => "minimal",
    };
    let minimal = routing(algorithm, "", topology);
    let hop = minimal.route(at, &mut RouteState::default(), &Load(|_| 0), &mut Draws(1));
    beyond(&**topology, at, hop).expect("another router").router
}

#[test]
fn par_does_not_leave_the_minimal_path_behind_the_source_group() {
    let topology = network(BOOKSIM);
    let par = routing("par", "", &topology);
    for destination in (40..1056).step_by(17).map(HostId) {
        let mut at = start(&*topology, HostId(3), destination);
        let mut state = RouteState::default();
        loop {
            let mut options = Vec::new();
            par.options(at, state, &mut options);
            let in_source_group = at.router.0 < 8;
            assert_eq!(options.len(), if in_source_group { 1 + 31 * 8 } else { 1 });
            let hop = par.route(at, &mut state, &Load(|_| 0), &mut Draws(1));
            match beyond(&*topology, at, hop) {
                Some(next) => at = next,
                None => break,
            }
        }
    }
}

/// Behind the first hop of a minimal path: the groups to which a loaded global link diverts packets, with the number of
/// packets, and the number of different starts that the router offers.
fn diverted_to(
    topology: &Arc<dyn Topology>,
    parameters: &str,
    destination: HostId,
) -> (HashMap<u32, u32>, At) {
    let Shape::Groups(groups) = topology.shape() else {
        panic!("a network of groups")
    };
    let par = routing("par", &format!("{parameters}\nbias = \"0 B\""), topology);
    let at = start(&**topology, HostId(0), destination);
    let mut state = RouteState::default();
    let hop = par.route(at, &mut state, &Load(|_| 0), &mut Draws(3));
    let second = beyond(&**topology, at, hop).expect("a second router");
    let mut options = Vec::new();
    par.options(second, state, &mut options);
    let group_behind = |port: Port| match topology.peer(second.router, port) {
        Peer::Router(next, _) => groups.group(next),
        other => panic!("{port:?} leads to {other:?}"),
    };
    let last = groups.group(topology.attachment(destination).0);
    let load = Load(|port| if group_behind(port) == last { 1 << 30 } else { 0 });
    let mut counts = HashMap::new();
    let mut draws = Draws(11);
    for _ in 0..6000 {
        let mut state = state;
        let hop = par.route(second, &mut state, &load, &mut draws);
        assert!(
            options.contains(&(hop, state)),
            "{parameters}: {hop:?} is not offered"
        );
        *counts.entry(group_behind(hop.port)).or_default() += 1;
    }
    (counts, second)
}

/// With `linked` a later router draws evenly among the groups, or links, that it has itself, without the
/// destination's, and takes its own link. With `any` most packets take a local link.
#[test]
fn later_routers_draw_among_linked_groups() {
    let plus = "kind = \"dragonfly-plus\"\nhosts_per_leaf = 2\nleaves_per_group = 4\nglobal_links_per_spine = 4\n\
                groups = 17\narrangement = \"palmtree\"";
    for (toml, destination, hashed) in [
        (BOOKSIM, 1055, "hashed"),
        (SMALL, 71, "hashed"),
        (plus, 135, "hashed"),
    ] {
        let topology = network(toml);
        let Shape::Groups(groups) = topology.shape() else {
            panic!("a network of groups")
        };
        let last = groups.group(topology.attachment(HostId(destination)).0);
        for intermediate in ["router", "group", "global-link"] {
            for paths in [hashed, "random", "adaptive"] {
                let parameters =
                    format!("detours = \"linked\"\nintermediate = \"{intermediate}\"\npaths = \"{paths}\"");
                let (counts, second) = diverted_to(&topology, &parameters, HostId(destination));
                let mut linked: Vec<u32> = (0..topology.ports(second.router))
                    .filter_map(|port| match topology.peer(second.router, Port(port)) {
                        Peer::Router(next, _) => Some(groups.group(next)),
                        _ => None,
                    })
                    .filter(|group| *group != 0 && *group != last)
                    .collect();
                linked.sort_unstable();
                let mut reached: Vec<u32> = counts.keys().copied().collect();
                reached.sort_unstable();
                assert_eq!(reached, linked, "{parameters} on {toml}");
                // Six standard deviations.
                let share = 6000 / linked.len() as u32;
                let even = counts.values().all(|count| count.abs_diff(share) < 240);
                assert!(even, "{parameters} on {toml}: {counts:?}");
            }
        }
    }
    let (counts, _) = diverted_to(&network(BOOKSIM), "intermediate = \"group\"", HostId(1055));
    // Of 31 groups the router is linked to three.
    assert!(counts[&0].abs_diff(6000 * 28 / 31) < 150, "{counts:?}");
}

#[test]
fn adaptive_minimal_takes_the_least_loaded_of_the_shortest_paths() {
    let topology = network("kind = \"hyperx\"\nshape = [4, 4, 4]\nwidth = [1, 2, 1]");
    let adaptive = routing("minimal", "paths = \"adaptive\"", &topology);
    let at = start(&*topology, HostId(0), HostId(63));
    let mut draws = Draws(1);
    let mut choose = |load: &dyn Fn(Port) -> u64| {
        adaptive
            .route(at, &mut RouteState::default(), &Load(load), &mut draws)
            .port
    };
    let mut options = Vec::new();
    adaptive.options(at, RouteState::default(), &mut options);
    // One link along dimensions 0 and 2, two along dimension 1.
    assert_eq!(options.len(), 4);
    for (best, _) in &options {
        assert_eq!(choose(&|port| u64::from(port != best.port)), best.port);
    }
    let mut counts = HashMap::new();
    for _ in 0..4000 {
        *counts.entry(choose(&|_| 9)).or_insert(0) += 1;
    }
    assert!(
        counts.len() == 4 && counts.values().all(|count| (900..1100).contains(count)),
        "{counts:?}"
    );
}

/// The routers that many packets visit between source and destination, each with the VC on which they arrive there,
/// with these loads of the ports to the other routers of the group at the source.
fn local_detours(
    topology: &Arc<dyn Topology>,
    routing: &dyn Routing,
    (source, destination): (HostId, HostId),
    load: impl Fn(RouterId) -> u64,
) -> HashMap<Vec<(u32, u8)>, u32> {
    let at = start(&**topology, source, destination);
    let mut counts = HashMap::new();
    for seed in 0..3000 {
        let port_load = Load(|port| match topology.peer(at.router, port) {
            Peer::Router(router, _) => load(router),
            _ => 0,
        });
        let (mut state, mut draws) = (RouteState::default(), Draws(seed));
        let (mut here, mut visited) = (at, Vec::new());
        let hop = routing.route(here, &mut state, &port_load, &mut draws);
        let mut next = beyond(&**topology, here, hop);
        while let Some(at) = next {
            here = at;
            visited.push((here.router.0, here.vc));
            let hop = routing.route(here, &mut state, &Load(|_| 0), &mut draws);
            next = beyond(&**topology, here, hop);
        }
        *counts.entry(visited).or_default() += 1;
    }
    counts
}

/// Packets from router 0 to router 1 of a group of four routers. The direct port may be twice as loaded as the other
/// one plus the bias.
#[test]
fn detours_inside_a_group_follow_the_loads() {
    let topology = network(SMALL);
    let pair = (HostId(0), HostId(2));
    for (algorithm, last_vc) in [("ugal", 3), ("par", 4), ("piggyback", 3)] {
        for paths in ["hashed", "random", "adaptive"] {
            let parameters = format!("paths = \"{paths}\"\nlocal = \"ugal\"\nbias = \"100 B\"");
            let ugal = routing(algorithm, &parameters, &topology);
            let taken = |direct: u64, through_2: u64, through_3: u64| {
                local_detours(&topology, &*ugal, pair, |router| match router.0 {
                    1 => direct,
                    2 => through_2,
                    _ => through_3,
                })
            };
            let straight = vec![(1, last_vc)];
            let through = |via: u32| vec![(via, 0), (1, last_vc)];
            assert_eq!(taken(100, 0, 0), HashMap::from([(straight.clone(), 3000)]));
            assert_eq!(taken(300, 100, 100), HashMap::from([(straight.clone(), 3000)]));
            // Half of the packets draw each router.
            for (loads, first, second) in [
                ((301, 100, 100), through(2), through(3)),
                ((301, 100, 101), through(2), straight.clone()),
                ((301, 101, 100), straight.clone(), through(3)),
            ] {
                let counts = taken(loads.0, loads.1, loads.2);
                assert_eq!(counts.len(), 2, "{algorithm} {paths} {loads:?}: {counts:?}");
                // Five standard deviations.
                assert!(counts[&first].abs_diff(1500) < 137, "{counts:?}");
                assert!(counts[&second].abs_diff(1500) < 137, "{counts:?}");
            }
        }
    }
    // By default there are none, whatever the loads.
    let minimal = routing("ugal", "bias = \"0 B\"", &topology);
    let counts = local_detours(&topology, &*minimal, pair, |router| {
        u64::from(router.0 == 1) << 20
    });
    assert_eq!(counts, HashMap::from([(vec![(1, 3)], 3000)]));
}

#[test]
fn valiant_inside_a_group_goes_through_every_other_router() {
    let topology = network(SMALL);
    for paths in ["hashed", "random", "adaptive"] {
        let valiant = routing(
            "valiant",
            &format!("paths = \"{paths}\"\nlocal = \"valiant\""),
            &topology,
        );
        let counts = local_detours(&topology, &*valiant, (HostId(0), HostId(2)), |_| 0);
        assert_eq!(counts.len(), 2, "{counts:?}");
        for via in [2, 3] {
            assert!(counts[&vec![(via, 0), (1, 3)]].abs_diff(1500) < 137, "{counts:?}");
        }
    }
    // With "ugal" the defaults of that algorithm decide: twice the other load plus 7,680 B.
    let by_load = routing("valiant", "local = \"ugal\"", &topology);
    for (direct, detours) in [(7680, false), (7681, true)] {
        let counts = local_detours(&topology, &*by_load, (HostId(0), HostId(2)), |router| {
            u64::from(router.0 == 1) * direct
        });
        assert_eq!(counts.contains_key(&vec![(1, 3)]), !detours, "{counts:?}");
    }
}

/// A detour between two leaves of a Dragonfly+ goes through another leaf: four links.
#[test]
fn detours_in_a_group_of_leaves_and_spines_go_through_leaves() {
    let topology = network(
        "kind = \"dragonfly-plus\"\nhosts_per_leaf = 1\nleaves_per_group = 3\nspines_per_group = 2\n\
         global_links_per_spine = 2\ngroups = 3",
    );
    for paths in ["hashed", "adaptive"] {
        let valiant = routing(
            "valiant",
            &format!("paths = \"{paths}\"\nlocal = \"valiant\""),
            &topology,
        );
        let counts = local_detours(&topology, &*valiant, (HostId(0), HostId(2)), |_| 0);
        let through = |visited: &Vec<(u32, u8)>| {
            let routers: Vec<u32> = visited.iter().map(|(router, _)| *router).collect();
            let vcs: Vec<u8> = visited.iter().map(|(_, vc)| *vc).collect();
            assert_eq!(vcs, [0, 0, 3, 3]);
            assert!(
                routers[0] >= 3 && routers[2] >= 3 && routers[3] == 2,
                "{routers:?}"
            );
            routers[1]
        };
        assert!(counts.keys().all(|visited| through(visited) == 1), "{counts:?}");
    }
}
