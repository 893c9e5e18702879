//! The executors on the same experiment, side by side: the dragonfly of 1,056 hosts at load 0.5.
//!
//! `cargo bench -p fabricsim-sim --bench executors` runs all of them in turn, several times, and compares
//! within each turn, so that other load on the machine cancels out: the ratios are medians over the turns.

use des::Executor;
use experiment::Experiment;
use fabricsim_sim::{RunControl, run};

/// The allocator of the command `fabricsim`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const TURNS: usize = 5;

const EXPERIMENT: &str = r#"
    [network]
    topology = { kind = "dragonfly", hosts_per_router = 4, routers_per_group = 8, global_links_per_router = 4 }
    routing = { algorithm = "minimal" }
    link = { bandwidth = "100 Gbps", latency = "50 ns" }
    router = { delay = "100 ns", buffer = "100 KB" }
    packet = "256 B"
    [[job]]
    traffic = { pattern = "uniform", load = 0.5 }
    [run]
    until = "100 us"
"#;

/// The first is what the others are compared with.
const CASES: [(Executor, usize); 6] = [
    (Executor::Sequential, 1),
    (Executor::Conservative, 1),
    (Executor::Conservative, 2),
    (Executor::Optimistic, 1),
    (Executor::Optimistic, 2),
    (Executor::Auto, 2),
];

fn main() {
    let mut experiment =
        Experiment::from_toml(EXPERIMENT, "benchmark", &[]).expect("the experiment is right");
    let mut turns = Vec::new();
    for _ in 0..TURNS {
        let turn = CASES.map(|(executor, threads)| {
            (experiment.run.executor, experiment.run.threads) = (executor, threads);
            run(&experiment, &RunControl::new()).expect("it runs").summary.run
        });
        turns.push(turn);
    }
    println!("{TURNS} turns; medians");
    println!(
        "{:12} {:>7} {:>8} {:>8} {:>17} {:>16} {:>10}",
        "executor", "threads", "wall s", "CPU s", "CPU / sequential", "wall / 1 thread", "efficiency"
    );
    for (case, (executor, threads)) in CASES.iter().enumerate() {
        let single = CASES.iter().position(|c| c.0 == *executor).unwrap_or(case);
        let of = |value: &dyn Fn(&[results::RunSummary; CASES.len()]) -> f64| {
            median(turns.iter().map(value).collect())
        };
        println!(
            "{:12} {threads:>7} {:>8.2} {:>8.2} {:>17.2} {:>16.2} {:>10.4}",
            executor.name(),
            of(&|turn| turn[case].wall_s),
            of(&|turn| turn[case].cpu_s),
            of(&|turn| turn[case].cpu_s / turn[0].cpu_s),
            of(&|turn| turn[case].wall_s / turn[single].wall_s),
            of(&|turn| turn[case].efficiency),
        );
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
