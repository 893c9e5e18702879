//! Intermediate routers in networks without groups: all routers with hosts, with or without the ends of a path.

use topology::{RouterId, Topology};

pub(super) struct IntermediateRouters {
    /// Their numbers in ascending order. `None` if all routers have hosts.
    some: Option<Vec<u32>>,
    count: u32,
    /// Whether the ends of a path are nodes, too.
    ends_too: bool,
}

/// All nodes, or all except one or two.
#[derive(Clone, Copy)]
pub(crate) struct RemainingRouters {
    /// Positions of the ends among the nodes in ascending order. A router without hosts has `NOWHERE`.
    low: u32,
    high: u32,
    /// Number of remaining nodes.
    left: u32,
}

const NOWHERE: u32 = u32::MAX;

impl IntermediateRouters {
    pub(super) fn new(topology: &dyn Topology, ends_too: bool) -> IntermediateRouters {
        let mut has_hosts = vec![false; topology.routers() as usize];
        for host in 0..topology.hosts() {
            has_hosts[topology.attachment(topology::HostId(host)).0.0 as usize] = true;
        }
        let with_hosts = (0..topology.routers()).filter(|router| has_hosts[*router as usize]);
        let some: Vec<u32> = with_hosts.collect();
        IntermediateRouters {
            count: some.len() as u32,
            some: has_hosts.contains(&false).then_some(some),
            ends_too,
        }
    }

    /// Whether any node remains between two routers.
    pub(super) fn any(&self) -> bool {
        self.count > 2
    }

    #[inline]
    fn position(&self, router: RouterId) -> u32 {
        match &self.some {
            None => router.0,
            Some(some) => match some.binary_search(&router.0) {
                Ok(position) => position as u32,
                Err(_) => NOWHERE,
            },
        }
    }

    /// The nodes between two different routers.
    #[inline]
    pub(super) fn between(&self, here: RouterId, target: RouterId) -> Option<RemainingRouters> {
        if self.ends_too {
            let all = RemainingRouters {
                low: NOWHERE,
                high: NOWHERE,
                left: self.count,
            };
            return self.any().then_some(all);
        }
        let (a, b) = (self.position(here), self.position(target));
        let (low, high) = (a.min(b), a.max(b));
        let taken = u32::from(low != NOWHERE) + u32::from(high != NOWHERE);
        let left = self.count - taken;
        (self.any() && left > 0).then_some(RemainingRouters { low, high, left })
    }

    #[inline]
    pub(super) fn left(&self, ends: RemainingRouters) -> u32 {
        ends.left
    }

    /// The `index`-th remaining router.
    #[inline]
    pub(super) fn nth(&self, index: u32, ends: RemainingRouters) -> u32 {
        let without_high = if index >= ends.low { index + 1 } else { index };
        let position = if without_high >= ends.high {
            without_high + 1
        } else {
            without_high
        };
        match &self.some {
            None => position,
            Some(some) => some[position as usize],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(nodes: &IntermediateRouters, here: u32, target: u32) -> Vec<u32> {
        let ends = nodes.between(RouterId(here), RouterId(target));
        ends.map_or(Vec::new(), |ends| {
            (0..nodes.left(ends))
                .map(|index| nodes.nth(index, ends))
                .collect()
        })
    }

    #[test]
    fn every_place_but_the_ends_comes_once() {
        let everywhere = IntermediateRouters {
            some: None,
            count: 5,
            ends_too: false,
        };
        assert_eq!(all(&everywhere, 0, 3), [1, 2, 4]);
        assert_eq!(all(&everywhere, 4, 3), [0, 1, 2]);
        let somewhere = IntermediateRouters {
            some: Some(vec![1, 4, 6, 9]),
            count: 4,
            ends_too: false,
        };
        assert_eq!(all(&somewhere, 9, 4), [1, 6]);
        // Router 5 has no hosts.
        assert_eq!(all(&somewhere, 5, 1), [4, 6, 9]);
        let with_ends = IntermediateRouters {
            ends_too: true,
            ..somewhere
        };
        assert_eq!(all(&with_ends, 9, 4), [1, 4, 6, 9]);
    }

    #[test]
    fn two_places_leave_none_between_them() {
        let two = IntermediateRouters {
            some: Some(vec![0, 3]),
            count: 2,
            ends_too: false,
        };
        assert!(all(&two, 0, 3).is_empty());
        assert!(all(&two, 1, 3).is_empty());
    }
}
