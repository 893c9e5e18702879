//! Bounds of selected patterns and routing algorithms against known values, and the formulas against the full
//! computation.

use std::path::Path;

use config::Section;
use workload::traffic::{PatternContext, TrafficRandom};

use super::*;
use crate::setup::geometry::HostGeometry;

/// Uniform traffic that does not declare itself uniform.
struct Listed;

impl Pattern for Listed {
    fn destination(&self, _: u32, _: u32, _: u64, _: &mut dyn TrafficRandom) -> Option<u32> {
        unreachable!("nothing is simulated")
    }

    fn shares(&self, source: u32, hosts: u32, each: &mut dyn FnMut(u32, f64)) {
        for host in (0..hosts).filter(|host| *host != source) {
            each(host, 1.0 / f64::from(hosts - 1));
        }
    }
}

/// A random stream for patterns that draw nothing.
struct Never;

impl TrafficRandom for Never {
    fn next_u64(&mut self) -> u64 {
        unreachable!("nothing is drawn")
    }
}

/// A registered pattern among all hosts.
fn pattern(network: &NetworkModel, text: &str) -> Box<dyn Pattern> {
    let section = Section::from_toml(text, "x.toml").unwrap();
    let mut place = PatternContext {
        hosts: network.hosts(),
        network: Some(&HostGeometry::new(network)),
        folder: Path::new("."),
        random: &mut Never,
    };
    workload::traffic::pattern(&section, &mut place).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn network(topology: &str, routing: &str) -> std::sync::Arc<NetworkModel> {
    let text = format!(
        "network.topology = {{ {topology} }}\nnetwork.routing = {{ {routing} }}\n\
         [[job]]\ntraffic = {{ pattern = \"uniform\", load = 0.1 }}\n[run]\nuntil = \"1 us\"\n"
    );
    Experiment::from_toml(&text, "test.toml", &[])
        .unwrap_or_else(|e| panic!("{e}"))
        .network
}

/// The bounds of a pattern among all hosts.
fn of(network: &NetworkModel, pattern: &dyn Pattern, effort: Effort) -> (JobBounds, Option<Loads>) {
    let traffic = Traffic {
        name: "",
        pattern,
        hosts: (0..network.topology.hosts()).map(HostId).collect(),
        message_bytes: 256,
        largest_bytes: 256,
        wire_factor: 1.0,
        load: 1.0,
    };
    of_job(
        network,
        &Channels::new(network.topology.as_ref()),
        &traffic,
        effort,
    )
}

/// The bound of links between routers, for a registered pattern.
fn throughput(network: &NetworkModel, text: &str) -> f64 {
    let (bounds, _) = of(network, pattern(network, text).as_ref(), Effort::CHECK);
    assert_eq!(bounds.not_computed, "", "{text}");
    bounds.router_throughput.unwrap()
}

const DRAGONFLY: &str =
    "kind = \"dragonfly\", hosts_per_router = 4, routers_per_group = 8, global_links_per_router = 4";

fn close(found: f64, exact: f64) {
    assert!((found - exact).abs() < 1e-9, "{found}, {exact}");
}

/// The table of `docs/methods/bounds.md`, to its digits.
#[test]
fn known_bounds() {
    let hyperx = |n: u32| format!("kind = \"hyperx\", shape = [{n}, {n}, {n}], hosts_per_router = {n}");
    let torus = |sizes: &str| format!("kind = \"torus\", sizes = [{sizes}]");
    let (minimal, dimension_order) = ("algorithm = \"minimal\"", "algorithm = \"dimension-order\"");
    let valiant = |by: &str| format!("algorithm = \"valiant\", intermediate = \"{by}\"");
    let (by_router, by_group) = (&*valiant("any-router"), &*valiant("group"));
    let (uniform, to_all) = (
        "pattern = \"uniform\"",
        "pattern = \"uniform\"\ninclude_self = true",
    );
    let reverse = "pattern = \"dimension-complement-reverse\"";
    let shift = "pattern = \"shift\"\nunit = \"groups\"\nto = \"random\"";
    let shift_by_4 = "pattern = \"adversarial\"\noffset = 4";
    for (topology, routing, pattern, exact) in [
        (
            "kind = \"slim-fly\", q = 13, hosts_per_router = 9",
            minimal,
            uniform,
            1.015,
        ),
        (DRAGONFLY, minimal, uniform, 1.014),
        (DRAGONFLY, minimal, shift, 1.0 / 32.0),
        (DRAGONFLY, by_router, shift, 0.508),
        (DRAGONFLY, by_group, shift, 0.484),
        (DRAGONFLY, by_group, shift_by_4, 0.194),
        (&hyperx(4), dimension_order, uniform, 0.996),
        (&hyperx(4), dimension_order, reverse, 1.0 / 16.0),
        (&hyperx(8), dimension_order, uniform, 1.000),
        (&hyperx(8), dimension_order, reverse, 1.0 / 64.0),
        (&torus("8, 8, 8"), dimension_order, to_all, 1.0),
        (&torus("16, 16"), dimension_order, to_all, 0.5),
        (&torus("8, 4, 4, 4, 2"), dimension_order, to_all, 1.0),
        (&torus("24, 24, 24"), dimension_order, to_all, 0.333),
        (&torus("36, 24, 16"), dimension_order, to_all, 0.222),
    ] {
        let found = throughput(&network(topology, routing), pattern);
        println!(
            "{topology}; {routing}; {}: {found:.4}",
            pattern.replace('\n', ", ")
        );
        assert!(
            (found - exact).abs() < 0.001,
            "{topology}; {routing}; {pattern}: {found}, not {exact}"
        );
    }
}

/// To the host with the same position, or to any host of the group: the same bound.
#[test]
fn group_shift_on_a_dragonfly() {
    let both = |routing: &str, groups: u32, exact: f64| {
        let network = network(DRAGONFLY, routing);
        for to in ["same", "random"] {
            let pattern = format!("pattern = \"shift\"\nunit = \"groups\"\nby = {groups}\nto = \"{to}\"");
            close(throughput(&network, &pattern), exact);
        }
        let worst = format!("pattern = \"adversarial\"\noffset = {groups}");
        close(throughput(&network, &worst), exact);
    };
    both("algorithm = \"minimal\"", 1, 1.0 / 32.0);
    // 0.484: each link carries the traffic of 32 hosts through one of 31 groups, in and out.
    let by_group = "algorithm = \"valiant\", intermediate = \"group\"";
    both(by_group, 1, 31.0 / 64.0);
    // 0.194: at the intermediate group, all traffic of four groups arrives at one router and leaves at the next.
    both(by_group, 4, 31.0 / 160.0);
    // As many groups and routers: global links saturate.
    both("algorithm = \"valiant\"", 1, 31.0 / 64.0);
    // 0.508: local links carry, at both ends of both minimal paths, the traffic of 4 hosts to 4 of 33 groups, and twice
    // the traffic of 4 hosts to one of 264 routers.
    let by_router = "algorithm = \"valiant\", intermediate = \"any-router\"";
    both(by_router, 1, 1.0 / (64.0 / 33.0 + 8.0 / 264.0));
}

/// The flow to one destination represents all, and a formula replaces the list of all pairs.
#[test]
fn short_ways_give_what_the_long_ones_give() {
    for (topology, routing) in [
        (
            "kind = \"torus\", sizes = [4, 3, 2], hosts_per_router = 2",
            "algorithm = \"dimension-order\"",
        ),
        (
            "kind = \"torus\", sizes = [6, 5]",
            "algorithm = \"dimension-order\"",
        ),
        (
            "kind = \"mesh\", sizes = [4, 3], hosts_per_router = 2",
            "algorithm = \"dimension-order\"",
        ),
        (
            "kind = \"hyperx\", shape = [4, 3, 2], width = [1, 2, 3], hosts_per_router = 3",
            "algorithm = \"dimension-order\"",
        ),
        (
            "kind = \"hyperx\", shape = [4, 3, 2], width = [1, 2, 3], hosts_per_router = 3",
            "algorithm = \"minimal\"",
        ),
        (
            "kind = \"slim-fly\", q = 5, hosts_per_router = 2",
            "algorithm = \"minimal\"",
        ),
        (
            "kind = \"dragonfly\", hosts_per_router = 2, routers_per_group = 4, global_links_per_router = 2, groups = 6",
            "algorithm = \"minimal\"",
        ),
        (
            "kind = \"fat-tree\", levels = 3, radix = 4",
            "algorithm = \"destination-mod-k\"",
        ),
        (
            "kind = \"fat-tree\", levels = 3, radix = 4",
            "algorithm = \"scatter\"",
        ),
        (
            "kind = \"hyperx\", shape = [4, 3, 2], width = [1, 2, 3]",
            "algorithm = \"valiant\"",
        ),
        (
            "kind = \"slim-fly\", q = 4, hosts_per_router = 2",
            "algorithm = \"valiant\"",
        ),
        (
            "kind = \"dragonfly-plus\", hosts_per_leaf = 2, leaves_per_group = 2, global_links_per_spine = 2, groups = 3",
            "algorithm = \"valiant\", paths = \"hashed\"",
        ),
        (
            "kind = \"dragonfly-plus\", hosts_per_leaf = 2, leaves_per_group = 2, global_links_per_spine = 2, groups = 3",
            "algorithm = \"valiant\", paths = \"random\"",
        ),
    ] {
        let network = network(topology, routing);
        let uniform = pattern(&network, "pattern = \"uniform\"");
        let (short, short_loads) = of(&network, uniform.as_ref(), Effort::CHECK);
        let (long, long_loads) = of(&network, &Listed, Effort::CHECK);
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9 * (1.0 + a.abs()), "{topology}: {a}, {b}");
        let (short_loads, long_loads) = (short_loads.unwrap(), long_loads.unwrap());
        assert_eq!(short_loads.most, long_loads.most, "{topology}");
        let pairs = |a: &[f64], b: &[f64]| a.iter().zip(b).for_each(|(a, b)| close(*a, *b));
        pairs(&short_loads.injection, &long_loads.injection);
        pairs(&short_loads.ejection, &long_loads.ejection);
        pairs(&short_loads.routers.unwrap(), &long_loads.routers.unwrap());
        close(short.throughput.unwrap(), long.throughput.unwrap());
        close(short.mean_hops.unwrap(), long.mean_hops.unwrap());
        let (short, long) = (
            short.zero_load_latency_ns.unwrap(),
            long.zero_load_latency_ns.unwrap(),
        );
        close(short.mean, long.mean);
        close(short.max, long.max);
    }
}

