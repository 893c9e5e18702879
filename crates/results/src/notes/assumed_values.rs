//! Values of presets have no public source.

use super::{Note, Severity};
use crate::{AssumedValue, RunResult};

pub(super) const NAME: &str = "assumed-values";

/// Values that the note shows; the summary has all.
const SHOWN: usize = 3;

/// One note for all presets.
pub(super) fn find(result: &RunResult) -> Vec<Note> {
    let assumptions = &result.summary.assumptions;
    let values: Vec<&AssumedValue> = assumptions
        .values
        .iter()
        .filter(|value| value.preset.is_some())
        .collect();
    if values.is_empty() {
        return Vec::new();
    }
    let mut presets: Vec<&str> = Vec::new();
    for preset in values.iter().filter_map(|value| value.preset.as_deref()) {
        if !presets.contains(&preset) {
            presets.push(preset);
        }
    }
    let mut shown: Vec<String> = values.iter().take(SHOWN).map(ToString::to_string).collect();
    if values.len() > SHOWN {
        shown.push(format!("{} more", values.len() - SHOWN));
    }
    let error = match &assumptions.measured {
        Some(measured) => format!(
            "; the study {}, which calibrates {} on two nodes, predicts {} measured times with a median error of {} %",
            measured.study, measured.preset, measured.points, measured.median_percent
        ),
        None => String::new(),
    };
    vec![Note {
        kind: NAME.into(),
        severity: Severity::Info,
        job: None,
        found: format!(
            "{} values of {} have no public source: {}{error}",
            values.len(),
            presets.join(" and "),
            shown.join(", ")
        ),
        advice: "Give those that you know in the experiment; `fabricsim list presets` has the reason of each"
            .into(),
    }]
}
