//! Conservative backfill: every job has a reservation from its arrival on. A later job may start before others if it
//! delays none of them.
//!
//! A job is reserved for the earliest time at which enough hosts are free for as long as planned. When a job ends
//! before its planned end, the reservations are compressed: each waiting job, in the order of arrival, gives its
//! reservation back and takes the earliest one, which is never later. Source: Mu'alem and Feitelson (2001), as for EASY
//! backfill.

use std::collections::{BTreeMap, BTreeSet};

use super::{JobRequest, JobScheduler, SchedulerKind, Steps};

pub(super) const KIND: SchedulerKind = SchedulerKind {
    name: "conservative-backfill",
    summary: "later jobs start early if they delay none that waits (Mu'alem and Feitelson 2001)",
    parameters: &[],
    build: |jobs, hosts| {
        Box::new(ConservativeBackfill {
            jobs,
            free: FreeProfile::new(hosts),
            reserved: BTreeSet::new(),
            starts: vec![0; jobs.len()],
            waiting: BTreeSet::new(),
        })
    },
};

struct ConservativeBackfill<'a> {
    jobs: &'a [JobRequest],
    free: FreeProfile,
    /// Reserved start and number of each waiting job.
    reserved: BTreeSet<(u64, usize)>,
    /// Reserved or actual start of each job.
    starts: Vec<u64>,
    /// Waiting jobs, by arrival.
    waiting: BTreeSet<usize>,
}

impl ConservativeBackfill<'_> {
    fn reserve(&mut self, now: u64, job: usize, steps: &mut Steps) {
        let (hosts, planned) = (self.jobs[job].hosts, self.jobs[job].planned());
        let start = self.free.earliest(now, planned, hosts, steps);
        self.free.take(start, start + planned, hosts);
        self.starts[job] = start;
        self.reserved.insert((start, job));
    }
}

impl JobScheduler for ConservativeBackfill<'_> {
    fn arrived(&mut self, now: u64, job: usize, steps: &mut Steps) {
        self.waiting.insert(job);
        self.reserve(now, job, steps);
    }

    fn ended(&mut self, now: u64, job: usize, steps: &mut Steps) {
        let (hosts, planned_end) = (self.jobs[job].hosts, self.starts[job] + self.jobs[job].planned());
        if now >= planned_end {
            return;
        }
        self.free.give_back(now, planned_end, hosts);
        let waiting: Vec<usize> = self.waiting.iter().copied().collect();
        for job in waiting {
            let start = self.starts[job];
            let (hosts, planned) = (self.jobs[job].hosts, self.jobs[job].planned());
            self.reserved.remove(&(start, job));
            self.free.give_back(start, start + planned, hosts);
            self.reserve(now, job, steps);
            if !steps.take(1) {
                return;
            }
        }
    }

    fn start(&mut self, now: u64, _: &mut Steps) -> Vec<usize> {
        self.free.forget_before(now);
        let mut started = Vec::new();
        while let Some((start, job)) = self.reserved.first().copied()
            && start == now
        {
            self.reserved.pop_first();
            self.waiting.remove(&job);
            started.push(job);
        }
        started
    }

    fn wakes_at(&self) -> Option<u64> {
        self.reserved.first().map(|(start, _)| *start)
    }
}

/// The number of free hosts over time: from each time of the map to the next one, the last forever.
struct FreeProfile {
    steps: BTreeMap<u64, u32>,
}

impl FreeProfile {
    fn new(hosts: u32) -> FreeProfile {
        FreeProfile {
            steps: BTreeMap::from([(0, hosts)]),
        }
    }

    /// The earliest time, not before `now`, from which `hosts` are free for `planned`.
    fn earliest(&self, now: u64, planned: u64, hosts: u32, steps: &mut Steps) -> u64 {
        let mut start = now;
        let mut fits = false;
        let from = self.steps.range(..=now).next_back().map_or(0, |(time, _)| *time);
        for (time, free) in self.steps.range(from..) {
            // An end of the run of the scheduler: its answer is not used.
            if !steps.take(1) {
                break;
            }
            if fits && *time >= start + planned {
                break;
            }
            if *free < hosts {
                fits = false;
            } else if !fits {
                (start, fits) = (now.max(*time), true);
            }
        }
        start
    }

    /// Makes `time` the start of a step.
    fn split(&mut self, time: u64) {
        if let Some((_, free)) = self.steps.range(..=time).next_back() {
            let free = *free;
            self.steps.entry(time).or_insert(free);
        }
    }

    fn change(&mut self, from: u64, to: u64, by: impl Fn(u32) -> u32) {
        if from >= to {
            return;
        }
        self.split(from);
        self.split(to);
        self.steps
            .range_mut(from..to)
            .for_each(|(_, free)| *free = by(*free));
        for time in [to, from] {
            let before = self.steps.range(..time).next_back().map(|(_, free)| *free);
            if before.is_some() && before == self.steps.get(&time).copied() {
                self.steps.remove(&time);
            }
        }
    }

    fn take(&mut self, from: u64, to: u64, hosts: u32) {
        // Beyond the limit of steps, a reservation may stand where too few hosts are free.
        self.change(from, to, |free| free.saturating_sub(hosts));
    }

    fn give_back(&mut self, from: u64, to: u64, hosts: u32) {
        self.change(from, to, |free| free.saturating_add(hosts));
    }

    /// Drops steps that end before `now`.
    fn forget_before(&mut self, now: u64) {
        while self.steps.keys().nth(1).is_some_and(|second| *second <= now) {
            self.steps.pop_first();
        }
    }
}
