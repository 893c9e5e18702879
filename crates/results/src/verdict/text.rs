//! The verdict as text for a terminal.

use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};

use super::{Comparison, ConfidenceLevel, Verdict};
use crate::show;

/// How a run was started, so that the commands of comparisons repeat it.
#[derive(Clone, Debug)]
pub struct RepeatedRun {
    /// The command without an output folder, for example `fabricsim run lammps.toml --set run.seed=2`.
    pub command: String,
    /// The result folder.
    pub out: String,
}

impl Default for RepeatedRun {
    /// A run whose file is not known: names in capitals stand for it.
    fn default() -> RepeatedRun {
        RepeatedRun {
            command: "fabricsim run EXPERIMENT.toml".into(),
            out: "RESULT".into(),
        }
    }
}

impl RepeatedRun {
    /// The run of an experiment file with the overrides of these files and these keys into this folder.
    pub fn new(
        experiment: &Path,
        set_files: &[PathBuf],
        set: &[(String, String)],
        out: &Path,
    ) -> RepeatedRun {
        let mut command = format!("fabricsim run {}", shell_word(&experiment.display().to_string()));
        for file in set_files {
            let _ = write!(command, " --set-file {}", shell_word(&file.display().to_string()));
        }
        for (key, value) in set {
            let _ = write!(command, " --set {}", shell_word(&format!("{key}={value}")));
        }
        RepeatedRun {
            command,
            out: out.display().to_string(),
        }
    }

    /// The command of the comparison with this number, which begins at 1.
    pub fn comparison(&self, number: usize, comparison: &Comparison) -> String {
        let mut command = self.command.clone();
        for changed in &comparison.set {
            let _ = write!(
                command,
                " --set {}",
                shell_word(&format!("{}={}", changed.key, changed.value))
            );
        }
        command + &format!(" --out {}", shell_word(&format!("{}-{number}", self.out)))
    }
}

/// A word of a shell command, in single quotes if it needs them.
pub(super) fn shell_word(word: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "-_./=,:+@%".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

impl Verdict {
    /// The verdict in lines: the sentence, where, when, why, what to try with the commands of `run`, the confidence.
    /// Without a run, what to try is left out.
    pub fn text(&self, run: Option<&RepeatedRun>) -> String {
        let mut text = format!("verdict   {}\n", self.headline);
        let mut line = |label: &str, content: &str| {
            let _ = writeln!(text, "  {label:<8}{content}");
        };
        for (index, place) in self.places.iter().enumerate() {
            line(if index == 0 { "where" } else { "" }, &place.found);
        }
        for (index, time) in self.times.iter().enumerate() {
            let (begin, end) = (show::time(time.begin_ns), show::time(time.end_ns));
            let content = format!("{begin} to {end}: {}", time.found);
            line(if index == 0 { "when" } else { "" }, &content);
        }
        for (index, cause) in self.causes.iter().enumerate() {
            line(if index == 0 { "why" } else { "" }, cause);
        }
        for (index, comparison) in self.comparisons.iter().enumerate() {
            let Some(run) = run else { break };
            line(
                if index == 0 { "try" } else { "" },
                &format!("{}:", comparison.differs),
            );
            line("", &format!("  {}", run.comparison(index + 1, comparison)));
        }
        line("trust", &self.confidence.to_string());
        text
    }
}

impl fmt::Display for super::Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            ConfidenceLevel::Low => "low",
            ConfidenceLevel::Medium => "medium",
            ConfidenceLevel::High => "high",
        };
        write!(f, "{level}")?;
        if !self.reasons.is_empty() {
            write!(f, ": {}", self.reasons.join("; "))?;
        }
        Ok(())
    }
}
