//! The table `[network]` of an experiment: the network with its speeds.

use std::sync::Arc;

use config::{Bandwidth, Bytes, DefaultValue, Duration, Parameter, Section, Type, parameters};
use des::Time;
use fabric::{NicArbiter, PacketFormat, Rate, Switching, TrafficClasses};
use routing::{InPlanes, LoadQuantity, LoadScope, Routing};
use topology::{
    HOST_LINK, HostId, LinkClass, Peer, Planes, Port, RouterId, Shape, Topology, check_bandwidth,
    check_latency,
};

use crate::setup::limits::{LONGEST_DELAY, at_most};
use crate::setup::model_needs::{
    check_congestion_control, check_host_vcs, check_limits, check_lookahead, check_model, check_private_part,
    check_signals,
};
use crate::setup::rails::Rails;
use crate::setup::router_models::{GivenModels, RouterModels};
use crate::setup::{network_preset, traffic_classes};

/// Topologies give link speeds in the range that rates and delays have.
const _: () = assert!(topology::SLOWEST_BITS_PER_S == Rate::MIN_BITS_PER_S);
const _: () = assert!(topology::LONGEST_LATENCY.ps == LONGEST_DELAY.ps);

/// Keys of `[network]`, beside those of [`Rails`].
pub const NETWORK: &[Parameter] = parameters! {
    size("packet", "256 B", "largest payload of a packet; longer messages are divided, 1 B to 16 MiB");
    size("packet_header", "0 B",
        "bytes that every packet has on links and in buffers besides its payload, at most 64 KiB");
    choice("nic_arbiter", fabric::NIC_ARBITERS, "how ranks and jobs of one host share its NIC");
    time("nic_injection_delay", "0 ps",
        "pipeline of a NIC, from the start of a packet until its head is on the cable, at most 1 s");
    time("nic_reception_delay", "0 ps",
        "from the arrival of a packet's tail at a NIC until the host has the packet, at most 1 s");
};

/// Largest header of a packet.
const MOST_HEADER: Bytes = Bytes { bytes: 1 << 16 };

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
    computed("buffer", Type::Size, "network.router.buffer",
        "buffer of the input port at the receiving end of such a link, at most 1 GiB");
    computed("router_delay", Type::Time, "network.router.delay",
        "pipeline of a router for packets that arrive by such a link, at most 1 s");
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
    time("credit_delay", "0 ps",
        "from the departure of a packet's tail until its credit starts back to the sender, at most 1 s");
    integer("vc_copies", 1,
        "virtual channels of each class for each one that routing needs, among which the router model chooses, 1 to 255");
};

/// Keys of `[network.nic]`, beside those of the NIC model.
pub const NIC: &[Parameter] = parameters! {
    text("model", fabric::nic::DEFAULT_MODEL, "NIC model (fabricsim list nic-models)");
    computed("injection_bandwidth", Type::Rate, "that of its link", "bandwidth at which a NIC port sends");
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
    /// Buffer of the input port of a router at the receiving end in bytes, divided evenly among its VCs.
    pub buffer: u32,
    /// Pipeline latency of a router at the receiving end, from the arrival of a head until it can leave.
    pub router_delay: Time,
}

/// Messages between two ranks of one host.
#[derive(Clone, Copy, Debug)]
pub struct MemorySetting {
    /// The bandwidth as a rate for computations.
    pub rate: Rate,
    /// Latency of a message.
    pub latency: Time,
}

