//! Every algorithm that compares loads compares those of `metric` and `metric_scope`, of the hop's port and VC.

use std::sync::Arc;

use config::Section;
use fabricsim_routing::*;
use topology::{HostId, Port, Topology};

const QUANTITIES: [(&str, LoadQuantity); 3] = [
    ("total", LoadQuantity::Total),
    ("queue", LoadQuantity::Queue),
    ("credits", LoadQuantity::Credits),
];
const SCOPES: [(&str, LoadScope); 2] = [("port", LoadScope::Port), ("vc", LoadScope::Vc)];

/// Loads by port and VC in one metric. In all others all ports are alike.
struct InOneMetric<F> {
    metric: LoadMetric,
    load: F,
}

impl<F: Fn(Port, u8) -> u64> Congestion for InOneMetric<F> {
    fn load(&self, port: Port) -> u64 {
        self.load_by(LoadMetric::DEFAULT, port, 0)
    }

    fn load_by(&self, metric: LoadMetric, port: Port, vc: u8) -> u64 {
        if metric == self.metric {
            (self.load)(port, vc)
        } else {
            77
        }
    }

    fn free_space(&self, _: Port, _: u8) -> u64 {
        1 << 20
    }
}

/// A linear congruential generator. Its upper half is sufficiently random for any bound.
struct Draws(u64);

impl Random for Draws {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (((self.0 >> 32) * u64::from(bound)) >> 32) as u32
    }
}

const DRAGONFLY: &str =
    "kind = \"dragonfly\"\nhosts_per_router = 2\nrouters_per_group = 4\nglobal_links_per_router = 2";
const DRAGONFLY_PLUS: &str = "kind = \"dragonfly-plus\"\nhosts_per_leaf = 2\nleaves_per_group = 3\n\
                              spines_per_group = 4\nglobal_links_per_spine = 2\ngroups = 3";
const HYPERX: &str = "kind = \"hyperx\"\nshape = [4, 3, 3]\nhosts_per_router = 2";
const TORUS: &str = "kind = \"torus\"\nsizes = [4, 4]";
const TREE: &str = "kind = \"fat-tree\"\nradix = 8\nlevels = 2";
const SLIM_FLY: &str = "kind = \"slim-fly\"\nq = 5";

/// Algorithms with parameters, networks, and destinations of host 0 with a choice.
const CASES: &[(&str, &str, &str, u32)] = &[
    ("adaptive", "", TREE, 20),
    ("dal", "bias = \"0 B\"", HYPERX, 71),
    ("doal", "bias = \"0 B\"", HYPERX, 71),
    ("minimal", "paths = \"adaptive\"", HYPERX, 71),
    ("minimal", "", DRAGONFLY_PLUS, 17),
    ("minimal-adaptive", "", TORUS, 10),
    ("minimal-adaptive", "", HYPERX, 71),
    ("par", "bias = \"0 B\"", DRAGONFLY, 71),
    ("par", "", SLIM_FLY, 49),
    ("piggyback", "bias = \"0 B\"", DRAGONFLY, 71),
    ("ugal", "bias = \"0 B\"", DRAGONFLY, 71),
    ("ugal", "bias = \"0 B\"\ninformation = \"group\"", DRAGONFLY, 71),
    ("ugal", "bias = \"0 B\"\npaths = \"adaptive\"", DRAGONFLY_PLUS, 17),
    ("ugal", "", TORUS, 10),
    ("valiant", "local = \"ugal\"", DRAGONFLY, 6),
    ("valiant", "paths = \"adaptive\"", DRAGONFLY_PLUS, 17),
];

fn network(toml: &str) -> Arc<dyn Topology> {
    let section = Section::from_toml(toml, "x.toml").unwrap();
    topology::build(&section).unwrap().into()
}

