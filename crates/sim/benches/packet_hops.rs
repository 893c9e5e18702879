//! Packet-hops per second of processor time, the figure that simulators of networks are compared by, with the series
//! that are collected by default and without.
//!
//! `cargo bench -p fabricsim-sim --bench packet_hops` runs each case in several rounds; `-- NAME` runs the cases whose
//! name contains NAME, `-- NAME ROUNDS` runs them in so many rounds. It needs Linux with `taskset`, and two cores.
//!
//! The speed of a shared machine changes from second to second. So a run with series and a run without go at the same
//! time, each in a process of its own on a core of its own, and then both again with the cores exchanged. The ratio of
//! a round is the geometric mean of the two ratios. The table has the median of these ratios, their geometric mean, and
//! its standard error. Each case runs on one thread.

mod cases;

use std::process::{Child, Command, Stdio};

use cases::{CASES, Case, LARGE};
use des::Executor;
use experiment::Experiment;
use fabricsim_sim::{RunControl, run};
use serde::{Deserialize, Serialize};

/// The allocator of the command `fabricsim`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Rounds of each case.
const ROUNDS: usize = 4;

/// `collect.series`: the default, and none.
const SERIES: [&str; 2] = ["auto", "off"];

const CORES: [&str; 2] = ["0", "1"];

/// Argument of the process that runs one case once.
const ONE: &str = "--one";

/// What one run reports.
#[derive(Serialize, Deserialize)]
struct Report {
    packet_hops: u64,
    events: u64,
    /// Millions of packet-hops per second of processor time.
    rate: f64,
    credits: String,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [one, name, series] = arguments.as_slice()
        && one == ONE
    {
        let case = CASES.iter().chain(LARGE).find(|case| case.name == name);
        let report = run_once(case.expect("the name of a case"), series);
        return println!("{}", serde_json::to_string(&report).expect("it is plain"));
    }
    let (filter, rounds) = cases::arguments(ROUNDS);
    println!("million packet-hops per CPU second, one thread, {rounds} rounds; off: without series");
    println!(
        "{:34} {:>8} {:>8} {:>10} {:>8} {:>8} {:>8} {:>8} {:>12} {:>11} {:>8}",
        "case",
        "median",
        "best",
        "off median",
        "off best",
        "over off",
        "mean",
        "error",
        "packet-hops",
        "events/hop",
        "credits"
    );
    let all = CASES.iter().chain(LARGE);
    for case in all.filter(|case| case.name.contains(&filter)) {
        measure(case, rounds);
    }
}

/// Runs a case, as the process of one run.
fn run_once(case: &Case, series: &str) -> Report {
    let toml = format!("{}[collect]\nseries = \"{series}\"\n", case.toml());
    let mut experiment = Experiment::from_toml(&toml, case.name, &[]).expect("the case is valid");
    (experiment.run.executor, experiment.run.threads) = (Executor::Conservative, 1);
    let summary = run(&experiment, &RunControl::new())
        .expect("the case runs")
        .summary;
    Report {
        packet_hops: summary.network.packet_hops,
        events: summary.run.events_committed,
        rate: summary.run.packet_hops_per_cpu_s / 1e6,
        credits: summary.run.credits,
    }
}

fn measure(case: &Case, rounds: usize) {
    let (mut rates, mut ratios) = ([Vec::new(), Vec::new()], Vec::new());
    let mut last = None;
    for round in 0..rounds {
        let mut ratio = 1.0;
        for turn in [round, round + 1] {
            let cores = [CORES[turn % 2], CORES[(turn + 1) % 2]];
            let both = [0, 1].map(|index| start(case, SERIES[index], cores[index]));
            let [auto, off] = both.map(|run| finish(case, run));
            ratio *= auto.rate / off.rate;
            rates[0].push(auto.rate);
            rates[1].push(off.rate);
            last = Some(auto);
        }
        ratios.push(ratio.sqrt());
    }
    let Some(last) = last else { return };
    let [auto, off] = rates
        .each_mut()
        .map(|rates| (median(rates), rates[rates.len() - 1]));
    let (mean, error) = geometric_mean(&ratios);
    println!(
        "{:34} {:8.2} {:8.2} {:10.2} {:8.2} {:8.3} {mean:8.3} {error:8.3} {:12} {:11.2} {:>8}",
        case.name,
        auto.0,
        auto.1,
        off.0,
        off.1,
        median(&mut ratios),
        last.packet_hops,
        last.events as f64 / last.packet_hops as f64,
        last.credits
    );
}

/// Starts a run on a core.
fn start(case: &Case, series: &str, core: &str) -> Child {
    let program = std::env::current_exe().expect("it is running");
    Command::new("taskset")
        .args(["--cpu-list", core])
        .arg(program)
        .args([ONE, case.name, series])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command taskset is needed, of util-linux")
}

fn finish(case: &Case, run: Child) -> Report {
    let output = run.wait_with_output().expect("it was started");
    assert!(output.status.success(), "{}", case.name);
    serde_json::from_slice(&output.stdout).expect("a run prints its report")
}

/// Sorts the values.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let (lower, upper) = ((values.len() - 1) / 2, values.len() / 2);
    (values[lower] + values[upper]) / 2.0
}

/// The geometric mean, and its standard error; the latter is not a number if there is only one value.
fn geometric_mean(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().map(|value| value.ln()).sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value.ln() - mean).powi(2)).sum();
    let mean_error = (squares / (count - 1.0) / count).sqrt();
    (mean.exp(), mean.exp() * mean_error)
}
