//! Random small experiments: every executor gives the same result, and nothing is lost. The audit of packets and
//! credits is part of every run.

use std::sync::Arc;

use config::Section;
use des::{Executor, Optimism, Partition, Time};
use experiment::Experiment;
use proptest::prelude::*;
use results::RunResult;
use workload::{Call, Collective, Operation};

use crate::support::{
    assert_same, experiment, job, job_beside_traffic, jobs_on, lps, run_everywhere, run_in_parts, sum, table,
};
use crate::tracing::{assert_messages, assert_timelines};

/// A topology, a routing, and the packets for which a port needs buffer space: one for each VC, two with bubbles.
type Drawn = (String, String, u32);

fn network() -> impl Strategy<Value = (String, u32)> {
    prop_oneof![
        3 => groups(),
        2 => tree(),
        2 => grid(),
        2 => hyperx(),
        1 => slim_fly(),
        1 => express_mesh(),
        2 => graph(),
    ]
    .prop_map(|(topology, routing, packets)| {
        (
            format!("[network]\ntopology = {{ {topology} }}\nrouting = {{ {routing} }}\n"),
            packets,
        )
    })
}

/// The three topologies of groups, with any number of groups and any links between them.
fn groups() -> impl Strategy<Value = Drawn> {
    let routing = prop::sample::select(vec![
        ("algorithm = \"minimal\"", 2),
        ("algorithm = \"minimal\", paths = \"adaptive\"", 2),
        ("algorithm = \"minimal\", paths = \"random\"", 2),
        ("algorithm = \"ugal\", bias = \"64 B\"", 4),
        (
            "algorithm = \"ugal\", intermediate = \"group\", weight = 1, bias = \"0 B\"",
            3,
        ),
        (
            "algorithm = \"ugal\", cost = \"load-hops\", candidates = 3, bias = \"0 B\"",
            4,
        ),
        (
            "algorithm = \"ugal\", information = \"group\", period = \"70 ns\", bias = \"0 B\"",
            4,
        ),
        (
            "algorithm = \"piggyback\", threshold = \"64 B\", bias = \"0 B\"",
            4,
        ),
        (
            "algorithm = \"piggyback\", intermediate = \"group\", period = \"300 ns\", bias = \"64 B\"",
            3,
        ),
        ("algorithm = \"valiant\"", 4),
        ("algorithm = \"valiant\", intermediate = \"any-router\"", 4),
        ("algorithm = \"valiant\", intermediate = \"group\"", 3),
        (
            "algorithm = \"valiant\", intermediate = \"global-link\", paths = \"hashed\"",
            3,
        ),
        (
            "algorithm = \"ugal\", intermediate = \"global-link\", paths = \"adaptive\", bias = \"0 B\"",
            3,
        ),
        ("algorithm = \"par\", bias = \"64 B\"", 5),
        (
            "algorithm = \"par\", intermediate = \"group\", candidates = 2, bias = \"0 B\"",
            4,
        ),
    ]);
    let arrangement = prop::sample::select(vec![
        "\"consecutive\"",
        "\"palmtree\"",
        "\"random\"",
        "\"random\", seed = 3",
    ]);
    let group = (0usize..3, 1u32..4, 2u32..4, 1u32..4, 1u32..3);
    let links = (0u32..100, any::<bool>(), 1u32..3);
    (group, links, arrangement, routing).prop_map(|(group, links, arrangement, (routing, vcs))| {
        let (kind, hosts, wide, deep, cables) = group;
        let (groups, by_pair, h) = links;
        let (kind, linked, per_router) = match kind {
            0 => (
                format!("\"dragonfly\", hosts_per_router = {hosts}, routers_per_group = {wide}"),
                wide,
                "global_links_per_router",
            ),
            1 => (
                format!(
                    "\"dragonfly-2d\", hosts_per_router = {hosts}, rows = {deep}, columns = {wide}, \
                     row_links = {cables}, column_links = {}",
                    3 - cables
                ),
                deep * wide,
                "global_links_per_router",
            ),
            _ => (
                format!(
                    "\"dragonfly-plus\", hosts_per_leaf = {hosts}, leaves_per_group = {wide}, \
                     spines_per_group = {deep}"
                ),
                deep,
                "global_links_per_spine",
            ),
        };
        let links = if by_pair {
            format!("links_between_groups = {h}, groups = {}", 1 + groups % 7)
        } else {
            // At most 13 groups keep the network small.
            let groups = 1 + groups % (linked * h + 1).min(13);
            format!("{per_router} = {h}, groups = {groups}")
        };
        let topology = format!("kind = {kind}, {links}, arrangement = {arrangement}");
        (topology, routing.to_string(), vcs)
    })
}

