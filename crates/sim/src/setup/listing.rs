//! Lists the registered parts.

use config::Parameter;
use serde::{Serialize, Serializer};

/// One part that an experiment can name.
#[derive(Clone, Debug, Serialize)]
pub struct Listing {
    /// Name in experiments.
    pub name: String,
    /// Summary of one line.
    pub summary: String,
    /// Its parameters.
    #[serde(serialize_with = "as_json")]
    pub parameters: &'static [Parameter],
    /// Rules for each collective, if the part is a selection table.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<(String, String)>,
}

fn as_json<S: Serializer>(parameters: &[Parameter], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(parameters.iter().map(Parameter::to_json))
}

/// Kinds of parts, as `fabricsim list` names them.
pub const PART_KINDS: &[&str] = &[
    "topologies",
    "routings",
    "router-models",
    "patterns",
    "arrivals",
    "message-sizes",
    "motifs",
    "collectives",
    "mpi-presets",
    "placements",
    "mappings",
    "trace-formats",
    "executors",
];

/// All parts of a kind (see [`PART_KINDS`]); `None` for an unknown kind.
pub fn listing(kind: &str) -> Option<Vec<Listing>> {
    let part = |name: &str, summary: &str, parameters: &'static [Parameter]| Listing {
        name: name.into(),
        summary: summary.into(),
        parameters,
        rules: Vec::new(),
    };
    Some(match kind {
        "topologies" => topology::REGISTRY
            .iter()
            .map(|k| part(k.name, k.summary, k.parameters))
            .collect(),
        "routings" => routing::REGISTRY
            .iter()
            .map(|a| {
                part(
                    a.name,
                    &format!("{} (on {})", a.summary, a.works_on),
                    a.parameters,
                )
            })
            .collect(),
        "router-models" => fabric::router::MODELS
            .iter()
            .map(|m| part(m.name, m.summary, m.parameters))
            .collect(),
        "patterns" => workload::traffic::PATTERNS
            .iter()
            .map(|p| part(p.name, p.summary, p.parameters))
            .collect(),
        "arrivals" => workload::traffic::ARRIVALS
            .iter()
            .map(|a| part(a.name, a.summary, a.parameters))
            .collect(),
        "message-sizes" => workload::traffic::size::SIZES
            .iter()
            .map(|s| part(s.name, s.summary, s.parameters))
            .collect(),
        "motifs" => workload::motif::MOTIFS
            .iter()
            .map(|m| part(m.name, &format!("{} ({})", m.summary, m.source), m.parameters))
            .collect(),
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
        "placements" => crate::setup::placement::PLACEMENTS
            .iter()
            .map(|p| part(p.name, p.summary, p.parameters))
            .collect(),
        "mappings" => crate::setup::mapping::MAPPINGS
            .iter()
            .map(|m| part(m.name, m.summary, m.parameters))
            .collect(),
        "trace-formats" => workload::trace::FORMATS
            .iter()
            .map(|f| part(f.name, f.summary, &[]))
            .collect(),
        "executors" => vec![
            part(
                "sequential",
                "one event after the other in the total order: the reference",
                &[],
            ),
            part(
                "conservative",
                "windows of the lookahead, router by router, on threads and processes; the default",
                &[],
            ),
            part(
                "optimistic",
                "speculative execution with rollback, on threads and processes (Time Warp); parameters in run.optimistic",
                crate::setup::experiment::OPTIMISTIC,
            ),
            part(
                "reverse-check",
                "executes, undoes, compares and executes every event again: finds bugs of FabricSim",
                &[],
            ),
        ],
        _ => return None,
    })
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
    Listing {
        name: format!("table/{}", table.name),
        summary: format!("{} ({})", table.summary, table.source),
        parameters: &[],
        rules: mpi::CollectiveVariant::all().map(rules).collect(),
    }
}
