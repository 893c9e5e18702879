//! The cost of a run: counts of events, rollbacks and synchronisations, and the wall time of each thread by phase.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::Executor;

/// Wall time of one thread by phase, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadSeconds {
    /// Executing events, sends included.
    pub processing: f64,
    /// Sorting and moving pending events, reading mailboxes, committing.
    pub queue: f64,
    /// Synchronising on a window or on GVT.
    pub synchronisation: f64,
    /// Rolling back events.
    pub rollback: f64,
    /// Waiting for other threads without work.
    pub idle: f64,
}

/// What a run that changed its executor or number of threads has executed with one of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GearTime {
    /// The executor.
    pub executor: Executor,
    /// Its threads.
    pub threads: usize,
    /// Wall time, changes included.
    pub seconds: f64,
    /// Committed events.
    pub events: u64,
}

/// Statistics of the engine for one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EngineStatistics {
    /// Events executed.
    pub processed: u64,
    /// Events committed.
    pub committed: u64,
    /// Events rolled back.
    pub rolled_back: u64,
    /// Rollbacks of an LP because an event came too late.
    pub primary_rollbacks: u64,
    /// Rollbacks of an LP because an executed event was cancelled.
    pub secondary_rollbacks: u64,
    /// Cancellations sent to other threads.
    pub anti_messages: u64,
    /// Events sent to another thread.
    pub remote: u64,
    /// Windows executed LP by LP: by the conservative executor, and by the optimistic one with one part.
    pub windows: u64,
    /// GVT computations of the optimistic executor with several parts.
    pub gvt_rounds: u64,
    /// Wall time of each thread, the first process first.
    pub threads: Vec<ThreadSeconds>,
    /// Rollbacks of each LP, by id. Empty if the executor never rolls back.
    pub rollbacks: Vec<u32>,
    /// By executor and threads, in the order of their first use: with [`Executor::Auto`], and with other executors that
    /// have changed their number of threads. A process alone has them.
    #[serde(skip)]
    pub gears: Vec<GearTime>,
}

impl EngineStatistics {
    /// Adds the statistics of another thread, whose LPs follow.
    pub(crate) fn append(&mut self, other: EngineStatistics) {
        self.processed += other.processed;
        self.committed += other.committed;
        self.rolled_back += other.rolled_back;
        self.primary_rollbacks += other.primary_rollbacks;
        self.secondary_rollbacks += other.secondary_rollbacks;
        self.anti_messages += other.anti_messages;
        self.remote += other.remote;
        self.windows = self.windows.max(other.windows);
        self.gvt_rounds = self.gvt_rounds.max(other.gvt_rounds);
        self.threads.extend(other.threads);
        self.rollbacks.extend(other.rollbacks);
    }
}

impl EngineStatistics {
    /// Adds the statistics of the next leg of the run.
    pub(crate) fn go_on(&mut self, leg: EngineStatistics, time: GearTime) {
        self.processed += leg.processed;
        self.committed += leg.committed;
        self.rolled_back += leg.rolled_back;
        self.primary_rollbacks += leg.primary_rollbacks;
        self.secondary_rollbacks += leg.secondary_rollbacks;
        self.anti_messages += leg.anti_messages;
        self.remote += leg.remote;
        self.windows += leg.windows;
        self.gvt_rounds += leg.gvt_rounds;
        let threads = self.threads.len().max(leg.threads.len());
        self.threads.resize(threads, ThreadSeconds::default());
        for (sum, thread) in self.threads.iter_mut().zip(&leg.threads) {
            sum.processing += thread.processing;
            sum.queue += thread.queue;
            sum.synchronisation += thread.synchronisation;
            sum.rollback += thread.rollback;
            sum.idle += thread.idle;
        }
        let lps = self.rollbacks.len().max(leg.rollbacks.len());
        self.rollbacks.resize(lps, 0);
        for (sum, lp) in self.rollbacks.iter_mut().zip(&leg.rollbacks) {
            *sum += lp;
        }
        let same = |gear: &&mut GearTime| (gear.executor, gear.threads) == (time.executor, time.threads);
        match self.gears.iter_mut().find(same) {
            Some(gear) => {
                gear.seconds += time.seconds;
                gear.events += time.events;
            }
            None => self.gears.push(time),
        }
    }
}

pub(crate) fn seconds(span: Duration) -> f64 {
    span.as_secs_f64()
}

/// Measures wall time by phase.
pub(crate) struct Clock {
    last: Instant,
    pub(crate) seconds: ThreadSeconds,
}

impl Clock {
    pub(crate) fn start() -> Clock {
        Clock {
            last: Instant::now(),
            seconds: ThreadSeconds::default(),
        }
    }

    /// When the last phase ended.
    #[inline]
    pub(crate) fn last(&self) -> Instant {
        self.last
    }

    /// Assigns the time since the last call to this phase.
    pub(crate) fn lap(&mut self, phase: impl FnOnce(&mut ThreadSeconds) -> &mut f64) {
        let now = Instant::now();
        *phase(&mut self.seconds) += seconds(now - self.last);
        self.last = now;
    }
}
