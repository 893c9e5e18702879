//! Whether the backlog of synthetic traffic grows: its sign is a job whose hosts offer more than the network accepts.
//!
//! The backlog of a job is the traffic that was generated and has not arrived. Below saturation it becomes stationary.
//! Past saturation it grows as long as the run lasts. Both are told apart by the backlog's growth in the later part of
//! the measured time, compared with the traffic that is in flight without any queue.

use crate::{JobSummary, RunResult};

/// Least relative deficit that counts. Random arrivals explain smaller ones.
pub(super) const NOISE: f64 = 0.05;

/// Number of longest idle latencies for which traffic is in flight below saturation, as queues delay it.
///
/// The bench `saturation` of `crates/sim` compares this rule with long runs of generated cases.
const IN_FLIGHT_LATENCIES: f64 = 2.0;

/// The backlog of a job.
pub(super) struct Backlog {
    /// Share of the offered traffic that did not arrive in the measured time. Below 0 if earlier traffic arrived.
    pub deficit: f64,
    /// Share of the deficit that traffic in flight can explain, of the offered traffic. `None` if not known.
    pub in_flight: Option<f64>,
    /// Growth in the later part of the measured time: at least its second half, at most three quarters. A share of the
    /// traffic that is offered in that time.
    later: f64,
    /// The same, in nanoseconds of offered traffic.
    later_ns: f64,
    /// Idle latency, in nanoseconds.
    idle_ns: Option<f64>,
}

impl Backlog {
    /// The backlog of a job of synthetic traffic that offered some in the measured time.
    pub fn of(result: &RunResult, job: &JobSummary) -> Option<Backlog> {
        let traffic = job.traffic.as_ref().filter(|traffic| traffic.offered_bytes > 0)?;
        let measured_ns = result.summary.network.measured_ns;
        let offered = traffic.offered_bytes as f64;
        let later = traffic.backlog.iter().take(2);
        let from_ns = later.clone().map(|interval| interval.from_ns).reduce(f64::min)?;
        let bytes: i64 = later.map(|interval| interval.growth_bytes).sum();
        let later_ns = bytes as f64 / offered * measured_ns;
        let bounds = result.summary.bounds.iter().flat_map(|bounds| &bounds.jobs);
        let idle_ns = bounds
            .filter(|bounds| bounds.name == job.name)
            .find_map(|bounds| bounds.longest_idle_ns);
        Some(Backlog {
            deficit: 1.0 - traffic.accepted_bytes as f64 / offered,
            in_flight: idle_ns.map(|idle_ns| IN_FLIGHT_LATENCIES * idle_ns / measured_ns),
            later: later_ns / (measured_ns - from_ns),
            later_ns,
            idle_ns,
        })
    }

    /// Whether less arrived than was offered, beyond noise.
    pub fn lacks(&self) -> bool {
        self.deficit > NOISE
    }

    /// Whether the backlog grows as it does past saturation.
    pub fn grows(&self) -> bool {
        let explained = |idle_ns| self.later_ns <= IN_FLIGHT_LATENCIES * idle_ns;
        self.lacks() && self.later > NOISE && self.idle_ns.is_some_and(|idle_ns| !explained(idle_ns))
    }
}
