//! Rows and columns cut out of a Parquet table: those of some links, or of some time. Row groups that cannot hold
//! any are passed over by their statistics; a table is never in memory whole.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray, RecordBatch};
use arrow_schema::DataType;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::statistics::Statistics;

/// Why rows could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SliceError {
    /// The file cannot be read.
    #[error("the table cannot be read: {0}")]
    Unreadable(String),
    /// The table lacks a column.
    #[error("the table has no column '{0}'")]
    NoColumn(String),
    /// A column cannot be compared or given out.
    #[error("column '{0}' is of a type that is not given out")]
    Type(String),
}

fn unreadable(error: impl ToString) -> SliceError {
    SliceError::Unreadable(error.to_string())
}

/// Which rows.
#[derive(Default)]
pub(crate) struct Rows {
    /// Rows that overlap this span, begin inclusive, end exclusive, and the columns that say when a row begins and
    /// ends. A row without an end lasts for ever.
    pub span: Option<TimeRange>,
    /// Columns, and the values that they may have.
    pub equal: Vec<(String, Vec<String>)>,
    /// No more rows than these.
    pub limit: usize,
}

/// Some time, in picoseconds.
pub(crate) struct TimeRange {
    pub from_ps: u64,
    pub to_ps: u64,
    pub begin: String,
    pub end: String,
}

/// Cells of one column.
#[derive(Debug, PartialEq)]
pub(crate) enum Cells {
    /// Bytes, yes and no.
    U8(Vec<u8>),
    /// Whole numbers of 32 bits.
    U32(Vec<u32>),
    /// Fractions of 32 bits.
    F32(Vec<f32>),
    /// Everything else; whole numbers up to 2^53 are exact. Empty cells are not numbers.
    F64(Vec<f64>),
    /// Numbers of texts, and the texts; empty cells have the greatest number.
    Text(Vec<u32>, Texts),
}

/// Texts by number.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Texts {
    pub all: Vec<String>,
    numbers: BTreeMap<String, u32>,
}

/// What stands for an empty cell of text.
pub(crate) const EMPTY: u32 = u32::MAX;

impl Texts {
    pub fn number(&mut self, text: &str) -> u32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.all.len() as u32;
        self.all.push(text.into());
        self.numbers.insert(text.into(), number);
        number
    }
}

/// Rows that were cut out.
#[derive(Debug, PartialEq)]
pub(crate) struct Slice {
    pub columns: Vec<(String, Cells)>,
    pub rows: usize,
    /// Rows that were asked for, given out or not.
    pub matching: usize,
}

/// Cuts out of the table in some files, one behind the other.
pub(crate) fn cut(paths: &[PathBuf], columns: &[String], rows: &Rows) -> Result<Slice, SliceError> {
    let mut needed: Vec<&str> = columns.iter().map(String::as_str).collect();
    needed.extend(rows.equal.iter().map(|(column, _)| column.as_str()));
    if let Some(span) = &rows.span {
        needed.extend([span.begin.as_str(), span.end.as_str()]);
    }
    let mut cells: Vec<Option<Cells>> = columns.iter().map(|_| None).collect();
    let (mut taken, mut matching) = (0, 0);
    for batch in read(paths, &needed, rows)? {
        let batch = batch?;
        let mut chosen = chosen(&batch, rows)?;
        matching += chosen.len();
        chosen.truncate(rows.limit - taken);
        taken += chosen.len();
        for (cells, name) in cells.iter_mut().zip(columns) {
            append(cells, name, column(&batch, name)?, &chosen)?;
        }
    }
    let first = paths.first().ok_or_else(|| unreadable("it has no file"))?;
    let schema = open(first)?.schema().clone();
    let columns = cells.into_iter().zip(columns).map(|(cells, name)| {
        let cells = match cells {
            Some(cells) => cells,
            None => none_of(&schema, name)?,
        };
        Ok((name.clone(), cells))
    });
    Ok(Slice {
        columns: columns.collect::<Result<_, SliceError>>()?,
        rows: taken,
        matching,
    })
}

