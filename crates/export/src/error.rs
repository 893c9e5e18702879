//! Errors of exports.

use std::io;
use std::path::PathBuf;

/// The reason why a result cannot be exported.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder is not a result, or one of its files cannot be read.
    #[error(transparent)]
    Read(#[from] results::ReadError),
    /// The folder lacks a table.
    #[error("{} has no table {table} ({table}.parquet): {why}", .folder.display())]
    NoTable {
        /// The result folder.
        folder: PathBuf,
        /// The table.
        table: String,
        /// The reason, and what to do.
        why: String,
    },
    /// The format needs a finished run.
    #[error(
        "{}: what links have carried is written at the end of a run, and this one is still running or was killed; run \
         the experiment again, or look at what it has written with `fabricsim view {}`", .0.display(), .0.display()
    )]
    NotEnded(PathBuf),
    /// A table lacks an expected column.
    #[error("{} is not a table of this version of FabricSim: {why}; run the experiment again", .path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The missing or wrong column.
        why: String,
    },
    /// The option belongs to another format.
    #[error("the format {format} has no option --{option}")]
    NoSuchOption {
        /// The format.
        format: &'static str,
        /// The option.
        option: &'static str,
    },
    /// The export would lie inside the result folder.
    #[error(
        "{} is inside the result folder, which holds nothing but the result; choose another place with --out",
        .0.display()
    )]
    Inside(PathBuf),
    /// Something else exists at the target.
    #[error("{} is there already, and {what}; remove it or choose another place with --out", .path.display())]
    Taken {
        /// The target.
        path: PathBuf,
        /// The existing content.
        what: String,
    },
    /// This build lacks a library of the format.
    #[error("{0}")]
    NoLibrary(String),
    /// The system refuses to write.
    #[error("cannot write {}: {source}", .path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
}
