//! A named table of columns, and its conversion to and from Parquet files.
//!
//! Columns are Arrow arrays of integers, fractions, text or booleans. [`crate::rows`] defines the tables of a run.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt8Type, UInt32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float32Array, Float64Array, Int32Array, RecordBatch, UInt8Array,
    UInt32Array, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, Encoding};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaDataReader;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::file::reader::ChunkReader;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;

use crate::table_file::TableFile;

/// A table of a result: its name, which is also the stem of its file name, and its columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    name: String,
    batch: RecordBatch,
}

impl Table {
    /// A table of named columns.
    ///
    /// # Panics
    /// If the columns differ in length, which is a programming error.
    pub(crate) fn new(name: &str, columns: Vec<(&str, bool, ArrayRef)>) -> Table {
        let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns
            .into_iter()
            .map(|(name, nullable, array)| (Field::new(name, array.data_type().clone(), nullable), array))
            .unzip();
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays);
        Table {
            name: name.into(),
            batch: batch.expect("rows fill all columns alike"),
        }
    }

    /// Name of the table, for example `ranks`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The columns as Arrow arrays.
    pub fn batch(&self) -> &RecordBatch {
        &self.batch
    }

    /// The table without some columns.
    pub(crate) fn without(&self, columns: &[&str]) -> Table {
        let schema = self.batch.schema();
        let kept = schema.fields().iter().enumerate();
        let kept = kept.filter(|(_, field)| !columns.contains(&field.name().as_str()));
        let kept: Vec<usize> = kept.map(|(index, _)| index).collect();
        Table {
            name: self.name.clone(),
            batch: self.batch.project(&kept).expect("the columns are there"),
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.batch.num_rows()
    }

    /// A column of 64-bit integers. `None` if it is missing or has another type.
    pub fn u64s(&self, column: &str) -> Option<&[u64]> {
        Some(
            self.batch
                .column_by_name(column)?
                .as_primitive_opt::<UInt64Type>()?
                .values(),
        )
    }

    /// A column of 32-bit integers. `None` if it is missing or has another type.
    pub fn u32s(&self, column: &str) -> Option<&[u32]> {
        Some(
            self.batch
                .column_by_name(column)?
                .as_primitive_opt::<UInt32Type>()?
                .values(),
        )
    }

    /// A column of 8-bit integers. `None` if it is missing or has another type.
    pub fn u8s(&self, column: &str) -> Option<&[u8]> {
        Some(
            self.batch
                .column_by_name(column)?
                .as_primitive_opt::<UInt8Type>()?
                .values(),
        )
    }

    /// A column of fractions. `None` if it is missing or has another type.
    pub fn f64s(&self, column: &str) -> Option<&[f64]> {
        Some(
            self.batch
                .column_by_name(column)?
                .as_primitive_opt::<Float64Type>()?
                .values(),
        )
    }

    /// A column of booleans. `None` if it is missing or has another type.
    pub fn bools(&self, column: &str) -> Option<Vec<bool>> {
        let cells = self.batch.column_by_name(column)?.as_boolean_opt()?;
        Some(cells.values().iter().collect())
    }

    /// A column of text, with `None` for empty cells. `None` if it is missing or has another type.
    pub fn texts(&self, column: &str) -> Option<impl Iterator<Item = Option<&str>>> {
        Some(self.batch.column_by_name(column)?.as_string_opt::<i32>()?.iter())
    }

    /// Writes the table as a Parquet file, compressed with Snappy, and waits until it is on disk.
    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        self.write_to(BufWriter::new(File::create(path)?))?
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?
            .sync_all()
    }

    /// Writes the table in Parquet format.
    pub(crate) fn write_to<W: Write + Send>(&self, out: W) -> io::Result<W> {
        let properties = Some(properties_of(&self.batch.schema()));
        let mut writer = ArrowWriter::try_new(out, self.batch.schema(), properties).map_err(io_error)?;
        writer.write(&self.batch).map_err(io_error)?;
        writer.into_inner().map_err(io_error)
    }

    /// Concatenates tables with the same columns.
    pub(crate) fn joined(name: &str, tables: &[Table]) -> Option<Table> {
        let first = tables.first()?;
        let batches = tables.iter().map(Table::batch);
        let batch = arrow_select::concat::concat_batches(&first.batch.schema(), batches).ok()?;
        let name = name.into();
        Some(Table { name, batch })
    }

    /// Reads a table of this name from the bytes of [`Table::write_to`].
    pub(crate) fn from_bytes(name: &str, bytes: impl Into<Bytes>) -> io::Result<Table> {
        Table::read_from(name.into(), bytes.into())
    }

    /// Reads a table from a Parquet file of a result. The name of the table is that of the file.
    ///
    /// # Errors
    /// The file cannot be read, is not a Parquet file, or is not the one that its checksums cover.
    pub fn read(path: &Path) -> io::Result<Table> {
        let name = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let file = TableFile::open(path)?;
        Table::read_from(name, file.clone()).map_err(|error| file.io_error(error))
    }

    fn read_from(name: String, file: impl ChunkReader + 'static) -> io::Result<Table> {
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(io_error)?;
        let rows =
            usize::try_from(builder.metadata().file_metadata().num_rows()).map_err(io::Error::other)?;
        let schema = builder.schema().clone();
        // All rows as one record batch.
        let mut batches = builder.with_batch_size(rows.max(1)).build().map_err(io_error)?;
        let batch = match batches.next() {
            Some(batch) => batch.map_err(io::Error::other)?,
            None => RecordBatch::new_empty(schema),
        };
        if batch.num_rows() != rows {
            let message = format!("{} of {rows} rows could be read", batch.num_rows());
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(Table { name, batch })
    }
}

