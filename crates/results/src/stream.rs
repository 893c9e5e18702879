//! Tables that grow during a run. With a folder for them, they are never entirely in memory.
//!
//! Rows are collected by column until a group of [`GROUP_ROWS`] is full. A full group is hashed and written as a
//! Parquet file of its own, a *part file*. At the end these are concatenated, byte by byte, into the file of the table.
//! So the parts on disk are readable however a run ends. Groups are cut by their number of rows alone, so that digest
//! and files are independent of the executor and of interruptions. From time to time the rows of the incomplete group
//! are also written, as the *tail*, for readers of an unfinished run. The hash of each part file is kept, also in
//! checkpoints, and compared when it is read again.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::rows::ResultRow;
use crate::{Chain, RunPath, Table};

/// Rows of a group. The tests of this crate use fewer.
pub const GROUP_ROWS: usize = if cfg!(test) { 1_000 } else { 100_000 };

/// Storage of full groups.
#[derive(Clone, Debug, PartialEq)]
pub enum TableStore {
    /// In memory.
    Memory,
    /// In files of this folder.
    Folder(RunPath),
}

impl TableStore {
    /// Writes a table that is known before the run, for readers of the folder. Does nothing in memory.
    ///
    /// # Errors
    /// The system refuses.
    pub fn put_table(&self, table: &Table) -> io::Result<()> {
        match self {
            TableStore::Memory => Ok(()),
            TableStore::Folder(folder) => {
                write_whole(table, &folder.now()?.join(part_name(table.name(), 0)))?;
                Ok(())
            }
        }
    }

    /// Like [`TableStore::put_table`], with rows that need not be in memory together. The columns `later` are omitted.
    ///
    /// # Errors
    /// The system refuses.
    pub fn put_rows<R: ResultRow>(
        &self,
        rows: impl IntoIterator<Item = R>,
        later: &[&str],
    ) -> io::Result<()> {
        let TableStore::Folder(folder) = self else {
            return Ok(());
        };
        let mut rows = rows.into_iter().peekable();
        let mut columns = R::columns();
        for part in 0.. {
            if rows.peek().is_none() {
                break;
            }
            let group = rows.by_ref().take(GROUP_ROWS);
            group.for_each(|row| row.push(&mut columns));
            let table = R::table(&mut columns).without(later);
            write_whole(&table, &folder.now()?.join(part_name(R::TABLE, part)))?;
        }
        Ok(())
    }
}

/// A growing table.
pub struct Stream<R: ResultRow> {
    columns: R::Columns,
    /// Number of rows in `columns`.
    waiting: usize,
    /// Number of rows in full groups and in `columns`.
    rows: u64,
    groups: RowGroups,
    hash: Chain,
    /// Number of rows at the last [`Stream::write_tail`].
    shown: u64,
}

/// BLAKE3 hash of the bytes of a part file.
type PartFileHash = [u8; 32];

/// The file of a part of a complete table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PartFile {
    path: RunPath,
    hash: PartFileHash,
}

/// The full groups of a table in order.
#[derive(Clone, Debug, PartialEq)]
enum RowGroups {
    Kept(Vec<Table>),
    Written {
        folder: RunPath,
        parts: Vec<PartFileHash>,
    },
}

/// The state from which a table continues elsewhere, without the parts in a folder.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StreamState {
    rows: u64,
    hash: Chain,
    /// The rows of the incomplete group, as a Parquet file.
    waiting: Vec<u8>,
    /// Hashes of the full groups in the folder.
    parts: Vec<PartFileHash>,
    /// Full groups in memory, as Parquet files.
    kept: Vec<Vec<u8>>,
}

/// A complete collected table.
#[derive(Clone, Debug, PartialEq)]
pub struct Collected {
    name: &'static str,
    rows: u64,
    hash: Chain,
    place: TableStorage,
}

#[derive(Clone, Debug, PartialEq)]
enum TableStorage {
    Memory(Table),
    Parts(Vec<PartFile>),
}

impl<R: ResultRow> Stream<R> {
    /// An empty table.
    pub fn new(store: &TableStore) -> Stream<R> {
        Stream {
            columns: R::columns(),
            waiting: 0,
            rows: 0,
            groups: RowGroups::new(store),
            hash: Chain::new(),
            shown: 0,
        }
    }

