//! The target of an export. The export is written beside its target and renamed when complete.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile, TempDir};

use crate::Error;
use crate::format::Made;

/// The target of an export, and the draft beside it.
pub(crate) struct ExportTarget {
    target: PathBuf,
    draft: Draft,
}

enum Draft {
    File(NamedTempFile),
    Folder(TempDir),
}

impl ExportTarget {
    /// The target `out`, or one beside the result in `folder` and named after it. Creates only an empty draft, which
    /// is removed when this value is dropped.
    pub fn new(folder: &Path, out: Option<&Path>, made: Made) -> Result<ExportTarget, Error> {
        let target = match out {
            Some(out) => out.to_path_buf(),
            None => beside(folder, &made)?,
        };
        let refused = |what: &str| Error::Taken {
            path: target.clone(),
            what: what.into(),
        };
        match (&made, target.is_dir()) {
            (Made::File(_), true) => return Err(refused("is a folder, where a file is to be written")),
            (Made::Folder(_), false) if target.exists() => {
                return Err(refused("is not a folder"));
            }
            _ => {}
        }
        let failed = |source| Error::Write {
            path: target.clone(),
            source,
        };
        let parent = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            Some(_) => Path::new("."),
            None => return Err(refused("is the root of the file system")),
        };
        let inside = parent.canonicalize().map_err(failed)?;
        let result = folder.canonicalize().map_err(failed)?;
        if inside.starts_with(&result) || target.canonicalize().is_ok_and(|it| it.starts_with(&result)) {
            return Err(Error::Inside(target));
        }
        let draft = draft(parent, &target, &made).map_err(failed)?;
        Ok(ExportTarget { target, draft })
    }

    /// The file, or the empty folder, to write to.
    pub fn draft(&self) -> &Path {
        match &self.draft {
            Draft::File(file) => file.path(),
            Draft::Folder(folder) => folder.path(),
        }
    }

    /// Renames the draft to its target and returns the target.
    pub fn take(self) -> Result<PathBuf, Error> {
        let ExportTarget { target, draft } = self;
        let failed = |source| Error::Write {
            path: target.clone(),
            source,
        };
        match draft {
            Draft::File(file) => {
                file.persist(&target).map_err(|e| failed(e.error))?;
            }
            Draft::Folder(folder) => {
                let old = set_aside(&target, folder.path())?;
                if let Err(source) = fs::rename(folder.path(), &target) {
                    if let Some(old) = &old {
                        // If this fails too, the first error is reported.
                        let _ = fs::rename(old.path().join("old"), &target);
                    }
                    return Err(failed(source));
                }
                // The draft is renamed, so that nothing remains to be removed.
                let _ = folder.keep();
            }
        }
        Ok(target)
    }
}

/// A path beside the result, named after it.
fn beside(folder: &Path, made: &Made) -> Result<PathBuf, Error> {
    let named = match folder.file_name() {
        Some(_) => folder.to_path_buf(),
        // The paths "." and "..".
        None => folder.canonicalize().map_err(|source| Error::Write {
            path: folder.into(),
            source,
        })?,
    };
    let (Made::File(ending) | Made::Folder(ending)) = made;
    let mut name = named.file_name().unwrap_or_default().to_os_string();
    name.push(ending);
    Ok(named.with_file_name(name))
}

fn draft(parent: &Path, target: &Path, made: &Made) -> io::Result<Draft> {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let prefix = format!(".{name}.partial-");
    let mut builder = Builder::new();
    builder.prefix(&prefix);
    #[cfg(unix)]
    let permissions: fn(u32) -> fs::Permissions = std::os::unix::fs::PermissionsExt::from_mode;
    // Gives the permissions of any new file instead of those of a temporary file.
    Ok(match made {
        Made::File(_) => {
            #[cfg(unix)]
            builder.permissions(permissions(0o666));
            Draft::File(builder.tempfile_in(parent)?)
        }
        Made::Folder(_) => {
            #[cfg(unix)]
            builder.permissions(permissions(0o777));
            Draft::Folder(builder.tempdir_in(parent)?)
        }
    })
}

