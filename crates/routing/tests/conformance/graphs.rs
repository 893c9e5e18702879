//! Networks of which routing uses only shortest paths.

use std::collections::HashMap;

use crate::walk::{Draws, network, pairs, path, routing};

/// Uniform traffic loads all links of a HyperX, and of a Slim Fly with q = 4w + 1, about equally.
#[test]
fn shortest_paths_are_all_used() {
    for toml in [
        "kind = \"graph\"\nedges = [[0, 1, 2], [1, 2, 2], [2, 3, 2], [3, 0, 2]]\nhosts_per_router = 12",
        "kind = \"slim-fly\"\nq = 5\nhosts_per_router = 6",
        "kind = \"slim-fly\"\nq = 9\nhosts_per_router = 4",
        "kind = \"hyperx\"\nshape = [4, 4, 4]\nhosts_per_router = 6",
        "kind = \"hyperx\"\nshape = [5, 4]\nwidth = 2\nhosts_per_router = 16",
    ] {
        let topology = network(toml);
        let minimal = routing("minimal", "", &topology);
        let mut used: HashMap<_, u32> = HashMap::new();
        for pair in pairs(&*topology) {
            for (hops, (router, port, vc)) in path(&*topology, &*minimal, pair, &mut Draws(1))
                .into_iter()
                .enumerate()
            {
                assert_eq!(usize::from(vc), hops, "the VC counts the links");
                *used.entry((router, port)).or_default() += 1;
            }
        }
        assert_eq!(used.len() as u64, topology.router_links());
        let (least, most) = (used.values().min().unwrap(), used.values().max().unwrap());
        assert!(most < &(least * 2), "{toml}: {least} to {most} packets on a link");
    }
}

#[test]
fn minimal_needs_as_many_vcs_as_the_longest_path_has_links() {
    for (toml, vcs) in [
        ("kind = \"graph\"\nedges = [[0, 1], [1, 2], [2, 3], [3, 4]]", 4),
        ("kind = \"slim-fly\"\nq = 4", 2),
        ("kind = \"hyperx\"\nshape = [4, 1, 3]", 2),
        ("kind = \"hyperx\"\nshape = [2, 2, 2, 2]", 4),
        ("kind = \"hyperx\"\nshape = [1]", 1),
    ] {
        assert_eq!(routing("minimal", "", &network(toml)).vcs(), vcs, "{toml}");
    }
}
