//! `export`: its output and files, for finished and killed runs, and its messages for folders that it cannot export.
//! `python/tests/test_export.py` reads the files with the libraries of their formats; here, an independent decoder of
//! protocol buffers reads them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use results::Table;
use serde_json::Value;

use crate::bench::{Bench, EXPERIMENT, texts};
use crate::running::kill;

const TWO_JOBS: &str = r#"[network]
topology = { kind = "torus", sizes = [2, 4] }
routing = { algorithm = "dimension-order" }
link = { bandwidth = "100 Gbps", latency = "50 ns" }
packet = "256 B"

[[job]]
name = "exchange"
workload = { motif = "all-to-all", ranks = 6, bytes = "4 KiB", compute = "1 us" }

[[job]]
name = "noise"
traffic = { pattern = "uniform", load = 0.2 }

[run]
until = "100 us"

[collect]
series = "links"
timeline = true
waits = true
"#;

/// Fields of a protocol buffer message: number, and the integer or the bytes of the field.
fn fields(mut bytes: &[u8]) -> Vec<(u64, Field<'_>)> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = number(&mut bytes);
        let field = match key & 7 {
            0 => Field::Number(number(&mut bytes)),
            1 => Field::Number(u64::from_le_bytes(take(&mut bytes, 8).try_into().unwrap())),
            2 => {
                let length = number(&mut bytes) as usize;
                Field::Bytes(take(&mut bytes, length))
            }
            other => panic!("a field of wire type {other}"),
        };
        fields.push((key >> 3, field));
    }
    fields
}

#[derive(Clone, Copy)]
enum Field<'b> {
    Number(u64),
    Bytes(&'b [u8]),
}

fn number(bytes: &mut &[u8]) -> u64 {
    let mut number = 0;
    for place in 0.. {
        let byte = take(bytes, 1)[0];
        number |= u64::from(byte & 127) << (7 * place);
        if byte < 128 {
            break;
        }
    }
    number
}

fn take<'b>(bytes: &mut &'b [u8], length: usize) -> &'b [u8] {
    let (taken, rest) = bytes.split_at(length);
    *bytes = rest;
    taken
}

fn inner<'b>(fields: &[(u64, Field<'b>)], wanted: u64) -> Option<&'b [u8]> {
    fields.iter().find_map(|(number, field)| match field {
        Field::Bytes(bytes) if *number == wanted => Some(*bytes),
        _ => None,
    })
}

