//! Repetitions of a rank's program: their ends, and the end of the part that is measured.
//!
//! A job may go on after its repetitions, until other jobs are measured too. Each rank then keeps a copy of what has
//! been counted up to the end of the last repetition that is measured. Counting goes on, without effect on the results.
//!
//! A job that is stopped at a given time may repeat without end until then. All of its repetitions are measured.

use des::Time;
use serde::{Deserialize, Serialize};

use crate::agreement::CollectiveHistories;
use crate::journal::RankJournal;
use crate::operations::CpuStep;
use crate::path::PathState;
use crate::rank::{Action, Rank};
use crate::{RankStats, ReplayError};

/// Number of repetitions in a row that may take no time. A program that goes on for ever would stop the time after
/// them.
const MOST_WITHOUT_TIME: u32 = 1000;

/// The last end of a repetition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Repetition {
    ended_at: Time,
    /// Number of repetitions in a row that took no time.
    without_time: u32,
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

    pub fn end(&mut self, part: MeasuredPart, journal: &mut RankJournal) {
        self.0 = Some(Box::new(part));
        journal.note(|| MeasuredChange);
    }

    pub fn undo(&mut self, _: MeasuredChange) {
        self.0 = None;
    }
}

impl Rank {
    /// Rejects endless repetitions that take no time. `is_endless`: the program repeats without end; otherwise it does
    /// so after its measured part only.
    pub(crate) fn check_repetition(
        &mut self,
        number: u64,
        is_endless: bool,
        now: Time,
    ) -> Result<(), ReplayError> {
        let Repetition {
            ended_at,
            without_time,
        } = *self.repetition;
        let took_time = number == 1 || now > ended_at;
        let without_time = if took_time { 0 } else { without_time + 1 };
        let has_no_end = is_endless || self.measured.get().is_some();
        if has_no_end && without_time > MOST_WITHOUT_TIME {
            return Err(ReplayError::EndlessRepetition { rank: self.rank });
        }
        let repetition = Repetition {
            ended_at: now,
            without_time,
        };
        self.repetition.set(repetition, &mut self.journal);
        Ok(())
    }

    /// Executes the end of a repetition with this number. `goes_on`: it is the last one that is measured, and the
    /// program goes on.
    pub(crate) fn end_repetition(
        &mut self,
        (number, goes_on): (u64, bool),
        now: Time,
        out: &mut Vec<Action>,
    ) -> CpuStep {
        out.push(Action::RepetitionEnded(number));
        if goes_on {
            self.stats.finish(now, &mut self.journal);
            let part = MeasuredPart {
                stats: self.stats.get().clone(),
                path: *self.path,
                histories: self.histories.clone(),
            };
            self.measured.end(part, &mut self.journal);
            out.push(Action::Finished);
        }
        CpuStep::Continue
    }

    /// Collectives, up to the end of the part that is measured.
    pub(crate) fn measured_histories(&self) -> &CollectiveHistories {
        self.measured
            .get()
            .map_or(&self.histories, |measured| &measured.histories)
    }
}
