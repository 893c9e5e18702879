//! `executor = "auto"` beside the best of the fixed choices, over the experiments of `tests/corpus` and the cases of the
//! bench `packet_hops`.
//!
//! `cargo bench -p fabricsim-sim --bench auto` runs each experiment with all choices in turn, in several rounds. Short
//! runs are repeated in each round until they take a tenth of a second. The best choice is that of the least median
//! time. It is chosen after the fact, so equal choices make it look faster than any of them. The ratio is the median
//! over the rounds: the speed of a shared machine changes from second to second, and runs of one round meet nearly the
//! same. `-- NAME` runs the experiments whose name contains NAME, `-- NAME ROUNDS` in so many rounds.

mod cases;

use std::path::Path;

use cases::CASES;
use des::Executor;
use fabricsim_sim::{Experiment, RunControl, run};

/// The allocator of the command `fabricsim`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Rounds of each experiment.
const ROUNDS: usize = 7;

/// Least time of the runs of one choice in a round, in seconds.
const LEAST_S: f64 = 0.1;

/// Most runs of one choice in a round.
const MOST_RUNS: f64 = 100.0;

/// Single events of an experiment whose windows take longer than this, in seconds, are measured once.
const LONG_S: f64 = 0.3;

/// An executor with its threads.
type Choice = (Executor, usize);

/// Ratio up to which `auto` is as good as the best choice.
const NEAR: f64 = 1.1;

fn main() {
    let (filter, rounds) = cases::arguments(ROUNDS);
    let threads = std::thread::available_parallelism().map_or(2, |count| count.get().max(2));
    let choices = [
        (Executor::Sequential, 1),
        (Executor::Conservative, 1),
        (Executor::Conservative, threads),
        (Executor::Optimistic, threads),
        (Executor::Auto, threads),
    ];
    println!(
        "wall-clock time of a run in ms, median of {rounds} rounds; auto over the best fixed choice, in turn"
    );
    print!("{:52}", "experiment");
    for (executor, threads) in choices {
        print!(" {:>14}", format!("{} {threads}", executor.name()));
    }
    println!(" {:>14} {:>9}", "best", "auto/best");
    let mut ratios: Vec<f64> = experiments(&filter)
        .into_iter()
        .filter_map(|(name, experiment)| measure(&name, experiment, &choices, rounds))
        .collect();
    ratios.sort_by(f64::total_cmp);
    let near = ratios.iter().filter(|ratio| **ratio <= NEAR).count();
    if let (Some(worst), count) = (ratios.last(), ratios.len()) {
        println!(
            "{count} experiments: median {:.3}, at most {NEAR} in {near}, worst {worst:.3}",
            ratios[count / 2]
        );
    }
}

/// All experiments whose names contain a text.
fn experiments(filter: &str) -> Vec<(String, Experiment)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::env::set_current_dir(&root).expect("the repository exists");
    let mut files: Vec<_> = std::fs::read_dir("tests/corpus")
        .expect("the corpus exists")
        .map(|entry| entry.expect("it can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .filter(|path| path.to_string_lossy().contains(filter))
        .collect();
    files.sort();
    let mut experiments = Vec::new();
    for path in files {
        match Experiment::load(&path, &[]) {
            Ok(experiment) => experiments.push((path.display().to_string(), experiment)),
            Err(error) => println!("{}: left out: {error}", path.display()),
        }
    }
    for case in CASES.iter().filter(|case| case.name.contains(filter)) {
        let experiment = Experiment::from_toml(&case.toml(), case.name, &[]).expect("the case is valid");
        experiments.push((case.name.into(), experiment));
    }
    experiments
}

/// Measures and prints one experiment. Returns the time of `auto`, the last choice, over that of the best other one.
fn measure(name: &str, mut experiment: Experiment, choices: &[Choice], rounds: usize) -> Option<f64> {
    let mut time_s = |(executor, threads): Choice, runs: usize| {
        (experiment.run.executor, experiment.run.threads) = (executor, threads);
        let one = |_| run(&experiment, &RunControl::new()).map(|result| result.summary.run.wall_s);
        let times: Result<Vec<f64>, _> = (0..runs).map(one).collect();
        times.map(|times| times.iter().sum::<f64>() / runs as f64)
    };
    let first_s = match time_s((Executor::Conservative, 1), 1) {
        Ok(first_s) => first_s,
        Err(error) => {
            println!("{name}: left out: {error}");
            return None;
        }
    };
    let runs = (LEAST_S / first_s).ceil().clamp(1.0, MOST_RUNS) as usize;
    let mut times = vec![Vec::new(); choices.len()];
    for round in 0..rounds {
        for turn in 0..choices.len() {
            let index = (turn + round) % choices.len();
            let is_long = choices[index].0 == Executor::Sequential && first_s > LONG_S;
            let time = match times[index].first() {
                Some(time) if is_long => *time,
                _ => time_s(choices[index], runs).expect("it runs again"),
            };
            times[index].push(time);
        }
    }
    let (auto, fixed) = times.split_last()?;
    let medians: Vec<f64> = fixed.iter().map(|times| median(times.clone())).collect();
    let best = (0..fixed.len()).min_by(|a, b| medians[*a].total_cmp(&medians[*b]))?;
    let ratio = median(
        auto.iter()
            .zip(&fixed[best])
            .map(|(auto, best)| auto / best)
            .collect(),
    );
    print!("{name:52}");
    for time_s in medians.iter().copied().chain([median(auto.clone())]) {
        print!(" {:>14.2}", time_s * 1e3);
    }
    let (executor, threads) = choices[best];
    println!(" {:>14} {ratio:>9.3}", format!("{} {threads}", executor.name()));
    Some(ratio)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
