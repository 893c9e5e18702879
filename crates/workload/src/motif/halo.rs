//! Exchanges with neighbours in a grid of three dimensions, for halo motifs and multigrids.

use super::RankGrid;
use super::skeleton::Script;

/// A direction of exchange.
pub(super) struct HaloDirection {
    pub offset: [i32; 3],
    pub tag: u32,
}

const fn to(x: i32, y: i32, z: i32, tag: u32) -> HaloDirection {
    HaloDirection {
        offset: [x, y, z],
        tag,
    }
}

/// The six faces, in Ember's order and with its tags.
pub(super) static FACES: [HaloDirection; 6] = [
    to(1, 0, 0, 1000),
    to(-1, 0, 0, 1000),
    to(0, 1, 0, 2000),
    to(0, -1, 0, 2000),
    to(0, 0, 1, 4000),
    to(0, 0, -1, 4000),
];

/// The twelve edges in Ember's order and with its tags.
pub(super) static EDGES: [HaloDirection; 12] = [
    to(-1, -1, 0, 8000),
    to(0, -1, -1, 8000),
    to(1, -1, 0, 8000),
    to(0, -1, 1, 8000),
    to(-1, 0, 1, 8000),
    to(1, 0, 1, 8000),
    to(-1, 0, -1, 8000),
    to(1, 0, -1, 8000),
    to(-1, 1, 0, 8000),
    to(0, 1, 1, 8000),
    to(1, 1, 0, 8000),
    to(0, 1, -1, 8000),
];

/// The eight corners in Ember's order. Ember gives them no tag; this one continues its series.
pub(super) static CORNERS: [HaloDirection; 8] = [
    to(-1, -1, -1, 16_000),
    to(-1, -1, 1, 16_000),
    to(-1, 1, -1, 16_000),
    to(-1, 1, 1, 16_000),
    to(1, -1, -1, 16_000),
    to(1, -1, 1, 16_000),
    to(1, 1, -1, 16_000),
    to(1, 1, 1, 16_000),
];

impl HaloDirection {
    /// Cells of a block that the neighbour in this direction needs.
    pub fn cells(&self, sides: [u64; 3]) -> [u64; 3] {
        let mut cells = sides;
        for (cell, step) in cells.iter_mut().zip(self.offset) {
            if step != 0 {
                *cell = 1;
            }
        }
        cells
    }
}

/// Starts a receive and a send for each neighbour; `bytes` in each direction.
pub(super) fn exchange<'d>(
    grid: &RankGrid<3>,
    rank: u32,
    directions: impl IntoIterator<Item = (&'d HaloDirection, u64)>,
    script: &mut Script,
) {
    for (direction, bytes) in directions {
        if let Some(peer) = grid.neighbour(rank, direction.offset) {
            script.start_receive(peer, direction.tag, bytes);
            script.start_send(peer, direction.tag, bytes);
        }
    }
}
