//! Routing: the next port and virtual channel of a packet. Sees a topology and the congestion of its
//! own router, nothing else: no queues, no time.
//!
//! One algorithm is one file and one line in [`REGISTRY`].

mod adaptive;
mod choice;
mod dal;
mod deadlock;
mod destination_mod_k;
mod dimension_order;
mod doal;
mod fixed;
mod groups;
mod minimal;
mod minimal_adaptive;
mod par;
mod piggyback;
mod planes;
mod registry;
mod reports;
mod rings;
mod scatter;
mod segments;
mod source_destination_hashed;
mod ugal;
mod valiant;

pub use deadlock::{Channel, Cycle, DeadlockFree, Fault, Misroute, NotProven, prove_deadlock_free};
pub use planes::InPlanes;
pub use registry::{Algorithm, Build, REGISTRY, build};
pub use reports::Reports;

use topology::{HostId, Port, RouterId};

/// What a packet carries for its routing; zero at injection. Each algorithm gives the fields their
/// meaning.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct RouteState {
    /// For example the intermediate group of Valiant routing.
    pub via: u32,
    /// For example which of several paths it takes.
    pub path: u16,
    /// For example how many global links the packet has crossed.
    pub phase: u8,
    /// Bits of the algorithm's own, for example "the decision has been taken".
    pub flags: u8,
}

/// One step: leave through `port` on virtual channel `vc` (the VC of the buffer at the far end).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Output port.
    pub port: Port,
    /// Virtual channel; always 0 on the way to a host.
    pub vc: u8,
    /// What the packet needs at the far end.
    pub claim: BufferClaim,
}

/// What a packet needs to enter the buffer at the far end of a hop.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum BufferClaim {
    /// Room for itself; it waits for that in line.
    #[default]
    Credit,
    /// The room that was there when the hop was chosen ([`Congestion::room`]), and is kept for it: it never
    /// waits for others to move on.
    Reserved,
    /// Room for itself and one more packet of the largest size; it waits for that in line (bubble flow
    /// control).
    Bubble,
}

impl Hop {
    /// A hop for which a packet waits until there is room.
    #[inline]
    pub fn new(port: Port, vc: u8) -> Hop {
        Hop {
            port,
            vc,
            claim: BufferClaim::Credit,
        }
    }
}

/// Where a packet is and where it goes.
#[derive(Clone, Copy, Debug)]
pub struct At {
    /// The router that asks.
    pub router: RouterId,
    /// The port through which the packet came in.
    pub input: Port,
    /// The VC on which it came in.
    pub vc: u8,
    /// The sending host.
    pub source: HostId,
    /// The host it goes to.
    pub destination: HostId,
}

impl At {
    /// A packet whose source and input do not matter.
    fn anyone(router: RouterId, destination: HostId) -> At {
        At {
            router,
            input: Port(0),
            vc: 0,
            source: destination,
            destination,
        }
    }
}

/// What a router knows of the congestion at its own ports.
pub trait Congestion {
    /// Bytes that wait for this output port or are on their way to, or buffered in, the router behind
    /// it, as far as credits tell, over all VCs.
    fn load(&self, port: Port) -> u64;

    /// Bytes of room on a VC of the buffer behind this port that no packet has taken, been promised or waits
    /// for: what a packet with [`BufferClaim::Reserved`] can have. 0 if that is too little for the packet that asks, so
    /// that any room will do.
    fn room(&self, port: Port, vc: u8) -> u64;

    /// A load as the router has been told it, in bytes, rounded up to units of [`Reports::UNIT`]; see
    /// [`Routing::reports`]. 0 for what nobody has told.
    fn reported_load(&self, slot: usize) -> u64 {
        let _ = slot;
        0
    }
}

/// A stream of random numbers of the router that asks.
pub trait Random {
    /// A number from `0..bound`, `bound >= 1`.
    fn below(&mut self, bound: u32) -> u32;
}

