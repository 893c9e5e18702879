//! EASY backfill: first come, first served, and a later job may start before the first waiting job if it does not delay
//! that one.
//!
//! Sources: D. A. Lifka, "The ANL/IBM SP scheduling system" (JSSPP 1995); A. W. Mu'alem and D. G. Feitelson,
//! "Utilization, predictability, workloads, and user runtime estimates in scheduling the IBM SP2 with backfilling"
//! (IEEE TPDS 12(6), 2001), with the terms *shadow time* and *extra nodes*.

use std::collections::{BTreeSet, VecDeque};

use super::{JobRequest, JobScheduler, SchedulerKind, Steps};

pub(super) const KIND: SchedulerKind = SchedulerKind {
    name: "easy-backfill",
    summary: "later jobs start early if they do not delay the first one that waits (Lifka 1995)",
    parameters: &[],
    build: |jobs, hosts| {
        Box::new(EasyBackfill {
            jobs,
            free: hosts,
            queue: VecDeque::new(),
            running: BTreeSet::new(),
            planned_ends: vec![0; jobs.len()],
        })
    },
};

struct EasyBackfill<'a> {
    jobs: &'a [JobRequest],
    free: u32,
    queue: VecDeque<usize>,
    /// Planned end and number of each running job.
    running: BTreeSet<(u64, usize)>,
    planned_ends: Vec<u64>,
}

/// The reservation of the first waiting job.
struct JobReservation {
    /// When it can start at the latest.
    shadow: u64,
    /// Hosts that are free at that time beside those that it needs.
    extra: u32,
}

impl EasyBackfill<'_> {
    fn launch(&mut self, now: u64, job: usize) {
        self.free -= self.jobs[job].hosts;
        self.planned_ends[job] = now + self.jobs[job].planned();
        self.running.insert((self.planned_ends[job], job));
    }

    /// The reservation of a job that needs more hosts than are free.
    fn reservation(&self, job: usize) -> JobReservation {
        let needed = self.jobs[job].hosts;
        let mut free = self.free;
        let mut shadow = None;
        for (end, other) in &self.running {
            // All jobs that end at the shadow time free their hosts.
            if shadow.is_some_and(|shadow| shadow < *end) {
                break;
            }
            free += self.jobs[*other].hosts;
            if free >= needed {
                shadow = Some(*end);
            }
        }
        JobReservation {
            shadow: shadow.expect("all hosts are free when all jobs have ended"),
            extra: free - needed,
        }
    }
}

impl JobScheduler for EasyBackfill<'_> {
    fn arrived(&mut self, _: u64, job: usize, _: &mut Steps) {
        self.queue.push_back(job);
    }

    fn ended(&mut self, _: u64, job: usize, _: &mut Steps) {
        self.free += self.jobs[job].hosts;
        self.running.remove(&(self.planned_ends[job], job));
    }

    fn start(&mut self, now: u64, steps: &mut Steps) -> Vec<usize> {
        let mut started = Vec::new();
        while let Some(job) = self.queue.front().copied()
            && self.jobs[job].hosts <= self.free
        {
            self.queue.pop_front();
            self.launch(now, job);
            started.push(job);
        }
        let (Some(first), true) = (self.queue.front().copied(), self.free > 0) else {
            return started;
        };
        if !steps.take(self.running.len() + self.queue.len()) {
            return started;
        }
        let JobReservation { shadow, mut extra } = self.reservation(first);
        let backfilled = started.len();
        for job in self.queue.iter().copied().skip(1) {
            let request = &self.jobs[job];
            if request.hosts > self.free {
                continue;
            }
            if now + request.planned() > shadow {
                if request.hosts > extra {
                    continue;
                }
                extra -= request.hosts;
            }
            self.free -= request.hosts;
            started.push(job);
            if self.free == 0 {
                break;
            }
        }
        for job in &started[backfilled..] {
            // The scan has taken the hosts already.
            self.free += self.jobs[*job].hosts;
            self.launch(now, *job);
        }
        if started.len() > backfilled {
            let gone: BTreeSet<usize> = started[backfilled..].iter().copied().collect();
            self.queue.retain(|job| !gone.contains(job));
        }
        started
    }
}
