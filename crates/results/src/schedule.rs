//! The schedule of a job trace: utilisation of the machine, waits and slow-downs of jobs.
//!
//! Sources: D. G. Feitelson, L. Rudolph, U. Schwiegelshohn, K. C. Sevcik and P. Wong, "Theory and practice in parallel
//! job scheduling" (JSSPP 1997), for the slow-down bounded by a threshold.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::rows::ScheduleRow;
use crate::show;

/// Shortest duration that counts in a bounded slow-down, in nanoseconds: 10 s.
const THRESHOLD_NS: u64 = 10_000_000_000;

/// The span of a trace that is simulated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScheduledSpan {
    /// Hosts of the machine.
    pub hosts: u64,
    /// Begin, in nanoseconds of the trace.
    pub from_ns: u64,
    /// End, in nanoseconds of the trace.
    pub until_ns: u64,
    /// Seconds of the trace in a simulated second.
    pub time_scale: u64,
    /// Jobs that cannot run and were left out, by the reason.
    pub left_out: BTreeMap<String, u64>,
}

/// Utilisation and waits of the span of a schedule that is simulated. Times are those of the trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScheduleSummary {
    /// Name of the scheduler.
    pub scheduler: String,
    /// Hosts of the machine.
    pub hosts: u64,
    /// Scheduled jobs, those outside of the span included.
    pub jobs: u64,
    /// Jobs that run in the span.
    pub simulated_jobs: u64,
    /// Jobs that cannot run and were left out, by the reason.
    pub left_out: BTreeMap<String, u64>,
    /// Start of the span, in seconds of the trace.
    pub from_s: f64,
    /// End of the span, in seconds of the trace.
    pub until_s: f64,
    /// Seconds of the trace in a simulated second.
    pub time_scale: u64,
    /// Time for which hosts have jobs in the span, as a fraction of the time of all hosts in it.
    pub utilisation: f64,
    /// Waits of the jobs that arrive in the span, in seconds. `None` if none does.
    pub wait_s: Option<ScheduleDistribution>,
    /// Bounded slow-downs of these jobs: wait and duration as a multiple of the duration, of at least 10 s; at least 1.
    pub bounded_slowdown: Option<ScheduleDistribution>,
    /// Largest number of jobs that wait at one time of the span.
    pub waiting_max: u64,
}

/// A distribution over jobs. Percentiles are values of jobs (nearest rank).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScheduleDistribution {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Maximum.
    pub max: f64,
}

impl ScheduleDistribution {
    fn of(mut values: Vec<f64>) -> Option<ScheduleDistribution> {
        values.sort_by(f64::total_cmp);
        let max = *values.last()?;
        let at = |percent: usize| values[(values.len() * percent).div_ceil(100).max(1) - 1];
        Some(ScheduleDistribution {
            mean: values.iter().sum::<f64>() / values.len() as f64,
            p50: at(50),
            p90: at(90),
            p99: at(99),
            max,
        })
    }
}

