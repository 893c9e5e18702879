//! Synthetic traffic in whole simulations: the offered load is the one asked for, and adverse patterns reach the
//! throughput of their sources.

use std::collections::BTreeMap;

use experiment::{Experiment, JobKind};
use topology::{HostId, Peer, Port, RouterId};

use crate::support::{experiment, run, run_everywhere, table};

/// An experiment on a network with links of 100 Gbps, and buffers in which nothing waits for credits.
fn on(topology: &str, algorithm: &str, traffic: &str, until_us: u32) -> Experiment {
    routed(
        topology,
        &format!("algorithm = \"{algorithm}\""),
        traffic,
        until_us,
    )
}

/// As [`on`], with all parameters of the routing.
fn routed(topology: &str, routing: &str, traffic: &str, until_us: u32) -> Experiment {
    experiment(&format!(
        "[network]\n\
         topology = {{ {topology} }}\n\
         routing = {{ {routing} }}\n\
         link = {{ bandwidth = \"100 Gbps\", latency = \"20 ns\" }}\n\
         router = {{ delay = \"20 ns\", buffer = \"256 KiB\" }}\n\
         packet = \"256 B\"\n\
         [[job]]\n\
         traffic = {{ {traffic} }}\n\
         [run]\n\
         until = \"{until_us} us\"\n\
         warmup = \"{} us\"\n",
        until_us / 3
    ))
}

/// The accepted load of a saturated network, as a fraction of the injection bandwidth of all hosts.
fn accepted(topology: &str, routing: &str, pattern: &str) -> f64 {
    let traffic = format!("pattern = {pattern}, load = 1.0, arrival = \"fixed\"");
    let result = run(&on(topology, routing, &traffic, 60));
    result.summary.network.accepted_load
}

fn assert_near(found: f64, expected: f64, tolerance: f64) {
    let difference = (found / expected - 1.0).abs();
    assert!(difference <= tolerance, "{found} is not {expected}");
}

/// All packets cross three routers in the same direction. Each link carries the traffic of three routers, and at most
/// a third of what each could inject. (Far beyond saturation it is less: packets injected at a router alternate with
/// the two thirds in transit.)
#[test]
fn tornado_on_a_ring_of_eight() {
    let ring = "kind = \"torus\", sizes = [8]";
    for pattern in ["tornado", "adversarial"] {
        let accepted = |load: f64| {
            let traffic = format!("pattern = \"{pattern}\", load = {load}, arrival = \"fixed\"");
            run(&on(ring, "dimension-order", &traffic, 60))
                .summary
                .network
                .accepted_load
        };
        assert_near(accepted(0.33), 0.33, 0.01);
        assert!(accepted(0.36) < 0.336, "{}", accepted(0.36));
    }
}

/// The eight hosts of a group share one link.
#[test]
fn adversarial_on_a_dragonfly() {
    let dragonfly =
        "kind = \"dragonfly\", hosts_per_router = 2, routers_per_group = 4, global_links_per_router = 2";
    assert_near(accepted(dragonfly, "minimal", "\"adversarial\""), 1.0 / 8.0, 0.01);
    // Non-minimal paths exist for this pattern.
    assert!(accepted(dragonfly, "ugal", "\"adversarial\"") > 0.3);
}

/// Every host sends to the host of the same position on the next leaf, or in the other group. As many flows leave a
/// leaf, or a group, as it has links. A hash puts several flows on one link; a choice for each packet uses all links.
#[test]
fn permutations_on_a_dragonfly_plus_need_a_choice_for_each_packet() {
    let inside = "kind = \"dragonfly-plus\", hosts_per_leaf = 8, leaves_per_group = 8, global_links_per_spine = 1, groups = 1";
    let between = "kind = \"dragonfly-plus\", hosts_per_leaf = 4, leaves_per_group = 4, links_between_groups = 16, groups = 2";
    for (topology, by) in [(inside, 8), (between, 16)] {
        let accepted = |paths: &str| {
            let routing = format!("algorithm = \"minimal\", paths = \"{paths}\"");
            let traffic = format!("pattern = \"shift\", by = {by}, load = 1.0, arrival = \"fixed\"");
            let result = run(&routed(topology, &routing, &traffic, 60));
            let load = result.summary.network.accepted_load;
            println!("shift by {by}, {paths}: accepted load {load:.3}");
            load
        };
        assert!((0.50..0.70).contains(&accepted("hashed")));
        assert!((0.97..0.995).contains(&accepted("random")));
        assert!(accepted("adaptive") > 0.998);
    }
}

