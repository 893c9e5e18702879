//! Toy scheduler: the job that arrived last starts first.

use super::{JobRequest, JobScheduler, SchedulerKind, Steps};

pub(super) const KIND: SchedulerKind = SchedulerKind {
    name: "toy-latest",
    summary: "the job that arrived last starts first",
    parameters: &[],
    build: |jobs, hosts| {
        Box::new(ToyLatest {
            jobs,
            free: hosts,
            waiting: Vec::new(),
        })
    },
};

struct ToyLatest<'a> {
    jobs: &'a [JobRequest],
    free: u32,
    waiting: Vec<usize>,
}

impl JobScheduler for ToyLatest<'_> {
    fn arrived(&mut self, _: u64, job: usize, _: &mut Steps) {
        self.waiting.push(job);
    }

    fn ended(&mut self, _: u64, job: usize, _: &mut Steps) {
        self.free += self.jobs[job].hosts;
    }

    fn start(&mut self, _: u64, _: &mut Steps) -> Vec<usize> {
        let mut started = Vec::new();
        while let Some(job) = self.waiting.pop_if(|job| self.jobs[*job].hosts <= self.free) {
            self.free -= self.jobs[job].hosts;
            started.push(job);
        }
        started
    }
}
