//! Rows and columns of a Parquet table, selected by column values or time. Row groups without matching rows are
//! skipped by their statistics. A table is never entirely in memory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::DataType;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::statistics::Statistics;
use results::{BatchColumns, TableFile, WrongColumn};

/// The error of a table that cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SliceError {
    /// The file cannot be read.
    #[error("the table cannot be read: {0}")]
    Unreadable(String),
    /// A column is missing, or has another type.
    #[error("the table cannot be served: {0}")]
    Column(String),
    /// The query cannot be read.
    #[error("the query cannot be read: {0}")]
    Query(String),
}

impl From<WrongColumn> for SliceError {
    fn from(WrongColumn(why): WrongColumn) -> SliceError {
        SliceError::Column(why)
    }
}

fn no_column(name: &str) -> SliceError {
    SliceError::Column(format!("it has no column '{name}'"))
}

fn unreadable(error: impl ToString) -> SliceError {
    SliceError::Unreadable(error.to_string())
}

/// Maximum number of rows in one answer.
pub(crate) const MOST_ROWS: usize = 4_000_000;
/// Maximum size of an answer in bytes.
const MOST_BYTES: usize = 128 << 20;

/// A selection of rows.
#[derive(Default)]
pub(crate) struct RowFilter {
    /// Time range that rows must overlap, begin inclusive, end exclusive. A row without an end never ends.
    pub span: Option<TimeRange>,
    /// Columns and their allowed values.
    pub equal: Vec<(String, Vec<String>)>,
    /// Maximum number of rows.
    pub limit: usize,
}

/// A time range in picoseconds, and the columns of start and end of a row.
pub(crate) struct TimeRange {
    pub from_ps: u64,
    pub to_ps: u64,
    pub begin: String,
    pub end: String,
}

/// Values of one column.
#[derive(Debug, PartialEq)]
pub(crate) enum ColumnValues {
    /// Bytes and booleans.
    U8(Vec<u8>),
    /// 32-bit integers.
    U32(Vec<u32>),
    /// 32-bit fractions.
    F32(Vec<f32>),
    /// All other numbers. Integers are exact up to 2^53; empty cells are NaN.
    F64(Vec<f64>),
    /// Text numbers and their texts. Empty cells have the number [`EMPTY`].
    Text(Vec<u32>, Texts),
}

impl ColumnValues {
    fn bytes_of_texts(&self) -> usize {
        match self {
            ColumnValues::Text(_, texts) => texts.bytes,
            _ => 0,
        }
    }
}

/// Texts by number.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Texts {
    pub all: Vec<String>,
    numbers: BTreeMap<String, u32>,
    /// Bytes of all texts.
    bytes: usize,
}

/// The number of an empty text cell.
pub(crate) const EMPTY: u32 = u32::MAX;

impl Texts {
    pub fn number(&mut self, text: &str) -> u32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.all.len() as u32;
        self.bytes += text.len();
        self.all.push(text.into());
        self.numbers.insert(text.into(), number);
        number
    }
}

/// Selected rows.
#[derive(Debug, PartialEq)]
pub(crate) struct Slice {
    pub columns: Vec<(String, ColumnValues)>,
    pub rows: usize,
    /// Number of matching rows, including those above the limit.
    pub matching: usize,
}

/// Selects rows of a table that consists of several files.
pub(crate) fn cut(paths: &[PathBuf], columns: &[String], rows: &RowFilter) -> Result<Slice, SliceError> {
    let mut needed: Vec<&str> = columns.iter().map(String::as_str).collect();
    needed.extend(rows.equal.iter().map(|(column, _)| column.as_str()));
    if let Some(span) = &rows.span {
        needed.extend([span.begin.as_str(), span.end.as_str()]);
    }
    let mut cells: Vec<Option<ColumnValues>> = columns.iter().map(|_| None).collect();
    let limit = rows
        .limit
        .min(MOST_BYTES / size_of::<f64>() / columns.len().max(1));
    let (mut taken, mut matching) = (0, 0);
    for batch in read(paths, &needed, rows)? {
        let batch = batch?;
        let mut chosen = chosen(&batch, rows)?;
        matching += chosen.len();
        chosen.truncate(limit - taken);
        taken += chosen.len();
        for (cells, name) in cells.iter_mut().zip(columns) {
            append(cells, name, &batch, &chosen)?;
        }
        let texts = cells.iter().flatten().map(ColumnValues::bytes_of_texts);
        if texts.sum::<usize>() > MOST_BYTES {
            return Err(SliceError::Column("its texts are too long for one answer".into()));
        }
    }
    let first = paths.first().ok_or_else(|| unreadable("it has no file"))?;
    let schema = open(first)?.1.schema().clone();
    let columns = cells.into_iter().zip(columns).map(|(cells, name)| {
        let cells = match cells {
            Some(cells) => cells,
            None => {
                let field = schema.field_with_name(name).map_err(|_| no_column(name))?;
                empty_column(name, field.data_type(), field.is_nullable())?
            }
        };
        Ok((name.clone(), cells))
    });
    Ok(Slice {
        columns: columns.collect::<Result<_, SliceError>>()?,
        rows: taken,
        matching,
    })
}

