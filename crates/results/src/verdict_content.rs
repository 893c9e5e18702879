//! A verdict as `summary.json` has it. `verdict` has the rules that give it.

use serde::{Deserialize, Serialize};

use crate::nanoseconds::nanoseconds;

/// The verdict on a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Name of the rule, one of [`crate::VERDICT_RULES`] in results of this version.
    pub rule: String,
    /// The finding in one sentence.
    pub headline: String,
    /// Where.
    pub places: Vec<VerdictPlace>,
    /// When; empty if it is not known.
    pub times: Vec<VerdictTime>,
    /// Why.
    pub causes: Vec<String>,
    /// What to try.
    pub comparisons: Vec<Comparison>,
    /// How far to trust it.
    pub confidence: Confidence,
}

/// A place that a verdict names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct VerdictPlace {
    /// The place in words, with its numbers.
    pub found: String,
    /// Class of the links there. `None` if they are not of one class.
    pub class: Option<String>,
    /// Numbers of single links, as in the table `links`. Empty for a whole class.
    pub links: Vec<u32>,
}

/// An interval that a verdict names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct VerdictTime {
    /// Begin, in nanoseconds of simulated time.
    pub begin_ns: f64,
    /// End.
    pub end_ns: f64,
    /// What happens in it.
    pub found: String,
}

impl VerdictTime {
    pub(crate) fn new(begin_ps: u64, end_ps: u64, found: String) -> VerdictTime {
        VerdictTime {
            begin_ns: nanoseconds(begin_ps),
            end_ns: nanoseconds(end_ps),
            found,
        }
    }
}

/// A run to compare with: what it asks, and the settings that differ.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// What differs, in words.
    pub differs: String,
    /// The changed keys.
    pub set: Vec<ChangedKey>,
}

/// A key of the experiment with another value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChangedKey {
    /// The key, as `--set` has it.
    pub key: String,
    /// The value, in TOML.
    pub value: String,
}

/// How far to trust a verdict.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Confidence {
    /// The grade.
    pub level: ConfidenceLevel,
    /// What lowers it, and what is not known. Empty if nothing is.
    pub reasons: Vec<String>,
}

/// Grades of confidence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ConfidenceLevel {
    /// Something essential is not known.
    #[default]
    Low,
    /// The verdict holds with the reservations that stand beside it.
    Medium,
    /// Nothing speaks against it.
    High,
}
