//! Maps routers, ports and hosts to logical processes.
//!
//! A router is followed by its hosts, so that neighbours are close in memory and share a thread. A host with several
//! rails follows the router of its first rail. The last LP is the termination detector.

use des::{LpId, Time};
use experiment::{EndPoint, NetworkModel};
use topology::{HostId, LinkClass, Peer, Port, RouterId};

/// The identity of an LP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LpIdentity {
    /// A router.
    Router(RouterId),
    /// A host: its NIC and its ranks.
    Host(HostId),
    /// The termination detector.
    TerminationDetector,
}

/// The far end of a cable, as seen from one port.
#[derive(Clone, Copy, Debug)]
pub struct LinkEnd {
    /// LP at the far end.
    pub lp: LpId,
    /// Port at the far end; at a host, the rail.
    pub port: u16,
    /// Class of the link.
    pub class: LinkClass,
    flags: LinkFlags,
    /// Time from the start of a packet (from its tail, if the far end receives it with that) until the far end handles
    /// it: the cable, and the pipeline of the router for this link class. At hosts, also the delays of the NIC.
    pub arrival: Time,
    /// Time from the release of buffer space until the far end knows: the router's credit delay, and the cable.
    pub credit: Time,
}

/// What distinguishes links for those who send on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LinkFlags(u8);

const TO_HOST: u8 = 1;
const FAR: u8 = 2;
const SLOW: u8 = 4;
const WITH_TAIL: u8 = 8;
const IN_FLITS: u8 = 16;
const TO_WHOLE: u8 = 32;
const MARKS: u8 = 64;

/// What the departure of a packet from a router puts onto a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DepartingPart {
    /// The packet.
    Whole,
    /// The head flit.
    Head,
    /// The tail, behind all other flits: the far end takes whole packets.
    Tail,
}

impl DepartingPart {
    /// Bytes of this part of a packet.
    pub fn bytes(self, network: &NetworkModel, packet: u32) -> u32 {
        let flit = network.router_models.flit().unwrap_or(packet);
        match self {
            DepartingPart::Whole => packet,
            DepartingPart::Head => packet.min(flit),
            DepartingPart::Tail => packet - (packet.div_ceil(flit).max(1) - 1) * flit,
        }
    }
}

impl LinkEnd {
    /// Whether the far end is a host.
    #[inline]
    pub fn leads_to_host(&self) -> bool {
        self.flags.0 & TO_HOST != 0
    }

    /// The same link, which packets count as far.
    pub fn far(self) -> LinkEnd {
        LinkEnd {
            flags: LinkFlags(self.flags.0 | FAR),
            ..self
        }
    }

    /// Whether packets count the link as far.
    #[inline]
    pub fn is_far(&self) -> bool {
        self.flags.0 & FAR != 0
    }

    /// What a departure puts onto the link.
    pub fn departing(&self) -> DepartingPart {
        match self.flags.0 {
            flags if flags & IN_FLITS == 0 => DepartingPart::Whole,
            flags if flags & (TO_HOST | TO_WHOLE) != 0 => DepartingPart::Tail,
            _ => DepartingPart::Head,
        }
    }

    /// Whether flits become whole packets at the router at the far end.
    pub fn joins_flits(&self) -> bool {
        self.flags.0 & TO_WHOLE != 0
    }

    /// Whether packets that have waited for the link are marked.
    #[inline]
    pub fn marks(&self) -> bool {
        self.flags.0 & MARKS != 0
    }

    /// Whether the link is slower than those of hosts.
    #[inline]
    pub fn is_slow(&self) -> bool {
        self.flags.0 & SLOW != 0
    }

    /// Latency of the cable, which signals take: neither the pipeline of a router nor the delays of a NIC delay them.
    pub fn cable(&self, network: &NetworkModel) -> Time {
        network.links[usize::from(self.class.0)].latency
    }

    /// Time from the start of a packet with this serialisation until the far end handles it.
    #[inline]
    pub fn delay(&self, serialization: Time) -> Time {
        if self.flags.0 & (TO_HOST | WITH_TAIL) != 0 {
            serialization + self.arrival
        } else {
            self.arrival
        }
    }
}

/// The numbering of LPs.
pub struct Numbering {
    routers: Vec<u32>,
    hosts: Vec<u32>,
    identities: Vec<LpIdentity>,
}

