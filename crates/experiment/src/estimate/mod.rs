//! The work of an experiment, estimated before it runs: packet-hops, messages, and CPU time. No LP is built.
//!
//! `bounds` says what the network can carry, and `lp/expected_work.rs` divides LPs among threads; this module says how
//! long a run takes. Hops are those of [idle paths](crate::idle_path) of sampled pairs, so that detours under load are
//! not counted. Synthetic traffic is what its hosts offer. A saturated network carries less.

mod job_work;
mod pair_hops;
mod ranks;
mod rates;
mod sample;
#[cfg(test)]
mod tests;
mod traffic;

use std::fmt;

use des::Time;
use serde::Serialize;

use crate::Error;
use crate::setup::experiment::Experiment;
use crate::setup::job::JobKind;
use job_work::JobWork;
use pair_hops::PairHops;
use rates::CpuTime;

/// Operations, rounds and messages that are looked at, of all jobs: some tenths of a second.
const MOST_STEPS: u64 = 400_000;

/// The same for programs, which may be in Python.
const MOST_STEPS_OF_PROGRAMS: u64 = 20_000;

/// The expected work of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WorkEstimate {
    /// Links that packets cross, injection and ejection included, as `packet_hops` of a result.
    pub packet_hops: u64,
    /// Messages: of ranks, control messages and those in the memory of a host included, and of synthetic traffic.
    pub messages: u64,
    /// CPU time in seconds, to two digits. Threads and processes divide it.
    pub cpu_s: f64,
    /// The assumed rate, to two digits: packet-hops over the part of the CPU time that depends on them.
    pub packet_hops_per_s: f64,
    /// Whether a part of the experiment was not looked at, so that there is more work.
    pub is_lower_limit: bool,
}

/// Estimates the work of an experiment, in less than about a second.
///
/// # Errors
/// The program of a rank cannot be opened or read, or has an invalid operation, with the error of a run.
pub fn work(experiment: &Experiment) -> Result<WorkEstimate, Error> {
    let network = experiment.network.as_ref();
    let (mut of_traffic, mut of_ranks) = (JobWork::default(), JobWork::default());
    let mut hops = PairHops::new(network, experiment.run.seed);
    let mut steps = ranks::StepBudget {
        left: MOST_STEPS,
        left_for_programs: MOST_STEPS_OF_PROGRAMS,
        jobs: experiment.jobs.iter().filter(|job| !job.is_traffic()).count(),
    };
    let until = experiment.run.until;
    // When the ranks end, at the earliest; `None` without ranks.
    let mut ranks_end: Option<Time> = None;
    for job in experiment.jobs.iter() {
        if let JobKind::Ranks(ranks) = &job.kind {
            let time = ranks::longest_time(job, until);
            let estimate = ranks::work_of(&job.name, ranks, time, &mut hops, &mut steps)?;
            of_ranks.add(estimate.work, 1.0);
            let end = job.start.saturating_add(estimate.least_time);
            ranks_end = ranks_end.max(Some(end));
        }
    }
    for job in experiment.jobs.iter() {
        if let JobKind::Traffic(traffic) = &job.kind {
            let end = end_of_traffic(until, ranks_end);
            let time = end.time.saturating_sub(job.start);
            of_traffic.add(traffic::work_of(traffic, time, &mut hops), 1.0);
            of_traffic.is_lower_limit |= end.is_lower_limit;
        }
    }
    let cpu = CpuTime::of(network, &of_traffic, &of_ranks);
    let mut all = of_traffic;
    all.add(of_ranks, 1.0);
    Ok(WorkEstimate {
        packet_hops: all.packet_hops.round() as u64,
        messages: all.messages.round() as u64,
        cpu_s: two_digits(cpu.total_s()),
        packet_hops_per_s: two_digits(cpu.rate(all.packet_hops)),
        is_lower_limit: all.is_lower_limit,
    })
}

/// The end of synthetic traffic.
struct TrafficEnd {
    time: Time,
    /// Whether the ranks may end later.
    is_lower_limit: bool,
}

/// Synthetic traffic ends with the run: at its end, or with the last rank.
fn end_of_traffic(until: Option<Time>, ranks_end: Option<Time>) -> TrafficEnd {
    match (until, ranks_end) {
        (Some(until), Some(ranks)) if until <= ranks => TrafficEnd {
            time: until,
            is_lower_limit: false,
        },
        (_, Some(ranks)) => TrafficEnd {
            time: ranks,
            is_lower_limit: true,
        },
        (until, None) => TrafficEnd {
            time: until.unwrap_or(Time::ZERO),
            is_lower_limit: until.is_none(),
        },
    }
}

/// A number rounded to two digits.
fn two_digits(value: f64) -> f64 {
    let text = format!("{value:.1e}");
    text.parse().unwrap_or(value)
}

/// A number of things to two digits: `850`, `12 thousand`, `3.4 million`.
fn shown(value: f64) -> String {
    let value = two_digits(value);
    let (unit, factor) = match value {
        value if value >= 1e9 => (" billion", 1e9),
        value if value >= 1e6 => (" million", 1e6),
        value if value >= 1e4 => (" thousand", 1e3),
        _ => ("", 1.0),
    };
    format!("{}{unit}", two_digits(value / factor))
}

/// A time in seconds to two digits: `40 ms`, `3 s`, `12 minutes`, `5.5 hours`.
fn shown_s(seconds: f64) -> String {
    let (unit, factor) = match seconds {
        s if s < 1.0 => ("ms", 1e-3),
        s if s < 120.0 => ("s", 1.0),
        s if s < 7200.0 => ("minutes", 60.0),
        _ => ("hours", 3600.0),
    };
    format!("{} {unit}", two_digits(seconds / factor))
}

impl fmt::Display for WorkEstimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let about = match self.is_lower_limit {
            true => "at least",
            false => "about",
        };
        write!(
            f,
            "{about} {} packet-hops, {about} {} of one core (assumed: {} packet-hops per second)",
            shown(self.packet_hops as f64),
            shown_s(self.cpu_s),
            shown(self.packet_hops_per_s)
        )
    }
}
