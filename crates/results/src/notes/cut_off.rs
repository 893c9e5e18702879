//! The run ended before a job of ranks.

use super::{Note, Severity};
use crate::{JobSummary, RunResult, show};

pub(super) const NAME: &str = "cut-off";

/// One note per job of ranks that did not finish.
pub(super) fn find(result: &RunResult) -> Vec<Note> {
    let jobs = result.summary.jobs.iter();
    jobs.filter(|job| job.ranks > 0 && !job.finished && !job.stopped)
        .map(|job| note(result, job))
        .collect()
}

fn note(result: &RunResult, job: &JobSummary) -> Note {
    Note {
        kind: NAME.into(),
        severity: Severity::Warning,
        job: Some(job.name.clone()),
        found: format!(
            "the run ended at {} with {} of {} ranks finished, so the time of the job is not known; it is more than {}",
            show::time(result.summary.run.simulated_ns),
            show::count(finished(result, &job.name)),
            show::count(job.ranks),
            show::time(job.time_ns)
        ),
        advice: "Choose a longer run.until, or leave it out: the run then ends with its jobs".into(),
    }
}

/// Finished ranks of a job.
fn finished(result: &RunResult, job: &str) -> u64 {
    let count = || {
        let ranks = result.table("ranks")?;
        let rows = ranks.texts("job")?.zip(ranks.bools("finished")?);
        Some(
            rows.filter(|(name, finished)| *name == Some(job) && *finished)
                .count() as u64,
        )
    };
    count().unwrap_or(0)
}
