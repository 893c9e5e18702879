//! The network that a plan describes: routers and hosts with numbers, cables with ports.

use std::sync::Arc;

use std::sync::OnceLock;

use super::adjacency::{Adjacency, Cable};
use super::classes::{LinkClasses, of_hosts};
use super::distances::{BLOCK, DestinationBlock, Towards};
use super::plan::{NetworkPlan, NodeRole, PlanError, Position};
use super::searches::Searches;
use crate::size::counted;
use crate::{
    Graph, HOST_LINK, HostId, Layout, LinkClass, LinkSpeed, Peer, Port, RouterId, Shape, Topology, pick,
};

/// The largest number of routers that cables can connect within the memory of one search block.
pub(super) const MOST_ROUTERS: u64 = 1 << 24;
const MOST_HOSTS: u64 = 1 << 24;
const MOST_CABLES: u64 = 1 << 24;

pub(super) struct GraphNetwork {
    /// Names of the routers, as results show them.
    names: Vec<String>,
    classes: LinkClasses,
    /// Links between routers.
    adjacency: Adjacency,
    /// x and y (downwards) of the routers, if the file gives them.
    drawn_at: Option<Vec<[f64; 2]>>,
    /// Number of the first host of each router, and the number of all hosts at the end.
    first_host: Vec<u32>,
    /// Router of each host.
    router: Vec<u32>,
    searches: Searches,
    diameter: OnceLock<u32>,
}

/// The cables of a plan by kind.
struct Wiring {
    /// Number of hosts of each router.
    hosts: Vec<u32>,
    classes: LinkClasses,
    /// Cables between routers.
    cables: Vec<Cable>,
    /// Number of all ports of each router.
    ports: Vec<u64>,
}

impl Wiring {
    /// `order` lists the nodes that are routers. `hosts_per_router` holds where the plan names no hosts.
    fn new(plan: &NetworkPlan, order: &[usize], hosts_per_router: Option<u32>) -> Result<Wiring, PlanError> {
        let mut numbers = vec![0; plan.nodes.len()];
        let mut hosts = Vec::with_capacity(order.len());
        for (number, index) in order.iter().enumerate() {
            numbers[*index] = number as u32;
            let named = match plan.nodes[*index].role {
                NodeRole::Router { hosts } => hosts,
                NodeRole::Host => None,
            };
            hosts.push(hosts_per_router.or(named).unwrap_or(0));
        }
        let mut ports: Vec<u64> = hosts.iter().map(|hosts| u64::from(*hosts)).collect();
        let (mut to_hosts, mut between_routers) = (Vec::new(), Vec::new());
        let mut plugged: Vec<Option<usize>> = vec![None; plan.nodes.len()];
        for cables in &plan.cables {
            let [a, b] = cables.ends;
            let [first, second] = [a, b].map(|index| &plan.nodes[index]);
            let fail = |message| Err(PlanError::new(cables.place, message));
            let is_router = |role| matches!(role, NodeRole::Router { .. });
            let (host, router) = match [first, second].map(|node| is_router(node.role)) {
                [true, true] if a == b => {
                    return fail(format!("router '{}' is linked to itself", first.name));
                }
                [true, true] => {
                    for end in [a, b] {
                        ports[numbers[end] as usize] += u64::from(cables.count);
                    }
                    between_routers.push(cables);
                    continue;
                }
                [false, false] => {
                    return fail(format!(
                        "'{}' and '{}' are both hosts; expected a router at one end",
                        first.name, second.name
                    ));
                }
                [true, false] => (b, a),
                [false, true] => (a, b),
            };
            let name = &plan.nodes[host].name;
            if let Some(before) = plugged[host].replace(router) {
                return fail(format!(
                    "host '{name}' is on router '{}' and on router '{}'; expected one cable",
                    plan.nodes[before].name, plan.nodes[router].name
                ));
            }
            if cables.count > 1 {
                return fail(format!("host '{name}' has {} cables; expected one", cables.count));
            }
            let number = numbers[router] as usize;
            // The hosts of a router are at most its ports, which are checked.
            hosts[number] = hosts[number].saturating_add(1);
            ports[number] += 1;
            to_hosts.push(cables);
        }
        let loose = plan.nodes.iter().zip(&plugged);
        let mut loose = loose.filter(|(node, plugged)| node.role == NodeRole::Host && plugged.is_none());
        if let Some((host, _)) = loose.next() {
            let message = format!("host '{}' is on no router; expected a cable", host.name);
            return Err(PlanError::new(host.place, message));
        }
        let (classes, of_cables) = LinkClasses::new(of_hosts(&to_hosts)?, &between_routers)?;
        let cables = between_routers.iter().zip(of_cables);
        let cables = cables.map(|(cables, class)| Cable {
            ends: cables.ends.map(|end| numbers[end]),
            class,
            count: cables.count,
        });
        Ok(Wiring {
            cables: cables.collect(),
            classes,
            hosts,
            ports,
        })
    }

