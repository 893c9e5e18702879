//! The notes `saturated` and `not-steady` of generated cases, against long runs.

#[path = "../../benches/saturation/cases.rs"]
mod cases;

use cases::{CASES, Verdict, judge};
use experiment::{Effort, Experiment};
use results::RunResult;

use crate::support::{experiment, run};

/// Every how many-th case is run. The bench `saturation` runs all of them.
const STEP: usize = 13;

#[test]
fn notes_agree_with_long_runs() {
    let mut sum = Verdict::default();
    for number in (0..CASES).step_by(STEP) {
        sum.add(judge(number));
    }
    println!("{sum:?}");
    assert!(sum.wrong.is_empty(), "{}", sum.wrong.join("\n"));
    assert!(sum.saturated >= 50 && sum.unsaturated >= 30, "{sum:?}");
    assert!(sum.noted >= sum.saturated * 4 / 5, "{sum:?}");
}

/// A network with this topology, routing and buffer, and traffic with this pattern and load.
fn text(topology: &str, routing: &str, buffer: &str, traffic: &str) -> String {
    format!(
        r#"
[network]
topology = {{ {topology} }}
routing = {{ {routing} }}
link = {{ bandwidth = "100 Gbps", latency = "50 ns" }}
router = {{ model = "packet", delay = "100 ns", buffer = "{buffer}" }}
packet = "256 B"

[[job]]
traffic = {{ {traffic} }}

[run]
until = "40 us"
warmup = "10 us"
"#
    )
}

const DRAGONFLY: &str =
    r#"kind = "dragonfly", hosts_per_router = 2, routers_per_group = 4, global_links_per_router = 2"#;

fn kinds(result: &RunResult) -> Vec<&str> {
    let notes = result.summary.notes.iter();
    notes.map(|note| note.kind.as_str()).collect()
}

