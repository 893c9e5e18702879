//! Reading of archives: libotf2 behind a safe interface.
//!
//! The C side (`reader.c`) registers libotf2's callbacks and fills plain structs. This file has its
//! declarations and converts to Rust's types.
#![allow(unsafe_code)] // a C library can be called in no other way; each use gives its reason

use std::ffi::{CString, c_char, c_int};
use std::path::Path;
use std::ptr::{self, NonNull};
use std::slice;

use crate::call::{check, lock};
use crate::event::RawEvent;
use crate::{ArchiveLayout, Definition, TimedEvent};

#[repr(C)]
struct RawTrace {
    _private: [u8; 0],
}

/// `fs_definition` of `reader.h`; its size is asserted on both sides.
#[repr(C)]
struct RawDefinition {
    id: u64,
    a: u64,
    b: u64,
    c: u64,
    data_offset: u64,
    data_bytes: u64,
    kind: u64,
}

const _: () = assert!(size_of::<RawDefinition>() == 56);

// SAFETY of the declarations: they repeat `reader.h`, which the C compiler checks against the definitions.
unsafe extern "C" {
    fn fs_otf2_open(anchor: *const c_char, trace: *mut *mut RawTrace) -> c_int;
    fn fs_otf2_definitions(
        trace: *const RawTrace,
        records: *mut *const RawDefinition,
        count: *mut usize,
        data: *mut *const u8,
        data_bytes: *mut usize,
    ) -> c_int;
    fn fs_otf2_forget_definitions(trace: *mut RawTrace);
    fn fs_otf2_layout(trace: *mut RawTrace, chunk_bytes: *mut u64, file_per_location: *mut c_int) -> c_int;
    fn fs_otf2_select(trace: *mut RawTrace, locations: *const u64, count: usize) -> c_int;
    fn fs_otf2_local_definitions(trace: *mut RawTrace, location: u64) -> c_int;
    fn fs_otf2_read_events(
        trace: *mut RawTrace,
        location: u64,
        position: u64,
        events: *mut RawEvent,
        capacity: usize,
        count: *mut usize,
        records: *mut u64,
    ) -> c_int;
    fn fs_otf2_close_events(trace: *mut RawTrace, location: u64) -> c_int;
    fn fs_otf2_close(trace: *mut RawTrace);
}

/// An open archive.
pub struct ArchiveReader {
    trace: NonNull<RawTrace>,
    raw: Vec<RawEvent>,
}

// SAFETY: the shim's data belong to no thread; the methods take `&mut self`, hold the lock during each
// call, and hand out copies only.
unsafe impl Send for ArchiveReader {}

impl ArchiveReader {
    /// Opens an archive by its anchor file and reads its global definitions.
    ///
    /// # Errors
    /// An error of libotf2.
    pub fn open(anchor: &Path) -> Result<(ArchiveReader, Vec<Definition>), String> {
        let anchor = CString::new(anchor.as_os_str().as_encoded_bytes())
            .map_err(|_| "the path contains a zero byte".to_string())?;
        let held = lock();
        let mut trace = ptr::null_mut();
        // SAFETY: `anchor` ends with a zero; `trace` is written once, with null or an open archive.
        check(unsafe { fs_otf2_open(anchor.as_ptr(), &mut trace) }, &held)?;
        drop(held);
        let trace = NonNull::new(trace).ok_or("libotf2 gave no archive")?;
        let mut library = ArchiveReader {
            trace,
            raw: Vec::new(),
        };
        let definitions = library.definitions();
        Ok((library, definitions))
    }

    fn definitions(&mut self) -> Vec<Definition> {
        let _held = lock();
        let (mut records, mut count, mut data, mut bytes) = (ptr::null(), 0, ptr::null(), 0);
        // SAFETY: the archive is open; all four results are written.
        unsafe {
            fs_otf2_definitions(
                self.trace.as_ptr(),
                &mut records,
                &mut count,
                &mut data,
                &mut bytes,
            )
        };
        let definitions = if count == 0 {
            Vec::new()
        } else {
            // SAFETY: the shim's array of `count` initialised records, unchanged until forgotten below.
            let records = unsafe { slice::from_raw_parts(records, count) };
            let data = if bytes == 0 {
                &[]
            } else {
                // SAFETY: likewise, `bytes` initialised bytes.
                unsafe { slice::from_raw_parts(data, bytes) }
            };
            records.iter().map(|r| definition(r, data)).collect()
        };
        // SAFETY: the archive is open and nothing borrowed from the definitions lives on.
        unsafe { fs_otf2_forget_definitions(self.trace.as_ptr()) };
        definitions
    }

