//! Typed columns of a batch of rows, and the batches of a Parquet file. All readers of result tables use these.

use std::io;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, StringArray};
use arrow_schema::{DataType, SchemaRef};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::table_file::TableFile;

/// Rows of a batch that is read from a file.
pub const BATCH_ROWS: usize = 16_384;

/// The columns of a batch of rows, by name and type.
pub struct BatchColumns<'b> {
    batch: &'b RecordBatch,
}

/// Why a column cannot be read: the text of an error message, which begins with `it` or `its` for the table.
#[derive(Debug, PartialEq)]
pub struct WrongColumn(pub String);

/// A column of text.
pub struct TextColumn<'b> {
    column: &'b ArrayRef,
    values: &'b StringArray,
    /// The index of each row's value. `None` if row `i` has value `i`.
    keys: Option<Vec<usize>>,
}

impl<'b> TextColumn<'b> {
    /// The text of a row, `None` for an empty cell.
    pub fn get(&self, row: usize) -> Option<&'b str> {
        if self.column.is_null(row) {
            return None;
        }
        let index = self.keys.as_ref().map_or(row, |keys| keys[row]);
        self.values.is_valid(index).then(|| self.values.value(index))
    }

    /// The text of a row, an empty text for an empty cell.
    pub fn or_empty(&self, row: usize) -> &'b str {
        self.get(row).unwrap_or_default()
    }
}

/// Each method returns one value per row.
///
/// # Errors
/// The column is missing, has another type, or has an empty cell where none is allowed.
impl<'b> BatchColumns<'b> {
    /// The columns of this batch.
    pub fn new(batch: &'b RecordBatch) -> BatchColumns<'b> {
        BatchColumns { batch }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.batch.num_rows()
    }

    fn column(&self, name: &str) -> Result<&'b ArrayRef, WrongColumn> {
        let column = self.batch.column_by_name(name);
        column.ok_or_else(|| WrongColumn(format!("it has no column '{name}'")))
    }

    /// Integers of any width as `T`, empty cells as `None`; `range` names the values of `T`.
    fn cells<T: TryFrom<i128>>(&self, name: &str, range: &str) -> Result<Vec<Option<T>>, WrongColumn> {
        let column = self.column(name)?;
        macro_rules! converted {
            ($($data:pat => $type:ty),*) => {
                match column.data_type() {
                    $($data => column
                        .as_primitive::<$type>()
                        .iter()
                        .map(|cell| cell.map(|n| T::try_from(n.into())).transpose())
                        .collect::<Result<_, _>>()
                        .map_err(|_| wrong(name, range)),)*
                    _ => Err(wrong(name, "whole numbers")),
                }
            };
        }
        converted!(
            DataType::UInt8 => UInt8Type, DataType::UInt16 => UInt16Type, DataType::UInt32 => UInt32Type,
            DataType::UInt64 => UInt64Type, DataType::Int8 => Int8Type, DataType::Int16 => Int16Type,
            DataType::Int32 => Int32Type, DataType::Int64 => Int64Type
        )
    }

    /// As [`BatchColumns::cells`], where no cell may be empty.
    fn full_cells<T: TryFrom<i128>>(&self, name: &str, range: &str) -> Result<Vec<T>, WrongColumn> {
        let cells = self.cells(name, range)?.into_iter();
        cells
            .collect::<Option<_>>()
            .ok_or_else(|| wrong(name, "numbers in all cells"))
    }

    /// Integers of any width, empty cells as `None`.
    pub fn maybe_signed(&self, name: &str) -> Result<Vec<Option<i128>>, WrongColumn> {
        self.cells(name, "whole numbers")
    }

    /// Unsigned integers, empty cells as `None`.
    pub fn maybe_integers(&self, name: &str) -> Result<Vec<Option<u64>>, WrongColumn> {
        self.cells(name, "numbers from 0")
    }

    /// Unsigned integers below 2^32, empty cells as `None`.
    pub fn maybe_short_integers(&self, name: &str) -> Result<Vec<Option<u32>>, WrongColumn> {
        self.cells(name, "numbers below 2^32")
    }

