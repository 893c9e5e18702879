//! An unfinished run: the file `RUNNING.json` in the folder of its future result, and beside it the folder `running`
//! with the parts of growing tables (see [`crate::stream`]).
//!
//! An older result in the folder stays whole until the new one replaces it. An orderly end without a result, such as
//! an error, removes both, unless there is a checkpoint to resume from.
//!
//! A run locks its `RUNNING.json` (`flock`). The system releases the lock when the process ends, also by a kill. File
//! systems without such locks do not refuse a second run.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::entries::{CHECKPOINT, PARTS, RUNNING};
use crate::run_path::{RunPath, is_at};
use crate::{ReadError, RunResult, Table, WriteError};

/// Version of the keys of `RUNNING.json`.
const SCHEMA: &str = "fabricsim/running/1";

/// The content of `RUNNING.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Running {
    /// Version of these keys.
    pub schema: String,
    /// Version of FabricSim.
    pub version: String,
    /// Start of the run, in seconds since 1970 (UTC).
    pub began_unix_s: u64,
    /// Number of its process on its machine.
    pub process: u32,
    /// Name of that machine; empty if unknown.
    #[serde(default)]
    pub host: String,
    /// Tables that may be in the folder `running`: growing ones, and those known from the start.
    pub tables: Vec<String>,
    /// The experiment with all defaults.
    pub experiment: Value,
}

/// The folder of a running run.
pub struct RunningFolder {
    path: RunPath,
    /// Folders that the run created, innermost first.
    made: Vec<PathBuf>,
    ended: bool,
    /// The locked `RUNNING.json`.
    mark: Arc<File>,
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
    /// Another run writes the folder, or the system refuses.
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
            host: host_name(),
            tables: tables.into_iter().map(String::from).collect(),
            experiment,
        };
        let text = serde_json::to_string_pretty(&running).expect("plain data") + "\n";
        let mark = Arc::new(locked(folder)?);
        let of = RunningFolder {
            path: RunPath::new(folder, &mark),
            made,
            ended: false,
            mark,
        };
        let path = folder.join(RUNNING);
        // The mark comes first: a folder of parts without it belongs to no run.
        let written = of.mark.set_len(0);
        let written = written.and_then(|()| (&*of.mark).write_all(text.as_bytes()));
        written.map_err(failed(&path))?;
        if parts.is_symlink() {
            return Err(WriteError::Link(parts));
        }
        if !goes_on && parts.exists() {
            fs::remove_dir_all(&parts).map_err(failed(&parts))?;
        }
        fs::create_dir_all(&parts).map_err(failed(&parts))?;
        crate::partial::remove_partials(folder);
        Ok(of)
    }

    /// Folder of the table parts.
    pub fn parts(&self) -> RunPath {
        self.path.join(PARTS)
    }

    /// File of the checkpoint.
    pub fn checkpoint(&self) -> RunPath {
        self.path.join(CHECKPOINT)
    }

    /// Replaces the folder by the result, and ends the run. Returns the folder, which may have been moved.
    ///
    /// # Errors
    /// As [`RunResult::write`], or the folder is gone. What is there stays.
    pub fn write(mut self, result: &RunResult) -> Result<PathBuf, WriteError> {
        let folder = self.path.now().map_err(|source| WriteError::Io {
            path: self.path.at_first(),
            source,
        })?;
        result.write(&folder, true)?;
        self.ended = true;
        Ok(folder)
    }
}

/// Checks that no run writes the folder. Changes nothing.
///
/// # Errors
/// A run writes it.
pub fn refuse_in_use(folder: &Path) -> Result<(), WriteError> {
    match config::open_input(&folder.join(RUNNING), config::TEXT_BYTES) {
        Ok(mark) if !can_lock(&mark, false) => Err(in_use(folder)),
        _ => Ok(()),
    }
}

