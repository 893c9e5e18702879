//! Notes of a result: when a result has which, and where they are shown.

mod sample;

use std::collections::BTreeSet;

use fabricsim_results::{
    Histogram, NOTE_KINDS, Note, Outcome, RunResult, RunSummary, Severity, Summary, compare, report,
};

fn kinds(result: &RunResult) -> Vec<&str> {
    result
        .summary
        .notes
        .iter()
        .map(|note| note.kind.as_str())
        .collect()
}

fn result(change: impl FnOnce(&mut Outcome)) -> RunResult {
    let mut outcome = sample::outcome();
    change(&mut outcome);
    RunResult::new(sample::experiment(), outcome, sample::run())
}

/// A run whose measured packets are none.
fn nothing_measured() -> RunResult {
    result(|outcome| {
        for (latency, hops) in [(&mut outcome.network.latency_ps, &mut outcome.network.hops)]
            .into_iter()
            .chain(
                outcome
                    .jobs
                    .iter_mut()
                    .map(|job| (&mut job.latency_ps, &mut job.hops)),
            )
        {
            (*latency, *hops) = (Histogram::new(), Histogram::new());
        }
    })
}

#[test]
fn a_sound_result_has_no_notes() {
    assert_eq!(sample::result().summary.notes, []);
    assert_eq!(
        RunResult::new(serde_json::json!({}), Outcome::default(), RunSummary::default())
            .summary
            .notes,
        []
    );
}

#[test]
fn every_kind_has_a_section_on_the_page_and_the_page_has_no_other() {
    let page = include_str!("../../../docs/trust.md");
    let sections: Vec<&str> = page.split("\n## `").skip(1).collect();
    let written: BTreeSet<&str> = sections
        .iter()
        .filter_map(|text| text.split('`').next())
        .collect();
    let names: BTreeSet<&str> = NOTE_KINDS.iter().map(|kind| kind.name).collect();
    assert_eq!(written, names);
    for (section, name) in sections.iter().zip(NOTE_KINDS.iter().map(|kind| kind.name)) {
        let example = section.lines().find(|line| line.starts_with("> "));
        assert!(
            example.is_some_and(|line| line.contains(&format!(": {name}: "))),
            "an example of {name}, in the order of the registry"
        );
    }
}

#[test]
fn latency_has_no_value_where_no_packet_was_measured() {
    let result = nothing_measured();
    assert_eq!(kinds(&result), ["nothing-measured"]);
    let network = &result.summary.network;
    assert_eq!(
        (network.latency_ns.mean, network.latency_ns.p99, network.mean_hops),
        (None, None, None)
    );
    let text = compare(&[("a", result.summary.clone())]);
    for label in [
        "  packet latency, mean",
        "  packet latency, p99",
        "  packet latency, max",
        "  hops, mean",
    ] {
        let line = text.lines().find(|line| line.starts_with(label)).expect(label);
        assert!(line.ends_with("  -"), "{line}");
    }
    assert!(text.contains("\nwarning: nothing-measured: no packet"), "{text}");
    let page = report(&result.summary, &result.tables);
    assert!(page.contains("no packet was measured") && !page.contains("99 % below"));
}

/// Results of older versions have zeros, and no notes.
#[test]
fn zeros_of_older_results_are_no_values() {
    let result = nothing_measured();
    let folder = tempfile::tempdir().unwrap();
    result.write(&folder.path().join("old"), false).unwrap();
    let path = folder.path().join("old/summary.json");
    let mut json: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    let zeros = serde_json::json!({"mean": 0.0, "p50": 0.0, "p99": 0.0, "max": 0.0});
    json["network"]["latency_ns"] = zeros.clone();
    json["network"]["mean_hops"] = 0.0.into();
    json["jobs"][0]["latency_ns"] = zeros;
    json.as_object_mut()
        .unwrap()
        .remove("notes")
        .expect("new results have notes");
    std::fs::write(&path, json.to_string()).unwrap();
    let mut expected = result.summary;
    expected.notes.clear();
    assert_eq!(Summary::load(&folder.path().join("old")).unwrap(), expected);
}

