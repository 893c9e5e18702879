//! The stop of a rank at the end of its job, wherever its program is.

use des::Time;

use crate::cpu::CpuState;
use crate::rank::{Action, Rank};

impl Rank {
    /// Stops the rank, as a batch scheduler does at the limit of a job. What it does now counts up to now, and nothing
    /// after it: its owner must not pass it any later arrival, injection or resumption. Messages that it has sent stay
    /// under way. A rank that has executed its whole program stays as it is.
    pub fn stop(&mut self, now: Time, out: &mut Vec<Action>) {
        match *self.state {
            CpuState::Finished | CpuState::Stopped { .. } => return,
            CpuState::Waiting { busy_until, .. } | CpuState::Probing { busy_until, .. } => {
                self.report_blocked(busy_until, now, out);
            }
            CpuState::New | CpuState::Running | CpuState::Busy { .. } => {}
        }
        let (of_collective, idle) = self.unended_idle(now);
        self.stats.count_idle(of_collective, idle, &mut self.journal);
        // A rank that goes on after its measured part has reported its end.
        let is_known = self.finished();
        self.close_activity(now, out);
        self.state.set(CpuState::Stopped { at: now }, &mut self.journal);
        if !is_known {
            out.push(Action::Stopped);
        }
    }

    /// When the rank was stopped; `None` if it was not.
    pub fn stopped_at(&self) -> Option<Time> {
        match *self.state {
            CpuState::Stopped { at } => Some(at),
            _ => None,
        }
    }
}