/// Parquet settings of all tables.
fn properties() -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(format!("FabricSim {}", env!("CARGO_PKG_VERSION")))
}

/// Parquet settings of a table with these columns. Integers are written as differences, which take as few bits as the
/// largest of 32 in a row needs: numbers and times rise, and what was measured hardly repeats. A dictionary, the
/// default, would search each value in a hash map, which costs more than all else of a row.
fn properties_of(columns: &Schema) -> WriterProperties {
    let is_integer = |kind: &DataType| matches!(kind, DataType::UInt32 | DataType::UInt64 | DataType::Int64);
    let integers = columns
        .fields()
        .iter()
        .filter(|column| is_integer(column.data_type()));
    let with_differences = integers.fold(properties(), |properties, column| {
        let path = ColumnPath::from(column.name().as_str());
        properties
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED)
    });
    with_differences.build()
}

/// Concatenates the Parquet files of one table into one file, byte by byte, and waits until it is on disk. Compressed
/// data are copied, and the rows of each file stay a row group.
pub(crate) fn join_files(parts: impl Iterator<Item = io::Result<Bytes>>, path: &Path) -> io::Result<()> {
    let mut writer: Option<SerializedFileWriter<BufWriter<File>>> = None;
    for part in parts {
        let file = part?;
        let metadata = ParquetMetaDataReader::new()
            .parse_and_finish(&file)
            .map_err(io_error)?;
        let of_file = metadata.file_metadata();
        let writer = match &mut writer {
            Some(writer) => writer,
            None => {
                let properties = properties()
                    .set_key_value_metadata(of_file.key_value_metadata().cloned())
                    .build();
                let out = BufWriter::new(File::create(path)?);
                let schema = of_file.schema_descr().root_schema_ptr();
                let new = SerializedFileWriter::new(out, schema, Arc::new(properties));
                writer.insert(new.map_err(io_error)?)
            }
        };
        for group in metadata.row_groups() {
            let mut out = writer.next_row_group().map_err(io_error)?;
            for column in group.columns() {
                let whole = ColumnCloseResult {
                    bytes_written: column.compressed_size() as u64,
                    rows_written: group.num_rows() as u64,
                    metadata: column.clone(),
                    bloom_filter: None,
                    column_index: None,
                    offset_index: None,
                };
                out.append_column(&file, whole).map_err(io_error)?;
            }
            out.close().map_err(io_error)?;
        }
    }
    match writer {
        Some(writer) => writer
            .into_inner()
            .map_err(io_error)?
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?
            .sync_all(),
        None => Ok(()),
    }
}

/// The I/O error inside a Parquet error, so that "no space left on device" keeps its kind.
fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(inner) => *inner,
            Err(inner) => io::Error::other(inner),
        },
        other => io::Error::other(other),
    }
}

/// A type of column.
pub trait Cell: Sized {
    /// Whether cells may be empty.
    const NULLABLE: bool = false;
    /// Cells under collection.
    type Cells: Default + Send;
    fn push(self, cells: &mut Self::Cells);
    /// The collected cells as an array. Empties the collection.
    fn array(cells: &mut Self::Cells) -> ArrayRef;
    /// The cells of an array. `None` if it has another type.
    fn restore(array: &ArrayRef) -> Option<Self::Cells>;
}

