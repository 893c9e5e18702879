//! The table `[network]` of an experiment: the network with its speeds.

use std::sync::Arc;

use config::{Bandwidth, Bytes, DefaultValue, Duration, Parameter, Section, Type, parameters};
use des::Time;
use fabric::router::RouterParameters;
use fabric::{NicArbiter, Rate};
use routing::{InPlanes, Routing};
use topology::{HostId, Peer, Planes, Port, RouterId, Shape, Topology};

use crate::setup::limits::{LONGEST_DELAY, at_most};
use crate::setup::rails::Rails;

/// Fastest link. On a faster one, a packet of some hundred bytes would take less than the resolution of time.
const FASTEST_BITS_PER_S: u64 = 1_000_000_000_000_000;

/// Keys of `[network]`, beside those of [`Rails`].
pub const NETWORK: &[Parameter] = parameters! {
    size("packet", "256 B", "largest packet; longer messages are divided, 1 B to 16 MiB");
    choice("nic_arbiter", fabric::NIC_ARBITERS, "how ranks and jobs of one host share its NIC");
};

/// Keys of `[network.link]`.
pub const LINK: &[Parameter] = &[
    bandwidth(
        "100 Gbps",
        "bandwidth of every link, each direction, 1 Mbps to 1000 Tbps",
    ),
    Parameter::time("latency", "50 ns", "propagation delay of a cable, 1 ps to 1 s"),
];

/// Keys of `[network.links.CLASS]`.
pub const LINK_CLASS: &[Parameter] = parameters! {
    computed("bandwidth", Type::Rate, "network.link.bandwidth", "bandwidth of one link class");
    computed("latency", Type::Time, "network.link.latency", "latency of one link class");
};

/// Keys of `[network.memory]`. The defaults are those of a node of ARCHER2, measured: `docs/methods/packet.md`.
pub const MEMORY: &[Parameter] = &[
    bandwidth("300 Gbps", "bandwidth of messages between two ranks of one host"),
    Parameter::time(
        "latency",
        "100 ns",
        "latency of messages between two ranks of one host",
    ),
];

/// Keys of `[network.router]`, beside those of the router model.
pub const ROUTER: &[Parameter] = parameters! {
    text("model", fabric::router::DEFAULT_MODEL, "router model (fabricsim list router-models)");
    time("delay", "100 ns", "from the arrival of a packet's head to its earliest departure, at most 1 s");
    size("buffer", "100 KB",
        "buffer of one input port, divided evenly among its virtual channels, at most 1 GiB");
};

const fn bandwidth(default: &'static str, summary: &'static str) -> Parameter {
    Parameter::new("bandwidth", Type::Rate, DefaultValue::Text(default), summary)
}

/// The links of one class.
#[derive(Clone, Copy, Debug)]
pub struct LinkSetting {
    /// Bits per second.
    pub bandwidth: Bandwidth,
    /// The bandwidth as a rate for computations.
    pub rate: Rate,
    /// Latency of the cable.
    pub latency: Time,
}

/// A network with its speeds.
pub struct NetworkModel {
    /// The graph. Its hosts are NIC ports, see [`NetworkModel::rails`].
    pub topology: Arc<dyn Topology>,
    /// The routing between NIC ports.
    pub routing: Arc<dyn Routing>,
    /// One of the disjoint copies of which the graph consists; with one plane, the graph itself.
    pub plane: Plane,
    /// NIC ports of the hosts.
    pub rails: Rails,
    /// Settings by link class.
    pub links: Vec<LinkSetting>,
    /// The router model with its parameters.
    pub model: RouterParameters,
    /// Pipeline latency of a router, from the arrival of a head until it can leave.
    pub router_delay: Time,
    /// Buffer of one input port in bytes, divided evenly among its VCs.
    pub buffer: u32,
    /// Largest packet, in bytes.
    pub packet: u32,
    /// How sources on one host share a NIC port.
    pub nic_arbiter: NicArbiter,
    /// Latency and bandwidth of messages between ranks of one host.
    pub memory: LinkSetting,
}

