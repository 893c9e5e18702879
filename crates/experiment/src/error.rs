//! Errors between an experiment file and its parts.

use thiserror::Error;

/// The reason for which an experiment has no parts.
#[derive(Debug, Error)]
pub enum Error {
    /// The experiment asks for something that does not exist or cannot be built.
    #[error("{0}")]
    Config(#[from] config::Error),
    /// Several mistakes of single keys, in the order of the file, one on each line.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Several(Vec<config::Error>),
    /// A trace cannot be read.
    #[error("{0}")]
    Trace(#[from] workload::TraceError),
    /// The program of a rank cannot be read to its end.
    #[error("job '{job}': {source}")]
    Replay {
        /// Name of the job.
        job: String,
        /// The error of the rank.
        source: mpi::ReplayError,
    },
    /// A file cannot be read.
    #[error("{path}: {source}")]
    File {
        /// Path of the file.
        path: String,
        /// Error of the system.
        source: std::io::Error,
    },
}

impl Error {
    /// The mistakes of a file.
    pub(crate) fn of_mistakes(mut mistakes: Vec<config::Error>) -> Error {
        match mistakes.len() {
            1 => Error::Config(mistakes.remove(0)),
            _ => Error::Several(mistakes),
        }
    }
}
