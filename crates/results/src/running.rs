//! An unfinished run: the file `RUNNING.json` in the folder of its future result, and beside it the folder `running`
//! with the parts of growing tables (see [`crate::stream`]).
//!
//! An older result in the folder stays whole until the new one replaces it. An orderly end without a result, such as
//! an error, removes both, unless there is a checkpoint to resume from.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{CHECKPOINT, ReadError, Table, WriteError};

/// Version of the keys of `RUNNING.json`.
const SCHEMA: &str = "fabricsim/running/1";

/// Name of the file that marks the folder of an unfinished run.
pub const RUNNING: &str = "RUNNING.json";

/// Name of the folder of table parts.
pub(crate) const PARTS: &str = "running";

/// The content of `RUNNING.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Running {
    /// Version of these keys.
    pub schema: String,
    /// Version of FabricSim.
    pub version: String,
    /// Begin of the run, in seconds since 1970 (UTC).
    pub began_unix_s: u64,
    /// Number of its process on its machine.
    pub process: u32,
    /// Tables that may be in the folder `running`: growing ones, and those known from the start.
    pub tables: Vec<String>,
    /// The experiment with all defaults.
    pub experiment: Value,
}

/// The folder of a running run.
pub struct RunningFolder {
    folder: PathBuf,
    /// Folders that the run created, innermost first.
    made: Vec<PathBuf>,
    ended: bool,
}

impl Running {
    /// Reads `RUNNING.json` of a folder. `None` if the folder has no such file.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub fn load(folder: &Path) -> Result<Option<Running>, ReadError> {
        let path = folder.join(RUNNING);
        let text = match config::read_text(&path, config::TEXT_BYTES) {
            Ok(text) => text,
            Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(source) => return Err(ReadError::Io { path, source }),
        };
        match serde_json::from_str::<Running>(&text) {
            Ok(running) if running.schema == SCHEMA => Ok(Some(running)),
            Ok(running) => Err(ReadError::NotAResult {
                folder: folder.into(),
                why: format!(
                    "the schema of its {RUNNING} is '{}', this version reads '{SCHEMA}'",
                    running.schema
                ),
            }),
            Err(e) => Err(ReadError::NotAResult {
                folder: folder.into(),
                why: format!("its {RUNNING} is damaged ({e})"),
            }),
        }
    }

    /// The tables of the run that are on disk, by name. `links` lacks [`crate::rows::LINK_LATER`].
    ///
    /// # Errors
    /// They cannot be read.
    pub fn tables(folder: &Path) -> Result<Vec<Table>, ReadError> {
        let path = folder.join(PARTS);
        crate::stream::read_unfinished(&path).map_err(|source| ReadError::Io { path, source })
    }

    /// Files of the tables that are on disk, by table, in row order. Empty if the run has just begun.
    ///
    /// # Errors
    /// The folder of the parts cannot be read.
    pub fn files(folder: &Path) -> Result<BTreeMap<String, Vec<PathBuf>>, ReadError> {
        let path = folder.join(PARTS);
        match crate::stream::table_parts(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(BTreeMap::new()),
            files => files.map_err(|source| ReadError::Io { path, source }),
        }
    }
}

impl RunningFolder {
    /// Marks the folder of a future result. Removes what another run has left there, unless `goes_on`.
    ///
    /// # Errors
    /// The system refuses.
    pub fn begin(
        folder: &Path,
        experiment: Value,
        began_unix_s: u64,
        tables: impl IntoIterator<Item = &'static str>,
        goes_on: bool,
    ) -> Result<RunningFolder, WriteError> {
        let failed = |path: &Path| {
            let path = path.to_path_buf();
            move |source| WriteError::Io { path, source }
        };
        let above = folder.ancestors().filter(|above| !above.as_os_str().is_empty());
        let made = above
            .take_while(|above| !above.exists())
            .map(Path::to_path_buf)
            .collect();
        let parts = folder.join(PARTS);
        let running = Running {
            schema: SCHEMA.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            began_unix_s,
            process: std::process::id(),
            tables: tables.into_iter().map(String::from).collect(),
            experiment,
        };
        let text = serde_json::to_string_pretty(&running).expect("plain data") + "\n";
        let of = RunningFolder {
            folder: folder.into(),
            made,
            ended: false,
        };
        let path = folder.join(RUNNING);
        fs::create_dir_all(folder).map_err(failed(folder))?;
        // The mark comes first: a folder of parts without it belongs to no run.
        fs::write(&path, text).map_err(failed(&path))?;
        if !goes_on && parts.exists() {
            fs::remove_dir_all(&parts).map_err(failed(&parts))?;
        }
        fs::create_dir_all(&parts).map_err(failed(&parts))?;
        crate::folder::remove_partials(folder);
        Ok(of)
    }

