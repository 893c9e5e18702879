//! The parts of paths that algorithms tell: they include all that the deadlock proof of small networks finds, and a
//! fault in them is found in networks of any size.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

use fabricsim_routing::*;
use topology::{Peer, Port, RouterId, Shape, Topology};

use crate::walk::{network, routing};

type Pair = (HeldChannel, HeldChannel);

/// A routing whose decisions are recorded: the channels that packets hold, each with one for which they wait.
pub struct Recorded<'a> {
    topology: &'a dyn Topology,
    routing: &'a dyn Routing,
    pairs: Mutex<HashSet<Pair>>,
}

impl<'a> Recorded<'a> {
    pub fn new(topology: &'a dyn Topology, routing: &'a dyn Routing) -> Self {
        Recorded {
            topology,
            routing,
            pairs: Mutex::default(),
        }
    }
}

impl Routing for Recorded<'_> {
    fn vcs(&self) -> u8 {
        self.routing.vcs()
    }
    fn packets_per_vc(&self) -> u32 {
        self.routing.packets_per_vc()
    }
    fn reserves_space(&self) -> bool {
        self.routing.reserves_space()
    }
    fn channel_order(&self, router: RouterId, port: Port, vc: u8) -> Option<u64> {
        self.routing.channel_order(router, port, vc)
    }
    fn route(&self, at: At, state: &mut RouteState, load: &dyn Congestion, random: &mut dyn Random) -> Hop {
        self.routing.route(at, state, load, random)
    }
    fn options(&self, at: At, state: RouteState, out: &mut Vec<(Hop, RouteState)>) {
        let from = out.len();
        self.routing.options(at, state, out);
        let Peer::Router(before, port) = self.topology.peer(at.router, at.input) else {
            return;
        };
        let held = (before, port, at.vc);
        let mut pairs = self.pairs.lock().unwrap();
        for (hop, _) in &out[from..] {
            let is_link = matches!(self.topology.peer(at.router, hop.port), Peer::Router(..));
            if is_link && hop.claim != BufferClaim::Reserved {
                pairs.insert((held, (at.router, hop.port, hop.vc)));
            }
        }
    }
}

/// The pairs inside the parts, and the channels at the two sides of junctions.
struct Told<'a> {
    topology: &'a dyn Topology,
    pairs: HashSet<Pair>,
    ends: HashMap<(u8, RouterId), HashSet<HeldChannel>>,
    begins: HashMap<(u8, RouterId), HashSet<HeldChannel>>,
}

impl Told<'_> {
    fn arrive(&self, router: RouterId, hop: Hop) -> HopEnd {
        let Peer::Router(next, _) = self.topology.peer(router, hop.port) else {
            panic!("{router:?} {hop:?} is no hop to a router");
        };
        HopEnd {
            held: (router, hop.port, hop.vc),
            number: 0,
            router: next,
        }
    }

    fn has(&self, pair: Pair) -> bool {
        let (held, asked) = pair;
        let through_junction = |(at, ends): (&(u8, RouterId), &HashSet<HeldChannel>)| {
            at.1 == asked.0
                && ends.contains(&held)
                && self.begins.get(at).is_some_and(|begins| begins.contains(&asked))
        };
        self.pairs.contains(&pair)
            || (0..=u8::MAX)
                .filter_map(|junction| self.ends.get_key_value(&(junction, asked.0)))
                .any(through_junction)
    }
}

impl PathVisitor for Told<'_> {
    fn begin(&mut self, junctions: &[u8], router: RouterId, hop: Hop) -> Result<HopEnd, Unvisited> {
        let next = self.arrive(router, hop);
        for junction in junctions {
            self.begins
                .entry((*junction, router))
                .or_default()
                .insert(next.held);
        }
        Ok(next)
    }
    fn go_on(&mut self, at: HopEnd, hop: Hop) -> Result<HopEnd, Unvisited> {
        let next = self.arrive(at.router, hop);
        self.pairs.insert((at.held, next.held));
        Ok(next)
    }
    fn end(&mut self, at: HopEnd, junction: u8) {
        self.ends
            .entry((junction, at.router))
            .or_default()
            .insert(at.held);
    }
}

