//! Where the report gets its tables from: those in memory, and files that may be larger than memory.
//!
//! A large table is read batch by batch, and of it only the columns that are asked for. A column that the
//! table lacks, or of another type than expected, is no error here: older results lack some, and what would
//! show it is left out of the page.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::{ReadError, Table};

/// Rows that are in memory at a time.
const BATCH: usize = 16_384;

/// The tables of one result.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    tables: &'a [Table],
    folder: Option<&'a Path>,
}

/// Some rows of a table.
pub(super) struct Rows<'b> {
    batch: &'b RecordBatch,
}

impl<'a> Source<'a> {
    /// Tables in memory; what is not among them is looked for in the folder.
    pub fn new(tables: &'a [Table], folder: Option<&'a Path>) -> Source<'a> {
        Source { tables, folder }
    }

    /// A table that is in memory and has rows.
    pub fn table(&self, name: &str) -> Option<&'a Table> {
        self.tables.iter().find(|t| t.name() == name && t.rows() > 0)
    }

    fn file(&self, name: &str) -> Option<PathBuf> {
        Some(self.folder?.join(format!("{name}.parquet"))).filter(|path| path.exists())
    }

    /// Where the result lies, if it lies anywhere yet.
    pub fn folder(&self) -> Option<&'a Path> {
        self.folder
    }

    /// Gives the rows of a table to `take`, batch by batch, in their order, with these columns. None if there
    /// is no such table, or `take` misses something in it, which ends the reading.
    pub fn each(
        &self,
        name: &str,
        columns: &[&str],
        mut take: impl FnMut(&Rows) -> Option<()>,
    ) -> Result<Option<()>, ReadError> {
        if let Some(table) = self.tables.iter().find(|t| t.name() == name) {
            return Ok(take(&Rows { batch: table.batch() }));
        }
        match self.file(name) {
            Some(path) => read(&path, columns, &mut take).map_err(|source| ReadError::Io { path, source }),
            None => Ok(None),
        }
    }
}

/// Reads some columns of a Parquet file.
fn read(path: &Path, columns: &[&str], take: &mut dyn FnMut(&Rows) -> Option<()>) -> io::Result<Option<()>> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path)?).map_err(io::Error::other)?;
    let mask = ProjectionMask::columns(builder.parquet_schema(), columns.iter().copied());
    let batches = builder.with_projection(mask).with_batch_size(BATCH).build();
    for batch in batches.map_err(io::Error::other)? {
        let batch = batch.map_err(io::Error::other)?;
        if take(&Rows { batch: &batch }).is_none() {
            return Ok(None);
        }
    }
    Ok(Some(()))
}

