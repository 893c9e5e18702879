//! Several runs compared: what differs in their experiments, which values differ, and a sentence about it.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::Summary;
use crate::compare::{Row, TIE_OF_TIMES, rows, ties};
use crate::extremes::{Better, Extremes};
use crate::headline::{headline, not_ranked};

/// Longest text of a value of a key, in characters.
const LONGEST_VALUE: usize = 60;

/// Keys that choose a kind: the other keys of their table depend on them.
const KINDS: [&str; 7] = [
    "algorithm",
    "kind",
    "model",
    "motif",
    "pattern",
    "preset",
    "scheduler",
];

/// Link classes: a topology has its own.
const LINK_CLASSES: &str = "network.links";

/// Keys, or the tables that contain them, on which no result depends.
const WITHOUT_EFFECT: [&str; 6] = [
    "collect",
    "run.credits",
    "run.executor",
    "run.optimistic",
    "run.threads",
    "run.watchdog",
];

/// Several runs compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedRuns {
    /// Which run is better: by the times of jobs of ranks, then by what arrives of the traffic that jobs offer, then by
    /// packet latency if all of it arrives.
    pub headline: String,
    /// Jobs that are not ranked, or whose times say nothing about the networks.
    pub notes: Vec<String>,
    /// The values that [`crate::compare`] prints.
    pub values: Vec<ComparedValue>,
}

/// A value of all runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedValue {
    /// The job or part of the run. `None` if the label tells.
    pub of: Option<String>,
    /// Name of the value.
    pub label: String,
    /// Whether this is a part of the value `of`, such as a part of the time in MPI calls.
    pub is_part: bool,
    /// The value of each run as text with its unit, times with their ratio to the first run.
    pub cells: Vec<String>,
    /// Which values are better. `None` if a difference of this value makes no run better.
    pub better: Option<Better>,
    /// The value of each run, of times in nanoseconds; `None` if the run has none. Empty if no value is better.
    pub values: Vec<Option<f64>>,
    /// Positions of the runs with the best value, and those that tie with it. Empty if all tie, and if a difference of
    /// this value makes no run better.
    pub best: Vec<usize>,
}

/// A key of which some experiments have other values.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DifferingKey {
    /// Path of the key. Jobs have their names in it.
    pub key: String,
    /// The value of each experiment. `None` if it has no such key.
    pub values: Vec<Option<String>>,
    /// Whether results depend on it.
    pub has_effect: bool,
}

/// Compares several runs, given with their names.
pub fn compare_runs(runs: &[(&str, Summary)]) -> ComparedRuns {
    let mut values: Vec<ComparedValue> = Vec::new();
    let mut parents: Vec<String> = Vec::new();
    for Row { label, cells, judged } in rows(runs) {
        let name = label.trim_start();
        let level = (label.len() - name.len()) / 2;
        parents.truncate(level);
        let of = parents.last().cloned();
        parents.push(name.split(": ").next().unwrap_or(name).to_string());
        let better = judged.as_ref().map(|(better, _)| *better);
        let known = judged.map_or(Vec::new(), |(_, values)| values);
        // The latencies of a job that is alone are those of the network.
        if of.as_deref() == Some("network") {
            values.retain(|value| (value.label.as_str(), &value.cells) != (name, &cells));
        }
        values.push(ComparedValue {
            of,
            label: name.into(),
            is_part: level > 1,
            cells,
            better,
            best: better.map_or(Vec::new(), |better| best(better, &known)),
            values: known,
        });
    }
    // Titles of parts have no values.
    values.retain(|value| value.cells.iter().any(|cell| !cell.is_empty()));
    ComparedRuns {
        headline: headline(runs),
        notes: ties(runs).into_iter().chain(not_ranked(runs)).collect(),
        values,
    }
}

/// Positions of the best values, with those that tie with it; empty if all do.
fn best(better: Better, values: &[Option<f64>]) -> Vec<usize> {
    let of = Extremes::of(better, values, TIE_OF_TIMES).filter(|of| !of.tie);
    of.map_or(Vec::new(), |of| of.leaders)
}

