//! What bounds a job: cases whose answer is known by construction.

use des::Time;
use mpi::MpiSettings;
use results::{BoundBy, RunResult};
use workload::Operation;

use crate::support::{compute, experiment, job, jobs_on, receive, run, run_everywhere, send};

/// Two routers with two hosts each. A byte takes 1 ns on each link, and a packet has 1,000 bytes.
const TWO_ROUTERS: &str = r#"
[network]
topology = { kind = "mesh", sizes = [2], hosts_per_router = 2 }
routing = { algorithm = "dimension-order" }
link = { bandwidth = "8 Gbps", latency = "50 ns" }
router = { delay = "100 ns", buffer = "256 KiB" }
packet = "1000 B"
"#;

fn settings(eager_threshold: u64) -> MpiSettings {
    MpiSettings {
        eager_threshold,
        send_overhead: Time::from_ns(20),
        receive_overhead: Time::from_ns(30),
        header_bytes: 0,
        ..MpiSettings::default()
    }
}

fn of(result: &RunResult) -> BoundBy {
    let bound_by = result.summary.jobs[0].bound_by.clone().unwrap();
    let sum: f64 = bound_by.causes().iter().map(|(_, share)| share).sum();
    assert!((sum - 1.0).abs() < 1e-9, "{bound_by}");
    bound_by
}

fn share(bound_by: &BoundBy, cause: &str) -> f64 {
    let causes = bound_by.causes();
    let found = causes.iter().find(|(name, _)| name == cause);
    found.unwrap_or_else(|| panic!("no {cause} in {bound_by}")).1
}

/// The shares of a job on these hosts of two routers.
fn on_two_routers(programs: Vec<Vec<Operation>>, settings: &MpiSettings, hosts: &[u32]) -> BoundBy {
    of(&run(&jobs_on(
        TWO_ROUTERS,
        vec![job("a", programs, settings, hosts)],
    )))
}

#[track_caller]
fn assert_share(bound_by: &BoundBy, cause: &str, expected: f64) {
    let share = share(bound_by, cause);
    assert!(
        (share - expected).abs() < 0.002,
        "{cause}: expected {expected}: {bound_by}"
    );
}

/// 1,000 ns of computation each, then one message of 100 B: 20 ns, then 50 + 100 + 50 ns of cables and routers more,
/// 100 ns of bytes, and 30 ns.
#[test]
fn parts_of_one_message_are_those_of_arithmetic() {
    let programs = vec![
        vec![compute(1000), send(1, 100)],
        vec![compute(1000), receive(0, 100)],
    ];
    let bound_by = on_two_routers(programs, &settings(8192), &[0, 1]);
    let time = 1000.0 + 20.0 + 200.0 + 100.0 + 30.0;
    assert_share(&bound_by, "computation", 1000.0 / time);
    assert_share(&bound_by, "imbalance", 0.0);
    assert_share(&bound_by, "MPI overhead", 50.0 / time);
    assert_share(&bound_by, "latency", 200.0 / time);
    assert_share(&bound_by, "injection links", 100.0 / time);
}

/// The same between two routers whose pipelines differ by the link of arrival: 50 + 70 ns to the first router, 50 + 230
/// ns to the second one, and 50 ns. The NICs add 40 and 60 ns.
#[test]
fn latency_has_the_pipelines_of_the_links_of_arrival_and_of_the_nics() {
    let network = TWO_ROUTERS.to_string()
        + "links = { host.router_delay = \"70 ns\", dimension-0.router_delay = \"230 ns\" }\n\
           nic_injection_delay = \"40 ns\"\nnic_reception_delay = \"60 ns\"\n";
    let programs = vec![vec![send(1, 100)], vec![receive(0, 100)]];
    let result = run(&jobs_on(
        &network,
        vec![job("a", programs, &settings(8192), &[0, 2])],
    ));
    let time = 20.0 + 550.0 + 100.0 + 30.0;
    let found = result.summary.jobs[0].time_ns;
    assert!((found - time).abs() < 1e-6, "{found} ns");
    let bound_by = of(&result);
    assert_share(&bound_by, "latency", 550.0 / time);
    assert_share(&bound_by, "injection links", 100.0 / time);
}

#[test]
fn a_rank_that_computes_longer_is_imbalance() {
    let late = vec![
        vec![compute(1_000_000), send(1, 8)],
        vec![compute(200_000), receive(0, 8)],
    ];
    let bound_by = on_two_routers(late, &settings(8192), &[0, 2]);
    assert_share(&bound_by, "computation", 0.6);
    assert_share(&bound_by, "imbalance", 0.4);
}

