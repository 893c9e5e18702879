//! The source of an export: a result folder, or the folder of an unfinished run, with its tables and their rows.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use results::{BatchColumns, RUNNING, ReadError, Running, Summary, WrongColumn, read_batches};
use serde_json::Value;

use crate::Error;

/// The reason why reading a table stops early.
pub(crate) enum ReadStop {
    /// A column cannot be read.
    Column(WrongColumn),
    /// The output cannot be written.
    Error(Error),
}

impl From<WrongColumn> for ReadStop {
    fn from(wrong: WrongColumn) -> ReadStop {
        ReadStop::Column(wrong)
    }
}

impl From<Error> for ReadStop {
    fn from(error: Error) -> ReadStop {
        ReadStop::Error(error)
    }
}

/// A result folder, or the folder of an unfinished run.
pub(crate) struct ExportSource {
    path: PathBuf,
    /// Files of each table in row order.
    tables: BTreeMap<String, Vec<PathBuf>>,
    /// `None` if the run has not ended.
    summary: Option<Summary>,
    experiment: Value,
    /// Whether an unfinished run will write its result here.
    running: bool,
}

impl ExportSource {
    /// Opens a folder.
    pub fn open(path: &Path) -> Result<ExportSource, Error> {
        let running = Running::load(path)?;
        let (summary, tables, experiment) = match Summary::load(path) {
            Ok(summary) => {
                let tables = finished_tables(path)?;
                let experiment = summary.experiment.clone();
                (Some(summary), tables, experiment)
            }
            Err(error) => match &running {
                Some(running) if !path.join("summary.json").exists() => {
                    let tables = Running::files(path)?;
                    (None, tables, running.experiment.clone())
                }
                _ => return Err(error.into()),
            },
        };
        Ok(ExportSource {
            path: path.into(),
            tables,
            summary,
            experiment,
            running: running.is_some(),
        })
    }

