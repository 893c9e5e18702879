//! Progress and interruption of a running simulation.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use crate::Time;

/// Shared between a run and its owner: progress out, interruption in. It has no effect on results, since an
/// interrupted run has none.
#[derive(Debug, Default)]
pub struct Control {
    now_ps: AtomicU64,
    events: AtomicU64,
    interrupted: AtomicBool,
}

impl Control {
    /// Requests the end of the run.
    pub fn interrupt(&self) {
        self.interrupted.store(true, Relaxed);
    }

    /// Whether the end was requested.
    pub fn interrupted(&self) -> bool {
        self.interrupted.load(Relaxed)
    }

    /// Simulated time reached.
    pub fn now(&self) -> Time {
        Time(self.now_ps.load(Relaxed))
    }

    /// Events processed so far by the thread that reports.
    pub fn events(&self) -> u64 {
        self.events.load(Relaxed)
    }

    pub(crate) fn report(&self, now: Time, events: u64) {
        self.now_ps.store(now.0, Relaxed);
        self.events.store(events, Relaxed);
    }
}
