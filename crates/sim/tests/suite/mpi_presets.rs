//! Thresholds of MPI libraries by name, in experiments with a network: the message that is one byte too long asks
//! first.

use crate::support::{experiment, run, table};

/// Half a round of a ping-pong between two hosts of one switch, in picoseconds.
fn half_round(preset: &str, bytes: u64) -> u64 {
    let result = run(&experiment(&format!(
        r#"
[network]
topology = {{ kind = "fat-tree", levels = 2, radix = 4 }}
routing = {{ algorithm = "destination-mod-k" }}
link = {{ bandwidth = "100 Gbps", latency = "50 ns" }}
router = {{ delay = "100 ns", buffer = "256 KiB" }}
packet = "1 KiB"
[mpi]
preset = "{preset}"
send_overhead = "250 ns"
receive_overhead = "350 ns"
header_size = "40 B"
control_size = "64 B"
[[job]]
name = "ping-pong"
workload = {{ motif = "ping-pong", ranks = 2, bytes = "{bytes} B", iterations = 1, barriers = false }}
"#
    )));
    let ps = table(&result, "ranks").u64s("time_ps").unwrap()[0];
    assert_eq!(ps % 2, 0, "both directions are alike");
    ps / 2
}

/// From the first byte's departure to the last byte's arrival: two links of 50 ns and 100 Gbps, and a router.
fn transfer(bytes: u64) -> u64 {
    2 * 50_000 + 100_000 + bytes * 80
}

#[test]
fn thresholds_of_libraries_hold_on_a_network() {
    const OVERHEADS: u64 = 250_000 + 350_000;
    for (preset, threshold) in [
        ("cxi", 18_433),
        ("mvapich2", 16_384),
        ("psm3", 64_000),
        ("openmpi-ugni", 8_192),
    ] {
        let eager = OVERHEADS + transfer(threshold + 40);
        assert_eq!(half_round(preset, threshold), eager, "{preset}");
        let rendezvous = OVERHEADS + 2 * transfer(64) + transfer(threshold + 1 + 40);
        assert_eq!(half_round(preset, threshold + 1), rendezvous, "{preset}");
    }
}
