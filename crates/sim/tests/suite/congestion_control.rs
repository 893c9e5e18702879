//! Congestion control of NICs by pairs: what a window lets through, and what an incast does to others.
//! `docs/methods/packet.md` says how.

use des::Time;
use experiment::{Experiment, Job};
use mpi::MpiSettings;
use results::RunResult;

use crate::support::{job, jobs_on, receive, run, run_everywhere, send, table};

/// No time beside that of the network, and all messages sent at once.
fn network_only() -> MpiSettings {
    MpiSettings {
        send_overhead: Time::ZERO,
        receive_overhead: Time::ZERO,
        header_bytes: 0,
        eager_threshold: 1 << 40,
        ..MpiSettings::default()
    }
}

const HEADER: u64 = 64;
const PAYLOAD: u64 = 4096;

/// Two hosts on one router, with packets of 4 KiB and a header. A byte takes 80 ps.
fn pair(nic: &str) -> String {
    format!(
        r#"
[network]
topology = {{ kind = "mesh", sizes = [1], hosts_per_router = 2 }}
routing = {{ algorithm = "dimension-order" }}
link = {{ bandwidth = "100 Gbps", latency = "50 ns" }}
router = {{ delay = "100 ns", buffer = "100 KB" }}
packet = "{PAYLOAD} B"
packet_header = "{HEADER} B"
{nic}
"#
    )
}

/// Time at which the last of some full packets, in one message, has arrived, in ps.
fn one_flow(nic: &str, packets: u64) -> u64 {
    let bytes = packets * PAYLOAD;
    let programs = vec![vec![send(1, bytes)], vec![receive(0, bytes)]];
    let flow = job("flow", programs, &network_only(), &[0, 1]);
    let result = run_everywhere(&mut jobs_on(&pair(nic), vec![flow]));
    table(&result, "ranks").u64s("time_ps").unwrap()[1]
}

/// Time of a packet through two links of 50 ns and a router of 100 ns.
fn path_ps(bytes: u64) -> u64 {
    200_000 + 80 * bytes
}

/// A flow that is alone has the whole bandwidth: its window is larger than what a round trip takes.
#[test]
fn a_flow_alone_has_the_whole_bandwidth() {
    let packets = 200;
    let bytes = PAYLOAD + HEADER;
    let expected = (packets - 1) * 80 * bytes + path_ps(bytes);
    for nic in ["", "nic = { congestion_control = \"pairs\" }"] {
        assert_eq!(one_flow(nic, packets), expected, "{nic}");
    }
}

/// A window of one packet lets one packet through in each round trip, with an acknowledgement of the size of a header.
#[test]
fn a_window_of_one_packet_takes_a_round_trip_for_each() {
    let packets = 20;
    let (packet, round_trip) = (PAYLOAD + HEADER, path_ps(PAYLOAD + HEADER) + path_ps(HEADER));
    let expected = (packets - 1) * round_trip + path_ps(packet);
    for window in ["1 B", "4 KiB"] {
        let nic = format!("nic = {{ congestion_control = \"pairs\", pair_window = \"{window}\" }}");
        assert_eq!(one_flow(&nic, packets), expected, "{window}");
    }
}

/// Eight hosts of the first of three switches send to one of the last. Links between switches have four times the
/// bandwidth of hosts.
const SWITCHES: &str = r#"
[network]
topology = { kind = "mesh", sizes = [3], hosts_per_router = 10 }
routing = { algorithm = "dimension-order" }
link = { bandwidth = "400 Gbps", latency = "50 ns" }
links = { host = { bandwidth = "100 Gbps" } }
router = { delay = "100 ns", buffer = "100 KB" }
packet = "4 KiB"
packet_header = "64 B"
"#;

const CONTROL: &str = "nic = { congestion_control = \"pairs\", pair_window = \"64 KiB\" }\n";

/// Bytes that each host sends in the incast.
const INCAST: u64 = 4 << 20;

fn incast(bytes: u64) -> Job {
    let mut programs: Vec<_> = (0..8).map(|_| vec![send(8, bytes)]).collect();
    programs.push((0..8).map(|from| receive(from, bytes)).collect());
    job("incast", programs, &network_only(), &[0, 1, 2, 3, 4, 5, 6, 7, 20])
}

