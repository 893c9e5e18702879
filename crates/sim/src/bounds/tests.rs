//! Bounds of traffic and routing made by hand against known values, and the short way against the long one.

use std::sync::Arc;

use routing::{At, Congestion, Hop, RouteState, Routing};
use topology::{Groups, Shape};

use super::*;

/// Every host sends to the host behind it by so many places, round the end.
struct Shift(u32);

impl Pattern for Shift {
    fn destination(&self, source: u32, hosts: u32, _: &mut dyn workload::traffic::Random) -> u32 {
        (source + self.0) % hosts
    }

    fn shares(&self, source: u32, hosts: u32, each: &mut dyn FnMut(u32, f64)) {
        each((source + self.0) % hosts, 1.0);
    }
}

/// Every host sends to any host of the group behind its own by so many groups, of so many hosts each.
struct GroupShift(u32, u32);

impl Pattern for GroupShift {
    fn destination(&self, _: u32, _: u32, _: &mut dyn workload::traffic::Random) -> u32 {
        unreachable!("nothing is simulated")
    }

    fn shares(&self, source: u32, hosts: u32, each: &mut dyn FnMut(u32, f64)) {
        let group = (source / self.1 + self.0) % (hosts / self.1);
        (0..self.1).for_each(|host| each(group * self.1 + host, 1.0 / f64::from(self.1)));
    }
}

/// Uniform traffic that does not say so.
struct Listed;

impl Pattern for Listed {
    fn destination(&self, _: u32, _: u32, _: &mut dyn workload::traffic::Random) -> u32 {
        unreachable!("nothing is simulated")
    }

    fn shares(&self, source: u32, hosts: u32, each: &mut dyn FnMut(u32, f64)) {
        for host in (0..hosts).filter(|host| *host != source) {
            each(host, 1.0 / f64::from(hosts - 1));
        }
    }
}

/// All hosts but the first to the first, which is silent.
struct ToTheFirst;

impl Pattern for ToTheFirst {
    fn destination(&self, _: u32, _: u32, _: &mut dyn workload::traffic::Random) -> u32 {
        0
    }

    fn shares(&self, source: u32, _: u32, each: &mut dyn FnMut(u32, f64)) {
        if source > 0 {
            each(0, 1.0);
        }
    }
}

/// (a, b, c) of a HyperX with equal sizes to (-c, -b, -a): all dimensions in reverse, complemented.
struct DimensionComplementReverse {
    size: u32,
    hosts: u32,
}

impl Pattern for DimensionComplementReverse {
    fn destination(&self, source: u32, _: u32, _: &mut dyn workload::traffic::Random) -> u32 {
        let (mut router, own) = (source / self.hosts, source % self.hosts);
        let mut to = 0;
        for _ in 0..3 {
            to = to * self.size + self.size - 1 - router % self.size;
            router /= self.size;
        }
        to * self.hosts + own
    }

    fn shares(&self, source: u32, hosts: u32, each: &mut dyn FnMut(u32, f64)) {
        struct Never;
        impl workload::traffic::Random for Never {
            fn next_u64(&mut self) -> u64 {
                unreachable!("nothing is drawn")
            }
        }
        each(self.destination(source, hosts, &mut Never), 1.0);
    }
}

/// Valiant routing in a full dragonfly: minimal to a random place, from there minimal to the destination. The
/// place is any router of the network, or the first router that is met of a group that is neither the source's nor
/// the destination's.
struct Valiant {
    topology: Arc<dyn Topology>,
    by_router: bool,
}

/// On the way to the place in `via`; 2: past it.
const OUT: u8 = 1;
const BACK: u8 = 2;

impl Valiant {
    /// One minimal step to another router.
    fn step(groups: &dyn Groups, router: RouterId, target: RouterId) -> Port {
        let (here, there) = (groups.group(router), groups.group(target));
        if here == there {
            return groups.local_port(router, target, 0);
        }
        Valiant::to_group(groups, router, there)
    }

    fn to_group(groups: &dyn Groups, router: RouterId, there: u32) -> Port {
        match groups.gateway(groups.group(router), there, 0) {
            (gateway, port) if gateway == router => port,
            (gateway, _) => groups.local_port(router, gateway, 0),
        }
    }
}

