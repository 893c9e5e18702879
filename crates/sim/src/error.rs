//! Errors between an experiment and its result.

use thiserror::Error;

/// The reason for which there is no result.
#[derive(Debug, Error)]
pub enum Error {
    /// The experiment, or a file that it names, cannot be read or built.
    #[error(transparent)]
    Experiment(#[from] experiment::Error),
    /// A rank cannot continue.
    #[error("job '{job}': {source}")]
    Replay {
        /// Name of the job.
        job: String,
        /// The error of the rank.
        source: mpi::ReplayError,
    },
    /// Ranks wait forever.
    #[error("{0}")]
    Deadlock(String),
    /// The simulator contradicts itself: a bug of FabricSim.
    #[error("internal check failed, please report this: {0}")]
    Audit(String),
    /// A checkpoint cannot be read or resumed, or the experiment cannot have one.
    #[error("{file}: {why}")]
    Checkpoint {
        /// Path of the checkpoint.
        file: String,
        /// The reason.
        why: String,
    },
    /// The system refused to write a checkpoint.
    #[error("{file}: cannot be written: {source}; the checkpoint before it, if any, is still there")]
    CheckpointNotWritten {
        /// Path of the checkpoint.
        file: String,
        /// Error of the system.
        source: std::io::Error,
    },
    /// Collected rows cannot be written or read again.
    #[error("collected rows: {0}")]
    Collect(std::io::Error),
    /// The run cannot use several processes.
    #[error("{0}")]
    Processes(String),
    /// Interference cannot be measured.
    #[error("interference of jobs: {0}")]
    Interference(String),
    /// Another process of the run has failed and reports the reason.
    #[error("another process of the run has failed")]
    Elsewhere,
    /// The owner interrupted the run.
    #[error("interrupted; no result was written")]
    Interrupted,
}
