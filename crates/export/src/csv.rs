//! CSV: all tables, or one, as text. RFC 4180: commas, CRLF, quotes where a cell needs them, a header of column names
//! with units. Cells without a value are empty. A text that spreadsheets would take for a formula begins with an
//! apostrophe (OWASP, "CSV Injection").

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use csv::{Terminator, WriterBuilder};
use results::BatchColumns;

use crate::Error;
use crate::folder::ExportSource;
use crate::format::{ExportFormat, Made, Options};

pub(crate) const FORMAT: ExportFormat = ExportFormat {
    name: "csv",
    summary: "the tables as text, for spreadsheets and scripts: a folder of CSV files, or the file of one --table",
    options: &["table"],
    made,
    write,
};

fn made(options: &Options) -> Made {
    match &options.table {
        Some(table) => Made::File(format!(".{table}.csv")),
        None => Made::Folder("-csv".into()),
    }
}

fn write(folder: &ExportSource, options: &Options, out: &Path) -> Result<Vec<String>, Error> {
    match &options.table {
        Some(table) => table_to(folder, table, out)?,
        None => {
            for table in folder.tables() {
                table_to(folder, table, &out.join(format!("{table}.csv")))?;
            }
        }
    }
    Ok(Vec::new())
}

/// Writes a table batch by batch.
fn table_to(folder: &ExportSource, table: &str, path: &Path) -> Result<(), Error> {
    let failed = |source| Error::Write {
        path: path.into(),
        source,
    };
    let file = File::create(path).map_err(failed)?;
    let mut csv = WriterBuilder::new()
        .terminator(Terminator::CRLF)
        .from_writer(BufWriter::new(file));
    let mut is_first = true;
    folder.batches(table, |batch| {
        if std::mem::take(&mut is_first) {
            let names = batch.schema();
            csv.write_record(names.fields().iter().map(|field| field.name()))
                .map_err(|e| failed(e.into()))?;
        }
        rows_to(&batch, &mut csv).map_err(failed)
    })?;
    csv.flush().map_err(failed)
}

/// Writes the rows of a batch. A column of a type that no table of FabricSim has is an error.
fn rows_to(batch: &RecordBatch, csv: &mut csv::Writer<impl Write>) -> io::Result<()> {
    let columns = BatchColumns::new(batch);
    let schema = batch.schema();
    let writers: Vec<CellWriter<'_>> = (schema.fields().iter().zip(batch.columns()))
        .map(|(field, column)| cell_writer(field.name(), column, &columns))
        .collect::<io::Result<_>>()?;
    let mut cell = String::new();
    for row in 0..batch.num_rows() {
        for write in &writers {
            cell.clear();
            write(row, &mut cell);
            csv.write_field(&cell)?;
        }
        csv.write_record(None::<&[u8]>)?;
    }
    Ok(())
}

/// Appends the text of the cell of a row; nothing for an empty cell.
type CellWriter<'b> = Box<dyn Fn(usize, &mut String) + 'b>;

fn cell_writer<'b>(
    name: &str,
    column: &'b dyn Array,
    columns: &BatchColumns<'b>,
) -> io::Result<CellWriter<'b>> {
    macro_rules! values {
        ($format:literal, $array:expr) => {{
            let array = $array;
            Ok(Box::new(move |row, cell: &mut String| {
                if array.is_valid(row) {
                    write!(cell, $format, array.value(row)).expect("a String takes all text");
                }
            }))
        }};
    }
    match column.data_type() {
        DataType::UInt8 => values!("{}", column.as_primitive::<UInt8Type>()),
        DataType::UInt16 => values!("{}", column.as_primitive::<UInt16Type>()),
        DataType::UInt32 => values!("{}", column.as_primitive::<UInt32Type>()),
        DataType::UInt64 => values!("{}", column.as_primitive::<UInt64Type>()),
        DataType::Int8 => values!("{}", column.as_primitive::<Int8Type>()),
        DataType::Int16 => values!("{}", column.as_primitive::<Int16Type>()),
        DataType::Int32 => values!("{}", column.as_primitive::<Int32Type>()),
        DataType::Int64 => values!("{}", column.as_primitive::<Int64Type>()),
        // The shortest text that reads back as the same number, always with a point or an exponent.
        DataType::Float32 => values!("{:?}", column.as_primitive::<Float32Type>()),
        DataType::Float64 => values!("{:?}", column.as_primitive::<Float64Type>()),
        DataType::Boolean => values!("{}", column.as_boolean()),
        _ => {
            let texts = columns
                .texts(name)
                .map_err(|wrong| io::Error::new(io::ErrorKind::InvalidData, wrong.0))?;
            Ok(Box::new(move |row, cell: &mut String| {
                let text = texts.or_empty(row);
                if text.starts_with(['=', '+', '-', '@']) {
                    cell.push('\'');
                }
                cell.push_str(text);
            }))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use super::*;
    use crate::folder::tests::{finished, table};
    use arrow_array::types::Int32Type;
    use arrow_array::{ArrayRef, BooleanArray, DictionaryArray, Float64Array, StringArray, UInt64Array};
    use serde_json::Value;

    fn columns() -> Vec<(&'static str, ArrayRef)> {
        let job: DictionaryArray<Int32Type> = ["a", "a", "=1+1"].into_iter().collect();
        let tags = vec![Some(1), None, Some(u64::MAX)];
        vec![
            ("job", Arc::new(job)),
            ("time_ps", Arc::new(UInt64Array::from(tags))),
            (
                "busy_fraction",
                Arc::new(Float64Array::from(vec![0.1, 1.0, 1e-9])),
            ),
            ("finished", Arc::new(BooleanArray::from(vec![true, false, true]))),
            (
                "from",
                Arc::new(StringArray::from(vec!["a \"b\"", "c, d", "e\nf"])),
            ),
        ]
    }

    const EXPECTED: &str = "job,time_ps,busy_fraction,finished,from\r\n\
        a,1,0.1,true,\"a \"\"b\"\"\"\r\n\
        a,,1.0,false,\"c, d\"\r\n\
        '=1+1,18446744073709551615,1e-9,true,\"e\nf\"\r\n";

    #[test]
    fn tables_are_written_cell_by_cell() {
        let here = tempfile::tempdir().unwrap();
        finished(here.path(), &Value::Null);
        table(&here.path().join("made.parquet"), columns());
        let none = columns()
            .into_iter()
            .map(|(name, cells)| (name, cells.slice(0, 0)));
        table(&here.path().join("none.parquet"), none.collect());
        let folder = ExportSource::open(here.path()).unwrap();
        let out = tempfile::tempdir().unwrap();
        assert!(
            write(&folder, &Options::default(), out.path())
                .unwrap()
                .is_empty()
        );
        let read = |name: &str| fs::read_to_string(out.path().join(name)).unwrap();
        assert_eq!(read("made.csv"), EXPECTED);
        assert_eq!(read("none.csv"), "job,time_ps,busy_fraction,finished,from\r\n");
        assert_eq!(fs::read_dir(out.path()).unwrap().count(), 2);
        let mut options = Options {
            table: Some("made".into()),
            ..Options::default()
        };
        let file = out.path().join("one.csv");
        write(&folder, &options, &file).unwrap();
        assert_eq!(read("one.csv"), EXPECTED);
        options.table = Some("mad".into());
        let error = write(&folder, &options, &file).unwrap_err().to_string();
        assert!(
            error.contains("no table of this name; the folder has made, none"),
            "{error}"
        );
    }
}
