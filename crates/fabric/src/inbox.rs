//! Reassembly of messages at the receiving NIC. Packets may arrive in any order.
//!
//! Under an optimistic executor, an inbox may receive a message's announcement twice, or its packets from two
//! timelines. The later announcement counts, and surplus packets wait for a message that never comes, until they
//! are undone ([`InboxUndo`]).

mod table;

use des::Journal;
use serde::{Deserialize, Serialize};
use topology::HostId;

use table::{OpenMessages, TablePlace};

/// Incomplete messages. `T` is the content of an announcement.
///
/// The sender announces a message out of band when it hands the message to the NIC. The announcement replaces
/// fields of the header that every packet carries, and has no effect on timing.
#[derive(Clone, Debug)]
pub struct Inbox<T> {
    partial: OpenMessages<T>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Partial<T> {
    received: u64,
    announced: Option<(u64, T)>,
}

/// An undo step of an inbox, for [`Inbox::undo`].
#[derive(Clone, Debug)]
pub enum InboxUndo<T> {
    /// The first packet or the announcement of a message arrived.
    Opened {
        /// Sender.
        source: HostId,
        /// Number.
        message: u32,
    },
    /// A message was announced after some of its packets.
    Announced {
        /// Sender.
        source: HostId,
        /// Number.
        message: u32,
    },
    /// A message was announced again.
    AnnouncedAgain {
        /// Sender.
        source: HostId,
        /// Number.
        message: u32,
        /// Its previous announcement: bytes and content.
        before: Box<(u64, T)>,
    },
    /// A packet of an incomplete message arrived.
    Received {
        /// Sender.
        source: HostId,
        /// Number.
        message: u32,
        /// Bytes.
        bytes: u32,
    },
    /// The last packet arrived, and the message was removed.
    Completed {
        /// Sender.
        source: HostId,
        /// Number.
        message: u32,
        /// Bytes received before.
        received: u64,
        /// Its announcement: bytes and content.
        announced: Box<(u64, T)>,
    },
}

/// The state of an inbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InboxState<T> {
    /// Messages in ascending order.
    partial: Vec<((HostId, u32), Partial<T>)>,
}

impl<T> Default for Inbox<T> {
    fn default() -> Self {
        Inbox {
            partial: OpenMessages::default(),
        }
    }
}

impl<T: Copy> Inbox<T> {
    /// Announces that `message` of `source` has `bytes` bytes. Precedes its last packet.
    pub fn announced<J: Journal<InboxUndo<T>>>(
        &mut self,
        source: HostId,
        message: u32,
        bytes: u64,
        what: T,
        journal: &mut J,
    ) {
        let (place, opened) = self.partial.open(source, message);
        let before = self.partial.announce(place, Some((bytes, what)));
        journal.note(|| match before {
            None if opened => InboxUndo::Opened { source, message },
            None => InboxUndo::Announced { source, message },
            Some(before) => InboxUndo::AnnouncedAgain {
                source,
                message,
                before: Box::new(before),
            },
        });
    }

    /// Accepts a packet with `bytes` bytes of payload. Returns the message's announcement, its bytes and content, if
    /// this was its last packet.
    pub fn packet<J: Journal<InboxUndo<T>>>(
        &mut self,
        source: HostId,
        message: u32,
        bytes: u32,
        journal: &mut J,
    ) -> Option<(u64, T)> {
        let (place, opened) = self.partial.open(source, message);
        let announced = if self.partial.receive(place, u64::from(bytes)) {
            self.partial.announced(place)
        } else {
            None
        };
        let Some(announced) = announced else {
            journal.note(|| {
                if opened {
                    InboxUndo::Opened { source, message }
                } else {
                    InboxUndo::Received {
                        source,
                        message,
                        bytes,
                    }
                }
            });
            return None;
        };
        journal.note(|| InboxUndo::Completed {
            source,
            message,
            received: self.partial.received(place).wrapping_sub(u64::from(bytes)),
            announced: Box::new(announced),
        });
        self.partial.remove(place);
        Some(announced)
    }

    /// Prefetches the memory that a packet of this message will touch.
    #[inline]
    pub fn prefetch_for(&self, source: HostId, message: u32) {
        self.partial.prefetch(source, message);
    }

    /// Undoes one step of the journal. Steps are undone in reverse order.
    pub fn undo(&mut self, step: InboxUndo<T>) {
        match step {
            InboxUndo::Opened { source, message } => {
                let place = self.place(source, message);
                self.partial.remove(place);
            }
            InboxUndo::Announced { source, message } => {
                let place = self.place(source, message);
                self.partial.announce(place, None);
            }
            InboxUndo::AnnouncedAgain {
                source,
                message,
                before,
            } => {
                let place = self.place(source, message);
                self.partial.announce(place, Some(*before));
            }
            InboxUndo::Received {
                source,
                message,
                bytes,
            } => {
                let place = self.place(source, message);
                self.partial.receive(place, u64::from(bytes).wrapping_neg());
            }
            InboxUndo::Completed {
                source,
                message,
                received,
                announced,
            } => {
                let place = self.place(source, message);
                self.partial.receive(place, received);
                self.partial.announce(place, Some(*announced));
            }
        }
    }

    fn place(&mut self, source: HostId, message: u32) -> TablePlace {
        self.partial.open(source, message).0
    }

