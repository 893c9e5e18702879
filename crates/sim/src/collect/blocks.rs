//! Pairs of blocks and tiles: the parts of a network by which links are added up in each bin.
//!
//! A block is a unit of the network, or several that follow each other, so that a bin of any network has few sums.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::FixedState;
use topology::{Peer, Port, RouterId, Units};

use super::plan::class;
use crate::setup::network::NetworkModel;

/// Most blocks of a network.
pub const MOST_BLOCKS: u32 = 128;

/// Most tiles of a network.
const MOST_TILES: u32 = 8192;

/// The blocks of a network, and its tiles: routers that follow each other, or single routers.
pub struct Blocks {
    units: Units,
    /// Routers of a tile, except for the last one.
    tile: u32,
}

/// The links of one class from one block to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockPair {
    /// The class, see [`Plan`](super::Plan).
    pub class: u8,
    /// Block at the begin.
    pub from: u32,
    /// Block at the end.
    pub to: u32,
    /// Number of links.
    pub links: u32,
}

/// The pair of a link that is in no sum.
pub const NO_PAIR: u32 = u32::MAX;

impl Blocks {
    /// The blocks of a network.
    pub fn of(network: &NetworkModel) -> Blocks {
        let topology = network.topology.as_ref();
        Blocks {
            units: Units::of(topology, MOST_BLOCKS),
            tile: topology.routers().div_ceil(MOST_TILES).next_power_of_two(),
        }
    }

    /// Number of the tile of a router.
    pub fn tile_of(&self, router: RouterId) -> u32 {
        router.0 / self.tile
    }

    /// Number of routers of a tile; the last one may have fewer.
    pub fn tile_size(&self) -> u32 {
        self.tile
    }

    /// The pairs of the links of a router, by port, and [`NO_PAIR`] for ports without a cable.
    pub fn pairs_of(&self, network: &NetworkModel, router: RouterId) -> Vec<u32> {
        let from = self.units.of_router(router);
        let pair = |port| {
            let to = match network.topology.peer(router, port) {
                Peer::Router(peer, _) => self.units.of_router(peer),
                // A host is in the block of its router.
                Peer::Host(_) | Peer::Unwired => from,
            };
            class(network, router, port).map_or(NO_PAIR, |class| self.pair(class, from, to))
        };
        let ports = 0..network.topology.ports(router);
        ports.map(Port).map(pair).collect()
    }

    /// All pairs with links.
    pub fn pairs(&self, network: &NetworkModel) -> BTreeMap<u32, BlockPair> {
        let mut links: HashMap<u32, u32, FixedState> = HashMap::default();
        for router in (0..network.topology.routers()).map(RouterId) {
            let pairs = self.pairs_of(network, router).into_iter();
            pairs
                .filter(|pair| *pair != NO_PAIR)
                .for_each(|pair| *links.entry(pair).or_default() += 1);
        }
        let count = self.count();
        let parts = |(pair, links)| {
            let block_pair = BlockPair {
                class: (pair / count / count) as u8,
                from: pair / count % count,
                to: pair % count,
                links,
            };
            (pair, block_pair)
        };
        links.into_iter().map(parts).collect()
    }

    fn count(&self) -> u32 {
        self.units.units().len() as u32
    }

    fn pair(&self, class: u8, from: u32, to: u32) -> u32 {
        (u32::from(class) * self.count() + from) * self.count() + to
    }
}