/// A NIC that sends at a quarter, and one with a way into memory of a tenth of the bandwidth of its link.
#[test]
fn slow_nics_bound_the_traffic_of_their_hosts() {
    let network = |nic: &str| {
        network(
            "kind = \"torus\", sizes = [5, 3]",
            &format!("algorithm = \"dimension-order\" }}\nnetwork.nic = {{ {nic}"),
        )
    };
    for (nic, limited_by, throughput) in [
        (
            "injection_bandwidth = \"25 Gbps\"",
            "injection link of host",
            0.25,
        ),
        ("memory_bandwidth = \"10 Gbps\"", "way into memory of host", 0.1),
        ("memory_bandwidth = \"200 Gbps\"", "ejection link of host", 1.0),
    ] {
        let network = network(nic);
        let pattern = pattern(&network, "pattern = \"uniform\"");
        let (bounds, _) = of(&network, pattern.as_ref(), Effort::CHECK);
        let found = bounds.host_throughput.unwrap();
        assert!((found - throughput).abs() < 1e-9, "{nic}: {found}");
        if throughput < 1.0 {
            assert!(
                bounds.limited_by.contains(limited_by),
                "{nic}: {}",
                bounds.limited_by
            );
        }
    }
}

#[test]
fn a_hot_spot_is_bound_by_its_ejection_link() {
    let network = network(
        "kind = \"torus\", sizes = [5, 3]",
        "algorithm = \"dimension-order\"",
    );
    let (bounds, loads) = of(
        &network,
        pattern(&network, "pattern = \"incast\"").as_ref(),
        Effort::CHECK,
    );
    let throughput = bounds.throughput.unwrap();
    assert!((throughput - 1.0 / 14.0).abs() < 1e-12, "{throughput}");
    assert_eq!(bounds.limited_by, "ejection link of host 0");
    let loads = loads.unwrap();
    assert_eq!(loads.injection[0], 0.0, "the first host is silent");
    // At a load of 1, one packet of 14 gets through.
    let none = Headers {
        most_wire: 1.0,
        greatest_payload: 1.0,
    };
    assert!((loads.excess(&network, None, none) - 13.0).abs() < 1e-9);
    // 14 units on the link are 10 of payload, and a full link carries 0.8.
    let some = Headers {
        most_wire: 1.4,
        greatest_payload: 0.8,
    };
    assert!((loads.excess(&network, None, some) - 9.2).abs() < 1e-9);
}

