//! The command line: one definition of each subcommand, without logic of its own. The `fabricsim` command of the
//! Python package calls the same function. The Python package implements the subcommands that need Python's
//! ecosystem; this command hands them over (`python.rs`).
//!
//! All processes of a run end with the same status ([`EXIT_STATUSES`]), and one of them prints the reason.

mod documents;
mod explain;
mod export;
mod list;
#[cfg(target_os = "linux")]
mod mpirun;
#[cfg(target_os = "linux")]
mod mpirun_options;
mod new;
mod progress;
mod python;
mod run;
mod trace;
mod verify;
mod view;

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{self, Write};
use std::iter;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use config::Override;
use experiment::{Equal, Interpreters};
use sim::Every;

/// Wrong input.
const WRONG_INPUT: u8 = 2;
/// Any other failure.
const FAILED: u8 = 1;
/// Interrupted from the keyboard.
const INTERRUPTED: u8 = 130;

/// Statuses with which the command ends, and when. Help and docs/quickstart.md show them.
pub const EXIT_STATUSES: [(u8, &str); 4] = [
    (0, "done"),
    (
        FAILED,
        "a file, a checkpoint or the output could not be written, or an internal check failed",
    ),
    (
        WRONG_INPUT,
        "wrong input: arguments, experiment, trace, damaged result, ranks that wait forever",
    ),
    (INTERRUPTED, "interrupted: Ctrl-C, SIGTERM, SIGHUP"),
];

/// The end of the help.
fn exit_statuses() -> String {
    let lines = EXIT_STATUSES.map(|(status, when)| format!("\n  {status:<4}{when}"));
    format!("Exit status:{}", lines.concat())
}

/// Simulates HPC and AI interconnects: what a network does to an application.
#[derive(Parser)]
#[command(name = "fabricsim", version, arg_required_else_help = true, after_help = exit_statuses())]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Write an experiment for a number of hosts, a topology, routers of a radix, links of a bandwidth and a workload;
    /// for several topologies, a sweep that compares them
    New(NewArguments),
    /// Run an experiment and write a result folder with tables and a report
    Run(RunArguments),
    #[cfg(target_os = "linux")]
    /// Run a real MPI program on a simulated network: every rank is a process, and its messages take the time that the
    /// network gives them
    Mpirun(MpirunArguments),
    /// Continue an interrupted run from its last checkpoint
    Resume(ResumeArguments),
    /// Check an experiment without running it: build the network, place the jobs, search for deadlocks, compute
    /// bounds of synthetic traffic
    Check(CheckArguments),
    /// List what an experiment can name: topologies, routings, patterns, ..., and its keys
    List(ListArguments),
    /// Inspect recorded traces
    #[command(subcommand)]
    Trace(TraceCommand),
    /// Regenerate report.html of a result folder
    Report(ReportArguments),
    /// Explain the time of each job: its critical path and what it waits for. The run must have collected timeline
    /// and waits
    Explain(ExplainArguments),
    /// Compare results side by side; the first is the baseline
    Compare(CompareArguments),
    /// Export a result to another tool's format: trace viewers, spreadsheets, graph programs
    Export(ExportArguments),
    /// Compare results with the checksums that they carry: tells files that have changed since the run wrote them
    Verify(VerifyArguments),
    /// Print the script that completes commands and options in a shell, for example
    /// `fabricsim completion bash > ~/.local/share/bash-completion/completions/fabricsim`
    Completion(CompletionArguments),
    /// Write a manual page for each command, which `man` shows from a folder man1 of its path
    Man(ManArguments),
    /// View results in the browser: link loads over time, histories, activity of ranks
    View(ViewArguments),
    /// Run many experiments that differ in some keys, and compare them: tables, curves, costs (needs the Python
    /// package)
    #[command(disable_help_flag = true)]
    Sweep(SweepArguments),
    /// Fit [mpi] and [network] to measurements of a machine: output of OSU micro-benchmarks, IMB, nccl-tests (needs the
    /// Python package)
    #[command(disable_help_flag = true)]
    Calibrate(CalibrateArguments),
}

