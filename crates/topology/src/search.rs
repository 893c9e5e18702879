//! Distances that no formula gives, found from both ends at once: without a table, and without walking
//! further than half of the way from either.

use std::collections::BTreeSet;

use crate::{Peer, Port, RouterId, Topology};

/// The distance of two different routers between which there is a path of `known` links, and none of fewer
/// than `least`.
pub(crate) fn distance(topology: &dyn Topology, from: RouterId, to: RouterId, least: u32, known: u32) -> u32 {
    if known <= least {
        return known;
    }
    let (mut near, mut far) = (Ball::around(from), Ball::around(to));
    for length in 1..known {
        // Growing the smaller one is cheaper.
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

/// The routers within some distance of one.
struct Ball {
    seen: BTreeSet<RouterId>,
    /// Those at exactly that distance.
    rim: Vec<RouterId>,
}

impl Ball {
    fn around(router: RouterId) -> Ball {
        Ball {
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