#[test]
fn what_is_too_large_says_so() {
    let network = network("kind = \"slim-fly\", q = 5", "algorithm = \"minimal\"");
    let effort = Effort {
        situations: 1000,
        steps: 1_000_000,
        shares: 1000,
    };
    let uniform = pattern(&network, "pattern = \"uniform\"");
    let (bounds, _) = of(&network, uniform.as_ref(), effort);
    assert_eq!(
        bounds.not_computed,
        "too large: more than 1000 routing situations"
    );
    assert_eq!((bounds.throughput, bounds.router_throughput), (Some(1.0), None));
    // Packets go to many routers first.
    let valiant = self::network("kind = \"slim-fly\", q = 5", "algorithm = \"valiant\"");
    let few_steps = Effort {
        situations: 1_000_000,
        steps: 1000,
        ..effort
    };
    let (bounds, _) = of(&valiant, uniform.as_ref(), few_steps);
    assert_eq!(
        bounds.not_computed,
        "too large: more than 1000 steps between routing situations"
    );
    let (bounds, loads) = of(&network, &Listed, effort);
    assert_eq!(
        bounds.not_computed,
        "too large: the pattern has more than 1000 pairs of hosts"
    );
    assert!(bounds.throughput.is_none() && loads.is_none());
}

#[test]
fn adaptive_routing_has_the_bounds_of_hosts() {
    let network = network("kind = \"fat-tree\", radix = 4", "algorithm = \"adaptive\"");
    let (bounds, _) = of(&network, &Listed, Effort::CHECK);
    assert!(
        bounds.not_computed.contains("congestion"),
        "{}",
        bounds.not_computed
    );
    let host = bounds.throughput.unwrap();
    assert!((host - 1.0).abs() < 1e-9 && bounds.host_throughput == Some(host));
    assert_eq!(bounds.mean_hops, None);
}

