//! Ranks and synthetic traffic that share a NIC. `docs/methods/packet.md` says how.

use des::Time;
use mpi::MpiSettings;
use results::RunResult;

use crate::support::{job, job_beside_traffic, jobs_on, receive, run, run_everywhere, send, sum, table};

/// Two hosts on one router; 256 B take 20.48 ns.
const PAIR: &str = r#"
[network]
topology = { kind = "mesh", sizes = [1], hosts_per_router = 2 }
routing = { algorithm = "dimension-order" }
link = { bandwidth = "100 Gbps", latency = "50 ns" }
"#;

const MEBIBYTE: u64 = 1 << 20;

fn with_arbiter(arbiter: &str) -> String {
    format!("{PAIR}nic_arbiter = \"{arbiter}\"\n")
}

/// Time of one round trip of a message between both hosts, in ps.
fn round_trip(result: &RunResult) -> u64 {
    table(result, "ranks").u64s("time_ps").unwrap()[0]
}

fn ping_pong(bytes: u64) -> experiment::Job {
    let programs = vec![
        vec![send(1, bytes), receive(1, bytes)],
        vec![receive(0, bytes), send(0, bytes)],
    ];
    job("ping-pong", programs, &MpiSettings::default(), &[0, 1])
}

/// Background traffic of 0.9 leaves a tenth of each link, and a job that shares the link gets half of it.
#[test]
fn a_ping_pong_beside_background_traffic_takes_twice_the_time() {
    let alone = round_trip(&run(&jobs_on(PAIR, vec![ping_pong(MEBIBYTE)])));
    let beside = |network: &str| round_trip(&run(&job_beside_traffic(network, 0.9, ping_pong(MEBIBYTE))));
    for network in [
        PAIR,
        &with_arbiter("round-robin"),
        &with_arbiter("deficit-round-robin"),
    ] {
        let ratio = beside(network) as f64 / alone as f64;
        assert!(
            (1.8..2.2).contains(&ratio),
            "{ratio} times {alone} ps in {network}"
        );
    }
    let ratio = beside(&with_arbiter("by-message")) as f64 / alone as f64;
    assert!(
        ratio > 4.0,
        "each background message competes: {ratio} times {alone} ps"
    );
}

#[test]
fn every_executor_shares_alike() {
    for arbiter in fabric::NIC_ARBITERS {
        run_everywhere(&mut job_beside_traffic(
            &with_arbiter(arbiter),
            0.9,
            ping_pong(1 << 14),
        ));
    }
}

/// Each rank on host 0 sends messages of one size, and how many, to a rank of its own on host 1. Times of the receivers
/// in ps.
fn senders(network: &str, sizes: &[(u64, usize)]) -> Vec<u64> {
    let pairs = sizes.len() as u32;
    let sends = (0..)
        .zip(sizes)
        .map(|(at, (bytes, count))| vec![send(pairs + at, *bytes); *count]);
    let receives = (0..)
        .zip(sizes)
        .map(|(at, (bytes, count))| vec![receive(at, *bytes); *count]);
    let programs = sends.chain(receives).collect();
    let hosts: Vec<u32> = (0..2 * pairs).map(|rank| rank / pairs).collect();
    let settings = MpiSettings {
        send_overhead: Time::ZERO,
        receive_overhead: Time::ZERO,
        header_bytes: 0,
        eager_threshold: 1 << 40,
        ..MpiSettings::default()
    };
    let result = run_everywhere(&mut jobs_on(
        network,
        vec![job("pairs", programs, &settings, &hosts)],
    ));
    assert!(sum(table(&result, "ranks"), "bytes_received") > 0);
    let times = table(&result, "ranks").u64s("time_ps").unwrap();
    times[pairs as usize..].to_vec()
}

#[test]
fn three_ranks_of_a_host_get_a_third_of_its_link_each() {
    // One rank has ten messages in flight, the others one.
    let sizes = [(MEBIBYTE / 10, 10), (MEBIBYTE, 1), (MEBIBYTE, 1)];
    let all_ps = 3 * MEBIBYTE * 80;
    for time in senders(PAIR, &sizes) {
        assert!(time.abs_diff(all_ps) < all_ps / 100, "{time} ps of {all_ps}");
    }
    let by_message = senders(&with_arbiter("by-message"), &sizes);
    assert!(
        by_message[0] < all_ps / 2,
        "ten of twelve messages: {by_message:?}"
    );
}

#[test]
fn sources_share_by_packets_or_by_bytes() {
    // Packets of 64 B and of 256 B; both sources send as many bytes.
    let sizes = [(64, 4096), (MEBIBYTE / 4, 1)];
    let bytes = MEBIBYTE / 4;
    // By packets, the large message is done when 5/4 of its bytes have left; by bytes, when 2 times as many have.
    let by_packets = senders(PAIR, &sizes)[1];
    let expected = bytes * 80 * 5 / 4;
    assert!(
        by_packets.abs_diff(expected) < expected / 50,
        "{by_packets} ps, {expected} expected"
    );
    let by_bytes = senders(&with_arbiter("deficit-round-robin"), &sizes)[1];
    let expected = bytes * 80 * 2;
    assert!(
        by_bytes.abs_diff(expected) < expected / 50,
        "{by_bytes} ps, {expected} expected"
    );
}
