//! The timeline events that a rank reports.

use des::Time;

use crate::cpu::CpuActivity;
use crate::rank::{Action, Rank};
use crate::timeline::{TimelineActivity, TimelineEvent, TimelineUntil};

impl Rank {
    /// Sets whether calls report [`Action::Timeline`]. The default is false.
    pub fn set_timeline(&mut self, keep: bool) {
        self.has_timeline = keep;
    }

    /// Reports that the rank was blocked in its call from the end of all overheads until now.
    #[inline]
    pub(crate) fn report_blocked(&mut self, paid: Time, now: Time, out: &mut Vec<Action>) {
        if self.has_timeline && paid < now {
            self.report_parts(paid, now, out);
        }
    }

    fn report_parts(&mut self, paid: Time, now: Time, out: &mut Vec<Action>) {
        let CpuActivity::Call { call, .. } = *self.activity else {
            return;
        };
        let what = TimelineActivity::Call(call);
        let (start, reported) = (paid, self.timeline_until());
        let parts = [(reported, start, false), (start, now, true)];
        for (since, until, blocked) in parts.into_iter().filter(|(since, until, _)| since < until) {
            out.push(Action::Timeline(TimelineEvent::Activity {
                what,
                since,
                until,
                blocked,
            }));
        }
        self.timeline_until.set(TimelineUntil(now), &mut self.journal);
    }

    /// Start of the unreported time.
    pub(crate) fn timeline_until(&self) -> Time {
        self.timeline_until.0.max(*self.since)
    }

    /// Reports an event if timeline events are on.
    #[inline]
    pub(crate) fn add_to_timeline(&self, note: impl FnOnce() -> TimelineEvent, out: &mut Vec<Action>) {
        if self.has_timeline {
            out.push(Action::Timeline(note()));
        }
    }
}