/// All hosts of a router send to the next router of their group, over the one link between the two: without detours
/// its bandwidth is the bound. With them, the links between the routers could carry everything.
#[test]
fn detours_inside_a_group_share_its_links() {
    for (p, a, h) in [(2, 4, 2), (4, 8, 4)] {
        let dragonfly = format!(
            "kind = \"dragonfly\", hosts_per_router = {p}, routers_per_group = {a}, global_links_per_router = {h}, groups = 1"
        );
        for algorithm in ["ugal", "par"] {
            let accepted = |local: &str| {
                let routing = format!("algorithm = \"{algorithm}\", local = \"{local}\", bias = \"1 KiB\"");
                let traffic = format!("pattern = \"shift\", by = {p}, load = 1.0, arrival = \"fixed\"");
                let result = run(&routed(&dragonfly, &routing, &traffic, 60));
                let load = result.summary.network.accepted_load;
                println!("{algorithm}, local {local}, {p} hosts a router: accepted load {load:.3}");
                load
            };
            assert_near(accepted("minimal"), 1.0 / f64::from(p), 0.01);
            assert!(accepted("ugal") > 0.99);
        }
    }
}

/// Accepted load and mean latency of `ugal` by each load metric, in the router `packet`.
#[test]
fn load_metrics_of_ugal_differ_in_their_detours() {
    let measure = |metric: &str, scope: &str, pattern: &str, load: f64| {
        let result = run(&experiment(&format!(
            "[network]\n\
             topology = {{ kind = \"dragonfly\", hosts_per_router = 2, routers_per_group = 4, global_links_per_router = 2 }}\n\
             routing = {{ algorithm = \"ugal\", bias = \"1 KiB\", metric = \"{metric}\", metric_scope = \"{scope}\" }}\n\
             link = {{ bandwidth = \"100 Gbps\", latency = \"50 ns\" }}\n\
             links = {{ global.latency = \"300 ns\" }}\n\
             router = {{ delay = \"100 ns\", buffer = \"64 KiB\" }}\n\
             packet = \"256 B\"\n\
             [[job]]\n\
             traffic = {{ pattern = \"{pattern}\", load = {load} }}\n\
             [run]\n\
             until = \"100 us\"\n\
             warmup = \"40 us\"\n"
        )));
        let network = &result.summary.network;
        let latency = network.latency_ns.mean.expect("packets arrive");
        let hops = network.mean_hops.expect("packets arrive");
        println!(
            "{metric}, {scope}, {pattern} {load}: accepted load {:.3}, mean latency {latency:.0} ns, {hops:.2} hops",
            network.accepted_load
        );
        (network.accepted_load, hops)
    };
    let mut hops = Vec::new();
    for metric in ["total", "queue", "credits"] {
        for scope in ["port", "vc"] {
            let (uniform, hops_uniform) = measure(metric, scope, "uniform", 0.8);
            let (adversarial, hops_adversarial) = measure(metric, scope, "adversarial", 0.4);
            hops.push((hops_uniform, hops_adversarial));
            assert!(uniform > 0.5, "{metric}, {scope}: {uniform}");
            // Without detours it is an eighth.
            assert!(adversarial > 0.2, "{metric}, {scope}: {adversarial}");
        }
    }
    // Each metric takes other detours.
    for (number, one) in hops.iter().enumerate() {
        assert!(!hops[..number].contains(one), "{hops:?}");
    }
}

/// 2 p flows share a link, except for the two remaining routers of fifty.
#[test]
fn adversarial_on_a_slim_fly() {
    for p in [2, 3] {
        let slim_fly = format!("kind = \"slim-fly\", q = 5, hosts_per_router = {p}");
        let found = accepted(&slim_fly, "minimal", "\"adversarial\"");
        let bound = 1.0 / (2.0 * f64::from(p));
        assert!(
            found > bound * 0.98 && found < bound * 1.05,
            "{found} is not {bound}"
        );
    }
}

/// The flows of four routers share each link of the second dimension.
#[test]
fn adversarial_on_a_hyperx_of_three_dimensions() {
    let hyperx = "kind = \"hyperx\", shape = [4, 4, 4]";
    assert_near(
        accepted(hyperx, "dimension-order", "\"adversarial\""),
        1.0 / 4.0,
        0.01,
    );
}

/// All packets cross the top level, whose links are half as many as the hosts.
#[test]
fn adversarial_on_a_tapered_tree() {
    let tree = "kind = \"fat-tree\", radix = 6, levels = 2, tapering = \"2:1\"";
    let found = accepted(tree, "adaptive", "\"adversarial\"");
    assert!(found > 0.45 && found <= 0.501, "{found}");
}

/// All packets share one ejection link, and the target sends nothing.
#[test]
fn incast_is_limited_by_the_target() {
    let mesh = "kind = \"mesh\", sizes = [4, 4]";
    assert_near(accepted(mesh, "dimension-order", "\"incast\""), 1.0 / 16.0, 0.01);
}

