//! The latency of synthetic traffic in two parts: the wait at the source, and the latency in the network.

use experiment::{Experiment, Series};
use results::{JobSummary, Latency, RunResult};

use crate::support::{experiment, root, run, run_everywhere};

const TORUS: &str = "topology = { kind = \"torus\", sizes = [4], hosts_per_router = 1 }\n\
                     routing = { algorithm = \"dimension-order\" }\n\
                     router = { delay = \"100 ns\" }";

const DRAGONFLY: &str = "topology = { kind = \"dragonfly\", hosts_per_router = 2, routers_per_group = 4, \
                         global_links_per_router = 1 }";

fn text(network: &str, job: &str, run: &str) -> String {
    format!(
        "[network]\n\
         {network}\n\
         link = {{ bandwidth = \"100 Gbps\", latency = \"20 ns\" }}\n\
         packet = \"256 B\"\n\
         [[job]]\n{job}\n\
         [run]\n{run}\n\
         [collect]\nnetwork_latency = true\nseries = \"off\"\n"
    )
}

fn on(network: &str, traffic: &str, run: &str) -> Experiment {
    experiment(&text(network, &format!("traffic = {{ {traffic} }}"), run))
}

fn close(value: Option<f64>, expected: f64) {
    let value = value.unwrap();
    assert!((value - expected).abs() < 1e-9, "{value}, not {expected}");
}

fn parts(job: &JobSummary) -> (Latency, Latency) {
    (job.network_latency_ns.unwrap(), job.source_wait_ns.unwrap())
}

/// Both parts are of the same packets as the latency, and add up to it.
fn add_up(job: &JobSummary) {
    let (network, wait) = parts(job);
    close(job.latency_ns.mean, network.mean.unwrap() + wait.mean.unwrap());
    close(job.mean_network_latency_ns, network.mean.unwrap());
    assert!(network.max <= job.latency_ns.max && wait.max < job.latency_ns.max);
}

fn without(experiment: &mut Experiment) -> RunResult {
    experiment.collect.set_network_latency(false);
    let result = run(experiment);
    experiment.collect.set_network_latency(true);
    result
}

/// Two packets per message, of which the second waits for the first; each message finds an empty network.
#[test]
fn a_single_flow_has_the_values_of_the_arithmetic() {
    // 512 B at 100 Gbps take 40.96 ns: one message in 409.6 ns.
    let traffic = "pattern = \"shift\", by = 1, load = 0.1, message = \"512 B\", arrival = \"fixed\"";
    let mut experiment = on(TORUS, traffic, "until = \"20 us\"\nwarmup = \"1 us\"");
    let result = run_everywhere(&mut experiment);
    let job = &result.summary.jobs[0];
    let (network, wait) = parts(job);
    let serialization = 20.48;
    // Three cables, two routers, and the tail.
    let way = 3.0 * 20.0 + 2.0 * 100.0 + serialization;
    close(network.mean, way);
    close(network.max, way);
    assert!(network.p50.unwrap() >= way && network.p50.unwrap() <= way * (1.0 + 1.0 / 64.0));
    close(wait.max, serialization);
    // At the end, the second packet of a message may be missing.
    let waited = wait.mean.unwrap() * job.packets as f64 / serialization;
    let second = waited.round();
    assert!((waited - second).abs() < 1e-6, "{waited} packets waited");
    let first = job.packets as f64 - second;
    assert!((0.0..=4.0).contains(&(first - second)), "{first} and {second}");
    add_up(job);
    assert_eq!(result.summary.network.network_latency_ns, Some(network));
    assert_eq!(result.summary.network.source_wait_ns, Some(wait));
}

/// All kinds of runs, and that collecting changes no result.
#[test]
fn the_parts_are_the_same_everywhere() {
    let minimal = format!("{DRAGONFLY}\nrouting = {{ algorithm = \"minimal\" }}");
    let ugal = format!("{DRAGONFLY}\nrouting = {{ algorithm = \"ugal\" }}");
    let batches = format!("{minimal}\nrouter = {{ buffer = \"64 KiB\" }}\nnic_injection_delay = \"120 ns\"");
    let rails = format!("{ugal}\nrails = 2");
    let queued = format!("{minimal}\nrouter = {{ model = \"input-queued\" }}");
    let output_queued = format!("{minimal}\nrouter = {{ model = \"output-queued\" }}");
    let low = "pattern = \"uniform\", load = 0.2, message = \"256 B\"";
    let long = "pattern = \"uniform\", load = 0.4, message = \"1 KiB\"";
    let full = "pattern = \"uniform\", load = 1.0, message = \"256 B\"";
    for (network, traffic) in [
        (&minimal, long),
        (&minimal, full),
        (&batches, low),
        (&ugal, full),
        (&rails, long),
        (&queued, full),
        (&output_queued, full),
    ] {
        let mut experiment = on(network, traffic, "until = \"6 us\"\nwarmup = \"2 us\"");
        let with = run_everywhere(&mut experiment);
        let job = &with.summary.jobs[0];
        assert!(job.packets > 100, "{network} {traffic}");
        add_up(job);
        let (in_network, wait) = parts(job);
        assert!(wait.mean.unwrap() > 0.0 && in_network.p50 <= in_network.p99);
        let without = without(&mut experiment);
        assert_eq!(with.summary.digest, without.summary.digest);
        let plain = &without.summary.jobs[0];
        assert_eq!((plain.latency_ns, plain.packets), (job.latency_ns, job.packets));
        let none = (
            plain.network_latency_ns,
            plain.source_wait_ns,
            plain.mean_network_latency_ns,
        );
        assert_eq!(none, (None, None, None));
        assert_eq!(without.summary.network.network_latency_ns, None);
    }
}

