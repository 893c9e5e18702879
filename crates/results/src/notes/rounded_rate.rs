//! Data rates of the experiment are not whole numbers of bits per second.

use super::{Note, Severity};
use crate::RunResult;

pub(super) const NAME: &str = "rounded-rate";

/// Rates that a note shows. A network from a file may have hundreds; the summary has all.
const SHOWN: usize = 3;

/// One note for all rounded rates.
pub(super) fn find(result: &RunResult) -> Vec<Note> {
    let rates = &result.summary.rounded_rates;
    if rates.is_empty() {
        return Vec::new();
    }
    let mut found: Vec<String> = rates.iter().take(SHOWN).map(ToString::to_string).collect();
    if rates.len() > SHOWN {
        found.push(format!("{} more", rates.len() - SHOWN));
    }
    vec![Note {
        kind: NAME.into(),
        severity: Severity::Info,
        job: None,
        found: found.join(", "),
        advice: "Write whole numbers of bits per second to have exactly the rates that are written".into(),
    }]
}
