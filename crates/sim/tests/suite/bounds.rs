//! Bounds computed without a simulation: known values, and comparisons with simulations. `docs/methods/bounds.md` has
//! the definitions.

use experiment::{Effort, Experiment, Job, JobKind};
use results::{Bounds, JobBounds};

use crate::support::{experiment, root, run};

fn bounds(experiment: &Experiment) -> Bounds {
    experiment::bounds(experiment, Effort::CHECK).expect("there is traffic")
}

/// Bounds of uniform traffic among all hosts.
fn uniform(topology: &str, routing: &str, traffic: &str) -> JobBounds {
    let text = format!(
        "network.topology = {{ {topology} }}\nnetwork.routing = {{ algorithm = \"{routing}\" }}\n\
         [[job]]\ntraffic = {{ pattern = \"uniform\", load = 0.1 {traffic} }}\n[run]\nuntil = \"1 us\"\n"
    );
    let mut bounds = bounds(&experiment(&text));
    assert_eq!(bounds.jobs.len(), 1);
    bounds.jobs.remove(0)
}

/// The table of `docs/methods/bounds.md`, with the digits of its sources.
#[test]
fn uniform_traffic_has_the_known_bounds() {
    let torus = |sizes: &str| format!("kind = \"torus\", sizes = [{sizes}]");
    let hyperx = |n: u32| format!("kind = \"hyperx\", shape = [{n}, {n}, {n}], hosts_per_router = {n}");
    let to_itself = ", include_self = true";
    for (topology, routing, traffic, exact, digits) in [
        (
            "kind = \"slim-fly\", q = 13, hosts_per_router = 9".to_string(),
            "minimal",
            "",
            1.015,
            3,
        ),
        (
            "kind = \"dragonfly\", hosts_per_router = 4, routers_per_group = 8, global_links_per_router = 4"
                .into(),
            "minimal",
            "",
            1.014,
            3,
        ),
        (hyperx(4), "dimension-order", "", 0.996, 3),
        (hyperx(8), "dimension-order", "", 1.000, 3),
        (torus("8, 8, 8"), "dimension-order", to_itself, 1.0, 9),
        (torus("16, 16"), "dimension-order", to_itself, 0.5, 9),
        (torus("8, 4, 4, 4, 2"), "dimension-order", to_itself, 1.0, 9),
        (torus("24, 24, 24"), "dimension-order", to_itself, 1.0 / 3.0, 9),
        (torus("36, 24, 16"), "dimension-order", to_itself, 2.0 / 9.0, 9),
        (torus("8, 8, 8"), "dimension-order", "", 1.0, 1),
        (torus("16, 16"), "dimension-order", "", 0.5, 1),
        (torus("8, 4, 4, 4, 2"), "dimension-order", "", 1.0, 1),
        (torus("24, 24, 24"), "dimension-order", "", 0.333, 3),
        (torus("36, 24, 16"), "dimension-order", "", 0.222, 3),
    ] {
        let found = uniform(&topology, routing, traffic);
        let throughput = found.router_throughput.unwrap();
        println!("{topology}, {routing}{traffic}: {throughput:.4}");
        let half_a_digit = 0.5 * 0.1f64.powi(digits);
        assert!(
            (throughput - exact).abs() <= half_a_digit,
            "{topology}: {throughput}, not {exact}"
        );
    }
}

#[test]
fn mean_distances_are_the_known_ones() {
    let dragonfly = uniform(
        "kind = \"dragonfly\", hosts_per_router = 4, routers_per_group = 8, global_links_per_router = 4",
        "minimal",
        "",
    );
    let hops = dragonfly.mean_hops.unwrap();
    assert!((hops - 2.0 - 2.6957).abs() < 0.00005, "{hops}");
    // The literature gives distances between different routers; one host per router makes them comparable.
    let slim_fly = uniform("kind = \"slim-fly\", q = 13, hosts_per_router = 1", "minimal", "");
    let hops = slim_fly.mean_hops.unwrap();
    assert!((hops - 2.0 - 1.9436).abs() < 0.00005, "{hops}");
}

