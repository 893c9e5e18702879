//! Deadlock freedom of large networks, from the parts of paths.
//!
//! The situations of all packets are too many in a large network, above all where paths have intermediate nodes. But
//! the next hop of a packet depends on little: on its router, and on the end of the current part of its path, such as
//! the group to which it goes. An algorithm that knows the parts of its paths tells the hops of each of them, for any
//! draw and any load, from the functions that also decide about packets ([`Routing::visit_paths`]).
//!
//! A part ends at a *junction*. This is a kind of place, such as "at the intermediate node". Every packet that comes to
//! a junction at some router is taken to be able to begin every part that begins at this junction of this router. So
//! the pairs of channels of which a packet may hold the first and wait for the second are among those that are told,
//! which may be more. If [`Routing::channel_order`] rises over all of them, there is no cycle (W. J. Dally and C. L.
//! Seitz, 1987). At a junction the greatest number that ends there and the least one that begins there are compared.
//!
//! Every hop of every router is visited. No two groups or routers are taken to be alike.

use topology::{Peer, Port, RouterId, Topology};

use crate::deadlock::{Channel, NotProven};
use crate::{BufferClaim, Hop, Routing};

/// A channel that a packet holds: a router, its output port and a VC.
pub type HeldChannel = (RouterId, Port, u8);

/// The end of a hop, with the packet there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HopEnd {
    /// The channel that it holds.
    pub held: HeldChannel,
    /// The number of this channel in [`Routing::channel_order`].
    pub number: u64,
    /// The router to which it has come.
    pub router: RouterId,
}

/// Why not all parts of paths were visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unvisited {
    /// The algorithm does not know the parts of its paths.
    Unknown,
    /// The visitor needs no more.
    Stopped,
}

/// Is told the parts of all paths, hop by hop.
pub trait PathVisitor {
    /// A packet at one of these junctions of a router, or at its host, begins a part with this hop to another router.
    ///
    /// # Errors
    /// The visit has to stop.
    fn begin(&mut self, junctions: &[u8], router: RouterId, hop: Hop) -> Result<HopEnd, Unvisited>;

    /// A packet goes on inside a part.
    ///
    /// # Errors
    /// The visit has to stop.
    fn go_on(&mut self, at: HopEnd, hop: Hop) -> Result<HopEnd, Unvisited>;

    /// A part ends, or may end, at a junction.
    fn end(&mut self, at: HopEnd, junction: u8);
}

/// What [`prove_by_parts`] has compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderedPaths {
    /// Number of hops of parts of paths that were compared with the hop before them, or began a part.
    pub hops: u64,
}

impl std::fmt::Display for OrderedPaths {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "deadlock free: the order of channels rises along the parts of all paths, {} hops",
            self.hops
        )
    }
}

/// Proves that `routing` on `topology` cannot deadlock, from the parts of its paths. Unlike
/// [`prove_deadlock_free`](crate::prove_deadlock_free) it does not show that packets arrive at their hosts. `None` if
/// the algorithm knows no parts or no order.
///
/// # Errors
/// A pair of channels against the order, a hop without a channel, or more than `max_hops` hops.
pub fn prove_by_parts(
    topology: &dyn Topology,
    routing: &dyn Routing,
    max_hops: u64,
) -> Result<Option<OrderedPaths>, NotProven> {
    let mut order = PartOrder {
        topology,
        routing,
        vcs: routing.vcs(),
        max_hops,
        hops: 0,
        junctions: Vec::new(),
        failure: None,
    };
    match routing.visit_paths(&mut order) {
        Err(Unvisited::Unknown) => return Ok(None),
        Err(Unvisited::Stopped) => {
            return match order.failure {
                Some(failure) => Err(failure),
                None => Ok(None),
            };
        }
        Ok(()) => {}
    }
    order.compare_junctions()?;
    Ok(Some(OrderedPaths { hops: order.hops }))
}

/// A channel with its number.
type Numbered = (u64, HeldChannel);

