//! Runs to compare with: other values of keys that this experiment has. None of them promises anything.
//!
//! A test of `crates/sim` reads every proposed experiment of the corpus.

use serde_json::Value;

use super::link_loads::{EJECTION, INJECTION};
use super::{ChangedKey, Comparison, Evidence};
use crate::{JobSummary, Summary};

/// Routing algorithms to compare with, by kind of topology, the usual first choice first.
const ROUTINGS: &[(&str, &[&str])] = &[
    ("dragonfly", &["ugal", "par", "minimal"]),
    ("dragonfly-2d", &["ugal", "par", "minimal"]),
    ("dragonfly-plus", &["ugal", "par", "minimal"]),
    ("fat-tree", &["adaptive", "scatter", "destination-mod-k"]),
    ("torus", &["minimal-adaptive", "ugal", "dimension-order"]),
    ("mesh", &["minimal-adaptive", "ugal", "dimension-order"]),
    ("hyperx", &["dal", "minimal-adaptive", "dimension-order"]),
    ("express-mesh", &["ugal", "minimal"]),
    ("slim-fly", &["ugal", "minimal"]),
    ("graph", &["ugal", "minimal"]),
];

/// Greatest number of other routings.
const OTHER_ROUTINGS: usize = 2;

/// Algorithms whose paths may be longer than minimal ones.
const DETOURS: &[&str] = &["valiant", "ugal", "par", "piggyback", "dal", "doal"];

/// Algorithms that choose paths by load.
const ADAPTIVE: &[&str] = &[
    "ugal",
    "par",
    "piggyback",
    "adaptive",
    "minimal-adaptive",
    "dal",
    "doal",
];

/// Default of `network.routing.bias` in networks of groups and on HyperX, in bytes.
const BIAS: u64 = 7680;

/// Placements to compare with.
const PLACEMENTS: &[&str] = &["linear", "random", "random-routers"];

/// Factor on the length of a run that is too short.
const LONGER: u64 = 4;

/// Part of the delivered load that is surely below saturation.
const BELOW: f64 = 0.9;

fn comparison(differs: impl Into<String>, set: impl IntoIterator<Item = (String, String)>) -> Comparison {
    let set = set.into_iter().map(|(key, value)| ChangedKey { key, value });
    Comparison {
        differs: differs.into(),
        set: set.collect(),
    }
}

fn quoted(text: impl std::fmt::Display) -> String {
    format!("\"{text}\"")
}

/// Whether paths of this algorithm may be longer than minimal ones.
pub(super) fn takes_detours(algorithm: &str) -> bool {
    DETOURS.contains(&algorithm)
}

/// Other routing algorithms of this topology.
pub(super) fn routings(summary: &Summary) -> Vec<Comparison> {
    let network = &summary.experiment["network"];
    let (kind, current) = (&network["topology"]["kind"], &network["routing"]["algorithm"]);
    let of_kind = ROUTINGS.iter().find(|(of, _)| kind == of);
    let others = of_kind
        .into_iter()
        .flat_map(|(_, all)| *all)
        .filter(|name| current != **name);
    others
        .take(OTHER_ROUTINGS)
        .map(|name| {
            // Detours that begin above the buffer come too late, and above that of the whole port are refused.
            let small = takes_detours(name) && summary.network.vc_buffer_bytes < BIAS;
            let bias = match small && summary.network.vc_buffer_bytes > 0 {
                true => format!(", bias = \"{} B\"", summary.network.vc_buffer_bytes / 2),
                false => String::new(),
            };
            // The whole table, since the current parameters belong to the current algorithm.
            let value = format!("{{ algorithm = \"{name}\"{bias} }}");
            comparison(format!("routing {name}"), [("network.routing".into(), value)])
        })
        .collect()
}