/// Networks of a million hosts and more, where one destination stands for all.
#[test]
fn symmetric_networks_can_be_large() {
    let large = uniform(
        "kind = \"hyperx\", shape = [40, 40, 40], hosts_per_router = 20",
        "minimal",
        "",
    );
    assert_eq!(large.not_computed, "");
    // 20 hosts send a 40th of their traffic to each coordinate.
    let throughput = large.router_throughput.unwrap();
    assert!((throughput - 2.0).abs() < 0.001, "{throughput}");
}

/// NICs that send slower or faster than their cables, with a slow and a fast way into memory.
const OF_NICS: [&str; 2] = [
    r#"
[network]
topology = { kind = "torus", sizes = [4, 3], hosts_per_router = 1 }
routing = { algorithm = "dimension-order" }
router = { delay = "77 ns", buffer = "64 KiB" }
nic = { injection_bandwidth = "40 Gbps", memory_bandwidth = "37 Gbps" }
nic_reception_delay = "23 ns"
packet = "1 KiB"
link = { bandwidth = "100 Gbps", latency = "50 ns" }
links.dimension-0 = { bandwidth = "60 Gbps", latency = "21 ns" }
"#,
    r#"
[network]
topology = { kind = "mesh", sizes = [5, 2], hosts_per_router = 2 }
routing = { algorithm = "dimension-order" }
router = { model = "input-queued", delay = "50 ns", buffer = "64 KiB" }
nic = { injection_bandwidth = "300 Gbps", memory_bandwidth = "200 Gbps" }
packet = "1 KiB"
link = { bandwidth = "100 Gbps", latency = "50 ns" }
"#,
];

/// Two hosts send to each other, in networks whose links have different speeds. Times agree to the picosecond, for
/// messages of one packet and of several, with a short last packet. All paths between two hosts are alike here.
#[test]
fn a_run_without_contention_has_the_latency_computed() {
    for network in crate::physics::UNEQUAL.iter().chain(&OF_NICS) {
        let mut compared = 0;
        for (seed, message) in [(1, 700), (2, 1024), (3, 1025), (4, 2048), (5, 5000), (6, 300)] {
            let text = format!(
                "{network}\n[[job]]\ntraffic = {{ pattern = \"uniform\", load = 0.0005, arrival = \"fixed\", \
                 message = \"{message} B\" }}\nhosts = 2\nplacement = \"random\"\n\
                 [run]\nuntil = \"60 ms\"\nseed = {seed}\n"
            );
            let experiment = experiment(&text);
            let mut bounds = bounds(&experiment);
            let job = bounds.jobs.remove(0);
            let Some(computed) = job.zero_load_latency_ns else {
                continue;
            };
            let result = run(&experiment);
            let found = &result.summary.network;
            assert!(result.summary.jobs[0].packets >= 10);
            // The tolerance is half a picosecond, because means are quotients.
            let close = |a: f64, b: f64| {
                assert!(
                    (a - b).abs() < 0.001,
                    "{network}: {message} B: simulated {a} ns, computed {b} ns"
                )
            };
            close(found.mean_hops.unwrap(), job.mean_hops.unwrap());
            close(found.latency_ns.mean.unwrap(), computed.mean);
            close(found.latency_ns.max.unwrap(), computed.max);
            compared += 1;
        }
        assert!(compared > 0 || network.contains("ugal"), "{network}");
    }
}

/// Many pairs at vanishing load agree within a thousandth.
#[test]
fn a_run_at_vanishing_load_has_the_hops_and_latency_computed() {
    for (topology, routing) in [
        ("kind = \"torus\", sizes = [4, 4]", "dimension-order"),
        ("kind = \"slim-fly\", q = 5, hosts_per_router = 1", "minimal"),
    ] {
        let text = format!(
            "network.topology = {{ {topology} }}\nnetwork.routing = {{ algorithm = \"{routing}\" }}\n\
             [[job]]\ntraffic = {{ pattern = \"uniform\", load = 0.0005 }}\n[run]\nuntil = \"100 ms\"\nwarmup = \"1 ms\"\n"
        );
        let experiment = experiment(&text);
        let result = run(&experiment);
        let bounds = result.summary.bounds.clone().expect("computed beside the run");
        assert_eq!(Some(bounds.clone()), experiment::bounds(&experiment, Effort::RUN));
        let (job, found) = (&bounds.jobs[0], &result.summary.network);
        let close = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 0.001, "{topology}: {a}, computed {b}");
        println!("{} packets", result.summary.jobs[0].packets);
        close(found.mean_hops.unwrap(), job.mean_hops.unwrap());
        let computed = job.zero_load_latency_ns.unwrap();
        close(found.latency_ns.mean.unwrap(), computed.mean);
    }
}

