//! `run`, on one or several levels, `resume`, `check`, `report`, `compare`.

use std::path::{Path, PathBuf};
use std::slice;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use cluster::Processes;
use config::Override;
use experiment::{Experiment, Interpreters};
use results::{RegenerateError, RepeatedRun, RunResult, RunningFolder, Summary, WriteError};
use serde_json::json;
use sim::{Checkpoint, Checkpoints, RunContext, RunControl};

use crate::verify::before_reading;
use crate::{
    CheckArguments, CommandFailure, CompareArguments, ExperimentArguments, INTERRUPTED, MachineArguments,
    ReportArguments, ResumeArguments, RunArguments,
};
use crate::{print, progress};

fn load(
    arguments: &ExperimentArguments,
    more: Vec<Override>,
    interpreters: Interpreters<'_>,
) -> Result<Experiment, CommandFailure> {
    let mut overrides = arguments.overrides()?;
    overrides.extend(more);
    Ok(Experiment::load_with(
        &arguments.experiment,
        overrides,
        interpreters,
    )?)
}

pub(crate) fn run(mut arguments: RunArguments, interpreters: Interpreters<'_>) -> Result<(), CommandFailure> {
    let processes = RunProcesses::join()?;
    let out = arguments
        .out
        .take()
        .unwrap_or_else(|| default_folder(&arguments.experiment.experiment));
    if !arguments.levels.is_empty() {
        return run_levels(processes, arguments, &out, interpreters);
    }
    let (experiment, finished) = run_into(&processes, &arguments, &out, interpreters)?;
    let Some(finished) = finished else { return Ok(()) };
    let given = &arguments.experiment;
    let repeated = RepeatedRun::new(&given.experiment, &given.set_file, &given.set, &out);
    show(&experiment, finished, &arguments.machine, &repeated)
}

/// Runs an experiment that is read already into a folder. In one process.
pub(crate) fn run_experiment(
    experiment: &Experiment,
    machine: &MachineArguments,
    out: &Path,
) -> Result<FinishedRun, CommandFailure> {
    let processes = RunProcesses::join()?;
    results::may_write(out).map_err(CommandFailure::wrong_input)?;
    let finished = execute(&processes, experiment, RunKind::Whole, machine, out)?;
    finished.ok_or_else(|| CommandFailure::silent(0))
}

/// Reads the experiment and runs it. The first process has the result.
fn run_into(
    processes: &RunProcesses,
    arguments: &RunArguments,
    out: &Path,
    interpreters: Interpreters<'_>,
) -> Result<(Experiment, Option<FinishedRun>), CommandFailure> {
    let experiment = processes.agree(|| {
        let experiment = load(&arguments.experiment, arguments.machine.overrides(), interpreters)?;
        if !arguments.force {
            sim::refuse_too_large(&experiment, processes.0.count())?;
        }
        results::may_write(out).map_err(CommandFailure::wrong_input)?;
        Ok(experiment)
    })?;
    let kind = match arguments.interference {
        true => RunKind::Interference,
        false => RunKind::Whole,
    };
    let finished = execute(processes, &experiment, kind, &arguments.machine, out)?;
    Ok((experiment, finished))
}

/// Runs the experiment on each level, a router model, into a folder of its name, and shows what differs. The levels
/// behind one that fails run, too; the status is that of the first one that failed.
fn run_levels(
    mut processes: RunProcesses,
    mut arguments: RunArguments,
    out: &Path,
    interpreters: Interpreters<'_>,
) -> Result<(), CommandFailure> {
    let levels = std::mem::take(&mut arguments.levels);
    let set = std::mem::take(&mut arguments.experiment.set);
    processes.agree(|| check_levels(&levels, &set))?;
    let (mut results, mut first_failure) = (Vec::new(), None);
    for level in &levels {
        // What all levels share comes before what one of them has for itself.
        let model = ("network.router.model".to_string(), format!("\"{level}\""));
        let shared = set.iter().filter(|(key, _)| !key.contains(':')).cloned();
        let own = set.iter().filter_map(|(key, value)| {
            let key = key.strip_prefix(level.as_str())?.strip_prefix(':')?;
            Some((key.to_string(), value.clone()))
        });
        arguments.experiment.set = shared.chain([model]).chain(own).collect();
        processes.1 = format!("level {level}: ");
        match run_into(&processes, &arguments, &out.join(level), interpreters) {
            Ok((_, run)) => results.extend(run.map(|run| (level.as_str(), run.result.summary))),
            Err(failure) if failure.status == INTERRUPTED => return Err(failure),
            Err(failure) => {
                first_failure.get_or_insert(failure);
            }
        }
    }
    if arguments.machine.json {
        print_summaries(&results)?;
    } else if !results.is_empty() && !arguments.machine.quiet {
        print(results::compare(&results));
        print(format!("results {}", out.display()));
    }
    match first_failure {
        Some(failure) => Err(failure),
        None => Ok(()),
    }
}

