//! Registered defaults are the defaults of experiments.
//!
//! The crates of topologies, routings, patterns, arrival processes and motifs test their own parts.

use std::collections::BTreeSet;

use config::{KEY_ALIASES, NAME_ALIASES};
use experiment::{Experiment, Listing, PART_KINDS, listing};
use serde_json::Value;

const EXPERIMENT: &str = r#"
[network]
topology = { kind = "torus", sizes = [4, 4] }
routing = { algorithm = "dimension-order" }
[[job]]
workload = { motif = "allreduce", ranks = 4 }
[[job]]
traffic = { pattern = "uniform", load = 0.1 }
[run]
until = "2 us"
"#;

/// Parameters without a default, of parts that have another parameter with one.
const REQUIRED: &[(&str, &str)] = &[
    ("hostlist", ", hostlist = \"nid[0-7]\""),
    ("blocked", ", grid = [2, 2], block = [1, 1]"),
    ("bimodal", ", small = \"64 B\", large = \"1 KiB\""),
];

/// All settings of the experiment with these overrides.
fn settings(overrides: &[(String, String)]) -> Value {
    let read = Experiment::from_toml(EXPERIMENT, "x.toml", overrides);
    read.unwrap_or_else(|error| panic!("{error}")).settings
}

fn with_a_constant_default(kind: &str) -> Vec<Listing> {
    let mut parts = listing(kind).unwrap();
    parts.retain(|part| part.parameters.iter().any(|p| !p.default.to_json().is_null()));
    parts
}

/// Compares the defaults of a table with its printed settings; returns the number of compared parameters.
fn compare(part: &Listing, table: &Value) -> usize {
    let constants = part.parameters.iter().filter(|p| !p.default.to_json().is_null());
    let compared = constants.inspect(|parameter| {
        let printed = &table[parameter.name];
        assert_eq!(
            *printed,
            parameter.default.to_json(),
            "{}: {parameter}",
            part.name
        );
    });
    compared.count()
}

#[test]
fn parts_have_their_registered_defaults() {
    for (kind, path, key, expected) in [
        ("placements", "job.0.placement", "kind", 2),
        ("mappings", "job.0.mapping", "kind", 1),
        ("message-sizes", "job.1.traffic.message", "distribution", 1),
        ("router-models", "network.router", "model", 3),
        ("nic-models", "network.nic", "model", 1),
    ] {
        let parts = with_a_constant_default(kind);
        assert_eq!(parts.len(), expected, "{kind}");
        for part in parts {
            let required = REQUIRED.iter().find(|(name, _)| *name == part.name);
            let required = required.map_or("", |(_, required)| required);
            let table = format!("{{ {key} = \"{}\"{required} }}", part.name);
            let all = settings(&[(path.into(), table)]);
            let pointer = format!("/{}", path.replace('.', "/"));
            assert!(compare(&part, all.pointer(&pointer).unwrap()) > 0);
        }
    }
}

#[test]
fn keys_and_executors_have_their_registered_defaults() {
    let all = settings(&[
        ("job.0.compute.scale".into(), "1.0".into()),
        ("network.traffic_class".into(), "[{ name = \"only\" }]".into()),
    ]);
    let mut compared = 0;
    for mut table in with_a_constant_default("keys") {
        let path = match table.name.as_str() {
            "job" => "/job/0".into(),
            // Only recordings have a window; the tests of windows compare its default.
            "job.workload.window" => continue,
            // A phase has the keys of its kind only; the tests of phases compare their defaults.
            "job.workload.phases" | "job.workload.phases.over" => continue,
            // They are absent unless given; the tests of energy and of job traces compare their defaults.
            name if name.starts_with("power") || name.starts_with("job_trace") => continue,
            "network.traffic_class" => "/network/traffic_class/0".into(),
            "job.compute" => "/job/0/compute".into(),
            "job.traffic" => "/job/1/traffic".into(),
            other => format!("/{}", other.replace('.', "/")),
        };
        // Only traffic has hosts.
        table.parameters.retain(|p| p.name != "hosts");
        compared += compare(&table, all.pointer(&path).unwrap());
    }
    assert_eq!(all["job"][1]["hosts"], "all");
    assert!(compared > 30, "{compared}");
    let optimistic = with_a_constant_default("executors");
    assert_eq!(compare(&optimistic[0], &all["run"]["optimistic"]), 3);
}

/// All keys in a value, at any depth.
fn keys_in(value: &Value, keys: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                keys.insert(key.clone());
                keys_in(inner, keys);
            }
        }
        Value::Array(list) => list.iter().for_each(|inner| keys_in(inner, keys)),
        _ => {}
    }
}

