//! The network compared with formulas and with other simulators. `docs/methods/packet.md` has the formulas.

use des::Time;
use experiment::{Experiment, LinkSetting, NetworkModel};
use results::RunResult;
use routing::{At, Congestion, Random, RouteState};
use topology::{HOST_LINK, HostId, Peer};

use crate::support::{experiment, job, jobs_on, receive, root, run, send, table};

// ---- Zero load ----------------------------------------------------------------------------------------

/// Every topology with links of different speeds, some faster towards the middle and some slower.
pub const UNEQUAL: [&str; 6] = [
    r#"
[network]
topology = { kind = "dragonfly", hosts_per_router = 2, routers_per_group = 4, global_links_per_router = 2 }
routing = { algorithm = "minimal" }
router = { delay = "90 ns", buffer = "64 KiB" }
packet = "1 KiB"
links.host = { bandwidth = "25 Gbps", latency = "11 ns" }
links.local = { bandwidth = "100 Gbps", latency = "37 ns" }
links.global = { bandwidth = "40 Gbps", latency = "410 ns", router_delay = "310 ns" }
"#,
    r#"
[network]
topology = { kind = "dragonfly", hosts_per_router = 1, routers_per_group = 3, global_links_per_router = 1 }
routing = { algorithm = "ugal", bias = "256 KiB" }
router = { delay = "0 ns", buffer = "64 KiB" }
packet = "1 KiB"
links.host = { bandwidth = "200 Gbps", latency = "3 ns" }
links.local = { bandwidth = "50 Gbps", latency = "20 ns" }
links.global = { bandwidth = "400 Gbps", latency = "150 ns" }
"#,
    r#"
[network]
topology = { kind = "fat-tree", levels = 3, radix = 4 }
routing = { algorithm = "destination-mod-k" }
router = { delay = "120 ns", buffer = "64 KiB" }
nic_injection_delay = "141 ns"
packet = "1 KiB"
links.host = { bandwidth = "10 Gbps", latency = "5 ns" }
links.leaf-spine = { bandwidth = "100 Gbps", latency = "50 ns" }
links.spine-core = { bandwidth = "33 Gbps", latency = "333 ns" }
"#,
    r#"
[network]
topology = { kind = "torus", sizes = [4, 3, 2], hosts_per_router = 1 }
routing = { algorithm = "dimension-order" }
router = { delay = "77 ns", buffer = "64 KiB" }
nic_injection_delay = "17 ns"
nic_reception_delay = "233 ns"
packet = "1 KiB"
links.host = { bandwidth = "100 Gbps", latency = "9 ns", router_delay = "33 ns" }
links.dimension-0 = { bandwidth = "30 Gbps", latency = "21 ns" }
links.dimension-1 = { bandwidth = "70 Gbps", latency = "44 ns", router_delay = "0 ns" }
links.dimension-2 = { bandwidth = "300 Gbps", latency = "88 ns" }
"#,
    r#"
[network]
topology = { kind = "mesh", sizes = [5, 2], hosts_per_router = 2 }
routing = { algorithm = "dimension-order" }
router = { delay = "50 ns", buffer = "64 KiB" }
packet = "1 KiB"
link = { bandwidth = "100 Gbps", latency = "50 ns" }
"#,
    r#"
[network]
topology = { kind = "dragonfly", hosts_per_router = 2, routers_per_group = 2, global_links_per_router = 1 }
routing = { algorithm = "minimal" }
router = { delay = "70 ns", buffer = "64 KiB" }
packet = "1 KiB"
packet_header = "93 B"
links.host = { bandwidth = "80 Gbps", latency = "13 ns" }
links.local = { bandwidth = "25 Gbps", latency = "31 ns" }
links.global = { bandwidth = "160 Gbps", latency = "240 ns" }
"#,
];

/// The same networks with each router model: a packet without contention has the same latency in all of them.
fn unequal() -> impl Iterator<Item = String> {
    let with = |model: &str| {
        let model = format!("router = {{ model = \"{model}\", ");
        move |network: &&str| network.replace("router = { ", &model)
    };
    // Packets of `analytic` are on no link between routers. In `crossbar` and `flit` they wait for cycles, or come in
    // slowly.
    let same = |model: &&fabric::router::RouterModelKind| {
        !model.capabilities.crosses_at_once && !["crossbar", "flit"].contains(&model.name)
    };
    let models = fabric::router::MODELS.iter().filter(same);
    models.flat_map(move |model| UNEQUAL.iter().map(with(model.name)))
}

struct NoLoad;
impl Congestion for NoLoad {
    fn load(&self, _: topology::Port) -> u64 {
        0
    }
    fn free_space(&self, _: topology::Port, _: u8) -> u64 {
        0
    }
}
impl Random for NoLoad {
    fn below(&mut self, _: u32) -> u32 {
        0
    }
}