/// What is known of a junction at a router.
#[derive(Clone, Copy, Default)]
struct JunctionEnds {
    /// The channel of the greatest number on which packets come.
    comes: Option<Numbered>,
    /// The channel of the least number for which they wait.
    waits: Option<Numbered>,
}

struct PartOrder<'a> {
    topology: &'a dyn Topology,
    routing: &'a dyn Routing,
    vcs: u8,
    max_hops: u64,
    hops: u64,
    /// By junction, then router; empty if no path has come there.
    junctions: Vec<Vec<JunctionEnds>>,
    failure: Option<NotProven>,
}

impl PartOrder<'_> {
    fn junction(&mut self, junction: u8, router: RouterId) -> &mut JunctionEnds {
        let index = usize::from(junction);
        if self.junctions.len() <= index {
            self.junctions.resize(index + 1, Vec::new());
        }
        let routers = &mut self.junctions[index];
        if routers.is_empty() {
            routers.resize(self.topology.routers() as usize, JunctionEnds::default());
        }
        &mut routers[router.0 as usize]
    }

    fn stop(&mut self, failure: NotProven) -> Unvisited {
        self.failure = Some(failure);
        Unvisited::Stopped
    }

    /// The packet behind a hop.
    fn arrive(&mut self, router: RouterId, hop: Hop) -> Result<HopEnd, Unvisited> {
        self.hops += 1;
        if self.hops > self.max_hops {
            let max_states = self.max_hops;
            return Err(self.stop(NotProven::TooLarge { max_states }));
        }
        let is_port = hop.port.0 < self.topology.ports(router) && hop.vc < self.vcs;
        let Some(Peer::Router(next, _)) = is_port.then(|| self.topology.peer(router, hop.port)) else {
            let coordinates = self.topology.coordinates(router);
            let (port, vc) = (hop.port, hop.vc);
            return Err(self.stop(NotProven::NoChannel {
                router,
                coordinates,
                port,
                vc,
            }));
        };
        // Without an order there is nothing to compare, and so no proof.
        let number = self
            .routing
            .channel_order(router, hop.port, hop.vc)
            .ok_or(Unvisited::Unknown)?;
        Ok(HopEnd {
            held: (router, hop.port, hop.vc),
            number,
            router: next,
        })
    }

    fn falls(&self, held: HeldChannel, asked: HeldChannel) -> NotProven {
        NotProven::Unordered(Box::new(
            [held, asked].map(|channel| Channel::new(self.topology, channel)),
        ))
    }

    fn compare_junctions(&self) -> Result<(), NotProven> {
        for at in self.junctions.iter().flatten() {
            if let (Some((before, held)), Some((number, asked))) = (at.comes, at.waits)
                && before >= number
            {
                return Err(self.falls(held, asked));
            }
        }
        Ok(())
    }
}

impl PathVisitor for PartOrder<'_> {
    fn begin(&mut self, junctions: &[u8], router: RouterId, hop: Hop) -> Result<HopEnd, Unvisited> {
        let next = self.arrive(router, hop)?;
        if hop.claim != BufferClaim::Reserved {
            for junction in junctions {
                let waits = &mut self.junction(*junction, router).waits;
                if waits.is_none_or(|(least, _)| next.number < least) {
                    *waits = Some((next.number, next.held));
                }
            }
        }
        Ok(next)
    }

    fn go_on(&mut self, at: HopEnd, hop: Hop) -> Result<HopEnd, Unvisited> {
        let next = self.arrive(at.router, hop)?;
        if hop.claim != BufferClaim::Reserved && at.number >= next.number {
            let failure = self.falls(at.held, next.held);
            return Err(self.stop(failure));
        }
        Ok(next)
    }

    fn end(&mut self, at: HopEnd, junction: u8) {
        let comes = &mut self.junction(junction, at.router).comes;
        if comes.is_none_or(|(greatest, _)| at.number > greatest) {
            *comes = Some((at.number, at.held));
        }
    }
}
