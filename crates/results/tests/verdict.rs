//! The verdict on constructed results: which rule holds, what it says, how far it is trusted, and the page about it.

mod sample;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fabricsim_results::rows::{self, ClassSeriesRow, LinkRow};
use fabricsim_results::{
    BoundBy, CRITICAL_PATH_SCHEMA, ConfidenceLevel, CriticalPath, CriticalPaths, Note, Outcome,
    PathContribution, RepeatedRun, RunResult, RunSummary, Severity, Summary, VERDICT_RULES,
    VERDICT_THRESHOLDS, Verdict, explained_summary, renew_report, verdict, verdict_of_folder,
};

const MEASURED_PS: u64 = 10_000_000;

/// Loads of links in percent, and shares of time in which they wait for buffer space.
type Loads = Vec<(u64, u64)>;

/// Links of a class with these loads in percent, and shares of time in which they wait for buffer space.
fn links(class: &'static str, loads: &[(u64, u64)]) -> Vec<LinkRow> {
    let row = |(number, (busy, blocked)): (usize, &(u64, u64))| LinkRow {
        class: class.into(),
        from: format!("{class} begin {number}"),
        to: format!("{class} end {number}"),
        from_id: number as u32,
        to_id: number as u32 + 1,
        bandwidth_bits_per_s: 100_000_000_000,
        busy_ps: MEASURED_PS / 100 * busy,
        busy_fraction: *busy as f64 / 100.0,
        buffer_full_ps: MEASURED_PS / 100 * blocked,
        ..LinkRow::default()
    };
    loads.iter().enumerate().map(row).collect()
}

/// A result of one job of traffic that offers a load of 0.4 and accepts this share of it, on these links.
fn traffic(accepted: f64, links: Vec<Vec<LinkRow>>) -> RunResult {
    let mut outcome = Outcome {
        jobs: vec![sample::outcome().jobs.swap_remove(1)],
        ..Outcome::default()
    };
    let numbered = links.into_iter().flatten().enumerate();
    let numbered = numbered.map(|(number, row)| LinkRow {
        link: number as u32,
        ..row
    });
    outcome.tables = vec![rows::links(numbered)];
    outcome.network.latency_ps = outcome.jobs[0].latency_ps.clone();
    outcome.network.measured_ps = MEASURED_PS;
    outcome.network.capacity_bytes = 1_000_000;
    outcome.network.offered_bytes = 400_000;
    outcome.network.accepted_bytes = (400_000.0 * accepted) as u64;
    let job = &mut outcome.jobs[0];
    let traffic = job.traffic.as_mut().expect("it is of traffic");
    traffic.capacity_bytes = 1_000_000;
    traffic.offered_bytes = 400_000;
    traffic.accepted_bytes = (400_000.0 * accepted) as u64;
    traffic.growth.clear();
    let experiment = serde_json::json!({
        "network": {
            "topology": { "kind": "torus" }, "routing": { "algorithm": "dimension-order" }, "packet": "128 B",
            "links": { "host": {}, "x": {} }, "router": { "model": "input-queued", "buffer": "64 KiB" }
        },
        "job": [{ "name": "background", "traffic": { "load": 0.4 }, "hosts": "all", "placement": "linear" }],
        "run": { "until": "12 us", "warmup": "2 us" }
    });
    RunResult::new(experiment, outcome, RunSummary::default())
}

fn of(result: &RunResult) -> Verdict {
    verdict(&result.summary, &result.tables, None)
}

/// Rows of `class_series` of links of a class, 100 of them, with these loads in percent and numbers of waiting links,
/// in bins of 1 us.
fn series(class: &str, bins: &[(u64, u64)]) -> Vec<ClassSeriesRow> {
    let row = |(bin, (busy, waiting)): (usize, &(u64, u64))| ClassSeriesRow {
        begin_ps: bin as u64 * 1_000_000,
        end_ps: (bin as u64 + 1) * 1_000_000,
        class: Arc::from(class),
        links: 100,
        bytes: busy * 1000,
        packets: 4 * busy,
        busy_ps: busy * 1_000_000,
        buffer_full_ps: waiting * 1_000_000,
    };
    bins.iter().enumerate().map(row).collect()
}

