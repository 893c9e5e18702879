//! A part of a recording lies outside the window that is replayed.

use super::{Note, Severity};
use crate::{CutSummary, JobSummary, RunResult, show};

pub(super) const NAME: &str = "outside-window";

/// Share of the recorded time below which the default window is not worth a note.
const SMALL: f64 = 0.01;

/// Share of the recorded time above which the recording is mostly not the application.
const MOST: f64 = 0.5;

/// One note per job with a selected window, or whose recording has much time before MPI's initialization or after its
/// finalization.
pub(super) fn find(result: &RunResult) -> Vec<Note> {
    result.summary.jobs.iter().filter_map(note).collect()
}

fn note(job: &JobSummary) -> Option<Note> {
    let recording = job.recording.as_ref()?;
    let share = match recording.span_ns > 0.0 {
        true => recording.outside_ns / recording.span_ns,
        false => 0.0,
    };
    let time = format!(
        "{:.1} % of the recorded time ({} of {} per rank)",
        100.0 * share,
        show::time(recording.outside_ns),
        show::time(recording.span_ns)
    );
    let Some(cut) = &recording.cut else {
        if share < SMALL {
            return None;
        }
        return Some(Note {
            kind: NAME.into(),
            severity: match share > MOST {
                true => Severity::Warning,
                false => Severity::Info,
            },
            job: Some(job.name.clone()),
            found: format!(
                "{time} is before the end of MPI_Init or after the start of MPI_Finalize and is not replayed"
            ),
            advice: "Compare the prediction with the recorded time between them, or record a longer run; window = { kind \
                     = \"all\" } replays the whole recording"
                .into(),
        });
    };
    Some(Note {
        kind: NAME.into(),
        severity: Severity::Info,
        job: Some(job.name.clone()),
        found: format!(
            "{time} is outside the selected window and is not replayed{}",
            left_out(cut)
        ),
        advice: "The prediction is that of the window, which all ranks begin together".into(),
    })
}

/// Operations in the window that are left out.
fn left_out(cut: &CutSummary) -> String {
    let counts = [
        (cut.sends, "sends"),
        (cut.receives, "receives"),
        (cut.collectives, "calls of collectives"),
        (cut.transfers, "one-sided transfers"),
    ];
    let counts: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, name)| format!("{} {name}", show::count(*count)))
        .collect();
    let mut text = String::new();
    if !counts.is_empty() {
        text = format!(
            "; left out inside it, since their partners are outside: {}",
            counts.join(", ")
        );
    }
    if cut.requests > 0 {
        text += &format!(
            "; not waited for: {} requests of operations outside",
            show::count(cut.requests)
        );
    }
    text
}
