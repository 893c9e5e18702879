//! `mpirun`: a real MPI program on a simulated network.

use std::path::{Path, PathBuf};

use config::Override;
use experiment::{Experiment, ExperimentSource, Interpreters};
use online::RankStatus;

use crate::{CommandFailure, MpirunArguments, run};

/// The exit status of a run whose ranks have ended so: that of the first rank that has failed.
pub(crate) fn status(ranks: &[RankStatus]) -> u8 {
    let failed = ranks.iter().enumerate().find(|(_, rank)| rank.code() != 0);
    let Some((rank, how)) = failed else { return 0 };
    match how {
        RankStatus::Exited(code) => {
            eprintln!("fabricsim: rank {rank} ended with exit status {code} after MPI_Finalize")
        }
        RankStatus::Killed(signal) => {
            eprintln!("fabricsim: signal {signal} ended rank {rank} after MPI_Finalize")
        }
    }
    // A failed rank must not look good: 256 is 0 for a shell.
    match how.code() as u8 {
        0 => 1,
        code => code,
    }
}

pub(crate) fn mpirun(
    arguments: MpirunArguments,
    interpreters: Interpreters<'_>,
) -> Result<(), CommandFailure> {
    let mut overrides: Vec<Override> = arguments.set.iter().cloned().map(Override::from).collect();
    overrides.extend(arguments.machine.overrides());
    let mut source = ExperimentSource::of_file(&arguments.experiment, overrides)?;
    source.add_text(&job(&arguments));
    let experiment = Experiment::from_source(source, interpreters)?;
    let out = arguments
        .out
        .clone()
        .unwrap_or_else(|| default_folder(&arguments.command));
    let result = run::run_experiment(&experiment, &arguments.machine, &out)?;
    run::show_result(&experiment, result, &arguments.machine, &out)
}

/// The job of the program, as an experiment file has it.
fn job(arguments: &MpirunArguments) -> String {
    let text = |text: &str| serde_json::Value::from(text).to_string();
    let command: Vec<String> = arguments.command.iter().map(|word| text(word)).collect();
    let name = program_name(&arguments.command);
    let mut job = format!(
        "\n[[job]]\nname = {}\nworkload.command = [{}]\nworkload.ranks = {}\n",
        text(&name),
        command.join(", "),
        arguments.ranks
    );
    if let Some(compute) = &arguments.compute {
        job += &format!("workload.compute = {}\n", text(compute));
    }
    if let Some(ranks) = arguments.ranks_per_host {
        job += &format!("ranks_per_host = {ranks}\n");
    }
    job
}

/// The name of the program: of its script, if an interpreter runs one.
fn program_name(command: &[String]) -> String {
    let is_script = |word: &&String| word.ends_with(".py");
    let word = command.iter().find(is_script).or(command.first());
    let stem = word.and_then(|word| Path::new(word).file_stem());
    stem.map_or_else(|| "program".into(), |stem| stem.to_string_lossy().into_owned())
}

fn default_folder(command: &[String]) -> PathBuf {
    Path::new("results").join(program_name(command))
}
