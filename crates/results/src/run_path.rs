//! Paths in the folder of a running run, which somebody may move.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::entries::RUNNING;

/// A path in the folder of a run. While the run holds the mark of the folder, the path follows the folder: after
/// `mv L M` the run goes on in M, and leaves alone what another run writes as L.
#[derive(Clone, Debug)]
pub struct RunPath {
    folder: PathBuf,
    /// From the folder.
    rest: PathBuf,
    /// The locked `RUNNING.json` of the folder; `None` for a path that does not follow.
    mark: Option<Arc<File>>,
}

impl RunPath {
    /// The folder of a run.
    pub(crate) fn new(folder: &Path, mark: &Arc<File>) -> RunPath {
        RunPath {
            folder: folder.into(),
            rest: PathBuf::new(),
            mark: Some(mark.clone()),
        }
    }

    /// An entry of this folder.
    pub fn join(&self, name: impl AsRef<Path>) -> RunPath {
        RunPath {
            rest: self.rest.join(name),
            ..self.clone()
        }
    }

    /// Where it was when the run began, for messages.
    pub fn at_first(&self) -> PathBuf {
        self.inside(&self.folder)
    }

    fn inside(&self, folder: &Path) -> PathBuf {
        match self.rest.as_os_str().is_empty() {
            // Joined with nothing, it would end with a slash, which no file has.
            true => folder.into(),
            false => folder.join(&self.rest),
        }
    }

    /// Where it is now.
    ///
    /// # Errors
    /// The folder was removed; or moved, on a system that does not tell where to.
    pub fn now(&self) -> io::Result<PathBuf> {
        let Some(mark) = &self.mark else {
            return Ok(self.at_first());
        };
        if is_at(mark, &self.folder.join(RUNNING)) {
            return Ok(self.at_first());
        }
        if let Some(folder) = moved_to(mark) {
            return Ok(self.inside(&folder));
        }
        Err(io::Error::new(
            io::ErrorKind::NotFound,
            format!(
                "the folder {} of this run was moved or removed while the run wrote it",
                self.folder.display()
            ),
        ))
    }
}

/// Paths are equal if they were so when their runs began.
impl PartialEq for RunPath {
    fn eq(&self, other: &RunPath) -> bool {
        self.at_first() == other.at_first()
    }
}

impl<P: Into<PathBuf>> From<P> for RunPath {
    fn from(path: P) -> RunPath {
        RunPath {
            folder: path.into(),
            rest: PathBuf::new(),
            mark: None,
        }
    }
}

/// The folder that has the mark now.
#[cfg(target_os = "linux")]
fn moved_to(mark: &File) -> Option<PathBuf> {
    use std::os::fd::AsRawFd;
    let path = fs::read_link(format!("/proc/self/fd/{}", mark.as_raw_fd())).ok()?;
    let folder = path.parent()?;
    (path.file_name()? == RUNNING && is_at(mark, &path)).then(|| folder.into())
}

#[cfg(not(target_os = "linux"))]
fn moved_to(_: &File) -> Option<PathBuf> {
    None
}

/// Whether an open file is the one of this path.
#[cfg(unix)]
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    let at = fs::symlink_metadata(path).map(identity).ok();
    at.is_some() && file.metadata().map(identity).ok() == at
}

#[cfg(not(unix))]
pub(crate) fn is_at(_: &File, _: &Path) -> bool {
    true
}
