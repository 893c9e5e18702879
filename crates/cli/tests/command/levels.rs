//! `fabricsim run --levels`: one experiment with several router models.

use std::fs;

use serde_json::Value;

use crate::bench::{Bench, EXPERIMENT};

#[test]
fn each_level_has_its_folder_and_the_difference_is_printed() {
    let bench = Bench::new(EXPERIMENT);
    let printed = bench.succeeds(&[
        "run",
        "experiment.toml",
        "--levels",
        "analytic,packet,input-queued",
        "--out",
        "levels",
        "--set",
        "run.until=6 us",
        "--set",
        "input-queued:network.router.speedup=2.0",
    ]);
    assert!(printed.contains("network.router.model"), "{printed}");
    assert!(printed.contains("results levels"), "{printed}");
    let summary = |level: &str| -> Value {
        let file = bench.path().join("levels").join(level).join("summary.json");
        serde_json::from_str(&fs::read_to_string(file).expect("a result")).expect("JSON")
    };
    let mut latencies = Vec::new();
    for level in ["analytic", "packet", "input-queued"] {
        let summary = summary(level);
        let router = &summary["experiment"]["network"]["router"];
        assert_eq!(router["model"], level);
        assert_eq!(summary["experiment"]["run"]["until"], "6 us");
        let speedup = (level == "input-queued").then_some(2.0);
        assert_eq!(router["speedup"].as_f64(), speedup);
        latencies.push(
            summary["network"]["latency_ns"]["mean"]
                .as_f64()
                .expect("a latency"),
        );
    }
    assert!(
        latencies[0] < latencies[1] && latencies[0] < latencies[2],
        "{latencies:?}"
    );
    assert_eq!(summary("analytic")["network"]["links"], 72, "links of hosts");
}

/// `packet` has no copies of virtual channels. The others have a result, and the status is that of the failure.
#[test]
fn a_level_that_fails_leaves_the_others() {
    let bench = Bench::new(EXPERIMENT);
    let arguments = [
        "run",
        "experiment.toml",
        "--levels",
        "packet,analytic",
        "--json",
        "--set",
    ];
    let output = bench.run(&[&arguments[..], &["packet:network.router.vc_copies=2"]].concat());
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        error.contains("level packet: ") && error.contains("vc_copies"),
        "{error}"
    );
    let printed: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let names: Vec<_> = printed
        .as_array()
        .expect("a list")
        .iter()
        .map(|of| &of["name"])
        .collect();
    assert_eq!(names, ["analytic"]);
    assert!(
        bench
            .path()
            .join("results/experiment/analytic/summary.json")
            .is_file()
    );
    assert!(!bench.path().join("results/experiment/packet").exists());
}

#[test]
fn wrong_levels_are_named_before_anything_runs() {
    let bench = Bench::new(EXPERIMENT);
    for (levels, set, needle) in [
        (
            "packet,flits",
            "run.seed=1",
            "--levels: there is no router model 'flits'; expected some of analytic, ",
        ),
        ("packet,packet", "run.seed=1", "--levels: packet is given twice"),
        (
            "packet",
            "analytic:run.seed=1",
            "--set analytic:run.seed=1: analytic is none of the levels packet; expected LEVEL:KEY=VALUE, such as \
             packet:run.seed=1",
        ),
    ] {
        let output = bench.run(&["run", "experiment.toml", "--levels", levels, "--set", set]);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(needle), "{error}");
        assert!(!bench.path().join("results").exists());
    }
}
