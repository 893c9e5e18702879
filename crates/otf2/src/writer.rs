//! Writing of archives: libotf2 behind a safe interface.
//!
//! Locations are written one after the other, so that one buffer and one open file suffice. Definitions follow
//! when all events are known.
#![allow(unsafe_code)] // a C library can be called in no other way; each use gives its reason

use std::collections::BTreeMap;
use std::ffi::{CString, c_char, c_int};
use std::mem;
use std::path::Path;
use std::ptr::{self, NonNull};

use crate::call::{check, lock};
use crate::event::RawEvent;
use crate::{CHUNK_BYTES, Domain, Role, TimedEvent};

/// Name of the archive's anchor file, without `.otf2`.
const NAME: &str = "traces";

#[repr(C)]
struct RawWriter {
    _private: [u8; 0],
}

// SAFETY of the declarations: they repeat `writer.h`, which the C compiler checks against the definitions.
unsafe extern "C" {
    fn fs_otf2_create(
        folder: *const c_char,
        name: *const c_char,
        creator: *const c_char,
        description: *const c_char,
        chunk_bytes: u64,
        definition_chunk_bytes: u64,
        writer: *mut *mut RawWriter,
    ) -> c_int;
    fn fs_otf2_write_events(
        writer: *mut RawWriter,
        location: u64,
        events: *const RawEvent,
        count: usize,
    ) -> c_int;
    fn fs_otf2_end_location(writer: *mut RawWriter, location: u64) -> c_int;
    fn fs_otf2_begin_definitions(
        writer: *mut RawWriter,
        locations: u64,
        ticks_per_second: u64,
        offset: u64,
        length: u64,
    ) -> c_int;
    fn fs_otf2_define_string(writer: *mut RawWriter, id: u32, text: *const c_char) -> c_int;
    fn fs_otf2_define_node(
        writer: *mut RawWriter,
        id: u32,
        name: u32,
        class_name: u32,
        parent: u32,
        domain: c_int,
    ) -> c_int;
    fn fs_otf2_define_process(
        writer: *mut RawWriter,
        id: u32,
        name: u32,
        thread_name: u32,
        node: u32,
        events: u64,
    ) -> c_int;
    fn fs_otf2_define_region(writer: *mut RawWriter, id: u32, name: u32, role: u32, is_mpi: c_int) -> c_int;
    fn fs_otf2_define_group(
        writer: *mut RawWriter,
        id: u32,
        name: u32,
        of_locations: c_int,
        members: *const u64,
        count: u32,
    ) -> c_int;
    fn fs_otf2_define_communicator(
        writer: *mut RawWriter,
        id: u32,
        name: u32,
        group: u32,
        parent: u32,
    ) -> c_int;
    fn fs_otf2_define_window(writer: *mut RawWriter, id: u32, name: u32, communicator: u32) -> c_int;
    fn fs_otf2_finish(writer: *mut RawWriter) -> c_int;
    fn fs_otf2_abandon(writer: *mut RawWriter);
}

/// Limits of libotf2.
const SMALLEST_CHUNK: u64 = 256 << 10;
const LARGEST_CHUNK: u64 = 16 << 20;
/// Largest size of a group member in its definition: a 32-bit number and its length.
const BYTES_PER_MEMBER: u64 = 8;

/// A missing reference in definitions.
const NONE: u32 = u32::MAX;

/// Phase of writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WriterStage {
    Events,
    Definitions,
}

/// An archive that is being written. If it is dropped before [`ArchiveWriter::finish`], its files are not an
/// archive.
pub struct ArchiveWriter {
    open: OpenWriter,
    stage: WriterStage,
    raw: Vec<RawEvent>,
    strings: BTreeMap<String, u32>,
}

/// The shim's writer.
struct OpenWriter(NonNull<RawWriter>);

// SAFETY: the shim's data belong to no thread; the methods of `ArchiveWriter` take `&mut self` and hold the
// lock during each call.
unsafe impl Send for OpenWriter {}

