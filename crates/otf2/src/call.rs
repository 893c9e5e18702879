//! Locking and error texts of all calls of the C side.
#![allow(unsafe_code)] // a C library can be called in no other way; each use gives its reason

use std::ffi::{CStr, c_char, c_int};
use std::sync::{Mutex, MutexGuard, PoisonError};

// SAFETY of the declaration: it repeats `errors.h`, which the C compiler checks against the definition.
unsafe extern "C" {
    fn fs_otf2_error() -> *const c_char;
}

/// Serialises calls: libotf2 has global state (its error callback), the shims keep the text of the last error.
static LIBRARY: Mutex<()> = Mutex::new(());

pub(crate) fn lock() -> MutexGuard<'static, ()> {
    // No Rust code that could panic runs between related calls.
    LIBRARY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The error text of `status`. The caller holds the lock.
pub(crate) fn check(status: c_int, _held: &MutexGuard<'static, ()>) -> Result<(), String> {
    if status == 0 {
        return Ok(());
    }
    // SAFETY: the text is static, ends with a zero, and is written under the lock only.
    let text = unsafe { CStr::from_ptr(fs_otf2_error()) };
    Err(text.to_string_lossy().trim().to_string())
}
