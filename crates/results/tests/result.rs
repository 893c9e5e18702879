//! From an outcome to a digest, a summary, a comparison.

mod sample;

use std::borrow::Cow;
use std::sync::Arc;

use fabricsim_results::rows::{self, CallRow};
use fabricsim_results::{
    BoundBy, Chain, Collect, Histogram, JobBounds, Outcome, RunResult, RunSummary, Summary, compare,
};

type Change = Box<dyn FnOnce(&mut Outcome)>;

fn digest(change: impl FnOnce(&mut Outcome)) -> String {
    let mut outcome = sample::outcome();
    change(&mut outcome);
    RunResult::new(sample::experiment(), outcome, sample::run())
        .summary
        .digest
}

#[test]
fn every_measured_value_changes_the_digest() {
    let calls = |time_ps| {
        let row = CallRow {
            job: Arc::from("a"),
            rank: 0,
            call: Cow::Borrowed("MPI_Wait"),
            count: 1,
            time_ps,
        };
        rows::calls([row])
    };
    let changes: Vec<Change> = vec![
        Box::new(|_| ()),
        Box::new(|o| o.network.topology.push('!')),
        Box::new(|o| o.network.hosts += 1),
        Box::new(|o| o.network.rails += 1),
        Box::new(|o| o.network.planes += 1),
        Box::new(|o| o.network.routers += 1),
        Box::new(|o| o.network.links += 1),
        Box::new(|o| o.network.packets_injected += 1),
        Box::new(|o| o.network.packets_delivered += 1),
        Box::new(|o| o.network.bytes_delivered += 1),
        Box::new(|o| o.network.packet_hops += 1),
        Box::new(|o| o.network.offered_bytes += 1),
        Box::new(|o| o.network.accepted_bytes += 1),
        Box::new(|o| o.network.capacity_bytes += 1),
        Box::new(|o| o.network.measured_ps += 1),
        // The same bucket, another sum.
        Box::new(|o| {
            o.network.latency_ps.record(1 << 20);
        }),
        Box::new(|o| {
            o.network.latency_ps.record((1 << 20) + 1);
        }),
        Box::new(|o| {
            o.network.hops.record(4);
        }),
        Box::new(|o| o.jobs[0].name.push('!')),
        Box::new(|o| o.jobs[1].kind = Cow::Borrowed("motif")),
        Box::new(|o| o.jobs[0].finished = false),
        Box::new(|o| o.jobs[0].time_ps += 1),
        Box::new(|o| o.jobs[0].compute_sum_ps += 1),
        Box::new(|o| o.jobs[0].mpi_sum_ps += 1),
        Box::new(|o| o.jobs[0].messages += 1),
        Box::new(|o| o.jobs[1].bytes += 1),
        Box::new(|o| o.jobs.swap(0, 1)),
        Box::new(|o| o.tables.truncate(2)),
        Box::new(move |o| o.tables[1] = calls(1)),
        Box::new(move |o| o.tables[1] = calls(2)),
        Box::new(|o| {
            o.records.integers("message", &[4]);
        }),
        Box::new(|o| o.records = Chain::new()),
    ];
    let count = changes.len();
    let digests: std::collections::BTreeSet<String> = changes.into_iter().map(digest).collect();
    assert_eq!(digests.len(), count);
}

#[test]
fn ranks_have_one_digest_wherever_their_operations_come_from() {
    let mut outcome = sample::outcome();
    assert!(outcome.jobs[0].ranks > 0);
    outcome.jobs[0].kind = Cow::Borrowed("motif");
    let result = RunResult::new(sample::experiment(), outcome, sample::run());
    assert_eq!(result.summary.digest, digest(|_| ()));
    assert_eq!(result.summary.jobs[0].kind, "motif");
    assert_ne!(
        result.table("jobs"),
        RunResult::new(sample::experiment(), sample::outcome(), sample::run()).table("jobs")
    );
}

#[test]
fn what_the_run_cost_and_how_it_ran_do_not_change_the_digest() {
    let before = digest(|_| ());
    let run = RunSummary {
        executor: "sequential".into(),
        threads: 1,
        wall_s: 99.0,
        ..RunSummary::default()
    };
    let after = RunResult::new(serde_json::json!({}), sample::outcome(), run)
        .summary
        .digest;
    assert_eq!(before, after);
    assert_eq!(
        before,
        digest(|o| o.tables.reverse()),
        "nor does the order in which tables were made"
    );
    assert_eq!(
        before,
        digest(|o| o.tables.push(rows::calls([]))),
        "nor an empty table"
    );
}

#[test]
fn the_summary_is_the_one_written_down() {
    let summary = sample::result().summary;
    let golden: Summary = serde_json::from_str(include_str!("golden/summary.json")).unwrap();
    let written = serde_json::to_string_pretty(&summary).unwrap();
    assert_eq!(
        summary, golden,
        "if this change is meant, tests/golden/summary.json becomes:\n{written}"
    );
    assert_eq!(
        written.trim(),
        include_str!("golden/summary.json").trim(),
        "and the order of keys"
    );
}

