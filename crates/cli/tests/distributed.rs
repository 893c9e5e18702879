//! The real binary as several processes under `mpirun`: one result, the same as that of one process; each error is
//! printed once; no process is left waiting.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use experiment::Experiment;
use serde_json::{Value, json};
use sim::{RunContext, RunControl};
use tempfile::TempDir;
use testkit::mpirun::{mpirun, mpirun_with};

const FABRICSIM: &str = env!("CARGO_BIN_EXE_fabricsim");

/// A timeout far above the time of any case.
const LIMIT: Duration = Duration::from_secs(180);

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the repository is there")
}

fn corpus(name: &str) -> String {
    root().join("tests/corpus").join(name).display().to_string()
}

/// Whether OTF2 traces can be read. Prints a note if not.
fn otf2() -> bool {
    if !workload::otf2::is_available() {
        testkit::skipped!("this build has no OTF2 library (Debian: libotf2-trace-dev)");
    }
    workload::otf2::is_available()
}

fn start(processes: usize, arguments: &[&str]) -> Output {
    mpirun(processes, Path::new(FABRICSIM), arguments, LIMIT)
}

fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// Runs to the end; returns the output.
fn succeeds(processes: usize, arguments: &[&str]) -> String {
    let output = start(processes, arguments);
    let (stdout, stderr) = texts(&output);
    assert!(
        output.status.success(),
        "{processes} processes, {arguments:?}: {stdout}{stderr}"
    );
    stdout
}

/// The run ends with this status, and one process prints the reason.
fn fails(processes: usize, arguments: &[&str], status: i32, message: &str) {
    let output = start(processes, arguments);
    let (stdout, stderr) = texts(&output);
    let what = format!("{processes} processes, {arguments:?}: {stdout}{stderr}");
    assert_eq!(output.status.code(), Some(status), "{what}");
    assert_eq!(stderr.matches(message).count(), 1, "'{message}' once: {what}");
    let said = stderr.lines().filter(|line| line.starts_with("fabricsim: "));
    assert_eq!(said.count(), 1, "one message: {what}");
    assert!(
        !stdout.contains("result") && !stderr.contains("panicked"),
        "{what}"
    );
}

/// A folder with an experiment and its result.
fn bench(text: &str) -> (TempDir, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let experiment = folder.path().join("experiment.toml");
    fs::write(&experiment, text).unwrap();
    let out = folder.path().join("out").display().to_string();
    (folder, experiment.display().to_string(), out)
}

const TRAFFIC: &str = r#"
[network]
topology = { kind = "dragonfly", hosts_per_router = 1, routers_per_group = 4, global_links_per_router = 2 }
routing = { algorithm = "minimal" }
[[job]]
traffic = { pattern = "uniform", load = 0.5 }
[run]
until = "5 us"
"#;

fn with_trace(trace: &str) -> String {
    let application = format!("workload = {{ otf2 = \"{trace}\" }}");
    let text = TRAFFIC.replace("traffic = { pattern = \"uniform\", load = 0.5 }", &application);
    text.replace("[run]\nuntil = \"5 us\"\n", "")
}

fn summary(folder: &Path) -> Value {
    let text = fs::read_to_string(folder.join("summary.json")).expect("there is a result");
    serde_json::from_str(&text).expect("it is JSON")
}

/// The files of the tables.
fn tables(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let tables = entries.filter(|path| path.extension().is_some_and(|e| e == "parquet"));
    tables
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, fs::read(path).unwrap())
        })
        .collect()
}

/// All experiments of the corpus at once.
const LIMIT_OF_CORPUS: Duration = Duration::from_secs(600);

/// Selects the executor of [`a_process_of_the_corpus`].
const EXECUTOR: &str = "FABRICSIM_TEST_EXECUTOR";

/// Selects its experiments: those that tests/corpus/everywhere.txt names, or with `rest` the others.
const PART: &str = "FABRICSIM_TEST_PART";

/// The experiments of a part of the corpus with their recorded digests.
fn record(part: &str) -> BTreeMap<String, Value> {
    let record = fs::read_to_string(corpus("expected.json")).expect("there is a record");
    let mut record: BTreeMap<String, Value> = serde_json::from_str(&record).expect("it is JSON");
    let otf2 = otf2();
    let everywhere = fs::read_to_string(corpus("everywhere.txt")).expect("there is a list");
    record.retain(|name, _| {
        let can_run = otf2 || !fs::read_to_string(corpus(name)).unwrap().contains("otf2");
        can_run && everywhere.lines().any(|line| line == name) != (part == "rest")
    });
    record
}