/// Bandwidth and latency as an experiment gives them.
#[derive(Clone, Copy, Debug)]
struct Speed {
    bandwidth: Bandwidth,
    latency: Time,
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
    /// Bandwidth at which NIC ports send.
    pub injection_bandwidth: Bandwidth,
    /// The same as a rate for computations.
    pub injection: Rate,
    /// Settings by link class.
    pub links: Vec<LinkSetting>,
    /// The traffic classes; one, unless the experiment names several.
    pub traffic_classes: TrafficClasses,
    /// Their names; none if the experiment has no section.
    pub class_names: Vec<String>,
    /// The router models with their parameters, and the NIC models beside them.
    pub router_models: RouterModels,
    /// Time from the departure of a packet's tail until its credit starts back over the cable.
    pub credit_delay: Time,
    /// Sizes of packets.
    pub packet: PacketFormat,
    /// How sources on one host share a NIC port.
    pub nic_arbiter: NicArbiter,
    /// Pipeline latency of a NIC, from the start of a packet until its head is on the cable.
    pub nic_injection_delay: Time,
    /// Latency of a NIC, from the arrival of a packet's tail until the host has the packet.
    pub nic_reception_delay: Time,
    /// Latency and bandwidth of messages between ranks of one host.
    pub memory: MemorySetting,
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
        network_preset::check_hosts(section, rails.hosts())?;
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
        let speeds = read_speeds(section, topology.as_ref())?;
        let router = section.section("router")?.declare(ROUTER);
        let given = GivenModels::read(section, plane.topology.as_ref())?;
        for (section, model) in &given.of {
            check_model(section, *model, routing.as_ref())?;
        }
        given.check_links()?;
        let nic_section = section.section("nic")?.declare(NIC);
        let router_models = given.with_nics(nic_section)?;
        for (model, nic) in router_models.all().zip(router_models.nics()) {
            check_signals(nic_section, nic.capabilities(), model)?;
        }
        let (class_names, traffic_classes) = traffic_classes::read(section, routing.as_ref(), &given.of)?;
        for (section, model) in &given.of {
            let Some(flits) = model.capabilities().flits else {
                continue;
            };
            if traffic_classes.all_vcs() > fabric::router::flit::MOST_VCS {
                let message = format!(
                    "{} virtual channels of a port; expected at most {} with this router model",
                    traffic_classes.all_vcs(),
                    fabric::router::flit::MOST_VCS
                );
                return Err(router.error("vc_copies", message));
            }
            let topology_and_routing = (topology.as_ref(), routing.as_ref());
            if flits.vcs_by_next_output {
                check_lookahead(section, topology_and_routing, &traffic_classes)?;
            }
            if flits.host_vcs_by_routing {
                check_host_vcs(section, topology_and_routing)?;
            }
        }
        let delays = read_delays(section, topology.as_ref())?;
        let credit_delay: Duration = router.get("credit_delay")?;
        at_most(router, "credit_delay", credit_delay, LONGEST_DELAY)?;
        let packet: Bytes = section.declare(NETWORK).get("packet")?;
        if !(1..=1 << 24).contains(&packet.bytes) {
            return Err(section.error(
                "packet",
                format!("{packet} is out of range; expected 1 B to 16 MiB"),
            ));
        }
        let header: Bytes = section.get("packet_header")?;
        if header > MOST_HEADER {
            let message = format!("{header} is out of range; expected at most {MOST_HEADER}");
            return Err(section.error("packet_header", message));
        }
        let packet = PacketFormat {
            payload: packet.bytes as u32,
            header: header.bytes as u32,
        };
        for (section, model) in &given.of {
            check_limits(section, model.packet_limits(), packet.largest())?;
        }
        let buffers = read_buffers(
            section,
            topology.as_ref(),
            (routing.as_ref(), traffic_classes),
            packet,
            router_models.needed_space(),
            router_models.capabilities().flits.map(|flits| flits.bytes),
        )?;
        for (section, model) in &given.of {
            let private_part = model.capabilities().flits.and_then(|flits| flits.private_part);
            check_private_part(section, private_part, &buffers, traffic_classes)?;
        }
        let routing_and_classes = (routing.as_ref(), traffic_classes);
        check_detours(section, topology.as_ref(), routing_and_classes, &buffers)?;
        let links = speeds.into_iter().zip(buffers).zip(delays);
        let links = links.map(|((speed, buffer), router_delay)| LinkSetting {
            bandwidth: speed.bandwidth,
            rate: Rate::bits_per_s(speed.bandwidth.bits_per_s),
            latency: speed.latency,
            buffer: buffer.bytes as u32,
            router_delay,
        });
        let links: Vec<LinkSetting> = links.collect();
        let injection: Option<Bandwidth> = nic_section.optional("injection_bandwidth")?;
        if let Some(bandwidth) = injection {
            check_bandwidth(bandwidth).map_err(|why| nic_section.error("injection_bandwidth", why))?;
        }
        let injection = injection.unwrap_or(links[usize::from(HOST_LINK.0)].bandwidth);
        let nic_delay = |key: &str| {
            let delay: Duration = section.get(key)?;
            at_most(section, key, delay, LONGEST_DELAY)?;
            Ok(Time(delay.ps))
        };
        let memory = read_speed(section.section("memory")?.declare(MEMORY), None)?;
        let network = NetworkModel {
            memory: MemorySetting {
                rate: Rate::bits_per_s(memory.bandwidth.bits_per_s),
                latency: memory.latency,
            },
            injection_bandwidth: injection,
            injection: Rate::bits_per_s(injection.bits_per_s),
            topology,
            routing,
            plane,
            rails,
            links,
            traffic_classes,
            class_names,
            router_models,
            credit_delay: Time(credit_delay.ps),
            packet,
            nic_injection_delay: nic_delay("nic_injection_delay")?,
            nic_reception_delay: nic_delay("nic_reception_delay")?,
            nic_arbiter: NicArbiter::named(section.choice("nic_arbiter")?),
        };
        if network.router_models.mark_after().is_some() {
            let arbiter = network.nic_arbiter;
            check_congestion_control((nic_section, arbiter), network.router_models.all())?;
        }
        Ok(network)
    }

    /// Number of hosts.
    #[inline]
    pub fn hosts(&self) -> u32 {
        self.rails.hosts()
    }

    /// The router and port to which one rail of a host is attached.
    #[inline]
    pub fn attachment(&self, host: HostId, rail: u32) -> (RouterId, Port) {
        self.topology.attachment(self.rails.end_point(host, rail).0)
    }

    /// Rate of the cable at a wired port.
    #[inline]
    pub fn rate(&self, router: RouterId, port: Port) -> Rate {
        self.links[usize::from(self.topology.link_class(router, port).0)].rate
    }

    /// Injection bandwidth of a host, all rails together.
    pub fn injection_bits_per_s(&self) -> u64 {
        let rail = self.links[usize::from(HOST_LINK.0)].bandwidth;
        rail.bits_per_s * u64::from(self.rails.count())
    }

    /// Buffer of one VC of the input port at the receiving end of a link of this class, in bytes.
    pub fn buffer_of_vc(&self, class: LinkClass) -> u32 {
        self.links[usize::from(class.0)].buffer / u32::from(self.traffic_classes.all_vcs().max(1))
    }

    /// Smallest buffer of one VC of any input port, in bytes.
    pub fn smallest_buffer_of_vc(&self) -> u32 {
        let classes = (0..self.links.len()).map(|class| LinkClass(class as u8));
        let buffers = classes.map(|class| self.buffer_of_vc(class));
        buffers.min().expect("hosts have links")
    }

    /// Smallest buffer of one VC behind a link between routers, in bytes; in a network without such links, that behind
    /// an injection link.
    pub fn smallest_buffer_between_routers(&self) -> u32 {
        let classes = (0..self.links.len()).map(|class| LinkClass(class as u8));
        let classes = classes.filter(|class| *class != HOST_LINK);
        let buffers = classes.map(|class| self.buffer_of_vc(class));
        buffers.min().unwrap_or_else(|| self.buffer_of_vc(HOST_LINK))
    }

    /// Least space that a packet takes in a buffer between routers: the largest packet with its header under bubble
    /// flow control, otherwise 0.
    #[inline]
    pub fn packet_slot(&self) -> u32 {
        if self.routing.packets_per_vc() > 1 {
            self.packet.largest()
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
            delay += self.links[usize::from(class.0)].to_router();
            at = match self.topology.peer(at, port) {
                Peer::Router(next, _) => next,
                _ => unreachable!("local links join routers"),
            };
        }
        delay
    }

    /// Time from the start of a packet onto a link of this class until the router at its end handles its head: the
    /// cable, and the pipeline unless the model applies that itself.
    #[inline]
    pub fn until_handled(&self, class: LinkClass, router: RouterId) -> Time {
        let link = &self.links[usize::from(class.0)];
        match self.router_models.capabilities_of(router).own_pipeline {
            true => link.latency,
            false => link.to_router(),
        }
    }

    /// Shortest time from the start of a packet until a router handles it.
    pub fn nearest_router(&self) -> Time {
        let has_own = self.router_models.capabilities().own_pipeline;
        let times = self.links.iter().map(|link| match has_own {
            true => link.latency,
            false => link.to_router(),
        });
        times.min().expect("hosts have links")
    }

    /// Least delay of any event between two LPs: the shortest cable.
    #[inline]
    pub fn lookahead(&self) -> Time {
        self.links
            .iter()
            .map(|l| l.latency)
            .min()
            .expect("hosts have links")
    }
}

