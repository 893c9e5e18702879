//! Pairs of blocks and tiles: the parts of a network by which links are added up in each period.
//!
//! A block is a unit of the network, or several that follow each other, so that a period of any network has few sums.

use experiment::NetworkModel;
use topology::{Peer, Port, RouterId, Units};

use super::plan::class_to;

/// Most blocks of a network.
pub const MOST_BLOCKS: u32 = 128;

/// Most tiles of a network.
const MOST_TILES: u32 = 8192;

/// Pairs of blocks of a network, and its tiles: routers that follow each other, or single routers.
pub struct Blocks {
    units: Units,
    /// Number of a pair by class, block at the start and block at the end.
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
    /// Block at the start.
    pub from: u32,
    /// Block at the end.
    pub to: u32,
    /// Number of links.
    pub links: u32,
}

/// The pair of a port without a cable.
const NO_PAIR: u32 = u32::MAX;

impl Blocks {
    /// The blocks of a network with this number of link classes, those of hosts included, and the number of links of
    /// each router.
    pub fn of(network: &NetworkModel, classes: usize) -> (Blocks, Vec<u32>) {
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
        let mut links = vec![0; routers as usize];
        for (router, links) in (0..routers).map(RouterId).zip(&mut links) {
            for port in (0..topology.ports(router)).map(Port) {
                if let Some((_, place)) = blocks.place(network, router, port) {
                    blocks.numbers[place] += 1;
                    *links += 1;
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
        (blocks, links)
    }

    /// Class of the link at a port, and its place in [`Blocks::numbers`]; `None` without a cable.
    fn place(&self, network: &NetworkModel, router: RouterId, port: Port) -> Option<(u8, usize)> {
        let (from, peer) = (self.units.of_router(router), network.topology.peer(router, port));
        let to = match peer {
            Peer::Router(peer, _) => self.units.of_router(peer),
            // A host is in the block of its router.
            Peer::Host(_) => from,
            Peer::Unwired => return None,
        };
        let class = class_to(network, (router, port), peer)?;
        let count = self.units.units().len();
        let place = (usize::from(class) * count + from as usize) * count + to as usize;
        Some((class, place))
    }

    /// The classes and the pairs of the links of a router, by port: `None` and [`NO_PAIR`] without a cable.
    pub fn links_of(&self, network: &NetworkModel, router: RouterId) -> (Vec<Option<u8>>, Vec<u32>) {
        let link = |port| match self.place(network, router, port) {
            Some((class, place)) => (Some(class), self.numbers[place]),
            None => (None, NO_PAIR),
        };
        let ports = 0..network.topology.ports(router);
        ports.map(Port).map(link).unzip()
    }

    /// All pairs with links, by number: in the order of class, start and end.
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