fn numbers(fields: &[(u64, Field<'_>)], wanted: u64) -> Vec<u64> {
    let numbers = fields.iter().filter_map(|(number, field)| match field {
        Field::Number(value) if *number == wanted => Some(*value),
        _ => None,
    });
    numbers.collect()
}

/// Starts and ends of top-level slices in nanoseconds, by names of threads; starts and ends of arrows.
struct Trace {
    slices: BTreeMap<String, Vec<(u64, u64)>>,
    arrows: [Vec<(u64, u64)>; 2],
}

fn trace(path: &Path) -> Trace {
    let file = fs::read(path).unwrap();
    let (mut names, mut slices) = (BTreeMap::new(), BTreeMap::<String, Vec<(u64, u64)>>::new());
    let (mut arrows, mut open) = ([Vec::new(), Vec::new()], BTreeMap::<u64, Vec<(u64, bool)>>::new());
    for (key, packet) in fields(&file) {
        let Field::Bytes(packet) = packet else {
            panic!("field {key} of a trace is no packet");
        };
        assert_eq!(key, 1, "a trace is packets");
        let packet = fields(packet);
        if let Some(track) = inner(&packet, 60) {
            let track = fields(track);
            if let Some(thread) = inner(&track, 4) {
                let name = inner(&fields(thread), 5).unwrap();
                names.insert(numbers(&track, 1)[0], String::from_utf8(name.to_vec()).unwrap());
            }
        }
        let Some(event) = inner(&packet, 11).map(fields) else {
            continue;
        };
        let at = numbers(&packet, 8)[0];
        for (side, field) in [(0, 47), (1, 48)] {
            arrows[side].extend(numbers(&event, field).into_iter().map(|id| (id, at)));
        }
        let track = numbers(&event, 11)[0];
        let Some(name) = names.get(&track) else { continue };
        let arrow = [47, 48].iter().any(|field| !numbers(&event, *field).is_empty());
        match numbers(&event, 9)[0] {
            1 => open.entry(track).or_default().push((at, arrow)),
            2 => {
                let stack = open.get_mut(&track).expect("it has begun");
                let (start, arrow) = stack.pop().expect("it has begun");
                if stack.is_empty() && !arrow {
                    slices.entry(name.clone()).or_default().push((start, at));
                }
            }
            _ => {}
        }
    }
    arrows.iter_mut().for_each(|side| side.sort_unstable());
    Trace { slices, arrows }
}

/// Times of a table in nanoseconds, rounded down.
fn nanoseconds(table: &Table, column: &str) -> Vec<u64> {
    table.u64s(column).unwrap().iter().map(|ps| ps / 1000).collect()
}

#[test]
fn a_result_is_exported_beside_itself() {
    let bench = Bench::new(TWO_JOBS);
    bench.succeeds(&["run", "experiment.toml", "--out", "result"]);
    let there = |path: &str| bench.path().join(path);
    let table = |name: &str| Table::read(&there(&format!("result/{name}.parquet"))).unwrap();

    let output = bench.run(&["export", "result/", "--format", "perfetto"]);
    let (stdout, stderr) = texts(&output);
    assert_eq!(
        (output.status.code(), stdout.as_str()),
        (Some(0), "result.pftrace\n"),
        "{stderr}"
    );
    assert_eq!(stderr.matches("fabricsim: note: ").count(), 1, "{stderr}");
    assert!(
        stderr.contains("without critical paths") && stderr.contains("`fabricsim explain result"),
        "{stderr}"
    );
    let trace = trace(&there("result.pftrace"));
    let timeline = table("timeline");
    let ranks = timeline.u32s("rank").unwrap();
    let spans = nanoseconds(&timeline, "begin_ps")
        .into_iter()
        .zip(nanoseconds(&timeline, "end_ps"));
    let mut expected = BTreeMap::<u32, Vec<(u64, u64)>>::new();
    for (rank, span) in ranks.iter().zip(spans) {
        expected.entry(*rank).or_default().push(span);
    }
    assert_eq!(trace.slices.len(), 6);
    for (rank, slices) in expected {
        assert_eq!(trace.slices[&format!("rank {rank} on host {rank}")], slices);
    }
    let messages = table("messages");
    for (side, column) in [(0, "sent_ps"), (1, "matched_ps")] {
        let expected: Vec<(u64, u64)> = (1..).zip(nanoseconds(&messages, column)).collect();
        assert_eq!(trace.arrows[side], expected, "{column}");
    }

    bench.succeeds(&["explain", "result"]);
    let json: Value =
        serde_json::from_str(&bench.succeeds(&["export", "result", "--format", "perfetto", "--json"]))
            .unwrap();
    assert_eq!(json, serde_json::json!({ "path": "result.pftrace", "notes": [] }));

    assert_eq!(
        bench.succeeds(&["export", "result", "--format", "csv"]),
        "result-csv\n"
    );
    let links = fs::read_to_string(there("result-csv/links.csv")).unwrap();
    assert_eq!(links.matches("\r\n").count(), table("links").rows() + 1);
    assert!(links.starts_with("link,class,from,to,"), "{links}");
    let tables = fs::read_dir(there("result")).unwrap();
    let tables = tables.filter(|entry| {
        entry
            .as_ref()
            .unwrap()
            .path()
            .extension()
            .is_some_and(|it| it == "parquet")
    });
    assert_eq!(fs::read_dir(there("result-csv")).unwrap().count(), tables.count());
    assert_eq!(
        bench.succeeds(&["export", "result", "--format", "csv", "--table", "links"]),
        "result.links.csv\n"
    );
    assert_eq!(fs::read_to_string(there("result.links.csv")).unwrap(), links);

    bench.succeeds(&["export", "result", "--format", "graphml", "--out", "net.xml"]);
    let graph = fs::read_to_string(there("net.xml")).unwrap();
    assert_eq!(graph.matches("<edge id=").count(), table("links").rows());
    assert_eq!(graph.matches("<node id=\"h").count(), 8);

    // The folder is still a result, and another run replaces it.
    bench.succeeds(&["run", "experiment.toml", "--out", "result"]);
}

#[test]
fn what_cannot_be_exported_is_told_and_nothing_is_left() {
    let mut bench = Bench::new(EXPERIMENT);
    bench.succeeds(&[
        "run",
        "experiment.toml",
        "--out",
        "result",
        "--set",
        "collect.series=\"off\"",
    ]);
    let other = bench.path().join("other");
    fs::create_dir(&other).unwrap();
    bench.write("data/notes.txt", "mine");
    for (arguments, needles) in [
        (
            &["other", "--format", "csv"][..],
            &["other is not a FabricSim result", "no summary.json"][..],
        ),
        (
            &["nowhere", "--format", "csv"],
            &["nowhere is not a FabricSim result"],
        ),
        (
            &["result", "--format", "perfetto"],
            &[
                "no table timeline (timeline.parquet)",
                "`[collect] timeline = true`",
                "--set collect.timeline=true",
            ],
        ),
        (
            &["result", "--format", "csv", "--table", "waits"],
            &["no table waits", "`[collect] waits = true`"],
        ),
        (
            &["result", "--format", "csv", "--table", "link"],
            &["no table of this name", "jobs, latency_histogram, links"],
        ),
        (
            &["result", "--format", "graphml", "--table", "links"],
            &["the format graphml has no option --table"],
        ),
        (
            &["result", "--format", "csv", "--out", "result/csv"],
            &["is inside the result folder"],
        ),
        (
            &["result", "--format", "graphml", "--out", "data"],
            &["data is there already, and is a folder"],
        ),
        (
            &["result", "--format", "csv", "--out", "data"],
            &["holds 'notes.txt'"],
        ),
        (&["result", "--format", "png"], &["csv", "graphml", "perfetto"]),
    ] {
        bench.refuses(&[&["export"], arguments].concat(), needles);
    }
    // An older version, and a damaged one.
    let links = bench.path().join("result/links.parquet");
    fs::copy(bench.path().join("result/jobs.parquet"), &links).unwrap();
    let output = bench.run(&["export", "result", "--format", "graphml", "--force"]);
    let (_, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("it has no column 'from_kind'"), "{stderr}");
    fs::write(&links, "not Parquet").unwrap();
    let output = bench.run(&["export", "result", "--format", "csv"]);
    let (stdout, stderr) = texts(&output);
    assert_eq!((output.status.code(), stdout.as_str()), (Some(2), ""), "{stderr}");
    assert!(stderr.contains("cannot read result/links.parquet"), "{stderr}");
    assert!(!bench.path().join("result-csv").exists());
}

#[test]
fn a_killed_run_is_exported_as_far_as_it_came() {
    let bench = Bench::new(EXPERIMENT);
    kill(&bench);
    let output = bench.run(&["export", "here", "--format", "csv"]);
    let (stdout, stderr) = texts(&output);
    assert_eq!(
        (output.status.code(), stdout.as_str()),
        (Some(0), "here-csv\n"),
        "{stderr}"
    );
    assert!(
        stderr.contains("note: the run of here is still running or was killed (RUNNING.json)"),
        "{stderr}"
    );
    let parts = results::Running::tables(&bench.path().join("here")).unwrap();
    assert_eq!(
        fs::read_dir(bench.path().join("here-csv")).unwrap().count(),
        parts.len()
    );
    for part in parts {
        let csv = fs::read_to_string(bench.path().join(format!("here-csv/{}.csv", part.name()))).unwrap();
        assert_eq!(csv.matches("\r\n").count(), part.rows() + 1, "{}", part.name());
    }
    bench.succeeds(&["export", "here", "--format", "perfetto"]);
    let output = bench.run(&["export", "here", "--format", "graphml"]);
    let (_, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(
        stderr.contains("what links have carried is written at the end of a run"),
        "{stderr}"
    );
}
