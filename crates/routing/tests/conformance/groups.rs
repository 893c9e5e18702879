//! Networks of groups.

use std::collections::{HashMap, HashSet};

use fabricsim_routing::*;
use topology::{HOST_LINK, HostId, RouterId, Shape};

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
        // Some draws select places behind the same port: a draw of another port refuses the minimal path.
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
    for (parameters, places) in [("", 7 * 4), ("intermediate = \"group\"", 7)] {
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
            assert_eq!((options.len(), vias.len()), (1 + places, places));
            let group = |via: u32| {
                if places == 7 {
                    via
                } else {
                    groups.group(RouterId(via))
                }
            };
            assert!(vias.iter().all(|via| ![here, there].contains(&group(*via))));
        }
    }
}
