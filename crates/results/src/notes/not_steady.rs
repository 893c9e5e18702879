//! The measured time is too short to tell whether the network accepts the offered traffic.

use super::backlog::Backlog;
use super::{Note, Severity, saturated};
use crate::{JobSummary, RunResult, show};

pub(super) const NAME: &str = "not-steady";

/// One note for each job of traffic of which less arrived than was offered, although it is not known to be saturated.
pub(super) fn find(result: &RunResult) -> Vec<Note> {
    let jobs = result.summary.jobs.iter();
    // Without a measured packet, another note says that the run is too short.
    jobs.filter(|job| job.packets > 0 && !saturated::is_saturated(result, job))
        .filter_map(|job| of_job(result, job))
        .collect()
}

fn of_job(result: &RunResult, job: &JobSummary) -> Option<Note> {
    let traffic = job.traffic.as_ref()?;
    let backlog = Backlog::of(result, job).filter(Backlog::lacks)?;
    let mut found = format!(
        "{}; {} of the offered traffic had not arrived after {} of measurement",
        saturated::loads(traffic),
        show::percent(backlog.deficit),
        show::time(result.summary.network.measured_ns)
    );
    if let Some(in_flight) = backlog.in_flight {
        let share = show::percent(in_flight.min(1.0));
        found += &format!(", and traffic in flight explains up to {share}");
    }
    Some(Note {
        kind: NAME.into(),
        severity: Severity::Warning,
        job: Some(job.name.clone()),
        found: found + ", so that it is not known whether the network is saturated",
        advice: "Choose a longer run.until, and a run.warmup in which queues become stationary".into(),
    })
}
