//! Deadlock freedom by the channel dependency graph.
//!
//! A channel is one VC of one link between routers. If a packet that holds a channel may next request another, the
//! second depends on the first. If this graph has no cycle, no set of packets can wait for itself under any traffic
//! (W. J. Dally and C. L. Seitz, "Deadlock-free message routing in multiprocessor interconnection networks", IEEE
//! Trans. Computers C-36(5), 1987). Injection and ejection links are left out: hosts accept all arrivals, and nothing
//! waits for an injection link.
//!
//! A packet occupies one buffer as a whole (virtual cut-through) and waits for one buffer, so there are no other
//! dependencies. Two kinds of [`BufferClaim`] remove dependencies:
//!
//! *Reserved.* A packet takes such a hop only if the space is free when it is routed, and owns the space from then
//! on. It never waits for the next buffer, so that buffer depends on nothing, but the packet's later hops count.
//! Where such hops are offered, a hop that a packet may wait for must be offered too: the escape. Then routing always
//! ends in a hop that needs no other packet to move, or in a wait along an edge of the graph. This is the condition
//! of J. Duato for cut-through ("A necessary and sufficient condition for deadlock-free routing in cut-through and
//! store-and-forward networks", IEEE Trans. Parallel and Distributed Systems 7(8), 1996): the channels that packets
//! wait for, the escape subnetwork, have no cycle of direct dependencies. An adaptive channel is never waited for, so
//! it has no incoming edge and is on no cycle. Routers let no packet with reserved space overtake one that waits for
//! that space, so waiting ends.
//!
//! *Bubble.* A cycle is harmless if it is a *bubble ring*: each of its channels depends on no channel of its strongly
//! connected component except the next one, packets advance inside it with [`BufferClaim::Credit`], and packets from
//! elsewhere, hosts included, enter by [`BufferClaim::Bubble`] (C. Carrion, R. Beivide, J. A. Gregorio, F. Vallejo,
//! "A flow control mechanism to avoid message deadlock in k-ary n-cube networks", HiPC 1997; V. Puente et al., "The
//! adaptive bubble router", J. Parallel and Distributed Computing 61(9), 2001; in the torus of Blue Gene/L: N. R.
//! Adiga et al., IBM J. Research and Development 49(2/3), 2005). Its buffers consist of slots that each hold any
//! packet. Some buffer of the ring always has a free slot, with credits in flight counted as free: an entry leaves a
//! free slot in the buffer that it enters, a move inside the ring frees a slot where it began, and an exit frees a
//! slot. No entering packet precedes one inside the ring. So a packet in the buffer before the free slot either takes
//! it or leaves the ring, and so do all others in that buffer. Leaving packets wait for channels outside. None of
//! these leads back, and from the last of them on they move by the same argument. Then there are free slots one
//! buffer further back, and so on round the ring: every packet moves. As routes end, the ring empties unless packets
//! keep coming. Then a packet that waits for a bubble gets it. (If packets never stop coming, an entering packet may
//! wait for long. That is unfair, but no deadlock.)
//!
//! The proof visits every situation that [`Routing::options`] can lead to, for every pair of hosts. So it also finds
//! packets that are sent to an unwired port, to the wrong host, or round forever. Its cost grows with hosts times
//! situations. It is for small networks; `max_states` ends it on others.
//!
//! *Order.* Most algorithms know numbers of their channels ([`Routing::channel_order`]) that rise along every path.
//! Then the graph has no cycle, whatever its size. [`prove_deadlock_free`] compares all decisions with the order, where
//! it can visit all. [`check_order`] compares those of a bounded number of paths, in networks of any size. It finds
//! hops against the order, but a sample is no proof. [`prove_by_parts`](crate::prove_by_parts) compares all hops of the
//! parts of paths, in large networks, too.

use std::collections::{HashMap, VecDeque};
use std::fmt;

use topology::{HostId, Peer, Port, RouterId, Topology};

use crate::rings::{BUBBLE, CREDIT, Dependencies, bubble_rings};
use crate::{At, BufferClaim, Hop, RouteState, Routing};

/// The statistics of a completed proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeadlockFree {
    /// Number of channels that some packet can use.
    pub channels: u64,
    /// Number of these that packets never wait for.
    pub adaptive: u64,
    /// Number of pairs of the other channels where a packet can hold the first and wait for the second.
    pub dependencies: u64,
    /// Number of cycles that bubble flow control keeps moving.
    pub rings: u64,
    /// Number of situations visited: router, input, VC, routing state and destination.
    pub states: u64,
    /// Number of router-to-router links on the longest route.
    pub longest_route: u32,
    /// Whether all dependencies, those of bubble rings included, rise in [`Routing::channel_order`].
    pub ordered: bool,
}

/// What [`check_order`] has compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ordered {
    /// Number of paths that were followed to their host.
    pub paths: u64,
    /// Number of hops that were offered on the way.
    pub hops: u64,
}

/// The reason for a missing proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotProven {
    /// Packets can wait for each other in a cycle.
    Cycle(Cycle),
    /// A routing decision is impossible.
    Misroute(Misroute),
    /// The network has more situations than the caller's limit, so nothing is known.
    TooLarge {
        /// The caller's limit.
        max_states: u64,
    },
    /// A packet that holds the first channel can wait for the second one, against [`Routing::channel_order`].
    Unordered(Box<[Channel; 2]>),
    /// A path leads over a port and VC of a router that are no channel between routers.
    NoChannel {
        /// The router that sends.
        router: RouterId,
        /// Its coordinates.
        coordinates: String,
        /// The output port.
        port: Port,
        /// The virtual channel.
        vc: u8,
    },
}

