//! `explain`: its output and files, and its messages for folders that it cannot explain.

use serde_json::Value;

use crate::bench::{Bench, EXPERIMENT, texts, without_checksums};

const TWO_JOBS: &str = r#"[network]
topology = { kind = "dragonfly", hosts_per_router = 2, routers_per_group = 4, global_links_per_router = 2 }
routing = { algorithm = "minimal" }
link = { bandwidth = "100 Gbps", latency = "50 ns" }
router = { delay = "100 ns", buffer = "32 KiB" }
packet = "1 KiB"

[[job]]
name = "exchange"
workload = { motif = "all-to-all", ranks = 12, bytes = "16 KiB", iterations = 2, compute = "1 us" }
placement = "random"

[[job]]
name = "noise"
traffic = { pattern = "uniform", load = 0.5 }

[run]
until = "200 us"
"#;

const COLLECT: [&str; 4] = ["--set", "collect.timeline=true", "--set", "collect.waits=true"];

/// The command refuses its input; returns the message.
fn refused(bench: &Bench, arguments: &[&str]) -> String {
    let output = bench.run(arguments);
    let (stdout, stderr) = texts(&output);
    assert_eq!(
        (output.status.code(), stdout.as_str()),
        (Some(2), ""),
        "{arguments:?}: {stderr}"
    );
    assert_eq!(stderr.matches("fabricsim: ").count(), 1, "one message: {stderr}");
    stderr
}

#[test]
fn it_prints_and_writes_the_critical_path() {
    let bench = Bench::new(TWO_JOBS);
    bench.succeeds(&[&["run", "experiment.toml", "--out", "result"], &COLLECT[..]].concat());
    let printed = bench.succeeds(&["explain", "result"]);
    assert!(printed.starts_with("job exchange: "), "{printed}");
    assert!(
        printed.contains("% computation") && printed.contains("held by job noise"),
        "{printed}"
    );
    let json: Value = serde_json::from_str(&bench.succeeds(&["explain", "result", "--json"])).unwrap();
    assert_eq!(json["schema"], "fabricsim/critical-path/1");
    assert_eq!(
        json["jobs"].as_array().unwrap().len(),
        1,
        "synthetic traffic has no path"
    );
    let (text, about_report) = printed.split_once("\n\n").expect("a line about the report");
    assert_eq!(json["jobs"][0]["text"].as_str().unwrap().trim_end(), text);
    assert!(
        about_report.contains("report.html was written again") && about_report.lines().count() == 1,
        "{about_report}"
    );
    let folder = bench.path().join("result");
    let written = std::fs::read_to_string(folder.join("critical_path.json")).unwrap();
    assert_eq!(without_checksums(&written), json);
    let table = results::Table::read(&folder.join("critical_path.parquet")).unwrap();
    assert_eq!(Some(table.rows() as u64), json["jobs"][0]["steps"].as_u64());
    // The folder is still a result: it can be explained and reported again, and another run can replace it.
    bench.succeeds(&["explain", "result", "--job", "exchange"]);
    bench.succeeds(&["report", "result"]);
    bench.succeeds(&["run", "experiment.toml", "--out", "result"]);
    assert!(!folder.join("critical_path.json").exists());
}

/// The shares and the verdict of the run are estimates; those of the explanation take their place.
#[test]
fn its_numbers_lead_wherever_the_result_is_shown() {
    let bench = Bench::new(TWO_JOBS);
    bench.succeeds(&[&["run", "experiment.toml", "--out", "result"], &COLLECT[..]].concat());
    let folder = bench.path().join("result");
    let page = || std::fs::read_to_string(folder.join("report.html")).unwrap();
    let shown = || bench.succeeds(&["compare", "result"]);
    let estimate = "divided by estimate into";
    assert!(shown().contains(estimate) && page().contains(estimate));
    assert!(shown().contains("`fabricsim explain` measures it"), "{}", shown());
    let json: Value = serde_json::from_str(&bench.succeeds(&["explain", "result", "--json"])).unwrap();
    let bound_by = &json["jobs"][0]["bound_by"];
    let network: f64 = bound_by["links"]
        .as_array()
        .unwrap()
        .iter()
        .map(|link| link["share"].as_f64().unwrap())
        .sum();
    let network = network + bound_by["latency"].as_f64().unwrap();
    let headline = format!("The network takes {:.1} % of the ", 100.0 * network);
    for text in [shown(), page()] {
        assert!(text.contains(&headline) && !text.contains(estimate), "{headline}");
        assert!(!text.contains("explain` measures it"));
    }
    let compared: Value = serde_json::from_str(&bench.succeeds(&["compare", "result", "--json"])).unwrap();
    assert_eq!(&compared[0]["summary"]["jobs"][0]["bound_by"], bound_by);
    // Without a report there is nothing to write again.
    std::fs::remove_file(folder.join("report.html")).unwrap();
    assert!(!bench.succeeds(&["explain", "result"]).contains("report.html"));
    assert!(!folder.join("report.html").exists());
}

#[test]
fn what_cannot_be_explained_is_told() {
    let bench = Bench::new(TWO_JOBS);
    bench.succeeds(&["run", "experiment.toml", "--out", "result"]);
    let told = refused(&bench, &["explain", "result"]);
    assert!(
        told.contains("no table timeline, messages, waits; run the experiment again"),
        "{told}"
    );
    assert!(
        told.contains("--set collect.timeline=true --set collect.waits=true"),
        "{told}"
    );
    let told = refused(&bench, &["explain", "result", "--job", "exchanges"]);
    assert!(
        told.contains("no job 'exchanges'; it has: exchange, noise"),
        "{told}"
    );
    let told = refused(&bench, &["explain", "result", "--job", "noise"]);
    assert!(told.contains("synthetic traffic"), "{told}");
    let told = refused(&bench, &["explain", "elsewhere"]);
    assert!(told.contains("elsewhere is not a FabricSim result"), "{told}");
    let traffic = Bench::new(EXPERIMENT);
    traffic.succeeds(&["run", "experiment.toml", "--out", "result"]);
    let told = refused(&traffic, &["explain", "result"]);
    assert!(told.contains("nothing to explain"), "{told}");
}

#[test]
fn damaged_tables_are_told() {
    let bench = Bench::new(TWO_JOBS);
    bench.succeeds(&[&["run", "experiment.toml", "--out", "result"], &COLLECT[..]].concat());
    let folder = bench.path().join("result");
    std::fs::write(folder.join("waits.parquet"), "not Parquet").unwrap();
    let told = refused(&bench, &["explain", "result"]);
    assert!(told.contains("waits.parquet"), "{told}");
    std::fs::copy(folder.join("links.parquet"), folder.join("waits.parquet")).unwrap();
    let told = refused(&bench, &["explain", "result"]);
    assert!(told.contains("the footer of waits.parquet is damaged"), "{told}");
    let output = bench.run(&["explain", "result", "--force"]);
    let (_, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("it has no column 'job'"), "{stderr}");
    assert!(!folder.join("critical_path.json").exists());
}
