//! The verdict on small runs whose answer is known by construction, and the experiments that it proposes.

use std::path::Path;

use experiment::Experiment;
use results::{ConfidenceLevel, RepeatedRun, RunResult, Verdict, verdict};

use crate::support::{experiment, run};

const DRAGONFLY: &str =
    r#"kind = "dragonfly", hosts_per_router = 2, routers_per_group = 4, global_links_per_router = 2"#;
const FAT_TREE: &str = r#"kind = "fat-tree", radix = 8, levels = 2"#;

/// An experiment of synthetic traffic.
fn traffic(topology: &str, routing: &str, traffic: &str) -> String {
    format!(
        r#"
[network]
topology = {{ {topology} }}
routing = {{ {routing} }}
link = {{ bandwidth = "100 Gbps", latency = "50 ns" }}
router = {{ delay = "100 ns", buffer = "64 KiB" }}
packet = "256 B"

[[job]]
name = "load"
traffic = {{ {traffic} }}

[run]
until = "30 us"
warmup = "10 us"
"#
    )
}

/// An experiment of ranks.
fn ranks(workload: &str, more: &str) -> String {
    format!(
        r#"
[network]
topology = {{ {DRAGONFLY} }}
routing = {{ algorithm = "minimal" }}
link = {{ bandwidth = "100 Gbps", latency = "50 ns" }}

[[job]]
name = "app"
placement = "random"
workload = {{ {workload} }}
{more}
"#
    )
}

/// The verdict on this experiment. Every run that it proposes can be read.
fn judged(text: &str) -> (RunResult, Verdict) {
    let result = run(&experiment(text));
    let verdict = result.summary.verdict.clone().expect("every run has one");
    println!("{}", verdict.text(Some(&RepeatedRun::default())));
    for comparison in &verdict.comparisons {
        let set: Vec<(String, String)> = comparison
            .set
            .iter()
            .map(|changed| (changed.key.clone(), changed.value.clone()))
            .collect();
        assert!(!set.is_empty());
        let changed =
            Experiment::from_toml(text, "test.toml", &set).unwrap_or_else(|e| panic!("{set:?}: {e}"));
        assert_ne!(
            changed.settings, result.summary.experiment,
            "{set:?} changes nothing"
        );
    }
    (result, verdict)
}

#[track_caller]
fn assert_verdict(text: &str, rule: &str, words: &[&str]) -> (RunResult, Verdict) {
    let (result, verdict) = judged(text);
    let shown = verdict.text(Some(&RepeatedRun::default())).replace('\u{a0}', " ");
    assert_eq!(verdict.rule, rule, "{shown}");
    for word in words {
        assert!(shown.contains(word), "'{word}' is missing in\n{shown}");
    }
    (result, verdict)
}

/// The runs that the verdict on an experiment of the corpus proposes can be read.
pub fn proposals_can_be_read(path: &Path, set: &[(String, String)], result: &RunResult) {
    let verdict = result.summary.verdict.as_ref().expect("every run has one");
    for comparison in &verdict.comparisons {
        let changed = comparison
            .set
            .iter()
            .map(|changed| (changed.key.clone(), changed.value.clone()));
        let all: Vec<_> = set.iter().cloned().chain(changed).collect();
        if let Err(error) = Experiment::load(path, &all) {
            panic!("{}: {:?}: {error}", path.display(), comparison.set);
        }
    }
}

