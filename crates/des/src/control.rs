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

    /// A run begins at this time. Successive runs may share a control.
    pub(crate) fn begin(&self, at: Time) {
        self.now_ps.store(at.0, Relaxed);
        self.events.store(0, Relaxed);
    }

    /// All events before this time have been executed. Executors that follow each other in a run know this time with
    /// different accuracy, so an earlier one than that already reported counts for nothing.
    pub(crate) fn report(&self, now: Time, events: u64) {
        self.now_ps.fetch_max(now.0, Relaxed);
        self.events.store(events, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_run_never_decreases() {
        let control = Control::default();
        control.begin(Time(500));
        control.report(Time(900), 3);
        // An executor that takes over knows less.
        control.report(Time::ZERO, 4);
        assert_eq!((control.now(), control.events()), (Time(900), 4));
        control.begin(Time(200));
        assert_eq!((control.now(), control.events()), (Time(200), 0), "the next run");
    }
}
