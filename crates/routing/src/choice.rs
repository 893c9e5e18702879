//! The choice of the cheapest hop in grids, and of the least loaded one among equal paths elsewhere.

use topology::{Port, RouterId, Topology};

use crate::{BufferClaim, Hop, Random};

/// The cheapest hop so far. The first of equally cheap hops wins, with the ports in a circle from a random one.
pub(crate) struct CheapestHop<Cost, Choice> {
    ports: u16,
    start: u16,
    best: Option<(Cost, u16, Hop, Choice)>,
}

impl<Cost: Ord, Choice> CheapestHop<Cost, Choice> {
    /// Starts a choice at a router.
    pub(crate) fn new(topology: &dyn Topology, router: RouterId, random: &mut dyn Random) -> Self {
        let ports = topology.ports(router);
        CheapestHop {
            ports,
            start: random.below(u32::from(ports)) as u16,
            best: None,
        }
    }

    /// Offers one more hop. `choice` is its meaning to the caller.
    pub(crate) fn offer(&mut self, cost: Cost, hop: Hop, choice: Choice) {
        let Port(port) = hop.port;
        let place = if port >= self.start {
            port - self.start
        } else {
            port + (self.ports - self.start)
        };
        let is_better = match &self.best {
            Some((least, first, ..)) => (&cost, &place) < (least, first),
            None => true,
        };
        if is_better {
            self.best = Some((cost, place, hop, choice));
        }
    }

    /// The cheapest hop and its meaning, if any was offered.
    pub(crate) fn best(self) -> Option<(Hop, Choice)> {
        self.best.map(|(_, _, hop, choice)| (hop, choice))
    }
}

/// The least loaded hop so far. Equally loaded hops are equally likely.
pub(crate) struct LeastLoadedHop {
    /// Rank, load and hop.
    best: Option<(u32, u64, Hop)>,
    /// Number of hops with this rank and load.
    equal: u32,
}

impl LeastLoadedHop {
    /// Starts a choice.
    pub(crate) fn new() -> Self {
        LeastLoadedHop { best: None, equal: 0 }
    }

    /// Offers one more hop. One of a lower rank precedes any of a higher rank.
    #[inline]
    pub(crate) fn offer(&mut self, rank: u32, load: u64, hop: Hop, random: &mut dyn Random) {
        let is_best = match &self.best {
            Some((lowest, least, _)) if (rank, load) > (*lowest, *least) => false,
            // The n-th of equal hops replaces the previous choice with probability 1/n.
            Some((lowest, least, _)) if (rank, load) == (*lowest, *least) => {
                self.equal += 1;
                random.below(self.equal) == 0
            }
            _ => {
                self.equal = 1;
                true
            }
        };
        if is_best {
            self.best = Some((rank, load, hop));
        }
    }

    /// The least loaded hop of the lowest rank.
    ///
    /// # Panics
    /// No hop was offered.
    pub(crate) fn hop(self) -> Hop {
        self.best.expect("a shortest path begins at some port").2
    }
}

/// A hop that is taken only if buffer space is free now.
pub(crate) fn kept(port: Port, vc: u8) -> Hop {
    Hop {
        port,
        vc,
        claim: BufferClaim::Reserved,
    }
}
