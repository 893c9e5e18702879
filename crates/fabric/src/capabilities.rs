//! What models of routers, NICs and links declare. Exact shortcuts, checks of the network, the deadlock proof and the
//! audit ask for it, and name no model.
//!
//! A model that declares nothing ([`RouterCapabilities::NONE`], [`NicCapabilities::NONE`]) runs without shortcuts and
//! with routing by credits only.

/// When a packet may move into the next buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switching {
    /// Virtual cut-through: the buffer has space for all of it.
    CutThrough,
    /// Wormhole: the buffer has space for a part of it. A packet may hold buffers of several routers.
    Wormhole,
}

impl Switching {
    /// What holds for a network with both: packets may hold buffers of several routers if one model lets them.
    fn joint(self, other: Switching) -> Switching {
        match self {
            Switching::Wormhole => self,
            Switching::CutThrough => other,
        }
    }
}

/// How a router model moves packets in flits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlitFlow {
    /// Bytes of a flit.
    pub bytes: u32,
    /// Whether a packet takes a virtual channel only when all of its credits have returned.
    pub awaits_credits: bool,
    /// Whether the virtual channels of a link are divided by the output that a packet takes at the router behind it.
    pub vcs_by_next_output: bool,
    /// Whether a packet takes a random virtual channel of the link from its host, and on the link to a host the one
    /// that routing gives ([`routing::Routing::host_vc`]).
    pub host_vcs_by_routing: bool,
    /// Bytes of a buffer that each virtual channel has for itself where all of them share the rest; `None`: each has an
    /// equal part of the buffer. Credits of a shared buffer may be negative, as a wrapped number.
    pub private_part: Option<u32>,
}

/// What a router model declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouterCapabilities {
    /// When a packet may move into the next buffer. Networks of cut-through routers need buffers that hold the largest
    /// packet.
    pub switching: Switching,
    /// Whether a packet takes credits of the router behind its link. A model without them has space for all packets,
    /// and its routers return credits to NICs only.
    pub takes_credits: bool,
    /// Whether the router reports each packet that waits for credits
    /// ([`RouterOutputs::lacks_credits`](crate::router::RouterOutputs::lacks_credits)), and credits have no other
    /// effect. The arrival time of a credit then has no effect before the first report.
    pub reports_credit_waits: bool,
    /// Whether a packet that the router has sent ([`RouterOutputs::depart`](crate::router::RouterOutputs::depart))
    /// leaves at the time that was given then.
    pub final_reservations: bool,
    /// Whether it sends content other than packets and credits over links
    /// ([`RouterOutputs::signal`](crate::router::RouterOutputs::signal)).
    pub sends_signals: bool,
    /// Whether it sends such content to hosts, and needs a NIC model that understands it
    /// ([`NicCapabilities::signals_of`]).
    pub signals_to_hosts: bool,
    /// Whether its buffers are divided into slots of the largest packet where routing uses bubbles
    /// ([`routing::BufferClaim::Bubble`]); routing with bubbles needs such a model.
    pub bubbles: bool,
    /// Whether a packet can take space that was free when it was routed ([`routing::BufferClaim::Reserved`]); routing
    /// with such hops needs such a model.
    pub reserved_space: bool,
    /// Whether routing can ask it for other loads than [`RouterModel::load`](crate::router::RouterModel::load)
    /// ([`routing::Congestion::load_by`]); routing by another metric needs such a model.
    pub load_metrics: bool,
    /// Whether [`RouterModel::load`](crate::router::RouterModel::load) counts all bytes of an output and changes with
    /// events only, as load reports of routing need ([`routing::Routing::reports`]); such routing needs such a model.
    pub load_reports: bool,
    /// For a model that moves packets in flits: a head that arrives
    /// ([`RouterModel::arrived`](crate::router::RouterModel::arrived)) has taken the space of one flit, and hosts
    /// return credits without a delay.
    pub flits: Option<FlitFlow>,
    /// Whether its outputs choose among traffic classes; networks with several classes need such a model.
    pub traffic_classes: bool,
    /// Whether it chooses among copies of a virtual channel ([`crate::TrafficClasses::copies_of`]); networks with
    /// copies need such a model.
    pub vc_copies: bool,
    /// Whether it applies its pipeline itself, so that a packet's head arrives when it has passed its cable
    /// ([`PortSetting::pipeline`](crate::router::PortSetting::pipeline)).
    pub own_pipeline: bool,
    /// Whether a router receives a packet from another one with its tail (store and forward), and not with its head.
    pub stores_packets: bool,
    /// Whether a packet goes from its NIC to the last router of its path at once, after the latency of a shortest path,
    /// with credits that return at once. No packet is on a link between routers, and what routing, buffers and credits
    /// have for keys has no effect. The input of an arrival is then the port that leads to the packet's destination.
    pub crosses_at_once: bool,
    /// Whether the wait in [`RouterOutputs::depart`](crate::router::RouterOutputs::depart) of a packet to its host is
    /// the time that the packet waits there because of others. Such packets can be marked
    /// ([`NicModel::mark_after`](crate::NicModel::mark_after)).
    pub waits_at_departure: bool,
}