/// A cycle of channels. Each can wait for the next, and the last for the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// The channels in the order of waiting.
    pub channels: Vec<Channel>,
}

/// One VC of one link between routers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channel {
    /// The router that sends.
    pub router: RouterId,
    /// Its output port.
    pub port: Port,
    /// The virtual channel.
    pub vc: u8,
    /// The router that receives.
    pub to: RouterId,
    /// Coordinates of the sending router.
    pub from_coordinates: String,
    /// Coordinates of the receiving router.
    pub to_coordinates: String,
}

/// An impossible routing decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misroute {
    /// The router that decides.
    pub router: RouterId,
    /// Its coordinates.
    pub coordinates: String,
    /// The port through which the packet came in.
    pub input: Port,
    /// The packet's destination.
    pub destination: HostId,
    /// The error.
    pub fault: Fault,
}

/// The error of a routing decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No hop is offered.
    NoHop,
    /// The router has no such port.
    NoSuchPort(Port),
    /// The port is not wired.
    Unwired(Port),
    /// The hop uses an undeclared VC, or a VC other than 0 towards a host.
    NoSuchVc(u8),
    /// The port leads to another host than the destination.
    WrongHost(HostId),
    /// The packet can return to the same situation.
    Endless,
    /// Some hops need free space now, and no hop remains to wait for.
    NoEscape,
    /// A hop needs a bubble, but the algorithm does not declare buffers for bubbles.
    NoRoomForBubbles,
    /// A hop needs free space at once, but the algorithm does not declare such hops.
    UndeclaredReservation,
}

impl Channel {
    pub(crate) fn new(topology: &dyn Topology, (router, port, vc): (RouterId, Port, u8)) -> Channel {
        let Peer::Router(to, _) = topology.peer(router, port) else {
            unreachable!("only links between routers are channels");
        };
        Channel {
            router,
            port,
            vc,
            to,
            from_coordinates: topology.coordinates(router),
            to_coordinates: topology.coordinates(to),
        }
    }
}

impl fmt::Display for DeadlockFree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (waited, dependencies) = (self.channels - self.adaptive, self.dependencies);
        write!(f, "deadlock free: ")?;
        if self.adaptive > 0 {
            write!(f, "escape subnetwork of ")?;
        }
        write!(f, "{waited} channels, {dependencies} dependencies, acyclic")?;
        match self.rings {
            0 => {}
            1 => write!(f, " but for 1 bubble ring")?,
            rings => write!(f, " but for {rings} bubble rings")?,
        }
        if self.adaptive > 0 {
            write!(f, " (Duato); {} adaptive channels", self.adaptive)?;
        }
        Ok(())
    }
}

impl fmt::Display for NotProven {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotProven::Cycle(cycle) => cycle.fmt(f),
            NotProven::Misroute(misroute) => misroute.fmt(f),
            NotProven::TooLarge { max_states } => {
                write!(f, "not decided: the proof needs more than {max_states} states")
            }
            NotProven::Unordered(channels) => {
                let [held, asked] = &**channels;
                write!(
                    f,
                    "not decided: the order of channels falls from {held} to {asked}"
                )
            }
            NotProven::NoChannel {
                router,
                coordinates,
                port,
                vc,
            } => write!(
                f,
                "a path of router {} ({coordinates}) leads over port {}, VC {vc}, which is no channel to another \
                 router",
                router.0, port.0
            ),
        }
    }
}

impl std::error::Error for NotProven {}

impl fmt::Display for Ordered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (paths, hops) = (self.paths, self.hops);
        write!(
            f,
            "{hops} hops of {paths} paths keep the order of channels, which excludes deadlock if all hops do"
        )
    }
}

impl fmt::Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} channels can wait on each other in a circle:",
            self.channels.len()
        )?;
        for channel in &self.channels {
            write!(f, "\n  {channel}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "router {} ({}) port {} VC {} -> router {} ({})",
            self.router.0, self.from_coordinates, self.port.0, self.vc, self.to.0, self.to_coordinates
        )
    }
}

impl fmt::Display for Misroute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a packet to host {} that came into router {} ({}) through port {} ",
            self.destination.0, self.router.0, self.coordinates, self.input.0
        )?;
        match self.fault {
            Fault::NoHop => write!(f, "gets no hop"),
            Fault::NoSuchPort(port) => write!(f, "is sent to port {}, which does not exist", port.0),
            Fault::Unwired(port) => write!(f, "is sent to port {}, which is not wired", port.0),
            Fault::NoSuchVc(vc) => write!(f, "is sent on VC {vc}, which does not exist there"),
            Fault::WrongHost(host) => write!(f, "is delivered to host {}", host.0),
            Fault::Endless => write!(f, "can come back to where it was, and so travel forever"),
            Fault::NoEscape => write!(f, "gets hops that need free space at once, and none to wait for"),
            Fault::UndeclaredReservation => {
                write!(
                    f,
                    "gets a hop that needs free space at once, which its routing does not declare"
                )
            }
            Fault::NoRoomForBubbles => write!(
                f,
                "needs a bubble, in buffers that may be too small for two packets"
            ),
        }
    }
}

