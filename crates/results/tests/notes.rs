//! Notes of a result: when a result has which, and where they are shown.

mod sample;

use std::collections::BTreeSet;

use fabricsim_results::{
    AssumedValue, Assumptions, BacklogGrowth, CutSummary, DroppedSummary, Histogram, MeasuredError,
    NOTE_KINDS, Note, Outcome, RecordingTotals, RunResult, RunSummary, Severity, Summary, Unreceived,
    compare, report, rows,
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

/// Measurements without a measured packet.
fn nothing_measured_outcome() -> Outcome {
    let mut outcome = sample::outcome();
    let jobs = outcome.jobs.iter_mut();
    let of_jobs = jobs.map(|job| (&mut job.latency_ps, &mut job.hops));
    let of_network = (&mut outcome.network.latency_ps, &mut outcome.network.hops);
    for (latency, hops) in of_jobs.chain([of_network]) {
        (*latency, *hops) = (Histogram::new(), Histogram::new());
    }
    outcome
}

/// A run whose measured packets are none.
fn nothing_measured() -> RunResult {
    RunResult::new(sample::experiment(), nothing_measured_outcome(), sample::run())
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
    for key in ["notes", "checksums", "checksum"] {
        let removed = json.as_object_mut().unwrap().remove(key);
        removed.expect("new results have it");
    }
    std::fs::write(&path, json.to_string()).unwrap();
    let mut expected = result.summary;
    expected.notes.clear();
    assert_eq!(Summary::load(&folder.path().join("old")).unwrap(), expected);
}

/// A result whose background accepts this share of what it offers, with this share of the rest accumulated in the
/// second half, measured for this time.
fn accepted(share: f64, late: f64, measured_ps: u64) -> RunResult {
    let mut result = result(|outcome| {
        outcome.network.measured_ps = measured_ps;
        let traffic = outcome.jobs[1].traffic.as_mut().expect("background is traffic");
        traffic.offered_bytes = measured_ps / 10;
        traffic.accepted_bytes = (traffic.offered_bytes as f64 * share) as u64;
        let grown = (traffic.offered_bytes - traffic.accepted_bytes) as f64;
        let growth = |from_ps, until_ps, share: f64| BacklogGrowth {
            from_ps,
            until_ps,
            bytes: (grown * share) as i64,
        };
        traffic.growth = vec![
            growth(measured_ps / 2, measured_ps, late / 2.0),
            growth(measured_ps / 4, measured_ps / 2, late / 2.0),
        ];
    });
    result.set_bounds(Some(sample::bounds()));
    result
}

/// A millisecond: long, beside the 1.5 us of the longest idle latency.
const LONG_PS: u64 = 1_000_000_000;

#[test]
fn a_backlog_that_grows_is_saturation() {
    assert_eq!(kinds(&accepted(0.96, 1.0, LONG_PS)), [""; 0], "noise");
    let saturated = accepted(0.6, 0.75, LONG_PS);
    assert_eq!(kinds(&saturated), ["saturated"]);
    let note = &saturated.summary.notes[0];
    assert_eq!(
        (note.severity, note.job.as_deref()),
        (Severity::Warning, Some("background"))
    );
    assert!(
        note.found.ends_with(
            "40.0 % of the offered traffic had not arrived at the end, and the backlog was still growing"
        ),
        "{note}"
    );
    let ranks = result(|outcome| {
        outcome.network.accepted_bytes /= 2;
        outcome.jobs.truncate(1);
    });
    assert_eq!(kinds(&ranks), [""; 0], "ranks offer no load");
}

#[test]
fn a_deficit_that_traffic_in_flight_may_explain_is_not_steady() {
    let short = accepted(0.6, 0.75, 5_000_000);
    assert_eq!(kinds(&short), ["not-steady"]);
    let note = &short.summary.notes[0];
    assert_eq!(note.job.as_deref(), Some("background"));
    assert!(
        note.found.contains(
            "40.0 % of the offered traffic had not arrived after 5 µs of measurement, and traffic in flight explains \
             up to 60.0 %"
        ),
        "{note}"
    );
    // The backlog grew early, and is stationary.
    assert_eq!(kinds(&accepted(0.9, 0.0, LONG_PS)), ["not-steady"]);
    // Nothing says how much may be in flight.
    let mut unknown = accepted(0.6, 0.75, LONG_PS);
    unknown.set_bounds(None);
    assert_eq!(kinds(&unknown), ["not-steady"]);
}

#[test]
fn loads_above_the_bound_are_saturation() {
    let mut result = result(|_| ());
    let mut bounds = sample::bounds();
    bounds.scale = Some(1.0 - 1e-9);
    result.set_bounds(Some(bounds.clone()));
    assert_eq!(kinds(&result), [""; 0], "rounding");
    bounds.scale = Some(0.5);
    result.set_bounds(Some(bounds.clone()));
    assert_eq!(kinds(&result), ["saturated"]);
    let note = &result.summary.notes[0];
    assert_eq!(note.job.as_deref(), Some("background"));
    assert!(
        note.found.contains(
            "the first link is full at 0.500 times the requested load: leaf-spine link of router 3"
        ),
        "{note}"
    );
    assert!(!note.found.contains("had not arrived"), "{note}");
    bounds.scale_of_host_links = true;
    result.set_bounds(Some(bounds.clone()));
    let found = &result.summary.notes[0].found;
    assert!(
        found.contains("the first link of a host is full at 0.500 times"),
        "{found}"
    );
    // The job with the greatest load on that link is named, not every job that crosses it.
    bounds.scale_job = "another".into();
    result.set_bounds(Some(bounds));
    assert_eq!(kinds(&result), [""; 0]);
}

#[test]
fn a_job_without_measured_packets_is_named() {
    let result = result(|outcome| {
        let job = &mut outcome.jobs[1];
        (job.latency_ps, job.hops) = (Histogram::new(), Histogram::new());
    });
    assert_eq!(kinds(&result), ["nothing-measured"]);
    let note = &result.summary.notes[0];
    assert_eq!(note.job.as_deref(), Some("background"));
    assert!(note.found.starts_with("no packet of the job"), "{note}");
}

#[test]
fn the_reason_for_no_measured_packet_is_named() {
    let none = |change: &dyn Fn(&mut Outcome)| {
        let mut outcome = nothing_measured_outcome();
        change(&mut outcome);
        let result = RunResult::new(sample::experiment(), outcome, sample::run());
        assert_eq!(kinds(&result), ["nothing-measured"]);
        result.summary.notes[0].to_string()
    };
    let unsent = none(&|outcome| {
        (
            outcome.network.packets_injected,
            outcome.network.packets_delivered,
        ) = (0, 0)
    });
    assert!(
        unsent.contains("no packet was sent through the network"),
        "{unsent}"
    );
    let early = none(&|outcome| outcome.network.measured_ps = 0);
    assert!(
        early.contains("the run ended at 21.5 ms, before the end of the warm-up")
            && early.contains("shorter run.warmup"),
        "{early}"
    );
}

#[test]
fn hosts_that_are_served_badly_are_noted_where_traffic_lacks() {
    let unfair = |share: f64, least_share: f64| {
        let mut result = accepted(share, 1.0, LONG_PS);
        let traffic = result.summary.jobs[1].traffic.as_mut().unwrap();
        traffic.fairness.as_mut().unwrap().least_share = least_share;
        result.set_bounds(Some(sample::bounds()));
        result
    };
    assert_eq!(kinds(&unfair(0.6, 0.5)), ["saturated"]);
    assert_eq!(kinds(&unfair(1.0, 0.1)), [""; 0], "all traffic arrives");
    let note = &unfair(0.6, 0.1).summary.notes[1];
    assert_eq!((note.kind.as_str(), note.severity), ("unfair", Severity::Info));
    assert!(
        note.found.starts_with(
            "the worst of 37 hosts injected 10.0 % of its offered traffic, and the mean is 96.9 %"
        ),
        "{note}"
    );
}

#[test]
fn detours_that_begin_above_a_full_buffer_are_noted() {
    let at = |detour_load_bytes| result(|outcome| outcome.network.detour_load_bytes = detour_load_bytes);
    assert_eq!(kinds(&at(None)), [""; 0]);
    assert_eq!(kinds(&at(Some(8192))), [""; 0]);
    assert_eq!(kinds(&at(Some(8193))), ["late-detours"]);
}

#[test]
fn detours_without_back_pressure_are_noted() {
    let with = |model: &str, detour_load_bytes| {
        let mut outcome = sample::outcome();
        outcome.network.detour_load_bytes = detour_load_bytes;
        // Its busiest link has a note of its own.
        outcome.tables.retain(|table| table.name() != "links");
        let mut experiment = sample::experiment();
        experiment["network"]["router"]["model"] = model.into();
        RunResult::new(experiment, outcome, sample::run())
    };
    assert_eq!(kinds(&with("output-queued", Some(64))), ["no-back-pressure"]);
    assert_eq!(kinds(&with("output-queued", None)), [""; 0]);
    assert_eq!(kinds(&with("packet", Some(64))), [""; 0]);
}

#[test]
fn detours_on_virtual_channels_by_phase_may_deadlock() {
    let with = |algorithm: &str, vcs: &str| {
        let mut experiment = sample::experiment();
        experiment["network"]["routing"] = serde_json::json!({ "algorithm": algorithm, "vcs": vcs });
        RunResult::new(experiment, sample::outcome(), sample::run())
    };
    assert_eq!(kinds(&with("ugal", "by-phase")), ["may-deadlock"]);
    assert_eq!(kinds(&with("ugal", "by-segment")), [""; 0]);
    assert_eq!(kinds(&with("minimal", "by-phase")), [""; 0]);
}

#[test]
fn dropped_packets_are_counted_by_reason() {
    let mut outcome = sample::outcome();
    let dropped = |reason: &str, packets| DroppedSummary {
        reason: reason.into(),
        packets,
        bytes: 64 * packets,
    };
    outcome.network.packets_injected = 1000;
    outcome.network.packets_delivered = 990;
    outcome.network.ended_otherwise = 3;
    outcome.network.dropped = vec![dropped("buffer-full", 2), dropped("link-down", 1)];
    let result = RunResult::new(sample::experiment(), outcome, sample::run());
    assert_eq!(result.summary.network.packets_in_flight, 7);
    let notes = &result.summary.notes;
    let note = notes
        .iter()
        .find(|note| note.kind == "dropped-packets")
        .expect("a note");
    let expected =
        "3 packets were dropped, 0.30 % of those that NICs sent: 2 for buffer-full, 1 for link-down";
    assert_eq!(note.found, expected);
}

#[test]
fn rounded_rates_are_one_note() {
    let with = |count: usize| {
        let rate = |n: usize| {
            let rounding = config::Bandwidth::rounding(&format!("{n}.7 GiB/s"))?;
            let key = format!("link{n}");
            Some(config::RoundedRate { key, ..rounding })
        };
        result(|outcome| outcome.rounded_rates = (0..count).filter_map(rate).collect())
    };
    assert_eq!(kinds(&with(0)), [""; 0]);
    let two = with(2);
    assert_eq!(kinds(&two), ["rounded-rate"]);
    assert_eq!(
        two.summary.notes[0].to_string(),
        "info: rounded-rate: link0: \"0.7 GiB/s\" is not a whole number of bits per second; 6012954214 bps is used \
         (relative difference 6.7e-11), link1: \"1.7 GiB/s\" is not a whole number of bits per second; 14602888806 bps \
         is used (relative difference 2.7e-11). Write whole numbers of bits per second to have exactly the rates that \
         are written."
    );
    let five = with(5);
    assert!(
        five.summary.notes[0].found.ends_with(", 2 more"),
        "{}",
        five.summary.notes[0]
    );
    assert_eq!(five.summary.rounded_rates.len(), 5);
    assert_eq!(five.summary.digest, with(0).summary.digest);
    let json = serde_json::to_string(&two.summary).unwrap();
    assert_eq!(serde_json::from_str::<Summary>(&json).unwrap(), two.summary);
}

#[test]
fn the_model_packet_is_noted_near_saturation() {
    let with = |model: &str, busy_fraction: f64, until: f64| {
        let mut outcome = sample::outcome();
        let row = |class: &'static str, busy_fraction: f64| rows::LinkRow {
            class: class.into(),
            busy_fraction,
            ..rows::LinkRow::default()
        };
        let links = [row("injection", 1.0), row("up", busy_fraction), row("up", until)];
        outcome.tables.retain(|table| table.name() != "links");
        outcome.tables.push(rows::links(links));
        let mut experiment = sample::experiment();
        experiment["network"]["router"]["model"] = model.into();
        RunResult::new(experiment, outcome, sample::run())
    };
    assert_eq!(kinds(&with("packet", 0.45, 0.4)), [""; 0]);
    assert_eq!(
        kinds(&with("packet", 0.1, 0.55)),
        ["near-saturation"],
        "one of few links"
    );
    assert_eq!(kinds(&with("input-queued", 0.9, 0.6)), [""; 0]);
    let kinds_without_credits = ["near-saturation", "no-back-pressure"];
    assert_eq!(kinds(&with("output-queued", 0.9, 0.6)), kinds_without_credits);
    let near = with("packet", 0.9, 0.6);
    assert_eq!(kinds(&near), ["near-saturation"]);
    assert!(
        near.summary.notes[0]
            .found
            .contains("one link in twenty is busy for at least 90.0 % of the time")
    );
}

