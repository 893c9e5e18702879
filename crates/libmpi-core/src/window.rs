//! Windows: memory of ranks that others read and write (MPI 4.1, chapter 12).
//!
//! A rank reaches the memory of another one through the system (`/proc/PID/mem`), at once when the program calls. The
//! simulator has the time of puts and gets up to the next fence. Two anonymous files of each rank are locks: one of the
//! program's epochs (`MPI_Win_lock`), one for the time of a combination, which is atomic.

use std::ffi::{c_int, c_void};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use rustix::fs::{FlockOperation, MemfdFlags, flock, memfd_create};

use crate::abi::{self, class};
use crate::datatype::Datatype;
use crate::failure::{Failure, Outcome};
use crate::info::InfoEntries;

/// How a window was made (`MPI_WIN_CREATE_FLAVOR`).
pub(crate) mod flavor {
    use std::ffi::c_int;

    pub const CREATE: c_int = 1;
    pub const ALLOCATE: c_int = 2;
    pub const DYNAMIC: c_int = 3;
    pub const SHARED: c_int = 4;
}

/// What a rank tells the others about its part of a window.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WindowMemory {
    /// Process, and descriptors of the two locks there.
    pub process: u32,
    pub locks: [i32; 2],
    pub base: usize,
    pub size: usize,
    pub unit: usize,
}

impl WindowMemory {
    pub fn to_words(self) -> Vec<u8> {
        let words = [
            u64::from(self.process),
            self.locks[0] as u64,
            self.locks[1] as u64,
            self.base as u64,
            self.size as u64,
            self.unit as u64,
        ];
        words.into_iter().flat_map(u64::to_ne_bytes).collect()
    }

    pub fn from_words(bytes: &[u8]) -> WindowMemory {
        let word = |index: usize| {
            let bytes = bytes
                .get(8 * index..8 * index + 8)
                .and_then(|bytes| bytes.try_into().ok());
            u64::from_ne_bytes(bytes.unwrap_or_default())
        };
        WindowMemory {
            process: word(0) as u32,
            locks: [word(1) as i32, word(2) as i32],
            base: word(3) as usize,
            size: word(4) as usize,
            unit: word(5) as usize,
        }
    }
}

/// The part of one rank, as this process reaches it.
#[derive(Debug)]
pub(crate) struct RemoteMemory {
    pub memory: WindowMemory,
    bytes: File,
    /// Of epochs, and of combinations.
    locks: [File; 2],
}

fn failed(what: &str, error: &io::Error) -> Failure {
    Failure::new(
        class::OTHER,
        format!("{what}: {error}; processes of one user must be allowed to reach each other's memory"),
    )
}

impl RemoteMemory {
    /// Opens the part of a rank.
    ///
    /// # Errors
    /// The system does not allow it.
    pub fn open(memory: WindowMemory) -> Outcome<RemoteMemory> {
        let open = |path: String| File::options().read(true).write(true).open(path);
        let process = memory.process;
        let bytes = open(format!("/proc/{process}/mem"));
        let lock = |descriptor: i32| open(format!("/proc/{process}/fd/{descriptor}"));
        let all = bytes.and_then(|bytes| Ok((bytes, [lock(memory.locks[0])?, lock(memory.locks[1])?])));
        let (bytes, locks) = all.map_err(|error| failed("the memory of another rank", &error))?;
        Ok(RemoteMemory { memory, bytes, locks })
    }

    /// Takes the lock of epochs if no other rank has it in a way that excludes this one.
    pub fn try_lock(&self, exclusive: bool) -> bool {
        let operation = match exclusive {
            true => FlockOperation::NonBlockingLockExclusive,
            false => FlockOperation::NonBlockingLockShared,
        };
        flock(&self.locks[0], operation).is_ok()
    }

    /// Gives the lock of epochs back.
    pub fn unlock(&self) {
        let _ = flock(&self.locks[0], FlockOperation::Unlock);
    }

