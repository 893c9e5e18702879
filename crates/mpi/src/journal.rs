//! Undo of what calls of a rank change (reverse computation).
//!
//! Each part of a rank changes only by methods that also note the inverse change. The `undo` of the part
//! applies the inverse. A note owns all that it needs.

use std::collections::VecDeque;
use std::mem;
use std::ops::Deref;

use des::Time;
use serde::{Deserialize, Serialize};

use crate::path::PathState;
use crate::rank::{CpuActivity, CpuState, Rank};
use crate::tracing::TracedUntil;
use crate::{
    agreement, blocking_collective, matching, nonblocking_collective, ordering, program, repetition,
    requests, statistics,
};

/// Changes by calls of a rank, for [`Rank::undo`].
#[derive(Debug)]
pub struct Changes(Box<[RankChange]>);

/// The parts of a rank: name and type of a part's change, and its field in [`Rank`].
macro_rules! parts {
    ($($part:ident($change:ty): $field:ident,)*) => {
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

        impl Rank {
            fn undo_change(&mut self, change: RankChange) {
                match change {
                    $(RankChange::$part(change) => self.$field.undo(change),)*
                }
            }
        }
    };
}

parts! {
    CpuState(CpuState): state,
    CpuActivity(CpuActivity): activity,
    Since(Time): since,
    TracedUntil(TracedUntil): traced_until,
    Program(program::TakenOperation): program,
    Path(PathState): path,
    MessageOrder(ordering::OrderChange): ordering,
    Matching(matching::MatchingChange): matching,
    Requests(requests::RequestChange): requests,
    Open(HandleChange<u64>): open,
    AwaitingData(HandleChange<(u32, u32)>): awaiting_data,
    CollectiveHistory(agreement::HistoryChange): histories,
    Collective(blocking_collective::BlockingCollectiveChange): collective,
    NonBlockingCollectives(nonblocking_collective::NonBlockingChange): nonblocking,
    Stats(statistics::StatisticsChange): stats,
    Repetition(repetition::Repetition): repetition,
    Measured(repetition::MeasuredChange): measured,
}

// A call notes about ten changes, and the notes of all uncommitted calls are kept.
const _: () = assert!(size_of::<RankChange>() <= 64);

/// Changes since they were last taken, in order.
#[derive(Debug, Default)]
pub(crate) struct RankJournal {
    kept: bool,
    changes: Vec<RankChange>,
}

impl RankJournal {
    /// Notes a change. Evaluates nothing where changes are not kept.
    #[inline]
    pub fn note<C: Into<RankChange>>(&mut self, change: impl FnOnce() -> C) {
        if self.kept {
            self.changes.push(change().into());
        }
    }
}

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
}

/// A value that is replaced as a whole.
#[derive(Debug)]
pub(crate) struct Journaled<T>(T);

impl<T> Journaled<T> {
    pub fn new(value: T) -> Journaled<T> {
        Journaled(value)
    }
}

impl<T: Into<RankChange>> Journaled<T> {
    pub fn set(&mut self, value: T, journal: &mut RankJournal) {
        let old = mem::replace(&mut self.0, value);
        journal.note(|| old);
    }

    /// Changes a part of the value.
    #[inline]
    pub fn update(&mut self, change: impl FnOnce(&mut T), journal: &mut RankJournal)
    where
        T: Copy,
    {
        // Noted first, so that nothing is copied where changes are not kept.
        journal.note(|| self.0);
        change(&mut self.0);
    }

    fn undo(&mut self, old: T) {
        self.0 = old;
    }
}

impl<T> Deref for Journaled<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// A journaled map from a key to a request handle or another number: entries in the order of their keys. Keys mostly
/// rise, and the oldest entry mostly leaves first, so that both ends change and a tree would cost more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct HandleMap<K: Ord>(VecDeque<(K, u32)>);

/// The previous value of a key.
#[derive(Debug)]
pub(crate) struct HandleChange<K> {
    key: K,
    old: Option<u32>,
}

impl<K: Ord> Default for HandleMap<K> {
    fn default() -> HandleMap<K> {
        HandleMap(VecDeque::new())
    }
}

impl<K: Ord + Copy> HandleMap<K>
where
    HandleChange<K>: Into<RankChange>,
{
    /// The place of a key, or the place where it would be.
    fn place(&self, key: K) -> Result<usize, usize> {
        match (self.0.front(), self.0.back()) {
            (_, Some((last, _))) if *last < key => Err(self.0.len()),
            (Some((first, _)), _) if *first == key => Ok(0),
            _ => self.0.binary_search_by(|(other, _)| other.cmp(&key)),
        }
    }

    fn set(&mut self, key: K, handle: u32) -> Option<u32> {
        match self.place(key) {
            Ok(place) => Some(std::mem::replace(&mut self.0[place].1, handle)),
            Err(place) => {
                self.0.insert(place, (key, handle));
                None
            }
        }
    }

    fn take(&mut self, key: K) -> Option<u32> {
        let place = self.place(key).ok()?;
        self.0.remove(place).map(|(_, handle)| handle)
    }

    pub fn contains(&self, key: K) -> bool {
        self.place(key).is_ok()
    }

    pub fn insert(&mut self, key: K, handle: u32, journal: &mut RankJournal) {
        let old = self.set(key, handle);
        journal.note(|| HandleChange { key, old });
    }

    pub fn remove(&mut self, key: K, journal: &mut RankJournal) -> Option<u32> {
        let old = self.take(key)?;
        journal.note(|| HandleChange { key, old: Some(old) });
        Some(old)
    }

    fn undo(&mut self, HandleChange { key, old }: HandleChange<K>) {
        match old {
            Some(handle) => self.set(key, handle),
            None => self.take(key),
        };
    }
}
