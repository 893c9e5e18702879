//! The experiment file: reads it and builds its parts.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use config::{
    AutoOrNumber, Bytes, DefaultValue, Duration, Override, Parameter, RoundedRate, Section, Type, parameters,
};
use des::{Executor, Optimism, Pace, Time};
use fabric::Measured;
use serde::{Deserialize, Serialize};
use workload::Interpreters;

use results::{AssumedValue, Assumptions};

use crate::Error;
use crate::setup::collect::CollectSetting;
use crate::setup::job::{self, Job, JobKind};
use crate::setup::job_trace::TraceSchedule;
use crate::setup::limits::{LATEST, at_most};
use crate::setup::network::NetworkModel;
use crate::setup::network_preset;
use crate::setup::power::PowerSetting;
use crate::setup::sizing::{self, NetworkSizing};

/// Everything that a run needs, built and checked.
///
/// A program with its own workload may replace the jobs of the file, see [`RankJob`](crate::RankJob).
pub struct Experiment {
    /// The network.
    pub network: Arc<NetworkModel>,
    /// The jobs.
    pub jobs: Arc<[Job]>,
    /// The settings of the run.
    pub run: RunSetting,
    /// What is collected during the run.
    pub collect: CollectSetting,
    /// What routers, links, NICs and hosts draw; `None` without the table `[power]`.
    pub power: Option<Arc<PowerSetting>>,
    /// All settings with all defaults, as the result prints them.
    pub settings: serde_json::Value,
    /// Data rates that are not whole numbers of bits per second, with the rates that are used.
    pub rounded_rates: Vec<RoundedRate>,
    /// Values from presets and defaults that have no source.
    pub assumptions: Assumptions,
    /// How the network got its size; `None` without `network.radix`.
    pub sizing: Option<NetworkSizing>,
    /// Whether the experiment names no routing algorithm, and the network has the default of its topology.
    pub routing_is_default: bool,
    /// The schedule of `[job_trace]`; `None` without it.
    pub schedule: Option<TraceSchedule>,
    /// Text and file of the experiment; `None` if a program made it.
    pub source: Option<ExperimentSource>,
}

/// An experiment as it was given.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ExperimentSource {
    /// The TOML text.
    pub(crate) text: String,
    /// File name in messages.
    pub(crate) file: String,
    /// Base of relative paths; absolute.
    pub folder: PathBuf,
    /// Overrides, in order.
    pub overrides: Vec<Override>,
}

/// How credits return, `[run] credits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreditSetting {
    /// In batches, where that changes no result.
    Auto,
    /// Each credit by itself.
    Each,
}

impl CreditSetting {
    /// Names in experiments, in the order of the variants.
    pub const NAMES: [&str; 2] = ["auto", "each"];
}

/// Whether an experiment without jobs that end is refused.
#[derive(Clone, Copy)]
struct NeedsJobs(bool);

/// Most threads of a process.
const MOST_THREADS: usize = 1024;

/// The settings of a run.
#[derive(Clone, Debug)]
pub struct RunSetting {
    /// End of the run; `None` if the run ends by itself.
    pub until: Option<Time>,
    /// Start of the measurement of latencies, loads and link statistics.
    pub warmup: Time,
    /// Longest time for which the run goes on after `until`, until all measured packets have arrived; 0: it ends there.
    pub drain: Time,
    /// Seed of all random streams.
    pub seed: u64,
    /// The algorithm that executes events.
    pub executor: Executor,
    /// Threads of each process; [`RunSetting::AUTO_THREADS`] for as many as the executor finds useful.
    pub threads: usize,
    /// When the executor `auto` goes on with another one. No key has it.
    pub pace: Pace,
    /// Limits of speculation of the optimistic executor.
    pub optimism: Optimism,
    /// Interval of the checks whether ranks wait forever, beside synthetic traffic.
    pub watchdog: Time,
    /// How credits return.
    pub credits: CreditSetting,
}

impl ExperimentSource {
    /// A TOML text with the file name for messages. Paths in it are relative to the current folder.
    pub fn of_text(text: &str, file: &str, overrides: Vec<Override>) -> ExperimentSource {
        ExperimentSource {
            text: text.into(),
            file: file.into(),
            folder: PathBuf::new(),
            overrides,
        }
    }

