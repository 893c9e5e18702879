//! Long windows: executors may look further ahead than the shortest link.
//!
//! # Theorem
//! With [early commit](super::early_commit) and [credit batching](super::credit_batching), each event between two LPs
//! before the end of the run is at least the shortest way to a router away: a link and the pipeline of the router.
//!
//! # Preconditions
//! Those of both. Routers and NICs send packets and credits only.
//!
//! # Proof
//! Synthetic traffic sends three kinds of events between LPs. A packet for a router comes after the link and the
//! router's pipeline for that link class. A packet for a host is an event only if it arrives at the end of the run or
//! later. The credits of a batch may come late, and are delayed to the lookahead where they would come sooner.
//!
//! # Test
//! The kernel refuses an event that is nearer than the lookahead; `crates/sim/tests/suite/early_commit.rs` compares the
//! results of such runs with those of runs without the shortcut.

use des::Time;

use super::{Declared, Requested, credit_batching, early_commit};

/// The lookahead, if the preconditions hold.
pub fn applies(requested: &Requested, declared: &Declared) -> Option<Time> {
    credit_batching::applies(requested, declared)?;
    early_commit::applies(requested, declared)?;
    let has_signals = declared.router.sends_signals || declared.nic.signals_of.is_some();
    (!has_signals).then_some(declared.nearest_router)
}
