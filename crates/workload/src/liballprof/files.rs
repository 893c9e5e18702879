//! The files of a trace: one for each rank, `NAME-0.txt` and so on. Some writers pad the number with zeros.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::TraceError;

/// The file of one rank.
#[derive(Debug)]
pub struct AllprofFile {
    /// Path.
    pub path: PathBuf,
    /// Rank.
    pub rank: u32,
}

impl AllprofFile {
    /// An error in the file.
    pub fn error(&self, message: impl Into<String>) -> TraceError {
        TraceError {
            file: self.path.display().to_string(),
            rank: Some(self.rank),
            message: message.into(),
        }
    }
}

/// `NAME-` and 3 of `NAME-03.txt`.
fn prefix_and_rank(name: &str) -> Option<(&str, u32)> {
    let stem = name.strip_suffix(".txt")?;
    let digits = stem.bytes().rev().take_while(u8::is_ascii_digit).count();
    let (prefix, number) = stem.split_at(stem.len() - digits);
    (prefix.ends_with('-') && digits > 0).then_some(())?;
    Some((prefix, number.parse().ok()?))
}

/// Whether a file of this name is that of rank 0.
pub fn is_main(name: &str) -> bool {
    prefix_and_rank(name).is_some_and(|(_, rank)| rank == 0)
}

/// Finds the files of all ranks; `main` is any of them.
///
/// # Errors
/// A rank's file is missing, or a rank has two.
pub fn open(main: &Path) -> Result<Vec<Arc<AllprofFile>>, TraceError> {
    let fail = |path: &Path, rank, message: String| TraceError {
        file: path.display().to_string(),
        rank,
        message,
    };
    let name = main.file_name().and_then(|n| n.to_str()).unwrap_or("");
    let Some((prefix, _)) = prefix_and_rank(name) else {
        let message =
            "is one rank's file of a liballprof trace, but not called NAME-0.txt with the rank in its name";
        return Err(fail(main, None, message.into()));
    };
    let folder = match main.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let unreadable = |e: std::io::Error| fail(folder, None, format!("cannot be read: {e}"));
    let mut found: BTreeMap<u32, PathBuf> = BTreeMap::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("");
        let Some((_, rank)) = prefix_and_rank(name).filter(|(p, _)| *p == prefix) else {
            continue;
        };
        if let Some(other) = found.insert(rank, path.clone()) {
            let message = format!("there is {} for the same rank, too", other.display());
            return Err(fail(&path, Some(rank), message));
        }
    }
    let mut files = Vec::new();
    for ((rank, path), expected) in found.into_iter().zip(0..) {
        if rank != expected {
            return Err(missing(main, prefix, expected));
        }
        files.push(Arc::new(AllprofFile { path, rank }));
    }
    Ok(files)
}

/// The error of a missing file.
fn missing(main: &Path, prefix: &str, rank: u32) -> TraceError {
    AllprofFile {
        path: main.with_file_name(format!("{prefix}{rank}.txt")),
        rank,
    }
    .error("this file of the trace is missing; copy the trace again, with all its files")
}

/// Checks the number of files against the number of ranks in the trace.
///
/// # Errors
/// There are fewer.
pub fn check_number(files: &[Arc<AllprofFile>], ranks: u32) -> Result<(), TraceError> {
    let known = files.len() as u32;
    if ranks <= known {
        return Ok(());
    }
    let first = &files[0].path;
    let name = first.file_name().and_then(|n| n.to_str()).unwrap_or("");
    let prefix = prefix_and_rank(name).map_or("", |(prefix, _)| prefix);
    let mut error = missing(first, prefix, known);
    error.message = format!("{} (its calls name {ranks} ranks)", error.message);
    Err(error)
}
