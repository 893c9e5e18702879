//! Messages between ranks of one host, with the default memory, against measurements.

use mpi::MpiSettings;

use crate::support::{job, jobs_on, receive, run, send, table};

const PAIR: &str = r#"
[network]
topology = { kind = "mesh", sizes = [1], hosts_per_router = 2 }
routing = { algorithm = "dimension-order" }
"#;

/// Half of a round trip between two ranks on these hosts, in us, with all defaults.
fn half_round_trip_us(bytes: u64, hosts: &[u32]) -> f64 {
    let programs = vec![
        vec![send(1, bytes), receive(1, bytes)],
        vec![receive(0, bytes), send(0, bytes)],
    ];
    let ping_pong = job("ping-pong", programs, &MpiSettings::default(), hosts);
    let result = run(&jobs_on(PAIR, vec![ping_pong]));
    table(&result, "ranks").u64s("time_ps").unwrap()[0] as f64 / 2e6
}

/// IMB PingPong on a node of ARCHER2, two ranks in one NUMA region, Cray MPICH 8.0.15, December 2020
/// (hpc-uk/archer-benchmarks, synth/IMB/results/ARCHER2_CrayMPICH8015_pingpong): bytes, and us of half a round trip.
const MEASURED: [(u64, f64); 6] = [
    (8, 0.74),
    (64, 0.64),
    (1024, 0.72),
    (8192, 1.37),
    (65_536, 2.59),
    (1_048_576, 27.92),
];

#[test]
fn messages_inside_a_host_take_the_time_that_was_measured() {
    for (bytes, measured) in MEASURED {
        let time = half_round_trip_us(bytes, &[0, 0]);
        let ratio = time / measured;
        // The model has one latency and one bandwidth; the real protocol changes between 4 and 16 KiB.
        let expected = if bytes == 8192 { 0.6..1.0 } else { 0.85..1.15 };
        assert!(
            expected.contains(&ratio),
            "{bytes} B: {time} us, measured {measured} us"
        );
    }
}

#[test]
fn memory_is_faster_than_the_shortest_network() {
    for (bytes, _) in MEASURED {
        let (inside, across) = (
            half_round_trip_us(bytes, &[0, 0]),
            half_round_trip_us(bytes, &[0, 1]),
        );
        assert!(
            inside < across,
            "{bytes} B: {inside} us inside a host, {across} us across one router"
        );
    }
}