    /// The state in canonical form.
    pub fn state(&self) -> InboxState<T> {
        let known = |(source, message, place)| {
            let partial = Partial {
                received: self.partial.received(place),
                announced: self.partial.announced(place),
            };
            ((source, message), partial)
        };
        let mut partial: Vec<_> = self.partial.iter().map(known).collect();
        partial.sort_unstable_by_key(|(key, _)| *key);
        InboxState { partial }
    }

    /// Restores a saved state.
    ///
    /// # Errors
    /// A message occurs twice or out of order; the inbox is unchanged.
    pub fn restore(&mut self, state: InboxState<T>) -> Result<(), String> {
        let mut pairs = state.partial.windows(2);
        if let Some(pair) = pairs.find(|pair| pair[0].0 >= pair[1].0) {
            let (source, message) = pair[1].0;
            return Err(format!(
                "inbox: message {message} of host {} is out of order in the saved state",
                source.0
            ));
        }
        self.partial = OpenMessages::default();
        for ((source, message), partial) in state.partial {
            let place = self.place(source, message);
            self.partial.receive(place, partial.received);
            self.partial.announce(place, partial.announced);
        }
        Ok(())
    }

    /// Number of incomplete messages.
    pub fn incomplete(&self) -> usize {
        self.partial.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reverse_check::{Reversible, UndoRecorder, check, script};
    use des::Time;
    use proptest::prelude::*;

    #[test]
    fn interleaved_messages_come_out_whole() {
        let mut inbox = Inbox::default();
        let journal = &mut UndoRecorder::<_, (), false>::default();
        inbox.packet(HostId(1), 7, 100, journal);
        inbox.announced(HostId(1), 7, 250, 'a', journal);
        inbox.announced(HostId(2), 7, 100, 'b', journal);
        assert_eq!(inbox.packet(HostId(1), 7, 100, journal), None);
        assert_eq!(inbox.packet(HostId(2), 7, 100, journal), Some((100, 'b')));
        assert_eq!(inbox.packet(HostId(1), 7, 50, journal), Some((250, 'a')));
        assert_eq!(inbox.incomplete(), 0);
    }

    /// As large as an MPI message.
    type What = [u32; 9];

    const _: () = assert!(size_of::<InboxUndo<What>>() <= 32);

    #[derive(Clone, Debug)]
    pub(crate) enum Op {
        /// May announce a message twice.
        Announce(HostId, u32, u64, What),
        /// May exceed the size of the message.
        Packet(HostId, u32, u32),
    }

    impl Reversible for Inbox<What> {
        type Op = Op;
        type Step = InboxUndo<What>;
        type Output = Option<(u64, What)>;
        type State = InboxState<What>;

        fn fresh() -> Inbox<What> {
            Inbox::default()
        }

        fn apply<const KEPT: bool>(
            &mut self,
            _: Time,
            op: &Op,
            out: &mut UndoRecorder<InboxUndo<What>, Option<(u64, What)>, KEPT>,
        ) {
            match *op {
                Op::Announce(source, message, bytes, what) => {
                    self.announced(source, message, bytes, what, out);
                }
                Op::Packet(source, message, bytes) => {
                    let whole = self.packet(source, message, bytes, out);
                    out.outputs.push(whole);
                }
            }
        }

        fn undo(&mut self, step: InboxUndo<What>) {
            Inbox::undo(self, step);
        }
        fn state(&self) -> InboxState<What> {
            Inbox::state(self)
        }
        fn restore(&mut self, state: InboxState<What>) -> Result<(), String> {
            Inbox::restore(self, state)
        }
    }

    fn op() -> impl Strategy<Value = Op> {
        let message = || ((0u32..2).prop_map(HostId), 0u32..2);
        let announce = (message(), 0u64..300, any::<What>());
        prop_oneof![
            1 => announce.prop_map(|((source, message), bytes, what)| {
                Op::Announce(source, message, bytes, what)
            }),
            2 => (message(), 0u32..150).prop_map(|((source, message), bytes)| {
                Op::Packet(source, message, bytes)
            }),
        ]
    }

    proptest! {
        #[test]
        fn every_input_can_be_undone_and_saved(script in script(op(), 10)) {
            check::<Inbox<What>>(&script)?;
        }

        #[test]
        fn its_state_knows_no_order_of_arrival(numbers in prop::collection::btree_set(any::<u32>(), 0..40)) {
            let journal = &mut UndoRecorder::<_, (), false>::default();
            let (mut up, mut down) = (Inbox::default(), Inbox::default());
            for number in &numbers {
                up.announced(HostId(number % 3), *number, 100, 'a', journal);
            }
            for number in numbers.iter().rev() {
                down.announced(HostId(number % 3), *number, 100, 'a', journal);
            }
            prop_assert_eq!(up.state(), down.state());
        }
    }

    #[test]
    fn a_state_with_a_message_twice_is_refused() {
        let journal = &mut UndoRecorder::<_, (), false>::default();
        let mut inbox = Inbox::default();
        inbox.announced(HostId(1), 7, 250, 'a', journal);
        let mut state = inbox.state();
        state.partial.extend(state.partial.clone());
        let error = Inbox::default().restore(state).unwrap_err();
        assert!(error.contains("message 7 of host 1 is out of order"), "{error}");
    }
}
