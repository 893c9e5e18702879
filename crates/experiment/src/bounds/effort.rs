//! How much work bounds may take.

/// Steps between routing situations that take about a second and a half.
const MOST_STEPS: u64 = 20_000_000;

/// Limits of the computation.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Largest number of routing situations for one job.
    pub situations: u64,
    /// Largest number of steps from one routing situation to another, for one job. There are many where paths begin
    /// at random.
    pub steps: u64,
    /// Largest number of host pairs for which a pattern is asked, for one job.
    pub shares: u64,
}

impl Effort {
    /// One or two seconds.
    pub const CHECK: Effort = Effort {
        situations: 20_000_000,
        steps: MOST_STEPS,
        shares: 50_000_000,
    };
    /// Less than a second, for bounds beside a run.
    pub const RUN: Effort = Effort {
        situations: 1_000_000,
        steps: MOST_STEPS,
        shares: 10_000_000,
    };
}
