//! The functions that this library replaces, as they are without it.

use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use libc::{clockid_t, timespec};

use crate::source::{ClockKind, NS};

/// A function of the C library behind ours, looked up once.
pub(crate) struct Behind {
    name: &'static CStr,
    found: AtomicPtr<c_void>,
}

impl Behind {
    /// The function of a name.
    pub const fn new(name: &'static CStr) -> Behind {
        Behind {
            name,
            found: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    /// Its address; null if there is none.
    pub fn address(&self) -> *mut c_void {
        let found = self.found.load(Ordering::Relaxed);
        if !found.is_null() {
            return found;
        }
        // Safety: the name ends with zero.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        self.found.store(found, Ordering::Relaxed);
        found
    }
}

/// Reads a clock without the C library, whose functions are ours.
///
/// # Safety
/// The pointer is valid.
pub(crate) unsafe fn clock_gettime(id: clockid_t, time: *mut timespec) -> c_int {
    // Safety: the caller's. The kernel checks the number.
    unsafe { libc::syscall(libc::SYS_clock_gettime, id, time) as c_int }
}

/// A real clock in ns. It is read in user space, as programs read clocks often.
pub(crate) fn now_ns(clock: ClockKind) -> u64 {
    use rustix::time::{ClockId, clock_gettime};
    let time = clock_gettime(match clock {
        ClockKind::Date => ClockId::Realtime,
        ClockKind::SinceStart => ClockId::Monotonic,
    });
    time.tv_sec as u64 * NS + time.tv_nsec as u64
}

/// A time of the C library in ns; `None` if it is none.
pub(crate) fn ns_of(time: &timespec) -> Option<u64> {
    let (seconds, rest) = (
        u64::try_from(time.tv_sec).ok()?,
        u64::try_from(time.tv_nsec).ok()?,
    );
    (rest < NS).then(|| seconds.saturating_mul(NS).saturating_add(rest))
}

/// A time of ns as the C library has it.
pub(crate) fn timespec_of(ns: u64) -> timespec {
    timespec {
        tv_sec: (ns / NS) as libc::time_t,
        tv_nsec: (ns % NS) as libc::c_long,
    }
}

/// Says an error the way of the C library: -1, and the number in `errno`.
pub(crate) fn fail(number: c_int) -> c_int {
    // Safety: the location of this thread's number.
    unsafe { *libc::__errno_location() = number };
    -1
}
