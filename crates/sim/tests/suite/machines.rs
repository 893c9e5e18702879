//! Presets of machines in whole simulations: parts of each machine run, are free of deadlocks, and have the latency
//! from which the delays of their NICs were derived.

use experiment::{Experiment, listing};
use sim::check;

use crate::support::{run, run_everywhere, table};

/// An experiment on a part of a machine, with overrides.
fn part(machine: &str, jobs: &str, overrides: &[(&str, &str)]) -> Experiment {
    let text = format!("[network]\npreset = \"{machine}\"\n{jobs}");
    let overrides: Vec<_> = overrides
        .iter()
        .map(|(key, value)| (key.to_string(), value.to_string()))
        .collect();
    Experiment::from_toml(&text, "test.toml", &overrides).unwrap_or_else(|error| panic!("{machine}: {error}"))
}

const ALLREDUCE: &str = r#"
[[job]]
name = "allreduce"
workload = { motif = "allreduce", ranks = 24, bytes = "64 KiB", iterations = 1 }
placement = "random"
"#;

/// Two parts of each machine, so that packets cross the links between them, and a number of hosts for that.
const PARTS: &[(&str, &str)] = &[
    ("archer", "385"),
    ("archer2", "129"),
    ("aurora", "65"),
    ("frontera", "45"),
    ("frontier", "129"),
    ("leonardo", "181"),
    ("lumi", "129"),
    ("lumi-c", "257"),
    ("mira", "513"),
    ("sequoia", "513"),
    ("theta", "385"),
];

#[test]
fn an_allreduce_runs_on_two_parts_of_each_machine() {
    let machines = listing("machines").expect("a kind of parts");
    let names: Vec<&str> = machines.iter().map(|machine| machine.name.as_str()).collect();
    assert_eq!(names, PARTS.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    for (name, hosts) in PARTS {
        let result = run(&part(name, ALLREDUCE, &[("network.hosts", hosts)]));
        let times = table(&result, "ranks");
        let times = times.u64s("time_ps").expect("a column of times");
        assert_eq!(times.len(), 24, "{name}");
        // Two messages at the least have to arrive one after the other.
        assert!(times.iter().all(|time| *time > 1_200_000), "{name}: {times:?}");
    }
}

#[test]
fn executors_agree_on_a_part_of_lumi() {
    let mut experiment = part("lumi", ALLREDUCE, &[("network.hosts", "129")]);
    run_everywhere(&mut experiment);
}

/// Keys that make the parts of a machine small enough for the proof, with its topology, routing and rails.
const SMALL: &[(&str, &[(&str, &str)])] = &[
    (
        "archer",
        &[
            ("rows", "2"),
            ("columns", "3"),
            ("hosts_per_router", "1"),
            ("groups", "3"),
        ],
    ),
    (
        "archer2",
        &[
            ("hosts_per_router", "2"),
            ("routers_per_group", "4"),
            ("groups", "4"),
        ],
    ),
    (
        "aurora",
        &[
            ("hosts_per_router", "2"),
            ("routers_per_group", "8"),
            ("groups", "3"),
        ],
    ),
    ("frontera", &[("down", "[44, 9]")]),
    (
        "frontier",
        &[
            ("hosts_per_router", "2"),
            ("routers_per_group", "4"),
            ("groups", "4"),
        ],
    ),
    (
        "leonardo",
        &[
            ("hosts_per_leaf", "4"),
            ("leaves_per_group", "3"),
            ("spines_per_group", "3"),
            ("groups", "4"),
        ],
    ),
    (
        "lumi",
        &[
            ("hosts_per_router", "2"),
            ("routers_per_group", "4"),
            ("groups", "4"),
        ],
    ),
    (
        "lumi-c",
        &[
            ("hosts_per_router", "2"),
            ("routers_per_group", "4"),
            ("groups", "4"),
        ],
    ),
    ("mira", &[("sizes", "[4, 4, 4, 4, 2]")]),
    ("sequoia", &[("sizes", "[4, 4, 4, 4, 2]")]),
    (
        "theta",
        &[
            ("rows", "2"),
            ("columns", "3"),
            ("hosts_per_router", "1"),
            ("groups", "3"),
        ],
    ),
];

#[test]
fn each_machine_is_free_of_deadlocks_in_small_and_builds_whole() {
    const TRAFFIC: &str = r#"
[[job]]
traffic = { pattern = "uniform", load = 0.1 }
[run]
until = "1 us"
"#;
    for (name, keys) in SMALL {
        let keys: Vec<(String, &str)> = keys
            .iter()
            .map(|(key, value)| (format!("network.topology.{key}"), *value))
            .collect();
        let keys: Vec<(&str, &str)> = keys.iter().map(|(key, value)| (key.as_str(), *value)).collect();
        let small = check(&part(name, TRAFFIC, &keys)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(small.deadlock_free, Some(true), "{name}: {}", small.deadlock);
        // The whole machine is too large for the proof, which would say so if it found a cycle.
        let whole = check(&part(name, TRAFFIC, &[])).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_ne!(whole.deadlock_free, Some(false), "{name}: {}", whole.deadlock);
        assert_eq!(whole.experiment["network"]["preset"], *name);
    }
    assert_eq!(SMALL.len(), PARTS.len());
}

/// Half a round of a ping-pong of 8 B between the first two hosts, in nanoseconds.
fn latency(machine: &str, overrides: &[(&str, &str)]) -> u64 {
    const PING_PONG: &str = r#"
[[job]]
name = "ping-pong"
workload = { motif = "ping-pong", ranks = 2, bytes = "8 B", iterations = 1, barriers = false }
"#;
    let result = run(&part(machine, PING_PONG, overrides));
    table(&result, "ranks")
        .u64s("time_ps")
        .expect("a column of times")[0]
        / 2_000
}

#[test]
fn the_latency_over_one_switch_is_the_measured_one() {
    // Nanoseconds for at most 8 B, as the files of the hardware families quote them.
    for (machine, hosts, measured) in [
        ("lumi", "1", 1_610),
        ("frontier", "1", 1_610),
        ("archer2", "1", 1_860),
        ("leonardo", "1", 1_000),
        ("frontera", "1", 1_000),
        ("archer", "1", 1_240),
    ] {
        let latency = latency(machine, &[("network.hosts", hosts)]);
        // Serialisation is not in the derivation.
        assert!(
            (measured..measured + measured / 40).contains(&latency),
            "{machine}: {latency} ns"
        );
    }
}