    /// Does something that no combination of another rank comes between.
    pub fn atomically<T>(&self, act: impl FnOnce(&RemoteMemory) -> Outcome<T>) -> Outcome<T> {
        flock(&self.locks[1], FlockOperation::LockExclusive)
            .map_err(|error| failed("a lock", &error.into()))?;
        let done = act(self);
        let _ = flock(&self.locks[1], FlockOperation::Unlock);
        done
    }

    /// Where elements are, whose bytes lie inside of the window.
    pub fn locate(
        &self,
        displacement: i64,
        count: usize,
        datatype: &Datatype,
        flavor: c_int,
    ) -> Outcome<usize> {
        if flavor == flavor::DYNAMIC {
            return Ok(displacement as usize);
        }
        let start =
            usize::try_from(displacement).map_err(|_| Failure::new(class::DISP, displacement.to_string()))?;
        let start = start * self.memory.unit;
        let (lower, extent) = datatype.true_bounds();
        let last = datatype.extent * count.saturating_sub(1) as isize;
        let end = start as isize + last + lower + extent;
        if count > 0 && datatype.size > 0 && (start as isize + lower < 0 || end > self.memory.size as isize) {
            let text = format!("bytes {start} to {end} of a window of {}", self.memory.size);
            return Err(Failure::new(class::RMA_RANGE, text));
        }
        Ok(self.memory.base + start)
    }

    /// The runs of bytes of elements at an address, neighbours joined.
    fn runs(start: usize, count: usize, datatype: &Datatype) -> Vec<(u64, usize)> {
        if datatype.is_contiguous() {
            return vec![(start as u64, datatype.bytes(count))];
        }
        let elements = 0..count as isize;
        let runs = elements.flat_map(|element| datatype.runs.iter().map(move |run| (element, run)));
        runs.map(|(element, run)| {
            let offset = element * datatype.extent + run.offset;
            (start.wrapping_add_signed(offset) as u64, run.bytes)
        })
        .collect()
    }

    /// The bytes of elements, without gaps.
    pub fn read(&self, start: usize, count: usize, datatype: &Datatype) -> Outcome<Vec<u8>> {
        let mut packed = vec![0; datatype.bytes(count)];
        let mut rest = &mut packed[..];
        for (at, bytes) in RemoteMemory::runs(start, count, datatype) {
            let (now, after) = rest.split_at_mut(bytes);
            self.bytes
                .read_exact_at(now, at)
                .map_err(|error| failed("reading from a window", &error))?;
            rest = after;
        }
        Ok(packed)
    }

    /// Writes the bytes of elements.
    pub fn write(&self, start: usize, count: usize, datatype: &Datatype, packed: &[u8]) -> Outcome<()> {
        let mut rest = packed;
        for (at, bytes) in RemoteMemory::runs(start, count, datatype) {
            let (now, after) = rest.split_at(bytes.min(rest.len()));
            self.bytes
                .write_all_at(now, at)
                .map_err(|error| failed("writing to a window", &error))?;
            rest = after;
        }
        Ok(())
    }
}

/// A window of this rank.
#[derive(Debug)]
pub(crate) struct MemoryWindow {
    /// A communicator of its own.
    pub communicator: c_int,
    pub flavor: c_int,
    pub own: WindowMemory,
    /// Its values, whose addresses are those of attributes.
    pub size: isize,
    pub unit: c_int,
    pub model: c_int,
    /// By rank.
    pub parts: Vec<RemoteMemory>,
    /// Files of this rank's own locks.
    _locks: [File; 2],
    /// Memory that the library has allocated.
    _allocated: Option<Vec<u128>>,
    /// Ranks that this one has locked.
    pub locked: Vec<usize>,
    pub is_all_locked: bool,
    /// Ranks whose post this one has awaited, in an epoch that it has started.
    pub started: Option<Vec<u32>>,
    /// The request for the end of the accesses of ranks to whom this one has posted.
    pub posted: Option<c_int>,
    pub error_handler: c_int,
    pub name: String,
    pub attributes: Vec<(c_int, usize)>,
    pub hints: InfoEntries,
}