#[test]
fn a_bias_that_no_load_can_exceed_is_refused() {
    let adversarial = r#"pattern = "adversarial", load = 0.4"#;
    // Seven ports: 8 x 32 KiB.
    for (bias, is_refused) in [("262143 B", false), ("262144 B", true)] {
        let routing = format!(r#"algorithm = "ugal", bias = "{bias}""#);
        let text = text(DRAGONFLY, &routing, "32 KiB", adversarial);
        let error = Experiment::from_toml(&text, "x.toml", &[]).err();
        let message = error.as_ref().map(ToString::to_string).unwrap_or_default();
        assert_eq!(error.is_some(), is_refused, "{message}");
        if is_refused {
            assert!(
                message.starts_with("x.toml:4: network.routing.bias: detours begin above a load of 256 KiB")
                    && message.contains("no port can have more than 256 KiB"),
                "{message}"
            );
        }
    }
    // Two ports of hosts, three local and two global ones, and the largest buffer behind one of them.
    for (bias, is_refused) in [("327679 B", false), ("327680 B", true)] {
        let routing = format!(
            "algorithm = \"ugal\", bias = \"{bias}\" }}\n\
             links = {{ host.buffer = \"16 KiB\", global.buffer = \"64 KiB\""
        );
        let text = text(DRAGONFLY, &routing, "32 KiB", adversarial);
        let error = Experiment::from_toml(&text, "x.toml", &[]).err();
        let message = error.as_ref().map(ToString::to_string).unwrap_or_default();
        assert_eq!(error.is_some(), is_refused, "{message}");
        let said =
            message.contains("more than 320 KiB: the 7 input buffers of 16 KiB to 64 KiB of its router");
        assert_eq!(said, is_refused, "{message}");
    }
    // The last of two links of a path counts once.
    let hyperx = r#"kind = "hyperx", shape = [4, 4], hosts_per_router = 2"#;
    for (bias, is_refused) in [("511 KiB", false), ("600 KiB", true)] {
        let routing = format!(r#"algorithm = "dal", bias = "{bias}""#);
        let text = text(hyperx, &routing, "32 KiB", adversarial);
        let error = Experiment::from_toml(&text, "x.toml", &[]).err();
        assert_eq!(error.is_some(), is_refused, "{bias}");
    }
}

/// Seven input buffers of 32 KiB, as much behind the port, and four VCs.
#[test]
fn the_greatest_load_is_that_of_the_metric() {
    for (metric, scope, greatest, places) in [
        (
            "total",
            "vc",
            7 * 32768 + 8192,
            "the 7 input buffers of 32 KiB of its router, and the part of one of 4 virtual",
        ),
        (
            "queue",
            "port",
            7 * 32768,
            "more than 224 KiB: the 7 input buffers of 32 KiB of its router; expected",
        ),
        (
            "queue",
            "vc",
            7 * 32768,
            "more than 224 KiB: the 7 input buffers of 32 KiB of its router; expected",
        ),
        (
            "credits",
            "port",
            32768,
            "more than 32 KiB: the buffer behind it; expected a smaller bias",
        ),
        (
            "credits",
            "vc",
            8192,
            "more than 8 KiB: the part of one of 4 virtual channels in the buffer behind it",
        ),
    ] {
        for (bias, is_refused) in [(greatest - 1, false), (greatest, true)] {
            let routing = format!(
                r#"algorithm = "ugal", bias = "{bias} B", metric = "{metric}", metric_scope = "{scope}""#
            );
            let text = text(
                DRAGONFLY,
                &routing,
                "32 KiB",
                r#"pattern = "adversarial", load = 0.4"#,
            );
            let error = Experiment::from_toml(&text, "x.toml", &[]).err();
            let message = error.as_ref().map(ToString::to_string).unwrap_or_default();
            assert_eq!(error.is_some(), is_refused, "{metric} {scope} {bias}: {message}");
            assert_eq!(message.contains(places), is_refused, "{message}");
        }
    }
}

#[test]
fn detours_that_wait_for_full_buffers_are_noted() {
    let adversarial = r#"pattern = "adversarial", load = 0.4"#;
    let of = |algorithm: &str| run(&experiment(&text(DRAGONFLY, algorithm, "32 KiB", adversarial)));
    let late = of(r#"algorithm = "ugal", bias = "64 KiB""#);
    assert_eq!(kinds(&late), ["saturated", "late-detours"]);
    println!("{}", late.summary.notes[1]);
    let (timely, minimal) = (
        of(r#"algorithm = "ugal", bias = "512 B""#),
        of(r#"algorithm = "minimal""#),
    );
    assert!(!kinds(&timely).contains(&"late-detours") && !kinds(&minimal).contains(&"late-detours"));
    let accepted = |result: &RunResult| result.summary.network.accepted_load;
    println!(
        "accepted: {:.3} late, {:.3} timely, {:.3} minimal",
        accepted(&late),
        accepted(&timely),
        accepted(&minimal)
    );
    assert!(accepted(&late) < 0.8 * accepted(&timely));
}

#[test]
fn hosts_that_are_served_badly_are_noted() {
    let ring = r#"kind = "torus", sizes = [16]"#;
    let at = |pattern: &str, load: &str| {
        let traffic = format!("{pattern}, load = {load}");
        run(&experiment(&text(
            ring,
            r#"algorithm = "dimension-order""#,
            "8 KiB",
            &traffic,
        )))
    };
    let even = at(r#"pattern = "tornado""#, "0.1");
    let fairness = |result: &RunResult| {
        let traffic = result.summary.jobs[0].traffic.as_ref().expect("it is traffic");
        traffic.fairness.expect("all hosts offer traffic")
    };
    assert!(!kinds(&even).contains(&"unfair"), "{:?}", kinds(&even));
    let found = fairness(&even);
    assert!(
        found.hosts == 16 && found.jain > 0.99 && found.least_share > 0.9,
        "{found:?}"
    );
    // Messages from far away hold the links in front of the hot host.
    let starved = at(r#"pattern = "hotspot", targets = [0], share = 0.3"#, "0.5");
    println!("{:?}", starved.summary.notes);
    assert_eq!(kinds(&starved), ["saturated", "unfair"]);
    let found = fairness(&starved);
    assert!(
        found.jain < 0.9 && found.least_share < 0.5 * found.mean_share,
        "{found:?}"
    );
}

/// `fabricsim check` prints the bounds.
#[test]
fn a_load_above_the_bound_is_said_before_a_run() {
    let hyperx = r#"kind = "hyperx", shape = [4, 4], hosts_per_router = 2"#;
    let printed = |load: &str| {
        let traffic = format!(r#"pattern = "incast", load = {load}"#);
        let text = text(hyperx, r#"algorithm = "dal""#, "32 KiB", &traffic);
        experiment::bounds(&experiment(&text), Effort::CHECK)
            .expect("there is traffic")
            .to_string()
    };
    // 31 hosts send to one.
    let above = printed("0.0625");
    assert!(
        above.contains(
            "the requested load is above it: the first link of a host is full at 0.5161 times the load, mostly with job \
             job0; the run will be saturated"
        ),
        "{above}"
    );
    assert!(!printed("0.03").contains("is above it"));
}
