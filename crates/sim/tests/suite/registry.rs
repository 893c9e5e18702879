//! Registered defaults are the defaults of experiments.
//!
//! The crates of topologies, routings, patterns, arrival processes and motifs test their own parts.

use serde_json::Value;
use sim::{Experiment, Listing, listing};

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
        ("router-models", "network.router", "model", 1),
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
