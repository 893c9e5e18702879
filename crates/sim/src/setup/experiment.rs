//! The experiment file: reading it, and building what it names.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use config::{Bytes, DefaultValue, Duration, Parameter, Section, Type};
use des::{Executor, Optimism, Time};
use serde::{Deserialize, Serialize};
use workload::Interpreters;

use crate::Error;
use crate::collect::CollectSetting;
use crate::setup::job::{self, Job, JobKind};
use crate::setup::limits::{LATEST, at_most};
use crate::setup::network::Network;

/// Everything that a run needs, built and checked.
///
/// A program that has a workload of its own may put its jobs in the place of the file's, see
/// [`RankJob`](crate::RankJob).
pub struct Experiment {
    /// The network.
    pub network: Arc<Network>,
    /// What runs on it.
    pub jobs: Arc<[Job]>,
    /// How to run it.
    pub run: RunSetting,
    /// What is collected while it runs.
    pub collect: CollectSetting,
    /// All settings with every default, as given back in the result.
    pub settings: serde_json::Value,
    /// Where it comes from.
    pub(crate) source: Option<Source>,
}

/// An experiment as it was given.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Source {
    /// The TOML text.
    pub(crate) text: String,
    /// Its name in messages.
    pub(crate) file: String,
    /// What paths in it are relative to; absolute.
    pub(crate) folder: PathBuf,
    /// Changes to it, in order.
    pub(crate) overrides: Vec<(String, String)>,
}

/// How the experiment asks for credits to return, `[run] credits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreditSetting {
    /// In batches, where that changes no result.
    Auto,
    /// Each by itself.
    Each,
}

impl CreditSetting {
    /// Names in experiments, in the order of the variants.
    pub const NAMES: [&str; 2] = ["auto", "each"];
}

/// How to run.
#[derive(Clone, Debug)]
pub struct RunSetting {
    /// End of the run, where it does not end by itself.
    pub until: Option<Time>,
    /// Latencies, loads and link statistics count from here on.
    pub warmup: Time,
    /// Seed of all random streams.
    pub seed: u64,
    /// How events are carried out.
    pub executor: Executor,
    /// Threads of each process.
    pub threads: usize,
    /// How far ahead of certainty the optimistic executor goes.
    pub optimism: Optimism,
    /// Time between two looks whether the ranks wait for ever, where traffic keeps the run going.
    pub watchdog: Time,
    /// How credits go back.
    pub credits: CreditSetting,
}

impl Experiment {
    /// Reads an experiment file and builds what it names. Paths in it are relative to its folder.
    ///
    /// `overrides` are `--set key=value` pairs, applied in order.
    ///
    /// # Errors
    /// The file cannot be read, or see [`Experiment::from_toml`].
    pub fn load(path: &Path, overrides: &[(String, String)]) -> Result<Experiment, Error> {
        Experiment::load_with(path, overrides, &[])
    }

    /// The same, with what carries out programs in other languages.
    ///
    /// # Errors
    /// As [`Experiment::load`].
    pub fn load_with(
        path: &Path,
        overrides: &[(String, String)],
        interpreters: Interpreters<'_>,
    ) -> Result<Experiment, Error> {
        let text = std::fs::read_to_string(path).map_err(|source| Error::File {
            path: path.display().to_string(),
            source,
        })?;
        let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
        let source = Source {
            text,
            file: path.display().to_string(),
            folder,
            overrides: overrides.to_vec(),
        };
        Experiment::from_source(source, interpreters)
    }

    /// Builds what was given before.
    pub(crate) fn from_source(
        mut source: Source,
        interpreters: Interpreters<'_>,
    ) -> Result<Experiment, Error> {
        let mut experiment = Experiment::read(&source, interpreters)?;
        // Another process may go on from here that was started elsewhere.
        source.folder = std::path::absolute(folder_of(&source.folder)).unwrap_or(source.folder);
        experiment.source = Some(source);
        Ok(experiment)
    }

    /// Builds what a TOML text names; `file` is the name that messages give. Paths in it are relative to
    /// the current folder.
    ///
    /// # Errors
    /// Anything that is wrong with it, with file, line and key.
    pub fn from_toml(text: &str, file: &str, overrides: &[(String, String)]) -> Result<Experiment, Error> {
        Experiment::from_toml_with(text, file, overrides, &[])
    }

    /// The same, with what carries out programs in other languages.
    ///
    /// # Errors
    /// As [`Experiment::from_toml`].
    pub fn from_toml_with(
        text: &str,
        file: &str,
        overrides: &[(String, String)],
        interpreters: Interpreters<'_>,
    ) -> Result<Experiment, Error> {
        let source = Source {
            text: text.into(),
            file: file.into(),
            folder: PathBuf::new(),
            overrides: overrides.to_vec(),
        };
        Experiment::from_source(source, interpreters)
    }

