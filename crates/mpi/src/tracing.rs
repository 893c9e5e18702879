//! Trace events of a rank, the source of timelines and message histories. They are off by default and do not affect
//! the simulation.

use des::Time;
use serde::{Deserialize, Serialize};
use workload::{Call, Region};

use crate::rank::{Action, CpuActivity, Rank};
use crate::{ALGORITHMS, CollectiveAlgorithm, Message};

/// A trace event, in [`Action::Trace`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceEvent {
    /// An operation, or a part of one, ended. A call in which the rank waits has several parts. Parts are
    /// contiguous; only calls are reported if they take no time.
    Activity {
        /// The activity.
        what: TracedActivity,
        /// Its start.
        since: Time,
        /// Its end: now, or when the rank began to wait until now.
        until: Time,
        /// Whether the rank waited with an idle CPU.
        blocked: bool,
    },
    /// Describes the message in the next [`Action::Send`].
    SendIssued {
        /// Start of the send overhead.
        at: Time,
        /// Index in [`ALGORITHMS`] of the collective algorithm, if it is a message of a collective.
        algorithm: Option<u16>,
    },
    /// A receive of this rank has matched this message, which had arrived.
    ReceiveMatched(Message),
}

/// What a rank did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TracedActivity {
    /// It computed in this region of the code, if known.
    Compute(Option<Region>),
    /// It was in this call.
    Call(Call),
}

/// Time up to which the activity has been traced. A time before its start means that nothing was traced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct TracedUntil(Time);

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
        let (begin, traced) = (paid, self.traced_until());
        let parts = [(traced, begin, false), (begin, now, true)];
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

/// Index of an algorithm in the registry.
pub(crate) fn index_of(algorithm: &'static CollectiveAlgorithm) -> Option<u16> {
    let place = ALGORITHMS
        .iter()
        .position(|registered| std::ptr::eq(*registered, algorithm));
    place.map(|place| place as u16)
}
