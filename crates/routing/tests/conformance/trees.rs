//! Fat trees.

use std::collections::HashMap;

use fabricsim_routing::*;
use topology::{HostId, Port, RouterId, Shape};

use crate::walk::{Draws, Load, network, pairs, path, routing};

#[test]
fn destination_mod_k_separates_destinations_downwards() {
    for toml in [
        "kind = \"fat-tree\"\nradix = 8",
        "kind = \"fat-tree\"\nradix = 8\npods = 4",
        "kind = \"fat-tree\"\nradix = 8\nlevels = 2\nleaves = 4",
        "kind = \"fat-tree\"\nradix = 8\nlevels = 2\nleaves = 2",
    ] {
        let topology = network(toml);
        let Shape::Tree(tree) = topology.shape() else {
            panic!("a tree")
        };
        let routing = routing("destination-mod-k", "", &topology);
        let mut owner = HashMap::new();
        for (source, destination) in pairs(&*topology) {
            for (router, port, _) in path(&*topology, &*routing, (source, destination), &mut Draws(1)) {
                if !tree.up_ports(router).contains(&port.0) {
                    let first = owner.entry((router, port)).or_insert(destination);
                    assert_eq!(*first, destination, "{toml}");
                }
            }
        }
    }
}

#[test]
fn adaptive_takes_the_least_loaded_port_and_breaks_ties_evenly() {
    let topology = network("kind = \"fat-tree\"\nradix = 8");
    let adaptive = routing("adaptive", "", &topology);
    let at = At {
        router: RouterId(0),
        input: Port(0),
        vc: 0,
        source: HostId(0),
        destination: HostId(100),
    };
    let mut draws = Draws(3);
    let mut choose = |load: &dyn Fn(Port) -> u64| {
        adaptive
            .route(at, &mut RouteState::default(), &Load(load), &mut draws)
            .port
    };
    for best in 4..8 {
        for _ in 0..20 {
            assert_eq!(choose(&|port| if port.0 == best { 5 } else { 6 }), Port(best));
            assert_eq!(choose(&|port| u64::from(port.0 != best)), Port(best));
        }
    }
    let mut counts = [0; 4];
    for _ in 0..4000 {
        counts[usize::from(choose(&|_| 9).0 - 4)] += 1;
    }
    assert!(
        counts.iter().all(|count| (900..1100).contains(count)),
        "{counts:?}"
    );
}

#[test]
fn hashed_and_scattered_packets_use_every_upward_port_evenly() {
    let topology = network("kind = \"fat-tree\"\nradix = 8");
    let Shape::Tree(tree) = topology.shape() else {
        panic!("a tree")
    };
    for algorithm in ["source-destination-hashed", "scatter"] {
        let routing = routing(algorithm, "", &topology);
        let (mut used, mut draws) = (HashMap::<_, u32>::new(), Draws(1));
        for pair in pairs(&*topology) {
            let first = path(&*topology, &*routing, pair, &mut draws);
            for (router, port, _) in &first {
                if tree.up_ports(*router).contains(&port.0) {
                    *used.entry((*router, *port)).or_default() += 1;
                }
            }
            let same = first == path(&*topology, &*routing, pair, &mut draws);
            assert!(
                same || algorithm == "scatter",
                "packets of a pair of hosts stay in order"
            );
        }
        // 32 leaves and 32 spines with four ports each.
        assert_eq!(used.len(), 64 * 4, "{algorithm}");
        let (least, most) = (used.values().min().unwrap(), used.values().max().unwrap());
        assert!(
            most < &(least * 2),
            "{algorithm}: {least} to {most} packets on a link"
        );
    }
}
