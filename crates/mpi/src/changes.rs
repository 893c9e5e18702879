//! The changes of all parts of a rank, and their journal. A part knows only its own changes. `rank/undo.rs` undoes
//! them.

use des::{Journal, Time};

use crate::agreement::HistoryChange;
use crate::blocking_collective::BlockingCollectiveChange;
use crate::cpu::{CpuActivity, CpuState};
use crate::journal::HandleChange;
use crate::matching::MatchingChange;
use crate::nonblocking_collective::NonBlockingChange;
use crate::ordering::OrderChange;
use crate::path::PathState;
use crate::program::TakenOperation;
use crate::repetition::{MeasuredChange, Repetition};
use crate::requests::RequestChange;
use crate::statistics::StatisticsChange;
use crate::timeline::TimelineUntil;

/// The parts of a rank: name and type of a part's change.
macro_rules! parts {
    ($($part:ident($change:ty),)*) => {
        /// The inverse of one change of one part.
        #[derive(Debug)]
        pub(crate) enum RankChange {
            $($part($change),)*
        }

        $(impl From<$change> for RankChange {
            fn from(change: $change) -> RankChange {
                RankChange::$part(change)
            }
        })*
    };
}

parts! {
    CpuState(CpuState),
    CpuActivity(CpuActivity),
    Since(Time),
    TimelineUntil(TimelineUntil),
    Program(TakenOperation),
    Path(PathState),
    MessageOrder(OrderChange),
    Matching(MatchingChange),
    Requests(RequestChange),
    Open(HandleChange<u64>),
    AwaitingData(HandleChange<(u32, u32)>),
    CollectiveHistory(HistoryChange),
    Collective(BlockingCollectiveChange),
    NonBlockingCollectives(NonBlockingChange),
    Stats(StatisticsChange),
    Repetition(Repetition),
    Measured(MeasuredChange),
}

// A call notes about ten changes, and the notes of all uncommitted calls are kept.
const _: () = assert!(size_of::<RankChange>() <= 64);

/// Changes since they were last taken, in order.
#[derive(Debug, Default)]
pub(crate) struct RankJournal {
    pub kept: bool,
    pub changes: Vec<RankChange>,
}

impl<C: Into<RankChange>> Journal<C> for RankJournal {
    const KEPT: bool = true;

    fn keep(&mut self, change: C) {
        self.changes.push(change.into());
    }

    /// Evaluates nothing where changes are not kept. [`crate::Rank::keep_changes`] sets that during the run, so that it
    /// is no constant.
    #[inline]
    fn note(&mut self, change: impl FnOnce() -> C) {
        if self.kept {
            self.changes.push(change().into());
        }
    }
}