    /// A TOML file. Paths in it are relative to its folder.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn of_file(path: &Path, overrides: Vec<Override>) -> Result<ExperimentSource, Error> {
        let text = config::read_text(path, config::EXPERIMENT_BYTES).map_err(|source| Error::File {
            path: path.display().to_string(),
            source,
        })?;
        Ok(ExperimentSource {
            text,
            file: path.display().to_string(),
            folder: path.parent().unwrap_or(Path::new("")).to_path_buf(),
            overrides,
        })
    }
}

impl ExperimentSource {
    /// Adds text at the end, such as a table of one more job. Its first line, as errors have it.
    pub fn add_text(&mut self, text: &str) -> u32 {
        self.text.push('\n');
        let line = 1 + self.text.matches('\n').count();
        self.text.push_str(text);
        line as u32
    }
}

impl Experiment {
    /// Reads an experiment file and builds its parts. Paths in the file are relative to its folder.
    ///
    /// `overrides` are `--set key=value` pairs, applied in order.
    ///
    /// # Errors
    /// The file cannot be read; otherwise as [`Experiment::from_toml`].
    pub fn load(path: &Path, overrides: &[(String, String)]) -> Result<Experiment, Error> {
        let overrides = overrides.iter().cloned().map(Override::from).collect();
        Experiment::load_with(path, overrides, &[])
    }

    /// As [`Experiment::load`], with overrides from several places, and interpreters of programs in other languages.
    ///
    /// # Errors
    /// As [`Experiment::load`].
    pub fn load_with(
        path: &Path,
        overrides: Vec<Override>,
        interpreters: Interpreters<'_>,
    ) -> Result<Experiment, Error> {
        Experiment::from_source(ExperimentSource::of_file(path, overrides)?, interpreters)
    }

    /// Builds an experiment again from its source.
    ///
    /// # Errors
    /// An input of the experiment is missing or has changed.
    pub fn from_source(
        mut source: ExperimentSource,
        interpreters: Interpreters<'_>,
    ) -> Result<Experiment, Error> {
        let (mut experiment, jobs) = Experiment::read_parts(&source, interpreters, NeedsJobs(true))?;
        experiment.jobs = jobs.into();
        // A process with another working directory may resume the run.
        source.folder = std::path::absolute(folder_of(&source.folder)).unwrap_or(source.folder);
        experiment.source = Some(source);
        Ok(experiment)
    }

    /// Builds the parts that a TOML text names. Messages use `file` as the file name. Paths in the text are relative to
    /// the current folder.
    ///
    /// # Errors
    /// Any mistake in the text, with file, line and key.
    pub fn from_toml(text: &str, file: &str, overrides: &[(String, String)]) -> Result<Experiment, Error> {
        Experiment::from_toml_with(text, file, overrides, &[])
    }

    /// As [`Experiment::from_toml`], with interpreters of programs in other languages.
    ///
    /// # Errors
    /// As [`Experiment::from_toml`].
    pub fn from_toml_with(
        text: &str,
        file: &str,
        overrides: &[(String, String)],
        interpreters: Interpreters<'_>,
    ) -> Result<Experiment, Error> {
        let overrides = overrides.iter().cloned().map(Override::from).collect();
        Experiment::from_source(ExperimentSource::of_text(text, file, overrides), interpreters)
    }

    /// Builds the experiment of a session: with one job more than those of its source, which may have none. The last
    /// job is the one that `job` makes of the network and the other jobs. The run has no end of its own, whatever the
    /// source says, and the sequential executor. Credits return singly, as a run that is repeated with single credits
    /// would ask the programs again.
    ///
    /// # Errors
    /// As [`Experiment::from_toml`], and those of `job`.
    pub fn for_session<E: From<Error>>(
        source: &ExperimentSource,
        interpreters: Interpreters<'_>,
        job: impl FnOnce(&NetworkModel, &[Job]) -> Result<Job, E>,
    ) -> Result<Experiment, E> {
        let (mut experiment, mut jobs) = Experiment::read_parts(source, interpreters, NeedsJobs(false))?;
        jobs.push(job(&experiment.network, &jobs)?);
        experiment.jobs = jobs.into();
        Ok(experiment)
    }

    /// Name of the routing algorithm.
    pub fn routing_name(&self) -> &str {
        self.settings["network"]["routing"]["algorithm"]
            .as_str()
            .unwrap_or_default()
    }

