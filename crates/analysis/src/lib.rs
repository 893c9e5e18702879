//! Why a job takes its time: its critical path, from the tables of a result.
//!
//! The path is the chain of computation, overheads and messages, without a gap from the job's end back to its
//! start, each link of which had to end before the next could begin. Shortening what is on it shortens the job;
//! what is not on it does not matter. It is found by going backwards through what happened, so it costs one pass
//! over the tables and memory for what was under way at one time.
//!
//! This crate knows tables and numbers; it simulates nothing, and does not know topologies, routing or MPI beyond
//! the names in the tables.
//!
//! Sources: C.-Q. Yang, B. P. Miller, "Critical Path Analysis for the Execution of Parallel and Distributed
//! Programs", ICDCS 1988 (the graph of activities and its longest path); D. Böhme, F. Wolf, B. R. de Supinski,
//! M. Schulz, M. Geimer, "Scalable Critical-Path Based Performance Analysis", IPDPS 2012 (going backwards from the
//! rank that ends last, over to the sender wherever a rank waited). The method, and what is added to it for the
//! time in the network, is in `docs/methods/critical-path.md`.

mod backwards;
mod columns;
mod crossing;
mod error;
mod explain;
mod places;
mod tables;
mod walk;

pub use error::Error;
pub use explain::{explain, write};
