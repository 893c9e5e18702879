//! Every routing algorithm of the registry on every topology that it routes: packets arrive, minimal ones
//! in as few hops as there can be, nothing can deadlock, and the deadlock proof has seen every decision.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use config::Section;
use fabricsim_routing::*;
use proptest::prelude::*;
use topology::{HOST_LINK, HostId, Peer, Port, RouterId, Shape, Topology};

/// Networks of each shape, small enough for the proof.
const NETWORKS: &[&str] = &[
    "kind = \"dragonfly\"\nhosts_per_router = 1\nrouters_per_group = 1\nglobal_links_per_router = 4",
    "kind = \"dragonfly\"\nhosts_per_router = 2\nrouters_per_group = 2\nglobal_links_per_router = 1",
    "kind = \"dragonfly\"\nhosts_per_router = 2\nrouters_per_group = 4\nglobal_links_per_router = 2\ngroups = 1",
    "kind = \"dragonfly\"\nhosts_per_router = 2\nrouters_per_group = 3\nglobal_links_per_router = 2\ngroups = 2",
    "kind = \"dragonfly\"\nhosts_per_router = 2\nrouters_per_group = 4\nglobal_links_per_router = 2\ngroups = 3",
    "kind = \"dragonfly\"\nhosts_per_router = 1\nrouters_per_group = 4\nglobal_links_per_router = 2\ngroups = 6",
    "kind = \"dragonfly\"\nhosts_per_router = 2\nrouters_per_group = 4\nglobal_links_per_router = 2",
    "kind = \"dragonfly\"\nhosts_per_router = 1\nrouters_per_group = 4\nglobal_links_per_router = 2\narrangement = \"palmtree\"",
    "kind = \"dragonfly\"\nhosts_per_router = 1\nrouters_per_group = 4\nglobal_links_per_router = 3\ngroups = 6\narrangement = \"random\"",
    "kind = \"dragonfly\"\nhosts_per_router = 2\nrouters_per_group = 3\nlinks_between_groups = 4\ngroups = 3",
    "kind = \"dragonfly-2d\"\nhosts_per_router = 1\nrows = 3\ncolumns = 4\nglobal_links_per_router = 1\ngroups = 3",
    "kind = \"dragonfly-2d\"\nhosts_per_router = 1\nrows = 2\ncolumns = 2\nrow_links = 2\ncolumn_links = 3\nglobal_links_per_router = 1",
    "kind = \"dragonfly-plus\"\nhosts_per_leaf = 2\nleaves_per_group = 2\nspines_per_group = 3\nglobal_links_per_spine = 2\ngroups = 4",
    "kind = \"dragonfly-plus\"\nhosts_per_leaf = 1\nleaves_per_group = 3\nglobal_links_per_spine = 2\narrangement = \"random\"",
    "kind = \"express-mesh\"\nsizes = [12]\ngap = 5\nhosts_per_router = 2",
    "kind = \"express-mesh\"\nsizes = [7, 5]\ngap = [3, 2]",
    "kind = \"fat-tree\"\nradix = 2",
    "kind = \"fat-tree\"\nradix = 4",
    "kind = \"fat-tree\"\nradix = 6\npods = 2\ntapering = \"2:1\"",
    "kind = \"fat-tree\"\nradix = 8\nlevels = 2\nleaves = 4",
    "kind = \"fat-tree\"\nradix = 8\nlevels = 2\ntapering = \"5:3\"",
    // The Petersen graph; routers in a row with parallel cables; a ring with a tail.
    "kind = \"graph\"\nedges = [[0, 1], [1, 2], [2, 3], [3, 4], [4, 0], [0, 5], [1, 6], [2, 7], [3, 8], [4, 9], \
     [5, 7], [6, 8], [7, 9], [8, 5], [9, 6]]\nhosts_per_router = 2",
    "kind = \"graph\"\nedges = [[0, 1, 2], [1, 2, 3], [2, 3]]\nhosts_per_router = 3",
    "kind = \"graph\"\nedges = [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 6], [6, 0], [6, 7], [7, 8]]",
    "kind = \"fat-tree\"\nradix = 6\nleaves = 8",
    "kind = \"fat-tree\"\nradix = 4\nlevels = 4\npods = 3",
    "kind = \"fat-tree\"\ndown = [2, 4, 3]\nup = [4, 2]\ncables = [2, 1]\nleaves = 5",
    "kind = \"hyperx\"\nshape = [1]\nhosts_per_router = 2",
    "kind = \"hyperx\"\nshape = [6]\nhosts_per_router = 2",
    "kind = \"hyperx\"\nshape = [2, 2, 2, 2, 2]",
    "kind = \"hyperx\"\nshape = [4, 3, 3]\nwidth = [1, 2, 3]\nhosts_per_router = 2",
    "kind = \"mesh\"\nsizes = [1]\nhosts_per_router = 2",
    "kind = \"mesh\"\nsizes = [4, 1, 3]\nhosts_per_router = 2",
    "kind = \"mesh\"\nsizes = [4, 3]\nlinks = [2, 3]\nhosts_per_router = 2",
    "kind = \"slim-fly\"\nq = 3\nhosts_per_router = 3",
    "kind = \"slim-fly\"\nq = 5\nhosts_per_router = 2",
    "kind = \"slim-fly\"\nq = 7\nhosts_per_router = 1",
    "kind = \"slim-fly\"\nq = 8\nhosts_per_router = 1",
    "kind = \"torus\"\nsizes = [1, 2]",
    "kind = \"torus\"\nsizes = [2, 2, 2, 2]",
    "kind = \"torus\"\nsizes = [7]",
    "kind = \"torus\"\nsizes = [4, 3, 4]",
    "kind = \"torus\"\nsizes = [6, 2, 3]\nhosts_per_router = 2",
    "kind = \"torus\"\nsizes = [4, 2, 3]\nlinks = [2, 1, 3]\nhosts_per_router = 2",
];

