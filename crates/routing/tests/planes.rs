//! Routing in several planes equals routing in one plane, in each of them.

use std::sync::Arc;

use config::Section;
use fabricsim_routing::*;
use topology::{HostId, Peer, Planes, Port, RouterId, Topology};

const PLANES: u32 = 3;

/// Networks with all their routings.
const NETWORKS: &[(&str, &[&str])] = &[
    (
        "kind = \"dragonfly\"\nhosts_per_router = 1\nrouters_per_group = 4\nglobal_links_per_router = 2\ngroups = 6",
        &["minimal", "ugal", "par"],
    ),
    (
        "kind = \"fat-tree\"\nradix = 4",
        &[
            "adaptive",
            "destination-mod-k",
            "scatter",
            "source-destination-hashed",
        ],
    ),
    (
        "kind = \"torus\"\nsizes = [4, 3]\nhosts_per_router = 2",
        &[
            "dimension-order",
            "dimension-order\"\ndeadlock = \"bubble",
            "minimal-adaptive",
        ],
    ),
    (
        "kind = \"hyperx\"\nshape = [3, 3]\nhosts_per_router = 2",
        &["dimension-order", "doal"],
    ),
    ("kind = \"slim-fly\"\nq = 3\nhosts_per_router = 1", &["minimal"]),
];

/// Ports with different loads, equal in all planes.
struct Loads;

impl Congestion for Loads {
    fn load(&self, port: Port) -> u64 {
        u64::from(port.0) * 7919 % 5 * 2048
    }
    fn free_space(&self, _: Port, _: u8) -> u64 {
        4096
    }
}

struct Draws(u32);

impl Random for Draws {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((u64::from(self.0) * u64::from(bound)) >> 32) as u32
    }
}

fn section(text: &str) -> Section {
    Section::from_toml(text, "x.toml").unwrap()
}

/// The routers of a path, and the hops from them.
fn path(topology: &dyn Topology, routing: &dyn Routing, source: u32, destination: u32) -> Vec<(u32, Hop)> {
    let (source, destination) = (HostId(source), HostId(destination));
    let (router, input) = topology.attachment(source);
    let mut at = At {
        router,
        input,
        vc: 0,
        source,
        destination,
    };
    let (mut state, mut draws, mut passed) = (RouteState::default(), Draws(7), Vec::new());
    loop {
        let mut options = Vec::new();
        routing.options(at, state, &mut options);
        let hop = routing.route(at, &mut state, &Loads, &mut draws);
        assert!(options.contains(&(hop, state)), "{hop:?} is an option");
        passed.push((at.router.0, hop));
        match topology.peer(at.router, hop.port) {
            Peer::Host(host) => {
                assert_eq!(host, destination);
                return passed;
            }
            Peer::Router(router, input) => (at.router, at.input, at.vc) = (router, input, hop.vc),
            Peer::Unwired => panic!("sent to an unwired port"),
        }
        assert!(passed.len() < 100, "does not arrive");
    }
}

fn same_chances(plane: &dyn Topology, inner: &dyn Routing, all: &dyn Routing) {
    let (mut expected, mut found) = (Vec::new(), Vec::new());
    for source in (0..plane.hosts()).map(HostId) {
        let router = plane.attachment(source).0;
        for destination in 0..plane.hosts() {
            expected.clear();
            inner.chances(router, HostId(destination), RouteState::default(), &mut expected);
            assert!(!expected.is_empty());
            for k in 0..PLANES {
                found.clear();
                let (there, to) = (RouterId(router.0 * PLANES + k), HostId(destination * PLANES + k));
                all.chances(there, to, RouteState::default(), &mut found);
                assert_eq!(found, expected);
            }
        }
    }
}

#[test]
fn packets_go_the_same_way_in_each_plane() {
    for (network, algorithms) in NETWORKS {
        let plane: Arc<dyn Topology> = topology::build(&section(network)).unwrap().into();
        let planes = Planes::new(plane.clone(), PLANES).unwrap();
        for algorithm in *algorithms {
            let text = format!("algorithm = \"{algorithm}\"\n");
            let inner: Arc<dyn Routing> = build(&section(&text), plane.clone()).unwrap().into();
            let routing = InPlanes::new(inner.clone(), &planes);
            assert_eq!(routing.vcs(), inner.vcs());
            assert_eq!(routing.packets_per_vc(), inner.packets_per_vc());
            assert_eq!(routing.oblivious(), inner.oblivious());
            if inner.oblivious().is_some() {
                same_chances(&*plane, &*inner, &routing);
            }
            for source in 0..plane.hosts() {
                for destination in 0..plane.hosts() {
                    let expected = path(&*plane, &*inner, source, destination);
                    for k in 0..PLANES {
                        let found = path(&planes, &routing, source * PLANES + k, destination * PLANES + k);
                        let there: Vec<_> = expected
                            .iter()
                            .map(|(router, hop)| (router * PLANES + k, *hop))
                            .collect();
                        assert_eq!(found, there, "{algorithm}, plane {k}");
                    }
                }
            }
        }
    }
}

/// The proof covers one plane. This test covers all planes together; packets stay in theirs.
#[test]
fn a_proof_for_one_plane_holds_for_all() {
    for (network, algorithms) in NETWORKS {
        let plane: Arc<dyn Topology> = topology::build(&section(network)).unwrap().into();
        for algorithm in *algorithms {
            let text = format!("algorithm = \"{algorithm}\"\n");
            let routing: Arc<dyn Routing> = build(&section(&text), plane.clone()).unwrap().into();
            let proof = prove_deadlock_free(&*plane, &*routing, 1_000_000).unwrap();
            assert!(proof.channels > 0);
            let planes = Planes::new(plane.clone(), PLANES).unwrap();
            let mut used = std::collections::HashSet::new();
            let all = InPlanes::new(routing.clone(), &planes);
            for (source, destination) in
                (0..planes.hosts()).flat_map(|a| (0..planes.hosts()).map(move |b| (a, b)))
            {
                if source % PLANES == destination % PLANES {
                    for (router, hop) in path(&planes, &all, source, destination) {
                        if let Peer::Router(far, _) = planes.peer(RouterId(router), hop.port) {
                            assert_eq!(far.0 % PLANES, router % PLANES, "stays in its plane");
                            used.insert((router, hop.port, hop.vc));
                        }
                    }
                }
            }
            assert!(used.len() as u64 <= proof.channels * u64::from(PLANES));
        }
    }
}