impl Routing for Valiant {
    fn vcs(&self) -> u8 {
        4
    }

    fn route(&self, _: At, _: &mut RouteState, _: &dyn Congestion, _: &mut dyn routing::Random) -> Hop {
        unreachable!("nothing is simulated")
    }

    fn options(&self, _: At, _: RouteState, _: &mut Vec<(Hop, RouteState)>) {
        unreachable!("nothing is simulated")
    }

    fn oblivious(&self) -> Option<Oblivious> {
        Some(Oblivious {
            by_host: false,
            symmetric: false,
        })
    }

    fn chances(
        &self,
        router: RouterId,
        destination: HostId,
        state: RouteState,
        out: &mut Vec<(Port, RouteState, f64)>,
    ) {
        let Shape::Groups(groups) = self.topology.shape() else {
            unreachable!("a dragonfly")
        };
        let (target, port) = self.topology.attachment(destination);
        let (here, there) = (groups.group(router), groups.group(target));
        let back = RouteState {
            phase: BACK,
            ..RouteState::default()
        };
        let on = |state: RouteState, chance: f64| {
            let met = match self.by_router {
                true => router.0 == state.via,
                false => here == state.via,
            };
            let (port, state) = match (state.phase, target == router, met) {
                (BACK, true, _) | (OUT, true, true) => (port, back),
                (BACK, false, _) | (OUT, false, true) => (Valiant::step(groups, router, target), back),
                _ if self.by_router => (Valiant::step(groups, router, RouterId(state.via)), state),
                _ => (Valiant::to_group(groups, router, state.via), state),
            };
            (port, state, chance)
        };
        if state.phase != 0 {
            return out.push(on(state, 1.0));
        }
        let places: Vec<u32> = match self.by_router {
            true => (0..self.topology.routers()).collect(),
            false => (0..groups.groups())
                .filter(|group| *group != here && *group != there)
                .collect(),
        };
        for via in &places {
            let state = RouteState {
                via: *via,
                phase: OUT,
                ..RouteState::default()
            };
            out.push(on(state, 1.0 / places.len() as f64));
        }
    }
}

fn network(topology: &str, routing: &str) -> Arc<Network> {
    let text = format!(
        "network.topology = {{ {topology} }}\nnetwork.routing = {{ {routing} }}\n\
         [[job]]\ntraffic = {{ pattern = \"uniform\", load = 0.1 }}\n[run]\nuntil = \"1 us\"\n"
    );
    Experiment::from_toml(&text, "test.toml", &[])
        .unwrap_or_else(|e| panic!("{e}"))
        .network
}

/// The bounds of a pattern among all hosts.
fn of(network: &Network, pattern: &dyn Pattern, effort: Effort) -> (JobBounds, Option<Loads>) {
    let traffic = Traffic {
        name: "",
        pattern,
        hosts: (0..network.topology.hosts()).map(HostId).collect(),
        message_bytes: 256,
        load: 1.0,
    };
    of_job(
        network,
        &Channels::new(network.topology.as_ref()),
        &traffic,
        effort,
    )
}

fn throughput(network: &Network, pattern: &dyn Pattern) -> f64 {
    let (bounds, _) = of(network, pattern, Effort::CHECK);
    assert_eq!(bounds.not_computed, "");
    bounds.router_throughput.unwrap()
}

const DRAGONFLY: &str =
    "kind = \"dragonfly\", hosts_per_router = 4, routers_per_group = 8, global_links_per_router = 4";

fn valiant(minimal: &Network, by_router: bool) -> Network {
    Network {
        topology: minimal.topology.clone(),
        routing: Arc::new(Valiant {
            topology: minimal.topology.clone(),
            by_router,
        }),
        links: minimal.links.clone(),
        ..*minimal
    }
}

