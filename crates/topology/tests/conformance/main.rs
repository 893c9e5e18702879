//! Every registered topology keeps the contract of `Topology` and of its shape, with its example, selected
//! parameters and random ones.

mod cases;
mod contract;
mod drawings;
mod groups;
mod published;
mod random;
mod refused;
mod shapes;

use std::path::Path;

use cases::CASES;
use config::Section;
use contract::{built, check, check_router, routers};
use fabricsim_topology::*;

/// A million hosts of each kind.
const LARGE: &[(&str, &str)] = &[
    (
        "dragonfly",
        "hosts_per_router = 16\nrouters_per_group = 32\nglobal_links_per_router = 64",
    ),
    ("dragonfly-2d", "global_links_per_router = 28"),
    (
        "dragonfly-plus",
        "hosts_per_leaf = 32\nleaves_per_group = 32\nglobal_links_per_spine = 32\narrangement = \"random\"",
    ),
    (
        "express-mesh",
        "sizes = [32, 32, 32]\ngap = 4\nhosts_per_router = 32",
    ),
    ("fat-tree", "radix = 160"),
    ("hyperx", "shape = [32, 32, 32]\nhosts_per_router = 32"),
    ("mesh", "sizes = [1000, 1000]"),
    ("slim-fly", "q = 163\nhosts_per_router = 19"),
    ("torus", "sizes = [128, 128, 64]"),
];

#[test]
fn registry_is_sorted_and_declares_the_parameters_that_are_read() {
    assert!(REGISTRY.is_sorted_by_key(|k| k.name));
    for kind in REGISTRY {
        let section = Section::from_toml(kind.example, "x.toml").unwrap();
        (kind.build)(section.declare(kind.parameters)).unwrap();
        let mut asked = section.asked();
        let mut declared: Vec<&str> = kind.parameters.iter().map(|p| p.name).collect();
        asked.sort();
        declared.sort();
        assert_eq!(asked, declared, "{}", kind.name);
        let settings = section.finish().unwrap();
        for parameter in kind.parameters.iter().filter(|p| !section.has(p.name)) {
            assert!(parameter.is_default_in(&settings), "{}: {parameter}", kind.name);
        }
    }
}

#[test]
fn every_topology_and_parameter_is_documented() {
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/methods/topologies");
    for kind in REGISTRY {
        let page = std::fs::read_to_string(pages.join(format!("{}.md", kind.name))).expect(kind.name);
        for parameter in kind.parameters.iter().map(|p| p.name) {
            assert!(
                page.contains(&format!("`{parameter}`")),
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
    for (kind, parameters) in LARGE {
        let topology = built(kind, parameters);
        assert!(topology.hosts() >= 1_000_000, "{}", topology.describe());
        for router in routers(&*topology).step_by(997) {
            check_router(&*topology, router);
            let far = RouterId(topology.routers() - 1 - router.0);
            assert_eq!(topology.distance(router, far), topology.distance(far, router));
        }
    }
    // A graph is stored in memory and has a size limit.
    let is_computed = |kind: &&Kind| kind.name != "graph";
    assert!(
        REGISTRY
            .iter()
            .filter(is_computed)
            .all(|kind| LARGE.iter().any(|large| large.0 == kind.name))
    );
}

/// Distances are computed for 64 destinations at once.
#[test]
fn graphs_of_several_blocks_keep_the_contract() {
    for routers in [64u64, 65, 130] {
        let ring = (0..routers).map(|n| format!("[{n}, {}]", (n + 1) % routers));
        let chords = (0..routers / 5).map(|n| format!("[{}, {}]", n, n * n % (routers / 2) + routers / 2));
        let edges: Vec<String> = ring.chain(chords).collect();
        check(&*built("graph", &format!("edges = [{}]", edges.join(", "))));
    }
}