    /// The summary. `None` if the run has not ended.
    pub fn summary(&self) -> Option<&Summary> {
        self.summary.as_ref()
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The experiment with every default filled in.
    pub fn experiment(&self) -> &Value {
        &self.experiment
    }

    /// Names of all tables.
    pub fn tables(&self) -> impl Iterator<Item = &str> {
        self.tables.keys().map(String::as_str)
    }

    /// Whether the table exists. A table without rows is never written.
    pub fn has(&self, table: &str) -> bool {
        self.tables.contains_key(table)
    }

    /// A note for users about the folder as a whole.
    pub fn note(&self) -> Option<String> {
        let here = self.path.display();
        match (&self.summary, self.running) {
            (None, _) => Some(format!(
                "the run of {here} is still running or was killed ({RUNNING}): the export has what it had written so far"
            )),
            (Some(_), true) => Some(format!(
                "this is the earlier result in {here}: a run that is to replace it is still running or was killed ({RUNNING})"
            )),
            (Some(_), false) => None,
        }
    }

    /// Passes the rows of a table to `take`, batch by batch, in order, with these columns only.
    pub fn each(
        &self,
        table: &str,
        columns: &[&str],
        mut take: impl FnMut(&BatchColumns<'_>) -> Result<(), ReadStop>,
    ) -> Result<(), Error> {
        for path in self.files(table)? {
            let batches = read_batches(path, Some(columns)).map_err(|source| unreadable(path, source))?;
            for batch in batches.1 {
                let batch = batch.map_err(|source| unreadable(path, source))?;
                take(&BatchColumns::new(&batch)).map_err(|stop| match stop {
                    ReadStop::Column(WrongColumn(why)) => Error::Foreign {
                        path: path.clone(),
                        why,
                    },
                    ReadStop::Error(error) => error,
                })?;
            }
        }
        Ok(())
    }

    /// Passes whole batches of a table to `take`, in order. The first batch has no rows and shows the columns.
    pub fn batches(
        &self,
        table: &str,
        mut take: impl FnMut(RecordBatch) -> Result<(), Error>,
    ) -> Result<(), Error> {
        for (part, path) in self.files(table)?.iter().enumerate() {
            let (schema, batches) = read_batches(path, None).map_err(|source| unreadable(path, source))?;
            if part == 0 {
                take(RecordBatch::new_empty(schema))?;
            }
            for batch in batches {
                take(batch.map_err(|source| unreadable(path, source))?)?;
            }
        }
        Ok(())
    }

    /// Returns an error if the table does not exist.
    pub fn require(&self, table: &str) -> Result<(), Error> {
        self.files(table).map(|_| ())
    }

    fn files(&self, table: &str) -> Result<&[PathBuf], Error> {
        self.tables
            .get(table)
            .map(Vec::as_slice)
            .ok_or_else(|| Error::NoTable {
                folder: self.path.clone(),
                table: table.into(),
                why: self.why_not(table),
            })
    }

    /// The reason why a table does not exist, and what to do.
    pub fn why_not(&self, table: &str) -> String {
        let known: Vec<&str> = self.tables().collect();
        let known = match known.as_slice() {
            [] => "nothing".into(),
            tables => tables.join(", "),
        };
        match (asking(table), written_at_the_end(table)) {
            (Some(asked), _) if self.asked(&asked) => match self.summary {
                Some(_) => "the run collected it, and it has no rows".into(),
                None => "its run is still running or was killed, and had not written any of it yet".into(),
            },
            (Some(asked), _) => format!(
                "the run did not collect it; run the experiment again with `[collect] {} = {}`, or with --set \
                 collect.{}={}",
                asked.key,
                asked.written(),
                asked.key,
                asked.value
            ),
            (None, true) if self.summary.is_none() => {
                "its run is still running or was killed, and writes this table at its end; run the experiment again"
                    .into()
            }
            _ if table == "critical_path" => {
                format!("`fabricsim explain {}` writes it", self.path.display())
            }
            (None, true) => "it has no rows, or the result is of an older version of FabricSim; \
                             run the experiment again"
                .into(),
            (None, false) => format!("there is no table of this name; the folder has {known}"),
        }
    }

    /// Whether the experiment requested the table.
    fn asked(&self, asked: &Asked) -> bool {
        let collect = &self.experiment["collect"];
        if asked.key != "series" {
            return collect[asked.key] == true;
        }
        let taken = self.summary.as_ref().and_then(|summary| summary.collect.as_ref());
        let series = taken
            .map(|collect| collect.series.as_str())
            .or(collect["series"].as_str());
        let level = |name: &str| SERIES.iter().position(|level| *level == name);
        series.and_then(level) >= level(asked.value)
    }
}

/// Values of `collect.series`. Each includes the previous ones.
const SERIES: [&str; 4] = ["off", "classes", "links", "vcs"];

/// The key of `[collect]` that requests a table, and its value.
struct Asked {
    key: &'static str,
    value: &'static str,
}

impl Asked {
    /// The value as TOML.
    fn written(&self) -> String {
        match self.value {
            "true" => "true".into(),
            text => format!("\"{text}\""),
        }
    }
}

fn asking(table: &str) -> Option<Asked> {
    let (key, value) = match table {
        "timeline" | "messages" => ("timeline", "true"),
        "waits" => ("waits", "true"),
        "class_series"
        | "job_series"
        | "load_histogram_series"
        | "pair_series"
        | "router_load_series"
        | "top_links" => ("series", "classes"),
        "link_series" | "host_series" | "router_series" => ("series", "links"),
        "vc_series" => ("series", "vcs"),
        _ => return None,
    };
    Some(Asked { key, value })
}

fn written_at_the_end(table: &str) -> bool {
    [
        "calls",
        "drops",
        "hops_histogram",
        "hosts",
        "jobs",
        "latency_histogram",
        "links",
        "pairs",
        "ranks",
        "routers",
        "units",
    ]
    .contains(&table)
}

/// The tables of a finished result, one file each.
fn finished_tables(folder: &Path) -> Result<BTreeMap<String, Vec<PathBuf>>, Error> {
    let failed = |source| unreadable(folder, source);
    let mut tables = BTreeMap::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if let Some(table) = name.strip_suffix(".parquet") {
            tables.insert(table.into(), vec![path.clone()]);
        }
    }
    Ok(tables)
}

/// The error of an unreadable file, with advice if the run has removed it meanwhile.
fn unreadable(path: &Path, mut source: io::Error) -> Error {
    if source.kind() == io::ErrorKind::NotFound {
        let why = "the run, which continues, has removed it; export again, or after the run has ended";
        source = io::Error::new(source.kind(), why);
    }
    Error::Read(ReadError::Io {
        path: path.into(),
        source,
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use std::fs::File;
    use std::sync::Arc;

    use super::*;
    use arrow_array::{ArrayRef, Float32Array, StringArray, UInt32Array, UInt64Array};
    use parquet::arrow::ArrowWriter;
    use parquet::file::properties::WriterProperties;

    /// Writes a table of one or several row groups.
    pub(crate) fn table(path: &Path, columns: Vec<(&str, ArrayRef)>) {
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let groups = WriterProperties::builder()
            .set_max_row_group_row_count(Some(3))
            .build();
        let file = File::create(path).unwrap();
        let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(groups)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
    }

    pub(crate) fn u32s(cells: &[u32]) -> ArrayRef {
        Arc::new(UInt32Array::from(cells.to_vec()))
    }

    pub(crate) fn maybe_u32s(cells: &[Option<u32>]) -> ArrayRef {
        Arc::new(UInt32Array::from(cells.to_vec()))
    }

    pub(crate) fn u64s(cells: &[u64]) -> ArrayRef {
        Arc::new(UInt64Array::from(cells.to_vec()))
    }

    pub(crate) fn f32s(cells: &[f32]) -> ArrayRef {
        Arc::new(Float32Array::from(cells.to_vec()))
    }

    pub(crate) fn texts(cells: &[&str]) -> ArrayRef {
        Arc::new(StringArray::from(cells.to_vec()))
    }

    pub(crate) fn maybe_texts(cells: &[Option<&str>]) -> ArrayRef {
        Arc::new(StringArray::from(cells.to_vec()))
    }

    /// Writes the files, except tables, of a finished run of this experiment.
    pub(crate) fn finished(folder: &Path, experiment: &Value) {
        let summary = Summary {
            schema: results::SCHEMA.into(),
            digest: String::new(),
            experiment: experiment.clone(),
            network: results::NetworkSummary {
                topology: "two routers".into(),
                measured_ns: 0.1,
                ..results::NetworkSummary::default()
            },
            jobs: Vec::new(),
            notes: Vec::new(),
            verdict: None,
            rounded_rates: Vec::new(),
            assumptions: results::Assumptions::default(),
            schedule: None,
            interference: None,
            bounds: None,
            collect: None,
            run: results::RunSummary {
                version: "1.0.0".into(),
                ..results::RunSummary::default()
            },
        };
        fs::write(
            folder.join("summary.json"),
            serde_json::to_string(&summary).unwrap(),
        )
        .unwrap();
    }

    /// Writes the files, except table parts, of a killed run of this experiment.
    pub(crate) fn killed(folder: &Path, experiment: &Value) {
        let running = Running {
            schema: "fabricsim/running/1".into(),
            version: String::new(),
            began_unix_s: 0,
            process: 1,
            host: String::new(),
            tables: Vec::new(),
            experiment: experiment.clone(),
        };
        fs::write(folder.join(RUNNING), serde_json::to_string(&running).unwrap()).unwrap();
        fs::create_dir_all(folder.join("running")).unwrap();
    }

    fn numbers(from: u64, to: u64) -> Vec<(&'static str, ArrayRef)> {
        let all: Vec<u64> = (from..to).collect();
        vec![
            ("n", Arc::new(UInt64Array::from(all.clone()))),
            ("m", Arc::new(UInt64Array::from(all))),
        ]
    }

    fn read(folder: &ExportSource, table: &str) -> Vec<u64> {
        let mut seen = Vec::new();
        folder
            .each(table, &["n"], |rows| {
                assert!(rows.integers("m").is_err(), "only what was asked for is read");
                seen.extend(rows.integers("n")?);
                Ok(())
            })
            .unwrap();
        seen
    }

    fn message(error: Option<Error>) -> String {
        error.expect("refused").to_string()
    }

    #[test]
    fn a_killed_run_has_the_parts_of_its_tables() {
        let here = tempfile::tempdir().unwrap();
        killed(here.path(), &serde_json::json!({"collect": {"timeline": true}}));
        assert_eq!(ExportSource::open(here.path()).unwrap().tables().count(), 0);
        let parts = here.path().join("running");
        table(&parts.join("link_series.tail.parquet"), numbers(9, 12));
        table(&parts.join("link_series.00001.parquet"), numbers(5, 9));
        table(&parts.join("link_series.00000.parquet"), numbers(0, 5));
        fs::write(parts.join("timeline.00000.partial"), "PAR1").unwrap();
        let folder = ExportSource::open(here.path()).unwrap();
        assert!(folder.summary().is_none());
        assert!(folder.note().unwrap().contains("still running or was killed"));
        assert_eq!(folder.tables().collect::<Vec<_>>(), ["link_series"]);
        assert_eq!(read(&folder, "link_series"), (0..12).collect::<Vec<_>>());
        assert!(folder.why_not("links").contains("writes this table at its end"));
        assert!(
            folder
                .why_not("timeline")
                .contains("had not written any of it yet")
        );
        assert!(folder.why_not("waits").contains("--set collect.waits=true"));
        // The run ends while its folder is read.
        fs::remove_dir_all(&parts).unwrap();
        assert!(message(folder.each("link_series", &["n"], |_| Ok(())).err()).contains("has removed it"));
    }

    #[test]
    fn what_is_no_result_and_what_is_damaged_is_told() {
        let here = tempfile::tempdir().unwrap();
        let open = || ExportSource::open(here.path());
        assert!(message(open().err()).contains("it has no summary.json"));
        fs::write(here.path().join("summary.json"), "{\"schema\": \"other/1\"}").unwrap();
        assert!(message(open().err()).contains("its schema is 'other/1'"));
        finished(here.path(), &Value::Null);
        fs::write(here.path().join("links.parquet"), "not Parquet").unwrap();
        let folder = open().unwrap();
        let why = message(folder.each("links", &["n"], |_| Ok(())).err());
        assert!(why.contains("links.parquet"), "{why}");
        table(&here.path().join("links.parquet"), numbers(0, 4));
        let why = message(
            folder
                .each("links", &["link"], |rows| {
                    Ok(rows.integers("link").map(|_| ())?)
                })
                .err(),
        );
        assert!(why.contains("it has no column 'link'"), "{why}");
    }

    #[test]
    fn a_missing_table_is_told_with_what_makes_it() {
        let here = tempfile::tempdir().unwrap();
        let collect = serde_json::json!({"series": "links", "timeline": true, "waits": false});
        finished(here.path(), &serde_json::json!({ "collect": collect }));
        let folder = ExportSource::open(here.path()).unwrap();
        assert!(folder.note().is_none());
        let why = message(folder.require("waits").err());
        for words in [
            "has no table waits (waits.parquet)",
            "`[collect] waits = true`",
            "--set collect.waits=true",
        ] {
            assert!(why.contains(words), "{why}");
        }
        assert!(
            folder
                .why_not("vc_series")
                .contains("`[collect] series = \"vcs\"`")
        );
        assert!(folder.why_not("timeline").contains("it has no rows"));
        assert!(folder.why_not("class_series").contains("it has no rows"));
        assert!(folder.why_not("critical_path").contains("`fabricsim explain"));
        assert!(folder.why_not("links").contains("older version"));
        assert!(
            folder
                .why_not("link")
                .contains("no table of this name; the folder has nothing")
        );
        killed(here.path(), &Value::Null);
        let folder = ExportSource::open(here.path()).unwrap();
        assert!(folder.note().unwrap().contains("the earlier result"));
    }
}