/// Calls back with two whole-number columns of every row.
pub(crate) fn each_pair(
    paths: &[PathBuf],
    first: &str,
    second: &str,
    each: &mut dyn FnMut(u64, u64),
) -> Result<(), SliceError> {
    for batch in read(paths, &[first, second], &Rows::default())? {
        let batch = batch?;
        let (a, b) = (numbers(&batch, first)?, numbers(&batch, second)?);
        for row in 0..batch.num_rows() {
            each(a.value(row), b.value(row));
        }
    }
    Ok(())
}

/// A column of 64-bit whole numbers.
pub(crate) fn numbers<'a>(
    batch: &'a RecordBatch,
    name: &str,
) -> Result<&'a PrimitiveArray<UInt64Type>, SliceError> {
    column(batch, name)?
        .as_primitive_opt::<UInt64Type>()
        .ok_or_else(|| SliceError::Type(name.into()))
}

/// A column by its name.
pub(crate) fn column<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a ArrayRef, SliceError> {
    batch
        .column_by_name(name)
        .ok_or_else(|| SliceError::NoColumn(name.into()))
}

fn open(path: &Path) -> Result<ParquetRecordBatchReaderBuilder<File>, SliceError> {
    // Without the Arrow types that were written down beside: text is text, whether or not it was a dictionary.
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let file = File::open(path).map_err(unreadable)?;
    ParquetRecordBatchReaderBuilder::try_new_with_options(file, options).map_err(unreadable)
}

/// Batches of the row groups that may hold what is asked for, with the columns that are named.
pub(crate) fn read(
    paths: &[PathBuf],
    columns: &[&str],
    rows: &Rows,
) -> Result<impl Iterator<Item = Result<RecordBatch, SliceError>>, SliceError> {
    let readers = paths.iter().map(|path| reader(path, columns, rows));
    let readers: Vec<ParquetRecordBatchReader> = readers.collect::<Result<_, _>>()?;
    Ok(readers
        .into_iter()
        .flatten()
        .map(|batch| batch.map_err(unreadable)))
}

fn reader(path: &Path, columns: &[&str], rows: &Rows) -> Result<ParquetRecordBatchReader, SliceError> {
    let builder = open(path)?;
    let mut indices = Vec::new();
    for name in columns {
        let index = builder.schema().index_of(name);
        indices.push(index.map_err(|_| SliceError::NoColumn((*name).into()))?);
    }
    let mask = ProjectionMask::roots(builder.parquet_schema(), indices);
    let groups = builder.metadata().row_groups().iter().enumerate();
    let groups: Vec<usize> = groups
        .filter(|(_, group)| may_hold(group, rows))
        .map(|(index, _)| index)
        .collect();
    builder
        .with_projection(mask)
        .with_row_groups(groups)
        .with_batch_size(65_536)
        .build()
        .map_err(unreadable)
}

/// What statistics say of a column: least and greatest value.
fn range(group: &RowGroupMetaData, name: &str) -> Option<(u64, u64)> {
    let column = group
        .columns()
        .iter()
        .find(|c| c.column_path().string() == name)?;
    match column.statistics()? {
        Statistics::Int32(s) => Some((u64::from(*s.min_opt()? as u32), u64::from(*s.max_opt()? as u32))),
        Statistics::Int64(s) => Some((*s.min_opt()? as u64, *s.max_opt()? as u64)),
        _ => None,
    }
}

fn may_hold(group: &RowGroupMetaData, rows: &Rows) -> bool {
    if let Some(span) = &rows.span {
        let has_nulls = |name: &str| {
            let column = group.columns().iter().find(|c| c.column_path().string() == name);
            let statistics = column.and_then(|c| c.statistics());
            statistics
                .and_then(Statistics::null_count_opt)
                .is_none_or(|nulls| nulls > 0)
        };
        if range(group, &span.begin).is_some_and(|(least, _)| least >= span.to_ps)
            || (range(group, &span.end).is_some_and(|(_, most)| most <= span.from_ps)
                && !has_nulls(&span.end))
        {
            return false;
        }
    }
    rows.equal.iter().all(|(column, values)| {
        range(group, column).is_none_or(|(least, most)| {
            let inside = |v: &String| v.parse().is_ok_and(|v: u64| (least..=most).contains(&v));
            values.iter().any(inside)
        })
    })
}