/// The amount by which short runs may exceed their bound: packets sent before the end of the warm-up that arrive
/// after it, and ends of packets.
const TOLERANCE: f64 = 0.02;

/// Networks with links of one kind and unequal loads: traffic that avoids the full links passes completely, so the
/// total exceeds the load at which the first link is full.
const UNEVEN: [&str; 10] = [
    "collect-off-mesh.toml",
    "dragonfly-minimal-uneven-groups.toml",
    "dragonfly-valiant-global-link-full-buffers.toml",
    "fat-tree-destination-mod-k.toml",
    "graph-file-valiant.toml",
    // A hash of few pairs of hosts loads links of one class unequally.
    "hyperx-minimal.toml",
    "mesh-dimension-order.toml",
    "mesh-valiant.toml",
    // Ties on its rings of even size, by the same hash.
    "torus-dimension-order.toml",
    // Two of its 50 routers are in no row of four. They send to each other over a link of their own.
    "traffic-slim-fly-adversarial.toml",
];

/// No run of the corpus accepts more than its bound, at its own loads and at full load.
#[test]
fn no_run_exceeds_its_bound() {
    let (mut compared, mut saturated, mut beyond) = (0, 0, Vec::new());
    for entry in std::fs::read_dir(root().join("tests/corpus")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = match name.ends_with(".toml") {
            true => std::fs::read_to_string(&path).unwrap(),
            false => continue,
        };
        if ["workload = ", "[job.workload]"]
            .iter()
            .any(|key| text.contains(key))
        {
            continue;
        }
        for overload in [false, true] {
            let set = |key: &str, value: &str| (key.to_string(), value.to_string());
            let mut changes = vec![set("run.until", "30 us"), set("run.warmup", "5 us")];
            if overload {
                for (job, table) in text.split("[[job]]").skip(1).enumerate() {
                    changes.push(set(&format!("job.{job}.traffic.load"), "1.0"));
                    // The bound of bursts is not below it.
                    if table.contains("peak") {
                        changes.push(set(&format!("job.{job}.traffic.peak"), "1.0"));
                    }
                }
            }
            let experiment = Experiment::load(&path, &changes).unwrap_or_else(|e| panic!("{e}"));
            let result = run(&experiment);
            let network = &result.summary.network;
            let bounds = result.summary.bounds.as_ref().expect("there is traffic");
            let of_all = |job: &Job| match &job.kind {
                JobKind::Traffic(traffic) => {
                    traffic.load * f64::from(traffic.host_count) / network.hosts as f64
                }
                JobKind::Ranks(_) => unreachable!("no job has ranks"),
            };
            let asked: f64 = experiment.jobs.iter().map(of_all).sum();
            // Random arrivals may offer more than the load asked for, and all of the excess may be accepted.
            let more = (network.offered_load - asked).max(0.0);
            let most = bounds.accepted_load.expect("no job has ranks") + more;
            let (offered, accepted) = (network.offered_load, network.accepted_load);
            println!(
                "{name}: offered {offered:.4}, accepted {accepted:.4}, at most {most:.4}, {:?}",
                bounds.scale
            );
            assert!(
                accepted <= most * (1.0 + TOLERANCE),
                "{name}: {accepted} of at most {most}"
            );
            compared += 1;
            // Several jobs, one of which starts late, have no common factor.
            let ([_], Some(scale)) = (&bounds.jobs[..], bounds.scale) else {
                continue;
            };
            let throughput = scale * asked;
            if accepted >= 0.99 * offered {
                assert!(
                    offered <= throughput + more + TOLERANCE,
                    "{name}: carries {offered} of {throughput}"
                );
            }
            if accepted > throughput * (1.0 + TOLERANCE) && !UNEVEN.contains(&name.as_str()) {
                beyond.push(format!("{name}: {accepted} of {throughput}"));
            }
            saturated += u32::from(asked > throughput);
        }
    }
    assert!(beyond.is_empty(), "{}", beyond.join("\n"));
    assert!(
        compared >= 40 && saturated >= 5,
        "{compared} runs, {saturated} beyond the bound"
    );
}
