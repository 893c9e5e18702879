//! A recording has times that no run of the application explains.

use super::{Note, Severity};
use crate::{JobSummary, RunResult, show};

pub(super) const NAME: &str = "implausible-times";

/// Ranks of one application start and end together. A gap this many times as long as the recording of the median rank
/// is one that the other ranks have not seen.
const FACTOR: f64 = 1000.0;

/// A gap of 30 days is implausible whatever the other ranks recorded.
const LONGEST_NS: f64 = 30.0 * 86_400e9;

/// One note per job with such a gap.
pub(super) fn find(result: &RunResult) -> Vec<Note> {
    result.summary.jobs.iter().filter_map(note).collect()
}

fn note(job: &JobSummary) -> Option<Note> {
    let recording = job.recording.as_ref()?;
    let gap = recording.longest_gap?;
    let median = recording.median_span_ns;
    let exceeds_others = median > 0.0 && gap.time_ns > FACTOR * median;
    if !exceeds_others && gap.time_ns <= LONGEST_NS {
        return None;
    }
    let others = if exceeds_others {
        format!(
            ", and half of the ranks recorded {} or less in all",
            show::time(median)
        )
    } else {
        String::new()
    };
    Some(Note {
        kind: NAME.into(),
        severity: Severity::Warning,
        job: Some(job.name.clone()),
        found: format!(
            "the recording of rank {} has no event for {}, from {} after its first one{others}: its times are \
             probably damaged, and computation of the rank is too long or missing",
            show::count(gap.rank),
            show::time(gap.time_ns),
            show::time(gap.at_ns)
        ),
        advice: "Copy the trace again, or record it again".into(),
    })
}
