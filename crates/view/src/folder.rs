//! One result folder, as it was found: which tables it has, and what is wrong with it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Value, json};

use crate::slice::{self, SliceError};
use results::RUNNING;

const SUMMARY: &str = "summary.json";

/// A table that the page may ask for, with the columns that say when a row begins and ends.
pub(crate) struct Known {
    pub name: &'static str,
    pub time: Option<(&'static str, &'static str)>,
}

const BINS: Option<(&str, &str)> = Some(("begin_ps", "end_ps"));

/// All tables that are given out.
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
        name: "messages",
        time: Some(("posted_ps", "matched_ps")),
    },
    Known {
        name: "ranks",
        time: None,
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
        name: "timeline",
        time: BINS,
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

/// Tables whose bins the slider goes through.
const SERIES: [&str; 2] = ["class_series", "link_series"];

/// Why a folder cannot be shown at all.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// No result of this version, finished or not.
    #[error(transparent)]
    NotAResult(#[from] results::ReadError),
    /// The sign of an unfinished run cannot be understood.
    #[error("{} is not a FabricSim result: its {RUNNING} is damaged ({why})", .folder.display())]
    Damaged {
        /// The folder.
        folder: PathBuf,
        /// What is wrong.
        why: String,
    },
}

/// A result folder.
pub(crate) struct Folder {
    path: PathBuf,
    name: String,
    /// `summary.json`, or what an unfinished run has left instead.
    summary: Value,
    /// Whether what is shown is a run that has not ended.
    unfinished: bool,
    /// Whether a run has begun that will replace what is shown.
    being_replaced: bool,
    /// Found tables: files in their order, rows.
    tables: BTreeMap<&'static str, (Vec<PathBuf>, u64)>,
    /// Tables that are there and cannot be read, with the reason.
    damaged: BTreeMap<&'static str, String>,
    bins: OnceLock<Vec<(u64, u64)>>,
}

impl Folder {
    /// Looks at what is in a folder.
    pub fn open(path: &Path) -> Result<Folder, OpenError> {
        let running = unfinished(path)?;
        let whole = path.join(SUMMARY).exists();
        let (summary, unfinished, being_replaced) = match running {
            Some(running) if !whole => (running, true, false),
            running => {
                let summary = results::Summary::load(path)?;
                let summary = serde_json::to_value(summary).expect("a summary is plain data");
                (summary, false, running.is_some())
            }
        };
        let mut parts = match unfinished {
            true => results::Running::files(path)?,
            false => BTreeMap::new(),
        };
        let (mut tables, mut damaged) = (BTreeMap::new(), BTreeMap::new());
        for known in KNOWN {
            let mut files = vec![path.join(format!("{}.parquet", known.name))];
            if unfinished {
                files.extend(parts.remove(known.name).unwrap_or_default());
            }
            files.retain(|file| file.is_file());
            let rows = files.iter().map(|file| rows(file)).sum::<io::Result<u64>>();
            match rows {
                _ if files.is_empty() => {}
                Ok(rows) => {
                    tables.insert(known.name, (files, rows));
                }
                Err(error) => {
                    damaged.insert(known.name, error.to_string());
                }
            }
        }
        Ok(Folder {
            path: path.into(),
            name: name(path),
            summary,
            unfinished,
            being_replaced,
            tables,
            damaged,
            bins: OnceLock::new(),
        })
    }

    /// What the page is told first.
    pub fn describe(&self) -> Value {
        let tables: BTreeMap<&str, u64> = self
            .tables
            .iter()
            .map(|(name, (_, rows))| (*name, *rows))
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

    /// Files and description of a table.
    pub fn table(&self, name: &str) -> Option<(&[PathBuf], &'static Known)> {
        let (files, _) = self.tables.get(name)?;
        let known = KNOWN.iter().find(|known| known.name == name)?;
        Some((files, known))
    }

    /// Begin and end of all bins in which anything happened, in their order.
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

/// What a run that has not ended says of itself, if there is such a run.
fn unfinished(folder: &Path) -> Result<Option<Value>, OpenError> {
    let text = match fs::read_to_string(folder.join(RUNNING)) {
        Ok(text) => text,
        Err(_) => return Ok(None),
    };
    let damaged = |why: String| OpenError::Damaged {
        folder: folder.into(),
        why,
    };
    let value: Value = serde_json::from_str(&text).map_err(|e| damaged(e.to_string()))?;
    match value.get("schema").and_then(Value::as_str) {
        Some(schema) if schema.starts_with("fabricsim/") => Ok(Some(value)),
        Some(schema) => Err(damaged(format!("its schema is '{schema}'"))),
        None => Err(damaged("it names no schema".into())),
    }
}

/// Name of a folder for people: its last part, or the one before where that says nothing.
fn name(path: &Path) -> String {
    let whole = path.canonicalize().unwrap_or_else(|_| path.into());
    let last = whole.file_name().unwrap_or(whole.as_os_str());
    last.to_string_lossy().into_owned()
}

fn rows(file: &Path) -> io::Result<u64> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(file)?).map_err(io::Error::other)?;
    u64::try_from(builder.metadata().file_metadata().num_rows()).map_err(io::Error::other)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    #[test]
    fn what_is_no_result_is_refused_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let told = |path: &Path| match Folder::open(path) {
            Ok(_) => panic!("opened"),
            Err(error) => error.to_string(),
        };
        assert!(told(folder.path()).contains("no summary.json"));
        assert!(told(&folder.path().join("nowhere")).contains("no summary.json"));
        fs::write(folder.path().join(SUMMARY), "{\"schema\": \"other/1\"}").unwrap();
        assert!(told(folder.path()).contains("its schema is 'other/1'"));
        fs::write(folder.path().join(RUNNING), "{").unwrap();
        assert!(told(folder.path()).contains("RUNNING.json is damaged"));
        fs::write(folder.path().join(RUNNING), "{}").unwrap();
        assert!(told(folder.path()).contains("names no schema"));
    }

    #[test]
    fn a_run_that_has_not_ended_is_opened_and_damaged_tables_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let running = "{\"schema\": \"fabricsim/running/1\"}";
        fs::write(folder.path().join(RUNNING), running).unwrap();
        fs::write(
            folder.path().join("links.parquet"),
            "PAR1 and then the power went",
        )
        .unwrap();
        let told = Folder::open(folder.path()).unwrap().describe();
        assert_eq!(told["unfinished"], true);
        assert!(told["damaged"]["links"].is_string());
        assert_eq!(told["tables"], json!({}));
    }
}