/// The usual adaptive routing, if the current one does not adapt and the network has a choice of paths.
pub(super) fn adaptive_routing(summary: &Summary) -> Vec<Comparison> {
    let algorithm = summary.experiment["network"]["routing"]["algorithm"].as_str();
    let adapts = algorithm.is_none_or(|algorithm| ADAPTIVE.contains(&algorithm));
    match adapts || has_one_path(summary) {
        true => Vec::new(),
        false => routings(summary).into_iter().take(1).collect(),
    }
}

/// Whether no two routers have more than one path between them, by routers and parameters of the topology. `false`
/// where these do not tell.
fn has_one_path(summary: &Summary) -> bool {
    let topology = &summary.experiment["network"]["topology"];
    let numbers =
        |key: &str| -> Option<Vec<u64>> { topology[key].as_array()?.iter().map(Value::as_u64).collect() };
    let parallel = topology["links"] != Value::Null && topology["links"] != 1;
    let by_parameters = match topology["kind"].as_str() {
        Some("mesh") => numbers("sizes")
            .is_some_and(|sizes| !parallel && sizes.iter().filter(|size| **size > 1).count() <= 1),
        Some("fat-tree") => numbers("up").is_some_and(|up| up.iter().all(|uplinks| *uplinks == 1)),
        _ => false,
    };
    by_parameters || summary.network.routers <= 2
}

/// Links of a class of twice the bandwidth.
pub(super) fn bandwidth(evidence: &Evidence<'_>, class: &str) -> Vec<Comparison> {
    let section = match class {
        INJECTION | EJECTION => "host",
        other => other,
    };
    let settings = &evidence.summary.experiment["network"]["links"][section];
    let bits_per_s = evidence.links.as_ref().and_then(|links| links.bandwidth(class));
    let (true, Some(bits_per_s)) = (
        settings.is_object(),
        bits_per_s.and_then(|bits| bits.checked_mul(2)),
    ) else {
        return Vec::new();
    };
    let key = format!("network.links.{section}.bandwidth");
    let value = quoted(config::Bandwidth { bits_per_s });
    vec![comparison(
        format!("twice the bandwidth of {section} links"),
        [(key, value)],
    )]
}

/// One key of all classes of links.
fn of_all_links(
    summary: &Summary,
    key: &str,
    change: impl Fn(&str) -> Option<String>,
) -> Vec<(String, String)> {
    let links = summary.experiment["network"]["links"].as_object();
    let changed = links.into_iter().flatten().filter_map(|(class, settings)| {
        let value = change(settings[key].as_str()?)?;
        Some((format!("network.links.{class}.{key}"), value))
    });
    changed.collect()
}

fn if_any(differs: &str, set: Vec<(String, String)>) -> Vec<Comparison> {
    match set.is_empty() {
        true => Vec::new(),
        false => vec![comparison(differs, set)],
    }
}

/// Half the latency of all cables.
pub(super) fn latency(summary: &Summary) -> Vec<Comparison> {
    if_any(
        "half the latency of all cables",
        of_all_links(summary, "latency", half_of_time),
    )
}

/// Twice the bandwidth of all links: what a network with these paths can give at most.
pub(super) fn faster_network(summary: &Summary) -> Vec<Comparison> {
    let twice = |text: &str| {
        let bits_per_s = config::Bandwidth::parse(text).ok()?.bits_per_s.checked_mul(2)?;
        Some(quoted(config::Bandwidth { bits_per_s }))
    };
    if_any(
        "twice the bandwidth of all links: what a network can give at most",
        of_all_links(summary, "bandwidth", twice),
    )
}

fn half_of_time(text: &str) -> Option<String> {
    let ps = config::Duration::parse(text).ok()?.ps / 2;
    (ps > 0).then(|| quoted(config::Duration { ps }))
}

