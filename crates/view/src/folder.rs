//! A result folder as found: its tables, and the errors of damaged tables.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Value, json};

use crate::slice::{self, SliceError};
use results::{ReadError, RepeatedRun, Running, SUMMARY, Summary, TableFile, verdict_of_folder};

/// A table that the page may request, with the columns of start and end of a row.
pub(crate) struct Known {
    pub name: &'static str,
    pub time: Option<(&'static str, &'static str)>,
}

const BINS: Option<(&str, &str)> = Some(("begin_ps", "end_ps"));

/// All tables that are served.
const KNOWN: &[Known] = &[
    Known {
        name: "calls",
        time: None,
    },
    Known {
        name: "class_series",
        time: BINS,
    },
    Known {
        name: "critical_path",
        time: BINS,
    },
    Known {
        name: "drops",
        time: None,
    },
    Known {
        name: "host_series",
        time: BINS,
    },
    Known {
        name: "hosts",
        time: None,
    },
    Known {
        name: "job_series",
        time: BINS,
    },
    Known {
        name: "jobs",
        time: None,
    },
    Known {
        name: "link_series",
        time: BINS,
    },
    Known {
        name: "links",
        time: None,
    },
    Known {
        name: "load_histogram_series",
        time: BINS,
    },
    Known {
        name: "messages",
        time: Some(("posted_ps", "matched_ps")),
    },
    Known {
        name: "pair_series",
        time: BINS,
    },
    Known {
        name: "pairs",
        time: None,
    },
    Known {
        name: "ranks",
        time: None,
    },
    Known {
        name: "router_load_series",
        time: BINS,
    },
    Known {
        name: "router_series",
        time: BINS,
    },
    Known {
        name: "routers",
        time: None,
    },
    Known {
        name: "schedule",
        time: None,
    },
    Known {
        name: "timeline",
        time: BINS,
    },
    Known {
        name: "top_links",
        time: BINS,
    },
    Known {
        name: "units",
        time: None,
    },
    Known {
        name: "vc_series",
        time: BINS,
    },
    Known {
        name: "waits",
        time: BINS,
    },
];

/// Tables whose bins define the positions of the time slider.
const SERIES: [&str; 2] = ["class_series", "link_series"];

/// The error of a folder that cannot be shown at all.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct OpenError(#[from] results::ReadError);

/// A table as found.
struct TableFiles {
    /// Its files in row order.
    files: Vec<PathBuf>,
    rows: u64,
    /// Names of its columns. Tables of older versions have fewer.
    columns: Vec<String>,
}

/// A result folder.
pub(crate) struct ResultFolder {
    path: PathBuf,
    name: String,
    /// `summary.json`, or `RUNNING.json` of an unfinished run.
    summary: Value,
    /// Whether the shown run has not ended.
    unfinished: bool,
    /// Whether another run that will replace the shown result has begun.
    being_replaced: bool,
    tables: BTreeMap<&'static str, TableFiles>,
    /// Tables that exist and cannot be read, with the reason.
    damaged: BTreeMap<&'static str, String>,
    bins: OnceLock<Vec<(u64, u64)>>,
}

impl ResultFolder {
    /// Reads the contents of a folder.
    pub fn open(path: &Path) -> Result<ResultFolder, OpenError> {
        let running = Running::load(path)?;
        let unfinished = running.is_some() && !path.join(SUMMARY).exists();
        let being_replaced = running.is_some() && !unfinished;
        let (summary, mut parts) = match unfinished {
            true => (serde_json::to_value(running), Running::files(path)?),
            false => (serde_json::to_value(Summary::load(path)?), BTreeMap::new()),
        };
        let (mut tables, mut damaged) = (BTreeMap::new(), BTreeMap::new());
        for known in KNOWN {
            let mut files = vec![path.join(format!("{}.parquet", known.name))];
            if unfinished {
                files.extend(parts.remove(known.name).unwrap_or_default());
            }
            files.retain(|file| file.is_file());
            match TableFiles::read(files) {
                Ok(None) => {}
                Ok(Some(table)) => {
                    tables.insert(known.name, table);
                }
                Err(error) => {
                    damaged.insert(known.name, error.to_string());
                }
            }
        }
        Ok(ResultFolder {
            path: path.into(),
            name: name(path),
            summary: summary.expect("plain data"),
            unfinished,
            being_replaced,
            tables,
            damaged,
            bins: OnceLock::new(),
        })
    }

    /// The description that the page receives first.
    pub fn describe(&self) -> Value {
        let tables = self.tables.iter();
        let tables: BTreeMap<&str, Value> = tables
            .map(|(name, table)| (*name, json!({ "rows": table.rows, "columns": table.columns })))
            .collect();
        json!({
            "name": self.name,
            "folder": self.path.display().to_string(),
            "unfinished": self.unfinished,
            "being_replaced": self.being_replaced,
            "summary": self.summary,
            "tables": tables,
            "damaged": self.damaged,
        })
    }

