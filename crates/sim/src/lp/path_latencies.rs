//! Latencies of shortest paths between routers, for router models that cross the network at once.
//!
//! The latency of a path is that of its cables and of the pipelines of the routers at their ends. In networks of more
//! than [`MOST_ROUTERS`] routers each link between routers counts as the mean of all of them, and the number of links
//! is the distance of the topology.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::OnceLock;

use des::Time;
use experiment::NetworkModel;
use topology::{Peer, Port, RouterId};

/// The rows of more routers would take more than 128 MiB.
const MOST_ROUTERS: u32 = 4096;

/// A path between two routers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathLatency {
    /// Latency of its links and of the routers at their ends.
    pub latency: Time,
    /// Number of its links.
    pub links: u8,
    /// Number of those that packets count as far.
    pub far: u8,
}

/// Shortest paths from each router.
pub struct PathLatencies {
    /// By router, then by router, once a packet asks; packed, see [`pack`]. Empty in large networks.
    rows: Vec<OnceLock<Box<[u64]>>>,
    /// Mean latency of a link, in large networks.
    mean: Time,
}

const LATENCY_BITS: u32 = 48;

/// Latency, links and far links in one word. No path takes 2^48 ps.
fn pack(path: PathLatency) -> u64 {
    path.latency.ps() | u64::from(path.links) << LATENCY_BITS | u64::from(path.far) << (LATENCY_BITS + 8)
}

fn unpack(word: u64) -> PathLatency {
    PathLatency {
        latency: Time(word & ((1 << LATENCY_BITS) - 1)),
        links: (word >> LATENCY_BITS) as u8,
        far: (word >> (LATENCY_BITS + 8)) as u8,
    }
}

impl PathLatencies {
    /// Those of a network. Nothing is searched yet.
    pub fn new(network: &NetworkModel) -> PathLatencies {
        let topology = network.topology.as_ref();
        let routers = topology.routers();
        if routers <= MOST_ROUTERS {
            return PathLatencies {
                rows: (0..routers).map(|_| OnceLock::new()).collect(),
                mean: Time::ZERO,
            };
        }
        let (mut sum, mut count) = (0u128, 0u128);
        for router in (0..routers).map(RouterId) {
            for port in (0..topology.ports(router)).map(Port) {
                if let Peer::Router(far, _) = topology.peer(router, port) {
                    let class = topology.link_class(router, port);
                    sum += u128::from(network.until_handled(class, far).ps());
                    count += 1;
                }
            }
        }
        PathLatencies {
            rows: Vec::new(),
            mean: Time(sum.checked_div(count).unwrap_or(0) as u64),
        }
    }

    /// The shortest path between two routers, which are connected. `is_far`: whether packets count a link as far.
    #[inline]
    pub fn between(
        &self,
        network: &NetworkModel,
        (from, to): (RouterId, RouterId),
        is_far: impl Fn(topology::LinkClass) -> bool,
    ) -> PathLatency {
        match self.rows.get(from.0 as usize) {
            Some(row) => unpack(row.get_or_init(|| row_of(network, from, is_far))[to.0 as usize]),
            None => {
                let links = network.topology.distance(from, to);
                PathLatency {
                    latency: Time(self.mean.ps() * u64::from(links)),
                    links: u8::try_from(links).unwrap_or(u8::MAX),
                    far: 0,
                }
            }
        }
    }
}

/// Paths of least latency from a router, of those the ones with fewest links (Dijkstra 1959).
#[cold]
fn row_of(
    network: &NetworkModel,
    from: RouterId,
    is_far: impl Fn(topology::LinkClass) -> bool,
) -> Box<[u64]> {
    let topology = network.topology.as_ref();
    let none = u64::MAX;
    let mut row = vec![none; topology.routers() as usize].into_boxed_slice();
    let mut heap = BinaryHeap::from([Reverse((Time::ZERO, 0u8, 0u8, from.0))]);
    while let Some(Reverse((latency, links, far, router))) = heap.pop() {
        let found = &mut row[router as usize];
        if *found != none {
            continue;
        }
        *found = pack(PathLatency { latency, links, far });
        let router = RouterId(router);
        for port in (0..topology.ports(router)).map(Port) {
            let Peer::Router(next, _) = topology.peer(router, port) else {
                continue;
            };
            if row[next.0 as usize] == none {
                let class = topology.link_class(router, port);
                heap.push(Reverse((
                    latency + network.until_handled(class, next),
                    links.saturating_add(1),
                    far.saturating_add(u8::from(is_far(class))),
                    next.0,
                )));
            }
        }
    }
    row
}