#[test]
fn each_kind_of_part_has_the_digest_on_record() {
    has_the_digest_on_record("everywhere");
}

#[test]
#[ignore = "make test-long runs it"]
fn the_rest_of_the_corpus_has_the_digest_on_record() {
    has_the_digest_on_record("rest");
}

/// The recorded digests are those of the sequential executor, among others. All experiments run in one start of
/// `mpirun`, which takes longer than most of them.
fn has_the_digest_on_record(part: &str) {
    let this = std::env::current_exe().expect("this test is a program");
    let process = ["--ignored", "--exact", "a_process_of_the_corpus", "--nocapture"];
    let record = record(part);
    assert!(!record.is_empty(), "a part of the corpus has experiments");
    for executor in ["conservative", "optimistic"] {
        for processes in 1..=4 {
            let environment = [(EXECUTOR, executor), (PART, part)];
            let output = mpirun_with(processes, &this, &process, &environment, LIMIT_OF_CORPUS);
            let (stdout, stderr) = texts(&output);
            let what = format!("{executor}, {processes} processes");
            assert!(output.status.success(), "{what}: {stdout}{stderr}");
            let digest = |line: &str| -> Option<(String, String)> {
                let (name, digest) = line.strip_prefix("digest of ")?.split_once(": ")?;
                Some((name.to_string(), digest.to_string()))
            };
            let digests: BTreeMap<String, String> = stdout.lines().filter_map(digest).collect();
            assert_eq!(digests.len(), record.len(), "{what}: {stdout}");
            for (name, expected) in &record {
                let (digest, collected) = digests[name].split_once(' ').expect("two of them");
                assert_eq!(expected["digest"], digest, "{name}, {what}");
                assert_eq!(expected["collected"], collected, "{name}, {what}");
            }
        }
    }
}

#[test]
#[ignore = "one of several processes under mpirun, which other tests start"]
fn a_process_of_the_corpus() {
    let (Ok(executor), Ok(part)) = (std::env::var(EXECUTOR), std::env::var(PART)) else {
        return;
    };
    let processes = cluster::join().expect("MPI is there");
    // The record is of runs that collect everything.
    let set = [
        ("run.executor", format!("\"{executor}\"")),
        ("collect.timeline", "true".into()),
        ("collect.waits", "true".into()),
    ]
    .map(|(key, value)| (key.to_string(), value));
    for name in record(&part).keys() {
        let experiment = Experiment::load(Path::new(&corpus(name)), &set).unwrap_or_else(|e| panic!("{e}"));
        let way = RunContext {
            processes: &processes,
            ..RunContext::default()
        };
        let result =
            sim::run_in(&experiment, &RunControl::new(), &way).unwrap_or_else(|e| panic!("{name}: {e}"));
        // The first process has the result.
        if let Some(result) = result {
            let collected = result.summary.collect.expect("it is always there").digest;
            println!("\ndigest of {name}: {} {collected}", result.summary.digest);
        }
    }
}

/// Digests of the results and of the collected data.
fn digests(summary: &Value) -> Value {
    json!([summary["digest"], summary["collect"]])
}

fn same_result(experiment: &str, further: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("result");
    let run = [&["run", experiment, "--out", out.to_str().unwrap()], further].concat();
    let mut reference: Option<(Value, BTreeMap<String, Vec<u8>>)> = None;
    for executor in ["conservative", "optimistic"] {
        for processes in 1..=4 {
            let threads = if processes == 2 { "2" } else { "1" };
            let way = ["--executor", executor, "--threads", threads];
            let printed = succeeds(processes, &[&run[..], &way].concat());
            let what = format!("{experiment}, {executor}, {processes} processes");
            assert_eq!(
                printed.matches("report.html").count(),
                1,
                "{what}: one table: {printed}"
            );
            let (summary, tables) = (summary(&out), tables(&out));
            assert_eq!(summary["run"]["processes"], processes, "{what}");
            let names = fs::read_dir(folder.path()).unwrap().count();
            assert_eq!(names, 1, "{what}: nothing is left beside the result");
            match &reference {
                None => reference = Some((digests(&summary), tables)),
                Some(reference) => {
                    assert_eq!(reference.0, digests(&summary), "{what}");
                    assert!(
                        reference.1 == tables && tables.len() >= 4,
                        "{what}: tables differ"
                    );
                }
            }
        }
    }
}

