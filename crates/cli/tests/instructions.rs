//! Instructions per packet-hop, against `instructions.txt`, so that the hot paths of kernel, routers, NICs and ranks
//! cannot become slow unnoticed. Unlike a time, a count does not depend on the load of the machine.
//!
//! Valgrind's callgrind counts a short and a long run of each case. The count per packet-hop is the difference in
//! instructions over the difference in packet-hops; start, construction of the network and writing of the result
//! cancel out. Instructions are not time: they miss memory latency, the main cost of large networks, and the waiting
//! of threads.
//!
//! The program is the one of the tests: hot crates are optimised as in a release build, with overflow checks and debug
//! assertions. Counts are higher than those of a release build, and rise and fall with it. They depend on the compiler
//! and on incremental compilation, which changes inlining across crates and units, so that they are compared only with
//! records of the same setup.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

/// Updates the record instead of comparing with it.
const UPDATE: &str = "UPDATE_EXPECTED";

/// Allowed deviation from the record in percent, in both directions: an unrecorded gain would hide a later loss of
/// the same size.
const TOLERANCE: f64 = 5.0;

/// Parallel runs.
const WORKERS: usize = 2;

const TRAFFIC: &str = "uniform-dragonfly.toml";
const RANKS: &str = "halo3d-26.toml";

/// An experiment of `examples/` with two ends.
struct Case {
    name: &'static str,
    experiment: &'static str,
    ends: [&'static str; 2],
    executor: &'static str,
    settings: &'static [&'static str],
}

const CASES: &[Case] = &[
    traffic("sequential", "sequential", &[]),
    traffic("conservative", "conservative", &[]),
    traffic("optimistic", "optimistic", &[]),
    traffic("conservative-each-credit", "conservative", &["run.credits=each"]),
    traffic(
        "conservative-ugal",
        "conservative",
        &["network.routing.algorithm=ugal"],
    ),
    // The default series, in bins of which each holds as many packets of a link as in a run of 128 bins. Both runs have
    // two periods, so that their rows cancel out: a run of this length would have more rows than packets of some links.
    Case {
        ends: ["4 us", "8 us"],
        ..traffic(
            "conservative-series",
            "conservative",
            &["collect.series=auto", "collect.bin=500 ns"],
        )
    },
    Case {
        name: "conservative-ranks",
        experiment: RANKS,
        ends: ["10 us", "30 us"],
        executor: "conservative",
        // Ranks and hosts are measured: every router of a Dragonfly+ would choose the spine by load.
        settings: &["network.routing.paths=hashed"],
    },
];

const fn traffic(name: &'static str, executor: &'static str, settings: &'static [&'static str]) -> Case {
    Case {
        name,
        experiment: TRAFFIC,
        ends: ["1 us", "2 us"],
        executor,
        settings,
    }
}

/// Compiler, and instructions per packet-hop of each case.
#[derive(Debug, PartialEq)]
struct Record {
    compiler: String,
    counts: BTreeMap<String, f64>,
}

#[test]
fn packet_hops_take_the_instructions_that_are_on_record() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/instructions.txt");
    let update = std::env::var_os(UPDATE).is_some();
    let compiler = match compiler_if_countable() {
        Ok(compiler) => compiler,
        Err(why) if update => panic!("nothing can be recorded: {why}"),
        Err(why) => return testkit::skipped!("{why}"),
    };
    let recorded = (!update).then(|| {
        let text = std::fs::read_to_string(&file);
        let text = text.unwrap_or_else(|e| panic!("{}: {e}; write it with {UPDATE}=1", file.display()));
        Record::parse(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
    });
    if let Some(recorded) = recorded.as_ref().filter(|recorded| recorded.compiler != compiler) {
        return testkit::skipped!(
            "instructions were recorded with {}, and this is {compiler}",
            recorded.compiler
        );
    }
    let measured = Record {
        compiler,
        counts: count_all(),
    };
    eprintln!("{}", measured.print());
    match recorded {
        None => std::fs::write(&file, measured.print()).unwrap(),
        Some(recorded) => {
            let wrong = differences(&recorded.counts, &measured.counts);
            assert!(wrong.is_empty(), "{}", complaint(&wrong, &file));
        }
    }
}

