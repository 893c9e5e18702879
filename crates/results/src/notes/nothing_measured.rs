//! No packet was measured, so that latencies and hops have no value.

use super::{Note, Severity};
use crate::{RunResult, show};

pub(super) const NAME: &str = "nothing-measured";

/// One note if the run sent packets and measured none.
pub(super) fn find(result: &RunResult) -> Vec<Note> {
    let network = &result.summary.network;
    if network.latency_ns.max.is_some() || network.packets_injected == 0 {
        return Vec::new();
    }
    vec![Note {
        kind: NAME.into(),
        severity: Severity::Warning,
        job: None,
        found: format!(
            "no packet that was created after the warm-up arrived in the {} after it, so latency and hops have no \
             value; {} packets arrived in the whole run",
            show::time(network.measured_ns),
            show::count(network.packets_delivered)
        ),
        advice: "Choose a longer run.until, or a shorter run.warmup".into(),
    }]
}
