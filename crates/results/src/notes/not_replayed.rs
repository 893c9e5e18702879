//! The replay of a recording leaves something out.

use super::{Note, Severity};
use crate::{JobSummary, NotReplayed, RecordingSummary, RunResult, show};

pub(super) const NAME: &str = "not-replayed";

/// Functions that a note names.
const NAMED: usize = 4;

/// One note per job whose recording has calls that are not replayed, or locations that are no ranks.
pub(super) fn find(result: &RunResult) -> Vec<Note> {
    result.summary.jobs.iter().filter_map(note).collect()
}

fn note(job: &JobSummary) -> Option<Note> {
    let recording = job.recording.as_ref()?;
    let of = |severity, found: Vec<String>, advice: &str| Note {
        kind: NAME.into(),
        severity,
        job: Some(job.name.clone()),
        found: found.join("; "),
        advice: advice.into(),
    };
    let locations = (recording.other_events > 0).then(|| locations(recording));
    if recording.not_replayed.is_empty() {
        let locations = locations?;
        return Some(of(
            Severity::Info,
            vec![locations],
            "The prediction is valid if these threads and accelerators make no MPI calls",
        ));
    }
    let mut found = vec![calls(recording)];
    found.extend(locations);
    Some(of(
        Severity::Warning,
        found,
        "The prediction is without the time and the traffic of these calls: compare it with the recorded time less theirs",
    ))
}

/// The calls, how many they are, and the recorded time in them.
fn calls(recording: &RecordingSummary) -> String {
    let call = |calls: &NotReplayed| format!("{} {}", show::count(calls.count), calls.call);
    let mut named: Vec<String> = recording.not_replayed.iter().take(NAMED).map(call).collect();
    let others = recording.not_replayed.iter().skip(NAMED);
    let others: u64 = others.map(|calls| calls.count).sum();
    if others > 0 {
        named.push(format!("{} others", show::count(others)));
    }
    let time_ns: f64 = recording.not_replayed.iter().map(|calls| calls.time_ns).sum();
    let time = if recording.span_ns > 0.0 {
        format!(
            "{} of {} of recorded time per rank",
            show::time(time_ns),
            show::time(recording.span_ns)
        )
    } else {
        "no times were recorded".into()
    };
    format!(
        "calls of the recording are not replayed: {} ({time})",
        named.join(", ")
    )
}

fn locations(recording: &RecordingSummary) -> String {
    format!(
        "locations of the recording that are no MPI ranks were left out: {} with {} events",
        show::count(recording.other_locations),
        show::count(recording.other_events)
    )
}