impl LinkSetting {
    /// Time from the start of a packet until it can leave the router at the receiving end: the cable, and the pipeline.
    pub fn to_router(&self) -> Time {
        self.latency + self.router_delay
    }
}

impl Plane {
    fn read(section: &Section) -> Result<Plane, config::Error> {
        let topology = topology::build(part_table(section, "topology", "kind")?)?;
        let topology: Arc<dyn Topology> = topology.into();
        let routing = part_table(section, "routing", "algorithm")?;
        let routing = routing::build(routing, topology.clone())?.into();
        Ok(Plane { topology, routing })
    }
}

/// The table of a part. A text in its place is the name of a part, most likely.
///
/// # Errors
/// The value is no table.
pub(super) fn part_table<'a>(
    section: &'a Section,
    key: &str,
    name: &str,
) -> Result<&'a Section, config::Error> {
    section.section(key).map_err(|error| match section.optional::<String>(key) {
        Ok(Some(text)) => {
            let message =
                format!("\"{text}\" is not a table; expected {key} = {{ {name} = \"{text}\" }}, with its parameters");
            section.error(key, message)
        }
        _ => error,
    })
}

/// Reads the pipelines of routers by link class: `links.NAME.router_delay`, or `router.delay`.
fn read_delays(section: &Section, topology: &dyn Topology) -> Result<Vec<Time>, config::Error> {
    let router = section.section("router")?;
    let common: Duration = router.get("delay")?;
    at_most(router, "delay", common, LONGEST_DELAY)?;
    let by_class = section.section("links")?;
    let read = |name: &str| {
        let class = by_class.section(name)?;
        let delay = class.or("router_delay", common)?;
        at_most(class, "router_delay", delay, LONGEST_DELAY)?;
        Ok(Time(delay.ps))
    };
    topology.link_classes().into_iter().map(read).collect()
}

