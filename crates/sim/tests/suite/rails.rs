//! Hosts with several NIC ports, in one or several planes. `docs/methods/rails.md` has the formulas.

use des::Time;
use experiment::Experiment;
use results::RunResult;
use workload::Operation;

use crate::support::{experiment, job, jobs_on, receive, run, run_everywhere, send, sum, table};

/// Two hosts with four ports each on one router; 256 B take 20.48 ns.
const PAIR: &str = r#"
[network]
topology = { kind = "mesh", sizes = [1], hosts_per_router = 8 }
routing = { algorithm = "dimension-order" }
link = { bandwidth = "100 Gbps", latency = "50 ns" }
router = { delay = "100 ns", buffer = "1 MiB" }
packet = "256 B"
rails = 4
"#;

/// Time of a packet of 256 B on a link, in ps.
const PACKET_PS: u64 = 20_480;

/// From the departure of a packet's first bit to the arrival of its last: two cables, a router, and its own length.
const ALONE_PS: u64 = 2 * 50_000 + 100_000 + PACKET_PS;

fn bare_mpi(eager_threshold: u64) -> mpi::MpiSettings {
    mpi::MpiSettings {
        eager_threshold,
        send_overhead: Time::ZERO,
        receive_overhead: Time::ZERO,
        header_bytes: 0,
        control_bytes: 256,
        ..mpi::MpiSettings::default()
    }
}

/// Rank 0 on host 0 sends these messages to rank 1 on host 1.
fn messages(network: &str, sizes: &[u64], eager_threshold: u64) -> RunResult {
    let programs: Vec<Vec<Operation>> = vec![
        sizes.iter().map(|bytes| send(1, *bytes)).collect(),
        sizes.iter().map(|bytes| receive(0, *bytes)).collect(),
    ];
    let settings = bare_mpi(eager_threshold);
    run_everywhere(&mut jobs_on(
        network,
        vec![job("pair", programs, &settings, &[0, 1])],
    ))
}

/// The end of a rank in ps.
fn finished(result: &RunResult, rank: usize) -> u64 {
    table(result, "ranks").u64s("time_ps").unwrap()[rank]
}

/// Packets over the injection links of a host, by rail.
fn injected(result: &RunResult, host: u32) -> Vec<u64> {
    carried(result, "injection", "from", host)
}

/// Packets over the ejection links of a host, by rail.
fn ejected(result: &RunResult, host: u32) -> Vec<u64> {
    carried(result, "ejection", "to", host)
}

fn carried(result: &RunResult, class: &str, end: &str, host: u32) -> Vec<u64> {
    let links = table(result, "links");
    let (classes, ends) = (links.texts("class").unwrap(), links.texts(end).unwrap());
    let packets = links.u64s("packets").unwrap();
    let mut found: Vec<(String, u64)> = classes
        .zip(ends)
        .zip(packets)
        .filter(|((of, _), _)| *of == Some(class))
        .map(|((_, end), packets)| (end.unwrap().to_string(), *packets))
        .filter(|(end, _)| end.starts_with(&format!("host {host} rail ")))
        .collect();
    found.sort();
    found.into_iter().map(|(_, packets)| packets).collect()
}

#[test]
fn a_message_over_all_rails_takes_its_part_of_the_time() {
    let sprayed = format!("{PAIR}rail_per = \"packet\"\n");
    for (network, rails) in [(PAIR, 1), (&sprayed, 4)] {
        for packets in [1u64, 2, 3, 4, 5, 8, 16, 33] {
            let result = messages(network, &[packets * 256], 1 << 40);
            let expected = ALONE_PS + (packets.div_ceil(rails) - 1) * PACKET_PS;
            assert_eq!(finished(&result, 1), expected, "{packets} packets, {network}");
            assert_eq!(sum(table(&result, "ranks"), "bytes_received"), packets * 256);
        }
    }
    // The last packet is short, and is the only one of its rail.
    let result = messages(&sprayed, &[3 * 256 + 1], 1 << 40);
    assert_eq!(finished(&result, 1), ALONE_PS);
    assert_eq!(injected(&result, 0), [1, 1, 1, 1]);
}

