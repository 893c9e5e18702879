//! Routing: the next port and virtual channel of a packet. Sees a topology and the congestion of its own router, but
//! no queues and no time.
//!
//! One algorithm is one file and one line in [`REGISTRY`].

mod adaptive;
mod channel_order;
mod choice;
mod dal;
mod deadlock;
mod destination_mod_k;
mod dimension_order;
mod doal;
mod equal_paths;
mod fixed;
mod group_parts;
mod groups;
mod link_counts;
mod load_metric;
mod minimal;
mod minimal_adaptive;
mod minimal_in_groups;
mod par;
mod path_parts;
mod phases;
mod piggyback;
mod planes;
mod registry;
mod reports;
mod ring_protection;
mod rings;
mod router_parts;
mod scatter;
mod segments;
mod source_destination_hashed;
mod tree_parts;
mod ugal;
mod valiant;
mod weight;

pub use deadlock::{
    Channel, Cycle, DeadlockFree, Fault, Misroute, NotProven, Ordered, check_order, prove_deadlock_free,
};
pub use load_metric::{LoadMetric, LoadQuantity, LoadScope};
pub use path_parts::{HeldChannel, HopEnd, OrderedPaths, PathVisitor, Unvisited, prove_by_parts};
pub use planes::InPlanes;
pub use registry::{Algorithm, Build, REGISTRY, build};
pub use reports::Reports;

use topology::{HostId, Port, RouterId};

/// The routing state of a packet; zero at injection. Each algorithm defines the meaning of the fields.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct RouteState {
    /// For example the intermediate group of Valiant routing.
    pub via: u32,
    /// For example which of several paths it takes.
    pub path: u16,
    /// For example how many global links the packet has crossed.
    pub phase: u8,
    /// Flags, for example "the decision has been taken".
    pub flags: u8,
}

/// One step: leave through `port` on virtual channel `vc` (the VC of the buffer at the far end).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Output port.
    pub port: Port,
    /// Virtual channel; always 0 towards a host.
    pub vc: u8,
    /// The claim on the buffer at the far end.
    pub claim: BufferClaim,
}

/// The way in which a packet obtains space in the buffer at the far end of a hop.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum BufferClaim {
    /// Space for the packet, for which it waits in a queue.
    #[default]
    Credit,
    /// Space that was free when the hop was chosen ([`Congestion::free_space`]) and is reserved for the packet. The
    /// packet never waits.
    Reserved,
    /// Space for the packet and for one more packet of the largest size, for which it waits in a queue (bubble flow
    /// control).
    Bubble,
}

impl Hop {
    /// A hop for which a packet waits until there is space.
    #[inline]
    pub fn new(port: Port, vc: u8) -> Hop {
        Hop {
            port,
            vc,
            claim: BufferClaim::Credit,
        }
    }
}

/// The position of a packet, its source and its destination.
#[derive(Clone, Copy, Debug)]
pub struct At {
    /// The router that decides.
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
    /// The position of a packet whose source and input have no effect.
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

/// A router's view of the congestion at its own ports.
pub trait Congestion {
    /// Bytes that wait for this output port, are in flight to the next router or are buffered there, according to
    /// credits, over all VCs.
    fn load(&self, port: Port) -> u64;

    /// The load of this port by a metric, in bytes, for a packet that would take this VC of the buffer behind it.
    ///
    /// The default is [`Congestion::load`], for views without other metrics: a router model says whether it has them,
    /// and others are refused with routing of another [`Routing::load_metric`].
    fn load_by(&self, metric: LoadMetric, port: Port, vc: u8) -> u64 {
        let _ = (metric, vc);
        self.load(port)
    }

    /// Bytes of free space on a VC of the buffer behind this port that no packet has taken, reserved or waits for:
    /// the space that a packet with [`BufferClaim::Reserved`] can have. 0 if it is too small for the packet that
    /// asks, so that any other value suffices.
    fn free_space(&self, port: Port, vc: u8) -> u64;

    /// A reported load of another router, in bytes, rounded up to units of [`Reports::UNIT`]; see
    /// [`Routing::reports`]. 0 without a report.
    fn reported_load(&self, index: usize) -> u64 {
        let _ = index;
        0
    }
}

/// A random stream of the router that decides.
pub trait Random {
    /// A number from `0..bound`, `bound >= 1`.
    fn below(&mut self, bound: u32) -> u32;
}

/// A routing algorithm on a given topology.
pub trait Routing: Send + Sync {
    /// Number of virtual channels that it needs on links between routers.
    fn vcs(&self) -> u8;

    /// The load reports between routers; `None` for most algorithms.
    fn reports(&self) -> Option<&Reports> {
        None
    }

    /// The metric by which it compares the loads of its router's ports.
    fn load_metric(&self) -> LoadMetric {
        LoadMetric::DEFAULT
    }

