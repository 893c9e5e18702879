//! The hierarchy of router models, and one switch against theory and BookSim 2.

use experiment::Experiment;

use crate::support::{experiment, run};

/// Measured values of a switch at a load.
struct Measured {
    accepted: f64,
    /// Mean latency in ns.
    latency: f64,
}

/// One switch whose hosts send packets of 32 B to all hosts, themselves included. A packet takes 1 ns on a link.
fn switch(ports: u32, router: &str, load: f64) -> Measured {
    let text = format!(
        r#"
[network]
topology = {{ kind = "hyperx", shape = [1], hosts_per_router = {ports} }}
routing = {{ algorithm = "minimal" }}
link = {{ bandwidth = "256 Gbps", latency = "2 ns" }}
router = {{ {router}, delay = "1 ns" }}
packet = "32 B"
[[job]]
traffic = {{ pattern = "uniform", include_self = true, arrival = "bernoulli", load = {load} }}
[run]
until = "30 us"
warmup = "5 us"
"#
    );
    let network = run(&experiment(&text)).summary.network;
    Measured {
        accepted: network.accepted_load,
        latency: network.latency_ns.mean.expect("packets arrived"),
    }
}

const QUEUED: &str = "model = \"input-queued\", arbiter = \"random\", buffer = \"32 KiB\"";

/// With full queues all tails have arrived, and the crossbar of speedup s is Karol's switch in slots of 1/s: it carries
/// s times 0.6184 of the links of eight ports (Karol, Hluchyj and Morgan 1987, table I), but no more than the links.
#[test]
fn a_speedup_multiplies_the_throughput_of_a_switch_until_the_links_limit_it() {
    for speedup in [1.0, 1.25, 1.5, 2.0] {
        let measured = switch(8, &format!("{QUEUED}, speedup = {speedup}"), 1.0);
        let expected = f64::min(1.0, 0.6184 * speedup);
        println!(
            "speedup {speedup}: {:.4}, expected {expected:.4}",
            measured.accepted
        );
        assert!(
            (measured.accepted / expected - 1.0).abs() < 0.02,
            "speedup {speedup}"
        );
    }
    // An output buffer of two packets lets one cross while the other leaves.
    let small = switch(
        8,
        &format!("{QUEUED}, speedup = 2, output_buffer = \"64 B\""),
        1.0,
    )
    .accepted;
    println!("speedup 2, two packets of output buffer: {small:.4}");
    assert!((0.65..0.97).contains(&small), "{small}");
    let least = switch(
        8,
        &format!("{QUEUED}, speedup = 2, output_buffer = \"32 B\""),
        1.0,
    )
    .accepted;
    println!("speedup 2, one packet of output buffer: {least:.4}");
    assert!(least < small, "{least}");
}

/// Throughput of a switch with first-in first-out queues by number of ports, with a random winner (Karol, Hluchyj and
/// Morgan 1987, table I).
const KAROL: [(u32, f64); 7] = [
    (2, 0.75),
    (3, 0.6825),
    (4, 0.6553),
    (5, 0.6399),
    (6, 0.6302),
    (7, 0.6234),
    (8, 0.6184),
];

#[test]
fn a_crossbar_with_one_queue_for_each_input_has_karol_s_throughput_by_ports() {
    for (ports, expected) in KAROL {
        for arbiter in ["random", "round-robin"] {
            let crossbar = format!("model = \"crossbar\", arbiter = \"{arbiter}\", flit = \"32 B\"");
            let accepted = switch(ports, &format!("{crossbar}, buffer = \"64 KiB\""), 1.0).accepted;
            println!("{ports} ports, {arbiter}: {accepted:.4}, expected {expected:.4}");
            assert!(
                (accepted / expected - 1.0).abs() < 0.015,
                "{ports} ports, {arbiter}"
            );
        }
    }
}

