//! The registries as lists: parts that an experiment can name, and its keys.

use config::Parameter;
use mpi::{ComputeRule, MpiSettings};
use serde::{Serialize, Serializer};

use crate::setup::job_trace::{APPLICATION, FORMATS, JOB_TRACE};
use crate::setup::network_preset::{HARDWARE, MACHINES, NetworkPreset, PresetValue};
use crate::setup::schedule::SCHEDULERS;
use crate::setup::{
    collect, experiment, job, mapping, network, network_preset, placement, power, rails, router_models,
    sizing, traffic_classes,
};

/// One part that an experiment can name, or one of its tables.
#[derive(Clone, Debug, Serialize)]
pub struct Listing {
    /// Name in experiments.
    pub name: String,
    /// Summary of one line.
    pub summary: String,
    /// Its parameters.
    #[serde(serialize_with = "as_json")]
    pub parameters: Vec<&'static Parameter>,
    /// The rules for each collective, of a table that selects algorithms, then the algorithms that stand in for
    /// those of its source.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<(String, String)>,
    /// The values of a machine or of a hardware family, each with its source or the reason why it is assumed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<PresetValue>,
}

fn as_json<S: Serializer>(parameters: &[&Parameter], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(parameters.iter().map(|parameter| parameter.to_json()))
}

/// Kinds of parts, as `fabricsim list` names them.
pub const PART_KINDS: &[&str] = &[
    "topologies",
    "routings",
    "router-models",
    "nic-models",
    "patterns",
    "arrivals",
    "message-sizes",
    "motifs",
    "presets",
    "collectives",
    "mpi-presets",
    "machines",
    "hardware",
    "placements",
    "mappings",
    "trace-formats",
    "job-trace-formats",
    "schedulers",
    "executors",
    "keys",
];

/// Tables of experiments with their keys, beside those of the parts that an experiment names.
static KEYS: &[(&str, &str, &[&[Parameter]])] = &[
    (
        "network",
        "the network",
        &[
            network_preset::PARAMETERS,
            sizing::PARAMETERS,
            network::NETWORK,
            rails::PARAMETERS,
        ],
    ),
    ("network.link", "all links", &[network::LINK]),
    (
        "network.links.CLASS",
        "the links of one class",
        &[network::LINK_CLASS],
    ),
    ("network.router", "all routers", &[network::ROUTER]),
    (
        "network.routers",
        "routers of another model",
        &[router_models::ROUTERS],
    ),
    ("network.nic", "all NICs", &[network::NIC]),
    (
        "network.memory",
        "messages between ranks of one host",
        &[network::MEMORY],
    ),
    (
        "network.traffic_class",
        "one traffic class",
        &[traffic_classes::TRAFFIC_CLASS],
    ),
    ("job", "one job", &[job::JOB]),
    (
        "job.compute",
        "the duration of computations",
        &[ComputeRule::PARAMETERS],
    ),
    (
        "job.workload.window",
        "the part of a recording that is replayed",
        &[workload::recording_window::PARAMETERS],
    ),
    (
        "job.workload.phases",
        "one phase of the motif phases",
        &[workload::motif::PHASE],
    ),
    (
        "job.workload.phases.over",
        "groups of ranks of a collective",
        &[workload::motif::OVER],
    ),
    ("job_trace", "jobs of a job trace", &[JOB_TRACE]),
    (
        "job_trace.application",
        "what jobs of one application execute",
        &[APPLICATION],
    ),
    ("job.traffic", "synthetic traffic", &[job::TRAFFIC]),
    ("mpi", "the MPI library of all jobs", &[MpiSettings::PARAMETERS]),
    ("run", "the execution", &[experiment::RUN]),
    ("collect", "data collected during the run", &[collect::PARAMETERS]),
    ("power", "what the parts of the network draw", &[power::POWER]),
    ("power.router", "each router", &[power::ROUTER]),
    (
        "power.routers.KIND",
        "each router of one kind",
        &[power::ROUTER_KIND],
    ),
    ("power.link", "each end of a cable", &[power::LINK]),
    (
        "power.links.CLASS",
        "each end of the cables of one link class",
        &[power::LINK_CLASS],
    ),
    ("power.nic", "each NIC port", &[power::NIC]),
];

struct ExecutorKind {
    name: &'static str,
    summary: &'static str,
    parameters: &'static [Parameter],
}

