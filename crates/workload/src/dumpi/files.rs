//! The files of a trace: the text file `NAME.meta`, and one file per rank, `NAME-0000.bin` and so on.
//!
//! A rank's file begins with an eight-byte magic number and ends with an index: the magic number and the
//! offsets of its parts. Older versions have fewer offsets.
//!
//! Source: sst-dumpi, `docs/traceformat.dox` and `dumpi/common/io.c`.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::TraceError;

/// Magic number of a rank's file.
pub const MAGIC: [u8; 8] = [0xff, 0xaa, 0xdd, 0x44, 0x55, 0x4d, 0x50, 0x49];

/// Offsets in the index since version 0.6.6. Earlier versions have fewer.
const OFFSETS: usize = 7;

/// Version of the library that wrote a file.
pub type Version = [u8; 3];

/// The file of one rank.
#[derive(Debug)]
pub struct DumpiFile {
    /// Path.
    pub path: PathBuf,
    /// Rank.
    pub rank: u32,
    /// Offset of the records.
    pub body: u64,
    /// Offset after the records.
    pub end: u64,
    /// Version of its writer.
    pub version: Version,
    /// Sizes of datatypes by handle, if recorded.
    pub sizes: Vec<u32>,
}

impl DumpiFile {
    /// Opens a rank's file and reads its index.
    ///
    /// # Errors
    /// It is missing, cut off, or not of this format.
    pub fn open(path: PathBuf, rank: u32) -> Result<DumpiFile, TraceError> {
        let mut opened = DumpiFile {
            path,
            rank,
            body: 0,
            end: 0,
            version: [0; 3],
            sizes: Vec::new(),
        };
        match opened.read() {
            Ok(()) => Ok(opened),
            Err(message) => Err(opened.error(message)),
        }
    }

    /// An error in the file.
    pub fn error(&self, message: impl Into<String>) -> TraceError {
        TraceError {
            file: self.path.display().to_string(),
            rank: Some(self.rank),
            message: message.into(),
        }
    }

    fn read(&mut self) -> Result<(), String> {
        let unreadable = |e| format!("cannot be read: {e}");
        let mut file = config::open_input(&self.path, u64::MAX).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => {
                "this file of the trace is missing; copy the trace again, with all its files".into()
            }
            _ => format!("cannot be opened: {e}"),
        })?;
        let length = file.metadata().map_err(unreadable)?.len();
        let mut magic = [0; 8];
        let complete = length >= 8 * (OFFSETS as u64 + 2);
        if complete {
            file.read_exact(&mut magic).map_err(unreadable)?;
        }
        if complete && is_turned_around(magic) {
            return Err(
                "is a DUMPI trace in the wrong byte order; the format is big-endian on every machine".into(),
            );
        }
        if !complete || magic != MAGIC {
            return Err(
                "is not a rank's file of a DUMPI trace: it does not begin with ff aa dd 44 55 4d 50 49, or is too short"
                    .into(),
            );
        }
        let offsets = index(&mut file).map_err(unreadable)?.ok_or(
            "is cut off: it does not end with an index; copy the trace again, and see that the application reaches MPI_Finalize",
        )?;
        let [sizes, addresses, counters, header, body, footer, keyvals] = offsets;
        if offsets.iter().any(|offset| *offset > length - 8) || body < 8 || header < 8 {
            return Err("its index points outside the file; copy the trace again".into());
        }
        self.body = body;
        let parts = [sizes, addresses, counters, header, footer, keyvals];
        let index_at = length - 8 * (OFFSETS as u64 + 1);
        let after = parts.into_iter().filter(|offset| *offset > body).min();
        self.end = after.unwrap_or(index_at);
        if self.end < body + 8 {
            return Err("its index leaves no space for calls; copy the trace again".into());
        }
        file.seek(SeekFrom::Start(header)).map_err(unreadable)?;
        file.read_exact(&mut self.version).map_err(unreadable)?;
        if sizes > 0 {
            self.sizes = type_sizes(&mut file, sizes, length)?;
        }
        Ok(())
    }
}

/// Whether the magic number has the other byte order, in units of 4 or 8 bytes.
fn is_turned_around(magic: [u8; 8]) -> bool {
    let mut eight = MAGIC;
    eight.reverse();
    let mut four = MAGIC;
    four[..4].reverse();
    four[4..].reverse();
    magic == eight || magic == four
}

/// The offsets in the index: of sizes, addresses, counters, header, body, footer, key values.
fn index(file: &mut File) -> std::io::Result<Option<[u64; OFFSETS]>> {
    file.seek(SeekFrom::End(-8 * (OFFSETS as i64 + 1)))?;
    let mut bytes = [0; 8 * (OFFSETS + 1)];
    file.read_exact(&mut bytes)?;
    let words: Vec<[u8; 8]> = bytes.as_chunks().0.to_vec();
    // All versions have the last four; up to three precede them.
    let Some(magic) = (0..4).find(|i| words[*i] == MAGIC) else {
        return Ok(None);
    };
    let mut offsets = [0; OFFSETS];
    for (offset, word) in offsets[magic..].iter_mut().zip(&words[magic + 1..]) {
        *offset = u64::from_be_bytes(*word);
    }
    Ok(Some(offsets))
}

