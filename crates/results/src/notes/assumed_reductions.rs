//! The rate of the arithmetic of reductions is a default, and ranks spend much of their time in reductions.

use super::free_reductions::{jobs_of_large_reductions, show_reductions};
use super::{Note, Severity};
use crate::RunResult;

pub(super) const NAME: &str = "assumed-reductions";

/// One note for each job with large reductions, unless the experiment says how fast their arithmetic is.
pub(super) fn find(result: &RunResult) -> Vec<Note> {
    let Some(assumed) = result.summary.assumptions.get("mpi.reduction_bandwidth") else {
        return Vec::new();
    };
    let notes = jobs_of_large_reductions(result).map(|(job, part, bytes)| Note {
        kind: NAME.into(),
        severity: Severity::Info,
        job: Some(job.name.clone()),
        found: format!(
            "{}, and {assumed} is assumed: {}",
            show_reductions(part, bytes),
            assumed.reason
        ),
        advice:
            "Set mpi.reduction_bandwidth to the rate at which a rank of your machine combines two vectors"
                .into(),
    });
    notes.collect()
}
