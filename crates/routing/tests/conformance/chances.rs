//! The declared probabilities of oblivious algorithms agree with their choices.

use std::collections::{HashMap, HashSet};

use fabricsim_routing::{Random, RouteState};
use topology::{HostId, Peer, Port, RouterId};

use crate::networks::NETWORKS;
use crate::walk::{Draws, network, path, routing, routings};

/// The declared probabilities of oblivious algorithms add up to 1, and every route that a packet takes has a
/// positive probability.
#[test]
fn oblivious_routes_are_among_the_chances() {
    let mut oblivious = HashSet::new();
    for toml in NETWORKS {
        let topology = network(toml);
        for (name, parameters, routing) in routings(&topology) {
            if routing.oblivious().is_none() {
                continue;
            }
            oblivious.insert(name);
            let mut draws = Draws(7);
            for pair in 0..200 {
                let pick = |draws: &mut Draws| HostId(draws.below(topology.hosts()));
                let (source, destination) = (pick(&mut draws), pick(&mut draws));
                let way = path(&*topology, &*routing, (source, destination), &mut draws);
                let mut states = HashSet::from([RouteState::default()]);
                let last = topology.attachment(destination);
                let ports = way.iter().map(|(router, port, _)| (*router, *port)).chain([last]);
                for (router, port) in ports {
                    let mut next = HashSet::new();
                    for state in states {
                        let mut chances = Vec::new();
                        routing.chances(router, destination, state, &mut chances);
                        let sum: f64 = chances.iter().map(|(_, _, chance)| chance).sum();
                        assert!(
                            (sum - 1.0).abs() < 1e-12,
                            "{name} {parameters} on {toml}: {chances:?}"
                        );
                        next.extend(chances.iter().filter(|c| c.0 == port).map(|c| c.1));
                    }
                    assert!(
                        !next.is_empty(),
                        "{name} {parameters} on {toml}: pair {pair} takes {port:?} at {router:?}"
                    );
                    states = next;
                }
            }
        }
    }
    for name in [
        "destination-mod-k",
        "dimension-order",
        "minimal",
        "scatter",
        "source-destination-hashed",
        "valiant",
    ] {
        assert!(oblivious.contains(name), "{name}");
    }
}

/// Number of pairs of hosts.
const PAIRS: u64 = 60_000;

