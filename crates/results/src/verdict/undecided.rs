//! Rules that say that the verdict is not known, and what is missing.

use super::overloaded::class_place;
use super::{Evidence, Finding, comparisons};
use crate::show;

/// Nothing was measured.
pub(super) fn nothing_known(evidence: &Evidence<'_>) -> Option<Finding> {
    let summary = evidence.summary;
    let why = if summary.jobs.is_empty() {
        "the run has no job"
    } else if summary.jobs.iter().any(|job| job.bound_by.is_some()) {
        return None;
    } else if summary.network.measured_ns <= 0.0 {
        "the run has no measured time"
    } else if summary.jobs.iter().all(|job| job.ranks == 0) && evidence.traffic().next().is_none() {
        "no traffic was offered in the measured time"
    } else {
        return None;
    };
    Some(Finding {
        headline: format!("It is not known how the network does: {why}."),
        unknown: Some(why.into()),
        ..Finding::default()
    })
}

/// What bounds the jobs of ranks is not known, as they did not end.
pub(super) fn unfinished(evidence: &Evidence<'_>) -> Option<Finding> {
    let summary = evidence.summary;
    let job = summary.jobs.iter().find(|job| job.ranks > 0)?;
    let why = match (job.finished, job.stopped) {
        (_, true) => "its end interrupted its ranks",
        (false, _) => "the run ended before its ranks",
        (true, _) => "this version of the result does not tell, or the job took no time",
    };
    let links = evidence.links.as_ref();
    Some(Finding {
        headline: format!("It is not known what bounds job {}: {why}.", job.name),
        places: links
            .and_then(|links| links.worst())
            .map(class_place)
            .into_iter()
            .collect(),
        comparisons: if job.finished || job.stopped {
            Vec::new()
        } else {
            comparisons::longer_run(summary)
        },
        unknown: Some(why.into()),
        ..Finding::default()
    })
}

/// The loads of links are not known, so that the reason of lost traffic is not.
pub(super) fn links_unknown(evidence: &Evidence<'_>) -> Option<Finding> {
    if evidence.links.is_some() {
        return None;
    }
    let loads = match evidence.lacking() {
        Some(lacking) => evidence.loads(lacking),
        None => format!(
            "the network delivers {} of {} offered",
            show::percent(evidence.summary.network.accepted_load),
            show::percent(evidence.summary.network.offered_load)
        ),
    };
    let why = "the result has no table of links with their ends and loads";
    Some(Finding {
        headline: format!("It is not known where the load is: {loads}, and {why}."),
        unknown: Some(why.into()),
        ..Finding::default()
    })
}

/// Less arrived than was offered, no link is full, and the run is too short to tell why.
pub(super) fn too_short(evidence: &Evidence<'_>) -> Option<Finding> {
    let lacking = evidence.lacking()?;
    let hosts_are_full = evidence
        .links
        .as_ref()
        .and_then(|links| links.class(super::link_loads::INJECTION))
        .is_some_and(|injection| injection.full > 0);
    if hosts_are_full || !evidence.has_note("not-steady") && !evidence.has_note("nothing-measured") {
        return None;
    }
    let measured = show::time(evidence.summary.network.measured_ns);
    let links = evidence.links.as_ref();
    Some(Finding {
        headline: format!(
            "It is not known whether the network carries this load: {}, no link is full, and {measured} of measured time \
             are too short to tell.",
            evidence.loads(lacking)
        ),
        places: links
            .and_then(|links| links.worst())
            .map(class_place)
            .into_iter()
            .collect(),
        comparisons: comparisons::longer_run(evidence.summary),
        unknown: Some("the run is too short".into()),
        ..Finding::default()
    })
}