#[test]
fn models_with_queues_are_noted_from_the_load_on_at_which_they_are_off() {
    let with = |model: &str, accepted: u64, pattern: &str, routers: serde_json::Value| {
        let mut outcome = sample::outcome();
        outcome.jobs.retain(|job| job.traffic.is_some());
        outcome.network.accepted_bytes = accepted;
        outcome.network.offered_bytes = accepted;
        let mut experiment = sample::experiment();
        experiment["network"]["router"]["model"] = model.into();
        experiment["network"]["routers"] = routers;
        experiment["job"] = serde_json::json!([{ "traffic": { "pattern": pattern } }]);
        RunResult::new(experiment, outcome, sample::run())
    };
    let none = serde_json::Value::Null;
    let load = |accepted| {
        with("packet", accepted, "bit-reverse", none.clone())
            .summary
            .network
            .accepted_load
    };
    let unit = 1_000_000_000;
    // Bytes of an accepted load of 0.65 and of 0.75.
    let of = |wanted: f64| (wanted / load(unit) * unit as f64) as u64;
    let [lower, higher] = [of(0.65), of(0.75)];
    assert!((0.64..0.66).contains(&load(lower)), "{}", load(lower));
    assert_eq!(
        kinds(&with("crossbar", of(0.59), "uniform", none.clone())),
        [""; 0]
    );
    assert_eq!(
        kinds(&with("crossbar", lower, "uniform", none.clone())),
        ["coarse-router"]
    );
    assert_eq!(kinds(&with("crossbar", lower, "shift", none.clone())), [""; 0]);
    assert_eq!(
        kinds(&with("input-queued", lower, "uniform", none.clone())),
        [""; 0]
    );
    assert_eq!(kinds(&with("flit", higher, "uniform", none.clone())), [""; 0]);
    let mixed = serde_json::json!([{ "groups": 0, "model": "flit" }]);
    assert_eq!(kinds(&with("crossbar", lower, "uniform", mixed)), [""; 0]);
    let note = &with("input-queued", higher, "uniform", none).summary.notes[0];
    assert!(
        note.to_string()
            .contains("off that of crossbar from a load of 0.7 to 0.8 on"),
        "{note}"
    );
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

/// Its time is a setting of the experiment.
#[test]
fn a_stopped_job_is_not_cut_off() {
    let result = result(|outcome| (outcome.jobs[0].finished, outcome.jobs[0].stopped) = (false, true));
    assert!(kinds(&result).is_empty());
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

/// The note of this kind, if the result has no other.
fn only(result: &RunResult, kind: &str) -> Note {
    assert_eq!(kinds(result), [kind]);
    result.summary.notes[0].clone()
}

/// The sample, whose first job has this recording of three ranks of 1 ms.
fn recorded(gap_ps: u64, change: impl FnOnce(&mut RecordingTotals)) -> RunResult {
    result(|outcome| {
        let mut recording = RecordingTotals::new(0, 0);
        for rank in 0..3 {
            recording.add_rank(rank, 1_000_000_000, (5, if rank == 2 { gap_ps } else { 5 }));
        }
        change(&mut recording);
        outcome.jobs[0].recording = recording;
    })
}

#[test]
fn calls_that_are_not_replayed_are_named_by_their_time() {
    assert_eq!(recorded(5, |_| {}).summary.notes, []);
    let note = only(
        &recorded(5, |recording| {
            for (number, call) in (1u64..).zip(["a", "b", "c", "d", "e", "f"]) {
                recording.add_calls(call, 10, 1_000_000 * number);
            }
        }),
        "not-replayed",
    );
    assert_eq!(
        (note.severity, note.job.as_deref()),
        (Severity::Warning, Some("lammps"))
    );
    assert!(
        note.found
            .contains("10 f, 10 e, 10 d, 10 c, 20 others (7 µs of 1 ms"),
        "{note}"
    );
}

#[test]
fn locations_that_are_no_ranks_are_no_warning() {
    let result = result(|outcome| {
        outcome.jobs[0].recording = RecordingTotals::new(4, 90);
        outcome.jobs[0].recording.add_rank(0, 0, (0, 0));
    });
    let note = only(&result, "not-replayed");
    assert_eq!(note.severity, Severity::Info);
    assert!(note.found.contains("4 with 90 events"), "{note}");
}

#[test]
fn gaps_are_implausible_beyond_a_thousand_recordings_of_the_others() {
    assert_eq!(recorded(1_000_000_000_000, |_| {}).summary.notes, []);
    let note = only(&recorded(1_000_000_000_001, |_| {}), "implausible-times");
    assert!(note.found.contains("the recording of rank 2"), "{note}");
    // A rank alone has no others to compare it with.
    let alone = |gap_ps| result(|outcome| outcome.jobs[0].recording.add_rank(0, gap_ps, (0, gap_ps)));
    let days = |days: u64| days * 86_400_000_000_000_000;
    assert_eq!(alone(days(30)).summary.notes, []);
    only(&alone(days(31)), "implausible-times");
}

#[test]
fn time_outside_the_window_is_a_warning_where_it_is_most_of_the_recording() {
    // Three ranks, of which this share of their 1 ms in percent is outside.
    let outside = |percent: u64, cut: Option<CutSummary>| {
        recorded(5, |recording| {
            (0..3).for_each(|_| recording.add_window(percent * 10_000_000, cut));
        })
    };
    assert_eq!(outside(0, None).summary.notes, []);
    let small = recorded(5, |recording| recording.add_window(29_999_999, None));
    assert_eq!(small.summary.notes, []);
    for (percent, severity) in [(1, Severity::Info), (50, Severity::Info), (51, Severity::Warning)] {
        let note = only(&outside(percent, None), "outside-window");
        assert_eq!(note.severity, severity, "{note}");
        let share = format!("{percent}.0 % of the recorded time");
        assert!(note.found.starts_with(&share), "{note}");
        assert!(note.found.contains("before the end of MPI_Init"), "{note}");
    }
    // The user has selected it, however small it is.
    let cut = CutSummary {
        sends: 2,
        requests: 1,
        ..CutSummary::default()
    };
    let note = only(&outside(99, Some(cut)), "outside-window");
    assert_eq!(note.severity, Severity::Info);
    assert!(
        note.found.ends_with(
            "outside the selected window and is not replayed; left out inside it, since their partners are outside: 6 sends; \
             not waited for: 3 requests of operations outside"
        ),
        "{note}"
    );
    only(&outside(0, Some(CutSummary::default())), "outside-window");
}

#[test]
fn unreceived_messages_of_a_finished_job_are_in_its_note() {
    let lost = |finished| {
        result(|outcome| {
            outcome.jobs[0].unreceived = Some(Unreceived {
                messages: 3,
                sent: 40,
                example: None,
            });
            outcome.jobs[0].finished = finished;
        })
    };
    let note = only(&lost(true), "unreceived");
    assert!(
        note.found
            .contains("3 of 40 messages of the program were not received"),
        "{note}"
    );
    assert_eq!(kinds(&lost(false)), ["cut-off"]);
}

#[test]
fn measured_traffic_that_is_missing_after_the_drain_phase_is_told() {
    let with = |missing: Option<u64>| {
        result(|outcome| {
            let traffic = outcome.jobs.iter_mut().find_map(|job| job.traffic.as_mut());
            traffic.expect("a job of traffic").missing_bytes = missing;
        })
    };
    for missing in [None, Some(0)] {
        assert!(!kinds(&with(missing)).contains(&"not-drained"), "{missing:?}");
    }
    let result = with(Some(29_700_000));
    let note = result
        .summary
        .notes
        .iter()
        .find(|note| note.kind == "not-drained");
    let note = note.expect("the note");
    assert_eq!(note.severity, Severity::Warning);
    assert!(note.job.is_some());
    assert!(note.found.starts_with("1.0 % of the traffic"), "{note}");
    assert_eq!(note.advice, "Choose a longer run.drain");
}

/// A result of the sample's application whose ranks spend `per_mille` of their time in reductions with messages of
/// `bytes`, with these settings of MPI.
fn reducing(per_mille: u64, bytes: u64, mpi: serde_json::Value) -> RunResult {
    assuming(per_mille, bytes, mpi, Assumptions::default())
}

/// The same with assumptions.
fn assuming(per_mille: u64, bytes: u64, mpi: serde_json::Value, assumptions: Assumptions) -> RunResult {
    let mut outcome = sample::outcome();
    outcome.assumptions = assumptions;
    let rank = rows::RankRow {
        job: "lammps".into(),
        time_ps: 1_000_000,
        collective_messages_received: 100,
        collective_bytes_received: 100 * bytes,
        ..rows::RankRow::default()
    };
    let call = |call: &'static str, time_ps| rows::CallRow {
        job: "lammps".into(),
        rank: 0,
        call: call.into(),
        count: 10,
        time_ps,
    };
    let calls = vec![
        call("MPI_Allreduce", 600 * per_mille),
        call("MPI_Reduce", 400 * per_mille),
        call("MPI_Wait", 1_000_000 - 1_000 * per_mille),
    ];
    outcome.tables = vec![rows::ranks(vec![rank]), rows::calls(calls)];
    let mut experiment = sample::experiment();
    experiment["mpi"] = mpi;
    RunResult::new(experiment, outcome, sample::run())
}

#[test]
fn large_reductions_whose_arithmetic_takes_no_time_are_told() {
    let unset = || serde_json::json!({ "eager_threshold": "8 KiB" });
    let note = only(&reducing(250, 1 << 20, unset()), "free-reductions");
    assert_eq!(
        (note.severity, note.job.as_deref()),
        (Severity::Info, Some("lammps"))
    );
    assert!(
        note.found
            .starts_with("reductions take 25.0 % of the time of all ranks, with 1.049 MB"),
        "{note}"
    );
    only(&reducing(100, 4096, unset()), "free-reductions");
    let without_time = serde_json::json!({ "reduction_bandwidth": "none" });
    only(&reducing(250, 1 << 20, without_time), "free-reductions");
    let set = serde_json::json!({ "reduction_bandwidth": "4 GB/s" });
    for none in [
        reducing(99, 1 << 20, unset()),
        reducing(250, 4095, unset()),
        reducing(250, 1 << 20, set),
    ] {
        assert_eq!(kinds(&none), [""; 0]);
    }
}

fn assumed(key: &str, value: &str, preset: Option<&str>) -> AssumedValue {
    AssumedValue {
        key: key.into(),
        value: value.into(),
        preset: preset.map(String::from),
        reason: "a reason".into(),
    }
}

#[test]
fn large_reductions_at_an_assumed_rate_are_told() {
    let mpi = || serde_json::json!({ "reduction_bandwidth": "4 GB/s" });
    let rate = || Assumptions {
        values: vec![assumed("mpi.reduction_bandwidth", "4 GB/s", None)],
        measured: None,
    };
    let note = only(&assuming(250, 1 << 20, mpi(), rate()), "assumed-reductions");
    let says = "and mpi.reduction_bandwidth = 4 GB/s is assumed: a reason";
    assert!(note.found.ends_with(says), "{note}");
    assert_eq!(kinds(&assuming(99, 1 << 20, mpi(), rate())), [""; 0]);
    assert_eq!(kinds(&assuming(250, 4095, mpi(), rate())), [""; 0]);
}

#[test]
fn default_overheads_are_told_where_they_count() {
    let with = |overhead_ps, values| {
        let mut outcome = sample::outcome();
        let rank = rows::RankRow {
            job: "lammps".into(),
            time_ps: 1_000_000,
            overhead_ps,
            ..rows::RankRow::default()
        };
        outcome.tables = vec![rows::ranks(vec![rank])];
        outcome.assumptions.values = values;
        RunResult::new(sample::experiment(), outcome, sample::run())
    };
    let sends = || assumed("mpi.send_overhead", "300 ns", None);
    let receives = || assumed("mpi.receive_overhead", "300 ns", Some("lumi"));
    let note = only(&with(50_000, vec![sends()]), "default-overheads");
    let says = "CPU time of MPI calls is 5.0 % of the time of all ranks, and mpi.send_overhead = 300 ns are defaults";
    assert!(note.found.starts_with(says), "{note}");
    assert_eq!(kinds(&with(49_999, vec![sends()])), [""; 0]);
    assert_eq!(kinds(&with(900_000, vec![])), [""; 0]);
    let both = with(900_000, vec![sends(), receives()]);
    assert_eq!(kinds(&both), ["default-overheads", "assumed-values"]);
}

#[test]
fn assumed_values_of_presets_are_one_note_with_the_error_of_its_study() {
    let with = |assumptions| {
        let outcome = fabricsim_results::Outcome {
            assumptions,
            ..sample::outcome()
        };
        RunResult::new(sample::experiment(), outcome, sample::run())
    };
    let preset = |key, value| assumed(key, value, Some("lumi"));
    let mut assumptions = Assumptions {
        values: vec![
            preset("network.rail_choice", "by-rank"),
            preset("network.routing.algorithm", "ugal"),
            assumed("network.router.delay", "100 ns", Some("slingshot-11")),
            preset("mpi.preset", "cxi"),
            assumed("mpi.reduction_bandwidth", "4 GB/s", None),
        ],
        measured: None,
    };
    let note = only(&with(assumptions.clone()), "assumed-values");
    assert_eq!(
        note.found,
        "4 values of lumi and slingshot-11 have no public source: network.rail_choice = by-rank, \
         network.routing.algorithm = ugal, network.router.delay = 100 ns, 1 more"
    );
    assumptions.measured = Some(MeasuredError {
        preset: "lumi".into(),
        study: "real-machines".into(),
        points: 130,
        median_percent: 38,
    });
    let note = only(&with(assumptions), "assumed-values");
    let says = "; the study real-machines, which calibrates lumi on two nodes, predicts 130 measured times with a median error of 38 %";
    assert!(note.found.ends_with(says), "{note}");
    let default = assumed("mpi.reduction_bandwidth", "4 GB/s", None);
    let without = with(Assumptions {
        values: vec![default],
        measured: None,
    });
    assert_eq!(kinds(&without), [""; 0]);
}
