//! Functions that sleep. Simulated sleep takes no real time.

use std::ffi::{c_int, c_uint, c_void};

use libc::{clockid_t, fd_set, timespec, timeval};

use crate::real::{self, Behind};
use crate::source::{ClockKind, NS, last_ns, now_ns, sleep_ns};

/// Replaces the function of the C library.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
unsafe extern "C" fn nanosleep(wanted: *const timespec, rest: *mut timespec) -> c_int {
    // Safety: the caller's.
    let ns = unsafe { wanted.as_ref() }.map(real::ns_of);
    match ns {
        Some(Some(ns)) if sleep_ns(ns) => 0,
        // The kernel checks what it gets.
        // Safety: the caller's.
        _ => unsafe { libc::syscall(libc::SYS_nanosleep, wanted, rest) as c_int },
    }
}

/// Replaces the function of the C library.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
unsafe extern "C" fn clock_nanosleep(
    id: clockid_t,
    flags: c_int,
    wanted: *const timespec,
    rest: *mut timespec,
) -> c_int {
    // Safety: the caller's.
    let ns = unsafe { wanted.as_ref() }.and_then(real::ns_of);
    if let (Some(clock), Some(ns), Some(_)) = (ClockKind::of(id), ns, last_ns()) {
        let begin = match flags & libc::TIMER_ABSTIME {
            0 => 0,
            _ => now_ns(clock).unwrap_or_default(),
        };
        sleep_ns(ns.saturating_sub(begin));
        return 0;
    }
    // Safety: the caller's; the kernel checks what it gets.
    match unsafe { libc::syscall(libc::SYS_clock_nanosleep, id, flags, wanted, rest) } {
        0 => 0,
        // Safety: the location of this thread's number.
        _ => unsafe { *libc::__errno_location() },
    }
}

/// Replaces the function of the C library.
#[unsafe(no_mangle)]
extern "C" fn sleep(seconds: c_uint) -> c_uint {
    let mut time = real::timespec_of(u64::from(seconds) * NS);
    // Safety: both are valid.
    match unsafe { nanosleep(&raw const time, &raw mut time) } {
        0 => 0,
        _ => time.tv_sec as c_uint,
    }
}

/// Replaces the function of the C library.
#[unsafe(no_mangle)]
extern "C" fn usleep(us: c_uint) -> c_int {
    let time = real::timespec_of(u64::from(us) * 1000);
    // Safety: it is valid.
    unsafe { nanosleep(&raw const time, std::ptr::null_mut()) }
}

type Select = unsafe extern "C" fn(c_int, *mut fd_set, *mut fd_set, *mut fd_set, *mut timeval) -> c_int;

/// Replaces the function of the C library, which without files is a sleep, also that of Python before 3.11.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
unsafe extern "C" fn select(
    files: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    error: *mut fd_set,
    timeout: *mut timeval,
) -> c_int {
    static SELECT: Behind = Behind::new(c"select");
    // Safety: the caller's.
    if let Some(time) = unsafe { timeout.as_ref() }.filter(|_| files == 0) {
        let us = u64::try_from(time.tv_usec).ok();
        let ns = u64::try_from(time.tv_sec).ok().zip(us);
        if let Some((seconds, us)) = ns
            && sleep_ns(seconds.saturating_mul(NS).saturating_add(us * 1000))
        {
            return 0;
        }
    }
    let behind = SELECT.address();
    if behind.is_null() {
        return real::fail(libc::ENOSYS);
    }
    // Safety: it is that function of the C library, and the arguments are the caller's.
    unsafe { std::mem::transmute::<*mut c_void, Select>(behind)(files, read, write, error, timeout) }
}