fn routing(algorithm: &str, parameters: &str, topology: &Arc<dyn Topology>) -> Box<dyn Routing> {
    let text = format!("algorithm = \"{algorithm}\"\n{parameters}\n");
    let section = Section::from_toml(&text, "x.toml").unwrap();
    build(&section, topology.clone()).unwrap_or_else(|e| panic!("{algorithm} {parameters}: {e}"))
}

/// The hops of packets from host 0, by seed.
fn hops(topology: &dyn Topology, routing: &dyn Routing, to: u32, congestion: &dyn Congestion) -> Vec<Hop> {
    let (router, input) = topology.attachment(HostId(0));
    let at = At {
        router,
        input,
        vc: 0,
        source: HostId(0),
        destination: HostId(to),
    };
    let hop = |seed| routing.route(at, &mut RouteState::default(), congestion, &mut Draws(seed));
    (0..200).map(hop).collect()
}

/// Loads of the metric decide as those of the default metric do; loads of all other metrics decide nothing.
#[test]
fn the_choice_follows_the_metric_and_no_other() {
    for (algorithm, parameters, text, to) in CASES {
        let topology = network(text);
        let with = |more: &str| routing(algorithm, &format!("{parameters}\n{more}"), &topology);
        let blind = InOneMetric {
            metric: LoadMetric::DEFAULT,
            load: |_: Port, _: u8| 77,
        };
        let default = with("");
        let blind = hops(&*topology, &*default, *to, &blind);
        let most = |port: &Hop| blind.iter().filter(|hop| hop.port == port.port).count();
        let preferred = blind.iter().max_by_key(|hop| most(hop)).expect("200 hops").port;
        let load = |port: Port, _: u8| match port == preferred {
            true => 500_000,
            false => u64::from(port.0) * 16,
        };
        let seen =
            |routing: &dyn Routing, metric| hops(&*topology, routing, *to, &InOneMetric { metric, load });
        let expected = seen(&*default, LoadMetric::DEFAULT);
        assert!(expected != blind, "{algorithm} {parameters}: loads decide");
        for (name, quantity) in QUANTITIES {
            for (scope_name, scope) in SCOPES {
                let metric = LoadMetric { quantity, scope };
                let text = format!("metric = \"{name}\"\nmetric_scope = \"{scope_name}\"");
                let routing = with(&text);
                assert_eq!(routing.load_metric(), metric, "{algorithm} {parameters}");
                let case = format!("{algorithm} {parameters}: {text}");
                assert!(seen(&*routing, metric) == expected, "{case}");
                let other = match quantity {
                    LoadQuantity::Queue => LoadQuantity::Credits,
                    _ => LoadQuantity::Queue,
                };
                let other = LoadMetric {
                    quantity: other,
                    scope,
                };
                assert!(seen(&*routing, other) == blind, "{case}");
            }
        }
    }
}

/// In a HyperX a direct link has VC 1 and a detour VC 0. In a dragonfly minimal paths begin with VC 2 or 3, others with
/// VC 0 or 1. The load of the packet's own VC counts.
#[test]
fn the_load_is_that_of_the_channel_that_the_packet_would_take() {
    let metric = LoadMetric {
        quantity: LoadQuantity::Total,
        scope: LoadScope::Vc,
    };
    for (algorithm, text, first_minimal) in [("doal", HYPERX, 1), ("ugal", DRAGONFLY, 2)] {
        let topology = network(text);
        let routing = routing(algorithm, "bias = \"0 B\"\nmetric_scope = \"vc\"", &topology);
        for load_is_minimal in [true, false] {
            let load = |_: Port, vc: u8| match (vc >= first_minimal) == load_is_minimal {
                true => 1000,
                false => 0,
            };
            let hops = hops(&*topology, &*routing, 71, &InOneMetric { metric, load });
            let are_minimal = hops.iter().all(|hop| hop.vc >= first_minimal);
            let are_detours = hops.iter().all(|hop| hop.vc < first_minimal);
            assert_eq!(
                (are_minimal, are_detours),
                (!load_is_minimal, load_is_minimal),
                "{algorithm}"
            );
        }
    }
}
