//! Matching of messages with receives: the two queues of every MPI library.
//!
//! Source: MPI 4.1, section 3.5 "Semantics of Point-to-Point Communication": a message goes to the
//! first receive that was posted and fits, a receive takes the first message that came and fits.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::Message;
use crate::journal::Journal;

/// The messages that a receive or probe asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pattern {
    /// Communicator with its context bits.
    pub context: u32,
    /// Rank of the job; none: any.
    pub from: Option<u32>,
    /// None: any.
    pub tag: Option<u32>,
}

impl Pattern {
    pub fn fits(&self, message: &Message) -> bool {
        self.context == message.communicator
            && self.from.is_none_or(|from| from == message.from)
            && self.tag.is_none_or(|tag| tag == message.tag)
    }
}

/// A receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Posted {
    pub pattern: Pattern,
    /// Size of the buffer.
    pub capacity: u64,
    /// The receiver's handle.
    pub handle: u32,
}

/// A message that came before its receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Unexpected {
    pub message: Message,
    /// Posted receives that were looked at when it came.
    pub looked_at: u32,
}

/// How a search in a queue ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Search<T> {
    pub found: Option<T>,
    /// Entries that were looked at, the one that was found included.
    pub looked_at: u32,
}

/// The queue of posted receives and the queue of unexpected messages, each in its order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Matching {
    posted: VecDeque<Posted>,
    unexpected: VecDeque<Unexpected>,
}

/// What happened to one of the queues.
#[derive(Debug)]
pub(crate) enum Change {
    PostedQueued,
    PostedTaken(u32, Posted),
    UnexpectedQueued,
    UnexpectedTaken(u32, Unexpected),
}

impl Matching {
    /// Posts a receive: returns the message it takes, or queues it.
    pub fn post(&mut self, receive: Posted, journal: &mut Journal) -> Search<Unexpected> {
        let search = self.probe(&receive.pattern);
        let taken = search
            .found
            .and_then(|index| self.unexpected.remove(index as usize));
        match (search.found, taken) {
            (Some(index), Some(taken)) => journal.note(|| Change::UnexpectedTaken(index, taken)),
            _ => {
                self.posted.push_back(receive);
                journal.note(|| Change::PostedQueued);
            }
        }
        Search {
            found: taken,
            looked_at: search.looked_at,
        }
    }

    /// Looks for a message and leaves it; gives its place.
    pub fn probe(&self, pattern: &Pattern) -> Search<u32> {
        let mut messages = self.unexpected.iter();
        Search::new(
            messages.position(|it| pattern.fits(&it.message)),
            self.unexpected.len(),
        )
    }

    /// Brings an envelope: returns the receive that takes it, or queues it.
    pub fn bring(&mut self, message: Message, journal: &mut Journal) -> Search<Posted> {
        let mut receives = self.posted.iter();
        let place = receives.position(|receive| receive.pattern.fits(&message));
        let search = Search::new(place, self.posted.len());
        let looked_at = search.looked_at;
        let found = search.found.and_then(|index| self.posted.remove(index as usize));
        match (search.found, found) {
            (Some(index), Some(receive)) => journal.note(|| Change::PostedTaken(index, receive)),
            _ => {
                self.unexpected.push_back(Unexpected { message, looked_at });
                journal.note(|| Change::UnexpectedQueued);
            }
        }
        Search { found, looked_at }
    }

    pub fn undo(&mut self, change: Change) {
        match change {
            Change::PostedQueued => {
                self.posted.pop_back();
            }
            Change::PostedTaken(index, receive) => self.posted.insert(index as usize, receive),
            Change::UnexpectedQueued => {
                self.unexpected.pop_back();
            }
            Change::UnexpectedTaken(index, taken) => self.unexpected.insert(index as usize, taken),
        }
    }

    /// Number of messages that no receive has asked for.
    pub fn unexpected(&self) -> usize {
        self.unexpected.len()
    }
}

impl Search<u32> {
    /// A search that ended at this place, or went through all of so many entries.
    fn new(place: Option<usize>, entries: usize) -> Search<u32> {
        Search {
            found: place.map(|place| place as u32),
            looked_at: place.map_or(entries, |place| place + 1) as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{COLLECTIVE_CONTEXT, Kind, WINDOW_CONTEXT};

    fn message(from: u32, tag: u32, communicator: u32, sequence: u32) -> Message {
        Message {
            from,
            to: 0,
            communicator,
            tag,
            bytes: 0,
            sequence,
            request: 0,
            kind: Kind::Eager,
        }
    }

    fn receive(from: Option<u32>, tag: Option<u32>, context: u32, handle: u32) -> Posted {
        Posted {
            pattern: Pattern { context, from, tag },
            capacity: 0,
            handle,
        }
    }

    #[test]
    fn a_message_takes_the_first_receive_that_fits() {
        let (mut queues, journal) = (Matching::default(), &mut Journal::default());
        for (handle, (from, tag)) in [
            (Some(2), Some(7)),
            (Some(1), Some(8)),
            (None, Some(7)),
            (Some(1), None),
        ]
        .into_iter()
        .enumerate()
        {
            let search = queues.post(receive(from, tag, 0, handle as u32), journal);
            assert_eq!((search.found, search.looked_at), (None, 0));
        }
        let mut bring = |sequence| {
            let search = queues.bring(message(1, 7, 0, sequence), journal);
            (search.found.map(|receive| receive.handle), search.looked_at)
        };
        assert_eq!(bring(0), (Some(2), 3));
        assert_eq!(bring(1), (Some(3), 3));
        assert_eq!(bring(2), (None, 2));
        assert_eq!(queues.unexpected(), 1);
    }

    #[test]
    fn a_receive_takes_the_first_message_that_fits() {
        let (mut queues, journal) = (Matching::default(), &mut Journal::default());
        for (sequence, (from, tag)) in [(1, 5), (2, 7), (1, 7), (1, 7)].into_iter().enumerate() {
            let search = queues.bring(message(from, tag, 0, sequence as u32), journal);
            assert_eq!((search.found, search.looked_at), (None, 0));
        }
        let mut take = |from, tag| {
            let receive = receive(from, tag, 0, 0);
            let probed = queues.probe(&receive.pattern);
            let search = queues.post(receive, journal);
            assert_eq!(probed.found.is_some(), search.found.is_some());
            assert_eq!(probed.looked_at, search.looked_at);
            (search.found.map(|taken| taken.message.sequence), search.looked_at)
        };
        assert_eq!(take(Some(1), Some(7)), (Some(2), 3));
        assert_eq!(take(None, None), (Some(0), 1));
        assert_eq!(take(None, Some(7)), (Some(1), 1));
        assert_eq!(take(Some(3), None), (None, 1));
    }

    #[test]
    fn contexts_do_not_mix() {
        let (mut queues, journal) = (Matching::default(), &mut Journal::default());
        assert_eq!(queues.post(receive(None, None, 0, 0), journal).found, None);
        for context in [COLLECTIVE_CONTEXT, COLLECTIVE_CONTEXT | WINDOW_CONTEXT, 1] {
            assert_eq!(queues.bring(message(1, 0, context, 0), journal).found, None);
        }
        let search = queues.post(receive(Some(1), Some(0), COLLECTIVE_CONTEXT, 1), journal);
        assert!(search.found.is_some());
    }
}