/// Results of versions before it, and of runs without traffic, have none.
#[test]
fn a_summary_without_bounds_can_be_read() {
    let mut summary = sample::result().summary;
    let mut json = serde_json::to_value(&summary).unwrap();
    assert!(json.as_object_mut().unwrap().remove("bounds").is_some());
    let read: Summary = serde_json::from_value(json).unwrap();
    summary.bounds = None;
    assert_eq!(read, summary);
    assert!(!serde_json::to_string(&summary).unwrap().contains("bounds"));
}

/// Results of versions before them, and of runs of which nothing more was asked.
#[test]
fn a_summary_without_interference_and_repetitions_can_be_read() {
    let mut summary = sample::result().summary;
    let mut json = serde_json::to_value(&summary).unwrap();
    assert!(json.as_object_mut().unwrap().remove("interference").is_some());
    for job in json["jobs"].as_array_mut().unwrap() {
        assert!(job.as_object_mut().unwrap().remove("repetitions").is_some());
    }
    let read: Summary = serde_json::from_value(json).unwrap();
    summary.interference = None;
    summary.jobs.iter_mut().for_each(|job| job.repetitions = 1);
    assert_eq!(read, summary);
    assert!(!serde_json::to_string(&summary).unwrap().contains("interference"));
    let text = compare(&[("old", summary)]);
    assert!(!text.contains("alone") && !text.contains("repetition"), "{text}");
}

#[test]
fn slow_downs_and_repetitions_are_compared() {
    let with = sample::result().summary;
    let mut without = with.clone();
    without.interference = None;
    let text = compare(&[("with", with), ("without", without)]);
    let line = |label: &str| {
        text.lines()
            .find(|line| line.contains(label))
            .expect(label)
            .to_string()
    };
    let cells = |label: &str| -> Vec<String> {
        line(label)
            .split("  ")
            .map(|c| c.trim().into())
            .filter(|c: &String| !c.is_empty())
            .collect()
    };
    assert_eq!(
        cells("slow-down by other jobs"),
        ["slow-down by other jobs", "1.250x", "-"]
    );
    assert_eq!(cells("time alone")[1..], ["17.11 ms", "-"]);
    assert_eq!(
        cells("time per repetition")[1..],
        ["7.129 ms", "7.129 ms (1.00x)"]
    );
}

#[test]
fn bounds_are_shown_as_far_as_they_are_known() {
    let mut bounds = sample::bounds();
    let text = bounds.to_string();
    for part in [
        "background: at most 0.7500 of the injection bandwidth; first full link: leaf-spine link of router 3",
        "mean 0.6250, largest 1.3125, so at most 0.7500",
        "mean hops 3.7500 (1.7500 between routers), latency without load 512.5 ns mean, 620.5 ns at most",
    ] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    assert!(
        !text.contains("all jobs") && !text.contains("not computed"),
        "{text}"
    );
    bounds.jobs.push(JobBounds {
        name: "other".into(),
        not_computed: "too large".into(),
        ..JobBounds::default()
    });
    let text = bounds.to_string();
    assert!(
        text.contains("other: none known\n          not computed: too large"),
        "{text}"
    );
    assert!(
        text.contains("all jobs: 2.5000 times the requested loads"),
        "{text}"
    );
}

#[test]
fn every_key_of_the_summary_is_documented() {
    let page = include_str!("../../../docs/formats/summary.md");
    let mut summary = sample::result().summary;
    let mut outcome = sample::outcome();
    outcome.jobs[0].finished = false;
    summary.notes = RunResult::new(sample::experiment(), outcome, sample::run())
        .summary
        .notes;
    assert!(!summary.notes.is_empty());
    let mut judged = sample::result();
    judged.judge();
    summary.verdict = judged.summary.verdict;
    assert!(summary.verdict.is_some());
    let mut summary = serde_json::to_value(summary).unwrap();
    // Its keys are those of the experiment, which other pages document.
    summary["experiment"] = serde_json::Value::Null;
    let mut missing = Vec::new();
    let mut parts = vec![&summary];
    while let Some(part) = parts.pop() {
        match part {
            serde_json::Value::Object(object) => {
                missing.extend(object.keys().filter(|key| !page.contains(&format!("`{key}`"))));
                parts.extend(object.values());
            }
            serde_json::Value::Array(list) => parts.extend(list),
            _ => {}
        }
    }
    assert!(missing.is_empty(), "not in docs/formats/summary.md: {missing:?}");
}

