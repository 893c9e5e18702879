//! Job traces: what users submitted to a batch system, from a file.
//!
//! Readers take one line at a time. They know neither the network nor the scheduler. One format is one file and one
//! line in [`FORMATS`].

mod csv;
mod expansion;
mod jobs;
mod lines;
mod setting;
mod swf;
mod trace_time;

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

pub use expansion::TraceSchedule;
pub use jobs::{TraceContext, read};
pub use setting::{APPLICATION, JOB_TRACE};
pub use trace_time::TraceTime;

use lines::LineReader;

/// Largest number of jobs of a trace that are scheduled.
pub const MAX_JOBS: u64 = 1_000_000;

/// A job of a trace as its file gives it. `None`: the file does not tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobRecord {
    /// Line in the file, from 1.
    pub line: u64,
    /// Name, or number in the trace.
    pub name: Option<Arc<str>>,
    /// When it was submitted.
    pub arrival: Option<TraceTime>,
    /// Size.
    pub size: Option<JobSize>,
    /// How long it ran.
    pub duration: Option<TraceTime>,
    /// How long its user expected it to run.
    pub estimate: Option<TraceTime>,
    /// What it executed.
    pub application: Option<Arc<str>>,
    /// Ranks on each host.
    pub ranks_per_host: Option<u32>,
}

/// The size of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobSize {
    /// Whole nodes.
    Nodes(u64),
    /// Processors, of which a node has several.
    Processors(u64),
}

/// Facts of the trace as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceHeader {
    /// Nodes of the machine.
    pub max_nodes: Option<u64>,
    /// Processors of the machine.
    pub max_processors: Option<u64>,
}

/// Receives records in the order of the file, and says when it has enough.
pub type Receive<'a> = &'a mut dyn FnMut(JobRecord) -> Result<ControlFlow<()>, String>;

/// A format of job traces.
pub struct JobTraceFormat {
    /// Name in experiments, `fabricsim list` and the docs, and the extension of its files.
    pub name: &'static str,
    /// Summary of one line.
    pub summary: &'static str,
    /// Reads a file, which is named in errors.
    read: fn(&mut LineReader<'_>, Receive<'_>) -> Result<TraceHeader, String>,
}

/// All formats.
pub static FORMATS: &[JobTraceFormat] = &[csv::FORMAT, swf::FORMAT];

/// The names of [`FORMATS`].
pub const FORMAT_NAMES: &[&str] = config::names_of!(FORMATS);

impl JobTraceFormat {
    /// The format of this name.
    pub fn named(name: &str) -> Option<&'static JobTraceFormat> {
        FORMATS.iter().find(|format| format.name == name)
    }

    /// The format that the extension of a file tells.
    pub fn of_file(path: &str) -> Option<&'static JobTraceFormat> {
        let extension = Path::new(path).extension()?.to_str()?.to_ascii_lowercase();
        JobTraceFormat::named(&extension)
    }

    /// Reads a trace. `name` is the file in errors.
    ///
    /// # Errors
    /// The file cannot be opened or read, or a line is wrong: with file, line, field and what was expected; or an error
    /// of `receive`.
    pub fn read(&self, path: &Path, name: &str, receive: Receive<'_>) -> Result<TraceHeader, String> {
        let file =
            config::open_input(path, config::TEXT_BYTES).map_err(|error| format!("{name}: {error}"))?;
        let mut reader = std::io::BufReader::new(file);
        (self.read)(&mut LineReader::new(&mut reader, name), receive)
    }
}

/// Shares equal texts, as the few names of applications of a long trace.
#[derive(Default)]
struct SharedTexts {
    known: std::collections::BTreeSet<Arc<str>>,
}

impl SharedTexts {
    fn get(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.known.get(text) {
            return known.clone();
        }
        let text: Arc<str> = text.into();
        self.known.insert(text.clone());
        text
    }
}

#[cfg(test)]
mod experiment_tests;
#[cfg(test)]
mod tests;
