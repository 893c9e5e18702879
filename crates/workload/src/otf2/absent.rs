//! Stands in for the library where the build found none: opening is an error, so nothing else can happen.

use std::path::Path;

use super::record::{Definition, Event};

/// What an archive looks like on disk.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Bytes that the library holds for each location whose events are open.
    pub chunk_bytes: u64,
    /// Whether each location has an own file.
    pub file_per_location: bool,
}

/// An archive that cannot be opened: no value of this type exists.
pub enum Library {}

#[allow(missing_docs, clippy::missing_errors_doc)] // as in library.rs
impl Library {
    pub fn open(_anchor: &Path) -> Result<(Library, Vec<Definition>), String> {
        Err(
            "this build of FabricSim cannot read OTF2 traces: the OTF2 library was not found when it was built. \
             Install it (Debian, Ubuntu: apt install libotf2-trace-dev; else https://www.score-p.org), see that \
             otf2-config is in PATH or set OTF2_CONFIG to it, and build again"
                .into(),
        )
    }

    pub fn layout(&mut self) -> Result<Layout, String> {
        match *self {}
    }

    pub fn select(&mut self, _locations: &[u64]) -> Result<(), String> {
        match *self {}
    }

    pub fn local_definitions(&mut self, _location: u64) -> Result<(), String> {
        match *self {}
    }

    pub fn read_events(
        &mut self,
        _location: u64,
        _position: Option<u64>,
        _capacity: usize,
        _events: &mut Vec<Event>,
    ) -> Result<u64, String> {
        match *self {}
    }

    pub fn close_events(&mut self, _location: u64) -> Result<(), String> {
        match *self {}
    }
}
