//! The experiment file: reading it, and building what it names.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use config::{Bandwidth, Bytes, Duration, Section};
use des::{Executor, Optimism, Time};
use fabric::Rate;
use fabric::router::RouterParameters;
use routing::{InPlanes, Routing};
use serde::{Deserialize, Serialize};
use topology::{HostId, Peer, Planes, Port, RouterId, Shape, Topology};
use workload::Interpreters;

use crate::Error;
use crate::collect::CollectSetting;
use crate::setup::job::{self, Job, JobKind};
use crate::setup::rails::Rails;

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

/// The links of one class.
#[derive(Clone, Copy, Debug)]
pub struct LinkSetting {
    /// Bits per second.
    pub bandwidth: Bandwidth,
    /// The same, to compute with.
    pub rate: Rate,
    /// Time a bit takes through the cable.
    pub latency: Time,
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

/// A network with its speeds.
pub struct Network {
    /// The graph. What it calls a host is one NIC port of a host; see [`Network::rails`].
    pub topology: Arc<dyn Topology>,
    /// The routing, between NIC ports likewise.
    pub routing: Arc<dyn Routing>,
    /// Each of the disjoint copies that the graph consists of; where there is one only, the graph itself.
    pub plane: Plane,
    /// The NIC ports of the hosts.
    pub rails: Rails,
    /// By link class.
    pub links: Vec<LinkSetting>,
    /// The router model with its parameters.
    pub model: RouterParameters,
    /// Pipeline of a router: from the head's arrival until it can leave.
    pub router_delay: Time,
    /// Buffer of one input port in bytes, shared out evenly among its VCs.
    pub buffer: u32,
    /// Largest packet in bytes.
    pub packet: u32,
    /// Latency and speed of messages between ranks of one host.
    pub memory: LinkSetting,
}

/// One copy of a network.
pub struct Plane {
    /// Its graph.
    pub topology: Arc<dyn Topology>,
    /// The routing in it.
    pub routing: Arc<dyn Routing>,
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

/// Longest delay of a cable or router: with it, no event is beyond the end of simulated time (213 days).
const LONGEST_DELAY: Duration = Duration {
    ps: 1_000_000_000_000,
};

/// Latest start of a job and end of a run: 100 days, and traffic may then wait another 36 for its next message.
const LATEST: Duration = Duration {
    ps: 8_640_000_000_000_000_000,
};

/// Fastest link: beyond, a packet of some hundred bytes would take less than the resolution of time.
const FASTEST_BITS_PER_S: u64 = 1_000_000_000_000_000;

/// Refuses a time that is longer than `most`.
pub(crate) fn at_most(
    section: &Section,
    key: &str,
    time: Duration,
    most: Duration,
) -> Result<(), config::Error> {
    if time > most {
        return Err(section.error(key, format!("{time} is out of range; expected at most {most}")));
    }
    Ok(())
}

/// The start of a job.
pub(crate) fn read_start(section: &Section) -> Result<Time, config::Error> {
    let start = section.or("start", Duration { ps: 0 })?;
    at_most(section, "start", start, LATEST)?;
    Ok(Time(start.ps))
}

impl RunSetting {
    fn read(section: &Section) -> Result<RunSetting, config::Error> {
        let until: Option<Duration> = section.optional("until")?;
        let warmup = section.or("warmup", Duration { ps: 0 })?;
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
        let executor = section.choice("executor", "conservative", &Executor::NAMES)?;
        let threads: u32 = section.or("threads", 1)?;
        if !(1..=1024).contains(&threads) {
            return Err(section.error(
                "threads",
                format!("{threads} is out of range; expected 1 to 1024"),
            ));
        }
        let watchdog = section.or("watchdog", Duration { ps: 1_000_000_000 })?;
        if watchdog.ps == 0 {
            let message = "0 is no interval; expected a time such as \"1 ms\"";
            return Err(section.error("watchdog", message));
        }
        at_most(section, "watchdog", watchdog, LATEST)?;
        Ok(RunSetting {
            until: until.map(|d| Time(d.ps)),
            warmup: Time(warmup.ps),
            seed: section.or("seed", 1)?,
            executor: Executor::from_str(executor).expect("one of the names"),
            threads: threads as usize,
            optimism: read_optimism(section.section("optimistic")?)?,
            watchdog: Time(watchdog.ps),
            credits: match section.choice("credits", "auto", &CreditSetting::NAMES)? {
                "each" => CreditSetting::Each,
                _ => CreditSetting::Auto,
            },
        })
    }
}

fn read_optimism(section: &Section) -> Result<Optimism, config::Error> {
    let default = Optimism::default();
    let positive = |key: &str, default: u32| -> Result<u32, config::Error> {
        let value: u32 = section.or(key, default)?;
        if value == 0 {
            return Err(section.error(key, "0 is out of range; expected 1 or more"));
        }
        Ok(value)
    };
    let ahead: Option<Duration> = section.optional("ahead")?;
    if let Some(ahead) = ahead {
        at_most(section, "ahead", ahead, LATEST)?;
    }
    let memory = section.or(
        "memory",
        Bytes {
            bytes: default.memory as u64,
        },
    )?;
    Ok(Optimism {
        batch: positive("batch", default.batch)?,
        gvt_interval: positive("gvt_interval", default.gvt_interval)?,
        ahead: ahead.map(|ahead| Time(ahead.ps)),
        memory: usize::try_from(memory.bytes).unwrap_or(usize::MAX),
    })
}

impl Network {
    fn read(section: &Section) -> Result<Network, config::Error> {
        let plane = Plane::read(section)?;
        let planes = Rails::read_planes(section)?;
        let rails = Rails::read(section, plane.topology.as_ref(), planes)?;
        let (mut topology, mut routing) = (plane.topology.clone(), plane.routing.clone());
        if planes > 1 {
            if routing.reports().is_some() {
                let message = "routers tell each other their loads in one plane only; expected planes = 1 with such \
                               routing, or routing without such reports";
                return Err(section.error("planes", message));
            }
            let copies = Planes::new(topology, planes).map_err(|message| section.error("planes", message))?;
            routing = Arc::new(InPlanes::new(routing, &copies));
            topology = Arc::new(copies);
        }
        let links = read_links(section, topology.as_ref())?;
        let router = section.section("router")?;
        let model = RouterParameters::read(router)?;
        if routing.packets_per_vc() > 1 && !model.has_slots() {
            let message = "routing with bubbles needs the model packet, the only one that keeps them whole; \
                           expected model = \"packet\", or routing without bubbles";
            return Err(router.error("model", message));
        }
        let router_delay = router.or("delay", Duration { ps: 100_000 })?;
        at_most(router, "delay", router_delay, LONGEST_DELAY)?;
        let buffer = router.or("buffer", Bytes { bytes: 100_000 })?;
        let packet = section.or("packet", Bytes { bytes: 256 })?;
        if !(1..=1 << 24).contains(&packet.bytes) {
            return Err(section.error(
                "packet",
                format!("{packet} is out of range; expected 1 B to 16 MiB"),
            ));
        }
        let vcs = u64::from(routing.vcs().max(1));
        let packets = u64::from(routing.packets_per_vc());
        if buffer.bytes / vcs < packets * packet.bytes {
            let needed = match packets {
                1 => "a packet".to_string(),
                _ => format!("the {packets} packets that its routing needs there,"),
            };
            let message = format!(
                "{buffer} per input port are {} B for each of {vcs} virtual channels, less than {needed} of {packet}; \
                 expected at least {}",
                buffer.bytes / vcs,
                Bytes {
                    bytes: packets * packet.bytes * vcs
                },
            );
            return Err(router.error("buffer", message));
        }
        if buffer.bytes > 1 << 30 {
            return Err(router.error(
                "buffer",
                format!("{buffer} is out of range; expected at most 1 GiB per port"),
            ));
        }
        let memory = section.section("memory")?;
        let default = LinkSetting::new(
            Bandwidth {
                bits_per_s: 80_000_000_000,
            },
            Time::from_ns(200),
        );
        Ok(Network {
            memory: read_link(memory, default)?,
            topology,
            routing,
            plane,
            rails,
            links,
            model,
            router_delay: Time(router_delay.ps),
            buffer: buffer.bytes as u32,
            packet: packet.bytes as u32,
        })
    }