/// The links from one host to another in an empty network, chosen by the routing algorithm.
fn path(network: &NetworkModel, source: HostId, destination: HostId) -> Vec<LinkSetting> {
    let topology = network.topology.as_ref();
    let host_link = network.links[usize::from(HOST_LINK.0)];
    let mut links = vec![host_link];
    let mut state = RouteState::default();
    let (mut router, mut input) = topology.attachment(source);
    let mut vc = 0;
    loop {
        let at = At {
            router,
            input,
            vc,
            source,
            destination,
        };
        let hop = network.routing.route(at, &mut state, &NoLoad, &mut NoLoad);
        links.push(network.links[usize::from(topology.link_class(router, hop.port).0)]);
        match topology.peer(router, hop.port) {
            Peer::Host(host) => {
                assert_eq!(host, destination);
                return links;
            }
            Peer::Router(next, port) => (router, input, vc) = (next, port, hop.vc),
            Peer::Unwired => panic!("routing uses wired ports"),
        }
    }
}

/// The formula: NICs, cables, pipelines, the last serialisation, and, at each router onto a faster link, the wait that
/// prevents an underrun.
fn zero_load_latency(network: &NetworkModel, links: &[LinkSetting], bytes: u32) -> Time {
    let cables: u64 = links.iter().map(|link| link.latency.ps()).sum();
    let pipelines = links[..links.len() - 1].iter();
    let pipelines: u64 = pipelines.map(|link| link.router_delay.ps()).sum();
    let serialization = |link: &LinkSetting| link.rate.serialization(bytes + network.packet.header);
    let waits: u64 = links
        .windows(2)
        .map(|pair| {
            serialization(&pair[0])
                .saturating_sub(serialization(&pair[1]))
                .ps()
        })
        .sum();
    let nics = network.nic_injection_delay + network.nic_reception_delay;
    nics + Time(cables + pipelines + waits) + serialization(links.last().expect("injection and ejection"))
}

/// MPI without overheads and headers sends exactly the bytes of its messages.
pub fn bare_mpi() -> mpi::MpiSettings {
    mpi::MpiSettings {
        eager_threshold: 1 << 40,
        send_overhead: Time::ZERO,
        receive_overhead: Time::ZERO,
        header_bytes: 0,
        ..mpi::MpiSettings::default()
    }
}

/// One message from one host to another and nothing else.
fn one_message(network: &str, from: u32, to: u32, bytes: u64) -> (Experiment, RunResult) {
    let programs = vec![vec![send(1, bytes)], vec![receive(0, bytes)]];
    let experiment = jobs_on(network, vec![job("one", programs, &bare_mpi(), &[from, to])]);
    let result = run(&experiment);
    (experiment, result)
}

#[test]
fn the_zero_load_latency_of_a_packet_is_that_of_the_formula() {
    for network in unequal() {
        let network = network.as_str();
        let hosts = hosts(network);
        let mut lengths = std::collections::BTreeSet::new();
        for (to, bytes) in (0..hosts).zip([1u64, 64, 1000, 1024].into_iter().cycle()) {
            let from = (5 * to + 2) % hosts;
            if from == to {
                continue;
            }
            let (experiment, result) = one_message(network, from, to, bytes);
            let links = path(&experiment.network, HostId(from), HostId(to));
            let expected = zero_load_latency(&experiment.network, &links, bytes as u32);
            let found = &result.summary.network;
            let what = format!("{bytes} B from host {from} to host {to}, {network}");
            assert_eq!(found.packets_delivered, 1, "{what}");
            assert_eq!(found.latency_ns.max, Some(expected.as_ns()), "{what}");
            assert_eq!(found.latency_ns.mean, Some(expected.as_ns()), "{what}");
            assert_eq!(found.mean_hops, Some(links.len() as f64), "{what}");
            lengths.insert(links.len());
        }
        assert!(lengths.len() >= 2, "ways of different lengths were tried");
    }
}