/// iSLIP with one iteration serves uniform traffic fully (N. McKeown 1999, section III), and with more iterations it
/// waits less below saturation. An arbiter that matches greedily does so, too.
#[test]
fn a_crossbar_with_a_queue_for_each_output_passes_uniform_traffic() {
    let voq = "model = \"crossbar\", flit = \"32 B\", queues = \"per-output\", buffer = \"1 MiB\"";
    let arbiters = [
        "arbiter = \"islip\"",
        "arbiter = \"islip\", iterations = 4",
        "arbiter = \"round-robin\"",
    ];
    let latencies = arbiters.map(|arbiter| {
        let [high, full] = [0.9, 1.0].map(|load| switch(16, &format!("{voq}, {arbiter}"), load));
        let latency = high.latency;
        println!("{arbiter}: {latency:.3} ns at 0.9; {:.4} at 1", full.accepted);
        assert!(full.accepted > 0.95, "{arbiter}: {}", full.accepted);
        assert!(
            (high.accepted / 0.9 - 1.0).abs() < 0.01,
            "{arbiter}: {}",
            high.accepted
        );
        latency
    });
    assert!(latencies[1] < 0.5 * latencies[0], "{latencies:?}");
}

/// From `output-queued` down each model lets packets wait for more.
#[test]
fn each_model_of_the_hierarchy_is_slower_than_the_one_before() {
    let models = [
        "model = \"output-queued\"",
        "model = \"packet\"",
        "model = \"input-queued\", speedup = 2",
        "model = \"input-queued\", speedup = 1.2",
        "model = \"input-queued\"",
    ];
    let latencies = models.map(|model| switch(8, model, 0.55).latency);
    println!("{latencies:.3?}");
    // The first two differ in nothing where no buffer is full.
    assert_eq!(latencies[0], latencies[1]);
    assert!(latencies.is_sorted(), "{latencies:?}");
    assert!(latencies[4] > 1.2 * latencies[1], "{latencies:?}");
    // Behind a buffer that covers no round trip, only packets without credits go at the rate of the link.
    let long = |model: &str| {
        let text = format!(
            r#"
[network]
topology = {{ kind = "mesh", sizes = [2] }}
routing = {{ algorithm = "dimension-order" }}
link = {{ bandwidth = "100 Gbps", latency = "500 ns" }}
links.host = {{ latency = "5 ns" }}
router = {{ model = "{model}", delay = "20 ns", buffer = "1 KiB" }}
[[job]]
traffic = {{ pattern = "uniform", load = 0.9 }}
[run]
until = "60 us"
warmup = "20 us"
"#
        );
        run(&experiment(&text)).summary.network.accepted_load
    };
    let accepted = ["output-queued", "packet", "input-queued"].map(long);
    println!("{accepted:.3?}");
    assert!(
        accepted[0] > 0.88 && accepted[1] < 0.5 && accepted[2] < 0.5,
        "{accepted:?}"
    );
}

/// BookSim 2 (28f4329), its crossbar of 16 ports with one VC of eight flits and internal speedup 2, packets of one
/// flit: offered load, mean latency in cycles below saturation, accepted load. Means over five seeds.
const BOOKSIM: [(f64, Option<f64>, f64); 7] = [
    (0.1, Some(5.054), 0.0998),
    (0.3, Some(5.309), 0.3001),
    (0.4, Some(5.657), 0.4005),
    (0.5, Some(6.737), 0.4995),
    (0.55, Some(8.872), 0.5491),
    (0.7, None, 0.6008),
    (1.0, None, 0.6004),
];

