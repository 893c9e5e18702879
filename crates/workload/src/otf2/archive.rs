//! An open archive: its files, and its ranks' events in batches.
//!
//! All ranks of all simulation threads read through one library handle, which a lock protects, in batches. Each
//! open event file costs a buffer of the archive's chunk size (1 MiB by default) and a file descriptor, so only
//! some are open at a time. The least recently used one is closed and reopened by position.

use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ::otf2::{ArchiveReader, TimedEvent};

use super::definitions::Definitions;
use crate::TraceError;

/// Records that are read at once.
pub const BATCH: usize = 512;

/// Memory for the buffers of open event files.
const OPEN_BYTES: u64 = 256 << 20;
/// Largest number of open event files, below the usual limits of 256 or 1024 descriptors.
const OPEN_FILES: u64 = 128;

/// An open archive, shared by cursors.
pub struct Otf2Archive {
    anchor: PathBuf,
    /// Definitions of all ranks.
    pub definitions: Definitions,
    reader: Mutex<EventFiles>,
}

struct EventFiles {
    library: ArchiveReader,
    file_per_location: bool,
    has_local_definitions: bool,
    defined: HashSet<u64>,
    /// Locations with open event files, and the number of records read; the most recently used one is last.
    open: VecDeque<(u64, u64)>,
    capacity: usize,
}

impl Otf2Archive {
    /// Opens an archive by its anchor file.
    ///
    /// # Errors
    /// It is damaged, incomplete, not a trace of an MPI program, or there is no library to read it.
    pub fn open(anchor: &Path) -> Result<Otf2Archive, TraceError> {
        let fail = |message: String| TraceError {
            file: anchor.display().to_string(),
            rank: None,
            message,
        };
        let (mut library, definitions) = ArchiveReader::open(anchor).map_err(fail)?;
        let definitions = Definitions::new(definitions).map_err(fail)?;
        let layout = library.layout().map_err(fail)?;
        let capacity = (OPEN_BYTES / layout.chunk_bytes.max(1)).clamp(4, OPEN_FILES) as usize;
        let mut reader = EventFiles {
            library,
            file_per_location: layout.file_per_location,
            has_local_definitions: true,
            defined: HashSet::new(),
            open: VecDeque::new(),
            capacity,
        };
        if layout.file_per_location {
            reader.has_local_definitions = check_files(anchor, &definitions.locations)?;
        }
        reader.library.select(&definitions.locations).map_err(fail)?;
        Ok(Otf2Archive {
            anchor: anchor.into(),
            definitions,
            reader: Mutex::new(reader),
        })
    }

    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.definitions.locations.len() as u32
    }

    /// The file of a rank's events; without a rank, the anchor file.
    pub fn file(&self, rank: Option<u32>) -> String {
        let reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        match rank.map(|rank| self.definitions.locations[rank as usize]) {
            Some(location) if reader.file_per_location => {
                local_file(&self.anchor, location, "evt").display().to_string()
            }
            _ => self.anchor.display().to_string(),
        }
    }

    /// An error at a rank's events.
    pub fn error(&self, rank: u32, message: impl Into<String>) -> TraceError {
        TraceError {
            file: self.file(Some(rank)),
            rank: Some(rank),
            message: message.into(),
        }
    }

    /// Appends a rank's events in the next records after `position`. Returns the number of records, which is
    /// less than [`BATCH`] at the end.
    fn read(&self, rank: u32, position: u64, events: &mut Vec<TimedEvent>) -> Result<u64, TraceError> {
        let location = self.definitions.locations[rank as usize];
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let result = reader.read(location, position, events);
        drop(reader);
        result.map_err(|(what, why)| {
            self.error(
                rank,
                format!("{what} are cut off or damaged (libotf2: {why}); copy the trace again"),
            )
        })
    }
}

impl EventFiles {
    fn read(
        &mut self,
        location: u64,
        position: u64,
        events: &mut Vec<TimedEvent>,
    ) -> Result<u64, (&'static str, String)> {
        if self.has_local_definitions && !self.defined.contains(&location) {
            let damaged = |why| ("its local definitions", why);
            self.library.local_definitions(location).map_err(damaged)?;
            self.defined.insert(location);
        }
        let damaged = |why| ("its events", why);
        let known = self.open.iter().position(|(l, _)| *l == location);
        let stopped_at = known.and_then(|i| self.open.remove(i)).map(|(_, at)| at);
        if stopped_at.is_none()
            && self.open.len() >= self.capacity
            && let Some((oldest, _)) = self.open.pop_front()
        {
            self.library.close_events(oldest).map_err(damaged)?;
        }
        let seek = (stopped_at.unwrap_or(0) != position).then_some(position + 1);
        let result = self.library.read_events(location, seek, BATCH, events);
        match result {
            Ok(records) if records == BATCH as u64 => self.open.push_back((location, position + records)),
            // At the end, or after damage, the file is not needed. Errors of closing it add nothing.
            _ => drop(self.library.close_events(location)),
        }
        result.map_err(damaged)
    }
}

/// File of a location: `traces.otf2` has `traces/<location>.<extension>`.
fn local_file(anchor: &Path, location: u64, extension: &str) -> PathBuf {
    anchor.with_extension("").join(format!("{location}.{extension}"))
}

