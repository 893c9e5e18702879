//! Checks an experiment without running it: what it builds, and what it needs.

use std::collections::HashSet;
use std::fmt;

use experiment::{Effort, Experiment, JobKind, NetworkModel, NetworkSizing, WorkEstimate, bounds, work};
use fabric::{ClassTurns, RouterCapabilities, Switching};
use serde::Serialize;

use routing::{NotProven, Routing, check_order, prove_by_parts, prove_deadlock_free};
use topology::{RouterId, Topology};

use crate::Error;
use crate::lp::sampling::{HostSampler, Plan, RouterSampler};
use crate::lp::shortcuts::credit_batching::CreditBatches;
use crate::lp::shortcuts::{Declared, Requested, Shortcuts};

/// Largest number of routing situations in a deadlock proof: about a second.
const MAX_PROOF_STATES: u64 = 3_000_000;

/// Largest number of hops in a deadlock proof by parts of paths: some ten seconds.
const MAX_PART_HOPS: u64 = 200_000_000;

/// Number of hops that are compared with an order of channels: about a tenth of a second.
const MAX_ORDERED_HOPS: u64 = 1_000_000;

/// Largest number of jobs that the text shows with a job trace.
const SHOWN_JOBS: usize = 16;

/// The summary of a checked experiment.
#[derive(Clone, Debug, Serialize)]
pub struct CheckSummary {
    /// The topology with its dimensions.
    pub topology: String,
    /// Number of hosts.
    pub hosts: u64,
    /// NIC ports of each host.
    pub rails: u32,
    /// Disjoint copies of the topology.
    pub planes: u32,
    /// Number of routers.
    pub routers: u64,
    /// Links between routers, each direction counted.
    pub router_links: u64,
    /// How the network got its size; `None` without `network.radix`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizing: Option<NetworkSizing>,
    /// Hosts that the jobs use.
    pub hosts_used: u64,
    /// The routing algorithm.
    pub routing: String,
    /// Whether it is the default of this topology.
    pub routing_is_default: bool,
    /// Number of virtual channels.
    pub virtual_channels: u8,
    /// The router models and their routers; empty if all routers have one model.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub router_models: Vec<CheckedRouters>,
    /// The jobs.
    pub jobs: Vec<CheckedJob>,
    /// Memory of the idle network, in bytes. Queues and traces need more.
    pub memory_bytes: u64,
    /// The expected work of a run.
    pub work: WorkEstimate,
    /// The result of the deadlock proof as text.
    pub deadlock: String,
    /// Whether the network was proven free of deadlocks; `None` if it is too large for the proofs.
    pub deadlock_free: Option<bool>,
    /// Bounds of the synthetic traffic; `None` without such traffic.
    pub bounds: Option<results::Bounds>,
    /// The schedule of the job trace; `None` without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<results::ScheduleSummary>,
    /// Data rates that are not whole numbers of bits per second, with the rates that are used.
    pub rounded_rates: Vec<config::RoundedRate>,
    /// The experiment with all defaults.
    pub experiment: serde_json::Value,
}

