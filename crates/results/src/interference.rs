//! How much slower jobs are in company than alone.

use serde::{Deserialize, Serialize};

use crate::RunResult;

/// The jobs of ranks of a run, each compared with itself alone on the same hosts of the same network.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interference {
    /// In the order of the experiment.
    pub jobs: Vec<SlowDown>,
}

/// One job in company and alone. Times in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SlowDown {
    /// Name of the job.
    pub name: String,
    /// Its time in company over its time alone; none if it was cut off in either run, or takes no time.
    pub slowdown: Option<f64>,
    /// Its time in company, as in its entry in `jobs`.
    pub time_ns: f64,
    /// Its time alone.
    pub alone_ns: f64,
    /// MPI calls per rank in company, mean over the ranks.
    pub mpi_ns: f64,
    /// MPI calls per rank alone, mean over the ranks.
    pub alone_mpi_ns: f64,
    /// Mean latency of its packets in company.
    pub latency_ns: f64,
    /// Mean latency of its packets alone.
    pub alone_latency_ns: f64,
    /// Whether all of its ranks reached their end alone.
    pub alone_finished: bool,
    /// Digest of the run alone.
    pub alone_digest: String,
}

impl SlowDown {
    /// Of a job in a run and its number there: in company, and alone.
    pub fn of(
        (in_company, number): (&RunResult, usize),
        (alone, number_alone): (&RunResult, usize),
    ) -> SlowDown {
        let (job, by_itself) = (
            &in_company.summary.jobs[number],
            &alone.summary.jobs[number_alone],
        );
        let comparable = job.finished && by_itself.finished && by_itself.time_ns > 0.0;
        SlowDown {
            name: job.name.clone(),
            slowdown: comparable.then(|| job.time_ns / by_itself.time_ns),
            time_ns: job.time_ns,
            alone_ns: by_itself.time_ns,
            mpi_ns: job.mpi_ns,
            alone_mpi_ns: by_itself.mpi_ns,
            latency_ns: job.latency_ns.mean,
            alone_latency_ns: by_itself.latency_ns.mean,
            alone_finished: by_itself.finished,
            alone_digest: alone.summary.digest.clone(),
        }
    }
}
