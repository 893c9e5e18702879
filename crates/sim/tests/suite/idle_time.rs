//! Idle time of ranks by cause: `crates/mpi/src/idle.rs`.

use mpi::MpiSettings;
use results::RunResult;

use crate::support::{compute, experiment, job, jobs_on, receive, run, run_everywhere, send, table};

/// Four hosts on one router; 256 B take 20.48 ns.
const STAR: &str = r#"
[network]
topology = { kind = "mesh", sizes = [1], hosts_per_router = 4 }
routing = { algorithm = "dimension-order" }
link = { bandwidth = "100 Gbps", latency = "50 ns" }
packet = "256 B"
"#;

/// 300 ns.
const OVERHEAD: u64 = 300_000;

fn column(result: &RunResult, column: &str) -> Vec<u64> {
    table(result, "ranks").u64s(column).unwrap().to_vec()
}

#[test]
fn a_late_sender_keeps_its_partner_waiting() {
    let programs = vec![vec![compute(10_000), send(1, 1024)], vec![receive(0, 1024)]];
    let mut experiment = jobs_on(
        STAR,
        vec![job("late", programs, &MpiSettings::default(), &[0, 1])],
    );
    let result = run_everywhere(&mut experiment);
    // The sender computes, and pays for its send.
    let partner = 10_000_000 + OVERHEAD;
    assert_eq!(column(&result, "partner_ps"), [0, partner]);
    assert_eq!(column(&result, "link_wait_ps"), [0, 0]);
    assert_eq!(column(&result, "overhead_ps"), [OVERHEAD, OVERHEAD]);
    let under_way = column(&result, "time_ps")[1] - partner - OVERHEAD;
    assert_eq!(column(&result, "transfer_ps"), [0, under_way]);
    // Two cables, and 1 KiB with its last packet on the second one.
    assert!((100_000 + 81_920..400_000).contains(&under_way), "{under_way} ps");
}

#[test]
fn three_senders_wait_for_one_link() {
    let senders = |to| vec![send(to, 8192)];
    let programs = vec![
        senders(3),
        senders(3),
        senders(3),
        vec![receive(0, 8192), receive(1, 8192), receive(2, 8192)],
    ];
    let mut experiment = jobs_on(
        STAR,
        vec![job("incast", programs, &MpiSettings::default(), &[0, 1, 2, 3])],
    );
    let result = run_everywhere(&mut experiment);
    // The link takes 655.36 ns for each message; all three arrive together, so that each waits for the two others.
    let waited = column(&result, "link_wait_ps")[3];
    assert!((1_200_000..1_400_000).contains(&waited), "{waited} ps");
    assert_eq!(column(&result, "partner_ps")[3], OVERHEAD);
    assert_eq!(column(&result, "overhead_ps")[3], 3 * OVERHEAD);
}

/// All time in calls that is no overhead is idle time: nothing is counted twice or lost.
#[test]
fn overheads_are_those_of_all_messages() {
    for motif in [
        "motif = \"halo3d-26\", ranks = 27, nx = 6, ny = 6, nz = 6, iterations = 3",
        "motif = \"allreduce\", ranks = 24, bytes = \"512 B\", iterations = 4",
    ] {
        let mut experiment = experiment(&format!(
            r#"
[network]
topology = {{ kind = "dragonfly", hosts_per_router = 2, routers_per_group = 4, global_links_per_router = 2 }}
routing = {{ algorithm = "ugal" }}
router = {{ buffer = "4 KiB" }}
link = {{ bandwidth = "25 Gbps", latency = "50 ns" }}
[[job]]
workload = {{ {motif} }}
[[job]]
traffic = {{ pattern = "uniform", load = 0.6 }}
[mpi]
send_overhead = "200 ns"
receive_overhead = "150 ns"
reduction_bandwidth = "none"
"#
        ));
        let result = run_everywhere(&mut experiment);
        let [overhead, sent, received, all_sent, all_received] = [
            "overhead_ps",
            "messages_sent",
            "messages_received",
            "collective_messages_sent",
            "collective_messages_received",
        ]
        .map(|name| column(&result, name));
        for rank in 0..overhead.len() {
            let expected =
                200_000 * (sent[rank] + all_sent[rank]) + 150_000 * (received[rank] + all_received[rank]);
            assert_eq!(overhead[rank], expected, "{motif}, rank {rank}");
        }
        let sum = |name: &str| column(&result, name).iter().sum::<u64>();
        // The halo exchange has collectives as well.
        for part in ["partner_ps", "transfer_ps", "link_wait_ps"] {
            assert!(sum(&format!("collective_{part}")) > 0, "{motif}: {part}");
            assert_eq!(sum(part) > 0, motif.contains("halo"), "{motif}: {part}");
        }
    }
}

/// A rank that waits when the run ends waits for its partner.
#[test]
fn the_end_of_the_run_cuts_a_wait() {
    let programs = vec![vec![compute(10_000), send(1, 1024)], vec![receive(0, 1024)]];
    let mut experiment = jobs_on(STAR, vec![job("cut", programs, &MpiSettings::default(), &[0, 1])]);
    experiment.run.until = Some(des::Time::from_ns(4_000));
    let result = run(&experiment);
    assert_eq!(column(&result, "partner_ps"), [0, 4_000_000]);
    assert_eq!(column(&result, "overhead_ps"), [0, 0]);
}