#[test]
fn rules_follow_from_the_loads_of_links() {
    let idle = || links("ejection", &[(40, 0); 10]);
    let cases: [(&str, f64, Loads); 6] = [
        ("few-full-links", 0.3, [vec![(100, 0)], vec![(5, 0); 9]].concat()),
        ("full-class", 0.6, [vec![(100, 0); 6], vec![(70, 0); 4]].concat()),
        ("full-class", 0.6, vec![(90, 0); 10]),
        ("uneven-load", 0.6, [vec![(100, 0); 3], vec![(60, 0); 7]].concat()),
        ("uneven-load", 0.6, [vec![(100, 0); 1], vec![(75, 0); 9]].concat()),
        ("no-full-link", 0.6, vec![(50, 30); 10]),
    ];
    for (rule, accepted, loads) in cases {
        let result = traffic(accepted, vec![idle(), links("x", &loads)]);
        let verdict = of(&result);
        assert_eq!(verdict.rule, rule, "{loads:?}: {}", verdict.headline);
        assert!(
            verdict.headline.contains("of 40.0 % offered"),
            "{}",
            verdict.headline
        );
    }
    let loads = [vec![(100, 0); 3], vec![(60, 0); 7]].concat();
    let verdict = of(&traffic(0.6, vec![idle(), links("x", &loads)]));
    assert!(
        verdict
            .headline
            .contains("3 of 10 x links are full while their mean load is 72.0 %"),
        "{}",
        verdict.headline
    );
    assert!(
        verdict.causes[0].contains("carries 100.0 % on average, half of them at most 60.0 %"),
        "{verdict:?}"
    );
    let numbers: Vec<&[u32]> = verdict
        .places
        .iter()
        .map(|place| place.links.as_slice())
        .collect();
    assert_eq!(numbers, [[10], [11], [12]], "the full ones, by number");
}

#[test]
fn full_links_of_hosts_come_first_unless_others_are_full_elsewhere() {
    // The ejection link begins at router 0, into which no link is blocked.
    let hot = || [vec![(100, 0)], vec![(10, 0); 9]].concat();
    let full = of(&traffic(
        0.5,
        vec![links("ejection", &hot()), links("x", &[(40, 0); 20])],
    ));
    assert_eq!(full.rule, "full-hosts");
    let elsewhere = [vec![(100, 0); 6], vec![(40, 0); 14]].concat();
    let both = of(&traffic(
        0.5,
        vec![links("ejection", &hot()), links("x", &elsewhere)],
    ));
    assert_eq!(both.rule, "uneven-load", "{}", both.headline);
}

#[test]
fn a_hot_host_is_found_although_all_is_delivered() {
    // Injection link 0 and link 3 -> 4 of class x are blocked and end at routers 1 and 4: a chain leads from 4 over 5
    // to router 6 of the hot host.
    let mut ejection = links("ejection", &[(10, 0); 40]);
    ejection[6].busy_ps = MEASURED_PS;
    let mut blocked = links("x", &[(30, 0); 10]);
    for begin in [3, 4, 5] {
        blocked[begin].buffer_full_ps = MEASURED_PS / 2;
    }
    let mut injection = links("injection", &[(10, 0); 10]);
    injection[3].buffer_full_ps = MEASURED_PS / 5;
    let result = traffic(1.0, vec![injection, ejection, blocked]);
    let found = of(&result);
    assert_eq!(found.rule, "hot-hosts", "{}", found.headline);
    assert!(
        found
            .headline
            .starts_with("1 overloaded host holds up 4 other links"),
        "{}",
        found.headline
    );
    assert!(
        found.causes[1].contains("4 links for at least a tenth of the time, 1 of them injection links"),
        "{found:?}"
    );
}

#[test]
fn carried_load_is_at_ease_or_has_queues() {
    let of_load = |load| {
        of(&traffic(
            0.99,
            vec![links("ejection", &[(20, 0); 4]), links("x", &[(load, 0); 4])],
        ))
    };
    assert_eq!(of_load(91).rule, "queues");
    let ease = of_load(50);
    assert_eq!(ease.rule, "at-ease", "{ease:?}");
    assert!(
        ease.causes[0].contains("full at an offered load of about 80.0 %"),
        "{ease:?}"
    );
    assert_eq!(ease.comparisons[0].set[0].value, "0.8000");
}