/// To the host of the same place or to any host of the group: all the same.
#[test]
fn group_shift_on_a_dragonfly() {
    let minimal = network(DRAGONFLY, "algorithm = \"minimal\"");
    let close = |found: f64, exact: f64| assert!((found - exact).abs() < 1e-9, "{found}, {exact}");
    let both = |network: &Network, groups: u32, exact: f64| {
        close(throughput(network, &Shift(32 * groups)), exact);
        close(throughput(network, &GroupShift(groups, 32)), exact);
    };
    both(&minimal, 1, 1.0 / 32.0);
    // 0.484: each link carries what 32 hosts send through one of 31 groups, in and out.
    both(&valiant(&minimal, false), 1, 31.0 / 64.0);
    // 0.194: at the intermediate group, all that four groups send arrives at one router and leaves at the next.
    both(&valiant(&minimal, false), 4, 31.0 / 160.0);
    // 0.508: local links carry, at both ends of both minimal ways, what 4 hosts send to 4 of 33 groups, and twice
    // what 4 hosts send to one of 264 routers.
    both(&valiant(&minimal, true), 1, 1.0 / (64.0 / 33.0 + 8.0 / 264.0));
}

#[test]
fn dimension_complement_reverse_on_a_hyperx() {
    for (size, hosts, links) in [(4, 4, 16.0), (8, 8, 64.0)] {
        let topology =
            format!("kind = \"hyperx\", shape = [{size}, {size}, {size}], hosts_per_router = {hosts}");
        let found = throughput(
            &network(&topology, "algorithm = \"dimension-order\""),
            &DimensionComplementReverse { size, hosts },
        );
        assert!((found * links - 1.0).abs() < 1e-9, "{found}");
    }
}

/// Flows to one destination stand for all, and a formula for the list of all pairs.
#[test]
fn short_ways_give_what_the_long_ones_give() {
    for (topology, routing) in [
        (
            "kind = \"torus\", sizes = [4, 3, 2], hosts_per_router = 2",
            "dimension-order",
        ),
        ("kind = \"torus\", sizes = [6, 5]", "dimension-order"),
        (
            "kind = \"mesh\", sizes = [4, 3], hosts_per_router = 2",
            "dimension-order",
        ),
        (
            "kind = \"hyperx\", shape = [4, 3, 2], width = [1, 2, 3], hosts_per_router = 3",
            "dimension-order",
        ),
        (
            "kind = \"hyperx\", shape = [4, 3, 2], width = [1, 2, 3], hosts_per_router = 3",
            "minimal",
        ),
        ("kind = \"slim-fly\", q = 5, hosts_per_router = 2", "minimal"),
        (
            "kind = \"dragonfly\", hosts_per_router = 2, routers_per_group = 4, global_links_per_router = 2, groups = 6",
            "minimal",
        ),
        ("kind = \"fat-tree\", levels = 3, radix = 4", "destination-mod-k"),
    ] {
        let network = network(topology, &format!("algorithm = \"{routing}\""));
        let section = config::Section::from_toml("pattern = \"uniform\"", "x.toml").unwrap();
        let uniform = workload::traffic::pattern(&section).unwrap();
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

#[test]
fn a_hot_spot_is_bound_by_its_ejection_link() {
    let network = network(
        "kind = \"torus\", sizes = [5, 3]",
        "algorithm = \"dimension-order\"",
    );
    let (bounds, loads) = of(&network, &ToTheFirst, Effort::CHECK);
    let throughput = bounds.throughput.unwrap();
    assert!((throughput - 1.0 / 14.0).abs() < 1e-12, "{throughput}");
    assert_eq!(bounds.limited_by, "ejection link of host 0");
    let loads = loads.unwrap();
    assert_eq!(loads.injection[0], 0.0, "the first host is silent");
    // At a load of 1, one of 14 gets through.
    assert!((loads.excess(&network, None) - 13.0).abs() < 1e-9);
}

#[test]
fn what_is_too_large_says_so() {
    let network = network("kind = \"slim-fly\", q = 5", "algorithm = \"minimal\"");
    let effort = Effort {
        situations: 1000,
        shares: 1000,
    };
    let section = config::Section::from_toml("pattern = \"uniform\"", "x.toml").unwrap();
    let uniform = workload::traffic::pattern(&section).unwrap();
    let (bounds, _) = of(&network, uniform.as_ref(), effort);
    assert_eq!(
        bounds.not_computed,
        "too large: about 2500 routing situations, of which at most 1000 are walked"
    );
    assert_eq!((bounds.throughput, bounds.router_throughput), (Some(1.0), None));
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
