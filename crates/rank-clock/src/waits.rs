//! Functions that wait for another thread until a deadline. The other thread works in real time, so the wait is real:
//! it ends as long after now, really, as the deadline is after the last reading of the clock, simulated. Simulated time
//! passes when it ends without success, so that who asks the clock then sees that the deadline is over.

use std::ffi::{c_int, c_void};

use libc::{clockid_t, pthread_cond_t, pthread_mutex_t, sem_t, timespec};

use crate::real::{self, Behind};
use crate::source::{ClockKind, last_ns, sleep_ns};

/// How long to wait until a deadline of simulated time, in ns. `None` leaves the deadline as it is.
fn patience(clock: ClockKind, deadline: *const timespec) -> Option<u64> {
    let last = last_ns()?;
    // Safety: the caller of the C function gives a valid pointer or null.
    let deadline = unsafe { deadline.as_ref() }.and_then(real::ns_of)?;
    Some(deadline.saturating_sub(clock.zero_ns() + last))
}

/// The clock of a deadline where the function does not name it: one of them shows far more than the other.
fn clock_of(deadline: *const timespec) -> ClockKind {
    let half = (ClockKind::Date.zero_ns() / 2 / crate::source::NS) as libc::time_t;
    // Safety: the caller of the C function gives a valid pointer or null.
    match unsafe { deadline.as_ref() } {
        Some(deadline) if deadline.tv_sec < half => ClockKind::SinceStart,
        _ => ClockKind::Date,
    }
}

fn always(_: ClockKind) -> bool {
    true
}

/// With this clock Python's interpreter waits for its own lock, which is no wait of the program.
fn unless_interpreter(clock: ClockKind) -> bool {
    clock == ClockKind::Date
}

/// Defines a function that waits, with the clock of its deadline, which is its last argument, and whether simulated
/// time passes.
macro_rules! waits {
    ($($name:literal $function:ident($($argument:ident: $type:ty),*) until $clock:expr, passes $passes:ident;)*) => { $(
        /// Replaces the function of the C library.
        ///
        /// # Safety
        /// As there.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $function($($argument: $type,)* deadline: *const timespec) -> c_int {
            static BEHIND: Behind = Behind::new($name);
            type Function = unsafe extern "C" fn($($type,)* *const timespec) -> c_int;
            let behind = BEHIND.address();
            if behind.is_null() {
                return libc::ENOSYS;
            }
            // Safety: it is that function of the C library.
            let wait = unsafe { std::mem::transmute::<*mut c_void, Function>(behind) };
            let clock: Option<ClockKind> = $clock(deadline);
            let Some((clock, ns)) = clock.and_then(|clock| Some((clock, patience(clock, deadline)?))) else {
                // Safety: the arguments are the caller's.
                return unsafe { wait($($argument,)* deadline) };
            };
            let until = real::timespec_of(real::now_ns(clock).saturating_add(ns));
            // Safety: the arguments are the caller's, but for a valid deadline.
            let done = unsafe { wait($($argument,)* &raw const until) };
            let error = match done {
                // Safety: the location of this thread's number.
                -1 => unsafe { *libc::__errno_location() },
                error => error,
            };
            if error == libc::ETIMEDOUT && $passes(clock) {
                sleep_ns(ns);
                if done == -1 {
                    real::fail(libc::ETIMEDOUT);
                }
            }
            done
        }
    )* };
}

waits! {
    c"pthread_cond_timedwait" pthread_cond_timedwait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t)
        until |deadline| Some(clock_of(deadline)), passes unless_interpreter;
    c"pthread_cond_clockwait" pthread_cond_clockwait(
        condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, clock: clockid_t
    ) until |_| ClockKind::of(clock), passes always;
    c"pthread_mutex_timedlock" pthread_mutex_timedlock(mutex: *mut pthread_mutex_t)
        until |_| Some(ClockKind::Date), passes always;
    c"pthread_mutex_clocklock" pthread_mutex_clocklock(mutex: *mut pthread_mutex_t, clock: clockid_t)
        until |_| ClockKind::of(clock), passes always;
    c"sem_timedwait" sem_timedwait(semaphore: *mut sem_t) until |_| Some(ClockKind::Date), passes always;
    c"sem_clockwait" sem_clockwait(semaphore: *mut sem_t, clock: clockid_t) until |_| ClockKind::of(clock), passes always;
}
