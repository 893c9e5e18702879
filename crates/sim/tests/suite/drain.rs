//! The drain phase: the packets of the measured part are all measured, and nothing else changes.

use des::Time;
use experiment::Experiment;
use results::{JobSummary, RunResult, Table};

use crate::support::{experiment, run, run_everywhere, table};

const DRAGONFLY: &str = "topology = { kind = \"dragonfly\", hosts_per_router = 2, routers_per_group = 4, \
                         global_links_per_router = 1 }";

fn on(network: &str, jobs: &[&str], run: &str) -> Experiment {
    let jobs: String = jobs
        .iter()
        .map(|job| format!("[[job]]\ntraffic = {{ {job} }}\n"))
        .collect();
    experiment(&format!(
        "[network]\n\
         {network}\n\
         link = {{ bandwidth = \"100 Gbps\", latency = \"20 ns\" }}\n\
         packet = \"256 B\"\n\
         {jobs}\
         [run]\n\
         {run}\n"
    ))
}

fn without_drain(experiment: &mut Experiment) -> RunResult {
    let drain = std::mem::replace(&mut experiment.run.drain, Time::ZERO);
    let result = run(experiment);
    experiment.run.drain = drain;
    result
}

fn kinds(result: &RunResult) -> Vec<&str> {
    result
        .summary
        .notes
        .iter()
        .map(|note| note.kind.as_str())
        .collect()
}

fn missing(job: &JobSummary) -> Option<u64> {
    job.traffic.as_ref().and_then(|traffic| traffic.missing_bytes)
}

/// What is measured over the measured part: loads of network and jobs, and links.
fn loads(result: &RunResult) -> (Vec<f64>, Vec<[u64; 2]>, Table) {
    let summary = &result.summary;
    let network = &summary.network;
    let traffic = summary.jobs.iter().filter_map(|job| job.traffic.as_ref());
    (
        vec![network.offered_load, network.accepted_load, network.measured_ns],
        traffic
            .map(|traffic| [traffic.offered_bytes, traffic.accepted_bytes])
            .collect(),
        table(result, "links").clone(),
    )
}

#[test]
fn every_measured_packet_arrives_and_loads_stay() {
    let minimal = format!("{DRAGONFLY}\nrouting = {{ algorithm = \"minimal\" }}");
    let ugal = format!("{DRAGONFLY}\nrouting = {{ algorithm = \"ugal\" }}");
    let batches = format!("{minimal}\nrouter = {{ buffer = \"64 KiB\" }}\nnic_injection_delay = \"120 ns\"");
    let rails = format!("{ugal}\nrails = 2");
    let queued = format!("{minimal}\nrouter = {{ model = \"input-queued\" }}");
    let output_queued = format!("{minimal}\nrouter = {{ model = \"output-queued\" }}");
    let low = "pattern = \"uniform\", load = 0.1, message = \"256 B\"";
    let high = "pattern = \"uniform\", load = 0.5, message = \"256 B\"";
    let long = "pattern = \"uniform\", load = 0.3, message = \"1 KiB\"";
    for (network, jobs) in [
        (&minimal, &[high][..]),
        (&batches, &[high]),
        (&ugal, &[low, long]),
        (&rails, &[long]),
        (&queued, &[low]),
        (&output_queued, &[high]),
    ] {
        let what = format!("{network}\n{jobs:?}");
        let mut experiment = on(
            network,
            jobs,
            "until = \"6 us\"\nwarmup = \"2 us\"\ndrain = \"10 ms\"",
        );
        let drained = run_everywhere(&mut experiment);
        let cut = without_drain(&mut experiment);
        assert_eq!(loads(&drained), loads(&cut), "{what}");
        for (job, cut) in drained.summary.jobs.iter().zip(&cut.summary.jobs) {
            // The offered bytes are counted at the sources, the packets at the destinations.
            let offered = job.traffic.as_ref().unwrap().offered_bytes;
            assert!(offered > 100 * 256, "{what}");
            assert_eq!(job.packets * 256, offered, "{what}");
            assert_eq!(missing(job), Some(0), "{what}");
            assert_eq!(missing(cut), None, "{what}");
            assert!(job.packets > cut.packets, "{what}: some packets were in flight");
            let latency = |job: &JobSummary| job.latency_ns.mean.unwrap();
            assert!(
                latency(job) >= latency(cut),
                "{what}: those in flight took longer"
            );
            let wait = job.source_wait_ns.unwrap().mean.unwrap();
            let apart = job.mean_network_latency_ns.unwrap() + wait;
            assert!((apart - latency(job)).abs() < 1e-6, "{what}: {apart}");
            assert!(wait > 0.0 && cut.source_wait_ns.is_none() && cut.mean_network_latency_ns.is_none());
        }
        let ended = drained.summary.run.simulated_ns;
        let largest = drained.summary.network.latency_ns.max.unwrap();
        assert!(ended > 6000.0, "{what}: {ended} ns");
        // 16 shortest links until the first round, then rounds a quarter of the drain phase apart.
        let latest = 6000.0 + f64::max(16.0 * 20.0, 1.25 * largest) + 4.0 * 20.0;
        assert!(ended <= latest, "{what}: {ended} ns, at most {latest} ns");
        assert!(!kinds(&drained).contains(&"not-drained"), "{what}");
    }
}

