//! Reasons why a result folder cannot be written or read.

use std::io;
use std::path::PathBuf;

use crate::CHECKPOINT;

/// The reason why a result was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The folder contains a result, and overwriting was not requested.
    #[error("{} already contains a result; choose another folder or allow overwriting", .0.display())]
    Exists(PathBuf),
    /// The folder contains something that FabricSim did not write.
    #[error("{} is not a FabricSim result (it contains '{found}'); it is left unchanged", .folder.display())]
    NotAResult {
        /// The folder.
        folder: PathBuf,
        /// An entry that belongs to no result.
        found: String,
    },
    /// The folder contains the checkpoint of an interrupted run.
    #[error(
        "{folder} contains the checkpoint of an interrupted run: `fabricsim resume {folder}` continues it; \
         remove {folder}/{CHECKPOINT} to start again",
        folder = .0.display()
    )]
    Unfinished(PathBuf),
    /// A run writes the folder.
    #[error(
        "{} is being written by {by}; wait until it has ended, or give another folder (--out)",
        .folder.display()
    )]
    InUse {
        /// The folder.
        folder: PathBuf,
        /// The process of that run.
        by: String,
    },
    /// What stands where a run writes its mark or its tables is a link, has a second name, or is no regular file.
    #[error(
        "{} is a link, has another name (hard link), or is not a regular file: a run would write into what it leads \
         to; remove it, or give another folder (--out)",
        .0.display()
    )]
    Link(PathBuf),
    /// The path is a file, or cannot become a folder.
    #[error("{} is not a folder", .0.display())]
    NotAFolder(PathBuf),
    /// A table that was just written cannot be read for the report.
    #[error(transparent)]
    Unreadable(#[from] ReadError),
    /// The system refused: permissions, a full disk, a disk error.
    #[error("cannot write {}: {source}", .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
}

/// The reason why a result could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A file cannot be read.
    #[error("cannot read {}: {source}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The folder has no summary, or that of another program.
    #[error("{} is not a FabricSim result: {why}", .folder.display())]
    NotAResult {
        /// The folder.
        folder: PathBuf,
        /// The missing or wrong part.
        why: String,
    },
}

/// The reason why a report was not rewritten.
#[derive(Debug, thiserror::Error)]
pub enum RegenerateError {
    /// The folder could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The page could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}
