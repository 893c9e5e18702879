//! Why a result cannot be exported.

use std::io;
use std::path::PathBuf;

/// Why a result cannot be exported.
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
        /// Why it is not there and what to do.
        why: String,
    },
    /// What the format is for is not there before the end of a run.
    #[error(
        "{}: what links have carried is written at the end of a run, and this one is under way or was killed; run \
         the experiment again, or look at what it has written with `fabricsim view {}`", .0.display(), .0.display()
    )]
    NotEnded(PathBuf),
    /// A table has not the columns that it should have.
    #[error("{} is not a table of this version of FabricSim: {why}; run the experiment again", .path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What is missing.
        why: String,
    },
    /// An option of another format.
    #[error("the format {format} has no option --{option}")]
    NoSuchOption {
        /// The format.
        format: &'static str,
        /// The option.
        option: &'static str,
    },
    /// The export would become a part of the result.
    #[error(
        "{} is inside the result folder, which holds nothing but the result; choose another place with --out",
        .0.display()
    )]
    Inside(PathBuf),
    /// Something else is where the export should go.
    #[error("{} is there already, and {what}; remove it or choose another place with --out", .path.display())]
    Taken {
        /// The place.
        path: PathBuf,
        /// What it is.
        what: String,
    },
    /// This build lacks what the format needs.
    #[error("{0}")]
    NoLibrary(String),
    /// The system refuses to write.
    #[error("cannot write {}: {source}", .path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
}