/// One copy of a network.
pub struct Plane {
    /// Its graph.
    pub topology: Arc<dyn Topology>,
    /// The routing inside it.
    pub routing: Arc<dyn Routing>,
}

impl NetworkModel {
    /// Reads the table `[network]`.
    ///
    /// # Errors
    /// An invalid key or value.
    pub fn read(section: &Section) -> Result<NetworkModel, config::Error> {
        let plane = Plane::read(section)?;
        let planes = Rails::read_planes(section)?;
        let rails = Rails::read(section, plane.topology.as_ref(), planes)?;
        let (mut topology, mut routing) = (plane.topology.clone(), plane.routing.clone());
        if planes > 1 {
            if routing.reports().is_some() {
                let message = "load reports work in one plane only; expected planes = 1 with such \
                               routing, or routing without such reports";
                return Err(section.error("planes", message));
            }
            let copies = Planes::new(topology, planes).map_err(|message| section.error("planes", message))?;
            routing = Arc::new(InPlanes::new(routing, &copies));
            topology = Arc::new(copies);
        }
        let links = read_links(section, topology.as_ref())?;
        let router = section.section("router")?.declare(ROUTER);
        let model = RouterParameters::read(router)?;
        if routing.packets_per_vc() > 1 && !model.has_slots() {
            let message = "routing with bubbles needs the router model packet; \
                           expected model = \"packet\", or routing without bubbles";
            return Err(router.error("model", message));
        }
        let router_delay: Duration = router.get("delay")?;
        at_most(router, "delay", router_delay, LONGEST_DELAY)?;
        let buffer: Bytes = router.get("buffer")?;
        let packet: Bytes = section.declare(NETWORK).get("packet")?;
        if !(1..=1 << 24).contains(&packet.bytes) {
            return Err(section.error(
                "packet",
                format!("{packet} is out of range; expected 1 B to 16 MiB"),
            ));
        }
        let vcs = u64::from(routing.vcs().max(1));
        let packets = u64::from(routing.packets_per_vc());
        if buffer.bytes / vcs < packets * packet.bytes {
            let needed = match packets {
                1 => "a packet".to_string(),
                _ => format!("the {packets} packets that its routing needs there,"),
            };
            let message = format!(
                "{buffer} per input port are {} B for each of {vcs} virtual channels, less than {needed} of {packet}; \
                 expected at least {}",
                buffer.bytes / vcs,
                Bytes {
                    bytes: packets * packet.bytes * vcs
                },
            );
            return Err(router.error("buffer", message));
        }
        if buffer.bytes > 1 << 30 {
            return Err(router.error(
                "buffer",
                format!("{buffer} is out of range; expected at most 1 GiB per port"),
            ));
        }
        Ok(NetworkModel {
            memory: read_link(section.section("memory")?.declare(MEMORY), None)?,
            topology,
            routing,
            plane,
            rails,
            links,
            model,
            router_delay: Time(router_delay.ps),
            buffer: buffer.bytes as u32,
            packet: packet.bytes as u32,
            nic_arbiter: NicArbiter::named(section.choice("nic_arbiter")?),
        })
    }

    /// Number of hosts.
    pub fn hosts(&self) -> u32 {
        self.rails.hosts()
    }

    /// The router and port to which one rail of a host is attached.
    pub fn attachment(&self, host: HostId, rail: u32) -> (RouterId, Port) {
        self.topology.attachment(self.rails.end_point(host, rail).0)
    }

    /// Rate of the cable at a wired port.
    pub fn rate(&self, router: RouterId, port: Port) -> Rate {
        self.links[usize::from(self.topology.link_class(router, port).0)].rate
    }

    /// Injection bandwidth of a host, all rails together.
    pub fn injection_bits_per_s(&self) -> u64 {
        let rail = self.links[usize::from(topology::HOST_LINK.0)].bandwidth;
        rail.bits_per_s * u64::from(self.rails.count())
    }