/// The network of a file with these keys, and a pattern among all its hosts: the bounds.
fn of_text(topology: &str, routing: &str, text: &str) -> JobBounds {
    let network = network(topology, routing);
    of(&network, pattern(&network, text).as_ref(), Effort::CHECK).0
}

/// Four parallel links and four hosts on each side. The hash of `minimal` decides, pair by pair.
#[test]
fn pairs_with_one_path_each_have_exact_bounds() {
    let topology = "kind = \"graph\", hosts_per_router = 4, edges = [[\"A\", \"B\", 4]]";
    let network = network(topology, "algorithm = \"minimal\"");
    let bisection = pattern(&network, "pattern = \"bisection\"");
    let (bounds, loads) = of(&network, bisection.as_ref(), Effort::CHECK);
    assert!(!bounds.expected);
    // What the routing does with each pair, counted here again.
    let mut counts = std::collections::BTreeMap::new();
    for source in 0..8u32 {
        bisection.shares(source, 8, &mut |to, share| {
            let (router, input) = network.topology.attachment(HostId(source));
            let at = routing::At {
                router,
                input,
                vc: 0,
                source: HostId(source),
                destination: HostId(to),
            };
            assert_eq!(share, 1.0, "one partner");
            let hop = network
                .routing
                .route(at, &mut Default::default(), &NoLoad, &mut NoDraw);
            *counts.entry((router.0, hop.port.0)).or_insert(0u32) += 1;
        });
    }
    let most = *counts.values().max().unwrap();
    assert!(most >= 2, "this hash puts two pairs on one link: {counts:?}");
    close(bounds.router_throughput.unwrap(), 1.0 / f64::from(most));
    let used = loads.unwrap().routers.unwrap();
    assert_eq!(used.iter().filter(|load| **load > 0.0).count(), counts.len());
    close(used.iter().sum::<f64>(), 8.0);
}

struct NoLoad;

impl routing::Congestion for NoLoad {
    fn load(&self, _: Port) -> u64 {
        0
    }

    fn free_space(&self, _: Port, _: u8) -> u64 {
        0
    }
}

struct NoDraw;

impl routing::Random for NoDraw {
    fn below(&mut self, _: u32) -> u32 {
        unreachable!("nothing is drawn")
    }
}

#[test]
fn bounds_say_where_they_are_expected_ones() {
    let tree = "kind = \"fat-tree\", levels = 3, radix = 16";
    let hashed = "algorithm = \"source-destination-hashed\"";
    let uniform = of_text(tree, hashed, "pattern = \"uniform\"");
    assert!(uniform.expected, "a million pairs");
    assert!(uniform.to_string().contains("expected 1.0"), "{uniform}");
    let pairs = of_text(tree, hashed, "pattern = \"bisection\"");
    assert!(
        !pairs.expected && pairs.router_throughput.unwrap() < 0.6,
        "{pairs}"
    );
    assert!(pairs.to_string().contains("at most 0."), "{pairs}");
    // One path by the destination alone needs no hash, and random paths have their mean.
    for (routing, pattern) in [
        ("algorithm = \"destination-mod-k\"", "pattern = \"bisection\""),
        ("algorithm = \"scatter\"", "pattern = \"bisection\""),
    ] {
        let bounds = of_text(tree, routing, pattern);
        assert!(!bounds.expected, "{routing}: {bounds}");
    }
    close(
        of_text(tree, "algorithm = \"scatter\"", "pattern = \"bisection\"")
            .router_throughput
            .unwrap(),
        1.0,
    );
}
