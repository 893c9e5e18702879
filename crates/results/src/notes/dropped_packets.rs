//! Packets were lost.

use super::{Note, Severity};
use crate::RunResult;
use crate::show;

pub(super) const NAME: &str = "dropped-packets";

/// One note if routers or NICs dropped packets, with the number of each reason.
pub(super) fn find(result: &RunResult) -> Vec<Note> {
    let network = &result.summary.network;
    if network.dropped.is_empty() {
        return Vec::new();
    }
    let packets: u64 = network.dropped.iter().map(|dropped| dropped.packets).sum();
    let share = packets as f64 / network.packets_injected.max(1) as f64 * 100.0;
    let reasons: Vec<String> = network
        .dropped
        .iter()
        .map(|dropped| format!("{} for {}", show::count(dropped.packets), dropped.reason))
        .collect();
    vec![Note {
        kind: NAME.into(),
        severity: Severity::Info,
        job: None,
        found: format!(
            "{} packets were dropped, {share:.2} % of those that NICs sent: {}",
            show::count(packets),
            reasons.join(", ")
        ),
        advice: "The table drops says where".into(),
    }]
}
