//! The corpus of small experiments and the examples: every executor gives the recorded result.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use results::RunResult;
use serde_json::{Value, json};
use sim::Experiment;

use crate::support::{otf2_is_available, root, run, run_everywhere};
use crate::tracing::everything_traced;

/// If set, the record is written instead of compared.
const UPDATE: &str = "UPDATE_EXPECTED";

/// If set, only experiments whose names contain it run.
const ONLY: &str = "CORPUS_ONLY";

/// Examples that are cut short here: file, end, end of the warm-up.
const SHORTENED: &[(&str, &str, &str)] = &[
    ("halo3d-26.toml", "25 us", "0 us"),
    ("lammps-dragonfly.toml", "500 us", "0 us"),
    ("lammps-fat-tree.toml", "500 us", "0 us"),
    ("neighbours.toml", "60 us", "0 us"),
    ("uniform-dragonfly.toml", "6 us", "2 us"),
];

#[test]
fn the_corpus_gives_the_same_result_everywhere() {
    let folder = root().join("tests/corpus");
    assert!(experiments(&folder).len() >= 15, "the corpus is not empty");
    // Everything that can be collected is collected; `run_everywhere` compares with less of it.
    compare_with_record(&folder, &folder.join("expected.json"), |_| everything_traced());
}

#[test]
fn the_examples_give_the_same_result_everywhere() {
    let record = root().join("tests/corpus/expected-examples.json");
    compare_with_record(&root().join("examples"), &record, |file| {
        let shortened = SHORTENED.iter().find(|(name, ..)| *name == file);
        shortened.map_or(vec![], |(_, until, warmup)| {
            vec![
                ("run.until".into(), until.to_string()),
                ("run.warmup".into(), warmup.to_string()),
            ]
        })
    });
}

/// A network whose buffers wait for each other would deliver nothing in the second half of such a run.
#[test]
fn full_buffers_keep_moving() {
    let is_full = |path: &PathBuf| path.to_string_lossy().ends_with("-full-buffers.toml");
    let found = experiments(&root().join("tests/corpus"));
    for path in found.into_iter().filter(is_full) {
        let mut experiment = Experiment::load(&path, &[]).unwrap_or_else(|e| panic!("{e}"));
        let half = run(&experiment).summary.network.packets_delivered;
        experiment.run.until = experiment.run.until.map(|until| until + until);
        let whole = run(&experiment).summary.network.packets_delivered;
        let file = path.display();
        eprintln!("{file}: {half} packets, then {}", whole - half);
        assert!(5 * (whole - half) > 4 * half, "{file} comes to rest");
    }
}

/// A new topology, routing, pattern, arrival process, distribution of sizes, motif, placement or mapping comes with
/// an experiment that uses it.
#[test]
fn the_corpus_uses_every_part() {
    let mut used = String::new();
    for path in experiments(&root().join("tests/corpus")) {
        if can_be_read(&path) {
            // The experiment with all defaults, as a result prints it.
            used += &Experiment::load(&path, &[]).unwrap().settings.to_string();
        }
    }
    for kind in [
        "topologies",
        "routings",
        "router-models",
        "patterns",
        "arrivals",
        "message-sizes",
        "motifs",
        "placements",
        "mappings",
    ] {
        for part in sim::listing(kind).unwrap() {
            let is_used = used.contains(&format!("\"{}\"", part.name));
            assert!(
                is_used,
                "{kind}: no experiment of tests/corpus uses {}",
                part.name
            );
        }
    }
}

/// Whether this build has everything that an experiment needs.
fn can_be_read(path: &Path) -> bool {
    let text = std::fs::read_to_string(path).unwrap();
    if text.contains("{ python =") {
        // The tests of the Python package run those. Here they are refused with a reason.
        let Err(error) = Experiment::load(path, &[]) else {
            panic!("{} runs without Python", path.display())
        };
        let refused = error.to_string().contains("need the Python package");
        assert!(refused, "{error}");
        return false;
    }
    !text.contains("otf2") || otf2_is_available()
}

fn experiments(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|e| e == "toml"))
        .collect();
    found.sort();
    found
}

fn compare_with_record(folder: &Path, record: &Path, overrides: impl Fn(&str) -> Vec<(String, String)>) {
    let update = std::env::var_os(UPDATE).is_some();
    let only = std::env::var(ONLY).unwrap_or_default();
    let mut expected: BTreeMap<String, Value> = match std::fs::read_to_string(record) {
        Ok(text) => serde_json::from_str(&text).expect("the record is JSON"),
        Err(_) if update => BTreeMap::new(),
        Err(e) => panic!("{}: {e}; write it with {UPDATE}=1", record.display()),
    };
    let mut wrong = Vec::new();
    let files = experiments(folder);
    for path in &files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !name.contains(&only) || !can_be_read(path) {
            continue;
        }
        let experiment = Experiment::load(path, &overrides(&name));
        let mut experiment = experiment.unwrap_or_else(|e| panic!("{e}"));
        eprintln!("{name}");
        let result = run_everywhere(&mut experiment);
        crate::verdict::proposals_can_be_read(path, &overrides(&name), &result);
        let found = key_numbers(&result);
        if expected.get(&name) != Some(&found) {
            wrong.push(format!(
                "{name}\n  on record {:#}\n  found {found:#}",
                expected.get(&name).unwrap_or(&Value::Null)
            ));
            expected.insert(name, found);
        }
    }
    expected.retain(|name, _| {
        let exists = files.iter().any(|path| path.ends_with(name));
        if !exists {
            wrong.push(format!("{name} is on record and does not exist"));
        }
        exists
    });
    if update {
        let text = serde_json::to_string_pretty(&expected).unwrap();
        return std::fs::write(record, text + "\n").unwrap();
    }
    assert!(
        wrong.is_empty(),
        "results differ from {}; if that is meant, write it anew with {UPDATE}=1 and look at the difference\n{}",
        record.display(),
        wrong.join("\n")
    );
}

/// Values in which a reader can judge a difference, and digests for the rest.
fn key_numbers(result: &RunResult) -> Value {
    let network = &result.summary.network;
    let jobs: Vec<Value> = result
        .summary
        .jobs
        .iter()
        .map(|job| json!({"name": job.name, "time_ns": job.time_ns, "messages": job.messages, "bytes": job.bytes}))
        .collect();
    json!({
        "digest": result.summary.digest,
        "collected": result.summary.collect.as_ref().expect("it is always there").digest,
        "packets_injected": network.packets_injected,
        "packets_delivered": network.packets_delivered,
        "packet_hops": network.packet_hops,
        "mean_hops": network.mean_hops,
        "latency_ns": {"mean": network.latency_ns.mean, "max": network.latency_ns.max},
        "accepted_load": network.accepted_load,
        "jobs": jobs,
    })
}