/// Calls back with two integer columns of every row.
pub(crate) fn each_pair(
    paths: &[PathBuf],
    first: &str,
    second: &str,
    each: &mut dyn FnMut(u64, u64),
) -> Result<(), SliceError> {
    for batch in read(paths, &[first, second], &RowFilter::default())? {
        let batch = batch?;
        let columns = BatchColumns::new(&batch);
        for (a, b) in columns
            .integers(first)?
            .into_iter()
            .zip(columns.integers(second)?)
        {
            each(a, b);
        }
    }
    Ok(())
}

fn open(path: &Path) -> Result<(TableFile, ParquetRecordBatchReaderBuilder<TableFile>), SliceError> {
    // The stored Arrow schema is ignored, so that dictionary-encoded text is read as plain text.
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let file = TableFile::open(path).map_err(unreadable)?;
    let builder = ParquetRecordBatchReaderBuilder::try_new_with_options(file.clone(), options);
    Ok((file, builder.map_err(unreadable)?))
}

/// Batches of the row groups that may contain matching rows, with the named columns.
pub(crate) fn read(
    paths: &[PathBuf],
    columns: &[&str],
    rows: &RowFilter,
) -> Result<impl Iterator<Item = Result<RecordBatch, SliceError>>, SliceError> {
    let readers = paths.iter().map(|path| reader(path, columns, rows));
    let readers: Vec<(TableFile, ParquetRecordBatchReader)> = readers.collect::<Result<_, _>>()?;
    let batches = |(file, reader): (TableFile, ParquetRecordBatchReader)| {
        reader.map(move |batch| batch.map_err(|error| unreadable(file.io_error(error))))
    };
    Ok(readers.into_iter().flat_map(batches))
}

fn reader(
    path: &Path,
    columns: &[&str],
    rows: &RowFilter,
) -> Result<(TableFile, ParquetRecordBatchReader), SliceError> {
    let (file, builder) = open(path)?;
    let mut indices = Vec::new();
    for name in columns {
        let index = builder.schema().index_of(name);
        indices.push(index.map_err(|_| no_column(name))?);
    }
    let mask = ProjectionMask::roots(builder.parquet_schema(), indices);
    let groups = builder.metadata().row_groups().iter().enumerate();
    let groups: Vec<usize> = groups
        .filter(|(_, group)| may_hold(group, rows))
        .map(|(index, _)| index)
        .collect();
    let reader = builder
        .with_projection(mask)
        .with_row_groups(groups)
        .with_batch_size(65_536)
        .build();
    Ok((file, reader.map_err(unreadable)?))
}

/// Minimum and maximum of a column, from statistics.
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