/// Creates the folder, and opens and locks its `RUNNING.json`.
fn locked(folder: &Path) -> Result<File, WriteError> {
    let path = folder.join(RUNNING);
    let failed = |source| WriteError::Io {
        path: path.clone(),
        source,
    };
    loop {
        fs::create_dir_all(folder).map_err(failed)?;
        let mark = open_mark(&path)?;
        if !can_lock(&mark, true) {
            return Err(in_use(folder));
        }
        // The run that held the lock may have removed the file.
        if is_at(&mark, &path) {
            return Ok(mark);
        }
    }
}

/// Opens or creates a `RUNNING.json`, and no file elsewhere: what a run writes there would replace its content.
fn open_mark(path: &Path) -> Result<File, WriteError> {
    let failed = |source| WriteError::Io {
        path: path.into(),
        source,
    };
    // A FIFO would wait for a reader.
    match fs::symlink_metadata(path) {
        Ok(metadata) if !metadata.is_file() => return Err(WriteError::Link(path.into())),
        Ok(_) => {}
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => return Err(failed(e)),
    }
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits() as i32,
    );
    let mark = match options.open(path) {
        #[cfg(unix)]
        Err(e) if e.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            return Err(WriteError::Link(path.into()));
        }
        opened => opened.map_err(failed)?,
    };
    let metadata = mark.metadata().map_err(failed)?;
    if !metadata.is_file() || links(&metadata) != 1 {
        return Err(WriteError::Link(path.into()));
    }
    Ok(mark)
}

/// Number of names of a file. The run that held the lock may just have removed the only one.
#[cfg(unix)]
fn links(metadata: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(metadata).max(1)
}

#[cfg(not(unix))]
fn links(_: &fs::Metadata) -> u64 {
    1
}

/// The error that names the process of the run.
fn in_use(folder: &Path) -> WriteError {
    let by = match Running::load(folder) {
        Ok(Some(running)) => {
            let since = SystemTime::UNIX_EPOCH + Duration::from_secs(running.began_unix_s);
            let seconds = since.elapsed().unwrap_or_default().as_secs();
            format!(
                "process {} on {}, which started {seconds} s ago",
                running.process, running.host
            )
        }
        _ => "another process".into(),
    };
    WriteError::InUse {
        folder: folder.into(),
        by,
    }
}

/// Locks a file against other processes and other openings, `alone` or with other readers. Returns whether no other
/// has it locked, also where there are no locks.
#[cfg(unix)]
fn can_lock(file: &File, alone: bool) -> bool {
    use rustix::fs::{FlockOperation, flock};
    let operation = match alone {
        true => FlockOperation::NonBlockingLockExclusive,
        false => FlockOperation::NonBlockingLockShared,
    };
    flock(file, operation) != Err(rustix::io::Errno::WOULDBLOCK)
}

#[cfg(unix)]
fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(not(unix))]
fn can_lock(_: &File, _: bool) -> bool {
    true
}

#[cfg(not(unix))]
fn host_name() -> String {
    String::new()
}