impl ArchiveWriter {
    /// Creates the archive `traces.otf2` with this number of locations in a folder, which is created if
    /// missing.
    ///
    /// # Errors
    /// An error of libotf2.
    pub fn create(
        folder: &Path,
        creator: &str,
        description: &str,
        locations: u64,
    ) -> Result<ArchiveWriter, String> {
        let folder = text(folder.as_os_str().as_encoded_bytes())?;
        let (name, creator) = (text(NAME.as_bytes())?, text(creator.as_bytes())?);
        let description = text(description.as_bytes())?;
        let mut writer = ptr::null_mut();
        let held = lock();
        // SAFETY: all texts end with a zero and are copied; `writer` is written once, with null or a writer.
        let status = unsafe {
            fs_otf2_create(
                folder.as_ptr(),
                name.as_ptr(),
                creator.as_ptr(),
                description.as_ptr(),
                CHUNK_BYTES,
                // The list of all locations is the longest definition; libotf2 clears the chunk for each of
                // them.
                (BYTES_PER_MEMBER * locations).clamp(SMALLEST_CHUNK, LARGEST_CHUNK),
                &mut writer,
            )
        };
        check(status, &held)?;
        drop(held);
        Ok(ArchiveWriter {
            open: OpenWriter(NonNull::new(writer).ok_or("libotf2 gave no archive")?),
            stage: WriterStage::Events,
            raw: Vec::new(),
            strings: BTreeMap::new(),
        })
    }

    /// Appends events to a location. Times must not decrease, and the previous location must have ended.
    ///
    /// # Errors
    /// An error of libotf2, decreasing times, or a record that can only be read.
    pub fn events(&mut self, location: u64, events: &[TimedEvent]) -> Result<(), String> {
        self.must_be(WriterStage::Events)?;
        self.raw.clear();
        for event in events {
            let raw = RawEvent::new(event).ok_or_else(|| format!("{:?} can only be read", event.record))?;
            self.raw.push(raw);
        }
        let held = lock();
        // SAFETY: the writer is open and takes events; the shim reads exactly `raw.len()` of them.
        let status = unsafe {
            fs_otf2_write_events(self.open.0.as_ptr(), location, self.raw.as_ptr(), self.raw.len())
        };
        check(status, &held)
    }

    /// Ends a location.
    ///
    /// # Errors
    /// An error of libotf2.
    pub fn end_location(&mut self, location: u64) -> Result<(), String> {
        self.must_be(WriterStage::Events)?;
        let held = lock();
        // SAFETY: the writer is open and takes events.
        check(
            unsafe { fs_otf2_end_location(self.open.0.as_ptr(), location) },
            &held,
        )
    }

    /// Ends the events. `locations` locations, from 0 on, will be defined. All times are from `offset` to
    /// `length` ticks later.
    ///
    /// # Errors
    /// An error of libotf2.
    pub fn begin_definitions(
        &mut self,
        locations: u64,
        ticks_per_second: u64,
        offset: u64,
        length: u64,
    ) -> Result<(), String> {
        self.must_be(WriterStage::Events)?;
        let held = lock();
        // SAFETY: the writer is open and takes events.
        let status = unsafe {
            fs_otf2_begin_definitions(self.open.0.as_ptr(), locations, ticks_per_second, offset, length)
        };
        check(status, &held)?;
        drop(held);
        self.stage = WriterStage::Definitions;
        // String 0 is the empty text of the shim.
        self.string("").map(drop)
    }

    /// The id of a text, which is defined if it is new.
    ///
    /// # Errors
    /// An error of libotf2.
    pub fn string(&mut self, of: &str) -> Result<u32, String> {
        self.must_be(WriterStage::Definitions)?;
        if let Some(id) = self.strings.get(of) {
            return Ok(*id);
        }
        let id = self.strings.len() as u32;
        let defined = text(of.as_bytes())?;
        let held = lock();
        // SAFETY: the writer is open and takes definitions; the text ends with a zero and is copied.
        check(
            unsafe { fs_otf2_define_string(self.open.0.as_ptr(), id, defined.as_ptr()) },
            &held,
        )?;
        drop(held);
        self.strings.insert(of.into(), id);
        Ok(id)
    }

    /// Defines a node of the system tree, after its parent.
    ///
    /// # Errors
    /// An error of libotf2.
    pub fn node(
        &mut self,
        id: u32,
        name: &str,
        class: &str,
        parent: Option<u32>,
        domain: Domain,
    ) -> Result<(), String> {
        let (name, class) = (self.string(name)?, self.string(class)?);
        let parent = parent.unwrap_or(NONE);
        let domain = match domain {
            Domain::Other => 0,
            Domain::Machine => 1,
            Domain::SharedMemory => 2,
        };
        let held = lock();
        // SAFETY: the writer is open and takes definitions, or `string` had failed; likewise in those below.
        let status = unsafe { fs_otf2_define_node(self.open.0.as_ptr(), id, name, class, parent, domain) };
        check(status, &held)
    }

