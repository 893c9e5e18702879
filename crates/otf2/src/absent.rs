//! Replaces the library where the build found none. Opening or creating an archive is an error.

use std::path::Path;

use crate::{ArchiveLayout, Definition, Domain, Role, TimedEvent};

/// An archive that cannot be opened: no value of this type exists.
pub enum ArchiveReader {}

#[allow(missing_docs, clippy::missing_errors_doc)] // as in reader.rs
impl ArchiveReader {
    pub fn open(_anchor: &Path) -> Result<(ArchiveReader, Vec<Definition>), String> {
        Err(missing("read OTF2 traces"))
    }

    pub fn layout(&mut self) -> Result<ArchiveLayout, String> {
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
        _events: &mut Vec<TimedEvent>,
    ) -> Result<u64, String> {
        match *self {}
    }

    pub fn close_events(&mut self, _location: u64) -> Result<(), String> {
        match *self {}
    }
}

/// An archive that cannot be written: no value of this type exists.
pub enum ArchiveWriter {}

#[allow(missing_docs, clippy::missing_errors_doc)] // as in writer.rs
impl ArchiveWriter {
    pub fn create(
        _folder: &Path,
        _creator: &str,
        _description: &str,
        _locations: u64,
    ) -> Result<ArchiveWriter, String> {
        Err(missing("write OTF2 archives"))
    }

    pub fn events(&mut self, _location: u64, _events: &[TimedEvent]) -> Result<(), String> {
        match *self {}
    }

    pub fn end_location(&mut self, _location: u64) -> Result<(), String> {
        match *self {}
    }

    pub fn begin_definitions(
        &mut self,
        _locations: u64,
        _ticks_per_second: u64,
        _offset: u64,
        _length: u64,
    ) -> Result<(), String> {
        match *self {}
    }

    pub fn string(&mut self, _text: &str) -> Result<u32, String> {
        match *self {}
    }

    pub fn node(
        &mut self,
        _id: u32,
        _name: &str,
        _class: &str,
        _parent: Option<u32>,
        _domain: Domain,
    ) -> Result<(), String> {
        match *self {}
    }

    pub fn process(&mut self, _id: u32, _name: &str, _node: u32, _events: u64) -> Result<(), String> {
        match *self {}
    }

    pub fn region(&mut self, _id: u32, _name: &str, _role: Role, _is_mpi: bool) -> Result<(), String> {
        match *self {}
    }

    pub fn locations(&mut self, _id: u32, _name: &str, _members: &[u64]) -> Result<(), String> {
        match *self {}
    }

    pub fn group(&mut self, _id: u32, _name: &str, _members: &[u64]) -> Result<(), String> {
        match *self {}
    }

    pub fn communicator(
        &mut self,
        _id: u32,
        _name: &str,
        _group: u32,
        _parent: Option<u32>,
    ) -> Result<(), String> {
        match *self {}
    }

    pub fn window(&mut self, _id: u32, _name: &str, _communicator: u32) -> Result<(), String> {
        match *self {}
    }

    pub fn finish(self) -> Result<(), String> {
        match self {}
    }
}

fn missing(what: &str) -> String {
    format!(
        "this build of FabricSim cannot {what}: the OTF2 library was not found when it was built. Install it \
         (Debian, Ubuntu: apt install libotf2-trace-dev; else https://www.score-p.org), see that otf2-config is in \
         PATH or set OTF2_CONFIG to it, and build again"
    )
}