/// The routers of one model, if there are several.
#[derive(Clone, Debug, Serialize)]
pub struct CheckedRouters {
    /// The model.
    pub model: String,
    /// Number of routers, in each plane.
    pub count: u32,
    /// Their numbers, such as `0-3, 8`.
    pub routers: String,
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

/// Checks an experiment that was built, and tries to prove that it is free of deadlocks.
pub fn check(experiment: &Experiment) -> Result<CheckSummary, Error> {
    let network = &experiment.network;
    let topology = network.topology.as_ref();
    let (deadlock, deadlock_free) = deadlock_freedom(network, network.router_models.capabilities());
    Ok(CheckSummary {
        topology: topology.describe(),
        hosts: u64::from(network.hosts()),
        rails: network.rails.count(),
        planes: network.rails.planes(),
        routers: u64::from(topology.routers()),
        router_links: topology.router_links(),
        sizing: experiment.sizing.clone(),
        hosts_used: hosts_used(experiment),
        routing: experiment.routing_name().to_string(),
        routing_is_default: experiment.routing_is_default,
        virtual_channels: network.traffic_classes.all_vcs(),
        router_models: network
            .router_models
            .shares()
            .into_iter()
            .map(|(model, count, routers)| CheckedRouters {
                model: model.name().into(),
                count,
                routers,
            })
            .collect(),
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
        work: work(experiment)?,
        deadlock,
        deadlock_free,
        bounds: bounds(experiment, Effort::CHECK),
        schedule: experiment
            .schedule
            .as_ref()
            .map(|schedule| schedule.summary.clone()),
        rounded_rates: experiment.rounded_rates.clone(),
        experiment: experiment.settings.clone(),
    })
}

/// What is proven about deadlocks of the network, as a sentence, and whether it is free of them; `None`: not known.
fn deadlock_freedom(network: &NetworkModel, has: RouterCapabilities) -> (String, Option<bool>) {
    if !has.takes_credits {
        let text =
            "deadlock free: this router model has space for all packets, so that none waits for another";
        return (text.into(), Some(true));
    }
    // Planes share no link: packets of one plane never wait for those of another.
    let plane = &network.plane;
    let where_to = match network.rails.planes() {
        1 => "",
        _ => " in each plane",
    };
    let (topology, routing) = (plane.topology.as_ref(), plane.routing.as_ref());
    match prove_deadlock_free(topology, routing, MAX_PROOF_STATES) {
        // Space for a part of a packet is no proof that the packet leaves the channels behind it.
        Ok(proof) if proof.adaptive > 0 && has.switching == Switching::Wormhole => (NO_ROOM.into(), None),
        Ok(proof) => (format!("{proof}{where_to}"), Some(true)),
        Err(NotProven::TooLarge { .. })
            if routing.reserves_space() && has.switching == Switching::Wormhole =>
        {
            (NO_ROOM.into(), None)
        }
        Err(NotProven::TooLarge { max_states }) => {
            let (text, free) = by_parts(topology, routing, max_states);
            match free {
                Some(true) => (format!("{text}{where_to}"), free),
                _ => (text, free),
            }
        }
        Err(other) => (format!("NOT deadlock free: {other}"), Some(false)),
    }
}

const NO_ROOM: &str = "not proven: packets that wait in the escape subnetwork can hold adaptive channels, as buffers \
                       need not hold whole packets";

/// What the parts of paths and a sample of paths tell where there are too many situations for a proof.
fn by_parts(topology: &dyn Topology, routing: &dyn Routing, max_states: u64) -> (String, Option<bool>) {
    // The sample compares the decisions about packets with the order, and the parts all hops of the functions behind
    // these decisions.
    let sample = match check_order(topology, routing, MAX_ORDERED_HOPS) {
        Ok(Some(ordered)) => match prove_by_parts(topology, routing, MAX_PART_HOPS) {
            Ok(Some(proof)) => return (proof.to_string(), Some(true)),
            Ok(None) | Err(NotProven::TooLarge { .. }) => format!("{ordered}; "),
            Err(other) => format!("{other}; "),
        },
        Ok(None) => String::new(),
        Err(NotProven::Misroute(misroute)) => {
            return (format!("NOT deadlock free: {misroute}"), Some(false));
        }
        Err(other) => format!("{other}; "),
    };
    let text = format!(
        "not proven: more than {max_states} routing situations; {sample}the same routing is proven on small networks \
         of this kind by the tests"
    );
    (text, None)
}

/// Number of hosts that have a rank or traffic of any job.
fn hosts_used(experiment: &Experiment) -> u64 {
    let all = experiment.network.hosts();
    let mut used = HashSet::new();
    for job in experiment.jobs.iter() {
        match &job.kind {
            JobKind::Ranks(ranks) => used.extend(ranks.hosts.iter().map(|host| host.0)),
            JobKind::Traffic(traffic) if traffic.host_count == all => return all.into(),
            JobKind::Traffic(traffic) => {
                used.extend((0..traffic.host_count).map(|host| traffic.host(host).0))
            }
        }
    }
    used.len() as u64
}

/// Memory of idle routers, hosts and ranks, from the sizes of their types.
pub(crate) fn memory_bytes(experiment: &Experiment) -> u64 {
    let topology = experiment.network.topology.as_ref();
    let network = &experiment.network;
    let vcs = u64::from(network.traffic_classes.all_vcs());
    let batches = u64::from(network.router_models.capabilities().reports_credit_waits)
        * vcs
        * CreditBatches::BYTES_PER_VC;
    // The preferred queue of each further traffic class, and the turns.
    let traffic_classes = network.traffic_classes.count();
    let turns = match traffic_classes {
        1 => 0,
        _ => size_of::<ClassTurns>() + (usize::from(traffic_classes) - 1) * size_of::<u32>(),
    };
    let port = |router: RouterId, ports: u64| {
        network
            .router_models
            .of(router)
            .bytes_per_port(ports, vcs, network.packet_slot() > 0)
            + batches
            + turns as u64
    };
    let link_end = size_of::<Option<crate::lp::wiring::LinkEnd>>() as u64;
    let requested = Requested::new(experiment, true);
    let shortcuts = Shortcuts::choose(&requested, &Declared::new(network));
    let plan = Plan::new(&experiment.collect, network, shortcuts.tallies.is_on());
    let ports: u64 = (0..topology.routers())
        .map(|router| (RouterId(router), u64::from(topology.ports(RouterId(router)))))
        .map(|(router, ports)| {
            ports * (port(router, ports) + link_end) + RouterSampler::bytes(&plan, ports, vcs)
        })
        .sum();
    let router = size_of::<crate::lp::router_lp::RouterLp>() as u64;
    let rails = experiment.network.rails.count();
    let host = |nic| crate::lp::host::bytes_with(nic, rails, &network.traffic_classes);
    // The hosts of another router model may have other NICs.
    let host = network.router_models.nics().map(host).max().unwrap_or(0) + 8 * experiment.jobs.len() as u64;
    let host = host + HostSampler::bytes(&plan, u64::from(rails), vcs);
    // State of the kernel per LP: identity, numbering, list heads, counters.
    let per_lp = 64;
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
    routers * (router + per_lp) + ports + hosts * (host + per_lp) + ranks
}

impl fmt::Display for CheckSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "network   {}", self.topology)?;
        writeln!(
            f,
            "size      {} hosts, {} routers, {} links between routers, {} virtual channels",
            self.hosts, self.routers, self.router_links, self.virtual_channels
        )?;
        if let Some(sizing) = &self.sizing {
            writeln!(f, "sizing    {sizing}")?;
            writeln!(
                f,
                "          {} hosts exist, jobs use {}",
                self.hosts, self.hosts_used
            )?;
        }
        let default = match self.routing_is_default {
            true => " (the default of this topology)",
            false => "",
        };
        writeln!(f, "routing   {}{default}", self.routing)?;
        for CheckedRouters {
            model,
            count,
            routers,
        } in &self.router_models
        {
            writeln!(f, "routers   {count} of the model {model}: {routers}")?;
        }
        if self.rails > 1 {
            let planes = match self.planes {
                1 => "one plane".to_string(),
                planes => format!("{planes} planes"),
            };
            writeln!(f, "rails     {} per host, in {planes}", self.rails)?;
        }
        if let Some(schedule) = &self.schedule {
            writeln!(f, "schedule  {schedule}")?;
        }
        let processors = self.experiment.pointer("/job_trace/processors_per_node");
        if let Some(processors) = processors.and_then(serde_json::Value::as_u64) {
            writeln!(
                f,
                "nodes     of the trace have {processors} processors each (job_trace.processors_per_node)"
            )?;
        }
        // A trace may have thousands of jobs.
        let shown = match self.schedule {
            Some(_) => SHOWN_JOBS.min(self.jobs.len()),
            None => self.jobs.len(),
        };
        for job in &self.jobs[..shown] {
            let what = match job.ranks {
                0 => "synthetic traffic".to_string(),
                ranks => format!("{ranks} ranks"),
            };
            writeln!(f, "job       {}: {what} on {} hosts", job.name, job.hosts)?;
        }
        if shown < self.jobs.len() {
            writeln!(f, "job       and {} more", self.jobs.len() - shown)?;
        }
        writeln!(
            f,
            "memory    about {:.1} MB for the idle network",
            self.memory_bytes as f64 / 1e6
        )?;
        writeln!(f, "work      {}", self.work)?;
        write!(f, "deadlock  {}", self.deadlock)?;
        if let Some(bounds) = &self.bounds {
            write!(f, "\n{bounds}")?;
        }
        for rate in &self.rounded_rates {
            write!(f, "\nrounded   {rate}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn freedom(routing: &str, has: RouterCapabilities) -> (String, Option<bool>) {
        let text = format!(
            "[network]\ntopology = {{ kind = \"torus\", sizes = [4, 4] }}\nrouting = {{ algorithm = \"{routing}\" }}\n\
             [[job]]\ntraffic = {{ pattern = \"uniform\", load = 0.1 }}\n[run]\nuntil = \"1 us\"\n"
        );
        let experiment = Experiment::from_toml(&text, "x.toml", &[]).expect("an experiment");
        deadlock_freedom(&experiment.network, has)
    }

    #[test]
    fn the_proof_follows_from_what_the_model_declares() {
        let whole = RouterCapabilities::NONE;
        let parts = RouterCapabilities {
            switching: Switching::Wormhole,
            ..whole
        };
        let free = RouterCapabilities {
            takes_credits: false,
            ..whole
        };
        assert_eq!(freedom("minimal-adaptive", whole).1, Some(true));
        assert_eq!(freedom("minimal-adaptive", parts).1, None);
        assert_eq!(freedom("dimension-order", parts).1, Some(true));
        assert_eq!(freedom("minimal-adaptive", free).1, Some(true));
    }

    #[test]
    fn large_networks_are_proven_by_parts_or_a_sample_is_compared() {
        let large = |topology: &str, routing: &str, has: RouterCapabilities| {
            let text = format!(
                "[network]\ntopology = {{ {topology} }}\nrouting = {{ {routing} }}\n\
                 [[job]]\ntraffic = {{ pattern = \"uniform\", load = 0.1 }}\n[run]\nuntil = \"1 us\"\n"
            );
            let experiment = Experiment::from_toml(&text, "x.toml", &[]).expect("an experiment");
            deadlock_freedom(&experiment.network, has)
        };
        let parts = RouterCapabilities {
            switching: Switching::Wormhole,
            ..RouterCapabilities::NONE
        };
        let dragonfly =
            "kind = \"dragonfly\", hosts_per_router = 4, routers_per_group = 8, global_links_per_router = 4";
        let torus = "kind = \"torus\", sizes = [8, 8, 16]";
        let large_torus = "kind = \"torus\", sizes = [16, 16, 16]";
        let whole = RouterCapabilities::NONE;
        for (topology, routing, has, says) in [
            (dragonfly, "algorithm = \"minimal\"", whole, "acyclic"),
            (dragonfly, "algorithm = \"ugal\"", whole, "parts of all paths"),
            (dragonfly, "algorithm = \"ugal\"", parts, "parts of all paths"),
            (torus, "algorithm = \"valiant\"", whole, "parts of all paths"),
            (
                torus,
                "algorithm = \"minimal-adaptive\"",
                whole,
                "parts of all paths",
            ),
            (
                large_torus,
                "algorithm = \"dimension-order\", deadlock = \"dateline-at-entry\"",
                whole,
                "paths keep the order of channels",
            ),
            (
                torus,
                "algorithm = \"minimal-adaptive\"",
                parts,
                "need not hold whole packets",
            ),
            (
                torus,
                "algorithm = \"minimal-adaptive\", escape = \"bubble\"",
                whole,
                "situations; the same",
            ),
        ] {
            let (text, free) = large(topology, routing, has);
            assert!(text.contains(says), "{routing}: {text}");
            // A sample is no proof.
            let proven = ["acyclic", "parts of all paths"].contains(&says).then_some(true);
            assert_eq!(free, proven, "{routing}: {text}");
        }
    }
}