#[test]
fn an_empty_run_has_a_summary_without_nonsense() {
    let run = RunSummary {
        // The only thing that may be unknown.
        resumed_at_ns: Some(0.0),
        ..RunSummary::default()
    };
    let result = RunResult::new(serde_json::json!({}), Outcome::default(), run);
    let text = serde_json::to_string(&result.summary).unwrap();
    let latency = r#""latency_ns":{"mean":null,"p50":null,"p99":null,"max":null}"#;
    let unmeasured = [latency, r#""mean_hops":null"#, r#""detour_load_bytes":null"#];
    let without = unmeasured
        .iter()
        .fold(text.clone(), |text, none| text.replace(none, ""));
    assert!(text.contains(latency), "{text}");
    assert!(!without.contains("null"), "a number was not finite: {text}");
    assert_eq!(result.summary.network.offered_load, 0.0);
    assert_eq!(result.summary.notes, []);
    assert_eq!(Histogram::new().mean(), 0.0);
}

proptest::proptest! {
    #[test]
    fn numbers_come_back_from_json_to_the_last_bit(wall_s in 0.0f64..1e6, mean_hops in 0.0f64..1.0) {
        let mut summary = sample::result().summary;
        summary.run.wall_s = wall_s;
        summary.network.mean_hops = Some(mean_hops);
        let text = serde_json::to_string(&summary).unwrap();
        let read: Summary = serde_json::from_str(&text).unwrap();
        proptest::prop_assert_eq!(read, summary);
    }
}

#[test]
fn runs_whose_digests_differ_are_said_to() {
    let mut first = sample::result().summary;
    first.collect = Some(Collect::default());
    let says = |change: fn(&mut Summary)| {
        let mut second = first.clone();
        change(&mut second);
        let text = compare(&[("a", first.clone()), ("b", second)]);
        let lines = text.lines().rev().take(2);
        lines.map(str::to_string).collect::<Vec<_>>()
    };
    let [collected, results] = [
        "collected: the same in all runs (digest collected)",
        "results: the same in all runs (digest)",
    ];
    assert_eq!(says(|_| ()), [collected, results]);
    assert_eq!(
        says(|s| s.digest = "x".into()),
        [collected, "results: differ (digest)"]
    );
    let other = |s: &mut Summary| s.collect.as_mut().unwrap().digest = "x".into();
    assert_eq!(says(other), ["collected: differs (digest collected)", results]);
    let less = says(|s| {
        s.collect.as_mut().unwrap().digest = "x".into();
        s.experiment["collect"] = serde_json::json!({ "series": "off" });
    });
    assert!(less[0].contains("as the collect settings differ"), "{less:?}");
    assert!(says(|s| s.collect = None)[0].contains("not known"));
    let alone = compare(&[("a", first)]);
    assert!(
        alone.contains("\n  collected") && !alone.contains("results:"),
        "{alone}"
    );
}

#[test]
fn jobs_that_the_network_does_not_bound_are_said_to_tie() {
    let mut first = sample::result().summary;
    let bound_by = first.jobs[0].bound_by.as_mut().unwrap();
    *bound_by = BoundBy {
        computation: 0.7,
        overhead: 0.25,
        latency: 0.05,
        ..BoundBy::default()
    };
    let mut second = first.clone();
    second.jobs[0].time_ns *= 1.01;
    let text = compare(&[("a", first.clone()), ("b", second.clone())]);
    let expected = "job lammps: the times differ by 1.0 %, and the network is at most 5.0 % of the critical path \
                    (computation is 70.0 %): these runs do not rank the networks";
    assert!(text.contains(expected), "{text}");
    assert!(text.contains("bound by computation"), "{text}");

    let says_tie = |second: &Summary| {
        compare(&[("a", first.clone()), ("b", second.clone())]).contains("rank the networks")
    };
    let mut slower = second.clone();
    slower.jobs[0].time_ns *= 1.05;
    assert!(!says_tie(&slower), "times that differ are no tie");
    let of_second = second.jobs[0].bound_by.as_mut().unwrap();
    (of_second.latency, of_second.computation) = (0.3, 0.45);
    assert!(!says_tie(&second), "the network bounds one of the runs");
    second.jobs[0].bound_by = None;
    assert!(!says_tie(&second), "nothing is known of one of the runs");
}

#[test]
fn nothing_to_compare_is_no_panic() {
    compare(&[]);
}

#[test]
fn runs_are_compared_to_the_first_and_missing_jobs_are_dashes() {
    let first = sample::result().summary;
    let mut second = first.clone();
    second.jobs.remove(1);
    second.jobs[0].time_ns *= 1.5;
    let text = compare(&[("fat tree", first), ("dragonfly", second)]);
    let line = |start: &str| {
        text.lines()
            .find(|l| l.starts_with(start))
            .unwrap_or_else(|| panic!("no line '{start}':\n{text}"))
    };
    assert!(line("job lammps: time").ends_with("(1.50x)"), "{text}");
    assert!(line("job background").ends_with('-'), "{text}");
    assert!(line("  computed: load, at most").contains("75.0 %"), "{text}");
    assert!(
        line("  computed: latency without load").contains("512.5 ns"),
        "{text}"
    );
    let column = |l: &str| l.chars().position(|c| c == '(');
    assert_eq!(
        column(line("  MPI per rank")),
        column(line("  computation per rank")),
        "{text}"
    );
    assert!(text.lines().all(|l| l == l.trim_end()));
    assert!(text.contains("dragonfly: fat tree: 2 levels"), "{text}");
}
