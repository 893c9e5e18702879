//! The result of a run in memory. `outcome` makes it, `folder` writes and reads it.

use crate::{Collected, Summary, Table};

/// One run: its summary and its tables.
#[derive(Clone, Debug, PartialEq)]
pub struct RunResult {
    /// What `summary.json` holds.
    pub summary: Summary,
    /// One table per Parquet file.
    pub tables: Vec<Table>,
    /// Tables that grew during the run. Those in memory are also in `tables`.
    pub collected: Vec<Collected>,
}