/// The executors of the kernel, with the parameters of `run` that each has.
static EXECUTORS: [ExecutorKind; 5] = [
    ExecutorKind {
        name: "sequential",
        summary: "one event after the other in the total order: the reference",
        parameters: &[],
    },
    ExecutorKind {
        name: "conservative",
        summary: "windows of one lookahead, on threads and processes",
        parameters: &[],
    },
    ExecutorKind {
        name: "optimistic",
        summary: "ahead of global virtual time with rollback, on threads and processes (Time Warp); parameters in run.optimistic",
        parameters: experiment::OPTIMISTIC,
    },
    ExecutorKind {
        name: "auto",
        summary: "the fastest of those above, found by measuring as the run goes on; the default",
        parameters: &[],
    },
    ExecutorKind {
        name: "reverse-check",
        summary: "executes every event, undoes it, compares, and executes it again: finds bugs of FabricSim",
        parameters: &[],
    },
];

fn part(name: &str, summary: &str, parameters: &'static [Parameter]) -> Listing {
    Listing {
        name: name.into(),
        summary: summary.into(),
        parameters: parameters.iter().collect(),
        rules: Vec::new(),
        values: Vec::new(),
    }
}

/// The parts of a registry whose entries have a name and parameters; their summary, or the given one.
macro_rules! parts {
    ($registry:expr) => {
        parts!($registry, |entry| entry.summary)
    };
    ($registry:expr, |$entry:ident| $summary:expr) => {
        $registry
            .iter()
            .map(|$entry| part($entry.name, $summary.as_ref(), $entry.parameters))
            .collect()
    };
}

/// All parts of a kind (see [`PART_KINDS`]); `None` for an unknown kind.
pub fn listing(kind: &str) -> Option<Vec<Listing>> {
    Some(match kind {
        "topologies" => parts!(topology::REGISTRY),
        "routings" => parts!(routing::REGISTRY, |a| format!(
            "{} (on {})",
            a.summary, a.works_on
        )),
        "router-models" => parts!(fabric::router::MODELS),
        "nic-models" => parts!(fabric::nic::MODELS),
        "patterns" => parts!(workload::traffic::PATTERNS),
        "arrivals" => parts!(workload::traffic::ARRIVALS),
        "message-sizes" => parts!(workload::traffic::size::SIZES),
        "motifs" => parts!(workload::motif::MOTIFS, |m| format!(
            "{} ({})",
            m.summary, m.source
        )),
        // Motifs too, listed with the sources of their numbers.
        "presets" => parts!(workload::motif::PRESETS, |m| format!(
            "{} ({})",
            m.summary, m.source
        )),
        "collectives" => {
            let algorithms = mpi::ALGORITHMS.iter().map(|a| {
                let name = format!("{}/{}", a.collective.name(), a.name);
                part(&name, &format!("{} ({})", a.summary, a.source), &[])
            });
            algorithms.chain(mpi::TABLES.iter().map(table)).collect()
        }
        "mpi-presets" => mpi::PRESETS
            .iter()
            .map(|p| part(p.name, &format!("{} ({})", p.summary, p.source), &[]))
            .collect(),
        "machines" => network_presets(MACHINES),
        "hardware" => network_presets(HARDWARE),
        "placements" => parts!(placement::PLACEMENTS),
        "mappings" => parts!(mapping::MAPPINGS),
        "trace-formats" => workload::trace::FORMATS
            .iter()
            .map(|f| part(f.name, f.summary, &[]))
            .collect(),
        "job-trace-formats" => FORMATS.iter().map(|f| part(f.name, f.summary, &[])).collect(),
        "schedulers" => parts!(SCHEDULERS),
        "executors" => parts!(EXECUTORS),
        "keys" => KEYS
            .iter()
            .map(|(path, summary, parameters)| Listing {
                parameters: parameters.iter().copied().flatten().collect(),
                ..part(path, summary, &[])
            })
            .collect(),
        _ => return None,
    })
}

fn network_presets(presets: &[NetworkPreset]) -> Vec<Listing> {
    let listed = |preset: &NetworkPreset| {
        let (summary, values) = preset.listed();
        Listing {
            values,
            ..part(preset.name, &summary, &[])
        }
    };
    presets.iter().map(listed).collect()
}

/// A table of rules that select the algorithms of collectives.
fn table(table: &mpi::SelectionTable) -> Listing {
    let algorithms = mpi::AlgorithmSelection::table(table);
    let rules = |variant| {
        let rules: Vec<String> = algorithms
            .rules(variant)
            .iter()
            .map(ToString::to_string)
            .collect();
        (variant.name().to_string(), rules.join(", "))
    };
    let stand_ins = table.names().filter_map(|named| {
        let what = format!("{} instead of {}", named.algorithm, named.name);
        let shown = |difference| {
            (
                format!("{} stand-in", named.collective),
                format!("{what}: {difference}"),
            )
        };
        named.difference.map(shown)
    });
    Listing {
        name: format!("table/{}", table.name),
        summary: format!("{} ({})", table.summary, table.source),
        parameters: Vec::new(),
        values: Vec::new(),
        rules: mpi::CollectiveVariant::all()
            .map(rules)
            .chain(stand_ins)
            .collect(),
    }
}