    /// Number of hosts.
    pub fn hosts(&self) -> u32 {
        self.rails.hosts()
    }

    /// The router and port that one rail of a host is plugged into.
    pub fn attachment(&self, host: HostId, rail: u32) -> (RouterId, Port) {
        self.topology.attachment(self.rails.end_point(host, rail).0)
    }

    /// Speed of the cable at a wired port.
    pub fn rate(&self, router: RouterId, port: Port) -> Rate {
        self.links[usize::from(self.topology.link_class(router, port).0)].rate
    }

    /// Injection bandwidth of a host: of all its rails together.
    pub fn injection_bits_per_s(&self) -> u64 {
        let rail = self.links[usize::from(topology::HOST_LINK.0)].bandwidth;
        rail.bits_per_s * u64::from(self.rails.count())
    }

    /// Buffer of one VC of an input port that has `vcs` of them, in bytes.
    pub fn buffer_of_vc(&self, vcs: u8) -> u32 {
        self.buffer / u32::from(vcs)
    }

    /// Room that a packet takes at least in a buffer between routers: with bubble flow control that of the
    /// largest one, otherwise 0.
    pub fn slot(&self) -> u32 {
        if self.routing.packets_per_vc() > 1 {
            self.packet
        } else {
            0
        }
    }

    /// How long a report takes from one router to another of its group: as long as a packet's head on a shortest
    /// way inside the group, through idle routers.
    pub fn report_delay(&self, from: RouterId, to: RouterId) -> Time {
        let Shape::Groups(groups) = self.topology.shape() else {
            unreachable!("only routers of groups tell each other of loads")
        };
        let (mut at, mut delay) = (from, Time::ZERO);
        while at != to {
            let port = groups.local_port(at, to, 0);
            let class = self.topology.link_class(at, port);
            delay = delay + self.links[usize::from(class.0)].latency + self.router_delay;
            at = match self.topology.peer(at, port) {
                Peer::Router(next, _) => next,
                _ => unreachable!("local links join routers"),
            };
        }
        delay
    }

