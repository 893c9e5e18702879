//! Rules for traffic that arrives as it is offered: whether queues delay it, and what would be full first.

use super::link_loads::{EJECTION, HeldUp, LinkLoads};
use super::overloaded::class_place;
use super::thresholds::{HOT_HOSTS, NEARLY_FULL, SLOW};
use super::{Evidence, Finding, VerdictPlace, busy_places, class_loads, comparisons, full_of, sentence};
use crate::{JobBounds, JobSummary, show};

/// Some hosts receive as much as their links carry, and packets to them hold up others.
pub(super) fn hot_hosts(evidence: &Evidence<'_>) -> Option<Finding> {
    let links = evidence.links.as_ref()?;
    let ejection = links.class(EJECTION)?;
    evidence.traffic().next()?;
    if ejection.full == 0 || ejection.full_share() >= HOT_HOSTS {
        return None;
    }
    let held = links.held_up();
    if held.links == 0 {
        return None;
    }
    let (hosts, hold) = match ejection.full {
        1 => ("host", "holds"),
        _ => ("hosts", "hold"),
    };
    let headline = format!(
        "{} overloaded {hosts} {hold} up {} other links, although {}.",
        show::count(ejection.full),
        show::count(held.links),
        load_carried(evidence)
    );
    let mut tries = comparisons::longer_run(evidence.summary);
    tries.extend(comparisons::bandwidth(evidence, EJECTION));
    Some(Finding {
        headline,
        places: busy_places(links, ejection),
        times: class_loads::times(evidence, EJECTION),
        causes: vec![
            sentence(&format!(
                "{}: every path ends there, so that no routing avoids them",
                full_of(ejection)
            )),
            held_up(&held),
        ],
        comparisons: tries,
        unknown: None,
        estimate: None,
    })
}

/// What waits for overloaded hosts, in words.
pub(super) fn held_up(held: &HeldUp) -> String {
    format!(
        "Packets to these hosts hold up {} links for at least a tenth of the time, {} of them injection links",
        show::count(held.links),
        show::count(held.hosts)
    )
}

/// The network carries the traffic, with queues.
pub(super) fn queues(evidence: &Evidence<'_>) -> Option<Finding> {
    let links = evidence.links.as_ref()?;
    let worst = links.worst()?;
    evidence.traffic().next()?;
    let slowest = slowest(evidence);
    let slow = slowest.as_ref().is_some_and(|(_, ratio, _)| *ratio >= SLOW);
    let busiest = links.others().map(|class| class.max).fold(0.0, f64::max);
    if !slow && busiest <= NEARLY_FULL {
        return None;
    }
    let headline = sentence(&format!(
        "{}, with queues: {}.",
        load_carried(evidence),
        latencies(evidence)
    ));
    let mut causes = Vec::new();
    if let Some((job, ratio, than)) = slowest.filter(|_| slow) {
        causes.push(format!(
            "Packets of job {} take {ratio:.1} times {than}",
            job.name
        ));
    }
    causes.push(format!(
        "The busiest link, without injection links, carries {}",
        show::percent(busiest)
    ));
    let mut tries = comparisons::other_router_model(evidence.summary);
    tries.extend(comparisons::routings(evidence.summary).into_iter().take(1));
    Some(Finding {
        headline,
        places: places(links),
        times: class_loads::times(evidence, &worst.name),
        causes,
        comparisons: tries,
        unknown: None,
        estimate: None,
    })
}

/// The network has capacity left.
pub(super) fn at_ease(evidence: &Evidence<'_>) -> Option<Finding> {
    let links = evidence.links.as_ref();
    let mut headline = format!("The network is at ease: {}", load_carried(evidence));
    if evidence.traffic().next().is_some() && evidence.summary.network.latency_ns.mean.is_some() {
        headline += &format!(", {}", latencies(evidence));
    }
    headline.push('.');
    let offered = evidence.summary.network.offered_load;
    let mut causes = Vec::new();
    let mut tries = Vec::new();
    let busiest = links.map_or(0.0, LinkLoads::max);
    if busiest > 0.0 && offered > 0.0 {
        let at = offered / busiest;
        causes.push(format!(
            "The busiest link carries {}: with the same pattern and paths, the first link is full at an offered load of \
             about {}",
            show::percent(busiest),
            show::percent(at.min(1.0))
        ));
        tries.extend(comparisons::higher_load(evidence.summary, 1.0 / busiest));
    }
    Some(Finding {
        headline,
        places: links.map(places).unwrap_or_default(),
        times: Vec::new(),
        causes,
        comparisons: tries,
        unknown: None,
        estimate: None,
    })
}

fn places(links: &LinkLoads<'_>) -> Vec<VerdictPlace> {
    links.worst().map(class_place).into_iter().collect()
}

/// `the network delivers 50.1 % of 50.1 % offered`.
fn load_carried(evidence: &Evidence<'_>) -> String {
    let network = &evidence.summary.network;
    format!(
        "the network delivers what is offered ({} of {} of the injection bandwidth)",
        show::percent(network.accepted_load),
        show::percent(network.offered_load)
    )
}

/// Mean latency, with that of an idle network where it is known, and the 99th percentile.
fn latencies(evidence: &Evidence<'_>) -> String {
    let network = &evidence.summary.network;
    let mut text = format!("mean latency {}", show::time_if_any(network.latency_ns.mean));
    if let ([job], Some(mean)) = (evidence.summary.jobs.as_slice(), network.latency_ns.mean)
        && let Some(idle) = idle(evidence, job).and_then(|bounds| bounds.zero_load_latency_ns)
    {
        text += &format!(", {:.2} times that of an idle network", mean / idle.mean);
    }
    text + &format!(", 99th percentile {}", show::time_if_any(network.latency_ns.p99))
}

fn idle<'e>(evidence: &'e Evidence<'_>, job: &JobSummary) -> Option<&'e JobBounds> {
    let bounds = evidence.summary.bounds.as_ref()?;
    bounds.jobs.iter().find(|bounds| bounds.name == job.name)
}

/// The job of traffic with the greatest ratio of its mean latency to that of an idle network, and what it is compared
/// with: the mean of its paths, or else the longest path of any routing, which is a lower limit of the ratio.
fn slowest<'e>(evidence: &Evidence<'e>) -> Option<(&'e JobSummary, f64, &'static str)> {
    let ratios = evidence.traffic().filter_map(|traffic| {
        let mean = traffic.job.latency_ns.mean?;
        let bounds = idle(evidence, traffic.job)?;
        Some(match (bounds.zero_load_latency_ns, bounds.longest_idle_ns) {
            (Some(idle), _) if idle.mean > 0.0 => {
                (traffic.job, mean / idle.mean, "the latency of an idle network")
            }
            (_, Some(longest)) if longest > 0.0 => (
                traffic.job,
                mean / longest,
                "the longest latency of an idle network",
            ),
            _ => return None,
        })
    });
    ratios.max_by(|a, b| a.1.total_cmp(&b.1))
}