/// Proves that `routing` on `topology` cannot deadlock, and that every packet arrives at its host.
///
/// `max_states` bounds the work, at about half a microsecond per state. Memory holds the channels and the situations
/// of one destination at a time. For example, a dragonfly of 72 hosts with UGAL takes 80,000 states, one of 1,056
/// hosts with minimal routing 1.4 million.
///
/// # Errors
/// A cycle of channels (a shortest one), an impossible decision, or more than `max_states` situations; also if there
/// would be more with as many towards each host as towards the first one.
pub fn prove_deadlock_free(
    topology: &dyn Topology,
    routing: &dyn Routing,
    max_states: u64,
) -> Result<DeadlockFree, NotProven> {
    let mut walk = SituationSearch::new(topology, routing, max_states)?;
    for destination in 0..topology.hosts() {
        // Destinations are about alike, so the first one tells in time that there are too many situations.
        walk.limit = match destination {
            0 => max_states / u64::from(topology.hosts()),
            _ => max_states,
        };
        walk.towards(HostId(destination))?;
    }
    let ordered = walk.is_ordered();
    let (dependencies, rings) = (walk.dependencies(), walk.take_bubble_rings());
    let successors: Vec<Vec<u32>> = walk
        .waits
        .iter()
        .map(|waits| waits.iter().map(|(next, _)| *next).collect())
        .collect();
    match shortest_cycle(&successors) {
        Some(cycle) => {
            let channels = cycle.into_iter().map(|c| walk.channel(c)).collect();
            Err(NotProven::Cycle(Cycle { channels }))
        }
        None => Ok(DeadlockFree {
            channels: walk.uses.iter().filter(|uses| **uses != 0).count() as u64,
            adaptive: walk.uses.iter().filter(|uses| **uses == KEPT).count() as u64,
            dependencies,
            rings,
            states: walk.states,
            longest_route: walk.longest_route,
            ordered,
        }),
    }
}

/// Number of paths that are followed from one pair of hosts.
const PATHS_OF_PAIR: u32 = 16;

/// Follows paths between pairs of hosts that a fixed random sequence draws, and compares all hops that are offered on
/// the way with [`Routing::channel_order`], until it has seen `max_hops` hops. `None` if the algorithm knows no order.
///
/// # Errors
/// A hop against the order, or an impossible decision.
pub fn check_order(
    topology: &dyn Topology,
    routing: &dyn Routing,
    max_hops: u64,
) -> Result<Option<Ordered>, NotProven> {
    let mut check = OrderCheck {
        topology,
        routing,
        draws: 1,
        seen: Ordered { paths: 0, hops: 0 },
    };
    // Two hosts of one router have a path without links. A network of one router has no others.
    let most_pairs = u64::from(topology.hosts()).saturating_mul(4).min(max_hops);
    for _ in 0..most_pairs {
        let pair = (check.host(), check.host());
        for _ in 0..PATHS_OF_PAIR {
            if check.seen.hops >= max_hops {
                break;
            }
            if !check.follow(pair)? {
                return Ok(None);
            }
        }
    }
    Ok(Some(check.seen))
}

struct OrderCheck<'a> {
    topology: &'a dyn Topology,
    routing: &'a dyn Routing,
    /// State of a linear congruential generator.
    draws: u64,
    seen: Ordered,
}

impl OrderCheck<'_> {
    fn below(&mut self, bound: u32) -> u32 {
        self.draws = self
            .draws
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (((self.draws >> 32) * u64::from(bound)) >> 32) as u32
    }

    fn host(&mut self) -> HostId {
        let hosts = self.topology.hosts();
        HostId(self.below(hosts))
    }

    /// Follows one path, and compares all hops that are offered on the way. `false` if a channel has no number.
    fn follow(&mut self, (source, destination): (HostId, HostId)) -> Result<bool, NotProven> {
        let (router, input) = self.topology.attachment(source);
        let mut at = At {
            router,
            input,
            vc: 0,
            source,
            destination,
        };
        let (mut state, mut options) = (RouteState::default(), Vec::new());
        let mut held: Option<((RouterId, Port, u8), u64)> = None;
        // A path that comes to a router more often than there are VCs is not followed further.
        for _ in 0..=u64::from(self.topology.routers()) * u64::from(self.routing.vcs()) {
            options.clear();
            self.routing.options(at, state, &mut options);
            self.seen.hops += options.len() as u64;
            if options.is_empty() {
                return Err(self.misroute(at, Fault::NoHop));
            }
            if options.iter().all(|(hop, _)| hop.claim == BufferClaim::Reserved) {
                return Err(self.misroute(at, Fault::NoEscape));
            }
            for (hop, _) in &options {
                if !self.is_router_ahead(at, *hop)? {
                    continue;
                }
                let asked = (at.router, hop.port, hop.vc);
                let Some(number) = self.number(asked) else {
                    return Ok(false);
                };
                if let Some((held, before)) = held
                    && hop.claim != BufferClaim::Reserved
                    && before >= number
                {
                    let channels = [held, asked].map(|channel| Channel::new(self.topology, channel));
                    return Err(NotProven::Unordered(Box::new(channels)));
                }
            }
            let (hop, next) = options[self.below(options.len() as u32) as usize];
            let Peer::Router(router, input) = self.topology.peer(at.router, hop.port) else {
                self.seen.paths += 1;
                return Ok(true);
            };
            let asked = (at.router, hop.port, hop.vc);
            held = self.number(asked).map(|number| (asked, number));
            at = At {
                router,
                input,
                vc: hop.vc,
                ..at
            };
            state = next;
        }
        Err(NotProven::TooLarge {
            max_states: self.seen.hops,
        })
    }

    fn number(&self, (router, port, vc): (RouterId, Port, u8)) -> Option<u64> {
        self.routing.channel_order(router, port, vc)
    }

    /// Whether a hop leads to a router, and not to the destination.
    fn is_router_ahead(&self, at: At, hop: Hop) -> Result<bool, NotProven> {
        if hop.port.0 >= self.topology.ports(at.router) {
            return Err(self.misroute(at, Fault::NoSuchPort(hop.port)));
        }
        match self.topology.peer(at.router, hop.port) {
            Peer::Unwired => Err(self.misroute(at, Fault::Unwired(hop.port))),
            Peer::Host(host) if host != at.destination => Err(self.misroute(at, Fault::WrongHost(host))),
            Peer::Host(_) if hop.vc != 0 => Err(self.misroute(at, Fault::NoSuchVc(hop.vc))),
            Peer::Host(_) => Ok(false),
            Peer::Router(..) if hop.vc >= self.routing.vcs() => {
                Err(self.misroute(at, Fault::NoSuchVc(hop.vc)))
            }
            Peer::Router(..) if hop.claim == BufferClaim::Reserved && !self.routing.reserves_space() => {
                Err(self.misroute(at, Fault::UndeclaredReservation))
            }
            Peer::Router(..) => Ok(true),
        }
    }

    fn misroute(&self, at: At, fault: Fault) -> NotProven {
        NotProven::Misroute(Misroute {
            router: at.router,
            coordinates: self.topology.coordinates(at.router),
            input: at.input,
            destination: at.destination,
            fault,
        })
    }
}