/// The formula of docs/methods/flit.md: with cycles of 2 ns (flits of 32 B on 128 Gbps), cables and pipelines of whole
/// cycles, a packet waits for the cycle of its NIC, the stages of each router, and its flits.
#[test]
fn the_zero_load_latency_of_flits_is_that_of_the_stages() {
    const CYCLE: u64 = 2_000;
    for (keys, residence) in [
        ("", 3),
        ("routing_delay = 0, ", 2),
        ("routing_delay = 4, crossbar_delay = 3, ", 8),
        ("speedup = 2, ", 1),
        ("speedup = 2, routing_delay = 0, allocator = \"islip\", ", 1),
        ("switching = \"cut-through\", ", 3),
    ] {
        let network = format!(
            r#"
[network]
topology = {{ kind = "mesh", sizes = [5, 2], hosts_per_router = 2 }}
routing = {{ algorithm = "dimension-order" }}
router = {{ model = "flit", {keys}flit = "32 B", delay = "6 ns", buffer = "64 KiB" }}
nic_injection_delay = "10 ns"
nic_reception_delay = "7 ns"
packet = "1 KiB"
link = {{ bandwidth = "128 Gbps", latency = "50 ns" }}
"#
        );
        for (to, bytes) in [(1, 1u32), (3, 32), (19, 33), (12, 1024)] {
            let (experiment, result) = one_message(&network, 0, to, bytes.into());
            let links = path(&experiment.network, HostId(0), HostId(to)).len() as u64;
            let flits = u64::from(bytes.div_ceil(32));
            let cycles = 1 + (links - 1) * (residence + 1) + flits;
            let expected = Time((17 + links * 50 + (links - 1) * 6) * 1000 + cycles * CYCLE).as_ns();
            let found = result.summary.network.latency_ns.max;
            assert_eq!(found, Some(expected), "{keys}: {bytes} B to {to}");
        }
    }
}

/// Heads of booked packets wait for nothing, and tails come as fast as the slowest link carries them. With store and
/// forward each link and each crossbar, as fast as the fastest link, takes a packet as a whole.
#[test]
fn the_zero_load_latency_of_a_booked_packet_is_that_of_its_slowest_link() {
    for network in UNEQUAL {
        for switching in ["cut-through", "store-and-forward"] {
            let model = format!(
                "router = {{ model = \"crossbar\", arbiter = \"first-come\", switching = \"{switching}\", \
                 crossbar_bandwidth = \"160 Gbps\", "
            );
            let network = network.replace("router = { ", &model);
            let (experiment, result) = one_message(&network, 0, 11 % hosts(&network), 1024);
            let network = &experiment.network;
            let to = HostId(11 % network.hosts());
            let links = path(network, HostId(0), to);
            let bytes = 1024 + network.packet.header;
            let cables: u64 = links.iter().map(|link| link.latency.ps()).sum();
            let pipelines = links[..links.len() - 1].iter();
            let pipelines: u64 = pipelines.map(|link| link.router_delay.ps()).sum();
            let nics = network.nic_injection_delay + network.nic_reception_delay;
            let times = links.iter().map(|link| link.rate.serialization(bytes).ps());
            let crossings = (links.len() - 1) as u64 * 8 * u64::from(bytes) * 1000 / 160;
            let on_links = match switching {
                "cut-through" => times.max().expect("links"),
                _ => times.sum::<u64>() + crossings,
            };
            let expected = Time(nics.ps() + cables + pipelines + on_links).as_ns();
            let found = result.summary.network.latency_ns.max;
            assert_eq!(found, Some(expected), "{switching}: {links:?}");
        }
    }
}

fn hosts(network: &str) -> u32 {
    jobs_on(network, vec![]).network.hosts()
}

/// Packets of one message follow each other without a gap, whatever the speeds: the slowest link sets the pace behind
/// the first packet.
#[test]
fn a_message_of_many_packets_takes_the_slowest_link_s_time() {
    const PACKETS: u64 = 9;
    for network in unequal() {
        let network = network.as_str();
        let (experiment, result) = one_message(network, 0, 11 % hosts(network), PACKETS * 1024);
        let links = path(&experiment.network, HostId(0), HostId(11 % hosts(network)));
        let first = zero_load_latency(&experiment.network, &links, 1024);
        let slowest = links
            .iter()
            .map(|link| {
                link.rate
                    .serialization(1024 + experiment.network.packet.header)
                    .ps()
            })
            .max()
            .unwrap();
        let expected = Time(first.ps() + (PACKETS - 1) * slowest);
        assert_eq!(result.summary.network.packets_delivered, PACKETS);
        assert_eq!(
            result.summary.network.latency_ns.max,
            Some(expected.as_ns()),
            "{network}"
        );
    }
}

// ---- Bandwidth ----------------------------------------------------------------------------------------

/// Links of the result with class, bandwidth, bytes, busy time and busy fraction.
fn links(result: &RunResult) -> Vec<(String, u64, u64, u64, f64)> {
    let links = table(result, "links");
    let classes = links.texts("class").unwrap().map(|c| c.unwrap().to_string());
    let bandwidths = links.u64s("bandwidth_bits_per_s").unwrap();
    let (bytes, busy) = (links.u64s("bytes").unwrap(), links.u64s("busy_ps").unwrap());
    let fractions = links.f64s("busy_fraction").unwrap();
    classes
        .enumerate()
        .map(|(i, class)| (class, bandwidths[i], bytes[i], busy[i], fractions[i]))
        .collect()
}

