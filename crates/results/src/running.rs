//! A run that is under way, or was killed: the file `RUNNING.json` in the folder of its result to come says so, and
//! the folder `running` beside it holds the parts of the tables that grow (see [`crate::stream`]).
//!
//! A result that the folder holds already stays whole beside them until the new one takes its place. An orderly
//! end without a result, such as an error, leaves nothing, unless there is a checkpoint to go on from.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{CHECKPOINT, ReadError, Table, WriteError};

/// Version of the keys of `RUNNING.json`.
const SCHEMA: &str = "fabricsim/running/1";

/// Name of the file that marks a folder whose run has not ended.
pub const RUNNING: &str = "RUNNING.json";

/// Name of the folder of the parts.
pub(crate) const PARTS: &str = "running";

/// What `RUNNING.json` says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Running {
    /// Version of these keys.
    pub schema: String,
    /// Version of FabricSim.
    pub version: String,
    /// When the run began, in seconds since 1970 (UTC).
    pub began_unix_s: u64,
    /// Number of the process that runs it, on its machine.
    pub process: u32,
    /// Tables that grow in the folder `running`.
    pub tables: Vec<String>,
    /// The experiment with every default filled in.
    pub experiment: Value,
}

/// The folder of a run under way.
pub struct RunningFolder {
    folder: PathBuf,
    /// Whether the folder was not there before.
    made: bool,
    ended: bool,
}

impl Running {
    /// What the folder of a run that has not ended says; none if it has no such file.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub fn load(folder: &Path) -> Result<Option<Running>, ReadError> {
        let path = folder.join(RUNNING);
        let text = match fs::read_to_string(&path) {
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

    /// The tables of the run so far, by name: those that grow, as far as they are on the disk.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn tables(folder: &Path) -> Result<Vec<Table>, ReadError> {
        let path = folder.join(PARTS);
        crate::stream::read_unfinished(&path).map_err(|source| ReadError::Io { path, source })
    }
}

impl RunningFolder {
    /// Marks the folder of a result to come. What another run has left there is removed, unless `goes_on`.
    ///
    /// # Errors
    /// The system refuses.
    pub fn begin(
        folder: &Path,
        experiment: Value,
        began_unix_s: u64,
        tables: &[&str],
        goes_on: bool,
    ) -> Result<RunningFolder, WriteError> {
        let failed = |path: &Path| {
            let path = path.to_path_buf();
            move |source| WriteError::Io { path, source }
        };
        let made = !folder.exists();
        let parts = folder.join(PARTS);
        if !goes_on && parts.exists() {
            fs::remove_dir_all(&parts).map_err(failed(&parts))?;
        }
        fs::create_dir_all(&parts).map_err(failed(&parts))?;
        let running = Running {
            schema: SCHEMA.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            began_unix_s,
            process: std::process::id(),
            tables: tables.iter().map(|name| (*name).to_string()).collect(),
            experiment,
        };
        let text = serde_json::to_string_pretty(&running).expect("plain data") + "\n";
        let of = RunningFolder {
            folder: folder.into(),
            made,
            ended: false,
        };
        let (path, hidden) = (folder.join(RUNNING), parts.join(RUNNING));
        fs::write(&hidden, text)
            .and_then(|()| fs::rename(&hidden, &path))
            .map_err(failed(&path))?;
        Ok(of)
    }

    /// Where the parts of tables go.
    pub fn parts(&self) -> PathBuf {
        self.folder.join(PARTS)
    }

    /// The result has taken the folder's place.
    pub fn end(mut self) {
        self.ended = true;
    }
}

impl Drop for RunningFolder {
    fn drop(&mut self) {
        if self.ended || self.folder.join(CHECKPOINT).exists() {
            return;
        }
        // What cannot be removed stays, and still says what it is.
        let _ = fs::remove_dir_all(self.folder.join(PARTS));
        let _ = fs::remove_file(self.folder.join(RUNNING));
        if self.made {
            let _ = fs::remove_dir(&self.folder);
        }
    }
}