    /// Appends a row.
    ///
    /// # Errors
    /// A group is full and cannot be written.
    #[inline]
    pub fn push(&mut self, row: R) -> io::Result<()> {
        row.push(&mut self.columns);
        self.waiting += 1;
        self.rows += 1;
        if self.waiting == GROUP_ROWS {
            self.end_group()?;
        }
        Ok(())
    }

    /// Number of rows so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    // Rarely called.
    #[cold]
    fn end_group(&mut self) -> io::Result<()> {
        let table = R::table(&mut self.columns);
        self.waiting = 0;
        self.hash.table(&table);
        match &mut self.groups {
            RowGroups::Kept(tables) => tables.push(table),
            RowGroups::Written { folder, parts } => {
                let folder = folder.now()?;
                parts.push(write_whole(
                    &table,
                    &folder.join(part_name(R::TABLE, parts.len())),
                )?);
                remove_if_there(&folder.join(tail_name(R::TABLE)))?;
            }
        }
        Ok(())
    }

    /// The rows of the incomplete group.
    fn waiting(&mut self) -> Table {
        let table = R::table(&mut self.columns);
        self.columns = R::restore(&table).expect("a table has the columns that it was made of");
        table
    }

    /// Writes the tail for readers of the folder: the rows of the incomplete group, then `more`, which are
    /// preliminary. Does nothing in memory.
    ///
    /// # Errors
    /// The system refuses.
    pub fn write_tail(&mut self, more: impl IntoIterator<Item = R>) -> io::Result<()> {
        let RowGroups::Written { folder, .. } = &self.groups else {
            return Ok(());
        };
        let path = folder.now()?.join(tail_name(R::TABLE));
        let mut more = more.into_iter().peekable();
        if more.peek().is_none() && (self.rows == self.shown || self.waiting == 0) {
            return Ok(());
        }
        let waiting = self.waiting();
        let mut columns = R::restore(&waiting).expect("a table has the columns that it was made of");
        more.for_each(|row| row.push(&mut columns));
        write_whole(&R::table(&mut columns), &path)?;
        self.shown = self.rows;
        Ok(())
    }

    /// The state from which the table continues elsewhere.
    pub fn state(&mut self) -> StreamState {
        let bytes = |table: &Table| {
            let written = table.write_to(Vec::new());
            written.expect("what is in memory can be written there")
        };
        let waiting = self.waiting();
        let (parts, kept) = match &self.groups {
            RowGroups::Kept(tables) => (Vec::new(), tables.iter().map(bytes).collect()),
            RowGroups::Written { parts, .. } => (parts.clone(), Vec::new()),
        };
        StreamState {
            rows: self.rows,
            hash: self.hash,
            waiting: bytes(&waiting),
            parts,
            kept,
        }
    }

    /// Continues from a state of [`Stream::state`]. Removes parts that were written after it.
    ///
    /// # Errors
    /// Parts that were written before are missing or differ, or the state is damaged.
    pub fn restored(store: &TableStore, state: StreamState) -> io::Result<Stream<R>> {
        let damaged = || io::Error::other(format!("the saved rows of the table {} are damaged", R::TABLE));
        let table = Table::from_bytes(R::TABLE, state.waiting)?;
        let mut stream = Stream::<R> {
            columns: R::restore(&table).ok_or_else(damaged)?,
            waiting: table.rows(),
            rows: state.rows,
            groups: RowGroups::new(store),
            hash: state.hash,
            shown: 0,
        };
        let full = (state.kept.len() + state.parts.len()) as u64;
        if state.rows != full * GROUP_ROWS as u64 + stream.waiting as u64 {
            return Err(damaged());
        }
        let kept = state.kept.into_iter();
        let kept = kept.map(|bytes| Table::from_bytes(R::TABLE, bytes));
        let kept = kept.collect::<io::Result<Vec<_>>>()?;
        match &mut stream.groups {
            RowGroups::Kept(tables) => {
                if !state.parts.is_empty() {
                    let message = format!(
                        "{} parts of the table {} are in the folder of the interrupted run; it can be resumed only with that folder",
                        state.parts.len(),
                        R::TABLE
                    );
                    return Err(io::Error::new(io::ErrorKind::NotFound, message));
                }
                *tables = kept;
            }
            RowGroups::Written { folder, parts } => {
                let now = folder.now()?;
                for (index, table) in kept.iter().enumerate() {
                    parts.push(write_whole(table, &now.join(part_name(R::TABLE, index)))?);
                }
                parts.extend(state.parts);
                for part in parts_of(folder, R::TABLE, parts) {
                    part.read()?;
                }
                let mut later = parts.len();
                while remove_if_there(&now.join(part_name(R::TABLE, later)))? {
                    later += 1;
                }
                remove_if_there(&now.join(tail_name(R::TABLE)))?;
            }
        }
        Ok(stream)
    }