#[test]
fn no_link_carries_more_than_its_bandwidth() {
    let saturated = [
        "dragonfly-minimal-full-buffers",
        "dragonfly-ugal-group",
        "fat-tree-adaptive-full-buffers",
        "torus-dimension-order-full-buffers",
        "mesh-dimension-order",
        "mesh-one-router",
    ];
    for name in saturated {
        let path = root().join("tests/corpus").join(name).with_extension("toml");
        let set = [("job.0.traffic.load", "1.0"), ("network.router.buffer", "64 KiB")];
        let set = set.map(|(key, value)| (key.to_string(), value.to_string()));
        let experiment = Experiment::load(&path, &set).unwrap();
        let result = run(&experiment);
        let span = (result.summary.network.measured_ns * 1000.0) as u64;
        let packet = u64::from(experiment.network.packet.largest());
        let mut busiest = 0.0f64;
        for (class, bandwidth, bytes, busy, fraction) in links(&result) {
            assert!(busy <= span && fraction <= 1.0, "{name}, {class}: {fraction}");
            // A packet counts at its start, and the last one may end after the run.
            let whole = u128::from(bytes.saturating_sub(packet)) * 8_000_000_000_000 / u128::from(bandwidth);
            assert!(
                whole <= u128::from(span),
                "{name}, {class}: {bytes} B in {span} ps"
            );
            busiest = busiest.max(fraction);
        }
        assert!(busiest > 0.95, "{name} is saturated: {busiest}");
    }
}

/// Two hosts that send all the time, and four hosts on either side of one link.
#[test]
fn a_saturated_link_carries_exactly_its_bandwidth() {
    let pair = r#"
[network]
topology = { kind = "mesh", sizes = [1], hosts_per_router = 2 }
routing = { algorithm = "dimension-order" }
[[job]]
traffic = { pattern = "uniform", load = 1.0, arrival = "fixed" }
[run]
until = "50 us"
warmup = "5 us"
"#;
    let result = run(&experiment(pair));
    for (class, _, bytes, busy, _) in links(&result) {
        assert_eq!((busy, bytes / 256), (45_000_000, 45_000_000 / 20_480), "{class}");
    }
    assert!((result.summary.network.accepted_load - 1.0).abs() < 256.0 / 562_500.0);

    let bottleneck = pair
        .replace(
            "sizes = [1], hosts_per_router = 2",
            "sizes = [2], hosts_per_router = 4",
        )
        .replace("\"fixed\"", "\"exponential\"");
    let result = run(&experiment(&bottleneck));
    let between: Vec<_> = links(&result)
        .into_iter()
        .filter(|(class, ..)| class == "dimension-0")
        .collect();
    assert_eq!(between.len(), 2);
    for (_, _, bytes, busy, fraction) in between {
        assert_eq!((busy, fraction), (45_000_000, 1.0));
        assert!((bytes / 256).abs_diff(45_000_000 / 20_480) <= 1);
    }
}

/// With space for k packets a link carries k packets per credit round trip: two cables, the pipeline, the
/// serialisation, and the delay of credits.
#[test]
fn credits_limit_a_link_to_its_buffer_per_round_trip() {
    let spaces = [1u64, 2, 5, 9, 10, 11, 14].map(|space| (space, 0));
    let delayed = [
        (1u64, 33_333u64),
        (1, 1),
        (5, 350_000),
        (9, 100_000),
        (14, 100_000),
    ];
    for (space, credit_delay_ps) in spaces.into_iter().chain(delayed) {
        let round_trip_ps = 2 * 50_000 + 100_000 + 20_480 + credit_delay_ps;
        let text = format!(
            r#"
[network]
topology = {{ kind = "mesh", sizes = [2] }}
routing = {{ algorithm = "dimension-order" }}
router = {{ delay = "100 ns", buffer = "{} B", credit_delay = "{credit_delay_ps} ps" }}
[[job]]
traffic = {{ pattern = "uniform", load = 1.0, arrival = "fixed" }}
[run]
until = "60 us"
warmup = "10 us"
"#,
            space * 256
        );
        let result = run(&experiment(&text));
        let expected = (50_000_000 * space / round_trip_ps).min(50_000_000 / 20_480);
        for (class, _, bytes, _, _) in links(&result) {
            let packets = bytes / 256;
            assert!(
                packets.abs_diff(expected) <= space,
                "{class}, space for {space}, {credit_delay_ps} ps: {packets} packets, expected {expected}"
            );
        }
    }
}

