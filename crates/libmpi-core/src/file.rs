//! Files of this rank (MPI 4.1, chapter 14): plain files of the machine, read and written when the program calls.

use std::ffi::c_int;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

use crate::abi::{self, MpiStatus, class};
use crate::failure::{Failure, Outcome};
use crate::file_view::FileView;
use crate::info::InfoEntries;
use crate::shared_pointer::SharedPointer;

/// Modes of access (MPI 4.1, section 14.2.1).
pub(crate) mod mode {
    use std::ffi::c_int;

    pub const CREATE: c_int = 1;
    pub const RDONLY: c_int = 2;
    pub const WRONLY: c_int = 4;
    pub const RDWR: c_int = 8;
    pub const DELETE_ON_CLOSE: c_int = 16;
    pub const UNIQUE_OPEN: c_int = 32;
    pub const EXCL: c_int = 64;
    pub const APPEND: c_int = 128;
    pub const SEQUENTIAL: c_int = 256;
    pub const ALL: c_int =
        CREATE | RDONLY | WRONLY | RDWR | DELETE_ON_CLOSE | UNIQUE_OPEN | EXCL | APPEND | SEQUENTIAL;
}

/// Whether modes can be together.
///
/// # Errors
/// They cannot.
pub(crate) fn check_mode(amode: c_int) -> Outcome<()> {
    let has = |mode: c_int| amode & mode != 0;
    let accesses = [mode::RDONLY, mode::WRONLY, mode::RDWR];
    let text = match accesses.into_iter().filter(|access| has(*access)).count() {
        _ if amode & !mode::ALL != 0 => "a mode that does not exist",
        1 if has(mode::RDONLY) && has(mode::CREATE | mode::EXCL) => {
            "MPI_MODE_CREATE and MPI_MODE_EXCL do not go with MPI_MODE_RDONLY"
        }
        1 if has(mode::RDWR) && has(mode::SEQUENTIAL) => "MPI_MODE_SEQUENTIAL does not go with MPI_MODE_RDWR",
        1 => return Ok(()),
        _ => "expected one of MPI_MODE_RDONLY, MPI_MODE_WRONLY and MPI_MODE_RDWR",
    };
    Err(Failure::new(class::AMODE, text))
}

/// Why something with a file has failed.
pub(crate) fn failed(what: impl std::fmt::Display, error: &io::Error) -> Failure {
    let class = match Errno::from_io_error(error) {
        Some(Errno::NOENT) => class::NO_SUCH_FILE,
        Some(Errno::EXIST) => class::FILE_EXISTS,
        Some(Errno::ACCESS | Errno::PERM) => class::ACCESS,
        Some(Errno::ROFS) => class::READ_ONLY,
        Some(Errno::NAMETOOLONG | Errno::NOTDIR | Errno::ISDIR | Errno::LOOP) => class::BAD_FILE,
        Some(Errno::NOSPC | Errno::FBIG) => class::NO_SPACE,
        Some(Errno::DQUOT) => class::QUOTA,
        Some(Errno::BUSY | Errno::TXTBSY) => class::FILE_IN_USE,
        _ => class::IO,
    };
    Failure::new(class, format!("{what}: {error}"))
}

/// Opens a file with modes; `creates` is for the rank that makes it if it is not there.
pub(crate) fn open(path: &Path, amode: c_int, creates: bool) -> Outcome<File> {
    let has = |mode: c_int| amode & mode != 0;
    let mut options = File::options();
    options
        .read(has(mode::RDONLY | mode::RDWR))
        .write(has(mode::WRONLY | mode::RDWR));
    if creates && has(mode::CREATE) {
        match has(mode::EXCL) {
            true => options.create_new(true),
            false => options.create(true),
        };
    }
    let opened = options
        .open(path)
        .map_err(|error| failed(path.display(), &error))?;
    let kind = opened
        .metadata()
        .map_err(|error| failed(path.display(), &error))?;
    match kind.is_dir() {
        false => Ok(opened),
        true => Err(Failure::new(
            class::BAD_FILE,
            format!("{} is a folder", path.display()),
        )),
    }
}

/// Deletes a file.
pub(crate) fn delete(path: &Path) -> Outcome<()> {
    std::fs::remove_file(path).map_err(|error| failed(path.display(), &error))
}

/// Which of its pointers an access to a file moves, if any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FilePlace {
    /// None: elementary types from the start of the view.
    At(i64),
    Individual,
    Shared,
    /// The shared one, in the order of ranks.
    Ordered,
}

/// An access to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileAccess {
    pub place: FilePlace,
    pub writes: bool,
    /// Whether all ranks of the file take part, and wait for each other.
    pub is_collective: bool,
}