    /// Checks that all numbers fit their types.
    fn check(&self, plan: &NetworkPlan, order: &[usize]) -> Result<(), PlanError> {
        let cables: u64 = self.cables.iter().map(|cable| u64::from(cable.count)).sum();
        let hosts: u64 = self.hosts.iter().map(|hosts| u64::from(*hosts)).sum();
        if let Some((index, ports)) = order
            .iter()
            .zip(&self.ports)
            .find(|(_, ports)| **ports > u64::from(u16::MAX))
        {
            let node = &plan.nodes[*index];
            let message = format!(
                "{ports} ports on router '{}' are too many; expected at most {}",
                node.name,
                u16::MAX
            );
            return Err(PlanError::new(node.place, message));
        }
        at_most(MOST_CABLES, cables, "cables between routers")?;
        if hosts == 0 {
            let message = "no router has a host; expected at least one host";
            return Err(PlanError::new(Position::Whole, message));
        }
        at_most(MOST_HOSTS, hosts, "hosts")
    }
}

fn at_most(most: u64, number: u64, what: &str) -> Result<(), PlanError> {
    if number > most {
        let message = format!("{number} {what} are too many; expected at most {most}");
        return Err(PlanError::new(Position::Whole, message));
    }
    Ok(())
}

/// Positions of the routers in a drawing. Files have the y axis upwards, as Gephi.
///
/// # Errors
/// Some routers have a position and others do not.
fn drawn_at(plan: &NetworkPlan, order: &[usize]) -> Result<Option<Vec<[f64; 2]>>, PlanError> {
    let node = |index: &usize| &plan.nodes[*index];
    let is_drawn = |index: &&usize| node(index).drawn_at.is_some();
    let Some(drawn) = order.iter().find(is_drawn).map(node) else {
        return Ok(None);
    };
    let at = |index: &usize| {
        let Some([x, y]) = node(index).drawn_at else {
            let message = format!(
                "router '{}' has no x and y, but router '{}' has; expected them for all routers or none",
                node(index).name,
                drawn.name
            );
            return Err(PlanError::new(node(index).place, message));
        };
        Ok([x, -y])
    };
    order.iter().map(at).collect::<Result<_, _>>().map(Some)
}

impl GraphNetwork {
    /// Assigns numbers and ports to the routers, hosts and cables of a plan. `hosts_per_router` holds where the plan
    /// names no hosts.
    pub(super) fn new(plan: NetworkPlan, hosts_per_router: Option<u32>) -> Result<GraphNetwork, PlanError> {
        let order = plan.routers();
        let fail = |message| Err(PlanError::new(Position::Whole, message));
        if order.is_empty() {
            return fail("no router; expected at least one".into());
        }
        at_most(MOST_ROUTERS, order.len() as u64, "routers")?;
        let wiring = Wiring::new(&plan, &order, hosts_per_router)?;
        wiring.check(&plan, &order)?;
        let adjacency = Adjacency::new(&wiring.hosts, &wiring.cables);
        let name = |number: u32| &plan.nodes[order[number as usize]].name;
        let drawn_at = drawn_at(&plan, &order)?;
        if let Some(apart) = adjacency.cut_off() {
            return fail(format!(
                "no path leads from router '{}' to router '{}'; expected a connected network",
                name(0),
                name(apart)
            ));
        }
        let mut first_host = vec![0];
        let mut router = Vec::new();
        for (number, hosts) in wiring.hosts.iter().enumerate() {
            router.extend((0..*hosts).map(|_| number as u32));
            first_host.push(router.len() as u32);
        }
        Ok(GraphNetwork {
            names: order
                .iter()
                .map(|index| {
                    let node = &plan.nodes[*index];
                    node.label.as_ref().unwrap_or(&node.name).clone()
                })
                .collect(),
            classes: wiring.classes,
            drawn_at,
            searches: Searches::new(adjacency.routers()),
            adjacency,
            first_host,
            router,
            diameter: OnceLock::new(),
        })
    }