    /// The experiment with all defaults.
    pub fn experiment(&self) -> &Value {
        &self.summary["experiment"]
    }

    /// The summary of the run. `None` if it has not ended.
    pub fn ended(&self) -> Option<Summary> {
        let ended = (!self.unfinished).then(|| serde_json::from_value(self.summary.clone()));
        ended.map(|summary| summary.expect("it was a summary"))
    }

    /// The verdict of the run: the one that `fabricsim compare` prints, with `command` in each comparison, the grade of
    /// confidence in words as `trust`, and the router model as `router_model`. Computed from the tables for results of
    /// versions without verdicts, and after `fabricsim explain`. `None` if the run has not ended.
    ///
    /// # Errors
    /// A table that its rules read, or the explanation, is damaged.
    pub fn verdict(&self) -> Result<Option<Value>, ReadError> {
        if self.unfinished {
            return Ok(None);
        }
        let summary = Summary::load(&self.path)?;
        let verdict = verdict_of_folder(&self.path, &summary)?;
        let run = RepeatedRun {
            out: self.path.display().to_string(),
            ..RepeatedRun::default()
        };
        let comparisons = verdict.comparisons.iter().enumerate();
        let commands: Vec<String> = comparisons
            .map(|(index, c)| run.comparison(index + 1, c))
            .collect();
        let mut told = serde_json::to_value(&verdict).expect("plain data");
        told["trust"] = verdict.confidence.to_string().into();
        told["router_model"] = results::router_model(&summary).into();
        for (index, command) in commands.into_iter().enumerate() {
            told["comparisons"][index]["command"] = command.into();
        }
        Ok(Some(told))
    }

    /// Files and description of a table.
    pub fn table(&self, name: &str) -> Option<(&[PathBuf], &'static Known)> {
        let known = KNOWN.iter().find(|known| known.name == name)?;
        Some((&self.tables.get(name)?.files, known))
    }

    /// Start and end of all bins with rows, in order.
    pub fn bins(&self) -> Result<&[(u64, u64)], SliceError> {
        if let Some(bins) = self.bins.get() {
            return Ok(bins);
        }
        let mut bins = std::collections::BTreeSet::new();
        for name in SERIES {
            if let Some((files, _)) = self.table(name) {
                slice::each_pair(files, "begin_ps", "end_ps", &mut |begin, end| {
                    bins.insert((begin, end));
                })?;
            }
        }
        Ok(self.bins.get_or_init(|| bins.into_iter().collect()))
    }
}

/// Display name of a folder: the last component of its path.
fn name(path: &Path) -> String {
    let whole = path.canonicalize().unwrap_or_else(|_| path.into());
    let last = whole.file_name().unwrap_or(whole.as_os_str());
    last.to_string_lossy().into_owned()
}

impl TableFiles {
    /// Reads the footers of the files. `None` without files.
    fn read(files: Vec<PathBuf>) -> io::Result<Option<TableFiles>> {
        let (mut rows, mut columns) = (0, Vec::new());
        for file in &files {
            let builder =
                ParquetRecordBatchReaderBuilder::try_new(TableFile::open(file)?).map_err(io::Error::other)?;
            let of_file = builder.metadata().file_metadata().num_rows();
            rows += u64::try_from(of_file).map_err(io::Error::other)?;
            columns = builder
                .schema()
                .fields()
                .iter()
                .map(|field| field.name().clone())
                .collect();
        }
        let table = TableFiles { files, rows, columns };
        Ok((!table.files.is_empty()).then_some(table))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use results::rows::{self, LinkRow};
    use results::{JobTotals, Outcome, RUNNING, RunResult, RunSummary, TrafficTotals};
    use std::fs;

    #[test]
    fn what_is_no_result_is_refused_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let outcome = |path: &Path| match ResultFolder::open(path) {
            Ok(_) => panic!("opened"),
            Err(error) => error.to_string(),
        };
        assert!(outcome(folder.path()).contains("no summary.json"));
        assert!(outcome(&folder.path().join("nowhere")).contains("no summary.json"));
        fs::write(folder.path().join(SUMMARY), "{\"schema\": \"other/1\"}").unwrap();
        assert!(outcome(folder.path()).contains("its schema is 'other/1'"));
        fs::write(folder.path().join(RUNNING), "{").unwrap();
        assert!(outcome(folder.path()).contains("RUNNING.json is damaged"));
        fs::write(folder.path().join(RUNNING), "{}").unwrap();
        assert!(outcome(folder.path()).contains("missing field `schema`"));
    }

