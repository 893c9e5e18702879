//! Names of the entries of a result folder, of an unfinished run included. Tables have their own names.

/// File name of the summary.
pub const SUMMARY: &str = "summary.json";

/// File name of the explanation in a result folder.
pub const CRITICAL_PATH: &str = "critical_path.json";

/// File name of the report.
pub(crate) const REPORT: &str = "report.html";

/// File name of the checkpoint of an unfinished run, in the folder of its future result.
pub const CHECKPOINT: &str = "checkpoint.fabricsim";

/// File name of a checkpoint while it is written.
pub const PARTIAL_CHECKPOINT: &str = ".checkpoint-";

/// Name of the file that marks the folder of an unfinished run.
pub const RUNNING: &str = "RUNNING.json";

/// Name of the folder of table parts.
pub(crate) const PARTS: &str = "running";

/// The experiment that replays a run of real programs.
pub const REPLAY: &str = "replay.toml";

/// The end of the names of files with operations of a real program.
pub const OPERATIONS: &str = ".operations";

/// File name of the mark of a hidden folder beside a result. A result never has it.
pub(crate) const PARTIAL: &str = ".fabricsim-partial";
