//! Drafts of experiments: commented text for a number of hosts, topologies, routers, links and a workload. Several
//! topologies give a sweep that compares them.
//!
//! The text names the registered parameters with their defaults, so that it is complete and up to date. Each network of
//! a draft has been built.

mod cost;
mod job;
mod lines;
mod network;
mod options;
mod parts;
mod request;
mod sweep;

use config::Error;
use topology::{Peer, Port, RouterId, Topology};

use crate::Experiment;
use job::JobDraft;
use options::NetworkOptions;
use parts::NetworkParts;
use request::{TrafficHosts, of_option};

pub use request::{DraftCosts, DraftNetwork, DraftRequest, DraftWorkload, Equal};

/// Routers whose ports are counted.
const COUNTED_ROUTERS: u32 = 4096;

/// The text of an experiment, and of a sweep that changes its topology.
#[derive(Clone, Debug)]
pub struct ExperimentDraft {
    /// The experiment.
    pub experiment: String,
    /// Its networks, in the order of the request.
    pub networks: Vec<DraftNetwork>,
    /// At equal cost, the most that each network costs.
    pub budget: Option<f64>,
    /// The sweep up to the name of the experiment file, and the rest; `None` for one topology.
    sweep: Option<(String, String)>,
}

impl ExperimentDraft {
    /// The text of the sweep, whose experiment is in this file beside it; `None` for one topology.
    pub fn sweep(&self, experiment_file: &str) -> Option<String> {
        let (before, after) = self.sweep.as_ref()?;
        // JSON strings are TOML strings.
        let file = serde_json::Value::from(experiment_file);
        Some(format!("{before}experiment = {file}\n{after}"))
    }
}

/// Drafts an experiment, and a sweep if the request has several topologies.
///
/// # Errors
/// Unknown names, numbers for which there is no network, a workload that does not fit. The key of the error is an
/// option, such as `--radix`.
pub fn draft(request: &DraftRequest<'_>) -> Result<ExperimentDraft, Error> {
    options::check_numbers(request)?;
    let job = JobDraft::of(request.workload, request.hosts)?;
    let options = NetworkOptions::checked(request, &job)?;
    let mut networks = match request.topologies {
        [] => vec![built(&options, &job, None)?],
        topologies => topologies
            .iter()
            .map(|topology| built(&options, &job, Some(topology)))
            .collect::<Result<Vec<_>, _>>()?,
    };
    if let Some(bandwidth) = options.bandwidth {
        network::equalise(&mut networks, options.equal, bandwidth);
    }
    let budget = cost::settle(&mut networks, &options)?;
    let experiment = network::experiment(&options, &job, &networks, request.command);
    for network in &networks {
        check(&options, &job, network, &experiment, networks.len())?;
    }
    let sweep = (networks.len() > 1)
        .then(|| sweep::text(&options, &job, &networks, budget.as_ref(), request.command));
    Ok(ExperimentDraft {
        experiment,
        networks,
        budget: budget.map(|budget| budget.sum),
        sweep,
    })
}

/// Builds the experiment on one topology, or on that of its machine.
fn built(
    options: &NetworkOptions<'_>,
    job: &JobDraft,
    topology: Option<&String>,
) -> Result<DraftNetwork, Error> {
    let attempt = |hosts: TrafficHosts| {
        let text = network::shortest(options, job, topology.map(String::as_str), hosts);
        Experiment::from_toml(&text, "", &[]).map(|experiment| (experiment, hosts))
    };
    // Some patterns need all hosts of the network.
    let wanted = attempt(TrafficHosts::Wanted);
    let built = match (wanted, job.is_traffic()) {
        (Err(error), true) => attempt(TrafficHosts::All).map_err(|_| error),
        (built, _) => built,
    };
    let of_option = |error| of_option(error, topology.map(String::as_str), job.option());
    let (experiment, traffic_hosts) = built.map_err(of_option)?;
    let of_plane = &experiment.network.plane.topology;
    let classes = of_plane
        .link_classes()
        .into_iter()
        .skip(1)
        .map(str::to_string)
        .collect();
    let kind = &experiment.settings["network"]["topology"]["kind"];
    Ok(DraftNetwork {
        topology: kind.as_str().unwrap_or_default().into(),
        description: of_plane.describe(),
        hosts: experiment.network.hosts(),
        routers: experiment.network.topology.routers(),
        cables: experiment.network.topology.router_links() / 2,
        used_ports: used_ports(of_plane.as_ref()),
        bisection_cables: (options.equal == Equal::Bisection).then(|| topology::bisection(of_plane.as_ref())),
        router_link_bits_per_s: options.bandwidth.map(|bandwidth| bandwidth.bits_per_s),
        cost: None,
        cost_in_words: None,
        parts: options
            .costs
            .as_ref()
            .map(|_| NetworkParts::of(&experiment.network)),
        routing: experiment.routing_name().into(),
        sizing: experiment.sizing.clone(),
        classes,
        vcs: experiment.network.traffic_classes.all_vcs(),
        traffic_hosts,
    })
}

/// Ports with a cable of the router that has the most.
fn used_ports(topology: &dyn Topology) -> u32 {
    let routers = topology.routers();
    let step = routers.div_ceil(COUNTED_ROUTERS).max(1);
    let counted = (0..routers).step_by(step as usize).chain(routers.checked_sub(1));
    let used = |router: u32| {
        let ports = (0..topology.ports(RouterId(router))).map(Port);
        let wired = ports.filter(|port| topology.peer(RouterId(router), *port) != Peer::Unwired);
        wired.count() as u32
    };
    counted.map(used).max().unwrap_or(0)
}

/// Reads the written experiment on one of the networks.
fn check(
    options: &NetworkOptions<'_>,
    job: &JobDraft,
    network: &DraftNetwork,
    experiment: &str,
    networks: usize,
) -> Result<(), Error> {
    let mut overrides: Vec<(String, String)> = job.readable().into_iter().collect();
    if networks > 1 {
        overrides.extend(sweep::variant(options, job, network));
    }
    let read = Experiment::from_toml(experiment, "", &overrides);
    read.map_err(|error| of_option(error, Some(&network.topology), job.option()))?;
    Ok(())
}

#[cfg(test)]
mod tests;
