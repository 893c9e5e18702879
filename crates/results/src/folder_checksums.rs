//! What this process knows of the checksums in result folders: read once, and chunks of columns found right once.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use crate::checksums::{ChecksumsByTable, ChunkPlace, checked};
use crate::entries::{CRITICAL_PATH, SUMMARY};

/// The name of the table that `critical_path.json` describes.
const EXPLANATION: &str = "critical_path";

/// Reads a text with checksums and checks it, unless the damage of its folder [is accepted](accept_damage).
pub(crate) fn read_checked(path: &Path) -> io::Result<String> {
    let text = config::read_text(path, config::TEXT_BYTES)?;
    if !is_accepted(path.parent().unwrap_or(path)) {
        checked(&text)?;
    }
    Ok(text)
}

/// What tells one content of a file from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FileIdentity {
    number: (u64, u64),
    length: u64,
    changed: Option<SystemTime>,
}

impl FileIdentity {
    pub fn of(metadata: &Metadata) -> FileIdentity {
        #[cfg(unix)]
        let number = {
            use std::os::unix::fs::MetadataExt;
            (metadata.dev(), metadata.ino())
        };
        #[cfg(not(unix))]
        let number = (0, 0);
        FileIdentity {
            number,
            length: metadata.len(),
            changed: metadata.modified().ok(),
        }
    }

    /// Whether a later change would have another time: clocks of file systems are coarse.
    pub fn is_certain(&self) -> bool {
        let age = self.changed.and_then(|changed| changed.elapsed().ok());
        age.is_some_and(|age| age > Duration::from_secs(2))
    }
}

/// The checksums of a folder, and what has been found right since.
#[derive(Default)]
pub(crate) struct FolderChecksums {
    pub tables: ChecksumsByTable,
    verified: Mutex<BTreeSet<(FileIdentity, usize)>>,
    places: Mutex<BTreeMap<FileIdentity, Arc<Vec<ChunkPlace>>>>,
}

impl FolderChecksums {
    pub fn is_verified(&self, file: FileIdentity, chunk: usize) -> bool {
        locked(&self.verified).contains(&(file, chunk))
    }

    pub fn set_verified(&self, file: FileIdentity, chunk: usize) {
        if file.is_certain() {
            locked(&self.verified).insert((file, chunk));
        }
    }

    /// The column chunks of a table, if they are known.
    pub fn places(&self, file: FileIdentity) -> Option<Arc<Vec<ChunkPlace>>> {
        locked(&self.places).get(&file).cloned()
    }

    pub fn set_places(&self, file: FileIdentity, places: &Arc<Vec<ChunkPlace>>) {
        if file.is_certain() {
            locked(&self.places).insert(file, places.clone());
        }
    }
}

/// What this process knows of result folders. It opens the tables of a folder many times: the cache reads their
/// checksums once, and has each column chunk hashed once.
#[derive(Default)]
struct KnownFolders {
    /// By the file that has the checksums.
    read: BTreeMap<PathBuf, (FileIdentity, Option<Arc<FolderChecksums>>)>,
    accepted: BTreeSet<PathBuf>,
}

/// Maximum number of files in the cache.
const MOST_KNOWN: usize = 64;

static KNOWN: LazyLock<Mutex<KnownFolders>> = LazyLock::new(Mutex::default);

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn resolved(folder: &Path) -> PathBuf {
    let folder = match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => folder,
    };
    folder.canonicalize().unwrap_or_else(|_| folder.into())
}

/// Whether readers in this process show the numbers of a result folder without comparing them with their checksums.
/// Readers compare by default.
pub fn accept_damage(folder: &Path, accept: bool) {
    let folder = resolved(folder);
    let mut known = locked(&KNOWN);
    match accept {
        true => known.accepted.insert(folder),
        false => known.accepted.remove(&folder),
    };
}

fn is_accepted(folder: &Path) -> bool {
    let nothing = locked(&KNOWN).accepted.is_empty();
    !nothing && {
        let folder = resolved(folder);
        locked(&KNOWN).accepted.contains(&folder)
    }
}

/// The name of the file that has the checksums of a table.
pub(crate) fn holder_of(table: &str) -> &'static str {
    match table {
        EXPLANATION => CRITICAL_PATH,
        _ => SUMMARY,
    }
}

/// The checksums of the folder that a table is in. `None` if it carries none, as a run that has not ended and results
/// of versions before, or if its damage is accepted.
pub(crate) fn checksums_beside(table: &Path) -> io::Result<Option<Arc<FolderChecksums>>> {
    let folder = table.parent().unwrap_or(table);
    if is_accepted(folder) {
        return Ok(None);
    }
    let name = table.file_stem().unwrap_or_default().to_string_lossy();
    let path = folder.join(holder_of(&name));
    let identity = match fs::metadata(&path) {
        Ok(metadata) => FileIdentity::of(&metadata),
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(e) => return Err(e),
    };
    if let Some((known, checksums)) = locked(&KNOWN).read.get(&path)
        && *known == identity
    {
        return Ok(checksums.clone());
    }
    let in_holder = |e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", path.display()));
    let text = config::read_text(&path, config::TEXT_BYTES).map_err(in_holder)?;
    let checksums = checked(&text).map_err(in_holder)?.map(|tables| {
        Arc::new(FolderChecksums {
            tables,
            ..FolderChecksums::default()
        })
    });
    if identity.is_certain() {
        let mut known = locked(&KNOWN);
        if known.read.len() >= MOST_KNOWN {
            known.read.clear();
        }
        known.read.insert(path, (identity, checksums.clone()));
    }
    Ok(checksums)
}