impl Numbering {
    /// Numbers a network's routers and hosts.
    pub fn new(network: &NetworkModel) -> Numbering {
        let (topology, hosts) = (network.topology.as_ref(), network.rails.hosts());
        let mut numbering = Numbering {
            routers: Vec::with_capacity(topology.routers() as usize),
            hosts: vec![0; hosts as usize],
            identities: Vec::with_capacity((topology.routers() + hosts + 1) as usize),
        };
        for router in (0..topology.routers()).map(RouterId) {
            numbering.routers.push(numbering.identities.len() as u32);
            numbering.identities.push(LpIdentity::Router(router));
            for port in 0..topology.ports(router) {
                if let Peer::Host(end_point) = topology.peer(router, Port(port))
                    && let (host, 0) = network.rails.host_and_rail(EndPoint(end_point))
                {
                    numbering.hosts[host.0 as usize] = numbering.identities.len() as u32;
                    numbering.identities.push(LpIdentity::Host(host));
                }
            }
        }
        numbering.identities.push(LpIdentity::TerminationDetector);
        numbering
    }

    /// Number of LPs.
    pub fn lps(&self) -> u32 {
        self.identities.len() as u32
    }

    /// The identity of an LP.
    pub fn identity(&self, lp: LpId) -> LpIdentity {
        self.identities[lp.0 as usize]
    }

    /// The LP of a router.
    pub fn router(&self, router: RouterId) -> LpId {
        LpId(self.routers[router.0 as usize])
    }

    /// The LP of a host.
    pub fn host(&self, host: HostId) -> LpId {
        LpId(self.hosts[host.0 as usize])
    }

    /// The LP of the termination detector.
    pub fn termination_detector(&self) -> LpId {
        LpId(self.lps() - 1)
    }

    /// The far end of the cable at a router's port; `None` without a cable.
    pub fn link_end(&self, network: &NetworkModel, router: RouterId, port: Port) -> Option<LinkEnd> {
        let topology = network.topology.as_ref();
        let moves_flits = network.router_models.capabilities_of(router).flits.is_some();
        let in_flits = if moves_flits { IN_FLITS } else { 0 };
        match topology.peer(router, port) {
            Peer::Unwired => None,
            Peer::Host(end_point) => {
                let latency = network.links[usize::from(topology::HOST_LINK.0)].latency;
                let (host, rail) = network.rails.host_and_rail(EndPoint(end_point));
                let marks = match network.router_models.mark_after() {
                    Some(_) => MARKS,
                    None => 0,
                };
                Some(LinkEnd {
                    lp: self.host(host),
                    port: rail as u16,
                    class: topology::HOST_LINK,
                    flags: LinkFlags(TO_HOST | in_flits | marks),
                    arrival: latency + network.nic_reception_delay,
                    credit: match moves_flits {
                        false => latency + network.credit_delay,
                        true => latency,
                    },
                })
            }
            Peer::Router(far, far_port) => {
                let class = topology.link_class(router, port);
                let link = network.links[usize::from(class.0)];
                let bandwidth = |class: LinkClass| network.links[usize::from(class.0)].bandwidth;
                let slow = if bandwidth(class) < bandwidth(topology::HOST_LINK) {
                    SLOW
                } else {
                    0
                };
                let far_model = network.router_models.capabilities_of(far);
                let with_tail = match far_model.stores_packets {
                    true => WITH_TAIL,
                    false => 0,
                };
                let to_whole = match moves_flits && far_model.flits.is_none() {
                    true => TO_WHOLE,
                    false => 0,
                };
                Some(LinkEnd {
                    lp: self.router(far),
                    port: far_port.0,
                    class,
                    flags: LinkFlags(slow | with_tail | in_flits | to_whole),
                    arrival: network.until_handled(class, far),
                    credit: link.latency + network.credit_delay,
                })
            }
        }
    }

    /// The injection link of one rail of a host.
    pub fn injection(&self, network: &NetworkModel, host: HostId, rail: u32) -> LinkEnd {
        let (router, port) = network.attachment(host, rail);
        let link = network.links[usize::from(topology::HOST_LINK.0)];
        LinkEnd {
            lp: self.router(router),
            port: port.0,
            class: topology::HOST_LINK,
            flags: LinkFlags(0),
            arrival: network.nic_injection_delay + network.until_handled(topology::HOST_LINK, router),
            credit: link.latency + network.credit_delay,
        }
    }
}
