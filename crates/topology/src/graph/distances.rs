//! The links on shortest paths to a router, without a table of distances.
//!
//! The distances of two neighbours from any router differ by at most one. So distances modulo 3 tell which of them is
//! closer, with two bits per pair. One breadth-first search finds them for 64 destinations, with one bit per
//! destination in every router (M. Then et al., "The more the merrier: efficient multi-source graph traversal", PVLDB
//! 8(4), 2014). Searches run only for destinations that are queried.

use super::adjacency::{Adjacency, LinkTarget};

/// Number of destinations of one search.
pub(super) const BLOCK: u32 = u64::BITS;

/// Distances modulo 3 of every router from the destinations of a block: the low and the high bits, one for each
/// destination.
pub(super) struct DestinationBlock {
    /// The destinations are the routers from `number * BLOCK` on.
    pub(super) number: u32,
    planes: Box<[[u64; 2]]>,
}

impl DestinationBlock {
    /// Memory of a block in a network of this many routers, in bytes.
    pub(super) const fn bytes(routers: u64) -> u64 {
        routers * size_of::<[u64; 2]>() as u64
    }

    #[cfg(test)]
    pub(super) fn memory(&self) -> u64 {
        size_of_val(&*self.planes) as u64
    }

    /// Finds the distances from the destinations of a block, and the greatest of them.
    pub(super) fn search(adjacency: &Adjacency, number: u32) -> (DestinationBlock, u32) {
        let (routers, first) = (adjacency.routers(), number * BLOCK);
        let mut planes = vec![[0; 2]; routers as usize].into_boxed_slice();
        // Bits of the searches that have visited a router, that are at it now, and that reach it next.
        let mut seen = vec![0u64; routers as usize];
        let mut now = seen.clone();
        let mut next = seen.clone();
        let mut here: Vec<u32> = (first..routers.min(first.saturating_add(BLOCK))).collect();
        for router in &here {
            seen[*router as usize] = 1 << (router - first);
            now[*router as usize] = 1 << (router - first);
        }
        let (mut there, mut distance) = (Vec::new(), 0u32);
        loop {
            for router in here.drain(..) {
                let bits = std::mem::take(&mut now[router as usize]);
                for end in adjacency.links(router) {
                    let neighbour = end.router as usize;
                    let new = bits & !seen[neighbour];
                    if new != 0 {
                        if next[neighbour] == 0 {
                            there.push(end.router);
                        }
                        next[neighbour] |= new;
                    }
                }
            }
            if there.is_empty() {
                return (DestinationBlock { number, planes }, distance);
            }
            distance += 1;
            for router in &there {
                let router = *router as usize;
                seen[router] |= next[router];
                match distance % 3 {
                    0 => {}
                    residue => planes[router][residue as usize - 1] |= next[router],
                }
            }
            std::mem::swap(&mut now, &mut next);
            std::mem::swap(&mut here, &mut there);
        }
    }

    /// Distance modulo 3 of a router from the destination with that index in the block.
    #[inline]
    fn residue(&self, router: u32, index: u32) -> u32 {
        let [low, high] = self.planes[router as usize];
        (low >> index & 1) as u32 | ((high >> index & 1) as u32) << 1
    }
}

/// The shortest paths to one destination.
#[derive(Clone, Copy)]
pub(super) struct Towards<'a> {
    pub(super) adjacency: &'a Adjacency,
    pub(super) block: &'a DestinationBlock,
    pub(super) destination: u32,
}

impl<'a> Towards<'a> {
    /// Links of a router on shortest paths, each with its index among the links of the router. Empty at the
    /// destination.
    #[inline]
    pub(super) fn closer(self, router: u32) -> impl Iterator<Item = (usize, LinkTarget)> + use<'a> {
        let index = self.destination % BLOCK;
        let wanted = (self.block.residue(router, index) + 2) % 3;
        let links = self.adjacency.links(router).iter().copied().enumerate();
        // At distance 0 a neighbour never has the residue of -1: it is at distance 1.
        links.filter(move |(_, end)| self.block.residue(end.router, index) == wanted)
    }

    /// The router behind the first link on a shortest path.
    fn step(self, router: u32) -> u32 {
        let (_, end) = self.closer(router).next().expect("all routers are connected");
        end.router
    }

    pub(super) fn distance(self, mut router: u32) -> u32 {
        let mut links = 0;
        while router != self.destination {
            router = self.step(router);
            links += 1;
        }
        links
    }

    /// Whether there is more than one shortest path.
    pub(super) fn has_choice(self, mut router: u32) -> bool {
        while router != self.destination {
            if self.closer(router).nth(1).is_some() {
                return true;
            }
            router = self.step(router);
        }
        false
    }
}
