//! The audit at the end of every run: two ledgers, which the parts feed.
//!
//! **Packets**: those that NICs sent and those that routers added were delivered, consumed or dropped, or are held by a
//! router, a NIC, a timer or a link.
//!
//! **Buffers**: for every link and VC, these add up to the buffer: the sender's credits, credits in flight or pending
//! in a batch, space reserved for what may not leave yet, and the space of what is on the link and in the buffer behind
//! it. Of router models without credits between routers this holds for injection links only.

use std::collections::HashMap;

use des::{Event, Lps};
use fabric::router::Holding;
use foldhash::fast::FixedState;
use topology::{HostId, Peer, Port, RouterId};

use crate::Error;
use crate::lp::ledger::PacketLedger;
use crate::lp::model::NetworkLp;
use crate::lp::net_event::NetEvent;
use crate::lp::simulation::Simulation;
use crate::lp::wiring::LpIdentity;

/// Bytes of buffer space in use or reserved, by receiving router, input port and VC.
type BufferUse = HashMap<(RouterId, u16, u8), u64, FixedState>;

/// What the parts of a network hold.
struct Ledgers<'a> {
    simulation: &'a Simulation,
    /// Packets that have been sent, and neither delivered, consumed nor dropped.
    packets: u64,
    buffers: BufferUse,
}

/// Checks that nothing was lost or duplicated. Returns what became of packets other than a delivery.
///
/// # Errors
/// What does not add up: a bug of the simulator.
pub fn audit(
    simulation: &Simulation,
    lps: &Lps<NetworkLp>,
    pending: &[Event<NetEvent>],
) -> Result<PacketLedger, Error> {
    let mut ledgers = Ledgers {
        simulation,
        packets: 0,
        buffers: BufferUse::default(),
    };
    for lp in lps.iter() {
        match lp {
            NetworkLp::Router(router_lp) => {
                let id = router_lp.router.id();
                router_lp.router.for_each_held(&mut |held| ledgers.hold(id, held));
            }
            NetworkLp::Host(host) => ledgers.packets += host.held_packets(),
            NetworkLp::TerminationDetector(_) => {}
        }
    }
    for event in pending {
        ledgers.hold_pending(event);
    }
    check_credits(simulation, lps, &ledgers.buffers)?;
    check_packets(lps, simulation.jobs.len(), ledgers.packets)
}

impl Ledgers<'_> {
    /// Takes space of an input buffer. A packet takes at least a slot of the buffers between routers.
    fn take(&mut self, router: RouterId, input: u16, vc: u8, bytes: u32) {
        let network = &self.simulation.network;
        let bytes = match network.topology.peer(router, Port(input)) {
            Peer::Router(..) => u64::from(bytes.max(network.packet_slot())),
            Peer::Host(_) | Peer::Unwired => u64::from(bytes),
        };
        *self.buffers.entry((router, input, vc)).or_default() += bytes;
    }

    /// Takes space of the buffer behind an output of a router, if a router is there.
    fn take_behind(&mut self, router: RouterId, output: u16, vc: u8, bytes: u32) {
        if let Peer::Router(far, far_port) = self.simulation.network.topology.peer(router, Port(output)) {
            self.take(far, far_port.0, vc, bytes);
        }
    }

    fn hold(&mut self, router: RouterId, held: Holding) {
        match held {
            Holding::Packet(_) => self.packets += 1,
            Holding::Input { port, vc, bytes } => self.take(router, port, vc, bytes),
            Holding::Output { port, vc, bytes } => self.take_behind(router, port, vc, bytes),
        }
    }

    fn hold_pending(&mut self, event: &Event<NetEvent>) {
        let simulation = self.simulation;
        match (simulation.numbering.identity(event.target), &event.payload) {
            (LpIdentity::Router(router), NetEvent::PacketArrived { port, vc, packet }) => {
                self.packets += 1;
                if simulation.path_latencies.is_none() {
                    let models = &simulation.network.router_models;
                    // A head between routers with flits, or from their hosts, has taken the space of one.
                    let flits_of = |router| models.capabilities_of(router).flits;
                    let flits = match simulation.numbering.identity(event.source) {
                        LpIdentity::Router(source) if flits_of(source).is_none() => None,
                        _ => flits_of(router),
                    };
                    self.take(
                        router,
                        *port,
                        *vc,
                        flits.map_or(packet.bytes, |flits| flits.bytes),
                    );
                }
            }
            (LpIdentity::Router(router), NetEvent::RouterTimer(timer)) => {
                timer.for_each_held(&mut |held| self.hold(router, held));
            }
            (LpIdentity::Router(router), NetEvent::SignalArrived { port, signal }) => {
                signal.for_each_held(*port, &mut |held| self.hold(router, held));
            }
            (LpIdentity::Router(router), NetEvent::CreditReturned { port, vc, bytes }) => {
                self.take_behind(router, *port, *vc, *bytes);
            }
            (LpIdentity::Host(_), NetEvent::PacketArrived { .. }) => self.packets += 1,
            (LpIdentity::Host(_), NetEvent::SignalArrived { signal, .. }) => {
                // Hosts have no buffers.
                signal.for_each_held(0, &mut |held| {
                    self.packets += u64::from(matches!(held, Holding::Packet(_)));
                });
            }
            (LpIdentity::Host(host), NetEvent::CreditReturned { port, vc, bytes }) => {
                let (router, port) = simulation.network.attachment(host, u32::from(*port));
                self.take(router, port.0, *vc, *bytes);
            }
            _ => {}
        }
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
        // Those of a shared buffer may be negative.
        let credits = i64::from(credits as i32);
        if credits + used as i64 == capacity as i64 {
            return Ok(());
        }
        let what = what();
        Err(Error::Audit(format!(
            "{what}, VC {vc}: {credits} B of credits and {used} B in use do not add up to {capacity} B"
        )))
    };
    let has_credits = simulation.network.router_models.capabilities().takes_credits;
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
            let injected_into = |class| match simulation.network.router_models.capabilities_of(router).flits {
                None => classes.copies_of(class, 0),
                Some(_) => classes.vcs_of(class),
            };
            for vc in (0..classes.count()).flat_map(injected_into) {
                balance(&what, (router, port.0, vc), state.credits(rail, vc))?;
            }
        }
    }
    Ok(())
}

/// Returns the sum of the ledgers of all LPs.
fn check_packets(lps: &Lps<NetworkLp>, jobs: usize, held: u64) -> Result<PacketLedger, Error> {
    let (mut injected, mut delivered, mut ledger) = (0, 0, PacketLedger::default());
    for lp in lps.iter() {
        for counts in (0..jobs).filter_map(|job| lp.counts(job)) {
            injected += counts.packets_injected;
            delivered += counts.packets_delivered;
        }
        if let Some(own) = lp.ledger() {
            ledger.merge(own);
        }
    }
    let PacketLedger {
        control,
        multiplied,
        consumed,
        ..
    } = ledger;
    let dropped = ledger.all_dropped();
    if injected + control + multiplied == delivered + consumed + dropped + held {
        return Ok(ledger);
    }
    Err(Error::Audit(format!(
        "{injected} packets of messages, {control} of NICs and {multiplied} added by routers are not {delivered} \
         delivered, {consumed} consumed, {dropped} dropped and {held} in flight"
    )))
}