/// Twice as many planes take half the time, except for the path.
#[test]
fn two_planes_halve_the_time_of_a_message() {
    const PACKETS: u64 = 64;
    let tree = r#"
[network]
topology = { kind = "fat-tree", levels = 2, radix = 4 }
routing = { algorithm = "destination-mod-k" }
router = { delay = "100 ns", buffer = "1 MiB" }
packet = "256 B"
"#;
    let time = |keys: &str| {
        let programs = vec![vec![send(1, PACKETS * 256)], vec![receive(0, PACKETS * 256)]];
        let network = format!("{tree}{keys}");
        let result = run(&jobs_on(
            &network,
            vec![job("pair", programs, &bare_mpi(1 << 40), &[0, 7])],
        ));
        finished(&result, 1)
    };
    let one = time("");
    let two = time("rails = 2\nplanes = 2\nrail_per = \"packet\"\n");
    // The path has four cables and three routers.
    let way = 4 * 50_000 + 3 * 100_000;
    assert_eq!(
        (one, two),
        (way + PACKETS * PACKET_PS, way + PACKETS / 2 * PACKET_PS)
    );
    assert_eq!(
        time("rails = 2\nplanes = 2\nrail_per = \"message\"\n"),
        one,
        "one message goes by one rail"
    );
}

/// The default is what MPI libraries do with several NICs.
#[test]
fn large_messages_use_all_rails_and_small_ones_use_one() {
    let packets =
        |keys: &str, bytes: u64| injected(&messages(&format!("{PAIR}{keys}"), &[bytes], 1 << 40), 0);
    assert_eq!(packets("", 16 * 1024 - 1), [64, 0, 0, 0]);
    assert_eq!(packets("", 16 * 1024), [16; 4]);
    assert_eq!(packets("rail_stripe_threshold = \"1 KiB\"\n", 1024), [1; 4]);
    assert_eq!(packets("rail_choice = \"least-loaded\"\n", 32 * 1024), [32; 4]);
    let by_destination = packets("rail_choice = \"by-destination\"\n", 32 * 1024);
    assert_eq!(
        by_destination.iter().max(),
        Some(&128),
        "one rail between two hosts"
    );
}

#[test]
fn two_rails_equal_one_of_twice_the_speed() {
    let network = |rails: u32, gbps: u32, keys: &str| {
        PAIR.replace("rails = 4", &format!("rails = {rails}\n{keys}"))
            .replace(
                "hosts_per_router = 8",
                &format!("hosts_per_router = {}", 2 * rails),
            )
            .replace("100 Gbps", &format!("{gbps} Gbps"))
    };
    let ratio = |keys: &str, sizes: &[u64]| {
        let time = |network: &str| finished(&messages(network, sizes, 16 * 1024), 1) as f64;
        time(&network(2, 100, keys)) / time(&network(1, 200, ""))
    };
    for bytes in [16 * 1024, 64 * 1024, 1 << 20] {
        let striped = ratio("", &[bytes; 4]);
        assert!((0.98..1.02).contains(&striped), "{bytes} B: {striped}");
    }
    let whole = ratio("rail_per = \"message\"", &[1 << 20]);
    assert!(whole > 1.9, "one message by one of two rails: {whole}");
}

/// A send with a request to send ends when the last byte has left, on whichever rail.
#[test]
fn a_sender_waits_for_the_last_of_its_rails() {
    for (choice, rails) in [
        ("rail_per = \"message\"", 1),
        ("rail_per = \"packet\"", 4),
        ("rail_per = \"packet\"\nrail_choice = \"least-loaded\"", 4),
    ] {
        for packets in [1u64, 2, 5, 9] {
            let result = messages(&format!("{PAIR}{choice}\n"), &[packets * 256, packets * 256], 0);
            // Request and clearance are one packet each.
            let one = 2 * ALONE_PS + packets.div_ceil(rails) * PACKET_PS;
            assert_eq!(finished(&result, 0), 2 * one, "{packets} packets, {choice}");
        }
    }
}

