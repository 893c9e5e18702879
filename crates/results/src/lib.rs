//! What a run hands back: histograms, tables, digest, summary, Parquet and the report page.
//!
//! This crate knows no simulation: it is given plain rows and plain numbers, and turns them into a
//! result, which is one folder on disk. Nothing here reads a clock or the
//! machine; what two runs of one experiment must agree on is in the digest.

mod histogram;

pub use histogram::{Bucket, Histogram};
