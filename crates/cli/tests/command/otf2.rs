//! `export --format otf2`: the archive holds the calls and messages of the tables, otf2-print reads it without
//! warnings, and FabricSim replays it to the same messages in about the same time.

use std::collections::BTreeMap;
use std::process::Command;

use results::Table;
use serde_json::Value;

use crate::bench::{Bench, otf2, texts};

/// A network with this job.
fn experiment(workload: &str) -> String {
    format!(
        r#"[network]
topology = {{ kind = "dragonfly", hosts_per_router = 2, routers_per_group = 4, global_links_per_router = 2 }}
routing = {{ algorithm = "minimal" }}
link = {{ bandwidth = "100 Gbps", latency = "50 ns" }}
router = {{ delay = "100 ns", buffer = "32 KiB" }}
packet = "1 KiB"

# The archive has the rounds of collectives as messages, and not the arithmetic of reductions between them.
[mpi]
reduction_bandwidth = "none"

[[job]]
name = "it"
workload = {workload}
placement = "random"

[run]
seed = 7
"#
    )
}

const TIMELINE: [&str; 2] = ["--set", "collect.timeline=true"];

/// Runs the experiment into `NAME`; returns the time, messages and bytes of its only job.
fn run(bench: &Bench, file: &str, name: &str, more: &[&str]) -> (f64, u64, u64) {
    bench.succeeds(&[&["run", file, "--out", name], more].concat());
    let summary = std::fs::read_to_string(bench.path().join(name).join("summary.json")).unwrap();
    let summary: Value = serde_json::from_str(&summary).unwrap();
    let job = &summary["jobs"][0];
    let count = |key: &str| job[key].as_u64().unwrap();
    (
        job["time_ns"].as_f64().unwrap(),
        count("messages"),
        count("bytes"),
    )
}

fn table(bench: &Bench, name: &str) -> Table {
    Table::read(&bench.path().join(format!("result/{name}.parquet"))).unwrap()
}

/// Number of events by name, according to otf2-print; `None` if it is not installed. It must print no warning.
fn printed(bench: &Bench) -> Option<BTreeMap<String, u64>> {
    let anchor = bench.path().join("result-otf2/traces.otf2");
    let output = match Command::new("otf2-print")
        .arg("--warnings-as-errors")
        .arg(anchor)
        .output()
    {
        Ok(output) => output,
        Err(e) => {
            testkit::skipped!("no otf2-print ({e})");
            return None;
        }
    };
    let (stdout, stderr) = texts(&output);
    assert!(output.status.success(), "{stderr}{stdout}");
    assert_eq!(stderr, "");
    let mut counts = BTreeMap::new();
    for line in stdout.lines() {
        let name = line.split_whitespace().next().unwrap_or_default();
        *counts.entry(name.to_string()).or_default() += 1;
    }
    Some(counts)
}

/// Exports, compares with the tables, and replays.
fn round_trip(workload: &str) {
    let mut bench = Bench::new(&experiment(workload));
    bench.write("replay.toml", experiment("{ otf2 = \"result-otf2\" }"));
    let (time, messages, bytes) = run(&bench, "experiment.toml", "result", &TIMELINE);
    let printed_path = bench.succeeds(&["export", "result", "--format", "otf2"]);
    assert_eq!(printed_path.trim_end(), "result-otf2");

    let protocols = table(&bench, "messages");
    let data: u64 = protocols
        .texts("protocol")
        .unwrap()
        .filter(|protocol| matches!(protocol, Some("eager" | "rendezvous")))
        .count() as u64;
    assert_eq!(data, messages, "the table has all messages");
    if let Some(counts) = printed(&bench) {
        let count = |name: &str| counts.get(name).copied().unwrap_or(0);
        let computed = table(&bench, "timeline")
            .texts("state")
            .unwrap()
            .filter(|s| *s == Some("compute"))
            .count();
        let called: u64 = table(&bench, "calls").u64s("count").unwrap().iter().sum();
        assert_eq!(count("ENTER"), count("LEAVE"));
        assert_eq!(count("ENTER"), computed as u64 + called, "{}", workload);
        assert_eq!(count("MPI_SEND") + count("MPI_ISEND"), messages);
        assert_eq!(count("MPI_RECV") + count("MPI_IRECV"), messages);
        assert_eq!(count("MPI_IRECV_REQUEST"), count("MPI_IRECV"));
        assert_eq!(count("MPI_ISEND_COMPLETE"), count("MPI_ISEND"));
    }

    let again = run(&bench, "replay.toml", "again", &[]);
    assert_eq!((again.1, again.2), (messages, bytes), "{}", workload);
    assert_eq!(again.0, time, "{workload}");
}

