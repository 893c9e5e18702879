//! Archives of the Open Trace Format 2, read and written by the official library, libotf2.
//!
//! Only this crate finds the library (`build.rs`) and calls it: [`ArchiveReader`] reads, [`ArchiveWriter`]
//! writes. It knows records and definitions of the format, not their meaning for a simulation. If the build
//! finds no library, opening or creating an archive is an error that says what to install.
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

/// Whether this build can read and write archives.
pub const fn is_available() -> bool {
    cfg!(otf2_library)
}

/// Layout of an archive on disk.
#[derive(Clone, Copy, Debug)]
pub struct ArchiveLayout {
    /// Size of the library's buffer for each open event file.
    pub chunk_bytes: u64,
    /// Whether each location has its own file.
    pub file_per_location: bool,
}

/// Size of the write buffer for the events of a location.
pub const CHUNK_BYTES: u64 = 1 << 20;

/// Type of a node of the system tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// No type that tools know.
    Other,
    /// The whole machine.
    Machine,
    /// A host: memory that processes share.
    SharedMemory,
}

/// Role of a region's code, as tools distinguish it: an `OTF2_RegionRole`.
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
