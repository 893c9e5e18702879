//! Where simulated time comes from.

use std::cell::Cell;

/// Simulated time 0 on clocks that count since 1970: 2026-01-01 00:00 UTC, in ns.
const DATE_NS: u64 = 1_767_225_600 * NS;

/// Simulated time 0 on clocks that count since some start, in ns: a day.
const START_NS: u64 = 86_400 * NS;

/// Nanoseconds of a second.
pub(crate) const NS: u64 = 1_000_000_000;

/// What a reading adds where simulated time has ended, so that loops end.
const READING_NS: u64 = 1000;

/// What the MPI library gives.
#[derive(Clone, Copy, Debug)]
struct ClockSource {
    now_ns: extern "C" fn() -> u64,
    sleep_ns: extern "C" fn(u64),
}

/// Which time a thread sees.
#[derive(Clone, Copy, Debug)]
enum SeenTime {
    /// That of the machine.
    Real,
    /// That of the simulation; the last reading in ns.
    Simulated(ClockSource, u64),
    /// After `MPI_Finalize`: time in ns, which passes only where it is read or slept for.
    Ended(u64),
}

thread_local! {
    static SEEN: Cell<SeenTime> = const { Cell::new(SeenTime::Real) };
}

/// Called by the MPI library: this thread sees simulated time from now on, by a function that gives it in ns and one
/// that lets it pass, in ns. Without both simulated time has ended.
#[unsafe(no_mangle)]
pub extern "C" fn fabricsim_use_clock(
    now_ns: Option<extern "C" fn() -> u64>,
    sleep_ns: Option<extern "C" fn(u64)>,
) {
    let seen = match (now_ns.zip(sleep_ns), SEEN.get()) {
        (Some((now_ns, sleep_ns)), _) => SeenTime::Simulated(ClockSource { now_ns, sleep_ns }, 0),
        (None, SeenTime::Simulated(_, last)) => SeenTime::Ended(last),
        (None, seen) => seen,
    };
    SEEN.set(seen);
}

/// A kind of clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClockKind {
    /// Since 1970.
    Date,
    /// Since some start.
    SinceStart,
}

impl ClockKind {
    /// The clock with a number of the C library; `None` for those of CPU time.
    pub fn of(id: libc::clockid_t) -> Option<ClockKind> {
        match id {
            libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_TAI => Some(ClockKind::Date),
            libc::CLOCK_MONOTONIC
            | libc::CLOCK_MONOTONIC_RAW
            | libc::CLOCK_MONOTONIC_COARSE
            | libc::CLOCK_BOOTTIME => Some(ClockKind::SinceStart),
            _ => None,
        }
    }

    /// What the clock shows at simulated time 0, in ns.
    pub fn zero_ns(self) -> u64 {
        match self {
            ClockKind::Date => DATE_NS,
            ClockKind::SinceStart => START_NS,
        }
    }
}

/// What a clock of this thread shows in ns, if that is simulated.
pub(crate) fn now_ns(clock: ClockKind) -> Option<u64> {
    let now = match SEEN.get() {
        SeenTime::Real => return None,
        SeenTime::Simulated(source, _) => {
            // The MPI library may itself read clocks of the C library, which are real then.
            SEEN.set(SeenTime::Real);
            let now = (source.now_ns)();
            SEEN.set(SeenTime::Simulated(source, now));
            now
        }
        SeenTime::Ended(now) => {
            SEEN.set(SeenTime::Ended(now + READING_NS));
            now + READING_NS
        }
    };
    Some(clock.zero_ns() + now)
}

/// Simulated time of the last reading in ns, without another one.
pub(crate) fn last_ns() -> Option<u64> {
    match SEEN.get() {
        SeenTime::Real => None,
        SeenTime::Simulated(_, last) | SeenTime::Ended(last) => Some(last),
    }
}

/// Lets simulated time pass, in ns; false if this thread's time is real.
pub(crate) fn sleep_ns(ns: u64) -> bool {
    match SEEN.get() {
        SeenTime::Real => false,
        SeenTime::Simulated(source, last) => {
            SEEN.set(SeenTime::Real);
            (source.sleep_ns)(ns);
            SEEN.set(SeenTime::Simulated(source, last));
            true
        }
        SeenTime::Ended(now) => {
            SEEN.set(SeenTime::Ended(now.saturating_add(ns)));
            true
        }
    }
}
