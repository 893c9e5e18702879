//! An MPI message in an event.

use mpi::{Message, MessageKind, PackedPath};
use serde::{Deserialize, Serialize};

/// An MPI message and its number at the host that sends it, without padding, so that an event with it fits a cache
/// line. One of its ranks is at the host that gets the event and is given by its slot, which also says the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(C, packed)]
pub struct HostMessage {
    /// Slot of the rank at this host.
    pub slot: u16,
    /// Number among the messages of the sending host.
    pub number: u32,
    /// The other rank.
    other: u32,
    communicator: u32,
    tag: u32,
    bytes: u64,
    sequence: u32,
    request: u32,
    kind: MessageKind,
    path: PackedPath,
}

impl HostMessage {
    /// A message for the host that sends it.
    pub fn to_sender(slot: u16, number: u32, message: &Message) -> HostMessage {
        HostMessage::new(slot, number, message.to, message)
    }

    /// A message for the host that receives it.
    pub fn to_receiver(slot: u16, number: u32, message: &Message) -> HostMessage {
        HostMessage::new(slot, number, message.from, message)
    }

    fn new(slot: u16, number: u32, other: u32, message: &Message) -> HostMessage {
        let Message {
            communicator,
            tag,
            bytes,
            sequence,
            request,
            kind,
            path,
            ..
        } = *message;
        HostMessage {
            slot,
            number,
            other,
            communicator,
            tag,
            bytes,
            sequence,
            request,
            kind,
            path,
        }
    }

    /// The message, at the host of its sender, `from`.
    pub fn at_sender(self, from: u32) -> Message {
        self.between(from, self.other)
    }

    /// The message, at the host of its receiver, `to`.
    pub fn at_receiver(self, to: u32) -> Message {
        self.between(self.other, to)
    }

    fn between(self, from: u32, to: u32) -> Message {
        let HostMessage {
            communicator,
            tag,
            bytes,
            sequence,
            request,
            kind,
            path,
            ..
        } = self;
        Message {
            from,
            to,
            communicator,
            tag,
            bytes,
            sequence,
            request,
            kind,
            path,
        }
    }
}