macro_rules! plain_cell {
    ($type:ty, $array:ty) => {
        impl Cell for $type {
            type Cells = Vec<$type>;
            #[inline]
            fn push(self, cells: &mut Self::Cells) {
                cells.push(self);
            }
            fn array(cells: &mut Self::Cells) -> ArrayRef {
                Arc::new(<$array>::from(std::mem::take(cells)))
            }
            fn restore(array: &ArrayRef) -> Option<Self::Cells> {
                let array = array.as_any().downcast_ref::<$array>()?;
                array.iter().collect()
            }
        }
    };
}

plain_cell!(u8, UInt8Array);
plain_cell!(u32, UInt32Array);
plain_cell!(u64, UInt64Array);
plain_cell!(f32, Float32Array);
plain_cell!(f64, Float64Array);
plain_cell!(bool, BooleanArray);

macro_rules! optional_cell {
    ($type:ty, $array:ty) => {
        impl Cell for Option<$type> {
            const NULLABLE: bool = true;
            type Cells = Vec<Option<$type>>;
            #[inline]
            fn push(self, cells: &mut Self::Cells) {
                cells.push(self);
            }
            fn array(cells: &mut Self::Cells) -> ArrayRef {
                Arc::new(<$array>::from(std::mem::take(cells)))
            }
            fn restore(array: &ArrayRef) -> Option<Self::Cells> {
                let array = array.as_any().downcast_ref::<$array>()?;
                Some(array.iter().collect())
            }
        }
    };
}

optional_cell!(u8, UInt8Array);
optional_cell!(u32, UInt32Array);
optional_cell!(i32, Int32Array);
optional_cell!(u64, UInt64Array);

macro_rules! text_cell {
    ($type:ty) => {
        impl Cell for $type {
            type Cells = StringBuilder;
            fn push(self, cells: &mut Self::Cells) {
                cells.append_value(&self);
            }
            fn array(cells: &mut Self::Cells) -> ArrayRef {
                Arc::new(cells.finish())
            }
            fn restore(array: &ArrayRef) -> Option<Self::Cells> {
                restore_texts(array)
            }
        }

        impl Cell for Option<$type> {
            const NULLABLE: bool = true;
            type Cells = StringBuilder;
            fn push(self, cells: &mut Self::Cells) {
                cells.append_option(self);
            }
            fn array(cells: &mut Self::Cells) -> ArrayRef {
                Arc::new(cells.finish())
            }
            fn restore(array: &ArrayRef) -> Option<Self::Cells> {
                restore_texts(array)
            }
        }
    };
}

text_cell!(String);
text_cell!(Arc<str>);
text_cell!(std::borrow::Cow<'static, str>);

fn restore_texts(array: &ArrayRef) -> Option<StringBuilder> {
    let mut cells = StringBuilder::new();
    for text in array.as_string_opt::<i32>()? {
        cells.append_option(text);
    }
    Some(cells)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::{HopsRow, hops_histogram};

    fn table(rows: u64) -> Table {
        hops_histogram((0..rows).map(|i| HopsRow {
            job: (i % 3 > 0).then(|| Arc::from(format!("job {}", i % 3))),
            low_hops: i,
            high_hops: i,
            packets: i * i,
        }))
    }

    #[test]
    fn what_is_no_parquet_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ranks.parquet");
        assert_eq!(Table::read(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
        std::fs::write(&path, "not Parquet").unwrap();
        assert!(Table::read(&path).is_err());
    }

    #[test]
    fn parquet_gives_back_what_was_written() {
        let folder = tempfile::tempdir().unwrap();
        // More than the 2^20 rows of a row group, one row, and no rows.
        for rows in [0, 1, 1_100_000] {
            let path = folder.path().join("hops_histogram.parquet");
            let table = table(rows);
            table.write(&path).unwrap();
            assert!(Table::read(&path).unwrap() == table, "{rows} rows differ");
        }
    }

    #[test]
    fn columns_are_found_by_name_and_type() {
        let table = table(4);
        assert_eq!(table.u64s("packets"), Some(&[0, 1, 4, 9][..]));
        assert_eq!(table.u32s("packets"), None);
        assert_eq!(table.u64s("packages"), None);
        assert_eq!(
            table.texts("job").unwrap().collect::<Vec<_>>(),
            [None, Some("job 1"), Some("job 2"), None]
        );
    }
}
