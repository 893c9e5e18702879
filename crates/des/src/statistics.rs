//! The cost of a run: counts of events, rollbacks and synchronisations, and the wall time of each thread by phase.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// Where one thread's time went, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadSeconds {
    /// Carrying out events, sends included.
    pub processing: f64,
    /// Sorting and moving pending events, collecting mail, committing.
    pub queue: f64,
    /// Waiting for the other threads to agree on a window or on GVT.
    pub synchronisation: f64,
    /// Taking events back.
    pub rollback: f64,
    /// Waiting for the other threads without anything else to do.
    pub idle: f64,
}

/// Statistics of the engine for one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EngineStatistics {
    /// Events carried out.
    pub processed: u64,
    /// Events whose effects stand.
    pub committed: u64,
    /// Events carried out and taken back.
    pub rolled_back: u64,
    /// Rollbacks of an LP because an event came too late.
    pub primary_rollbacks: u64,
    /// Rollbacks of an LP because an event was cancelled that it had already carried out.
    pub secondary_rollbacks: u64,
    /// Cancellations sent to other threads.
    pub anti_messages: u64,
    /// Events sent to another thread.
    pub remote: u64,
    /// Windows (conservative).
    pub windows: u64,
    /// Computations of GVT (optimistic).
    pub gvt_rounds: u64,
    /// Per thread, of the first process first.
    pub threads: Vec<ThreadSeconds>,
    /// Rollbacks of each LP, by id; empty if the executor never rolls back.
    pub rollbacks: Vec<u32>,
}

impl EngineStatistics {
    /// Adds what another thread has counted, whose LPs follow.
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

pub(crate) fn seconds(span: Duration) -> f64 {
    span.as_secs_f64()
}

/// Attributes wall time to phases.
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

    /// The time since the last lap belongs to this phase.
    pub(crate) fn lap(&mut self, phase: impl FnOnce(&mut ThreadSeconds) -> &mut f64) {
        let now = Instant::now();
        *phase(&mut self.seconds) += seconds(now - self.last);
        self.last = now;
    }
}
