//! `mpirun`: a real MPI program on a simulated network; the end of real programs of all commands.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::CommandFactory;
use config::Override;
use experiment::{Experiment, ExperimentSource, Interpreters};
use online::{OnlinePrograms, RankStatus};

use crate::{CheckArguments, CommandFailure, MpirunArguments, mpirun_options, print, run};

/// Ends the processes of all programs of a command, which has ended so. A rank that has failed makes the command fail,
/// with the rank's exit status.
pub(crate) fn end(programs: &OnlinePrograms, done: Result<(), CommandFailure>) -> Result<(), CommandFailure> {
    let aborted = programs.aborted();
    let ranks = programs.end();
    if let Err(failure) = done {
        let status = aborted.map_or(failure.status, |aborted| aborted as u8);
        return Err(CommandFailure { status, ..failure });
    }
    let failed = ranks.iter().enumerate().find(|(_, rank)| rank.code() != 0);
    let Some((rank, how)) = failed else { return Ok(()) };
    let message = match how {
        RankStatus::Exited(code) => format!("rank {rank} ended with exit status {code} after MPI_Finalize"),
        RankStatus::Killed(signal) => format!("signal {signal} ended rank {rank} after MPI_Finalize"),
    };
    // 256 is 0 for a shell, and a failed rank must not look good.
    let status = (how.code() as u8).max(1);
    Err(CommandFailure { message, status })
}

/// The command line, with the options of other `mpirun`s as ours.
///
/// # Errors
/// In one sentence.
pub(crate) fn read_options(arguments: Vec<OsString>) -> Result<Vec<OsString>, String> {
    if arguments.get(1).is_none_or(|command| command != "mpirun") {
        return Ok(arguments);
    }
    let ours = crate::Cli::command();
    let Some(ours) = ours.find_subcommand("mpirun") else {
        return Ok(arguments);
    };
    let read = mpirun_options::read(&arguments, ours)?;
    if !read.ignored.is_empty() {
        let ignored = read.ignored.join(", ");
        eprintln!("info: ignored: {ignored}; all ranks run here, and their hosts are those of job.placement");
    }
    Ok(read.line)
}

pub(crate) fn mpirun(
    arguments: MpirunArguments,
    programs: &OnlinePrograms,
    interpreters: Interpreters<'_>,
) -> Result<(), CommandFailure> {
    if arguments.label {
        programs.label_output();
    }
    let mut overrides: Vec<Override> = arguments.set.iter().cloned().map(Override::from).collect();
    overrides.extend(arguments.machine.overrides());
    let mut source = ExperimentSource::of_file(&arguments.experiment, overrides)?;
    let first_line = source.add_text(&job(&arguments));
    // The file does not have these lines.
    let of_options = |error: &mut config::Error| {
        let location = error.location.as_mut();
        if let Some(location) = location.filter(|location| location.line >= first_line) {
            *location = config::Location {
                file: "options of mpirun".into(),
                line: 0,
            };
        }
    };
    let experiment = Experiment::from_source(source, interpreters).map_err(|mut error| {
        match &mut error {
            experiment::Error::Config(error) => of_options(error),
            experiment::Error::Several(errors) => errors.iter_mut().for_each(of_options),
            _ => {}
        }
        error
    })?;
    let out = arguments
        .out
        .clone()
        .unwrap_or_else(|| default_folder(&arguments.command));
    let finished = run::run_experiment(&experiment, &arguments.machine, &out)?;
    run::show_result(&experiment, finished, &arguments.machine)
}

/// `check` of a compiled program: which MPI it needs, and whether all of it is there.
pub(crate) fn check(arguments: &CheckArguments, programs: &OnlinePrograms) -> Result<(), CommandFailure> {
    let needs = programs
        .needs(&arguments.experiment.experiment)
        .map_err(CommandFailure::wrong_input)?;
    if arguments.json {
        let report = serde_json::json!({
            "program": needs.file.display().to_string(),
            "library": needs.library.to_string(),
            "functions": needs.functions,
            "missing": needs.missing,
            "obstacle": needs.obstacle(),
        });
        print(format!("{report:#}"));
    } else {
        print(&needs);
    }
    match needs.obstacle() {
        Some(obstacle) => Err(CommandFailure::wrong_input(format!(
            "this program cannot run: {obstacle}"
        ))),
        None => Ok(()),
    }
}

/// The job of the program, as an experiment file has it.
fn job(arguments: &MpirunArguments) -> String {
    let text = |text: &str| serde_json::Value::from(text).to_string();
    let command: Vec<String> = surrounded(arguments).map(|word| text(&word)).collect();
    let name = program_name(&arguments.command);
    let mut job = format!(
        "[[job]]\nname = {}\nworkload.command = [{}]\nworkload.ranks = {}\n",
        text(&name),
        command.join(", "),
        arguments.ranks
    );
    if let Some(compute) = &arguments.compute {
        job += &format!("workload.compute = {}\n", text(compute));
    }
    if let Some(clocks) = &arguments.clocks {
        job += &format!("workload.clocks = {}\n", text(clocks));
    }
    if let Some(ranks) = arguments.ranks_per_host {
        job += &format!("ranks_per_host = {ranks}\n");
    }
    job
}

/// The command, started by `env` where its surroundings change.
fn surrounded(arguments: &MpirunArguments) -> impl Iterator<Item = String> {
    let mut words = Vec::new();
    if let Some(folder) = &arguments.wdir {
        words.push(format!("--chdir={folder}"));
    }
    words.extend(arguments.env.iter().cloned());
    if !words.is_empty() {
        words.insert(0, "env".into());
    }
    words.into_iter().chain(arguments.command.iter().cloned())
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