impl RouterCapabilities {
    /// A cut-through router with credits, of which nothing else is known.
    pub const NONE: RouterCapabilities = RouterCapabilities {
        switching: Switching::CutThrough,
        takes_credits: true,
        reports_credit_waits: false,
        final_reservations: false,
        sends_signals: true,
        signals_to_hosts: false,
        bubbles: false,
        reserved_space: false,
        load_metrics: false,
        load_reports: false,
        flits: None,
        traffic_classes: false,
        vc_copies: false,
        own_pipeline: false,
        stores_packets: false,
        crosses_at_once: false,
        waits_at_departure: false,
    };

    /// What holds for routers of two models in one network: what each of them needs, and what both of them can.
    #[must_use]
    pub fn joint(self, other: RouterCapabilities) -> RouterCapabilities {
        RouterCapabilities {
            switching: self.switching.joint(other.switching),
            takes_credits: self.takes_credits && other.takes_credits,
            reports_credit_waits: self.reports_credit_waits && other.reports_credit_waits,
            final_reservations: self.final_reservations && other.final_reservations,
            sends_signals: self.sends_signals || other.sends_signals,
            signals_to_hosts: self.signals_to_hosts || other.signals_to_hosts,
            bubbles: self.bubbles && other.bubbles,
            reserved_space: self.reserved_space && other.reserved_space,
            load_metrics: self.load_metrics && other.load_metrics,
            load_reports: self.load_reports && other.load_reports,
            flits: self.flits.or(other.flits),
            traffic_classes: self.traffic_classes && other.traffic_classes,
            vc_copies: self.vc_copies && other.vc_copies,
            own_pipeline: self.own_pipeline || other.own_pipeline,
            stores_packets: self.stores_packets || other.stores_packets,
            crosses_at_once: self.crosses_at_once || other.crosses_at_once,
            waits_at_departure: self.waits_at_departure && other.waits_at_departure,
        }
    }
}

/// What a NIC model declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NicCapabilities {
    /// When a packet may leave: a NIC that needs space for all of it needs virtual channels behind the injection links
    /// that hold the largest packet.
    pub switching: Switching,
    /// Whether each packet is delivered when it arrives ([`NicModel::arrived`](crate::NicModel::arrived)).
    pub accepts_every_arrival: bool,
    /// Whether an arrival has an effect beside the delivery, such as an acknowledgement.
    pub needs_arrivals: bool,
    /// Whether it sends the packets of messages only, and each once.
    pub sends_only_messages: bool,
    /// Whether a packet that it has sent leaves at the time that was given then.
    pub final_reservations: bool,
    /// Whether it reports each packet that lacks credits ([`NicOutputs::lacks_credits`](crate::NicOutputs)), and
    /// credits have no other effect.
    pub reports_credit_waits: bool,
    /// Name of the router model whose signals it sends and understands, which the network then needs; `None`: it has no
    /// signals.
    pub signals_of: Option<&'static str>,
}

impl NicCapabilities {
    /// A NIC of which nothing is known.
    pub const NONE: NicCapabilities = NicCapabilities {
        switching: Switching::CutThrough,
        accepts_every_arrival: false,
        needs_arrivals: true,
        sends_only_messages: false,
        final_reservations: false,
        reports_credit_waits: false,
        signals_of: None,
    };

    /// What holds for NICs of two models in one network.
    #[must_use]
    pub fn joint(self, other: NicCapabilities) -> NicCapabilities {
        NicCapabilities {
            switching: self.switching.joint(other.switching),
            accepts_every_arrival: self.accepts_every_arrival && other.accepts_every_arrival,
            needs_arrivals: self.needs_arrivals || other.needs_arrivals,
            sends_only_messages: self.sends_only_messages && other.sends_only_messages,
            final_reservations: self.final_reservations && other.final_reservations,
            reports_credit_waits: self.reports_credit_waits && other.reports_credit_waits,
            signals_of: self.signals_of.or(other.signals_of),
        }
    }
}

/// What a model of links declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkCapabilities {
    /// Whether a packet that has departed may not arrive.
    pub loses_packets: bool,
}

/// The links of all networks: cables that deliver what departs, after their latency.
pub const LINKS: LinkCapabilities = LinkCapabilities { loses_packets: false };

/// A bound on the size of packets that parameters of a model set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketLimit {
    /// Bytes of a packet with its header.
    pub bytes: u32,
    /// The key of `network.router` that sets it.
    pub key: &'static str,
}

/// The packets that a router can carry; `None`: any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketLimits {
    /// The smallest largest packet.
    pub least: Option<PacketLimit>,
    /// The largest packet.
    pub most: Option<PacketLimit>,
}