/// A packet carries its wait, so a router can count it.
#[test]
fn early_commit_stays() {
    let network = format!("{DRAGONFLY}\nrouting = {{ algorithm = \"minimal\" }}");
    let traffic = "pattern = \"uniform\", load = 0.4, message = \"256 B\"";
    let mut experiment = on(&network, traffic, "until = \"6 us\"\nwarmup = \"2 us\"");
    experiment.run.executor = des::Executor::Conservative;
    let early = run(&experiment);
    let events = without(&mut experiment).summary.run.events_committed;
    assert_eq!(early.summary.run.events_committed, events);
    experiment.collect.set_series(Series::Links);
    let late = run(&experiment);
    assert!(late.summary.run.events_committed > events);
    assert_eq!(late.summary.jobs, early.summary.jobs);
}

/// What both ways of counting know is the same. The second drain phase is too short.
#[test]
fn with_a_drain_phase_the_means_are_those_of_the_sources() {
    let minimal = format!("{DRAGONFLY}\nrouting = {{ algorithm = \"minimal\" }}");
    for (load, run_keys, drained) in [
        (
            "0.5",
            "until = \"6 us\"\nwarmup = \"2 us\"\ndrain = \"10 ms\"",
            true,
        ),
        (
            "1.0",
            "until = \"6 us\"\nwarmup = \"1 us\"\ndrain = \"500 ns\"",
            false,
        ),
    ] {
        let traffic = format!("pattern = \"uniform\", load = {load}");
        let mut experiment = on(&minimal, &traffic, run_keys);
        let with = run_everywhere(&mut experiment);
        let without = without(&mut experiment);
        assert_eq!(with.summary.digest, without.summary.digest);
        let (job, plain) = (&with.summary.jobs[0], &without.summary.jobs[0]);
        assert_eq!(job.source_wait_ns, plain.source_wait_ns);
        assert_eq!(job.mean_network_latency_ns, plain.mean_network_latency_ns);
        assert_eq!(job.mean_network_latency_ns.is_some(), drained);
        if drained {
            add_up(job);
            continue;
        }
        // Of the packets that arrived, and of all that left.
        let (network, wait) = parts(job);
        let arrived = job.latency_ns.mean.unwrap() - network.mean.unwrap();
        assert!(arrived > 0.0 && (arrived - wait.mean.unwrap()).abs() > 1e-6);
    }
}

/// Packets of ranks carry no wait, so only the traffic beside them is divided.
#[test]
fn beside_ranks_only_traffic_is_divided() {
    let path = root().join("tests/corpus/collect-network-latency.toml");
    let experiment = Experiment::load(&path, &[]).unwrap_or_else(|e| panic!("{e}"));
    let summary = run(&experiment).summary;
    let [ranks, noise, burst] = &summary.jobs[..] else {
        panic!("three jobs")
    };
    assert!(ranks.packets > 0 && ranks.network_latency_ns.is_none() && ranks.source_wait_ns.is_none());
    add_up(noise);
    add_up(burst);
    let network = &summary.network;
    assert_eq!((network.network_latency_ns, network.source_wait_ns), (None, None));
}

/// A wait that needs more bits than a packet has is rounded, and not cut off.
#[test]
fn long_waits_are_rounded() {
    // Three hosts send to one over a link of which one would need all: the backlog grows all the time.
    let network = "topology = { kind = \"mesh\", sizes = [2], hosts_per_router = 2 }\n\
                   routing = { algorithm = \"dimension-order\" }";
    let text = text(
        network,
        "traffic = { pattern = \"incast\", load = 1.0, message = \"256 B\" }",
        "until = \"4 s\"",
    );
    let text = text.replace("100 Gbps", "1 Mbps");
    let job = &run(&experiment(&text)).summary.jobs[0];
    let (network, wait) = parts(job);
    assert!(wait.max.unwrap() > 1e8, "0.1 s: {wait:?}");
    let apart = network.mean.unwrap() + wait.mean.unwrap();
    let latency = job.latency_ns.mean.unwrap();
    assert!(
        (apart - latency).abs() <= latency / f64::from(u32::MAX),
        "{apart} {latency}"
    );
}

#[test]
fn it_is_refused_without_synthetic_traffic() {
    let ranks = "workload = { motif = \"allreduce\", ranks = 4, bytes = \"1 KiB\", iterations = 1 }";
    let error = Experiment::from_toml(&text(TORUS, ranks, "seed = 3"), "x.toml", &[]);
    let error = error.map(|_| ()).unwrap_err().to_string();
    assert!(
        error.contains("x.toml:12: collect.network_latency: only packets of synthetic traffic"),
        "{error}"
    );
    assert!(
        error.contains("expected a job with the key traffic, or false"),
        "{error}"
    );
}