/// Compares the parts of a routing, if it knows them, with all its recorded decisions. Whether it knows them.
pub fn check(recorded: Recorded<'_>, what: &str) -> bool {
    let Recorded {
        topology, routing, ..
    } = recorded;
    let mut told = Told {
        topology,
        pairs: HashSet::new(),
        ends: HashMap::new(),
        begins: HashMap::new(),
    };
    match routing.visit_paths(&mut told) {
        Ok(()) => {}
        Err(failure) => {
            assert_eq!(failure, Unvisited::Unknown, "{what}");
            assert_eq!(prove_by_parts(topology, routing, u64::MAX), Ok(None), "{what}");
            return false;
        }
    }
    for pair in recorded.pairs.into_inner().unwrap() {
        assert!(told.has(pair), "{what}: {pair:?} is not told");
    }
    match prove_by_parts(topology, routing, u64::MAX) {
        Ok(Some(_)) => true,
        other => panic!("{what}: {other:?}"),
    }
}

/// A routing with a fault in some of its hops.
struct Faulty<'a, F: Fn(RouterId, Hop) -> Hop> {
    routing: &'a dyn Routing,
    /// VCs that it declares.
    vcs: u8,
    fault: F,
}

struct WithFault<'a, F> {
    visitor: &'a mut dyn PathVisitor,
    fault: F,
}

impl<F: Fn(RouterId, Hop) -> Hop> PathVisitor for WithFault<'_, F> {
    fn begin(&mut self, junctions: &[u8], router: RouterId, hop: Hop) -> Result<HopEnd, Unvisited> {
        self.visitor.begin(junctions, router, (self.fault)(router, hop))
    }
    fn go_on(&mut self, at: HopEnd, hop: Hop) -> Result<HopEnd, Unvisited> {
        self.visitor.go_on(at, (self.fault)(at.router, hop))
    }
    fn end(&mut self, at: HopEnd, junction: u8) {
        self.visitor.end(at, junction);
    }
}

impl<F: Fn(RouterId, Hop) -> Hop + Send + Sync> Routing for Faulty<'_, F> {
    fn vcs(&self) -> u8 {
        self.vcs
    }
    fn channel_order(&self, router: RouterId, port: Port, vc: u8) -> Option<u64> {
        self.routing.channel_order(router, port, vc)
    }
    fn visit_paths(&self, visitor: &mut dyn PathVisitor) -> Result<(), Unvisited> {
        let fault = &self.fault;
        self.routing.visit_paths(&mut WithFault { visitor, fault })
    }
    fn route(&self, at: At, state: &mut RouteState, load: &dyn Congestion, random: &mut dyn Random) -> Hop {
        (self.fault)(at.router, self.routing.route(at, state, load, random))
    }
    fn options(&self, at: At, state: RouteState, out: &mut Vec<(Hop, RouteState)>) {
        self.routing.options(at, state, out);
        out.iter_mut()
            .for_each(|(hop, _)| *hop = (self.fault)(at.router, *hop));
    }
}

const LARGE: &[&str] = &[
    "kind = \"dragonfly\"\nhosts_per_router = 4\nrouters_per_group = 8\nglobal_links_per_router = 4",
    "kind = \"dragonfly-2d\"\nhosts_per_router = 2\nrows = 4\ncolumns = 4\nglobal_links_per_router = 2",
    "kind = \"dragonfly-plus\"\nhosts_per_leaf = 8\nleaves_per_group = 8\nglobal_links_per_spine = 4",
    "kind = \"fat-tree\"\nradix = 16",
    "kind = \"torus\"\nsizes = [8, 8, 16]",
    "kind = \"mesh\"\nsizes = [32, 32]",
    "kind = \"hyperx\"\nshape = [8, 8]\nwidth = [1, 2]\nhosts_per_router = 16",
    "kind = \"slim-fly\"\nq = 11\nhosts_per_router = 5",
    "kind = \"express-mesh\"\nsizes = [16, 16]\ngap = [4, 4]\nhosts_per_router = 4",
];