/// Over many pairs of hosts, the use of ports agrees with the declared probabilities. There are many destinations,
/// since choices are hashes of them.
#[test]
fn oblivious_routes_are_as_frequent_as_their_chances() {
    let mut wrong: Vec<String> = Vec::new();
    for (toml, name, parameters) in [
        (
            "kind = \"dragonfly\"\nhosts_per_router = 200\nrouters_per_group = 3\nglobal_links_per_router = 2\ngroups = 3",
            "minimal",
            "paths = \"hashed\"",
        ),
        (
            "kind = \"dragonfly\"\nhosts_per_router = 200\nrouters_per_group = 3\nglobal_links_per_router = 2\ngroups = 3",
            "minimal",
            "paths = \"random\"",
        ),
        (
            "kind = \"dragonfly-2d\"\nhosts_per_router = 200\nrows = 2\ncolumns = 2\nrow_links = 2\ncolumn_links = 3\nglobal_links_per_router = 1\ngroups = 3",
            "minimal",
            "paths = \"hashed\"",
        ),
        (
            "kind = \"dragonfly-2d\"\nhosts_per_router = 200\nrows = 2\ncolumns = 2\nrow_links = 2\ncolumn_links = 3\nglobal_links_per_router = 1\ngroups = 3",
            "minimal",
            "paths = \"random\"",
        ),
        (
            "kind = \"dragonfly-plus\"\nhosts_per_leaf = 300\nleaves_per_group = 2\nspines_per_group = 2\nglobal_links_per_spine = 2\ngroups = 3",
            "minimal",
            "paths = \"hashed\"",
        ),
        (
            "kind = \"dragonfly-plus\"\nhosts_per_leaf = 300\nleaves_per_group = 2\nspines_per_group = 2\nglobal_links_per_spine = 2\ngroups = 3",
            "minimal",
            "paths = \"random\"",
        ),
        (
            "kind = \"hyperx\"\nshape = [3, 3]\nwidth = [1, 3]\nhosts_per_router = 250",
            "minimal",
            "",
        ),
        (
            "kind = \"hyperx\"\nshape = [3, 3]\nwidth = [1, 3]\nhosts_per_router = 250",
            "dimension-order",
            "",
        ),
        ("kind = \"slim-fly\"\nq = 4\nhosts_per_router = 30", "minimal", ""),
        (
            "kind = \"express-mesh\"\nsizes = [5, 3]\ngap = [2, 2]\nhosts_per_router = 16",
            "minimal",
            "",
        ),
        (
            "kind = \"graph\"\nedges = [[0, 1, 2], [1, 2, 3], [2, 3], [3, 0]]\nhosts_per_router = 40",
            "minimal",
            "",
        ),
        (
            "kind = \"torus\"\nsizes = [4, 2]\nhosts_per_router = 60",
            "dimension-order",
            "",
        ),
        ("kind = \"fat-tree\"\nradix = 4", "destination-mod-k", ""),
        (
            "kind = \"fat-tree\"\nradix = 8\ntapering = \"5:3\"\npods = 3",
            "scatter",
            "",
        ),
        (
            "kind = \"fat-tree\"\nradix = 8\ntapering = \"5:3\"\npods = 3",
            "source-destination-hashed",
            "",
        ),
        (
            "kind = \"dragonfly\"\nhosts_per_router = 200\nrouters_per_group = 2\nglobal_links_per_router = 1",
            "valiant",
            "",
        ),
        (
            "kind = \"dragonfly\"\nhosts_per_router = 200\nrouters_per_group = 2\nglobal_links_per_router = 1",
            "valiant",
            "intermediate = \"any-router\"",
        ),
        (
            "kind = \"dragonfly\"\nhosts_per_router = 200\nrouters_per_group = 2\nglobal_links_per_router = 1",
            "valiant",
            "intermediate = \"group\"",
        ),
        (
            "kind = \"dragonfly\"\nhosts_per_router = 200\nrouters_per_group = 3\nglobal_links_per_router = 2\ngroups = 3",
            "valiant",
            "",
        ),
        (
            "kind = \"dragonfly\"\nhosts_per_router = 200\nrouters_per_group = 3\nglobal_links_per_router = 2\ngroups = 3",
            "valiant",
            "intermediate = \"any-router\"",
        ),
        (
            "kind = \"dragonfly\"\nhosts_per_router = 200\nrouters_per_group = 3\nglobal_links_per_router = 2\ngroups = 3",
            "valiant",
            "intermediate = \"group\"",
        ),
        (
            "kind = \"dragonfly-2d\"\nhosts_per_router = 200\nrows = 2\ncolumns = 2\nrow_links = 2\ncolumn_links = 3\nglobal_links_per_router = 1\ngroups = 3",
            "valiant",
            "",
        ),
        (
            "kind = \"dragonfly-2d\"\nhosts_per_router = 200\nrows = 2\ncolumns = 2\nrow_links = 2\ncolumn_links = 3\nglobal_links_per_router = 1\ngroups = 3",
            "valiant",
            "intermediate = \"any-router\"",
        ),
        (
            "kind = \"dragonfly-2d\"\nhosts_per_router = 200\nrows = 2\ncolumns = 2\nrow_links = 2\ncolumn_links = 3\nglobal_links_per_router = 1\ngroups = 3",
            "valiant",
            "intermediate = \"group\"",
        ),
        (
            "kind = \"dragonfly-plus\"\nhosts_per_leaf = 300\nleaves_per_group = 2\nspines_per_group = 2\nglobal_links_per_spine = 2\ngroups = 3",
            "valiant",
            "paths = \"hashed\"",
        ),
        (
            "kind = \"dragonfly-plus\"\nhosts_per_leaf = 300\nleaves_per_group = 2\nspines_per_group = 2\nglobal_links_per_spine = 2\ngroups = 3",
            "valiant",
            "paths = \"hashed\"\nintermediate = \"any-router\"",
        ),
        (
            "kind = \"dragonfly-plus\"\nhosts_per_leaf = 300\nleaves_per_group = 2\nspines_per_group = 2\nglobal_links_per_spine = 2\ngroups = 3",
            "valiant",
            "paths = \"hashed\"\nintermediate = \"group\"",
        ),
        (
            "kind = \"dragonfly-plus\"\nhosts_per_leaf = 200\nleaves_per_group = 2\nspines_per_group = 2\nglobal_links_per_spine = 1",
            "valiant",
            "paths = \"hashed\"\nintermediate = \"group\"",
        ),
        (
            "kind = \"hyperx\"\nshape = [3, 3]\nwidth = [1, 3]\nhosts_per_router = 250",
            "valiant",
            "",
        ),
        ("kind = \"slim-fly\"\nq = 4\nhosts_per_router = 30", "valiant", ""),
        (
            "kind = \"torus\"\nsizes = [4, 2]\nhosts_per_router = 250",
            "valiant",
            "",
        ),
        (
            "kind = \"torus\"\nsizes = [3, 4]\nlinks = [2, 3]\nhosts_per_router = 200",
            "valiant",
            "",
        ),
        (
            "kind = \"mesh\"\nsizes = [3, 3]\nlinks = [1, 3]\nhosts_per_router = 250",
            "valiant",
            "",
        ),
        (
            "kind = \"dragonfly\"\nhosts_per_router = 200\nrouters_per_group = 3\nglobal_links_per_router = 2\ngroups = 3",
            "valiant",
            "paths = \"random\"",
        ),
        (
            "kind = \"dragonfly\"\nhosts_per_router = 200\nrouters_per_group = 3\nglobal_links_per_router = 2\ngroups = 3",
            "valiant",
            "paths = \"random\"\nintermediate = \"any-router\"",
        ),
        (
            "kind = \"dragonfly\"\nhosts_per_router = 200\nrouters_per_group = 3\nglobal_links_per_router = 2\ngroups = 3",
            "valiant",
            "paths = \"random\"\nintermediate = \"group\"",
        ),
        (
            "kind = \"dragonfly-2d\"\nhosts_per_router = 200\nrows = 2\ncolumns = 2\nrow_links = 2\ncolumn_links = 3\nglobal_links_per_router = 1\ngroups = 3",
            "valiant",
            "paths = \"random\"",
        ),
        (
            "kind = \"dragonfly-2d\"\nhosts_per_router = 200\nrows = 2\ncolumns = 2\nrow_links = 2\ncolumn_links = 3\nglobal_links_per_router = 1\ngroups = 3",
            "valiant",
            "paths = \"random\"\nintermediate = \"any-router\"",
        ),
        (
            "kind = \"dragonfly-2d\"\nhosts_per_router = 200\nrows = 2\ncolumns = 2\nrow_links = 2\ncolumn_links = 3\nglobal_links_per_router = 1\ngroups = 3",
            "valiant",
            "paths = \"random\"\nintermediate = \"group\"",
        ),
        (
            "kind = \"dragonfly-plus\"\nhosts_per_leaf = 300\nleaves_per_group = 2\nspines_per_group = 2\nglobal_links_per_spine = 2\ngroups = 3",
            "valiant",
            "paths = \"random\"",
        ),
        (
            "kind = \"dragonfly-plus\"\nhosts_per_leaf = 300\nleaves_per_group = 2\nspines_per_group = 2\nglobal_links_per_spine = 2\ngroups = 3",
            "valiant",
            "paths = \"random\"\nintermediate = \"any-router\"",
        ),
        (
            "kind = \"dragonfly-plus\"\nhosts_per_leaf = 300\nleaves_per_group = 2\nspines_per_group = 2\nglobal_links_per_spine = 2\ngroups = 3",
            "valiant",
            "paths = \"random\"\nintermediate = \"group\"",
        ),
        (
            "kind = \"dragonfly-plus\"\nhosts_per_leaf = 200\nleaves_per_group = 2\nspines_per_group = 2\nglobal_links_per_spine = 1",
            "valiant",
            "paths = \"random\"",
        ),
        (
            "kind = \"dragonfly\"\nhosts_per_router = 200\nrouters_per_group = 3\nglobal_links_per_router = 2\ngroups = 5",
            "valiant",
            "intermediate = \"global-link\"\npaths = \"hashed\"",
        ),
        (
            "kind = \"dragonfly\"\nhosts_per_router = 200\nrouters_per_group = 3\nglobal_links_per_router = 2\ngroups = 5",
            "valiant",
            "intermediate = \"global-link\"\npaths = \"random\"",
        ),
        (
            "kind = \"dragonfly-2d\"\nhosts_per_router = 200\nrows = 2\ncolumns = 2\nrow_links = 2\ncolumn_links = 3\nglobal_links_per_router = 2\ngroups = 4\narrangement = \"random\"",
            "valiant",
            "intermediate = \"global-link\"\npaths = \"hashed\"",
        ),
        (
            "kind = \"dragonfly-2d\"\nhosts_per_router = 200\nrows = 2\ncolumns = 2\nrow_links = 2\ncolumn_links = 3\nglobal_links_per_router = 2\ngroups = 4\narrangement = \"random\"",
            "valiant",
            "intermediate = \"global-link\"\npaths = \"random\"",
        ),
        (
            "kind = \"dragonfly-plus\"\nhosts_per_leaf = 300\nleaves_per_group = 2\nspines_per_group = 2\nglobal_links_per_spine = 2\ngroups = 4",
            "valiant",
            "intermediate = \"global-link\"\npaths = \"hashed\"",
        ),
        (
            "kind = \"dragonfly-plus\"\nhosts_per_leaf = 300\nleaves_per_group = 2\nspines_per_group = 2\nglobal_links_per_spine = 2\ngroups = 4",
            "valiant",
            "intermediate = \"global-link\"\npaths = \"random\"",
        ),
        (
            "kind = \"dragonfly\"\nhosts_per_router = 150\nrouters_per_group = 4\nglobal_links_per_router = 1\ngroups = 3",
            "valiant",
            "local = \"valiant\"",
        ),
        (
            "kind = \"dragonfly-2d\"\nhosts_per_router = 60\nrows = 2\ncolumns = 3\nrow_links = 2\nglobal_links_per_router = 1\ngroups = 3",
            "valiant",
            "local = \"valiant\"\npaths = \"hashed\"",
        ),
        (
            "kind = \"dragonfly-2d\"\nhosts_per_router = 60\nrows = 2\ncolumns = 3\nrow_links = 2\nglobal_links_per_router = 1\ngroups = 3",
            "valiant",
            "local = \"valiant\"\npaths = \"random\"",
        ),
        (
            "kind = \"dragonfly-plus\"\nhosts_per_leaf = 150\nleaves_per_group = 4\nspines_per_group = 2\nglobal_links_per_spine = 2\ngroups = 3",
            "valiant",
            "local = \"valiant\"\npaths = \"random\"\nintermediate = \"group\"",
        ),
        (
            "kind = \"dragonfly-plus\"\nhosts_per_leaf = 200\nleaves_per_group = 2\nspines_per_group = 2\nglobal_links_per_spine = 1",
            "valiant",
            "paths = \"random\"\nintermediate = \"any-router\"",
        ),
        (
            "kind = \"dragonfly-plus\"\nhosts_per_leaf = 200\nleaves_per_group = 2\nspines_per_group = 2\nglobal_links_per_spine = 1",
            "valiant",
            "paths = \"random\"\nintermediate = \"group\"",
        ),
    ] {
        let topology = network(toml);
        let routing = routing(name, parameters, &topology);
        let mut draws = Draws(1);
        let by_host = routing.oblivious().expect("one that is oblivious").by_host;
        let mut counts: HashMap<(RouterId, Port), (f64, f64)> = HashMap::new();
        // Number of pairs with the same probabilities.
        let mut alike: HashMap<(RouterId, u32), (HostId, f64)> = HashMap::new();
        let hosts = u64::from(topology.hosts());
        let step = (hosts * hosts / PAIRS).max(1) as usize;
        let sources = (0..topology.hosts()).step_by(step).map(HostId);
        let pairs = sources.flat_map(|source| (0..topology.hosts()).map(move |to| (source, HostId(to))));
        for (source, destination) in pairs {
            for (router, port, _) in path(&*topology, &*routing, (source, destination), &mut draws) {
                counts.entry((router, port)).or_default().0 += 1.0;
            }
            let to = match by_host {
                true => destination.0,
                false => topology.attachment(destination).0.0,
            };
            let pairs = alike.entry((topology.attachment(source).0, to));
            pairs.or_insert((destination, 0.0)).1 += 1.0;
        }
        for ((router, _), (destination, pairs)) in alike {
            let mut loads = vec![(router, RouteState::default(), pairs)];
            while let Some((router, state, load)) = loads.pop() {
                let mut chances = Vec::new();
                routing.chances(router, destination, state, &mut chances);
                for (port, state, chance) in chances {
                    if let Peer::Router(next, _) = topology.peer(router, port) {
                        counts.entry((router, port)).or_default().1 += load * chance;
                        loads.push((next, state, load * chance));
                    }
                }
            }
        }
        for (at, (found, expected)) in counts {
            // Five standard deviations of a count in which two packets share each choice: those for one host
            // through one intermediate node.
            if (found - expected).abs() > 5.0 * (2.0 * expected).sqrt() {
                let what = format!("{name} {parameters} on {toml}");
                wrong.push(format!("{what}: {at:?} {found} times, expected {expected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
