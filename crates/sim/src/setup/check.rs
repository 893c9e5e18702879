//! Everything but the run: what an experiment builds, and what it will need.

use std::fmt;

use serde::Serialize;

use routing::{NotProven, prove_deadlock_free};
use topology::RouterId;

use crate::Error;
use crate::bounds::{Effort, bounds};
use crate::collect::{Plan, bytes_of_samples};
use crate::lp::shortcuts::credit_batching::CreditBatches;
use crate::setup::experiment::Experiment;
use crate::setup::job::JobKind;

/// Situations that the deadlock proof walks at most: a few seconds.
const MAX_PROOF_STATES: u64 = 12_000_000;

/// What an experiment amounts to.
#[derive(Clone, Debug, Serialize)]
pub struct CheckReport {
    /// The topology with its dimensions.
    pub topology: String,
    /// Hosts.
    pub hosts: u64,
    /// NIC ports of each host.
    pub rails: u32,
    /// Disjoint copies of the topology.
    pub planes: u32,
    /// Routers.
    pub routers: u64,
    /// Links between routers, each direction counted.
    pub router_links: u64,
    /// Virtual channels.
    pub virtual_channels: u8,
    /// Jobs.
    pub jobs: Vec<CheckedJob>,
    /// Memory of the idle network, in bytes; queues and traces come on top.
    pub memory_bytes: u64,
    /// What is known of deadlocks, in words.
    pub deadlock: String,
    /// Whether the network was proven free of deadlocks; none: too large to try.
    pub deadlock_free: Option<bool>,
    /// What the network allows the synthetic traffic at most; none without such traffic.
    pub bounds: Option<results::Bounds>,
    /// The experiment with every default.
    pub experiment: serde_json::Value,
}

/// One job of a checked experiment.
#[derive(Clone, Debug, Serialize)]
pub struct CheckedJob {
    /// Name.
    pub name: String,
    /// Ranks; 0 for synthetic traffic.
    pub ranks: u64,
    /// Hosts.
    pub hosts: u64,
}

/// Checks an experiment that could be built, and looks for deadlocks.
pub fn check(experiment: &Experiment) -> Result<CheckReport, Error> {
    let network = &experiment.network;
    let topology = network.topology.as_ref();
    // Planes share no link: packets of one never wait for those of another.
    let plane = &network.plane;
    let proof = prove_deadlock_free(plane.topology.as_ref(), plane.routing.as_ref(), MAX_PROOF_STATES);
    let where_to = match network.rails.planes() {
        1 => "",
        _ => " in each plane",
    };
    let (deadlock, deadlock_free) = match proof {
        Ok(proof) => (format!("{proof}{where_to}"), Some(true)),
        Err(NotProven::TooLarge { max_states }) => (
            format!(
                "not proven: more than {max_states} routing situations; \
                 the same routing is proven on small networks of this kind by the tests"
            ),
            None,
        ),
        Err(other) => (format!("NOT deadlock free: {other}"), Some(false)),
    };
    Ok(CheckReport {
        topology: topology.describe(),
        hosts: u64::from(network.hosts()),
        rails: network.rails.count(),
        planes: network.rails.planes(),
        routers: u64::from(topology.routers()),
        router_links: topology.router_links(),
        virtual_channels: network.routing.vcs(),
        jobs: experiment
            .jobs
            .iter()
            .map(|job| CheckedJob {
                name: job.name.clone(),
                ranks: match &job.kind {
                    JobKind::Ranks(ranks) => ranks.hosts.len() as u64,
                    JobKind::Traffic(_) => 0,
                },
                hosts: u64::from(job.host_count()),
            })
            .collect(),
        memory_bytes: memory_bytes(experiment),
        deadlock,
        deadlock_free,
        bounds: bounds(experiment, Effort::CHECK),
        experiment: experiment.settings.clone(),
    })
}

/// Routers, hosts and ranks at rest, as large as their types are.
fn memory_bytes(experiment: &Experiment) -> u64 {
    let topology = experiment.network.topology.as_ref();
    let vcs = u64::from(experiment.network.routing.vcs());
    let network = &experiment.network;
    let batches = u64::from(network.model.reports_credit_waits()) * vcs * CreditBatches::BYTES_PER_VC;
    let port = |ports: u64| network.model.bytes_per_port(ports, vcs, network.slot() > 0) + batches;
    let link_end = size_of::<Option<crate::lp::wiring::LinkEnd>>() as u64;
    let plan = Plan::new(&experiment.collect, &experiment.network);
    let samples = |router: bool, links: u64| bytes_of_samples(&plan, router, links, vcs);
    let ports: u64 = (0..topology.routers())
        .map(|r| u64::from(topology.ports(RouterId(r))))
        .map(|ports| ports * (port(ports) + link_end) + samples(true, ports))
        .sum();
    let router = size_of::<crate::lp::router_lp::RouterLp>() as u64;
    let rails = experiment.network.rails.count();
    let host = crate::lp::host::bytes_with(rails) + 8 * experiment.jobs.len() as u64;
    let host = host + samples(false, u64::from(rails));
    // The kernel's own: identity, numbering, list heads, counters.
    let process = 64;
    let ranks: u64 = experiment
        .jobs
        .iter()
        .map(|job| match &job.kind {
            JobKind::Ranks(ranks) => ranks.hosts.len() as u64 * size_of::<mpi::Rank>() as u64,
            JobKind::Traffic(_) => 0,
        })
        .sum();
    let (hosts, routers) = (
        u64::from(experiment.network.hosts()),
        u64::from(topology.routers()),
    );
    routers * (router + process) + ports + hosts * (host + process) + ranks
}

impl fmt::Display for CheckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "network   {}", self.topology)?;
        writeln!(
            f,
            "size      {} hosts, {} routers, {} links between routers, {} virtual channels",
            self.hosts, self.routers, self.router_links, self.virtual_channels
        )?;
        if self.rails > 1 {
            let planes = match self.planes {
                1 => "one plane".to_string(),
                planes => format!("{planes} planes"),
            };
            writeln!(f, "rails     {} per host, in {planes}", self.rails)?;
        }
        for job in &self.jobs {
            let what = match job.ranks {
                0 => "synthetic traffic".to_string(),
                ranks => format!("{ranks} ranks"),
            };
            writeln!(f, "job       {}: {what} on {} hosts", job.name, job.hosts)?;
        }
        writeln!(
            f,
            "memory    about {:.1} MB for the idle network",
            self.memory_bytes as f64 / 1e6
        )?;
        write!(f, "deadlock  {}", self.deadlock)?;
        match &self.bounds {
            Some(bounds) => write!(f, "\n{bounds}"),
            None => Ok(()),
        }
    }
}
