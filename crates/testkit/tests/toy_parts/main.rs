//! ARCHITECTURE.md names every place to edit for each kind of part: a toy part of each kind is added to a copy of the
//! workspace by exactly these edits, and works there.
//!
//! A toy's documentation, Python class and experiment of `tests/corpus` are not here: CONTRIBUTING.md lists them for
//! all parts alike, and tests compare each of them with the registries.

mod architecture;
mod toys;
mod workspace;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use architecture::{Row, compare, rows};
use toys::{Edit, NOT_COVERED, TOYS, Toy};
use workspace::{Copied, edited, root, run};

fn table() -> Vec<Row> {
    rows(&fs::read_to_string(root().join("ARCHITECTURE.md")).expect("the page is there"))
}

#[test]
fn every_row_has_a_toy_or_a_reason() {
    let rows: Vec<String> = table().into_iter().map(|row| row.part).collect();
    let toys = TOYS.iter().map(|toy| toy.row);
    let others = NOT_COVERED.iter().map(|(row, _)| *row);
    let known: Vec<String> = toys.chain(others).map(String::from).collect();
    let set = |names: &[String]| names.iter().cloned().collect::<BTreeSet<_>>();
    assert_eq!(set(&rows), set(&known));
    assert_eq!(rows.len(), known.len(), "a row or toy stands twice");
}

#[test]
fn toys_edit_what_their_rows_name() {
    let rows = table();
    for toy in TOYS {
        let row = rows
            .iter()
            .find(|row| row.part == toy.row)
            .expect("the row of the toy");
        compare(row, toy).unwrap_or_else(|why| panic!("{why}"));
    }
}

#[test]
fn other_edits_are_refused() {
    let text = "| to add | write | register in |\n| --- | --- | --- |\n\
                | a gadget | a file beside `a/b.rs` | `GADGETS` in `a/mod.rs`; `docs/gadgets.md` |\n\nEnd.";
    let rows = rows(text);
    let toy = |files, edits| Toy {
        row: "a gadget",
        files,
        edits,
        listed: None,
    };
    const fn edit(path: &'static str) -> Edit {
        Edit {
            path,
            after: "one",
            insert: " two",
        }
    }
    const EDITS: &[Edit] = &[edit("a/mod.rs"), edit("docs/gadgets.md"), edit("a/lib.rs")];
    let (fewer, both, more) = (&EDITS[..1], &EDITS[..2], EDITS);
    let message = |files, edits| compare(&rows[0], &toy(files, edits)).unwrap_err();
    assert_eq!(rows.len(), 1);
    assert_eq!(compare(&rows[0], &toy(&["a/c.rs"], both)), Ok(()));
    assert!(message(&["a/c.rs"], fewer).contains("edits {\"a/mod.rs\"}"));
    assert!(message(&["a/c.rs"], more).contains("a/lib.rs"));
    assert!(message(&["b/c.rs"], both).contains("b/c.rs is not beside"));
    assert!(message(&[], both).contains("new files []"));
    assert_eq!(edited("zero one", &EDITS[0]), Ok("zero one two".into()));
    assert!(edited("one one", &EDITS[0]).unwrap_err().contains("2 times"));
    assert!(edited("zero", &EDITS[0]).unwrap_err().contains("0 times"));
}

/// The program with all toys, and a folder for experiments.
struct Bench {
    program: PathBuf,
    folder: PathBuf,
}

