//! OTF2 archives, as Score-P and others write them, read by the official library.
//!
//! The crate `otf2` calls libotf2, `definitions` gives ranks and communicators, `archive` reads events,
//! `program` and its parts make operations, `collective` converts byte counts, `scan` summarises.
//! `docs/formats/otf2.md` documents what is read.
//!
//! Format and library: <https://perftools.pages.jsc.fz-juelich.de/cicd/otf2/>.

mod archive;
mod collective;
mod definitions;
mod program;
mod scan;

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use ::otf2::EventRecord;

use crate::recording_window::{
    CuttableRecording, RecordedProgram, RecordingEdge, RecordingEdges, RegionVisit,
};
use crate::trace::TraceFormat;
use crate::{OtherLocations, Program, TraceError, Workload};
use archive::{EventCursor, EventSource, Otf2Archive};
use program::Otf2Program;

/// This format.
pub const FORMAT: TraceFormat = TraceFormat {
    name: "otf2",
    summary: "Open Trace Format 2, as Score-P writes it: give the anchor file, traces.otf2",
    main: "*.otf2",
    is_main: |name| name.ends_with(".otf2"),
    // A byte order record (big- or little-endian), then the magic of an anchor file.
    recognise: |head| matches!(head, [3, b'B' | b'L', b'O', b'T', b'F', b'2', ..]),
    open,
    info: |anchor| scan::info(Otf2Archive::open(anchor)?, anchor),
};

/// Whether this build can read OTF2.
pub use ::otf2::is_available;

struct Otf2Trace {
    archive: Arc<Otf2Archive>,
}

fn open(anchor: &Path) -> Result<Arc<dyn Workload>, TraceError> {
    let archive = Arc::new(Otf2Archive::open(anchor)?);
    Ok(Arc::new(Otf2Trace { archive }))
}

impl Workload for Otf2Trace {
    fn ranks(&self) -> u32 {
        self.archive.ranks()
    }

    fn communicators(&self) -> Arc<[Vec<u32>]> {
        self.archive.definitions.communicators.clone()
    }

    fn regions(&self) -> Arc<[String]> {
        self.archive.definitions.regions.clone()
    }

    fn program(&self, rank: u32) -> Result<Box<dyn Program>, TraceError> {
        Ok(self.program_between(rank, RecordingEdges::MPI)?)
    }

    fn recorded(self: Arc<Self>) -> Option<Arc<dyn CuttableRecording>> {
        Some(self)
    }

    fn matching_limit(&self) -> Option<Cow<'static, str>> {
        let OtherLocations { locations, events } = self.other_locations();
        (events > 0).then(|| {
            let text = format!(
                "locations of the recording that are no MPI ranks (threads, accelerators) were left out: {locations} \
                 with {events} events; MPI calls of threads other than the first of each rank are not replayed \
                 (docs/formats/otf2.md)"
            );
            text.into()
        })
    }

    fn other_locations(&self) -> OtherLocations {
        let (locations, events) = self.archive.definitions.other_locations;
        let locations = locations as u64;
        OtherLocations { locations, events }
    }

    fn reopens(&self) -> bool {
        true
    }
}

impl CuttableRecording for Otf2Trace {
    fn file(&self, rank: Option<u32>) -> String {
        self.archive.file(rank)
    }

    fn program_between(
        &self,
        rank: u32,
        edges: RecordingEdges,
    ) -> Result<Box<dyn RecordedProgram>, TraceError> {
        let events = Box::new(EventCursor::new(self.archive.clone(), rank));
        Ok(Box::new(Otf2Program::new(
            self.archive.clone(),
            rank,
            edges,
            events,
        )))
    }

    fn first_events(&self) -> Result<Option<Vec<u64>>, TraceError> {
        let first = |rank| {
            Ok(EventCursor::new(self.archive.clone(), rank)
                .next()?
                .map(|e| e.time))
        };
        let ticks: Vec<Option<u64>> = (0..self.ranks()).map(first).collect::<Result<_, TraceError>>()?;
        let earliest = ticks.iter().copied().flatten().min().unwrap_or(0);
        let picoseconds = |ticks: &Option<u64>| {
            let since = ticks.unwrap_or(earliest) - earliest;
            self.archive.definitions.picoseconds(since).unwrap_or(u64::MAX)
        };
        Ok(Some(ticks.iter().map(picoseconds).collect()))
    }

    fn visits(&self, rank: u32, region: &str, visit: &mut dyn FnMut(RegionVisit)) -> Result<(), TraceError> {
        let mut events = EventCursor::new(self.archive.clone(), rank);
        let is_it = |id| self.archive.definitions.region_name(id) == Some(region);
        let mut number = 0;
        while let Some(event) = events.next()? {
            number += 1;
            match event.record {
                EventRecord::Enter { region } if is_it(region) => {
                    visit(RegionVisit::Entry(RecordingEdge::Event(number)))
                }
                EventRecord::Leave { region } if is_it(region) => {
                    visit(RegionVisit::Exit(RecordingEdge::Event(number)))
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn has_regions(&self) -> bool {
        true
    }
}
