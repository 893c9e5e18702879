//! Recorded applications replay to their end on every kind of network, and no message is lost.

use std::path::Path;

use experiment::Experiment;
use results::RunResult;
use workload::TraceInfo;

use crate::support::{root, run, shared_dumpi_trace, shared_trace, sum, table};

/// The networks on which TraceR's example runs its stencil.
const NETWORKS: [(&str, &str); 3] = [
    (
        "fat tree",
        "topology = { kind = \"fat-tree\", levels = 3, radix = 8 }\nrouting = { algorithm = \"adaptive\" }",
    ),
    (
        "dragonfly",
        "topology = { kind = \"dragonfly\", hosts_per_router = 4, routers_per_group = 8, global_links_per_router = 4 }\n\
         routing = { algorithm = \"minimal\" }",
    ),
    (
        "torus",
        "topology = { kind = \"torus\", sizes = [4, 5, 8] }\nrouting = { algorithm = \"dimension-order\" }",
    ),
];

/// A whole recorded run, one rank per host.
fn replay(trace: &Path, network: &str) -> RunResult {
    replay_as("otf2", trace, network)
}

fn replay_as(format: &str, trace: &Path, network: &str) -> RunResult {
    let text = format!(
        "[network]\n{network}\npacket = \"1 KiB\"\n[[job]]\nname = \"trace\"\nworkload = {{ {format} = {trace:?} }}\n"
    );
    let experiment = Experiment::from_toml(&text, "replay.toml", &[]);
    run(&experiment.unwrap_or_else(|e| panic!("{e}")))
}

/// All recorded messages were sent, and all of them arrived.
fn assert_complete(result: &RunResult, info: &TraceInfo) {
    let job = &result.summary.jobs[0];
    let ranks = table(result, "ranks");
    assert!(job.finished);
    assert_eq!(job.ranks, u64::from(info.ranks));
    assert_eq!(
        sum(ranks, "messages_sent"),
        info.messages.count,
        "messages recorded"
    );
    assert_eq!(sum(ranks, "bytes_sent"), info.messages.bytes, "bytes recorded");
    for (sent, received) in [
        ("messages_sent", "messages_received"),
        ("bytes_sent", "bytes_received"),
        ("collective_messages_sent", "collective_messages_received"),
        ("collective_bytes_sent", "collective_bytes_received"),
    ] {
        assert_eq!(sum(ranks, sent), sum(ranks, received), "{sent} and {received}");
    }
    let network = &result.summary.network;
    assert_eq!(network.packets_in_flight, 0, "all has arrived");
}

#[test]
fn stencil4d_on_the_networks_of_tracer() {
    let Some(trace) = shared_trace("otf2-stencil4d-32") else {
        return;
    };
    let info = workload::info(&trace).unwrap();
    // TraceR's predictions in ms, with its own protocol and delay settings. Only the order of magnitude is
    // comparable.
    for ((name, network), tracer_ms) in NETWORKS.iter().zip([0.383, 0.630, 1.069]) {
        let result = replay(&trace, network);
        assert_complete(&result, &info);
        let ms = result.summary.jobs[0].time_ns / 1e6;
        eprintln!("stencil4d on the {name}: {ms:.3} ms (TraceR: {tracer_ms} ms)");
        let ratio = ms / tracer_ms;
        assert!(
            (0.1..10.0).contains(&ratio),
            "{name}: {ms} ms, TraceR {tracer_ms} ms"
        );
    }
}

#[test]
fn lammps_to_its_end() {
    if !crate::support::otf2_is_available() {
        return;
    }
    let trace = root().join("examples/traces/otf2-lammps-melt-27");
    assert_complete(&replay(&trace, NETWORKS[0].1), &workload::info(&trace).unwrap());
}

#[test]
fn the_other_recordings_to_their_end() {
    let traces = [
        "otf2-ember-bcast-4",
        "otf2-ember-halo3d26-64",
        "otf2-chatterbug-subcom3d-a2a-64",
    ];
    for (index, name) in traces.iter().enumerate() {
        let Some(trace) = shared_trace(name) else { continue };
        let result = replay(&trace, NETWORKS[index % NETWORKS.len()].1);
        assert_complete(&result, &workload::info(&trace).unwrap());
        eprintln!("{name}: {:.3} ms", result.summary.jobs[0].time_ns / 1e6);
    }
}

#[test]
fn the_recordings_in_dumpi_to_their_end() {
    let own = root().join("examples/traces/dumpi-ember-incast-16");
    // hypre-amg-27 is left out because it probes.
    let shared = [
        "chatterbug-pairs-32",
        "chatterbug-stencil4d-64",
        "chatterbug-subcom3d-a2a-64",
        "dumpi-sstmacro-testtrace-4",
        "ember-halo3d26-27",
        "ember-halo3d26-64",
        "ember-sweep3d-16",
        "lammps-melt-27",
        "lammps-pppm-16",
        "netpipe-2",
    ];
    let shared = shared.into_iter().filter_map(shared_dumpi_trace);
    for (index, trace) in [own].into_iter().chain(shared).enumerate() {
        let (name, network) = NETWORKS[index % NETWORKS.len()];
        let result = replay_as("dumpi", &trace, network);
        assert_complete(&result, &workload::info(&trace).unwrap());
        let ms = result.summary.jobs[0].time_ns / 1e6;
        eprintln!("{} on the {name}: {ms:.3} ms", trace.display());
    }
}
