//! Matching of messages with receives: the two queues of every MPI library.
//!
//! Source: MPI 4.1, section 3.5 "Semantics of Point-to-Point Communication": a message goes to the
//! first receive that was posted and fits, a receive takes the first message that came and fits.

use std::collections::VecDeque;

use crate::Message;

/// What a receive asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
#[derive(Debug, Default)]
pub(crate) struct Matching {
    posted: VecDeque<Posted>,
    unexpected: VecDeque<Message>,
}

impl Matching {
    /// Posts a receive: returns the message it takes, or queues it.
    pub fn post(&mut self, receive: Posted) -> Option<Message> {
        let found = self.unexpected.iter().position(|message| receive.fits(message));
        match found {
            Some(index) => self.unexpected.remove(index),
            None => {
                self.posted.push_back(receive);
                None
            }
        }
    }

    /// Brings an envelope: returns the receive that takes it, or queues it.
    pub fn bring(&mut self, message: Message) -> Option<Posted> {
        match self.posted.iter().position(|receive| receive.fits(&message)) {
            Some(index) => self.posted.remove(index),
            None => {
                self.unexpected.push_back(message);
                None
            }
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
        let mut queues = Matching::default();
        for (handle, (from, tag)) in [
            (Some(2), Some(7)),
            (Some(1), Some(8)),
            (None, Some(7)),
            (Some(1), None),
        ]
        .into_iter()
        .enumerate()
        {
            assert_eq!(queues.post(receive(from, tag, 0, handle as u32)), None);
        }
        assert_eq!(queues.bring(message(1, 7, 0, 0)).unwrap().handle, 2);
        assert_eq!(queues.bring(message(1, 7, 0, 1)).unwrap().handle, 3);
        assert_eq!(queues.bring(message(1, 7, 0, 2)), None);
        assert_eq!(queues.unexpected(), 1);
    }

    #[test]
    fn a_receive_takes_the_first_message_that_fits() {
        let mut queues = Matching::default();
        for (sequence, (from, tag)) in [(1, 5), (2, 7), (1, 7), (1, 7)].into_iter().enumerate() {
            assert_eq!(queues.bring(message(from, tag, 0, sequence as u32)), None);
        }
        let mut take = |from, tag| queues.post(receive(from, tag, 0, 0)).map(|m| m.sequence);
        assert_eq!(take(Some(1), Some(7)), Some(2));
        assert_eq!(take(None, None), Some(0));
        assert_eq!(take(None, Some(7)), Some(1));
        assert_eq!(take(Some(3), None), None);
    }

    #[test]
    fn contexts_do_not_mix() {
        let mut queues = Matching::default();
        assert_eq!(queues.post(receive(None, None, 0, 0)), None);
        assert_eq!(queues.bring(message(1, 0, COLLECTIVE_CONTEXT, 0)), None);
        assert_eq!(queues.bring(message(1, 0, 1, 0)), None);
        assert!(
            queues
                .post(receive(Some(1), Some(0), COLLECTIVE_CONTEXT, 1))
                .is_some()
        );
    }
}