#[test]
fn any_number_of_processes_has_the_same_result() {
    same_result(&corpus("dragonfly-ugal.toml"), &[]);
    same_result(&corpus("collect-vcs-slim-fly.toml"), &[]);
}

#[test]
fn any_number_of_processes_replays_an_application() {
    if otf2() {
        same_result(
            &corpus("lammps-beside-traffic.toml"),
            &["--set", "run.until=60 us"],
        );
    }
}

/// A first attempt with credit batching is kept: runs of low load execute once.
#[test]
fn any_number_of_processes_keeps_credit_batches() {
    let experiment = root().join("examples/uniform-dragonfly.toml");
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("result");
    let (experiment, out_text) = (experiment.to_str().unwrap(), out.to_str().unwrap());
    for processes in 1..=3 {
        let span = ["--set", "run.until=2 us", "--set", "run.warmup=0 s"];
        succeeds(
            processes,
            &[&["run", experiment, "--out", out_text], &span[..]].concat(),
        );
        let credits = &summary(&out)["run"]["credits"];
        assert_eq!(credits, "batches", "{processes} processes");
    }
}

/// Several consecutive runs of all processes.
#[test]
fn any_number_of_processes_finds_the_same_interference() {
    if !otf2() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("result").display().to_string();
    let experiment = corpus("lammps-twice.toml");
    let mut reference: Option<Value> = None;
    for (executor, processes) in [("conservative", 1), ("conservative", 3), ("optimistic", 2)] {
        let until = ["--set", "run.until=60 us"];
        let run = [
            "run",
            &experiment,
            "--out",
            &out,
            "--json",
            "--interference",
            "--executor",
            executor,
        ];
        let printed = succeeds(processes, &[&run[..], &until].concat());
        let summary: Value = serde_json::from_str(&printed).expect("one summary");
        let found = summary["interference"].clone();
        assert_eq!(found["jobs"].as_array().map(Vec::len), Some(2), "{printed}");
        assert_eq!(summary["run"]["processes"], processes);
        match &reference {
            None => reference = Some(found),
            Some(reference) => assert_eq!(*reference, found, "{executor}, {processes} processes"),
        }
    }
}

#[test]
fn a_wrong_experiment_is_told_once() {
    let (folder, experiment, out) = bench(&TRAFFIC.replace("0.5", "1.5"));
    for processes in [2, 3] {
        let run = ["run", &experiment, "--out", &out];
        fails(processes, &run, 2, "job.0.traffic.load: ");
    }
    fails(2, &["run", "nowhere.toml"], 2, "nowhere.toml");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no result");
}

#[test]
fn a_missing_trace_is_told_once() {
    let (_folder, experiment, out) = bench(&with_trace("somewhere/traces.otf2"));
    let says = "somewhere/traces.otf2: cannot be opened";
    fails(3, &["run", &experiment, "--out", &out], 2, says);
}

#[test]
fn an_executor_for_one_process_is_told_once() {
    let (_folder, experiment, out) = bench(TRAFFIC);
    for executor in ["sequential", "reverse-check"] {
        let run = ["run", &experiment, "--out", &out, "--executor", executor];
        let says = format!("the executor {executor} runs in one process, not in 2");
        fails(2, &run, 2, &says);
    }
}

#[test]
fn a_result_that_cannot_be_written_is_told_once() {
    let (folder, experiment, _) = bench(TRAFFIC);
    let taken = folder.path().join("taken");
    fs::write(&taken, "a file").unwrap();
    let run = ["run", &experiment, "--out", taken.to_str().unwrap()];
    fails(2, &run, 2, "taken is not a folder");
}

#[test]
fn an_application_that_waits_for_ever_is_told_once() {
    if !otf2() {
        return;
    }
    let trace = root().join("tests/corpus/traces/deadlock-2");
    let text = with_trace(&trace.display().to_string());
    for executor in ["conservative", "optimistic"] {
        let (_folder, experiment, out) = bench(&text);
        let run = ["run", &experiment, "--out", &out, "--executor", executor];
        fails(3, &run, 2, "the application waits forever");
        fails(
            2,
            &[&run[..], &["--interference"]].concat(),
            2,
            "the application waits forever",
        );
    }
}