/// Moves an earlier export into a hidden folder that is removed when dropped. Returns an error if it holds anything
/// that the new export does not replace.
fn set_aside(target: &Path, new: &Path) -> Result<Option<TempDir>, Error> {
    let failed = |source| Error::Write {
        path: target.into(),
        source,
    };
    if !target.exists() {
        return Ok(None);
    }
    let written = names(new).map_err(failed)?;
    let there = names(target).map_err(failed)?;
    if let Some(other) = there.difference(&written).next() {
        return Err(Error::Taken {
            path: target.into(),
            what: format!("holds '{other}', which is no part of this export"),
        });
    }
    let parent = new.parent().unwrap_or(Path::new("."));
    let aside = Builder::new()
        .prefix(".old-")
        .tempdir_in(parent)
        .map_err(failed)?;
    fs::rename(target, aside.path().join("old")).map_err(failed)?;
    Ok(Some(aside))
}

fn names(folder: &Path) -> io::Result<BTreeSet<String>> {
    let name = |entry: io::Result<fs::DirEntry>| Ok(entry?.file_name().to_string_lossy().into_owned());
    fs::read_dir(folder)?.map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> Made {
        Made::File(".end".into())
    }

    fn folder() -> Made {
        Made::Folder("-end".into())
    }

    fn all(path: &Path) -> Vec<String> {
        names(path).unwrap().into_iter().collect()
    }

    #[test]
    fn it_goes_beside_the_result_whole_or_not_at_all() {
        let above = tempfile::tempdir().unwrap();
        let result = above.path().join("a.b");
        fs::create_dir(&result).unwrap();
        drop(ExportTarget::new(&result, None, file()).unwrap());
        drop(ExportTarget::new(&result, None, folder()).unwrap());
        assert_eq!(all(above.path()), ["a.b"]);
        for text in ["first", "second"] {
            let place = ExportTarget::new(&result.join(""), None, file()).unwrap();
            fs::write(place.draft(), text).unwrap();
            assert_eq!(place.take().unwrap(), above.path().join("a.b.end"));
            let written = fs::read_to_string(above.path().join("a.b.end")).unwrap();
            assert_eq!(written, text);
            let place = ExportTarget::new(&result, None, folder()).unwrap();
            fs::write(place.draft().join("x"), text).unwrap();
            place.take().unwrap();
        }
        assert_eq!(all(above.path()), ["a.b", "a.b-end", "a.b.end"]);
        assert_eq!(
            fs::read_to_string(above.path().join("a.b-end/x")).unwrap(),
            "second"
        );
    }

    #[test]
    fn results_and_what_others_have_written_stay() {
        let above = tempfile::tempdir().unwrap();
        let result = above.path().join("result");
        fs::create_dir_all(result.join("running")).unwrap();
        let refused = |out: &Path, made: Made| match ExportTarget::new(&result, Some(out), made) {
            Ok(_) => panic!("{} is not refused", out.display()),
            Err(error) => error.to_string(),
        };
        for (out, made) in [
            (result.join("export"), file()),
            (result.join("running/export"), folder()),
            (result.join("running/../export"), file()),
            (result.clone(), folder()),
        ] {
            assert!(refused(&out, made).contains("is inside the result folder"));
        }
        assert!(refused(above.path(), file()).contains("is a folder"));
        fs::write(above.path().join("notes"), "mine").unwrap();
        assert!(refused(&above.path().join("notes"), folder()).contains("is not a folder"));
        assert!(refused(&above.path().join("no/where"), file()).contains("cannot write"));
        fs::create_dir(above.path().join("data")).unwrap();
        fs::write(above.path().join("data/notes"), "mine").unwrap();
        let place = ExportTarget::new(&result, Some(&above.path().join("data")), folder()).unwrap();
        fs::write(place.draft().join("x"), "").unwrap();
        let refused = place.take().unwrap_err().to_string();
        assert!(refused.contains("holds 'notes'"), "{refused}");
        assert_eq!(all(above.path()), ["data", "notes", "result"]);
        assert_eq!(all(&above.path().join("data")), ["notes"]);
    }

    #[cfg(unix)]
    #[test]
    fn others_may_read_what_they_may_read_anyway() {
        use std::os::unix::fs::PermissionsExt;
        let above = tempfile::tempdir().unwrap();
        let result = above.path().join("result");
        fs::create_dir(&result).unwrap();
        fs::write(above.path().join("any"), "").unwrap();
        let place = ExportTarget::new(&result, None, file()).unwrap();
        let made = place.take().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&made), mode(&above.path().join("any")));
    }
}
