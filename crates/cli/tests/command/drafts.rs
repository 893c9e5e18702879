//! `fabricsim new`: what it writes is checked and runs; wrong options write nothing.

use std::fs;

use serde_json::Value;

use crate::bench::{Bench, root, texts};

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
    let said = bench.succeeds(&[&small("dragonfly,torus", "uniform"), &more[..]].concat());
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
        // Traffic has as many hosts on all networks, whatever these have.
        let checked = bench.succeeds(&arguments);
        assert!(checked.contains("hosts exist, jobs use 16\n"), "{checked}");
    }
}

/// Prices of cables that depend on the bandwidth.
const PRICES: &str =
    "currency = \"EUR\"\n[[switch]]\nper_port = 20\n[[cable]]\ncost = 10\nper_gbps = 3\n[nic]\ncost = 100\n";

/// Whole machines of about equal cost, by prices that are named relative to the folder of the sweep.
#[test]
fn networks_of_equal_cost_are_below_the_budget() {
    let mut bench = Bench::new("");
    bench.write("prices.toml", PRICES);
    fs::create_dir_all(bench.path().join("mine")).unwrap();
    let more = [
        "--equal",
        "cost",
        "--costs",
        "prices.toml",
        "--out",
        "mine/equal.toml",
        "--force",
    ];
    let said = bench.succeeds(&[&small("fat-tree,torus,mesh", "uniform")[..], &more, &["--json"]].concat());
    let said: Value = serde_json::from_str(&said).unwrap();
    let budget = said["budget"].as_f64().unwrap();
    let networks = said["networks"].as_array().unwrap();
    // All links of the first have 100 Gbps; each cable between routers costs 3 EUR for each Gbps.
    assert_eq!(networks[0]["cost"].as_f64(), Some(budget));
    assert_eq!(networks[0]["router_link_bits_per_s"], 100_000_000_000_u64);
    for network in networks {
        let rest = budget - network["cost"].as_f64().unwrap();
        let of_one_mbps = 3.0 * network["cables"].as_f64().unwrap() / 1000.0;
        assert!((0.0..of_one_mbps).contains(&rest), "{network}: {rest}");
    }
    let sweep = fs::read_to_string(bench.path().join("mine/equal.toml")).unwrap();
    assert!(sweep.contains("\ncosts = \"../prices.toml\" "), "{sweep}");
    assert!(sweep.contains("--equal cost --costs prices.toml\n"), "{sweep}");
    assert_eq!(sweep.matches("\n# Cost: ").count(), 3, "{sweep}");
    let more = [&more[..], &["--budget", "100000"]].concat();
    let said = bench.succeeds(&[&small("fat-tree,torus", "uniform")[..], &more].concat());
    assert!(
        said.contains("\ncost     ") && said.contains(" % under the budget, with "),
        "{said}"
    );
}

#[test]
fn budgets_and_prices_without_equal_cost_write_nothing() {
    let mut bench = Bench::new("");
    bench.write("prices.toml", PRICES);
    let more = ["--costs", "prices.toml", "--out", "equal.toml"];
    let both = [&small("fat-tree,torus", "uniform")[..], &more].concat();
    let at_equal_cost = [&both[..], &["--equal", "cost"]].concat();
    bench.refuses(
        &[&at_equal_cost[..], &["--budget", "1000"]].concat(),
        &[
            "--budget: fat-tree costs at least ",
            " EUR, with 1 Mbps between routers, and the budget is 1,000 EUR;",
        ],
    );
    bench.write("prices.toml", PRICES.replace("per_gbps", "per_metre"));
    bench.refuses(
        &at_equal_cost,
        &["prices.toml: ", "no known length: expected length.host"],
    );
    bench.write("prices.toml", PRICES.replace("per_gbps = 3", ""));
    bench.refuses(
        &at_equal_cost,
        &[
            "no price in prices.toml depends on",
            "fat-tree costs ",
            "--equal hosts",
        ],
    );
    // The same prices with equal hosts.
    let said = bench.succeeds(&both);
    assert!(
        said.contains("\ncost     ") && !said.contains("under the budget"),
        "{said}"
    );
}

