//! Checksums that a finished result carries: XXH64, as 16 hexadecimal digits. They find accidents, not attacks.
//!
//! `summary.json` has those of the tables (key `checksums`), and its last line is the checksum of all bytes before that
//! line. `critical_path.json` has the same two parts for the table `critical_path`. `docs/formats/summary.md` describes
//! them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;

use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use parquet::file::reader::ChunkReader;
use serde::{Deserialize, Serialize};
use twox_hash::XxHash64;

/// Digits of a checksum.
const DIGITS: usize = 16;

/// Bytes at the start of a Parquet file, before its first column chunk.
pub(crate) const MAGIC: u64 = 4;

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
    struct ChecksumsPart {
        checksums: Option<ChecksumsByTable>,
    }
    let begin = text.strip_suffix('\n').unwrap_or(text).rfind('\n');
    let (before, last) = text.split_at(begin.map_or(0, |end| end + 1));
    if last == last_line(before) {
        let part: ChecksumsPart = serde_json::from_str(text)?;
        return Ok(part.checksums);
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
