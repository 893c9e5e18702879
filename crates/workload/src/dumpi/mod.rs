//! DUMPI traces, as the library of SST's trace tools writes them: one binary file per rank.
//!
//! `files` finds the files and their parts, `calls` is the table of functions, `record` reads records,
//! `communicators` finds members, `datatypes` sizes of types, `look_ahead` sources of messages, `program`
//! decodes calls for `mpi_calls`, `scan` summarises. `docs/formats/dumpi.md` documents what is read.
//!
//! Source: the documentation and headers of sst-dumpi, <https://github.com/sstsimulator/sst-dumpi>.

mod calls;
mod communicators;
mod datatypes;
mod files;
mod look_ahead;
mod program;
mod record;
mod scan;
#[cfg(test)]
mod test_trace;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::mpi_calls::Communicators;
use crate::recording_window::{
    CuttableRecording, RecordedProgram, RecordingEdge, RecordingEdges, RegionVisit,
};
use crate::scan::RecordTotals;
use crate::trace::TraceFormat;
use crate::{Program, TraceError, TraceInfo, Workload};
use communicators::CommunicatorCalls;
use datatypes::TypeSizeHints;
use files::DumpiFile;
use program::DumpiProgram;
use record::{DumpiRecord, Interval, RecordCursor};

/// This format.
pub const FORMAT: TraceFormat = TraceFormat {
    name: "dumpi",
    summary: "DUMPI, as SST's library writes it: give the file NAME.meta, or the folder that holds it",
    main: "*.meta",
    is_main: |name| name.ends_with(".meta"),
    recognise: |head| head.starts_with(&files::MAGIC) || files::is_meta(head),
    open: |main| open(main, RecordedClock::Any),
    info,
};

/// The clock that measures computation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecordedClock {
    /// The CPU clock if recorded, otherwise the wall clock.
    #[default]
    Any,
    /// The CPU clock: time used by the process.
    Cpu,
    /// The wall clock, which includes time of other processes.
    Wall,
}

impl RecordedClock {
    /// Names in experiments, `any` first.
    pub const NAMES: [&'static str; 3] = ["any", "cpu", "wall"];

    /// The clock of a name.
    pub fn from_name(name: &str) -> RecordedClock {
        match name {
            "cpu" => RecordedClock::Cpu,
            "wall" => RecordedClock::Wall,
            _ => RecordedClock::Any,
        }
    }
}

/// Facts from the first pass over a rank's file.
#[derive(Debug)]
struct DumpiRankScan {
    /// Whether it calls `MPI_Cancel`.
    cancels: bool,
    /// Sizes of types that no call creates.
    sizes: BTreeMap<u16, u64>,
}

/// Counts over all records.
#[derive(Debug, Default)]
struct DumpiTotals {
    records: RecordTotals,
    /// Calls with a time on the CPU clock, and on the wall clock.
    timed: [u64; 2],
    /// Calls by other threads than the first.
    by_threads: u64,
    /// Newest version of the library.
    version: files::Version,
}

/// An open trace, shared by programs.
#[derive(Debug)]
struct DumpiArchive {
    files: Vec<Arc<DumpiFile>>,
    communicators: Communicators,
    ranks: Vec<DumpiRankScan>,
    totals: DumpiTotals,
    clock: RecordedClock,
}

impl DumpiArchive {
    /// Opens a trace and reads it once to find communicators.
    fn open(main: &Path, clock: RecordedClock) -> Result<DumpiArchive, TraceError> {
        let files = files::open(main)?;
        let mut totals = DumpiTotals::default();
        let mut calls = Vec::new();
        let mut ranks = Vec::new();
        for file in &files {
            let (own, scan) = first_pass(file, files.len() as u32, &mut totals)?;
            calls.push(own);
            ranks.push(scan);
        }
        let [cpu, wall] = totals.timed;
        let missing = match clock {
            RecordedClock::Cpu => (cpu == 0).then_some("CPU clock"),
            RecordedClock::Wall => (wall == 0).then_some("wall clock"),
            RecordedClock::Any => None,
        };
        if let Some(missing) = missing {
            return Err(TraceError {
                file: main.display().to_string(),
                rank: None,
                message: format!("was recorded without times on the {missing}; choose another clock"),
            });
        }
        let communicators = communicators::resolve(calls, &files)?;
        Ok(DumpiArchive {
            files,
            communicators,
            ranks,
            totals,
            clock,
        })
    }

    /// Name of the clock that measures computation.
    fn clock_name(&self) -> Option<&'static str> {
        let [cpu, wall] = self.totals.timed;
        match self.clock {
            RecordedClock::Cpu => Some("CPU"),
            RecordedClock::Wall => Some("wall"),
            RecordedClock::Any if cpu > 0 => Some("CPU"),
            RecordedClock::Any if wall > 0 => Some("wall"),
            RecordedClock::Any => None,
        }
    }
}

