//! The router models `input-queued` and `crossbar` differ from the next finer model under high uniform loads.
//!
//! `packet` and `output-queued` have the note `near-saturation`, and `analytic` has `no-contention`.

use super::{Note, Severity, near_saturation, no_contention, saturated};
use crate::{OFF_FROM, RunResult, only_router_model, show};

pub(super) const NAME: &str = "coarse-router";

/// One note if all traffic is uniform, none of it saturated, and the accepted load is one from which on the model is
/// off on one of the networks that were compared.
pub(super) fn find(result: &RunResult) -> Vec<Note> {
    let summary = &result.summary;
    let has_own = |model: &str| near_saturation::MODELS.contains(&model) || model == no_contention::MODEL;
    let model = only_router_model(summary).filter(|model| !has_own(model));
    let Some(known) = OFF_FROM.iter().find(|known| Some(known.model) == model) else {
        return Vec::new();
    };
    let network = &summary.network;
    let is_uniform = |job: &serde_json::Value| job["traffic"]["pattern"].as_str() == Some("uniform");
    let jobs = summary.experiment["job"].as_array();
    let is_all = jobs.is_some_and(|jobs| !jobs.is_empty() && jobs.iter().all(is_uniform));
    let is_saturated = || {
        summary
            .jobs
            .iter()
            .any(|job| saturated::is_saturated(result, job))
    };
    let [least, greatest] = known.loads;
    if network.latency_ns.mean.is_none() || !is_all || network.accepted_load < least || is_saturated() {
        return Vec::new();
    }
    vec![Note {
        kind: NAME.into(),
        severity: Severity::Info,
        job: None,
        found: format!(
            "the accepted load is {}; under uniform traffic the mean latency of the router model {} is more than 5 % off \
             that of {} from a load of {least} to {greatest} on, by network",
            show::percent(network.accepted_load),
            known.model,
            known.next
        ),
        advice: format!(
            "Compare with network.router.model = \"{}\", or decide by latencies at lower loads",
            known.next
        ),
    }]
}