/// Numbers of groups that divide the global ports of a group evenly: the next larger one, and, if no job needs a number
/// of hosts, the next smaller one.
pub(super) fn even_groups(summary: &Summary) -> Vec<Comparison> {
    let topology = &summary.experiment["network"]["topology"];
    let number = |key: &str| topology[key].as_u64();
    let ports = match topology["kind"].as_str() {
        Some("dragonfly") => number("routers_per_group").zip(number("global_links_per_router")),
        Some("dragonfly-2d") => number("rows")
            .zip(number("columns"))
            .and_then(|(rows, columns)| rows.checked_mul(columns))
            .zip(number("global_links_per_router")),
        Some("dragonfly-plus") => number("spines_per_group").zip(number("global_links_per_spine")),
        _ => None,
    };
    let ports = ports.and_then(|(routers, links)| routers.checked_mul(links));
    let (Some(ports), Some(groups)) = (ports, number("groups")) else {
        return Vec::new();
    };
    let even = |others: &u64| ports.is_multiple_of(*others);
    let larger = (groups..=ports).find(even);
    let jobs = summary.experiment["job"].as_array();
    let any_number = jobs.is_some_and(|jobs| {
        jobs.iter()
            .all(|job| job["traffic"].is_object() && (job["hosts"] == "all" || job["hosts"] == "free"))
    });
    let smaller = (1..groups.saturating_sub(1))
        .rev()
        .find(even)
        .filter(|_| any_number);
    larger
        .into_iter()
        .chain(smaller)
        .map(|others| {
            let groups = others + 1;
            comparison(
                format!("{groups} groups, {} cables between any two", ports / others),
                [("network.topology.groups".into(), groups.to_string())],
            )
        })
        .collect()
}

/// The place of a job in the experiment, and its settings.
fn job_settings<'a>(summary: &'a Summary, name: &str) -> Option<(usize, &'a Value)> {
    let jobs = summary.experiment["job"].as_array()?;
    jobs.iter().enumerate().find(|(_, job)| job["name"] == name)
}

/// A load as an experiment has it: four digits, at most 1.
fn load(load: f64) -> String {
    format!("{:.4}", load.clamp(0.0001, 1.0))
}

/// A load of a job that the network carries.
pub(super) fn lower_load(summary: &Summary, job: &JobSummary) -> Vec<Comparison> {
    let settings = job_settings(summary, &job.name);
    let (Some((index, settings)), Some(traffic)) = (settings, &job.traffic) else {
        return Vec::new();
    };
    let Some(asked) = settings["traffic"]["load"].as_f64() else {
        return Vec::new();
    };
    let delivered = traffic.accepted_bytes as f64 / traffic.offered_bytes.max(1) as f64;
    let value = load(BELOW * asked * delivered);
    let differs = format!("a load of {value}, below what it delivers");
    vec![comparison(
        differs,
        [(format!("job.{index}.traffic.load"), value)],
    )]
}

/// All loads of synthetic traffic times this factor, at most 1.
pub(super) fn higher_load(summary: &Summary, factor: f64) -> Vec<Comparison> {
    let changed = summary.jobs.iter().filter_map(|job| {
        let (index, settings) = job_settings(summary, &job.name)?;
        let asked = settings["traffic"]["load"].as_f64()?;
        (asked < 1.0).then(|| (format!("job.{index}.traffic.load"), load(asked * factor)))
    });
    let set: Vec<_> = changed.collect();
    match factor > 1.0 {
        true => if_any("the load at which the first link is about full", set),
        false => Vec::new(),
    }
}

/// A longer measured time.
pub(super) fn longer_run(summary: &Summary) -> Vec<Comparison> {
    let until = summary.experiment["run"]["until"].as_str();
    let ps = until.and_then(|text| config::Duration::parse(text).ok()?.ps.checked_mul(LONGER));
    ps.map(|ps| {
        let value = quoted(config::Duration { ps });
        comparison(
            format!("a run of {LONGER} times the length"),
            [("run.until".into(), value)],
        )
    })
    .into_iter()
    .collect()
}

