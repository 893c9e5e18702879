//! What a draft is made from, its networks, and errors that name an option.

use std::path::Path;

use config::{Bandwidth, Error, nearest};
use serde::Serialize;

use super::parts::NetworkParts;
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
    /// The cost of the network, by a cost table.
    Cost,
}

impl Equal {
    /// Names of the variants, in their order.
    pub const NAMES: [&str; 4] = ["hosts", "bisection", "cable-bandwidth", "cost"];

    /// The variant of this name.
    ///
    /// # Errors
    /// An unknown name.
    pub fn named(name: &str) -> Result<Equal, Error> {
        let all = [Equal::Hosts, Equal::Bisection, Equal::CableBandwidth, Equal::Cost];
        match Equal::NAMES.iter().position(|known| *known == name) {
            Some(at) => Ok(all[at]),
            None => {
                let message = format!("unknown name '{name}'{}", nearest(name, Equal::NAMES));
                Err(refused("--equal", message))
            }
        }
    }
}

/// What an experiment is drafted from.
#[derive(Clone, Copy, Debug)]
pub struct DraftRequest<'a> {
    /// Least number of hosts; `None`: one for each rank of the recording.
    pub hosts: Option<u32>,
    /// Topologies by name. Several make a sweep. None with the preset of a machine.
    pub topologies: &'a [String],
    /// Greatest number of ports of a router; `None` with the preset of a machine.
    pub radix: Option<u32>,
    /// Bandwidth of the links; of those of hosts, if `equal` changes the others. `None`: that of the preset, or
    /// 100 Gbps.
    pub bandwidth: Option<Bandwidth>,
    /// Hosts : uplinks of a leaf, for the topologies that have this parameter.
    pub tapering: Option<&'a str>,
    /// A machine or a hardware family.
    pub preset: Option<&'a str>,
    /// What the job does.
    pub workload: DraftWorkload<'a>,
    /// What the topologies of a sweep have in common.
    pub equal: Equal,
    /// The prices of a sweep, which [`Equal::Cost`] needs.
    pub costs: Option<DraftCosts<'a>>,
    /// With [`Equal::Cost`], the most that each network costs; `None`: the cost of the first one with all links of the
    /// bandwidth.
    pub budget: Option<f64>,
    /// The command, for the comment at the top.
    pub command: &'a str,
}

/// The cost table of a draft.
#[derive(Clone, Copy, Debug)]
pub struct DraftCosts<'a> {
    /// Its file, to read it.
    pub path: &'a Path,
    /// The same as the sweep names it.
    pub written: &'a str,
}

/// The workload of a draft.
#[derive(Clone, Copy, Debug)]
pub enum DraftWorkload<'a> {
    /// A motif or a pattern of synthetic traffic. A pattern that has the name of a motif is `traffic:NAME`.
    Named(&'a str),
    /// A recording or a schedule of any trace format.
    Recording {
        /// Its main file or folder, to read it.
        path: &'a Path,
        /// The same as the experiment file names it.
        written: &'a str,
    },
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
    /// Ports with a cable of the router that has the most, among all routers or 4,096 of them.
    pub used_ports: u32,
    /// Cables between two halves of the hosts, as few as a search finds: an upper bound of the bisection. Only where
    /// the topologies have equal bisections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bisection_cables: Option<u64>,
    /// Bandwidth of the links between routers, in bits per second; `None` with a preset, which may give each class its
    /// own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub router_link_bits_per_s: Option<u64>,
    /// Its cost; `None` without a cost table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Routing algorithm.
    pub routing: String,
    /// How it got its size; `None` for a machine.
    #[serde(skip)]
    pub(super) sizing: Option<NetworkSizing>,
    /// Link classes but that of hosts.
    #[serde(skip)]
    pub(super) classes: Vec<String>,
    /// Virtual channels.
    #[serde(skip)]
    pub(super) vcs: u8,
    /// The hosts of its synthetic traffic: as many as wanted, unless the pattern needs all.
    #[serde(skip)]
    pub(super) traffic_hosts: TrafficHosts,
    /// Its parts; `None` without a cost table.
    #[serde(skip)]
    pub(super) parts: Option<NetworkParts>,
    /// Its cost, also for each host, and at equal cost how far it is below the budget, and its bandwidth; `None`
    /// without a cost table.
    #[serde(skip)]
    pub cost_in_words: Option<String>,
}

impl DraftNetwork {
    /// That its routers have less than three quarters of their ports in use, where this is so.
    pub fn unused_ports(&self) -> Option<String> {
        let radix = self.sizing.as_ref()?.radix;
        (u64::from(self.used_ports) * 4 < u64::from(radix) * 3).then(|| {
            format!(
                "{} uses at most {} of the {radix} ports of a router: its cost is not comparable with that of networks \
                 whose routers are full",
                self.topology, self.used_ports
            )
        })
    }

    /// Bandwidth of the links between routers, if it is one number.
    pub(super) fn router_links(&self) -> Option<Bandwidth> {
        let bits_per_s = self.router_link_bits_per_s?;
        Some(Bandwidth { bits_per_s })
    }
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

/// An error of the built experiment as one of the option that gives the key; `of_job` is the option of the job.
pub(super) fn of_option(error: crate::Error, topology: Option<&str>, of_job: &str) -> Error {
    let error = match error {
        crate::Error::Config(error) => error,
        crate::Error::Several(mut errors) => errors.remove(0),
        error => return refused("", error.to_string()),
    };
    let Error { key, message, .. } = error;
    let option = match key.as_str() {
        "network.hosts" => "--hosts",
        "network.radix" => "--radix",
        "network.preset" | "network.hardware" => "--preset",
        "network.link.bandwidth" => "--bandwidth",
        "network.topology.tapering" => "--tapering",
        key if key.starts_with("network.links.") => "--equal",
        key if key.starts_with("network.topology") => "--topology",
        key if key.starts_with("job.") => of_job,
        key => key,
    };
    let part = match key.rsplit_once('.') {
        Some((_, last)) if option == "--workload" => format!("{last}: "),
        _ if option == "--equal" => "bandwidth of links between routers: ".into(),
        _ => String::new(),
    };
    let place = match topology {
        Some(topology) if !message.contains(&format!("'{topology}'")) => format!(" (on topology {topology})"),
        _ => String::new(),
    };
    refused(option, format!("{part}{message}{place}"))
}
