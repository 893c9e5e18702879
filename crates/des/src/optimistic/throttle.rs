//! The limit of speculation.

use crate::Time;

/// Limits how far ahead of GVT a thread executes.
///
/// A thread with less work advances ahead of the others until their events arrive too late for it. Threads that are
/// far apart may do little but undo each other's work. So the limit is lowered whenever more than one speculative event
/// in 16 was rolled back, and raised slowly while hardly any are (the idea of Breathing Time Warp, Steinman 1993, with
/// feedback instead of fixed phases).
pub(super) struct Throttle {
    /// Events this far beyond GVT and later wait.
    ahead: Time,
    is_fixed: bool,
    /// Start of the latest speculative window.
    pub(super) reached: Time,
    /// Counts at the last adjustment.
    speculated: u64,
    rolled_back: u64,
}

impl Throttle {
    pub(super) fn new(ahead: Option<Time>) -> Throttle {
        Throttle {
            ahead: ahead.unwrap_or(Time::MAX),
            is_fixed: ahead.is_some(),
            reached: Time::ZERO,
            speculated: 0,
            rolled_back: 0,
        }
    }

    /// Events from here on wait.
    pub(super) fn limit(&self, gvt: Time) -> Time {
        gvt.saturating_add(self.ahead)
    }

    /// Adjusts the limit between two values of GVT, of which `gvt` is the earlier. `speculated` and `rolled_back`:
    /// numbers of events so far.
    pub(super) fn adapt(&mut self, gvt: Time, speculated: u64, rolled_back: u64) {
        let executed = speculated - std::mem::replace(&mut self.speculated, speculated);
        let undone = rolled_back - std::mem::replace(&mut self.rolled_back, rolled_back);
        if self.is_fixed {
            return;
        }
        if undone * 16 > executed {
            let used = self.ahead.min(self.reached.saturating_sub(gvt));
            self.ahead = Time(used.0 / 4 * 3 + 1);
        } else if undone * 64 <= executed {
            self.ahead = Time(self.ahead.0.saturating_add(self.ahead.0 / 16 + 1));
        }
    }
}
