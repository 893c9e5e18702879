//! Why a job cannot be explained.

use std::path::PathBuf;

/// Why a job cannot be explained.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder is not a result, or one of its files cannot be read.
    #[error(transparent)]
    Read(#[from] results::ReadError),
    /// What was found cannot be written.
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
    /// A table has not the columns that it should have.
    #[error("{} is not a table of this version of FabricSim: {why}", .path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What is missing.
        why: String,
    },
    /// What the tables say contradicts itself.
    #[error("{} is damaged: {why}", .folder.display())]
    Contradiction {
        /// The result folder.
        folder: PathBuf,
        /// What does not fit together.
        why: String,
    },
    /// There is no such job.
    #[error("{} has no job '{name}'; it has: {}", .folder.display(), .known.join(", "))]
    NoSuchJob {
        /// The result folder.
        folder: PathBuf,
        /// What was asked for.
        name: String,
        /// The jobs that are there.
        known: Vec<String>,
    },
    /// There is no job with a critical path.
    #[error("{} has nothing to explain: {why}", .folder.display())]
    NoRanks {
        /// The result folder.
        folder: PathBuf,
        /// What it has instead.
        why: String,
    },
}
