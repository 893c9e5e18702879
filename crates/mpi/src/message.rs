//! What travels between two ranks.

use serde::{Deserialize, Serialize};

use crate::MpiSettings;

/// Top bit of [`Message::communicator`]: set for traffic of collectives, which thereby never matches
/// a receive of the program (the separate context of the MPI standard, section "Communicators").
pub const COLLECTIVE_CONTEXT: u32 = 1 << 31;

/// Second bit of [`Message::communicator`]: set for one-sided communication and its fences, which thereby
/// mix with no other messages of the communicator, as a window of MPI has a context of its own.
pub const WINDOW_CONTEXT: u32 = 1 << 30;

/// The communicator of a context: without the bits that say what it is used for.
pub(crate) fn communicator_of(context: u32) -> u32 {
    context & !(COLLECTIVE_CONTEXT | WINDOW_CONTEXT)
}

/// [`Message::request`] of an eager message, whose sender does not wait for anything.
pub const NO_REQUEST: u32 = u32::MAX;

/// The part that a message plays in its protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum MessageKind {
    /// Envelope and payload at once.
    Eager,
    /// Envelope of a rendezvous; the payload waits at the sender.
    RequestToSend,
    /// The receiver has a buffer; answers a [`MessageKind::RequestToSend`].
    ClearToSend,
    /// The payload of a rendezvous; answers a [`MessageKind::ClearToSend`].
    Data,
    /// Payload for the memory of the receiver.
    Put,
    /// The payload is in memory; answers a [`MessageKind::Put`].
    PutDone,
    /// Asks for payload out of the memory of the receiver.
    Get,
    /// The payload that was asked for; answers a [`MessageKind::Get`].
    GetData,
}

/// A message between two ranks of one job: a plain value of 36 bytes, aligned to 4.
///
/// `(from, to, kind, sequence)` is unique in a job, up to 2^32 sends between two ranks; but for one-sided
/// communication, where `request` of the rank that puts or gets takes the place of `sequence` and is unique
/// among those that are under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(C, packed(4))]
pub struct Message {
    /// Sending rank, counted in the job.
    pub from: u32,
    /// Receiving rank, counted in the job.
    pub to: u32,
    /// Index of the communicator; with [`COLLECTIVE_CONTEXT`] for traffic of collectives, with
    /// [`WINDOW_CONTEXT`] for one-sided communication, with both for fences.
    pub communicator: u32,
    /// Tag of the program; for traffic of collectives which collective, its number among those of its context,
    /// and the round.
    pub tag: u32,
    /// Payload of the MPI message in bytes, also in the control messages about it.
    pub bytes: u64,
    /// Position of the MPI message among all that its sender sends to its receiver, from 0. The four
    /// kinds that carry one MPI message have the same. 0 for one-sided communication, which has no order.
    pub sequence: u32,
    /// The sender's handle of a rendezvous, for [`Rank::injected`](crate::Rank::injected), or of a put or
    /// get; [`NO_REQUEST`] for an eager message. The receiver hands it back in its answer.
    pub request: u32,
    /// Share in the protocol.
    pub kind: MessageKind,
}

const _: () = assert!(size_of::<Message>() == 36 && align_of::<Message>() == 4);

impl Message {
    /// Bytes that the network carries: payload and header, or a control message; at least one byte.
    pub fn wire_bytes(&self, settings: &MpiSettings) -> u64 {
        let bytes = match self.kind {
            MessageKind::Eager | MessageKind::Data | MessageKind::Put | MessageKind::GetData => {
                self.bytes.saturating_add(settings.header_bytes)
            }
            MessageKind::RequestToSend
            | MessageKind::ClearToSend
            | MessageKind::PutDone
            | MessageKind::Get => settings.control_bytes,
        };
        bytes.max(1)
    }

    /// Whether the sender must be told when the last byte has left its NIC: the data of a rendezvous,
    /// since only then may the program reuse the buffer.
    pub fn reports_injection(&self) -> bool {
        self.kind == MessageKind::Data
    }

    /// Whether it belongs to a collective or fence, and not to a call that moves data by itself.
    pub(crate) fn is_of_collective(&self) -> bool {
        self.communicator & COLLECTIVE_CONTEXT != 0
    }

    /// The next message of the same protocol, in the opposite direction.
    pub(crate) fn reply(self, kind: MessageKind) -> Message {
        Message {
            from: self.to,
            to: self.from,
            kind,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payload_has_a_header_and_control_its_own_size() {
        let settings = MpiSettings {
            header_bytes: 10,
            control_bytes: 7,
            ..MpiSettings::default()
        };
        let mut message = Message {
            from: 1,
            to: 2,
            communicator: 0,
            tag: 3,
            bytes: 100,
            sequence: 5,
            request: 9,
            kind: MessageKind::Eager,
        };
        for (kind, wire, reports) in [
            (MessageKind::Eager, 110, false),
            (MessageKind::RequestToSend, 7, false),
            (MessageKind::ClearToSend, 7, false),
            (MessageKind::Data, 110, true),
            (MessageKind::Put, 110, false),
            (MessageKind::PutDone, 7, false),
            (MessageKind::Get, 7, false),
            (MessageKind::GetData, 110, false),
        ] {
            message.kind = kind;
            assert_eq!(message.wire_bytes(&settings), wire);
            assert_eq!(message.reports_injection(), reports);
        }
        let bare = MpiSettings {
            header_bytes: 0,
            ..settings
        };
        assert_eq!(Message { bytes: 0, ..message }.wire_bytes(&bare), 1);
        let clear = message.reply(MessageKind::ClearToSend);
        assert_eq!(({ clear.from }, { clear.to }, { clear.sequence }), (2, 1, 5));
        message.kind = MessageKind::Data;
        assert_eq!(clear.reply(MessageKind::Data), message);
    }
}
