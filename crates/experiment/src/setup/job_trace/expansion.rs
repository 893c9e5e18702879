//! From a trace to jobs with starts, ends and hosts: the schedule of all selected jobs, and the span that is simulated.
//!
//! All selected jobs are scheduled, from an empty machine. The simulated span is cut out of this schedule, so that at
//! its start the machine is as full, and its free hosts are as scattered, as the jobs before have left it.

use std::sync::Arc;

use des::Time;
use results::rows::ScheduleRow;
use results::{ScheduleSummary, ScheduledSpan};
use topology::HostId;

use super::setting::{TraceJob, TraceSetting};
use crate::setup::limits::LATEST;
use crate::setup::schedule::{JobRequest, allocation, schedule};

/// A job of the simulated span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedJob {
    /// Its number among the jobs of the trace.
    pub number: usize,
    /// Start in the simulation; 0 if it was running before.
    pub start: Time,
    /// End in the simulation.
    pub end: Time,
    /// Its hosts, in the order in which it takes them.
    pub hosts: Vec<HostId>,
}

/// The schedule of a trace, for results.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceSchedule {
    /// One row for each scheduled job, by arrival.
    pub rows: Vec<ScheduleRow>,
    /// Utilisation and waits.
    pub summary: ScheduleSummary,
}

/// The schedule of a trace and the jobs of the simulated span.
#[derive(Debug)]
pub struct Expansion {
    /// The jobs of the span, by arrival.
    pub jobs: Vec<PlacedJob>,
    /// The schedule.
    pub schedule: TraceSchedule,
}

/// Why there are no jobs: a key of `[job_trace]` and a message, or an error of a placement.
#[derive(Debug)]
pub enum ExpansionError<E> {
    /// A key and a message.
    Key(&'static str, String),
    /// An error of the order of hosts.
    Order(E),
}

/// The span of the trace that is simulated, in nanoseconds of the trace, and its scale.
#[derive(Clone, Copy)]
struct SimulatedSpan {
    from: u64,
    until: u64,
    scale: u64,
}

impl SimulatedSpan {
    /// The start and end of a job in the simulation; `None` if it does not run in the span.
    fn cut(&self, start: u64, end: u64) -> Option<(Time, Time)> {
        let (start, end) = (start.max(self.from), end.min(self.until));
        (start < end).then(|| (self.time(start), self.time(end)))
    }

    /// The simulated time, rounded down, so that jobs one after another never overlap.
    fn time(&self, ns: u64) -> Time {
        let ps = u128::from(ns - self.from) * 1000 / u128::from(self.scale);
        Time(u64::try_from(ps).unwrap_or(u64::MAX))
    }
}

/// Schedules the jobs on `machine` and selects the span. `order` gives the free hosts in the order in which job
/// `number` takes them.
///
/// # Errors
/// See [`ExpansionError`].
pub fn expand<E>(
    setting: &TraceSetting,
    machine: &[HostId],
    order: impl FnMut(usize, Vec<HostId>) -> Result<Vec<HostId>, E>,
) -> Result<Expansion, ExpansionError<E>> {
    let key = ExpansionError::Key;
    let TraceSetting { jobs, .. } = setting;
    let requests: Vec<JobRequest> = jobs.iter().map(|job| job.request).collect();
    let starts = schedule(setting.scheduler, &requests, machine.len() as u32)
        .map_err(|error| key("file", error.to_string()))?;
    let ends: Vec<u64> = requests
        .iter()
        .zip(&starts)
        .map(|(job, start)| start + job.duration)
        .collect();
    let span = simulated_span(setting, &ends).map_err(|(name, message)| key(name, message))?;
    let hosts = allocation::allocate(&requests, &starts, machine, order).map_err(ExpansionError::Order)?;
    let mut placed = Vec::new();
    let mut rows = Vec::with_capacity(jobs.len());
    for ((number, job), hosts) in jobs.iter().enumerate().zip(hosts) {
        let times = span.cut(starts[number], ends[number]);
        rows.push(row(job, starts[number], times));
        let Some((start, end)) = times else {
            continue;
        };
        if end.ps() > LATEST.ps {
            let message = format!(
                "the job {} would end after more than 100 days of simulated time; expected a greater time_scale, or a shorter part (until)",
                job.name
            );
            return Err(key("time_scale", message));
        }
        if start == end {
            let message = format!(
                "the job {} would run for less than 1 ps; expected a smaller time_scale",
                job.name
            );
            return Err(key("time_scale", message));
        }
        placed.push(PlacedJob {
            number,
            start,
            end,
            hosts,
        });
    }
    if placed.is_empty() {
        let message = "no job runs in this part of the trace; expected a part with jobs (from, until)";
        return Err(key("from", message.into()));
    }
    let summary = ScheduleSummary::new(
        setting.scheduler.name,
        &rows,
        &ScheduledSpan {
            hosts: machine.len() as u64,
            from_ns: span.from,
            until_ns: span.until,
            time_scale: span.scale,
            left_out: setting
                .left_out
                .iter()
                .map(|(reason, jobs)| (reason.to_string(), *jobs))
                .collect(),
        },
    );
    Ok(Expansion {
        jobs: placed,
        schedule: TraceSchedule { rows, summary },
    })
}

/// The simulated span.
fn simulated_span(setting: &TraceSetting, ends: &[u64]) -> Result<SimulatedSpan, (&'static str, String)> {
    let first = setting.jobs.first().map_or(0, |job| job.request.arrival);
    let last = ends.iter().copied().max().unwrap_or(first);
    let from = setting.from.map_or(first, |from| from.ns);
    let until = setting.until.map_or(last, |until| until.ns);
    if from >= until {
        let wrong = if setting.until.is_some() { "until" } else { "from" };
        let message = format!(
            "no job runs between {from} ns and {until} ns of the trace; the jobs run from {first} ns to {last} ns"
        );
        return Err((wrong, message));
    }
    Ok(SimulatedSpan {
        from,
        until,
        scale: setting.time_scale,
    })
}

fn row(job: &TraceJob, start: u64, times: Option<(Time, Time)>) -> ScheduleRow {
    let JobRequest {
        arrival,
        hosts,
        duration,
        estimate,
    } = job.request;
    let wait = start - arrival;
    ScheduleRow {
        job: Arc::from(job.name.as_str()),
        application: job.application.clone(),
        hosts,
        arrival_ns: arrival,
        start_ns: start,
        end_ns: start + duration,
        estimate_ns: estimate,
        wait_ns: wait,
        bounded_slowdown: results::bounded_slowdown(wait, duration),
        simulated_start_ps: times.map(|(start, _)| start.ps()),
        simulated_end_ps: times.map(|(_, end)| end.ps()),
    }
}
