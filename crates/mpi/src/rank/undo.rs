//! Undo of what calls of a rank change (reverse computation).

use std::mem;

use crate::changes::RankChange;
use crate::rank::Rank;

/// Changes by calls of a rank, for [`Rank::undo`].
#[derive(Debug)]
pub struct Changes(Box<[RankChange]>);

impl Rank {
    /// Sets whether calls note what they change, for [`Rank::take_changes`]. The default is false.
    pub fn keep_changes(&mut self, keep: bool) {
        self.journal.kept = keep;
    }

    /// Changes by all calls since the last take, also by calls that failed. `None` if there are none or changes
    /// are not kept.
    pub fn take_changes(&mut self) -> Option<Changes> {
        let changes = mem::take(&mut self.journal.changes);
        (!changes.is_empty()).then(|| Changes(changes.into_boxed_slice()))
    }

    /// Restores the state before these changes, which must be the last ones taken and not undone. Changes that
    /// have not been taken are undone first.
    pub fn undo(&mut self, changes: Changes) {
        let later = mem::take(&mut self.journal.changes);
        let all = changes.0.into_iter().chain(later);
        all.rev().for_each(|change| self.undo_change(change));
    }

    fn undo_change(&mut self, change: RankChange) {
        match change {
            RankChange::CpuState(change) => self.state.undo(change),
            RankChange::CpuActivity(change) => self.activity.undo(change),
            RankChange::Since(change) => self.since.undo(change),
            RankChange::TimelineUntil(change) => self.timeline_until.undo(change),
            RankChange::Program(change) => self.program.undo(change),
            RankChange::Path(change) => self.path.undo(change),
            RankChange::MessageOrder(change) => self.ordering.undo(change),
            RankChange::Matching(change) => self.matching.undo(change),
            RankChange::Requests(change) => self.requests.undo(change),
            RankChange::Open(change) => self.open.undo(change),
            RankChange::AwaitingData(change) => self.awaiting_data.undo(change),
            RankChange::CollectiveHistory(change) => self.histories.undo(change),
            RankChange::Collective(change) => self.collective.undo(change),
            RankChange::NonBlockingCollectives(change) => self.nonblocking.undo(change),
            RankChange::Stats(change) => self.stats.undo(change),
            RankChange::Repetition(change) => self.repetition.undo(change),
            RankChange::Measured(change) => self.measured.undo(change),
        }
    }
}
