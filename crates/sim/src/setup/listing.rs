//! What there is to choose from, from the registries.

use serde::Serialize;

/// One part that an experiment can name.
#[derive(Clone, Debug, Serialize)]
pub struct Listing {
    /// Name in experiments.
    pub name: String,
    /// One line.
    pub summary: String,
    /// Parameters with their meaning and default.
    pub parameters: Vec<(String, String)>,
}

/// The kinds of parts, as `fabricsim list` takes them.
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

/// All parts of a kind (see [`PART_KINDS`]); none for an unknown kind.
pub fn listing(kind: &str) -> Option<Vec<Listing>> {
    let part = |name: &str, summary: &str, parameters: &[(&str, &str)]| Listing {
        name: name.into(),
        summary: summary.into(),
        parameters: parameters
            .iter()
            .map(|(n, help)| (n.to_string(), help.to_string()))
            .collect(),
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
                "ahead of what is certain, with rollback, on threads and processes (Time Warp)",
                &[
                    (
                        "optimistic.batch",
                        "events between two looks at the mail, default 16",
                    ),
                    (
                        "optimistic.gvt_interval",
                        "batches between two global virtual times, default 64",
                    ),
                    (
                        "optimistic.ahead",
                        "a time such as \"1 us\": how far beyond global virtual time; by default found as it runs",
                    ),
                    (
                        "optimistic.memory",
                        "bytes per thread for events that are not yet certain, default 128 MiB",
                    ),
                ],
            ),
            part(
                "reverse-check",
                "carries every event out, takes it back, compares, and carries it out again: finds bugs of FabricSim",
                &[],
            ),
        ],
        _ => return None,
    })
}

/// A table of rules that choose among the algorithms of collectives.
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
        parameters: mpi::CollectiveVariant::all().map(rules).collect(),
    }
}