/// The keys of which experiments have different values. Where they differ in the kind of a part, its keys that not all
/// have are left out, and so are link classes.
pub fn differing_keys(experiments: &[&Value]) -> Vec<DifferingKey> {
    let mut found = Vec::new();
    let values: Vec<Option<&Value>> = experiments.iter().copied().map(Some).collect();
    collect(String::new(), &values, false, &mut found);
    found.sort_by_key(|of| !of.has_effect);
    found
}

fn collect(key: String, values: &[Option<&Value>], of_other_kind: bool, found: &mut Vec<DifferingKey>) {
    if values.windows(2).all(|pair| pair[0] == pair[1])
        || (of_other_kind && values.iter().any(Option::is_none))
    {
        return;
    }
    let tables: Option<Vec<BTreeMap<String, &Value>>> =
        values.iter().map(|value| members((*value)?)).collect();
    let Some(tables) = tables else {
        let text = |value: &Option<&Value>| value.map(text);
        let is_in = |of: &&str| key == **of || key.starts_with(&format!("{of}."));
        let has_effect = !WITHOUT_EFFECT.iter().any(is_in);
        found.push(DifferingKey {
            values: values.iter().map(text).collect(),
            key,
            has_effect,
        });
        return;
    };
    let of =
        |name: &str| -> Vec<Option<&Value>> { tables.iter().map(|table| table.get(name).copied()).collect() };
    let differs = |name: &&str| of(name).windows(2).any(|pair| pair[0] != pair[1]);
    let other_kind = key == LINK_CLASSES || KINDS.iter().any(differs);
    let mut names: Vec<&String> = tables.iter().flat_map(BTreeMap::keys).collect();
    names.sort_by_key(|name| (!KINDS.contains(&name.as_str()), *name));
    names.dedup();
    for name in names {
        let path = if key.is_empty() {
            name.clone()
        } else {
            format!("{key}.{name}")
        };
        collect(path, &of(name), other_kind, found);
    }
}

/// The members of a table, or of a list of tables with names that are unique. `None` of other values.
fn members(value: &Value) -> Option<BTreeMap<String, &Value>> {
    match value {
        Value::Object(table) => Some(table.iter().map(|(name, value)| (name.clone(), value)).collect()),
        Value::Array(list) if !list.is_empty() => {
            let named = |value| -> Option<(String, &Value)> {
                let name = Value::get(value, "name")?.as_str()?;
                Some((name.to_string(), value))
            };
            let members: BTreeMap<String, &Value> = list.iter().map(named).collect::<Option<_>>()?;
            (members.len() == list.len()).then_some(members)
        }
        _ => None,
    }
}