/// Checks the names of levels, those before keys included.
fn check_levels(levels: &[String], set: &[(String, String)]) -> Result<(), CommandFailure> {
    let known = experiment::listing("router-models").unwrap_or_default();
    let known: Vec<&str> = known.iter().map(|model| model.name.as_ref()).collect();
    for (number, level) in levels.iter().enumerate() {
        if !known.contains(&level.as_str()) {
            return Err(CommandFailure::wrong_input(format!(
                "--levels: there is no router model '{level}'; expected some of {}",
                known.join(", ")
            )));
        }
        if levels[..number].contains(level) {
            return Err(CommandFailure::wrong_input(format!(
                "--levels: {level} is given twice"
            )));
        }
    }
    for (key, value) in set {
        let Some((level, rest)) = key.split_once(':') else {
            continue;
        };
        if !levels.iter().any(|known| known == level) {
            return Err(CommandFailure::wrong_input(format!(
                "--set {key}={value}: {level} is none of the levels {}; expected LEVEL:KEY=VALUE, such as {}:{rest}={value}",
                levels.join(", "),
                levels[0]
            )));
        }
    }
    Ok(())
}

pub(crate) fn resume(
    arguments: &ResumeArguments,
    interpreters: Interpreters<'_>,
) -> Result<(), CommandFailure> {
    let processes = RunProcesses::join()?;
    let (checkpoint, experiment) = processes.agree(|| {
        results::refuse_in_use(&arguments.folder).map_err(CommandFailure::wrong_input)?;
        let file = arguments.folder.join(results::CHECKPOINT);
        if !file.exists() {
            let folder = arguments.folder.display();
            return Err(CommandFailure::wrong_input(format!(
                "{folder} holds no checkpoint ({}); `fabricsim run ... --out {folder} --checkpoint-every 60s` writes them",
                results::CHECKPOINT
            )));
        }
        let checkpoint = Checkpoint::load(&file)?;
        let experiment = checkpoint.experiment(&arguments.machine.overrides(), interpreters)?;
        Ok((checkpoint, experiment))
    })?;
    // The checkpoint has the experiment, and not the name of its file.
    let repeated = RepeatedRun {
        out: arguments.folder.display().to_string(),
        ..RepeatedRun::default()
    };
    if processes.is_first() && !arguments.machine.json && !arguments.machine.quiet {
        let time = config::Duration {
            ps: checkpoint.time_ps(),
        };
        print(format!("continues from {time} of simulated time"));
    }
    let (kind, folder) = (RunKind::Rest(&checkpoint), &arguments.folder);
    match execute(&processes, &experiment, kind, &arguments.machine, folder)? {
        Some(finished) => show(&experiment, finished, &arguments.machine, &repeated),
        None => Ok(()),
    }
}

/// The part of an experiment that runs.
#[derive(Clone, Copy)]
enum RunKind<'a> {
    /// The whole experiment.
    Whole,
    /// Everything after a checkpoint.
    Rest(&'a Checkpoint),
    /// The whole experiment, and each job alone.
    Interference,
}

/// A run that wrote its result.
pub(crate) struct FinishedRun {
    result: RunResult,
    /// Where the result is: the folder may have been moved.
    folder: PathBuf,
}

