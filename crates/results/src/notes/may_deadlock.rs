//! Routing whose packets can wait for each other in a cycle of virtual channels.

use super::{Note, Severity};
use crate::RunResult;

pub(super) const NAME: &str = "may-deadlock";

/// One note for detours with virtual channels by phase.
pub(super) fn find(result: &RunResult) -> Vec<Note> {
    let routing = &result.summary.experiment["network"]["routing"];
    if routing["algorithm"] != "ugal" || routing["vcs"] != "by-phase" {
        return Vec::new();
    }
    vec![Note {
        kind: NAME.into(),
        severity: Severity::Warning,
        job: None,
        found: "it is not proven that this run has no deadlock: on the virtual channels by phase, which are those of \
                BookSim, packets on detours can wait for each other in a cycle and stop for good"
            .into(),
        advice: "See the cycle with fabricsim check, and compare with network.routing.vcs = \"by-segment\"".into(),
    }]
}