    fn read(source: &Source, interpreters: Interpreters<'_>) -> Result<Experiment, Error> {
        let folder = &source.folder;
        let mut root = Section::from_toml_in(folder, &source.text, &source.file)?;
        for (key, value) in &source.overrides {
            root.set(key, value)?;
        }
        // Names before values: a misspelt table is said to be one, not to be missing.
        const TABLES: [&str; 5] = ["collect", "job", "mpi", "network", "run"];
        let names = root.keys();
        if let Some(unknown) = names.iter().find(|name| !TABLES.contains(&name.as_str())) {
            return Err(root.unknown_name(unknown, unknown, TABLES).into());
        }
        // Asked for in the order in which the result prints them.
        for table in ["network", "mpi", "run", "collect"] {
            root.section(table)?;
        }
        root.sections("job")?;
        let run = RunSetting::read(root.section("run")?)?;
        let network = Network::read(root.section("network")?)?;
        let mpi = mpi::MpiSettings::read(root.section("mpi")?)?;
        let collect = CollectSetting::read(root.section("collect")?, &network, run.until)?;
        let folder = folder_of(folder);
        let jobs = job::read_jobs(&root, &network, &mpi, run.seed, &folder, interpreters)?;
        let settings = root.finish()?;
        if run.until.is_none() && jobs.iter().all(|job| matches!(job.kind, JobKind::Traffic(_))) {
            let message =
                "missing: synthetic traffic never ends by itself; expected a time such as \"100 us\"";
            return Err(root.section("run")?.error("until", message).into());
        }
        Ok(Experiment {
            network: Arc::new(network),
            jobs: jobs.into(),
            run,
            collect,
            settings,
            source: None,
        })
    }
}

fn folder_of(folder: &Path) -> PathBuf {
    if folder.as_os_str().is_empty() {
        PathBuf::from(".")
    } else {
        folder.to_path_buf()
    }
}

/// Keys of `[run]`, beside the table `optimistic`.
pub const RUN: &[Parameter] = &[
    Parameter::computed(
        "until",
        Type::Time,
        "none",
        "end of the run, unless all ranks finish earlier; at most 100 days",
    ),
    Parameter::time("warmup", "0 ps", "start of latencies, loads and link counters"),
    Parameter::integer("seed", 1, "seed of all random choices"),
    Parameter::new(
        "executor",
        Type::Choice(&Executor::NAMES),
        DefaultValue::Text("conservative"),
        "how events are executed; the result is the same",
    ),
    Parameter::integer(
        "threads",
        1,
        "threads of each process, 1 to 1024; the result is the same",
    ),
    Parameter::time(
        "watchdog",
        "1 ms",
        "simulated time between two deadlock checks of the ranks",
    ),
    Parameter::choice(
        "credits",
        &CreditSetting::NAMES,
        "how credits return; the result is the same",
    ),
];

impl RunSetting {
    fn read(section: &Section) -> Result<RunSetting, config::Error> {
        section.declare(RUN);
        let until: Option<Duration> = section.optional("until")?;
        let warmup: Duration = section.get("warmup")?;
        if until.is_some_and(|until| until.ps == 0) {
            return Err(section.error("until", "0 is no time at all; expected a time such as \"100 us\""));
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
        let executor = section.choice("executor")?;
        let threads: u32 = section.get("threads")?;
        if !(1..=1024).contains(&threads) {
            return Err(section.error(
                "threads",
                format!("{threads} is out of range; expected 1 to 1024"),
            ));
        }
        let watchdog: Duration = section.get("watchdog")?;
        if watchdog.ps == 0 {
            let message = "0 is no interval; expected a time such as \"1 ms\"";
            return Err(section.error("watchdog", message));
        }
        at_most(section, "watchdog", watchdog, LATEST)?;
        Ok(RunSetting {
            until: until.map(|d| Time(d.ps)),
            warmup: Time(warmup.ps),
            seed: section.get("seed")?,
            executor: Executor::from_str(executor).expect("one of the names"),
            threads: threads as usize,
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
pub const OPTIMISTIC: &[Parameter] = &[
    Parameter::integer(
        "batch",
        Optimism::DEFAULT.batch as i64,
        "events between two checks of the mailbox",
    ),
    Parameter::integer(
        "gvt_interval",
        Optimism::DEFAULT.gvt_interval as i64,
        "batches between two computations of global virtual time",
    ),
    Parameter::computed(
        "ahead",
        Type::Time,
        "found as it runs",
        "maximum time beyond global virtual time at which events execute",
    ),
    Parameter::size("memory", "128 MiB", "memory of a thread for uncommitted events"),
];

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
