//! The slow-down of jobs by other jobs.

use serde::{Deserialize, Serialize};

/// The jobs of ranks of a run, each compared with a standalone run on the same hosts of the same network.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interference {
    /// Jobs in the order of the experiment.
    pub jobs: Vec<SlowDown>,
}

/// One job in the shared and in the standalone run. Times in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SlowDown {
    /// Name of the job.
    pub name: String,
    /// Time in the shared run over time in the standalone run; of a job that was stopped at its end in either run, mean
    /// time of a complete repetition, likewise. `None` if the end of either run interrupted it, if it takes no time,
    /// and if it was stopped without a complete repetition.
    pub slowdown: Option<f64>,
    /// Time in the shared run, as in its entry in `jobs`.
    pub time_ns: f64,
    /// Time in the standalone run.
    pub alone_ns: f64,
    /// MPI calls per rank in the shared run, mean over the ranks.
    pub mpi_ns: f64,
    /// MPI calls per rank in the standalone run, mean over the ranks.
    pub alone_mpi_ns: f64,
    /// Mean packet latency in the shared run. `None` without measured packets.
    pub latency_ns: Option<f64>,
    /// Mean packet latency in the standalone run. `None` without measured packets.
    pub alone_latency_ns: Option<f64>,
    /// Whether all of its ranks reached the end of their programs in the standalone run.
    pub alone_finished: bool,
    /// Digest of the standalone run.
    pub alone_digest: String,
}