/// Allocating a VC and the switch takes a packet of one flit two internal steps there, so that a queue gives one packet
/// per cycle, as here without a speedup. A channel of one cycle takes two, a router one, and BookSim counts no
/// serialization at the end. Accepted loads agree within 1 %, latencies within 3 % up to a load of 0.5 and 8 % beyond.
#[test]
fn a_switch_of_sixteen_ports_agrees_with_booksim() {
    for (load, latency, accepted) in BOOKSIM {
        let measured = switch(16, "model = \"input-queued\", buffer = \"256 B\"", load);
        let here = measured.latency - 1.0;
        println!(
            "load {load}: {:.4} and {accepted}, {here:.3} and {latency:?} cycles",
            measured.accepted
        );
        assert!((measured.accepted / accepted - 1.0).abs() < 0.01, "load {load}");
        if let Some(latency) = latency {
            let limit = if load <= 0.5 { 0.03 } else { 0.08 };
            assert!((here / latency - 1.0).abs() < limit, "load {load}");
        }
    }
}

#[test]
fn routing_that_output_queues_cannot_serve_is_refused() {
    let refused = |topology: &str, routing: &str| {
        let text = format!(
            "[network]\ntopology = {{ {topology} }}\nrouting = {{ {routing} }}\n\
             router.model = \"output-queued\"\n\
             [[job]]\ntraffic = {{ pattern = \"uniform\", load = 0.1 }}\n[run]\nuntil = \"1 us\"\n"
        );
        let error = Experiment::from_toml(&text, "experiment.toml", &[]).err();
        error.expect("such routing is refused").to_string()
    };
    let dragonfly =
        "kind = \"dragonfly\", hosts_per_router = 1, routers_per_group = 2, global_links_per_router = 1";
    for (topology, routing, why) in [
        (
            dragonfly,
            "algorithm = \"piggyback\"",
            "loads that routers could report",
        ),
        (
            dragonfly,
            "algorithm = \"ugal\", information = \"group\"",
            "loads that routers could report",
        ),
        (
            dragonfly,
            "algorithm = \"ugal\", metric = \"queue\"",
            "no loads but the default",
        ),
        (
            "kind = \"torus\", sizes = [4]",
            "algorithm = \"dimension-order\", deadlock = \"bubble\"",
            "no buffers with bubbles",
        ),
    ] {
        let error = refused(topology, routing);
        assert!(
            error.contains("network.router.model: ") && error.contains(why),
            "{error}"
        );
    }
}

/// The limit of head-of-line blocking (0.602 for 16 ports) rises with the copies of the VC into which hosts inject,
/// as packets for other outputs wait in other queues. An input still crosses one packet at a time.
#[test]
fn copies_of_a_virtual_channel_relieve_head_of_line_blocking() {
    let accepted = [1, 2, 4, 16].map(|copies| {
        let router = format!(
            "model = \"input-queued\", arbiter = \"random\", vc_copies = {copies}, buffer = \"{} B\"",
            256 * copies
        );
        switch(16, &router, 1.0).accepted
    });
    println!("{accepted:.4?}");
    assert!(accepted.is_sorted(), "{accepted:?}");
    assert!(
        accepted[0] < 0.61 && accepted[1] > 0.68 && accepted[3] > 0.85,
        "{accepted:?}"
    );
}

/// Buffers that could never take a flit, or a packet in whole flits.
#[test]
fn buffers_without_space_for_flits_are_refused() {
    let error = |keys: &str| {
        let text = format!(
            "[network]\ntopology = {{ kind = \"mesh\", sizes = [4] }}\n\
             routing = {{ algorithm = \"dimension-order\" }}\nrouter = {{ model = \"flit\", {keys} }}\n\
             packet = \"200 B\"\n[[job]]\ntraffic = {{ pattern = \"uniform\", load = 0.1 }}\n[run]\nuntil = \"1 us\"\n"
        );
        let error = Experiment::from_toml(&text, "experiment.toml", &[]).err();
        error.map(|error| error.to_string())
    };
    let small = error("flit = \"64 B\", vc_copies = 2, buffer = \"127 B\"").expect("no space for a flit");
    assert!(
        small.contains("network.router.buffer: 127 B per input port are 63 B for each of 2 virtual channels")
            && small.contains("less than a flit of 64 B; expected at least 128 B"),
        "{small}"
    );
    let packet = "switching = \"cut-through\"";
    let cut =
        error(&format!("flit = \"64 B\", {packet}, buffer = \"255 B\"")).expect("no space for a packet");
    assert!(
        cut.contains("less than a packet of 200 B; expected at least 256 B"),
        "{cut}"
    );
    let shared = "buffers = \"shared\", private_buffer = \"140 B\"";
    let parts = error(&format!(
        "flit = \"64 B\", vc_copies = 2, {shared}, buffer = \"255 B\""
    ))
    .expect("no space");
    assert!(
        parts.contains(
            "network.router.private_buffer: 128 B for each of 2 virtual channels are more than the buffer"
        ) && parts.contains("expected at most 127 B"),
        "{parts}"
    );
    assert_eq!(error("flit = \"64 B\", buffer = \"64 B\""), None);
    assert_eq!(
        error(&format!("flit = \"64 B\", {packet}, buffer = \"256 B\"")),
        None
    );
}