/// Flag of a channel: some packet reserves space in it.
const KEPT: u8 = 1;
/// Flag of a channel: some packet waits for it.
const WAITED: u8 = 2;
/// Flag of a channel: some packet from a host waits for space without a bubble.
const CREDIT_FROM_HOST: u8 = 4;

/// A packet's situation on its route to one destination.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Situation {
    router: RouterId,
    input: Port,
    vc: u8,
    state: RouteState,
}

/// The progress of a situation: in progress, or done with at most this many links to go.
enum Visit {
    Open,
    Done(u32),
}

/// A situation on the current path of the search.
struct Frame {
    here: Situation,
    /// The channel on which the packet came, or none at its first router.
    held: Option<u32>,
    /// Hops that remain to be visited.
    options: Vec<(Hop, RouteState)>,
    /// The largest number of links to go over the visited hops.
    links: u32,
}

struct SituationSearch<'a> {
    topology: &'a dyn Topology,
    routing: &'a dyn Routing,
    max_states: u64,
    /// Number of situations at which this stage of the search ends.
    limit: u64,
    states: u64,
    /// Index of the first channel of each router.
    first_channel: Vec<u32>,
    /// Channels that each channel depends on.
    waits: Dependencies,
    /// Flags by channel, such as [`KEPT`].
    uses: Vec<u8>,
    longest_route: u32,
}

impl<'a> SituationSearch<'a> {
    fn new(topology: &'a dyn Topology, routing: &'a dyn Routing, max_states: u64) -> Result<Self, NotProven> {
        let too_large = NotProven::TooLarge { max_states };
        // Every pair of hosts is at least one state, so this check precedes any allocation of that size.
        let hosts = u64::from(topology.hosts());
        if hosts * hosts > max_states || u64::from(topology.routers()) > max_states {
            return Err(too_large);
        }
        let mut first_channel = Vec::with_capacity(topology.routers() as usize);
        let mut channels = 0u64;
        for router in 0..topology.routers() {
            first_channel.push(u32::try_from(channels).map_err(|_| too_large.clone())?);
            channels += u64::from(topology.ports(RouterId(router))) * u64::from(routing.vcs());
        }
        if channels > max_states.max(1 << 20).min(u64::from(u32::MAX)) {
            return Err(too_large);
        }
        Ok(SituationSearch {
            topology,
            routing,
            max_states,
            limit: max_states,
            states: 0,
            first_channel,
            waits: vec![Vec::new(); channels as usize],
            uses: vec![0; channels as usize],
            longest_route: 0,
        })
    }

    fn index(&self, router: RouterId, hop: Hop) -> u32 {
        self.first_channel[router.0 as usize]
            + u32::from(hop.port.0) * u32::from(self.routing.vcs())
            + u32::from(hop.vc)
    }

    fn place(&self, index: u32) -> (RouterId, Port, u8) {
        let router = self.first_channel.partition_point(|first| *first <= index) as u32 - 1;
        let within = index - self.first_channel[router as usize];
        let vcs = u32::from(self.routing.vcs());
        (
            RouterId(router),
            Port((within / vcs) as u16),
            (within % vcs) as u8,
        )
    }

    fn channel(&self, index: u32) -> Channel {
        Channel::new(self.topology, self.place(index))
    }

    /// Whether all dependencies rise in the order that the algorithm knows.
    fn is_ordered(&self) -> bool {
        let number = |index| {
            let (router, port, vc) = self.place(index);
            self.routing.channel_order(router, port, vc)
        };
        (0..).zip(&self.waits).all(|(held, waits)| {
            let rises = |(asked, _): &(u32, u8)| {
                let (held, asked) = (number(held), number(*asked));
                held.is_some() && held < asked
            };
            waits.iter().all(rises)
        })
    }

    fn open(
        &mut self,
        here: Situation,
        held: Option<u32>,
        source: HostId,
        destination: HostId,
    ) -> Result<Frame, NotProven> {
        self.states += 1;
        if self.states > self.limit {
            return Err(NotProven::TooLarge {
                max_states: self.max_states,
            });
        }
        let at = At {
            router: here.router,
            input: here.input,
            vc: here.vc,
            source,
            destination,
        };
        let mut options = Vec::new();
        self.routing.options(at, here.state, &mut options);
        if options.is_empty() {
            return Err(self.misroute(here, destination, Fault::NoHop));
        }
        if options.iter().all(|(hop, _)| hop.claim == BufferClaim::Reserved) {
            return Err(self.misroute(here, destination, Fault::NoEscape));
        }
        Ok(Frame {
            here,
            held,
            options,
            links: 0,
        })
    }

