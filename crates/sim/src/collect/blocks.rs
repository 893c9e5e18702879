//! Pairs of blocks and tiles: the parts of a network by which links are added up in each period.
//!
//! A block is a unit of the network, or several that follow each other, so that a period of any network has few sums.

use topology::{Peer, Port, RouterId, Units};

use super::plan::class;
use crate::setup::network::NetworkModel;

/// Most blocks of a network.
pub const MOST_BLOCKS: u32 = 128;

/// Most tiles of a network.
const MOST_TILES: u32 = 8192;

/// Pairs of blocks of a network, and its tiles: routers that follow each other, or single routers.
pub struct Blocks {
    units: Units,
    /// Number of a pair by class, block at the begin and block at the end.
    numbers: Vec<u32>,
    pairs: Vec<BlockPair>,
    /// Link classes, those of hosts included.
    classes: usize,
    /// Routers of a tile, except for the last one.
    tile: u32,
    routers: u32,
}

/// The numbers of things for which there are sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SumsShape {
    /// Pairs of blocks.
    pub pairs: usize,
    /// Tiles of routers.
    pub tiles: usize,
    /// Link classes, those of hosts included.
    pub classes: usize,
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

/// The pair of a port without a cable.
pub const NO_PAIR: u32 = u32::MAX;

impl Blocks {
    /// The blocks of a network with this number of link classes, those of hosts included.
    pub fn of(network: &NetworkModel, classes: usize) -> Blocks {
        let topology = network.topology.as_ref();
        let units = Units::of(topology, MOST_BLOCKS);
        let count = units.units().len();
        let routers = topology.routers();
        let mut blocks = Blocks {
            units,
            numbers: vec![0; classes * count * count],
            pairs: Vec::new(),
            classes,
            tile: routers.div_ceil(MOST_TILES).next_power_of_two(),
            routers,
        };
        for router in (0..routers).map(RouterId) {
            for port in (0..topology.ports(router)).map(Port) {
                if let Some(place) = blocks.place(network, router, port) {
                    blocks.numbers[place] += 1;
                }
            }
        }
        for (place, number) in blocks.numbers.iter_mut().enumerate() {
            let links = std::mem::replace(number, blocks.pairs.len() as u32);
            if links > 0 {
                blocks.pairs.push(BlockPair {
                    class: (place / count / count) as u8,
                    from: (place / count % count) as u32,
                    to: (place % count) as u32,
                    links,
                });
            }
        }
        blocks
    }

    /// Place in [`Blocks::numbers`] of the link at a port; `None` without a cable.
    fn place(&self, network: &NetworkModel, router: RouterId, port: Port) -> Option<usize> {
        let from = self.units.of_router(router);
        let to = match network.topology.peer(router, port) {
            Peer::Router(peer, _) => self.units.of_router(peer),
            // A host is in the block of its router.
            Peer::Host(_) => from,
            Peer::Unwired => return None,
        };
        let class = usize::from(class(network, router, port)?);
        let count = self.units.units().len();
        Some((class * count + from as usize) * count + to as usize)
    }

    /// The pairs of the links of a router, by port, and [`NO_PAIR`] for ports without a cable.
    pub fn pairs_of(&self, network: &NetworkModel, router: RouterId) -> Vec<u32> {
        let pair = |port| {
            self.place(network, router, port)
                .map_or(NO_PAIR, |place| self.numbers[place])
        };
        let ports = 0..network.topology.ports(router);
        ports.map(Port).map(pair).collect()
    }

    /// All pairs with links, by number: in the order of class, begin and end.
    pub fn pairs(&self) -> &[BlockPair] {
        &self.pairs
    }

    /// Number of the tile of a router.
    pub fn tile_of(&self, router: RouterId) -> u32 {
        router.0 / self.tile
    }

    /// First router and number of routers of each tile.
    pub fn tiles(&self) -> Vec<(u32, u32)> {
        let firsts = (0..self.routers).step_by(self.tile as usize);
        firsts
            .map(|first| (first, self.tile.min(self.routers - first)))
            .collect()
    }

    /// The numbers of things for which there are sums.
    pub fn shape(&self) -> SumsShape {
        SumsShape {
            pairs: self.pairs.len(),
            tiles: self.routers.div_ceil(self.tile) as usize,
            classes: self.classes,
        }
    }
}
