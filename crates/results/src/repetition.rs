//! Times of the repetitions of a job.

use serde::{Deserialize, Serialize};

/// Times of the repetitions of a job that all its ranks have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepetitionTimes {
    /// Number of these repetitions.
    complete: u64,
    sum_ps: u64,
    min_ps: u64,
    max_ps: u64,
}

/// Times of the repetitions of a job, for people. The time of a repetition is that from the end of the repetition
/// before on its last rank, so the times add up to that of all repetitions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RepetitionSummary {
    /// Repetitions that all ranks have ended. May be more than `repetitions` of the job if it repeats until others end.
    pub complete: u64,
    /// Mean time, in nanoseconds.
    pub mean_ns: f64,
    /// Shortest time, in nanoseconds.
    pub min_ns: f64,
    /// Longest time, in nanoseconds.
    pub max_ns: f64,
    /// Repetitions per second of simulated time. `None` if they took no time.
    pub per_s: Option<f64>,
}

impl RepetitionTimes {
    /// Adds a repetition of this time in picoseconds.
    pub fn add(&mut self, time_ps: u64) {
        self.min_ps = match self.complete {
            0 => time_ps,
            _ => self.min_ps.min(time_ps),
        };
        self.max_ps = self.max_ps.max(time_ps);
        self.sum_ps += time_ps;
        self.complete += 1;
    }

    /// The times for people; `None` without a complete repetition.
    pub fn summary(&self) -> Option<RepetitionSummary> {
        let RepetitionTimes {
            complete,
            sum_ps,
            min_ps,
            max_ps,
        } = *self;
        let ns = |ps: u64| ps as f64 / 1e3;
        (complete > 0).then(|| RepetitionSummary {
            complete,
            mean_ns: ns(sum_ps) / complete as f64,
            min_ns: ns(min_ps),
            max_ns: ns(max_ps),
            per_s: (sum_ps > 0).then(|| complete as f64 / (sum_ps as f64 * 1e-12)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_give_mean_extremes_and_rate() {
        let mut times = RepetitionTimes::default();
        assert_eq!(times.summary(), None);
        for ps in [3_000, 1_000, 2_000] {
            times.add(ps);
        }
        let summary = times.summary().unwrap();
        assert_eq!((summary.complete, summary.mean_ns), (3, 2.0));
        assert_eq!((summary.min_ns, summary.max_ns), (1.0, 3.0));
        assert!((summary.per_s.unwrap() - 5e8).abs() < 1e-3);
        let mut nothing = RepetitionTimes::default();
        nothing.add(0);
        assert_eq!(nothing.summary().unwrap().per_s, None);
    }
}
