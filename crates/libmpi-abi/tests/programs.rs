//! The programs of the tests of `libmpi`, compiled against the standard ABI: same results, same simulated times.

#![cfg(target_os = "linux")]

#[path = "../../libmpi/tests/programs.rs"]
mod programs;