    /// Unsigned integers, no cell empty.
    pub fn integers(&self, name: &str) -> Result<Vec<u64>, WrongColumn> {
        if let Some(column) = self.column(name)?.as_primitive_opt::<UInt64Type>()
            && column.null_count() == 0
        {
            return Ok(column.values().to_vec());
        }
        self.full_cells(name, "numbers from 0")
    }

    /// Unsigned integers below 2^32, no cell empty.
    pub fn short_integers(&self, name: &str) -> Result<Vec<u32>, WrongColumn> {
        self.full_cells(name, "numbers below 2^32")
    }

    /// Unsigned integers below 256, no cell empty.
    pub fn bytes(&self, name: &str) -> Result<Vec<u8>, WrongColumn> {
        self.full_cells(name, "numbers below 256")
    }

    /// Floating-point numbers, no cell empty.
    pub fn fractions(&self, name: &str) -> Result<Vec<f64>, WrongColumn> {
        let column = self.column(name)?;
        let cells: Option<Vec<f64>> = match column.data_type() {
            DataType::Float32 => column
                .as_primitive::<Float32Type>()
                .iter()
                .map(|cell| cell.map(f64::from))
                .collect(),
            DataType::Float64 => column.as_primitive::<Float64Type>().iter().collect(),
            _ => None,
        };
        cells.ok_or_else(|| wrong(name, "fractions in all cells"))
    }

    /// Numbers and booleans of any type as fractions, empty cells as NaN. Integers are exact up to 2^53.
    pub fn any_numbers(&self, name: &str) -> Result<Vec<f64>, WrongColumn> {
        let column = self.column(name)?;
        macro_rules! converted {
            ($($data:pat => $type:ty),*) => {
                match column.data_type() {
                    DataType::Boolean => column
                        .as_boolean()
                        .iter()
                        .map(|cell| cell.map_or(f64::NAN, |yes| f64::from(u8::from(yes))))
                        .collect(),
                    $($data => column
                        .as_primitive::<$type>()
                        .iter()
                        .map(|cell| cell.map_or(f64::NAN, |n| n as f64))
                        .collect(),)*
                    _ => return Err(wrong(name, "numbers")),
                }
            };
        }
        Ok(converted!(
            DataType::UInt8 => UInt8Type, DataType::UInt16 => UInt16Type, DataType::UInt32 => UInt32Type,
            DataType::UInt64 => UInt64Type, DataType::Int32 => Int32Type, DataType::Int64 => Int64Type,
            DataType::Float32 => Float32Type, DataType::Float64 => Float64Type
        ))
    }

    /// Booleans, no cell empty.
    pub fn flags(&self, name: &str) -> Result<&'b BooleanArray, WrongColumn> {
        let column = self.column(name)?.as_boolean_opt();
        column
            .filter(|column| column.null_count() == 0)
            .ok_or_else(|| wrong(name, "yes or no in all cells"))
    }

    /// Text, plain or dictionary-encoded.
    pub fn texts(&self, name: &str) -> Result<TextColumn<'b>, WrongColumn> {
        let column = self.column(name)?;
        if let Some(values) = column.as_string_opt::<i32>() {
            let keys = None;
            return Ok(TextColumn { column, values, keys });
        }
        let dictionary = column
            .as_any_dictionary_opt()
            .ok_or_else(|| wrong(name, "text"))?;
        let values = dictionary.values().as_string_opt::<i32>();
        let values = values.ok_or_else(|| wrong(name, "text"))?;
        let keys = match values.is_empty() {
            true => vec![0; column.len()],
            false => dictionary.normalized_keys(),
        };
        Ok(TextColumn {
            column,
            values,
            keys: Some(keys),
        })
    }
}

fn wrong(name: &str, kind: &str) -> WrongColumn {
    WrongColumn(format!("its column '{name}' has not {kind}"))
}

