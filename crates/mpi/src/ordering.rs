//! The order of messages between two ranks, which a network may break and MPI does not.

use std::collections::{BTreeMap, HashMap};

use crate::Message;

/// What a rank knows of its order with one peer.
#[derive(Clone, Copy, Debug, Default)]
struct Peer {
    /// Sequence of the next message to it.
    next_out: u32,
    /// Sequence of the next message from it.
    next_in: u32,
}

/// Numbers outgoing envelopes and holds early incoming ones until their predecessors are here.
#[derive(Debug, Default)]
pub(crate) struct Ordering {
    peers: HashMap<u32, Peer>,
    /// By sender and sequence.
    early: BTreeMap<(u32, u32), Message>,
}

impl Ordering {
    /// The number of the next message to `to`.
    pub fn number(&mut self, to: u32) -> u32 {
        let peer = self.peers.entry(to).or_default();
        let number = peer.next_out;
        peer.next_out = number.wrapping_add(1);
        number
    }

    /// Takes an envelope that has arrived: true if it is its turn, otherwise it is held.
    pub fn admit(&mut self, message: Message) -> bool {
        let peer = self.peers.entry(message.from).or_default();
        if peer.next_in == message.sequence {
            peer.next_in = peer.next_in.wrapping_add(1);
            return true;
        }
        self.early.insert((message.from, message.sequence), message);
        false
    }

    /// A held envelope from this sender whose turn has come.
    pub fn release(&mut self, from: u32) -> Option<Message> {
        if self.early.is_empty() {
            return None;
        }
        let peer = self.peers.get_mut(&from)?;
        let message = self.early.remove(&(from, peer.next_in))?;
        peer.next_in = peer.next_in.wrapping_add(1);
        Some(message)
    }

    /// Number of envelopes that wait for a predecessor.
    pub fn held(&self) -> usize {
        self.early.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    fn message(from: u32, sequence: u32) -> Message {
        Message {
            from,
            to: 0,
            communicator: 0,
            tag: 0,
            bytes: 0,
            sequence,
            request: 0,
            kind: Kind::Eager,
        }
    }

    #[test]
    fn early_messages_wait_for_their_predecessors() {
        let mut order = Ordering::default();
        assert!(!order.admit(message(1, 2)));
        assert!(!order.admit(message(1, 1)));
        assert!(order.admit(message(2, 0)), "another sender is not held up");
        assert!(order.release(1).is_none());
        assert!(order.admit(message(1, 0)));
        assert_eq!(order.release(1), Some(message(1, 1)));
        assert_eq!(order.release(1), Some(message(1, 2)));
        assert!(order.release(1).is_none());
        assert_eq!(order.held(), 0);
    }

    #[test]
    fn numbers_count_per_receiver() {
        let mut order = Ordering::default();
        assert_eq!([order.number(4), order.number(4), order.number(5)], [0, 1, 0]);
    }
}
