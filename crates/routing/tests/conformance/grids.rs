//! Networks of dimensions: tori, meshes and HyperX.

use std::collections::HashMap;

use fabricsim_routing::*;
use topology::{HostId, Peer, Port, RouterId};

use crate::walk::{Draws, Known, first_hop, network, pairs, path, routing};

#[test]
fn both_directions_of_equal_length_are_used() {
    for toml in [
        "kind = \"torus\"\nsizes = [2]\nhosts_per_router = 32",
        "kind = \"torus\"\nsizes = [4, 4, 4]",
    ] {
        let topology = network(toml);
        let routing = routing("dimension-order", "", &topology);
        let mut used: HashMap<_, u32> = HashMap::new();
        for pair in pairs(&*topology) {
            for (router, port, _) in path(&*topology, &*routing, pair, &mut Draws(1)) {
                *used.entry((router, port)).or_default() += 1;
            }
        }
        assert_eq!(used.len() as u64, topology.router_links());
        let (least, most) = (used.values().min().unwrap(), used.values().max().unwrap());
        assert!(most < &(least * 2), "{toml}: {least} to {most} packets on a link");
    }
}

/// Of the paths of one direction those that wrap around have one VC, and the others the other one; the VCs change
/// places in the other direction.
#[test]
fn a_vc_of_a_dateline_at_entry_is_kept_to_the_end_of_the_ring() {
    let topology = network("kind = \"torus\"\nsizes = [8, 5]");
    let routing = routing("dimension-order", "deadlock = \"dateline-at-entry\"", &topology);
    let mut links: HashMap<_, u32> = HashMap::new();
    for (source, destination) in pairs(&*topology) {
        let crossed = path(&*topology, &*routing, (source, destination), &mut Draws(1));
        // Router and host have one number: 8 in a row.
        let [from, to] = [source, destination].map(|host| [host.0 % 8, host.0 / 8]);
        for (router, port, vc) in crossed {
            let dimension = usize::from(port.0 - 1) / 2;
            assert_eq!(
                vc,
                u8::from(from[dimension] > to[dimension]),
                "{source:?} to {destination:?}"
            );
            *links.entry((dimension, router.0 / 8 == 0, vc)).or_default() += 1;
        }
    }
    // Half of the packets of a ring on each VC.
    for dimension in 0..2 {
        let of = |vc| {
            links
                .iter()
                .filter(|((d, _, v), _)| (*d, *v) == (dimension, vc))
                .map(|(_, n)| n)
                .sum::<u32>()
        };
        assert_eq!(of(0), of(1), "dimension {dimension}");
    }
}

#[test]
fn packets_draw_between_directions_of_equal_length() {
    let topology = network("kind = \"torus\"\nsizes = [4, 5, 6]");
    let random = routing("dimension-order", "paths = \"random\"", &topology);
    let hashed = routing("dimension-order", "", &topology);
    let mut draws = Draws(1);
    // Two steps in dimension 0 and three in dimension 2 are half of a ring; two in dimension 1 are less.
    let pair = (HostId(0), HostId(2 + 4 * 2 + 20 * 3));
    let mut ways: HashMap<_, u32> = HashMap::new();
    for _ in 0..4000 {
        let crossed = path(&*topology, &*random, pair, &mut draws);
        *ways
            .entry([crossed[0].1, crossed[2].1, crossed[4].1])
            .or_default() += 1;
        assert_eq!(crossed.len(), 7);
    }
    assert_eq!(ways.len(), 4, "{ways:?}");
    assert!(ways.values().all(|count| count.abs_diff(1000) < 120), "{ways:?}");
    // Other packets have no choice.
    for pair in pairs(&*topology).step_by(7) {
        let crossed = path(&*topology, &*random, pair, &mut draws);
        let expected = path(&*topology, &*hashed, pair, &mut Draws(1));
        let apart = |by: u32, size: u32| (pair.0.0 / by % size).abs_diff(pair.1.0 / by % size);
        if apart(1, 4) != 2 && apart(20, 6) != 3 {
            assert_eq!(crossed, expected, "{pair:?}");
        }
        assert_eq!(crossed.len(), expected.len());
    }
}

#[test]
fn minimal_adaptive_takes_the_least_loaded_port_with_space_else_the_escape() {
    // From (0, 0) to (4, 2): ports 1 and 3 lead up, 2 and 4 down.
    let topology = network("kind = \"torus\"\nsizes = [5, 3]");
    let hop = |parameters, load: &dyn Fn(u16) -> u64, free_space: &dyn Fn(u16, u8) -> u64| {
        let algorithm = ("minimal-adaptive", parameters);
        first_hop(algorithm, &topology, &Known(load, free_space), &mut Draws(1))
    };
    let kept = |port, vc| Hop {
        port: Port(port),
        vc,
        claim: BufferClaim::Reserved,
    };
    // Both directions down are shortest: over the wrap-around links.
    let all = |_: u16, _: u8| 1000;
    assert_eq!(hop("", &|port| u64::from(port != 2), &all), kept(2, 2));
    assert_eq!(hop("", &|port| u64::from(port != 4), &all), kept(4, 2));
    assert_eq!(hop("", &|_| 9, &|port, _| u64::from(port == 4)), kept(4, 2));
    assert_eq!(hop("", &|_| 9, &|port, _| u64::from(port == 2)), kept(2, 2));
    // Of several VCs the one with the most free space; without free space, dimension order on VC 0 of the dateline.
    let third = |port, vc| if port == 2 { u64::from(vc) % 4 } else { 0 };
    assert_eq!(hop("adaptive_vcs = 3", &|_| 9, &third), kept(2, 3));
    let escape_only = |_, vc| if vc < 2 { 5000 } else { 0 };
    assert_eq!(hop("", &|_| 9, &escape_only), Hop::new(Port(2), 0));
    let bubble = Hop {
        claim: BufferClaim::Bubble,
        ..Hop::new(Port(2), 0)
    };
    assert_eq!(hop("escape = \"bubble\"", &|_| 9, &|_, _| 0), bubble);
}

