//! The router models `packet` and `output-queued` are optimistic near saturation.

use std::collections::BTreeMap;

use super::{Note, Severity, saturated};
use crate::{RunResult, Table, show};

pub(super) const NAME: &str = "near-saturation";

/// Mean busy share of a class of links above which the model accepts more than a router with real switch allocation. On
/// the dragonfly of `studies/dragonfly-booksim` both agree within 2 % up to a load of 0.6; at 0.8 this model accepts all,
/// and BookSim 2 accepts 0.76.
const OPTIMISTIC: f64 = 0.7;

/// One note if a class of links is that busy under synthetic traffic and no job is saturated, which has its own note.
pub(super) fn find(result: &RunResult) -> Vec<Note> {
    let summary = &result.summary;
    let traffic = || summary.jobs.iter().filter(|job| job.traffic.is_some());
    let model = summary.experiment["network"]["router"]["model"].as_str();
    let Some(model @ ("packet" | "output-queued")) = model else {
        return Vec::new();
    };
    if traffic().count() == 0 || traffic().any(|job| saturated::is_saturated(result, job)) {
        return Vec::new();
    }
    let busiest = result.table("links").and_then(busiest_class);
    let Some((class, busy)) = busiest.filter(|(_, busy)| *busy > OPTIMISTIC) else {
        return Vec::new();
    };
    vec![Note {
        kind: NAME.into(),
        severity: Severity::Info,
        job: None,
        found: format!(
            "links of the class {class} are busy for {} of the time; the router model {model} has neither head-of-line \
             blocking nor switch allocation, so that near saturation it accepts more load at lower latency than a real \
             router",
            show::percent(busy)
        ),
        advice: "Compare with network.router.model = \"input-queued\", and decide by loads below 0.7".into(),
    }]
}

/// The class of links with the greatest mean busy share, without injection links.
fn busiest_class(links: &Table) -> Option<(String, f64)> {
    let mut classes: BTreeMap<&str, (f64, u64)> = BTreeMap::new();
    for (class, busy) in links.texts("class")?.zip(links.f64s("busy_fraction")?) {
        if let Some(class) = class.filter(|class| *class != "injection") {
            let (sum, count) = classes.entry(class).or_default();
            (*sum, *count) = (*sum + busy, *count + 1);
        }
    }
    let means = classes
        .into_iter()
        .map(|(class, (sum, count))| (class.to_string(), sum / count as f64));
    means.max_by(|a, b| a.1.total_cmp(&b.1))
}
