//! What a rank tells of what it does, beside what it wants done: what a timeline and the lives of messages are
//! made of. Nothing of it unless it is asked for, and nothing depends on it.

use des::Time;
use serde::{Deserialize, Serialize};
use workload::{Call, Region};

use crate::rank::{Action, CpuActivity, Rank};
use crate::{ALGORITHMS, CollectiveAlgorithm, Message};

/// Something that a rank tells its owner, in [`Action::Trace`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceEvent {
    /// An operation is over, or a part of it: calls are told of in parts where the rank waits in them. Parts follow
    /// each other without a gap; what takes no time is told of if it is a call.
    Activity {
        /// What it was.
        what: TracedActivity,
        /// When it began.
        since: Time,
        /// When it ended: now, or when the rank began to wait until now.
        until: Time,
        /// Whether the rank waited, its CPU idle, and now goes on.
        blocked: bool,
    },
    /// About the message in the next [`Action::Send`].
    SendIssued {
        /// When the call, or the round of the collective, came to it: the begin of its overhead.
        at: Time,
        /// Index in [`ALGORITHMS`] of the algorithm that it is a message of, if it is one of a collective.
        algorithm: Option<u16>,
    },
    /// A receive of this rank has just taken the envelope of this message, which had arrived; and, if it is an
    /// eager one, the payload.
    ReceiveMatched(Message),
}

/// What a rank was doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TracedActivity {
    /// It computed, in this part of the application's code if that is known.
    Compute(Option<Region>),
    /// It was in this call.
    Call(Call),
}

/// Until when a rank has told of its activity; nothing yet, if that was before it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct TracedUntil(Time);

impl Rank {
    /// Whether calls answer with [`Action::Trace`] as well; at first not.
    pub fn set_tracing(&mut self, keep: bool) {
        self.tracing = keep;
    }

    /// Tells the owner that the rank was blocked in its call until now, since it had paid all overheads.
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
        let (begin, told) = (paid, self.traced_until());
        let parts = [(told, begin, false), (begin, now, true)];
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

    /// Since when it has told nothing of what it does.
    pub(crate) fn traced_until(&self) -> Time {
        self.traced_until.0.max(*self.since)
    }

    /// Tells the owner something, if it wants to know.
    #[inline]
    pub(crate) fn trace(&self, note: impl FnOnce() -> TraceEvent, out: &mut Vec<Action>) {
        if self.tracing {
            out.push(Action::Trace(note()));
        }
    }
}

/// Where an algorithm stands in the registry.
pub(crate) fn index_of(algorithm: &'static CollectiveAlgorithm) -> Option<u16> {
    let place = ALGORITHMS
        .iter()
        .position(|registered| std::ptr::eq(*registered, algorithm));
    place.map(|place| place as u16)
}
