//! `fabricsim verify`: compares a whole result folder with the checksums that it carries.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::checksums::{ChecksumsByTable, checked};
use crate::entries::{CRITICAL_PATH, SUMMARY};
use crate::folder_checksums::read_checked;
use crate::table_file::damages;
use crate::{ReadError, Summary};

/// A result folder, compared with its checksums.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct VerifiedFolder {
    /// The folder.
    pub folder: PathBuf,
    /// Whether it carries checksums. Results of versions before do not, and nothing of them is compared.
    pub carries_checksums: bool,
    /// Tables that were compared.
    pub tables: u64,
    /// Bytes that were compared, those of `summary.json` and `critical_path.json` included.
    pub bytes: u64,
    /// What differs. Empty if all bytes are those that were written.
    pub damaged: Vec<DamagedFile>,
}

/// A file of a result folder that differs from its checksums.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DamagedFile {
    /// Name of the file.
    pub file: String,
    /// The parts that differ.
    pub what: Vec<String>,
}

/// Compares all files of a result folder with their checksums, from disk. `report.html` has no checksum: no reader
/// takes numbers from it, and `fabricsim report` writes it again.
///
/// # Errors
/// The folder is no result, or a file cannot be read.
pub fn verify(folder: &Path) -> Result<VerifiedFolder, ReadError> {
    let mut found = VerifiedFolder {
        folder: folder.into(),
        ..VerifiedFolder::default()
    };
    let tables = match found.text(SUMMARY)? {
        Some(tables) => tables,
        // The reason why the folder is no result.
        None => return Summary::load(folder).map(|_| found),
    };
    found.carries_checksums |= tables.is_some();
    if !found.carries_checksums {
        Summary::load(folder)?;
    }
    let mut known = tables.unwrap_or_default();
    if let Some(explanation) = found.text(CRITICAL_PATH)?.flatten() {
        known.extend(explanation);
    }
    for (table, checksums) in &known {
        let file = format!("{table}.parquet");
        let path = folder.join(&file);
        let what = match damages(&path, checksums) {
            Ok(what) => what,
            Err(e) if e.kind() == io::ErrorKind::NotFound => vec!["it is missing".into()],
            Err(source) => return Err(ReadError::Io { path, source }),
        };
        found.tables += 1;
        found.bytes += path.metadata().map_or(0, |metadata| metadata.len());
        found.add(file, what);
    }
    if found.carries_checksums && found.damaged.iter().all(|damaged| damaged.file != SUMMARY) {
        found.add_unknown_tables(&known)?;
    }
    Ok(found)
}

/// Compares `summary.json` with its checksum, unless the damage of the folder is [accepted](crate::accept_damage).
/// A folder without one has nothing to compare.
///
/// # Errors
/// It is damaged, or cannot be read.
pub fn verify_summary(folder: &Path) -> Result<(), ReadError> {
    let path = folder.join(SUMMARY);
    match read_checked(&path) {
        Err(e) if is_missing(&e) => Ok(()),
        Err(source) => Err(ReadError::Io { path, source }),
        Ok(_) => Ok(()),
    }
}

/// Whether a folder has a result that carries no checksums, so that its numbers cannot be verified: one of a version
/// before.
pub fn lacks_checksums(folder: &Path) -> bool {
    #[derive(Deserialize)]
    struct Schema {
        schema: Option<String>,
    }
    let text = config::read_text(&folder.join(SUMMARY), config::TEXT_BYTES).unwrap_or_default();
    let schema = serde_json::from_str(&text)
        .ok()
        .and_then(|Schema { schema }| schema);
    schema.as_deref() == Some(crate::SCHEMA) && matches!(checked(&text), Ok(None))
}

fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

impl VerifiedFolder {
    fn add(&mut self, file: String, what: Vec<String>) {
        if !what.is_empty() {
            self.damaged.push(DamagedFile { file, what });
        }
    }

    /// Compares a text with its last line. Returns the checksums of tables in it, if it has any. `None` if it does not
    /// exist.
    fn text(&mut self, name: &str) -> Result<Option<Option<ChecksumsByTable>>, ReadError> {
        let path = self.folder.join(name);
        let read = || {
            let mut bytes = Vec::new();
            config::open_input(&path, config::TEXT_BYTES)?.read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let bytes = match read() {
            Ok(bytes) => bytes,
            Err(e) if is_missing(&e) => return Ok(None),
            Err(source) => return Err(ReadError::Io { path, source }),
        };
        let checksums = str::from_utf8(&bytes).map(checked);
        match checksums {
            Ok(Ok(checksums)) => {
                if checksums.is_some() {
                    self.bytes += bytes.len() as u64;
                }
                Ok(Some(checksums))
            }
            _ => {
                self.carries_checksums = true;
                self.bytes += bytes.len() as u64;
                self.add(
                    name.into(),
                    vec!["its text, so that no table that it has checksums of was compared".into()],
                );
                Ok(Some(Some(ChecksumsByTable::new())))
            }
        }
    }

    /// Adds the tables in the folder that it has no checksums of.
    fn add_unknown_tables(&mut self, known: &ChecksumsByTable) -> Result<(), ReadError> {
        let path = self.folder.clone();
        let failed = |source| ReadError::Io {
            path: path.clone(),
            source,
        };
        let mut unknown = Vec::new();
        for entry in fs::read_dir(&path).map_err(failed)? {
            let file = entry.map_err(failed)?.file_name().to_string_lossy().into_owned();
            let table = file.strip_suffix(".parquet");
            if table.is_some_and(|table| !known.contains_key(table) && table != "critical_path") {
                unknown.push(file);
            }
        }
        unknown.sort();
        for file in unknown {
            self.add(file, vec!["it is not of this result".into()]);
        }
        Ok(())
    }
}