/// The pipeline of the NIC is part of the round trip of credits of the injection link.
#[test]
fn credits_limit_an_injection_link_with_the_delay_of_the_nic() {
    for (space, delay_ns) in [(1u64, 300u64), (7, 200), (30, 200)] {
        let text = format!(
            r#"
[network]
topology = {{ kind = "mesh", sizes = [1], hosts_per_router = 2 }}
routing = {{ algorithm = "dimension-order" }}
router = {{ delay = "100 ns", buffer = "{} B" }}
nic_injection_delay = "{delay_ns} ns"
nic_reception_delay = "500 ns"
[[job]]
traffic = {{ pattern = "uniform", load = 1.0, arrival = "fixed" }}
[run]
until = "60 us"
warmup = "10 us"
"#,
            space * 256
        );
        let result = run(&experiment(&text));
        let round_trip_ps = delay_ns * 1000 + 2 * 50_000 + 100_000 + 20_480;
        let expected = (50_000_000 * space / round_trip_ps).min(50_000_000 / 20_480);
        for (class, _, bytes, _, _) in links(&result) {
            let packets = bytes / 256;
            assert!(
                packets.abs_diff(expected) <= space,
                "{class}, space for {space}, {delay_ns} ns: {packets} packets, expected {expected}"
            );
        }
    }
}

/// The same with buffers by link class: each link is limited by the buffer at its end, and the narrowest link by that
/// sets the pace of all. The buffer of the router, which holds one packet, counts for no link.
#[test]
fn credits_limit_a_link_to_the_buffer_of_its_class_per_round_trip() {
    let round_trip_ps = 2 * 50_000 + 100_000 + 20_480u64;
    for (host, between) in [(1u64, 30), (30, 1), (2, 5), (5, 2), (9, 10), (30, 30)] {
        let text = format!(
            r#"
[network]
topology = {{ kind = "mesh", sizes = [2] }}
routing = {{ algorithm = "dimension-order" }}
router = {{ delay = "100 ns", buffer = "256 B" }}
links.host.buffer = "{} B"
links.dimension-0.buffer = "{} B"
[[job]]
traffic = {{ pattern = "uniform", load = 1.0, arrival = "fixed" }}
[run]
until = "60 us"
warmup = "10 us"
"#,
            host * 256,
            between * 256
        );
        let result = run(&experiment(&text));
        let space = host.min(between);
        let expected = (50_000_000 * space / round_trip_ps).min(50_000_000 / 20_480);
        for (class, _, bytes, _, _) in links(&result) {
            let packets = bytes / 256;
            assert!(
                packets.abs_diff(expected) <= host.max(between),
                "{class}, space for {host} and {between}: {packets} packets, expected {expected}"
            );
        }
        assert_eq!(result.summary.network.vc_buffer_bytes, between * 256);
    }
}

// ---- Headers of packets ---------------------------------------------------------------------------------

/// Two hosts of one router; 80 ps per byte.
const PAIR_WITH_HEADERS: &str = r#"
[network]
topology = { kind = "mesh", sizes = [1], hosts_per_router = 2 }
routing = { algorithm = "dimension-order" }
router = { delay = "100 ns", buffer = "64 KiB" }
link = { bandwidth = "100 Gbps", latency = "50 ns" }
packet = "256 B"
"#;

/// 600 B are packets of 256, 256 and 88 B, which are 300, 300 and 132 B on both links. They start 24 ns after each
/// other, on the second link 150 ns later.
#[test]
fn each_packet_of_a_message_has_a_header_on_each_link() {
    let network = format!("{PAIR_WITH_HEADERS}packet_header = \"44 B\"\n");
    let (_, result) = one_message(&network, 0, 1, 600);
    let found = &result.summary.network;
    assert_eq!((found.packets_delivered, found.bytes_delivered), (3, 600));
    let last = 2 * 24_000 + 150_000 + 132 * 80 + 50_000;
    assert_eq!(found.latency_ns.max, Some(Time(last).as_ns()));
    let sum = 3 * 200_000 + 24_000 + 48_000 + last - 200_000;
    assert_eq!(found.latency_ns.mean, Some(Time(sum / 3).as_ns()));
    let used: Vec<_> = links(&result)
        .into_iter()
        .filter(|(.., bytes, _, _)| *bytes > 0)
        .map(|(_, _, bytes, busy, _)| (bytes, busy))
        .collect();
    assert_eq!(used, [(732, 732 * 80); 2]);
}

/// Messages of MPI have their header once, control messages, too. Each of their packets has one more.
#[test]
fn messages_of_all_protocols_have_headers_of_packets() {
    let settings = mpi::MpiSettings {
        eager_threshold: 2000,
        send_overhead: Time::ZERO,
        receive_overhead: Time::ZERO,
        header_bytes: 40,
        control_bytes: 64,
        ..mpi::MpiSettings::default()
    };
    let on_wire = |bytes: u64| bytes + 100 * bytes.div_ceil(1024);
    let keys = "packet_header = \"100 B\"";
    for bytes in [0, 984, 985, 2000] {
        let expected = transfer(on_wire(bytes + 40));
        assert_eq!(
            ping_pong(keys, &settings, bytes).ps(),
            expected,
            "eager, {bytes} B"
        );
    }
    for bytes in [2001, 100_000] {
        let expected = 2 * transfer(164) + transfer(on_wire(bytes + 40));
        assert_eq!(
            ping_pong(keys, &settings, bytes).ps(),
            expected,
            "rendezvous, {bytes} B"
        );
    }
}