    /// The complete table. `None` if it has no rows.
    ///
    /// # Errors
    /// The last rows cannot be written.
    pub fn finish(mut self) -> io::Result<Option<Collected>> {
        if self.rows == 0 {
            return Ok(None);
        }
        if self.waiting > 0 {
            self.end_group()?;
        }
        let place = match self.groups {
            RowGroups::Kept(tables) => TableStorage::Memory(
                Table::joined(R::TABLE, &tables).expect("all groups have the same columns"),
            ),
            RowGroups::Written { folder, parts } => {
                TableStorage::Parts(parts_of(&folder, R::TABLE, &parts).collect())
            }
        };
        Ok(Some(Collected {
            name: R::TABLE,
            rows: self.rows,
            hash: self.hash,
            place,
        }))
    }
}

impl RowGroups {
    fn new(store: &TableStore) -> RowGroups {
        match store {
            TableStore::Memory => RowGroups::Kept(Vec::new()),
            TableStore::Folder(folder) => RowGroups::Written {
                folder: folder.clone(),
                parts: Vec::new(),
            },
        }
    }
}

impl Collected {
    /// Name of the table.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Hash of its rows, group by group.
    pub fn hash(&self) -> Chain {
        self.hash
    }

    /// The table if it is in memory.
    pub(crate) fn in_memory(&self) -> Option<&Table> {
        match &self.place {
            TableStorage::Memory(table) => Some(table),
            TableStorage::Parts(_) => None,
        }
    }

    /// The whole table in memory.
    ///
    /// # Errors
    /// Its parts cannot be read: the result was written, or the folder of the run has been removed.
    pub fn table(&self) -> io::Result<Table> {
        match &self.place {
            TableStorage::Memory(table) => Ok(table.clone()),
            TableStorage::Parts(parts) => {
                let tables = parts
                    .iter()
                    .map(|part| Table::from_bytes(self.name, part.read()?));
                joined(self.name, tables.collect::<io::Result<Vec<_>>>()?)
            }
        }
    }

    /// Writes the table as one Parquet file. Its parts must be those that this run wrote.
    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        match &self.place {
            TableStorage::Memory(table) => table.write(path),
            TableStorage::Parts(parts) => crate::table::join_files(parts.iter().map(PartFile::read), path),
        }
    }
}

impl PartFile {
    /// The bytes of the part, which are those that were written.
    fn read(&self) -> io::Result<Bytes> {
        let path = self.path.now()?;
        let failed = |e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", path.display()));
        let mut bytes = Vec::new();
        let mut file = config::open_input(&path, u64::MAX).map_err(failed)?;
        file.read_to_end(&mut bytes).map_err(failed)?;
        if *blake3::hash(&bytes).as_bytes() == self.hash {
            return Ok(bytes.into());
        }
        let why = "the file is damaged, or another program changed it: its bytes are not those that the run wrote; \
                   put the file back, or start the run again";
        Err(failed(io::Error::new(io::ErrorKind::InvalidData, why)))
    }
}

/// The parts of a table with these hashes.
fn parts_of(folder: &RunPath, table: &str, hashes: &[PartFileHash]) -> impl Iterator<Item = PartFile> {
    hashes.iter().enumerate().map(move |(index, hash)| PartFile {
        path: folder.join(part_name(table, index)),
        hash: *hash,
    })
}