#[test]
fn detours_in_a_hyperx_are_taken_by_load_times_links() {
    // From (0, 0) to (4, 4): ports 1 to 4 lead along dimension 0, 4 straight; 5 to 8 along dimension 1.
    let topology = network("kind = \"hyperx\"\nshape = [5, 5]");
    let free_space = |_: u16, _: u8| 1000;
    for (algorithm, bias, straight, free, expected) in [
        // Two remaining links: load * 2 against load * 3 + bias.
        ("doal", 0, 3000, 2000, 4),
        ("doal", 0, 3001, 2000, 1),
        ("doal", 10, 3005, 2000, 4),
        ("doal", 10, 3006, 2000, 1),
        ("dal", 0, 3000, 2000, 4),
        ("dal", 0, 3001, 2000, 1),
    ] {
        let parameters = format!("bias = \"{bias} B\"");
        let load = |port: u16| match port {
            1 => free,
            4 => straight,
            _ => 1_000_000,
        };
        for seed in 0..20 {
            let congestion = Known(load, free_space);
            let hop = first_hop((algorithm, &parameters), &topology, &congestion, &mut Draws(seed));
            assert_eq!(hop.port, Port(expected), "{algorithm} {parameters}, {straight} B");
        }
    }
    // Only DAL may use dimension 1.
    let load = |port: u16| if port == 8 { 1 } else { 5000 };
    let hop = |algorithm, free_space: &dyn Fn(u16, u8) -> u64| {
        let congestion = Known(load, free_space);
        first_hop(
            (algorithm, "bias = \"0 B\""),
            &topology,
            &congestion,
            &mut Draws(1),
        )
    };
    assert_eq!(hop("doal", &free_space), Hop::new(Port(4), 1));
    assert_eq!(
        (hop("dal", &free_space).port, hop("dal", &free_space).claim),
        (Port(8), BufferClaim::Reserved)
    );
    // Without free space: the escape in dimension order, which waits.
    assert_eq!(hop("dal", &|_, _| 0), Hop::new(Port(4), 0));
    // Free space only on a detour, which costs more.
    assert_eq!(hop("dal", &|port, _| u64::from(port == 6)), Hop::new(Port(4), 0));
}

#[test]
fn escapes_and_bubbles_show_in_the_proof() {
    let proof = |toml: &str, algorithm: &str, parameters: &str| {
        let topology = network(toml);
        let routing = routing(algorithm, parameters, &topology);
        prove_deadlock_free(&*topology, &*routing, 20_000_000).unwrap_or_else(|e| panic!("{e}"))
    };
    let torus = "kind = \"torus\"\nsizes = [5, 3]";
    // Rings of three routers have no path of two links; of those of five there are six.
    let bubbles = proof(torus, "dimension-order", "deadlock = \"bubble\"");
    assert_eq!((bubbles.channels, bubbles.adaptive, bubbles.rings), (60, 0, 6));
    let both = proof(torus, "minimal-adaptive", "escape = \"bubble\"");
    assert_eq!((both.channels, both.adaptive, both.rings), (120, 60, 6));
    assert_eq!(both.dependencies, bubbles.dependencies);
    assert!(
        both.to_string()
            .contains("bubble rings (Duato); 60 adaptive channels")
    );
    let dateline = proof(torus, "minimal-adaptive", "");
    let ordered = proof(torus, "dimension-order", "");
    let at_entry = proof(torus, "dimension-order", "deadlock = \"dateline-at-entry\"");
    assert_eq!(
        (at_entry.adaptive, at_entry.rings, at_entry.longest_route),
        (0, 0, 3)
    );
    assert_eq!((dateline.adaptive, dateline.rings), (60, 0));
    assert_eq!(dateline.channels - 60, ordered.channels);
    assert_eq!(dateline.dependencies, ordered.dependencies);
    let hyperx = proof("kind = \"hyperx\"\nshape = [4, 3]", "dal", "");
    assert_eq!(
        (hyperx.channels, hyperx.adaptive, hyperx.longest_route),
        (120, 60, 4)
    );
    let doal = proof("kind = \"hyperx\"\nshape = [4, 3]", "doal", "");
    assert_eq!((doal.channels, doal.adaptive, doal.longest_route), (120, 0, 4));
}