    fn misroute(&self, here: Situation, destination: HostId, fault: Fault) -> NotProven {
        NotProven::Misroute(Misroute {
            router: here.router,
            coordinates: self.topology.coordinates(here.router),
            input: here.input,
            destination,
            fault,
        })
    }

    /// Visits all situations of packets to `destination`, depth first.
    fn towards(&mut self, destination: HostId) -> Result<(), NotProven> {
        let mut visits = HashMap::new();
        for source in (0..self.topology.hosts()).map(HostId) {
            let (router, input) = self.topology.attachment(source);
            let start = Situation {
                router,
                input,
                vc: 0,
                state: RouteState::default(),
            };
            let mut path = vec![self.open(start, None, source, destination)?];
            while let Some(mut frame) = path.pop() {
                let Some((hop, state)) = frame.options.pop() else {
                    visits.insert(frame.here, Visit::Done(frame.links));
                    match path.last_mut() {
                        Some(before) => before.links = before.links.max(frame.links + 1),
                        None => self.longest_route = self.longest_route.max(frame.links),
                    }
                    continue;
                };
                let Some((next, asked)) = self.step(&frame, hop, state, destination)? else {
                    path.push(frame);
                    continue;
                };
                match visits.get(&next) {
                    Some(Visit::Open) => {
                        return Err(self.misroute(frame.here, destination, Fault::Endless));
                    }
                    Some(Visit::Done(links)) => {
                        frame.links = frame.links.max(links + 1);
                        path.push(frame);
                    }
                    None => {
                        visits.insert(next, Visit::Open);
                        path.push(frame);
                        path.push(self.open(next, Some(asked), source, destination)?);
                    }
                }
            }
        }
        Ok(())
    }

    /// Notes that a packet may enter a channel from another channel, or from a host.
    fn note(&mut self, held: Option<u32>, asked: u32, claim: BufferClaim) {
        let uses = &mut self.uses[asked as usize];
        let how = match claim {
            BufferClaim::Reserved => {
                *uses |= KEPT;
                return;
            }
            BufferClaim::Credit => CREDIT,
            BufferClaim::Bubble => BUBBLE,
        };
        *uses |= WAITED;
        let Some(held) = held else {
            *uses |= if how == CREDIT { CREDIT_FROM_HOST } else { 0 };
            return;
        };
        let waits = &mut self.waits[held as usize];
        match waits.iter_mut().find(|(next, _)| *next == asked) {
            Some((_, ways)) => *ways |= how,
            None => waits.push((asked, how)),
        }
    }

    /// Number of pairs of channels that packets wait for, where one can hold the first and wait for the second.
    fn dependencies(&self) -> u64 {
        let waited = |(_, uses): &(&Vec<(u32, u8)>, &u8)| *uses & WAITED != 0;
        let pairs = self.waits.iter().zip(&self.uses).filter(waited);
        pairs.map(|(waits, _)| waits.len() as u64).sum()
    }

    /// Removes the dependencies inside bubble rings and returns the number of rings.
    fn take_bubble_rings(&mut self) -> u64 {
        if self.routing.packets_per_vc() < 2 {
            return 0;
        }
        let guarded = |channel: u32| self.uses[channel as usize] & (KEPT | CREDIT_FROM_HOST) == 0;
        let (in_ring, rings) = bubble_rings(&self.waits, guarded);
        for (waits, _) in self.waits.iter_mut().zip(&in_ring).filter(|(_, inside)| **inside) {
            // Only packets inside a ring wait for space in its channels without a bubble.
            waits.retain(|(next, how)| !(in_ring[*next as usize] && *how == CREDIT));
        }
        rings
    }

    /// Takes one hop. Gives the next situation and the channel, or `None` at the destination.
    fn step(
        &mut self,
        frame: &Frame,
        hop: Hop,
        state: RouteState,
        destination: HostId,
    ) -> Result<Option<(Situation, u32)>, NotProven> {
        let router = frame.here.router;
        let fail = |walk: &Self, fault| Err(walk.misroute(frame.here, destination, fault));
        if hop.port.0 >= self.topology.ports(router) {
            return fail(self, Fault::NoSuchPort(hop.port));
        }
        match self.topology.peer(router, hop.port) {
            Peer::Unwired => fail(self, Fault::Unwired(hop.port)),
            Peer::Host(host) if host != destination => fail(self, Fault::WrongHost(host)),
            Peer::Host(_) if hop.vc != 0 => fail(self, Fault::NoSuchVc(hop.vc)),
            Peer::Host(_) => Ok(None),
            Peer::Router(..) if hop.vc >= self.routing.vcs() => fail(self, Fault::NoSuchVc(hop.vc)),
            Peer::Router(next, input) => {
                if hop.claim == BufferClaim::Bubble && self.routing.packets_per_vc() < 2 {
                    return fail(self, Fault::NoRoomForBubbles);
                }
                if hop.claim == BufferClaim::Reserved && !self.routing.reserves_space() {
                    return fail(self, Fault::UndeclaredReservation);
                }
                let asked = self.index(router, hop);
                self.note(frame.held, asked, hop.claim);
                let next = Situation {
                    router: next,
                    input,
                    vc: hop.vc,
                    state,
                };
                Ok(Some((next, asked)))
            }
        }
    }
}

/// A shortest cycle of the graph, or `None`.
fn shortest_cycle(successors: &[Vec<u32>]) -> Option<Vec<u32>> {
    let on_cycles = without_sources(successors);
    let mut best: Option<Vec<u32>> = None;
    for start in (0..successors.len() as u32).filter(|v| on_cycles[*v as usize]) {
        let limit = best.as_ref().map_or(usize::MAX, Vec::len);
        if let Some(cycle) = cycle_through(start, successors, &on_cycles, limit) {
            best = Some(cycle);
        }
        // A cycle has at least two links, so none is shorter.
        if best.as_ref().is_some_and(|b| b.len() <= 2) {
            break;
        }
    }
    best
}