/// A recording that is named relative to the folder of the experiment.
#[test]
fn the_experiment_of_a_recording_runs_wherever_it_is_written() {
    let mut bench = Bench::new("");
    bench.copy(&root().join("examples/traces/goal-ring-6"), "traces");
    fs::create_dir_all(bench.path().join("experiments/mine")).unwrap();
    let options = [
        "new",
        "--trace",
        "traces/ring.goal",
        "--topology",
        "fat-tree",
        "--radix",
        "8",
    ];
    let more = ["--tapering", "3:1", "--out", "experiments/mine/ring.toml"];
    bench.succeeds(&[&options[..], &more].concat());
    let text = fs::read_to_string(bench.path().join("experiments/mine/ring.toml")).unwrap();
    assert!(text.contains("\ngoal = \"../../traces/ring.goal\" "), "{text}");
    assert!(
        text.contains("--radix 8 --tapering 3:1 --trace traces/ring.goal\n"),
        "{text}"
    );
    let checked = bench.succeeds(&["check", "experiments/mine/ring.toml", "--json"]);
    let checked: Value = serde_json::from_str(&checked).unwrap();
    assert_eq!(
        (&checked["hosts"], &checked["hosts_used"]),
        (&12.into(), &6.into())
    );
    bench.succeeds(&["run", "experiments/mine/ring.toml", "--out", "ring"]);
}

#[test]
fn the_experiment_of_a_preset_is_checked() {
    let bench = Bench::new("");
    let machine = [
        "new",
        "--preset",
        "frontera",
        "--hosts",
        "88",
        "--workload",
        "allreduce",
    ];
    bench.succeeds(&[&machine[..], &["--out", "frontera.toml"]].concat());
    let checked = bench.succeeds(&["check", "frontera.toml"]);
    assert!(checked.contains("size      88 hosts, 8 routers"), "{checked}");
    let family = ["--preset", "slingshot-11", "--out", "slingshot.toml"];
    bench.succeeds(&[&small("hyperx", "uniform")[..], &family].concat());
    let checked = bench.succeeds(&["check", "slingshot.toml", "--json"]);
    let checked: Value = serde_json::from_str(&checked).unwrap();
    assert_eq!(checked["experiment"]["network"]["link"]["bandwidth"], "200 Gbps");
}

#[test]
fn unused_ports_are_a_warning_on_the_terminal() {
    let bench = Bench::new("");
    let output = bench.run(&small("torus", "allreduce"));
    let (stdout, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let warning = "torus uses at most 7 of the 16 ports of a router";
    assert!(
        stderr.contains(&format!("fabricsim: warning: {warning}")),
        "{stderr}"
    );
    assert!(stdout.contains(&format!("# Warning: {warning}")), "{stdout}");
    let (_, stderr) = texts(&bench.run(&small("fat-tree", "allreduce")));
    assert_eq!(stderr, "");
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
            &[
                "--costs: is missing; equal cost needs prices",
                "docs/formats/costs.md",
            ],
        ),
        (
            "torus,mesh",
            "uniform",
            &["--budget", "-3", "--equal", "cost", "--costs", "none.toml"],
            &["--budget: -3 is out of range"],
        ),
        (
            "torus,mesh",
            "uniform",
            &["--costs", "none.toml"],
            &["none.toml: cannot be read: "],
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
    bench.refuses(&sized("100000000", "64"), &["--hosts: 100000000 are too many"]);
    let trace = ["--trace", "traces"];
    bench.refuses(
        &[&small("torus", "uniform")[..], &trace].concat(),
        &["--workload", "--trace"],
    );
    bench.refuses(&["new", "--topology", "torus", "--radix", "8"], &["--hosts"]);
    bench.refuses(&["new", "--hosts", "8", "--radix", "8"], &["--topology"]);
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