#[test]
fn adversarial_traffic_on_minimal_paths_uses_few_links() {
    let text = traffic(
        DRAGONFLY,
        r#"algorithm = "minimal""#,
        r#"pattern = "adversarial", load = 0.4"#,
    );
    let words = [
        "Traffic goes through few links: the network delivers 12.5 % of the injection bandwidth, of ",
        "9 of 72 global links are full",
        "half of them carry at most 0.0 %",
        "Routing minimal does not use the free ones",
        "The computed bound of this routing is 12.5 %",
        "global link router 0 (",
        r#"--set 'network.routing={ algorithm = "ugal" }'"#,
        "global links carry",
    ];
    let (result, verdict) = assert_verdict(&text, "few-full-links", &words);
    assert_eq!(verdict.places[0].class.as_deref(), Some("global"));
    let links = result.table("links").unwrap();
    let busy = links.f64s("busy_fraction").unwrap();
    assert!(busy[verdict.places[0].links[0] as usize] >= 0.95);
    // Without series it is not known when.
    let off = text.replace("[run]", "[collect]\nseries = \"off\"\n\n[run]");
    let (_, off) = judged(&off);
    assert_eq!(
        (off.rule, off.headline, off.times),
        (verdict.rule, verdict.headline, Vec::new())
    );
    assert!(
        off.confidence
            .reasons
            .iter()
            .any(|reason| reason.contains("when is not known"))
    );
}