/// Trees of one radix, and trees with the ports of every level, partly filled.
fn tree() -> impl Strategy<Value = Drawn> {
    let routing = prop::sample::select(vec![
        "adaptive",
        "destination-mod-k",
        "scatter",
        "source-destination-hashed",
    ]);
    let of_radix = (1u32..5, 2u32..4, 1u32..4, 1u32..3).prop_map(|(half, levels, down, up)| {
        let radix = 2 * half.max((down + up).div_ceil(2));
        format!("kind = \"fat-tree\", radix = {radix}, levels = {levels}, tapering = \"{down}:{up}\"")
    });
    // For every level above the leaves: routers below one of it, routers above one below, cables between them.
    let steps = prop::collection::vec((1u32..4, 1u32..3, 1u32..3), 1..4);
    let of_ports = (2u32..4, steps, 0u32..100).prop_map(|(hosts, steps, leaves)| {
        let below = steps.iter().map(|(below, _, cables)| below * cables);
        let down: Vec<u32> = [hosts].into_iter().chain(below).collect();
        let up: Vec<u32> = steps.iter().map(|(_, above, cables)| above * cables).collect();
        let cables: Vec<u32> = steps.iter().map(|(.., cables)| *cables).collect();
        let all: u32 = steps.iter().map(|(below, ..)| below).product();
        let leaves = 1 + leaves % all;
        format!("kind = \"fat-tree\", down = {down:?}, up = {up:?}, cables = {cables:?}, leaves = {leaves}")
    });
    (prop_oneof![of_radix, of_ports], routing)
        .prop_map(|(topology, routing)| (topology, format!("algorithm = \"{routing}\""), 1))
}

/// Meshes and tori.
fn grid() -> impl Strategy<Value = Drawn> {
    let sizes = prop::collection::vec((1u32..5, 1u32..3), 1..4);
    (any::<bool>(), sizes, 1u32..4, 0usize..7).prop_map(|(wraps, sizes, hosts, routing)| {
        let (sizes, links): (Vec<u32>, Vec<u32>) = sizes.into_iter().unzip();
        let of_torus = [
            ("algorithm = \"dimension-order\"", 2),
            ("algorithm = \"dimension-order\", deadlock = \"bubble\"", 2),
            ("algorithm = \"minimal-adaptive\"", 3),
            (
                "algorithm = \"minimal-adaptive\", escape = \"bubble\", adaptive_vcs = 2",
                6,
            ),
            ("algorithm = \"valiant\"", 4),
            ("algorithm = \"ugal\"", 4),
            ("algorithm = \"par\"", 6),
        ];
        let of_mesh = [
            ("algorithm = \"dimension-order\"", 1),
            ("algorithm = \"minimal-adaptive\"", 2),
            ("algorithm = \"valiant\"", 2),
            ("algorithm = \"ugal\"", 2),
            ("algorithm = \"par\"", 3),
        ];
        let (kind, (routing, packets)) = if wraps {
            ("torus", of_torus[routing])
        } else {
            ("mesh", of_mesh[routing % 5])
        };
        let hosts = for_two(&sizes, hosts);
        let topology =
            format!("kind = \"{kind}\", sizes = {sizes:?}, links = {links:?}, hosts_per_router = {hosts}");
        (topology, routing.to_string(), packets)
    })
}

