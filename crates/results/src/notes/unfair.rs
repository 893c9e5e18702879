//! The network serves some hosts of a job far worse than others.

use super::backlog::Backlog;
use super::{Note, Severity};
use crate::{JobSummary, RunResult, show};

pub(super) const NAME: &str = "unfair";

/// A host is served badly if it injects less than this part of the mean share.
const POOR: f64 = 0.5;

/// Least mean number of messages per host. Random arrivals explain differences between fewer.
const MESSAGES: u64 = 20;

/// One note for each job of traffic of which less arrived than was offered, and of whose hosts one injected less than
/// half of the mean share of its traffic.
pub(super) fn find(result: &RunResult) -> Vec<Note> {
    result
        .summary
        .jobs
        .iter()
        .filter_map(|job| of_job(result, job))
        .collect()
}

fn of_job(result: &RunResult, job: &JobSummary) -> Option<Note> {
    let fairness = job.traffic.as_ref()?.fairness?;
    Backlog::of(result, job).filter(Backlog::lacks)?;
    let known = job.messages >= MESSAGES * fairness.hosts;
    if !known || fairness.least_share >= POOR * fairness.mean_share {
        return None;
    }
    Some(Note {
        kind: NAME.into(),
        severity: Severity::Info,
        job: Some(job.name.clone()),
        found: format!(
            "the worst of {} hosts injected {} of its offered traffic, and the mean is {}; injected loads are {} to {} of \
             the injection bandwidth, and Jain's index of fairness is {:.2}",
            show::count(fairness.hosts),
            show::percent(fairness.least_share),
            show::percent(fairness.mean_share),
            show::percent(fairness.least_load),
            show::percent(fairness.greatest_load),
            fairness.jain
        ),
        advice: "The accepted load is a mean over hosts: an application waits for the worst one".into(),
    })
}
