//! Columns of a table, by name and type, as they come from a Parquet file.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{UInt8Type, UInt32Type, UInt64Type};
use arrow_array::{Array, BooleanArray, PrimitiveArray, RecordBatch, StringArray};

/// Some rows of a table, column by column.
pub(crate) struct Columns<'a>(pub &'a RecordBatch);

/// Why a column is not what it should be.
pub(crate) struct WrongColumn(pub String);

/// A column of text, with each different text once.
pub(crate) struct Texts<'a> {
    values: &'a StringArray,
    /// Which of the values a row has; none: row `i` has value `i`.
    keys: Option<Vec<usize>>,
    column: &'a dyn Array,
}

impl Texts<'_> {
    /// The text of a row, nothing where the cell is empty.
    pub fn get(&self, row: usize) -> Option<&str> {
        if self.column.is_null(row) {
            return None;
        }
        let index = self.keys.as_ref().map_or(row, |keys| keys[row]);
        self.values.is_valid(index).then(|| self.values.value(index))
    }
}

/// A column of numbers with empty cells.
pub(crate) struct Maybe<'a, T: arrow_array::ArrowPrimitiveType>(&'a PrimitiveArray<T>);

impl<T: arrow_array::ArrowPrimitiveType> Maybe<'_, T> {
    /// The number of a row, nothing where the cell is empty.
    pub fn get(&self, row: usize) -> Option<T::Native> {
        self.0.is_valid(row).then(|| self.0.value(row))
    }
}

impl<'a> Columns<'a> {
    fn find(&self, name: &str, kind: &str) -> Result<&'a dyn Array, WrongColumn> {
        match self.0.column_by_name(name) {
            Some(column) => Ok(column.as_ref()),
            None => Err(wrong(name, kind)),
        }
    }

    fn numbers<T: arrow_array::ArrowPrimitiveType>(
        &self,
        name: &str,
        kind: &str,
    ) -> Result<&'a PrimitiveArray<T>, WrongColumn> {
        let column = self.find(name, kind)?;
        column.as_primitive_opt::<T>().ok_or_else(|| wrong(name, kind))
    }

    /// 64-bit integers, no cell empty.
    pub fn u64s(&self, name: &str) -> Result<&'a [u64], WrongColumn> {
        full(self.numbers::<UInt64Type>(name, "u64")?, name)
    }

    /// 32-bit integers, no cell empty.
    pub fn u32s(&self, name: &str) -> Result<&'a [u32], WrongColumn> {
        full(self.numbers::<UInt32Type>(name, "u32")?, name)
    }

    /// 8-bit integers, no cell empty.
    pub fn u8s(&self, name: &str) -> Result<&'a [u8], WrongColumn> {
        full(self.numbers::<UInt8Type>(name, "u8")?, name)
    }

    /// Yes or no, no cell empty.
    pub fn bools(&self, name: &str) -> Result<&'a BooleanArray, WrongColumn> {
        let column = self.find(name, "bool")?.as_boolean_opt();
        column
            .filter(|column| column.null_count() == 0)
            .ok_or_else(|| wrong(name, "bool"))
    }

    /// 64-bit integers, where there are any.
    pub fn maybe_u64s(&self, name: &str) -> Result<Maybe<'a, UInt64Type>, WrongColumn> {
        Ok(Maybe(self.numbers(name, "u64")?))
    }

    /// 32-bit integers, where there are any.
    pub fn maybe_u32s(&self, name: &str) -> Result<Maybe<'a, UInt32Type>, WrongColumn> {
        Ok(Maybe(self.numbers(name, "u32")?))
    }

    /// Text, plain or by a dictionary.
    pub fn texts(&self, name: &str) -> Result<Texts<'a>, WrongColumn> {
        let column = self.find(name, "text")?;
        if let Some(values) = column.as_string_opt::<i32>() {
            let keys = None;
            return Ok(Texts { values, keys, column });
        }
        let dictionary = column.as_any_dictionary_opt();
        let values = dictionary.and_then(|dictionary| dictionary.values().as_string_opt::<i32>());
        let (Some(dictionary), Some(values)) = (dictionary, values) else {
            return Err(wrong(name, "text"));
        };
        // A dictionary without values has empty cells only, and no keys to speak of.
        let keys = match values.len() {
            0 => Vec::new(),
            _ => dictionary.normalized_keys(),
        };
        Ok(Texts {
            values,
            keys: Some(keys),
            column,
        })
    }
}

fn full<'a, T: arrow_array::ArrowPrimitiveType>(
    column: &'a PrimitiveArray<T>,
    name: &str,
) -> Result<&'a [T::Native], WrongColumn> {
    if column.null_count() > 0 {
        return Err(WrongColumn(format!("its column '{name}' has empty cells")));
    }
    Ok(column.values())
}

fn wrong(name: &str, kind: &str) -> WrongColumn {
    WrongColumn(format!("it has no column '{name}' of type {kind}"))
}

/// Texts by small numbers, each kept once.
#[derive(Default)]
pub(crate) struct Names {
    texts: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u32>,
}

/// A text that [`Names`] keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Name(u32);

impl Names {
    /// The number of a text.
    pub fn number(&mut self, text: &str) -> Name {
        if let Some(number) = self.numbers.get(text) {
            return Name(*number);
        }
        let (text, number): (Arc<str>, _) = (text.into(), self.texts.len() as u32);
        self.texts.push(text.clone());
        self.numbers.insert(text, number);
        Name(number)
    }

    /// The text of a number.
    pub fn text(&self, name: Name) -> &Arc<str> {
        &self.texts[name.0 as usize]
    }
}
