//! Transmissions that had not begun when the run ended.

use std::collections::HashMap;

use des::{Event, Time};
use experiment::NetworkModel;
use fabric::Packet;
use foldhash::fast::FixedState;
use topology::{Peer, Port, RouterId};

use crate::lp::net_event::NetEvent;
use crate::lp::wiring::{LpIdentity, Numbering};

/// Packets and bytes whose link reservation begins after the end of the run, by router and port.
pub type NotBegun = HashMap<(RouterId, Port), (u64, u64), FixedState>;

/// Routers reserve links ahead of time. This function finds the reservations that begin at the end of the run or
/// later, which must not count.
pub fn not_begun(
    network: &NetworkModel,
    numbering: &Numbering,
    pending: &[Event<NetEvent>],
    end: Time,
) -> NotBegun {
    let mut not_begun = NotBegun::default();

    for Reservation { router, port, packet } in late_reservations(network, numbering, pending, end) {
        let (packets, bytes) = not_begun.entry((router, port)).or_default();
        *packets += 1;
        let to_host = matches!(network.topology.peer(router, port), Peer::Host(_));
        *bytes += u64::from(network.departing_bytes(packet.bytes, to_host));
    }
    not_begun
}

/// A packet for which a router has reserved a link.
pub struct Reservation {
    /// The router that sends it.
    pub router: RouterId,
    /// The port of the link.
    pub port: Port,
    /// The packet.
    pub packet: Packet,
}

/// The reservations of links of routers that begin at the end of the run or later.
pub fn late_reservations(
    network: &NetworkModel,
    numbering: &Numbering,
    pending: &[Event<NetEvent>],
    end: Time,
) -> impl Iterator<Item = Reservation> {
    pending.iter().filter_map(move |event| {
        let NetEvent::PacketArrived { port, packet, .. } = event.payload else {
            return None;
        };
        let LpIdentity::Router(router) = numbering.identity(event.source) else {
            return None;
        };
        let from = match numbering.identity(event.target) {
            LpIdentity::Host(_) => network.topology.attachment(packet.destination).1,
            LpIdentity::Router(far) => match network.topology.peer(far, Port(port)) {
                Peer::Router(_, port) => port,
                Peer::Host(_) | Peer::Unwired => unreachable!("routers send to routers"),
            },
            LpIdentity::TerminationDetector => unreachable!("the termination detector receives no packets"),
        };
        let link_end = numbering
            .link_end(network, router, from)
            .expect("a packet came through it");
        let flits = network.model.capabilities().flits;
        let bytes = flits.map_or(packet.bytes, |flits| flits.bytes);
        let start = event.time - link_end.delay(network.rate(router, from).serialization(bytes));
        (start >= end).then_some(Reservation {
            router,
            port: from,
            packet,
        })
    })
}
