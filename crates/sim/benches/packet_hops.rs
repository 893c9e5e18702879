//! Packet-hops per second of processor time, the figure that simulators of networks are compared by.
//!
//! `cargo bench -p fabricsim-sim --bench packet_hops` runs all cases several times, alternately with the series that
//! are collected by default and without. It prints the least, the median and the best rate with series, the best
//! without, the ratio of the best rates, and the median of the ratios of the two runs of a round: the speed of a shared
//! machine changes from second to second, and runs of one round meet nearly the same. `-- NAME` runs the cases whose
//! name contains NAME, `-- NAME ROUNDS` runs them in so many rounds.

mod cases;

use cases::{CASES, Case};
use des::Executor;
use fabricsim_sim::{Experiment, RunControl, run};

/// The allocator of the command `fabricsim`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Rounds of each case.
const ROUNDS: usize = 7;

/// `collect.series`: the default, and none.
const SERIES: [&str; 2] = ["auto", "off"];

fn main() {
    let (filter, rounds) = cases::arguments(ROUNDS);
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
    for case in CASES.iter().filter(|case| case.name.contains(&filter)) {
        measure(case, rounds);
    }
}

fn measure(case: &Case, rounds: usize) {
    let experiments = SERIES.map(|series| {
        let toml = format!("{}[collect]\nseries = \"{series}\"\n", case.toml());
        let mut experiment = Experiment::from_toml(&toml, case.name, &[]).expect("the case is valid");
        (experiment.run.executor, experiment.run.threads) = (Executor::Conservative, 1);
        experiment
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
        "{:34} {:8.2} {:8.2} {:8.2} {:8.2} {:9.3} {:9.3} {hops:12} {:11.2} {credits:>8}",
        case.name,
        auto[0],
        auto[rounds / 2],
        auto[rounds - 1],
        off[rounds - 1],
        auto[rounds - 1] / off[rounds - 1],
        in_turn[rounds / 2],
        events as f64 / hops as f64
    );
}