/// Parameters of algorithms beside their defaults, and the networks that know them.
const VARIANTS: &[(&str, &str, Knows)] = &[
    ("minimal", "paths = \"adaptive\"", |shape| shape.graph().is_some()),
    ("par", "intermediate = \"group\"", is_groups),
    ("par", "bias = \"0 B\"\nweight = 0", |_| true),
    (
        "par",
        "bias = \"0 B\"\ncost = \"load-hops\"\ncandidates = 3",
        is_groups,
    ),
    (
        "piggyback",
        "intermediate = \"group\"\nthreshold = \"0 B\"",
        is_groups,
    ),
    ("ugal", "information = \"group\"\nbias = \"0 B\"", is_groups),
    (
        "ugal",
        "information = \"group\"\nintermediate = \"group\"",
        is_groups,
    ),
    ("ugal", "intermediate = \"group\"", is_groups),
    ("ugal", "bias = \"0 B\"\nweight = 0", |_| true),
    (
        "ugal",
        "bias = \"0 B\"\ncost = \"load-hops\"\ncandidates = 3",
        is_groups,
    ),
    ("ugal", "cost = \"load\"\ncandidates = 2", |shape| {
        shape.graph().is_some()
    }),
    ("valiant", "intermediate = \"any-router\"", is_groups),
    ("valiant", "intermediate = \"group\"", is_groups),
    ("dal", "adaptive_vcs = 2\nbias = \"0 B\"", is_hyperx),
    ("dimension-order", "deadlock = \"bubble\"", is_torus),
    ("doal", "bias = \"0 B\"", is_hyperx),
    ("minimal-adaptive", "escape = \"bubble\"", is_torus),
    ("minimal-adaptive", "adaptive_vcs = 3", is_torus),
    ("minimal-adaptive", "adaptive_vcs = 2", is_mesh),
    ("minimal-adaptive", "adaptive_vcs = 2", is_hyperx),
];