    /// The experiment without jobs, and its jobs.
    fn read_parts(
        source: &ExperimentSource,
        interpreters: Interpreters<'_>,
        needs_jobs: NeedsJobs,
    ) -> Result<(Experiment, Vec<Job>), Error> {
        let mut root = Section::from_toml_in(&source.folder, &source.text, &source.file)?;
        for set in &source.overrides {
            root.set_from(&set.key, &set.value, set.location())?;
        }
        root.tolerate_mistakes();
        let mut errors = Vec::new();
        let read = Experiment::read_root(&mut root, &source.folder, interpreters, needs_jobs, &mut errors);
        match read {
            Ok(read) => match root.mistakes(errors) {
                None => Ok(read),
                Some(mistakes) => Err(Error::of_mistakes(mistakes)),
            },
            Err(Error::Config(error)) => {
                errors.push(error.clone());
                let mistakes = root.mistakes(errors);
                Err(mistakes.map_or(Error::Config(error), Error::of_mistakes))
            }
            // What cannot be read may be a consequence of a mistake.
            Err(error) => Err(root.mistakes(errors).map_or(error, Error::of_mistakes)),
        }
    }

    /// `errors` receives those of tables that do not end the reading.
    fn read_root(
        root: &mut Section,
        folder: &Path,
        interpreters: Interpreters<'_>,
        needs_jobs: NeedsJobs,
        errors: &mut Vec<config::Error>,
    ) -> Result<(Experiment, Vec<Job>), Error> {
        // Table names are checked before values, so that a misspelt table is not reported as missing.
        const TABLES: [&str; 7] = ["collect", "job", "job_trace", "mpi", "network", "power", "run"];
        let names = root.keys();
        if let Some(unknown) = names.iter().find(|name| !TABLES.contains(&name.as_str())) {
            return Err(root.unknown_key(unknown, TABLES).into());
        }
        let mut assumptions = network_preset::apply(root)?;
        assumptions.values.extend(assumed_defaults(root));
        let sizing = sizing::apply(root)?;
        let routing_is_default = !root.gives("network.routing.algorithm");
        // The result prints tables in the order in which they are read.
        if !needs_jobs.0 {
            root.remove("run", "until");
            root.set("run.executor", "\"sequential\"")?;
            root.set("run.credits", "\"each\"")?;
        }
        for table in ["network", "mpi", "run", "collect"] {
            root.section(table)?;
        }
        root.sections("job")?;
        if root.has("job_trace") {
            root.section("job_trace")?;
        }
        // These tables do not depend on each other: each is read, whatever is wrong in the others.
        let run = RunSetting::read(root.section("run")?);
        let network = NetworkModel::read(root.section("network")?);
        let mpi = mpi::MpiSettings::read(root.section("mpi")?)?;
        errors.extend(run.as_ref().err().cloned());
        let (network, mut run) = (network?, run?);
        let collect =
            CollectSetting::read(root.section("collect")?, &network, (run.until, run.latest_end()))?;
        // Results without the table do not mention it.
        let in_flits = network
            .router_models
            .all()
            .find(|model| model.capabilities().flits.is_some());
        if let Some(model) = in_flits.filter(|_| root.has("power")) {
            let message = format!(
                "the energy of links is counted by packet, and the router model \"{}\" moves flits; expected no table \
                 [power], or another network.router.model",
                model.name()
            );
            return Err(root.error("power", message).into());
        }
        let power = match root.has("power") {
            true => Some(Arc::new(PowerSetting::read(
                root.section("power")?,
                network.topology.as_ref(),
            )?)),
            false => None,
        };
        let folder = folder_of(folder);
        let has_jobs = !root.sections("job")?.is_empty() || root.has("job_trace");
        let jobs = match has_jobs || needs_jobs.0 {
            true => job::read_jobs(root, &network, &mpi, run.seed, &folder, interpreters),
            false => Ok((Vec::new(), None)),
        };
        if jobs.is_err() {
            // Jobs read no key of these tables, so that their unknown keys are known.
            for table in ["network", "mpi", "run", "collect"] {
                root.section(table)?.finish()?;
            }
        }
        let (jobs, schedule) = jobs?;
        if jobs.iter().all(Job::is_traffic) {
            assumptions.values.retain(|value| !value.key.starts_with("mpi."));
        }
        if let Some(job) = jobs.iter().find(|job| job.reacts()) {
            run.only_forwards(root.section("run")?, &job.name)?;
        }
        let settings = root.finish()?;
        if needs_jobs.0
            && run.until.is_none()
            && jobs.iter().all(|job| matches!(job.kind, JobKind::Traffic(_)))
        {
            let message =
                "missing: synthetic traffic never ends by itself; expected a time such as \"100 us\"";
            return Err(root.section("run")?.error("until", message).into());
        }
        if run.drains() && !jobs.iter().all(Job::is_traffic) {
            let message = "the run ends when all ranks have finished, and measures until then; expected only jobs of \
                           synthetic traffic, or no drain phase";
            return Err(root.section("run")?.error("drain", message).into());
        }
        if collect.network_latency && !jobs.iter().any(Job::is_traffic) {
            let message = "only packets of synthetic traffic carry their wait at the source, and this experiment has \
                           none; expected a job with the key traffic, or false";
            return Err(root.section("collect")?.error("network_latency", message).into());
        }
        let experiment = Experiment {
            network: Arc::new(network),
            jobs: Arc::new([]),
            run,
            collect,
            power,
            settings,
            rounded_rates: root.rounded_rates(),
            assumptions,
            sizing,
            routing_is_default,
            schedule,
            source: None,
        };
        Ok((experiment, jobs))
    }
}

