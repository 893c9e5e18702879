//! Packets.

use des::Time;
use routing::RouteState;
use serde::{Deserialize, Serialize};
use topology::HostId;

/// A packet: plain data of 36 bytes with 4-byte alignment, so that an event with a packet fits a cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(C)]
pub struct Packet {
    /// The sending end point.
    pub source: HostId,
    /// The receiving end point.
    pub destination: HostId,
    /// Number of the message among those of the sending host, modulo 2^32.
    pub message: u32,
    /// Bytes on the wire: payload and header, at least 1.
    pub bytes: u32,
    created_at: [u32; 2],
    /// State of the routing algorithm.
    pub route: RouteState,
    /// Index of its job.
    pub job: u16,
    /// Links entered so far; saturates at 255.
    pub hops: u8,
    /// [`STANDALONE`], and the number of far links.
    marks: u8,
}

/// Sizes of the packets into which NICs divide messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketFormat {
    /// Largest payload of a packet in bytes, at least 1.
    pub payload: u32,
    /// Bytes that each packet has on the wire besides its payload.
    pub header: u32,
}

impl PacketFormat {
    /// Packets without a header.
    pub fn without_header(payload: u32) -> PacketFormat {
        PacketFormat { payload, header: 0 }
    }

    /// Bytes of the largest packet on the wire.
    pub fn largest(self) -> u32 {
        self.payload + self.header
    }

    /// Number of packets of a message with this number of bytes, at least 1.
    pub fn packets(self, bytes: u64) -> u64 {
        bytes.div_ceil(u64::from(self.payload)).max(1)
    }

    /// Bytes on the wire of all packets of a message with this number of bytes.
    pub fn on_wire(self, bytes: u64) -> u64 {
        if self.header == 0 {
            return bytes;
        }
        bytes.saturating_add(self.packets(bytes).saturating_mul(u64::from(self.header)))
    }
}

/// The mark of a packet that counts individually.
const STANDALONE: u8 = 0x80;

/// The bits that count far links.
const FAR_LINKS: u8 = 0x7F;

impl Packet {
    /// A packet that has not left its NIC.
    pub fn new(
        source: HostId,
        destination: HostId,
        message: u32,
        bytes: u32,
        created_at: Time,
        job: u16,
    ) -> Packet {
        Packet {
            source,
            destination,
            message,
            bytes,
            created_at: halves(created_at),
            route: RouteState::default(),
            job,
            hops: 0,
            marks: 0,
        }
    }

    /// Whether the packet counts individually, since no rank waits for the whole message (synthetic traffic).
    #[inline]
    pub fn standalone(&self) -> bool {
        self.marks & STANDALONE != 0
    }

    /// Sets whether the packet counts individually.
    #[inline]
    pub fn set_standalone(&mut self, standalone: bool) {
        self.marks = self.marks & FAR_LINKS | if standalone { STANDALONE } else { 0 };
    }

    /// Number of far links entered so far, as [`Packet::count_far_link`] counts them; saturates at 127.
    #[inline]
    pub fn far_hops(&self) -> u8 {
        self.marks & FAR_LINKS
    }

    /// Counts a far link. Who moves packets over links says so; routers and NICs do not know.
    #[inline]
    pub fn count_far_link(&mut self) {
        self.marks += u8::from(self.far_hops() < FAR_LINKS);
    }

    /// Time at which the host handed its message to the NIC.
    #[inline]
    pub fn created_at(&self) -> Time {
        Time(u64::from(self.created_at[0]) | u64::from(self.created_at[1]) << 32)
    }

    /// The packet at its next link.
    #[inline]
    pub(crate) fn on_next_link(&self) -> Packet {
        Packet {
            hops: self.hops.saturating_add(1),
            // Copied separately: a router has just written it, and a wider read would stall.
            route: self.route,
            ..*self
        }
    }

    /// Both halves of the packet, for two undo steps.
    pub(crate) fn split(&self) -> (PacketIdentity, PacketProgress) {
        let identity = PacketIdentity {
            source: self.source,
            destination: self.destination,
            message: self.message,
            bytes: self.bytes,
            job: self.job,
            hops: self.hops,
            marks: self.marks,
        };
        let progress = PacketProgress {
            created_at: self.created_at,
            route: self.route,
        };
        (identity, progress)
    }

    /// Restores the first half.
    pub(crate) fn set_identity(&mut self, identity: PacketIdentity) {
        let PacketProgress { created_at, route } = self.split().1;
        *self = Packet {
            source: identity.source,
            destination: identity.destination,
            message: identity.message,
            bytes: identity.bytes,
            created_at,
            route,
            job: identity.job,
            hops: identity.hops,
            marks: identity.marks,
        };
    }

    /// Restores the second half.
    pub(crate) fn set_progress(&mut self, progress: PacketProgress) {
        (self.created_at, self.route) = (progress.created_at, progress.route);
    }
}

/// The first half of a packet.
#[derive(Clone, Copy, Debug)]
pub struct PacketIdentity {
    source: HostId,
    destination: HostId,
    message: u32,
    bytes: u32,
    job: u16,
    hops: u8,
    marks: u8,
}

/// The second half of a packet.
#[derive(Clone, Copy, Debug)]
pub struct PacketProgress {
    created_at: [u32; 2],
    route: RouteState,
}

fn halves(time: Time) -> [u32; 2] {
    [time.0 as u32, (time.0 >> 32) as u32]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fits_an_event_of_one_cache_line() {
        assert_eq!((size_of::<Packet>(), align_of::<Packet>()), (36, 4));
        let created_at = Time(0x0123_4567_89AB_CDEF);
        assert_eq!(
            Packet::new(HostId(1), HostId(2), 3, 4, created_at, 5).created_at(),
            created_at
        );
    }
}