#[derive(Args)]
struct NewArguments {
    /// Least number of hosts [default: one for each rank of the recording]
    #[arg(long, value_name = "NUMBER", required_unless_present = "trace", value_parser = whole_number::<u32>)]
    hosts: Option<u32>,
    /// Topology (fabricsim list topologies); several, by commas or options, make a sweep
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        required_unless_present = "preset"
    )]
    topology: Vec<String>,
    /// Greatest number of ports of a router
    #[arg(long, value_name = "PORTS", required_unless_present = "preset", value_parser = whole_number::<u32>)]
    radix: Option<u32>,
    /// Bandwidth of the links [default: 100 Gbps, or that of the preset]
    #[arg(long, value_name = "RATE")]
    bandwidth: Option<String>,
    /// Hosts : uplinks of a leaf, such as 2:1, of the topologies that have tapering
    #[arg(long, value_name = "RATIO")]
    tapering: Option<String>,
    /// Machine, with its topology, or hardware family (fabricsim list machines, hardware)
    #[arg(long, value_name = "NAME")]
    preset: Option<String>,
    /// Motif or pattern of synthetic traffic (fabricsim list motifs, patterns); traffic:NAME is a pattern that has the
    /// name of a motif
    #[arg(long, value_name = "NAME", default_value = "uniform")]
    workload: String,
    /// Recording or schedule of any trace format in place of a workload
    #[arg(long, value_name = "PATH", conflicts_with = "workload")]
    trace: Option<PathBuf>,
    /// What several topologies have in common: hosts (all links have the bandwidth); bisection or cable-bandwidth
    /// (links between routers have the bandwidth that gives each host the same part of the bisection, or of all
    /// cables); cost (they have the greatest bandwidth for a budget)
    #[arg(long, value_name = "WHAT", default_value = Equal::NAMES[0])]
    equal: String,
    /// Cost table (docs/formats/costs.md) of a sweep, which --equal cost needs
    #[arg(long, value_name = "FILE")]
    costs: Option<PathBuf>,
    /// With --equal cost, the most that each network costs [default: the cost of the first one if all links have the
    /// bandwidth]
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    budget: Option<f64>,
    /// File to write; a sweep also writes NAME-experiment.toml beside NAME.toml [default: print the experiment]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace existing files
    #[arg(long)]
    force: bool,
    /// Print JSON: paths of the written files, and the networks
    #[arg(long, requires = "out")]
    json: bool,
}

impl NewArguments {
    /// The command, for the comment at the top of a file.
    fn command(&self) -> String {
        let mut command = "fabricsim new".to_string();
        let mut add = |option: &str, value: Option<String>| {
            // A comment has one line.
            let value = value.map(|value| value.split_whitespace().collect::<Vec<_>>().join(" "));
            match value {
                Some(value) if value.contains(' ') => command += &format!(" --{option} \"{value}\""),
                Some(value) => command += &format!(" --{option} {value}"),
                None => {}
            }
        };
        add("preset", self.preset.clone());
        add("hosts", self.hosts.map(|hosts| hosts.to_string()));
        add(
            "topology",
            (!self.topology.is_empty()).then(|| self.topology.join(",")),
        );
        add("radix", self.radix.map(|radix| radix.to_string()));
        add("tapering", self.tapering.clone());
        add("bandwidth", self.bandwidth.clone());
        match &self.trace {
            Some(path) => add("trace", Some(path.display().to_string())),
            None => add("workload", Some(self.workload.clone())),
        }
        add("equal", (self.topology.len() > 1).then(|| self.equal.clone()));
        add(
            "costs",
            self.costs.as_ref().map(|path| path.display().to_string()),
        );
        add("budget", self.budget.map(|budget| budget.to_string()));
        command
    }
}

/// The experiment and its overrides.
#[derive(Args)]
struct ExperimentArguments {
    /// Experiment file (TOML)
    experiment: PathBuf,
    /// Override a key of the experiment, for example --set network.topology.groups=9 or
    /// --set job.0.traffic.load=0.3
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_value)]
    set: Vec<(String, String)>,
    /// Override all keys of a TOML file, such as a preset of `fabricsim calibrate`; --set comes before it
    #[arg(long = "set-file", value_name = "FILE")]
    set_file: Vec<PathBuf>,
}

impl ExperimentArguments {
    /// The overrides: those of files in their order, then single keys.
    fn overrides(&self) -> Result<Vec<Override>, CommandFailure> {
        let mut all = Vec::new();
        for path in &self.set_file {
            let file = path.display().to_string();
            let text = config::read_text(path, config::EXPERIMENT_BYTES)
                .map_err(|error| CommandFailure::wrong_input(format!("{file}: {error}")))?;
            let settings = config::read_settings(&text, &file);
            all.extend(settings.map_err(|error| CommandFailure::wrong_input(error.to_string()))?);
        }
        all.extend(self.set.iter().cloned().map(Override::from));
        Ok(all)
    }
}