#[test]
fn a_tapered_tree_has_too_little_bandwidth() {
    let topology = format!(r#"{FAT_TREE}, tapering = "3:1""#);
    let text = traffic(
        &topology,
        r#"algorithm = "adaptive""#,
        r#"pattern = "uniform", load = 0.9"#,
    );
    let words = [
        "The leaf-spine links as a class have too little bandwidth",
        "twice the bandwidth of leaf-spine links",
        r#"--set 'network.links.leaf-spine.bandwidth="200 Gbps"'"#,
    ];
    assert_verdict(&text, "full-class", &words);
}

#[test]
fn uneven_cabling_is_found() {
    let topology = format!("{DRAGONFLY}, groups = 6");
    let text = traffic(
        &topology,
        r#"algorithm = "minimal", paths = "random""#,
        r#"pattern = "uniform", load = 0.55"#,
    );
    let text = text.replace(
        "\nrouter = ",
        "\nlinks = { global.bandwidth = \"50 Gbps\" }\nrouter = ",
    );
    let words = [
        "Cabling between groups is uneven",
        "pairs of groups have 1 cable at",
        "have 2 cables at",
        "--set network.topology.groups=9",
    ];
    assert_verdict(&text, "uneven-cabling", &words);
}

#[test]
fn incast_fills_the_links_of_hosts() {
    let text = traffic(
        FAT_TREE,
        r#"algorithm = "adaptive""#,
        r#"pattern = "incast", load = 0.5, targets = [3]"#,
    );
    let words = [
        "Hosts receive more than their links carry",
        "1 of 32 ejection links is full",
        "no routing avoids them",
        "hold up",
        r#"--set 'network.links.host.bandwidth="200 Gbps"'"#,
    ];
    assert_verdict(&text, "full-hosts", &words);
}

#[test]
fn a_hot_host_holds_up_links_of_a_network_that_still_delivers() {
    let text = traffic(
        r#"kind = "torus", sizes = [6, 6, 6]"#,
        r#"algorithm = "dimension-order""#,
        r#"pattern = "hotspot", load = 0.15, targets = [50], share = 0.04"#,
    );
    let words = [
        "1 overloaded host holds up",
        "1 of 216 ejection links is full",
        "the network delivers what is offered",
    ];
    assert_verdict(&text, "hot-hosts", &words);
}

#[test]
fn some_full_links_of_a_busy_class_are_an_uneven_load() {
    let topology = format!(r#"{FAT_TREE}, tapering = "1:1""#);
    let text = traffic(
        &topology,
        r#"algorithm = "destination-mod-k""#,
        r#"pattern = "permutation", load = 0.9"#,
    );
    let words = [
        "Load on the leaf-spine links is uneven",
        "busiest hundredth",
        r#"algorithm = "adaptive""#,
    ];
    assert_verdict(&text, "uneven-load", &words);
}

#[test]
fn a_network_at_ease_and_one_with_queues() {
    let of = |load: &str| {
        traffic(
            FAT_TREE,
            r#"algorithm = "scatter""#,
            &format!(r#"pattern = "uniform", load = {load}"#),
        )
    };
    let words = [
        "The network is at ease: the network delivers what is offered",
        "times that of an idle network",
        "the first link is full at an offered load of about",
        "trust   high",
    ];
    let (_, verdict) = assert_verdict(&of("0.2"), "at-ease", &words);
    assert_eq!(verdict.confidence.level, ConfidenceLevel::High);
    let words = [
        "with queues: mean latency",
        "99th percentile",
        "input-queued",
        "the note near-saturation",
    ];
    assert_verdict(&of("0.9"), "queues", &words);
}

#[test]
fn routers_hold_traffic_back_without_a_full_link() {
    let text = traffic(
        r#"kind = "mesh", sizes = [1], hosts_per_router = 16"#,
        r#"algorithm = "dimension-order""#,
        r#"pattern = "uniform", load = 0.9"#,
    );
    let text = text.replace("router = { ", "router = { model = \"input-queued\", ");
    let words = [
        "Routers hold traffic back",
        "head-of-line blocking",
        "network.router.speedup=2.0",
    ];
    assert_verdict(&text, "no-full-link", &words);
}

#[test]
fn a_run_that_is_too_short_says_so() {
    let text = traffic(
        FAT_TREE,
        r#"algorithm = "scatter""#,
        r#"pattern = "uniform", load = 0.5"#,
    );
    let text = text.replace("30 us", "1 us").replace("\"10 us\"", "\"0 us\"");
    let (_, verdict) = assert_verdict(
        &text,
        "too-short",
        &[
            "It is not known whether",
            "trust   low",
            "--set 'run.until=\"4 us\"'",
        ],
    );
    assert_eq!(verdict.confidence.level, ConfidenceLevel::Low);
}

#[test]
fn what_bounds_ranks_is_said() {
    let halo = |bytes: &str, compute: &str| {
        format!(
            r#"motif = "allreduce", ranks = 32, bytes = "{bytes}", iterations = 4, compute = "{compute}""#
        )
    };
    let words = [
        "The network takes",
        "divided by estimate into",
        "twice the bandwidth of all links: what a network can give at most",
        "trust   medium",
        "job app placed linear",
        "--set 'job.0.placement=\"linear\"'",
    ];
    assert_verdict(&ranks(&halo("4 MiB", "1 us"), ""), "network-bound", &words);
    let words = ["Computation bounds job app", "--set job.0.compute.scale=0.5"];
    assert_verdict(&ranks(&halo("1 KiB", "1 ms"), ""), "computation-bound", &words);
    let words = [
        "MPI overhead bounds job app",
        "a faster one changes at most that",
        "MPI calls and sends",
        "mpi.send_overhead",
    ];
    assert_verdict(
        &ranks(&halo("8 B", "0 us"), "[mpi]\nsend_overhead = \"5 us\"\n"),
        "overhead-bound",
        &words,
    );
    let until = "[run]\nuntil = \"20 us\"\n";
    let words = [
        "It is not known what bounds job app: the run ended before its ranks",
        "trust   low",
        "run.until",
    ];
    assert_verdict(&ranks(&halo("4 MiB", "1 us"), until), "unfinished", &words);
}

/// Results without tables, as those of older versions, have a verdict that says what is missing.
#[test]
fn a_result_without_tables_says_what_is_missing() {
    let text = traffic(
        FAT_TREE,
        r#"algorithm = "scatter""#,
        r#"pattern = "uniform", load = 0.2"#,
    );
    let (result, _) = judged(&text);
    let blind = verdict(&result.summary, &[], None);
    assert_eq!(
        (blind.rule.as_str(), blind.confidence.level),
        ("links-unknown", ConfidenceLevel::Low)
    );
    assert!(blind.headline.contains("no table of links"), "{}", blind.headline);
}
