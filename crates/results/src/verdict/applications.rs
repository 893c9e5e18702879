//! Rules for jobs of ranks: what bounds the job that the network costs most.

use super::proposals::{JobBound, for_bounds};
use super::thresholds::{NAMED_CLASS, NETWORK};
use super::{Comparison, Evidence, Finding, VerdictPlace, class_loads};
use crate::contribution::SHOWN_SHARE;
use crate::{BoundBy, CriticalPath, JobSummary, show};

/// Greatest number of places of a critical path that a verdict names.
const PLACES: usize = 3;

/// The job of ranks with the greatest share of the network in its critical path.
fn job<'e>(evidence: &Evidence<'e>) -> Option<(&'e JobSummary, &'e BoundBy)> {
    let known = evidence
        .summary
        .jobs
        .iter()
        .filter_map(|job| Some((job, job.bound_by.as_ref()?)));
    known.max_by(|a, b| a.1.network().total_cmp(&b.1.network()))
}

/// The shares of computation, with what ranks wait for those that compute more.
fn computation(bound_by: &BoundBy) -> f64 {
    bound_by.computation + bound_by.imbalance
}

/// A finding about a job: its composition, the other jobs, and traffic that is lost beside them.
fn finding(
    evidence: &Evidence<'_>,
    (job, bound_by): (&JobSummary, &BoundBy),
    headline: String,
    comparisons: Vec<Comparison>,
) -> Finding {
    let mut causes = vec![format!("The critical path of job {} is {bound_by}", job.name)];
    if let Some(path) = explained(evidence, job) {
        // Waits are places.
        let of_program = path
            .contributions
            .iter()
            .filter(|part| !part.is_wait() && part.is_large());
        causes.extend(
            of_program
                .take(PLACES)
                .map(|part| super::sentence(&part.to_string())),
        );
    }
    let others = evidence
        .summary
        .jobs
        .iter()
        .filter(|other| other.name != job.name);
    let bounded =
        others.filter_map(|other| Some(format!("job {}: {}", other.name, other.bound_by.as_ref()?)));
    causes.extend(bounded.take(PLACES).map(|other| format!("Of {other}")));
    if let Some(lacking) = evidence.lacking() {
        causes.push(super::sentence(&evidence.loads(lacking)));
    }
    Finding {
        headline,
        causes,
        comparisons,
        ..Finding::default()
    }
}

/// What `fabricsim explain` found about a job.
fn explained<'e>(evidence: &'e Evidence<'_>, job: &JobSummary) -> Option<&'e CriticalPath> {
    evidence.paths?.jobs.iter().find(|path| path.job == job.name)
}

/// The network has a large share of the critical path.
pub(super) fn network_bound(evidence: &Evidence<'_>) -> Option<Finding> {
    let (job, bound_by) = job(evidence)?;
    if bound_by.network() < NETWORK {
        return None;
    }
    let mut parts: Vec<(String, Option<&str>, f64)> = bound_by
        .links
        .iter()
        .map(|link| {
            (
                format!("{} links", link.class),
                Some(link.class.as_str()),
                link.share,
            )
        })
        .collect();
    parts.push(("latency".into(), None, bound_by.latency));
    parts.sort_by(|a, b| b.2.total_cmp(&a.2));
    parts.truncate(PLACES);
    let shares: Vec<String> = parts
        .iter()
        .filter(|part| part.2 > 0.0)
        .map(|(name, _, share)| format!("{} {name}", show::percent(*share)))
        .collect();
    let is_estimate = explained(evidence, job).is_none_or(|path| path.bound_by.is_none());
    let headline = format!(
        "The network takes {} of the {} of job {}{} {}.",
        show::percent(bound_by.network()),
        show::time(job.time_ns),
        job.name,
        if is_estimate {
            ", divided by estimate into"
        } else {
            ":"
        },
        shares.join(", ")
    );
    let (_, worst, most) = parts.first()?;
    let named = parts
        .iter()
        .filter(|part| part.2 >= NAMED_CLASS * most && part.2 > 0.0);
    let mut bounds: Vec<JobBound<'_>> = named
        .map(|(_, class, _)| class.map_or(JobBound::Latency, JobBound::Links))
        .collect();
    bounds.extend(is_estimate.then_some(JobBound::Network));
    let tries = for_bounds(evidence, job, &bounds);
    let mut found = finding(evidence, (job, bound_by), headline, tries);
    found.estimate = is_estimate.then(|| {
        "the division of the network's share among link classes is an estimate, by the messages of the whole job: \
         `fabricsim explain` measures it"
            .into()
    });
    found.places = match explained(evidence, job) {
        Some(path) => path_places(path),
        None => parts
            .iter()
            .filter_map(|(name, class, share)| {
                let load = evidence.links.as_ref()?.class((*class)?)?;
                Some(VerdictPlace {
                    found: format!(
                        "{name}: {} of the critical path; mean load {}, busiest {}",
                        show::percent(*share),
                        show::percent(load.mean()),
                        show::percent(load.max)
                    ),
                    class: class.map(String::from),
                    links: Vec::new(),
                })
            })
            .collect(),
    };
    if let Some(class) = worst {
        found.times = class_loads::times(evidence, class);
    }
    Some(found)
}