/// Rows of a batch that are asked for.
pub(crate) fn chosen(batch: &RecordBatch, rows: &Rows) -> Result<Vec<usize>, SliceError> {
    let mut chosen: Vec<usize> = (0..batch.num_rows()).collect();
    if let Some(span) = &rows.span {
        let (begin, end) = (numbers(batch, &span.begin)?, numbers(batch, &span.end)?);
        chosen.retain(|row| {
            begin.value(*row) < span.to_ps && (end.is_null(*row) || end.value(*row) > span.from_ps)
        });
    }
    for (name, values) in &rows.equal {
        let array = column(batch, name)?;
        if let Some(texts) = array.as_string_opt::<i32>() {
            chosen.retain(|row| !texts.is_null(*row) && values.iter().any(|v| v == texts.value(*row)));
            continue;
        }
        let wanted: Vec<f64> = values.iter().filter_map(|v| v.parse().ok()).collect();
        let number = number_of(array).ok_or_else(|| SliceError::Type(name.clone()))?;
        chosen.retain(|row| wanted.contains(&number(*row)));
    }
    Ok(chosen)
}

/// A column as numbers, whatever its width; empty cells are not numbers.
fn number_of(array: &ArrayRef) -> Option<Box<dyn Fn(usize) -> f64 + '_>> {
    fn of<'a, T: ArrowPrimitiveType>(
        array: &'a ArrayRef,
        convert: impl Fn(T::Native) -> f64 + 'a,
    ) -> Option<Box<dyn Fn(usize) -> f64 + 'a>> {
        let array = array.as_primitive_opt::<T>()?;
        Some(Box::new(move |row| match array.is_null(row) {
            true => f64::NAN,
            false => convert(array.value(row)),
        }))
    }
    match array.data_type() {
        DataType::UInt8 => of::<UInt8Type>(array, f64::from),
        DataType::UInt16 => of::<UInt16Type>(array, f64::from),
        DataType::UInt32 => of::<UInt32Type>(array, f64::from),
        DataType::UInt64 => of::<UInt64Type>(array, |v| v as f64),
        DataType::Int32 => of::<Int32Type>(array, f64::from),
        DataType::Int64 => of::<Int64Type>(array, |v| v as f64),
        DataType::Float32 => of::<Float32Type>(array, f64::from),
        DataType::Float64 => of::<Float64Type>(array, |v| v),
        _ => None,
    }
}

/// An empty column of the type that cells of this column are given out as.
fn none_of(schema: &arrow_schema::Schema, name: &str) -> Result<Cells, SliceError> {
    let field = schema
        .field_with_name(name)
        .map_err(|_| SliceError::NoColumn(name.into()))?;
    Ok(match (field.data_type(), field.is_nullable()) {
        (DataType::UInt8 | DataType::Boolean, false) => Cells::U8(vec![]),
        (DataType::UInt16 | DataType::UInt32, false) => Cells::U32(vec![]),
        (DataType::Float32, _) => Cells::F32(vec![]),
        (DataType::Utf8, _) => Cells::Text(vec![], Texts::default()),
        (
            DataType::UInt8
            | DataType::UInt16
            | DataType::UInt32
            | DataType::UInt64
            | DataType::Int32
            | DataType::Int64
            | DataType::Float64
            | DataType::Boolean,
            _,
        ) => Cells::F64(vec![]),
        _ => return Err(SliceError::Type(name.into())),
    })
}

