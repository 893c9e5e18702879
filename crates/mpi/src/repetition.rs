//! Repetitions of a rank's program: their ends, and the end of the part that is measured.
//!
//! A job may go on after its repetitions, until other jobs are measured too. Each rank then keeps a copy of what has
//! been counted up to the end of the last repetition that is measured. Counting goes on, without effect on the results.
//!
//! A job that is stopped at a given time may repeat without end until then. All of its repetitions are measured.

use des::{Journal, Time};
use serde::{Deserialize, Serialize};

use crate::RankStats;
use crate::agreement::CollectiveHistories;
use crate::path::PathState;

/// The last end of a repetition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Repetition {
    pub ended_at: Time,
    /// Number of repetitions in a row that took no time.
    pub without_time: u32,
}

/// What a rank has counted up to the end of the part that is measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct MeasuredPart {
    pub stats: RankStats,
    pub path: PathState,
    pub histories: CollectiveHistories,
}

/// The measured part of a program that goes on after it; `None` before its end, and if the program ends with it.
#[derive(Debug, Default)]
pub(crate) struct MeasuredEnd(Option<Box<MeasuredPart>>);

/// The end of the measured part.
#[derive(Debug)]
pub(crate) struct MeasuredChange;

impl MeasuredEnd {
    pub fn new(part: Option<Box<MeasuredPart>>) -> MeasuredEnd {
        MeasuredEnd(part)
    }

    pub fn get(&self) -> Option<&MeasuredPart> {
        self.0.as_deref()
    }

    pub fn end(&mut self, part: MeasuredPart, journal: &mut impl Journal<MeasuredChange>) {
        self.0 = Some(Box::new(part));
        journal.note(|| MeasuredChange);
    }

    pub fn undo(&mut self, _: MeasuredChange) {
        self.0 = None;
    }
}