#[test]
fn accepted_load_below_offered_load_is_saturation() {
    let accept = |share: f64| {
        result(|outcome| {
            outcome.network.accepted_bytes = (outcome.network.offered_bytes as f64 * share) as u64;
        })
    };
    assert_eq!(kinds(&accept(0.96)), [""; 0], "noise");
    let saturated = accept(0.6);
    assert_eq!(kinds(&saturated), ["saturated"]);
    let note = &saturated.summary.notes[0];
    assert_eq!((note.severity, &note.job), (Severity::Warning, &None));
    assert!(
        note.found.contains("accepted 18.2 %") && note.found.contains("30.4 % was offered"),
        "{note}"
    );
    assert!(
        note.found
            .contains("40.0 % of the offered traffic had not arrived"),
        "{note}"
    );
    let ranks = result(|outcome| {
        outcome.network.accepted_bytes /= 2;
        outcome.jobs.truncate(1);
    });
    assert_eq!(kinds(&ranks), [""; 0], "ranks offer no load");
}

#[test]
fn traffic_in_flight_in_a_short_run_is_no_saturation() {
    let mut short = result(|outcome| {
        let network = &mut outcome.network;
        network.accepted_bytes = network.offered_bytes / 2;
        network.measured_ps = 2_000_000;
    });
    assert_eq!(
        kinds(&short),
        [""; 0],
        "2 µs, and the fastest packet takes 0.3 µs"
    );
    short.set_bounds(Some(sample::bounds()));
    assert_eq!(kinds(&short), [""; 0], "2 µs, and the computed latency is 0.6 µs");
}

#[test]
fn loads_above_the_bound_are_saturation() {
    let mut result = result(|_| ());
    let mut bounds = sample::bounds();
    bounds.scale = Some(1.0 - 1e-9);
    result.set_bounds(Some(bounds.clone()));
    assert_eq!(kinds(&result), [""; 0], "rounding");
    bounds.scale = Some(0.5);
    result.set_bounds(Some(bounds));
    assert_eq!(kinds(&result), ["saturated"]);
    let found = &result.summary.notes[0].found;
    assert!(
        found.contains("full at 0.500 times the requested load: leaf-spine link of router 3"),
        "{found}"
    );
    assert!(!found.contains("had not arrived"), "{found}");
}

#[test]
fn a_job_without_its_end_is_cut_off() {
    let result = result(|outcome| outcome.jobs[0].finished = false);
    assert_eq!(kinds(&result), ["cut-off"]);
    let note = &result.summary.notes[0];
    assert_eq!(note.job.as_deref(), Some("lammps"));
    assert!(
        note.to_string()
            .starts_with("warning: cut-off: job lammps: the run ended at 21.5 ms with "),
        "{note}"
    );
}

/// A note that names a job.
fn note() -> Note {
    Note {
        kind: "cut-off".into(),
        severity: Severity::Warning,
        job: Some("<b>".into()),
        found: "the run ended at 3 ms".into(),
        advice: "Choose a longer run.until".into(),
    }
}

#[test]
fn notes_are_shown_by_run_and_in_the_report() {
    let mut result = sample::result();
    let digest = result.summary.digest.clone();
    result.note(note());
    assert_eq!(result.summary.digest, digest);
    let text = compare(&[("a", sample::result().summary), ("b", result.summary.clone())]);
    let line = "b: warning: cut-off: job <b>: the run ended at 3 ms. Choose a longer run.until.";
    assert!(text.ends_with(&format!("\n{line}\n")), "{text}");
    let page = report(&result.summary, &result.tables);
    let boxed = "<p class=\"warning\"><b>cut-off</b>: job &lt;b&gt;: the run ended at 3 ms. Choose a longer run.until.</p>";
    assert!(page.contains(boxed));
    assert!(!report(&sample::result().summary, &[]).contains("class=\"notes\""));
}
