//! Functions that read a clock.

use std::ffi::{c_int, c_void};

use libc::{clockid_t, time_t, timespec, timeval};

use crate::real;
use crate::source::{ClockKind, NS, now_ns};

/// What a clock shows to this thread, in ns.
fn shown(clock: ClockKind) -> u64 {
    now_ns(clock).unwrap_or_else(|| real::now_ns(clock))
}

/// Replaces the function of the C library.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(id: clockid_t, time: *mut timespec) -> c_int {
    let Some(clock) = ClockKind::of(id).filter(|_| !time.is_null()) else {
        // Safety: the caller's.
        return unsafe { real::clock_gettime(id, time) };
    };
    let ns = match now_ns(clock) {
        Some(ns) => ns,
        // The two that programs read often.
        None if matches!(id, libc::CLOCK_REALTIME | libc::CLOCK_MONOTONIC) => real::now_ns(clock),
        // Safety: the caller's.
        None => return unsafe { real::clock_gettime(id, time) },
    };
    // Safety: the caller's.
    unsafe { time.write(real::timespec_of(ns)) };
    0
}

/// Replaces the function of the C library.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
unsafe extern "C" fn gettimeofday(time: *mut timeval, _zone: *mut c_void) -> c_int {
    let ns = shown(ClockKind::Date);
    if !time.is_null() {
        let shown = timeval {
            tv_sec: (ns / NS) as time_t,
            tv_usec: (ns % NS / 1000) as libc::suseconds_t,
        };
        // Safety: the caller's.
        unsafe { time.write(shown) };
    }
    0
}

/// Replaces the function of the C library.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
unsafe extern "C" fn time(time: *mut time_t) -> time_t {
    let seconds = (shown(ClockKind::Date) / NS) as time_t;
    if !time.is_null() {
        // Safety: the caller's.
        unsafe { time.write(seconds) };
    }
    seconds
}

/// `TIME_UTC` of C11.
const TIME_UTC: c_int = 1;

/// Replaces the function of the C library.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
unsafe extern "C" fn timespec_get(time: *mut timespec, base: c_int) -> c_int {
    if base != TIME_UTC || time.is_null() {
        return 0;
    }
    // Safety: the caller's.
    unsafe { time.write(real::timespec_of(shown(ClockKind::Date))) };
    base
}
