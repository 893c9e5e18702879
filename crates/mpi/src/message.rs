//! Messages between ranks.

use serde::{Deserialize, Serialize};

use crate::MpiSettings;
use crate::path::PackedPath;

/// Top bit of [`Message::communicator`]: set for messages of collectives, which therefore never match a receive
/// of the program (the separate context of the MPI standard, section "Communicators").
pub const COLLECTIVE_CONTEXT: u32 = 1 << 31;

/// Second bit of [`Message::communicator`]: set for one-sided communication and its fences. As in MPI, an RMA window
/// has a context of its own.
pub const RMA_CONTEXT: u32 = 1 << 30;

/// The communicator of a context, without the context bits.
pub(crate) fn communicator_of(context: u32) -> u32 {
    context & !(COLLECTIVE_CONTEXT | RMA_CONTEXT)
}

/// [`Message::request`] of an eager message.
pub const NO_REQUEST: u32 = u32::MAX;

/// The role of a message in its protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum MessageKind {
    /// Envelope and payload at once.
    Eager,
    /// Envelope of a rendezvous; the payload waits at the sender.
    RequestToSend,
    /// Answers a [`MessageKind::RequestToSend`] once the receiver has a buffer.
    ClearToSend,
    /// The payload of a rendezvous, after a [`MessageKind::ClearToSend`].
    Data,
    /// Payload that is written into the receiver's memory.
    Put,
    /// Acknowledges a [`MessageKind::Put`].
    PutDone,
    /// Requests payload from the receiver's memory.
    Get,
    /// The payload that a [`MessageKind::Get`] requested.
    GetData,
}

/// A message between two ranks of one job, 40 bytes.
///
/// `(from, to, kind, sequence)` is unique in a job for up to 2^32 sends between two ranks. For one-sided
/// communication, `request` of the origin takes the place of `sequence` and is unique among those in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(C, packed(4))]
pub struct Message {
    /// Sending rank, counted in the job.
    pub from: u32,
    /// Receiving rank, counted in the job.
    pub to: u32,
    /// Index of the communicator; with [`COLLECTIVE_CONTEXT`] for traffic of collectives, with
    /// [`RMA_CONTEXT`] for one-sided communication, with both for fences.
    pub communicator: u32,
    /// Tag of the program. For collectives it encodes the collective, its number in its context, and the round.
    pub tag: u32,
    /// Payload of the MPI message in bytes, also in the control messages about it.
    pub bytes: u64,
    /// Position of the MPI message among all messages from its sender to its receiver, from 0. The kinds that
    /// belong to one MPI message share it. 0 for one-sided communication, which is not ordered.
    pub sequence: u32,
    /// The sender's request handle of a rendezvous, put or get, which the receiver's answer returns;
    /// [`NO_REQUEST`] for an eager message.
    pub request: u32,
    /// Role in the protocol.
    pub kind: MessageKind,
    /// The critical path up to its issue. It has no effect on the simulation.
    pub path: PackedPath,
}

const _: () = assert!(size_of::<Message>() == 40 && align_of::<Message>() == 4);

impl MessageKind {
    /// Bytes on the wire of a message with this payload: payload and header, or a control message; at least one byte.
    pub(crate) fn wire_bytes(self, payload: u64, settings: &MpiSettings) -> u64 {
        let bytes = match self {
            MessageKind::Eager | MessageKind::Data | MessageKind::Put | MessageKind::GetData => {
                payload.saturating_add(settings.header_bytes)
            }
            MessageKind::RequestToSend
            | MessageKind::ClearToSend
            | MessageKind::PutDone
            | MessageKind::Get => settings.control_bytes,
        };
        bytes.max(1)
    }
}

impl Message {
    /// Bytes on the wire: payload and header, or a control message; at least one byte.
    pub fn wire_bytes(&self, settings: &MpiSettings) -> u64 {
        self.kind.wire_bytes(self.bytes, settings)
    }

    /// Whether [`Rank::injected`](crate::Rank::injected) must report the last byte: the program may reuse the
    /// buffer of a rendezvous only then.
    pub fn reports_injection(&self) -> bool {
        self.kind == MessageKind::Data
    }

    /// Whether it belongs to a collective or fence.
    pub(crate) fn is_of_collective(&self) -> bool {
        self.communicator & COLLECTIVE_CONTEXT != 0
    }

    /// The answer to this message.
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
            path: PackedPath::default(),
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
