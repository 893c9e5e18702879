//! The result folder: `summary.json`, one Parquet file per table, `report.html`.
//!
//! A folder appears completely or not at all. It is written under a hidden name beside its target and renamed when
//! the disk has everything. An older result is replaced only on demand, and only if the folder contains nothing but a
//! result.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::checksums::{ChecksumsByTable, TableChecksums, with_checksums};
use crate::entries::{CHECKPOINT, OPERATIONS, PARTIAL_CHECKPOINT, PARTS, REPLAY, REPORT, RUNNING, SUMMARY};
use crate::folder_checksums::read_checked;
use crate::partial::{hidden_sibling, rename, set_aside};
use crate::report::{IN_MEMORY, report_with_files};
use crate::running::refuse_in_use;
use crate::{CRITICAL_PATH, ReadError, RegenerateError, RunResult, Running, Summary, Table, WriteError};

impl Summary {
    /// Reads the summary of a result folder.
    ///
    /// # Errors
    /// The folder has no `summary.json`, or that of another program or version, or one that is damaged: its bytes are
    /// not those that its checksum covers.
    pub fn load(folder: &Path) -> Result<Summary, ReadError> {
        let path = folder.join(SUMMARY);
        let wrong = |why: String| ReadError::NotAResult {
            folder: folder.into(),
            why,
        };
        let text = match read_checked(&path) {
            Ok(text) => text,
            Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Err(wrong(match Running::load(folder)? {
                    Some(_) => format!(
                        "its run is still running or was killed ({RUNNING}); {PARTS}/ contains its measurements so far"
                    ),
                    None => format!("it has no {SUMMARY}"),
                }));
            }
            Err(source) => return Err(ReadError::Io { path, source }),
        };
        let json: serde_json::Value =
            serde_json::from_str(&text).map_err(|e| wrong(format!("its {SUMMARY} is damaged ({e})")))?;
        match json.get("schema").and_then(|s| s.as_str()) {
            Some(crate::SCHEMA) => {}
            Some(other) => {
                return Err(wrong(format!(
                    "its schema is '{other}', this version reads '{}'",
                    crate::SCHEMA
                )));
            }
            None => return Err(wrong(format!("its {SUMMARY} names no schema"))),
        }
        serde_json::from_value(json)
            .map(Summary::without_zeros)
            .map_err(|e| wrong(format!("its {SUMMARY} is damaged ({e})")))
    }
}

impl RunResult {
    /// Writes the result as the folder `dir`, completely or not at all. Creates missing parents.
    ///
    /// # Errors
    /// A result exists and `overwrite` is false; something else exists; the system refuses. In each case the existing
    /// content is unchanged and nothing is added.
    pub fn write(&self, dir: &Path, overwrite: bool) -> Result<(), WriteError> {
        let target = prepare(dir, overwrite)?;
        let parent = target.parent().unwrap_or(Path::new("/"));
        let partial = hidden_sibling(&target, parent)?;
        self.write_files(partial.path())?;
        let replaced = if target.exists() {
            Some(set_aside(&target, parent)?)
        } else {
            None
        };
        rename(partial, &target).inspect_err(|_| {
            if let Some(old) = &replaced {
                // If this fails too, the first error is reported.
                let _ = fs::rename(old.path().join("old"), &target);
            }
        })
    }

    /// Reads a result folder: summary and all tables.
    ///
    /// # Errors
    /// As [`Summary::load`], or a table is damaged.
    pub fn load(folder: &Path) -> Result<RunResult, ReadError> {
        let summary = Summary::load(folder)?;
        let io = |path: &Path| {
            let path = path.to_path_buf();
            move |source| ReadError::Io { path, source }
        };
        let mut tables = Vec::new();
        for entry in fs::read_dir(folder).map_err(io(folder))? {
            let path = entry.map_err(io(folder))?.path();
            if path.extension().is_some_and(|e| e == "parquet") {
                tables.push(Table::read(&path).map_err(io(&path))?);
            }
        }
        tables.sort_by(|a, b| a.name().cmp(b.name()));
        let collected = Vec::new();
        Ok(RunResult {
            summary,
            tables,
            collected,
            replay: None,
        })
    }

    fn write_files(&self, folder: &Path) -> Result<(), WriteError> {
        let failed = |path: &Path, source| WriteError::Io {
            path: path.into(),
            source,
        };
        let mut checksums = ChecksumsByTable::new();
        let mut written = |name: &str, write: &dyn Fn(&Path) -> io::Result<()>| {
            let path = folder.join(format!("{name}.parquet"));
            let table = write(&path).and_then(|()| TableChecksums::of_file(&path));
            checksums.insert(name.into(), table.map_err(|e| failed(&path, e))?);
            Ok::<_, WriteError>(())
        };
        for table in &self.tables {
            written(table.name(), &|path| table.write(path))?;
        }
        for table in self.collected.iter().filter(|table| table.in_memory().is_none()) {
            written(table.name(), &|path| table.write(path))?;
        }
        let summary = with_checksums(&self.summary, &checksums);
        let report = report_with_files(&self.summary, &self.tables, folder)?;
        let mut texts = vec![(REPORT, report), (SUMMARY, summary)];
        if let Some(replay) = &self.replay {
            for file in &replay.operations {
                let from = file.now().map_err(|e| failed(&file.at_first(), e))?;
                let to = folder.join(from.file_name().unwrap_or_default());
                fs::rename(&from, &to).map_err(|e| failed(&from, e))?;
            }
            texts.push((REPLAY, replay.experiment.clone()));
        }
        for (name, text) in texts {
            let path = folder.join(name);
            write_text(&path, &text).map_err(|e| failed(&path, e))?;
        }
        Ok(())
    }
}

