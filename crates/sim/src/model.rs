//! The model that the kernel runs: routers, hosts and the overseer as logical processes.

use std::sync::Arc;

use des::{Context, Event, LpId, Model, Purpose, Time};
use fabric::router::{input_queued, packet};
use fabric::{InputQueuedDiaryUndo, RouterDiaryUndo};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Error;
use crate::collect::{Plan, RouterSamplerUndo};
use crate::counts::JobCounts;
use crate::credits::Credits;
use crate::experiment::{Experiment, Network};
use crate::fact::{Fact, Record};
use crate::hearsay::HearsayUndo;
use crate::horizon::Horizon;
use crate::host::{Host, HostUndo};
use crate::job::{Job, JobKind, Seats};
use crate::overseer::Overseer;
use crate::process::RouterProcess;
use crate::wiring::{Identity, Numbering};

/// A network with its jobs; read only while it runs.
pub struct Simulation {
    pub network: Arc<Network>,
    pub jobs: Arc<[Job]>,
    pub seats: Seats,
    pub numbering: Arc<Numbering>,
    pub warmup: Time,
    /// Time between two rounds of looking for ranks that wait for ever; none where the run ends by itself
    /// when they do.
    pub watchdog: Option<Time>,
    /// What is collected.
    pub plan: Plan,
    /// Whether ranks and NICs tell of the ranks' timelines and messages.
    pub timeline: bool,
    /// Whether NICs and routers tell which packets wait for whom.
    pub waits: bool,
    /// How credits go back.
    pub credits: Credits,
    /// Up to when what is certain may be noted ahead of its time.
    pub horizon: Horizon,
    /// Least delay of any event between two processes.
    pub lookahead: Time,
    /// How far ahead of their time hosts make messages; zero: they do not.
    pub foresight: Time,
}

/// The state of one logical process; not boxed, as each box would cost a cache miss per turn. The tag lies in front,
/// in the line that comes first.
#[allow(clippy::large_enum_variant)]
#[repr(u8)]
pub enum Process {
    /// A router.
    Router(RouterProcess),
    /// A host.
    Host(Host),
    /// The overseer.
    Overseer(Overseer),
}

/// One step back of a process.
pub enum Undo {
    /// Of a router of the model `packet`.
    Router(packet::Undo),
    /// Of a router of the model `input-queued`.
    InputQueued(input_queued::Undo),
    /// Of what a router has been told.
    Hearsay(HearsayUndo),
    /// Of what samples a router.
    RouterSampler(RouterSamplerUndo),
    /// Of a host.
    Host(HostUndo),
    /// Of the diary of a router.
    Diary(RouterDiaryUndo),
    /// Of that of a router of the model `input-queued`.
    InputQueuedDiary(InputQueuedDiaryUndo),
    /// Of the overseer: what it was.
    Overseer(Box<Overseer>),
}

// Several of them are kept of each event.
const _: () = assert!(size_of::<Undo>() <= 40);

impl Simulation {
    /// The model of an experiment.
    pub fn new(experiment: &Experiment, credits: Credits, horizon: Horizon) -> Simulation {
        Simulation {
            network: experiment.network.clone(),
            jobs: experiment.jobs.clone(),
            seats: Seats::new(&experiment.jobs, experiment.network.rails.hosts()),
            numbering: Arc::new(Numbering::new(&experiment.network)),
            warmup: experiment.run.warmup,
            watchdog: watchdog(experiment),
            plan: Plan::new(&experiment.collect, &experiment.network),
            timeline: experiment.collect.timeline,
            waits: experiment.collect.waits,
            credits,
            horizon,
            lookahead: horizon.lookahead(&experiment.network, credits),
            foresight: horizon.foresight(&experiment.network),
        }
    }

    /// Ranks of all jobs.
    fn ranks(&self) -> u64 {
        let ranks = |job: &Job| match &job.kind {
            JobKind::Ranks(ranks) => ranks.hosts.len() as u64,
            JobKind::Traffic(_) => 0,
        };
        self.jobs.iter().map(ranks).sum()
    }
}