    /// Defines a process of one thread, which is the location of the same number.
    ///
    /// # Errors
    /// An error of libotf2.
    pub fn process(&mut self, id: u32, name: &str, node: u32, events: u64) -> Result<(), String> {
        let name = self.string(name)?;
        let held = lock();
        // SAFETY: as in `node`.
        let status = unsafe { fs_otf2_define_process(self.open.0.as_ptr(), id, name, name, node, events) };
        check(status, &held)
    }

    /// Defines a function of MPI, or a region of the application.
    ///
    /// # Errors
    /// An error of libotf2.
    pub fn region(&mut self, id: u32, name: &str, role: Role, is_mpi: bool) -> Result<(), String> {
        let name = self.string(name)?;
        let held = lock();
        // SAFETY: as in `node`.
        let status =
            unsafe { fs_otf2_define_region(self.open.0.as_ptr(), id, name, role as u32, is_mpi.into()) };
        check(status, &held)
    }

    /// Defines the group of the locations of all MPI ranks in order. Members of other groups are indices into
    /// it.
    ///
    /// # Errors
    /// An error of libotf2.
    pub fn locations(&mut self, id: u32, name: &str, members: &[u64]) -> Result<(), String> {
        self.any_group(id, name, true, members)
    }

    /// Defines a group of MPI ranks.
    ///
    /// # Errors
    /// An error of libotf2.
    pub fn group(&mut self, id: u32, name: &str, members: &[u64]) -> Result<(), String> {
        self.any_group(id, name, false, members)
    }

    fn any_group(&mut self, id: u32, name: &str, of_locations: bool, members: &[u64]) -> Result<(), String> {
        let name = self.string(name)?;
        let count = u32::try_from(members.len()).map_err(|_| "a group of 2^32 ranks".to_string())?;
        let held = lock();
        // SAFETY: as in `node`; the shim reads exactly `count` members.
        let status = unsafe {
            fs_otf2_define_group(
                self.open.0.as_ptr(),
                id,
                name,
                of_locations.into(),
                members.as_ptr(),
                count,
            )
        };
        check(status, &held)
    }

    /// Defines a communicator of a group's ranks.
    ///
    /// # Errors
    /// An error of libotf2.
    pub fn communicator(
        &mut self,
        id: u32,
        name: &str,
        group: u32,
        parent: Option<u32>,
    ) -> Result<(), String> {
        let name = self.string(name)?;
        let parent = parent.unwrap_or(NONE);
        let held = lock();
        // SAFETY: as in `node`.
        let status = unsafe { fs_otf2_define_communicator(self.open.0.as_ptr(), id, name, group, parent) };
        check(status, &held)
    }

    /// Defines a window of a communicator.
    ///
    /// # Errors
    /// An error of libotf2.
    pub fn window(&mut self, id: u32, name: &str, communicator: u32) -> Result<(), String> {
        let name = self.string(name)?;
        let held = lock();
        // SAFETY: as in `node`.
        let status = unsafe { fs_otf2_define_window(self.open.0.as_ptr(), id, name, communicator) };
        check(status, &held)
    }

    /// Writes the anchor file and closes the archive.
    ///
    /// # Errors
    /// An error of libotf2.
    pub fn finish(self) -> Result<(), String> {
        self.must_be(WriterStage::Definitions)?;
        let writer = self.open.0;
        // Finishing closes it.
        mem::forget(self.open);
        let held = lock();
        // SAFETY: the writer is open and this is its last use.
        check(unsafe { fs_otf2_finish(writer.as_ptr()) }, &held)
    }

    fn must_be(&self, stage: WriterStage) -> Result<(), String> {
        match (self.stage == stage, stage) {
            (true, _) => Ok(()),
            (false, WriterStage::Events) => Err("events after definitions".into()),
            (false, WriterStage::Definitions) => Err("definitions before the last event".into()),
        }
    }
}

impl Drop for OpenWriter {
    fn drop(&mut self) {
        let _held = lock();
        // SAFETY: the writer is open and this is its last use.
        unsafe { fs_otf2_abandon(self.0.as_ptr()) };
    }
}

fn text(bytes: &[u8]) -> Result<CString, String> {
    CString::new(bytes).map_err(|_| "a text contains a zero byte".into())
}