impl Drop for RunningFolder {
    fn drop(&mut self) {
        // A folder that is gone, or of another run by now, is left alone.
        let Ok(now) = self.path.now() else { return };
        if self.ended || now.join(CHECKPOINT).exists() {
            return;
        }
        // Files that cannot be removed stay, with their mark.
        let _ = fs::remove_dir_all(now.join(PARTS));
        let _ = fs::remove_file(now.join(RUNNING));
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

    /// A kill drops nothing, and the system releases the lock.
    #[cfg(unix)]
    fn kill(run: RunningFolder) {
        rustix::fs::flock(&run.mark, rustix::fs::FlockOperation::Unlock).unwrap();
        std::mem::forget(run);
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_has_one_run() {
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join("results/new");
        let first = begin(&folder, false);
        fs::write(folder.join("running/link_series.00000.parquet"), "a part").unwrap();
        let second = RunningFolder::begin(&folder, Value::Null, 2, [], false);
        for refused in [
            second.err(),
            may_write(&folder).err(),
            refuse_in_use(&folder).err(),
        ] {
            let error = refused.expect("refused").to_string();
            assert!(
                error.contains(&format!("process {} on ", std::process::id())),
                "{error}"
            );
        }
        assert!(folder.join("running/link_series.00000.parquet").exists());
        assert_eq!(Running::load(&folder).unwrap().unwrap().began_unix_s, 1);
        kill(first);
        drop(begin(&folder, true));
        refuse_in_use(&folder).unwrap();
        assert!(!folder.join(RUNNING).exists());
    }

    #[cfg(unix)]
    #[test]
    fn an_orderly_end_leaves_nothing_and_a_kill_says_so() {
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join("results/new");
        drop(begin(&folder, false));
        assert_eq!(fs::read_dir(above.path()).unwrap().count(), 0);

        kill(begin(&folder, false));
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
        kill(begin(&folder, true));
        assert!(folder.join("running/link_series.00000.parquet").exists());
        kill(begin(&folder, false));
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
    fn hidden_folders_of_killed_runs_are_removed_and_others_stay() {
        let above = tempfile::tempdir().unwrap();
        let target = above.path().join("new");
        let of_a_run = crate::partial::hidden_sibling(&target, above.path())
            .unwrap()
            .keep();
        fs::write(of_a_run.join("links.parquet"), "half").unwrap();
        for name in [".new.partial-mybackup", ".newer.partial-a1b2c3", ".new.other"] {
            fs::create_dir(above.path().join(name)).unwrap();
            fs::write(above.path().join(name).join("links.parquet"), "half").unwrap();
        }
        let running = begin(&target, false);
        assert!(!of_a_run.exists());
        drop(running);
        assert_eq!(fs::read_dir(above.path()).unwrap().count(), 3);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed() {
        use std::os::unix::fs::symlink;
        let above = tempfile::tempdir().unwrap();
        let target = above.path().join("precious.txt");
        fs::write(&target, "precious").unwrap();
        let refused = |make: &dyn Fn(&Path)| {
            let folder = tempfile::tempdir_in(above.path()).unwrap();
            make(folder.path());
            let begun = RunningFolder::begin(folder.path(), Value::Null, 1, [], false);
            let Err(error) = begun else { panic!("not refused") };
            assert!(matches!(error, WriteError::Link(_)), "{error}");
            assert_eq!(fs::read_to_string(&target).unwrap(), "precious");
        };
        refused(&|folder| symlink(&target, folder.join(RUNNING)).unwrap());
        refused(&|folder| fs::hard_link(&target, folder.join(RUNNING)).unwrap());
        refused(&|folder| fs::create_dir(folder.join(RUNNING)).unwrap());
        refused(&|folder| {
            let fifo = folder.join(RUNNING);
            rustix::fs::mknodat(
                rustix::fs::CWD,
                &fifo,
                rustix::fs::FileType::Fifo,
                rustix::fs::Mode::RWXU,
                0,
            )
            .unwrap();
        });
        refused(&|folder| symlink(above.path(), folder.join(PARTS)).unwrap());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_run_follows_its_folder_and_leaves_alone_the_next_one_of_that_name() {
        let above = tempfile::tempdir().unwrap();
        let (first, moved) = (above.path().join("L"), above.path().join("M"));
        let run = begin(&first, false);
        fs::rename(&first, &moved).unwrap();
        assert_eq!(run.checkpoint().now().unwrap(), moved.join(CHECKPOINT));
        let second = begin(&first, false);
        assert_eq!(second.parts().now().unwrap(), first.join(PARTS));
        assert_eq!(run.parts().now().unwrap(), moved.join(PARTS));
        drop(run);
        assert!(first.join(RUNNING).exists() && !moved.join(RUNNING).exists());
        fs::remove_dir_all(&first).unwrap();
        let error = second.parts().now().unwrap_err().to_string();
        assert!(error.contains("was moved or removed"), "{error}");
        // Another run has the name by now.
        let third = begin(&first, false);
        drop(second);
        assert!(first.join(RUNNING).exists());
        drop(third);
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