#[test]
fn what_is_exported_is_what_was_simulated_and_can_be_replayed() {
    if !otf2() {
        return;
    }
    let workloads = [
        // Blocking sends and receives, small and large.
        r#"{ motif = "ping-pong", ranks = 8, bytes = "1 KiB", up_to = "64 KiB", iterations = 3 }"#,
        // Requests with computation beside them.
        r#"{ motif = "halo3d", pex = 2, pey = 2, pez = 2, nx = 40, ny = 40, nz = 40, iterations = 3, compute = "2 us" }"#,
        // Rounds of collectives, small and large.
        r#"{ motif = "allreduce", ranks = 7, bytes = "20 KiB", iterations = 4, compute = "500 ns" }"#,
        r#"{ motif = "all-to-all", ranks = 6, bytes = "3 KiB", iterations = 2, compute = "1 us" }"#,
        r#"{ motif = "all-to-all", ranks = 12, bytes = "40 KiB", iterations = 2, compute = "1 us" }"#,
    ];
    workloads.iter().for_each(|workload| round_trip(workload));
}

#[test]
fn what_is_missing_is_told() {
    let bench = Bench::new(&experiment(
        r#"{ motif = "ping-pong", ranks = 2, iterations = 1 }"#,
    ));
    bench.succeeds(&["run", "experiment.toml", "--out", "result"]);
    let output = bench.run(&["export", "result", "--format", "otf2"]);
    let (stdout, stderr) = texts(&output);
    assert_eq!((output.status.code(), stdout.as_str()), (Some(2), ""), "{stderr}");
    assert!(
        stderr.contains("no table timeline") && stderr.contains("--set collect.timeline=true"),
        "{stderr}"
    );
    assert!(!bench.path().join("result-otf2").exists());
    if !otf2() {
        return;
    }
    bench.succeeds(&[&["run", "experiment.toml", "--out", "result"], &TIMELINE[..]].concat());
    std::fs::create_dir(bench.path().join("taken")).unwrap();
    std::fs::write(bench.path().join("taken/thesis.tex"), "").unwrap();
    let export = ["export", "result", "--format", "otf2", "--out", "taken"];
    let (_, stderr) = texts(&bench.run(&export));
    assert!(
        stderr.contains("taken is there already") && stderr.contains("thesis.tex"),
        "{stderr}"
    );
    // Replaces an earlier export.
    for _ in 0..2 {
        bench.succeeds(&["export", "result", "--format", "otf2"]);
    }
}

/// Two jobs of ranks beside traffic; none has ended at the end of the run.
#[test]
fn several_jobs_that_are_cut_off_are_in_one_archive() {
    if !otf2() {
        return;
    }
    let jobs = r#"{ motif = "halo3d", pex = 2, pey = 2, pez = 2, iterations = 100, compute = "2 us" }
placement = "random"

[[job]]
name = "other"
workload = { motif = "allreduce", ranks = 6, bytes = "40 KiB", iterations = 100, compute = "1 us" }
placement = "random"

[[job]]
name = "noise"
traffic = { pattern = "uniform", load = 0.3 }"#;
    let bench = Bench::new(&experiment(jobs).replace("seed = 7", "seed = 7\nuntil = \"60 us\""));
    bench.succeeds(&[&["run", "experiment.toml", "--out", "result"], &TIMELINE[..]].concat());
    let output = bench.run(&["export", "result", "--format", "otf2"]);
    let (stdout, stderr) = texts(&output);
    assert_eq!(
        (output.status.code(), stdout.trim_end()),
        (Some(0), "result-otf2"),
        "{stderr}"
    );
    assert!(stderr.contains("job noise is synthetic traffic"), "{stderr}");
    let rows = table(&bench, "messages");
    let data = rows
        .texts("protocol")
        .unwrap()
        .filter(|of| matches!(of, Some("eager" | "rendezvous")))
        .count() as u64;
    if let Some(counts) = printed(&bench) {
        assert_eq!(counts["ENTER"], counts["LEAVE"]);
        assert_eq!(counts["MPI_ISEND"], data);
        assert_eq!(counts["MPI_IRECV"], data);
    }
    // A replay has one workload with all ranks, and runs to its end.
    let replay = "[network]\ntopology = { kind = \"hyperx\", shape = [1], hosts_per_router = 14 }\nrouting = { algorithm = \"minimal\" }\n\
                  link = { bandwidth = \"100 Gbps\", latency = \"50 ns\" }\n[[job]]\nworkload = { otf2 = \"result-otf2\" }\n";
    std::fs::write(bench.path().join("replay.toml"), replay).unwrap();
    assert_eq!(run(&bench, "replay.toml", "again", &[]).1, data);
}