#[test]
fn virtual_channels_by_the_next_output_need_known_outputs_and_one_for_each() {
    let error = |topology: &str, routing: &str, copies: u32| {
        let text = format!(
            "[network]\ntopology = {{ {topology} }}\nrouting = {{ {routing} }}\n\
             router = {{ model = \"flit\", routing_delay = 0, vc_assignment = \"next-output\", vc_copies = {copies} }}\n\
             [[job]]\ntraffic = {{ pattern = \"uniform\", load = 0.1 }}\n[run]\nuntil = \"1 us\"\n"
        );
        let error = Experiment::from_toml(&text, "experiment.toml", &[]).err();
        error.map(|error| error.to_string())
    };
    let mesh = "kind = \"mesh\", sizes = [4, 4]";
    let order = "algorithm = \"dimension-order\"";
    assert_eq!(error(mesh, order, 5), None);
    let few = error(mesh, order, 4).expect("fewer virtual channels than ports");
    assert!(
        few.contains(
            "network.router.vc_assignment: vc_copies = 4 virtual channels for the 5 ports of a router"
        ) && few.contains("expected vc_copies = 5 or more, or vc_assignment = \"any\""),
        "{few}"
    );
    let hyperx = "kind = \"hyperx\", shape = [4], hosts_per_router = 1";
    let unknown = error(hyperx, "algorithm = \"valiant\"", 5).expect("outputs by chance");
    assert!(
        unknown.contains("network.router.vc_assignment: this routing depends on congestion or chance"),
        "{unknown}"
    );
}

#[test]
fn virtual_channels_of_hosts_by_routing_need_routing_that_gives_them() {
    let error = |routing: &str| {
        let text = format!(
            "[network]\ntopology = {{ kind = \"dragonfly\", hosts_per_router = 1, routers_per_group = 2, \
             global_links_per_router = 1 }}\nrouting = {{ {routing} }}\n\
             router = {{ model = \"flit\", host_vcs = \"by-routing\" }}\n\
             [[job]]\ntraffic = {{ pattern = \"uniform\", load = 0.1 }}\n[run]\nuntil = \"1 us\"\n"
        );
        let error = Experiment::from_toml(&text, "experiment.toml", &[]).err();
        error.map(|error| error.to_string())
    };
    assert_eq!(error("algorithm = \"ugal\", vcs = \"by-phase\""), None);
    assert_eq!(error("algorithm = \"minimal\", vcs = \"by-phase\""), None);
    let refused = error("algorithm = \"ugal\"").expect("no virtual channel to hosts");
    assert!(
        refused.contains("network.router.host_vcs: this routing gives no virtual channel")
            && refused.contains("expected host_vcs = \"any\", or network.routing.vcs = \"by-phase\""),
        "{refused}"
    );
}

/// BookSim 2 (28f4329), packets of one flit, uniform traffic: offered load, mean latency in cycles below saturation
/// with the standard deviation of a run's mean, accepted load. Means over five seeds.
type Curve = [(f64, Option<(f64, f64)>, f64)];