/// Algorithms that tell the parts of their paths with default parameters.
const WITH_PARTS: &[&str] = &[
    "adaptive",
    "dal",
    "destination-mod-k",
    "dimension-order",
    "doal",
    "minimal",
    "minimal-adaptive",
    "par",
    "piggyback",
    "scatter",
    "source-destination-hashed",
    "ugal",
    "valiant",
];

/// Every detour in networks of about 1,000 hosts, far more than the proof of all situations can visit.
#[test]
fn detours_in_large_networks_are_proven_by_parts() {
    for toml in LARGE {
        let topology = network(toml);
        for name in WITH_PARTS {
            let algorithm = REGISTRY.iter().find(|algorithm| algorithm.name == *name).unwrap();
            if !(algorithm.routes)(&topology.shape()) {
                continue;
            }
            let routing = routing(name, "", &topology);
            if *name == "dimension-order" && matches!(topology.shape(), Shape::Graph(_)) {
                continue;
            }
            let proof = prove_by_parts(&*topology, &*routing, 100_000_000);
            let proof = proof.unwrap_or_else(|failure| panic!("{name} on {toml}: {failure}"));
            let hops = proof.expect("known parts").hops;
            assert!(hops >= topology.router_links(), "{name} on {toml}: {hops}");
            assert!(matches!(
                prove_by_parts(&*topology, &*routing, hops - 1),
                Err(NotProven::TooLarge { .. })
            ));
        }
    }
}

#[test]
fn a_wrong_vc_in_one_group_is_found() {
    for toml in &LARGE[..3] {
        let topology = network(toml);
        let Shape::Groups(groups) = topology.shape() else {
            panic!("no groups")
        };
        let of_group = groups.routers_per_group();
        for name in ["minimal", "valiant", "ugal", "par", "piggyback"] {
            let routing = routing(name, "", &topology);
            let highest = routing.vcs() - 1;
            // In group 3 alone, packets take the lowest VC where they should take the highest one.
            let fault = |router: RouterId, hop: Hop| match router.0 / of_group == 3 && hop.vc == highest {
                true => Hop { vc: 0, ..hop },
                false => hop,
            };
            let faulty = Faulty {
                routing: &*routing,
                vcs: routing.vcs(),
                fault,
            };
            match prove_by_parts(&*topology, &faulty, u64::MAX) {
                Err(NotProven::Unordered(channels)) => {
                    let router = channels[1].router;
                    assert_eq!(router.0 / of_group, 3, "{name} on {toml}");
                }
                other => panic!("{name} on {toml}: {other:?}"),
            }
        }
    }
}

/// The highest VC is left out: its packets use the one below.
#[test]
fn one_vc_too_few_is_found() {
    for toml in LARGE {
        let topology = network(toml);
        // A tree needs one VC only.
        if matches!(topology.shape(), Shape::Tree(_)) {
            continue;
        }
        let routing = routing("valiant", "", &topology);
        let vcs = routing.vcs() - 1;
        let merged = Faulty {
            routing: &*routing,
            vcs,
            fault: |_, hop: Hop| Hop {
                vc: hop.vc.min(vcs - 1),
                ..hop
            },
        };
        let proof = prove_by_parts(&*topology, &merged, u64::MAX);
        assert!(matches!(proof, Err(NotProven::Unordered(_))), "{toml}: {proof:?}");
        // Packets that use a VC that is not there are found, too.
        let undeclared = Faulty {
            routing: &*routing,
            vcs,
            fault: |_, hop| hop,
        };
        match prove_by_parts(&*topology, &undeclared, u64::MAX) {
            Err(NotProven::NoChannel { vc, .. }) => assert_eq!(vc, vcs, "{toml}"),
            other => panic!("{toml}: {other:?}"),
        }
    }
}
