//! Errors of `fabricsim explain`.

use std::path::PathBuf;

/// The reason why a job cannot be explained.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder is not a result, or one of its files cannot be read.
    #[error(transparent)]
    Read(#[from] results::ReadError),
    /// The result cannot be written.
    #[error(transparent)]
    Write(#[from] results::WriteError),
    /// The run did not write the tables.
    #[error(
        "{} has no table {}; run the experiment again with --set collect.timeline=true --set collect.waits=true",
        .folder.display(), .tables.join(", ")
    )]
    NotCollected {
        /// The result folder.
        folder: PathBuf,
        /// The tables that are missing.
        tables: Vec<&'static str>,
    },
    /// A table lacks an expected column.
    #[error("{} is not a table of this version of FabricSim: {why}", .path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The missing or wrong column.
        why: String,
    },
    /// The tables contradict each other.
    #[error("{} is damaged: {why}", .folder.display())]
    Contradiction {
        /// The result folder.
        folder: PathBuf,
        /// The contradiction.
        why: String,
    },
    /// The job does not exist.
    #[error("{} has no job '{name}'; it has: {}", .folder.display(), .known.join(", "))]
    NoSuchJob {
        /// The result folder.
        folder: PathBuf,
        /// The requested name.
        name: String,
        /// The existing jobs.
        known: Vec<String>,
    },
    /// No job has a critical path.
    #[error("{} has nothing to explain: {why}", .folder.display())]
    NoRanks {
        /// The result folder.
        folder: PathBuf,
        /// The jobs that the result has.
        why: String,
    },
}

impl From<results::RegenerateError> for Error {
    fn from(error: results::RegenerateError) -> Error {
        match error {
            results::RegenerateError::Read(error) => Error::Read(error),
            results::RegenerateError::Write(error) => Error::Write(error),
        }
    }
}