/// The sender waits for a receive that is posted late, and is the last to finish.
#[test]
fn a_late_receiver_is_imbalance() {
    let programs = vec![
        vec![send(1, 5000)],
        vec![compute(1_000_000), receive(0, 5000), send(0, 8)],
    ];
    let mut programs = programs;
    programs[0].push(receive(1, 8));
    let bound_by = on_two_routers(programs, &settings(1000), &[0, 2]);
    let found = share(&bound_by, "computation") + share(&bound_by, "imbalance");
    assert!(found > 0.985, "{bound_by}");
    assert!(
        (share(&bound_by, "imbalance") - found / 2.0).abs() < 0.01,
        "{bound_by}"
    );
}

/// Each rank computes when it has the token.
#[test]
fn a_chain_of_computations_is_imbalance() {
    let mut programs: Vec<Vec<Operation>> = Vec::new();
    for rank in 0..4u32 {
        let mut program = Vec::new();
        if rank > 0 {
            program.push(receive(rank - 1, 8));
        }
        program.push(compute(100_000));
        if rank < 3 {
            program.push(send(rank + 1, 8));
        }
        programs.push(program);
    }
    let bound_by = on_two_routers(programs, &settings(8192), &[0, 1, 2, 3]);
    let all = share(&bound_by, "computation") + share(&bound_by, "imbalance");
    assert!(all > 0.99, "{bound_by}");
    assert!(
        (share(&bound_by, "computation") - all / 4.0).abs() < 0.001,
        "{bound_by}"
    );
}

fn ping_pong(bytes: u64, rounds: usize, compute_ns: u64) -> Vec<Vec<Operation>> {
    let rounds =
        |round: Vec<Operation>| -> Vec<Operation> { (0..rounds).flat_map(|_| round.clone()).collect() };
    vec![
        rounds(vec![compute(compute_ns), send(1, bytes), receive(1, bytes)]),
        rounds(vec![receive(0, bytes), compute(compute_ns), send(0, bytes)]),
    ]
}

/// Half of the time, a rank waits for a message that has not been sent. That is no imbalance: the other rank waits too.
#[test]
fn a_ping_pong_is_latency_and_overhead() {
    let bound_by = on_two_routers(ping_pong(8, 500, 1), &settings(8192), &[0, 2]);
    // Three cables, two routers, 8 B.
    let round = 1.0 + 20.0 + 350.0 + 8.0 + 30.0;
    assert_share(&bound_by, "latency", 350.0 / round);
    assert_share(&bound_by, "MPI overhead", 50.0 / round);
    assert_share(&bound_by, "injection links", 8.0 / round);
    let compute = share(&bound_by, "computation") + share(&bound_by, "imbalance");
    assert!((compute - 1.0 / round).abs() < 0.002, "{bound_by}");
}

#[test]
fn a_long_message_is_injection() {
    for threshold in [1000, 10_000_000] {
        let bound_by = on_two_routers(ping_pong(1_000_000, 2, 1), &settings(threshold), &[0, 2]);
        assert!(share(&bound_by, "injection links") > 0.99, "{bound_by}");
    }
}

/// Both ranks of a host send at the same time through one injection link: each message waits for the other.
#[test]
fn messages_that_share_a_nic_wait_for_injection() {
    let programs = vec![
        vec![send(2, 1_000_000)],
        vec![send(3, 1_000_000)],
        vec![receive(0, 1_000_000)],
        vec![receive(1, 1_000_000)],
    ];
    let bound_by = on_two_routers(programs, &settings(10_000_000), &[0, 0, 2, 3]);
    assert!(share(&bound_by, "injection links") > 0.98, "{bound_by}");
}

#[test]
fn an_incast_is_ejection() {
    let mut programs: Vec<Vec<Operation>> = vec![(1..4).map(|from| receive(from, 1_000_000)).collect()];
    programs.extend((1..4).map(|_| vec![send(0, 1_000_000)]));
    // On one router, so that no other link is shared.
    let star = TWO_ROUTERS.replace(
        "sizes = [2], hosts_per_router = 2",
        "sizes = [1], hosts_per_router = 4",
    );
    let on = |settings: &MpiSettings| {
        of(&run(&jobs_on(
            &star,
            vec![job("a", programs.clone(), settings, &[0, 1, 2, 3])],
        )))
    };
    let bound_by = on(&settings(10_000_000));
    // A third of the time is that of the bytes of a message on the link of its sender.
    assert!(share(&bound_by, "ejection links") > 0.6, "{bound_by}");
    assert!(share(&bound_by, "injection links") < 0.36, "{bound_by}");
}