/// A link carries packet / (packet + header) of its bandwidth as payload, and a message of 100 B less: that is the
/// greatest accepted load, the bound, and where the traffic is saturated. Beyond it the messages of 300 B wait with
/// their last 44 B, while new ones send 256 B: accepted is more than the mean share, and less than that of the long
/// packets.
#[test]
fn the_accepted_load_is_the_share_of_payload_on_the_links() {
    let run_with = |message: u64, load: f64| {
        let text = format!(
            "{PAIR_WITH_HEADERS}packet_header = \"64 B\"\n[[job]]\n\
             traffic = {{ pattern = \"uniform\", load = {load}, arrival = \"fixed\", message = \"{message} B\" }}\n\
             [run]\nuntil = \"55 us\"\nwarmup = \"5 us\"\n[collect]\nseries = \"links\"\n"
        );
        run(&experiment(&text))
    };
    for (message, share) in [(256, 0.8), (512, 0.8), (100, 100.0 / 164.0), (300, 300.0 / 428.0)] {
        let saturated = run_with(message, 1.0);
        let network = &saturated.summary.network;
        let accepted = network.accepted_load;
        let most = if message == 300 { 0.8 } else { share };
        assert!(
            accepted > share - 0.001 && accepted < most + 0.001 && (network.offered_load - 1.0).abs() < 0.001,
            "{message}: {accepted} of {}",
            network.offered_load
        );
        for (class, _, _, busy, fraction) in links(&saturated) {
            assert_eq!((busy, fraction), (50_000_000, 1.0), "{class}");
        }
        let bounds = saturated.summary.bounds.as_ref().unwrap();
        for (bound, expected) in [
            (bounds.scale, share),
            (bounds.accepted_load, most),
            (bounds.jobs[0].host_throughput, share),
        ] {
            assert!(
                (bound.unwrap() - expected).abs() < 1e-12,
                "{message}: {bounds:?}, {expected}"
            );
        }
        let notes = |result: &RunResult| -> Vec<String> {
            result
                .summary
                .notes
                .iter()
                .map(|note| note.kind.to_string())
                .collect()
        };
        assert!(
            notes(&saturated).contains(&"saturated".into()),
            "{:?}",
            notes(&saturated)
        );
        let fairness = saturated.summary.jobs[0]
            .traffic
            .as_ref()
            .unwrap()
            .fairness
            .unwrap();
        assert!((fairness.mean_load - accepted).abs() < 0.001, "{fairness:?}");

        let below = run_with(message, share - 0.005);
        assert!((below.summary.network.accepted_load - (share - 0.005)).abs() < 0.001);
        assert!(
            !notes(&below).contains(&"saturated".into()),
            "{:?}",
            notes(&below)
        );
        // Hosts send and receive whole packets; some are under way at the end.
        let hosts = table(&below, "host_series");
        let sum = |column: &str| hosts.u64s(column).unwrap().iter().sum::<u64>();
        let (sent, received) = (sum("bytes_sent"), sum("bytes_received"));
        assert!(
            sent >= received && sent - received < 40 * 320,
            "{sent}, {received}"
        );
        if message % 256 == 0 {
            assert_eq!(received, sum("packets_received") * 320);
        }
    }
}

/// Two packets with their headers have space behind a link, not three.
#[test]
fn headers_take_space_in_buffers() {
    let expected_of = |buffer: u64, space: u64| {
        let text = format!(
            "[network]\ntopology = {{ kind = \"mesh\", sizes = [2] }}\n\
             routing = {{ algorithm = \"dimension-order\" }}\n\
             router = {{ delay = \"100 ns\", buffer = \"{buffer} B\" }}\npacket_header = \"44 B\"\n\
             [[job]]\ntraffic = {{ pattern = \"uniform\", load = 1.0, arrival = \"fixed\" }}\n\
             [run]\nuntil = \"60 us\"\nwarmup = \"10 us\"\n"
        );
        let result = run(&experiment(&text));
        let round_trip_ps = 2 * 50_000 + 100_000 + 300 * 80;
        let expected = 50_000_000 * space / round_trip_ps;
        for (class, _, bytes, _, _) in links(&result) {
            let packets = bytes / 300;
            assert!(
                packets.abs_diff(expected) <= space,
                "{class}, {buffer} B: {packets} packets, expected {expected}"
            );
        }
    };
    expected_of(899, 2);
    expected_of(900, 3);
}

// ---- One switch ---------------------------------------------------------------------------------------