/// A rank whose events are cut off: one process fails while the others are busy.
#[test]
fn a_failure_in_one_process_is_told_once() {
    if !otf2() {
        return;
    }
    let from = root().join("examples/traces/otf2-lammps-melt-27");
    let (folder, experiment, out) = bench(&with_trace("trace/traces.otf2"));
    let trace = folder.path().join("trace");
    for part in ["", "traces"] {
        fs::create_dir(trace.join(part)).unwrap();
        for entry in fs::read_dir(from.join(part)).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                fs::copy(&path, trace.join(part).join(path.file_name().unwrap())).unwrap();
            }
        }
    }
    let events = trace.join("traces/26.evt");
    let whole = fs::read(&events).unwrap();
    fs::write(&events, &whole[..whole.len() / 2]).unwrap();
    for executor in ["conservative", "optimistic"] {
        let run = ["run", &experiment, "--out", &out, "--executor", executor];
        fails(
            3,
            &run,
            2,
            "traces/26.evt: rank 26: its events are cut off or damaged",
        );
    }
    assert!(!Path::new(&out).exists(), "no result");
}

/// Processes of this program with this argument.
fn members(argument: &str) -> Vec<u32> {
    let entries = fs::read_dir("/proc").expect("Linux");
    let ids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let is_member = |id: &u32| {
        let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        let mut words = line.split('\0');
        words.next() == Some(FABRICSIM) && words.any(|word| word == argument)
    };
    ids.filter(is_member).collect()
}

/// Kills one process of a run of many hours once `is_time` returns true; returns how long the others continued.
fn kills_one(processes: usize, arguments: &[&str], out: &str, is_time: impl Fn() -> bool) -> Duration {
    thread::scope(|scope| {
        let run = scope.spawn(|| start(processes, arguments));
        let deadline = Instant::now() + LIMIT;
        while members(out).len() < processes || !is_time() {
            assert!(!run.is_finished(), "it ends by itself: {:?}", run.join());
            assert!(Instant::now() < deadline, "the processes do not come");
            thread::sleep(Duration::from_millis(5));
        }
        let members = members(out);
        let victim = members[members.len() - 1].to_string();
        let killed = Instant::now();
        assert!(
            Command::new("kill")
                .args(["-KILL", &victim])
                .status()
                .unwrap()
                .success()
        );
        let output = run.join().unwrap();
        assert!(!output.status.success(), "{output:?}");
        killed.elapsed()
    })
}

#[test]
fn a_killed_process_ends_the_run() {
    let (_folder, experiment, out) = bench(TRAFFIC);
    for executor in ["conservative", "optimistic"] {
        let run = [
            "run",
            &experiment,
            "--out",
            &out,
            "--executor",
            executor,
            "--set",
            "run.until=3600 s",
        ];
        let started = Instant::now();
        let at_work = || started.elapsed() > Duration::from_millis(1_500);
        let took = kills_one(3, &run, &out, at_work);
        assert!(took < Duration::from_secs(20), "{took:?}");
        let folder = Path::new(&out);
        assert!(!folder.join("summary.json").exists(), "no result");
        assert!(folder.join("RUNNING.json").is_file(), "the folder says so");
        assert_eq!(members(&out), [0; 0], "no process is left");
    }
}

/// Three processes write a checkpoint, and one is killed; one process and two processes resume it.
#[test]
fn a_checkpoint_goes_on_with_another_number_of_processes() {
    let (folder, experiment, out) = bench(TRAFFIC);
    let long = ["run", &experiment, "--set", "run.until=100 us", "--out"];
    let whole = folder.path().join("whole");
    succeeds(1, &[&long[..], &[whole.to_str().unwrap()]].concat());
    for executor in ["conservative", "optimistic"] {
        let file = Path::new(&out).join("checkpoint.fabricsim");
        let often = ["--checkpoint-every-simulated", "5 us", "--executor", executor];
        kills_one(3, &[&long[..], &[&out], &often].concat(), &out, || file.exists());
        let checkpoint = fs::read(&file).unwrap();
        let refused = "contains the checkpoint of an interrupted run";
        fails(2, &[&long[..], &[&out]].concat(), 2, refused);
        for processes in [1, 2] {
            fs::create_dir_all(&out).unwrap();
            fs::write(&file, &checkpoint).unwrap();
            let printed = succeeds(processes, &["resume", &out, "--executor", "optimistic"]);
            assert_eq!(printed.matches("continues from ").count(), 1, "{printed}");
            assert!(!file.exists(), "it is of no use any more");
            assert_eq!(summary(&whole)["digest"], summary(Path::new(&out))["digest"]);
            assert!(tables(&whole) == tables(Path::new(&out)), "tables differ");
            fs::remove_dir_all(&out).unwrap();
        }
    }
    fails(3, &["resume", &out], 2, "holds no checkpoint");
}
