//! Transmissions that had not begun when the run ended.

use std::collections::HashMap;

use des::{Event, Time};
use foldhash::fast::FixedState;
use topology::{Peer, Port, RouterId};

use crate::lp::net_event::NetEvent;
use crate::lp::wiring::{LpIdentity, Numbering};
use crate::setup::network::NetworkModel;

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
    for event in pending {
        let NetEvent::PacketArrived { port, packet, .. } = event.payload else {
            continue;
        };
        let LpIdentity::Router(router) = numbering.identity(event.source) else {
            continue;
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
        let start = event.time - link_end.delay(network.rate(router, from).serialization(packet.bytes));
        if start >= end {
            let (packets, bytes) = not_begun.entry((router, from)).or_default();
            *packets += 1;
            *bytes += u64::from(packet.bytes);
        }
    }
    not_begun
}