/// Schema and batches of a Parquet file, with the named columns or all of them. Names that the file lacks are
/// ignored.
///
/// # Errors
/// The file cannot be read, or is damaged (`InvalidData`).
pub fn read_batches(
    path: &Path,
    columns: Option<&[&str]>,
) -> io::Result<(SchemaRef, impl Iterator<Item = io::Result<RecordBatch>> + use<>)> {
    let file = TableFile::open(path)?;
    let mut builder = ParquetRecordBatchReaderBuilder::try_new(file.clone()).map_err(|e| file.io_error(e))?;
    if let Some(columns) = columns {
        let mask = ProjectionMask::columns(builder.parquet_schema(), columns.iter().copied());
        builder = builder.with_projection(mask);
    }
    let schema = builder.schema().clone();
    let reader = builder.with_batch_size(BATCH_ROWS).build();
    let reader = reader.map_err(|e| file.io_error(e))?;
    let batches = reader.map(move |batch| batch.map_err(|e| file.io_error(e)));
    Ok((schema, batches))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::types::Int32Type as Key;
    use arrow_array::{DictionaryArray, Float32Array, Int32Array, UInt8Array, UInt64Array};
    use std::sync::Arc;

    #[test]
    fn cells_of_any_width_and_form_are_understood_and_wrong_ones_refused() {
        let words: DictionaryArray<Key> = [Some("a"), None].into_iter().collect();
        let none: DictionaryArray<Key> = [None::<&str>, None].into_iter().collect();
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("small", Arc::new(UInt8Array::from(vec![1, 2]))),
            ("large", Arc::new(UInt64Array::from(vec![1 << 32, 0]))),
            ("gaps", Arc::new(UInt64Array::from(vec![None, Some(3)]))),
            ("negative", Arc::new(Int32Array::from(vec![4, -5]))),
            ("words", Arc::new(words)),
            ("none", Arc::new(none)),
            ("text", Arc::new(StringArray::from(vec!["a", "b"]))),
            ("flags", Arc::new(BooleanArray::from(vec![true, false]))),
            ("half", Arc::new(Float32Array::from(vec![0.5, 1.0]))),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let rows = BatchColumns::new(&batch);
        let message = |wrong: WrongColumn| wrong.0;
        assert_eq!(rows.integers("small"), Ok(vec![1, 2]));
        assert_eq!(rows.short_integers("small"), Ok(vec![1, 2]));
        assert_eq!(rows.bytes("small"), Ok(vec![1, 2]));
        assert!(rows.short_integers("large").is_err() && rows.bytes("large").is_err());
        assert_eq!(rows.maybe_short_integers("gaps"), Ok(vec![None, Some(3)]));
        assert_eq!(rows.maybe_integers("gaps"), Ok(vec![None, Some(3)]));
        assert_eq!(
            message(rows.integers("gaps").unwrap_err()),
            "its column 'gaps' has not numbers in all cells"
        );
        assert_eq!(rows.maybe_signed("negative"), Ok(vec![Some(4), Some(-5)]));
        assert!(rows.integers("negative").is_err() && rows.integers("text").is_err());
        assert_eq!(
            message(rows.integers("absent").unwrap_err()),
            "it has no column 'absent'"
        );
        let texts = |name: &str| rows.texts(name).map(|texts| [texts.get(0), texts.get(1)]);
        assert_eq!(texts("words"), Ok([Some("a"), None]));
        assert_eq!(texts("none"), Ok([None, None]));
        assert_eq!(texts("text"), Ok([Some("a"), Some("b")]));
        assert!(texts("small").is_err());
        assert!(rows.flags("flags").unwrap().value(0) && rows.flags("small").is_err());
        assert_eq!(rows.fractions("half"), Ok(vec![0.5, 1.0]));
        assert!(rows.fractions("small").is_err());
        assert_eq!(rows.any_numbers("negative"), Ok(vec![4.0, -5.0]));
        assert_eq!(rows.any_numbers("flags"), Ok(vec![1.0, 0.0]));
        assert!(rows.any_numbers("gaps").unwrap()[0].is_nan() && rows.any_numbers("text").is_err());
    }
}