/// Runs an experiment and writes the result into a folder. The first process has it.
fn execute(
    processes: &RunProcesses,
    experiment: &Experiment,
    kind: RunKind<'_>,
    machine: &MachineArguments,
    out: &Path,
) -> Result<Option<FinishedRun>, CommandFailure> {
    let control = Arc::new(RunControl::new());
    let interrupt = control.clone();
    stop_on_interrupt(interrupt);
    let running = processes.agree(|| {
        let resumes = matches!(kind, RunKind::Rest(_));
        let begin = || {
            let settings = experiment.settings.clone();
            RunningFolder::begin(out, settings, now(), sim::running_tables(), resumes)
        };
        processes
            .is_first()
            .then(begin)
            .transpose()
            .map_err(|error| match error {
                WriteError::InUse { .. } | WriteError::Link(_) => CommandFailure::wrong_input(error),
                _ => CommandFailure::failed(error),
            })
    })?;
    // The first process writes the checkpoints.
    let checkpoints = machine.every().map(|every| Checkpoints {
        file: match &running {
            Some(running) => running.checkpoint(),
            None => out.join(results::CHECKPOINT).into(),
        },
        every,
    });
    let parts = running.as_ref().map(RunningFolder::parts);
    let replay = (parts.as_ref()).and_then(|parts| sim::leave_operations(experiment, parts));
    let context = RunContext {
        processes: &processes.0,
        checkpoints: checkpoints.as_ref(),
        from: match kind {
            RunKind::Rest(checkpoint) => Some(checkpoint),
            RunKind::Whole | RunKind::Interference => None,
        },
        partition: None,
        parts: parts.as_ref(),
    };
    let bar = (processes.is_first() && !machine.quiet)
        .then(|| progress::show(&control, experiment.run.latest_end().map(|t| t.ps())));
    processes.agree(|| {
        let result = match kind {
            RunKind::Interference => sim::run_with_interference(experiment, &control, &context),
            RunKind::Whole | RunKind::Rest(_) => sim::run_in(experiment, &control, &context),
        };
        if let Some(bar) = bar {
            bar.finish();
        }
        // What the end of the ranks' processes makes of a run is no error of theirs.
        let result = result.map_err(|error| match INTERRUPTED_BY_USER.load(Ordering::Relaxed) {
            true => interrupted(running.as_ref()),
            false => error.into(),
        })?;
        let (Some(mut result), Some(running)) = (result, running) else {
            return Ok(None);
        };
        result.replay = replay;
        let folder = running.write(&result).map_err(CommandFailure::failed)?;
        Ok(Some(FinishedRun { result, folder }))
    })
}

/// The failure of an interrupted run, with the command that continues it if there is a checkpoint.
fn interrupted(running: Option<&RunningFolder>) -> CommandFailure {
    let mut failure = CommandFailure::from(sim::Error::Interrupted);
    let checkpoint = running.and_then(|running| running.checkpoint().now().ok());
    if let Some(folder) = checkpoint
        .filter(|file| file.exists())
        .as_deref()
        .and_then(Path::parent)
    {
        failure.message += &format!(
            "; `fabricsim resume {}` continues from the last checkpoint",
            folder.display()
        );
    }
    failure
}

/// Whether Ctrl-C or a signal has ended a run.
static INTERRUPTED_BY_USER: AtomicBool = AtomicBool::new(false);

/// Lets Ctrl-C, SIGTERM and SIGHUP stop this run, the latest one of the process.
fn stop_on_interrupt(control: Arc<RunControl>) {
    static CURRENT: Mutex<Option<Arc<RunControl>>> = Mutex::new(None);
    let current = || CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
    *current() = Some(control);
    INTERRUPTED_BY_USER.store(false, Ordering::Relaxed);
    // Fails only if a handler exists already, as in a second run within one process.
    let _ = ctrlc::set_handler(move || {
        INTERRUPTED_BY_USER.store(true, Ordering::Relaxed);
        if let Some(control) = &*current() {
            control.stop();
        }
        // A rank that computes without an end would never see it.
        #[cfg(target_os = "linux")]
        online::interrupt();
    });
}

/// Prints a result. The commands that the verdict proposes repeat the run.
fn show(
    experiment: &Experiment,
    FinishedRun { result, folder }: FinishedRun,
    machine: &MachineArguments,
    repeated: &RepeatedRun,
) -> Result<(), CommandFailure> {
    if machine.quiet {
        return Ok(());
    }
    if !machine.json
        && let Some(sizing) = &experiment.sizing
    {
        print(format!("sizing  {sizing}"));
    }
    if machine.json {
        print(serde_json::to_string_pretty(&result.summary).map_err(CommandFailure::failed)?);
    } else {
        let name = folder
            .file_name()
            .map_or_else(|| "result".into(), |n| n.to_string_lossy());
        let verdict = result.summary.verdict.clone();
        print(results::compare(&[(&name, result.summary)]));
        if let Some(verdict) = verdict {
            print(verdict.text(Some(repeated)).trim_end());
        }
        print(format!(
            "result  {}\nreport  {}",
            folder.display(),
            folder.join("report.html").display()
        ));
    }
    Ok(())
}

/// Prints the result of a run of real programs, which the experiment in its folder replays.
pub(crate) fn show_result(
    experiment: &Experiment,
    finished: FinishedRun,
    machine: &MachineArguments,
) -> Result<(), CommandFailure> {
    let folder = &finished.folder;
    let repeated = RepeatedRun::new(&folder.join(results::REPLAY), &[], &[], folder);
    show(experiment, finished, machine, &repeated)
}

