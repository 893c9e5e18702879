//! BigSim traces: what each processor (PE) of a Charm++ or AMPI program did, as Charm++'s emulator BigSim recorded it
//! and TraceR replays it.
//!
//! `cursor` reads values, `log` a log, `files` finds the timelines, `timelines` keeps them, `replay` finds what is
//! replayed, `program` is the scheduler of a PE, `info` summarises. `docs/formats/bigsim.md` documents what is read.
//!
//! Source: the layout in Charm++ before February 2020; the replay in TraceR, <https://github.com/hpcgroup/TraceR>.

mod cursor;
mod files;
mod info;
mod log;
mod program;
mod replay;
#[cfg(test)]
mod tests;
mod timelines;

use std::path::Path;
use std::sync::Arc;

use crate::trace::TraceFormat;
use crate::{Program, TraceError, Workload};
use program::{BigsimProgram, is_of_runtime};
use replay::BigsimReplay;
use timelines::BigsimTimelines;

pub use program::RuntimeLogs;

/// This format.
pub const FORMAT: TraceFormat = TraceFormat {
    name: "bigsim",
    summary: "BigSim, the emulator of Charm++ and AMPI: give bgTrace, or the folder that holds it",
    main: files::MAIN,
    is_main: |name| name == files::MAIN,
    recognise: |head| head.starts_with(&cursor::MAGIC),
    open: |main| open(main, RuntimeLogs::Simulated),
    info: info::info,
};

/// Opens a trace.
///
/// # Errors
/// A file is missing or damaged, or the trace cannot be replayed.
pub fn open(main: &Path, runtime: RuntimeLogs) -> Result<Arc<dyn Workload>, TraceError> {
    let replay = BigsimReplay::new(BigsimTimelines::read(main)?)?;
    let names = &replay.timelines.names;
    let takes_time = |name: &String| runtime == RuntimeLogs::Recorded || !is_of_runtime(name);
    Ok(Arc::new(BigsimWorkload {
        takes_time: names.iter().map(takes_time).collect(),
        regions: names.clone().into(),
        communicators: Arc::new([(0..replay.timelines.machine.pes).collect()]),
        replay: Arc::new(replay),
    }))
}

/// A trace as a workload: each PE is a rank.
struct BigsimWorkload {
    replay: Arc<BigsimReplay>,
    communicators: Arc<[Vec<u32>]>,
    regions: Arc<[String]>,
    /// Whether logs take their recorded time, by name.
    takes_time: Arc<[bool]>,
}

impl Workload for BigsimWorkload {
    fn ranks(&self) -> u32 {
        self.communicators[0].len() as u32
    }

    fn communicators(&self) -> Arc<[Vec<u32>]> {
        self.communicators.clone()
    }

    fn regions(&self) -> Arc<[String]> {
        self.regions.clone()
    }

    fn program(&self, rank: u32) -> Result<Box<dyn Program>, TraceError> {
        let (replay, takes_time) = (self.replay.clone(), self.takes_time.clone());
        Ok(Box::new(BigsimProgram::new(replay, rank, takes_time)))
    }

    fn reacts(&self) -> bool {
        true
    }

    fn repeats(&self) -> bool {
        false
    }

    fn reopens(&self) -> bool {
        true
    }
}
