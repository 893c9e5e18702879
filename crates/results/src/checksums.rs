//! Checksums that a finished result carries: XXH64, as 16 hexadecimal digits. They find accidents, not attacks.
//!
//! `summary.json` has those of the tables (key `checksums`), and its last line is the checksum of all bytes before that
//! line. `critical_path.json` has the same two parts for the table `critical_path`. `docs/formats/summary.md` describes
//! them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use parquet::file::reader::ChunkReader;
use serde::{Deserialize, Serialize};
use twox_hash::XxHash64;

use crate::entries::{CRITICAL_PATH, SUMMARY};

/// Digits of a checksum.
const DIGITS: usize = 16;

/// Bytes at the start of a Parquet file, before its first column chunk.
pub(crate) const MAGIC: u64 = 4;

/// The name of the table that `critical_path.json` describes.
const EXPLANATION: &str = "critical_path";

/// The checksum of bytes.
pub(crate) fn checksum(bytes: &[u8]) -> String {
    format!("{:016x}", XxHash64::oneshot(0, bytes))
}

/// Checksums of the tables of a file, by table.
pub(crate) type ChecksumsByTable = BTreeMap<String, TableChecksums>;

/// Checksums of a table. Together they cover each byte of its file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TableChecksums {
    /// Where the footer begins: the end of the last column chunk, in bytes.
    pub footer_offset: u64,
    /// Checksum of the first 4 bytes of the file, followed by the footer.
    pub footer: String,
    /// Checksums of all column chunks, one after the other, in the order of the file.
    chunks: String,
}

impl TableChecksums {
    /// The checksums of a file that was just written.
    pub fn of_file(path: &Path) -> io::Result<TableChecksums> {
        let file = File::open(path)?;
        let metadata = ParquetMetaDataReader::new().parse_and_finish(&file);
        let chunks = chunk_places(&metadata.map_err(io::Error::other)?);
        let footer_offset = chunks.last().map_or(MAGIC, |last| last.end);
        let mut all = String::with_capacity(DIGITS * chunks.len());
        for chunk in &chunks {
            all += &checksum(&bytes_of(&file, chunk.begin, chunk.end)?);
        }
        Ok(TableChecksums {
            footer_offset,
            footer: checksum(&footer_bytes(&file, footer_offset)?),
            chunks: all,
        })
    }

    /// The checksum of a column chunk, by its number in the file. `None` if the file had fewer.
    pub fn chunk(&self, number: usize) -> Option<&str> {
        self.chunks.get(DIGITS * number..DIGITS * (number + 1))
    }
}

/// Reads bytes of a file from `begin` to `end`.
pub(crate) fn bytes_of(file: &File, begin: u64, end: u64) -> io::Result<bytes::Bytes> {
    let length = usize::try_from(end.saturating_sub(begin)).map_err(io::Error::other)?;
    file.get_bytes(begin, length)
        .map_err(|e| io::Error::new(io::ErrorKind::UnexpectedEof, e))
}

/// What the checksum of a footer covers: the first bytes of the file, and all from `footer_offset` to its end.
pub(crate) fn footer_bytes(file: &File, footer_offset: u64) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len();
    let mut bytes = bytes_of(file, 0, MAGIC.min(length))?.to_vec();
    bytes.extend_from_slice(&bytes_of(file, footer_offset, length)?);
    Ok(bytes)
}

/// The place of a column chunk in its file, in bytes.
pub(crate) struct ChunkPlace {
    pub begin: u64,
    /// The start of the next chunk, or of the footer.
    pub end: u64,
    pub column: usize,
    pub group: usize,
    pub name: String,
}

/// The column chunks in the order of the file. The first begins after [`MAGIC`], each other one where the one before
/// ends.
pub(crate) fn chunk_places(metadata: &ParquetMetaData) -> Vec<ChunkPlace> {
    let groups = metadata.row_groups().iter().enumerate();
    let mut places: Vec<ChunkPlace> = groups
        .flat_map(|(group, of_group)| {
            let columns = of_group.columns().iter().enumerate();
            columns.map(move |(column, chunk)| {
                let (begin, length) = chunk.byte_range();
                ChunkPlace {
                    begin,
                    end: begin + length,
                    column,
                    group,
                    name: chunk.column_path().string(),
                }
            })
        })
        .collect();
    places.sort_by_key(|place| (place.begin, place.end));
    let mut begin = MAGIC;
    for place in &mut places {
        place.begin = begin;
        begin = place.end;
    }
    places
}

/// A file with checksums in it.
#[derive(Serialize)]
struct WithChecksums<'a, T> {
    #[serde(flatten)]
    content: &'a T,
    checksums: &'a ChecksumsByTable,
}

/// The JSON text of `content`, an object, with the checksums of its tables and of itself.
pub(crate) fn with_checksums(content: &impl Serialize, checksums: &ChecksumsByTable) -> String {
    let whole = WithChecksums { content, checksums };
    let mut text = serde_json::to_string_pretty(&whole).expect("plain data");
    text.truncate(text.strip_suffix("\n}").expect("a pretty object").len());
    text += ",\n";
    text += &last_line(&text);
    text
}

fn last_line(before: &str) -> String {
    format!("\"checksum\": \"{}\"}}\n", checksum(before.as_bytes()))
}

/// The checksums in a text of [`with_checksums`]. `None` in texts of versions without them.
///
/// # Errors
/// The text is damaged: its last line, or that is missing and the text has checksums of tables, or is not JSON.
pub(crate) fn checked(text: &str) -> io::Result<Option<ChecksumsByTable>> {
    #[derive(Deserialize)]
    struct Section {
        checksums: Option<ChecksumsByTable>,
    }
    let begin = text.strip_suffix('\n').unwrap_or(text).rfind('\n');
    let (before, last) = text.split_at(begin.map_or(0, |end| end + 1));
    if last == last_line(before) {
        let section: Section = serde_json::from_str(text)?;
        return Ok(section.checksums);
    }
    // The keys of the two parts differ in more than one bit from all others.
    if last.contains("\"checksum\"") || text.contains("\n  \"checksums\": {") {
        return Err(damaged(
            "it is damaged: its bytes are not those that were written",
        ));
    }
    Ok(None)
}

/// The error of bytes that differ from their checksum.
pub(crate) fn damaged(what: &str) -> io::Error {
    let advice =
        "restore it from a copy, or write it again with the command that wrote it; --force shows the numbers";
    io::Error::new(io::ErrorKind::InvalidData, format!("{what}; {advice}"))
}

/// Reads a text of [`with_checksums`] and checks it, unless the damage of its folder [is accepted](accept_damage).
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
