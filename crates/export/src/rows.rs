//! Some rows of a table, column by column, as numbers and texts.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, StringArray};
use arrow_schema::DataType;

use crate::Error;

/// Some rows of a table.
pub(crate) struct Rows<'b> {
    batch: &'b RecordBatch,
}

/// Why a column is not what it should be.
#[derive(Debug, PartialEq)]
pub(crate) struct WrongColumn(pub String);

/// Why rows are not read on.
pub(crate) enum Stop {
    /// The table is a foreign one.
    Column(WrongColumn),
    /// What is made of them cannot be written.
    Error(Error),
}

impl From<WrongColumn> for Stop {
    fn from(wrong: WrongColumn) -> Stop {
        Stop::Column(wrong)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Error(error)
    }
}

/// A column of text.
pub(crate) struct Texts<'b> {
    column: &'b ArrayRef,
    values: &'b StringArray,
    /// Which of the values a row has; none: row `i` has value `i`.
    keys: Option<Vec<usize>>,
}

impl<'b> Texts<'b> {
    /// The text of a row, nothing where the cell is empty.
    pub fn get(&self, row: usize) -> Option<&'b str> {
        if self.column.is_null(row) {
            return None;
        }
        let index = self.keys.as_ref().map_or(row, |keys| keys[row]);
        self.values.is_valid(index).then(|| self.values.value(index))
    }

    /// The same, with an empty cell as an empty text.
    pub fn or_empty(&self, row: usize) -> &'b str {
        self.get(row).unwrap_or_default()
    }
}

impl<'b> Rows<'b> {
    pub fn new(batch: &'b RecordBatch) -> Rows<'b> {
        Rows { batch }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.batch.num_rows()
    }

    fn column(&self, name: &str) -> Result<&'b ArrayRef, WrongColumn> {
        let column = self.batch.column_by_name(name);
        column.ok_or_else(|| WrongColumn(format!("it has no column '{name}'")))
    }

    /// Whole numbers of any width, empty cells as none.
    pub fn maybe_signed(&self, name: &str) -> Result<Vec<Option<i128>>, WrongColumn> {
        let column = self.column(name)?;
        macro_rules! widened {
            ($($data:pat => $type:ty),*) => {
                match column.data_type() {
                    $($data => Ok(column.as_primitive::<$type>().iter().map(|cell| cell.map(i128::from)).collect()),)*
                    _ => Err(wrong(name, "whole numbers")),
                }
            };
        }
        widened!(
            DataType::UInt8 => UInt8Type, DataType::UInt16 => UInt16Type, DataType::UInt32 => UInt32Type,
            DataType::UInt64 => UInt64Type, DataType::Int8 => Int8Type, DataType::Int16 => Int16Type,
            DataType::Int32 => Int32Type, DataType::Int64 => Int64Type
        )
    }

    /// Whole numbers of any width, none negative, empty cells as none.
    pub fn maybe_integers(&self, name: &str) -> Result<Vec<Option<u64>>, WrongColumn> {
        let cells = self.maybe_signed(name)?.into_iter();
        let cells = cells.map(|cell| cell.map(u64::try_from).transpose());
        cells
            .collect::<Result<_, _>>()
            .map_err(|_| wrong(name, "numbers from 0"))
    }

    /// Whole numbers of any width, none negative, no cell empty.
    pub fn integers(&self, name: &str) -> Result<Vec<u64>, WrongColumn> {
        if let Some(column) = self.column(name)?.as_primitive_opt::<UInt64Type>()
            && column.null_count() == 0
        {
            return Ok(column.values().to_vec());
        }
        let cells = self.maybe_integers(name)?.into_iter();
        cells
            .collect::<Option<_>>()
            .ok_or_else(|| wrong(name, "numbers in all cells"))
    }

    /// Numbers of things: below 2^32, no cell empty.
    pub fn short_integers(&self, name: &str) -> Result<Vec<u32>, WrongColumn> {
        let cells = self.integers(name)?.into_iter().map(u32::try_from);
        cells
            .collect::<Result<_, _>>()
            .map_err(|_| wrong(name, "numbers below 2^32"))
    }

    /// Fractions, no cell empty.
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

    /// Yes or no.
    pub fn flags(&self, name: &str) -> Result<&'b BooleanArray, WrongColumn> {
        let column = self.column(name)?.as_boolean_opt();
        column.ok_or_else(|| wrong(name, "yes and no"))
    }

    /// Text, in plain or in dictionary form.
    pub fn texts(&self, name: &str) -> Result<Texts<'b>, WrongColumn> {
        let column = self.column(name)?;
        if let Some(values) = column.as_string_opt::<i32>() {
            let keys = None;
            return Ok(Texts { column, values, keys });
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
        Ok(Texts {
            column,
            values,
            keys: Some(keys),
        })
    }
}

fn wrong(name: &str, kind: &str) -> WrongColumn {
    WrongColumn(format!("its column '{name}' has not {kind}"))
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
        let rows = Rows::new(&batch);
        let told = |wrong: WrongColumn| wrong.0;
        assert_eq!(rows.integers("small"), Ok(vec![1, 2]));
        assert_eq!(rows.short_integers("small"), Ok(vec![1, 2]));
        assert!(rows.short_integers("large").is_err());
        assert_eq!(rows.maybe_integers("gaps"), Ok(vec![None, Some(3)]));
        assert_eq!(
            told(rows.integers("gaps").unwrap_err()),
            "its column 'gaps' has not numbers in all cells"
        );
        assert_eq!(rows.maybe_signed("negative"), Ok(vec![Some(4), Some(-5)]));
        assert!(rows.integers("negative").is_err() && rows.integers("text").is_err());
        assert_eq!(
            told(rows.integers("absent").unwrap_err()),
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
    }
}
