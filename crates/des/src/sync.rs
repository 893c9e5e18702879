//! What threads share memory through: the standard library's, or in tests loom's, which tries all
//! interleavings (`make test-loom`).

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
