//! The router models `packet` and `output-queued` are optimistic near saturation.

use super::{Note, Severity, saturated};
use crate::{RunResult, Table, show};

pub(super) const NAME: &str = "near-saturation";

/// Busy share of the busiest link from which on there is a note. The latency of BookSim 2 at internal speedup 1 was
/// compared on 25 networks, 134 points: this limit tells 110 of them right (more than 5 % off or not) and gives no note at
/// half of the saturation of any. `docs/trust.md` has the table.
const OPTIMISTIC: f64 = 0.5;

/// Busy share of the busiest link at which the mean latency is 5 % below that of a router of internal speedup 1: the
/// median of the same 25 networks, the least and the greatest.
const OFF_AT_SPEEDUP_1: [f64; 3] = [0.36, 0.12, 0.53];

/// The same at internal speedup 2, with one virtual channel (a crossbar of 16 ports) and with two (the dragonfly of
/// `studies/dragonfly-booksim`).
const OFF_AT_SPEEDUP_2: [f64; 2] = [0.39, 0.65];

/// One note if a link is that busy under synthetic traffic and no job is saturated, which has its own note.
pub(super) fn find(result: &RunResult) -> Vec<Note> {
    let summary = &result.summary;
    let traffic = || summary.jobs.iter().filter(|job| job.traffic.is_some());
    let model = summary.experiment["network"]["router"]["model"].as_str();
    let Some(model @ ("packet" | "output-queued")) = model else {
        return Vec::new();
    };
    // Without measured packets there is no latency that could be wrong.
    if summary.network.latency_ns.mean.is_none() {
        return Vec::new();
    }
    if traffic().count() == 0 || traffic().any(|job| saturated::is_saturated(result, job)) {
        return Vec::new();
    }
    let busiest = result.table("links").and_then(busiest_link);
    let Some((class, busy)) = busiest.filter(|(_, busy)| *busy > OPTIMISTIC) else {
        return Vec::new();
    };
    let [median, least, greatest] = OFF_AT_SPEEDUP_1.map(show::percent);
    let [one_vc, more_vcs] = OFF_AT_SPEEDUP_2.map(show::percent);
    vec![Note {
        kind: NAME.into(),
        severity: Severity::Info,
        job: None,
        found: format!(
            "the busiest link, of the class {class}, is busy for {} of the time; the router model {model} has neither \
             head-of-line blocking nor switch allocation, so that its latency is more than 5 % below that of a router \
             of internal speedup 1 from {median} on ({least} to {greatest}, by network), and of internal speedup 2 from \
             {more_vcs} on (with one virtual channel {one_vc})",
            show::percent(busy)
        ),
        advice: format!(
            "Compare with network.router.model = \"input-queued\", and decide by latencies at up to {:.1} times these \
             loads",
            OFF_AT_SPEEDUP_1[0] / busy
        ),
    }]
}

/// The class and the busy share of the busiest link, without injection links.
fn busiest_link(links: &Table) -> Option<(String, f64)> {
    let busy = links.texts("class")?.zip(links.f64s("busy_fraction")?);
    let busy = busy.filter_map(|(class, busy)| Some((class.filter(|class| *class != "injection")?, busy)));
    let (class, busy) = busy.max_by(|a, b| a.1.total_cmp(b.1))?;
    Some((class.to_string(), *busy))
}
