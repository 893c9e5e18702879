//! What a draft is made from, its networks, and errors that name an option.

use config::{Bandwidth, Error, nearest};
use serde::Serialize;

use crate::NetworkSizing;

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
    pub(super) sizing: NetworkSizing,
    /// Link classes but that of hosts.
    #[serde(skip)]
    pub(super) classes: Vec<String>,
    /// The hosts of its synthetic traffic: as many as wanted, unless the pattern needs all.
    #[serde(skip)]
    pub(super) traffic_hosts: TrafficHosts,
}

/// The hosts of synthetic traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TrafficHosts {
    /// All hosts of the network.
    All,
    /// As many as the request asks for.
    Wanted,
}

/// An error about an option of the request.
pub(super) fn refused(option: &str, message: impl Into<String>) -> Error {
    Error {
        location: None,
        key: option.into(),
        message: message.into(),
    }
}

/// An error of the built experiment as one of the option that gives the key.
pub(super) fn of_option(error: crate::Error, topology: &str) -> Error {
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
