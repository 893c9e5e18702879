//! First come, first served: jobs start in the order of their arrival. A job that does not fit makes all later jobs
//! wait.

use std::collections::VecDeque;

use super::{JobRequest, JobScheduler, SchedulerKind, Steps};

pub(super) const KIND: SchedulerKind = SchedulerKind {
    name: "fcfs",
    summary: "first come, first served: jobs start in the order of their arrival; the default",
    parameters: &[],
    build: |jobs, hosts| {
        Box::new(Fcfs {
            jobs,
            free: hosts,
            queue: VecDeque::new(),
        })
    },
};

struct Fcfs<'a> {
    jobs: &'a [JobRequest],
    free: u32,
    queue: VecDeque<usize>,
}

impl JobScheduler for Fcfs<'_> {
    fn arrived(&mut self, _: u64, job: usize, _: &mut Steps) {
        self.queue.push_back(job);
    }

    fn ended(&mut self, _: u64, job: usize, _: &mut Steps) {
        self.free += self.jobs[job].hosts;
    }

    fn start(&mut self, _: u64, _: &mut Steps) -> Vec<usize> {
        let mut started = Vec::new();
        while let Some(job) = self.queue.front().copied()
            && self.jobs[job].hosts <= self.free
        {
            self.queue.pop_front();
            self.free -= self.jobs[job].hosts;
            started.push(job);
        }
        started
    }
}
