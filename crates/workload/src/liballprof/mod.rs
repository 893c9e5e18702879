//! liballprof traces, as the tracer of LogGOPSim and ATLAHS writes them: one text file per rank, one call per
//! line.
//!
//! `files` finds the files, `calls` is the table of functions, `record` reads lines, `communicators` finds
//! members, `program` decodes calls for `mpi_calls`, `scan` checks and summarises. `docs/formats/liballprof.md`
//! documents what is read.
//!
//! Source: liballprof in <https://github.com/spcl/LogGOPSim> and <https://github.com/spcl/atlahs>; Hoefler,
//! Schneider, Lumsdaine, "LogGOPSim - Simulating Large-Scale Applications in the LogGOPS Model", HPDC 2010.

mod calls;
mod communicators;
mod files;
mod program;
mod record;
mod scan;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::mpi_calls::Communicators;
use crate::recording_window::{
    CuttableRecording, RecordedProgram, RecordingEdge, RecordingEdges, RegionVisit,
};
use crate::scan::RecordTotals;
use crate::trace::TraceFormat;
use crate::{Program, TraceError, Workload};
use communicators::CommunicatorUses;
use files::AllprofFile;
use program::AllprofProgram;
use record::LineCursor;

/// This format.
pub const FORMAT: TraceFormat = TraceFormat {
    name: "liballprof",
    summary: "liballprof, the MPI tracer of LogGOPSim and ATLAHS: give NAME-0.txt, or the folder that holds it",
    main: "*-0.txt",
    is_main: files::is_main,
    recognise,
    open: |main| {
        let archive = Arc::new(AllprofArchive::open(main)?);
        scan::check(&archive)?;
        let main = main.to_path_buf();
        Ok(Arc::new(AllprofTrace { archive, main }))
    },
    info: |main| scan::info(AllprofArchive::open(main)?, main),
};

/// The first lines of a rank's file in all known versions; without comments, the first call.
fn recognise(head: &[u8]) -> bool {
    let starts: [&[u8]; 4] = [
        b"# collprof",
        b"# htor's PMPI Tracer",
        b"MPI_Init:",
        b"MPI_Init_thread:",
    ];
    starts.iter().any(|start| head.starts_with(start))
}

/// Handle of `MPI_COMM_WORLD` in MPICH and its derivatives, in C and Fortran (`mpi.h`, `mpif.h`).
const WORLD_OF_MPICH: i128 = 0x4400_0000;

/// The MPI library of the application, which determines the meaning of negative ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MpiLibrary {
    Mpich,
    OpenMpi,
}

impl MpiLibrary {
    /// `MPI_ANY_SOURCE`.
    fn any_source(self) -> i64 {
        match self {
            MpiLibrary::Mpich => -2,
            MpiLibrary::OpenMpi => -1,
        }
    }

    /// `MPI_PROC_NULL`.
    fn no_process(self) -> i64 {
        match self {
            MpiLibrary::Mpich => -1,
            MpiLibrary::OpenMpi => -2,
        }
    }
}

/// An open trace, shared by programs.
#[derive(Debug)]
struct AllprofArchive {
    files: Vec<Arc<AllprofFile>>,
    communicators: Communicators,
    /// Whether a rank uses several communicators with the same members, which are one here.
    merged: bool,
    library: MpiLibrary,
    /// Bytes between requests of an array, by rank.
    strides: Vec<u64>,
    totals: RecordTotals,
}

impl AllprofArchive {
    /// Opens a trace and reads it once to find communicators.
    fn open(main: &Path) -> Result<AllprofArchive, TraceError> {
        let files = files::open(main)?;
        let mut totals = RecordTotals::default();
        let mut library = MpiLibrary::OpenMpi;
        let mut strides = Vec::new();
        let mut calls = Vec::new();
        for file in &files {
            let pass = first_pass(file, &mut totals)?;
            if pass.is_mpich {
                library = MpiLibrary::Mpich;
            }
            strides.push(pass.stride);
            calls.push(pass.calls);
        }
        let largest = calls.iter().map(|calls| calls.largest).max().unwrap_or(0);
        files::check_number(&files, largest)?;
        let (communicators, merged) = communicators::resolve(calls, &files)?;
        Ok(AllprofArchive {
            files,
            communicators,
            merged,
            library,
            strides,
            totals,
        })
    }
}

