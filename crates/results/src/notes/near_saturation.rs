//! The router models `packet` and `output-queued` are optimistic near saturation.

use super::{Note, Severity, saturated};
use crate::{RunResult, Table, only_router_model, show};

pub(super) const NAME: &str = "near-saturation";

/// The router models that can have the note.
pub(super) const MODELS: [&str; 2] = ["packet", "output-queued"];

/// Busy share from which on there is a note: that of the link with one in twenty above it. The single busiest link of a
/// large network is busy by chance, and the mean of a class misses patterns that load few links. The latency of BookSim
/// 2 at internal speedup 1 was compared on 26 networks, 139 points: this limit tells 109 of them right (more than 5 %
/// off or not) and gives no note at half of the saturation of any. `docs/trust.md` has the table.
const OPTIMISTIC: f64 = 0.5;

/// The part of the links that are at most as busy.
const QUANTILE: f64 = 0.95;

/// Busy share, as for [`OPTIMISTIC`], at which the mean latency is 5 % below that of a router of internal speedup 1:
/// the median of the same 26 networks, the least and the greatest.
const OFF_AT_SPEEDUP_1: [f64; 3] = [0.34, 0.12, 0.53];

/// The same at internal speedup 2, with one virtual channel (a crossbar of 16 ports) and with two (the dragonfly of
/// `studies/dragonfly-booksim`).
const OFF_AT_SPEEDUP_2: [f64; 2] = [0.38, 0.65];

/// One note if links are that busy under synthetic traffic and no job is saturated, which has its own note.
pub(super) fn find(result: &RunResult) -> Vec<Note> {
    let summary = &result.summary;
    let traffic = || summary.jobs.iter().filter(|job| job.traffic.is_some());
    let Some(model) = only_router_model(summary).filter(|model| MODELS.contains(model)) else {
        return Vec::new();
    };
    // Without measured packets there is no latency that could be wrong.
    if summary.network.latency_ns.mean.is_none() {
        return Vec::new();
    }
    if traffic().count() == 0 || traffic().any(|job| saturated::is_saturated(result, job)) {
        return Vec::new();
    }
    let busy = result.table("links").and_then(busy_share);
    let Some(busy) = busy.filter(|busy| *busy > OPTIMISTIC) else {
        return Vec::new();
    };
    let [median, least, greatest] = OFF_AT_SPEEDUP_1.map(show::percent);
    let [one_vc, more_vcs] = OFF_AT_SPEEDUP_2.map(show::percent);
    vec![Note {
        kind: NAME.into(),
        severity: Severity::Info,
        job: None,
        found: format!(
            "one link in twenty is busy for at least {} of the time; the router model {model} has neither \
             head-of-line blocking nor switch allocation, so that its latency is more than 5 % below that of a router \
             of internal speedup 1 from {median} on ({least} to {greatest}, by network), and of internal speedup 2 \
             from \
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

/// The busy share that one link in twenty reaches, without injection links.
fn busy_share(links: &Table) -> Option<f64> {
    let busy = links.texts("class")?.zip(links.f64s("busy_fraction")?);
    let busy = busy.filter_map(|(class, busy)| class.filter(|class| *class != "injection").map(|_| *busy));
    let mut busy: Vec<f64> = busy.collect();
    let last = busy.len().checked_sub(1)?;
    let place = (QUANTILE * last as f64).round() as usize;
    Some(*busy.select_nth_unstable_by(place, f64::total_cmp).1)
}