/// Hosts on a router, so that the network has at least two: traffic needs two.
fn for_two(sizes: &[u32], hosts: u32) -> u32 {
    if sizes.iter().all(|size| *size == 1) {
        hosts + 1
    } else {
        hosts
    }
}

fn hyperx() -> impl Strategy<Value = Drawn> {
    let sides = prop::collection::vec((1u32..5, 1u32..4), 1..4);
    (sides, 2u32..4, 0usize..9).prop_map(|(sides, hosts, routing)| {
        let (shape, width): (Vec<u32>, Vec<u32>) = sides.into_iter().unzip();
        let wide = shape.iter().filter(|size| **size > 1).count() as u32;
        let (routing, vcs) = [
            ("algorithm = \"dimension-order\"", 1),
            ("algorithm = \"minimal\"", wide.max(1)),
            ("algorithm = \"minimal\", paths = \"adaptive\"", wide.max(1)),
            ("algorithm = \"minimal-adaptive\"", 2),
            ("algorithm = \"doal\", bias = \"64 B\"", 2),
            ("algorithm = \"dal\", bias = \"64 B\"", 2),
            ("algorithm = \"valiant\"", 2),
            ("algorithm = \"ugal\"", 2),
            ("algorithm = \"par\", candidates = 2", 3),
        ][routing];
        let topology =
            format!("kind = \"hyperx\", shape = {shape:?}, width = {width:?}, hosts_per_router = {hosts}");
        (topology, routing.to_string(), vcs)
    })
}

/// A routing for any graph, and the links of its longest path at this diameter, which is the number of VCs.
fn over_graph(diameter: u32, routing: usize) -> (String, u32) {
    let (routing, links) = [
        ("algorithm = \"minimal\"", diameter),
        ("algorithm = \"minimal\", paths = \"adaptive\"", diameter),
        ("algorithm = \"valiant\"", 2 * diameter),
        ("algorithm = \"ugal\"", 2 * diameter),
        (
            "algorithm = \"ugal\", cost = \"load\", weight = 2, bias = \"64 B\"",
            2 * diameter,
        ),
        ("algorithm = \"par\", candidates = 2", 3 * diameter - 1),
    ][routing];
    (routing.to_string(), links)
}

fn slim_fly() -> impl Strategy<Value = Drawn> {
    (3u32..6, 1u32..3, 0usize..6).prop_map(|(q, hosts, routing)| {
        let (routing, vcs) = over_graph(2, routing);
        let topology = format!("kind = \"slim-fly\", q = {q}, hosts_per_router = {hosts}");
        (topology, routing, vcs)
    })
}

fn express_mesh() -> impl Strategy<Value = Drawn> {
    let lines = prop::collection::vec((1u32..8, 1u32..5), 1..3);
    (lines, 1u32..3, 0usize..7).prop_map(|(lines, hosts, routing)| {
        let (sizes, gap): (Vec<u32>, Vec<u32>) = lines.into_iter().unzip();
        let hosts = for_two(&sizes, hosts);
        let topology =
            format!("kind = \"express-mesh\", sizes = {sizes:?}, gap = {gap:?}, hosts_per_router = {hosts}");
        let (routing, vcs) = match routing {
            6 => ("algorithm = \"dimension-order\"".to_string(), 1),
            _ => over_graph(diameter(&topology), routing),
        };
        (topology, routing, vcs)
    })
}

/// A random tree of routers with some more cables, also parallel ones.
fn graph() -> impl Strategy<Value = Drawn> {
    let towards = prop::collection::vec(0u32..100, 1..10);
    let more = prop::collection::vec((0u32..100, 0u32..100, 1u32..3), 0..8);
    (towards, more, 1u32..3, 0usize..6).prop_map(|(towards, more, hosts, routing)| {
        let routers = towards.len() as u32 + 1;
        let tree = (1..).zip(&towards).map(|(router, to)| (router, to % router, 1));
        let more = more
            .iter()
            .map(|(a, b, cables)| (a % routers, b % routers, *cables));
        let edges = tree.chain(more.filter(|(a, b, _)| a != b));
        let edges: Vec<[u32; 3]> = edges.map(|(a, b, cables)| [a, b, cables]).collect();
        let topology = format!("kind = \"graph\", edges = {edges:?}, hosts_per_router = {hosts}");
        let (routing, vcs) = over_graph(diameter(&topology), routing);
        (topology, routing, vcs)
    })
}