impl Rows<'_> {
    fn column(&self, name: &str) -> Option<&ArrayRef> {
        self.batch.column_by_name(name)
    }

    /// Integers of any width, empty cells as none; nothing at all if a number is negative.
    pub fn maybe_integers(&self, name: &str) -> Option<Vec<Option<u64>>> {
        let column = self.column(name)?;
        macro_rules! widened {
            ($($data:pat => $type:ty),*) => {
                match column.data_type() {
                    $($data => column
                        .as_primitive::<$type>()
                        .iter()
                        .map(|cell| cell.map(|n| u64::try_from(n).ok()))
                        .map(|cell| match cell {
                            Some(None) => None,
                            other => Some(other.flatten()),
                        })
                        .collect(),)*
                    _ => None,
                }
            };
        }
        widened!(
            DataType::UInt8 => UInt8Type, DataType::UInt16 => UInt16Type, DataType::UInt32 => UInt32Type,
            DataType::UInt64 => UInt64Type, DataType::Int8 => Int8Type, DataType::Int16 => Int16Type,
            DataType::Int32 => Int32Type, DataType::Int64 => Int64Type
        )
    }

    /// As [`Rows::maybe_integers`], where no cell may be empty.
    pub fn integers(&self, name: &str) -> Option<Vec<u64>> {
        if let Some(column) = self.column(name)?.as_primitive_opt::<UInt64Type>()
            && column.null_count() == 0
        {
            return Some(column.values().to_vec());
        }
        self.maybe_integers(name)?.into_iter().collect()
    }

    /// Yes or no, no cell empty.
    pub fn flags(&self, name: &str) -> Option<Vec<bool>> {
        self.column(name)?.as_boolean_opt()?.iter().collect()
    }

    /// Text, in plain or in dictionary form.
    pub fn texts(&self, name: &str) -> Option<Vec<Option<&str>>> {
        let column = self.column(name)?;
        if let Some(plain) = column.as_string_opt::<i32>() {
            return Some(plain.iter().collect());
        }
        let dictionary = column.as_any_dictionary_opt()?;
        let words = dictionary.values().as_string_opt::<i32>()?;
        if words.is_empty() {
            return Some(vec![None; column.len()]);
        }
        let word = |(row, key): (usize, usize)| (!column.is_null(row)).then(|| words.value(key));
        Some(
            dictionary
                .normalized_keys()
                .into_iter()
                .enumerate()
                .map(word)
                .collect(),
        )
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use arrow_array::types::Int32Type as Key;
    use arrow_array::{
        BooleanArray, DictionaryArray, Int32Array, StringArray, UInt8Array, UInt32Array, UInt64Array,
    };
    use std::sync::Arc;

    /// Cells of a column of a table made by hand.
    pub enum Cells {
        Bool(Vec<bool>),
        U8(Vec<u8>),
        U32(Vec<u32>),
        U64(Vec<u64>),
        Text(Vec<&'static str>),
        /// Text in dictionary form, empty cells as none.
        Words(Vec<Option<&'static str>>),
        MaybeU64(Vec<Option<u64>>),
        Signed(Vec<i32>),
    }

    /// A table made by hand.
    pub fn made(name: &str, columns: Vec<(&str, Cells)>) -> Table {
        let array = |cells| -> ArrayRef {
            match cells {
                Cells::Bool(cells) => Arc::new(BooleanArray::from(cells)),
                Cells::U8(cells) => Arc::new(UInt8Array::from(cells)),
                Cells::U32(cells) => Arc::new(UInt32Array::from(cells)),
                Cells::U64(cells) => Arc::new(UInt64Array::from(cells)),
                Cells::Text(cells) => Arc::new(StringArray::from(cells)),
                Cells::Words(cells) => Arc::new(cells.into_iter().collect::<DictionaryArray<Key>>()),
                Cells::MaybeU64(cells) => Arc::new(UInt64Array::from(cells)),
                Cells::Signed(cells) => Arc::new(Int32Array::from(cells)),
            }
        };
        let columns = columns
            .into_iter()
            .map(|(name, cells)| (name, true, array(cells)));
        Table::new(name, columns.collect())
    }

    fn all(source: Source, name: &str) -> Option<Vec<u64>> {
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
                ("n", Cells::U64(numbers.clone())),
                ("m", Cells::U64(numbers.clone())),
            ],
        );
        file.write(&folder.path().join("numbers.parquet")).unwrap();
        let from_file = Source::new(&[], Some(folder.path()));
        assert_eq!(all(from_file, "numbers"), Some(numbers));
        assert_eq!(all(from_file, "others"), None);
        let tables = [made("numbers", vec![("n", Cells::U8(vec![1, 2]))])];
        let both = Source::new(&tables, Some(folder.path()));
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
        let read = Source::new(&[], Some(folder.path())).each("vc_series", &["n"], |_| Some(()));
        assert!(read.unwrap_err().to_string().contains("vc_series.parquet"));
    }

    #[test]
    fn cells_of_any_width_and_form_are_understood_and_wrong_ones_refused() {
        let table = made(
            "t",
            vec![
                ("small", Cells::U8(vec![1, 2])),
                ("gaps", Cells::MaybeU64(vec![None, Some(3)])),
                ("signed", Cells::Signed(vec![4, 5])),
                ("negative", Cells::Signed(vec![4, -5])),
                ("words", Cells::Words(vec![Some("a"), None])),
                ("text", Cells::Text(vec!["a", "b"])),
                ("flags", Cells::Bool(vec![true, false])),
            ],
        );
        let rows = Rows { batch: table.batch() };
        assert_eq!(rows.integers("small"), Some(vec![1, 2]));
        assert_eq!(rows.maybe_integers("gaps"), Some(vec![None, Some(3)]));
        assert_eq!(rows.integers("gaps"), None);
        assert_eq!(rows.integers("signed"), Some(vec![4, 5]));
        assert_eq!(rows.integers("negative"), None);
        assert_eq!(rows.integers("text"), None);
        assert_eq!(rows.texts("words"), Some(vec![Some("a"), None]));
        assert_eq!(rows.texts("text"), Some(vec![Some("a"), Some("b")]));
        assert_eq!(rows.texts("small"), None);
        assert_eq!(rows.flags("flags"), Some(vec![true, false]));
        assert_eq!((rows.flags("small"), rows.flags("absent")), (None, None));
        assert_eq!(rows.integers("absent"), None);
    }
}