/// A ring of 8 routers with a host each; tornado traffic goes from every router to the third one up.
#[test]
fn valiant_uses_both_directions_of_a_ring_for_tornado_traffic() {
    let topology = network("kind = \"torus\"\nsizes = [8]");
    let load = |algorithm: &str| {
        let routing = routing(algorithm, "", &topology);
        let mut loads: HashMap<(RouterId, Port), f64> = HashMap::new();
        for source in 0..8 {
            let destination = HostId((source + 3) % 8);
            let mut packets = vec![(RouterId(source), RouteState::default(), 1.0)];
            while let Some((router, state, load)) = packets.pop() {
                let mut chances = Vec::new();
                routing.chances(router, destination, state, &mut chances);
                for (port, state, chance) in chances {
                    if let Peer::Router(next, _) = topology.peer(router, port) {
                        *loads.entry((router, port)).or_default() += load * chance;
                        packets.push((next, state, load * chance));
                    }
                }
            }
        }
        loads
    };
    // Three packets on every link up, none on a link down.
    let ordered = load("dimension-order");
    assert_eq!(ordered.len(), 8);
    assert!(
        ordered.values().all(|load| (load - 3.0).abs() < 1e-9),
        "{ordered:?}"
    );
    // The six intermediate routers are 1, 2, 4, 5, 6 and 7 up from the source. Paths through 1 and 2 have three links
    // up. Half of those to 4 go up and end at the destination after three links, the others have five links down.
    // Paths through 5 and 6 have five links down. Those through 7 have one link down, then four links up or down.
    let (up, down) = (Port(1), Port(2));
    let expected_up = (3.0 + 3.0 + 3.0 / 2.0 + 4.0 / 2.0) / 6.0;
    let expected_down = (5.0 / 2.0 + 5.0 + 5.0 + 1.0 + 4.0 / 2.0) / 6.0;
    let valiant = load("valiant");
    assert_eq!(valiant.len(), 16);
    for ((router, port), load) in valiant {
        let expected = match port {
            _ if port == up => expected_up,
            _ if port == down => expected_down,
            _ => panic!("{port:?} leads to a router"),
        };
        assert!(
            (load - expected).abs() < 1e-9,
            "{router:?} {port:?}: {load}, not {expected}"
        );
    }
}

#[test]
fn segments_in_grids_have_vcs_of_their_own() {
    for (toml, vcs) in [
        ("kind = \"mesh\"\nsizes = [4, 3]", [2, 2, 3]),
        ("kind = \"torus\"\nsizes = [4, 3]", [4, 4, 6]),
        // No router remains between two routers.
        ("kind = \"mesh\"\nsizes = [2, 1]", [1, 1, 1]),
        ("kind = \"torus\"\nsizes = [1, 2]", [2, 2, 2]),
    ] {
        let topology = network(toml);
        for (algorithm, vcs) in ["valiant", "ugal", "par"].into_iter().zip(vcs) {
            assert_eq!(
                routing(algorithm, "", &topology).vcs(),
                vcs,
                "{algorithm}: {toml}"
            );
        }
    }
    // Four links up, of which the first segment crosses a wrap-around link: VC 0 up to it, VC 1 behind it.
    let topology = network("kind = \"torus\"\nsizes = [9]");
    let valiant = routing("valiant", "", &topology);
    let state = RouteState {
        via: 1,
        phase: 1,
        ..RouteState::default()
    };
    let vcs = |router: u32| {
        let at = At {
            router: RouterId(router),
            input: Port(2),
            vc: 0,
            source: HostId(6),
            destination: HostId(5),
        };
        let mut options = Vec::new();
        valiant.options(at, state, &mut options);
        options
            .iter()
            .map(|(hop, _)| (hop.port.0, hop.vc))
            .collect::<Vec<_>>()
    };
    assert_eq!([vcs(7), vcs(8), vcs(0)], [[(1, 0)], [(1, 0)], [(1, 1)]]);
    // At the intermediate router the last segment begins: four links up, without a wrap-around link.
    assert_eq!(vcs(1), [(1, 3)]);
}

/// Singh's rule: the load of the minimal port times its links against that of the other port times its links.
#[test]
fn ugal_in_a_torus_compares_load_times_links() {
    // From router 0 to router 9, one link down. The shortest way that begins up is through router 1: one link up and
    // two down.
    let topology = network("kind = \"torus\"\nsizes = [10]");
    let least_refused = |up: u64, parameters: &str| {
        (0..2000).find(|down| {
            let load = |port: u16| match port {
                1 => up,
                2 => *down,
                _ => 1_000_000,
            };
            (0..50).any(|seed| {
                let congestion = Known(load, |_, _| 0);
                first_hop(("ugal", parameters), &topology, &congestion, &mut Draws(seed)).port == Port(1)
            })
        })
    };
    assert_eq!(least_refused(100, ""), Some(301));
    assert_eq!(least_refused(100, "weight = 2"), Some(601));
    assert_eq!(least_refused(100, "bias = \"50 B\""), Some(351));
    assert_eq!(least_refused(100, "cost = \"load\""), Some(101));
}