#[test]
fn series_say_when_and_whether_the_run_is_stationary() {
    let mut result = traffic(
        0.6,
        vec![links("ejection", &[(40, 0); 10]), links("x", &[(90, 0); 10])],
    );
    let without = of(&result);
    assert!(without.times.is_empty());
    assert!(
        without.confidence.reasons[0].contains("when is not known"),
        "{without:?}"
    );
    assert_eq!(
        without.confidence.level,
        ConfidenceLevel::High,
        "what is known is certain"
    );
    // The first two bins are warm-up.
    let busy = [
        (99, 9),
        (99, 9),
        (20, 0),
        (20, 0),
        (90, 0),
        (95, 2),
        (20, 0),
        (20, 0),
        (85, 5),
        (20, 9),
        (20, 9),
        (20, 9),
    ];
    let ejected = [(40, 0); 12];
    let rows = || series("x", &busy).into_iter().chain(series("ejection", &ejected));
    result.tables.push(rows::class_series(rows()));
    let steady = of(&result);
    let times: Vec<(f64, f64)> = steady
        .times
        .iter()
        .map(|time| (time.begin_ns, time.end_ns))
        .collect();
    assert_eq!(
        times,
        [(4000.0, 6000.0), (8000.0, 9000.0), (2000.0, 12000.0)],
        "{steady:?}"
    );
    assert!(
        steady.times[0].found.contains("x links carry 92.5 % on average"),
        "{steady:?}"
    );
    assert!(
        steady.times[2].found.contains("still grow in number"),
        "{steady:?}"
    );
    assert_eq!(
        (steady.confidence.level, steady.confidence.reasons.len()),
        (ConfidenceLevel::High, 0)
    );
    // The last quarter delivers half as much.
    let mut falling = [(40, 0); 12];
    falling[9..].fill((20, 0));
    let rows = series("x", &busy).into_iter().chain(series("ejection", &falling));
    *result.tables.last_mut().unwrap() = rows::class_series(rows);
    let falling = of(&result);
    assert_eq!(falling.confidence.level, ConfidenceLevel::Medium);
    assert!(
        falling.confidence.reasons[0].contains("still changes by"),
        "{falling:?}"
    );
}

#[test]
fn notes_lower_the_confidence() {
    let note = |kind: &str, severity| Note {
        kind: kind.into(),
        severity,
        job: None,
        found: "found".into(),
        advice: "advice".into(),
    };
    let level = |note: Note| {
        let mut result = traffic(0.99, vec![links("ejection", &[(20, 0); 4])]);
        result.summary.notes = vec![note];
        of(&result).confidence.level
    };
    assert_eq!(
        level(note("saturated", Severity::Warning)),
        ConfidenceLevel::High,
        "it is what the verdict says"
    );
    assert_eq!(
        level(note("near-saturation", Severity::Info)),
        ConfidenceLevel::Medium
    );
    assert_eq!(
        level(note("late-detours", Severity::Warning)),
        ConfidenceLevel::Low
    );
}

#[test]
fn what_is_not_known_is_said() {
    let empty = RunResult::new(serde_json::json!({}), Outcome::default(), RunSummary::default());
    let unknown = of(&empty);
    assert_eq!(
        (unknown.rule.as_str(), unknown.confidence.level),
        ("nothing-known", ConfidenceLevel::Low)
    );
    let result = traffic(0.5, vec![links("x", &[(100, 0)])]);
    let unknown = verdict(&result.summary, &[], None);
    assert_eq!(
        (unknown.rule.as_str(), unknown.confidence.level),
        ("links-unknown", ConfidenceLevel::Low)
    );
    // A folder of an older version has tables, and no verdict.
    let folder = tempfile::tempdir().unwrap();
    result.write(&folder.path().join("old"), false).unwrap();
    assert_eq!(
        verdict_of_folder(&folder.path().join("old"), &result.summary).unwrap(),
        of(&result)
    );
    let page = std::fs::read_to_string(folder.path().join("old/report.html")).unwrap();
    assert!(page.contains(&of(&result).headline), "the report begins with it");
}