/// Reads the buffers by link class: `links.NAME.buffer`, or `router.buffer`. Checks that each VC has space for the
/// packets that routing needs there.
fn read_buffers(
    section: &Section,
    topology: &dyn Topology,
    (routing, classes): (&dyn Routing, TrafficClasses),
    packet: PacketFormat,
    (of_router, of_nic): (Switching, Switching),
    flit: Option<u32>,
) -> Result<Vec<Bytes>, config::Error> {
    let vcs = u64::from(classes.all_vcs().max(1));
    let packets = u64::from(routing.packets_per_vc());
    let classes_of_links = topology.link_classes();
    let check_most = |section: &Section, buffer: Bytes| {
        if buffer.bytes > 1 << 30 {
            let message = format!("{buffer} is out of range; expected at most 1 GiB per port");
            return Err(section.error("buffer", message));
        }
        Ok(())
    };
    // A NIC sends into the buffers behind host links, and a router into all others.
    let check_least = |section: &Section, name: &str, buffer: Bytes| {
        let is_of_host = classes_of_links[0] == name;
        let switching = if is_of_host { of_nic } else { of_router };
        let is_wormhole = switching == Switching::Wormhole;
        let needed_bytes = match (flit, is_wormhole) {
            (None, true) => return Ok(()),
            (None, false) => packets * u64::from(packet.largest()),
            (Some(flit), true) => u64::from(flit),
            // Buffers hold whole flits.
            (Some(flit), false) => packets * u64::from(packet.largest().next_multiple_of(flit)),
        };
        if buffer.bytes / vcs >= needed_bytes {
            return Ok(());
        }
        let needed = match packets {
            _ if is_wormhole => "a flit".to_string(),
            1 => "a packet".to_string(),
            _ => format!("the {packets} packets that its routing needs there,"),
        };
        let needs = routing.vcs();
        let of_classes = match (classes.count(), classes.copies()) {
            (1, 1) => String::new(),
            (count, 1) => format!(" ({needs} for each of {count} in network.traffic_class)"),
            (1, copies) => format!(" ({copies} copies of {needs})"),
            (count, copies) => {
                format!(" ({copies} copies of {needs} for each of {count} in network.traffic_class)")
            }
        };
        let bytes = |bytes: u32| Bytes { bytes: bytes.into() };
        let size = match packet.header {
            _ if is_wormhole => bytes(flit.unwrap_or(0)).to_string(),
            0 => bytes(packet.payload).to_string(),
            header => format!("{} with a header of {}", bytes(packet.payload), bytes(header)),
        };
        let message = format!(
            "{buffer} per input port are {} B for each of {vcs} virtual channels{of_classes}, less than {needed} of {size}; \
             expected at least {}",
            buffer.bytes / vcs,
            Bytes {
                bytes: needed_bytes * vcs
            },
        );
        Err(section.error("buffer", message))
    };
    let router = section.section("router")?;
    let common: Bytes = router.get("buffer")?;
    check_most(router, common)?;
    let by_class = section.section("links")?;
    let read = |name: &str| {
        let class = by_class.section(name)?;
        // The error names the key that gives the size.
        let giver = match class.keys().iter().any(|key| key == "buffer") {
            true => class,
            false => router,
        };
        let buffer = class.or("buffer", common)?;
        check_most(giver, buffer)?;
        check_least(giver, name, buffer)?;
        Ok(buffer)
    };
    classes_of_links.iter().copied().map(read).collect()
}