/// Prints summaries with their names, as JSON.
fn print_summaries(named: &[(&str, Summary)]) -> Result<(), CommandFailure> {
    let all: Vec<_> = (named.iter())
        .map(|(name, summary)| json!({ "name": name, "summary": summary }))
        .collect();
    print(serde_json::to_string_pretty(&all).map_err(CommandFailure::failed)?);
    Ok(())
}

/// Seconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// The processes of a run; the first one prints. The text is the part of what was asked that they do, for messages.
struct RunProcesses(cluster::ProcessGroup, String);

impl RunProcesses {
    fn join() -> Result<RunProcesses, CommandFailure> {
        let group = cluster::join().map_err(CommandFailure::wrong_input)?;
        Ok(RunProcesses(group, String::new()))
    }

    fn is_first(&self) -> bool {
        self.0.index() == 0
    }

    /// Runs `work` in all processes. If it fails in any, it fails in all with the same status. The first failed
    /// process prints the message at once, because the launcher ends all processes as soon as one ends with an error.
    fn agree<T>(&self, work: impl FnOnce() -> Result<T, CommandFailure>) -> Result<T, CommandFailure> {
        let done = work();
        let mine = self.0.index() as u64;
        // The process that failed reports its own failure.
        let reporter = match &done {
            Err(failure) if !failure.is_silent() => mine << 8 | u64::from(failure.status),
            _ => u64::MAX,
        };
        let mut values = [reporter, u64::from(done.is_ok())];
        self.0.least(&mut values);
        match done {
            Ok(done) if values[1] == 1 => Ok(done),
            Err(failure) if values[0] == u64::MAX => Err(failure),
            Err(failure) if values[0] == reporter => Err(failure.within(&self.1).reported()),
            _ => Err(CommandFailure::silent((values[0] & 0xFF) as u8)),
        }
    }
}

/// `results/NAME` for `NAME.toml`.
fn default_folder(experiment: &Path) -> PathBuf {
    Path::new("results").join(experiment.file_stem().unwrap_or("experiment".as_ref()))
}

pub(crate) fn check(
    arguments: &CheckArguments,
    interpreters: Interpreters<'_>,
) -> Result<(), CommandFailure> {
    let experiment = load(&arguments.experiment, Vec::new(), interpreters)?;
    if !arguments.force {
        sim::refuse_too_large(&experiment, 1)?;
    }
    let report = sim::check(&experiment)?;
    if arguments.json {
        print(serde_json::to_string_pretty(&report).map_err(CommandFailure::failed)?);
    } else {
        print(&report);
    }
    match report.deadlock_free {
        Some(false) => Err(CommandFailure::wrong_input(
            "this network can deadlock, see above",
        )),
        _ => Ok(()),
    }
}

pub(crate) fn report(arguments: &ReportArguments) -> Result<(), CommandFailure> {
    before_reading(slice::from_ref(&arguments.result), arguments.force);
    let path = results::regenerate_report(&arguments.result).map_err(|error| match error {
        RegenerateError::Write(_) => CommandFailure::failed(error),
        RegenerateError::Read(_) => CommandFailure::wrong_input(error),
    })?;
    if arguments.json {
        print(json!({ "report": path.display().to_string() }));
    } else {
        print(path.display());
    }
    Ok(())
}

pub(crate) fn compare(arguments: &CompareArguments) -> Result<(), CommandFailure> {
    before_reading(&arguments.results, arguments.force);
    let mut summaries = Vec::new();
    for folder in &arguments.results {
        let name = folder
            .file_name()
            .map_or_else(|| folder.display().to_string(), |n| n.to_string_lossy().into());
        let summary = Summary::load(folder).map_err(CommandFailure::wrong_input)?;
        let summary = results::explained_summary(folder, &summary).map_err(CommandFailure::wrong_input)?;
        summaries.push((name, summary));
    }
    let named: Vec<(&str, Summary)> = summaries
        .iter()
        .map(|(name, s)| (name.as_str(), s.clone()))
        .collect();
    if arguments.json {
        return print_summaries(&named);
    }
    print(results::compare(&named));
    if let ([folder], [(_, summary)]) = (arguments.results.as_slice(), named.as_slice())
        && let Some(verdict) = &summary.verdict
    {
        let repeated = RepeatedRun {
            out: folder.display().to_string(),
            ..RepeatedRun::default()
        };
        print(verdict.text(Some(&repeated)).trim_end());
    }
    Ok(())
}
