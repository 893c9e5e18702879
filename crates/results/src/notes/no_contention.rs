//! Nothing contends between routers.

use super::{Note, Severity};
use crate::RunResult;

pub(super) const NAME: &str = "no-contention";

/// One note under the router model `analytic`.
pub(super) fn find(result: &RunResult) -> Vec<Note> {
    let model = result.summary.experiment["network"]["router"]["model"].as_str();
    if model != Some("analytic") {
        return Vec::new();
    }
    vec![Note {
        kind: NAME.into(),
        severity: Severity::Warning,
        job: None,
        found: "in the router model analytic nothing contends between routers: packets wait at the ports of hosts \
                only, links between routers have no load, and network.routing, buffers and credits have no effect"
            .into(),
        advice: "Compare with network.router.model = \"packet\" before you choose between networks".into(),
    }]
}