    /// The load of a minimal path's port, in bytes, above which a packet may take a detour over idle links; 0 if any
    /// load is enough. `None` if no loads of minimal and other paths are compared.
    fn detour_load(&self) -> Option<u64> {
        None
    }

    /// Number of packets of the largest size that every VC must hold: 2 if hops need bubbles
    /// ([`BufferClaim::Bubble`]). Buffers between routers are then divided into slots of that size.
    fn packets_per_vc(&self) -> u32 {
        1
    }

    /// Whether hops may need space that is free when they are chosen ([`BufferClaim::Reserved`]).
    fn reserves_space(&self) -> bool {
        false
    }

    /// A number of the channel `vc` behind a port that leads to a router, such that every packet takes the channels
    /// for which it waits in rising order, after channels of any numbers in which it has reserved space. Then no
    /// cycle of waiting packets can close (W. J. Dally, C. L. Seitz, 1987). `None` if the algorithm knows no such
    /// order. [`check_order`] compares it with the decisions.
    fn channel_order(&self, router: RouterId, port: Port, vc: u8) -> Option<u64> {
        let _ = (router, port, vc);
        None
    }

    /// Tells the visitor the parts of all paths, from the functions that decide about packets: all pairs of channels
    /// of which a packet can hold the first and ask for the second, for any loads and draws, and perhaps others. For
    /// networks in which [`Routing::options`] has too many situations.
    ///
    /// # Errors
    /// The visitor stops, or the algorithm does not know the parts of its paths (the default).
    fn visit_paths(&self, visitor: &mut dyn PathVisitor) -> Result<(), Unvisited> {
        let _ = visitor;
        Err(Unvisited::Unknown)
    }

    /// Decides the next hop, once per packet and router. `state` travels with the packet.
    fn route(
        &self,
        at: At,
        state: &mut RouteState,
        congestion: &dyn Congestion,
        random: &mut dyn Random,
    ) -> Hop;

    /// The VC of the link to the destination's host for a packet that [`Routing::route`] has just sent there, with the
    /// state after that; `None` if any will do. For router models that let routing choose it.
    fn host_vc(&self, at: At, state: RouteState) -> Option<u8> {
        let _ = (at, state);
        None
    }

    /// The port that [`Routing::route`] will choose in this situation, if it depends neither on congestion nor on
    /// random numbers and is cheap to compute. For lookahead, and for prefetching the memory of the port.
    fn predicted_port(&self, at: At, state: RouteState) -> Option<Port> {
        let _ = (at, state);
        None
    }

    /// All hops that [`Routing::route`] can choose in this situation, with their next state, for any congestion and
    /// random numbers. The deadlock proof visits them.
    ///
    /// Where the packet enters the network (`at.input` leads to a host) the result may depend on `at.source`. At
    /// later routers it depends only on `state`, so that the proof need not distinguish packets of different sources
    /// in the same situation.
    fn options(&self, at: At, state: RouteState, out: &mut Vec<(Hop, RouteState)>);

    /// The dependence of paths if they are independent of congestion; [`Routing::chances`] then gives them.
    fn oblivious(&self) -> Option<Oblivious> {
        None
    }

    /// All ports that a packet to `destination` can take at `router`, with its next state and the probability of
    /// each. Probabilities add up to 1. Only for algorithms that are [`Routing::oblivious`].
    ///
    /// Choices by a hash of source and destination count as random and even. States are private to this method: the
    /// first call gets the state at injection, later calls a state that it returned. A state may omit whatever no
    /// later port depends on, so that packets of many sources share few situations.
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

/// The dependence of packet paths that are independent of congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Oblivious {
    /// Whether paths differ between destination hosts of one router.
    pub by_host: bool,
    /// Whether paths depend only on the relation of routers: a permutation of the routers of a
    /// [`topology::Topology::is_symmetric`] network that keeps links and their classes maps the paths of packets,
    /// with their probabilities, to those between the permuted routers.
    pub symmetric: bool,
}

impl Oblivious {
    /// Paths depend only on source and destination router.
    const BETWEEN_ROUTERS: Oblivious = Oblivious {
        by_host: false,
        symmetric: false,
    };

    /// Paths depend only on the relation of these routers.
    const SYMMETRIC: Oblivious = Oblivious {
        by_host: false,
        symmetric: true,
    };

    /// Paths depend on the destination's number, too.
    const BY_HOST: Oblivious = Oblivious {
        by_host: true,
        symmetric: false,
    };
}

/// Maps two numbers to 32 bits that look random (the finaliser of MurmurHash3, 64 bits), to spread packets over equal
/// paths by source and destination.
pub fn spread(a: u32, b: u32) -> u32 {
    let mut bits = u64::from(a) << 32 | u64::from(b);
    bits = (bits ^ bits >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    bits = (bits ^ bits >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    (bits >> 32) as u32
}
