//! The Parquet file of a table, opened to be read. A column chunk is read as a whole when a reader first needs a part
//! of it, and compared with its checksum before the reader gets any of it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::{Buf, Bytes};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaDataReader;
use parquet::file::reader::{ChunkReader, Length};

use crate::checksums::{
    ChunkPlace, MAGIC, TableChecksums, bytes_of, checksum, chunk_places, damaged, footer_bytes,
};
use crate::folder_checksums::{FileIdentity, FolderChecksums, checksums_beside, holder_of};

/// A table of a result folder, for readers of the crate `parquet`. Tables without checksums, such as those of a run
/// that has not ended, are read as they are.
#[derive(Clone)]
pub struct TableFile(Arc<OpenTable>);

struct OpenTable {
    file: File,
    length: u64,
    guard: Option<TableGuard>,
    /// The first damage that a reader met.
    damage: OnceLock<String>,
}

/// What compares a table with its checksums.
struct TableGuard {
    /// The name of the file.
    name: String,
    identity: FileIdentity,
    folder: Arc<FolderChecksums>,
    checksums: TableChecksums,
    footer: Bytes,
    chunks: Arc<Vec<ChunkPlace>>,
    /// The chunk of each column that was read last, with its number.
    read: Mutex<BTreeMap<usize, (usize, Bytes)>>,
}

impl TableFile {
    /// Opens a table and compares its footer with the checksum.
    ///
    /// # Errors
    /// The file cannot be read, its footer is damaged (`InvalidData`), or its folder has no checksum of it.
    pub fn open(path: &Path) -> io::Result<TableFile> {
        let file = config::open_input(path, u64::MAX)?;
        let length = file.metadata()?.len();
        let folder = checksums_beside(path)?;
        Ok(TableFile(Arc::new(OpenTable {
            guard: folder
                .map(|folder| TableGuard::new(path, &file, folder))
                .transpose()?,
            file,
            length,
            damage: OnceLock::new(),
        })))
    }

    /// Compares all column chunks with their checksums, for readers of other crates or languages.
    ///
    /// # Errors
    /// A chunk is damaged or cannot be read.
    pub fn verify(&self) -> io::Result<()> {
        let Some(guard) = &self.0.guard else {
            return Ok(());
        };
        (0..guard.chunks.len()).try_for_each(|number| guard.chunk(number, &self.0).map(|_| ()))
    }

    /// The I/O error of an error of its reader: the damage of the file, if that is the reason.
    pub fn io_error(&self, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
        match self.0.damage.get() {
            Some(damage) => damaged(damage),
            None => match error.into().downcast::<io::Error>() {
                Ok(error) => *error,
                Err(error) => io::Error::new(io::ErrorKind::InvalidData, error),
            },
        }
    }
}

impl OpenTable {
    /// All bytes from `start` to the end of the column chunk, or of the footer, that has them.
    fn rest_of_part(&self, guard: &TableGuard, start: u64) -> io::Result<Bytes> {
        let (begin, part) = if start < MAGIC {
            (0, guard.footer.slice(..MAGIC as usize))
        } else if start >= guard.checksums.footer_offset {
            (
                guard.checksums.footer_offset,
                guard.footer.slice(MAGIC as usize..),
            )
        } else {
            let after = guard.chunks.partition_point(|chunk| chunk.begin <= start);
            let number = after - 1;
            (guard.chunks[number].begin, guard.chunk(number, self)?)
        };
        let skipped = usize::try_from(start - begin).map_err(io::Error::other)?;
        Ok(part.slice(skipped.min(part.len())..))
    }
}

impl TableGuard {
    fn new(path: &Path, file: &File, folder: Arc<FolderChecksums>) -> io::Result<TableGuard> {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let table = path.file_stem().unwrap_or_default().to_string_lossy();
        let identity = FileIdentity::of(&file.metadata()?);
        let checksums = folder.tables.get(&*table).cloned().ok_or_else(|| {
            let holder = holder_of(&table);
            damaged(&format!(
                "{name} is not of this result: {holder} has no checksum of it"
            ))
        })?;
        let footer = checked_footer(file, &name, &checksums)?;
        let chunks = match folder.places(identity) {
            Some(chunks) => chunks,
            None => {
                let metadata = ParquetMetaDataReader::new().parse_and_finish(file);
                let chunks = Arc::new(chunk_places(&metadata.map_err(io::Error::other)?));
                folder.set_places(identity, &chunks);
                chunks
            }
        };
        Ok(TableGuard {
            name,
            identity,
            folder,
            checksums,
            footer: footer.into(),
            chunks,
            read: Mutex::default(),
        })
    }