fn part_name(table: &str, index: usize) -> String {
    format!("{table}.{index:05}.parquet")
}

fn tail_name(table: &str) -> String {
    format!("{table}.tail.parquet")
}

/// Writes under another name and renames: a file of this name is always complete. Returns the hash of its bytes.
fn write_whole(table: &Table, path: &Path) -> io::Result<PartFileHash> {
    let hidden = path.with_extension("partial");
    let failed = |e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", path.display()));
    let bytes = table.write_to(Vec::new()).map_err(failed)?;
    fs::write(&hidden, &bytes).map_err(failed)?;
    fs::rename(&hidden, path).map_err(failed)?;
    Ok(blake3::hash(&bytes).into())
}

/// Removes a file. Returns whether it existed.
fn remove_if_there(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(e),
    }
}

fn read_parts(name: &str, parts: &[PathBuf]) -> io::Result<Table> {
    let tables = parts.iter().map(|part| Table::read(part));
    joined(name, tables.collect::<io::Result<Vec<_>>>()?)
}

fn joined(name: &str, tables: Vec<Table>) -> io::Result<Table> {
    Table::joined(name, &tables).ok_or_else(|| io::Error::other(format!("the parts of {name} do not fit")))
}

/// The tables of an unfinished run that are on disk, by name.
///
/// # Errors
/// The folder or a part cannot be read.
pub fn read_unfinished(folder: &Path) -> io::Result<Vec<Table>> {
    let tables = table_parts(folder)?.into_iter();
    tables.map(|(name, parts)| read_parts(&name, &parts)).collect()
}