/// Two packets per message, which leave one after the other; each message finds an empty network. Every wait and
/// latency is known.
#[test]
fn latency_is_the_wait_at_the_source_and_the_way() {
    let network = "topology = { kind = \"torus\", sizes = [4], hosts_per_router = 1 }\n\
                   routing = { algorithm = \"dimension-order\" }\n\
                   router = { delay = \"100 ns\" }";
    // 512 B at 100 Gbps take 40.96 ns: one message in 409.6 ns.
    let traffic = "pattern = \"shift\", by = 1, load = 0.1, message = \"512 B\", arrival = \"fixed\"";
    let mut experiment = on(
        network,
        &[traffic],
        "until = \"20 us\"\nwarmup = \"1 us\"\ndrain = \"1 ms\"",
    );
    let result = run_everywhere(&mut experiment);
    let job = &result.summary.jobs[0];
    let wait = job.source_wait_ns.unwrap();
    let serialization = 20.48;
    let close = |value: Option<f64>, expected: f64| {
        let value = value.unwrap();
        assert!((value - expected).abs() < 1e-9, "{value}, not {expected}");
    };
    close(wait.mean, serialization / 2.0);
    close(wait.max, serialization);
    // Three cables, two routers, and the tail.
    close(
        job.mean_network_latency_ns,
        3.0 * 20.0 + 2.0 * 100.0 + serialization,
    );
    close(job.latency_ns.max, 3.0 * 20.0 + 2.0 * 100.0 + 2.0 * serialization);
}

#[test]
fn a_drain_phase_that_is_too_short_is_told() {
    let network = format!("{DRAGONFLY}\nrouting = {{ algorithm = \"minimal\" }}");
    let mut experiment = on(
        &network,
        &["pattern = \"uniform\", load = 1.0"],
        "until = \"6 us\"\nwarmup = \"1 us\"\ndrain = \"500 ns\"",
    );
    let result = run_everywhere(&mut experiment);
    let job = &result.summary.jobs[0];
    let traffic = job.traffic.as_ref().unwrap();
    let missing = traffic.missing_bytes.unwrap();
    assert!(missing > 0 && missing < traffic.offered_bytes);
    assert_eq!(missing + job.packets * 256, traffic.offered_bytes);
    assert_eq!(result.summary.run.simulated_ns, 6500.0);
    assert_eq!(job.mean_network_latency_ns, None, "packets are in flight");
    assert!(job.source_wait_ns.unwrap().max.unwrap() > 0.0);
    let note = result
        .summary
        .notes
        .iter()
        .find(|note| note.kind == "not-drained");
    let note = note.expect("the note").to_string();
    assert!(note.contains("in the drain phase of 500 ns"), "{note}");
    assert!(
        note.contains(" of the traffic that was made in the measured time"),
        "{note}"
    );
}

/// Nothing is measured: the run ends at the first round.
#[test]
fn silent_sources_need_no_drain_phase() {
    let network = format!("{DRAGONFLY}\nrouting = {{ algorithm = \"minimal\" }}");
    let mut experiment = on(
        &network,
        &["pattern = \"uniform\", load = 0.1"],
        "until = \"2 ns\"\nwarmup = \"1 ns\"\ndrain = \"1 ms\"\nseed = 3",
    );
    let result = run_everywhere(&mut experiment);
    assert!(result.summary.run.simulated_ns < 10_000.0);
    assert_eq!(missing(&result.summary.jobs[0]), Some(0));
}

#[test]
fn wrong_drain_phases_are_refused() {
    let refusal = |job: &str, run: &str| {
        let text = format!(
            "[network]\n{DRAGONFLY}\nrouting = {{ algorithm = \"minimal\" }}\n[[job]]\n{job}\n[run]\n{run}\n"
        );
        let error = Experiment::from_toml(&text, "x.toml", &[])
            .map(|_| ())
            .unwrap_err();
        error.to_string()
    };
    let traffic = "traffic = { pattern = \"uniform\", load = 0.1 }";
    let ranks = "workload = { motif = \"allreduce\", ranks = 4, bytes = \"1 KiB\", iterations = 1 }";
    for (job, run, expected) in [
        (traffic, "drain = \"1 us\"", "run.until: missing"),
        (
            ranks,
            "drain = \"1 us\"",
            "x.toml:7: run.drain: the run ends when all ranks have finished",
        ),
        (
            &format!("{ranks}\n[[job]]\n{traffic}"),
            "until = \"9 us\"\ndrain = \"1 us\"",
            "x.toml:10: run.drain: the run ends when all ranks have finished",
        ),
        (
            traffic,
            "until = \"1 us\"\ndrain = \"8640000 s\"",
            "x.toml:8: run.drain: 8640000 s is out of range; expected at most 8639999999999 us",
        ),
        (
            traffic,
            "until = \"1 us\"\ndrain = 3",
            "x.toml:8: run.drain: 3 has no unit",
        ),
        (
            traffic,
            "until = \"1 us\"\ndrain = \"-3 us\"",
            "x.toml:8: run.drain",
        ),
    ] {
        let error = refusal(job, run);
        assert!(error.contains(expected), "{error}, not {expected}");
    }
}