    /// The bytes of a column chunk.
    fn chunk(&self, number: usize, table: &OpenTable) -> io::Result<Bytes> {
        let place = &self.chunks[number];
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((kept, bytes)) = read.get(&place.column)
            && *kept == number
        {
            return Ok(bytes.clone());
        }
        let bytes = bytes_of(&table.file, place.begin, place.end)?;
        if !self.folder.is_verified(self.identity, number) {
            if self.checksums.chunk(number) != Some(&checksum(&bytes)) {
                let what = format!(
                    "column '{}' of {} (row group {}) is damaged: its bytes are not those that were written",
                    place.name, self.name, place.group
                );
                return Err(damaged(table.damage.get_or_init(|| what)));
            }
            self.folder.set_verified(self.identity, number);
        }
        read.insert(place.column, (number, bytes.clone()));
        Ok(bytes)
    }
}

/// What the checksum of the footer covers, if it is right.
fn checked_footer(file: &File, name: &str, checksums: &TableChecksums) -> io::Result<Vec<u8>> {
    let bytes = footer_bytes(file, checksums.footer_offset).unwrap_or_default();
    match checksum(&bytes) == checksums.footer && bytes.len() as u64 > MAGIC {
        true => Ok(bytes),
        false => Err(damaged(&format!(
            "the footer of {name} is damaged: its bytes are not those that were written"
        ))),
    }
}

/// Compares all of a table with its checksums. Returns what differs.
///
/// # Errors
/// The file cannot be read.
pub(crate) fn damages(path: &Path, checksums: &TableChecksums) -> io::Result<Vec<String>> {
    let file = config::open_input(path, u64::MAX)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if checked_footer(&file, &name, checksums).is_err() {
        return Ok(vec!["its footer".into()]);
    }
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&file);
    let mut by_column = BTreeMap::<usize, (String, usize)>::new();
    for (number, place) in chunk_places(&metadata.map_err(io::Error::other)?)
        .into_iter()
        .enumerate()
    {
        let bytes = bytes_of(&file, place.begin, place.end)?;
        if checksums.chunk(number) != Some(&checksum(&bytes)) {
            by_column.entry(place.column).or_insert((place.name, 0)).1 += 1;
        }
    }
    let told = by_column.into_values().map(|(name, groups)| match groups {
        1 => format!("its column '{name}'"),
        _ => format!("its column '{name}' in {groups} row groups"),
    });
    Ok(told.collect())
}

impl Length for TableFile {
    fn len(&self) -> u64 {
        self.0.length
    }
}

impl ChunkReader for TableFile {
    type T = Box<dyn Read>;

    fn get_read(&self, start: u64) -> Result<Box<dyn Read>, ParquetError> {
        match &self.0.guard {
            Some(guard) => Ok(Box::new(self.0.rest_of_part(guard, start)?.reader())),
            None => Ok(Box::new(self.0.file.get_read(start)?)),
        }
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let Some(guard) = &self.0.guard else {
            return self.0.file.get_bytes(start, length);
        };
        let part = self.0.rest_of_part(guard, start)?;
        if length <= part.len() {
            return Ok(part.slice(..length));
        }
        // Only what spans several parts comes here.
        let mut bytes = part.to_vec();
        while bytes.len() < length {
            let next = self.0.rest_of_part(guard, start + bytes.len() as u64)?;
            if next.is_empty() {
                return Err(ParquetError::EOF(format!(
                    "{length} bytes at {start} reach beyond the end"
                )));
            }
            bytes.extend_from_slice(&next[..next.len().min(length - bytes.len())]);
        }
        Ok(bytes.into())
    }
}
