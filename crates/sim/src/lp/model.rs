//! The model that the kernel runs: routers, hosts and the overseer as logical processes.

use std::sync::Arc;

use des::{Context, Event, LpId, Model, Purpose, Time};
use fabric::router::{RouterUndo, RouterWaitUndo};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Error;
use crate::collect::{Plan, RouterSamplerUndo};
use crate::lp::counts::JobCounts;
use crate::lp::host::{Host, HostUndo};
use crate::lp::load_reports::LoadReportsUndo;
use crate::lp::net_event::{NetEvent, Record};
use crate::lp::router_lp::RouterLp;
use crate::lp::shortcuts::Shortcuts;
use crate::lp::shortcuts::credit_batching::CreditBatchesUndo;
use crate::lp::termination_detector::TerminationDetector;
use crate::lp::wiring::{Identity, Numbering};
use crate::setup::experiment::{Experiment, Network};
use crate::setup::job::{HostOccupants, Job, JobKind};

/// A network with its jobs; read only while it runs.
pub struct Simulation {
    pub network: Arc<Network>,
    pub jobs: Arc<[Job]>,
    pub seats: HostOccupants,
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
    /// The exact shortcuts of this run.
    pub shortcuts: Shortcuts,
}

/// Why an LP ends a run.
#[derive(Debug)]
pub enum Failure {
    /// There is no result.
    Error(Error),
    /// A packet lacks credits while they return in batches: the run begins anew without batches.
    CreditsRanShort,
}

/// The state of one logical process; not boxed, as each box would cost a cache miss per turn. The tag lies in front,
/// in the line that comes first.
#[allow(clippy::large_enum_variant)]
#[repr(u8)]
pub enum NetworkLp {
    /// A router.
    Router(RouterLp),
    /// A host.
    Host(Host),
    /// The overseer.
    TerminationDetector(TerminationDetector),
}

/// One step back of a process.
pub enum Undo {
    /// Of a router.
    Router(RouterUndo),
    /// Of what a router has been told.
    LoadReports(LoadReportsUndo),
    /// Of a router's credit batches.
    CreditBatches(CreditBatchesUndo),
    /// Of what samples a router.
    RouterSampler(RouterSamplerUndo),
    /// Of a host.
    Host(HostUndo),
    /// Of the wait tracker of a router.
    WaitTracker(RouterWaitUndo),
    /// Of the overseer: what it was.
    TerminationDetector(Box<TerminationDetector>),
}

// Several of them are kept of each event.
const _: () = assert!(size_of::<Undo>() <= 40);

impl Simulation {
    /// The model of an experiment.
    pub fn new(experiment: &Experiment, shortcuts: Shortcuts) -> Simulation {
        Simulation {
            network: experiment.network.clone(),
            jobs: experiment.jobs.clone(),
            seats: HostOccupants::new(&experiment.jobs, experiment.network.rails.hosts()),
            numbering: Arc::new(Numbering::new(&experiment.network)),
            warmup: experiment.run.warmup,
            watchdog: watchdog(experiment),
            plan: Plan::new(&experiment.collect, &experiment.network),
            timeline: experiment.collect.timeline,
            waits: experiment.collect.waits,
            shortcuts,
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

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Error(error)
    }
}

/// Without traffic the last event ends the run, without ranks nobody waits.
fn watchdog(experiment: &Experiment) -> Option<Time> {
    let both = experiment.jobs.iter().any(Job::is_traffic) && !experiment.jobs.iter().all(Job::is_traffic);
    both.then_some(experiment.run.watchdog)
}

impl NetworkLp {
    /// What it has counted of a job.
    pub fn counts(&self, job: usize) -> Option<&JobCounts> {
        match self {
            NetworkLp::Router(router) => router.delivered(job),
            NetworkLp::Host(host) => host.counts(job),
            NetworkLp::TerminationDetector(_) => None,
        }
    }
}

impl Model for Simulation {
    type Payload = NetEvent;
    type Lp = NetworkLp;
    type Record = Record;
    type Undo = Undo;
    type Error = Failure;

    fn lps(&self) -> u32 {
        self.numbering.lps()
    }

    fn lookahead(&self) -> Time {
        self.shortcuts.lookahead
    }

    fn create(&self, lp: LpId) -> NetworkLp {
        match self.numbering.identity(lp) {
            Identity::Router(router) => NetworkLp::Router(RouterLp::new(self, router)),
            Identity::Host(host) => NetworkLp::Host(Host::new(self, host)),
            Identity::TerminationDetector => {
                NetworkLp::TerminationDetector(TerminationDetector::new(self.ranks()))
            }
        }
    }

    fn start(&self, process: &mut NetworkLp, context: &mut impl Context<Self>) {
        match process {
            NetworkLp::Host(host) => host.start(self, context),
            NetworkLp::TerminationDetector(termination_detector) => termination_detector.start(self, context),
            NetworkLp::Router(router) => router.start(self, context),
        }
    }

    #[inline]
    fn handle(&self, process: &mut NetworkLp, event: &Event<NetEvent>, context: &mut impl Context<Self>) {
        match process {
            NetworkLp::Router(router) => router.handle(self, &event.payload, context),
            NetworkLp::Host(host) => host.handle(self, &event.payload, context),
            NetworkLp::TerminationDetector(termination_detector) => {
                termination_detector.handle(self, &event.payload, context)
            }
        }
    }

    #[inline]
    fn prefetch(&self, process: &NetworkLp) {
        match process {
            NetworkLp::Router(router) => router.prefetch(),
            NetworkLp::Host(host) => host.prefetch(),
            NetworkLp::TerminationDetector(..) => {}
        }
    }

    #[inline]
    fn prefetch_for(&self, process: &NetworkLp, event: &Event<NetEvent>) {
        match process {
            NetworkLp::Router(router) => router.prefetch_for(self, &event.payload),
            NetworkLp::Host(host) => host.prefetch_for(self, event.time, &event.payload),
            NetworkLp::TerminationDetector(..) => {}
        }
    }

    fn undo(&self, process: &mut NetworkLp, step: Undo) {
        match (process, step) {
            (NetworkLp::Router(router), step) => router.undo(self, step),
            (NetworkLp::Host(host), Undo::Host(step)) => host.undo(self, step),
            (NetworkLp::TerminationDetector(termination_detector), Undo::TerminationDetector(before)) => {
                *termination_detector = *before
            }
            _ => unreachable!("a process takes back its own steps"),
        }
    }

    fn save(&self, process: &NetworkLp, bytes: &mut Vec<u8>) {
        match process {
            NetworkLp::Router(router) => router.save(bytes),
            NetworkLp::Host(host) => write(&host.state(), bytes),
            NetworkLp::TerminationDetector(termination_detector) => write(termination_detector, bytes),
        }
    }

    fn restore(&self, process: &mut NetworkLp, bytes: &[u8], purpose: Purpose) -> Result<(), String> {
        match process {
            NetworkLp::Router(router) => router.restore(self, bytes),
            NetworkLp::Host(host) => host.restore(self, read(bytes)?, purpose),
            NetworkLp::TerminationDetector(termination_detector) => {
                *termination_detector = read(bytes)?;
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