    /// Folder of the table parts.
    pub fn parts(&self) -> PathBuf {
        self.folder.join(PARTS)
    }

    /// Ends the run after its result has replaced the folder.
    pub fn end(mut self) {
        self.ended = true;
    }
}

impl Drop for RunningFolder {
    fn drop(&mut self) {
        if self.ended || self.folder.join(CHECKPOINT).exists() {
            return;
        }
        // Files that cannot be removed stay, with their mark.
        let _ = fs::remove_dir_all(self.folder.join(PARTS));
        let _ = fs::remove_file(self.folder.join(RUNNING));
        for folder in &self.made {
            let _ = fs::remove_dir(folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RunResult, Summary, may_write};

    fn begin(folder: &Path, goes_on: bool) -> RunningFolder {
        RunningFolder::begin(folder, Value::Null, 1, ["link_series"], goes_on).unwrap()
    }

    #[test]
    fn an_orderly_end_leaves_nothing_and_a_kill_says_so() {
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join("results/new");
        drop(begin(&folder, false));
        assert_eq!(fs::read_dir(above.path()).unwrap().count(), 0);

        // A kill drops nothing.
        std::mem::forget(begin(&folder, false));
        fs::write(folder.join("running/link_series.00000.parquet"), "a part").unwrap();
        let running = Running::load(&folder).unwrap().expect("it says so");
        assert_eq!((running.began_unix_s, running.process), (1, std::process::id()));
        for error in [
            Summary::load(&folder).unwrap_err(),
            RunResult::load(&folder).unwrap_err(),
        ] {
            assert!(
                error.to_string().contains("is still running or was killed"),
                "{error}"
            );
        }
        may_write(&folder).unwrap();

        // The run is resumed, or another one begins.
        std::mem::forget(begin(&folder, true));
        assert!(folder.join("running/link_series.00000.parquet").exists());
        std::mem::forget(begin(&folder, false));
        assert!(!folder.join("running/link_series.00000.parquet").exists());

        // A checkpoint needs the parts.
        fs::write(folder.join(CHECKPOINT), "a checkpoint").unwrap();
        drop(begin(&folder, true));
        assert!(folder.join(RUNNING).exists() && folder.join("running").exists());
        fs::remove_file(folder.join(CHECKPOINT)).unwrap();
        drop(begin(&folder, true));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    }

    #[test]
    fn hidden_folders_of_killed_runs_are_removed() {
        let above = tempfile::tempdir().unwrap();
        for name in [".new.partial-a1b2c3", ".newer.partial-a1b2c3", ".new.other"] {
            fs::create_dir(above.path().join(name)).unwrap();
            fs::write(above.path().join(name).join("links.parquet"), "half").unwrap();
        }
        let running = begin(&above.path().join("new"), false);
        assert!(!above.path().join(".new.partial-a1b2c3").exists());
        drop(running);
        assert_eq!(fs::read_dir(above.path()).unwrap().count(), 2);
    }

    #[test]
    fn what_others_call_running_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("running")).unwrap();
        assert!(may_write(folder.path()).is_err());
        fs::write(folder.path().join(RUNNING), "{}").unwrap();
        let error = Running::load(folder.path()).unwrap_err().to_string();
        assert!(error.contains("RUNNING.json is damaged"), "{error}");
        fs::write(folder.path().join(RUNNING), "{\"schema\": 5}").unwrap();
        assert!(Running::load(folder.path()).is_err());
        assert_eq!(Running::load(&folder.path().join("nowhere")).unwrap(), None);
    }
}
