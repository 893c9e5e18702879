//! Messages that were sent, and that no receive has taken when the job ended.

use super::{Note, Severity};
use crate::{JobSummary, RunResult, show};

pub(super) const NAME: &str = "unreceived";

/// One note per finished job with such messages.
pub(super) fn find(result: &RunResult) -> Vec<Note> {
    result.summary.jobs.iter().filter_map(note).collect()
}

fn note(job: &JobSummary) -> Option<Note> {
    let unreceived = job.unreceived.as_ref().filter(|_| job.finished)?;
    let example = match unreceived.example {
        Some(example) => format!(
            ", for example one from rank {} to rank {} with tag {}",
            show::count(example.from),
            show::count(example.to),
            example.tag
        ),
        None => String::new(),
    };
    Some(Note {
        kind: NAME.into(),
        severity: Severity::Warning,
        job: Some(job.name.clone()),
        found: format!(
            "all ranks have ended, and {} of {} messages of the program were not received{example}",
            show::count(unreceived.messages),
            show::count(unreceived.sent)
        ),
        advice: "Check that each send has its receive: MPI requires it, and a recording that lacks receives is incomplete"
            .into(),
    })
}
