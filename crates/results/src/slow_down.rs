//! The slow-down of a job, from its results in company and alone.

use crate::{RunResult, SlowDown};

impl SlowDown {
    /// Compares a job of a shared run, at this index there, with its standalone run.
    pub fn of(
        (in_company, number): (&RunResult, usize),
        (standalone, standalone_number): (&RunResult, usize),
    ) -> SlowDown {
        let (job, by_itself) = (
            &in_company.summary.jobs[number],
            &standalone.summary.jobs[standalone_number],
        );
        let [time, alone] = match job.stopped || by_itself.stopped {
            true => [job, by_itself].map(|job| job.repetition_times.map(|times| times.mean_ns)),
            false => [job, by_itself].map(|job| job.finished.then_some(job.time_ns)),
        };
        let times = time.zip(alone).filter(|(_, alone)| *alone > 0.0);
        SlowDown {
            name: job.name.clone(),
            slowdown: times.map(|(time, alone)| time / alone),
            time_ns: job.time_ns,
            alone_ns: by_itself.time_ns,
            mpi_ns: job.mpi_ns,
            alone_mpi_ns: by_itself.mpi_ns,
            latency_ns: job.latency_ns.mean,
            alone_latency_ns: by_itself.latency_ns.mean,
            alone_finished: by_itself.finished,
            alone_digest: standalone.summary.digest.clone(),
        }
    }
}
