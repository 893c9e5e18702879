//! Records on their way to the results, in the total order.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::event::Key;
use crate::{Model, Observer, Time};

/// A record with its place in the total order: of the event that emitted it, then of the emission.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Emitted<R> {
    pub(crate) key: Key,
    pub(crate) index: u32,
    pub(crate) record: R,
}

/// Puts the records of all threads and processes into the total order.
pub(crate) struct Committer<R> {
    /// Records that others may still precede.
    early: VecDeque<Emitted<R>>,
}

impl<R: Copy> Committer<R> {
    pub(crate) fn new() -> Self {
        Committer {
            early: VecDeque::new(),
        }
    }

    pub(crate) fn take(&mut self, records: &mut Vec<Emitted<R>>) {
        self.early.extend(records.drain(..));
    }

    /// Hands over what lies before `bound`, a time that all threads have passed.
    pub(crate) fn commit_before<M: Model<Record = R>>(
        &mut self,
        bound: Time,
        observer: &mut dyn Observer<M>,
    ) {
        if self.early.is_empty() {
            return;
        }
        self.early
            .make_contiguous()
            .sort_unstable_by_key(|e| (e.key, e.index));
        while self.early.front().is_some_and(|e| e.key.time < bound) {
            let emitted = self.early.pop_front().expect("just seen");
            observer.commit(emitted.key.time, emitted.record);
        }
    }
}
