//! Schedules: when each job of a batch system starts, and on which hosts.
//!
//! A schedule is a function of arrivals, sizes, durations and estimates of jobs, and of the number of hosts. It knows
//! neither the network nor the programs of the jobs: the durations are given, so it is computed before the simulation.
//! All times are integers of one unit. One scheduler is one file and one line in [`SCHEDULERS`].
//!
//! At one time, jobs end first, then jobs arrive in their order, then jobs start.

pub mod allocation;
mod conservative_backfill;
mod easy_backfill;
mod fcfs;

use std::collections::BTreeSet;
use std::fmt;

use config::Parameter;

/// Steps of all schedulers together after which a schedule is refused: under a minute.
const MAX_STEPS: u64 = 20_000_000_000;

/// What a scheduler knows of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobRequest {
    /// When the job is submitted.
    pub arrival: u64,
    /// Hosts that it needs; at least 1.
    pub hosts: u32,
    /// Time that it runs.
    pub duration: u64,
    /// Time that its user expects it to run. Schedulers count with the duration if that is longer.
    pub estimate: u64,
}

impl JobRequest {
    /// Time for which the job has its hosts at most, as schedulers count.
    fn planned(&self) -> u64 {
        self.estimate.max(self.duration)
    }
}

/// The decisions of a scheduler. Jobs have the numbers of the list of requests.
pub(super) trait JobScheduler {
    /// A job arrives. Jobs arrive in the order of their numbers.
    fn arrived(&mut self, now: u64, job: usize, steps: &mut Steps);
    /// A job that was started ends.
    fn ended(&mut self, now: u64, job: usize, steps: &mut Steps);
    /// The jobs that start now, in the order in which they take hosts.
    fn start(&mut self, now: u64, steps: &mut Steps) -> Vec<usize>;
    /// The next time at which a job may start although nothing arrives or ends.
    fn wakes_at(&self) -> Option<u64> {
        None
    }
}

/// A scheduler for requests, by arrival, and a number of hosts.
type Build = for<'a> fn(&'a [JobRequest], u32) -> Box<dyn JobScheduler + 'a>;

/// A kind of scheduler.
pub struct SchedulerKind {
    /// Name in experiments, `fabricsim list` and the docs.
    pub name: &'static str,
    /// Summary of one line.
    pub summary: &'static str,
    /// Parameters.
    pub parameters: &'static [Parameter],
    /// Makes one.
    pub(super) build: Build,
}

/// All schedulers; the first one is the default.
pub static SCHEDULERS: &[SchedulerKind] = &[fcfs::KIND, easy_backfill::KIND, conservative_backfill::KIND];

/// Steps that schedulers have taken, which bound the time to compute a schedule.
#[derive(Debug, Default)]
pub(super) struct Steps {
    taken: u64,
}

impl Steps {
    /// Counts steps. Whether there are any left.
    fn take(&mut self, steps: usize) -> bool {
        self.taken = self.taken.saturating_add(steps as u64);
        self.taken <= MAX_STEPS
    }
}

/// Why there is no schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScheduleError {
    /// This job needs no hosts, or more than there are.
    Hosts(usize),
    /// This job arrives before the one in front of it.
    Order(usize),
    /// Arrivals and durations together exceed 64 bits.
    Overflow,
    /// Queues are so long that the schedule would take minutes to compute.
    TooManySteps,
}

impl fmt::Display for ScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScheduleError::Hosts(job) => write!(f, "job {job} needs no hosts or more than there are"),
            ScheduleError::Order(job) => write!(f, "job {job} arrives before the job in front of it"),
            ScheduleError::Overflow => {
                f.write_str("its times add up to more than 584 years; expected a shorter trace")
            }
            ScheduleError::TooManySteps => write!(
                f,
                "so many jobs wait at once that the schedule needs more than {MAX_STEPS} steps; select fewer jobs \
                 (first, jobs), or use the scheduler fcfs"
            ),
        }
    }
}

/// The start of each job. Jobs are sorted by arrival.
///
/// # Errors
/// See [`ScheduleError`].
pub fn schedule(kind: &SchedulerKind, jobs: &[JobRequest], hosts: u32) -> Result<Vec<u64>, ScheduleError> {
    refuse(jobs, hosts)?;
    let mut scheduler = (kind.build)(jobs, hosts);
    let mut steps = Steps::default();
    let mut starts = vec![0; jobs.len()];
    let mut running: BTreeSet<(u64, usize)> = BTreeSet::new();
    let mut next = 0;
    loop {
        let arrival = jobs.get(next).map(|job| job.arrival);
        let end = running.first().map(|(end, _)| *end);
        let Some(now) = [arrival, end, scheduler.wakes_at()].into_iter().flatten().min() else {
            return Ok(starts);
        };
        while let Some((end, job)) = running.first().copied()
            && end == now
        {
            running.pop_first();
            scheduler.ended(now, job, &mut steps);
        }
        while jobs.get(next).is_some_and(|job| job.arrival == now) {
            scheduler.arrived(now, next, &mut steps);
            next += 1;
        }
        for job in scheduler.start(now, &mut steps) {
            starts[job] = now;
            running.insert((now + jobs[job].duration, job));
        }
        if !steps.take(1) {
            return Err(ScheduleError::TooManySteps);
        }
    }
}

/// Refuses jobs that no scheduler can place, and times whose sums do not fit.
fn refuse(jobs: &[JobRequest], hosts: u32) -> Result<(), ScheduleError> {
    let mut total = 0u128;
    let mut latest = 0;
    for (number, job) in jobs.iter().enumerate() {
        if !(1..=hosts).contains(&job.hosts) {
            return Err(ScheduleError::Hosts(number));
        }
        if job.arrival < latest {
            return Err(ScheduleError::Order(number));
        }
        latest = job.arrival;
        total += u128::from(job.planned());
    }
    // No job starts later than this, even if the jobs run one after another.
    match u64::try_from(total + u128::from(latest)) {
        Ok(_) => Ok(()),
        Err(_) => Err(ScheduleError::Overflow),
    }
}

#[cfg(test)]
mod tests;