/// A collective access that has begun (MPI 4.1, section 14.4.5).
#[derive(Clone, Debug)]
pub(crate) struct SplitAccess {
    pub access: FileAccess,
    pub status: MpiStatus,
}

/// A file that is open.
#[derive(Debug)]
pub(crate) struct OpenFile {
    pub file: File,
    pub path: PathBuf,
    pub amode: c_int,
    /// A communicator of its own.
    pub communicator: c_int,
    pub view: FileView,
    /// The individual pointer, in elementary types.
    pub position: i64,
    pub shared: SharedPointer,
    pub is_atomic: bool,
    pub split: Option<SplitAccess>,
    pub error_handler: c_int,
    pub hints: InfoEntries,
}

impl OpenFile {
    pub fn has(&self, mode: c_int) -> bool {
        self.amode & mode != 0
    }

    fn failed(&self, error: &io::Error) -> Failure {
        failed(self.path.display(), error)
    }

    /// Bytes of the file.
    pub fn size(&self) -> Outcome<u64> {
        let metadata = self.file.metadata().map_err(|error| self.failed(&error))?;
        Ok(metadata.len())
    }

    /// Sets its size.
    pub fn set_size(&self, size: u64) -> Outcome<()> {
        self.file.set_len(size).map_err(|error| self.failed(&error))
    }

    /// Takes the space for a size, if it is less.
    pub fn preallocate(&self, size: u64) -> Outcome<()> {
        if size == 0 {
            return Ok(());
        }
        match fallocate(&self.file, FallocateFlags::empty(), 0, size) {
            Ok(()) => Ok(()),
            // There are file systems that take space only when they are written.
            Err(Errno::OPNOTSUPP) if self.size()? < size => self.set_size(size),
            Err(Errno::OPNOTSUPP) => Ok(()),
            Err(error) => Err(self.failed(&error.into())),
        }
    }

    /// Writes to the storage device what is not there.
    pub fn sync(&self) -> Outcome<()> {
        self.file.sync_data().map_err(|error| self.failed(&error))
    }

    /// Where a seek leads, in elementary types: an offset from a place.
    ///
    /// # Errors
    /// It is before the start of the view.
    pub fn target(&self, offset: i64, from: SeekOrigin, position: i64) -> Outcome<i64> {
        let start = match from {
            SeekOrigin::Start => 0,
            SeekOrigin::Current => position,
            SeekOrigin::End => self.view.etypes_in(self.size()?) as i64,
        };
        start
            .checked_add(offset)
            .filter(|target| *target >= 0)
            .ok_or_else(|| {
                let text = format!("a seek by {offset} from {start}, before the start of the view");
                Failure::new(class::ARG, text)
            })
    }

    /// Where elementary types of the view are, in bytes of it.
    fn start_of(&self, etypes: i64) -> Outcome<u64> {
        let start = u64::try_from(etypes).ok();
        let start = start.and_then(|start| start.checked_mul(self.view.etype_bytes));
        start.ok_or_else(|| Failure::new(class::ARG, format!("an offset of {etypes} in a file")))
    }

    /// Where an elementary type of the view is in the file, in bytes.
    pub fn byte_offset(&self, etypes: i64) -> Outcome<u64> {
        self.view.byte_offset(self.start_of(etypes)?)
    }

    /// Lets no other rank come between in atomic mode.
    fn in_mode<T>(&self, act: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
        match self.is_atomic {
            true => self.shared.exclusively(act),
            false => act(),
        }
    }

    /// Reads bytes of the view from an elementary type on: fewer at the end of the file.
    pub fn read(&self, etypes: i64, bytes: u64) -> Outcome<Vec<u8>> {
        let start = self.start_of(etypes)?;
        // No more than there is: a count may be far beyond the end.
        let there = self.view.etypes_in(self.size()?) * self.view.etype_bytes;
        let bytes = bytes.min(there.saturating_sub(start));
        let mut read = vec![0; bytes as usize];
        let mut done = 0;
        self.in_mode(|| {
            self.view.for_each_part(start, bytes, |at, part| {
                let now = self.read_part(&mut read[done..done + part], at)?;
                done += now;
                Ok(now == part)
            })
        })?;
        read.truncate(done);
        Ok(read)
    }

    /// Reads until the buffer is full or the file ends.
    fn read_part(&self, buffer: &mut [u8], at: u64) -> Outcome<usize> {
        let mut done = 0;
        while done < buffer.len() {
            match self.file.read_at(&mut buffer[done..], at + done as u64) {
                Ok(0) => break,
                Ok(now) => done += now,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failed(&error)),
            }
        }
        Ok(done)
    }

    /// Writes bytes of the view from an elementary type on.
    pub fn write(&self, etypes: i64, bytes: &[u8]) -> Outcome<()> {
        let start = self.start_of(etypes)?;
        let mut done = 0;
        self.in_mode(|| {
            self.view.for_each_part(start, bytes.len() as u64, |at, part| {
                let now = &bytes[done..done + part];
                self.file
                    .write_all_at(now, at)
                    .map_err(|error| self.failed(&error))?;
                done += part;
                Ok(true)
            })
        })
    }
}

