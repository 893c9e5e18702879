//! No packet was measured, so that latencies and hops have no value.

use super::{Note, Severity};
use crate::{JobSummary, RunResult, show};

pub(super) const NAME: &str = "nothing-measured";

/// One note if the run measured no packet; otherwise one for each job that sent messages between hosts and none of
/// whose packets was measured.
pub(super) fn find(result: &RunResult) -> Vec<Note> {
    let summary = &result.summary;
    if summary.jobs.is_empty() {
        return Vec::new();
    }
    if summary.network.latency_ns.max.is_none() {
        return vec![note(result, None)];
    }
    let jobs = summary.jobs.iter();
    jobs.filter(|job| job.packets == 0 && job.hosts > 1 && job.messages > 0)
        .map(|job| note(result, Some(job)))
        .collect()
}

/// The note for a job, or for the whole run.
fn note(result: &RunResult, job: Option<&JobSummary>) -> Note {
    let network = &result.summary.network;
    let of_job = if job.is_some() { " of the job" } else { "" };
    let arrived = match job {
        None => format!(
            "; {} packets arrived in the whole run",
            show::count(network.packets_delivered)
        ),
        Some(_) => String::new(),
    };
    let (found, advice) = if network.packets_injected == 0 {
        (
            "no packet was sent through the network, so latency and hops have no value".into(),
            "Messages between ranks of one host take its memory: choose a placement over several hosts to measure the \
             network, or a longer run.until",
        )
    } else if network.measured_ns <= 0.0 {
        (
            format!(
                "the run ended at {}, before the end of the warm-up, so latency and hops have no value{arrived}",
                show::time(result.summary.run.simulated_ns)
            ),
            "Choose a shorter run.warmup, or leave it out",
        )
    } else {
        (
            format!(
                "no packet{of_job} that was created after the warm-up arrived in the {} after it, so latency and hops \
                 have no value{arrived}",
                show::time(network.measured_ns)
            ),
            "Choose a longer run.until, or a shorter run.warmup",
        )
    };
    Note {
        kind: NAME.into(),
        severity: Severity::Warning,
        job: job.map(|job| job.name.clone()),
        found,
        advice: advice.into(),
    }
}