fn type_sizes(file: &mut File, offset: u64, length: u64) -> Result<Vec<u32>, String> {
    let unreadable = |e| format!("cannot be read: {e}");
    file.seek(SeekFrom::Start(offset)).map_err(unreadable)?;
    let mut count = [0; 4];
    file.read_exact(&mut count).map_err(unreadable)?;
    let count = u64::from(u32::from_be_bytes(count));
    // Handles have 16 bits.
    if count > 1 << 16 || offset + 4 + 4 * count > length {
        return Err(format!("has a table of {count} types; the file is damaged"));
    }
    let mut bytes = vec![0; 4 * count as usize];
    file.read_exact(&mut bytes).map_err(unreadable)?;
    let sizes = bytes.as_chunks().0.iter();
    Ok(sizes.map(|b| u32::from_be_bytes(*b)).collect())
}

/// Opens the files of all ranks; `main` is the meta file, or the file of any rank.
///
/// # Errors
/// A file is missing or damaged, or the meta file contradicts the others.
pub fn open(main: &Path) -> Result<Vec<Arc<DumpiFile>>, TraceError> {
    let fail = |message: String| TraceError {
        file: main.display().to_string(),
        rank: None,
        message,
    };
    let mut head = Vec::new();
    let read = config::open_input(main, u64::MAX).and_then(|file| file.take(8).read_to_end(&mut head));
    read.map_err(|e| fail(format!("cannot be read: {e}")))?;
    if head == MAGIC {
        let prefix = prefix_of_rank_file(main).ok_or_else(|| {
            fail(
                "is one rank's file of a DUMPI trace, but not called NAME-0000.bin with the rank in its name; give NAME.meta"
                    .into(),
            )
        })?;
        let meta = with_ending(&prefix, ".meta");
        return if meta.is_file() {
            open(&meta)
        } else {
            open_while_there(&prefix)
        };
    }
    let (ranks, prefix) = read_meta(main).map_err(fail)?;
    let mut files = Vec::new();
    for rank in 0..ranks {
        files.push(Arc::new(DumpiFile::open(rank_file(&prefix, rank), rank)?));
    }
    let surplus = rank_file(&prefix, ranks);
    if surplus.is_file() {
        return Err(fail(format!(
            "says numprocs={ranks}, but there is {} beside it, too",
            surplus.display()
        )));
    }
    Ok(files)
}

/// Opens ranks from 0 on until a file is missing, since there is no meta file.
fn open_while_there(prefix: &Path) -> Result<Vec<Arc<DumpiFile>>, TraceError> {
    let mut files = Vec::new();
    for rank in 0.. {
        let path = rank_file(prefix, rank);
        if rank > 0 && !path.is_file() {
            break;
        }
        files.push(Arc::new(DumpiFile::open(path, rank)?));
    }
    Ok(files)
}

/// Number of ranks, and the common prefix of their files.
fn read_meta(meta: &Path) -> Result<(u32, PathBuf), String> {
    // A meta file has some hundred bytes.
    const LONGEST: u64 = 1 << 16;
    let mut text = Vec::new();
    let read = config::open_input(meta, u64::MAX).and_then(|file| file.take(LONGEST).read_to_end(&mut text));
    read.map_err(|e| format!("cannot be read: {e}"))?;
    let text = String::from_utf8_lossy(&text);
    let value = |key: &str| {
        let entries = text.lines().filter_map(|line| line.split_once('='));
        entries
            .into_iter()
            .find(|(k, _)| k.trim() == key)
            .map(|(_, v)| v.trim().to_string())
    };
    let ranks = value("numprocs").ok_or("has no line numprocs=")?;
    let ranks = ranks
        .parse()
        .ok()
        .filter(|n| *n > 0)
        .ok_or_else(|| format!("numprocs={ranks} is not a number of ranks"))?;
    let folder = meta.parent().unwrap_or(Path::new(""));
    let own = meta.with_extension("");
    let written = value("fileprefix").unwrap_or_default();
    // The recorded folder is that of the recording.
    let written = Path::new(&written).file_name().map(|name| folder.join(name));
    let prefix = written.filter(|prefix| rank_file(prefix, 0).is_file() || !rank_file(&own, 0).is_file());
    Ok((ranks, prefix.unwrap_or(own)))
}

/// `NAME` of `NAME-0003.bin`.
fn prefix_of_rank_file(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?.strip_suffix(".bin")?;
    let (prefix, number) = name.rsplit_once('-')?;
    let is_number = number.len() >= 4 && number.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| path.with_file_name(prefix))
}

fn rank_file(prefix: &Path, rank: u32) -> PathBuf {
    with_ending(prefix, &format!("-{rank:04}.bin"))
}

/// Appends an ending. The name may contain dots.
fn with_ending(prefix: &Path, ending: &str) -> PathBuf {
    let mut name = prefix.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Whether a file with these first bytes is a meta file.
pub fn is_meta(head: &[u8]) -> bool {
    let is_text = head
        .iter()
        .all(|b| matches!(b, b'\t' | b'\n' | b'\r' | 0x20..=0x7e | 0x80..));
    is_text && head.windows(9).any(|w| w == b"numprocs=")
}