#[derive(Args)]
struct RunArguments {
    #[command(flatten)]
    experiment: ExperimentArguments,
    #[command(flatten)]
    machine: MachineArguments,
    /// Result folder; replaces an earlier result [default: results/NAME for NAME.toml]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Router models (fabricsim list router-models), by commas: run with each, into a folder of its name inside the
    /// result folder, and print what differs. --set LEVEL:KEY=VALUE sets a key of one level
    #[arg(long, value_name = "LEVEL", value_delimiter = ',')]
    levels: Vec<String>,
    /// Also run each job of ranks alone, on the same hosts, and print its slowdown by the other jobs
    #[arg(long, conflicts_with_all = ["checkpoint_every", "checkpoint_every_simulated"])]
    interference: bool,
    /// Run even if the network does not fit into the memory that is free
    #[arg(long)]
    force: bool,
}

#[cfg(target_os = "linux")]
#[derive(Args)]
struct MpirunArguments {
    /// Number of ranks
    #[arg(short = 'n', long = "np", value_name = "RANKS", value_parser = whole_number::<u32>)]
    ranks: u32,
    /// Experiment file (TOML) with the network, and other jobs if there are any
    #[arg(long = "on", value_name = "FILE")]
    experiment: PathBuf,
    /// Ranks on each host
    #[arg(long = "ppn", short = 'N', value_name = "RANKS", value_parser = whole_number::<u32>)]
    ranks_per_host: Option<u32>,
    /// What computation between calls counts: measured (the CPU time that it takes here) or none
    #[arg(long, value_name = "WHAT")]
    compute: Option<String>,
    /// What the program's clocks show: simulated time or real time [default: simulated]
    #[arg(long, value_name = "WHAT")]
    clocks: Option<String>,
    /// Override a key of the experiment, for example --set network.link.bandwidth='"400 Gbps"'
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_value)]
    set: Vec<(String, String)>,
    #[command(flatten)]
    machine: MachineArguments,
    /// Result folder; replaces an earlier result [default: results/PROGRAM]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Set a variable of the program's environment (also -x and -genv)
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<String>,
    /// Working directory of the program
    #[arg(long, value_name = "DIR")]
    wdir: Option<String>,
    /// Begin each line that a rank prints with its number (also -l, --tag-output)
    #[arg(long)]
    label: bool,
    /// The program and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    command: Vec<String>,
}

/// How a run executes; the result is the same.
#[derive(Args)]
struct MachineArguments {
    /// auto, sequential, conservative or optimistic [default: run.executor of the experiment]
    #[arg(long)]
    executor: Option<String>,
    /// Threads per process, or auto [default: run.threads]
    #[arg(long, value_parser = threads)]
    threads: Option<String>,
    /// Write a checkpoint into the result folder at this wall-clock interval, for example 60s; `fabricsim resume DIR`
    /// continues from it
    #[arg(long, value_name = "TIME", value_parser = wall_time)]
    checkpoint_every: Option<Duration>,
    /// Write a checkpoint at this interval of simulated time, for example "50 us"
    #[arg(long, value_name = "TIME", value_parser = simulated_time, conflicts_with = "checkpoint_every")]
    checkpoint_every_simulated: Option<u64>,
    /// Print summary.json instead of a table
    #[arg(long)]
    json: bool,
    /// Print no table and no progress: the result folder has everything
    #[arg(short, long, conflicts_with = "json")]
    quiet: bool,
}

impl MachineArguments {
    /// As overrides of the experiment.
    fn overrides(&self) -> Vec<Override> {
        let executor = self
            .executor
            .as_ref()
            .map(|name| Override::by_option("--executor", "run.executor", format!("\"{name}\"")));
        let threads = self
            .threads
            .as_ref()
            .map(|threads| Override::by_option("--threads", "run.threads", threads));
        executor.into_iter().chain(threads).collect()
    }

    fn every(&self) -> Option<Every> {
        let wall = self.checkpoint_every.map(Every::Wall);
        wall.or(self.checkpoint_every_simulated.map(Every::Simulated))
    }
}

