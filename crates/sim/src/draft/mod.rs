//! Drafts of experiments: commented text for a number of hosts, topologies, routers, links and a workload. Several
//! topologies give a sweep that compares them.
//!
//! The text names the registered parameters with their defaults, so that it is complete and up to date. Each network of
//! a draft has been built.

mod job;
mod lines;
mod network;
mod request;
mod sweep;

use config::{Error, nearest};

use crate::Experiment;
use job::JobDraft;
use request::{TrafficHosts, of_option, refused};

pub use request::{DraftNetwork, DraftRequest, Equal};

/// The text of an experiment, and of a sweep that changes its topology.
#[derive(Clone, Debug)]
pub struct ExperimentDraft {
    /// The experiment.
    pub experiment: String,
    /// Its networks, in the order of the request.
    pub networks: Vec<DraftNetwork>,
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
    let DraftRequest {
        topologies, equal, ..
    } = *request;
    for (number, option) in [(request.hosts, "--hosts"), (request.radix, "--radix")] {
        if number == 0 {
            return Err(refused(option, "0 is not possible; expected at least 1"));
        }
    }
    check_topologies(topologies)?;
    if topologies.len() == 1 && equal != Equal::Hosts {
        let message = "compares topologies, and there is one only; expected several, as in --topology dragonfly,fat-tree";
        return Err(refused("--equal", message));
    }
    let job = JobDraft::named(request.workload, request.hosts)?;
    let mut networks = topologies
        .iter()
        .map(|topology| built(request, &job, topology))
        .collect::<Result<Vec<_>, _>>()?;
    network::equalise(&mut networks, equal, request.bandwidth);
    for network in &networks {
        network::check_links(request, &job, network)?;
    }
    let experiment = network::experiment(request, &job, &networks);
    let sweep = (networks.len() > 1).then(|| sweep::text(request, &job, &networks));
    Ok(ExperimentDraft {
        experiment,
        networks,
        sweep,
    })
}

fn check_topologies(topologies: &[String]) -> Result<(), Error> {
    let sized = || {
        topology::REGISTRY
            .iter()
            .filter(|kind| kind.sizing.is_some())
            .map(|kind| kind.name)
    };
    if topologies.is_empty() {
        let message = format!(
            "none is given; expected one of: {}",
            sized().collect::<Vec<_>>().join(", ")
        );
        return Err(refused("--topology", message));
    }
    for (number, topology) in topologies.iter().enumerate() {
        if !sized().any(|name| name == topology) {
            let is_known = topology::REGISTRY.iter().any(|kind| kind.name == topology);
            let message = match is_known {
                true => format!(
                    "'{topology}' has the hosts of its own parameters; expected one of: {}",
                    sized().collect::<Vec<_>>().join(", ")
                ),
                false => format!("unknown name '{topology}'{}", nearest(topology, sized())),
            };
            return Err(refused("--topology", message));
        }
        if topologies[..number].contains(topology) {
            return Err(refused(
                "--topology",
                format!("'{topology}' is given twice; expected each once"),
            ));
        }
    }
    Ok(())
}

/// Builds the experiment on one topology.
fn built(request: &DraftRequest<'_>, job: &JobDraft, topology: &str) -> Result<DraftNetwork, Error> {
    let attempt = |hosts: TrafficHosts| {
        let text = network::shortest(request, job, topology, hosts);
        Experiment::from_toml(&text, "", &[]).map(|experiment| (experiment, hosts))
    };
    // Some patterns need all hosts of the network.
    let wanted = attempt(TrafficHosts::Wanted);
    let built = match (wanted, job.is_traffic()) {
        (Err(error), true) => attempt(TrafficHosts::All).map_err(|_| error),
        (built, _) => built,
    };
    let (experiment, traffic_hosts) = built.map_err(|error| of_option(error, topology))?;
    let of_plane = &experiment.network.topology;
    let classes = of_plane
        .link_classes()
        .into_iter()
        .skip(1)
        .map(str::to_string)
        .collect();
    let sizing = experiment.sizing.as_ref().expect("the text has a radix");
    Ok(DraftNetwork {
        topology: topology.into(),
        description: of_plane.describe(),
        hosts: experiment.network.hosts(),
        routers: of_plane.routers(),
        cables: of_plane.router_links() / 2,
        bisection_cables: (request.equal == Equal::Bisection).then(|| topology::bisection(of_plane.as_ref())),
        router_link_bits_per_s: request.bandwidth.bits_per_s,
        routing: experiment.routing_name().into(),
        sizing: sizing.clone(),
        classes,
        traffic_hosts,
    })
}

#[cfg(test)]
mod tests;