/// Refuses routing whose detours no load can begin. Packets that wait for a port are in the input buffers of its
/// router. Bytes in flight take space of the buffer behind the port, as bytes in that buffer do. Each metric counts
/// packets of the one kind, of the other or of both; with the load of one VC only the part of the buffer of that VC.
fn check_detours(
    section: &Section,
    topology: &dyn Topology,
    (routing, classes): (&dyn Routing, TrafficClasses),
    buffers: &[Bytes],
) -> Result<(), config::Error> {
    let Some(threshold) = routing.detour_load() else {
        return Ok(());
    };
    let buffers = || buffers.iter().map(|buffer| buffer.bytes);
    let (least, most) = (buffers().min().unwrap_or(0), buffers().max().unwrap_or(0));
    let metric = routing.load_metric();
    // The load of a virtual channel is that of all its copies.
    let vcs = classes.all_vcs() / classes.copies();
    let behind = |buffer: u64| match metric.scope {
        LoadScope::Port => buffer,
        LoadScope::Vc => buffer / u64::from(vcs.max(1)),
    };
    let greatest = |inputs: u64, largest: u64| match metric.quantity {
        LoadQuantity::Total => inputs.saturating_add(behind(largest)),
        LoadQuantity::Queue => inputs,
        LoadQuantity::Credits => behind(largest),
    };
    let greatest_of = |router: RouterId| {
        let ports = topology.ports(router);
        if least == most {
            return (greatest(most.saturating_mul(u64::from(ports)), most), ports);
        }
        let class = |port| topology.link_class(router, Port(port)).0;
        let of_port = |port| buffers().nth(usize::from(class(port))).unwrap_or(most);
        let (sum, largest) = (0..ports).map(of_port).fold((0u64, 0), |(sum, largest), buffer| {
            (sum + buffer, largest.max(buffer))
        });
        (greatest(sum, largest), ports)
    };
    let routers = (0..topology.routers()).map(RouterId);
    let (bound, ports) = routers.map(greatest_of).max().unwrap_or((most, 0));
    if threshold < bound {
        return Ok(());
    }
    let sizes = match least == most {
        true => format!("{}", Bytes { bytes: most }),
        false => format!("{} to {}", Bytes { bytes: least }, Bytes { bytes: most }),
    };
    let inputs = format!("the {ports} input buffers of {sizes} of its router");
    let buffer = match metric.scope {
        LoadScope::Port => "the buffer behind it".to_string(),
        LoadScope::Vc => format!("the part of one of {vcs} virtual channels in the buffer behind it"),
    };
    let places = match metric.quantity {
        LoadQuantity::Total => format!("{inputs}, and {buffer}"),
        LoadQuantity::Queue => inputs,
        LoadQuantity::Credits => buffer,
    };
    let message = format!(
        "detours begin above a load of {} of the minimal port, and no port can have more than {}: {places}; expected a \
         smaller bias",
        Bytes { bytes: threshold },
        Bytes { bytes: bound }
    );
    Err(section.section("routing")?.error("bias", message))
}

/// Reads the link speeds: `links.NAME` applies to one class, the topology's own speed where that is not given, and
/// `link` to the remaining ones.
fn read_speeds(section: &Section, topology: &dyn Topology) -> Result<Vec<Speed>, config::Error> {
    let common = read_speed(section.section("link")?.declare(LINK), None)?;
    let by_class = section.section("links")?;
    let classes = topology.link_classes();
    if let Some(unknown) = by_class
        .keys()
        .iter()
        .find(|key| !classes.contains(&key.as_str()))
    {
        return Err(by_class.unknown_name(unknown, unknown, classes.iter().copied()));
    }
    let default = |class: u8| {
        let own = topology.link_speed(LinkClass(class));
        let latency = own.latency.map(|latency| Time(latency.ps));
        Speed {
            bandwidth: own.bandwidth.unwrap_or(common.bandwidth),
            latency: latency.unwrap_or(common.latency),
        }
    };
    (0u8..)
        .zip(&classes)
        .map(|(class, name)| read_speed(by_class.section(name)?, Some(default(class))))
        .collect()
}

/// Reads bandwidth and latency; `default` takes the place of the declared defaults.
fn read_speed(section: &Section, default: Option<Speed>) -> Result<Speed, config::Error> {
    let (bandwidth, latency): (Bandwidth, Duration) = match default {
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
    check_bandwidth(bandwidth).map_err(|why| section.error("bandwidth", why))?;
    check_latency(latency).map_err(|why| section.error("latency", why))?;
    Ok(Speed {
        bandwidth,
        latency: Time(latency.ps),
    })
}