#[test]
fn jobs_of_ranks_come_before_traffic() {
    let mut result = sample::result();
    let link = serde_json::json!({ "bandwidth": "100 Gbps" });
    result.summary.experiment["network"]["links"] = serde_json::json!({ "host": link, "global": link });
    result.judge();
    let found = result.summary.verdict.clone().unwrap();
    assert_eq!(found.rule, "network-bound", "{}", found.headline);
    assert!(
        found
            .headline
            .contains("divided by estimate into 15.6 % global links, 11.7 % injection links, 6.2 % latency")
    );
    assert_eq!(found.confidence.level, ConfidenceLevel::Medium);
    assert!(found.confidence.reasons[0].contains("`fabricsim explain` measures it"));
    let first = &found.comparisons[0];
    assert!(
        first.differs.starts_with("twice the bandwidth of all links"),
        "{first:?}"
    );
    let set: Vec<(&str, &str)> = first
        .set
        .iter()
        .map(|changed| (changed.key.as_str(), changed.value.as_str()))
        .collect();
    assert_eq!(
        set,
        [
            ("network.links.host.bandwidth", "\"200 Gbps\""),
            ("network.links.global.bandwidth", "\"200 Gbps\"")
        ]
    );
    let shares = |computation: f64, overhead: f64, latency: f64, memory: f64| {
        let mut result = result.clone();
        let bound_by = result.summary.jobs[0].bound_by.as_mut().unwrap();
        bound_by.links.clear();
        (bound_by.computation, bound_by.imbalance) = (computation, 0.05);
        (bound_by.overhead, bound_by.latency, bound_by.memory) = (overhead, latency, memory);
        of(&result)
    };
    for (rule, found) in [
        ("computation-bound", shares(0.6, 0.2, 0.15, 0.0)),
        ("overhead-bound", shares(0.2, 0.6, 0.15, 0.0)),
        ("memory-bound", shares(0.2, 0.1, 0.15, 0.5)),
        ("network-bound", shares(0.2, 0.5, 0.25, 0.0)),
    ] {
        assert_eq!(found.rule, rule, "{}", found.headline);
        assert!(found.headline.contains("job lammps"), "{}", found.headline);
        // The background gets what it offers.
        assert!(
            !found.causes.iter().any(|cause| cause.contains("background")),
            "{found:?}"
        );
    }
    let traffic = result.summary.jobs[1].traffic.as_mut().unwrap();
    traffic.accepted_bytes = traffic.offered_bytes / 2;
    let lost = of(&result);
    assert!(
        lost.causes
            .iter()
            .any(|cause| cause.contains("for job background")),
        "{lost:?}"
    );
}

/// The run estimated that global links bound the job; the explanation finds latency.
#[test]
fn the_explanation_leads_and_its_bound_decides_what_is_proposed() {
    let mut result = sample::result();
    let link = serde_json::json!({ "bandwidth": "100 Gbps", "latency": "50 ns" });
    result.summary.experiment["network"]["links"] = serde_json::json!({ "host": link, "global": link });
    result.judge();
    let keys = |verdict: &Verdict| -> Vec<String> {
        let set = verdict.comparisons.iter().flat_map(|comparison| &comparison.set);
        set.map(|changed| changed.key.clone()).collect()
    };
    let before = result.summary.verdict.clone().unwrap();
    assert!(
        keys(&before).iter().all(|key| key.ends_with("bandwidth")),
        "{before:?}"
    );
    let part = |cause: &str, share: f64| PathContribution {
        cause: cause.into(),
        time_ns: 1e6 * share,
        share,
        rank: Some(17),
        call: Some("MPI_Allreduce".into()),
        function: Some("solve".into()),
        ..PathContribution::default()
    };
    let path = CriticalPath {
        job: "lammps".into(),
        finished: true,
        time_ns: 1e6,
        bound_by: Some(BoundBy {
            computation: 0.3,
            imbalance: 0.2,
            latency: 0.5,
            ..BoundBy::default()
        }),
        contributions: vec![
            part("latency", 0.5),
            part("imbalance", 0.2),
            part("computation", 0.01),
        ],
        ..CriticalPath::default()
    };
    let paths = CriticalPaths {
        schema: CRITICAL_PATH_SCHEMA.into(),
        digest: result.summary.digest.clone(),
        jobs: vec![path],
    };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("result");
    result.write(&folder, false).unwrap();
    paths.write(&folder, &rows::critical_path([])).unwrap();
    let shown = explained_summary(&folder, &result.summary).unwrap();
    let found = shown.verdict.clone().unwrap();
    assert!(
        found.headline.contains("The network takes 50.0 %"),
        "{}",
        found.headline
    );
    assert!(
        found.headline.ends_with("lammps: 50.0 % latency."),
        "{}",
        found.headline
    );
    assert!(
        found
            .causes
            .iter()
            .any(|cause| cause.starts_with("Imbalance: rank 17 computes 200 µs")),
        "{found:?}"
    );
    assert!(
        !found.causes.iter().any(|cause| cause.starts_with("Computation")),
        "{found:?}"
    );
    assert!(
        !found
            .confidence
            .reasons
            .iter()
            .any(|reason| reason.contains("estimate"))
    );
    assert!(
        keys(&found).iter().all(|key| key.ends_with("latency")),
        "{found:?}"
    );
    assert_eq!(shown.jobs[0].bound_by, paths.jobs[0].bound_by);
    assert_eq!(verdict_of_folder(&folder, &result.summary).unwrap(), found);
    let report = renew_report(&folder).unwrap().expect("a result has a report");
    let page = std::fs::read_to_string(&report).unwrap();
    assert!(page.contains(&found.headline) && !page.contains(&before.headline));
    assert!(page.contains("50.0 % latency, 30.0 % computation, 20.0 % imbalance"));
    // The stored summary stays that of the run.
    assert_eq!(Summary::load(&folder).unwrap().verdict, Some(before));
    std::fs::remove_file(report).unwrap();
    assert_eq!(renew_report(&folder).unwrap(), None);
}