/// A routing algorithm on a given topology.
pub trait Routing: Send + Sync {
    /// Number of virtual channels it needs on links between routers.
    fn vcs(&self) -> u8;

    /// What routers are to tell each other; none for most algorithms.
    fn reports(&self) -> Option<&Reports> {
        None
    }

    /// Packets of the largest size for which every VC must have room: 2 if hops need bubbles
    /// ([`BufferClaim::Bubble`]). Buffers between routers are then divided into slots of that size.
    fn packets_per_vc(&self) -> u32 {
        1
    }

    /// Decides the next hop, once per packet and router. `state` travels with the packet.
    fn route(
        &self,
        at: At,
        state: &mut RouteState,
        congestion: &dyn Congestion,
        random: &mut dyn Random,
    ) -> Hop;

    /// The port that [`Routing::route`] will choose in this situation, whatever the congestion and the random
    /// numbers; none where they decide, or where it is not worth finding out twice. A hint: whoever asks wants
    /// the port's memory to be near when its packet comes.
    fn predicted_port(&self, at: At, state: RouteState) -> Option<Port> {
        let _ = (at, state);
        None
    }

    /// All hops that [`Routing::route`] can choose in this situation with their next state, whatever the
    /// congestion and the random numbers: what the deadlock proof walks.
    ///
    /// Where the packet enters the network (`at.input` leads to a host) the answer may depend on
    /// `at.source`; at later routers only on what `state` has kept of it, so that the proof need not tell
    /// apart packets of different sources that are in the same situation.
    fn options(&self, at: At, state: RouteState, out: &mut Vec<(Hop, RouteState)>);

    /// What the ways of packets depend on, if not on congestion: then [`Routing::chances`] gives them.
    fn oblivious(&self) -> Option<Oblivious> {
        None
    }

    /// All ports that a packet to `destination` can take at `router`, with its next state and the
    /// probability of each; they add up to 1. Only for algorithms that are [`Routing::oblivious`].
    ///
    /// Choices by a hash of source and destination count as random and even. The states are a matter between
    /// calls of this method: the first one is given the state at injection, the others what it has returned,
    /// which may leave out what [`Routing::route`] needs only to remember such choices, and anything else that
    /// no later port depends on. So packets of many sources come together in few situations.
    fn chances(
        &self,
        router: RouterId,
        destination: HostId,
        state: RouteState,
        out: &mut Vec<(Port, RouteState, f64)>,
    ) {
        let _ = (router, destination, state, out);
        unreachable!("only oblivious algorithms are asked for their chances")
    }
}

/// A port that a packet can take, its next state, and the probability.
type Chance = (Port, RouteState, f64);

/// What the ways of packets depend on, if not on congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Oblivious {
    /// Whether they differ between hosts of one router to which packets go.
    pub by_host: bool,
    /// Whether routers have no say but by what they are to each other: a permutation of the routers of a
    /// [`topology::Topology::is_symmetric`] network that keeps links and their classes takes the ways of
    /// packets, with their probabilities, to those between the permuted routers.
    pub symmetric: bool,
}

impl Oblivious {
    /// Ways depend only on the routers between which packets go.
    const BETWEEN_ROUTERS: Oblivious = Oblivious {
        by_host: false,
        symmetric: false,
    };

    /// Ways depend only on what these routers are to each other.
    const SYMMETRIC: Oblivious = Oblivious {
        by_host: false,
        symmetric: true,
    };

    /// Ways depend on the destination's number, too.
    const BY_HOST: Oblivious = Oblivious {
        by_host: true,
        symmetric: false,
    };
}

/// Maps two numbers to 32 bits that look random (the finaliser of MurmurHash3, 64 bits): spreads packets
/// over equal paths by who sends them to whom.
pub fn spread(a: u32, b: u32) -> u32 {
    let mut bits = u64::from(a) << 32 | u64::from(b);
    bits = (bits ^ bits >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    bits = (bits ^ bits >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    (bits >> 32) as u32
}