/// The load that one switch of eight ports accepts when all hosts send all the time, uniformly to all hosts.
fn accepted_by_a_switch(model: &str, buffer: &str) -> f64 {
    let text = format!(
        r#"
[network]
topology = {{ kind = "hyperx", shape = [1], hosts_per_router = 8 }}
routing = {{ algorithm = "minimal" }}
link = {{ bandwidth = "100 Gbps", latency = "1 ns" }}
router = {{ {model}, delay = "0 ns", buffer = "{buffer}" }}
packet = "256 B"
[[job]]
traffic = {{ pattern = "uniform", include_self = true, load = 1.0 }}
[run]
until = "600 us"
warmup = "100 us"
"#
    );
    run(&experiment(&text)).summary.network.accepted_load
}

/// Karol, Hluchyj and Morgan 1987, table I: 0.6184 of the links' bandwidth for N = 8, while packets choose outputs
/// uniformly. `studies/single-switch` has more.
#[test]
fn head_of_line_blocking_saturates_an_input_queued_switch_at_karol_s_throughput() {
    for arbiter in ["random", "round-robin"] {
        let model = format!("model = \"input-queued\", arbiter = \"{arbiter}\"");
        let accepted = accepted_by_a_switch(&model, "64 KiB");
        println!("input-queued, {arbiter}: {accepted:.4}");
        assert!((accepted / 0.6184 - 1.0).abs() < 0.015, "{arbiter}: {accepted}");
    }
}

/// Without head-of-line blocking all of it is accepted except the growth of the queues.
#[test]
fn output_queues_saturate_at_the_bandwidth() {
    let accepted = accepted_by_a_switch("model = \"packet\"", "1 MB");
    println!("packet: {accepted:.4}");
    assert!((0.97..=1.001).contains(&accepted), "{accepted}");
}

// ---- Ping-pong ----------------------------------------------------------------------------------------

/// Rank 0 sends and receives `rounds` times, and rank 1 answers. Returns the time of half a round.
fn ping_pong(keys: &str, settings: &mpi::MpiSettings, bytes: u64) -> Time {
    const ROUNDS: u64 = 5;
    let network = format!(
        r#"
[network]
topology = {{ kind = "fat-tree", levels = 2, radix = 4 }}
routing = {{ algorithm = "destination-mod-k" }}
router = {{ delay = "100 ns", buffer = "256 KiB" }}
packet = "1 KiB"
{keys}
"#
    );
    let ping = (0..ROUNDS).flat_map(|_| [send(1, bytes), receive(1, bytes)]);
    let pong = (0..ROUNDS).flat_map(|_| [receive(0, bytes), send(0, bytes)]);
    let programs = vec![ping.collect(), pong.collect()];
    let result = run(&jobs_on(
        &network,
        vec![job("ping-pong", programs, settings, &[0, 7])],
    ));
    let ps = table(&result, "ranks").u64s("time_ps").unwrap()[0];
    assert_eq!(ps % (2 * ROUNDS), 0, "all rounds are alike");
    Time(ps / (2 * ROUNDS))
}

/// From the first byte's departure to the last byte's arrival: four links of 50 ns and 100 Gbps, three routers.
fn transfer(bytes: u64) -> u64 {
    4 * 50_000 + 3 * 100_000 + bytes * 80
}

#[test]
fn ping_pong_takes_overheads_latency_and_size_over_bandwidth() {
    let settings = mpi::MpiSettings {
        eager_threshold: 4096,
        send_overhead: Time::from_ns(250),
        receive_overhead: Time::from_ns(350),
        header_bytes: 40,
        control_bytes: 64,
        ..mpi::MpiSettings::default()
    };
    let overheads = 250_000 + 350_000;
    for bytes in [0, 1, 8, 984, 985, 4096] {
        let expected = overheads + transfer(bytes + 40);
        assert_eq!(ping_pong("", &settings, bytes).ps(), expected, "eager, {bytes} B");
    }
    for bytes in [4097, 65_536, 1_000_000] {
        // Request to send, clear to send, data. The receive is posted, and control messages cost no CPU time.
        let expected = overheads + 2 * transfer(64) + transfer(bytes + 40);
        assert_eq!(
            ping_pong("", &settings, bytes).ps(),
            expected,
            "rendezvous, {bytes} B"
        );
    }
}

// ---- The dragonfly that the literature compares with --------------------------------------------------

/// p = h = 4, a = 8: 33 groups, 1,056 hosts.
const DRAGONFLY: &str =
    "kind = \"dragonfly\", hosts_per_router = 4, routers_per_group = 8, global_links_per_router = 4";