/// A mesh of 8 x 8 routers, two VCs of eight flits, iSLIP, one cycle for routing and for credits.
const MESH: &Curve = &[
    (0.1, Some((34.181, 0.134)), 0.1001),
    (0.25, Some((41.273, 0.132)), 0.2504),
    (0.5, None, 0.2897),
];

/// One router with 16 ports, two VCs of eight flits, separable input-first allocators, lookahead.
const SWITCH: &Curve = &[
    (0.1, Some((6.055, 0.001)), 0.0998),
    (0.5, Some((8.069, 0.090)), 0.4995),
    (1.0, None, 0.5967),
];

/// The same router with one VC and internal speedup 2.
const ONE_VC: &Curve = &[
    (0.1, Some((5.054, 0.003)), 0.0998),
    (0.5, Some((6.737, 0.096)), 0.4995),
    (1.0, None, 0.6004),
];

/// The same router with 16 VCs: one for each output, so that no packet waits behind one for another output.
const VC_PER_OUTPUT: &Curve = &[
    (0.5, Some((7.412, 0.041)), 0.4995),
    (0.7, Some((27.765, 0.579)), 0.6999),
    (1.0, None, 0.7839),
];

/// The same with iSLIP.
const VC_PER_OUTPUT_ISLIP: &Curve = &[
    (0.5, Some((7.377, 0.029)), 0.4996),
    (0.7, Some((29.391, 1.196)), 0.6996),
    (1.0, None, 0.7715),
];

/// The same with iSLIP of four iterations.
const VC_PER_OUTPUT_ISLIP_4: &Curve = &[
    (0.5, Some((6.775, 0.011)), 0.4996),
    (0.8, Some((9.998, 0.111)), 0.7997),
    (1.0, None, 0.9362),
];

/// A mesh of 6 x 6 routers, three VCs of six flits, lookahead, speculation.
const SPECULATIVE_MESH: &Curve = &[
    (0.15, Some((17.036, 0.053)), 0.1502),
    (0.4, Some((19.395, 0.024)), 0.4010),
    (0.7, None, 0.5449),
];

/// Latencies within 1 %, twice the deviation or a tenth of a cycle, as each host makes its packets at a moment of a
/// cycle of its own; accepted loads within 1 %. Means over four seeds.
/// The dragonfly of 72 nodes with minimal routing and its virtual channels by phase, two of 128 flits; cables of 10
/// and 100 cycles.
const DRAGONFLY: &Curve = &[
    (0.2, Some((117.754, 0.114)), 0.2004),
    (0.35, Some((125.320, 0.205)), 0.3506),
    (0.5, None, 0.4188),
];

#[test]
fn a_dragonfly_has_the_curve_of_booksim() {
    const SEEDS: u32 = 3;
    for (load, latency, accepted) in DRAGONFLY {
        let run_with = |seed: u32| {
            let text = format!(
                "[network]\n\
                 topology = {{ kind = \"dragonfly\", hosts_per_router = 2, routers_per_group = 4, \
                 global_links_per_router = 2 }}\n\
                 routing = {{ algorithm = \"minimal\", vcs = \"by-phase\" }}\n\
                 link = {{ bandwidth = \"256 Gbps\", latency = \"1 ns\" }}\n\
                 links.local = {{ latency = \"10 ns\" }}\nlinks.global = {{ latency = \"100 ns\" }}\n\
                 router = {{ model = \"flit\", flit = \"32 B\", routing_delay = 0, host_vcs = \"by-routing\", \
                 credit_delay = \"1 ns\", delay = \"0 ns\", buffer = \"8192 B\" }}\npacket = \"32 B\"\n[[job]]\n\
                 traffic = {{ pattern = \"uniform\", include_self = true, arrival = \"bernoulli\", load = {load} }}\n\
                 [run]\nuntil = \"7 us\"\nwarmup = \"2 us\"\ndrain = \"1 us\"\nseed = {seed}\n"
            );
            let network = run(&experiment(&text)).summary.network;
            (
                network.latency_ns.mean.expect("packets arrived") - 1.0,
                network.accepted_load,
            )
        };
        let all: Vec<(f64, f64)> = (1..=SEEDS).map(run_with).collect();
        let mean = |of: fn(&(f64, f64)) -> f64| all.iter().map(of).sum::<f64>() / f64::from(SEEDS);
        let (cycles, here) = (mean(|run| run.0), mean(|run| run.1));
        println!("{load}: {cycles:.3} and {latency:?} cycles, {here:.4} and {accepted}");
        assert!((here / accepted - 1.0).abs() < 0.01, "load {load}");
        if let Some((latency, _)) = latency {
            assert!((cycles / latency - 1.0).abs() < 0.01, "load {load}");
        }
    }
}

