//! RankEnds of repetitions of jobs, from the ends on their ranks.

use std::collections::BTreeMap;

use des::Time;
use experiment::JobKind;
use results::RepetitionTimes;
use results::rows::RepetitionRow;
use serde::{Deserialize, Serialize};

use crate::lp::simulation::Simulation;

/// The repetitions of one job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct JobRepetitions {
    name: String,
    ranks: u64,
    start: Time,
    /// The last repetition that all ranks have ended; at first, the start of the job.
    last: RankEnds,
    /// Repetitions that some ranks have ended, by number.
    open: BTreeMap<u64, RankEnds>,
    times: RepetitionTimes,
}

/// RankEnds of a repetition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct RankEnds {
    /// Ranks that have ended it.
    ranks: u64,
    first: Time,
    last: Time,
    /// Sum of the times since the start of the job.
    sum_ps: u128,
}

/// The repetitions of all jobs, by index. Memory does not grow with the number of repetitions, unless some ranks of a
/// job run ahead of others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepetitionBuilder(Vec<JobRepetitions>);

impl RepetitionBuilder {
    /// Before the run.
    pub fn new(simulation: &Simulation) -> RepetitionBuilder {
        let jobs = simulation.jobs.iter().map(|job| JobRepetitions {
            name: job.name.clone(),
            ranks: match &job.kind {
                JobKind::Ranks(ranks) => ranks.hosts.len() as u64,
                JobKind::Traffic(_) => 0,
            },
            start: job.start,
            last: RankEnds {
                first: job.start,
                last: job.start,
                ..RankEnds::default()
            },
            open: BTreeMap::new(),
            times: RepetitionTimes::default(),
        });
        RepetitionBuilder(jobs.collect())
    }

    /// A rank has ended a repetition. Returns the repetition if all ranks have.
    pub fn ended(&mut self, job: u16, number: u64, now: Time) -> Option<RepetitionRow> {
        let job = &mut self.0[usize::from(job)];
        let ends = job.open.entry(number).or_insert(RankEnds {
            first: now,
            ..RankEnds::default()
        });
        ends.ranks += 1;
        ends.last = now;
        ends.sum_ps += u128::from(now.saturating_sub(job.start).ps());
        if ends.ranks < job.ranks {
            return None;
        }
        // Each rank ends its repetitions in order, so the one before is complete.
        let (before, ends) = (job.last, *ends);
        job.open.remove(&number);
        job.last = ends;
        let time_ps = ends.last.saturating_sub(before.last).ps();
        job.times.add(time_ps);
        let mean = (ends.sum_ps - before.sum_ps) / u128::from(job.ranks);
        Some(RepetitionRow {
            job: job.name.as_str().into(),
            repetition: number,
            begin_ps: before.first.ps(),
            end_ps: ends.last.ps(),
            time_ps,
            mean_rank_time_ps: u64::try_from(mean).unwrap_or(u64::MAX),
        })
    }

    /// Times of the complete repetitions of each job.
    pub fn times(&self) -> Vec<RepetitionTimes> {
        self.0.iter().map(|job| job.times).collect()
    }
}