/// 12 of 16 hosts of a transpose are no fixed points; the others send nothing.
#[test]
fn silent_hosts_do_not_make_the_others_send_more() {
    let mesh = "kind = \"mesh\", sizes = [4, 4]";
    let traffic = "pattern = \"transpose\", load = 0.2, arrival = \"fixed\"";
    let result = run(&on(mesh, "dimension-order", traffic, 60));
    assert_near(result.summary.network.offered_load, 0.2 * 12.0 / 16.0, 0.01);
    assert_near(result.summary.network.accepted_load, 0.2 * 12.0 / 16.0, 0.01);
}

/// The load counts bytes, whatever the arrivals and sizes are.
#[test]
fn the_load_is_that_of_bytes() {
    let torus = "kind = \"torus\", sizes = [4, 4], hosts_per_router = 4";
    let sizes = [
        "\"333 B\"",
        "{ distribution = \"uniform\", min = \"1 B\", max = \"999 B\" }",
        "{ distribution = \"bimodal\", small = \"64 B\", large = \"2 KiB\", large_share = 0.1 }",
        "{ distribution = \"geometric\", mean = \"500 B\" }",
    ];
    for size in sizes {
        for arrival in ["bernoulli", "exponential", "fixed", "on-off"] {
            let traffic =
                format!("pattern = \"uniform\", load = 0.3, arrival = \"{arrival}\", message = {size}");
            let result = run(&on(torus, "dimension-order", &traffic, 90));
            // At least 60,000 messages are counted. Bursts of ten, each of which occurs or not, vary more.
            let tolerance = if arrival == "on-off" { 0.06 } else { 0.02 };
            assert_near(result.summary.network.offered_load, 0.3, tolerance);
        }
    }
}

/// Times at which each of nine hosts begins a packet, as starts of bins of 51.2 ns. Their messages of one packet are
/// 204.8 ns apart, from 512 ns on.
fn sending_times(phase: &str) -> BTreeMap<u32, Vec<u64>> {
    let mut experiment = experiment(&format!(
        r#"
        [network]
        topology = {{ kind = "torus", sizes = [3, 3] }}
        routing = {{ algorithm = "dimension-order" }}
        link = {{ bandwidth = "100 Gbps" }}
        packet = "256 B"
        [[job]]
        start = "512 ns"
        traffic = {{ pattern = "shift", by = 1, load = 0.1, arrival = "fixed"{phase} }}
        [run]
        until = "2.56 us"
        [collect]
        series = "vcs"
        bin = "51.2 ns"
        "#
    ));
    let result = run_everywhere(&mut experiment);
    let series = table(&result, "host_series");
    let [starts, packets] = ["begin_ps", "packets_sent"].map(|column| series.u64s(column).unwrap());
    let mut times: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    for (row, host) in series.u32s("host").unwrap().iter().enumerate() {
        assert!(packets[row] <= 1);
        times
            .entry(*host)
            .or_default()
            .extend((packets[row] == 1).then_some(starts[row]));
    }
    times
}

#[test]
fn with_a_phase_of_zero_all_hosts_begin_with_the_job_and_keep_equal_intervals() {
    let expected: Vec<u64> = (0..10).map(|message| 512_000 + message * 204_800).collect();
    let together = sending_times(", phase = \"zero\"");
    assert_eq!(together, (0..9).map(|host| (host, expected.clone())).collect());
    let apart = sending_times("");
    assert_eq!(apart, sending_times(", phase = \"random\""));
    let firsts: Vec<u64> = apart
        .values()
        .filter_map(|times| times.first().copied())
        .collect();
    assert_eq!(firsts.len(), 9);
    assert!(
        firsts.iter().all(|first| (512_000..716_800).contains(first)),
        "{firsts:?}"
    );
    assert!(firsts.iter().any(|first| *first != firsts[0]), "{firsts:?}");
}

/// Other tools compute bounds from these matrices: by hosts of the network, for a job on a part of it.
#[test]
fn shares_of_a_job_name_hosts_of_the_network() {
    let text = "[network]\n\
        topology = { kind = \"torus\", sizes = [8] }\n\
        routing = { algorithm = \"dimension-order\" }\n\
        [[job]]\n\
        hosts = 3\n\
        placement = \"random\"\n\
        traffic = { pattern = \"uniform\", load = 0.25 }\n\
        [run]\n\
        until = \"1 us\"\n";
    let experiment = experiment(text);
    let JobKind::Traffic(job) = &experiment.jobs[0].kind else {
        panic!("it is traffic")
    };
    assert_eq!((job.load, job.host_count), (0.25, 3));
    let mut found = Vec::new();
    job.shares(1, &mut |host, share| found.push((host, share)));
    assert_eq!(found, [(job.host(0), 0.5), (job.host(2), 0.5)]);
    assert!(
        found
            .iter()
            .any(|(host, _)| *host != HostId(0) && *host != HostId(2)),
        "placed at random"
    );
}

