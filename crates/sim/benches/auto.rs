//! `executor = "auto"` beside the best of the fixed choices, over the experiments of `tests/corpus` and the cases of
//! the bench `packet_hops`.
//!
//! `cargo bench -p fabricsim-sim --bench auto` first runs each experiment with all fixed choices in turn, in three
//! rounds. The best choice is that of the least median time. Then it runs the best choice, `auto`, and the best choice
//! once more in turn, in several rounds. Short runs are repeated in each round until they take a tenth of a second.
//! Each ratio is the median over these later rounds: the speed of a shared machine changes from second to second, and
//! runs of one round meet nearly the same. The ratio of the best choice to itself shows how much of that is left:
//! `auto` cannot be measured better. `-- NAME` runs the experiments whose name contains NAME, `-- NAME ROUNDS` in so
//! many rounds.

mod cases;

use std::path::Path;

use cases::CASES;
use des::Executor;
use experiment::Experiment;
use fabricsim_sim::{RunControl, run};

/// The allocator of the command `fabricsim`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Rounds that find the best choice.
const FIRST_ROUNDS: usize = 3;

/// Rounds that compare it with `auto`.
const ROUNDS: usize = 7;

/// Least time of the runs of one choice in a round, in seconds.
const LEAST_S: f64 = 0.1;

/// Most runs of one choice in a round.
const MOST_RUNS: f64 = 100.0;

/// An executor with its threads.
type Choice = (Executor, usize);

/// Ratio up to which `auto` is as good as the best choice.
const NEAR: f64 = 1.1;

fn main() {
    let (filter, rounds) = cases::arguments(ROUNDS);
    let threads = std::thread::available_parallelism().map_or(2, |count| count.get().max(2));
    let fixed = [
        (Executor::Sequential, 1),
        (Executor::Conservative, 1),
        (Executor::Conservative, threads),
        (Executor::Optimistic, threads),
    ];
    println!(
        "wall-clock time of a run in ms, median of {FIRST_ROUNDS} rounds, of auto of {rounds}; ratios in turn"
    );
    print!("{:52}", "experiment");
    for (executor, threads) in fixed.into_iter().chain([(Executor::Auto, threads)]) {
        print!(" {:>14}", format!("{} {threads}", executor.name()));
    }
    println!(" {:>14} {:>9} {:>9}", "best", "auto/best", "best/best");
    let mut ratios = [Vec::new(), Vec::new()];
    for (name, experiment) in experiments(&filter) {
        if let Some(measured) = measure(&name, experiment, &fixed, rounds) {
            for (ratios, ratio) in ratios.iter_mut().zip(measured) {
                ratios.push(ratio);
            }
        }
    }
    for (name, mut ratios) in ["auto/best", "best/best"].into_iter().zip(ratios) {
        ratios.sort_by(f64::total_cmp);
        let near = ratios.iter().filter(|ratio| **ratio <= NEAR).count();
        if let (Some(worst), count) = (ratios.last(), ratios.len()) {
            let middle = ratios[count / 2];
            println!(
                "{name}: {count} experiments, median {middle:.3}, at most {NEAR} in {near}, worst {worst:.3}"
            );
        }
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

/// Measures and prints one experiment. Returns the times of `auto` and of the best choice, each over that of the best
/// choice.
fn measure(name: &str, mut experiment: Experiment, fixed: &[Choice], rounds: usize) -> Option<[f64; 2]> {
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
    let mut in_turn = |choices: &[Choice], rounds: usize| {
        let mut times = vec![Vec::new(); choices.len()];
        for round in 0..rounds {
            for turn in 0..choices.len() {
                let index = (turn + round) % choices.len();
                times[index].push(time_s(choices[index], runs).expect("it runs again"));
            }
        }
        times
    };
    let mut medians: Vec<f64> = in_turn(fixed, FIRST_ROUNDS).into_iter().map(median).collect();
    let best = (0..fixed.len()).min_by(|a, b| medians[*a].total_cmp(&medians[*b]))?;
    let (_, threads) = *fixed.last()?;
    let times = in_turn(&[fixed[best], (Executor::Auto, threads), fixed[best]], rounds);
    let over_best = |times: &[f64], best: &[f64]| {
        median(times.iter().zip(best).map(|(time, best)| time / best).collect())
    };
    let ratios = [over_best(&times[1], &times[0]), over_best(&times[2], &times[0])];
    medians.push(median(times[1].clone()));
    print!("{name:52}");
    for time_s in medians {
        print!(" {:>14.2}", time_s * 1e3);
    }
    let (executor, threads) = fixed[best];
    print!(" {:>14}", format!("{} {threads}", executor.name()));
    println!(" {:>9.3} {:>9.3}", ratios[0], ratios[1]);
    Some(ratios)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