/// Files of growing tables in the parts folder of an unfinished run, by table, in row order. Files are named
/// `NAME.00000.parquet` and so on, then `NAME.tail.parquet`; others are ignored.
///
/// # Errors
/// The folder cannot be read.
pub(crate) fn table_parts(folder: &Path) -> io::Result<BTreeMap<String, Vec<PathBuf>>> {
    let mut parts = BTreeMap::<String, Vec<PathBuf>>::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let name = file
            .strip_suffix(".parquet")
            .and_then(|name| name.split_once('.'));
        if let Some((table, part)) = name
            && !part.contains('.')
        {
            parts.entry(table.into()).or_default().push(path.clone());
        }
    }
    // Digits sort before letters, so the tail is last.
    parts.values_mut().for_each(|files| files.sort());
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::JobSeriesRow;
    use std::sync::Arc;

    const ROWS: u64 = 2 * GROUP_ROWS as u64 + 17;

    fn row(number: u64) -> JobSeriesRow {
        JobSeriesRow {
            begin_ps: number,
            end_ps: number + 1,
            job: Arc::from(["a", "b"][(number % 2) as usize]),
            messages_sent: number * 3,
            bytes_sent: number * 5,
            messages_received: 0,
            bytes_received: 7,
            packets_delivered: number / 9,
            ranks_finished: 0,
        }
    }

    fn filled(
        store: &TableStore,
        from: Option<StreamState>,
        rows: std::ops::Range<u64>,
    ) -> Stream<JobSeriesRow> {
        let mut stream = match from {
            Some(state) => Stream::restored(store, state).unwrap(),
            None => Stream::new(store),
        };
        rows.for_each(|number| stream.push(row(number)).unwrap());
        stream
    }

    #[test]
    fn memory_and_folder_and_any_break_give_the_same_table() {
        let folder = tempfile::tempdir().unwrap();
        let on_disk = TableStore::Folder(folder.path().into());
        let whole = filled(&TableStore::Memory, None, 0..ROWS)
            .finish()
            .unwrap()
            .unwrap();
        assert!(whole.table().unwrap() == crate::rows::job_series((0..ROWS).map(row)));
        for store in [TableStore::Memory, on_disk.clone()] {
            for at in [0, 17, GROUP_ROWS as u64, GROUP_ROWS as u64 + 5, ROWS] {
                let mut first = filled(&store, None, 0..at);
                let state = first.state();
                // More was written before the kill.
                (at..ROWS).for_each(|number| first.push(row(number)).unwrap());
                first.write_tail([]).unwrap();
                let rest = filled(&store, Some(state), at..ROWS).finish().unwrap().unwrap();
                assert_eq!(
                    (rest.rows(), rest.hash()),
                    (ROWS, whole.hash()),
                    "{store:?} at {at}"
                );
                assert!(
                    rest.table().unwrap() == whole.table().unwrap(),
                    "{store:?} at {at}"
                );
                let file = folder.path().join("job_series.parquet");
                rest.write(&file).unwrap();
                assert!(
                    Table::read(&file).unwrap() == whole.table().unwrap(),
                    "{store:?} at {at}"
                );
                fs::remove_file(file).unwrap();
            }
        }
    }

    #[test]
    fn what_is_unfinished_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let mut stream = filled(&TableStore::Folder(folder.path().into()), None, 0..ROWS);
        let rows = || read_unfinished(folder.path()).unwrap()[0].rows() as u64;
        assert_eq!(rows(), ROWS - 17);
        stream.write_tail([]).unwrap();
        assert_eq!(rows(), ROWS);
        stream.write_tail([row(ROWS)]).unwrap();
        assert_eq!(rows(), ROWS + 1);
        stream.write_tail([]).unwrap();
        stream.push(row(ROWS)).unwrap();
        stream.write_tail([]).unwrap();
        assert_eq!(rows(), ROWS + 1, "what is not final does not stay");
        // A file that was incomplete at the kill.
        fs::write(folder.path().join("job_series.00002.partial"), "PAR1").unwrap();
        assert_eq!(rows(), ROWS + 1);
        assert!(read_unfinished(folder.path()).unwrap()[0] == crate::rows::job_series((0..=ROWS).map(row)));
    }

    #[test]
    fn what_is_known_before_is_read_without_what_comes_later() {
        let folder = tempfile::tempdir().unwrap();
        let store = TableStore::Folder(folder.path().into());
        store.put_rows((0..ROWS).map(row), &["bytes_sent"]).unwrap();
        let whole = crate::rows::job_series((0..ROWS).map(row));
        assert!(read_unfinished(folder.path()).unwrap() == [whole.without(&["bytes_sent"])]);
        // The resumed run writes them again.
        store.put_rows((0..ROWS).map(row), &["bytes_sent"]).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
        store.put_table(&whole).unwrap();
        TableStore::Memory.put_rows([row(1)], &[]).unwrap();
    }

    #[test]
    fn changed_parts_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let store = TableStore::Folder(folder.path().into());
        let mut stream = filled(&store, None, 0..ROWS);
        let state = stream.state();
        let whole = stream.finish().unwrap().unwrap();
        let part = folder.path().join("job_series.00001.parquet");
        let bytes = fs::read(&part).unwrap();
        let refused = |error: Option<io::Error>, name: &str| {
            let error = error.expect(name).to_string();
            assert!(
                error.contains(".parquet: the file is damaged") && error.contains(name),
                "{error}"
            );
        };
        for at in [4, bytes.len() / 3, bytes.len() / 2, bytes.len() - 20] {
            let mut other = bytes.clone();
            other[at] ^= 1;
            fs::write(&part, other).unwrap();
            refused(
                Stream::<JobSeriesRow>::restored(&store, state.clone()).err(),
                "job_series.00001",
            );
            refused(
                whole.write(&folder.path().join("whole.parquet")).err(),
                "job_series.00001",
            );
            refused(whole.table().err(), "job_series.00001");
        }
        // Another run writes as many rows.
        filled(&store, None, 1..ROWS);
        refused(
            whole.write(&folder.path().join("whole.parquet")).err(),
            "job_series.00000",
        );
    }

    #[test]
    fn missing_parts_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let store = TableStore::Folder(folder.path().into());
        let state = filled(&store, None, 0..ROWS).state();
        fs::remove_file(folder.path().join("job_series.00001.parquet")).unwrap();
        let error = Stream::<JobSeriesRow>::restored(&store, state.clone())
            .err()
            .unwrap();
        assert!(error.to_string().contains("job_series.00001.parquet"), "{error}");
        let error = Stream::<JobSeriesRow>::restored(&TableStore::Memory, state)
            .err()
            .unwrap();
        assert!(error.to_string().contains("only with that folder"), "{error}");
    }
}
