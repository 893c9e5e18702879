//! Links between routers as two flat lists, built from cables. Assigns ports to cables.

use crate::LinkClass;

/// The end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LinkTarget {
    pub(super) router: u32,
    /// Port at that router.
    pub(super) port: u16,
    pub(super) class: LinkClass,
}

/// Cables between two routers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cable {
    pub(super) ends: [u32; 2],
    pub(super) class: LinkClass,
    pub(super) count: u32,
}

/// The links of all routers. Links of one router are in the order of their destinations, parallel ones in that of their
/// classes.
#[derive(Debug)]
pub(super) struct Adjacency {
    ends: Vec<LinkTarget>,
    /// Index of the first link of each router in `ends`, and the end of the last.
    first: Vec<usize>,
}

/// Parallel links of one class from one router to another.
struct Bundle {
    from: u32,
    to: u32,
    class: LinkClass,
    count: u32,
    /// Index of the first one among the links of `from`.
    offset: u32,
}

impl Adjacency {
    /// `hosts` gives the number of hosts of each router, which take its first ports. The ports of a router must fit 16
    /// bits.
    pub(super) fn new(hosts: &[u32], cables: &[Cable]) -> Adjacency {
        let both = |cable: Cable| {
            let [a, b] = cable.ends;
            [(a, b, cable.class, cable.count), (b, a, cable.class, cable.count)]
        };
        let mut links: Vec<(u32, u32, LinkClass, u32)> = cables.iter().copied().flat_map(both).collect();
        links.sort_unstable();
        let mut bundles: Vec<Bundle> = Vec::with_capacity(links.len());
        for (from, to, class, count) in links {
            let offset = match bundles.last_mut() {
                Some(last) if (last.from, last.to, last.class) == (from, to, class) => {
                    last.count += count;
                    continue;
                }
                Some(last) if last.from == from => last.offset + last.count,
                _ => 0,
            };
            bundles.push(Bundle {
                from,
                to,
                class,
                count,
                offset,
            });
        }
        let place = |from, to, class| {
            let key = |bundle: &Bundle| (bundle.from, bundle.to, bundle.class);
            let found = bundles.binary_search_by_key(&(from, to, class), key);
            bundles[found.expect("links lead both ways")].offset
        };
        let mut degrees = vec![0; hosts.len()];
        let mut ends = Vec::new();
        for bundle in &bundles {
            degrees[bundle.from as usize] += bundle.count as usize;
            let port = hosts[bundle.to as usize] + place(bundle.to, bundle.from, bundle.class);
            ends.extend((0..bundle.count).map(|cable| LinkTarget {
                router: bundle.to,
                port: (port + cable) as u16,
                class: bundle.class,
            }));
        }
        let mut first = vec![0];
        for degree in degrees {
            first.push(first[first.len() - 1] + degree);
        }
        Adjacency { ends, first }
    }

    pub(super) fn routers(&self) -> u32 {
        self.first.len() as u32 - 1
    }

    /// Number of links of all routers, with both directions of a cable.
    pub(super) fn count(&self) -> u64 {
        self.ends.len() as u64
    }

    #[inline]
    pub(super) fn links(&self, router: u32) -> &[LinkTarget] {
        &self.ends[self.first[router as usize]..self.first[router as usize + 1]]
    }

    /// A router that cannot be reached from router 0.
    pub(super) fn cut_off(&self) -> Option<u32> {
        let mut reached = vec![false; self.first.len() - 1];
        reached[0] = true;
        let mut waiting = vec![0];
        while let Some(router) = waiting.pop() {
            for end in self.links(router) {
                if !std::mem::replace(&mut reached[end.router as usize], true) {
                    waiting.push(end.router);
                }
            }
        }
        reached
            .iter()
            .position(|reached| !reached)
            .map(|router| router as u32)
    }
}
