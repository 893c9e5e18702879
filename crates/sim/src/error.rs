//! What can go wrong between an experiment and its result.

use thiserror::Error;

/// Why there is no result.
#[derive(Debug, Error)]
pub enum Error {
    /// The experiment asks for something that does not exist or cannot be built.
    #[error("{0}")]
    Config(#[from] config::Error),
    /// A trace cannot be read.
    #[error("{0}")]
    Trace(#[from] workload::TraceError),
    /// A rank cannot go on.
    #[error("job '{job}': {source}")]
    Replay {
        /// Name of the job.
        job: String,
        /// What it ran into.
        source: mpi::ReplayError,
    },
    /// Ranks wait for what never comes.
    #[error("{0}")]
    Deadlock(String),
    /// The simulator contradicts itself; a bug of ours.
    #[error("internal check failed, please report this: {0}")]
    Audit(String),
    /// A file cannot be read.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// A checkpoint cannot be written, read, or gone on from.
    #[error("{file}: {why}")]
    Checkpoint {
        /// The checkpoint.
        file: String,
        /// What is wrong.
        why: String,
    },
    /// What is collected while the run goes on cannot be written, or not be read again.
    #[error("what the run collects: {0}")]
    Collect(std::io::Error),
    /// The run is not one for several processes.
    #[error("{0}")]
    Processes(String),
    /// There is no interference to be measured.
    #[error("interference of jobs: {0}")]
    Interference(String),
    /// Another process of the run has failed, and says why.
    #[error("another process of the run has failed")]
    Elsewhere,
    /// The owner interrupted the run.
    #[error("interrupted; no result was written")]
    Interrupted,
}
