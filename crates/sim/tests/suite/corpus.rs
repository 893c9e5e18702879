//! The corpus of small experiments and the examples: every executor gives the recorded result.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use experiment::Experiment;
use results::RunResult;
use serde_json::{Value, json};

use crate::support::{otf2_is_available, root, run, run_in_processes_and_collections, run_on_every_executor};
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

/// The experiments that run in several processes and with other collected data in `make test`, one name in a line.
/// All others do in `make test-long`. `crates/cli/tests/distributed.rs` runs the same ones under `mpirun`.
const EVERYWHERE: &str = "everywhere.txt";

#[test]
fn the_corpus_gives_the_same_result_on_every_executor() {
    let folder = root().join("tests/corpus");
    let everywhere = everywhere();
    // Everything that can be collected is collected; `run_everywhere` compares with less of it.
    compare_with_record(&folder, |_| true, &everywhere, |_| everything_traced());
}

#[test]
#[ignore = "make test-long runs it"]
fn the_whole_corpus_gives_the_same_result_everywhere() {
    let folder = root().join("tests/corpus");
    let fast = everywhere();
    let is_left_out = |name: &str| !fast.contains(name);
    let all = experiments(&folder).iter().map(|path| file_name(path)).collect();
    compare_with_record(&folder, is_left_out, &all, |_| everything_traced());
}

/// Names in [`EVERYWHERE`].
fn everywhere() -> BTreeSet<String> {
    let file = root().join("tests/corpus").join(EVERYWHERE);
    let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    text.lines().map(String::from).collect()
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().expect("a file");
    name.to_string_lossy().into_owned()
}

#[test]
fn the_examples_give_the_same_result_on_every_executor() {
    compare_examples_with_record(&BTreeSet::new());
}

#[test]
#[ignore = "make test-long runs it"]
fn the_examples_give_the_same_result_everywhere() {
    compare_examples_with_record(
        &experiments(&root().join("examples"))
            .iter()
            .map(|path| file_name(path))
            .collect(),
    );
}

fn compare_examples_with_record(everywhere: &BTreeSet<String>) {
    compare_with_record(
        &root().join("examples"),
        |_| true,
        everywhere,
        |file| {
            let shortened = SHORTENED.iter().find(|(name, ..)| *name == file);
            shortened.map_or(vec![], |(_, until, warmup)| {
                vec![
                    ("run.until".into(), until.to_string()),
                    ("run.warmup".into(), warmup.to_string()),
                ]
            })
        },
    );
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

/// The kinds of parts of which the corpus uses every one.
const KINDS: [&str; 9] = [
    "topologies",
    "routings",
    "router-models",
    "patterns",
    "arrivals",
    "message-sizes",
    "motifs",
    "placements",
    "mappings",
];

/// A new topology, routing, pattern, arrival process, distribution of sizes, motif, placement or mapping comes with
/// an experiment that uses it, and that runs everywhere.
#[test]
fn the_corpus_uses_every_part() {
    let everywhere = everywhere();
    let mut settings: BTreeMap<String, String> = BTreeMap::new();
    for path in experiments(&root().join("tests/corpus")) {
        if can_be_read(&path) {
            // The experiment with all defaults, as a result prints it.
            let text = Experiment::load(&path, &[]).unwrap().settings.to_string();
            settings.insert(file_name(&path), text);
        }
    }
    for name in &everywhere {
        let exists = root().join("tests/corpus").join(name).exists();
        assert!(exists, "{EVERYWHERE} names {name}, which does not exist");
    }
    for kind in KINDS {
        for part in experiment::listing(kind).unwrap() {
            let word = format!("\"{}\"", part.name);
            let users: Vec<&String> = (settings.iter())
                .filter_map(|(name, text)| text.contains(&word).then_some(name))
                .collect();
            assert!(
                !users.is_empty(),
                "{kind}: no experiment of tests/corpus uses {}",
                part.name
            );
            assert!(
                users.iter().any(|name| everywhere.contains(*name)),
                "{kind}: no experiment of tests/corpus/{EVERYWHERE} uses {}; put in one of {users:?}",
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

/// Runs the experiments of a folder that `which` selects, those of `everywhere` in several processes and with other
/// collected data as well.
fn compare_with_record(
    folder: &Path,
    which: impl Fn(&str) -> bool,
    everywhere: &BTreeSet<String>,
    overrides: impl Fn(&str) -> Vec<(String, String)>,
) {
    let record = &root()
        .join("tests/corpus")
        .join(match folder.ends_with("corpus") {
            true => "expected.json",
            false => "expected-examples.json",
        });
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
        let name = file_name(path);
        if !name.contains(&only) || !which(&name) || !can_be_read(path) {
            continue;
        }
        let experiment = Experiment::load(path, &overrides(&name));
        let mut experiment = experiment.unwrap_or_else(|e| panic!("{e}"));
        eprintln!("{name}");
        let result = run_on_every_executor(&mut experiment);
        if everywhere.contains(&name) {
            run_in_processes_and_collections(&mut experiment, &result);
        }
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
        "results differ from {}; if that is meant, write it again with {UPDATE}=1 and look at the difference\n{}",
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
