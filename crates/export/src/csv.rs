//! CSV: all tables, or one, as text. RFC 4180: commas, CRLF, quotes where a cell needs them, a header of column names
//! with units. Cells without a value are empty.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use arrow_csv::WriterBuilder;
use arrow_csv::writer::Terminator;

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
    let mut file = BufWriter::new(File::create(path).map_err(failed)?);
    let mut csv = WriterBuilder::new()
        .with_header(true)
        .with_line_terminator(Terminator::CRLF)
        .build(&mut file);
    folder.batches(table, |batch| {
        csv.write(&batch).map_err(|e| failed(io::Error::other(e)))
    })?;
    drop(csv);
    file.flush().map_err(failed)
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
        let job: DictionaryArray<Int32Type> = ["a", "a", "b"].into_iter().collect();
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
        b,18446744073709551615,1e-9,true,\"e\nf\"\r\n";

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
