//! The arithmetic of reductions takes no time, and ranks spend much of theirs in reductions.

use super::{Note, Severity};
use crate::{JobSummary, RunResult, show};

pub(super) const NAME: &str = "free-reductions";

/// Part of the time of all ranks that reductions take, from which on there is a note.
const PART: f64 = 0.1;

/// Mean bytes of a message of collectives from which on there is a note. A CPU combines 4 KiB in about the time of a
/// message between two hosts (a microsecond at 4 GB/s; the study `real-machines` derives 2 to 6 GB/s).
const MESSAGE_BYTES: f64 = 4096.0;

/// Calls that combine vectors, and return when that is done.
const CALLS: [&str; 6] = [
    "MPI_Reduce",
    "MPI_Allreduce",
    "MPI_Reduce_scatter",
    "MPI_Reduce_scatter_block",
    "MPI_Scan",
    "MPI_Exscan",
];

/// One note for each job with such reductions, if the experiment says that their arithmetic takes no time.
pub(super) fn find(result: &RunResult) -> Vec<Note> {
    // Results of older versions have no such table, or none of this key where it was not given.
    let Some(settings) = result.summary.experiment.get("mpi") else {
        return Vec::new();
    };
    if settings
        .get("reduction_bandwidth")
        .is_some_and(|rate| rate != "none")
    {
        return Vec::new();
    }
    let notes = jobs_of_large_reductions(result).map(|(job, part, bytes)| Note {
        kind: NAME.into(),
        severity: Severity::Info,
        job: Some(job.name.clone()),
        found: format!(
            "{}, and their arithmetic takes no CPU time: large ones are too fast",
            show_reductions(part, bytes)
        ),
        advice: "Set mpi.reduction_bandwidth to the rate at which a rank combines two vectors".into(),
    });
    notes.collect()
}

/// Jobs whose ranks spend much of their time in reductions of large vectors: the job, this part of its time, and the
/// mean bytes of a message of its collectives.
pub(super) fn jobs_of_large_reductions(
    result: &RunResult,
) -> impl Iterator<Item = (&JobSummary, f64, f64)> + '_ {
    let jobs = result.summary.jobs.iter().filter(|job| job.ranks > 0);
    jobs.filter_map(|job| {
        let part = time_in_reductions(result, &job.name)? / total(result, &job.name, "time_ps")?;
        let messages = total(result, &job.name, "collective_messages_received")?;
        let bytes = total(result, &job.name, "collective_bytes_received")? / messages;
        // No time and no message make no number.
        (part >= PART && bytes >= MESSAGE_BYTES).then_some((job, part, bytes))
    })
}

/// What the notes about reductions say of a job.
pub(super) fn show_reductions(part: f64, bytes: f64) -> String {
    format!(
        "reductions take {} of the time of all ranks, with {} for each message of a collective on average",
        show::percent(part),
        show::bytes(bytes as u64)
    )
}

/// Time in ps that the ranks of a job spent in blocking reductions.
fn time_in_reductions(result: &RunResult, job: &str) -> Option<f64> {
    let calls = result.table("calls")?;
    let rows = calls.texts("job")?.zip(calls.texts("call")?);
    let of_reductions = rows
        .zip(calls.u64s("time_ps")?)
        .filter(|((name, call), _)| *name == Some(job) && call.is_some_and(|call| CALLS.contains(&call)));
    Some(of_reductions.map(|(_, time)| *time as f64).sum())
}

/// The sum of a column over the ranks of a job.
pub(super) fn total(result: &RunResult, job: &str, column: &str) -> Option<f64> {
    let ranks = result.table("ranks")?;
    let rows = ranks.texts("job")?.zip(ranks.u64s(column)?);
    Some(
        rows.filter(|(name, _)| *name == Some(job))
            .map(|(_, value)| *value as f64)
            .sum(),
    )
}