/// Checks the files of all ranks. Returns whether there are local definitions, which all ranks have or none.
fn check_files(anchor: &Path, locations: &[u64]) -> Result<bool, TraceError> {
    let has = |location: &u64, extension| local_file(anchor, *location, extension).is_file();
    let defined = locations.iter().any(|l| has(l, "def"));
    for (rank, location) in (0..).zip(locations) {
        for (extension, needed) in [("evt", true), ("def", defined)] {
            if needed && !has(location, extension) {
                return Err(TraceError {
                    file: local_file(anchor, *location, extension).display().to_string(),
                    rank: Some(rank),
                    message: format!(
                        "this file of the trace {} is missing; copy the trace again, with the folder beside it",
                        anchor.display()
                    ),
                });
            }
        }
    }
    Ok(defined)
}

/// A source of the events of one rank, in order.
pub trait EventSource: Send {
    /// The next event; `None` at the end.
    ///
    /// # Errors
    /// The events cannot be read.
    fn next(&mut self) -> Result<Option<TimedEvent>, TraceError>;

    /// A second source at the current position.
    fn fork(&self) -> Box<dyn EventSource>;
}

/// Reads the events of one rank.
#[derive(Clone)]
pub struct EventCursor {
    archive: Arc<Otf2Archive>,
    rank: u32,
    /// Number of records read.
    records: u64,
    batch: Vec<TimedEvent>,
    used: usize,
    ended: bool,
}

impl EventCursor {
    /// A cursor at the rank's first event.
    pub fn new(archive: Arc<Otf2Archive>, rank: u32) -> EventCursor {
        EventCursor {
            archive,
            rank,
            records: 0,
            batch: Vec::new(),
            used: 0,
            ended: false,
        }
    }

    /// Number of records read; at the end, of all the rank's events.
    pub fn records(&self) -> u64 {
        self.records
    }

    fn refill(&mut self) -> Result<(), TraceError> {
        self.batch.clear();
        self.used = 0;
        let read = self.archive.read(self.rank, self.records, &mut self.batch)?;
        self.records += read;
        self.ended = read < BATCH as u64;
        let declared = self.archive.definitions.declared_events[self.rank as usize];
        if self.ended && self.records < declared {
            let message = format!(
                "the events end after {} of {declared}; copy the trace again",
                self.records
            );
            return Err(self.archive.error(self.rank, message));
        }
        Ok(())
    }
}

impl EventSource for EventCursor {
    fn next(&mut self) -> Result<Option<TimedEvent>, TraceError> {
        // A batch may be empty before the end: its records may all be of other kinds.
        while self.used == self.batch.len() {
            if self.ended {
                return Ok(None);
            }
            self.refill()?;
        }
        self.used += 1;
        Ok(Some(self.batch[self.used - 1]))
    }

    fn fork(&self) -> Box<dyn EventSource> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::super::program::EventReplay;
    use super::*;

    fn lammps() -> Option<Otf2Archive> {
        if !::otf2::is_available() {
            testkit::skipped!("this build cannot read OTF2");
            return None;
        }
        let trace = "../../examples/traces/otf2-lammps-melt-27/traces.otf2";
        Some(Otf2Archive::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join(trace)).unwrap())
    }

    fn all(mut cursor: EventCursor) -> Vec<TimedEvent> {
        std::iter::from_fn(|| cursor.next().unwrap()).collect()
    }

    /// Ranks take turns, so that with few open files each read finds its file closed.
    #[test]
    fn closed_files_are_found_again_where_they_were_left() {
        let Some(archive) = lammps().map(Arc::new) else {
            return;
        };
        let ranks = [3, 9, 3, 26];
        let expected: Vec<_> = ranks
            .iter()
            .map(|r| all(EventCursor::new(archive.clone(), *r)))
            .collect();
        let archive = Arc::new(lammps().unwrap());
        archive.reader.lock().unwrap().capacity = 2;
        let mut cursors: Vec<_> = ranks
            .iter()
            .map(|r| EventCursor::new(archive.clone(), *r))
            .collect();
        let mut seen = vec![Vec::new(); ranks.len()];
        while seen.iter().zip(&expected).any(|(s, e)| s.len() < e.len()) {
            for (cursor, seen) in cursors.iter_mut().zip(&mut seen) {
                seen.extend((0..BATCH).map_while(|_| cursor.next().unwrap()));
            }
        }
        assert_eq!(seen, expected);
        assert!(archive.reader.lock().unwrap().open.len() <= 2);
    }

    #[test]
    fn a_fork_goes_on_without_moving_its_origin() {
        let Some(archive) = lammps().map(Arc::new) else {
            return;
        };
        let expected = all(EventCursor::new(archive.clone(), 4));
        let mut cursor = EventCursor::new(archive, 4);
        for event in &expected[..1000] {
            assert_eq!(cursor.next().unwrap(), Some(*event));
        }
        let mut fork = cursor.fork();
        let ahead: Vec<_> = std::iter::from_fn(|| fork.next().unwrap()).collect();
        assert_eq!(ahead, expected[1000..]);
        assert_eq!(all(cursor), expected[1000..]);
    }

    /// Memory per rank is one batch of events, and a queue for the duration of open receives.
    #[test]
    fn little_waits_in_memory() {
        let Some(archive) = lammps().map(Arc::new) else {
            return;
        };
        for rank in 0..archive.ranks() {
            let mut cursor = EventCursor::new(archive.clone(), rank);
            let mut replay = EventReplay::new(rank, crate::recording_window::RecordingEdges::MPI);
            while replay.next(&archive.definitions, &mut cursor).unwrap().is_some() {
                assert!(replay.waiting() <= 8 && cursor.batch.capacity() <= 2 * BATCH);
            }
            assert_eq!(replay.open_requests(), 0);
        }
    }
}