impl Bench {
    fn new() -> Bench {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("toy-experiments");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("the folder can be made");
        for (name, content) in [
            ("traffic.toml", format!("{NETWORK}{TRAFFIC}")),
            ("ranks.toml", format!("{NETWORK}{RANKS}")),
            ("two.toytrace", "toytrace\n0 1 1000\n1 0 50\n".into()),
            ("jobs.toml", format!("{NETWORK}{TRACE}")),
            ("three.toyjobs", "0 6 20\n1 6 30\n2 6 10\n".into()),
        ] {
            fs::write(folder.join(name), content).expect("writable");
        }
        Bench {
            program: Copied::with_toys().build(&folder),
            folder,
        }
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// Standard output of a command that succeeds.
    fn output(&self, arguments: &str) -> String {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let output = run(&self.program, &self.folder, &arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {errors}");
        String::from_utf8(output.stdout).expect("text")
    }

    fn json(&self, arguments: &str) -> Value {
        serde_json::from_str(&self.output(arguments)).expect("JSON")
    }

    /// The rows of a table of a result, by these columns.
    fn table(&self, result: &str, table: &str, columns: &[&str]) -> Vec<Vec<String>> {
        self.output(&format!(
            "export {result} --format csv --table {table} --out {table}.csv"
        ));
        let text = self.read(&format!("{table}.csv"));
        let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let header = lines.next().expect("a header");
        let index = |name: &&str| {
            header
                .iter()
                .position(|column| column == name)
                .expect("the column")
        };
        let chosen: Vec<usize> = columns.iter().map(index).collect();
        let cells = |line: Vec<&str>| chosen.iter().map(|at| line[*at].to_string()).collect();
        lines.map(cells).collect()
    }
}

const NETWORK: &str = r#"
[network]
topology = { kind = "toy-clique", routers = 6 }
routing = { algorithm = "toy-first" }
router = { model = "toy-queues", delay = "100 ns", buffer = "8 KiB" }
link = { bandwidth = "100 Gbps", latency = "50 ns" }
packet = "256 B"
"#;

const TRAFFIC: &str = r#"
[[job]]
traffic = { pattern = "toy-partner", arrival = "toy-twos", message = { distribution = "toy-powers" }, load = 0.4 }

[run]
until = "60 us"
warmup = "5 us"
"#;

const RANKS: &str = r#"
[mpi]
preset = "toy-mpi"
collectives = { bcast = "toy-chain" }

[[job]]
name = "ring"
workload = { motif = "toy-ring", ranks = 3 }
placement = "toy-backwards"
mapping = "toy-backwards"
ranks_per_host = 1

[[job]]
name = "trace"
workload = { toytrace = "two.toytrace" }

[[job]]
name = "broadcast"
workload = { toy_broadcast = 4 }
ranks_per_host = 4
"#;

/// Two jobs that wait for the first one: the scheduler of the toys takes the latest one first.
const TRACE: &str = r#"
[job_trace]
file = "three.toyjobs"
scheduler = "toy-latest"
time_scale = 1000000

[[job_trace.application]]
name = "*"
workload = { motif = "allreduce", bytes = "8 B", compute = "1 us" }
"#;

#[test]
fn toys_work() {
    let bench = Bench::new();
    toys_are_listed(&bench);
    traffic_goes_to_partners(&bench);
    ranks_send_their_messages(&bench);
    jobs_of_a_trace_start(&bench);
    results_have_table_export_and_section(&bench);
    models_that_do_not_understand_each_other_are_refused(&bench);
    a_model_applies_its_own_pipeline(&bench);
    models_run_on_every_executor(&bench);
    a_killed_run_of_models_goes_on(&bench);
}

fn toys_are_listed(bench: &Bench) {
    let list = bench.json("list --json");
    for (kind, name) in TOYS.iter().filter_map(|toy| toy.listed) {
        let parts = list[kind]
            .as_array()
            .unwrap_or_else(|| panic!("{kind} is listed"));
        assert!(parts.iter().any(|part| part["name"] == name), "{kind} has {name}");
    }
}

fn traffic_goes_to_partners(bench: &Bench) {
    let check = bench.output("check traffic.toml");
    assert!(check.contains("deadlock"), "{check}");
    let summary = bench.json("run traffic.toml --json");
    let network = &summary["network"];
    assert_eq!(network["topology"], "toy clique of 6 routers with 1 host each");
    // Injection, one link between routers, ejection.
    assert_eq!(network["mean_hops"], 3.0);
    let loads = ["offered_load", "accepted_load"].map(|key| network[key].as_f64().expect("a load"));
    assert!(loads.iter().all(|load| (load - 0.4).abs() < 0.04), "{loads:?}");
    let sent = network["packets_injected"].as_u64().expect("a number");
    let lost = sent - network["packets_delivered"].as_u64().expect("a number");
    assert_eq!(network["packets_in_flight"].as_u64(), Some(lost));
    let bytes = network["bytes_delivered"].as_f64().expect("a number") / (sent - lost) as f64;
    assert!((bytes - 448.0 / 3.0).abs() < 8.0, "{bytes} bytes in a packet");
    let mut busy = 0;
    for link in bench.table(
        "results/traffic",
        "links",
        &["class", "from_id", "to_id", "packets"],
    ) {
        let [from, to, packets] = [1, 2, 3].map(|cell: usize| link[cell].parse::<u32>().expect("a number"));
        if link[0] == "clique" {
            assert_eq!(
                packets > 0,
                from ^ 1 == to,
                "router {from} to {to}: {packets} packets"
            );
            busy += u32::from(packets > 0);
        }
    }
    assert_eq!(busy, 6);
    let events = "run traffic.toml --json --executor reverse-check --out results/checked --set run.until=8us \
                  --set run.warmup=1us";
    bench.output(events);
}

fn ranks_send_their_messages(bench: &Bench) {
    let info = bench.json("trace info two.toytrace --json");
    assert_eq!(
        (info["ranks"].as_u64(), info["messages"]["bytes"].as_u64()),
        (Some(2), Some(1050))
    );
    let summary = bench.json("run ranks.toml --json");
    assert_eq!(summary["experiment"]["mpi"]["eager_threshold"], "77 B");
    let columns = [
        "job",
        "host",
        "finished",
        "bytes_sent",
        "bytes_received",
        "collective_messages_sent",
    ];
    let found = bench.table("results/ranks", "ranks", &columns);
    let found: Vec<String> = found.iter().map(|cells| cells.join(" ")).collect();
    let expected = [
        "ring 3 true 8 8 0",
        "ring 4 true 8 8 0",
        "ring 5 true 8 8 0",
        "trace 0 true 1000 50 0",
        "trace 1 true 50 1000 0",
        "broadcast 2 true 0 0 1",
        "broadcast 2 true 0 0 1",
        "broadcast 2 true 0 0 1",
        "broadcast 2 true 0 0 0",
    ];
    assert_eq!(found, expected);
}

fn jobs_of_a_trace_start(bench: &Bench) {
    bench.output("run jobs.toml");
    let times = bench.table("results/jobs", "schedule", &["arrival_ns", "start_ns", "end_ns"]);
    let seconds = |[arrival, start, end]: [u32; 3]| {
        [arrival, start, end].map(|seconds| (u64::from(seconds) * 1_000_000_000).to_string())
    };
    assert_eq!(times, [[0, 0, 20], [1, 30, 60], [2, 20, 30]].map(seconds));
}

fn results_have_table_export_and_section(bench: &Bench) {
    let totals = bench.table("results/ranks", "toy_totals", &["job", "messages"]);
    assert_eq!(totals, [["ring", "3"], ["trace", "2"], ["broadcast", "3"]]);
    bench.output("export results/ranks --format toy");
    let tables = bench.read("results/ranks.toy.txt");
    assert!(tables.lines().any(|table| table == "toy_totals"), "{tables}");
    assert!(bench.read("results/ranks/report.html").contains("Toy totals"));
}

/// Models of routers and NICs that no other part resembles: heads and tails that travel apart, links that go down and
/// packets that are numbered, loss and NICs that repeat packets.
const MODELS: [(&str, &str); 3] = [
    ("toy-flits", "queued"),
    ("toy-retry", "queued"),
    ("toy-lossy", "toy-resend"),
];

/// Arguments that select the models of a row.
fn with_models((router, nic): (&str, &str)) -> String {
    format!("--set network.router.model={router} --set network.nic.model={nic}")
}

/// The toy that loses packets tells the NIC, which has to understand it.
fn models_that_do_not_understand_each_other_are_refused(bench: &Bench) {
    for (models, expected) in [
        (("toy-lossy", "queued"), "expected model = \"toy-resend\""),
        (
            ("toy-queues", "toy-resend"),
            "expected network.router.model = \"toy-lossy\"",
        ),
    ] {
        let arguments = format!("check traffic.toml {}", with_models(models));
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let output = run(&bench.program, &bench.folder, &arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{models:?}");
        assert!(error.contains(expected), "{models:?}: {error}");
    }
}

/// A model with its own pipeline gets heads from the cable, and their time in the pipeline from the settings.
fn a_model_applies_its_own_pipeline(bench: &Bench) {
    let latency = |delay: &str| {
        let summary = bench.json(&format!(
            "run traffic.toml --json --set network.router.model=toy-queues --set network.router.delay={delay}"
        ));
        summary["network"]["latency_ns"]["mean"]
            .as_f64()
            .expect("a latency")
    };
    let (without, with) = (latency("0ps"), latency("1us"));
    // A path has one or two routers.
    let routers = (with - without) / 1000.0;
    assert!(
        (0.99..2.05).contains(&routers),
        "{without} ns without pipelines, {with} ns with them"
    );
}

/// Shortcuts, audit, load reports, hosts and ranks meet the models on every executor, and all of them agree. The tests
/// of the copy have them in several processes.
fn models_run_on_every_executor(bench: &Bench) {
    for models in MODELS {
        let set = with_models(models);
        for (file, more) in [
            ("traffic.toml", "--set run.until=14us --set run.warmup=1us"),
            ("ranks.toml", "--set collect.waits=false"),
        ] {
            let run = |executor: &str| {
                let out = "--out results/models";
                bench.json(&format!(
                    "run {file} --json {set} {more} {out} --executor {executor}"
                ))
            };
            let reference = run("sequential");
            if file == "ranks.toml" {
                let jobs = reference["jobs"].as_array().expect("jobs");
                assert!(
                    jobs.iter().all(|job| job["finished"] == true),
                    "{models:?}: {jobs:?}"
                );
                let received = bench.table("results/models", "ranks", &["bytes_received"]);
                let received: u64 = received
                    .iter()
                    .map(|cells| cells[0].parse::<u64>().expect("a number"))
                    .sum();
                assert_eq!(received, 3 * 8 + 1050, "{models:?}");
            } else {
                dropped_packets_are_told(bench, models, &reference);
            }
            for executor in [
                "conservative --threads 1",
                "conservative --threads 3",
                "optimistic --threads 2",
                "reverse-check",
            ] {
                assert_eq!(
                    run(executor)["digest"],
                    reference["digest"],
                    "{models:?} {executor}"
                );
            }
        }
    }
}

/// Lost packets are in summary, note and table; with other models there are none.
fn dropped_packets_are_told(bench: &Bench, models: (&str, &str), summary: &Value) {
    let reason = match models.0 {
        "toy-lossy" => "buffer-full",
        "toy-retry" => "link-down",
        _ => return assert_eq!(summary["network"]["dropped"], Value::Null),
    };
    let dropped = &summary["network"]["dropped"][0];
    assert_eq!(dropped["reason"], reason);
    let notes = summary["notes"].as_array().expect("notes");
    assert!(notes.iter().any(|note| note["kind"] == "dropped-packets"));
    let rows = bench.table("results/models", "drops", &["kind", "reason", "packets"]);
    assert!(rows.iter().all(|row| row[0] == "router" && row[1] == reason));
    let packets: u64 = rows
        .iter()
        .map(|row| row[2].parse::<u64>().expect("a number"))
        .sum();
    assert_eq!(dropped["packets"].as_u64(), Some(packets));
}

/// Checkpoints have the models' state, timers and signals.
fn a_killed_run_of_models_goes_on(bench: &Bench) {
    for models in MODELS {
        let run = format!(
            "run traffic.toml --json {} --set run.until=300us",
            with_models(models)
        );
        let whole = bench.json(&format!("{run} --out results/whole"));
        let checkpoint = bench.folder.join("results/killed/checkpoint.fabricsim");
        let arguments = format!("{run} --out results/killed --checkpoint-every-simulated 2us");
        let mut child = Command::new(&bench.program)
            .current_dir(&bench.folder)
            .args(arguments.split(' '))
            .stdout(Stdio::null())
            .spawn()
            .expect("the program starts");
        while !checkpoint.exists() && child.try_wait().expect("a child").is_none() {
            thread::sleep(Duration::from_millis(5));
        }
        child.kill().expect("it can be killed");
        child.wait().expect("a child");
        assert!(
            checkpoint.exists(),
            "{models:?}: the run ended before it could be killed"
        );
        let resumed = bench.json("resume results/killed --json");
        assert_eq!(resumed["digest"], whole["digest"], "{models:?}");
    }
}
