//! A library that is loaded before all others of a rank's process (`LD_PRELOAD`): clocks and sleeps of the C library in
//! simulated time.
//!
//! They change for the thread that has called `MPI_Init`, from then on. Other threads, other processes that the
//! program starts, CPU clocks and statically linked programs have the real ones. Simulated time starts at fixed dates,
//! so that what programs derive from dates, such as seeds, is the same in each run.
//!
//! Timed waits for another thread stay real, as that thread works in real time: their deadlines are translated.
//! Linux only.

#![cfg(target_os = "linux")]
#![allow(unsafe_code)] // the functions are called from C with pointers; each says what it trusts

mod clocks;
mod real;
mod sleeps;
mod source;
mod waits;

pub use source::fabricsim_use_clock;
