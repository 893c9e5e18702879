//! The CPU time of MPI calls counts, and the overheads per message are defaults.

use super::free_reductions::total;
use super::{Note, Severity};
use crate::{JobSummary, RunResult, show};

pub(super) const NAME: &str = "default-overheads";

/// Part of the time of all ranks that overheads take, from which on there is a note.
const PART: f64 = 0.05;

/// The keys of the overheads.
const KEYS: [&str; 2] = ["mpi.send_overhead", "mpi.receive_overhead"];

/// One note for each job whose time depends on overheads that the experiment does not give.
pub(super) fn find(result: &RunResult) -> Vec<Note> {
    let assumptions = &result.summary.assumptions;
    let assumed: Vec<String> = KEYS
        .iter()
        .filter_map(|key| assumptions.get(key))
        .map(ToString::to_string)
        .collect();
    if assumed.is_empty() {
        return Vec::new();
    }
    let jobs = result.summary.jobs.iter().filter(|job| job.ranks > 0);
    jobs.filter_map(|job| note(result, job, &assumed.join(" and ")))
        .collect()
}

fn note(result: &RunResult, job: &JobSummary, assumed: &str) -> Option<Note> {
    let part = total(result, &job.name, "overhead_ps")? / total(result, &job.name, "time_ps")?;
    // No time makes no number.
    (part >= PART).then(|| Note {
        kind: NAME.into(),
        severity: Severity::Info,
        job: Some(job.name.clone()),
        found: format!(
            "CPU time of MPI calls is {} of the time of all ranks, and {assumed} are defaults, not measured on a \
             machine",
            show::percent(part)
        ),
        advice: "Measure two nodes and let `fabricsim calibrate` find the overheads".into(),
    })
}