#[test]
fn flits_have_the_curves_of_booksim() {
    const SEEDS: u32 = 4;
    let mesh =
        "topology = { kind = \"mesh\", sizes = [8, 8] }\nrouting = { algorithm = \"dimension-order\" }";
    let switch = "topology = { kind = \"hyperx\", shape = [1], hosts_per_router = 16 }\n\
                  routing = { algorithm = \"minimal\" }";
    let of_mesh = "allocator = \"islip\", credit_delay = \"1 ns\"";
    let voq = "routing_delay = 0, vc_assignment = \"next-output\"";
    let voq_islip = format!("{voq}, allocator = \"islip\"");
    let voq_islip_4 = format!("{voq_islip}, iterations = 4");
    let small_mesh = mesh.replace("8, 8", "6, 6");
    let speculative = "routing_delay = 0, speculation = \"low-priority\"";
    for (network, keys, vcs, curve) in [
        (mesh, of_mesh, 2, MESH),
        (&small_mesh, speculative, 3, SPECULATIVE_MESH),
        (switch, "routing_delay = 0", 2, SWITCH),
        (switch, "routing_delay = 0, speedup = 2", 1, ONE_VC),
        (switch, voq, 16, VC_PER_OUTPUT),
        (switch, &voq_islip, 16, VC_PER_OUTPUT_ISLIP),
        (switch, &voq_islip_4, 16, VC_PER_OUTPUT_ISLIP_4),
    ] {
        let flits = if vcs == 3 { 6 } else { 8 };
        let buffer = 32 * flits * vcs;
        for (load, latency, accepted) in curve {
            let run_with = |seed: u32| {
                let text = format!(
                    "[network]\n{network}\nlink = {{ bandwidth = \"256 Gbps\", latency = \"1 ns\" }}\n\
                     router = {{ model = \"flit\", flit = \"32 B\", {keys}, vc_copies = {vcs}, delay = \"0 ns\", \
                     buffer = \"{buffer} B\" }}\n\
                     packet = \"32 B\"\n[[job]]\n\
                     traffic = {{ pattern = \"uniform\", include_self = true, arrival = \"bernoulli\", load = {load} }}\n\
                     [run]\nuntil = \"7 us\"\nwarmup = \"2 us\"\ndrain = \"1 us\"\nseed = {seed}\n"
                );
                let network = run(&experiment(&text)).summary.network;
                let mean = network.latency_ns.mean.expect("packets arrived") - 1.0;
                (mean, network.accepted_load)
            };
            let all: Vec<(f64, f64)> = (1..=SEEDS).map(run_with).collect();
            let mean = |of: fn(&(f64, f64)) -> f64| all.iter().map(of).sum::<f64>() / f64::from(SEEDS);
            let (cycles, here) = (mean(|run| run.0), mean(|run| run.1));
            println!("{load}: {cycles:.3} and {latency:?} cycles, {here:.4} and {accepted}");
            assert!((here / accepted - 1.0).abs() < 0.01, "load {load}");
            if let Some((latency, deviation)) = latency {
                let limit = f64::max(0.01 * latency, 2.0 * deviation).max(0.1);
                assert!((cycles - latency).abs() < limit, "load {load}");
            }
        }
    }
}
