//! Matching of messages with receives: posted receives and unexpected messages.
//!
//! Source: MPI 4.1, section 3.5 "Semantics of Point-to-Point Communication": a message matches the first posted
//! receive that fits, a receive matches the first message that arrived and fits.

use std::collections::{BTreeMap, VecDeque};

use des::Journal;
use serde::{Deserialize, Serialize};

use crate::Message;

/// The messages that a receive or probe accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MatchPattern {
    /// Communicator with its context bits.
    pub context: u32,
    /// Rank of the job; `None` for `MPI_ANY_SOURCE`.
    pub from: Option<u32>,
    /// `None` for `MPI_ANY_TAG`.
    pub tag: Option<u32>,
}

impl MatchPattern {
    pub fn fits(&self, message: &Message) -> bool {
        self.context == message.communicator
            && self.from.is_none_or(|from| from == message.from)
            && self.tag.is_none_or(|tag| tag == message.tag)
    }
}

/// A posted receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PostedReceive {
    pub pattern: MatchPattern,
    /// Size of the buffer in bytes.
    pub capacity: u64,
    /// Request handle of the receiver.
    pub handle: u32,
}

/// A message that arrived before its receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct UnexpectedMessage {
    pub message: Message,
    /// Posted receives that were compared with it on arrival.
    pub looked_at: u32,
}

/// Result of a search in a queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct QueueSearch<T> {
    pub found: Option<T>,
    /// Entries that were compared, including the match.
    pub looked_at: u32,
}

/// The queue of posted receives and the queue of unexpected messages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct MatchingQueues {
    posted: VecDeque<PostedReceive>,
    unexpected: VecDeque<UnexpectedMessage>,
    /// Messages that matched probes have taken, by the program's numbers.
    taken: BTreeMap<u32, UnexpectedMessage>,
}

/// A change of one of the queues.
#[derive(Debug)]
pub(crate) enum MatchingChange {
    PostedQueued,
    PostedTaken(u32, PostedReceive),
    UnexpectedQueued,
    UnexpectedTaken(u32, UnexpectedMessage),
    /// The message of a matched probe, by its number.
    Kept(u32),
    /// The message of a matched probe is received.
    KeptTaken(u32, UnexpectedMessage),
}

impl MatchingQueues {
    /// Posts a receive. It takes a matching message or is queued.
    pub fn post(
        &mut self,
        receive: PostedReceive,
        journal: &mut impl Journal<MatchingChange>,
    ) -> QueueSearch<UnexpectedMessage> {
        let search = self.take(&receive.pattern, journal);
        if search.found.is_none() {
            self.posted.push_back(receive);
            journal.note(|| MatchingChange::PostedQueued);
        }
        search
    }

    /// Takes a matching message, if there is one.
    #[inline]
    pub fn take(
        &mut self,
        pattern: &MatchPattern,
        journal: &mut impl Journal<MatchingChange>,
    ) -> QueueSearch<UnexpectedMessage> {
        let search = self.probe(pattern);
        let taken = search
            .found
            .and_then(|index| self.unexpected.remove(index as usize));
        if let (Some(index), Some(taken)) = (search.found, taken) {
            journal.note(|| MatchingChange::UnexpectedTaken(index, taken));
        }
        QueueSearch {
            found: taken,
            looked_at: search.looked_at,
        }
    }

    /// Keeps a message that a matched probe has taken, under a number that no other one has.
    pub fn keep(
        &mut self,
        number: u32,
        message: UnexpectedMessage,
        journal: &mut impl Journal<MatchingChange>,
    ) {
        self.taken.insert(number, message);
        journal.note(|| MatchingChange::Kept(number));
    }

    /// Whether a matched probe has taken a message under this number.
    pub fn keeps(&self, number: u32) -> bool {
        self.taken.contains_key(&number)
    }

    /// Gives up the message of a matched probe.
    pub fn take_kept(
        &mut self,
        number: u32,
        journal: &mut impl Journal<MatchingChange>,
    ) -> Option<UnexpectedMessage> {
        let taken = self.taken.remove(&number)?;
        journal.note(|| MatchingChange::KeptTaken(number, taken));
        Some(taken)
    }

    /// Removes a posted receive. Returns whether it was posted: one that has matched a message is not.
    pub fn withdraw(&mut self, handle: u32, journal: &mut impl Journal<MatchingChange>) -> bool {
        let mut receives = self.posted.iter();
        let place = receives.position(|receive| receive.handle == handle);
        match place.and_then(|place| Some((place as u32, self.posted.remove(place)?))) {
            Some((index, receive)) => {
                journal.note(|| MatchingChange::PostedTaken(index, receive));
                true
            }
            None => false,
        }
    }