/// Two pairs share the cable between two routers, which has the speed of a host's link.
#[test]
fn a_shared_cable_is_named_by_its_class() {
    let programs = vec![
        vec![send(2, 1_000_000)],
        vec![send(3, 1_000_000)],
        vec![receive(0, 1_000_000)],
        vec![receive(1, 1_000_000)],
    ];
    let bound_by = on_two_routers(programs, &settings(10_000_000), &[0, 1, 2, 3]);
    assert!(
        (share(&bound_by, "dimension-0 links") - 0.5).abs() < 0.02,
        "{bound_by}"
    );
    assert!(
        (share(&bound_by, "injection links") - 0.5).abs() < 0.02,
        "{bound_by}"
    );
}

/// A message alone on a path whose middle link has a tenth of the speed.
#[test]
fn a_slow_cable_is_named_by_its_class() {
    let slow = TWO_ROUTERS.replace(
        "packet =",
        "links = { dimension-0 = { bandwidth = \"800 Mbps\" } }\npacket =",
    );
    for bytes in [500, 1_000_000] {
        let bound_by = of(&run(&jobs_on(
            &slow,
            vec![job("a", ping_pong(bytes, 2, 1), &settings(10_000_000), &[0, 2])],
        )));
        let (cable, own) = (
            share(&bound_by, "dimension-0 links"),
            share(&bound_by, "injection links"),
        );
        assert!((cable / own - 9.0).abs() < 0.2, "{bytes} B: {bound_by}");
        assert!(cable > 0.8, "{bytes} B: {bound_by}");
    }
}

#[test]
fn messages_inside_a_host_are_memory() {
    let bound_by = on_two_routers(ping_pong(10_000_000, 2, 1), &settings(100_000_000), &[0, 0]);
    assert!(share(&bound_by, "memory bandwidth") > 0.99, "{bound_by}");
}

/// The all-to-all of the review: 300 ns for each send and each receive, and hardly anything else.
#[test]
fn an_all_to_all_of_small_messages_is_overhead_on_every_network() {
    for topology in [
        "topology = { kind = \"fat-tree\", radix = 16, levels = 2 }\nrouting = { algorithm = \"destination-mod-k\" }",
        "topology = { kind = \"dragonfly\", hosts_per_router = 2, routers_per_group = 4, global_links_per_router = 2 }\n\
         routing = { algorithm = \"minimal\" }",
    ] {
        let text = format!(
            "[network]\n{topology}\n[[job]]\nworkload = {{ motif = \"all-to-all\", ranks = 64, bytes = \"64 B\" }}\n\
             [mpi]\ncollectives = {{ alltoall = \"linear\" }}\n"
        );
        let bound_by = of(&run(&experiment(&text)));
        assert!(share(&bound_by, "MPI overhead") > 0.9, "{bound_by}");
    }
}

/// Nodes with two far link classes: a message to another group crosses one of them, and its latency is exact.
#[test]
fn latency_counts_the_links_of_the_path() {
    let network = r#"
[network]
topology = { kind = "dragonfly", hosts_per_router = 1, routers_per_group = 2, global_links_per_router = 1 }
routing = { algorithm = "minimal" }
link = { bandwidth = "8 Gbps", latency = "50 ns" }
links = { global = { latency = "2 us" } }
router = { delay = "100 ns", buffer = "256 KiB" }
packet = "1000 B"
"#;
    let mut seen = Vec::new();
    for to in 1..6 {
        let result = run(&jobs_on(
            network,
            vec![job("a", ping_pong(8, 100, 1), &settings(8192), &[0, to])],
        ));
        let bound_by = of(&result);
        let time = result.summary.jobs[0].time_ns / 200.0;
        let latency = share(&bound_by, "latency") * time;
        // All but computation, overheads and bytes.
        let expected = time - 1.0 - 50.0 - 8.0;
        assert!(
            (latency / expected - 1.0).abs() < 0.01,
            "to {to}: {latency} ns of {time} ns: {bound_by}"
        );
        seen.push(expected.round() as u64);
    }
    // In the group; across a global link with 0, 1, 1 and 2 local links.
    seen.sort_unstable();
    seen.dedup();
    assert!(seen.len() >= 3, "{seen:?}");
}

/// The path is part of the state of ranks and messages: rollbacks and executors must not change it.
#[test]
fn all_executors_agree() {
    let text = "[network]\ntopology = { kind = \"torus\", sizes = [4, 4], hosts_per_router = 2 }\n\
                routing = { algorithm = \"dimension-order\" }\n\
                [[job]]\nworkload = { motif = \"halo3d-26\", pex = 4, pey = 4, pez = 2, iterations = 3 }\n";
    let bound_by = of(&run_everywhere(&mut experiment(text)));
    assert!(bound_by.network() > 0.05, "{bound_by}");
}
