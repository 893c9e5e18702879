//! The choice of the cheapest hop, for all adaptive algorithms of grids.

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

/// A hop that is taken only if buffer space is free now.
pub(crate) fn kept(port: Port, vc: u8) -> Hop {
    Hop {
        port,
        vc,
        claim: BufferClaim::Reserved,
    }
}