    /// Layout of the archive on disk.
    ///
    /// # Errors
    /// An error of libotf2.
    pub fn layout(&mut self) -> Result<ArchiveLayout, String> {
        let (mut chunk_bytes, mut file_per_location) = (0, 0);
        let held = lock();
        // SAFETY: the archive is open; both results are plain numbers.
        let status = unsafe { fs_otf2_layout(self.trace.as_ptr(), &mut chunk_bytes, &mut file_per_location) };
        check(status, &held)?;
        Ok(ArchiveLayout {
            chunk_bytes,
            file_per_location: file_per_location != 0,
        })
    }

    /// Selects the locations to be read, once and before reading.
    ///
    /// # Errors
    /// An error of libotf2.
    pub fn select(&mut self, locations: &[u64]) -> Result<(), String> {
        let held = lock();
        // SAFETY: the archive is open; the shim reads exactly `locations.len()` numbers.
        let status = unsafe { fs_otf2_select(self.trace.as_ptr(), locations.as_ptr(), locations.len()) };
        check(status, &held)
    }

    /// Reads a location's mapping tables and clock offsets, which then apply to its events.
    ///
    /// # Errors
    /// An error of libotf2.
    pub fn local_definitions(&mut self, location: u64) -> Result<(), String> {
        let held = lock();
        // SAFETY: the archive is open.
        check(
            unsafe { fs_otf2_local_definitions(self.trace.as_ptr(), location) },
            &held,
        )
    }

    /// Appends the events of the next `capacity` records of a location. Returns the number of records, which is
    /// smaller at the end. `position` is the number, from 1, of the first record; `None` continues after the
    /// last call for this location.
    ///
    /// # Errors
    /// An error of libotf2.
    pub fn read_events(
        &mut self,
        location: u64,
        position: Option<u64>,
        capacity: usize,
        events: &mut Vec<TimedEvent>,
    ) -> Result<u64, String> {
        self.raw.resize(capacity, RawEvent::default());
        let (mut count, mut records) = (0, 0);
        let held = lock();
        // SAFETY: the archive is open; the shim writes at most `capacity` events and keeps no pointer.
        let status = unsafe {
            fs_otf2_read_events(
                self.trace.as_ptr(),
                location,
                position.unwrap_or(0),
                self.raw.as_mut_ptr(),
                capacity,
                &mut count,
                &mut records,
            )
        };
        check(status, &held)?;
        drop(held);
        events.extend(self.raw[..count].iter().map(RawEvent::event));
        Ok(records)
    }

    /// Frees the buffer of a location's event reader. Reading may continue by position.
    ///
    /// # Errors
    /// An error of libotf2.
    pub fn close_events(&mut self, location: u64) -> Result<(), String> {
        let held = lock();
        // SAFETY: the archive is open.
        check(
            unsafe { fs_otf2_close_events(self.trace.as_ptr(), location) },
            &held,
        )
    }
}

impl Drop for ArchiveReader {
    fn drop(&mut self) {
        let _held = lock();
        // SAFETY: the archive is open and this is its last use.
        unsafe { fs_otf2_close(self.trace.as_ptr()) };
    }
}

fn definition(raw: &RawDefinition, data: &[u8]) -> Definition {
    let data = &data[raw.data_offset as usize..][..raw.data_bytes as usize];
    let text = || String::from_utf8_lossy(data).into_owned();
    // Ids are 32 bits wide in the format, except those of locations.
    let (id, a, b) = (raw.id as u32, raw.a as u32, raw.b as u32);
    match raw.kind {
        0 => Definition::Clock {
            ticks_per_second: raw.a,
        },
        1 => Definition::String { id, text: text() },
        2 => Definition::Location {
            id: raw.id,
            events: raw.b,
        },
        3 => Definition::Region { id, name: a },
        4 => Definition::Group {
            id,
            kind: a,
            paradigm: b,
            flags: raw.c as u32,
            members: data
                .chunks_exact(8)
                .map(|m| u64::from_ne_bytes(m.try_into().expect("chunks of 8")))
                .collect(),
        },
        5 => Definition::Communicator {
            id,
            name: a,
            group: b,
        },
        7 => Definition::RmaWindow { id, communicator: a },
        _ => Definition::InterCommunicator { id, groups: [a, b] },
    }
}
