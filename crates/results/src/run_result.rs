//! The result of a run in memory. `outcome` makes it, `folder` writes and reads it.

use crate::{Collected, RunPath, Summary, Table};

/// One run: its summary and its tables.
#[derive(Clone, Debug, PartialEq)]
pub struct RunResult {
    /// What `summary.json` holds.
    pub summary: Summary,
    /// One table per Parquet file.
    pub tables: Vec<Table>,
    /// Tables that grew during the run. Those in memory are also in `tables`.
    pub collected: Vec<Collected>,
    /// What replays a run of real programs; `None` without them.
    pub replay: Option<Replay>,
}

/// What replays a run of real programs.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// The experiment, as TOML.
    pub experiment: String,
    /// Files of operations that it names, on the file system of the result. Writing the result moves them.
    pub operations: Vec<RunPath>,
}
