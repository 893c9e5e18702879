//! How far to trust a verdict.

use super::{Confidence, ConfidenceLevel, Evidence, Finding};
use crate::{Severity, show};

/// Notes that are part of what a verdict says, and do not lower its confidence.
const SAID: &[&str] = &["saturated", "unfair", "rounded-rate"];

/// Warnings about latency, on which no rule for lost traffic rests.
const OF_LATENCY: &[&str] = &["nothing-measured", "not-drained"];

/// The grade of a finding, and its reasons.
pub(super) fn of(evidence: &Evidence<'_>, finding: &Finding) -> Confidence {
    let mut level = ConfidenceLevel::High;
    let mut reasons = Vec::new();
    let mut lower = |to: ConfidenceLevel, reason: String| {
        if to == ConfidenceLevel::Low || level == ConfidenceLevel::High {
            level = to;
        }
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    };
    if let Some(unknown) = &finding.unknown {
        lower(ConfidenceLevel::Low, unknown.clone());
    }
    if let Some(estimate) = &finding.estimate {
        lower(ConfidenceLevel::Medium, estimate.clone());
    }
    for note in evidence
        .summary
        .notes
        .iter()
        .filter(|note| !SAID.contains(&note.kind.as_str()))
    {
        let (to, severity) = match note.severity {
            Severity::Warning if OF_LATENCY.contains(&note.kind.as_str()) => {
                (ConfidenceLevel::Medium, "warning")
            }
            Severity::Warning => (ConfidenceLevel::Low, "warning"),
            Severity::Info => (ConfidenceLevel::Medium, "note"),
        };
        lower(to, format!("the {severity} {}", note.kind));
    }
    if let Some(change) = evidence.series.as_ref().and_then(|series| series.change())
        && evidence.traffic().next().is_some()
        && evidence.summary.jobs.iter().all(|job| job.ranks == 0)
    {
        lower(
            ConfidenceLevel::Medium,
            format!(
                "delivered load still changes by {} from the third quarter of the measured time to the last",
                show::percent(change.abs())
            ),
        );
    }
    if evidence.links.is_none() {
        lower(ConfidenceLevel::Medium, "the loads of links are not known".into());
    }
    if evidence.series.is_none() {
        reasons.push("when is not known: the run has no series of link classes in its measured time".into());
    }
    Confidence { level, reasons }
}
