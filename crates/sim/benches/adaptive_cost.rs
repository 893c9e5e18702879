//! What adaptive and randomised routing cost: CPU time per packet-hop beside that of the network's minimal
//! static routing.
//!
//! `cargo bench -p fabricsim-sim --bench adaptive_cost` runs every algorithm in turn with the network's first
//! one, several times, and compares within each pair, so that other load on the machine cancels out: the ratio is the
//! median over the pairs. Credits go back each by itself: static algorithms could have them in batches, which has
//! nothing to do with decisions. It fails if a ratio is above [`LIMIT`]. `-- NAME` runs the networks whose name
//! contains NAME.

use std::process::ExitCode;

use experiment::Experiment;
use fabricsim_sim::{RunControl, run};

/// The allocator of the command `fabricsim`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Pairs of runs of each algorithm.
const TURNS: usize = 7;

/// What a packet-hop may cost, of what it costs with the first algorithm.
const LIMIT: f64 = 2.0;

/// Uniform random traffic, below the saturation of all cases, that of paths of twice the length included.
const LOAD: f64 = 0.3;

/// Name, topology, simulated microseconds and algorithms; the first is what the others are compared with. Links
/// of 100 Gbps and 50 ns, routers of 100 ns, 100 KB per port, packets of 256 B, as in `packet_hops`.
const NETWORKS: &[(&str, &str, u32, &[&str])] = &[
    (
        "dragonfly-1056",
        r#"kind = "dragonfly", hosts_per_router = 4, routers_per_group = 8, global_links_per_router = 4"#,
        40,
        &[
            r#"algorithm = "minimal""#,
            r#"algorithm = "valiant""#,
            r#"algorithm = "ugal""#,
            r#"algorithm = "ugal", information = "group""#,
            r#"algorithm = "par""#,
            r#"algorithm = "piggyback""#,
        ],
    ),
    (
        "hyperx-8x8, 512 hosts",
        r#"kind = "hyperx", shape = [8, 8], hosts_per_router = 8"#,
        80,
        &[
            r#"algorithm = "dimension-order""#,
            r#"algorithm = "minimal", paths = "adaptive""#,
            r#"algorithm = "minimal-adaptive""#,
            r#"algorithm = "doal""#,
            r#"algorithm = "dal""#,
            r#"algorithm = "valiant""#,
            r#"algorithm = "ugal""#,
            r#"algorithm = "par""#,
        ],
    ),
    (
        "fat-tree-1024",
        r#"kind = "fat-tree", levels = 3, radix = 16"#,
        40,
        &[
            r#"algorithm = "destination-mod-k""#,
            r#"algorithm = "scatter""#,
            r#"algorithm = "adaptive""#,
        ],
    ),
    (
        "torus-8x8x8",
        r#"kind = "torus", sizes = [8, 8, 8]"#,
        60,
        &[
            r#"algorithm = "dimension-order""#,
            r#"algorithm = "minimal-adaptive""#,
            r#"algorithm = "minimal-adaptive", escape = "bubble", adaptive_vcs = 2"#,
        ],
    ),
    (
        "slim-fly-3042",
        r#"kind = "slim-fly", q = 13, hosts_per_router = 9"#,
        20,
        &[
            r#"algorithm = "minimal""#,
            r#"algorithm = "minimal", paths = "adaptive""#,
            r#"algorithm = "valiant""#,
            r#"algorithm = "ugal""#,
            r#"algorithm = "par""#,
        ],
    ),
];

/// What one run took and did.
#[derive(Clone, Copy)]
struct Measured {
    /// CPU time per packet-hop in ns.
    cost_ns: f64,
    /// Links per packet.
    hops: f64,
    /// Accepted load in the later half of the run.
    accepted: f64,
}

fn main() -> ExitCode {
    let filter = std::env::args()
        .skip(1)
        .find(|a| !a.starts_with('-'))
        .unwrap_or_default();
    println!(
        "uniform traffic at load {LOAD}, one thread, {TURNS} pairs of runs; CPU time per packet-hop, medians"
    );
    println!(
        "{:66} {:>6} {:>9} {:>5} {:>6} {:>6} {:>9}",
        "network, routing", "hops", "accepted", "ns", "ratio", "least", "greatest"
    );
    let mut worst = (String::new(), 0.0);
    for (network, topology, microseconds, algorithms) in NETWORKS.iter().filter(|n| n.0.contains(&filter)) {
        let experiments: Vec<Experiment> = algorithms
            .iter()
            .map(|algorithm| experiment(topology, algorithm, *microseconds))
            .collect();
        // Not counted: memory and caches are cold.
        measure(&experiments[0]);
        let (mut baselines, mut others) = (Vec::new(), Vec::new());
        for experiment in &experiments[1..] {
            let (mut ratios, mut runs) = (Vec::new(), Vec::new());
            for _ in 0..TURNS {
                let baseline = measure(&experiments[0]);
                let measured = measure(experiment);
                ratios.push(measured.cost_ns / baseline.cost_ns);
                baselines.push(baseline);
                runs.push(measured);
            }
            ratios.sort_by(f64::total_cmp);
            others.push((median(runs), ratios));
        }
        let baseline = (median(baselines), vec![1.0]);
        for (algorithm, (measured, ratios)) in algorithms.iter().zip([baseline].iter().chain(&others)) {
            let algorithm = algorithm.trim_start_matches("algorithm = ").replace('"', "");
            let name = format!("{network}, {algorithm}");
            let (least, ratio, greatest) = (ratios[0], ratios[ratios.len() / 2], ratios[ratios.len() - 1]);
            println!(
                "{name:66} {:6.3} {:9.3} {:5.0} {ratio:6.2} {least:6.2} {greatest:9.2}",
                measured.hops, measured.accepted, measured.cost_ns,
            );
            if ratio > worst.1 {
                worst = (name, ratio);
            }
        }
    }
    println!(
        "greatest median: {:.2}, {}; the limit is {LIMIT}",
        worst.1, worst.0
    );
    ExitCode::from(u8::from(worst.1 > LIMIT))
}

/// The run of median cost.
fn median(mut runs: Vec<Measured>) -> Measured {
    runs.sort_by(|a, b| a.cost_ns.total_cmp(&b.cost_ns));
    runs[runs.len() / 2]
}

fn experiment(topology: &str, algorithm: &str, microseconds: u32) -> Experiment {
    let toml = format!(
        r#"
        [network]
        topology = {{ {topology} }}
        routing = {{ {algorithm} }}
        link = {{ bandwidth = "100 Gbps", latency = "50 ns" }}
        router = {{ delay = "100 ns", buffer = "100 KB" }}
        packet = "256 B"
        [[job]]
        traffic = {{ pattern = "uniform", load = {LOAD} }}
        [run]
        until = "{microseconds} us"
        warmup = "{} us"
        executor = "conservative"
        credits = "each"
        "#,
        microseconds / 2
    );
    Experiment::from_toml(&toml, algorithm, &[]).expect("the case is valid")
}

fn measure(experiment: &Experiment) -> Measured {
    let summary = run(experiment, &RunControl::new())
        .expect("the case runs")
        .summary;
    Measured {
        cost_ns: 1e9 / summary.run.packet_hops_per_cpu_s,
        hops: summary.network.mean_hops.expect("packets were measured"),
        accepted: summary.network.accepted_load,
    }
}
