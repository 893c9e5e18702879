//! Tests that cannot run on this machine.

use std::fmt::Arguments;
use std::io::Write;

/// Says that this test ends without a check, and why. The arguments are those of `format!`; the test returns then.
///
/// Rust's tests only pass or fail. The line `SKIPPED test: reason` goes past the capture of their output to standard
/// error, where a reader sees it and `scripts/test.py` counts it.
#[macro_export]
macro_rules! skipped {
    ($($reason:tt)*) => { $crate::skip::say(::std::format_args!($($reason)*)) };
}

/// What [`skipped!`](crate::skipped) does.
///
/// # Panics
/// Standard error is closed.
pub fn say(reason: Arguments<'_>) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a thread");
    // One call writes the whole line: tests run side by side.
    let line = format!("SKIPPED {test}: {reason}\n");
    std::io::stderr()
        .write_all(line.as_bytes())
        .expect("standard error is open");
}
