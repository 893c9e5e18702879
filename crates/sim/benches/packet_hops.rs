//! Packet-hops per second of processor time, the figure that simulators of networks are compared by.
//!
//! `cargo bench -p fabricsim-sim --bench packet_hops` runs all cases several times, alternately with the series that
//! are collected by default and without. It prints the least, the median and the best rate with series, the best
//! without, the ratio of the best rates, and the median of the ratios of the two runs of a round: the speed of a shared
//! machine changes from second to second, and runs of one round meet nearly the same. `-- NAME` runs the cases whose
//! name contains NAME, `-- NAME ROUNDS` runs them in so many rounds.

use fabricsim_sim::{Experiment, RunControl, run};

/// The allocator of the command `fabricsim`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Rounds of each case.
const ROUNDS: usize = 7;

/// `collect.series`: the default, and none.
const SERIES: [&str; 2] = ["auto", "off"];

/// Name, topology, routing, load and simulated microseconds. Links of 100 Gbps and 50 ns, routers of
/// 100 ns, 100 KB per port, packets of 256 B, as in the Slim Fly study of CODES.
const CASES: &[(&str, &str, &str, f64, u32)] = &[
    ("dragonfly-1056/minimal/0.1", DRAGONFLY_1K, "minimal", 0.1, 200),
    ("dragonfly-1056/minimal/0.3", DRAGONFLY_1K, "minimal", 0.3, 100),
    ("dragonfly-1056/minimal/0.5", DRAGONFLY_1K, "minimal", 0.5, 60),
    ("dragonfly-1056/minimal/0.7", DRAGONFLY_1K, "minimal", 0.7, 60),
    ("dragonfly-1056/minimal/0.9", DRAGONFLY_1K, "minimal", 0.9, 60),
    ("dragonfly-1056/ugal/0.1", DRAGONFLY_1K, "ugal", 0.1, 100),
    ("dragonfly-1056/ugal/0.5", DRAGONFLY_1K, "ugal", 0.5, 40),
    ("dragonfly-1056/ugal/0.9", DRAGONFLY_1K, "ugal", 0.9, 20),
    ("dragonfly-5256/minimal/0.5", DRAGONFLY_5K, "minimal", 0.5, 20),
    ("dragonfly-16512/minimal/0.5", DRAGONFLY_16K, "minimal", 0.5, 10),
    ("dragonfly-83232/minimal/0.5", DRAGONFLY_83K, "minimal", 0.5, 4),
    ("dragonfly-262656/minimal/0.5", DRAGONFLY_262K, "minimal", 0.5, 3),
    ("slim-fly-3042/minimal/0.1", SLIM_FLY_3K, "minimal", 0.1, 60),
    ("slim-fly-3042/minimal/0.5", SLIM_FLY_3K, "minimal", 0.5, 20),
    ("fat-tree-1024/adaptive/0.5", FAT_TREE, "adaptive", 0.5, 20),
    (
        "torus-8x8x8/dimension-order/0.3",
        TORUS,
        "dimension-order",
        0.3,
        40,
    ),
];

const DRAGONFLY_1K: &str =
    r#"kind = "dragonfly", hosts_per_router = 4, routers_per_group = 8, global_links_per_router = 4"#;
const DRAGONFLY_16K: &str =
    r#"kind = "dragonfly", hosts_per_router = 8, routers_per_group = 16, global_links_per_router = 8"#;
const DRAGONFLY_5K: &str =
    r#"kind = "dragonfly", hosts_per_router = 6, routers_per_group = 12, global_links_per_router = 6"#;
const DRAGONFLY_83K: &str =
    r#"kind = "dragonfly", hosts_per_router = 12, routers_per_group = 24, global_links_per_router = 12"#;
const DRAGONFLY_262K: &str =
    r#"kind = "dragonfly", hosts_per_router = 16, routers_per_group = 32, global_links_per_router = 16"#;
const SLIM_FLY_3K: &str = r#"kind = "slim-fly", q = 13, hosts_per_router = 9"#;
const FAT_TREE: &str = r#"kind = "fat-tree", levels = 3, radix = 16"#;
const TORUS: &str = r#"kind = "torus", sizes = [8, 8, 8]"#;

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|a| !a.starts_with('-'));
    let filter = arguments.next().unwrap_or_default();
    let rounds = match arguments.next() {
        Some(rounds) => rounds.parse().expect("a number of rounds"),
        None => ROUNDS,
    };
    println!("million packet-hops per CPU second, one thread, {rounds} rounds; off: without series");
    println!(
        "{:34} {:>8} {:>8} {:>8} {:>8} {:>9} {:>9} {:>12} {:>11} {:>8}",
        "case",
        "least",
        "median",
        "best",
        "off best",
        "over off",
        "in turn",
        "packet-hops",
        "events/hop",
        "credits"
    );
    for case in CASES.iter().filter(|case| case.0.contains(&filter)) {
        measure(case, rounds);
    }
}

fn measure((name, topology, routing, load, microseconds): &(&str, &str, &str, f64, u32), rounds: usize) {
    let experiments = SERIES.map(|series| {
        let toml = format!(
            r#"
            [network]
            topology = {{ {topology} }}
            routing = {{ algorithm = "{routing}" }}
            link = {{ bandwidth = "100 Gbps", latency = "50 ns" }}
            router = {{ delay = "100 ns", buffer = "100 KB" }}
            packet = "256 B"
            [[job]]
            traffic = {{ pattern = "uniform", load = {load} }}
            [run]
            until = "{microseconds} us"
            executor = "conservative"
            [collect]
            series = "{series}"
            "#
        );
        Experiment::from_toml(&toml, name, &[]).expect("the case is valid")
    });
    let (mut rates, mut hops, mut events) = ([Vec::new(), Vec::new()], 0, 0);
    let mut credits = String::new();
    for round in 0..rounds {
        for turn in 0..SERIES.len() {
            let index = (turn + round) % SERIES.len();
            let summary = run(&experiments[index], &RunControl::new())
                .expect("the case runs")
                .summary;
            rates[index].push(summary.run.packet_hops_per_cpu_s / 1e6);
            if index == 0 {
                hops = summary.network.packet_hops;
                events = summary.run.events_committed;
                credits = summary.run.credits;
            }
        }
    }
    let mut in_turn: Vec<f64> = rates[0]
        .iter()
        .zip(&rates[1])
        .map(|(auto, off)| auto / off)
        .collect();
    for values in rates.iter_mut().chain([&mut in_turn]) {
        values.sort_by(f64::total_cmp);
    }
    let [auto, off] = &rates;
    println!(
        "{name:34} {:8.2} {:8.2} {:8.2} {:8.2} {:9.3} {:9.3} {hops:12} {:11.2} {credits:>8}",
        auto[0],
        auto[rounds / 2],
        auto[rounds - 1],
        off[rounds - 1],
        auto[rounds - 1] / off[rounds - 1],
        in_turn[rounds / 2],
        events as f64 / hops as f64
    );
}
