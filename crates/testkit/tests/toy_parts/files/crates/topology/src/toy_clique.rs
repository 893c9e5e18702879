//! Toy clique: every router has a link to every other router.
//!
//! Ports of a router: first its hosts, then one port for each distance 1 to n - 1 in router numbers, modulo n.

use std::sync::Arc;

use config::{Error, Parameter, Section, Type};

use crate::host_ports::HostPorts;
use crate::size::{count, counted, ports, positive};
use crate::{Graph, HOST_LINK, HostId, Kind, LinkClass, Peer, Port, RouterId, Shape, Topology};

pub(crate) const KIND: Kind = Kind {
    name: "toy-clique",
    summary: "links between all routers",
    parameters: &[
        Parameter::required("routers", Type::Integer, "number of routers"),
        Parameter::integer("hosts_per_router", 1, "hosts on every router"),
    ],
    example: "routers = 4\n",
    sizing: None,
    build: |section| Ok(Box::new(ToyClique::read(section)?)),
};

struct ToyClique {
    routers: u32,
    host_ports: HostPorts,
    hosts: u32,
    ports: u16,
}

impl ToyClique {
    fn read(section: &Section) -> Result<ToyClique, Error> {
        let routers = positive(section, "routers")?;
        let host_ports = HostPorts::read(section, "hosts_per_router")?;
        Ok(ToyClique {
            routers,
            host_ports,
            hosts: count(
                section,
                "hosts_per_router",
                "hosts",
                &[routers, host_ports.count()],
            )?,
            ports: ports(section, "routers", &[host_ports.count(), routers - 1])?,
        })
    }

    /// The port that leads to the router at this distance.
    fn port(&self, distance: u32) -> Port {
        Port((self.host_ports.count() + distance - 1) as u16)
    }
}

impl Topology for ToyClique {
    fn hosts(&self) -> u32 {
        self.hosts
    }

    fn routers(&self) -> u32 {
        self.routers
    }

    fn ports(&self, _: RouterId) -> u16 {
        self.ports
    }

    fn peer(&self, router: RouterId, port: Port) -> Peer {
        self.host_ports.peer(router.0, port).unwrap_or_else(|| {
            let distance = u32::from(port.0) - self.host_ports.count() + 1;
            let far = (router.0 + distance) % self.routers;
            Peer::Router(RouterId(far), self.port(self.routers - distance))
        })
    }

    fn attachment(&self, host: HostId) -> (RouterId, Port) {
        self.host_ports.attachment(host)
    }

    fn distance(&self, from: RouterId, to: RouterId) -> u32 {
        u32::from(from != to)
    }

    fn link_classes(&self) -> Vec<&str> {
        vec!["host", "clique"]
    }

    fn link_class(&self, _: RouterId, port: Port) -> LinkClass {
        match self.host_ports.has(port) {
            true => HOST_LINK,
            false => LinkClass(1),
        }
    }

    fn coordinates(&self, router: RouterId) -> String {
        format!("router {}", router.0)
    }

    fn describe(&self) -> String {
        let hosts = counted(self.host_ports.count(), "host");
        format!("toy clique of {} routers with {hosts} each", self.routers)
    }

    fn into_graph(self: Arc<Self>) -> Option<Arc<dyn Graph>> {
        Some(self)
    }

    fn shape(&self) -> Shape<'_> {
        Shape::Graph(self)
    }
}

impl Graph for ToyClique {
    fn diameter(&self) -> u32 {
        u32::from(self.routers > 1)
    }

    fn shortest_path(&self, from: RouterId, to: RouterId, _: u32) -> (Port, u32) {
        (self.port((to.0 + self.routers - from.0) % self.routers), 0)
    }

    fn neighbourhood(&self) -> u32 {
        1
    }
}