/// Hosts in another order than the network's have no coordinates.
#[test]
fn patterns_of_the_network_want_all_of_it() {
    for hosts in ["hosts = 7", "hosts = 8\nplacement = \"random\""] {
        let text = format!(
            "[network]\n\
             topology = {{ kind = \"torus\", sizes = [8] }}\n\
             routing = {{ algorithm = \"dimension-order\" }}\n\
             [[job]]\n\
             {hosts}\n\
             traffic = {{ pattern = \"tornado\", load = 0.25 }}\n\
             [run]\n\
             until = \"1 us\"\n"
        );
        let error = Experiment::from_toml(&text, "x.toml", &[])
            .err()
            .expect("it is refused")
            .to_string();
        assert!(
            error.contains("job.0.traffic.pattern: needs the coordinates of routers"),
            "{error}"
        );
        let all = text.replace(hosts, "hosts = 8");
        assert!(Experiment::from_toml(&all, "x.toml", &[]).is_ok());
    }
}

/// The same seed gives the same permutation. Another job has another one.
#[test]
fn permutations_come_from_the_seed_and_the_job() {
    let partners = |seed: u32| {
        let text = format!(
            "[network]\n\
             topology = {{ kind = \"torus\", sizes = [64] }}\n\
             routing = {{ algorithm = \"dimension-order\" }}\n\
             [[job]]\n\
             traffic = {{ pattern = \"permutation\", load = 0.1 }}\n\
             [[job]]\n\
             traffic = {{ pattern = \"permutation\", load = 0.1 }}\n\
             [run]\n\
             until = \"1 us\"\n\
             seed = {seed}\n"
        );
        let experiment = experiment(&text);
        let of = |job: usize| {
            let JobKind::Traffic(job) = &experiment.jobs[job].kind else {
                panic!("it is traffic")
            };
            let mut partners = Vec::new();
            (0..64).for_each(|source| job.shares(source, &mut |host, _| partners.push((source, host.0))));
            partners
        };
        [of(0), of(1)]
    };
    let [first, second] = partners(1);
    assert_ne!(first, second);
    assert_eq!(partners(1), [first.clone(), second]);
    assert_ne!(partners(2)[0], first);
}

/// On Slim Flies of all three forms, prime and not: the number of routers that use the only path of two links over a
/// link with the largest possible number of flows.
#[test]
fn nearly_all_routers_of_a_slim_fly_find_their_place() {
    for q in [3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19] {
        let slim_fly = format!("kind = \"slim-fly\", q = {q}, hosts_per_router = 1");
        let experiment = on(&slim_fly, "minimal", "pattern = \"adversarial\", load = 1", 60);
        let JobKind::Traffic(job) = &experiment.jobs[0].kind else {
            panic!("it is traffic")
        };
        let topology = experiment.network.topology.as_ref();
        let neighbours = |router: u32| {
            let ports = 0..topology.ports(RouterId(router));
            let peers = ports.map(move |port| topology.peer(RouterId(router), Port(port)));
            peers.filter_map(|peer| match peer {
                Peer::Router(router, _) => Some(router.0),
                Peer::Host(_) | Peer::Unwired => None,
            })
        };
        let mut ways = Vec::new();
        let mut flows = BTreeMap::new();
        let mut partners = vec![0; job.host_count as usize];
        for source in 0..job.host_count {
            job.shares(source, &mut |partner, _| {
                partners[partner.0 as usize] += 1;
                let (from, to) = (source, partner.0);
                let beside: Vec<u32> = neighbours(to).collect();
                let between: Vec<u32> = neighbours(from).filter(|via| beside.contains(via)).collect();
                if let [via] = between[..]
                    && !beside.contains(&from)
                {
                    let way = [(from, via), (via, to)];
                    way.iter().for_each(|link| *flows.entry(*link).or_insert(0) += 1);
                    ways.push(way);
                }
            });
        }
        assert!(partners.iter().all(|times| *times <= 1), "a permutation");
        assert!(flows.values().all(|flows| *flows <= 2));
        let slowed = ways
            .iter()
            .filter(|way| way.iter().any(|link| flows[link] == 2))
            .count();
        let left = job.host_count - slowed as u32;
        // Rows have four routers, and 2 q^2 is no multiple of four for odd q.
        assert!(
            left <= 4,
            "q = {q}: {left} of {} routers are left",
            job.host_count
        );
    }
}