impl AllprofArchive {
    /// World ranks of the communicators whose members communicate with each other.
    fn groups(&self) -> &[Vec<u32>] {
        &self.communicators.members[..self.communicators.groups]
    }
}

/// Facts from the first pass over a rank's file.
struct AllprofRankScan {
    calls: CommunicatorUses,
    is_mpich: bool,
    stride: u64,
}

/// The first pass over a rank's file.
fn first_pass(file: &Arc<AllprofFile>, totals: &mut RecordTotals) -> Result<AllprofRankScan, TraceError> {
    let mut pass = AllprofRankScan {
        calls: CommunicatorUses::default(),
        is_mpich: false,
        stride: 8,
    };
    let mut cursor = LineCursor::new(file.clone());
    let (mut first, mut last) = (None, None);
    while let Some(record) = cursor.next()? {
        totals.records += 1;
        let name = record.function.name;
        totals.add_call(name);
        first = first.or(record.start).or(record.end);
        last = record.end.or(record.start).or(last);
        pass.is_mpich |= record.comm.is_some_and(|comm| comm.handle == WORLD_OF_MPICH);
        // Requests are pointers or 32-bit integers. A pointer is aligned to 8 bytes.
        if makes_request(name) && !record.last_address().is_multiple_of(8) {
            pass.stride = 4;
        }
        pass.calls.note(&record);
    }
    let span = last.unwrap_or(0).saturating_sub(first.unwrap_or(0));
    // Clocks of different ranks are not compared, so that all ranks begin at 0.
    totals.add_span(0, i128::try_from(span).unwrap_or(i128::MAX));
    Ok(pass)
}

fn makes_request(name: &str) -> bool {
    name.ends_with("_init")
        || (name.starts_with("MPI_I") && !name.starts_with("MPI_Init") && name != "MPI_Iprobe")
}

struct AllprofTrace {
    archive: Arc<AllprofArchive>,
    /// The file that was given.
    main: PathBuf,
}

impl Workload for AllprofTrace {
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

    fn matching_limit(&self) -> Option<Cow<'static, str>> {
        self.archive.merged.then_some(Cow::Borrowed(
            "the trace uses several communicators with the same members; liballprof does not record which is which, \
             so they are replayed as one, and calls on them in another order on some ranks do not match \
             (docs/formats/liballprof.md, Communicators)",
        ))
    }

    fn reopens(&self) -> bool {
        true
    }
}

impl CuttableRecording for AllprofTrace {
    fn file(&self, rank: Option<u32>) -> String {
        match rank {
            Some(rank) => self.archive.files[rank as usize].error("").file,
            None => self.main.display().to_string(),
        }
    }

    fn program_between(
        &self,
        rank: u32,
        edges: RecordingEdges,
    ) -> Result<Box<dyn RecordedProgram>, TraceError> {
        Ok(Box::new(AllprofProgram::new(self.archive.clone(), rank, edges)))
    }

    fn first_events(&self) -> Result<Option<Vec<u64>>, TraceError> {
        // Clocks of different ranks are not compared.
        Ok(Some(vec![0; self.archive.files.len()]))
    }

    fn visits(&self, rank: u32, region: &str, visit: &mut dyn FnMut(RegionVisit)) -> Result<(), TraceError> {
        let mut cursor = LineCursor::new(self.archive.files[rank as usize].clone());
        let mut number = 0;
        while let Some(record) = cursor.next()? {
            number += 1;
            if record.function.name == region {
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
