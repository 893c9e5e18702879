//! Adaptive routing chooses between minimal paths and detours in a router model without back pressure.

use super::{Note, Severity};
use crate::{RunResult, only_router_model};

pub(super) const NAME: &str = "no-back-pressure";

/// One note if routing compares the loads of minimal paths and detours under the model `output-queued`.
pub(super) fn find(result: &RunResult) -> Vec<Note> {
    let summary = &result.summary;
    let model = only_router_model(summary);
    if model != Some("output-queued") || summary.network.detour_load_bytes.is_none() {
        return Vec::new();
    }
    vec![Note {
        kind: NAME.into(),
        severity: Severity::Warning,
        job: None,
        found: "routing decides on detours by the queues of its own router, and in the router model output-queued full \
                links further on do not fill these queues: it takes too few detours, so that this run is no lower \
                bound \
                of contention"
            .into(),
        advice: "Compare with network.router.model = \"packet\"".into(),
    }]
}