/// From where a seek counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SeekOrigin {
    Start,
    Current,
    End,
}

impl SeekOrigin {
    /// That of a constant of MPI.
    ///
    /// # Errors
    /// It is none.
    pub fn of(whence: c_int) -> Outcome<SeekOrigin> {
        match whence {
            600 => Ok(SeekOrigin::Start),
            602 => Ok(SeekOrigin::Current),
            604 => Ok(SeekOrigin::End),
            _ => Err(Failure::new(
                class::ARG,
                format!("{whence} as the origin of a seek"),
            )),
        }
    }
}

/// All open files of a process; places of closed ones are used again.
#[derive(Debug)]
pub(crate) struct FileTable {
    all: Vec<Option<Box<OpenFile>>>,
    /// That of `MPI_FILE_NULL`, which files have when they are opened.
    default_error_handler: c_int,
    /// Names of data representations that the program has registered.
    pub representations: Vec<String>,
}

impl Default for FileTable {
    fn default() -> FileTable {
        FileTable {
            all: Vec::new(),
            default_error_handler: abi::ERRORS_RETURN,
            representations: Vec::new(),
        }
    }
}

impl FileTable {
    /// A new file.
    pub fn add(&mut self, file: OpenFile) -> c_int {
        let free = self.all.iter().position(Option::is_none);
        let index = free.unwrap_or(self.all.len());
        let file = Some(Box::new(file));
        match self.all.get_mut(index) {
            Some(place) => *place = file,
            None => self.all.push(file),
        }
        abi::FILE | index as c_int
    }

    fn no_file(handle: c_int) -> Failure {
        let text = match handle {
            abi::FILE_NULL => "MPI_FILE_NULL".into(),
            _ => "there is no such file".to_string(),
        };
        Failure::new(class::FILE, text)
    }

    fn index(handle: c_int) -> Option<usize> {
        (handle & !abi::INDEX_BITS == abi::FILE).then_some((handle & abi::INDEX_BITS) as usize)
    }

    /// The file of a handle.
    ///
    /// # Errors
    /// There is none.
    pub fn get(&self, handle: c_int) -> Outcome<&OpenFile> {
        let found = FileTable::index(handle).and_then(|index| self.all.get(index)?.as_deref());
        found.ok_or_else(|| FileTable::no_file(handle))
    }

    /// As [`FileTable::get`], to change it.
    ///
    /// # Errors
    /// There is none.
    pub fn get_mut(&mut self, handle: c_int) -> Outcome<&mut OpenFile> {
        let found = FileTable::index(handle).and_then(|index| self.all.get_mut(index)?.as_deref_mut());
        found.ok_or_else(|| FileTable::no_file(handle))
    }

    /// A file goes.
    ///
    /// # Errors
    /// There is none.
    pub fn remove(&mut self, handle: c_int) -> Outcome<()> {
        self.get(handle)?;
        if let Some(index) = FileTable::index(handle) {
            self.all[index] = None;
        }
        Ok(())
    }

    /// The error handler of a file. That of `MPI_FILE_NULL` for what is no file.
    pub fn error_handler(&self, handle: c_int) -> c_int {
        self.get(handle)
            .map_or(self.default_error_handler, |file| file.error_handler)
    }

    /// Sets the error handler of a file or of `MPI_FILE_NULL`.
    ///
    /// # Errors
    /// There is no such file.
    pub fn set_error_handler(&mut self, handle: c_int, handler: c_int) -> Outcome<()> {
        match handle {
            abi::FILE_NULL => self.default_error_handler = handler,
            _ => self.get_mut(handle)?.error_handler = handler,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_go_together_as_mpi_says() {
        let fails = |amode| check_mode(amode).err().map(|failure| failure.class) == Some(class::AMODE);
        for amode in [
            0,
            mode::CREATE,
            mode::RDONLY | mode::WRONLY,
            mode::RDONLY | mode::CREATE,
            mode::RDONLY | mode::EXCL,
            mode::RDWR | mode::SEQUENTIAL,
            mode::RDWR | 512,
        ] {
            assert!(fails(amode), "{amode}");
        }
        for amode in [
            mode::RDONLY | mode::DELETE_ON_CLOSE | mode::UNIQUE_OPEN,
            mode::RDWR | mode::CREATE | mode::EXCL | mode::APPEND,
            mode::WRONLY | mode::SEQUENTIAL,
        ] {
            assert!(!fails(amode), "{amode}");
        }
    }
}
