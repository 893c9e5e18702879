//! The network as tables: routers, hosts and links, which are known before the run.
//!
//! They are written when a run begins, so that a running or killed run can be drawn.
//! [`crate::outcome::final_state`] adds the traffic and the end names of links at the end.

use std::io;

use experiment::{EndPoint, NetworkModel};
use results::rows::{HostRow, LINK_LATER, LinkRow, RouterRow};
use results::{Table, TableStore};
use topology::{Drawing, HostId, LinkClass, Peer, Port, RouterId};

/// Tables that exist from the beginning of a run.
pub const KNOWN_BEFORE: &[&str] = &["hosts", "links", "routers"];

/// Largest number of links for which these tables are written early: as many as `fabricsim view` draws.
const MOST_LINKS: u64 = 1_500_000;

/// One direction of a cable.
#[derive(Clone, Copy, Debug)]
pub struct LinkEntry<'a> {
    /// Class, which determines the speed.
    pub class: LinkClass,
    /// Name of the class; `injection` and `ejection` for links of hosts.
    pub name: &'a str,
    /// Sending end.
    pub from: LinkTerminal,
    /// Receiving end.
    pub to: LinkTerminal,
}

/// An end of a link.
#[derive(Clone, Copy, Debug)]
pub enum LinkTerminal {
    /// One rail of a host.
    Host(HostId, u32),
    /// A port of a router.
    Router(RouterId, Port),
}

/// All links in the order of their numbers: injection links by host and rail, then the links of each router by
/// port. Without those between routers where packets cross the network at once.
pub fn links(network: &NetworkModel) -> impl Iterator<Item = LinkEntry<'_>> {
    let topology = network.topology.as_ref();
    let rails = network.rails.count();
    let hosts = (0..network.hosts()).map(HostId);
    let injection = hosts.flat_map(move |host| (0..rails).map(move |rail| (host, rail)));
    let injection = injection.map(|(host, rail)| {
        let (router, port) = network.attachment(host, rail);
        LinkEntry {
            class: topology::HOST_LINK,
            name: "injection",
            from: LinkTerminal::Host(host, rail),
            to: LinkTerminal::Router(router, port),
        }
    });
    let names = topology.link_classes();
    let at_once = network.router_models.capabilities().crosses_at_once;
    let ports =
        |router| (0..topology.ports(RouterId(router))).map(move |port| (RouterId(router), Port(port)));
    let others = (0..topology.routers()).flat_map(ports);
    let others = others.filter_map(move |(router, port)| {
        let class = topology.link_class(router, port);
        let (name, to) = match topology.peer(router, port) {
            Peer::Unwired => return None,
            Peer::Router(..) if at_once => return None,
            Peer::Host(end_point) => {
                let (host, rail) = network.rails.host_and_rail(EndPoint(end_point));
                ("ejection", LinkTerminal::Host(host, rail))
            }
            Peer::Router(far, far_port) => (names[usize::from(class.0)], LinkTerminal::Router(far, far_port)),
        };
        Some(LinkEntry {
            class,
            name,
            from: LinkTerminal::Router(router, port),
            to,
        })
    });
    injection.chain(others)
}

impl LinkEntry<'_> {
    /// The row of a link, as far as it is known before the run.
    pub fn row(&self, number: usize, network: &NetworkModel) -> LinkRow {
        let (from_kind, from_id, from_port) = self.from.numbers();
        let (to_kind, to_id, to_port) = self.to.numbers();
        let setting = &network.links[usize::from(self.class.0)];
        let bandwidth = match self.from {
            LinkTerminal::Host(..) => network.injection_bandwidth,
            LinkTerminal::Router(..) => setting.bandwidth,
        };
        LinkRow {
            link: number as u32,
            class: self.name.to_string().into(),
            from_kind: from_kind.into(),
            from_id,
            from_port,
            to_kind: to_kind.into(),
            to_id,
            to_port,
            bandwidth_bits_per_s: bandwidth.bits_per_s,
            latency_ps: setting.latency.ps(),
            ..LinkRow::default()
        }
    }
}

impl LinkTerminal {
    /// Kind, number, and port or rail.
    fn numbers(self) -> (&'static str, u32, u32) {
        match self {
            LinkTerminal::Host(host, rail) => ("host", host.0, rail),
            LinkTerminal::Router(router, port) => ("router", router.0, port.0.into()),
        }
    }
}

/// The tables of routers and hosts with their positions.
pub type DrawingTables = [Table; 2];

/// Drawing positions of routers and hosts: the tables `routers` and `hosts`.
pub fn drawing(network: &NetworkModel) -> DrawingTables {
    let topology = network.topology.as_ref();
    let drawing = Drawing::of(topology);
    let routers: Vec<RouterId> = (0..network.hosts())
        .map(|host| network.attachment(HostId(host), 0).0)
        .collect();
    let mut hosts_of = vec![0u32; drawing.routers.len()];
    for router in &routers {
        hosts_of[router.0 as usize] += 1;
    }
    let mut placed = vec![0u32; drawing.routers.len()];
    let host_rows = routers.iter().enumerate().map(|(host, router)| {
        let index = router.0 as usize;
        let (x, y) = drawing.host(*router, placed[index], hosts_of[index]);
        placed[index] += 1;
        HostRow {
            host: host as u32,
            router: router.0,
            x,
            y,
            ..HostRow::default()
        }
    });
    let hosts = results::rows::hosts(host_rows);
    let router_rows = drawing
        .routers
        .iter()
        .enumerate()
        .map(|(router, spot)| RouterRow {
            router: router as u32,
            label: topology.coordinates(RouterId(router as u32)),
            group: spot.group,
            x: spot.x,
            y: spot.y,
            hosts: hosts_of[router],
        });
    [results::rows::routers(router_rows), hosts]
}

/// Writes the tables for readers of a running simulation, unless the network is too large to be drawn.
///
/// # Errors
/// An error of the file system.
pub fn write(network: &NetworkModel, drawing: &DrawingTables, store: &TableStore) -> io::Result<()> {
    let topology = network.topology.as_ref();
    let ports = (0..topology.routers()).map(|router| u64::from(topology.ports(RouterId(router))));
    let injection = u64::from(network.hosts()) * u64::from(network.rails.count());
    if injection + ports.sum::<u64>() > MOST_LINKS {
        return Ok(());
    }
    for table in drawing {
        store.put_table(table)?;
    }
    let links = links(network).enumerate();
    store.put_rows(links.map(|(number, link)| link.row(number, network)), LINK_LATER)
}