/// A router model with head-of-line blocking and switch allocation.
pub(super) fn other_router_model(summary: &Summary) -> Vec<Comparison> {
    let network = &summary.experiment["network"];
    // It has no bubble flow control.
    let bubbles = network["routing"]["deadlock"] == "bubble" || network["routing"]["escape"] == "bubble";
    match network["router"]["model"].as_str() {
        Some("packet") if !bubbles => vec![comparison(
            "the router model input-queued, with head-of-line blocking",
            [("network.router.model".into(), quoted("input-queued"))],
        )],
        _ => Vec::new(),
    }
}

/// Routers that hold packets back less: larger buffers, and a router without head-of-line blocking.
pub(super) fn router(summary: &Summary) -> Vec<Comparison> {
    let router = &summary.experiment["network"]["router"];
    let bytes = router["buffer"]
        .as_str()
        .and_then(|text| config::Bytes::parse(text).ok()?.bytes.checked_mul(2));
    let mut tries: Vec<Comparison> = bytes
        .map(|bytes| {
            let value = quoted(config::Bytes { bytes });
            comparison(
                "buffers of twice the size",
                [("network.router.buffer".into(), value)],
            )
        })
        .into_iter()
        .collect();
    let has_speedup = router["model"] == "input-queued"
        || (router["model"] == "crossbar" && router["crossbar_bandwidth"].is_null());
    if has_speedup && router["speedup"].as_f64() == Some(1.0) {
        tries.push(comparison(
            "a crossbar of twice the speed",
            [("network.router.speedup".into(), "2.0".into())],
        ));
    }
    tries
}

/// Other placements of a job.
pub(super) fn placements(summary: &Summary, job: &JobSummary) -> Vec<Comparison> {
    let Some((index, settings)) = job_settings(summary, &job.name) else {
        return Vec::new();
    };
    let current = match &settings["placement"] {
        Value::String(name) => name.as_str(),
        placement => placement["kind"].as_str().unwrap_or_default(),
    };
    // Such a placement names the hosts of the machine that was measured.
    if current.is_empty() || current == "file" || current == "hostlist" {
        return Vec::new();
    }
    let others = PLACEMENTS.iter().filter(|name| **name != current);
    others
        .take(2)
        .map(|name| {
            comparison(
                format!("job {} placed {name}", job.name),
                [(format!("job.{index}.placement"), quoted(name))],
            )
        })
        .collect()
}

/// Half the overheads of MPI calls.
pub(super) fn overheads(summary: &Summary) -> Vec<Comparison> {
    let mpi = &summary.experiment["mpi"];
    let changed = ["send_overhead", "receive_overhead"].iter().filter_map(|key| {
        let value = half_of_time(mpi[key].as_str()?)?;
        Some((format!("mpi.{key}"), value))
    });
    if_any("half the overheads of sends and receives", changed.collect())
}

/// Memory of twice the bandwidth.
pub(super) fn memory(summary: &Summary) -> Vec<Comparison> {
    let text = summary.experiment["network"]["memory"]["bandwidth"].as_str();
    let bits = text.and_then(|text| config::Bandwidth::parse(text).ok()?.bits_per_s.checked_mul(2));
    bits.map(|bits_per_s| {
        comparison(
            "twice the bandwidth of the memory of hosts",
            [(
                "network.memory.bandwidth".into(),
                quoted(config::Bandwidth { bits_per_s }),
            )],
        )
    })
    .into_iter()
    .collect()
}

/// Processors that compute twice as fast.
pub(super) fn faster_computation(summary: &Summary, job: &JobSummary) -> Vec<Comparison> {
    let settings = job_settings(summary, &job.name);
    let scale = settings.and_then(|(index, settings)| Some((index, settings["compute"]["scale"].as_f64()?)));
    match scale {
        Some((index, scale)) if scale > 0.0 => vec![comparison(
            format!("job {} on processors of twice the speed", job.name),
            [(format!("job.{index}.compute.scale"), format!("{:?}", scale / 2.0))],
        )],
        _ => Vec::new(),
    }
}
