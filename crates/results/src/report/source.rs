//! The sources of the report: tables in memory, and files that may be larger than memory.
//!
//! A large table is read batch by batch, with the requested columns only. A missing column, or one of another type,
//! is no error: older results lack some columns, and the page omits the parts that need them.

use std::io;
use std::path::{Path, PathBuf};

use crate::{BatchColumns, ReadError, Table, read_batches};

/// The tables of one result.
#[derive(Clone, Copy)]
pub(super) struct TableSource<'a> {
    tables: &'a [Table],
    folder: Option<&'a Path>,
}

/// A batch of rows. A column that cannot be read is `None`.
pub(super) struct ReportRows<'b>(BatchColumns<'b>);

impl<'a> TableSource<'a> {
    /// Tables in memory. Other tables are searched in the folder.
    pub fn new(tables: &'a [Table], folder: Option<&'a Path>) -> TableSource<'a> {
        TableSource { tables, folder }
    }

    /// A table that is in memory and has rows.
    pub fn table(&self, name: &str) -> Option<&'a Table> {
        self.tables.iter().find(|t| t.name() == name && t.rows() > 0)
    }

    /// A whole table, from memory or from its file.
    pub fn whole(&self, name: &str) -> Result<Option<Table>, ReadError> {
        if let Some(table) = self.tables.iter().find(|table| table.name() == name) {
            return Ok(Some(table.clone()));
        }
        let path = self.file(name);
        path.map(|path| Table::read(&path).map_err(|source| ReadError::Io { path, source }))
            .transpose()
    }

    fn file(&self, name: &str) -> Option<PathBuf> {
        Some(self.folder?.join(format!("{name}.parquet"))).filter(|path| path.exists())
    }

    /// The folder of the result, if it has been written.
    pub fn folder(&self) -> Option<&'a Path> {
        self.folder
    }

    /// Passes the rows of a table to `take`, batch by batch, in order, with these columns. Returns `None` if the
    /// table does not exist, or if `take` returns `None`, which ends the reading.
    pub fn each(
        &self,
        name: &str,
        columns: &[&str],
        mut take: impl FnMut(&ReportRows) -> Option<()>,
    ) -> Result<Option<()>, ReadError> {
        if let Some(table) = self.tables.iter().find(|t| t.name() == name) {
            return Ok(take(&ReportRows(BatchColumns::new(table.batch()))));
        }
        match self.file(name) {
            Some(path) => read(&path, columns, &mut take).map_err(|source| ReadError::Io { path, source }),
            None => Ok(None),
        }
    }
}

/// Reads some columns of a Parquet file.
fn read(
    path: &Path,
    columns: &[&str],
    take: &mut dyn FnMut(&ReportRows) -> Option<()>,
) -> io::Result<Option<()>> {
    for batch in read_batches(path, Some(columns))?.1 {
        if take(&ReportRows(BatchColumns::new(&batch?))).is_none() {
            return Ok(None);
        }
    }
    Ok(Some(()))
}

impl<'b> ReportRows<'b> {
    /// See [`BatchColumns::maybe_integers`].
    pub fn maybe_integers(&self, name: &str) -> Option<Vec<Option<u64>>> {
        self.0.maybe_integers(name).ok()
    }

    /// See [`BatchColumns::integers`].
    pub fn integers(&self, name: &str) -> Option<Vec<u64>> {
        self.0.integers(name).ok()
    }

    /// See [`BatchColumns::short_integers`].
    pub fn short_integers(&self, name: &str) -> Option<Vec<u32>> {
        self.0.short_integers(name).ok()
    }

    /// See [`BatchColumns::texts`].
    pub fn texts(&self, name: &str) -> Option<Vec<Option<&'b str>>> {
        let texts = self.0.texts(name).ok()?;
        Some((0..self.0.rows()).map(|row| texts.get(row)).collect())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::BATCH_ROWS as BATCH;
    use arrow_array::ArrayRef;
    use arrow_array::types::Int32Type as Key;
    use arrow_array::{DictionaryArray, StringArray, UInt8Array, UInt32Array, UInt64Array};
    use std::sync::Arc;

    /// Cells of a column of a constructed table.
    pub enum ColumnCells {
        U8(Vec<u8>),
        U32(Vec<u32>),
        U64(Vec<u64>),
        Text(Vec<&'static str>),
        /// Dictionary-encoded text. `None` is an empty cell.
        Words(Vec<Option<&'static str>>),
        MaybeU64(Vec<Option<u64>>),
    }

    /// A constructed table.
    pub fn made(name: &str, columns: Vec<(&str, ColumnCells)>) -> Table {
        let array = |cells| -> ArrayRef {
            match cells {
                ColumnCells::U8(cells) => Arc::new(UInt8Array::from(cells)),
                ColumnCells::U32(cells) => Arc::new(UInt32Array::from(cells)),
                ColumnCells::U64(cells) => Arc::new(UInt64Array::from(cells)),
                ColumnCells::Text(cells) => Arc::new(StringArray::from(cells)),
                ColumnCells::Words(cells) => Arc::new(cells.into_iter().collect::<DictionaryArray<Key>>()),
                ColumnCells::MaybeU64(cells) => Arc::new(UInt64Array::from(cells)),
            }
        };
        let columns = columns
            .into_iter()
            .map(|(name, cells)| (name, true, array(cells)));
        Table::new(name, columns.collect())
    }

    fn all(source: TableSource, name: &str) -> Option<Vec<u64>> {
        let mut seen = Vec::new();
        let read = source.each(name, &["n"], |rows| {
            seen.extend(rows.integers("n")?);
            Some(())
        });
        read.unwrap().map(|()| seen)
    }

    #[test]
    fn files_are_read_in_batches_and_memory_comes_first() {
        let folder = tempfile::tempdir().unwrap();
        let numbers: Vec<u64> = (0..3 * BATCH as u64 + 5).collect();
        let file = made(
            "numbers",
            vec![
                ("n", ColumnCells::U64(numbers.clone())),
                ("m", ColumnCells::U64(numbers.clone())),
            ],
        );
        file.write(&folder.path().join("numbers.parquet")).unwrap();
        let from_file = TableSource::new(&[], Some(folder.path()));
        assert_eq!(all(from_file, "numbers"), Some(numbers));
        assert_eq!(all(from_file, "others"), None);
        let tables = [made("numbers", vec![("n", ColumnCells::U8(vec![1, 2]))])];
        let both = TableSource::new(&tables, Some(folder.path()));
        assert_eq!(all(both, "numbers"), Some(vec![1, 2]));
        let mut seen = 0;
        let read = from_file.each("numbers", &["n"], |rows| {
            seen += rows.integers("n")?.len();
            assert!(rows.integers("m").is_none(), "only what was asked for is read");
            None
        });
        assert_eq!(
            (read.unwrap(), seen),
            (None, BATCH),
            "reading ends where the reader does"
        );
    }

    #[test]
    fn damaged_files_are_an_error_that_names_them() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("vc_series.parquet"), "not Parquet").unwrap();
        let read = TableSource::new(&[], Some(folder.path())).each("vc_series", &["n"], |_| Some(()));
        assert!(read.unwrap_err().to_string().contains("vc_series.parquet"));
    }
}
