//! The routers of a network and what each is linked to, for patterns that follow links.

use super::Geometry;

/// For each router the routers at the far ends of its links, one entry for each link: memory as for the
/// links of the network.
pub(super) struct RouterLinks {
    /// Where the links of each router begin in `ends`, and the number of all.
    first: Box<[usize]>,
    ends: Box<[u32]>,
}

impl RouterLinks {
    pub(super) fn new(network: &dyn Geometry) -> RouterLinks {
        let (mut first, mut ends) = (vec![0], Vec::new());
        for router in 0..network.routers() {
            network.neighbours(router, &mut |end| ends.push(end));
            first.push(ends.len());
        }
        RouterLinks {
            first: first.into(),
            ends: ends.into(),
        }
    }

    pub(super) fn of(&self, router: u32) -> &[u32] {
        let router = router as usize;
        &self.ends[self.first[router]..self.first[router + 1]]
    }
}
