//! The edges of a window for each rank.

use super::{
    CuttableRecording, RecordingBounds, RecordingEdge, RecordingEdges, RecordingWindow, RegionVisit,
};
use crate::TraceError;

/// An error about the window of a recording, or of one of its ranks.
pub fn error(recorded: &dyn CuttableRecording, rank: Option<u32>, message: impl Into<String>) -> TraceError {
    TraceError {
        file: recorded.file(rank),
        rank,
        message: message.into(),
    }
}

/// The edges of each rank.
///
/// # Errors
/// The recording has no times, or a rank never enters the region, or not as often as the window needs.
pub fn find(
    recorded: &dyn CuttableRecording,
    window: &RecordingWindow,
) -> Result<Vec<RecordingEdges>, TraceError> {
    let ranks = recorded.ranks();
    match window {
        RecordingWindow::Mpi => Ok(vec![RecordingEdges::MPI; ranks as usize]),
        RecordingWindow::All => Ok(vec![
            RecordingEdges::new(
                RecordingEdge::Recording,
                RecordingEdge::Recording
            );
            ranks as usize
        ]),
        RecordingWindow::Calls(bounds) => Ok(vec![between(*bounds, RecordingEdge::Call); ranks as usize]),
        RecordingWindow::Time(bounds) => {
            let offsets = recorded.first_events()?;
            let offsets = offsets.ok_or_else(|| {
                let message =
                    "was recorded without times, so that no window by time can be found; choose one by calls";
                error(recorded, None, message)
            })?;
            let edges = between(*bounds, RecordingEdge::Time);
            Ok(offsets
                .into_iter()
                .map(|offset_ps| RecordingEdges { offset_ps, ..edges })
                .collect())
        }
        RecordingWindow::Region(name) => {
            check_name(recorded, name)?;
            (0..ranks)
                .map(|rank| whole_region(recorded, rank, name))
                .collect()
        }
        RecordingWindow::Iterations(name, bounds) => {
            check_name(recorded, name)?;
            (0..ranks)
                .map(|rank| iterations(recorded, rank, name, *bounds))
                .collect()
        }
    }
}

fn between(bounds: RecordingBounds, edge: fn(u64) -> RecordingEdge) -> RecordingEdges {
    let edge = |bound: Option<u64>| bound.map_or(RecordingEdge::Mpi, edge);
    RecordingEdges::new(edge(bounds.start), edge(bounds.end))
}

fn check_name(recorded: &dyn CuttableRecording, name: &str) -> Result<(), TraceError> {
    if recorded.has_regions() || name.starts_with("MPI_") {
        return Ok(());
    }
    let message = format!(
        "the format records the names of MPI functions only, not region '{name}' of the code; give an MPI function, such \
         as MPI_Pcontrol, or choose a window by calls or by time"
    );
    Err(error(recorded, None, message))
}

fn never_entered(recorded: &dyn CuttableRecording, rank: u32, name: &str) -> TraceError {
    let regions = recorded.regions();
    let known: Vec<&str> = regions.iter().take(8).map(String::as_str).collect();
    let known = match known[..] {
        [] => String::new(),
        _ => format!(" (regions of the recording: {})", known.join(", ")),
    };
    let message = format!("never enters region '{name}', so that the window is unknown{known}");
    error(recorded, Some(rank), message)
}

/// From the first entry to the last exit.
fn whole_region(
    recorded: &dyn CuttableRecording,
    rank: u32,
    name: &str,
) -> Result<RecordingEdges, TraceError> {
    let (mut first, mut last) = (None, None);
    recorded.visits(rank, name, &mut |visit| match visit {
        RegionVisit::Entry(edge) => first = first.or(Some(edge)),
        RegionVisit::Exit(edge) => last = Some(edge),
    })?;
    let first = first.ok_or_else(|| never_entered(recorded, rank, name))?;
    // A region that is not left holds the rest of the recording.
    Ok(RecordingEdges::new(
        first,
        last.unwrap_or(RecordingEdge::Recording),
    ))
}

/// Between two entries.
fn iterations(
    recorded: &dyn CuttableRecording,
    rank: u32,
    name: &str,
    bounds: RecordingBounds,
) -> Result<RecordingEdges, TraceError> {
    let (mut entries, mut start, mut end) = (0, None, None);
    recorded.visits(rank, name, &mut |visit| {
        if let RegionVisit::Entry(edge) = visit {
            entries += 1;
            if bounds.start == Some(entries) {
                start = Some(edge);
            }
            if bounds.end == Some(entries) {
                end = Some(edge);
            }
        }
    })?;
    if entries == 0 {
        return Err(never_entered(recorded, rank, name));
    }
    for (key, bound) in [("start", bounds.start), ("end", bounds.end)] {
        if let Some(bound) = bound.filter(|bound| *bound > entries) {
            let message = format!(
                "enters region '{name}' {entries} times, but the window has {key} = {bound}; choose at most {entries}"
            );
            return Err(error(recorded, Some(rank), message));
        }
    }
    Ok(RecordingEdges::new(
        start.unwrap_or(RecordingEdge::Mpi),
        end.unwrap_or(RecordingEdge::Mpi),
    ))
}
