//! The sampling plan: link classes and link numbers, as LPs and the collector see them.

use std::sync::Arc;

use des::Time;
use experiment::{Bins, CollectSetting, NetworkModel, Periods, Series};
use topology::{Peer, Port, RouterId};

use super::blocks::Blocks;

/// Link classes: those of hosts, then those of the topology.
pub const INJECTION: u8 = 0;
pub const EJECTION: u8 = 1;
const OF_TOPOLOGY: u8 = 2;
const _: () = assert!(OF_TOPOLOGY as usize + topology::MOST_LINK_CLASSES <= 1 << u8::BITS);

/// What a run samples. It is read-only during the run.
pub struct Plan {
    /// What is collected.
    pub setting: CollectSetting,
    /// Whether sums are tallied, so that hosts are not sampled.
    tallies: bool,
    /// Number of the first link, by router; empty if nothing is sampled.
    first_links: Vec<u32>,
    /// The blocks of the network, if anything is sampled.
    blocks: Option<Blocks>,
}

/// The links of a router, by port.
pub struct RouterLinks {
    /// Class by port; `None` without a cable.
    pub classes: Vec<Option<u8>>,
    /// Pair of blocks by port, see [`Blocks::links_of`].
    pub pairs: Vec<u32>,
    /// Tile of the router, see [`Blocks::tile_of`].
    pub tile: u32,
    /// Number of the first link.
    pub first: u32,
    /// Whether single links are sampled.
    pub details: bool,
}

impl Plan {
    /// The plan for a network. `tallies`: whether sums are tallied.
    pub fn new(setting: &CollectSetting, network: &NetworkModel, tallies: bool) -> Plan {
        let (mut first_links, mut blocks) = (Vec::new(), None);
        if setting.series > Series::Off {
            let (of_network, links) = Blocks::of(network, link_class_names(network).len());
            // The order of the table `links`: links of hosts, then those of routers.
            let mut next = network.hosts() * network.rails.count();
            for links in links {
                first_links.push(next);
                next += links;
            }
            blocks = Some(of_network);
        }
        Plan {
            setting: setting.clone(),
            tallies,
            first_links,
            blocks,
        }
    }

    /// The blocks of the network, if anything is sampled.
    pub fn blocks(&self) -> Option<&Blocks> {
        self.blocks.as_ref()
    }

    /// Whether routers are sampled.
    pub fn samples(&self) -> bool {
        self.setting.series > Series::Off
    }

    /// Whether hosts are sampled.
    pub fn samples_hosts(&self) -> bool {
        self.samples() && !self.tallies
    }

    /// Whether sums are tallied.
    pub fn tallies(&self) -> bool {
        self.tallies
    }

    /// The division of time into bins.
    pub fn bins(&self) -> Bins {
        self.setting.bins
    }

    /// Periods of bins.
    pub fn periods(&self) -> Periods {
        self.setting.periods
    }

    /// The links of a router, if anything is sampled.
    pub fn links_of(&self, network: &NetworkModel, router: RouterId) -> Option<RouterLinks> {
        let blocks = self.blocks.as_ref()?;
        let (classes, pairs) = blocks.links_of(network, router);
        Some(RouterLinks {
            classes,
            pairs,
            tile: blocks.tile_of(router),
            first: self.first_links[router.0 as usize],
            details: self.setting.details(router),
        })
    }

    /// Whether VCs are sampled.
    pub fn vcs(&self) -> bool {
        self.setting.series >= Series::Vcs
    }

    /// The last bin that begins before a time.
    pub fn last_before(&self, end: Time) -> u64 {
        self.bins().of(end.saturating_sub(Time(1)))
    }
}

/// The class of the link at a router's port; `None` without a cable.
fn class(network: &NetworkModel, router: RouterId, port: Port) -> Option<u8> {
    class_to(network, (router, port), network.topology.peer(router, port))
}

/// The class of the link from a router's port to this peer.
pub(super) fn class_to(network: &NetworkModel, (router, port): (RouterId, Port), peer: Peer) -> Option<u8> {
    match peer {
        Peer::Unwired => None,
        Peer::Host(_) => Some(EJECTION),
        Peer::Router(..) if network.router_models.capabilities().crosses_at_once => None,
        Peer::Router(..) => Some(OF_TOPOLOGY + network.topology.link_class(router, port).0),
    }
}

/// Names of the classes, as in the table `links`, with the number of links of each.
pub fn link_classes(network: &NetworkModel) -> Vec<(Arc<str>, u64)> {
    let mut classes: Vec<(Arc<str>, u64)> = link_class_names(network)
        .into_iter()
        .map(|name| (Arc::from(name), 0))
        .collect();
    classes[usize::from(INJECTION)].1 = u64::from(network.hosts()) * u64::from(network.rails.count());
    for router in (0..network.topology.routers()).map(RouterId) {
        for port in (0..network.topology.ports(router)).map(Port) {
            if let Some(class) = class(network, router, port) {
                classes[usize::from(class)].1 += 1;
            }
        }
    }
    classes
}

fn link_class_names(network: &NetworkModel) -> Vec<&str> {
    let mut names = vec!["injection", "ejection"];
    names.extend(network.topology.link_classes());
    names
}