#[test]
fn differences_beyond_the_tolerance_are_told_in_both_directions() {
    let counts = |of: &[(&str, f64)]| of.iter().map(|&(name, count)| (name.into(), count)).collect();
    let recorded = counts(&[
        ("a", 1000.0),
        ("b", 1000.0),
        ("c", 1000.0),
        ("d", 1000.0),
        ("gone", 1.0),
    ]);
    let measured = counts(&[
        ("a", 1049.0),
        ("b", 951.0),
        ("c", 1051.0),
        ("d", 949.0),
        ("new", 1.0),
    ]);
    let told = differences(&recorded, &measured);
    let told: Vec<&str> = told.iter().map(|line| line.trim_start()).collect();
    assert_eq!(
        told,
        [
            "c: 1051 instructions per packet-hop, 1000 on record: 5.1 % more",
            "d: 949 instructions per packet-hop, 1000 on record: 5.1 % less",
            "gone: on record, but no longer counted",
            "new: not on record",
        ]
    );
}

#[test]
fn a_record_is_read_as_it_was_written() {
    let record = Record {
        compiler: "rustc 1.0.0 (1 2)".into(),
        counts: [("case".to_string(), 12.0), ("longer".to_string(), 345.0)].into(),
    };
    assert_eq!(Record::parse(&record.print()), Ok(record));
    for damaged in [
        "",
        "# only a comment\n",
        "rustc 1\ncase\n",
        "rustc 1\ncase many\n",
        "rustc 1\ncase 0\n",
    ] {
        assert!(Record::parse(damaged).is_err(), "{damaged:?}");
    }
}

/// The compiler's version, or the reason why counting is impossible here.
fn compiler_if_countable() -> Result<String, String> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err("instructions are on record for x86-64 Linux only".into());
    }
    if option_env!("CARGO_INCREMENTAL") != Some("0") {
        return Err(
            "instructions are on record for CARGO_INCREMENTAL=0; `make test-instructions` sets it".into(),
        );
    }
    if cfg!(not(debug_assertions)) {
        return Err("instructions are on record for the development profile".into());
    }
    let version = |program: &str| {
        let output = Command::new(program).arg("--version").output().ok();
        let output = output.filter(|output| output.status.success());
        output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_string())
    };
    version("valgrind").ok_or("valgrind is missing (Debian, Ubuntu: valgrind)")?;
    Ok(version("rustc").ok_or("rustc does not tell its version")?)
}

/// Instructions per packet-hop of each case.
fn count_all() -> BTreeMap<String, f64> {
    let folder = tempfile::tempdir().unwrap();
    let runs: Vec<(&Case, usize)> = CASES.iter().flat_map(|case| [(case, 1), (case, 0)]).collect();
    let next = AtomicUsize::new(0);
    let counted = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(&(case, end)) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let count = count(
                        case,
                        case.ends[end],
                        &folder.path().join(format!("{}-{end}", case.name)),
                    );
                    counted.lock().unwrap().insert((case.name, end), count);
                }
            });
        }
    });
    let counted = counted.into_inner().unwrap();
    let per_hop = |case: &Case| {
        let [short, long] = [0, 1].map(|end| &counted[&(case.name, end)]);
        let hops = long.packet_hops - short.packet_hops;
        assert!(
            hops >= 20_000,
            "{}: only {hops} packet-hops between its ends",
            case.name
        );
        ((long.instructions - short.instructions) as f64 / hops as f64).round()
    };
    CASES
        .iter()
        .map(|case| (case.name.to_string(), per_hop(case)))
        .collect()
}