    /// Buffer of one VC of an input port with `vcs` VCs, in bytes.
    pub fn buffer_of_vc(&self, vcs: u8) -> u32 {
        self.buffer / u32::from(vcs)
    }

    /// Least space that a packet takes in a buffer between routers: the largest packet with bubble flow control,
    /// otherwise 0.
    pub fn slot(&self) -> u32 {
        if self.routing.packets_per_vc() > 1 {
            self.packet
        } else {
            0
        }
    }

    /// Latency of a load report between two routers of a group: that of a packet's head on a shortest path inside the
    /// group, through idle routers.
    pub fn report_delay(&self, from: RouterId, to: RouterId) -> Time {
        let Shape::Groups(groups) = self.topology.shape() else {
            unreachable!("only routers of groups exchange load reports")
        };
        let (mut at, mut delay) = (from, Time::ZERO);
        while at != to {
            let port = groups.local_port(at, to, 0);
            let class = self.topology.link_class(at, port);
            delay = delay + self.links[usize::from(class.0)].latency + self.router_delay;
            at = match self.topology.peer(at, port) {
                Peer::Router(next, _) => next,
                _ => unreachable!("local links join routers"),
            };
        }
        delay
    }

    /// Least delay of any event between two LPs: the shortest cable.
    pub fn lookahead(&self) -> Time {
        self.links
            .iter()
            .map(|l| l.latency)
            .min()
            .expect("hosts have links")
    }
}

impl Plane {
    fn read(section: &Section) -> Result<Plane, config::Error> {
        let topology: Arc<dyn Topology> = topology::build(section.section("topology")?)?.into();
        let routing = routing::build(section.section("routing")?, topology.clone())?.into();
        Ok(Plane { topology, routing })
    }
}

impl LinkSetting {
    fn new(bandwidth: Bandwidth, latency: Time) -> LinkSetting {
        LinkSetting {
            bandwidth,
            rate: Rate::bits_per_s(bandwidth.bits_per_s),
            latency,
        }
    }
}

/// Reads the link settings: `link` applies to all classes, `links.NAME` to one.
fn read_links(section: &Section, topology: &dyn Topology) -> Result<Vec<LinkSetting>, config::Error> {
    let common = read_link(section.section("link")?.declare(LINK), None)?;
    let by_class = section.section("links")?;
    let classes = topology.link_classes();
    if let Some(unknown) = by_class
        .keys()
        .iter()
        .find(|key| !classes.contains(&key.as_str()))
    {
        return Err(by_class.unknown_name(unknown, unknown, classes.iter().copied()));
    }
    classes
        .iter()
        .map(|class| read_link(by_class.section(class)?, Some(common)))
        .collect()
}

/// Reads a link's keys; `default` takes the place of the declared defaults.
fn read_link(section: &Section, default: Option<LinkSetting>) -> Result<LinkSetting, config::Error> {
    let (bandwidth, latency) = match default {
        Some(default) => {
            let latency = Duration {
                ps: default.latency.ps(),
            };
            (
                section.or("bandwidth", default.bandwidth)?,
                section.or("latency", latency)?,
            )
        }
        None => (section.get("bandwidth")?, section.get("latency")?),
    };
    if bandwidth.bits_per_s < Rate::MIN_BITS_PER_S {
        return Err(section.error(
            "bandwidth",
            format!("{bandwidth} is too slow; expected at least 1 Mbps"),
        ));
    }
    if bandwidth.bits_per_s > FASTEST_BITS_PER_S {
        return Err(section.error(
            "bandwidth",
            format!("{bandwidth} is too fast; expected at most 1000 Tbps"),
        ));
    }
    at_most(section, "latency", latency, LONGEST_DELAY)?;
    if latency.ps == 0 {
        return Err(section.error("latency", "0 is out of range; expected at least \"1 ps\""));
    }
    Ok(LinkSetting::new(bandwidth, Time(latency.ps)))
}