/// Messages of 4 KiB to and fro between a host of the first switch and one of the second, from a time on.
fn neighbours(start: Time, messages: usize) -> Job {
    let exchange = |first: bool| {
        let both = |to| [send(to, PAYLOAD), receive(to, PAYLOAD)];
        let one = move || match first {
            true => both(1),
            false => [receive(0, PAYLOAD), send(0, PAYLOAD)],
        };
        (0..messages).flat_map(|_| one()).collect::<Vec<_>>()
    };
    let programs = vec![exchange(true), exchange(false)];
    Job {
        start,
        ..job("neighbours", programs, &network_only(), &[8, 10])
    }
}

/// The times of the first rank of the neighbours and of the receiver of the incast, in ps.
fn times(result: &RunResult, jobs: [Option<usize>; 2]) -> [u64; 2] {
    let ranks = table(result, "ranks").u64s("time_ps").unwrap();
    jobs.map(|place| place.map_or(0, |place| ranks[place]))
}

/// Two hosts beside an incast, whose path shares a switch and a link with it, but not the congested last hop.
#[test]
fn an_incast_slows_its_neighbours_only_without_control() {
    // When the windows have become small.
    let neighbours = || neighbours(Time(300_000_000), 256);
    let alone = times(&run(&jobs_on(SWITCHES, vec![neighbours()])), [Some(0), None])[0];
    let [slow_down, controlled] = ["", CONTROL].map(|nic| {
        let network = format!("{SWITCHES}{nic}");
        let result = run(&jobs_on(&network, vec![incast(INCAST), neighbours()]));
        let [beside, incast] = times(&result, [Some(9), Some(8)]);
        // The incast itself takes the time of its last hop, with or without control.
        let packets = 8 * INCAST / PAYLOAD;
        let last_hop = packets * 80 * (PAYLOAD + HEADER);
        assert!(
            (last_hop..last_hop + last_hop / 20).contains(&incast),
            "{incast} ps of {last_hop} with '{nic}'"
        );
        beside as f64 / alone as f64
    });
    eprintln!("slow-down {slow_down}, with control {controlled}");
    assert!(controlled < 1.1, "{controlled}");
    assert!(slow_down > 2.0, "{slow_down}");
}

/// The same in small, on all executors, with the reverse check.
#[test]
fn every_executor_controls_alike() {
    let network = format!("{SWITCHES}{CONTROL}");
    let jobs = vec![incast(128 << 10), neighbours(Time::ZERO, 8)];
    let result = run_everywhere(&mut jobs_on(&network, jobs));
    let packets = result.summary.network.packets_delivered;
    assert_eq!(
        packets,
        (8 << 20) / (8 * PAYLOAD) + 16,
        "without acknowledgements"
    );
}

#[test]
fn what_does_not_work_with_control_is_refused() {
    let refused = |network: &str, expected: &str| {
        let text = format!(
            "{network}\n[[job]]\ntraffic = {{ pattern = \"uniform\", load = 0.5 }}\n[run]\nuntil = \"1 us\"\n"
        );
        let error = Experiment::from_toml(&text, "test.toml", &[])
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains(expected), "{error}");
    };
    let network = |router: &str, nic: &str| {
        format!(
            r#"
[network]
topology = {{ kind = "mesh", sizes = [2], hosts_per_router = 2 }}
routing = {{ algorithm = "dimension-order" }}
{router}
nic = {{ {nic} }}
"#
        )
    };
    let pairs = "congestion_control = \"pairs\"";
    refused(
        &network("router = { model = \"input-queued\" }", pairs),
        "expected congestion_control = \"none\", or network.router.model = \"output-queued\" or \"packet\"",
    );
    refused(
        &network("nic_arbiter = \"deficit-round-robin\"", pairs),
        "expected congestion_control = \"none\", or another network.nic_arbiter",
    );
    refused(
        &network("", "pair_window = \"64 KiB\""),
        "expected congestion_control = \"pairs\" beside it",
    );
    for (value, expected) in [
        ("pair_window = \"0 B\"", "expected 1 B to 1 GiB"),
        ("congestion_threshold = \"2 s\"", "expected at most 1 s"),
    ] {
        refused(&network("", &format!("{pairs}, {value}")), expected);
    }
    refused(
        &network("router = { model = \"flit\" }", pairs),
        "congestion_control",
    );
}