/// The longest distance between two routers, at least 1.
fn diameter(topology: &str) -> u32 {
    let file = Section::from_toml(&format!("topology = {{ {topology} }}"), "drawn.toml").unwrap();
    let topology = topology::build(file.section("topology").unwrap()).unwrap_or_else(|e| panic!("{e}"));
    let shape = topology.shape();
    shape.graph().expect("a graph").diameter().max(1)
}

/// A whole table `[network]` and the data from which its work is estimated.
#[derive(Clone, Debug)]
struct Network {
    text: String,
    hosts: u32,
    packet: u32,
    hosts_gbps: u64,
}

/// NIC ports in each plane, and the rest of the keys of rails.
fn rails() -> impl Strategy<Value = (u32, String)> {
    let spread = prop_oneof![Just("adjacent"), Just("spread")];
    let choice = prop_oneof![
        Just("rail_choice = \"round-robin\""),
        Just("rail_choice = \"least-loaded\""),
        Just("rail_choice = \"by-destination\""),
        Just("rail_choice = \"round-robin\"\nrail_per = \"packet\""),
        Just("rail_choice = \"least-loaded\"\nrail_per = \"packet\""),
    ];
    let several = (1u32..4, 1u32..4, spread, choice).prop_map(|(in_plane, planes, spread, choice)| {
        let rails = in_plane * planes;
        let keys = format!("rails = {rails}\nplanes = {planes}\nrail_arrangement = \"{spread}\"\n{choice}\n");
        (rails, keys)
    });
    prop_oneof![1 => Just((1, String::new())), 1 => several]
}

/// Whether this network has two hosts or more and allows such traffic.
fn can_be_built(network: &str, pattern: &str) -> bool {
    let job = format!("[[job]]\ntraffic = {{ pattern = {pattern}, load = 0.5 }}\n[run]\nuntil = \"1 us\"\n");
    Experiment::from_toml(&format!("{network}\n{job}"), "test.toml", &[]).is_ok()
}

/// All timelines of ranks and waits of packets.
const COLLECT: &str = "[collect]\ntimeline = true\nwaits = true\n";