/// The places at which messages of a critical path wait longest.
fn path_places(path: &CriticalPath) -> Vec<VerdictPlace> {
    let of_path = |ns: f64| ns / path.time_ns.max(1.0);
    let large = path
        .waits
        .iter()
        .filter(|wait| of_path(wait.wait_ns) >= SHOWN_SHARE);
    let waits = large.take(PLACES).map(|wait| VerdictPlace {
        found: format!(
            "{} of the communication time waits for {}",
            show::percent(wait.share_of_communication),
            wait.place
        ),
        class: wait.class.clone(),
        links: path
            .links
            .iter()
            .filter(|link| wait.class.as_deref() == Some(link.class.as_str()))
            .take(PLACES)
            .map(|link| link.link)
            .collect(),
    });
    waits.collect()
}

/// CPU time in MPI is the largest part.
pub(super) fn overhead_bound(evidence: &Evidence<'_>) -> Option<Finding> {
    let (job, bound_by) = job(evidence)?;
    if bound_by.overhead <= computation(bound_by).max(bound_by.memory) {
        return None;
    }
    let network = show::percent(bound_by.network());
    let headline = format!(
        "MPI overhead bounds job {}: {} of its {}; the network takes {network}, and a faster one changes at most that.",
        job.name,
        show::percent(bound_by.overhead),
        show::time(job.time_ns)
    );
    let mut found = finding(
        evidence,
        (job, bound_by),
        headline,
        for_bounds(evidence, job, &[JobBound::Overhead]),
    );
    if let Some(calls) = calls(evidence, job) {
        let per_rank = calls as f64 / job.ranks.max(1) as f64;
        let sent = job.messages as f64 / job.ranks.max(1) as f64;
        found.causes.push(format!(
            "A rank makes {per_rank:.0} MPI calls and sends {sent:.0} messages"
        ));
    }
    Some(found)
}

/// MPI calls of all ranks of a job.
fn calls(evidence: &Evidence<'_>, job: &JobSummary) -> Option<u64> {
    let table = evidence.calls?;
    let counts = table.u64s("count")?.iter();
    Some(
        table
            .texts("job")?
            .zip(counts)
            .filter(|(name, _)| *name == Some(job.name.as_str()))
            .map(|(_, count)| count)
            .sum(),
    )
}

/// The memory of hosts is the largest part.
pub(super) fn memory_bound(evidence: &Evidence<'_>) -> Option<Finding> {
    let (job, bound_by) = job(evidence)?;
    if bound_by.memory <= computation(bound_by) {
        return None;
    }
    let network = show::percent(bound_by.network());
    let headline = format!(
        "The memory of hosts bounds job {}: {} of its {}; the network takes {network}, and a faster one changes at most \
         that.",
        job.name,
        show::percent(bound_by.memory),
        show::time(job.time_ns)
    );
    Some(finding(
        evidence,
        (job, bound_by),
        headline,
        for_bounds(evidence, job, &[JobBound::Memory]),
    ))
}

/// Computation is the largest part.
pub(super) fn computation_bound(evidence: &Evidence<'_>) -> Option<Finding> {
    let (job, bound_by) = job(evidence)?;
    let imbalance = match bound_by.imbalance >= 0.0005 {
        true => format!(
            ", {} of it waiting for ranks that compute longer",
            show::percent(bound_by.imbalance)
        ),
        false => String::new(),
    };
    let headline = format!(
        "Computation bounds job {}: {} of its {}{imbalance}; the network takes {}.",
        job.name,
        show::percent(computation(bound_by)),
        show::time(job.time_ns),
        show::percent(bound_by.network())
    );
    let tries = for_bounds(evidence, job, &[JobBound::Computation]);
    Some(finding(evidence, (job, bound_by), headline, tries))
}
