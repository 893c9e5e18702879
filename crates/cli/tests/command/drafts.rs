//! `fabricsim new`: what it writes is checked and runs; wrong options write nothing.

use std::fs;

use serde_json::Value;

use crate::bench::{Bench, texts};

const TOPOLOGIES: [&str; 9] = [
    "dragonfly",
    "dragonfly-2d",
    "dragonfly-plus",
    "express-mesh",
    "fat-tree",
    "hyperx",
    "mesh",
    "slim-fly",
    "torus",
];

/// The options of a small experiment.
fn small<'a>(topology: &'a str, workload: &'a str) -> Vec<&'a str> {
    vec![
        "new",
        "--hosts",
        "16",
        "--radix",
        "16",
        "--topology",
        topology,
        "--workload",
        workload,
    ]
}

#[test]
fn the_experiment_of_each_topology_is_checked_and_runs() {
    let bench = Bench::new("");
    for (number, topology) in TOPOLOGIES.into_iter().enumerate() {
        let workload = ["halo3d-26", "uniform"][number % 2];
        let file = format!("{topology}.toml");
        let options = ["--bandwidth", "200 Gbps", "--out", &file];
        let said = bench.succeeds(&[&small(topology, workload), &options[..]].concat());
        assert!(said.contains(&format!("written  {file}")), "{said}");
        let checked = bench.succeeds(&["check", &file]);
        assert!(
            checked.contains("sizing    ") && checked.contains("hosts exist, jobs use "),
            "{checked}"
        );
        assert!(
            checked.contains("routing   ") && checked.contains("free"),
            "{checked}"
        );
        let report: Value = serde_json::from_str(&bench.succeeds(&["check", &file, "--json"])).unwrap();
        assert!(report["hosts"].as_u64().unwrap() >= 16, "{topology}");
        assert_eq!(report["deadlock_free"], true, "{topology}");
        assert_eq!(report["experiment"]["network"]["link"]["bandwidth"], "200 Gbps");
        assert_eq!(report["sizing"]["hosts"], 16);
        let short = match workload {
            "uniform" => vec!["--set", "run.until=5 us", "--set", "run.warmup=1 us"],
            _ => vec!["--set", "job.0.workload.iterations=1"],
        };
        let ran = bench.succeeds(&[&["run", &file][..], &short].concat());
        assert!(
            ran.contains("sizing  ") && ran.contains("at least 16 hosts"),
            "{ran}"
        );
        let summary =
            fs::read_to_string(bench.path().join(format!("results/{topology}/summary.json"))).unwrap();
        let summary: Value = serde_json::from_str(&summary).unwrap();
        assert_eq!(summary["network"]["hosts"], report["hosts"], "{topology}");
        assert_eq!(summary["experiment"]["network"]["radix"], 16);
    }
}

#[test]
fn without_a_file_the_experiment_is_printed() {
    let bench = Bench::new("");
    let before = bench.files();
    let text = bench.succeeds(&small("torus", "allreduce"));
    assert!(text.contains("--hosts 16 --topology torus --radix 16"), "{text}");
    assert!(
        text.contains("[job.workload]\nmotif = \"allreduce\"\nranks = 16 "),
        "{text}"
    );
    assert_eq!(bench.files(), before);
}

