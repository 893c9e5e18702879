//! A packet in a router that knows its output.

use routing::BufferClaim;
use serde::{Deserialize, Serialize};

use crate::Packet;
use crate::waits::VcQueue;

/// A packet with its output. It occupies its input buffer until its tail has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoutedPacket {
    /// The packet.
    pub packet: Packet,
    /// Input port.
    pub input: u16,
    /// Output port.
    pub output: u16,
    /// VC of the input buffer.
    pub input_vc: u8,
    /// VC at the far end of the output.
    pub output_vc: u8,
    /// Its claim on the buffer there.
    pub claim: BufferClaim,
}

impl AsMut<Packet> for RoutedPacket {
    fn as_mut(&mut self) -> &mut Packet {
        &mut self.packet
    }
}

impl RoutedPacket {
    /// The queue in which it waits.
    pub(super) fn vc_queue(&self) -> VcQueue {
        VcQueue {
            output: self.output,
            vc: self.output_vc,
            entering: self.claim == BufferClaim::Bubble,
        }
    }
}
