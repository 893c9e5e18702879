//! Packets.

use des::Time;
use routing::RouteState;
use serde::{Deserialize, Serialize};
use topology::HostId;

/// A packet: plain data of 40 bytes with 4-byte alignment, so that an event with a packet fills a cache line.
///
/// | bits | field | written by | read by |
/// | --- | --- | --- | --- |
/// | 32, 32 | `source`, `destination` | the NIC that sends it | routing, hosts |
/// | 32 | `message` | that NIC; with a wait at the source, the collection | the receiving host; the collection |
/// | 32 | `bytes` | that NIC | links, buffers, hosts |
/// | 64 | creation | that NIC | hosts, the collection |
/// | 64 | `route` | routing | routing |
/// | 16 | `job` | that NIC | traffic classes, hosts, the collection |
/// | 8 | `hops` | NIC and routers | the collection |
/// | 1 | standalone | that NIC | hosts, links |
/// | 7 | far links, or a part of the wait at the source | links; the collection | the collection |
/// | 16 | `sequence` | NIC models that number packets, or say more in those of their own | these |
/// | 1 | control | NIC models that send packets of their own | the collection, the audit |
/// | 3 | mark | router models, or who puts packets onto links | router and NIC models |
/// | 12 | none, 0 | | |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(C)]
pub struct Packet {
    /// The sending end point.
    pub source: HostId,
    /// The receiving end point.
    pub destination: HostId,
    /// Number of the message among those of the sending host, modulo 2^32. A packet that carries its
    /// [wait at the source](Packet::source_wait) has a part of that here.
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
    /// Of a packet of a rank, the number of far links. Of one that counts individually, [`STANDALONE`], and either
    /// nothing else, or [`HAS_WAIT`] with [`WAIT_TOP`] and [`WAIT_SHIFT`].
    measures: u8,
    /// A number of the NIC model, 0 where it numbers no packets.
    pub sequence: u16,
    /// [`CONTROL`] and [`MARK`].
    flags: u8,
    unused: Unused,
}

/// A byte that is always 0. An enum with a packet needs no other byte for its variant, so that timers and signals with
/// a packet fit an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
enum Unused {
    Zero = 0,
}

const _: () = assert!(size_of::<Option<Packet>>() == size_of::<Packet>());

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

/// The mark of a packet that carries its wait at the source. Only standalone packets have it: those of ranks need the
/// number of their message and the far links.
const HAS_WAIT: u8 = 0x40;

/// The highest bit of the significant bits of the wait, the others of which are in [`Packet::message`].
const WAIT_TOP: u8 = 0x20;

/// The number of low bits of the wait that are left out.
const WAIT_SHIFT: u8 = 0x1F;

/// The flag of a packet that carries no part of a message.
const CONTROL: u8 = 0x01;

/// The bits of the mark.
const MARK: u8 = 0x0E;

/// Number of significant bits of the wait that a packet carries.
const WAIT_BITS: u32 = 33;

const _: () = assert!(u64::BITS - WAIT_BITS == WAIT_SHIFT as u32);

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
            measures: 0,
            sequence: 0,
            flags: 0,
            unused: Unused::Zero,
        }
    }

    /// Whether it is a packet of the NICs themselves, such as an acknowledgement: no job sent it, and no host receives
    /// it.
    #[inline]
    pub fn is_control(&self) -> bool {
        self.flags & CONTROL != 0
    }

    /// Makes it a packet of the NICs themselves.
    pub fn set_control(&mut self) {
        self.flags |= CONTROL;
    }

    /// The mark that routers have set, 0 to 7; 0 at injection.
    #[inline]
    pub fn mark(&self) -> u8 {
        (self.flags & MARK) >> MARK.trailing_zeros()
    }

    /// Sets the mark, of which the lowest three bits count.
    pub fn set_mark(&mut self, mark: u8) {
        self.flags = self.flags & !MARK | (mark << MARK.trailing_zeros()) & MARK;
    }

    /// Whether the packet counts individually, since no rank waits for the whole message (synthetic traffic).
    #[inline]
    pub fn standalone(&self) -> bool {
        self.measures & STANDALONE != 0
    }

    /// Sets whether the packet counts individually.
    #[inline]
    pub fn set_standalone(&mut self, standalone: bool) {
        self.measures = self.measures & FAR_LINKS | if standalone { STANDALONE } else { 0 };
    }

    /// The time from the handover of its message to the start of the packet onto the injection link, if the packet
    /// carries it: see [`Packet::set_source_wait`].
    #[inline]
    pub fn source_wait(&self) -> Option<Time> {
        // Packets of ranks have smaller values.
        (self.measures >= STANDALONE | HAS_WAIT).then(|| {
            let top = u64::from(self.measures & WAIT_TOP != 0) << (WAIT_BITS - 1);
            Time((top | u64::from(self.message)) << (self.measures & WAIT_SHIFT))
        })
    }

    /// Makes a standalone packet carry its wait at the source, in place of the number of its message, which has no
    /// reader. Waits below 2^33 ps (8.6 ms) are exact. Longer ones, which sources above saturation have, are rounded
    /// down to 33 significant bits: by less than one part in 2^32.
    pub fn set_source_wait(&mut self, wait: Time) {
        debug_assert!(self.standalone(), "ranks await the message");
        let used = u64::BITS - wait.ps().leading_zeros();
        let shift = used.saturating_sub(WAIT_BITS);
        let significant = wait.ps() >> shift;
        let top = if significant >> (WAIT_BITS - 1) == 0 {
            0
        } else {
            WAIT_TOP
        };
        self.message = significant as u32;
        self.measures = STANDALONE | HAS_WAIT | top | shift as u8;
    }

    /// Number of far links entered so far, as [`Packet::count_far_link`] counts them; saturates at 127.
    #[inline]
    pub fn far_hops(&self) -> u8 {
        self.measures & FAR_LINKS
    }

    /// Counts a far link. Who moves packets over links says so; routers and NICs do not know.
    #[inline]
    pub fn count_far_link(&mut self) {
        self.measures += u8::from(self.far_hops() < FAR_LINKS);
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
            measures: self.measures,
            sequence: self.sequence,
            flags: self.flags,
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
            measures: identity.measures,
            sequence: identity.sequence,
            flags: identity.flags,
            unused: Unused::Zero,
        };
    }

    /// Restores the second half.
    pub(crate) fn set_progress(&mut self, progress: PacketProgress) {
        (self.created_at, self.route) = (progress.created_at, progress.route);
    }
}