/// Checks, before a long run, whether the result of a new run may be written as the folder `dir` and replace an
/// earlier result there. Changes nothing.
///
/// # Errors
/// Another run writes `dir`; it cannot be a folder, or contains something other than a result, or the checkpoint of
/// another run.
pub fn may_write(dir: &Path) -> Result<(), WriteError> {
    refuse_in_use(dir)?;
    if dir.join(CHECKPOINT).exists() {
        return Err(WriteError::Unfinished(dir.into()));
    }
    match dir.symlink_metadata() {
        Ok(_) => refuse_foreign(dir, &existing(dir)?, true),
        Err(_) if dir.file_name().is_none() => Err(WriteError::NotAFolder(dir.into())),
        Err(_) => match dir.ancestors().find(|above| above.exists()) {
            Some(above) if !above.is_dir() => Err(WriteError::NotAFolder(above.into())),
            _ => Ok(()),
        },
    }
}

/// Rewrites `report.html` of a result folder from its summary and tables. Returns its path. Tables that grow with
/// simulated time are read batch by batch.
///
/// # Errors
/// The folder is not a result, or cannot be written.
pub fn regenerate_report(folder: &Path) -> Result<PathBuf, RegenerateError> {
    let summary = Summary::load(folder)?;
    let mut tables = Vec::new();
    for name in IN_MEMORY {
        let path = folder.join(format!("{name}.parquet"));
        if path.exists() {
            tables.push(Table::read(&path).map_err(|source| ReadError::Io { path, source })?);
        }
    }
    let page = report_with_files(&summary, &tables, folder)?;
    let path = folder.join(REPORT);
    let failed = |source| WriteError::Io {
        path: path.clone(),
        source,
    };
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    file.write_all(page.as_bytes()).map_err(failed)?;
    // Gives the permissions of any new file instead of those of a temporary file.
    if let Ok(metadata) = fs::metadata(folder.join(SUMMARY)) {
        fs::set_permissions(file.path(), metadata.permissions()).map_err(failed)?;
    }
    file.persist(&path).map_err(|e| failed(e.error))?;
    Ok(path)
}

/// Rewrites `report.html` of a result folder if it has one, after a change of what it shows. Returns its path.
///
/// # Errors
/// As [`regenerate_report`].
pub fn renew_report(folder: &Path) -> Result<Option<PathBuf>, RegenerateError> {
    match folder.join(REPORT).is_file() {
        true => regenerate_report(folder).map(Some),
        false => Ok(None),
    }
}

/// The absolute target path, with its parent created. Returns an error for a folder that must not be replaced.
fn prepare(dir: &Path, overwrite: bool) -> Result<PathBuf, WriteError> {
    if dir.symlink_metadata().is_ok() {
        let target = existing(dir)?;
        refuse_foreign(dir, &target, overwrite)?;
        return Ok(target);
    }
    let name = dir
        .file_name()
        .ok_or_else(|| WriteError::NotAFolder(dir.into()))?;
    let parent = match dir.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let io = |source| WriteError::Io {
        path: dir.into(),
        source,
    };
    fs::create_dir_all(parent).map_err(io)?;
    Ok(parent.canonicalize().map_err(io)?.join(name))
}

/// Resolves symbolic links: the link stays, and its folder is replaced.
fn existing(dir: &Path) -> Result<PathBuf, WriteError> {
    let target = dir.canonicalize().map_err(|source| WriteError::Io {
        path: dir.into(),
        source,
    })?;
    if !target.is_dir() || target.parent().is_none() {
        return Err(WriteError::NotAFolder(dir.into()));
    }
    Ok(target)
}

fn refuse_foreign(dir: &Path, target: &Path, overwrite: bool) -> Result<(), WriteError> {
    let io = |source| WriteError::Io {
        path: dir.into(),
        source,
    };
    let mut names = Vec::new();
    for entry in fs::read_dir(target).map_err(io)? {
        names.push(entry.map_err(io)?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    if names.is_empty() {
        return Ok(());
    }
    let of_checkpoint = |name: &str| name == CHECKPOINT || name.starts_with(PARTIAL_CHECKPOINT);
    // Entries that a killed run leaves.
    let of_run = |name: &str| of_checkpoint(name) || name == RUNNING || name == PARTS;
    let marked = names.iter().any(|name| name == RUNNING) || !names.iter().any(|name| name == PARTS);
    if marked && names.iter().all(|name| of_run(name)) {
        return Ok(());
    }
    let of_result = |name: &str| {
        [SUMMARY, REPORT, CRITICAL_PATH, REPLAY].contains(&name)
            || name.ends_with(".parquet")
            || name.ends_with(OPERATIONS)
    };
    let ours = |name: &str| marked && of_run(name) || of_result(name);
    if let Some(found) = names.iter().find(|name| !ours(name)) {
        return Err(WriteError::NotAResult {
            folder: dir.into(),
            found: found.clone(),
        });
    }
    if !is_summary(&target.join(SUMMARY)) {
        return Err(WriteError::NotAResult {
            folder: dir.into(),
            found: names.swap_remove(0),
        });
    }
    if overwrite {
        Ok(())
    } else {
        Err(WriteError::Exists(dir.into()))
    }
}

/// Whether this is a summary of any version of FabricSim.
fn is_summary(path: &Path) -> bool {
    let json = config::read_text(path, config::TEXT_BYTES)
        .ok()
        .and_then(|text| serde_json::from_str::<serde_json::Value>(&text).ok());
    let schema = json.as_ref().and_then(|j| j.get("schema")?.as_str());
    schema.is_some_and(|s| s.starts_with("fabricsim/summary/"))
}

fn write_text(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