#[derive(Args)]
struct ResumeArguments {
    /// Result folder with the checkpoint of an interrupted run
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    #[command(flatten)]
    machine: MachineArguments,
}

#[derive(Args)]
struct CheckArguments {
    #[command(flatten)]
    experiment: ExperimentArguments,
    /// Check even if the network does not fit into the memory that is free
    #[arg(long)]
    force: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct ListArguments {
    /// Kind of parts; all kinds if left out. `presets`: those of applications, MPI libraries, machines and hardware
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(experiment::PART_KINDS))]
    kind: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand)]
enum TraceCommand {
    /// Print a summary of a trace: ranks, span, MPI calls, messages, compute share
    Info(TraceArguments),
}

#[derive(Args)]
struct TraceArguments {
    /// Trace: an OTF2 anchor file (*.otf2), the meta file of a DUMPI trace (*.meta), the file
    /// of rank 0 of a liballprof trace (*-0.txt), a GOAL schedule (*.goal), the file bgTrace of a
    /// BigSim trace, or the folder of one
    path: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct ReportArguments {
    /// Result folder
    result: PathBuf,
    /// Read damaged files too: their bytes are not those that the run wrote
    #[arg(long)]
    force: bool,
    /// Print JSON: the path of the report
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct ExplainArguments {
    /// Result folder; receives critical_path.parquet and critical_path.json
    result: PathBuf,
    /// Only this job [default: all jobs of ranks]
    #[arg(long, value_name = "NAME")]
    job: Option<String>,
    /// Read damaged files too: their bytes are not those that the run wrote
    #[arg(long)]
    force: bool,
    /// Print critical_path.json instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct ExportArguments {
    /// Result folder
    #[arg(value_name = "DIR")]
    result: PathBuf,
    /// Format
    #[arg(long, value_parser = export::formats())]
    format: String,
    /// File or folder to write; replaces an earlier export [default: beside DIR and named after it]
    #[arg(long, value_name = "FILE_OR_DIR")]
    out: Option<PathBuf>,
    /// csv: export only this table, as one file
    #[arg(long, value_name = "NAME")]
    table: Option<String>,
    /// perfetto: number of links with load curves, the busiest first [default: 16]
    #[arg(long, value_name = "NUMBER", value_parser = whole_number::<usize>)]
    links: Option<usize>,
    /// Read damaged files too: their bytes are not those that the run wrote
    #[arg(long)]
    force: bool,
    /// Print JSON: path of the export, and what it leaves out
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct CompareArguments {
    /// Result folders
    #[arg(required = true)]
    results: Vec<PathBuf>,
    /// Read damaged files too: their bytes are not those that the run wrote
    #[arg(long)]
    force: bool,
    /// Print JSON: a list of the results' names and summaries
    #[arg(long)]
    json: bool,
    /// Also write a page with plots: bars relative to the first result, distributions side by side (needs the Python
    /// package)
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Cost table (TOML) for the page: the cost of each network
    #[arg(long, value_name = "FILE", requires = "html")]
    costs: Option<PathBuf>,
}

impl CompareArguments {
    /// The command line for the Python package.
    fn with_page(&self, page: &Path) -> Vec<OsString> {
        let mut line: Vec<OsString> = vec!["compare".into(), "--html".into(), page.into()];
        if let Some(costs) = &self.costs {
            line.extend(["--costs".into(), costs.into()]);
        }
        if self.json {
            line.push("--json".into());
        }
        if self.force {
            line.push("--force".into());
        }
        // Everything after `--` is a folder, whatever its name.
        line.push("--".into());
        line.extend(self.results.iter().map(OsString::from));
        line
    }
}

/// `python/fabricsim/sweep/command.py` defines the options.
#[derive(Args)]
struct SweepArguments {
    /// Sweep file (TOML) and options; `fabricsim sweep --help` lists them
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "SWEEP.toml"
    )]
    arguments: Vec<OsString>,
}

/// `python/fabricsim/calibrate/command.py` defines the options.
#[derive(Args)]
struct CalibrateArguments {
    /// Output of benchmarks and options; `fabricsim calibrate --help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "FILE")]
    arguments: Vec<OsString>,
}

#[derive(Args)]
struct CompletionArguments {
    /// Shell
    shell: clap_complete::Shell,
}

#[derive(Args)]
struct ManArguments {
    /// Folder to write the pages into
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

#[derive(Args)]
struct VerifyArguments {
    /// Result folders
    #[arg(required = true, value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// Print JSON: a list of the folders and what is damaged in them
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct ViewArguments {
    /// Result folders, shown side by side
    #[arg(required = true, value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// Port on 127.0.0.1, for example for a tunnel [default: any free port]
    #[arg(long, default_value_t = 0, hide_default_value = true, value_parser = whole_number::<u16>)]
    port: u16,
    /// Read damaged files too: their bytes are not those that the run wrote
    #[arg(long)]
    force: bool,
    /// Print the address without opening a browser
    #[arg(long)]
    no_browser: bool,
    /// Print JSON: the address of the page
    #[arg(long)]
    json: bool,
}

/// Runs the command line; returns the exit status. `arguments` begin with the program's name. `interpreters` run
/// programs in other languages. `mpi_library` is the library of real MPI programs, if it is not beside this program.
pub fn main(
    arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>,
    interpreters: Interpreters<'_>,
    mpi_library: Option<PathBuf>,
) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
    #[cfg(target_os = "linux")]
    let arguments = match mpirun::read_options(arguments) {
        Ok(arguments) => arguments,
        Err(message) => return CommandFailure { message, status: 2 }.reported().status,
    };
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // Clap reports help and version as errors with status 0.
            let printed = error.print();
            return match error.exit_code() as u8 {
                0 => status(printed.map_err(unwritten)),
                failed => failed,
            };
        }
    };
    #[cfg(target_os = "linux")]
    let programs = online::OnlinePrograms::new(mpi_library);
    #[cfg(target_os = "linux")]
    let interpreters = &[interpreters, &[&programs]].concat()[..];
    #[cfg(not(target_os = "linux"))]
    let _ = mpi_library;
    let done = match cli.command {
        Command::New(arguments) => new::new(&arguments),
        Command::Run(arguments) => run::run(arguments, interpreters),
        #[cfg(target_os = "linux")]
        Command::Mpirun(arguments) => mpirun::mpirun(arguments, &programs, interpreters),
        Command::Resume(arguments) => run::resume(&arguments, interpreters),
        #[cfg(target_os = "linux")]
        Command::Check(arguments) if online::is_compiled(&arguments.experiment.experiment) => {
            mpirun::check(&arguments, &programs)
        }
        #[cfg(target_os = "linux")]
        Command::Check(arguments) if online::is_script(&arguments.experiment.experiment) => {
            Err(CommandFailure::wrong_input(format!(
                "{} is a script; check the compiled program that it starts, or the modules that it loads, such as \
                 mpi4py/MPI.mpich.*.so",
                arguments.experiment.experiment.display()
            )))
        }
        Command::Check(arguments) => run::check(&arguments, interpreters),
        Command::List(arguments) => list::list(&arguments),
        Command::Trace(TraceCommand::Info(arguments)) => trace::info(&arguments),
        Command::Report(arguments) => run::report(&arguments),
        Command::Explain(arguments) => explain::explain(&arguments),
        Command::Export(arguments) => export::export(arguments),
        Command::Compare(arguments) => match &arguments.html {
            Some(page) => python::hand_over("compare --html", &python::SWEEP, &arguments.with_page(page)),
            None => run::compare(&arguments),
        },
        Command::Sweep(SweepArguments { arguments }) => {
            let line: Vec<OsString> = iter::once("sweep".into()).chain(arguments).collect();
            python::hand_over("sweep", &python::SWEEP, &line)
        }
        Command::Calibrate(CalibrateArguments { arguments }) => {
            let line: Vec<OsString> = iter::once("calibrate".into()).chain(arguments).collect();
            python::hand_over("calibrate", &python::CALIBRATE, &line)
        }
        Command::Verify(arguments) => verify::verify(&arguments),
        Command::Completion(arguments) => documents::completion(arguments.shell),
        Command::Man(arguments) => documents::man(&arguments.folder),
        Command::View(arguments) => view::view(&arguments),
    };
    #[cfg(target_os = "linux")]
    let done = mpirun::end(&programs, done);
    status(done.and_then(|()| end_of_output()))
}

