//! The part of a recording that is replayed.
//!
//! `tracker` says where a reader is relative to the window, `edges` finds the edges of each rank, `borders` counts the
//! messages and collectives that cross them, `cut` leaves these out. `docs/formats/window.md` documents the rules. The
//! formats give calls, events and times; this module knows none of them.

mod borders;
mod cut;
mod edges;
#[cfg(test)]
mod tests;
mod tracker;

use std::sync::Arc;

use config::{Duration, Error, Parameter, Section, Type, parameters};

use crate::{Program, TraceError, Workload};
pub use tracker::{RecordingEdge, RecordingEdges, RecordingTracker};

/// The functions at whose end the default window begins.
pub const INITIALIZE: [&str; 2] = ["MPI_Init", "MPI_Init_thread"];
/// The function at whose start the default window ends.
pub const FINALIZE: &str = "MPI_Finalize";

/// Values of the key `kind`, the default first.
const KINDS: &[&str] = &["mpi", "all", "time", "calls", "region", "iterations"];

/// Keys of the table `window` beside a recording.
pub const PARAMETERS: &[Parameter] = parameters! {
    choice("kind", KINDS, "unit of the window: from MPI_Init to MPI_Finalize, the whole recording, a time, numbers of \
           MPI calls, a region of the code, or entries of a region");
    computed("start", Type::Either(&[Type::Time, Type::Integer]), "the end of MPI_Init", "first time after the \
             recording's first event, first MPI call of each rank, or first entry of the region");
    computed("end", Type::Either(&[Type::Time, Type::Integer]), "the start of MPI_Finalize", "time, MPI call or entry \
             of the region before which the window ends");
    computed("region", Type::Text, "required with region and iterations", "name of the region of the code, or of an MPI \
             function");
};

/// The part of a recording that is replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordingWindow {
    /// From the end of `MPI_Init` to the start of `MPI_Finalize`.
    Mpi,
    /// The whole recording.
    All,
    /// Between two times in picoseconds after the first event of all ranks.
    Time(RecordingBounds),
    /// From the MPI call with a number to that before another one, of each rank.
    Calls(RecordingBounds),
    /// From the first entry to the last exit of a region.
    Region(String),
    /// Between two entries of a region.
    Iterations(String, RecordingBounds),
}

/// Start and end of a window; `None` for those of the default window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordingBounds {
    /// The first time, call or entry that is inside.
    pub start: Option<u64>,
    /// The first one that is outside again.
    pub end: Option<u64>,
}

impl RecordingWindow {
    /// Reads the key `window` of a table.
    ///
    /// # Errors
    /// A value is invalid, or a key does not belong to the kind of window.
    pub fn read(section: &Section) -> Result<RecordingWindow, Error> {
        let table = section.section("window")?;
        table.declare(PARAMETERS);
        let kind = table.choice("kind")?;
        let region = || -> Result<String, Error> { table.required("region") };
        let window = match kind {
            "mpi" => RecordingWindow::Mpi,
            "all" => RecordingWindow::All,
            "time" => {
                let time = |key| -> Result<Option<u64>, Error> {
                    Ok(table.optional::<Duration>(key)?.map(|time| time.ps))
                };
                let bounds = RecordingBounds {
                    start: time("start")?,
                    end: time("end")?,
                };
                RecordingWindow::Time(bounds.checked(table, kind)?)
            }
            "calls" => RecordingWindow::Calls(RecordingBounds::numbers(table, kind)?),
            "region" => RecordingWindow::Region(region()?),
            _ => RecordingWindow::Iterations(region()?, RecordingBounds::numbers(table, kind)?),
        };
        window.refuse_other_keys(table, kind)?;
        Ok(window)
    }

