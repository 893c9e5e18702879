//! The memory that the simulator and the ranks of one job share.
//!
//! Layout of the file: a header of one page; a channel for each rank ([`crate::turn::Channel`]); from [`ARENAS`] on, an
//! arena of [`ARENA_BYTES`] for each rank. Only what is written takes memory: the file has holes.

#![allow(unsafe_code)] // memory of two processes; each use gives its reason

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::process::{Pid, test_kill_process};

use crate::turn::RankChannel;

const PAGE: usize = 4096;
const MAGIC: u64 = 0x4661_6272_6963_0001;

/// Bytes of the file that a rank's messages can take.
pub(crate) const ARENA_BYTES: u64 = 1 << 40;

/// Where the arenas begin.
pub(crate) const ARENAS: u64 = 1 << 40;

/// Greatest number of ranks, so that all arenas lie inside a file.
pub(crate) const MAX_RANKS: u32 = 1 << 20;

#[repr(C)]
struct Header {
    magic: AtomicU64,
    ranks: AtomicU32,
    simulator: AtomicU32,
    /// Whether computation between calls is measured.
    measures: AtomicU32,
}

/// The memory of one job, in one of its processes.
#[derive(Debug)]
pub struct SharedMemory {
    file: File,
    start: NonNull<u8>,
    bytes: usize,
    ranks: u32,
}

// Safety: all that is shared are atomics, and buffers that only the side whose turn it is touches.
unsafe impl Send for SharedMemory {}
// Safety: as above.
unsafe impl Sync for SharedMemory {}

impl SharedMemory {
    /// New memory of a job with this number of ranks, which measure their computation or not.
    ///
    /// # Errors
    /// The system refuses the file or the mapping, or there are too many ranks.
    pub fn create(ranks: u32, measures: bool) -> io::Result<SharedMemory> {
        if ranks > MAX_RANKS {
            return Err(io::Error::other(format!(
                "{ranks} ranks; expected at most {MAX_RANKS}"
            )));
        }
        let file: File = memfd_create("fabricsim-ranks", MemfdFlags::CLOEXEC)?.into();
        file.set_len(ARENAS + u64::from(ranks) * ARENA_BYTES)?;
        let memory = SharedMemory::map(file, ranks)?;
        let header = memory.header();
        header.ranks.store(ranks, Ordering::Relaxed);
        header.simulator.store(std::process::id(), Ordering::Relaxed);
        header.measures.store(u32::from(measures), Ordering::Relaxed);
        header.magic.store(MAGIC, Ordering::Release);
        Ok(memory)
    }

    /// The memory behind the path that [`SharedMemory::path`] gave to another process.
    ///
    /// # Errors
    /// There is none, or another version of the program made it.
    pub fn open(path: &Path) -> io::Result<SharedMemory> {
        let file = File::options().read(true).write(true).open(path)?;
        let first = SharedMemory::map(file.try_clone()?, 0)?;
        if first.header().magic.load(Ordering::Acquire) != MAGIC {
            return Err(io::Error::other("another version of FabricSim made this memory"));
        }
        let ranks = first.header().ranks.load(Ordering::Relaxed);
        SharedMemory::map(file, ranks)
    }

    fn map(file: File, ranks: u32) -> io::Result<SharedMemory> {
        let bytes = PAGE + ranks as usize * size_of::<RankChannel>();
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // Safety: a new mapping at an address of the system's choice.
        let start = unsafe { mmap(std::ptr::null_mut(), bytes, protection, flags, &file, 0)? };
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("no memory"))?;
        Ok(SharedMemory {
            file,
            start,
            bytes,
            ranks,
        })
    }

    fn header(&self) -> &Header {
        // Safety: the mapping has at least a page, lives as long as `self`, and a header is valid in any bytes.
        unsafe { self.start.cast().as_ref() }
    }

    /// Says on which host of the simulated network a rank is.
    pub fn place(&self, rank: u32, host: u32) {
        self.channel(rank).host.store(host, Ordering::Relaxed);
    }

    /// The host of a rank.
    pub fn host(&self, rank: u32) -> u32 {
        self.channel(rank).host.load(Ordering::Relaxed)
    }

    /// Whether a rank has called `MPI_Init`.
    pub fn is_initialized(&self, rank: u32) -> bool {
        self.channel(rank).initialized.load(Ordering::Acquire) != 0
    }

    /// Whether ranks measure their computation between calls.
    pub fn measures(&self) -> bool {
        self.header().measures.load(Ordering::Relaxed) != 0
    }

    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// A path under which processes of the same user open the memory while this process lives.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }

    /// Whether the simulator's process is there.
    pub(crate) fn simulator_lives(&self) -> bool {
        let simulator = self.header().simulator.load(Ordering::Relaxed);
        let pid = i32::try_from(simulator).ok().and_then(Pid::from_raw);
        pid.is_some_and(|pid| test_kill_process(pid).is_ok())
    }

    /// The channel of a rank.
    pub(crate) fn channel(&self, rank: u32) -> &RankChannel {
        assert!(rank < self.ranks, "rank {rank} of {}", self.ranks);
        let offset = PAGE + rank as usize * size_of::<RankChannel>();
        // Safety: inside the mapping, which lives as long as `self`, page-aligned, and valid in any bytes.
        unsafe { self.start.add(offset).cast().as_ref() }
    }

    /// The file, for the bytes of messages.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // Safety: mapped in `map`, and no reference outlives `self`.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}
