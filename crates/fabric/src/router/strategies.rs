//! What routers are shown by property tests of what they take back.

use des::Time;
use proptest::prelude::*;
use routing::RouteState;
use topology::HostId;

use crate::Packet;

/// Any packets of these sizes.
pub(super) fn packets(bytes: impl Strategy<Value = u32>) -> impl Strategy<Value = Packet> {
    let packet = (
        any::<[u32; 3]>(),
        bytes,
        any::<u64>(),
        any::<u16>(),
        any::<u8>(),
        any::<bool>(),
    );
    let route = (any::<u32>(), any::<u16>(), any::<u8>(), any::<u8>());
    (packet, route).prop_map(|(packet, (via, path, phase, flags))| {
        let ([source, destination, message], bytes, created_at, job, hops, standalone) = packet;
        let (source, destination) = (HostId(source), HostId(destination));
        let mut packet = Packet::new(source, destination, message, bytes, Time(created_at), job);
        packet.route = RouteState {
            via,
            path,
            phase,
            flags,
        };
        packet.hops = hops;
        packet.standalone = standalone;
        packet
    })
}

/// Credits for a router of four ports and two VCs: port, VC and bytes.
pub(super) fn credits(bytes: impl Strategy<Value = u32>) -> impl Strategy<Value = (u16, u8, u32)> {
    (0u16..4, 0u8..2, bytes)
}