#[test]
fn commands_repeat_the_run_and_can_be_copied() {
    let set = [("job.0.traffic.pattern".to_string(), "\"adversarial\"".to_string())];
    let files = [PathBuf::from("my preset.toml")];
    let run = RepeatedRun::new(Path::new("my runs/a.toml"), &files, &set, Path::new("results/a"));
    let found = of(&traffic(0.6, vec![links("x", &[(90, 0); 10])]));
    let command = run.comparison(2, &found.comparisons[1]);
    assert_eq!(
        command,
        "fabricsim run 'my runs/a.toml' --set-file 'my preset.toml' --set 'job.0.traffic.pattern=\"adversarial\"' --set \
         'network.routing={ algorithm = \"minimal-adaptive\" }' --out results/a-2"
    );
    let text = found.text(Some(&run));
    assert!(text.starts_with("verdict   The x links as a class"), "{text}");
    assert!(
        text.contains(&command) && !found.text(None).contains("--set"),
        "{text}"
    );
}

#[test]
fn the_page_has_every_rule_and_threshold() {
    let page = include_str!("../../../docs/methods/verdict.md");
    let rules: Vec<&str> = VERDICT_RULES.iter().map(|rule| rule.name).collect();
    let rows = |heading: &str| -> Vec<Vec<String>> {
        let section = page.split(&format!("\n## {heading}\n")).nth(1).expect(heading);
        let section = section.split("\n## ").next().unwrap();
        let rows = section.lines().filter(|line| line.starts_with("| `"));
        rows.map(|line| line.split('|').map(|cell| cell.trim().replace('`', "")).collect())
            .collect()
    };
    let written: Vec<String> = rows("Rules").iter().map(|row| row[1].clone()).collect();
    assert_eq!(written, rules, "the rules, in their order");
    let written: Vec<(String, f64)> = rows("Thresholds")
        .iter()
        .map(|row| (row[1].clone(), row[2].parse().unwrap()))
        .collect();
    let expected: Vec<(String, f64)> = VERDICT_THRESHOLDS
        .iter()
        .map(|(name, value)| (name.to_string(), *value))
        .collect();
    assert_eq!(written, expected);
}

/// A million hosts have 15 million links.
#[test]
fn the_verdict_costs_a_pass_over_the_links() {
    let mut rows = links("x", &vec![(40, 20); 400_000]);
    rows.extend(links("ejection", &vec![(30, 0); 100_000]));
    let result = traffic(0.5, vec![rows]);
    let begin = std::time::Instant::now();
    let found = of(&result);
    let took = begin.elapsed();
    println!("500 000 links: {took:?}");
    assert_eq!(found.rule, "no-full-link");
    assert!(took.as_secs() < 5, "{took:?}");
}
