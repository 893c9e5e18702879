//! Matching of messages with receives: the two queues of every MPI library.
//!
//! Source: MPI 4.1, section 3.5 "Semantics of Point-to-Point Communication": a message goes to the
//! first receive that was posted and fits, a receive takes the first message that came and fits.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::Message;
use crate::journal::Journal;

/// What a receive asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Posted {
    /// Communicator with its context bit.
    pub context: u32,
    /// Rank of the job; none: any.
    pub from: Option<u32>,
    /// None: any.
    pub tag: Option<u32>,
    /// Size of the buffer.
    pub capacity: u64,
    /// The receiver's handle.
    pub handle: u32,
}

impl Posted {
    fn fits(&self, message: &Message) -> bool {
        self.context == message.communicator
            && self.from.is_none_or(|from| from == message.from)
            && self.tag.is_none_or(|tag| tag == message.tag)
    }
}

/// The queue of posted receives and the queue of unexpected messages, each in its order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Matching {
    posted: VecDeque<Posted>,
    unexpected: VecDeque<Message>,
}

/// What happened to one of the queues.
#[derive(Debug)]
pub(crate) enum Change {
    PostedQueued,
    PostedTaken(usize, Posted),
    UnexpectedQueued,
    UnexpectedTaken(usize, Message),
}

impl Matching {
    /// Posts a receive: returns the message it takes, or queues it.
    pub fn post(&mut self, receive: Posted, journal: &mut Journal) -> Option<Message> {
        let found = self.unexpected.iter().position(|message| receive.fits(message));
        let Some(index) = found else {
            self.posted.push_back(receive);
            journal.note(|| Change::PostedQueued);
            return None;
        };
        let message = self.unexpected.remove(index)?;
        journal.note(|| Change::UnexpectedTaken(index, message));
        Some(message)
    }

    /// Brings an envelope: returns the receive that takes it, or queues it.
    pub fn bring(&mut self, message: Message, journal: &mut Journal) -> Option<Posted> {
        let found = self.posted.iter().position(|receive| receive.fits(&message));
        let Some(index) = found else {
            self.unexpected.push_back(message);
            journal.note(|| Change::UnexpectedQueued);
            return None;
        };
        let receive = self.posted.remove(index)?;
        journal.note(|| Change::PostedTaken(index, receive));
        Some(receive)
    }

    pub fn undo(&mut self, change: Change) {
        match change {
            Change::PostedQueued => {
                self.posted.pop_back();
            }
            Change::PostedTaken(index, receive) => self.posted.insert(index, receive),
            Change::UnexpectedQueued => {
                self.unexpected.pop_back();
            }
            Change::UnexpectedTaken(index, message) => self.unexpected.insert(index, message),
        }
    }

    /// Number of messages that no receive has asked for.
    pub fn unexpected(&self) -> usize {
        self.unexpected.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{COLLECTIVE_CONTEXT, Kind};

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
            context,
            from,
            tag,
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
            assert_eq!(queues.post(receive(from, tag, 0, handle as u32), journal), None);
        }
        assert_eq!(queues.bring(message(1, 7, 0, 0), journal).unwrap().handle, 2);
        assert_eq!(queues.bring(message(1, 7, 0, 1), journal).unwrap().handle, 3);
        assert_eq!(queues.bring(message(1, 7, 0, 2), journal), None);
        assert_eq!(queues.unexpected(), 1);
    }

    #[test]
    fn a_receive_takes_the_first_message_that_fits() {
        let (mut queues, journal) = (Matching::default(), &mut Journal::default());
        for (sequence, (from, tag)) in [(1, 5), (2, 7), (1, 7), (1, 7)].into_iter().enumerate() {
            assert_eq!(
                queues.bring(message(from, tag, 0, sequence as u32), journal),
                None
            );
        }
        let mut take = |from, tag| queues.post(receive(from, tag, 0, 0), journal).map(|m| m.sequence);
        assert_eq!(take(Some(1), Some(7)), Some(2));
        assert_eq!(take(None, None), Some(0));
        assert_eq!(take(None, Some(7)), Some(1));
        assert_eq!(take(Some(3), None), None);
    }

    #[test]
    fn contexts_do_not_mix() {
        let (mut queues, journal) = (Matching::default(), &mut Journal::default());
        assert_eq!(queues.post(receive(None, None, 0, 0), journal), None);
        assert_eq!(queues.bring(message(1, 0, COLLECTIVE_CONTEXT, 0), journal), None);
        assert_eq!(queues.bring(message(1, 0, 1, 0), journal), None);
        assert!(
            queues
                .post(receive(Some(1), Some(0), COLLECTIVE_CONTEXT, 1), journal)
                .is_some()
        );
    }
}