#[test]
fn the_dragonfly_accepts_nine_tenths_of_uniform_traffic() {
    let result = run(&experiment(&format!(
        r#"
[network]
topology = {{ {DRAGONFLY} }}
routing = {{ algorithm = "minimal" }}
router = {{ delay = "100 ns", buffer = "1 MB" }}
[[job]]
traffic = {{ pattern = "uniform", load = 0.9 }}
[run]
until = "16 us"
warmup = "6 us"
"#
    )));
    let network = &result.summary.network;
    eprintln!(
        "dragonfly at 0.9: offered {:.4}, accepted {:.4}, mean latency {:.0} ns",
        network.offered_load,
        network.accepted_load,
        network.latency_ns.mean.unwrap()
    );
    // The offered traffic is a Poisson process of 0.5 million packets: 0.9 within 0.4 % (three standard errors).
    assert!(
        (network.offered_load - 0.9).abs() < 0.004,
        "{}",
        network.offered_load
    );
    assert!(
        network.accepted_load > 0.99 * network.offered_load,
        "offered {}, accepted {}",
        network.offered_load,
        network.accepted_load
    );
}

/// The dragonfly in BookSim's terms: a cycle is 1 ns, a flit is a packet of 32 B and takes one cycle. A channel of d
/// cycles takes a flit d + 1 cycles in BookSim, and a router one more. So a cable has d + 1 ns here, and a router 1
/// ns. FabricSim adds the serialisation onto the last link, one cycle. BookSim's d + 1 has it in each channel;
/// cut-through pays it once.
fn in_cycles(routing: &str, vcs: u32, load: f64, until_ns: u32) -> RunResult {
    run(&experiment(&format!(
        r#"
[network]
topology = {{ {DRAGONFLY} }}
routing = {{ {routing} }}
link = {{ bandwidth = "256 Gbps" }}
links.host.latency = "2 ns"
links.local.latency = "11 ns"
links.global.latency = "101 ns"
router = {{ delay = "1 ns", buffer = "{} B" }}
packet = "32 B"
[[job]]
traffic = {{ pattern = "uniform", load = {load}, include_self = true }}
[run]
until = "{until_ns} ns"
warmup = "500 ns"
"#,
        vcs * 256 * 32
    )))
}

/// Mean latency in BookSim's cycles, and mean routers visited.
fn cycles_and_routers(result: &RunResult) -> (f64, f64) {
    let network = &result.summary.network;
    let [latency, hops] = [network.latency_ns.mean, network.mean_hops].map(Option::unwrap);
    (latency - 1.0, hops - 1.0)
}

/// Loads and measured spans. Packets in flight at the end are not in the means. Long paths are affected more, so the
/// mean deviates by about latency / span of a packet's deviation.
const LOADS_AND_SPANS: [(f64, u32); 2] = [(0.1, 8_000), (0.5, 3_500)];

#[test]
fn minimal_routing_agrees_with_booksim() {
    // Over all pairs of hosts, the own host included: 975/264 routers, one more than links between routers. 32/33 of
    // the pairs are in different groups.
    let routers = 975.0 / 264.0;
    let global = 32.0 / 33.0;
    let local = routers - 1.0 - global;
    let contention_free: f64 = 2.0 * 2.0 + 11.0 * local + 101.0 * global + routers;
    assert!((contention_free - 124.6).abs() < 0.05, "{contention_free}");
    for ((load, span), booksim_cycles) in LOADS_AND_SPANS.into_iter().zip([124.7, 127.0]) {
        let (cycles, visited) = cycles_and_routers(&in_cycles("algorithm = \"minimal\"", 2, load, span));
        eprintln!(
            "minimal at {load}: {cycles:.2} cycles (BookSim {booksim_cycles}), {visited:.4} routers (3.69)"
        );
        assert!(
            (visited - routers).abs() < 0.02,
            "{visited} routers at load {load}"
        );
        // The latency exceeds the one without contention by at most the contention in BookSim's router.
        assert!(cycles > contention_free - 0.1, "{cycles} cycles at load {load}");
        assert!(cycles < booksim_cycles + 0.5, "{cycles} cycles at load {load}");
    }
}

#[test]
fn ugal_is_near_booksim() {
    for ((load, span), (booksim_cycles, booksim_routers)) in
        LOADS_AND_SPANS.into_iter().zip([(124.8, 3.69), (141.6, 4.08)])
    {
        let result = in_cycles("algorithm = \"ugal\", bias = \"960 B\"", 4, load, span);
        let (cycles, visited) = cycles_and_routers(&result);
        eprintln!(
            "UGAL at {load}: {cycles:.2} cycles (BookSim {booksim_cycles}), {visited:.4} routers ({booksim_routers})"
        );
        assert!((result.summary.network.accepted_load - load).abs() < 0.01);
        assert!(
            (visited - booksim_routers).abs() < 0.05,
            "{visited} routers at load {load}"
        );
        assert!(
            (cycles - booksim_cycles).abs() < 2.5,
            "{cycles} cycles at load {load}"
        );
    }
}