/// Without traffic the last event ends the run, without ranks nobody waits.
fn watchdog(experiment: &Experiment) -> Option<Time> {
    let both = experiment.jobs.iter().any(Job::is_traffic) && !experiment.jobs.iter().all(Job::is_traffic);
    both.then_some(experiment.run.watchdog)
}

impl Process {
    /// What it has counted of a job.
    pub fn counts(&self, job: usize) -> Option<&JobCounts> {
        match self {
            Process::Router(router) => router.delivered(job),
            Process::Host(host) => host.counts(job),
            Process::Overseer(_) => None,
        }
    }
}

impl Model for Simulation {
    type Payload = Fact;
    type Lp = Process;
    type Record = Record;
    type Undo = Undo;
    type Error = Error;

    fn lps(&self) -> u32 {
        self.numbering.lps()
    }

    fn lookahead(&self) -> Time {
        self.lookahead
    }

    fn create(&self, lp: LpId) -> Process {
        match self.numbering.identity(lp) {
            Identity::Router(router) => Process::Router(RouterProcess::new(self, router)),
            Identity::Host(host) => Process::Host(Host::new(self, host)),
            Identity::Overseer => Process::Overseer(Overseer::new(self.ranks())),
        }
    }

    fn start(&self, process: &mut Process, context: &mut impl Context<Self>) {
        match process {
            Process::Host(host) => host.start(self, context),
            Process::Overseer(overseer) => overseer.start(self, context),
            Process::Router(_) => {}
        }
    }

    #[inline]
    fn handle(&self, process: &mut Process, event: &Event<Fact>, context: &mut impl Context<Self>) {
        match process {
            Process::Router(router) => router.handle(self, &event.payload, context),
            Process::Host(host) => host.handle(self, &event.payload, context),
            Process::Overseer(overseer) => overseer.handle(self, &event.payload, context),
        }
    }

    #[inline]
    fn prefetch(&self, process: &Process) {
        match process {
            Process::Router(router) => router.prefetch(),
            Process::Host(host) => host.prefetch(),
            Process::Overseer(..) => {}
        }
    }

    #[inline]
    fn prefetch_for(&self, process: &Process, event: &Event<Fact>) {
        match process {
            Process::Router(router) => router.prefetch_for(self, &event.payload),
            Process::Host(host) => host.prefetch_for(self, event.time, &event.payload),
            Process::Overseer(..) => {}
        }
    }

    fn undo(&self, process: &mut Process, step: Undo) {
        match (process, step) {
            (Process::Router(router), step) => router.undo(self, step),
            (Process::Host(host), Undo::Host(step)) => host.undo(self, step),
            (Process::Overseer(overseer), Undo::Overseer(before)) => *overseer = *before,
            _ => unreachable!("a process takes back its own steps"),
        }
    }

    fn save(&self, process: &Process, bytes: &mut Vec<u8>) {
        match process {
            Process::Router(router) => router.save(bytes),
            Process::Host(host) => write(&host.state(), bytes),
            Process::Overseer(overseer) => write(overseer, bytes),
        }
    }

    fn restore(&self, process: &mut Process, bytes: &[u8], purpose: Purpose) -> Result<(), String> {
        match process {
            Process::Router(router) => router.restore(self, bytes),
            Process::Host(host) => host.restore(self, read(bytes)?, purpose),
            Process::Overseer(overseer) => {
                *overseer = read(bytes)?;
                Ok(())
            }
        }
    }
}

pub(crate) fn write(state: &impl Serialize, bytes: &mut Vec<u8>) {
    let all = std::mem::take(bytes);
    *bytes = postcard::to_extend(state, all).expect("a state in memory can be written to memory");
}

/// A state that is all of the bytes.
pub(crate) fn read<S: DeserializeOwned>(bytes: &[u8]) -> Result<S, String> {
    match read_first(bytes)? {
        (state, []) => Ok(state),
        (_, rest) => Err(format!("{} bytes are left over", rest.len())),
    }
}

/// A state, and the bytes behind it.
pub(crate) fn read_first<S: DeserializeOwned>(bytes: &[u8]) -> Result<(S, &[u8]), String> {
    postcard::take_from_bytes(bytes).map_err(|error| format!("its state cannot be read: {error}"))
}
