//! Atomics and locks: those of the standard library, or in tests those of loom, which tries all interleavings (`make
//! test-loom`).

#[cfg(loom)]
pub(crate) use loom::{
    sync::atomic::{AtomicBool, AtomicU64, AtomicUsize},
    sync::{Condvar, Mutex},
    thread::yield_now,
};

#[cfg(not(loom))]
pub(crate) use std::{
    sync::atomic::{AtomicBool, AtomicU64, AtomicUsize},
    sync::{Condvar, Mutex},
    thread::yield_now,
};
