//! Hidden folders beside a result: the new result while it is written, and the one that it replaces.
//!
//! Each contains a file that marks it. The folder of the new result loses its mark right before it is renamed.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::WriteError;
use crate::entries::PARTIAL;

/// A new hidden folder beside `target`, removed when dropped, with the permissions of any new folder.
pub(crate) fn hidden_sibling(target: &Path, parent: &Path) -> Result<TempDir, WriteError> {
    let mut builder = tempfile::Builder::new();
    let prefix = partial_prefix(target.file_name().unwrap_or_default());
    builder.prefix(&prefix);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
    let made = builder.tempdir_in(parent).and_then(|folder| {
        let mark = "A run of FabricSim writes this folder, and the next run removes it.\n";
        fs::write(folder.path().join(PARTIAL), mark)?;
        Ok(folder)
    });
    made.map_err(|source| WriteError::Io {
        path: target.into(),
        source,
    })
}

/// Gives the hidden folder its name, which nothing has.
pub(crate) fn rename(partial: TempDir, target: &Path) -> Result<(), WriteError> {
    let renamed = fs::remove_file(partial.path().join(PARTIAL));
    let renamed = renamed.and_then(|()| fs::rename(partial.path(), target));
    renamed.map_err(|source| WriteError::Io {
        path: target.into(),
        source,
    })?;
    // Nothing remains to be removed.
    let _ = partial.keep();
    Ok(())
}

/// Removes hidden folders that killed runs left while they wrote a result as `dir`. Those that cannot be removed stay,
/// and those without the mark: somebody else gave them such a name.
pub(crate) fn remove_partials(dir: &Path) {
    let Ok(target) = dir.canonicalize() else { return };
    let (Some(parent), Some(name)) = (target.parent(), target.file_name()) else {
        return;
    };
    let prefix = partial_prefix(name);
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix)) {
        let path = entry.path();
        if !path.is_symlink() && path.join(PARTIAL).is_file() {
            let _ = fs::remove_dir_all(path);
        }
    }
}

/// Prefix of the names of hidden folders beside a result of this name.
fn partial_prefix(name: &OsStr) -> String {
    format!(".{}.partial-", name.to_string_lossy())
}

/// Moves the old result into a hidden folder that is removed when dropped.
pub(crate) fn set_aside(target: &Path, parent: &Path) -> Result<TempDir, WriteError> {
    let aside = hidden_sibling(target, parent)?;
    fs::rename(target, aside.path().join("old")).map_err(|source| WriteError::Io {
        path: target.into(),
        source,
    })?;
    Ok(aside)
}