#[test]
fn rails_are_chosen_as_asked_and_kept_at_the_other_end() {
    let one_packet = [256u64; 10];
    let of = |choice: &str, sizes: &[u64]| {
        let result = messages(&format!("{PAIR}{choice}\n"), sizes, 1 << 40);
        assert_eq!(injected(&result, 0), ejected(&result, 1), "{choice}");
        assert_eq!(injected(&result, 1), [0; 4], "eager messages are not answered");
        injected(&result, 0)
    };
    assert_eq!(of("rail_choice = \"round-robin\"", &one_packet), [3, 3, 2, 2]);
    let mut by_destination = of("rail_choice = \"by-destination\"", &one_packet);
    by_destination.sort_unstable();
    assert_eq!(by_destination, [0, 0, 0, 10]);
    // 50 packets keep the first rail busy while the rest uses the other rails.
    let long_first = [&[50 * 256u64], &one_packet[..9]].concat();
    assert_eq!(of("rail_choice = \"round-robin\"", &long_first), [52, 3, 2, 2]);
    assert_eq!(of("rail_choice = \"least-loaded\"", &long_first), [50, 3, 3, 3]);
    let divided = "rail_choice = \"least-loaded\"\nrail_per = \"packet\"";
    assert_eq!(of(divided, &[50 * 256]), [13, 13, 12, 12]);
}

/// Ranks send and receive by their own rails, also where these have different numbers.
#[test]
fn by_rank_each_rank_has_a_rail() {
    // Eight ranks on two hosts: rank 1 has the second rail of host 0, rank 6 the third of host 1.
    let of = |keys: &str, from: u32, to: u32, sizes: &[u64]| {
        let mut programs: Vec<Vec<Operation>> = vec![Vec::new(); 8];
        programs[from as usize] = sizes.iter().map(|bytes| send(to, *bytes)).collect();
        programs[to as usize] = sizes.iter().map(|bytes| receive(from, *bytes)).collect();
        let network = format!("{PAIR}rail_choice = \"by-rank\"\n{keys}");
        let job = job("eight", programs, &bare_mpi(1 << 40), &[0, 0, 0, 0, 1, 1, 1, 1]);
        let result = run_everywhere(&mut jobs_on(&network, vec![job]));
        (
            injected(&result, 0),
            ejected(&result, 1),
            finished(&result, to as usize),
        )
    };
    let sizes = [256u64, 256, 50 * 256];
    let time = ALONE_PS + 51 * PACKET_PS;
    assert_eq!(of("", 1, 6, &sizes), (vec![0, 52, 0, 0], vec![0, 0, 52, 0], time));
    assert_eq!(of("", 3, 4, &sizes), (vec![0, 0, 0, 52], vec![52, 0, 0, 0], time));
    // A single rank has a single rail, whatever the size of its messages.
    let alone = messages(&format!("{PAIR}rail_choice = \"by-rank\"\n"), &sizes, 1 << 40);
    assert_eq!(injected(&alone, 0), [52, 0, 0, 0]);
    // Requests and clearances go the same ways.
    let asked = messages(&format!("{PAIR}rail_choice = \"by-rank\"\n"), &sizes, 0);
    assert_eq!(
        (injected(&asked, 0), injected(&asked, 1)),
        (vec![55, 0, 0, 0], vec![3, 0, 0, 0])
    );
}

fn traffic(keys: &str, load: f64) -> Experiment {
    experiment(&format!(
        r#"
[network]
topology = {{ kind = "dragonfly", hosts_per_router = 2, routers_per_group = 4, global_links_per_router = 2 }}
routing = {{ algorithm = "minimal" }}
router = {{ delay = "100 ns", buffer = "1 MB" }}
{keys}
[[job]]
traffic = {{ pattern = "uniform", load = {load} }}
[run]
until = "40 us"
warmup = "10 us"
"#
    ))
}

/// The load counts all rails together, and two planes carry twice the traffic of one.
#[test]
fn two_planes_carry_twice_the_traffic() {
    // By destination, one rail of a host can have more than half of its messages.
    for (choice, load) in [
        ("round-robin", 0.9),
        ("least-loaded", 0.9),
        ("by-destination", 0.6),
    ] {
        let one = run(&traffic("", load));
        let keys = format!("rails = 2\nplanes = 2\nrail_choice = \"{choice}\"");
        let experiment = traffic(&keys, load);
        assert_eq!(experiment.network.hosts(), 72);
        let two = run(&experiment);
        let (ours, theirs) = (&two.summary.network, &one.summary.network);
        assert_eq!((ours.rails, ours.planes, ours.hosts), (2, 2, 72));
        assert_eq!(ours.routers, 2 * theirs.routers);
        assert_eq!(ours.links, 2 * theirs.links);
        assert!((ours.offered_load - load).abs() < 0.01, "{}", ours.offered_load);
        assert!(
            ours.accepted_load > theirs.accepted_load - 0.01,
            "{choice}: {} is less than the {} of one plane",
            ours.accepted_load,
            theirs.accepted_load
        );
        let twice = ours.packets_delivered as f64 / (2 * theirs.packets_delivered) as f64;
        assert!((twice - 1.0).abs() < 0.01, "{choice}: {twice}");
        assert_eq!(ours.mean_hops.map(f64::round), theirs.mean_hops.map(f64::round));
    }
}

