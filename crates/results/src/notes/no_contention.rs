//! Nothing contends between routers.

use super::{Note, Severity};
use crate::{RunResult, only_router_model};

pub(super) const NAME: &str = "no-contention";

/// The router model that has the note.
pub(super) const MODEL: &str = "analytic";

/// One note under the router model `analytic`.
pub(super) fn find(result: &RunResult) -> Vec<Note> {
    if only_router_model(&result.summary) != Some(MODEL) {
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
