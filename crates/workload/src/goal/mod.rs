//! GOAL schedules, as LogGOPSim and ATLAHS use them: a graph of operations for each rank.
//!
//! `text` and `binary` find the block of each rank, `graph` reads a block, `program` makes a sequence of
//! operations, `balance` compares sends with receives, `scan` summarises. `docs/formats/goal.md` documents what
//! is read and where the model differs from LogGOPSim's.
//!
//! Source: Hoefler, Siebert, Lumsdaine, "Group Operation Assembly Language - A Flexible Way to Express
//! Collective Communication", ICPP 2009; the formats as in <https://github.com/spcl/LogGOPSim>.

mod balance;
mod binary;
mod graph;
mod program;
mod scan;
#[cfg(test)]
mod tests;
mod text;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::trace::TraceFormat;
use crate::{Program, TraceError, Workload};
use graph::GoalBlock;
use program::GoalProgram;

/// This format.
pub const FORMAT: TraceFormat = TraceFormat {
    name: "goal",
    summary: "GOAL schedule of LogGOPSim or ATLAHS: give the file, text or binary",
    main: "*.goal",
    is_main: |name| name.ends_with(".goal"),
    recognise: |head| binary::recognise(head) || text::recognise(head),
    open: |file| Ok(Arc::new(GoalSchedule::open(file)?)),
    info: |file| scan::info(&GoalSchedule::open(file)?),
};

/// An open schedule.
struct GoalSchedule {
    file: PathBuf,
    communicators: Arc<[Vec<u32>]>,
    ranks: RankBlocks,
}

/// Location of the ranks' operations.
enum RankBlocks {
    Text(Vec<text::TextPosition>),
    Binary(Vec<GoalBlock>),
}

impl GoalSchedule {
    fn open(file: &Path) -> Result<GoalSchedule, TraceError> {
        let head = crate::trace::head(file).map_err(|e| TraceError {
            file: file.display().to_string(),
            rank: None,
            message: format!("cannot be read: {e}"),
        })?;
        let ranks = if binary::recognise(&head) {
            RankBlocks::Binary(binary::blocks(file)?)
        } else {
            RankBlocks::Text(text::index(file)?)
        };
        let count = match &ranks {
            RankBlocks::Text(places) => places.len(),
            RankBlocks::Binary(blocks) => blocks.len(),
        };
        Ok(GoalSchedule {
            file: file.into(),
            communicators: Arc::new([(0..count as u32).collect()]),
            ranks,
        })
    }

    fn rank_program(&self, rank: u32) -> Result<GoalProgram, TraceError> {
        let ranks = self.ranks();
        let block = match &self.ranks {
            RankBlocks::Text(places) => text::block(&self.file, rank, ranks, places[rank as usize])?,
            RankBlocks::Binary(blocks) => blocks[rank as usize].clone(),
        };
        GoalProgram::new(self.file.display().to_string(), rank, ranks, block)
    }
}

impl Workload for GoalSchedule {
    fn ranks(&self) -> u32 {
        self.communicators[0].len() as u32
    }

    fn communicators(&self) -> Arc<[Vec<u32>]> {
        self.communicators.clone()
    }

    fn program(&self, rank: u32) -> Result<Box<dyn Program>, TraceError> {
        Ok(Box::new(self.rank_program(rank)?))
    }

    fn reopens(&self) -> bool {
        true
    }
}
