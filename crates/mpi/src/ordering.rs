//! The order of messages between two ranks, which MPI guarantees and a network may break.

use std::collections::BTreeMap;

use des::Journal;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::Message;

/// Sequence numbers between a rank and one peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct PeerSequences {
    /// Number of the next message to the peer.
    next_out: u32,
    /// Number of the next message from the peer.
    next_in: u32,
}

/// Numbers outgoing envelopes and holds early ones until their predecessors arrive.
#[derive(Debug, Default)]
pub(crate) struct MessageOrder {
    peers: FxHashMap<u32, PeerSequences>,
    /// Early envelopes by sender and sequence number.
    early: BTreeMap<(u32, u32), Message>,
}

/// A [`MessageOrder`] in canonical form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct MessageOrderState {
    peers: BTreeMap<u32, PeerSequences>,
    early: BTreeMap<(u32, u32), Message>,
}

/// A change of [`MessageOrder`].
#[derive(Debug)]
pub(crate) enum OrderChange {
    Peer { peer: u32, old: PeerSequences },
    Early { key: (u32, u32), old: Option<Message> },
}

impl MessageOrder {
    /// The number of the next message to `to`.
    pub fn number(&mut self, to: u32, journal: &mut impl Journal<OrderChange>) -> u32 {
        let peer = self.peers.entry(to).or_default();
        let old = *peer;
        peer.next_out = old.next_out.wrapping_add(1);
        journal.note(|| OrderChange::Peer { peer: to, old });
        old.next_out
    }

    /// Accepts an arrived envelope. Returns true if it is next in order; otherwise it is held.
    pub fn admit(&mut self, message: Message, journal: &mut impl Journal<OrderChange>) -> bool {
        let peer = self.peers.entry(message.from).or_default();
        let old = *peer;
        if old.next_in == message.sequence {
            peer.next_in = old.next_in.wrapping_add(1);
            let peer = message.from;
            journal.note(|| OrderChange::Peer { peer, old });
            return true;
        }
        // A second message of the same number occurs only in speculation.
        let key = (message.from, message.sequence);
        let old = self.early.insert(key, message);
        journal.note(|| OrderChange::Early { key, old });
        false
    }

    /// Releases a held envelope from this sender that is next in order.
    pub fn release(&mut self, from: u32, journal: &mut impl Journal<OrderChange>) -> Option<Message> {
        if self.early.is_empty() {
            return None;
        }
        let peer = self.peers.get_mut(&from)?;
        let (key, old) = ((from, peer.next_in), *peer);
        let message = self.early.remove(&key)?;
        peer.next_in = old.next_in.wrapping_add(1);
        let (early, peer) = (Some(message), from);
        journal.note(|| OrderChange::Early { key, old: early });
        journal.note(|| OrderChange::Peer { peer, old });
        Some(message)
    }

    pub fn undo(&mut self, change: OrderChange) {
        match change {
            OrderChange::Peer { peer, old } if old == PeerSequences::default() => {
                self.peers.remove(&peer);
            }
            OrderChange::Peer { peer, old } => {
                self.peers.insert(peer, old);
            }
            OrderChange::Early { key, old: Some(old) } => {
                self.early.insert(key, old);
            }
            OrderChange::Early { key, old: None } => {
                self.early.remove(&key);
            }
        }
    }

    /// Number of envelopes that wait for a predecessor.
    pub fn early_count(&self) -> usize {
        self.early.len()
    }

    /// The canonical state. A peer without messages is left out.
    pub fn state(&self) -> MessageOrderState {
        let known = |(_, peer): &(&u32, &PeerSequences)| **peer != PeerSequences::default();
        MessageOrderState {
            peers: self
                .peers
                .iter()
                .filter(known)
                .map(|(n, peer)| (*n, *peer))
                .collect(),
            early: self.early.clone(),
        }
    }
}

impl From<MessageOrderState> for MessageOrder {
    fn from(state: MessageOrderState) -> MessageOrder {
        MessageOrder {
            peers: state.peers.into_iter().collect(),
            early: state.early,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MessageKind;
    use crate::changes::RankJournal;

    fn message(from: u32, sequence: u32) -> Message {
        Message {
            from,
            to: 0,
            communicator: 0,
            tag: 0,
            bytes: 0,
            sequence,
            request: 0,
            kind: MessageKind::Eager,
            path: Default::default(),
        }
    }

    #[test]
    fn early_messages_wait_for_their_predecessors() {
        let (mut order, journal) = (MessageOrder::default(), &mut RankJournal::default());
        assert!(!order.admit(message(1, 2), journal));
        assert!(!order.admit(message(1, 1), journal));
        assert!(
            order.admit(message(2, 0), journal),
            "another sender is not held up"
        );
        assert!(order.release(1, journal).is_none());
        assert!(order.admit(message(1, 0), journal));
        assert_eq!(order.release(1, journal), Some(message(1, 1)));
        assert_eq!(order.release(1, journal), Some(message(1, 2)));
        assert!(order.release(1, journal).is_none());
        assert_eq!(order.early_count(), 0);
    }

    #[test]
    fn numbers_count_per_receiver() {
        let (mut order, journal) = (MessageOrder::default(), &mut RankJournal::default());
        assert_eq!([4, 4, 5].map(|to| order.number(to, journal)), [0, 1, 0]);
    }
}
