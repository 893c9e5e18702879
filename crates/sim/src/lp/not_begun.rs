//! Transmissions that had not begun when the run ended.

use std::collections::HashMap;

use des::{Event, Time};
use experiment::NetworkModel;
use fabric::Packet;
use fabric::router::flit::joined_after;
use foldhash::fast::FixedState;
use topology::{Peer, Port, RouterId};

use crate::lp::net_event::NetEvent;
use crate::lp::wiring::{DepartingPart, LpIdentity, Numbering};

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

    for late in late_reservations(network, numbering, pending, end) {
        let (packets, bytes) = not_begun.entry((late.router, late.port)).or_default();
        *packets += 1;
        *bytes += u64::from(late.part.bytes(network, late.packet.bytes));
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
    /// What of it begins then.
    pub part: DepartingPart,
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
        let part = link_end.departing();
        let (rate, flit) = (network.rate(router, from), network.router_models.flit());
        let delay = match (part, flit) {
            (DepartingPart::Tail, Some(flit)) if link_end.joins_flits() => {
                let link = &network.links[usize::from(link_end.class.0)];
                link.latency
                    + joined_after(
                        link.router_delay,
                        rate.serialization(flit),
                        packet.bytes.div_ceil(flit),
                    )
            }
            (DepartingPart::Head | DepartingPart::Tail, Some(flit)) => {
                link_end.delay(rate.serialization(flit))
            }
            _ => link_end.delay(rate.serialization(packet.bytes)),
        };
        let start = event.time - delay;
        (start >= end).then_some(Reservation {
            router,
            port: from,
            packet,
            part,
        })
    })
}