/// Wait and duration as a multiple of the duration, of at least 10 s; at least 1. Arguments are in nanoseconds.
pub fn bounded_slowdown(wait_ns: u64, duration_ns: u64) -> f64 {
    let response = wait_ns as f64 + duration_ns as f64;
    (response / duration_ns.max(THRESHOLD_NS) as f64).max(1.0)
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

impl ScheduleSummary {
    /// The summary of a span of a schedule.
    pub fn new(scheduler: &str, rows: &[ScheduleRow], span: &ScheduledSpan) -> ScheduleSummary {
        let (from, until) = (span.from_ns, span.until_ns);
        let in_part = |row: &&ScheduleRow| (from..until).contains(&row.arrival_ns);
        let busy: u128 = rows
            .iter()
            .map(|row| {
                let time = row.end_ns.min(until).saturating_sub(row.start_ns.max(from));
                u128::from(time) * u128::from(row.hosts)
            })
            .sum();
        let all = u128::from(until.saturating_sub(from)) * u128::from(span.hosts);
        let arriving = || rows.iter().filter(in_part);
        ScheduleSummary {
            scheduler: scheduler.into(),
            hosts: span.hosts,
            jobs: rows.len() as u64,
            simulated_jobs: rows.iter().filter(|row| row.simulated_start_ps.is_some()).count() as u64,
            left_out: span.left_out.clone(),
            from_s: seconds(from),
            until_s: seconds(until),
            time_scale: span.time_scale,
            utilisation: if all == 0 { 0.0 } else { busy as f64 / all as f64 },
            wait_s: ScheduleDistribution::of(arriving().map(|row| seconds(row.wait_ns)).collect()),
            bounded_slowdown: ScheduleDistribution::of(arriving().map(|row| row.bounded_slowdown).collect()),
            waiting_max: waiting_max(rows, from, until),
        }
    }

    /// The number of simulated jobs among all scheduled ones, for people.
    pub(crate) fn simulated_of_all(&self) -> String {
        format!(
            "{} of {}",
            show::count(self.simulated_jobs),
            show::count(self.jobs)
        )
    }
}

/// Largest number of jobs that have arrived and not started, at one time of the span.
fn waiting_max(rows: &[ScheduleRow], from: u64, until: u64) -> u64 {
    let mut changes: Vec<(u64, i64)> = rows
        .iter()
        .filter(|row| row.arrival_ns < row.start_ns.min(until) && row.start_ns > from)
        .flat_map(|row| [(row.arrival_ns.max(from), 1), (row.start_ns, -1)])
        .collect();
    // Starts stand before arrivals of the same time.
    changes.sort_unstable();
    let mut waiting = 0;
    let counts = changes.into_iter().map(|(_, by)| {
        waiting += by;
        waiting
    });
    counts.max().unwrap_or(0).unsigned_abs()
}

impl fmt::Display for ScheduleSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {} of {} jobs on {} hosts, utilisation {}",
            self.scheduler,
            self.simulated_jobs,
            self.jobs,
            self.hosts,
            show::percent(self.utilisation)
        )?;
        if let Some(wait) = &self.wait_s {
            let time = |s: f64| show::time(s * 1e9);
            write!(
                f,
                ", wait {} in the mean, {} at most",
                time(wait.mean),
                time(wait.max)
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn row(arrival: u64, start: u64, end: u64, hosts: u32) -> ScheduleRow {
        let wait_ns = (start - arrival) * S;
        ScheduleRow {
            hosts,
            arrival_ns: arrival * S,
            start_ns: start * S,
            end_ns: end * S,
            wait_ns,
            bounded_slowdown: bounded_slowdown(wait_ns, (end - start) * S),
            simulated_start_ps: (start < 20 && end > 5).then_some(0),
            ..ScheduleRow::default()
        }
    }

    #[test]
    fn slow_downs_are_bounded() {
        assert_eq!(bounded_slowdown(0, 20 * S), 1.0);
        assert_eq!(bounded_slowdown(40 * S, 20 * S), 3.0);
        // A job of 1 s that waits for 9 s counts as one of 10 s.
        assert_eq!(bounded_slowdown(9 * S, S), 1.0);
        assert_eq!(bounded_slowdown(19 * S, S), 2.0);
        assert_eq!(bounded_slowdown(0, 0), 1.0);
    }

    #[test]
    fn the_part_counts() {
        let rows = [
            row(0, 0, 10, 2),
            row(2, 10, 30, 3),
            row(6, 10, 12, 1),
            row(7, 18, 19, 1),
            row(25, 30, 31, 4),
        ];
        let span = ScheduledSpan {
            hosts: 4,
            from_ns: 5 * S,
            until_ns: 20 * S,
            time_scale: 7,
            left_out: BTreeMap::new(),
        };
        let summary = ScheduleSummary::new("fcfs", &rows, &span);
        assert_eq!((summary.jobs, summary.simulated_jobs), (5, 4));
        assert_eq!((summary.from_s, summary.until_s), (5.0, 20.0));
        // 5 s on 2 hosts, 10 s on 3, 2 s on 1, 1 s on 1.
        assert_eq!(summary.utilisation, 43.0 / 60.0);
        let wait = summary.wait_s.unwrap();
        assert_eq!(
            [wait.mean, wait.p50, wait.p90, wait.p99, wait.max],
            [7.5, 4.0, 11.0, 11.0, 11.0]
        );
        assert_eq!(summary.waiting_max, 3);
        let shown = summary.to_string();
        assert_eq!(
            shown,
            "fcfs: 4 of 5 jobs on 4 hosts, utilisation 71.7 %, wait 7.5 s in the mean, 11 s at most"
        );
        let none = ScheduleSummary::new("fcfs", &[], &ScheduledSpan::default());
        assert_eq!((none.wait_s, none.utilisation, none.waiting_max), (None, 0.0, 0));
    }
}
