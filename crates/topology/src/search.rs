//! Distances without a formula, by a search from both ends. The search needs no table and visits at most half of
//! the path from each end.

use std::collections::BTreeSet;

use crate::{Peer, Port, RouterId, Topology};

/// The distance of two different routers that are connected by a path of `known` links and by no path of fewer than
/// `least`.
pub(crate) fn distance(topology: &dyn Topology, from: RouterId, to: RouterId, least: u32, known: u32) -> u32 {
    if known <= least {
        return known;
    }
    let (mut near, mut far) = (Neighbourhood::around(from), Neighbourhood::around(to));
    for length in 1..known {
        // Expanding the smaller set is cheaper.
        let (smaller, larger) = match near.rim.len() <= far.rim.len() {
            true => (&mut near, &far),
            false => (&mut far, &near),
        };
        smaller.grow(topology);
        if smaller.rim.iter().any(|router| larger.seen.contains(router)) {
            return length;
        }
    }
    known
}

/// The routers within a distance of one router.
struct Neighbourhood {
    seen: BTreeSet<RouterId>,
    /// The routers at exactly that distance.
    rim: Vec<RouterId>,
}

impl Neighbourhood {
    fn around(router: RouterId) -> Neighbourhood {
        Neighbourhood {
            seen: BTreeSet::from([router]),
            rim: vec![router],
        }
    }

    fn grow(&mut self, topology: &dyn Topology) {
        let mut rim = Vec::new();
        for router in &self.rim {
            for port in (0..topology.ports(*router)).map(Port) {
                if let Peer::Router(next, _) = topology.peer(*router, port)
                    && self.seen.insert(next)
                {
                    rim.push(next);
                }
            }
        }
        self.rim = rim;
    }
}