/// New locks of a rank.
pub(crate) fn new_locks() -> Outcome<[File; 2]> {
    let lock = || memfd_create("fabricsim-window", MemfdFlags::CLOEXEC).map(File::from);
    let both = lock().and_then(|first| Ok([first, lock()?]));
    both.map_err(|error| failed("a lock", &error.into()))
}

impl MemoryWindow {
    /// A window of parts that this rank has opened.
    pub fn new(
        (communicator, flavor): (c_int, c_int),
        own: WindowMemory,
        parts: Vec<RemoteMemory>,
        locks: [File; 2],
        allocated: Option<Vec<u128>>,
    ) -> MemoryWindow {
        MemoryWindow {
            communicator,
            flavor,
            own,
            size: own.size as isize,
            unit: own.unit as c_int,
            model: 2,
            parts,
            _locks: locks,
            _allocated: allocated,
            locked: Vec::new(),
            is_all_locked: false,
            started: None,
            posted: None,
            error_handler: abi::ERRORS_ARE_FATAL,
            name: String::new(),
            attributes: Vec::new(),
            hints: Vec::new(),
        }
    }
}

/// Descriptors of locks, as other processes name them.
pub(crate) fn descriptors(locks: &[File; 2]) -> [i32; 2] {
    [locks[0].as_raw_fd(), locks[1].as_raw_fd()]
}

/// Memory for a window, aligned for any type, and where it begins.
pub(crate) fn allocate(bytes: usize) -> (Vec<u128>, *mut c_void) {
    let mut memory = vec![0_u128; bytes.div_ceil(16).max(1)];
    let start = memory.as_mut_ptr().cast();
    (memory, start)
}

/// All windows of a process; freed places are used again.
#[derive(Debug, Default)]
pub(crate) struct WindowTable(Vec<Option<Box<MemoryWindow>>>);

/// Whether a handle is of a window.
pub(crate) fn is_window(handle: c_int) -> bool {
    handle & !abi::INDEX_BITS == abi::WIN
}

impl WindowTable {
    /// A new window.
    pub fn add(&mut self, window: MemoryWindow) -> c_int {
        let free = self.0.iter().position(Option::is_none);
        let index = free.unwrap_or(self.0.len());
        let window = Some(Box::new(window));
        match self.0.get_mut(index) {
            Some(place) => *place = window,
            None => self.0.push(window),
        }
        abi::WIN | index as c_int
    }

    fn index(&self, handle: c_int) -> Outcome<usize> {
        let index = (handle & abi::INDEX_BITS) as usize;
        let is_there = matches!(self.0.get(index), Some(Some(_)));
        match is_window(handle) && is_there {
            true => Ok(index),
            false if handle == abi::WIN_NULL => Err(Failure::new(class::WIN, "MPI_WIN_NULL")),
            false => Err(Failure::new(
                class::WIN,
                format!("there is no window {handle:#x}"),
            )),
        }
    }

    /// The window of a handle.
    ///
    /// # Errors
    /// There is none.
    pub fn get(&self, handle: c_int) -> Outcome<&MemoryWindow> {
        let index = self.index(handle)?;
        self.0[index]
            .as_deref()
            .ok_or_else(|| Failure::new(class::WIN, "freed"))
    }

    /// As [`WindowTable::get`], to change it.
    ///
    /// # Errors
    /// There is none.
    pub fn get_mut(&mut self, handle: c_int) -> Outcome<&mut MemoryWindow> {
        let index = self.index(handle)?;
        self.0[index]
            .as_deref_mut()
            .ok_or_else(|| Failure::new(class::WIN, "freed"))
    }

    /// A window goes.
    ///
    /// # Errors
    /// There is none.
    pub fn remove(&mut self, handle: c_int) -> Outcome<()> {
        let index = self.index(handle)?;
        self.0[index] = None;
        Ok(())
    }
}
