//! The drain phase ended before all measured packets had arrived, so that latency is that of a part of them.

use super::{Note, Severity, saturated};
use crate::{JobSummary, RunResult, show};

pub(super) const NAME: &str = "not-drained";

/// One note for each job of traffic of which measured bytes are missing at the end of the drain phase.
pub(super) fn find(result: &RunResult) -> Vec<Note> {
    let jobs = result.summary.jobs.iter();
    jobs.filter_map(|job| of_job(result, job)).collect()
}

fn of_job(result: &RunResult, job: &JobSummary) -> Option<Note> {
    let traffic = job.traffic.as_ref()?;
    let missing = traffic.missing_bytes.filter(|missing| *missing > 0)?;
    let drain = result.summary.experiment.pointer("/run/drain");
    let after = drain
        .and_then(|drain| drain.as_str())
        .map_or(String::new(), |drain| format!(" in the drain phase of {drain}"));
    let advice = if saturated::is_saturated(result, job) {
        "A longer run.drain is of no use past saturation: offer less load"
    } else {
        "Choose a longer run.drain"
    };
    Some(Note {
        kind: NAME.into(),
        severity: Severity::Warning,
        job: Some(job.name.clone()),
        found: format!(
            "{} of the traffic that was made in the measured time ({}) had not arrived{after}, so that latency and hops \
             leave it out, and are too low",
            show::percent(missing as f64 / traffic.offered_bytes.max(1) as f64),
            show::bytes(missing)
        ),
        advice: advice.into(),
    })
}