#[test]
fn several_topologies_make_a_sweep_with_its_experiment() {
    let bench = Bench::new("");
    let more = [
        "--topology",
        "fat-tree",
        "--equal",
        "bisection",
        "--out",
        "compare.toml",
        "--json",
    ];
    let said = bench.succeeds(&[&small("dragonfly,torus", "allreduce"), &more[..]].concat());
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(
        (&said["sweep"], &said["experiment"]),
        (&"compare.toml".into(), &"compare-experiment.toml".into())
    );
    let topologies: Vec<&str> = said["networks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|n| n["topology"].as_str().unwrap())
        .collect();
    assert_eq!(topologies, ["dragonfly", "torus", "fat-tree"]);
    let sweep = fs::read_to_string(bench.path().join("compare.toml")).unwrap();
    assert!(
        sweep.contains("experiment = \"compare-experiment.toml\""),
        "{sweep}"
    );
    // Each variant is the experiment with some keys changed.
    for topology in topologies {
        let (_, variant) = sweep
            .split_once(&format!("[axis.variants.{topology}]\n"))
            .expect("a variant");
        let mut arguments = vec!["check".to_string(), "compare-experiment.toml".into()];
        for line in variant.lines().take_while(|line| line.starts_with('"')) {
            let (key, value) = line.split_once("\" = ").expect("a key with its value");
            arguments.extend(["--set".into(), format!("{}={value}", &key[1..])]);
        }
        assert!(arguments.len() > 2);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        bench.succeeds(&arguments);
    }
}

#[test]
fn files_are_replaced_by_force_only() {
    let mut bench = Bench::new("");
    bench.write("mine.toml", "precious");
    let arguments = [&small("torus", "allreduce")[..], &["--out", "mine.toml"]].concat();
    bench.refuses(&arguments, &["--out: mine.toml exists", "--force"]);
    assert_eq!(
        fs::read_to_string(bench.path().join("mine.toml")).unwrap(),
        "precious"
    );
    bench.succeeds(&[&arguments[..], &["--force"]].concat());
    assert!(
        fs::read_to_string(bench.path().join("mine.toml"))
            .unwrap()
            .contains("[network]")
    );
    // Neither file of a sweep is written if one exists.
    let mut bench = Bench::new("");
    bench.write("two-experiment.toml", "precious");
    let arguments = [&small("torus,mesh", "allreduce")[..], &["--out", "two.toml"]].concat();
    bench.refuses(&arguments, &["two-experiment.toml exists"]);
}

#[test]
fn wrong_options_are_named() {
    let bench = Bench::new("");
    for (topology, workload, more, needles) in [
        (
            "dfly",
            "uniform",
            &[][..],
            &["--topology: unknown name 'dfly'", "did you mean 'dragonfly'?"][..],
        ),
        ("graph", "uniform", &[], &["--topology: 'graph'"]),
        (
            "torus",
            "halo",
            &[],
            &["--workload: unknown name 'halo'", "did you mean 'halo3d'?"],
        ),
        ("torus", "matrix", &[], &["--workload: 'matrix' reads a file"]),
        (
            "torus",
            "uniform",
            &["--bandwidth", "100G"],
            &["--bandwidth: ", "did you mean \"100 Gbps\"?"],
        ),
        ("torus,mesh", "uniform", &[], &["--out: a sweep has two files"]),
        (
            "torus",
            "uniform",
            &["--equal", "bisection"],
            &["--equal: compares topologies"],
        ),
        (
            "torus,mesh",
            "uniform",
            &["--equal", "cost"],
            &["--equal: equal cost needs prices", "'cable-bandwidth'"],
        ),
        (
            "torus,mesh",
            "uniform",
            &["--equal", "bisecton"],
            &["--equal: unknown name 'bisecton'", "did you mean 'bisection'?"],
        ),
        ("torus", "uniform", &["--out", "."], &["--out: . is a folder"]),
    ] {
        bench.refuses(&[&small(topology, workload), more].concat(), needles);
    }
    let sized = |hosts, radix| {
        [
            "new",
            "--topology",
            "dragonfly",
            "--hosts",
            hosts,
            "--radix",
            radix,
        ]
    };
    bench.refuses(&sized("0", "16"), &["--hosts: 0 is not possible"]);
    bench.refuses(
        &sized("1024", "3"),
        &[
            "--radix: routers of 3 ports are too small",
            "expected at least 15",
        ],
    );
    bench.refuses(&sized("many", "3"), &["--hosts"]);
}

#[test]
fn a_file_that_cannot_be_written_ends_with_status_1() {
    let bench = Bench::new("");
    let before = bench.files();
    let output = bench.run(&[&small("torus", "uniform")[..], &["--out", "no/such/folder.toml"]].concat());
    let (stdout, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(1), "{stdout}{stderr}");
    assert!(
        stderr.contains("no/such/folder.toml: cannot be written"),
        "{stderr}"
    );
    assert_eq!(bench.files(), before);
}
