//! The ends of repetitions of a rank's program.

use des::Time;

use crate::ReplayError;
use crate::agreement::CollectiveHistories;
use crate::cpu::CpuStep;
use crate::rank::{Action, Rank};
use crate::repetition::{MeasuredPart, Repetition};

/// Number of repetitions in a row that may take no time. A program that goes on forever would stop the time after
/// them.
const MOST_WITHOUT_TIME: u32 = 1000;

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