    fn refuse_other_keys(&self, table: &Section, kind: &str) -> Result<(), Error> {
        let (has_bounds, has_region) = match self {
            RecordingWindow::Mpi | RecordingWindow::All => (false, false),
            RecordingWindow::Time(_) | RecordingWindow::Calls(_) => (true, false),
            RecordingWindow::Region(_) => (false, true),
            RecordingWindow::Iterations(..) => (true, true),
        };
        for (key, belongs) in [("start", has_bounds), ("end", has_bounds), ("region", has_region)] {
            if table.has(key) && !belongs {
                return Err(table.error(key, format!("does not belong to kind = \"{kind}\"; remove it")));
            }
        }
        Ok(())
    }

    /// The workload with this window of a recording only. Selected windows read the recording up to their end once to
    /// find what crosses their borders; the default and the whole recording do not.
    ///
    /// # Errors
    /// The recording does not tell what the window needs, the window is empty, or the recording is damaged.
    pub fn of(&self, workload: Arc<dyn Workload>) -> Result<Arc<dyn Workload>, TraceError> {
        if *self == RecordingWindow::Mpi {
            return Ok(workload);
        }
        match workload.clone().recorded() {
            Some(recorded) => cut::open(recorded, self),
            None if *self == RecordingWindow::All => Ok(workload),
            None => Err(TraceError {
                file: "the workload".into(),
                rank: None,
                message: "its format does not tell calls, times and regions; remove the window".into(),
            }),
        }
    }
}

impl RecordingBounds {
    fn numbers(table: &Section, kind: &str) -> Result<RecordingBounds, Error> {
        let bounds = RecordingBounds {
            start: table.optional("start")?,
            end: table.optional("end")?,
        };
        for (key, value) in [("start", bounds.start), ("end", bounds.end)] {
            if value == Some(0) {
                return Err(table.error(key, "0 is too small; calls and entries are numbered from 1"));
            }
        }
        bounds.checked(table, kind)
    }

    fn checked(self, table: &Section, kind: &str) -> Result<RecordingBounds, Error> {
        match self {
            RecordingBounds {
                start: None,
                end: None,
            } => Err(table.error(
                "start",
                format!("missing; kind = \"{kind}\" needs start, end or both"),
            )),
            RecordingBounds {
                start: Some(start),
                end: Some(end),
            } if start >= end => {
                let message = "the window is empty: its end must be after its start (the end is outside)";
                Err(table.error("end", message))
            }
            _ => Ok(self),
        }
    }
}

/// A place of a region in a rank's recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegionVisit {
    /// An entry. The edge is before its computation.
    Entry(RecordingEdge),
    /// An exit. The edge is after its computation.
    Exit(RecordingEdge),
}

/// A recording that can be cut.
pub trait CuttableRecording: Workload {
    /// The recording's file, for errors.
    fn file(&self, rank: Option<u32>) -> String;

    /// The program of a rank, with the edges of its window.
    ///
    /// # Errors
    /// The source is broken.
    fn program_between(
        &self,
        rank: u32,
        edges: RecordingEdges,
    ) -> Result<Box<dyn RecordedProgram>, TraceError>;

    /// The first event of each rank, in picoseconds after the first one of all ranks. `None` without times.
    ///
    /// # Errors
    /// The source is broken.
    fn first_events(&self) -> Result<Option<Vec<u64>>, TraceError>;

    /// Passes the places of a region in a rank's recording, in order. A region is a function of MPI or, where the
    /// format records others with their names, any region of the code.
    ///
    /// # Errors
    /// The source is broken.
    fn visits(&self, rank: u32, region: &str, visit: &mut dyn FnMut(RegionVisit)) -> Result<(), TraceError>;

    /// Whether the format records regions other than functions of MPI with their names.
    fn has_regions(&self) -> bool;
}

/// A program whose reader knows where the window is. Operations outside are given, too; computation outside is not.
pub trait RecordedProgram: Program {
    /// Whether the last operation is in the window.
    fn is_inside(&self) -> bool;
    /// Whether no later operation is in the window.
    fn is_past(&self) -> bool;
    /// MPI calls so far, and those in the window.
    fn calls(&self) -> (u64, u64);
}