    /// Searches for a message without taking it. Returns its index.
    pub fn probe(&self, pattern: &MatchPattern) -> QueueSearch<u32> {
        let mut messages = self.unexpected.iter();
        QueueSearch::new(
            messages.position(|it| pattern.fits(&it.message)),
            self.unexpected.len(),
        )
    }

    /// Delivers an envelope. A matching receive takes it, or it is queued.
    pub fn deliver(
        &mut self,
        message: Message,
        journal: &mut impl Journal<MatchingChange>,
    ) -> QueueSearch<PostedReceive> {
        let mut receives = self.posted.iter();
        let place = receives.position(|receive| receive.pattern.fits(&message));
        let search = QueueSearch::new(place, self.posted.len());
        let looked_at = search.looked_at;
        let found = search.found.and_then(|index| self.posted.remove(index as usize));
        match (search.found, found) {
            (Some(index), Some(receive)) => journal.note(|| MatchingChange::PostedTaken(index, receive)),
            _ => {
                self.unexpected
                    .push_back(UnexpectedMessage { message, looked_at });
                journal.note(|| MatchingChange::UnexpectedQueued);
            }
        }
        QueueSearch { found, looked_at }
    }

    pub fn undo(&mut self, change: MatchingChange) {
        match change {
            MatchingChange::PostedQueued => {
                self.posted.pop_back();
            }
            MatchingChange::PostedTaken(index, receive) => self.posted.insert(index as usize, receive),
            MatchingChange::UnexpectedQueued => {
                self.unexpected.pop_back();
            }
            MatchingChange::UnexpectedTaken(index, taken) => self.unexpected.insert(index as usize, taken),
            MatchingChange::Kept(number) => {
                self.taken.remove(&number);
            }
            MatchingChange::KeptTaken(number, taken) => {
                self.taken.insert(number, taken);
            }
        }
    }

    /// The unexpected messages, in order of arrival.
    pub fn unexpected_messages(&self) -> impl Iterator<Item = &Message> {
        self.unexpected.iter().map(|unexpected| &unexpected.message)
    }

    /// Number of messages that matched probes have taken and the program has not received.
    pub fn kept(&self) -> usize {
        self.taken.len()
    }

    /// Number of unexpected messages.
    pub fn unexpected(&self) -> usize {
        self.unexpected.len()
    }
}

impl QueueSearch<u32> {
    /// A search that ended at this index, or compared all entries.
    fn new(place: Option<usize>, entries: usize) -> QueueSearch<u32> {
        QueueSearch {
            found: place.map(|place| place as u32),
            looked_at: place.map_or(entries, |place| place + 1) as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes::RankJournal;
    use crate::{COLLECTIVE_CONTEXT, MessageKind, RMA_CONTEXT};

    fn message(from: u32, tag: u32, communicator: u32, sequence: u32) -> Message {
        Message {
            from,
            to: 0,
            communicator,
            tag,
            bytes: 0,
            sequence,
            request: 0,
            kind: MessageKind::Eager,
            path: Default::default(),
        }
    }

    fn receive(from: Option<u32>, tag: Option<u32>, context: u32, handle: u32) -> PostedReceive {
        PostedReceive {
            pattern: MatchPattern { context, from, tag },
            capacity: 0,
            handle,
        }
    }

    #[test]
    fn a_message_takes_the_first_receive_that_fits() {
        let (mut queues, journal) = (MatchingQueues::default(), &mut RankJournal::default());
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
        let mut deliver = |sequence| {
            let search = queues.deliver(message(1, 7, 0, sequence), journal);
            (search.found.map(|receive| receive.handle), search.looked_at)
        };
        assert_eq!(deliver(0), (Some(2), 3));
        assert_eq!(deliver(1), (Some(3), 3));
        assert_eq!(deliver(2), (None, 2));
        assert_eq!(queues.unexpected(), 1);
    }

    #[test]
    fn a_receive_takes_the_first_message_that_fits() {
        let (mut queues, journal) = (MatchingQueues::default(), &mut RankJournal::default());
        for (sequence, (from, tag)) in [(1, 5), (2, 7), (1, 7), (1, 7)].into_iter().enumerate() {
            let search = queues.deliver(message(from, tag, 0, sequence as u32), journal);
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
        let (mut queues, journal) = (MatchingQueues::default(), &mut RankJournal::default());
        assert_eq!(queues.post(receive(None, None, 0, 0), journal).found, None);
        for context in [COLLECTIVE_CONTEXT, COLLECTIVE_CONTEXT | RMA_CONTEXT, 1] {
            assert_eq!(queues.deliver(message(1, 0, context, 0), journal).found, None);
        }
        let search = queues.post(receive(Some(1), Some(0), COLLECTIVE_CONTEXT, 1), journal);
        assert!(search.found.is_some());
    }
}