/// The first half of a packet. It is packed, so that an undo step with it is no longer than others.
#[derive(Clone, Copy, Debug)]
#[repr(C, packed)]
pub struct PacketIdentity {
    source: HostId,
    destination: HostId,
    message: u32,
    bytes: u32,
    job: u16,
    hops: u8,
    measures: u8,
    sequence: u16,
    flags: u8,
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
        assert_eq!((size_of::<Packet>(), align_of::<Packet>()), (40, 4));
        let created_at = Time(0x0123_4567_89AB_CDEF);
        assert_eq!(
            Packet::new(HostId(1), HostId(2), 3, 4, created_at, 5).created_at(),
            created_at
        );
    }

    #[test]
    fn marks_sequence_and_control_are_independent() {
        let mut packet = Packet::new(HostId(1), HostId(2), 3, 4, Time(5), 6);
        assert_eq!(
            (packet.is_control(), packet.mark(), packet.sequence),
            (false, 0, 0)
        );
        packet.set_mark(5);
        assert!(!packet.is_control());
        packet.set_control();
        packet.sequence = u16::MAX;
        (0..9).for_each(|_| packet.count_far_link());
        packet.set_mark(0xF2);
        assert_eq!(
            (packet.is_control(), packet.mark(), packet.far_hops()),
            (true, 2, 9)
        );
        let (identity, progress) = packet.split();
        let mut other = Packet::new(HostId(0), HostId(0), 0, 1, Time(0), 0);
        other.set_identity(identity);
        other.set_progress(progress);
        assert_eq!(other, packet);
    }

    #[test]
    fn a_standalone_packet_carries_its_wait_at_the_source() {
        let mut packet = Packet::new(HostId(1), HostId(2), 3, 4, Time(5), 6);
        (0..300).for_each(|_| packet.count_far_link());
        assert_eq!((packet.source_wait(), packet.far_hops()), (None, 127));
        let mut packet = Packet::new(HostId(1), HostId(2), 3, 4, Time(5), 6);
        packet.set_standalone(true);
        assert_eq!(packet.source_wait(), None);
        let largest = u64::MAX;
        for wait in [0, 1, u64::from(u32::MAX), 1 << 32, (1 << 33) - 1] {
            packet.set_source_wait(Time(wait));
            assert_eq!(packet.source_wait(), Some(Time(wait)), "exact below 2^33 ps");
            assert!(packet.standalone());
        }
        for wait in [
            1 << 33,
            (1 << 33) + 1,
            0x0123_4567_89AB_CDEF,
            largest / 2 + 1,
            largest,
        ] {
            packet.set_source_wait(Time(wait));
            let carried = packet.source_wait().expect("it was set").ps();
            assert!(
                carried <= wait && wait - carried <= wait >> 32,
                "{carried} of {wait}"
            );
            assert!(packet.standalone());
        }
        assert_eq!((packet.created_at(), packet.job, packet.bytes), (Time(5), 6, 4));
    }
}
