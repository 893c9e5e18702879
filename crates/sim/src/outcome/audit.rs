//! The audit at the end of every run: each packet and each credit is accounted for.
//!
//! For every link and VC, these add up to the buffer: the sender's credits, credits in flight or pending in a
//! batch, space reserved for packets that may not leave yet, and the space of packets on the link and in the buffer
//! behind it. Of router models without credits between routers this holds for injection links only. Every packet that
//! has left a NIC was delivered, waits in a buffer, or is on a link.

use std::collections::HashMap;

use des::{Event, Lps};
use fabric::router::BufferedPacket;
use foldhash::fast::FixedState;
use topology::{HostId, Peer, Port, RouterId};

use crate::Error;
use crate::lp::model::NetworkLp;
use crate::lp::net_event::NetEvent;
use crate::lp::simulation::Simulation;

/// What is still in the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InFlight {
    /// Packets on links and in buffers.
    pub packets: u64,
    /// Bytes of these packets, with their headers.
    pub bytes: u64,
}

/// Bytes of buffer space in use or reserved, by receiving router, input port and VC.
type BufferUse = HashMap<(RouterId, u16, u8), u64, FixedState>;

/// Checks that nothing was lost or duplicated, and counts what is in flight.
///
/// # Errors
/// What does not add up: a bug of the simulator.
pub fn audit(
    simulation: &Simulation,
    lps: &Lps<NetworkLp>,
    pending: &[Event<NetEvent>],
) -> Result<InFlight, Error> {
    let mut flight = InFlight::default();
    let mut used_space = BufferUse::default();
    for lp in lps.iter() {
        let NetworkLp::Router(router_lp) = lp else {
            continue;
        };
        let id = router_lp.router.id();
        router_lp.router.for_each_buffered(&mut |packet| {
            hold_buffered(simulation, id, packet, &mut flight, &mut used_space)
        });
    }
    for event in pending {
        hold_pending(simulation, event, &mut flight, &mut used_space);
    }
    check_credits(simulation, lps, &used_space)?;
    check_packets(lps, simulation.jobs.len(), flight)?;
    Ok(flight)
}

impl InFlight {
    fn add(&mut self, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }
}

/// Space that a packet of this size takes in an input buffer.
fn buffer_space(simulation: &Simulation, router: RouterId, input: u16, bytes: u32) -> u64 {
    let network = &simulation.network;
    match network.topology.peer(router, Port(input)) {
        Peer::Router(..) => u64::from(bytes.max(network.slot())),
        Peer::Host(_) | Peer::Unwired => u64::from(bytes),
    }
}

fn hold_buffered(
    simulation: &Simulation,
    router: RouterId,
    buffered: BufferedPacket,
    flight: &mut InFlight,
    used_space: &mut BufferUse,
) {
    let BufferedPacket {
        packet,
        input,
        input_vc,
        reserved,
    } = buffered;
    flight.add(packet.bytes);
    *used_space.entry((router, input, input_vc)).or_default() +=
        buffer_space(simulation, router, input, packet.bytes);
    if let Some((output, vc)) = reserved
        && let Peer::Router(far, far_port) = simulation.network.topology.peer(router, Port(output))
    {
        *used_space.entry((far, far_port.0, vc)).or_default() +=
            buffer_space(simulation, far, far_port.0, packet.bytes);
    }
}