/// Instructions and packet-hops of a run.
struct Count {
    instructions: u64,
    packet_hops: u64,
}

fn count(case: &Case, end: &str, folder: &Path) -> Count {
    let experiment = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples")
        .join(case.experiment);
    let counts: PathBuf = folder.with_extension("callgrind");
    let mut command = Command::new("valgrind");
    command.arg("--tool=callgrind");
    command.arg(format!("--callgrind-out-file={}", counts.display()));
    command
        .arg(env!("CARGO_BIN_EXE_fabricsim"))
        .arg("run")
        .arg(experiment);
    command
        .args(["--json", "--executor", case.executor])
        .arg("--out")
        .arg(folder);
    for setting in [
        "run.threads=1",
        "run.warmup=0 us",
        "collect.series=off",
        &format!("run.until={end}"),
    ] {
        command.args(["--set", setting]);
    }
    for setting in case.settings {
        command.args(["--set", setting]);
    }
    // What is written for readers of a running simulation depends on the wall-clock.
    command.env("FABRICSIM_PREVIEW", "off");
    let output = command.stdin(Stdio::null()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {told}");
    let summary: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let counts = std::fs::read_to_string(counts).unwrap();
    let total = counts.lines().find_map(|line| line.strip_prefix("summary: "));
    let total = total.and_then(|total| total.trim().parse().ok());
    Count {
        instructions: total.unwrap_or_else(|| panic!("{command:?}: callgrind counted nothing: {told}")),
        packet_hops: summary["network"]["packet_hops"].as_u64().unwrap(),
    }
}

impl Record {
    fn parse(text: &str) -> Result<Record, String> {
        let mut lines = text.lines().filter(|line| !line.starts_with('#'));
        let compiler = lines.next().ok_or("it is empty")?.to_string();
        let count = |line: &str| {
            let (name, count) = line.rsplit_once(' ')?;
            let count = count.parse().ok().filter(|count| *count >= 1.0)?;
            Some((name.trim_end().to_string(), count))
        };
        let counts =
            lines.map(|line| count(line).ok_or_else(|| format!("'{line}' is no case with its count")));
        let counts: BTreeMap<String, f64> = counts.collect::<Result<_, _>>()?;
        Ok(Record { compiler, counts })
    }

    fn print(&self) -> String {
        let mut text =
            "# Instructions per packet-hop, see instructions.rs; written by `make record-instructions`.\n"
                .to_string();
        writeln!(text, "{}", self.compiler).unwrap();
        for (name, count) in &self.counts {
            writeln!(text, "{name:<28} {count:>6}").unwrap();
        }
        text
    }
}

/// A line for each case that deviates from the record.
fn differences(recorded: &BTreeMap<String, f64>, measured: &BTreeMap<String, f64>) -> Vec<String> {
    let mut wrong = Vec::new();
    for (name, old) in recorded {
        let Some(new) = measured.get(name) else {
            wrong.push(format!("  {name}: on record, but no longer counted"));
            continue;
        };
        let change = 100.0 * (new - old) / old;
        if change.abs() > TOLERANCE {
            let direction = if change > 0.0 { "more" } else { "less" };
            wrong.push(format!(
                "  {name}: {new} instructions per packet-hop, {old} on record: {:.1} % {direction}",
                change.abs()
            ));
        }
    }
    let unknown = measured.keys().filter(|name| !recorded.contains_key(*name));
    wrong.extend(unknown.map(|name| format!("  {name}: not on record")));
    wrong
}

/// Instructions for the developer.
fn complaint(wrong: &[String], record: &Path) -> String {
    format!(
        "the hot paths take other numbers of instructions than {} says, by more than {TOLERANCE} %:\n{}\n\
         More: find out why (callgrind_annotate shows where), and take it back unless it is worth it.\n\
         Less: record the gain, as it would hide a later loss.\n\
         To record, `make record-instructions`, and say why in the commit.",
        record.display(),
        wrong.join("\n")
    )
}
