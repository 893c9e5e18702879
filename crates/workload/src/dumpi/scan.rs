//! Summarises a trace from the first pass and the programs of all ranks.

use std::path::Path;
use std::sync::Arc;

use super::DumpiArchive;
use super::program::DumpiProgram;
use crate::recording_window::RecordingEdges;
use crate::scan::{OperationTotals, counted_notes};
use crate::{Program, TraceError, TraceInfo};

/// Summarises a trace; `main` is its file. All programs run to their end, so that a summarised trace can be
/// simulated.
pub fn info(archive: DumpiArchive, main: &Path) -> Result<TraceInfo, TraceError> {
    let archive = Arc::new(archive);
    let mut operations = OperationTotals::default();
    let mut unfinished = Unfinished::default();
    for rank in 0..archive.files.len() as u32 {
        let mut program = DumpiProgram::new(archive.clone(), rank, RecordingEdges::MPI);
        while let Some(operation) = program.next()? {
            operations.add(&operation, rank, &archive.communicators);
        }
        operations.add_recording(program.recording());
        unfinished.open += program.open_requests() as u64;
        unfinished.dropped += program.dropped;
        unfinished.wildcards += program.wildcards();
    }
    let notes = notes(&archive, &unfinished, operations.internal);
    let (totals, communicators) = (&archive.totals.records, &archive.communicators);
    Ok(operations.into_info(main, super::FORMAT.name, totals, communicators, notes))
}

/// Requests without a recorded completion.
#[derive(Default)]
struct Unfinished {
    open: u64,
    dropped: u64,
    wildcards: u64,
}

fn notes(archive: &DumpiArchive, unfinished: &Unfinished, internal: u64) -> Vec<String> {
    let totals = &archive.totals;
    let mut notes = vec![match archive.clock_name() {
        Some(clock) => format!("computation is the time between calls on the {clock} clock"),
        None => "no times were recorded; there is no computation".into(),
    }];
    let calls_of = |prefix: &str| -> u64 {
        let calls = totals
            .records
            .calls
            .iter()
            .filter(|(name, _)| name.starts_with(prefix));
        calls.map(|(_, n)| n).sum()
    };
    let counted = [
        (
            totals.by_threads,
            "calls were made by other threads than the first; they are replayed in recorded order, as calls of one thread",
        ),
        (
            unfinished.open,
            "requests never complete; receives among them are left out if they are from any source",
        ),
        (
            unfinished.dropped,
            "receives were cancelled or never complete; they are left out",
        ),
        (
            unfinished.wildcards,
            "receives are from any source or with any tag, and were recorded without a status; they take the first message",
        ),
        (
            internal,
            "collective operations are internal to calls that create or free communicators and windows, as in MPICH",
        ),
        (
            calls_of("MPI_File_") + calls_of("MPIO_"),
            "calls of MPI-IO; they are not replayed",
        ),
    ];
    notes.extend(counted_notes(counted));
    if totals.version > [13, 0, 0] {
        let [major, minor, patch] = totals.version;
        notes.push(format!(
            "written by version {major}.{minor}.{patch} of the library, which is newer than the latest known version (13.0.0)"
        ));
    }
    notes
}