fn append(cells: &mut Option<Cells>, name: &str, array: &ArrayRef, rows: &[usize]) -> Result<(), SliceError> {
    let wrong = || SliceError::Type(name.into());
    let cells = match cells {
        Some(cells) => cells,
        None => {
            // A column that may be empty is one of numbers that may be none, in every batch.
            let field = arrow_schema::Field::new(name, array.data_type().clone(), array.is_nullable());
            let schema = arrow_schema::Schema::new(vec![field]);
            cells.insert(none_of(&schema, name)?)
        }
    };
    // An earlier batch had no empty cell, this one has.
    if array.null_count() > 0 {
        match cells {
            Cells::U8(all) => *cells = Cells::F64(all.iter().map(|v| f64::from(*v)).collect()),
            Cells::U32(all) => *cells = Cells::F64(all.iter().map(|v| f64::from(*v)).collect()),
            _ => {}
        }
    }
    match cells {
        Cells::Text(numbers, texts) => {
            let array = array.as_string_opt::<i32>().ok_or_else(wrong)?;
            numbers.extend(rows.iter().map(|row| match array.is_null(*row) {
                true => EMPTY,
                false => texts.number(array.value(*row)),
            }));
        }
        Cells::U8(all) if array.data_type() == &DataType::Boolean => {
            let array = array.as_boolean();
            all.extend(rows.iter().map(|row| u8::from(array.value(*row))));
        }
        Cells::F64(all) if array.data_type() == &DataType::Boolean => {
            let array = array.as_boolean();
            all.extend(rows.iter().map(|row| match array.is_null(*row) {
                true => f64::NAN,
                false => f64::from(u8::from(array.value(*row))),
            }));
        }
        Cells::U8(all) => {
            let number = number_of(array).ok_or_else(wrong)?;
            all.extend(rows.iter().map(|row| number(*row) as u8));
        }
        Cells::U32(all) => {
            let number = number_of(array).ok_or_else(wrong)?;
            all.extend(rows.iter().map(|row| number(*row) as u32));
        }
        Cells::F32(all) => {
            let number = number_of(array).ok_or_else(wrong)?;
            all.extend(rows.iter().map(|row| number(*row) as f32));
        }
        Cells::F64(all) => {
            let number = number_of(array).ok_or_else(wrong)?;
            all.extend(rows.iter().map(|row| number(*row)));
        }
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::sync::Arc;

    use arrow_array::{BooleanArray, Float64Array, StringArray, UInt32Array, UInt64Array};
    use parquet::arrow::ArrowWriter;
    use parquet::file::properties::WriterProperties;

    /// A file with these columns, in row groups of three rows.
    pub fn written(columns: Vec<(&str, ArrayRef)>) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.parquet");
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let properties = WriterProperties::builder()
            .set_max_row_group_row_count(Some(3))
            .build();
        let file = File::create(&path).unwrap();
        let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        (folder, path)
    }

    fn table() -> (tempfile::TempDir, std::path::PathBuf) {
        written(vec![
            (
                "begin_ps",
                Arc::new(UInt64Array::from((0..10).map(|i| 10 * i).collect::<Vec<u64>>())),
            ),
            (
                "end_ps",
                Arc::new(UInt64Array::from(
                    (0..10).map(|i| 10 * i + 10).collect::<Vec<u64>>(),
                )),
            ),
            (
                "link",
                Arc::new(UInt32Array::from((0..10).map(|i| i % 4).collect::<Vec<u32>>())),
            ),
            (
                "group",
                Arc::new(UInt32Array::from(
                    (0..10)
                        .map(|i| (i > 6).then_some(i))
                        .collect::<Vec<Option<u32>>>(),
                )),
            ),
            (
                "job",
                Arc::new(StringArray::from(
                    (0..10)
                        .map(|i| (i != 2).then_some(["a", "b"][i % 2]))
                        .collect::<Vec<Option<&str>>>(),
                )),
            ),
            (
                "share",
                Arc::new(Float64Array::from((0..10).map(f64::from).collect::<Vec<f64>>())),
            ),
            (
                "done",
                Arc::new(BooleanArray::from((0..10).map(|i| i == 1).collect::<Vec<bool>>())),
            ),
        ])
    }

    fn columns(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    fn all() -> Rows {
        Rows {
            limit: 100,
            ..Rows::default()
        }
    }

    fn span(from_ps: u64, to_ps: u64) -> Option<TimeRange> {
        Some(TimeRange {
            from_ps,
            to_ps,
            begin: "begin_ps".into(),
            end: "end_ps".into(),
        })
    }

    #[test]
    fn every_type_comes_out_as_it_is() {
        let (_folder, path) = table();
        let slice = cut(
            std::slice::from_ref(&path),
            &columns(&["link", "end_ps", "done", "group", "job"]),
            &all(),
        )
        .unwrap();
        assert_eq!((slice.rows, slice.matching), (10, 10));
        assert_eq!(slice.columns[0].1, Cells::U32(vec![0, 1, 2, 3, 0, 1, 2, 3, 0, 1]));
        let Cells::F64(ends) = &slice.columns[1].1 else {
            panic!("times")
        };
        assert_eq!(ends[9], 100.0);
        let Cells::U8(done) = &slice.columns[2].1 else {
            panic!("yes and no")
        };
        assert_eq!(done.iter().sum::<u8>(), 1);
        let Cells::F64(groups) = &slice.columns[3].1 else {
            panic!("may be empty")
        };
        assert!(groups[6].is_nan() && groups[7] == 7.0);
        let Cells::Text(jobs, texts) = &slice.columns[4].1 else {
            panic!("text")
        };
        assert_eq!(jobs[..4], [0, 1, EMPTY, 1]);
        assert_eq!(texts.all, ["a", "b"]);
    }

    #[test]
    fn rows_are_those_of_a_span_and_of_values() {
        let (_folder, path) = table();
        let of = |rows: Rows| {
            let slice = cut(std::slice::from_ref(&path), &columns(&["share"]), &rows).unwrap();
            match &slice.columns[0].1 {
                Cells::F64(all) => all.clone(),
                _ => panic!("fractions"),
            }
        };
        assert_eq!(
            of(Rows {
                span: span(25, 50),
                ..all()
            }),
            [2.0, 3.0, 4.0]
        );
        assert_eq!(
            of(Rows {
                span: span(20, 30),
                ..all()
            }),
            [2.0],
            "ends are exclusive"
        );
        assert_eq!(
            of(Rows {
                span: span(1000, 2000),
                ..all()
            }),
            [] as [f64; 0]
        );
        let equal = |column: &str, values: &[&str]| Rows {
            equal: vec![(column.into(), columns(values))],
            ..all()
        };
        assert_eq!(of(equal("link", &["3"])), [3.0, 7.0]);
        assert_eq!(of(equal("link", &["3", "0"])), [0.0, 3.0, 4.0, 7.0, 8.0]);
        assert_eq!(of(equal("link", &["nonsense"])), [] as [f64; 0]);
        assert_eq!(of(equal("job", &["b"])), [1.0, 3.0, 5.0, 7.0, 9.0]);
        assert_eq!(of(equal("group", &["8"])), [8.0]);
    }

    #[test]
    fn a_limit_says_how_many_there_are() {
        let (_folder, path) = table();
        let rows = Rows {
            limit: 4,
            ..Rows::default()
        };
        let slice = cut(std::slice::from_ref(&path), &columns(&["link"]), &rows).unwrap();
        assert_eq!((slice.rows, slice.matching), (4, 10));
        assert_eq!(slice.columns[0].1, Cells::U32(vec![0, 1, 2, 3]));
    }

    #[test]
    fn what_is_not_there_is_named() {
        let (_folder, path) = table();
        let told = |names: &[&str]| {
            cut(std::slice::from_ref(&path), &columns(names), &all())
                .unwrap_err()
                .to_string()
        };
        assert_eq!(told(&["lnik"]), "the table has no column 'lnik'");
        let missing = cut(&["nowhere".into()], &columns(&["link"]), &all());
        assert!(missing.unwrap_err().to_string().contains("cannot be read"));
    }
}
