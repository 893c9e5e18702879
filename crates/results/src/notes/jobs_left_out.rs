//! Jobs of a job trace that cannot run were left out.

use super::{Note, Severity};
use crate::{RunResult, show};

pub(super) const NAME: &str = "jobs-left-out";

/// One note with the number of jobs and the reasons.
pub(super) fn find(result: &RunResult) -> Vec<Note> {
    let Some(schedule) = &result.summary.schedule else {
        return Vec::new();
    };
    let left_out: u64 = schedule.left_out.values().sum();
    if left_out == 0 {
        return Vec::new();
    }
    let reasons = schedule
        .left_out
        .iter()
        .map(|(reason, jobs)| format!("{} with {reason}", show::count(*jobs)));
    vec![Note {
        kind: NAME.into(),
        severity: Severity::Info,
        job: None,
        found: format!(
            "{} of {} jobs of the trace cannot run and were left out: {}",
            show::count(left_out),
            show::count(left_out + schedule.jobs),
            reasons.collect::<Vec<_>>().join(", ")
        ),
        advice:
            "The load on the machine is that of the others; if these jobs matter, correct them in the file"
                .into(),
    }]
}
