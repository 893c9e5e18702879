//! Every registered routing algorithm on every topology that it supports: packets arrive, minimal paths have the
//! fewest hops, no deadlock is possible, and the deadlock proof has visited every decision.

mod chances;
mod contract;
mod graphs;
mod grids;
mod groups;
mod networks;
mod parts;
mod random;
mod refused;
mod trees;
mod walk;

use std::sync::Arc;

use config::Section;
use contract::check;
use fabricsim_routing::REGISTRY;
use networks::NETWORKS;
use topology::Topology;
use walk::{network, routings};

#[test]
fn registry_is_sorted_and_declares_the_parameters_that_are_read() {
    assert!(REGISTRY.is_sorted_by_key(|a| a.name));
    let networks: Vec<_> = NETWORKS.iter().map(|toml| network(toml)).collect();
    for algorithm in REGISTRY {
        let topology = networks.iter().find(|t| (algorithm.routes)(&t.shape()));
        let section = Section::empty("network.routing");
        (algorithm.build)(
            section.declare(algorithm.parameters),
            topology.expect("a network to route").clone(),
        )
        .unwrap();
        let mut asked = section.asked();
        let mut declared: Vec<&str> = algorithm.parameters.iter().map(|p| p.name).collect();
        asked.sort();
        declared.sort();
        assert_eq!(asked, declared, "{}", algorithm.name);
        let settings = section.finish().unwrap();
        for parameter in algorithm.parameters {
            assert!(
                parameter.is_default_in(&settings),
                "{}: {parameter}",
                algorithm.name
            );
        }
    }
}

#[test]
fn every_algorithm_and_parameter_is_documented() {
    let methods = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/methods");
    let read = |page: &str| std::fs::read_to_string(format!("{methods}/{page}.md"));
    let overview = read("routing").expect("docs/methods/routing.md");
    for algorithm in REGISTRY {
        // The algorithm has its own page or a section.
        let text = read(&format!("routing/{}", algorithm.name)).unwrap_or_else(|_| {
            let start = overview.find(&format!("\n## {}\n", algorithm.name));
            let section = &overview[start.expect(algorithm.name) + 4..];
            section.split("\n## ").next().expect("a section").to_string()
        });
        for parameter in algorithm.parameters.iter().map(|p| p.name) {
            assert!(
                text.contains(&format!("`{parameter}`")),
                "{}: {parameter}",
                algorithm.name
            );
        }
    }
}

#[test]
fn every_topology_has_a_routing() {
    for kind in topology::REGISTRY {
        let section = Section::from_toml(kind.example, "x.toml").unwrap();
        let topology: Arc<dyn Topology> = (kind.build)(section.declare(kind.parameters)).unwrap().into();
        assert!(!routings(&topology).is_empty(), "{}", kind.name);
        check(&topology, 20_000_000);
    }
}

#[test]
fn chosen_networks_are_routed_without_deadlock() {
    for toml in NETWORKS {
        check(&network(toml), 20_000_000);
    }
}