type Knows = fn(&Shape<'_>) -> bool;

fn is_groups(shape: &Shape<'_>) -> bool {
    matches!(shape, Shape::Groups(_))
}

fn is_hyperx(shape: &Shape<'_>) -> bool {
    matches!(shape, Shape::HyperX(_))
}

fn is_torus(shape: &Shape<'_>) -> bool {
    matches!(shape, Shape::Cartesian(grid) if grid.wraps())
}

fn is_mesh(shape: &Shape<'_>) -> bool {
    matches!(shape, Shape::Cartesian(grid) if !grid.wraps())
}

/// Whether an algorithm promises the fewest hops.
fn is_minimal(algorithm: &str, shape: &Shape<'_>) -> bool {
    match algorithm {
        // In an express mesh it never turns back.
        "dimension-order" if matches!(shape, Shape::Graph(_)) => false,
        "adaptive"
        | "destination-mod-k"
        | "dimension-order"
        | "minimal"
        | "minimal-adaptive"
        | "scatter"
        | "source-destination-hashed" => true,
        "dal" | "doal" | "par" | "piggyback" | "ugal" | "valiant" => false,
        other => panic!("say here whether '{other}' is minimal"),
    }
}

struct Load<F: Fn(Port) -> u64>(F);

impl<F: Fn(Port) -> u64> Congestion for Load<F> {
    fn load(&self, port: Port) -> u64 {
        (self.0)(port)
    }

    fn told(&self, slot: usize) -> u64 {
        (self.0)(Port(slot as u16 + 1))
    }

    fn room(&self, port: Port, vc: u8) -> u64 {
        6 * 2048 - (self.0)(Port(port.0 + u16::from(vc)))
    }
}

/// A linear congruential generator.
struct Draws(u64);

impl Random for Draws {
    fn below(&mut self, bound: u32) -> u32 {
        assert!(bound >= 1);
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        ((self.0 >> 33) % u64::from(bound)) as u32
    }
}

fn network(toml: &str) -> Arc<dyn Topology> {
    let section = Section::from_toml(toml, "x.toml").unwrap();
    topology::build(&section)
        .unwrap_or_else(|e| panic!("{toml}: {e}"))
        .into()
}

fn section(algorithm: &str, parameters: &str) -> Section {
    Section::from_toml(&format!("algorithm = \"{algorithm}\"\n{parameters}\n"), "x.toml").unwrap()
}

fn routing(algorithm: &str, parameters: &str, topology: &Arc<dyn Topology>) -> Box<dyn Routing> {
    build(&section(algorithm, parameters), topology.clone()).unwrap_or_else(|e| panic!("{e}"))
}

/// Every algorithm with its variants on a topology: name, parameters, routing.
fn routings(topology: &Arc<dyn Topology>) -> Vec<(&'static str, &'static str, Box<dyn Routing>)> {
    let defaults = REGISTRY.iter().map(|a| (a, ""));
    let known = VARIANTS.iter().filter(|(.., knows)| knows(&topology.shape()));
    let variants = known.map(|(name, parameters, _)| {
        (
            REGISTRY.iter().find(|a| a.name == *name).expect("registered"),
            *parameters,
        )
    });
    defaults
        .chain(variants)
        .filter(|(a, _)| (a.routes)(&topology.shape()))
        .map(|(a, parameters)| (a.name, parameters, routing(a.name, parameters, topology)))
        .collect()
}

/// The links that a packet crosses between routers, as (router, port, VC).
fn path(
    topology: &dyn Topology,
    routing: &dyn Routing,
    (source, destination): (HostId, HostId),
    draws: &mut Draws,
) -> Vec<(RouterId, Port, u8)> {
    let (router, input) = topology.attachment(source);
    let mut at = At {
        router,
        input,
        vc: 0,
        source,
        destination,
    };
    let (mut state, mut crossed) = (RouteState::default(), Vec::new());
    loop {
        let mut options = Vec::new();
        routing.options(at, state, &mut options);
        if at.input != input || at.router != router {
            let mut of_another = Vec::new();
            let other = HostId((source.0 + 1) % topology.hosts());
            routing.options(At { source: other, ..at }, state, &mut of_another);
            assert_eq!(options, of_another, "a later router looks at the source");
        }
        let salt = draws.below(1000);
        let load = Load(|port| u64::from((u32::from(port.0) * 7919 + salt) % 7) * 2048);
        let hop = routing.route(at, &mut state, &load, draws);
        if hop.entry == Entry::Kept {
            assert!(load.room(hop.port, hop.vc) > 0, "there is no room to keep");
        }
        assert!(
            options.contains(&(hop, state)),
            "{hop:?} {state:?} is not among {options:?}"
        );
        match topology.peer(at.router, hop.port) {
            Peer::Host(host) => {
                assert_eq!((host, hop.vc), (destination, 0));
                return crossed;
            }
            Peer::Router(next, input) => {
                assert!(hop.vc < routing.vcs());
                crossed.push((at.router, hop.port, hop.vc));
                assert!(crossed.len() < 100, "does not arrive");
                at = At {
                    router: next,
                    input,
                    vc: hop.vc,
                    ..at
                };
            }
            Peer::Unwired => panic!("sent to an unwired port"),
        }
    }
}

fn pairs(topology: &dyn Topology) -> impl Iterator<Item = (HostId, HostId)> + use<> {
    let hosts = topology.hosts();
    (0..hosts).flat_map(move |a| (0..hosts).map(move |b| (HostId(a), HostId(b))))
}

/// Fewest links from a router to every other, with one global link at most if there are groups.
fn fewest_hops(topology: &dyn Topology, from: RouterId) -> Vec<u32> {
    let Shape::Groups(groups) = topology.shape() else {
        return (0..topology.routers())
            .map(|to| topology.distance(from, RouterId(to)))
            .collect();
    };
    let mut best = vec![u32::MAX; topology.routers() as usize];
    let mut seen = HashSet::from([(from, false)]);
    let mut queue = VecDeque::from([(from, false, 0)]);
    while let Some((router, crossed, hops)) = queue.pop_front() {
        let fewest = &mut best[router.0 as usize];
        *fewest = hops.min(*fewest);
        for port in (0..topology.ports(router)).map(Port) {
            let Peer::Router(next, _) = topology.peer(router, port) else {
                continue;
            };
            let global = groups.group(next) != groups.group(router);
            if !(global && crossed) && seen.insert((next, crossed || global)) {
                queue.push_back((next, crossed || global, hops + 1));
            }
        }
    }
    best
}

fn check(topology: &Arc<dyn Topology>, max_states: u64) {
    for (name, parameters, routing) in routings(topology) {
        let what = format!("{name} {parameters} on {}", topology.describe());
        let mut draws = Draws(1);
        let mut fewest: HashMap<RouterId, Vec<u32>> = HashMap::new();
        for (source, destination) in pairs(&**topology) {
            let links = path(&**topology, &*routing, (source, destination), &mut draws);
            let (from, to) = (topology.attachment(source).0, topology.attachment(destination).0);
            let fewest = fewest
                .entry(from)
                .or_insert_with(|| fewest_hops(&**topology, from));
            let fewest = fewest[to.0 as usize] as usize;
            if is_minimal(name, &topology.shape()) {
                assert_eq!(links.len(), fewest, "{what}: {source:?} to {destination:?}");
            } else {
                // Two global links in a row can be shorter than the one of a minimal path.
                assert!(links.len() >= topology.distance(from, to) as usize);
            }
        }
        match prove_deadlock_free(&**topology, &*routing, max_states) {
            Ok(proof) => {
                assert!(proof.states >= u64::from(topology.hosts()).pow(2));
                assert!(proof.channels <= topology.router_links() * u64::from(routing.vcs()));
            }
            Err(failure) => panic!("{what}: {failure}"),
        }
    }
}

#[test]
fn wrong_parameters_are_refused_where_they_stand() {
    let dragonfly = network(NETWORKS[1]);
    let torus = network("kind = \"torus\"\nsizes = [4, 4]");
    let hyperx = network("kind = \"hyperx\"\nshape = [3, 3]");
    let slim_fly = network("kind = \"slim-fly\"\nq = 3");
    for (algorithm, parameters, topology, expected) in [
        (
            "minimum",
            "",
            &torus,
            "x.toml:1: algorithm: unknown name 'minimum'; did you mean 'minimal'?",
        ),
        (
            "minimal",
            "",
            &torus,
            "x.toml:1: algorithm: 'minimal' works on dragonfly, dragonfly-2d, dragonfly-plus, express-mesh, graph, hyperx, slim-fly, not on \
             this torus of 4 x 4 routers with 1 host each; expected one of: dimension-order, minimal-adaptive",
        ),
        (
            "dimension-order",
            "",
            &dragonfly,
            "'dimension-order' works on torus, mesh, hyperx, express-mesh, not on this dragonfly of 3 groups of 2 routers with 2 \
             hosts each; expected one of: minimal, par, piggyback, ugal, valiant",
        ),
        (
            "ugal",
            "bias = 7680",
            &dragonfly,
            "x.toml:2: bias: 7680 has no unit; expected a size",
        ),
        (
            "ugal",
            "weight = -1",
            &dragonfly,
            "x.toml:2: weight: -1 is out of range",
        ),
        (
            "ugal",
            "intermediate = \"routers\"",
            &dragonfly,
            "x.toml:2: intermediate: unknown name 'routers'; did you mean 'router'?",
        ),
        (
            "dimension-order",
            "deadlock = \"bubbles\"",
            &torus,
            "x.toml:2: deadlock: unknown name 'bubbles'; did you mean 'bubble'?",
        ),
        (
            "dimension-order",
            "deadlock = \"bubble\"",
            &hyperx,
            "x.toml:2: deadlock: 'bubble' is for the rings of a torus, which this HyperX of 3 x 3 routers with 1 host \
             each does not have",
        ),
        (
            "minimal-adaptive",
            "escape = \"bubble\"",
            &network("kind = \"mesh\"\nsizes = [4]"),
            "x.toml:2: escape: 'bubble' is for the rings of a torus",
        ),
        (
            "minimal-adaptive",
            "adaptive_vcs = 0",
            &torus,
            "x.toml:2: adaptive_vcs: 0 is out of range; expected 1 to 253",
        ),
        (
            "dal",
            "adaptive_vcs = 255",
            &hyperx,
            "x.toml:2: adaptive_vcs: 255 is out of range; expected 1 to 254",
        ),
        (
            "doal",
            "bias = 7",
            &hyperx,
            "x.toml:2: bias: 7 has no unit; expected a size",
        ),
        (
            "doal",
            "",
            &torus,
            "'doal' works on hyperx, not on this torus of 4 x 4 routers",
        ),
        (
            "ugal",
            "information = \"group\"",
            &slim_fly,
            "has no groups; expected router",
        ),
        (
            "piggyback",
            "period = \"0 ns\"",
            &dragonfly,
            "x.toml:2: period: 0 is no interval; expected a time such as \"100 ns\"",
        ),
        (
            "valiant",
            "intermediate = \"group\"",
            &slim_fly,
            "has no groups to go through; expected router",
        ),
        (
            "par",
            "candidates = 0",
            &slim_fly,
            "x.toml:2: candidates: 0 is not possible; expected at least 1",
        ),
        (
            "ugal",
            "cost = \"loads\"",
            &slim_fly,
            "x.toml:2: cost: unknown name 'loads'; did you mean 'load'?",
        ),
        (
            "minimal",
            "paths = \"adaptive\"",
            &dragonfly,
            "x.toml:2: paths: unknown name 'adaptive'",
        ),
    ] {
        let Err(error) = build(&section(algorithm, parameters), topology.clone()) else {
            panic!("{algorithm} {parameters}: was built");
        };
        let error = error.to_string();
        assert!(error.contains(expected), "{error}\nnot\n{expected}");
    }
}

#[test]
fn registry_is_sorted_and_declares_the_parameters_that_are_read() {
    assert!(REGISTRY.is_sorted_by_key(|a| a.name));
    let networks: Vec<_> = NETWORKS.iter().map(|toml| network(toml)).collect();
    for algorithm in REGISTRY {
        let topology = networks.iter().find(|t| (algorithm.routes)(&t.shape()));
        let section = Section::empty("network.routing");
        (algorithm.build)(&section, topology.expect("a network to route").clone()).unwrap();
        let mut asked = section.asked();
        let mut declared: Vec<&str> = algorithm.parameters.iter().map(|p| p.0).collect();
        asked.sort();
        declared.sort();
        assert_eq!(asked, declared, "{}", algorithm.name);
    }
}

#[test]
fn every_algorithm_and_parameter_is_documented() {
    let methods = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/methods");
    let read = |page: &str| std::fs::read_to_string(format!("{methods}/{page}.md"));
    let overview = read("routing").expect("docs/methods/routing.md");
    for algorithm in REGISTRY {
        // A page of its own, or a section.
        let text = read(&format!("routing/{}", algorithm.name)).unwrap_or_else(|_| {
            let start = overview.find(&format!("\n## {}\n", algorithm.name));
            let section = &overview[start.expect(algorithm.name) + 4..];
            section.split("\n## ").next().expect("a section").to_string()
        });
        for (parameter, _) in algorithm.parameters {
            assert!(
                text.contains(&format!("`{parameter}`")),
                "{}: {parameter}",
                algorithm.name
            );
        }
    }
}

#[test]
fn every_topology_has_a_routing() {
    for kind in topology::REGISTRY {
        let topology: Arc<dyn Topology> = (kind.build)(&Section::from_toml(kind.example, "x.toml").unwrap())
            .unwrap()
            .into();
        assert!(!routings(&topology).is_empty(), "{}", kind.name);
        check(&topology, 20_000_000);
    }
}

#[test]
fn chosen_networks_are_routed_without_deadlock() {
    for toml in NETWORKS {
        check(&network(toml), 20_000_000);
    }
}

/// Uniform traffic, source allowed as destination, in the dragonfly of 1,056 hosts: BookSim 2 counts 3.69 to
/// 3.70 routers on the way.
#[test]
fn routers_visited_in_the_dragonfly_of_booksim() {
    let topology = network(
        "kind = \"dragonfly\"\nhosts_per_router = 4\nrouters_per_group = 8\nglobal_links_per_router = 4",
    );
    let minimal = routing("minimal", "", &topology);
    let mut draws = Draws(1);
    let pairs: Vec<_> = pairs(&*topology).collect();
    let visited: u64 = pairs
        .iter()
        .map(|pair| path(&*topology, &*minimal, *pair, &mut draws).len() as u64 + 1)
        .sum();
    // From every router: 1 router at home, 2 to the 7 others of the group, 3.75 to the 256 elsewhere.
    let per_router = 1 + 2 * 7 + 256 * 15 / 4;
    assert_eq!(visited, 264 * 4 * 4 * per_router);
    let mean = visited as f64 / pairs.len() as f64;
    assert!((3.69..3.70).contains(&mean), "{mean}");
}

/// From host 0 to the last one: the minimal port and the least load on it that sends the packet elsewhere.
fn first_load_refused(parameters: &str, other_load: u64) -> Option<u64> {
    let topology = network(NETWORKS[6]);
    let (ugal, minimal) = (
        routing("ugal", parameters, &topology),
        routing("minimal", "", &topology),
    );
    let (source, destination) = (HostId(0), HostId(topology.hosts() - 1));
    let (router, input) = topology.attachment(source);
    let at = At {
        router,
        input,
        vc: 0,
        source,
        destination,
    };
    let direct = minimal
        .route(at, &mut RouteState::default(), &Load(|_| 0), &mut Draws(1))
        .port;
    (0..20_000).step_by(10).find(|load| {
        let load = Load(|port| if port == direct { *load } else { other_load });
        // Some draws lead to places behind the same port: one that does not must be refused.
        (0..50).any(|seed| {
            ugal.route(at, &mut RouteState::default(), &load, &mut Draws(seed))
                .port
                != direct
        })
    })
}

#[test]
fn ugal_compares_as_booksim_does() {
    assert_eq!(first_load_refused("", 0), Some(7690));
    assert_eq!(first_load_refused("", 1000), Some(9690));
    assert_eq!(first_load_refused("bias = \"0 B\"", 1000), Some(2010));
    assert_eq!(
        first_load_refused("bias = \"100 B\"\nweight = 1", 1000),
        Some(1110)
    );
    assert_eq!(first_load_refused("bias = \"1 TB\"", 1000), None);
}

#[test]
fn ugal_offers_every_place_outside_the_two_groups_once() {
    let topology = network(NETWORKS[6]);
    let Shape::Groups(groups) = topology.shape() else {
        panic!("groups")
    };
    for (parameters, places) in [("", 7 * 4), ("intermediate = \"group\"", 7)] {
        let ugal = routing("ugal", parameters, &topology);
        for (source, destination) in pairs(&*topology) {
            let (router, input) = topology.attachment(source);
            let (here, there) = (
                groups.group(router),
                groups.group(topology.attachment(destination).0),
            );
            let mut options = Vec::new();
            let at = At {
                router,
                input,
                vc: 0,
                source,
                destination,
            };
            ugal.options(at, RouteState::default(), &mut options);
            if here == there {
                assert_eq!(options.len(), 1);
                continue;
            }
            // The minimal path comes first.
            let vias: HashSet<u32> = options[1..].iter().map(|(_, state)| state.via).collect();
            assert_eq!((options.len(), vias.len()), (1 + places, places));
            let group = |via: u32| {
                if places == 7 {
                    via
                } else {
                    groups.group(RouterId(via))
                }
            };
            assert!(vias.iter().all(|via| ![here, there].contains(&group(*via))));
        }
    }
}

#[test]
fn destination_mod_k_keeps_destinations_apart_on_the_way_down() {
    for toml in [
        "kind = \"fat-tree\"\nradix = 8",
        "kind = \"fat-tree\"\nradix = 8\npods = 4",
        "kind = \"fat-tree\"\nradix = 8\nlevels = 2\nleaves = 4",
        "kind = \"fat-tree\"\nradix = 8\nlevels = 2\nleaves = 2",
    ] {
        let topology = network(toml);
        let Shape::Tree(tree) = topology.shape() else {
            panic!("a tree")
        };
        let routing = routing("destination-mod-k", "", &topology);
        let mut owner = HashMap::new();
        for (source, destination) in pairs(&*topology) {
            for (router, port, _) in path(&*topology, &*routing, (source, destination), &mut Draws(1)) {
                if !tree.up_ports(router).contains(&port.0) {
                    let first = owner.entry((router, port)).or_insert(destination);
                    assert_eq!(*first, destination, "{toml}");
                }
            }
        }
    }
}

#[test]
fn adaptive_takes_the_least_loaded_port_and_breaks_ties_evenly() {
    let topology = network("kind = \"fat-tree\"\nradix = 8");
    let adaptive = routing("adaptive", "", &topology);
    let at = At {
        router: RouterId(0),
        input: Port(0),
        vc: 0,
        source: HostId(0),
        destination: HostId(100),
    };
    let mut draws = Draws(3);
    let mut choose = |load: &dyn Fn(Port) -> u64| {
        adaptive
            .route(at, &mut RouteState::default(), &Load(load), &mut draws)
            .port
    };
    for best in 4..8 {
        for _ in 0..20 {
            assert_eq!(choose(&|port| if port.0 == best { 5 } else { 6 }), Port(best));
            assert_eq!(choose(&|port| u64::from(port.0 != best)), Port(best));
        }
    }
    let mut counts = [0; 4];
    for _ in 0..4000 {
        counts[usize::from(choose(&|_| 9).0 - 4)] += 1;
    }
    assert!(
        counts.iter().all(|count| (900..1100).contains(count)),
        "{counts:?}"
    );
}

/// How a packet from host 0 to the last one leaves its router, for loads and rooms by port and VC.
fn first_hop(
    (algorithm, parameters): (&str, &str),
    topology: &Arc<dyn Topology>,
    congestion: &dyn Congestion,
    draws: &mut Draws,
) -> Hop {
    let (source, destination) = (HostId(0), HostId(topology.hosts() - 1));
    let (router, input) = topology.attachment(source);
    let at = At {
        router,
        input,
        vc: 0,
        source,
        destination,
    };
    routing(algorithm, parameters, topology).route(at, &mut RouteState::default(), congestion, draws)
}

/// Load by port, room by port and VC.
struct Known<L: Fn(u16) -> u64, R: Fn(u16, u8) -> u64>(L, R);

impl<L: Fn(u16) -> u64, R: Fn(u16, u8) -> u64> Congestion for Known<L, R> {
    fn load(&self, port: Port) -> u64 {
        (self.0)(port.0)
    }

    fn room(&self, port: Port, vc: u8) -> u64 {
        (self.1)(port.0, vc)
    }
}

#[test]
fn minimal_adaptive_takes_the_least_loaded_port_with_room_and_else_the_escape() {
    // From (0, 0) to (4, 2): ports 1 and 3 lead up, 2 and 4 down.
    let topology = network("kind = \"torus\"\nsizes = [5, 3]");
    let hop = |parameters, load: &dyn Fn(u16) -> u64, room: &dyn Fn(u16, u8) -> u64| {
        let algorithm = ("minimal-adaptive", parameters);
        first_hop(algorithm, &topology, &Known(load, room), &mut Draws(1))
    };
    let kept = |port, vc| Hop {
        port: Port(port),
        vc,
        entry: Entry::Kept,
    };
    // Both ways down are shortest: over the wrap-around links.
    let all = |_: u16, _: u8| 1000;
    assert_eq!(hop("", &|port| u64::from(port != 2), &all), kept(2, 2));
    assert_eq!(hop("", &|port| u64::from(port != 4), &all), kept(4, 2));
    assert_eq!(hop("", &|_| 9, &|port, _| u64::from(port == 4)), kept(4, 2));
    assert_eq!(hop("", &|_| 9, &|port, _| u64::from(port == 2)), kept(2, 2));
    // Of several VCs the one with the most room; none of them: dimension order on the dateline's VC 0.
    let third = |port, vc| if port == 2 { u64::from(vc) % 4 } else { 0 };
    assert_eq!(hop("adaptive_vcs = 3", &|_| 9, &third), kept(2, 3));
    let escape_only = |_, vc| if vc < 2 { 5000 } else { 0 };
    assert_eq!(hop("", &|_| 9, &escape_only), Hop::new(Port(2), 0));
    let bubble = Hop {
        entry: Entry::Bubble,
        ..Hop::new(Port(2), 0)
    };
    assert_eq!(hop("escape = \"bubble\"", &|_| 9, &|_, _| 0), bubble);
}

#[test]
fn detours_in_a_hyperx_are_taken_by_load_times_links() {
    // From (0, 0) to (4, 4): ports 1 to 4 lead along dimension 0, 4 straight; 5 to 8 along dimension 1.
    let topology = network("kind = \"hyperx\"\nshape = [5, 5]");
    let room = |_: u16, _: u8| 1000;
    for (algorithm, bias, straight, free, expected) in [
        // Two links left: load * 2 against load * 3 + bias.
        ("doal", 0, 3000, 2000, 4),
        ("doal", 0, 3001, 2000, 1),
        ("doal", 10, 3005, 2000, 4),
        ("doal", 10, 3006, 2000, 1),
        ("dal", 0, 3000, 2000, 4),
        ("dal", 0, 3001, 2000, 1),
    ] {
        let parameters = format!("bias = \"{bias} B\"");
        let load = |port: u16| match port {
            1 => free,
            4 => straight,
            _ => 1_000_000,
        };
        for seed in 0..20 {
            let congestion = Known(load, room);
            let hop = first_hop((algorithm, &parameters), &topology, &congestion, &mut Draws(seed));
            assert_eq!(hop.port, Port(expected), "{algorithm} {parameters}, {straight} B");
        }
    }
    // Dimension 1 is open to DAL only.
    let load = |port: u16| if port == 8 { 1 } else { 5000 };
    let hop = |algorithm, room: &dyn Fn(u16, u8) -> u64| {
        let congestion = Known(load, room);
        first_hop(
            (algorithm, "bias = \"0 B\""),
            &topology,
            &congestion,
            &mut Draws(1),
        )
    };
    assert_eq!(hop("doal", &room), Hop::new(Port(4), 1));
    assert_eq!(
        (hop("dal", &room).port, hop("dal", &room).entry),
        (Port(8), Entry::Kept)
    );
    // Nowhere is room: the escape in dimension order, which waits.
    assert_eq!(hop("dal", &|_, _| 0), Hop::new(Port(4), 0));
    // Room on a detour only, which costs more.
    assert_eq!(hop("dal", &|port, _| u64::from(port == 6)), Hop::new(Port(4), 0));
}

#[test]
fn escapes_and_bubbles_show_in_the_proof() {
    let proof = |toml: &str, algorithm: &str, parameters: &str| {
        let topology = network(toml);
        let routing = routing(algorithm, parameters, &topology);
        prove_deadlock_free(&*topology, &*routing, 20_000_000).unwrap_or_else(|e| panic!("{e}"))
    };
    let torus = "kind = \"torus\"\nsizes = [5, 3]";
    // Rings of three routers have no path of two links; of those of five there are six.
    let bubbles = proof(torus, "dimension-order", "deadlock = \"bubble\"");
    assert_eq!((bubbles.channels, bubbles.adaptive, bubbles.rings), (60, 0, 6));
    let both = proof(torus, "minimal-adaptive", "escape = \"bubble\"");
    assert_eq!((both.channels, both.adaptive, both.rings), (120, 60, 6));
    assert_eq!(both.dependencies, bubbles.dependencies);
    assert!(
        both.to_string()
            .contains("bubble rings (Duato); 60 adaptive channels")
    );
    let dateline = proof(torus, "minimal-adaptive", "");
    let ordered = proof(torus, "dimension-order", "");
    assert_eq!((dateline.adaptive, dateline.rings), (60, 0));
    assert_eq!(dateline.channels - 60, ordered.channels);
    assert_eq!(dateline.dependencies, ordered.dependencies);
    let hyperx = proof("kind = \"hyperx\"\nshape = [4, 3]", "dal", "");
    assert_eq!(
        (hyperx.channels, hyperx.adaptive, hyperx.longest_route),
        (120, 60, 4)
    );
    let doal = proof("kind = \"hyperx\"\nshape = [4, 3]", "doal", "");
    assert_eq!((doal.channels, doal.adaptive, doal.longest_route), (120, 0, 4));
}

#[test]
fn hashed_and_scattered_packets_use_every_upward_port_evenly() {
    let topology = network("kind = \"fat-tree\"\nradix = 8");
    let Shape::Tree(tree) = topology.shape() else {
        panic!("a tree")
    };
    for algorithm in ["source-destination-hashed", "scatter"] {
        let routing = routing(algorithm, "", &topology);
        let (mut used, mut draws) = (HashMap::<_, u32>::new(), Draws(1));
        for pair in pairs(&*topology) {
            let first = path(&*topology, &*routing, pair, &mut draws);
            for (router, port, _) in &first {
                if tree.up_ports(*router).contains(&port.0) {
                    *used.entry((*router, *port)).or_default() += 1;
                }
            }
            let same = first == path(&*topology, &*routing, pair, &mut draws);
            assert!(
                same || algorithm == "scatter",
                "packets of a pair of hosts stay in order"
            );
        }
        // 32 leaves and 32 spines with four ports each.
        assert_eq!(used.len(), 64 * 4, "{algorithm}");
        let (least, most) = (used.values().min().unwrap(), used.values().max().unwrap());
        assert!(
            most < &(least * 2),
            "{algorithm}: {least} to {most} packets on a link"
        );
    }
}

#[test]
fn equally_long_ways_round_a_ring_are_both_used() {
    for toml in [
        "kind = \"torus\"\nsizes = [2]\nhosts_per_router = 32",
        "kind = \"torus\"\nsizes = [4, 4, 4]",
    ] {
        let topology = network(toml);
        let routing = routing("dimension-order", "", &topology);
        let mut used: HashMap<_, u32> = HashMap::new();
        for pair in pairs(&*topology) {
            for (router, port, _) in path(&*topology, &*routing, pair, &mut Draws(1)) {
                *used.entry((router, port)).or_default() += 1;
            }
        }
        assert_eq!(used.len() as u64, topology.router_links());
        let (least, most) = (used.values().min().unwrap(), used.values().max().unwrap());
        assert!(most < &(least * 2), "{toml}: {least} to {most} packets on a link");
    }
}

#[test]
fn minimal_spreads_pairs_over_parallel_links() {
    let topology = network(
        "kind = \"dragonfly\"\nhosts_per_router = 4\nrouters_per_group = 4\nglobal_links_per_router = 4\ngroups = 3",
    );
    let minimal = routing("minimal", "", &topology);
    let mut used: HashMap<_, u32> = HashMap::new();
    for pair in pairs(&*topology) {
        for (router, port, _) in path(&*topology, &*minimal, pair, &mut Draws(1)) {
            assert_ne!(topology.link_class(router, port), HOST_LINK);
            if topology.link_class(router, port).0 == 2 {
                *used.entry((router, port)).or_default() += 1;
            }
        }
    }
    assert_eq!(used.len(), 3 * 16);
    let (least, most) = (used.values().min().unwrap(), used.values().max().unwrap());
    assert!(most < &(least * 2), "{least} to {most} packets on a link");
}

/// Uniform traffic: every link of a HyperX, and of a Slim Fly with q = 4w + 1, carries about the same.
#[test]
fn shortest_paths_are_all_used() {
    for toml in [
        "kind = \"graph\"\nedges = [[0, 1, 2], [1, 2, 2], [2, 3, 2], [3, 0, 2]]\nhosts_per_router = 12",
        "kind = \"slim-fly\"\nq = 5\nhosts_per_router = 6",
        "kind = \"slim-fly\"\nq = 9\nhosts_per_router = 4",
        "kind = \"hyperx\"\nshape = [4, 4, 4]\nhosts_per_router = 6",
        "kind = \"hyperx\"\nshape = [5, 4]\nwidth = 2\nhosts_per_router = 16",
    ] {
        let topology = network(toml);
        let minimal = routing("minimal", "", &topology);
        let mut used: HashMap<_, u32> = HashMap::new();
        for pair in pairs(&*topology) {
            for (hops, (router, port, vc)) in path(&*topology, &*minimal, pair, &mut Draws(1))
                .into_iter()
                .enumerate()
            {
                assert_eq!(usize::from(vc), hops, "the VC counts the links");
                *used.entry((router, port)).or_default() += 1;
            }
        }
        assert_eq!(used.len() as u64, topology.router_links());
        let (least, most) = (used.values().min().unwrap(), used.values().max().unwrap());
        assert!(most < &(least * 2), "{toml}: {least} to {most} packets on a link");
    }
}

#[test]
fn minimal_needs_as_many_vcs_as_the_longest_path_has_links() {
    for (toml, vcs) in [
        ("kind = \"graph\"\nedges = [[0, 1], [1, 2], [2, 3], [3, 4]]", 4),
        ("kind = \"slim-fly\"\nq = 4", 2),
        ("kind = \"hyperx\"\nshape = [4, 1, 3]", 2),
        ("kind = \"hyperx\"\nshape = [2, 2, 2, 2]", 4),
        ("kind = \"hyperx\"\nshape = [1]", 1),
    ] {
        assert_eq!(routing("minimal", "", &network(toml)).vcs(), vcs, "{toml}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(16) })]

    #[test]
    fn random_dragonflies_are_routed(p in 1u32..3, a in 1u32..5, h in 1u32..3, share in 0.0..1.0f64) {
        let groups = 1 + (f64::from(a * h) * share).round() as u32;
        check(&network(&format!(
            "kind = \"dragonfly\"\nhosts_per_router = {p}\nrouters_per_group = {a}\n\
             global_links_per_router = {h}\ngroups = {groups}"
        )), 50_000_000);
    }

    #[test]
    fn random_trees_are_routed(half in 1u32..4, levels in 2u32..4, hosts in 1u32..4, share in 0.0..1.0f64) {
        let radix = 2 * half;
        let hosts = hosts.min(radix - 1);
        let uplinks = 1 + (f64::from(radix - hosts - 1) * share).round() as u32;
        let breadth = 1 + (f64::from(radix - 1) * share).round() as u32;
        let key = if levels == 2 { "leaves" } else { "pods" };
        check(&network(&format!(
            "kind = \"fat-tree\"\nradix = {radix}\nlevels = {levels}\nhosts_per_leaf = {hosts}\n\
             uplinks_per_leaf = {uplinks}\n{key} = {breadth}"
        )), 50_000_000);
    }

    #[test]
    fn random_hyperx_are_routed(sides in prop::collection::vec((1u32..5, 1u32..4), 1..4), hosts in 1u32..3) {
        let (shape, width): (Vec<u32>, Vec<u32>) = sides.into_iter().unzip();
        check(&network(&format!(
            "kind = \"hyperx\"\nshape = {shape:?}\nwidth = {width:?}\nhosts_per_router = {hosts}"
        )), 50_000_000);
    }

    #[test]
    fn random_graphs_are_routed(
        parents in prop::collection::vec(any::<u32>(), 1..20),
        more in prop::collection::vec((any::<u32>(), any::<u32>(), 1u32..3), 0..20),
        hosts in 1u32..3,
    ) {
        let routers = parents.len() as u32 + 1;
        let tree = parents.iter().zip(1..).map(|(parent, n)| (parent % n, n, 1));
        let more = more.iter().map(|(a, b, count)| (a % routers, b % routers, *count));
        let edges: Vec<String> = tree
            .chain(more.filter(|(a, b, _)| a != b))
            .map(|(a, b, count)| format!("[{a}, {b}, {count}]"))
            .collect();
        check(&network(&format!(
            "kind = \"graph\"\nedges = [{}]\nhosts_per_router = {hosts}", edges.join(", ")
        )), 50_000_000);
    }

    #[test]
    fn random_grids_are_routed(sizes in prop::collection::vec(1u32..6, 1..4), hosts in 1u32..3) {
        for kind in ["mesh", "torus"] {
            check(&network(&format!(
                "kind = \"{kind}\"\nsizes = {sizes:?}\nhosts_per_router = {hosts}"
            )), 50_000_000);
        }
    }
}

/// What oblivious algorithms say of their chances fits what they do: probabilities add up to 1, and whatever way a
/// packet takes is among the ways that had a chance.
#[test]
fn oblivious_routes_are_among_the_chances() {
    let mut oblivious = HashSet::new();
    for toml in NETWORKS {
        let topology = network(toml);
        for (name, parameters, routing) in routings(&topology) {
            if routing.oblivious().is_none() {
                continue;
            }
            oblivious.insert(name);
            let mut draws = Draws(7);
            for pair in 0..200 {
                let pick = |draws: &mut Draws| HostId(draws.below(topology.hosts()));
                let (source, destination) = (pick(&mut draws), pick(&mut draws));
                let way = path(&*topology, &*routing, (source, destination), &mut draws);
                let mut states = HashSet::from([RouteState::default()]);
                let last = topology.attachment(destination);
                let ports = way.iter().map(|(router, port, _)| (*router, *port)).chain([last]);
                for (router, port) in ports {
                    let mut next = HashSet::new();
                    for state in states {
                        let mut chances = Vec::new();
                        routing.chances(router, destination, state, &mut chances);
                        let sum: f64 = chances.iter().map(|(_, _, chance)| chance).sum();
                        assert!(
                            (sum - 1.0).abs() < 1e-12,
                            "{name} {parameters} on {toml}: {chances:?}"
                        );
                        next.extend(chances.iter().filter(|c| c.0 == port).map(|c| c.1));
                    }
                    assert!(
                        !next.is_empty(),
                        "{name} {parameters} on {toml}: pair {pair} takes {port:?} at {router:?}"
                    );
                    states = next;
                }
            }
        }
    }
    for name in [
        "destination-mod-k",
        "dimension-order",
        "minimal",
        "scatter",
        "source-destination-hashed",
        "valiant",
    ] {
        assert!(oblivious.contains(name), "{name}");
    }
}

/// Pairs of hosts that make a count.
const PAIRS: u64 = 60_000;

/// Over many pairs of hosts, ports are used as often as their chances say. Destinations are many, as choices are
/// by hashes in which they are.
#[test]
fn oblivious_routes_are_as_frequent_as_their_chances() {
    let mut wrong: Vec<String> = Vec::new();
    for (toml, name, parameters) in [
        (
            "kind = \"dragonfly\"\nhosts_per_router = 200\nrouters_per_group = 3\nglobal_links_per_router = 2\ngroups = 3",
            "minimal",
            "",
        ),
        (
            "kind = \"dragonfly-2d\"\nhosts_per_router = 200\nrows = 2\ncolumns = 2\nrow_links = 2\ncolumn_links = 3\nglobal_links_per_router = 1\ngroups = 3",
            "minimal",
            "",
        ),
        (
            "kind = \"dragonfly-plus\"\nhosts_per_leaf = 300\nleaves_per_group = 2\nspines_per_group = 2\nglobal_links_per_spine = 2\ngroups = 3",
            "minimal",
            "",
        ),
        (
            "kind = \"hyperx\"\nshape = [3, 3]\nwidth = [1, 3]\nhosts_per_router = 250",
            "minimal",
            "",
        ),
        (
            "kind = \"hyperx\"\nshape = [3, 3]\nwidth = [1, 3]\nhosts_per_router = 250",
            "dimension-order",
            "",
        ),
        ("kind = \"slim-fly\"\nq = 4\nhosts_per_router = 30", "minimal", ""),
        (
            "kind = \"express-mesh\"\nsizes = [5, 3]\ngap = [2, 2]\nhosts_per_router = 16",
            "minimal",
            "",
        ),
        (
            "kind = \"graph\"\nedges = [[0, 1, 2], [1, 2, 3], [2, 3], [3, 0]]\nhosts_per_router = 40",
            "minimal",
            "",
        ),
        (
            "kind = \"torus\"\nsizes = [4, 2]\nhosts_per_router = 60",
            "dimension-order",
            "",
        ),
        ("kind = \"fat-tree\"\nradix = 4", "destination-mod-k", ""),
        (
            "kind = \"fat-tree\"\nradix = 8\ntapering = \"5:3\"\npods = 3",
            "scatter",
            "",
        ),
        (
            "kind = \"fat-tree\"\nradix = 8\ntapering = \"5:3\"\npods = 3",
            "source-destination-hashed",
            "",
        ),
        (
            "kind = \"dragonfly\"\nhosts_per_router = 200\nrouters_per_group = 2\nglobal_links_per_router = 1",
            "valiant",
            "",
        ),
        (
            "kind = \"dragonfly\"\nhosts_per_router = 200\nrouters_per_group = 2\nglobal_links_per_router = 1",
            "valiant",
            "intermediate = \"any-router\"",
        ),
        (
            "kind = \"dragonfly\"\nhosts_per_router = 200\nrouters_per_group = 2\nglobal_links_per_router = 1",
            "valiant",
            "intermediate = \"group\"",
        ),
        (
            "kind = \"dragonfly\"\nhosts_per_router = 200\nrouters_per_group = 3\nglobal_links_per_router = 2\ngroups = 3",
            "valiant",
            "",
        ),
        (
            "kind = \"dragonfly\"\nhosts_per_router = 200\nrouters_per_group = 3\nglobal_links_per_router = 2\ngroups = 3",
            "valiant",
            "intermediate = \"any-router\"",
        ),
        (
            "kind = \"dragonfly\"\nhosts_per_router = 200\nrouters_per_group = 3\nglobal_links_per_router = 2\ngroups = 3",
            "valiant",
            "intermediate = \"group\"",
        ),
        (
            "kind = \"dragonfly-2d\"\nhosts_per_router = 200\nrows = 2\ncolumns = 2\nrow_links = 2\ncolumn_links = 3\nglobal_links_per_router = 1\ngroups = 3",
            "valiant",
            "",
        ),
        (
            "kind = \"dragonfly-2d\"\nhosts_per_router = 200\nrows = 2\ncolumns = 2\nrow_links = 2\ncolumn_links = 3\nglobal_links_per_router = 1\ngroups = 3",
            "valiant",
            "intermediate = \"any-router\"",
        ),
        (
            "kind = \"dragonfly-2d\"\nhosts_per_router = 200\nrows = 2\ncolumns = 2\nrow_links = 2\ncolumn_links = 3\nglobal_links_per_router = 1\ngroups = 3",
            "valiant",
            "intermediate = \"group\"",
        ),
        (
            "kind = \"dragonfly-plus\"\nhosts_per_leaf = 300\nleaves_per_group = 2\nspines_per_group = 2\nglobal_links_per_spine = 2\ngroups = 3",
            "valiant",
            "",
        ),
        (
            "kind = \"dragonfly-plus\"\nhosts_per_leaf = 300\nleaves_per_group = 2\nspines_per_group = 2\nglobal_links_per_spine = 2\ngroups = 3",
            "valiant",
            "intermediate = \"any-router\"",
        ),
        (
            "kind = \"dragonfly-plus\"\nhosts_per_leaf = 300\nleaves_per_group = 2\nspines_per_group = 2\nglobal_links_per_spine = 2\ngroups = 3",
            "valiant",
            "intermediate = \"group\"",
        ),
        (
            "kind = \"dragonfly-plus\"\nhosts_per_leaf = 200\nleaves_per_group = 2\nspines_per_group = 2\nglobal_links_per_spine = 1",
            "valiant",
            "intermediate = \"group\"",
        ),
        (
            "kind = \"hyperx\"\nshape = [3, 3]\nwidth = [1, 3]\nhosts_per_router = 250",
            "valiant",
            "",
        ),
        ("kind = \"slim-fly\"\nq = 4\nhosts_per_router = 30", "valiant", ""),
    ] {
        let topology = network(toml);
        let routing = routing(name, parameters, &topology);
        let mut draws = Draws(1);
        let by_host = routing.oblivious().expect("one that is oblivious").by_host;
        let mut counts: HashMap<(RouterId, Port), (f64, f64)> = HashMap::new();
        // Pairs whose chances are the same: their number.
        let mut alike: HashMap<(RouterId, u32), (HostId, f64)> = HashMap::new();
        let hosts = u64::from(topology.hosts());
        let step = (hosts * hosts / PAIRS).max(1) as usize;
        let sources = (0..topology.hosts()).step_by(step).map(HostId);
        let pairs = sources.flat_map(|source| (0..topology.hosts()).map(move |to| (source, HostId(to))));
        for (source, destination) in pairs {
            for (router, port, _) in path(&*topology, &*routing, (source, destination), &mut draws) {
                counts.entry((router, port)).or_default().0 += 1.0;
            }
            let to = match by_host {
                true => destination.0,
                false => topology.attachment(destination).0.0,
            };
            let pairs = alike.entry((topology.attachment(source).0, to));
            pairs.or_insert((destination, 0.0)).1 += 1.0;
        }
        for ((router, _), (destination, pairs)) in alike {
            let mut loads = vec![(router, RouteState::default(), pairs)];
            while let Some((router, state, load)) = loads.pop() {
                let mut chances = Vec::new();
                routing.chances(router, destination, state, &mut chances);
                for (port, state, chance) in chances {
                    if let Peer::Router(next, _) = topology.peer(router, port) {
                        counts.entry((router, port)).or_default().1 += load * chance;
                        loads.push((next, state, load * chance));
                    }
                }
            }
        }
        for (at, (found, expected)) in counts {
            // Five standard deviations of a count of choices that are made for two packets each: of what is meant
            // for one host and passes one intermediate place.
            if (found - expected).abs() > 5.0 * (2.0 * expected).sqrt() {
                let what = format!("{name} {parameters} on {toml}");
                wrong.push(format!("{what}: {at:?} {found} times, expected {expected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
