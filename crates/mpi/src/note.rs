//! What a rank tells of what it does, beside what it wants done: what a timeline and the lives of messages are
//! made of. Nothing of it unless it is asked for, and nothing depends on it.

use des::Time;
use serde::{Deserialize, Serialize};
use workload::{Call, Region};

use crate::rank::{Action, Activity, Rank};
use crate::{ALGORITHMS, Algorithm, Message};

/// Something that a rank tells its owner, in [`Action::Note`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note {
    /// An operation is over, or a part of it: calls are told of in parts where the rank waits in them. Parts follow
    /// each other without a gap; what takes no time is told of if it is a call.
    Did {
        /// What it was.
        what: Doing,
        /// When it began.
        since: Time,
        /// When it ended: now, or when the rank began to wait until now.
        until: Time,
        /// Whether the rank waited, its CPU idle, and now goes on.
        blocked: bool,
    },
    /// About the message in the next [`Action::Send`].
    Asked {
        /// When the call, or the round of the collective, came to it: the begin of its overhead.
        at: Time,
        /// Index in [`ALGORITHMS`] of the algorithm that it is a message of, if it is one of a collective.
        algorithm: Option<u16>,
    },
    /// A receive of this rank has just taken the envelope of this message, which had arrived; and, if it is an
    /// eager one, the payload.
    Matched(Message),
}

/// What a rank was doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// It computed, in this part of the application's code if that is known.
    Compute(Option<Region>),
    /// It was in this call.
    Call(Call),
}

/// Until when a rank has told of its activity; nothing yet, if that was before it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Told(Time);

impl Rank {
    /// Whether calls answer with [`Action::Note`] as well; at first not.
    pub fn keep_notes(&mut self, keep: bool) {
        self.notes = keep;
    }

    /// Tells the owner that the rank was blocked in its call until now, since it had paid all overheads.
    #[inline]
    pub(crate) fn tell_blocked(&mut self, paid: Time, now: Time, out: &mut Vec<Action>) {
        if self.notes && paid < now {
            self.tell_parts(paid, now, out);
        }
    }

    fn tell_parts(&mut self, paid: Time, now: Time, out: &mut Vec<Action>) {
        let Activity::Call { call, .. } = *self.activity else {
            return;
        };
        let what = Doing::Call(call);
        let (begin, told) = (paid, self.told());
        let parts = [(told, begin, false), (begin, now, true)];
        for (since, until, blocked) in parts.into_iter().filter(|(since, until, _)| since < until) {
            out.push(Action::Note(Note::Did {
                what,
                since,
                until,
                blocked,
            }));
        }
        self.told.set(Told(now), &mut self.journal);
    }

    /// Since when it has told nothing of what it does.
    pub(crate) fn told(&self) -> Time {
        self.told.0.max(*self.since)
    }

    /// Tells the owner something, if it wants to know.
    #[inline]
    pub(crate) fn tell(&self, note: impl FnOnce() -> Note, out: &mut Vec<Action>) {
        if self.notes {
            out.push(Action::Note(note()));
        }
    }
}

/// Where an algorithm stands in the registry.
pub(crate) fn index_of(algorithm: &'static Algorithm) -> Option<u16> {
    let place = ALGORITHMS
        .iter()
        .position(|registered| std::ptr::eq(*registered, algorithm));
    place.map(|place| place as u16)
}