/// The status of what was done. Prints the reason of a failure.
fn status(done: Result<(), CommandFailure>) -> u8 {
    match done {
        Ok(()) => 0,
        Err(failure) => failure.reported().status,
    }
}

/// Why a command fails.
struct CommandFailure {
    message: String,
    status: u8,
}

impl CommandFailure {
    fn wrong_input(error: impl ToString) -> CommandFailure {
        CommandFailure {
            message: error.to_string(),
            status: WRONG_INPUT,
        }
    }

    /// For a failure that another process of the run reports.
    fn silent(status: u8) -> CommandFailure {
        CommandFailure {
            message: String::new(),
            status,
        }
    }

    /// Prints the message, once.
    fn reported(self) -> CommandFailure {
        if !self.is_silent() {
            eprintln!("fabricsim: {}", config::printable(&bounded(&self.message)));
        }
        CommandFailure::silent(self.status)
    }

    /// The failure, with the part of what was asked before its message.
    fn within(self, part: &str) -> CommandFailure {
        CommandFailure {
            message: format!("{part}{}", self.message),
            ..self
        }
    }

    fn is_silent(&self) -> bool {
        self.message.is_empty()
    }

    fn failed(error: impl ToString) -> CommandFailure {
        CommandFailure {
            message: error.to_string(),
            status: FAILED,
        }
    }
}