    /// Least delay of anything that one router or host can do to another: the shortest cable.
    pub fn lookahead(&self) -> Time {
        self.links
            .iter()
            .map(|l| l.latency)
            .min()
            .expect("hosts have links")
    }
}

impl Plane {
    fn read(section: &Section) -> Result<Plane, config::Error> {
        let topology: Arc<dyn Topology> = topology::build(section.section("topology")?)?.into();
        let routing = routing::build(section.section("routing")?, topology.clone())?.into();
        Ok(Plane { topology, routing })
    }
}

impl LinkSetting {
    fn new(bandwidth: Bandwidth, latency: Time) -> LinkSetting {
        LinkSetting {
            bandwidth,
            rate: Rate::bits_per_s(bandwidth.bits_per_s),
            latency,
        }
    }
}

/// `link` holds for all classes, `links.NAME` for one.
fn read_links(section: &Section, topology: &dyn Topology) -> Result<Vec<LinkSetting>, config::Error> {
    let default = LinkSetting::new(
        Bandwidth {
            bits_per_s: 100_000_000_000,
        },
        Time::from_ns(50),
    );
    let common = read_link(section.section("link")?, default)?;
    let by_class = section.section("links")?;
    let classes = topology.link_classes();
    if let Some(unknown) = by_class
        .keys()
        .iter()
        .find(|key| !classes.contains(&key.as_str()))
    {
        return Err(by_class.unknown_name(unknown, unknown, classes.iter().copied()));
    }
    classes
        .iter()
        .map(|class| read_link(by_class.section(class)?, common))
        .collect()
}

fn read_link(section: &Section, default: LinkSetting) -> Result<LinkSetting, config::Error> {
    let bandwidth = section.or("bandwidth", default.bandwidth)?;
    let latency = section.or(
        "latency",
        Duration {
            ps: default.latency.ps(),
        },
    )?;
    if bandwidth.bits_per_s < Rate::MIN_BITS_PER_S {
        return Err(section.error(
            "bandwidth",
            format!("{bandwidth} is too slow; expected at least 1 Mbps"),
        ));
    }
    if bandwidth.bits_per_s > FASTEST_BITS_PER_S {
        return Err(section.error(
            "bandwidth",
            format!("{bandwidth} is too fast; expected at most 1000 Tbps"),
        ));
    }
    at_most(section, "latency", latency, LONGEST_DELAY)?;
    if latency.ps == 0 {
        return Err(section.error(
            "latency",
            "0 is no latency that a cable can have; expected at least \"1 ps\"",
        ));
    }
    Ok(LinkSetting::new(bandwidth, Time(latency.ps)))
}