/// A value as one short line.
fn text(value: &Value) -> String {
    let whole = value.as_str().map_or_else(|| value.to_string(), String::from);
    if whole.chars().count() <= LONGEST_VALUE {
        return whole;
    }
    whole.chars().take(LONGEST_VALUE - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headline::tests::{Run, traffic};
    use serde_json::json;

    #[test]
    fn the_best_values_are_marked_where_they_are_no_tie() {
        let runs = [
            (
                "A",
                Run::new("a")
                    .with(traffic("load", 64, 50.0, 50.0, 1000.0))
                    .summary,
            ),
            (
                "B",
                Run::new("b")
                    .with(traffic("load", 64, 50.0, 49.8, 1010.0))
                    .summary,
            ),
            (
                "C",
                Run::new("c")
                    .with(traffic("load", 64, 50.0, 10.0, 1500.0))
                    .summary,
            ),
        ];
        let found = compare_runs(&runs);
        let value = |label: &str| found.values.iter().find(|value| value.label == label).unwrap();
        let delivered = value("delivered of offered");
        assert_eq!(
            (delivered.better, &delivered.best),
            (Some(Better::Higher), &vec![0, 1])
        );
        assert_eq!(delivered.cells, ["100.0 %", "99.6 %", "20.0 %"]);
        assert_eq!(
            value("delivered per host").cells,
            ["50 Gbps", "49.8 Gbps", "10 Gbps"]
        );
        assert_eq!(value("delivered per host").better, Some(Better::Higher));
        let latency = value("packet latency, mean");
        assert_eq!(
            (latency.better, &latency.best),
            (Some(Better::Lower), &vec![0, 1])
        );
        assert_eq!(latency.of.as_deref(), Some("network"));
        assert_eq!(latency.cells[2], "1.5 µs (1.50x)");
        assert_eq!(latency.values[2], Some(1500.0));
        assert_eq!(
            value("offered per host").better,
            None,
            "more load makes no run better"
        );
        assert_eq!(
            value("accepted load").better,
            None,
            "a fraction of the bandwidth of all hosts"
        );
        assert!(value("routers").best.is_empty(), "all tie");
    }

    #[test]
    fn equal_values_of_two_jobs_are_both_there() {
        let run = |digest| {
            let run = Run::new(digest).with(traffic("reads", 64, 50.0, 50.0, 900.0));
            run.with(traffic("writes", 64, 50.0, 50.0, 900.0)).summary
        };
        let found = compare_runs(&[("A", run("a")), ("B", run("b"))]);
        let delivered = found
            .values
            .iter()
            .filter(|value| value.label == "delivered of offered");
        let of: Vec<Option<&str>> = delivered.map(|value| value.of.as_deref()).collect();
        assert_eq!(of, [Some("job reads"), Some("job writes")]);
    }

    #[test]
    fn nothing_is_best_where_runs_are_not_alike() {
        let mut wide = Run::new("b")
            .with(traffic("load", 64, 200.0, 200.0, 900.0))
            .summary;
        wide.network.hosts = 1050;
        wide.network.routers = 300;
        let mut narrow = Run::new("a").with(traffic("load", 64, 50.0, 50.0, 900.0)).summary;
        narrow.network.hosts = 1024;
        narrow.network.routers = 320;
        let found = compare_runs(&[("A", narrow), ("B", wide)]);
        for label in ["delivered per host", "delivered of offered", "routers", "links"] {
            let value = found.values.iter().find(|value| value.label == label).unwrap();
            assert_eq!((value.better, value.best.len()), (None, 0), "{label}");
        }
        let cut = |digest: &str, ns| Run::new(digest).with(Run::ranks("halo", ns, false)).summary;
        let found = compare_runs(&[("A", cut("a", 1e3)), ("B", cut("b", 2e3))]);
        let time = &found.values[0];
        assert!(time.label.contains("interrupted"), "{}", time.label);
        assert_eq!(
            time.better, None,
            "the time of a job that did not finish says nothing"
        );
    }

    #[test]
    fn differing_keys_are_named_with_their_values() {
        let first = json!({
            "network": {
                "routing": { "algorithm": "minimal", "paths": "hashed" },
                "links": { "global": { "latency": "1 ns" }, "host": { "latency": "1 ns" } }
            },
            "run": { "seed": 1, "threads": 1 },
            "job": [{ "name": "load", "traffic": { "load": 0.3 } }]
        });
        let second = json!({
            "network": {
                "routing": { "algorithm": "ugal", "bias": "1 B", "paths": "random" },
                "links": { "leaf-spine": { "latency": "1 ns" }, "host": { "latency": "2 ns" } }
            },
            "run": { "seed": 2, "threads": 2 },
            "job": [{ "name": "load", "traffic": { "load": 0.4 }, "start": "1 us" }]
        });
        let found = differing_keys(&[&first, &second]);
        let words: Vec<String> = found
            .iter()
            .map(|of| format!("{} {:?} {}", of.key, of.values, of.has_effect))
            .collect();
        assert_eq!(
            words,
            [
                r#"job.load.start [None, Some("1 us")] true"#,
                r#"job.load.traffic.load [Some("0.3"), Some("0.4")] true"#,
                r#"network.links.host.latency [Some("1 ns"), Some("2 ns")] true"#,
                r#"network.routing.algorithm [Some("minimal"), Some("ugal")] true"#,
                r#"network.routing.paths [Some("hashed"), Some("random")] true"#,
                r#"run.seed [Some("1"), Some("2")] true"#,
                r#"run.threads [Some("1"), Some("2")] false"#,
            ]
        );
        assert!(differing_keys(&[&first, &first]).is_empty());
    }
}
