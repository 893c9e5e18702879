//! Simulated time for the clocks of the C library, which another library replaces (`rank-clock`), if it was loaded.

use std::ffi::{CStr, c_char, c_void};
use std::ptr;

/// What that library exports.
const USE_CLOCK: &CStr = c"fabricsim_use_clock";

pub(crate) type Now = extern "C" fn() -> u64;
pub(crate) type Sleep = extern "C" fn(u64);
type UseClock = extern "C" fn(Option<Now>, Option<Sleep>);

/// From now on the clocks of this thread show simulated time: by a function that gives it in ns, and one that lets it
/// pass.
pub(crate) fn begin(now_ns: Now, sleep_ns: Sleep) {
    use_clock(Some(now_ns), Some(sleep_ns));
}

/// Simulated time has ended.
pub(crate) fn end() {
    use_clock(None, None);
}

fn use_clock(now: Option<Now>, sleep: Option<Sleep>) {
    unsafe extern "C" {
        fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    }
    // Safety: null is the default order of libraries, and the name ends with zero.
    let found = unsafe { dlsym(ptr::null_mut(), USE_CLOCK.as_ptr()) };
    if !found.is_null() {
        // Safety: it is that function of `rank-clock`.
        unsafe { std::mem::transmute::<*mut c_void, UseClock>(found)(now, sleep) };
    }
}