/// Links, routers and packets of at least `least_packet` bytes, and buffers of one packet per VC or more.
fn whole_network(least_packet: u32) -> impl Strategy<Value = Network> {
    let header = prop_oneof![2 => Just(0u32), 1 => 1u32..100];
    let speeds = (
        (least_packet..600, header),
        1u32..5,
        5u64..400,
        5u64..400,
        1u64..400,
        0u64..200,
    );
    let models = prop_oneof![
        2 => Just(r#"model = "packet""#),
        1 => Just(r#"model = "input-queued""#),
        1 => Just(r#"model = "input-queued", arbiter = "random""#),
        1 => Just(r#"model = "input-queued", speedup = 1.5"#),
        1 => Just(r#"model = "output-queued""#),
        1 => Just(r#"model = "input-queued", speedup = 2, output_buffer = "OUTPUT B""#),
        1 => Just(r#"model = "crossbar", arbiter = "islip", iterations = 2"#),
        1 => Just(r#"model = "crossbar", switching = "store-and-forward", arbiter = "age", flit = "64 B""#),
        1 => Just(r#"model = "crossbar", arbiter = "least-recently-used", vc_output_buffer = "OUTPUT B""#),
        1 => Just(r#"model = "crossbar", arbiter = "first-come", vc_output_buffer = "OUTPUT B""#),
        1 => Just(
            r#"model = "crossbar", arbiter = "first-come", crossbar = "shared", crossbar_bandwidth = "30 Gbps""#
        ),
    ];
    let classes = prop_oneof![2 => Just(1u32), 3 => 2u32..4];
    let drawn = (network(), models, speeds, rails(), classes);
    drawn.prop_map(|((network, packets), model, speeds, (rails, keys), classes)| {
        let ((packet, header), space, gbps, hosts_gbps, latency, delay) = speeds;
        // Other routers have no bubbles, and `output-queued` no load reports.
        let reports = network.contains("piggyback") || network.contains("information = \"group\"");
        let model = if network.contains("bubble") || (reports && model.contains("output-queued")) {
            r#"model = "packet""#
        } else {
            model
        };
        // Other router models have one traffic class.
        let classes = if model.contains("input-queued") {
            classes
        } else {
            1
        };
        let buffer = (packet + header) * space * packets * classes + space - 1;
        let model = model.replace("OUTPUT", &((packet + header) * space).to_string());
        let text = format!(
            "{network}\
             link = {{ bandwidth = \"{gbps} Gbps\", latency = \"{latency} ns\" }}\n\
             links.host.bandwidth = \"{hosts_gbps} Gbps\"\n\
             router = {{ {model}, delay = \"{delay} ns\", buffer = \"{buffer} B\" }}\n\
             packet = \"{packet} B\"\npacket_header = \"{header} B\"\n"
        );
        // One class has a priority of its own, two share one.
        let tables = [("a", 3, 0), ("b", 1, 2), ("c", 1, 0)].map(|(name, weight, priority)| {
            format!(
                "[[network.traffic_class]]\nname = \"{name}\"\nweight = {weight}\npriority = {priority}\n"
            )
        });
        let tables = if classes > 1 {
            tables[..classes as usize].concat()
        } else {
            String::new()
        };
        let text = format!("{text}{tables}");
        // Not every network can be divided among such hosts.
        let with_rails = text.replacen("[network]\n", &format!("[network]\n{keys}"), 1);
        let (text, rails) = match can_be_built(&with_rails, "\"uniform\"") {
            true => (with_rails, rails),
            false => (text, 1),
        };
        Network {
            hosts: jobs_on(&text, vec![]).network.hosts(),
            text,
            packet,
            hosts_gbps: hosts_gbps * u64::from(rails),
        }
    })
}

/// A pattern for any network, an arrival process, and one of three kinds of sizes.
fn traffic() -> impl Strategy<Value = (&'static str, &'static str, u8)> {
    let pattern = prop::sample::select(vec![
        "\"uniform\"",
        "\"uniform\", include_self = true",
        "\"permutation\"",
        "\"shift\", by = 1",
        "\"all-to-all\"",
        "\"nearest-neighbour\"",
        "\"hotspot\", targets = 2, share = 0.3",
        "\"incast\"",
    ]);
    let arrival = prop::sample::select(vec![
        "\"exponential\"",
        "\"fixed\"",
        "\"bernoulli\"",
        "\"on-off\", burst = 5",
    ]);
    (pattern, arrival, 0u8..3)
}

/// A ring of messages, puts and gets, an allreduce beside them and another one: each rank sends to the rank after the
/// next.
fn ring(ranks: u32, bytes: u64, rounds: u64) -> Vec<Vec<Operation>> {
    let allreduce = |request, call| Operation::Collective {
        collective: Collective::Allreduce,
        communicator: 0,
        root: 0,
        bytes,
        counts: None,
        request,
        reduction: None,
        call,
    };
    let program = |rank: u32| {
        let round = |round: u64| {
            [
                Operation::Receive {
                    from: None,
                    tag: Some(round as u32),
                    communicator: 0,
                    bytes: 1 << 40,
                    request: Some(1),
                    call: Call::Irecv,
                },
                Operation::Compute {
                    ps: u64::from(rank) * 333_333,
                    region: None,
                },
                Operation::Send {
                    to: (rank + 2) % ranks,
                    tag: round as u32,
                    communicator: 0,
                    bytes: bytes + u64::from(rank) * 97,
                    request: Some(2),
                    call: Call::Isend,
                },
                allreduce(Some(3), Call::Iallreduce),
                Operation::Put {
                    to: (rank + 1) % ranks,
                    communicator: 0,
                    bytes,
                    call: Call::Put,
                },
                Operation::Wait {
                    requests: vec![1, 2],
                    call: Call::Waitall,
                },
                allreduce(None, Call::Allreduce),
                Operation::Get {
                    from: (rank + 3) % ranks,
                    communicator: 0,
                    bytes: 2 * bytes,
                    call: Call::Get,
                },
                Operation::Fence {
                    communicator: 0,
                    call: Call::WinFence,
                },
                Operation::Wait {
                    requests: vec![3],
                    call: Call::Wait,
                },
            ]
        };
        (0..rounds).flat_map(round).collect()
    };
    (0..ranks).map(program).collect()
}

/// The division of LPs and the pace.
#[derive(Clone, Debug)]
struct Division {
    processes: usize,
    threads: usize,
    /// The borders between parts as shares of the LPs. Parts may be empty.
    cuts: Vec<f64>,
    optimism: Optimism,
}

fn division() -> impl Strategy<Value = Division> {
    // From hardly any time ahead of GVT to unlimited time, and from memory for one event to unlimited memory.
    let ahead = prop_oneof![
        Just(None),
        Just(Some(Time::MAX)),
        (0u64..1_000_000).prop_map(|ps| Some(Time(ps)))
    ];
    let memory = prop_oneof![1usize..100_000, Just(128 << 20)];
    let optimism =
        (1u32..200, 1u32..100, ahead, memory).prop_map(|(batch, gvt_interval, ahead, memory)| Optimism {
            batch,
            gvt_interval,
            ahead,
            memory,
        });
    (
        1usize..4,
        1usize..4,
        prop::collection::vec(0.0f64..1.0, 8),
        optimism,
    )
        .prop_map(|(processes, threads, mut cuts, optimism)| {
            cuts.truncate(processes * threads - 1);
            cuts.sort_by(f64::total_cmp);
            Division {
                processes,
                threads,
                cuts,
                optimism,
            }
        })
}

/// Runs on all executors with their own and with these parts, and compares the results. Returns the result.
fn run_divided(experiment: &mut Experiment, division: &Division) -> RunResult {
    experiment.run.optimism = division.optimism;
    let reference = run_everywhere(experiment);
    let lps = lps(experiment);
    // The last LP is the termination detector. A part may have only this LP, or no LP.
    let cut = |share: &f64| (share * f64::from(lps + 1)) as u32;
    let bounds = [0].into_iter().chain(division.cuts.iter().map(cut)).chain([lps]);
    let partition = Partition::new(bounds.collect());
    for executor in [Executor::Conservative, Executor::Optimistic] {
        (experiment.run.executor, experiment.run.threads) = (executor, division.threads);
        let result = run_in_parts(experiment, division.processes, &partition);
        assert_same(
            &reference,
            &result,
            &format!("{} with {division:?}", executor.name()),
        );
    }
    reference
}

/// Traffic of other traffic classes.
const MORE_JOBS: &str = "[[job]]\ntraffic = { pattern = \"uniform\", load = 0.01 }\n\
                         [[job]]\ntraffic = { pattern = \"shift\", by = 1, load = 0.01, message = \"700 B\" }\n";

/// Gives the jobs different traffic classes.
fn spread_classes(experiment: &mut Experiment) {
    let classes = experiment.network.traffic_classes.count();
    let jobs = Arc::get_mut(&mut experiment.jobs).expect("no other owner has the jobs yet");
    for (index, job) in (0u8..).zip(jobs) {
        job.traffic_class = (index + 1) % classes;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn traffic_has_the_same_result_everywhere(
        network in whole_network(1),
        load in 0.01f64..=1.0,
        message in 1u32..3000,
        traffic in traffic(),
        seed in 0u64..1 << 62,
        warmup_share in 0u64..100,
        told: bool,
        division in division(),
    ) {
        // A few thousand packets, whatever their size and the links' speed.
        let packets_per_us = load * network.hosts_gbps as f64 * 125.0 * f64::from(network.hosts)
            / f64::from(network.packet.min(message));
        let until_ns = (4e6 / packets_per_us).clamp(20.0, 20_000.0) as u64;
        let warmup_ps = until_ns * 10 * warmup_share;
        let (network, (mut pattern, arrival, spread)) = (&network.text, traffic);
        // Hosts with rails may be more on one router than on another.
        if pattern == "\"nearest-neighbour\"" && network.contains("rails = ") && !can_be_built(network, pattern) {
            pattern = "\"uniform\"";
        }
        let message = match spread {
            0 => format!("\"{message} B\""),
            1 => format!("{{ distribution = \"geometric\", mean = \"{message} B\" }}"),
            _ => format!("{{ distribution = \"uniform\", min = \"1 B\", max = \"{} B\" }}", 2 * message - 1),
        };
        let mut experiment = experiment(&format!(
            "{network}[[job]]\ntraffic = {{ pattern = {pattern}, load = {load}, arrival = {arrival}, \
             message = {message} }}\n{}\
             [run]\nuntil = \"{until_ns} ns\"\nwarmup = \"{warmup_ps} ps\"\nseed = {seed}\n{}",
            if network.contains("traffic_class") { MORE_JOBS } else { "" },
            if told { COLLECT } else { "" }
        ));
        spread_classes(&mut experiment);
        let result = run_divided(&mut experiment, &division);
        let network = &result.summary.network;
        prop_assert_eq!(network.packets_injected, network.packets_delivered + network.packets_in_flight);
        for busy in table(&result, "links").f64s("busy_fraction").unwrap() {
            prop_assert!((0.0..=1.0).contains(busy), "busy {}", busy);
        }
    }

    #[test]
    fn applications_have_the_same_result_everywhere(
        network in whole_network(100),
        ranks in 1u32..12,
        ranks_per_host in 1u32..4,
        bytes in 0u64..6_000,
        eager_threshold in 0u64..6_000,
        nic_gap_ns in prop_oneof![Just(0), 1u64..600],
        beside_traffic: bool,
        division in division(),
    ) {
        let settings = mpi::MpiSettings {
            eager_threshold,
            nic_gap: Time::from_ns(nic_gap_ns),
            matching_overhead: Time::from_ns(nic_gap_ns / 8),
            ..mpi::MpiSettings::default()
        };
        let hosts: Vec<u32> = (0..ranks).map(|rank| rank / ranks_per_host % network.hosts).collect();
        let job = job("ring", ring(ranks, bytes, 2), &settings, &hosts);
        if beside_traffic {
            // The network may be too slow for both, so the ranks need not finish.
            let mut experiment = job_beside_traffic(&format!("{}{COLLECT}", network.text), 0.02, job);
            experiment.run.until = Some(Time::from_ns(10_000));
            experiment.run.watchdog = Time::from_ns(700);
            spread_classes(&mut experiment);
            let result = run_divided(&mut experiment, &division);
            if result.table("timeline").is_some() {
                assert_timelines("ring beside traffic", &experiment, &result);
            }
            return Ok(());
        }
        let mut experiment = jobs_on(&format!("{}{COLLECT}", network.text), vec![job]);
        let result = run_divided(&mut experiment, &division);
        assert_timelines("ring", &experiment, &result);
        assert_messages("ring", &experiment, &result);
        let ranks = table(&result, "ranks");
        prop_assert!(result.summary.jobs[0].finished);
        prop_assert_eq!(result.summary.network.packets_in_flight, 0);
        prop_assert_eq!(sum(ranks, "bytes_sent"), sum(ranks, "bytes_received"));
        prop_assert_eq!(sum(ranks, "collective_bytes_sent"), sum(ranks, "collective_bytes_received"));
    }
}
