//! A killed run leaves a marked folder with readable tables; the next run replaces it.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use results::{RunResult, Running, Summary, Table};

use crate::bench::{Bench, EXPERIMENT, texts};

/// A timeout for slow machines.
const LIMIT: Duration = Duration::from_secs(120);

/// Tables that grow while traffic runs.
const TABLES: [&str; 10] = [
    "class_series",
    "host_series",
    "job_series",
    "link_series",
    "load_histogram_series",
    "pair_series",
    "router_load_series",
    "router_series",
    "top_links",
    "vc_series",
];

/// Starts an endless run into `here` and kills it when each table has some rows.
pub fn kill(bench: &Bench) {
    let running = bench.path().join("here/running");
    let mut child = Command::new(bench.command().get_program())
        .current_dir(bench.path())
        .args(["run", "experiment.toml", "--out", "here"])
        .args(["--set", "run.until=5 s", "--set", "collect.series=vcs"])
        .args(["--set", "collect.bin=1 us"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + LIMIT;
    // A full row group, or the tail of one, for each other table; they are written one after the other.
    let exists = |table: &str, part: &str| running.join(format!("{table}.{part}.parquet")).exists();
    let any = |table: &&str| exists(table, "00000") || exists(table, "tail");
    while !exists("link_series", "00000") || !TABLES.iter().all(any) {
        let ended = child.try_wait().unwrap();
        assert!(
            ended.is_none() && Instant::now() < deadline,
            "nothing is written: {ended:?}"
        );
        thread::sleep(Duration::from_millis(20));
    }
    let id = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-KILL", &id])
            .status()
            .unwrap()
            .success()
    );
    let output = child.wait_with_output().unwrap();
    assert!(!output.status.success(), "{output:?}");
}

#[test]
fn a_killed_run_says_so_and_can_be_read() {
    let bench = Bench::new(EXPERIMENT);
    kill(&bench);
    let here = bench.path().join("here");
    assert!(here.join("RUNNING.json").is_file());
    assert!(!here.join("summary.json").exists());
    let running = Running::load(&here).unwrap().expect("it says so");
    assert_eq!(running.experiment["collect"]["series"], "vcs");
    let tables = Running::tables(&here).unwrap();
    for name in TABLES {
        let table = tables.iter().find(|table| table.name() == name);
        let table = table.unwrap_or_else(|| panic!("{name} is missing"));
        assert!(table.rows() > 0, "{name}");
        let ends = table.u64s("end_ps").unwrap();
        let starts = table.u64s("begin_ps").unwrap();
        // A bin, or a period of several.
        let widths: BTreeSet<u64> = starts.iter().zip(ends).map(|(start, end)| end - start).collect();
        let width = widths.first().copied().unwrap_or(0);
        assert!(
            widths.len() == 1 && width > 0 && width % 1_000_000 == 0,
            "{name}: {widths:?}"
        );
    }
    // The network is known from the beginning, so that samples can be drawn.
    let table = |name: &str| tables.iter().find(|table| table.name() == name).unwrap();
    let (routers, hosts, links) = (table("routers"), table("hosts"), table("links"));
    let busy: BTreeSet<u32> = table("link_series")
        .u32s("link")
        .unwrap()
        .iter()
        .copied()
        .collect();
    assert!(busy.last().is_some_and(|link| (*link as usize) < links.rows()));
    assert!(links.texts("from").is_none() && links.u64s("busy_ps").is_none());
    let early = [routers.clone(), hosts.clone()];
    let ends = |links: &Table| {
        let columns = ["link", "from_id", "from_port", "to_id", "to_port"];
        let texts = |column| -> Vec<String> {
            let texts = links.texts(column).unwrap();
            texts.map(|text| text.unwrap().to_string()).collect()
        };
        (
            columns.map(|column| links.u32s(column).unwrap().to_vec()),
            ["class", "from_kind", "to_kind"].map(texts),
        )
    };
    let early_ends = ends(links);
    for arguments in [["report", "here"], ["compare", "here"]] {
        let output = bench.run(&arguments);
        let (_, stderr) = texts(&output);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(
            stderr.contains("its run is still running or was killed (RUNNING.json)"),
            "{stderr}"
        );
    }

    // The next run replaces it.
    bench.succeeds(&["run", "experiment.toml", "--out", "here"]);
    let names = fs::read_dir(&here).unwrap();
    let names: Vec<String> = names
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(
        names.iter().all(|name| !name.to_lowercase().contains("running")),
        "{names:?}"
    );
    let summary = Summary::load(&here).unwrap();
    let digest = summary.digest.clone();
    let result = RunResult::load(&here).unwrap();
    let late = |name| result.table(name).unwrap();
    assert!(early == [late("routers").clone(), late("hosts").clone()]);
    assert_eq!(early_ends, ends(late("links")));

    // Killed again: the previous result is still complete.
    kill(&bench);
    assert_eq!(Summary::load(&here).unwrap().digest, digest);
    assert!(Running::load(&here).unwrap().is_some());
    bench.succeeds(&["run", "experiment.toml", "--out", "here"]);
    assert!(Running::load(&here).unwrap().is_none());
}

/// A lock names the process that holds it, and a killed process holds none.
#[cfg(unix)]
#[test]
fn a_second_run_into_a_folder_is_refused() {
    let bench = Bench::new(EXPERIMENT);
    let here = bench.path().join("here");
    let arguments = ["run", "experiment.toml", "--out", "here"];
    let mut first = Command::new(bench.command().get_program())
        .current_dir(bench.path())
        .args(arguments)
        .args(["--set", "run.until=5 s", "--checkpoint-every-simulated", "1 us"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + LIMIT;
    while !here.join(results::CHECKPOINT).exists() {
        assert!(Instant::now() < deadline, "no checkpoint");
        thread::sleep(Duration::from_millis(20));
    }
    let by = format!("here is being written by process {} on ", first.id());
    for arguments in [&arguments[..], &["resume", "here"]] {
        let output = bench.run(arguments);
        let (_, stderr) = texts(&output);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(
            stderr.contains(&by) && stderr.contains("which started "),
            "{stderr}"
        );
        assert_eq!(stderr.matches("fabricsim: ").count(), 1, "{stderr}");
    }
    assert!(first.try_wait().unwrap().is_none(), "the first run goes on");
    assert_eq!(Running::load(&here).unwrap().unwrap().process, first.id());
    first.kill().unwrap();
    first.wait().unwrap();
    fs::remove_file(here.join(results::CHECKPOINT)).unwrap();
    bench.succeeds(&arguments);
}