#[test]
fn all_executors_agree_whatever_is_chosen() {
    for keys in [
        "rails = 2\nplanes = 2\nrail_choice = \"by-destination\"",
        "rails = 2\nrail_arrangement = \"spread\"\nrail_choice = \"least-loaded\"\nrail_per = \"packet\"",
        "rails = 4\nplanes = 2\nrail_arrangement = \"spread\"",
        "rails = 2\nrail_choice = \"by-rank\"",
    ] {
        let mut experiment = traffic(keys, 0.7);
        (experiment.run.until, experiment.run.warmup) = (Some(Time::from_ns(3000)), Time::ZERO);
        let result = run_everywhere(&mut experiment);
        let network = &result.summary.network;
        assert_eq!(
            network.packets_injected,
            network.packets_delivered + network.packets_in_flight
        );
        assert!(network.packets_delivered > 1000);
    }
}

#[test]
fn a_check_speaks_of_rails_and_proves_one_plane() {
    let one = sim::check(&traffic("", 0.5)).unwrap();
    let two = sim::check(&traffic("rails = 4\nplanes = 2", 0.5)).unwrap();
    assert_eq!((two.hosts, two.rails, two.planes), (36, 4, 2));
    assert_eq!(
        (two.routers, two.router_links),
        (2 * one.routers, 2 * one.router_links)
    );
    assert_eq!(two.topology, format!("2 planes, each a {}", one.topology));
    assert_eq!(two.deadlock_free, Some(true));
    assert_eq!(two.deadlock, format!("{} in each plane", one.deadlock));
    let text = two.to_string();
    assert!(text.contains("\nrails     4 per host, in 2 planes\n"), "{text}");
    assert!(!one.to_string().contains("rails"), "{one}");
}

#[test]
fn wrong_keys_are_refused_where_they_stand() {
    for (keys, expected) in [
        (
            "rails = 0",
            "test.toml:6: network.rails: 0 is out of range; expected 1 to 64",
        ),
        (
            "planes = 2",
            "network.rails: 1 rail of a host cannot be shared out evenly among 2 planes",
        ),
        (
            "rails = 5",
            "test.toml:6: network.rails: 72 end points cannot be shared out evenly",
        ),
        (
            "rails = 2\nplanes = 100000000",
            "network.rails: 2 rails of a host cannot be shared out evenly among 100000000 planes",
        ),
        (
            "rails = 2\nrail_per = \"flit\"",
            "test.toml:7: network.rail_per: unknown name 'flit'",
        ),
        (
            "rails = 2\nrail_choice = \"by-destination\"\nrail_per = \"stripe\"",
            "test.toml:8: network.rail_per: the packets of a message have one destination",
        ),
        (
            "rails = 2\nrails_per = \"packet\"",
            "test.toml:7: network.rails_per: unknown key",
        ),
    ] {
        let text = format!(
            "[network]\ntopology = {{ kind = \"dragonfly\", hosts_per_router = 2, routers_per_group = 4, \
             global_links_per_router = 2 }}\nrouting = {{ algorithm = \"minimal\" }}\nlink = {{}}\nrouter = {{}}\n\
             {keys}\n[[job]]\ntraffic = {{ pattern = \"uniform\", load = 0.5 }}\n[run]\nuntil = \"1 us\"\n"
        );
        let error = match Experiment::from_toml(&text, "test.toml", &[]) {
            Ok(_) => panic!("{keys} is not refused"),
            Err(error) => error.to_string(),
        };
        assert!(error.contains(expected), "{keys}: {error}");
    }
}
