//! The latency of the path of a packet, from what the packet counts: its links, and those of them that are far.
//!
//! A packet has one byte for the lengths of its links. So links between routers are of two kinds, near and far, by the
//! latency of the link with the pipeline of the router behind it. With at most two such latencies in a network the
//! latency of a path is exact. With more, each link counts as the mean of its kind.

use des::Time;
use experiment::NetworkModel;
use topology::{HOST_LINK, LinkClass, Peer, Port, RouterId};

/// Latencies of links by kind, router pipelines included.
pub struct HopLatency {
    /// Injection and ejection link without the pipeline of the last router, and the delays of both NICs.
    ends: Time,
    near: Time,
    far: Time,
    /// Links with at least this latency are far.
    limit: Time,
}

impl HopLatency {
    /// The latencies of a network.
    pub fn new(network: &NetworkModel) -> HopLatency {
        let host_link = usize::from(HOST_LINK.0);
        let latency = |class: usize| network.links[class].to_router();
        let between_routers = || (0..network.links.len()).filter(|class| *class != host_link);
        let shortest = between_routers().map(latency).min().unwrap_or_default();
        let longest = between_routers().map(latency).max().unwrap_or_default();
        let limit = if shortest == longest {
            Time::MAX
        } else {
            Time(shortest.ps().midpoint(longest.ps()) + 1)
        };
        let is_extreme = |class: usize| [shortest, longest].contains(&latency(class));
        // Counting links takes time in large networks, and is needed for means only.
        let links = if between_routers().all(is_extreme) {
            vec![1; network.links.len()]
        } else {
            count_links(network)
        };
        let mean = |far: bool| {
            let kind = || between_routers().filter(|class| (latency(*class) >= limit) == far);
            let count: u128 = kind().map(|class| u128::from(links[class])).sum();
            let sum: u128 = kind()
                .map(|class| u128::from(links[class]) * u128::from(latency(class).ps()))
                .sum();
            Time(sum.checked_div(count).unwrap_or(0) as u64)
        };
        HopLatency {
            ends: network.nic_injection_delay
                + latency(host_link)
                + network.links[host_link].latency
                + network.nic_reception_delay,
            near: mean(false),
            far: mean(true),
            limit,
        }
    }

    /// Whether links of this class between routers are far.
    pub fn is_far(&self, network: &NetworkModel, class: LinkClass) -> bool {
        network.links[usize::from(class.0)].to_router() >= self.limit
    }

    /// Latency of a path with this number of links, injection and ejection included, of which `far` are far.
    #[inline]
    pub fn of_path(&self, links: u8, far: u8) -> Time {
        let near = u64::from(links.saturating_sub(2).saturating_sub(far));
        Time(self.ends.ps() + near * self.near.ps() + u64::from(far) * self.far.ps())
    }
}

/// Number of links between routers by class.
fn count_links(network: &NetworkModel) -> Vec<u64> {
    let mut links = vec![0; network.links.len()];
    let topology = network.topology.as_ref();
    for router in (0..topology.routers()).map(RouterId) {
        for port in (0..topology.ports(router)).map(Port) {
            if let Peer::Router(..) = topology.peer(router, port) {
                links[usize::from(topology.link_class(router, port).0)] += 1;
            }
        }
    }
    links
}
