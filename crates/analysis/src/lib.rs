//! The critical path of a job, from the tables of a result.
//!
//! The path is the chain of computation, overheads and messages from the job's end back to its start, without gap.
//! Each step had to end before the next could begin. Shortening a step on the path shortens the job; shortening other
//! activities does not. The path is found by one backward pass over the tables, with memory for the messages in
//! flight at one time.
//!
//! This crate knows tables and numbers. It simulates nothing, and knows topologies, routing and MPI only by the names
//! in the tables.
//!
//! Sources: C.-Q. Yang, B. P. Miller, "Critical Path Analysis for the Execution of Parallel and Distributed
//! Programs", ICDCS 1988 (the graph of activities and its longest path); D. Böhme, F. Wolf, B. R. de Supinski, M.
//! Schulz, M. Geimer, "Scalable Critical-Path Based Performance Analysis", IPDPS 2012 (going backwards from the rank
//! that ends last, over to the sender wherever a rank waited). `docs/methods/critical-path.md` describes the method
//! and its extension to the time in the network.

mod backwards;
mod columns;
mod contributions;
mod crossing;
mod error;
mod explain;
mod explained;
mod places;
mod tables;
mod walk;

pub use error::Error;
pub use explain::{StoredExplanation, explain, write};
