//! The network and the jobs of a run, which all logical processes read.

use std::sync::Arc;

use des::Time;

use crate::Error;
use crate::collect::Plan;
use crate::lp::shortcuts::Shortcuts;
use crate::lp::wiring::Numbering;
use crate::setup::experiment::Experiment;
use crate::setup::job::{Job, JobKind};
use crate::setup::network::Network;
use crate::setup::occupants::HostOccupants;

/// A network with its jobs; read only while it runs.
pub struct Simulation {
    pub network: Arc<Network>,
    pub jobs: Arc<[Job]>,
    pub occupants: HostOccupants,
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

impl Simulation {
    /// The model of an experiment.
    pub fn new(experiment: &Experiment, shortcuts: Shortcuts) -> Simulation {
        Simulation {
            network: experiment.network.clone(),
            jobs: experiment.jobs.clone(),
            occupants: HostOccupants::new(&experiment.jobs, experiment.network.rails.hosts()),
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
    pub fn ranks(&self) -> u64 {
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
