//! Load reports: the routers of a group report the loads of their links to other groups to each other.
//!
//! Some algorithms decide by loads that their router does not see: UGAL-G (J. Kim et al., ISCA 2008) by those of all
//! links that leave the group, piggyback routing (N. Jiang, J. Kim, W. J. Dally, ISCA 2009) by whether they are
//! congested. Reports leave at multiples of the report period if a load has changed. They take as long as a packet
//! takes on the shortest path through idle routers, and no bandwidth.
//!
//! A load is reported in units of [`Reports::UNIT`] bytes, rounded up, at most 65,535 units.

use std::ops::Range;

use topology::{Groups, Peer, Port, RouterId, Topology};

/// The senders, receivers and contents of reports, the same in every group.
#[derive(Clone, Debug)]
pub struct Reports {
    period_ps: u64,
    routers_per_group: u32,
    listeners_per_group: u32,
    /// The first port to another group, by router of a group.
    first_port: Vec<u16>,
    /// Index of the first load of each router in the group's table, and the length of the table.
    first_load: Vec<u32>,
}

impl Reports {
    /// Unit of a reported load, in bytes.
    pub const UNIT: u64 = 16;

    /// Reports of the loads of all links between groups to all routers of a group that have hosts.
    pub fn in_groups<T: Topology + Groups>(network: &T, period_ps: u64) -> Reports {
        let routers_per_group = network.routers_per_group();
        let mut reports = Reports {
            period_ps,
            routers_per_group,
            listeners_per_group: network.host_routers_per_group(),
            first_port: Vec::new(),
            first_load: vec![0],
        };
        for router in 0..routers_per_group {
            // Groups have the same ports to other groups; only their wiring differs.
            let ports = (0..network.groups())
                .map(|group| outward_ports(network, RouterId(group * routers_per_group + router)));
            let ports = ports
                .filter(|ports| !ports.is_empty())
                .reduce(|a, b| a.start.min(b.start)..a.end.max(b.end))
                .unwrap_or(0..0);
            let end = reports.first_load[router as usize] + u32::from(ports.end - ports.start);
            reports.first_port.push(ports.start);
            reports.first_load.push(end);
        }
        reports
    }

    /// The report period: the shortest time between two reports of a router, in picoseconds.
    pub fn period_ps(&self) -> u64 {
        self.period_ps
    }

    /// Number of loads that a router receives.
    pub fn loads(&self) -> usize {
        *self.first_load.last().expect("one more than routers") as usize
    }

    /// The ports of a router whose loads it reports.
    #[inline]
    pub fn ports(&self, router: RouterId) -> Range<u16> {
        let own = (router.0 % self.routers_per_group) as usize;
        let count = self.first_load[own + 1] - self.first_load[own];
        self.first_port[own]..self.first_port[own] + count as u16
    }

    /// Index of a router's first load in the tables of the receivers.
    #[inline]
    pub fn first_load(&self, router: RouterId) -> usize {
        self.first_load[(router.0 % self.routers_per_group) as usize] as usize
    }

    /// Index of the load of a port of [`Reports::ports`] in these tables.
    #[inline]
    pub fn load_index(&self, router: RouterId, port: Port) -> usize {
        let own = (router.0 % self.routers_per_group) as usize;
        self.first_load[own] as usize + usize::from(port.0 - self.first_port[own])
    }

    /// The receivers of a router's reports.
    pub fn listeners(&self, router: RouterId) -> impl Iterator<Item = RouterId> + use<> {
        let first = router.0 - router.0 % self.routers_per_group;
        let listeners = first..first + self.listeners_per_group;
        listeners.filter(move |other| *other != router.0).map(RouterId)
    }
}

/// The range from the first to the last port that leads to another group.
fn outward_ports<T: Topology + Groups>(network: &T, router: RouterId) -> Range<u16> {
    let leads_out = |port: &u16| match network.peer(router, Port(*port)) {
        Peer::Router(other, _) => network.group(other) != network.group(router),
        _ => false,
    };
    let mut ports = (0..network.ports(router)).filter(leads_out);
    match ports.next() {
        None => 0..0,
        Some(first) => first..ports.last().unwrap_or(first) + 1,
    }
}
