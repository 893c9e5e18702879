//! What becomes of a packet other than a delivery. Models report it, and the audit adds it up.

use serde::{Deserialize, Serialize};

/// What becomes of a packet, at a router or a port of a NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PacketFate {
    /// There is one more: a router has made a copy, or a packet of its own.
    Multiplied,
    /// It has done what it was for, or is a part of another packet: an acknowledgement, a repetition of a packet that
    /// has arrived, an operand of a reduction.
    Consumed,
    /// It is lost.
    Dropped(DropReason),
}

/// Why a packet is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum DropReason {
    /// The next buffer had no space for it.
    BufferFull,
    /// The link was down.
    LinkDown,
    /// It was damaged on the link.
    Damaged,
}

impl DropReason {
    /// All reasons, by their numbers.
    pub const ALL: [DropReason; 3] = [DropReason::BufferFull, DropReason::LinkDown, DropReason::Damaged];

    /// Its number, as in [`DropReason::ALL`].
    pub fn index(self) -> usize {
        self as usize
    }

    /// Its name in tables and notes.
    pub fn name(self) -> &'static str {
        match self {
            DropReason::BufferFull => "buffer-full",
            DropReason::LinkDown => "link-down",
            DropReason::Damaged => "damaged",
        }
    }
}