/// The first pass over a rank's file.
fn first_pass(
    file: &Arc<DumpiFile>,
    ranks: u32,
    totals: &mut DumpiTotals,
) -> Result<(CommunicatorCalls, DumpiRankScan), TraceError> {
    let mut calls = CommunicatorCalls::default();
    let mut hints = TypeSizeHints::default();
    let mut cancels = false;
    let mut cursor = RecordCursor::new(file.clone());
    let mut record = DumpiRecord::default();
    let mut span = WallSpan::default();
    totals.version = totals.version.max(file.version);
    while cursor.next(&mut record)? {
        totals.records.records += 1;
        if record.function > calls::ALL_FUNCTIONS {
            continue;
        }
        let name = record.name();
        totals.records.add_call(name);
        for (count, time) in totals.timed.iter_mut().zip([record.cpu, record.wall]) {
            *count += u64::from(time.is_some());
        }
        totals.by_threads += u64::from(record.thread > 0);
        span.note(&record);
        cancels |= name == "MPI_Cancel";
        hints.note(&record);
        let noted = calls.note(&record, file.rank, ranks);
        noted.map_err(|message| cursor.error(&record, message))?;
    }
    // The clocks of DUMPI have an origin of their own on each host, so that all ranks begin at 0.
    totals.records.add_span(0, span.picoseconds().into());
    let sizes = hints.into_sizes();
    Ok((calls, DumpiRankScan { cancels, sizes }))
}

/// Time from a rank's first to its last call, on the wall clock if recorded.
#[derive(Default)]
struct WallSpan {
    last: Option<Interval>,
    ns: i64,
}

impl WallSpan {
    fn note(&mut self, record: &DumpiRecord) {
        let Some(now) = record.wall.or(record.cpu) else {
            return;
        };
        let since = self.last.unwrap_or(Interval {
            start: now.start,
            stop: now.start,
        });
        self.ns = self.ns.saturating_add(now.stop.since(since.stop));
        self.last = Some(now);
    }

    fn picoseconds(&self) -> u64 {
        u64::try_from(self.ns).unwrap_or(0).saturating_mul(1000)
    }
}

#[derive(Debug)]
struct DumpiTrace {
    archive: Arc<DumpiArchive>,
    /// The file that was given.
    main: PathBuf,
}

/// Opens a trace; `main` is its meta file, or the file of any rank.
///
/// # Errors
/// It is damaged, incomplete, or cannot be replayed.
pub fn open(main: &Path, clock: RecordedClock) -> Result<Arc<dyn Workload>, TraceError> {
    let archive = Arc::new(DumpiArchive::open(main, clock)?);
    let main = main.to_path_buf();
    Ok(Arc::new(DumpiTrace { archive, main }))
}

fn info(main: &Path) -> Result<TraceInfo, TraceError> {
    scan::info(DumpiArchive::open(main, RecordedClock::Any)?, main)
}

impl Workload for DumpiTrace {
    fn ranks(&self) -> u32 {
        self.archive.files.len() as u32
    }

    fn communicators(&self) -> Arc<[Vec<u32>]> {
        self.archive.communicators.members.clone()
    }

    fn program(&self, rank: u32) -> Result<Box<dyn Program>, TraceError> {
        Ok(self.program_between(rank, RecordingEdges::MPI)?)
    }

    fn recorded(self: Arc<Self>) -> Option<Arc<dyn CuttableRecording>> {
        Some(self)
    }

    fn reopens(&self) -> bool {
        true
    }
}

impl CuttableRecording for DumpiTrace {
    fn file(&self, rank: Option<u32>) -> String {
        let own = rank.map(|rank| &self.archive.files[rank as usize].path);
        own.unwrap_or(&self.main).display().to_string()
    }

    fn program_between(
        &self,
        rank: u32,
        edges: RecordingEdges,
    ) -> Result<Box<dyn RecordedProgram>, TraceError> {
        Ok(Box::new(DumpiProgram::new(self.archive.clone(), rank, edges)))
    }

    fn first_events(&self) -> Result<Option<Vec<u64>>, TraceError> {
        let [cpu, wall] = self.archive.totals.timed;
        // The clocks have an origin of their own on each host.
        Ok((cpu > 0 || wall > 0).then(|| vec![0; self.archive.files.len()]))
    }

    fn visits(&self, rank: u32, region: &str, visit: &mut dyn FnMut(RegionVisit)) -> Result<(), TraceError> {
        let mut cursor = RecordCursor::new(self.archive.files[rank as usize].clone());
        let mut record = DumpiRecord::default();
        let mut number = 0;
        while cursor.next(&mut record)? {
            if record.function > calls::ALL_FUNCTIONS {
                continue;
            }
            number += 1;
            if record.name() == region {
                visit(RegionVisit::Entry(RecordingEdge::Call(number)));
                visit(RegionVisit::Exit(RecordingEdge::Call(number + 1)));
            }
        }
        Ok(())
    }

    fn has_regions(&self) -> bool {
        false
    }
}