/// Values of `[mpi]` that neither the experiment nor its presets give, and that depend on the machine.
fn assumed_defaults(root: &Section) -> Vec<AssumedValue> {
    let assumed = mpi::MpiSettings::ASSUMED.iter().filter_map(|(name, reason)| {
        let key = format!("mpi.{name}");
        let parameter = mpi::MpiSettings::PARAMETERS
            .iter()
            .find(|parameter| parameter.name == *name)?;
        let value = parameter.default.to_json();
        (!root.gives(&key)).then(|| AssumedValue {
            key,
            value: value.as_str().unwrap_or_default().into(),
            preset: None,
            reason: (*reason).into(),
        })
    });
    assumed.collect()
}

fn folder_of(folder: &Path) -> PathBuf {
    if folder.as_os_str().is_empty() {
        PathBuf::from(".")
    } else {
        folder.to_path_buf()
    }
}

/// Keys of `[run]`, beside the table `optimistic`.
pub const RUN: &[Parameter] = parameters! {
    computed("until", Type::Time, "none",
        "end of the run, unless all ranks finish earlier; at most 100 days");
    time("warmup", "0 ps", "start of latencies, loads and link counters");
    time("drain", "0 ps",
        "longest time after `until` for which measured packets of synthetic traffic are awaited");
    integer("seed", 1, "seed of all random choices");
    new("executor", Type::Choice(&Executor::NAMES), DefaultValue::Text("auto"),
        "how events are executed; the result is the same");
    new("threads", Type::Either(&[Type::Integer, Type::Choice(&["auto"])]), DefaultValue::Text("auto"),
        "threads of each process, 1 to 1024; the result is the same");
    time("watchdog", "1 ms", "simulated time between two deadlock checks of the ranks");
    choice("credits", &CreditSetting::NAMES, "how credits return; the result is the same");
};

impl RunSetting {
    /// Whether the run goes on after the measured part until the measured packets have arrived.
    pub fn drains(&self) -> bool {
        self.drain > Time::ZERO
    }

    /// The latest end of the run; `None` if it ends by itself.
    pub fn latest_end(&self) -> Option<Time> {
        self.until.map(|until| until + self.drain)
    }

    /// As many threads as the executor finds useful.
    pub const AUTO_THREADS: usize = 0;

    /// Most threads of each of so many processes that the executor uses.
    pub fn threads_of_executor(&self, processes: usize) -> usize {
        match (self.executor, self.threads) {
            (Executor::Sequential | Executor::ReverseCheck, _) => 1,
            // As many as the process may run at once. Several processes may share a machine.
            (Executor::Auto, RunSetting::AUTO_THREADS) if processes == 1 => {
                std::thread::available_parallelism()
                    .map_or(1, usize::from)
                    .min(MOST_THREADS)
            }
            (_, RunSetting::AUTO_THREADS) => 1,
            (_, threads) => threads,
        }
    }

