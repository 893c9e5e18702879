//! What a rank tells of what it does, beside what it wants done: what a timeline and the lives of messages are
//! made of. Nothing of it unless it is asked for, and nothing depends on it.

use des::Time;
use workload::{Call, Region};

use crate::rank::{Action, Rank};
use crate::{ALGORITHMS, Algorithm, Message};

/// Something that a rank tells its owner, in [`Action::Note`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note {
    /// An operation is over, which has lasted until now. Operations follow each other without a gap; those
    /// that take no time are told of if they are calls.
    Did {
        /// What it was.
        what: Doing,
        /// When it began.
        since: Time,
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

impl Rank {
    /// Whether calls answer with [`Action::Note`] as well; at first not.
    pub fn keep_notes(&mut self, keep: bool) {
        self.notes = keep;
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
