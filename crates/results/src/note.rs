//! A note of a result as `summary.json` has it. `notes` finds them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A note of a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Name of its kind, one of [`crate::NOTE_KINDS`] in results of this version.
    pub kind: String,
    /// How much it affects the result.
    pub severity: Severity,
    /// The affected job. `None` for the whole run.
    #[serde(default)]
    pub job: Option<String>,
    /// What was found, with numbers.
    pub found: String,
    /// What to do.
    pub advice: String,
}

/// How much a note affects a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Numbers are valid, but may be misread.
    Info,
    /// Some numbers are missing, or not those that the experiment asks for.
    Warning,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
        })
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: ", self.severity, self.kind)?;
        if let Some(job) = &self.job {
            write!(f, "job {job}: ")?;
        }
        write!(f, "{}. {}.", self.found, self.advice)
    }
}
