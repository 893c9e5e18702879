//! Archives of the Open Trace Format 2, read and written by the official library, libotf2.
//!
//! This crate finds the library (`build.rs`) and is the only one that calls it: [`ArchiveReader`] reads, [`ArchiveWriter`]
//! writes. It knows records and definitions of the format, not what they mean for a simulation. Where the build
//! found no library, everything is here as well, and opening or making an archive is an error that says what to
//! install.
//!
//! Format and library: <https://perftools.pages.jsc.fz-juelich.de/cicd/otf2/>.

#[cfg(not(otf2_library))]
mod absent;
#[cfg(otf2_library)]
mod call;
#[cfg(otf2_library)]
mod event;
#[cfg(otf2_library)]
mod reader;
mod record;
#[cfg(otf2_library)]
mod writer;

#[cfg(not(otf2_library))]
pub use absent::{ArchiveReader, ArchiveWriter};
#[cfg(otf2_library)]
pub use reader::ArchiveReader;
pub use record::{CollectiveRecord, Definition, EventRecord, MessageRecord, RmaRecord, TimedEvent};
#[cfg(otf2_library)]
pub use writer::ArchiveWriter;

/// Whether this build can read and write archives: whether the library was found.
pub const fn is_available() -> bool {
    cfg!(otf2_library)
}

/// What an archive looks like on disk.
#[derive(Clone, Copy, Debug)]
pub struct ArchiveLayout {
    /// Bytes that the library holds for each location whose events are open.
    pub chunk_bytes: u64,
    /// Whether each location has an own file.
    pub file_per_location: bool,
}

/// Bytes of memory, and of a write to the disk, for the events of the location that is written.
pub const CHUNK_BYTES: u64 = 1 << 20;

/// What a node of the system tree stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// Nothing that tools know.
    Other,
    /// All of a machine.
    Machine,
    /// Memory that its processes share: a host.
    SharedMemory,
}

/// What the code of a region does, as tools distinguish it: an `OTF2_RegionRole`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // each is the role of that name in OTF2
pub enum Role {
    Function = 1,
    Barrier = 15,
    OneToAll = 23,
    AllToOne = 24,
    AllToAll = 25,
    OtherCollective = 26,
    PointToPoint = 28,
    Rma = 29,
}

#[cfg(test)]
mod tests;
