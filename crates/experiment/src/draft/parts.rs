//! The parts of a network, counted for a bill.

use std::collections::BTreeMap;

use results::{CableCount, Inventory, RouterCount, router_kind};
use topology::{Peer, Port, RouterId};

use crate::NetworkModel;

/// Routers and cables of a network, with the bandwidths that its experiment gives.
#[derive(Clone, Debug)]
pub(super) struct NetworkParts {
    hosts: u64,
    cables: Vec<CableParts>,
    routers: BTreeMap<RouterParts, u64>,
}

/// The cables of a link class.
#[derive(Clone, Debug)]
struct CableParts {
    class: String,
    bits_per_s: u64,
    latency_ps: u64,
    /// Links, two for each cable.
    links: u64,
}

/// What equal routers have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct RouterParts {
    kind: String,
    ports: u64,
    /// Bits per second of the fastest port to a host; `None` without hosts.
    to_hosts: Option<u64>,
    /// The same to another router.
    to_routers: Option<u64>,
}

impl NetworkParts {
    pub(super) fn of(network: &NetworkModel) -> NetworkParts {
        let topology = network.topology.as_ref();
        let names = topology.link_classes();
        let mut cables: Vec<CableParts> = names
            .iter()
            .zip(&network.links)
            .map(|(class, link)| CableParts {
                class: (*class).into(),
                bits_per_s: link.bandwidth.bits_per_s,
                latency_ps: link.latency.ps(),
                links: 0,
            })
            .collect();
        let mut routers = BTreeMap::new();
        for router in (0..topology.routers()).map(RouterId) {
            let mut parts = RouterParts {
                kind: router_kind(&topology.coordinates(router)).into(),
                ports: 0,
                to_hosts: None,
                to_routers: None,
            };
            for port in (0..topology.ports(router)).map(Port) {
                let (links, fastest) = match topology.peer(router, port) {
                    Peer::Unwired => continue,
                    Peer::Host(_) => (2, &mut parts.to_hosts),
                    Peer::Router(..) => (1, &mut parts.to_routers),
                };
                let class = &mut cables[usize::from(topology.link_class(router, port).0)];
                class.links += links;
                parts.ports += 1;
                *fastest = (*fastest).max(Some(class.bits_per_s));
            }
            // A router without a cable has no row in the links of a result.
            if parts.ports > 0 {
                *routers.entry(parts).or_insert(0) += 1;
            }
        }
        cables.retain(|class| class.links > 0);
        NetworkParts {
            hosts: network.hosts().into(),
            cables,
            routers,
        }
    }

    /// Link classes of the cables between routers.
    pub(super) fn classes_between_routers(&self) -> impl Iterator<Item = &str> {
        let classes = self.cables.iter().map(|cables| cables.class.as_str());
        classes.filter(|class| *class != HOST)
    }

    /// The counts; with a bandwidth, all links between routers have it, in place of their own.
    pub(super) fn inventory(&self, between_routers: Option<u64>) -> Inventory {
        let cables = self.cables.iter().map(|cables| CableCount {
            class: cables.class.clone(),
            bandwidth_bits_per_s: match cables.class.as_str() {
                HOST => cables.bits_per_s,
                _ => between_routers.unwrap_or(cables.bits_per_s),
            },
            latency_ps: cables.latency_ps,
            count: cables.links as f64 / 2.0,
        });
        let routers = self.routers.iter().map(|(router, count)| RouterCount {
            kind: router.kind.clone(),
            ports: router.ports,
            bandwidth_bits_per_s: router
                .to_routers
                .map(|own| between_routers.unwrap_or(own))
                .max(router.to_hosts),
            count: *count as f64,
        });
        Inventory {
            hosts: self.hosts,
            cables: cables.collect(),
            routers: routers.collect(),
        }
    }
}

/// The class of cables between hosts and routers.
const HOST: &str = "host";