/// Removes vertices without predecessors repeatedly. Every cycle remains, and everything behind one.
fn without_sources(successors: &[Vec<u32>]) -> Vec<bool> {
    let mut predecessors = vec![0u32; successors.len()];
    for next in successors.iter().flatten() {
        predecessors[*next as usize] += 1;
    }
    let mut left = vec![true; successors.len()];
    let mut sources: Vec<u32> = (0..successors.len() as u32)
        .filter(|v| predecessors[*v as usize] == 0)
        .collect();
    while let Some(source) = sources.pop() {
        left[source as usize] = false;
        for next in &successors[source as usize] {
            predecessors[*next as usize] -= 1;
            if predecessors[*next as usize] == 0 {
                sources.push(*next);
            }
        }
    }
    left
}

/// The shortest cycle through `start` that is shorter than `limit`, breadth first.
fn cycle_through(start: u32, successors: &[Vec<u32>], within: &[bool], limit: usize) -> Option<Vec<u32>> {
    let mut before: HashMap<u32, u32> = HashMap::new();
    let mut queue = VecDeque::from([(start, 1usize)]);
    while let Some((vertex, length)) = queue.pop_front() {
        if length >= limit {
            return None;
        }
        for next in successors[vertex as usize].iter().copied() {
            if next == start {
                let mut cycle = vec![vertex];
                let mut back = vertex;
                while back != start {
                    back = before[&back];
                    cycle.push(back);
                }
                cycle.reverse();
                return Some(cycle);
            }
            if within[next as usize] && !before.contains_key(&next) {
                before.insert(next, vertex);
                queue.push_back((next, length + 1));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Congestion, Random};
    use config::Section;

    /// The options that a test gives a packet.
    type Rule = fn(&dyn Topology, At) -> Vec<Hop>;

    /// The rule, the packets for each VC, and whether it declares hops that need free space.
    struct Scripted<'a>(&'a dyn Topology, Rule, u32, bool);

    impl Routing for Scripted<'_> {
        fn vcs(&self) -> u8 {
            2
        }
        fn packets_per_vc(&self) -> u32 {
            self.2
        }
        fn reserves_space(&self) -> bool {
            self.3
        }
        fn route(&self, at: At, _: &mut RouteState, _: &dyn Congestion, _: &mut dyn Random) -> Hop {
            (self.1)(self.0, at)[0]
        }
        fn options(&self, at: At, state: RouteState, out: &mut Vec<(Hop, RouteState)>) {
            out.extend((self.1)(self.0, at).into_iter().map(|hop| (hop, state)));
        }
    }

    const UP: Port = Port(1);

    fn hop(port: Port) -> Vec<Hop> {
        vec![Hop::new(port, 0)]
    }

    /// Leaves at the destination, otherwise follows the given options.
    fn deliver_or(topology: &dyn Topology, at: At, port: Port) -> Vec<Hop> {
        let (router, ejection) = topology.attachment(at.destination);
        hop(if router == at.router { ejection } else { port })
    }

    fn ring(kind: &str) -> Box<dyn Topology> {
        let text = format!("kind = \"{kind}\"\nsizes = [4]");
        topology::build(&Section::from_toml(&text, "x.toml").unwrap()).unwrap()
    }

    fn prove(kind: &str, rule: Rule) -> Result<DeadlockFree, NotProven> {
        let topology = ring(kind);
        prove_deadlock_free(&*topology, &Scripted(&*topology, rule, 1, true), 1000)
    }

    fn prove_with_slots(kind: &str, rule: Rule) -> Result<DeadlockFree, NotProven> {
        let topology = ring(kind);
        prove_deadlock_free(&*topology, &Scripted(&*topology, rule, 2, true), 1000)
    }

    fn fault(kind: &str, rule: Rule) -> Fault {
        match prove(kind, rule) {
            Err(NotProven::Misroute(misroute)) => misroute.fault,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_ring_without_dateline_has_its_cycle() {
        let Err(NotProven::Cycle(cycle)) = prove("torus", |t, at| deliver_or(t, at, UP)) else {
            panic!("no cycle");
        };
        assert_eq!(cycle.channels.len(), 4);
        for (channel, next) in cycle.channels.iter().zip(cycle.channels.iter().cycle().skip(1)) {
            assert_eq!(channel.to, next.router);
        }
        let text = cycle.to_string();
        assert!(text.contains("4 channels can wait on each other"), "{text}");
        assert!(
            text.contains("router 3 ((3)) port 1 VC 0 -> router 0 ((0))"),
            "{text}"
        );
    }

    #[test]
    fn decisions_that_lead_nowhere_are_found() {
        assert_eq!(fault("mesh", |t, at| deliver_or(t, at, UP)), Fault::Unwired(UP));
        assert_eq!(fault("torus", |_, _| hop(UP)), Fault::Endless);
        assert_eq!(fault("torus", |_, _| hop(Port(9))), Fault::NoSuchPort(Port(9)));
        assert_eq!(fault("torus", |_, _| hop(Port(0))), Fault::WrongHost(HostId(1)));
        assert_eq!(fault("torus", |_, _| vec![]), Fault::NoHop);
        assert_eq!(fault("torus", |_, _| vec![Hop::new(UP, 2)]), Fault::NoSuchVc(2));
        assert_eq!(
            fault("torus", |_, _| vec![Hop::new(Port(0), 1)]),
            Fault::NoSuchVc(1)
        );
    }

    const DOWN: Port = Port(2);

    fn by(claim: BufferClaim, port: Port, vc: u8) -> Hop {
        Hop { port, vc, claim }
    }

    /// Goes upwards round the ring and enters by bubble.
    fn round(topology: &dyn Topology, at: At, entrance: BufferClaim, inside: BufferClaim) -> Vec<Hop> {
        let claim = if at.input == DOWN { inside } else { entrance };
        match deliver_or(topology, at, UP)[0] {
            hop if hop.port == UP => vec![by(claim, UP, 0)],
            delivery => vec![delivery],
        }
    }

    #[test]
    fn a_ring_that_is_entered_by_bubbles_is_free_of_deadlock() {
        let proof = prove_with_slots("torus", |t, at| {
            round(t, at, BufferClaim::Bubble, BufferClaim::Credit)
        })
        .unwrap();
        assert_eq!((proof.channels, proof.dependencies, proof.rings), (4, 4, 1));
        assert_eq!(
            proof.to_string(),
            "deadlock free: 4 channels, 4 dependencies, acyclic but for 1 bubble ring"
        );
    }

    #[test]
    fn bubbles_help_only_at_all_entrances_and_not_inside() {
        let cycle = |rule: Rule| match prove_with_slots("torus", rule) {
            Err(NotProven::Cycle(cycle)) => cycle.channels.len(),
            other => panic!("{other:?}"),
        };
        assert_eq!(
            cycle(|t, at| round(t, at, BufferClaim::Credit, BufferClaim::Credit)),
            4
        );
        assert_eq!(
            cycle(|t, at| round(t, at, BufferClaim::Bubble, BufferClaim::Bubble)),
            4
        );
        // One host of four does not leave a bubble.
        let careless: Rule = |t, at| {
            let careful = at.router != RouterId(2);
            let entrance = if careful {
                BufferClaim::Bubble
            } else {
                BufferClaim::Credit
            };
            round(t, at, entrance, BufferClaim::Credit)
        };
        assert_eq!(cycle(careless), 4);
        // One packet takes any free space.
        let greedy: Rule = |t, at| {
            let mut hops = round(t, at, BufferClaim::Bubble, BufferClaim::Credit);
            if at.input == Port(0) && hops[0].port == UP {
                hops.push(by(BufferClaim::Reserved, UP, 0));
            }
            hops
        };
        assert_eq!(cycle(greedy), 4);
        // Another entry starts from VC 1.
        let second_way: Rule = |t, at| match round(t, at, BufferClaim::Credit, BufferClaim::Credit)[0] {
            hop if hop.port != UP => vec![hop],
            _ if at.input == Port(0) => vec![by(BufferClaim::Bubble, UP, 0), by(BufferClaim::Credit, UP, 1)],
            _ => vec![by(BufferClaim::Credit, UP, 0)],
        };
        assert_eq!(cycle(second_way), 4);
    }

    #[test]
    fn bubbles_need_buffers_that_can_have_them() {
        let rule: Rule = |t, at| round(t, at, BufferClaim::Bubble, BufferClaim::Credit);
        assert_eq!(fault("torus", rule), Fault::NoRoomForBubbles);
    }

    /// Goes round the torus on VC 1 while there is space, otherwise on VC 0 along the rest of the ring without its
    /// last link.
    fn adaptive(topology: &dyn Topology, at: At) -> Vec<Hop> {
        let hops = deliver_or(topology, at, UP);
        let target = topology.attachment(at.destination).0;
        match target.0.cmp(&at.router.0) {
            std::cmp::Ordering::Equal => hops,
            std::cmp::Ordering::Greater => {
                vec![by(BufferClaim::Reserved, UP, 1), by(BufferClaim::Credit, UP, 0)]
            }
            std::cmp::Ordering::Less => vec![
                by(BufferClaim::Reserved, DOWN, 1),
                by(BufferClaim::Credit, DOWN, 0),
            ],
        }
    }

    #[test]
    fn an_acyclic_escape_frees_adaptive_channels_from_deadlock() {
        let proof = prove("torus", adaptive).unwrap();
        assert_eq!((proof.channels, proof.adaptive, proof.dependencies), (12, 6, 4));
        assert_eq!(
            proof.to_string(),
            "deadlock free: escape subnetwork of 6 channels, 4 dependencies, acyclic (Duato); 6 adaptive channels"
        );
        // Adaptive channels may form cycles if no packet waits for them.
        let with_cycle = |round: BufferClaim| -> Result<DeadlockFree, NotProven> {
            let rules: [Rule; 2] = [
                |t, at| round_or_home(t, at, BufferClaim::Reserved),
                |t, at| round_or_home(t, at, BufferClaim::Credit),
            ];
            prove("torus", rules[usize::from(round == BufferClaim::Credit)])
        };
        let proof = with_cycle(BufferClaim::Reserved).unwrap();
        assert_eq!((proof.channels, proof.adaptive), (10, 4));
        assert!(matches!(
            with_cycle(BufferClaim::Credit),
            Err(NotProven::Cycle(_))
        ));
    }

    /// Goes upwards round the ring on VC 1, or along the line on VC 0 until the end.
    fn round_or_home(topology: &dyn Topology, at: At, round: BufferClaim) -> Vec<Hop> {
        let line = adaptive(topology, at).pop().expect("a hop");
        if line.port.0 == 0 || (at.vc == 0 && at.input.0 != 0) {
            return vec![line];
        }
        vec![line, by(round, UP, 1)]
    }

    #[test]
    fn hops_that_need_free_space_are_declared() {
        let topology = ring("torus");
        let silent = Scripted(&*topology, adaptive, 1, false);
        match prove_deadlock_free(&*topology, &silent, 1000) {
            Err(NotProven::Misroute(misroute)) => assert_eq!(misroute.fault, Fault::UndeclaredReservation),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn reserved_space_needs_an_escape() {
        let none: Rule = |t, at| match deliver_or(t, at, UP)[0] {
            hop if hop.port == UP => vec![by(BufferClaim::Reserved, UP, 1)],
            delivery => vec![delivery],
        };
        assert_eq!(fault("torus", none), Fault::NoEscape);
        // A cycle is no escape.
        let round: Rule = |t, at| match deliver_or(t, at, UP)[0] {
            hop if hop.port == UP => vec![by(BufferClaim::Reserved, UP, 1), by(BufferClaim::Credit, UP, 0)],
            delivery => vec![delivery],
        };
        assert!(matches!(prove("torus", round), Err(NotProven::Cycle(_))));
    }

    #[test]
    fn a_limit_ends_the_proof() {
        let topology = ring("torus");
        let routing = Scripted(&*topology, |t, at| deliver_or(t, at, UP), 1, true);
        for max_states in [0, 1, 15, 16, 20] {
            assert_eq!(
                prove_deadlock_free(&*topology, &routing, max_states),
                Err(NotProven::TooLarge { max_states })
            );
        }
    }

    #[test]
    fn a_line_is_free_of_deadlock() {
        let there_and_back: Rule = |t, at| {
            let down = Port(2);
            deliver_or(t, at, if at.destination.0 > at.router.0 { UP } else { down })
        };
        let proof = prove("mesh", there_and_back).unwrap();
        assert_eq!(
            proof,
            DeadlockFree {
                channels: 6,
                adaptive: 0,
                dependencies: 4,
                rings: 0,
                // There are 16 pairs at their source, and three links towards each destination.
                states: 28,
                longest_route: 3,
                ordered: false,
            }
        );
    }

    /// A line whose channels are numbered by position, with a rule for the VCs.
    struct Line<'a>(Scripted<'a>, fn(u8) -> u64);

    impl Routing for Line<'_> {
        fn vcs(&self) -> u8 {
            2
        }
        fn reserves_space(&self) -> bool {
            true
        }
        fn channel_order(&self, router: RouterId, port: Port, vc: u8) -> Option<u64> {
            let along = if port == UP { router.0 } else { 3 - router.0 };
            Some((self.1)(vc) + u64::from(along))
        }
        fn route(
            &self,
            at: At,
            state: &mut RouteState,
            load: &dyn Congestion,
            random: &mut dyn Random,
        ) -> Hop {
            self.0.route(at, state, load, random)
        }
        fn options(&self, at: At, state: RouteState, out: &mut Vec<(Hop, RouteState)>) {
            self.0.options(at, state, out);
        }
    }

    fn rising(topology: &dyn Topology, at: At) -> Vec<Hop> {
        let up = at.destination.0 > at.router.0;
        deliver_or(topology, at, if up { UP } else { DOWN })
    }

    #[test]
    fn an_order_is_compared_with_the_decisions() {
        let line = ring("mesh");
        let of = |rule: Rule, number: fn(u8) -> u64| {
            let routing = Line(Scripted(&*line, rule, 1, true), number);
            let whole = prove_deadlock_free(&*line, &routing, 1000).map(|proof| proof.ordered);
            (
                check_order(&*line, &routing, 1000).map(|seen| seen.is_some()),
                whole,
            )
        };
        assert_eq!(of(rising, |_| 1), (Ok(true), Ok(true)));
        let seen = check_order(&*line, &Line(Scripted(&*line, rising, 1, true), |_| 1), 50).unwrap();
        let seen = seen.unwrap();
        assert!(seen.hops >= 50 && seen.paths > 10, "{seen:?}");
        assert!(check_order(&*line, &Scripted(&*line, rising, 1, true), 50) == Ok(None));
        // The VC falls behind the first link.
        let falling: Rule = |t, at| {
            let mut hops = rising(t, at);
            if at.input == Port(0) && hops[0].port != Port(0) {
                hops[0].vc = 1;
            }
            hops
        };
        let (sampled, whole) = of(falling, |vc| 10 * u64::from(vc));
        assert!(matches!(sampled, Err(NotProven::Unordered(_))), "{sampled:?}");
        assert_eq!(whole, Ok(false));
        // A packet never waits for a channel in which it reserves space.
        let reserved: Rule = |t, at| {
            let mut hops = rising(t, at);
            if hops[0].port != Port(0) {
                hops.push(by(BufferClaim::Reserved, hops[0].port, 1));
            }
            hops
        };
        let adaptive_first = |vc: u8| if vc == 1 { 0 } else { 10 };
        assert_eq!(of(reserved, adaptive_first), (Ok(true), Ok(true)));
        // Decisions that lead nowhere are found here, too.
        let lost: Rule = |t, at| deliver_or(t, at, UP);
        assert!(matches!(of(lost, |_| 1).0, Err(NotProven::Misroute(_))));
    }

    #[test]
    fn the_shortest_cycle_is_reported() {
        // The cycle is 0 -> 1 -> 2 -> 3 -> 0 with the chord 2 -> 1 and a tail.
        let graph = [vec![1], vec![2], vec![3, 1], vec![0, 4], vec![]];
        let mut cycle = shortest_cycle(&graph).unwrap();
        cycle.sort();
        assert_eq!(cycle, [1, 2]);
        assert_eq!(shortest_cycle(&[vec![1], vec![2], vec![]]), None);
        assert_eq!(shortest_cycle(&[vec![0]]), Some(vec![0]));
    }
}
