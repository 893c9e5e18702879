//! Whether the system serves the threads of a leg: their CPU time over its wall-clock time.
//!
//! Of threads that wait for each other, at least one executes at any time, if each has a core when it needs one. So
//! their CPU times add up to the time that passes, however uneven their work is. They add up to less only if a thread
//! that all others wait for is ready but has no core. Then one thread, which needs at most their CPU time, is faster.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use cpu_time::ThreadTime;

/// A thread notes its CPU time after so long: reading it is a system call.
const NOTED_EVERY: Duration = Duration::from_millis(5);

/// A leg whose leading thread looks whether the threads are served.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServiceWatch {
    /// Time until the first look, ...
    pub(crate) first_look: Duration,
    /// ... and from one look to the next.
    pub(crate) span: Duration,
    /// The leg ends if the CPU times of all threads are less than this part of the time between two looks. 0: it does
    /// not end for that.
    pub(crate) least: f64,
    /// It takes at most so long or, where it took longer until the first event, as that. Then a look may be earlier.
    pub(crate) most: Duration,
}

/// CPU time of all threads of a leg, as far as they have noted it, in nanoseconds. A barrier orders the accesses.
#[derive(Clone, Debug, Default)]
pub(crate) struct CpuTimes(Arc<AtomicU64>);

impl CpuTimes {
    /// The CPU time noted so far.
    pub(crate) fn total(&self) -> Duration {
        Duration::from_nanos(self.0.load(Relaxed))
    }

    /// Adds the CPU time of a thread.
    pub(crate) fn add(&self, time: Duration) {
        self.0.fetch_add(time.as_nanos() as u64, Relaxed);
    }
}

/// Notes the CPU time of its thread.
pub(crate) struct CpuMeter {
    all: CpuTimes,
    /// Since the last note. `None` where the system does not tell it: such a thread counts as served.
    cpu: Option<ThreadTime>,
    noted: Instant,
}

impl CpuMeter {
    /// A meter of the calling thread that begins now.
    pub(crate) fn start(all: CpuTimes) -> CpuMeter {
        CpuMeter {
            all,
            cpu: ThreadTime::try_now().ok(),
            noted: Instant::now(),
        }
    }

    /// Notes the CPU time so far, if the last note is some time ago.
    #[inline]
    pub(crate) fn note_rarely(&mut self, now: Instant) {
        if now.saturating_duration_since(self.noted) >= NOTED_EVERY {
            self.note(now);
        }
    }

    /// Notes the CPU time so far.
    pub(crate) fn note(&mut self, now: Instant) {
        let wall = now.saturating_duration_since(self.noted);
        let cpu = self.cpu.and_then(|start| start.try_elapsed().ok());
        self.all.add(cpu.unwrap_or(wall));
        (self.cpu, self.noted) = (ThreadTime::try_now().ok(), now);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn it_notes_work_and_no_sleep() {
        let all = CpuTimes::default();
        let mut meter = CpuMeter::start(all.clone());
        std::thread::sleep(Duration::from_millis(60));
        meter.note_rarely(Instant::now());
        let asleep = all.total();
        assert!(asleep < Duration::from_millis(30), "{asleep:?}");
        let start = ThreadTime::now();
        while start.elapsed() < Duration::from_millis(20) {
            std::hint::spin_loop();
        }
        meter.note(Instant::now());
        let worked = all.total() - asleep;
        assert!(worked >= Duration::from_millis(20), "{worked:?}");
        assert!(worked < Duration::from_millis(40), "{worked:?}");
    }

    #[test]
    fn it_notes_rarely() {
        let all = CpuTimes::default();
        let mut meter = CpuMeter::start(all.clone());
        let begin = meter.noted;
        meter.note_rarely(begin + NOTED_EVERY / 2);
        assert_eq!((meter.noted, all.total()), (begin, Duration::ZERO));
        meter.note_rarely(begin + NOTED_EVERY);
        assert_eq!(meter.noted, begin + NOTED_EVERY);
    }

    #[test]
    fn threads_without_a_cpu_clock_count_as_served() {
        let all = CpuTimes::default();
        let mut meter = CpuMeter {
            cpu: None,
            ..CpuMeter::start(all.clone())
        };
        meter.note(meter.noted + Duration::from_millis(7));
        assert_eq!(all.total(), Duration::from_millis(7));
    }
}
