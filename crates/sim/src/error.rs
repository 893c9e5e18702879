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
    /// The network does not fit into memory.
    #[error(
        "this network needs {needed_mb} MB of memory before anything moves, more than {of}, {free_mb} MB; expected a \
         smaller network, or several processes; --force tries it"
    )]
    Memory {
        /// The least that it needs, in MB.
        needed_mb: u64,
        /// What there is, in MB.
        free_mb: u64,
        /// What limits it.
        of: &'static str,
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
    /// A session cannot do what it was asked for.
    #[error("session: {0}")]
    Session(#[from] SessionError),
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

/// Why a [`crate::Session`] cannot do what it was asked for.
#[derive(Debug, Error)]
pub enum SessionError {
    /// The hosts cannot be those of a session.
    #[error("{0}")]
    Hosts(String),
    /// A time is before that to which the session has advanced.
    #[error("{at_ps} ps is past, as the session is at {now_ps} ps; expected this time or a later one")]
    Past {
        /// The given time.
        at_ps: u64,
        /// The time of the session.
        now_ps: u64,
    },
    /// A host has no part in the session.
    #[error("host {0} has no part in it; expected a host with which it was opened")]
    NoHost(u32),
    /// A message has no bytes.
    #[error("a message of 0 B; expected at least 1 B")]
    Empty,
    /// There are no more numbers for messages.
    #[error("it has 2147483647 messages, the most that it can have")]
    TooMany,
    /// The run has ended.
    #[error("it has ended")]
    Ended,
}