fn may_hold(group: &RowGroupMetaData, rows: &RowFilter) -> bool {
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

/// Indices of the matching rows of a batch.
pub(crate) fn chosen(batch: &RecordBatch, rows: &RowFilter) -> Result<Vec<usize>, SliceError> {
    let mut chosen: Vec<usize> = (0..batch.num_rows()).collect();
    let columns = BatchColumns::new(batch);
    if let Some(span) = &rows.span {
        let (begin, end) = (columns.integers(&span.begin)?, columns.maybe_integers(&span.end)?);
        chosen.retain(|row| begin[*row] < span.to_ps && end[*row].is_none_or(|end| end > span.from_ps));
    }
    for (name, values) in &rows.equal {
        if let Ok(texts) = columns.texts(name) {
            chosen.retain(|row| {
                texts
                    .get(*row)
                    .is_some_and(|text| values.iter().any(|v| v == text))
            });
            continue;
        }
        let wanted: Vec<f64> = values.iter().filter_map(|v| v.parse().ok()).collect();
        let numbers = columns.any_numbers(name)?;
        chosen.retain(|row| wanted.contains(&numbers[*row]));
    }
    Ok(chosen)
}

/// An empty column of the type in which the cells of this column are served.
fn empty_column(name: &str, data: &DataType, nullable: bool) -> Result<ColumnValues, SliceError> {
    use DataType as D;
    Ok(match (data, nullable) {
        (D::UInt8 | D::Boolean, false) => ColumnValues::U8(vec![]),
        (D::UInt16 | D::UInt32, false) => ColumnValues::U32(vec![]),
        (D::Float32, _) => ColumnValues::F32(vec![]),
        (D::Utf8, _) => ColumnValues::Text(vec![], Texts::default()),
        (D::UInt8 | D::UInt16 | D::UInt32 | D::Boolean, true) => ColumnValues::F64(vec![]),
        (D::UInt64 | D::Int32 | D::Int64 | D::Float64, _) => ColumnValues::F64(vec![]),
        _ => {
            return Err(SliceError::Column(format!(
                "its column '{name}' has an unsupported type"
            )));
        }
    })
}

fn append(
    cells: &mut Option<ColumnValues>,
    name: &str,
    batch: &RecordBatch,
    rows: &[usize],
) -> Result<(), SliceError> {
    let array = batch.column_by_name(name).ok_or_else(|| no_column(name))?;
    let cells = match cells {
        Some(cells) => cells,
        None => cells.insert(empty_column(name, array.data_type(), array.is_nullable())?),
    };
    // This batch has an empty cell, and the earlier ones had none.
    if array.null_count() > 0 {
        match cells {
            ColumnValues::U8(all) => *cells = ColumnValues::F64(all.iter().map(|v| f64::from(*v)).collect()),
            ColumnValues::U32(all) => *cells = ColumnValues::F64(all.iter().map(|v| f64::from(*v)).collect()),
            _ => {}
        }
    }
    let columns = BatchColumns::new(batch);
    if let ColumnValues::Text(numbers, texts) = cells {
        let column = columns.texts(name)?;
        numbers.extend(
            rows.iter()
                .map(|row| column.get(*row).map_or(EMPTY, |text| texts.number(text))),
        );
        return Ok(());
    }
    let numbers = columns.any_numbers(name)?;
    let numbers = rows.iter().map(|row| numbers[*row]);
    match cells {
        ColumnValues::U8(all) => all.extend(numbers.map(|n| n as u8)),
        ColumnValues::U32(all) => all.extend(numbers.map(|n| n as u32)),
        ColumnValues::F32(all) => all.extend(numbers.map(|n| n as f32)),
        ColumnValues::F64(all) => all.extend(numbers),
        ColumnValues::Text(..) => unreachable!("texts are appended above"),
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::fs::File;
    use std::sync::Arc;

    use arrow_array::{ArrayRef, BooleanArray, Float64Array, StringArray, UInt32Array, UInt64Array};
    use parquet::arrow::ArrowWriter;
    use parquet::file::properties::WriterProperties;

    /// Writes a file with these columns, in row groups of three rows.
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

    fn all() -> RowFilter {
        RowFilter {
            limit: 100,
            ..RowFilter::default()
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
        assert_eq!(
            slice.columns[0].1,
            ColumnValues::U32(vec![0, 1, 2, 3, 0, 1, 2, 3, 0, 1])
        );
        let ColumnValues::F64(ends) = &slice.columns[1].1 else {
            panic!("times")
        };
        assert_eq!(ends[9], 100.0);
        let ColumnValues::U8(done) = &slice.columns[2].1 else {
            panic!("yes and no")
        };
        assert_eq!(done.iter().sum::<u8>(), 1);
        let ColumnValues::F64(groups) = &slice.columns[3].1 else {
            panic!("may be empty")
        };
        assert!(groups[6].is_nan() && groups[7] == 7.0);
        let ColumnValues::Text(jobs, texts) = &slice.columns[4].1 else {
            panic!("text")
        };
        assert_eq!(jobs[..4], [0, 1, EMPTY, 1]);
        assert_eq!(texts.all, ["a", "b"]);
    }

    #[test]
    fn rows_are_those_of_a_span_and_of_values() {
        let (_folder, path) = table();
        let of = |rows: RowFilter| {
            let slice = cut(std::slice::from_ref(&path), &columns(&["share"]), &rows).unwrap();
            match &slice.columns[0].1 {
                ColumnValues::F64(all) => all.clone(),
                _ => panic!("fractions"),
            }
        };
        assert_eq!(
            of(RowFilter {
                span: span(25, 50),
                ..all()
            }),
            [2.0, 3.0, 4.0]
        );
        assert_eq!(
            of(RowFilter {
                span: span(20, 30),
                ..all()
            }),
            [2.0],
            "ends are exclusive"
        );
        assert_eq!(
            of(RowFilter {
                span: span(1000, 2000),
                ..all()
            }),
            [] as [f64; 0]
        );
        let equal = |column: &str, values: &[&str]| RowFilter {
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
        let rows = RowFilter {
            limit: 4,
            ..RowFilter::default()
        };
        let slice = cut(std::slice::from_ref(&path), &columns(&["link"]), &rows).unwrap();
        assert_eq!((slice.rows, slice.matching), (4, 10));
        assert_eq!(slice.columns[0].1, ColumnValues::U32(vec![0, 1, 2, 3]));
    }

    #[test]
    fn what_is_not_there_is_named() {
        let (_folder, path) = table();
        let error = |names: &[&str]| {
            cut(std::slice::from_ref(&path), &columns(names), &all())
                .unwrap_err()
                .to_string()
        };
        assert_eq!(
            error(&["lnik"]),
            "the table cannot be served: it has no column 'lnik'"
        );
        let missing = cut(&["nowhere".into()], &columns(&["link"]), &all());
        assert!(missing.unwrap_err().to_string().contains("cannot be read"));
    }
}