    #[inline]
    fn towards<R>(&self, to: RouterId, ask: impl FnOnce(Towards<'_>) -> R) -> R {
        self.searches.towards(&self.adjacency, to.0, ask)
    }

    fn hosts_of(&self, router: RouterId) -> u32 {
        self.first_host[router.0 as usize + 1] - self.first_host[router.0 as usize]
    }

    /// The port of a router's link.
    #[inline]
    fn port(&self, router: RouterId, link: usize) -> Port {
        Port((self.hosts_of(router) as usize + link) as u16)
    }
}

impl Topology for GraphNetwork {
    fn hosts(&self) -> u32 {
        self.router.len() as u32
    }

    fn routers(&self) -> u32 {
        self.adjacency.routers()
    }

    fn ports(&self, router: RouterId) -> u16 {
        self.port(router, self.adjacency.links(router.0).len()).0
    }

    fn peer(&self, router: RouterId, port: Port) -> Peer {
        let (hosts, port) = (self.hosts_of(router), u32::from(port.0));
        if port < hosts {
            return Peer::Host(HostId(self.first_host[router.0 as usize] + port));
        }
        let end = self.adjacency.links(router.0)[(port - hosts) as usize];
        Peer::Router(RouterId(end.router), Port(end.port))
    }

    fn attachment(&self, host: HostId) -> (RouterId, Port) {
        let router = self.router[host.0 as usize];
        let port = host.0 - self.first_host[router as usize];
        (RouterId(router), Port(port as u16))
    }

    fn distance(&self, from: RouterId, to: RouterId) -> u32 {
        self.towards(to, |towards| towards.distance(from.0))
    }

    fn link_classes(&self) -> Vec<&str> {
        self.classes.names()
    }

    fn link_speed(&self, class: LinkClass) -> LinkSpeed {
        self.classes.speed(class)
    }

    fn link_class(&self, router: RouterId, port: Port) -> LinkClass {
        let (hosts, port) = (self.hosts_of(router), u32::from(port.0));
        match port.checked_sub(hosts) {
            None => HOST_LINK,
            Some(link) => self.adjacency.links(router.0)[link as usize].class,
        }
    }

    fn coordinates(&self, router: RouterId) -> String {
        self.names[router.0 as usize].clone()
    }

    fn describe(&self) -> String {
        let routers = counted(self.routers(), "router");
        let cables = counted((self.adjacency.count() / 2) as u32, "cable");
        let hosts = self.hosts_of(RouterId(0));
        let hosts = if (0..self.routers()).all(|router| self.hosts_of(RouterId(router)) == hosts) {
            format!("with {} each", counted(hosts, "host"))
        } else {
            format!("with {} in all", counted(self.hosts(), "host"))
        };
        format!("graph of {routers} {hosts}, {cables} between routers")
    }

    fn into_graph(self: Arc<Self>) -> Option<Arc<dyn Graph>> {
        Some(self)
    }

    fn shape(&self) -> Shape<'_> {
        Shape::Graph(self)
    }

    fn layout(&self) -> Layout<'_> {
        match &self.drawn_at {
            Some(positions) => Layout::Positions(positions),
            None => Layout::Distances,
        }
    }

    fn router_links(&self) -> u64 {
        self.adjacency.count()
    }
}

impl Graph for GraphNetwork {
    /// Searches from all routers without keeping the results.
    fn diameter(&self) -> u32 {
        *self.diameter.get_or_init(|| {
            let blocks = 0..self.routers().div_ceil(BLOCK);
            let greatest = blocks.map(|number| DestinationBlock::search(&self.adjacency, number).1);
            greatest.max().unwrap_or(0)
        })
    }

    fn shortest_path(&self, from: RouterId, to: RouterId, draw: u32) -> (Port, u32) {
        self.towards(to, |towards| {
            let choices = towards.closer(from.0).count() as u32;
            let (chosen, draw) = pick(draw, choices);
            let mut closer = towards.closer(from.0);
            let (link, end) = closer.nth(chosen as usize).expect("the routers differ");
            let left = if draw != 0 && towards.has_choice(end.router) {
                draw
            } else {
                0
            };
            (self.port(from, link), left)
        })
    }

    fn shortest_ports(&self, from: RouterId, to: RouterId, each: &mut dyn FnMut(Port)) {
        self.towards(to, |towards| {
            for (link, _) in towards.closer(from.0) {
                each(self.port(from, link));
            }
        });
    }

    /// A graph from a file declares no neighbourhoods.
    fn neighbourhood(&self) -> u32 {
        1
    }
}
