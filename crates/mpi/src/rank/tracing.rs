//! The trace events that a rank reports.

use des::Time;

use crate::cpu::CpuActivity;
use crate::rank::{Action, Rank};
use crate::tracing::{TraceEvent, TracedActivity, TracedUntil};

impl Rank {
    /// Sets whether calls report [`Action::Trace`]. The default is false.
    pub fn set_tracing(&mut self, keep: bool) {
        self.tracing = keep;
    }

    /// Reports that the rank was blocked in its call from the end of all overheads until now.
    #[inline]
    pub(crate) fn trace_blocked(&mut self, paid: Time, now: Time, out: &mut Vec<Action>) {
        if self.tracing && paid < now {
            self.trace_parts(paid, now, out);
        }
    }

    fn trace_parts(&mut self, paid: Time, now: Time, out: &mut Vec<Action>) {
        let CpuActivity::Call { call, .. } = *self.activity else {
            return;
        };
        let what = TracedActivity::Call(call);
        let (start, traced) = (paid, self.traced_until());
        let parts = [(traced, start, false), (start, now, true)];
        for (since, until, blocked) in parts.into_iter().filter(|(since, until, _)| since < until) {
            out.push(Action::Trace(TraceEvent::Activity {
                what,
                since,
                until,
                blocked,
            }));
        }
        self.traced_until.set(TracedUntil(now), &mut self.journal);
    }

    /// Start of the untraced time.
    pub(crate) fn traced_until(&self) -> Time {
        self.traced_until.0.max(*self.since)
    }

    /// Reports an event if tracing is on.
    #[inline]
    pub(crate) fn trace(&self, note: impl FnOnce() -> TraceEvent, out: &mut Vec<Action>) {
        if self.tracing {
            out.push(Action::Trace(note()));
        }
    }
}