    #[test]
    fn a_run_that_has_not_ended_is_opened_and_damaged_tables_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let running = json!({
            "schema": "fabricsim/running/1",
            "version": "1",
            "began_unix_s": 0,
            "process": 1,
            "tables": [],
            "experiment": {},
        });
        fs::write(folder.path().join(RUNNING), running.to_string()).unwrap();
        fs::write(
            folder.path().join("links.parquet"),
            "PAR1 and then the power went",
        )
        .unwrap();
        let outcome = ResultFolder::open(folder.path()).unwrap().describe();
        assert_eq!(outcome["unfinished"], true);
        assert!(outcome["damaged"]["links"].is_string());
        assert_eq!(outcome["tables"], json!({}));
        let folder = ResultFolder::open(folder.path()).unwrap();
        assert_eq!(folder.verdict().unwrap(), None, "it gets one when it ends");
    }

    /// A result of traffic of which half arrived, because one global link of ten is full.
    fn congested(folder: &Path, with_verdict: bool) {
        let global = |link: u32| LinkRow {
            link,
            class: "global".into(),
            busy_ps: if link == 7 { 10_000_000 } else { 1_000_000 },
            busy_fraction: if link == 7 { 1.0 } else { 0.1 },
            bandwidth_bits_per_s: 100_000_000_000,
            ..LinkRow::default()
        };
        let traffic = TrafficTotals {
            offered_bytes: 400_000,
            accepted_bytes: 200_000,
            capacity_bytes: 1_000_000,
            ..TrafficTotals::default()
        };
        let mut outcome = Outcome {
            jobs: vec![JobTotals {
                name: "background".into(),
                traffic: Some(traffic),
                ..JobTotals::default()
            }],
            tables: vec![rows::links((0..10).map(global))],
            ..Outcome::default()
        };
        outcome.network.measured_ps = 10_000_000;
        let experiment = json!({
            "network": { "topology": { "kind": "dragonfly" }, "routing": { "algorithm": "minimal" }, "packet": "1 KiB" },
            "job": [{ "name": "background", "traffic": { "load": 0.4 } }],
            "run": { "until": "10 us" }
        });
        let mut result = RunResult::new(experiment, outcome, RunSummary::default());
        if with_verdict {
            result.judge();
        }
        result.write(folder, false).unwrap();
    }

    #[test]
    fn the_verdict_is_that_of_the_run_and_its_comparisons_have_commands() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("my result");
        congested(&path, true);
        let stored = Summary::load(&path).unwrap().verdict.expect("the run has one");
        let told = ResultFolder::open(&path).unwrap().verdict().unwrap().unwrap();
        assert_eq!(told["rule"], "few-full-links");
        assert_eq!(told["headline"], stored.headline);
        assert_eq!(told["places"][0]["links"], json!([7]));
        assert_eq!(told["trust"], stored.confidence.to_string());
        let commands = told["comparisons"].as_array().unwrap();
        assert!(!commands.is_empty());
        for (number, comparison) in (1..).zip(commands) {
            let command = comparison["command"].as_str().unwrap();
            let begin = "fabricsim run EXPERIMENT.toml --set ";
            let end = format!(" --out '{}-{number}'", path.display());
            assert!(command.starts_with(begin) && command.ends_with(&end), "{command}");
        }
    }

    #[test]
    fn a_result_without_a_verdict_gets_the_one_that_its_run_would_have_today() {
        let folder = tempfile::tempdir().unwrap();
        let [old, new] = ["old", "new"].map(|name| folder.path().join(name));
        congested(&old, false);
        congested(&new, true);
        assert!(Summary::load(&old).unwrap().verdict.is_none());
        let verdict = |path: &Path| ResultFolder::open(path).unwrap().verdict().unwrap().unwrap();
        for part in [
            "rule",
            "headline",
            "places",
            "times",
            "causes",
            "confidence",
            "trust",
        ] {
            assert_eq!(verdict(&old)[part], verdict(&new)[part], "{part}");
        }
        let described = ResultFolder::open(&new).unwrap().describe();
        assert_eq!(described["tables"]["links"]["rows"], 10);
        let columns = described["tables"]["links"]["columns"].as_array().unwrap();
        assert!(columns.contains(&json!("buffer_full_ps")), "{columns:?}");
        fs::write(old.join("links.parquet"), "PAR1 and then the power went").unwrap();
        let error = ResultFolder::open(&old)
            .unwrap()
            .verdict()
            .unwrap_err()
            .to_string();
        assert!(error.contains("links.parquet"), "{error}");
        let kept = verdict(&new);
        fs::write(new.join("links.parquet"), "PAR1 and then the power went").unwrap();
        assert_eq!(verdict(&new), kept, "that of the run needs no table");
    }
}