impl From<experiment::Error> for CommandFailure {
    fn from(error: experiment::Error) -> CommandFailure {
        sim::Error::from(error).into()
    }
}

impl From<sim::Error> for CommandFailure {
    fn from(error: sim::Error) -> CommandFailure {
        if let sim::Error::Experiment(experiment::Error::Several(mistakes)) = &error {
            let lines: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
            return CommandFailure::wrong_input(lines.join("\nfabricsim: "));
        }
        let status = match error {
            sim::Error::Elsewhere => return CommandFailure::silent(FAILED),
            sim::Error::Audit(_) | sim::Error::CheckpointNotWritten { .. } | sim::Error::Collect(_) => FAILED,
            sim::Error::Interrupted => INTERRUPTED,
            _ => WRONG_INPUT,
        };
        CommandFailure {
            message: error.to_string(),
            status,
        }
    }
}

/// The value of `run.threads`, as the experiment file has it.
fn threads(text: &str) -> Result<String, String> {
    match text.parse::<u32>() {
        Ok(number) => Ok(number.to_string()),
        Err(_) if text == "auto" => Ok("\"auto\"".into()),
        Err(_) => Err("expected a whole number or auto".into()),
    }
}

/// A whole number of an option. Clap's own messages do not say what was expected.
fn whole_number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    let greatest = u64::MAX >> (64 - 8 * size_of::<T>());
    text.parse()
        .map_err(|_| format!("expected a whole number, 0 to {greatest}"))
}

fn wall_time(text: &str) -> Result<Duration, String> {
    let ps = config::Duration::parse(text)?.ps;
    match Duration::from_nanos(ps / 1000) {
        Duration::ZERO => Err("expected a time such as 60s".into()),
        time => Ok(time),
    }
}

fn simulated_time(text: &str) -> Result<u64, String> {
    match config::Duration::parse(text)?.ps {
        0 => Err("expected a time such as \"50 us\"".into()),
        ps => Ok(ps),
    }
}

fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().into(), value.trim().into())),
        _ => Err("expected KEY=VALUE, for example run.seed=7".into()),
    }
}

/// Most characters of a message.
const MESSAGE: usize = 20_000;

/// A message without its end if it is long.
fn bounded(message: &str) -> Cow<'_, str> {
    match message.char_indices().nth(MESSAGE) {
        None => message.into(),
        Some((end, _)) => {
            let left_out = message[end..].chars().count();
            format!("{}... ({left_out} characters more)", &message[..end]).into()
        }
    }
}

/// The first error of printing.
static UNWRITTEN: Mutex<Option<io::Error>> = Mutex::new(None);

/// Prints a line. [`end_of_output`] tells whether all lines could be written.
fn print(text: impl std::fmt::Display) {
    let text = text.to_string();
    if let Err(error) = writeln!(io::stdout(), "{}", config::printable(&text)) {
        let mut first = UNWRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(error);
    }
}

/// Whether all lines were written. A closed pipe (`fabricsim ... | head`) is not an error.
fn end_of_output() -> Result<(), CommandFailure> {
    let flushed = io::stdout().flush();
    let mut first = UNWRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
    match first.take().or(flushed.err()) {
        Some(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(unwritten(error)),
        _ => Ok(()),
    }
}

fn unwritten(error: io::Error) -> CommandFailure {
    CommandFailure::failed(format!("cannot write the output: {error}"))
}