#[test]
fn short_names_mean_registered_names_and_keys() {
    let kinds = || PART_KINDS.iter().filter(|kind| **kind != "keys");
    let parts = || kinds().flat_map(|kind| listing(kind).unwrap());
    let names: BTreeSet<String> = parts().map(|part| part.name).collect();
    for alias in NAME_ALIASES {
        for name in alias.meant {
            assert!(names.contains(*name), "{name}");
        }
    }
    let tables: Vec<String> = listing("keys")
        .unwrap()
        .into_iter()
        .map(|part| part.name)
        .collect();
    let everything = parts().chain(listing("keys").unwrap());
    let parameters = everything.flat_map(|part| part.parameters);
    let mut keys: BTreeSet<String> = parameters.map(|parameter| parameter.name.to_string()).collect();
    // Keys that name parts and tables are in no list.
    keys_in(
        &settings(&[("job.0.mapping".into(), "\"linear\"".into())]),
        &mut keys,
    );
    for alias in KEY_ALIASES {
        for key in alias.meant {
            let (table, key) = key.rsplit_once('.').unwrap_or(("", key));
            assert!(keys.contains(key), "{key}");
            let of_parts = ["", "network.topology", "network.routing", "job.workload"];
            assert!(
                of_parts.contains(&table) || tables.iter().any(|t| t == table),
                "{table}"
            );
        }
    }
    for alias in NAME_ALIASES
        .iter()
        .chain(KEY_ALIASES)
        .filter(|alias| !alias.with.is_empty())
    {
        let (key, _) = alias.with.split_once(" = ").expect("a key and its value");
        assert!(keys.contains(key), "{key}");
    }
}

/// What people write, where, and what the error names.
#[test]
fn short_names_lead_to_the_name_that_is_meant() {
    let dragonfly =
        "{ kind = \"dragonfly\", hosts_per_router = 1, routers_per_group = 2, global_links_per_router = 1 }";
    for (overrides, needles) in [
        (
            &[("network.topology.kind", "dfly")][..],
            &["did you mean 'dragonfly'?"][..],
        ),
        (
            &[("network.topology.kind", "DF+")],
            &["did you mean 'dragonfly-plus'?"],
        ),
        (
            &[("network.topology.kind", "clos")],
            &["did you mean 'fat-tree'?"],
        ),
        (
            &[("network.topology", "\"dfly\"")],
            &["network.topology: ", "topology = { kind = \"dfly\" }"],
        ),
        (
            &[(
                "network.topology",
                "{ kind = \"dragonfly\", p = 1, a = 2, h = 1 }",
            )],
            &[
                "network.topology.hosts_per_router: missing",
                "found 'p' instead",
                "did you mean 'hosts_per_router'?",
            ],
        ),
        (
            &[("network.topology", "{ kind = \"fat-tree\", k = 4 }")],
            &[
                "network.topology.radix: missing",
                "found 'k' instead",
                "did you mean 'radix'?",
            ],
        ),
        (
            &[("network.topology.p", "2")],
            &["network.topology.p: unknown key 'p'", "'hosts_per_router'"],
        ),
        (
            &[("network.routing.algorithm", "dor")],
            &["did you mean 'dimension-order'?"],
        ),
        (
            &[("network.routing.algorithm", "min")],
            &["did you mean 'dimension-order'?"],
        ),
        (
            &[
                ("network.topology", dragonfly),
                ("network.routing.algorithm", "min"),
            ],
            &["did you mean 'minimal'?"],
        ),
        (
            &[
                ("network.topology", dragonfly),
                ("network.routing.algorithm", "ECMP"),
            ],
            &["did you mean 'minimal'?"],
        ),
        (
            &[
                ("network.topology", dragonfly),
                ("network.routing.algorithm", "UGAL-G"),
            ],
            &["did you mean 'ugal' with information = \"group\"?"],
        ),
        (
            &[
                ("network.topology", "{ kind = \"fat-tree\", radix = 4 }"),
                ("network.routing.algorithm", "ecmp"),
            ],
            &["did you mean 'source-destination-hashed'?"],
        ),
        (
            &[("network.bw", "\"1 Gbps\"")],
            &["network.bw: unknown key", "'network.link.bandwidth'"],
        ),
        (
            &[("job.0.compute_scale", "2")],
            &["job.0.compute_scale: unknown key", "did you mean 'compute'?"],
        ),
        (
            &[("network.link.bw", "\"1 Gbps\"")],
            &["did you mean 'bandwidth'?"],
        ),
        (
            &[("network.link.bandwidth", "100G")],
            &["did you mean \"100 Gbps\"?"],
        ),
        (&[("seed", "1")], &["unknown key 'seed'", "'run.seed'"]),
        (&[("job.0.workload.np", "1")], &["did you mean 'ranks'?"]),
        (&[("job.0.ppn", "1")], &["did you mean 'ranks_per_host'?"]),
        (&[("job.1.traffic.pattern", "ur")], &["did you mean 'uniform'?"]),
        (&[("run.executor", "time-warp")], &["did you mean 'optimistic'?"]),
    ] {
        let overrides: Vec<(String, String)> = overrides
            .iter()
            .map(|(key, value)| ((*key).into(), (*value).into()))
            .collect();
        let Err(error) = Experiment::from_toml(EXPERIMENT, "x.toml", &overrides) else {
            panic!("{overrides:?} is accepted")
        };
        let error = error.to_string();
        for needle in needles {
            assert!(error.contains(needle), "{overrides:?}: {error}");
        }
    }
}

/// Reports and the viewer say what packets wait for.
#[test]
fn router_models_are_explained() {
    for model in fabric::router::MODELS {
        assert!(results::waits_for(model.name).is_some(), "{}", model.name);
    }
    assert_eq!(results::waits_for("toy"), None);
}