fn hold_pending(
    simulation: &Simulation,
    event: &Event<NetEvent>,
    flight: &mut InFlight,
    used_space: &mut BufferUse,
) {
    let lps = &simulation.numbering;
    match (lps.identity(event.target), event.payload) {
        (crate::lp::wiring::LpIdentity::Router(router), NetEvent::PacketArrived { port, vc, packet }) => {
            flight.add(packet.bytes);
            *used_space.entry((router, port, vc)).or_default() +=
                buffer_space(simulation, router, port, packet.bytes);
        }
        (crate::lp::wiring::LpIdentity::Router(router), NetEvent::RouterTimer(timer)) => {
            if let Some(packet) = timer.packet() {
                hold_buffered(simulation, router, packet, flight, used_space);
            }
        }
        (crate::lp::wiring::LpIdentity::Router(router), NetEvent::SignalArrived { port, signal }) => {
            if let Some(packet) = signal.packet(port) {
                hold_buffered(simulation, router, packet, flight, used_space);
            }
        }
        (crate::lp::wiring::LpIdentity::Host(_), NetEvent::PacketArrived { packet, .. }) => {
            flight.add(packet.bytes)
        }
        (crate::lp::wiring::LpIdentity::Router(router), NetEvent::CreditReturned { port, vc, bytes }) => {
            if let Peer::Router(far, far_port) = simulation.network.topology.peer(router, Port(port)) {
                *used_space.entry((far, far_port.0, vc)).or_default() +=
                    buffer_space(simulation, far, far_port.0, bytes);
            }
        }
        (crate::lp::wiring::LpIdentity::Host(host), NetEvent::CreditReturned { port, vc, bytes }) => {
            let (router, port) = simulation.network.attachment(host, u32::from(port));
            *used_space.entry((router, port.0, vc)).or_default() += u64::from(bytes);
        }
        _ => {}
    }
}

fn check_credits(simulation: &Simulation, lps: &Lps<NetworkLp>, used_space: &BufferUse) -> Result<(), Error> {
    let topology = simulation.network.topology.as_ref();
    let classes = &simulation.network.traffic_classes;
    let router_lp = |router: RouterId| match &lps[simulation.numbering.router(router)] {
        NetworkLp::Router(router) => Ok(router),
        NetworkLp::Host(_) | NetworkLp::TerminationDetector(_) => {
            Err(Error::Audit(format!("router {} is no router", router.0)))
        }
    };
    // Checks the link into a port of a router, from the sender's credits for a VC.
    let balance = |what: &dyn Fn() -> String, (router, port, vc): (RouterId, u16, u8), credits: u32| {
        let class = topology.link_class(router, Port(port));
        let capacity = u64::from(simulation.network.buffer_of_vc(class));
        let pending = router_lp(router)?.pending_credits(port, vc);
        let used = used_space.get(&(router, port, vc)).copied().unwrap_or(0) + u64::from(pending);
        if u64::from(credits) + used == capacity {
            return Ok(());
        }
        let what = what();
        Err(Error::Audit(format!(
            "{what}, VC {vc}: {credits} B of credits and {used} B in use do not add up to {capacity} B"
        )))
    };
    let has_credits = simulation.network.model.capabilities().takes_credits;
    for router in (0..topology.routers()).map(RouterId).filter(|_| has_credits) {
        let state = &router_lp(router)?.router;
        for port in 0..topology.ports(router) {
            let Peer::Router(far, far_port) = topology.peer(router, Port(port)) else {
                continue;
            };
            let what = || format!("link from router {} port {port}", router.0);
            for vc in 0..classes.all_vcs() {
                balance(&what, (far, far_port.0, vc), state.credits(port, vc))?;
            }
        }
    }
    for host in (0..simulation.network.hosts()).map(HostId) {
        let NetworkLp::Host(state) = &lps[simulation.numbering.host(host)] else {
            return Err(Error::Audit(format!("host {} is no host", host.0)));
        };
        for rail in 0..simulation.network.rails.count() {
            let (router, port) = simulation.network.attachment(host, rail);
            let what = || format!("injection link of host {} rail {rail}", host.0);
            for class in 0..classes.count() {
                let vc = classes.first_vc(class);
                balance(&what, (router, port.0, vc), state.credits(rail, class))?;
            }
        }
    }
    Ok(())
}

fn check_packets(lps: &Lps<NetworkLp>, jobs: usize, flight: InFlight) -> Result<(), Error> {
    let (mut injected, mut delivered) = (0, 0);
    for lp in lps.iter() {
        for counts in (0..jobs).filter_map(|job| lp.counts(job)) {
            injected += counts.packets_injected;
            delivered += counts.packets_delivered;
        }
    }
    if injected == delivered + flight.packets {
        return Ok(());
    }
    Err(Error::Audit(format!(
        "{injected} packets injected are not {delivered} delivered and {} in flight",
        flight.packets
    )))
}