    /// Restricts the executor to those that never undo an event, for this job, whose programs cannot be taken back.
    fn only_forwards(&mut self, section: &Section, job: &str) -> Result<(), config::Error> {
        self.executor = match (self.executor, self.threads) {
            (Executor::Auto, RunSetting::AUTO_THREADS | 1) => Executor::Sequential,
            (Executor::Auto, _) => Executor::Conservative,
            (executor @ (Executor::Sequential | Executor::Conservative), _) => executor,
            (Executor::Optimistic | Executor::ReverseCheck, _) => {
                let message = format!(
                    "it undoes events, and the programs of job '{job}' read answers and cannot be taken back; expected \
                     sequential, conservative or auto"
                );
                return Err(section.error("executor", message));
            }
        };
        Ok(())
    }

    /// The measured part of the run.
    pub fn measured(&self) -> Measured {
        let until = self.until.filter(|_| self.drains());
        Measured {
            from: self.warmup,
            until: until.unwrap_or(Time::MAX),
        }
    }

    fn read(section: &Section) -> Result<RunSetting, config::Error> {
        section.declare(RUN);
        let until: Option<Duration> = section.optional("until")?;
        let warmup: Duration = section.get("warmup")?;
        if until.is_some_and(|until| until.ps == 0) {
            return Err(section.error("until", "0 is out of range; expected a time such as \"100 us\""));
        }
        if let Some(until) = until
            && warmup >= until
        {
            let message = format!("the warm-up of {warmup} leaves nothing of the run until {until}");
            return Err(section.error("warmup", message));
        }
        if let Some(until) = until {
            at_most(section, "until", until, LATEST)?;
        }
        let drain: Duration = section.get("drain")?;
        let most = Duration {
            ps: LATEST.ps - until.map_or(0, |until| until.ps),
        };
        at_most(section, "drain", drain, most)?;
        let executor = section.choice("executor")?;
        let threads = match section.get("threads")? {
            AutoOrNumber::Auto => RunSetting::AUTO_THREADS,
            AutoOrNumber::Number(threads) if (1..=MOST_THREADS).contains(&(threads as usize)) => {
                threads as usize
            }
            AutoOrNumber::Number(threads) => {
                let message = format!("{threads} is out of range; expected 1 to {MOST_THREADS} or \"auto\"");
                return Err(section.error("threads", message));
            }
        };
        let watchdog: Duration = section.get("watchdog")?;
        if watchdog.ps == 0 {
            let message = "0 is out of range; expected a time such as \"1 ms\"";
            return Err(section.error("watchdog", message));
        }
        at_most(section, "watchdog", watchdog, LATEST)?;
        Ok(RunSetting {
            until: until.map(|d| Time(d.ps)),
            warmup: Time(warmup.ps),
            drain: Time(drain.ps),
            seed: section.get("seed")?,
            executor: Executor::from_str(executor).expect("one of the names"),
            threads,
            pace: Pace::Measured,
            optimism: read_optimism(section.section("optimistic")?)?,
            watchdog: Time(watchdog.ps),
            credits: match section.choice("credits")? {
                "each" => CreditSetting::Each,
                _ => CreditSetting::Auto,
            },
        })
    }
}

/// Parameters of the executor `optimistic`, the keys of `run.optimistic`.
pub const OPTIMISTIC: &[Parameter] = parameters! {
    integer("batch", Optimism::DEFAULT.batch as i64, "events between two checks of the mailbox");
    integer("gvt_interval", Optimism::DEFAULT.gvt_interval as i64,
        "batches between two computations of global virtual time");
    computed("ahead", Type::Time, "found as it runs",
        "maximum time beyond global virtual time at which events execute");
    size("memory", "128 MiB", "memory of a thread for uncommitted events");
};

fn read_optimism(section: &Section) -> Result<Optimism, config::Error> {
    section.declare(OPTIMISTIC);
    let positive = |key: &str| -> Result<u32, config::Error> {
        let value: u32 = section.get(key)?;
        if value == 0 {
            return Err(section.error(key, "0 is out of range; expected 1 or more"));
        }
        Ok(value)
    };
    let ahead: Option<Duration> = section.optional("ahead")?;
    if let Some(ahead) = ahead {
        at_most(section, "ahead", ahead, LATEST)?;
    }
    let memory: Bytes = section.get("memory")?;
    Ok(Optimism {
        batch: positive("batch")?,
        gvt_interval: positive("gvt_interval")?,
        ahead: ahead.map(|ahead| Time(ahead.ps)),
        memory: usize::try_from(memory.bytes).unwrap_or(usize::MAX),
    })
}
