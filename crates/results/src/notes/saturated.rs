//! The network accepts less synthetic traffic than the hosts of a job offer.

use super::backlog::Backlog;
use super::{Note, Severity};
use crate::{Bounds, JobSummary, RunResult, TrafficSummary, show};

pub(super) const NAME: &str = "saturated";

/// One note for each job of traffic whose backlog grows, or that the network cannot carry at the requested load.
pub(super) fn find(result: &RunResult) -> Vec<Note> {
    result
        .summary
        .jobs
        .iter()
        .filter_map(|job| of_job(result, job))
        .collect()
}

/// Whether a result has this note for a job.
pub(super) fn is_saturated(result: &RunResult, job: &JobSummary) -> bool {
    of_job(result, job).is_some()
}

fn of_job(result: &RunResult, job: &JobSummary) -> Option<Note> {
    let traffic = job.traffic.as_ref()?;
    let bounds = result.summary.bounds.as_ref();
    let bound = bounds.and_then(|bounds| exceeded(bounds, &job.name));
    let backlog = Backlog::of(result, job);
    let grows = backlog.as_ref().is_some_and(Backlog::grows);
    if bound.is_none() && !grows {
        return None;
    }
    let mut found = loads(traffic);
    if let Some(bound) = bound {
        found += &format!("; {bound}");
    }
    if let Some(backlog) = backlog.filter(Backlog::lacks) {
        let share = show::percent(backlog.deficit);
        found += &format!("; {share} of the offered traffic had not arrived at the end");
        if grows {
            found += ", and the backlog was still growing";
        }
    }
    Some(Note {
        kind: NAME.into(),
        severity: Severity::Warning,
        job: Some(job.name.clone()),
        found,
        advice: "Latency grows with the length of the run: use it below saturation only, and the accepted load here"
            .into(),
    })
}

/// The accepted and the offered load.
pub(super) fn loads(traffic: &TrafficSummary) -> String {
    format!(
        "the network accepted {} of the injection bandwidth of its hosts, and {} was offered",
        show::percent(traffic.accepted_load),
        show::percent(traffic.offered_load)
    )
}

/// The bound that the requested loads exceed, if this job has the greatest load on the first full link.
fn exceeded(bounds: &Bounds, job: &str) -> Option<String> {
    let scale = bounds.exceeded()?;
    (bounds.scale_job == job).then(|| {
        format!(
            "the first {} is full at {scale:.3} times the requested load: {}",
            bounds.limiting_link(),
            bounds.scale_limited_by
        )
    })
}
