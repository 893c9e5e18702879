//! Drafts of experiments: commented text for a number of hosts, topologies, routers, links and a workload. Several
//! topologies give a sweep that compares them.
//!
//! The text names the registered parameters with their defaults, so that it is complete and up to date. Each network of
//! a draft has been built.

mod job;
mod lines;
mod network;
mod sweep;

use config::{Bandwidth, Error, nearest};
use serde::Serialize;

use crate::{Experiment, NetworkSizing};
use job::JobDraft;

/// What several topologies of a draft have in common, beside the number of hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Equal {
    /// The bandwidth of all links.
    Hosts,
    /// The bandwidth between two halves of the hosts, for each host.
    Bisection,
    /// The bandwidth of all cables between routers, for each host.
    CableBandwidth,
}

impl Equal {
    /// Names of the variants, in their order.
    pub const NAMES: [&str; 3] = ["hosts", "bisection", "cable-bandwidth"];

    /// The variant of this name.
    ///
    /// # Errors
    /// An unknown name.
    pub fn named(name: &str) -> Result<Equal, Error> {
        let all = [Equal::Hosts, Equal::Bisection, Equal::CableBandwidth];
        if let Some(at) = Equal::NAMES.iter().position(|known| *known == name) {
            return Ok(all[at]);
        }
        let message = match name {
            "cost" => "equal cost needs prices, and FabricSim has none; expected 'cable-bandwidth', or 'hosts' with a \
                       cost table in the key costs of the sweep, which then shows the cost of each network"
                .to_string(),
            _ => format!("unknown name '{name}'{}", nearest(name, Equal::NAMES)),
        };
        Err(refused("--equal", message))
    }
}

/// What an experiment is drafted from.
#[derive(Clone, Copy, Debug)]
pub struct DraftRequest<'a> {
    /// Least number of hosts.
    pub hosts: u32,
    /// Topologies by name. Several make a sweep.
    pub topologies: &'a [String],
    /// Greatest number of ports of a router.
    pub radix: u32,
    /// Bandwidth of the links; of those of hosts, if `equal` changes the others.
    pub bandwidth: Bandwidth,
    /// A motif or a pattern of synthetic traffic. A pattern that has the name of a motif is `traffic:NAME`.
    pub workload: &'a str,
    /// What the topologies of a sweep have in common.
    pub equal: Equal,
    /// The command, for the comment at the top.
    pub command: &'a str,
}

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

/// One network of a draft.
#[derive(Clone, Debug, Serialize)]
pub struct DraftNetwork {
    /// Name of the topology.
    pub topology: String,
    /// The topology with its dimensions.
    pub description: String,
    /// Number of hosts.
    pub hosts: u32,
    /// Number of routers.
    pub routers: u32,
    /// Cables between routers.
    pub cables: u64,
    /// Cables between two halves of the hosts, as few as a search finds: an upper bound of the bisection. Only where
    /// the topologies have equal bisections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bisection_cables: Option<u64>,
    /// Bandwidth of the links between routers, in bits per second.
    pub router_link_bits_per_s: u64,
    /// Routing algorithm.
    pub routing: String,
    /// How it got its size.
    #[serde(skip)]
    sizing: NetworkSizing,
    /// Link classes but that of hosts.
    #[serde(skip)]
    classes: Vec<String>,
    /// The hosts of its synthetic traffic: as many as wanted, unless the pattern needs all.
    #[serde(skip)]
    traffic_hosts: TrafficHosts,
}

/// The hosts of synthetic traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TrafficHosts {
    /// All hosts of the network.
    All,
    /// As many as the request asks for.
    Wanted,
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

/// An error about an option of the request.
fn refused(option: &str, message: impl Into<String>) -> Error {
    Error {
        location: None,
        key: option.into(),
        message: message.into(),
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

/// An error of the built experiment as one of the option that gives the key.
fn of_option(error: crate::Error, topology: &str) -> Error {
    let crate::Error::Config(error) = error else {
        return refused("", error.to_string());
    };
    let Error { key, message, .. } = error;
    let option = match key.as_str() {
        "network.hosts" => "--hosts",
        "network.radix" => "--radix",
        "network.link.bandwidth" => "--bandwidth",
        key if key.starts_with("network.links.") => "--equal",
        key if key.starts_with("network.topology") => "--topology",
        key if key.starts_with("job.") => "--workload",
        key => key,
    };
    let part = match key.rsplit_once('.') {
        Some((_, last)) if option == "--workload" => format!("{last}: "),
        _ if option == "--equal" => "bandwidth of links between routers: ".into(),
        _ => String::new(),
    };
    let place = match message.contains(&format!("'{topology}'")) {
        true => String::new(),
        false => format!(" (on topology {topology})"),
    };
    refused(option, format!("{part}{message}{place}"))
}

#[cfg(test)]
mod tests;
