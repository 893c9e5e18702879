//! The links between routers of a network, for patterns that follow links.

use super::Geometry;

/// The routers at the far ends of each router's links, one entry for each link.
pub(super) struct RouterAdjacency {
    /// Start of each router's links in `ends`, and the number of all links.
    first: Box<[usize]>,
    ends: Box<[u32]>,
}

impl RouterAdjacency {
    pub(super) fn new(network: &dyn Geometry) -> RouterAdjacency {
        let (mut first, mut ends) = (vec![0], Vec::new());
        for router in 0..network.routers() {
            network.neighbours(router, &mut |end| ends.push(end));
            first.push(ends.len());
        }
        RouterAdjacency {
            first: first.into(),
            ends: ends.into(),
        }
    }

    pub(super) fn of(&self, router: u32) -> &[u32] {
        let router = router as usize;
        &self.ends[self.first[router]..self.first[router + 1]]
    }
}
