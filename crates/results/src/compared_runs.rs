//! Several runs compared: what differs in their experiments, which values differ, and a sentence about it.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::compare::{Better, Row, TIE, rows, ties};
use crate::{Summary, show};

/// Loads and latencies that differ by less than this part are a tie: runs of random traffic differ by chance.
const TIE_OF_TRAFFIC: f64 = 0.05;

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
    /// Which run is better, by the first of these that is no tie: time of a job, delivered load, packet latency.
    pub headline: String,
    /// Jobs whose times say nothing about the networks.
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
    /// The value of each run, times with their ratio to the first run.
    pub cells: Vec<String>,
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
        parents.truncate((label.len() - name.len()) / 2);
        let of = parents.last().cloned();
        parents.push(name.split(": ").next().unwrap_or(name).to_string());
        let best = judged.map_or(Vec::new(), |(better, values)| best(better, &values));
        // The latencies of a job that is alone are those of the network.
        values.retain(|value| (value.label.as_str(), &value.cells) != (name, &cells));
        values.push(ComparedValue {
            of,
            label: name.into(),
            cells,
            best,
        });
    }
    // Titles of parts have no values.
    values.retain(|value| value.cells.iter().any(|cell| !cell.is_empty()));
    let notes = ties(runs);
    let notes = notes.split('\n').filter(|line| !line.is_empty());
    ComparedRuns {
        headline: headline(runs),
        notes: notes.map(String::from).collect(),
        values,
    }
}

/// Positions of the best values, with those that tie with it; empty if all do.
fn best(better: Better, values: &[Option<f64>]) -> Vec<usize> {
    let Some(Extremes { best, tie, .. }) = Extremes::of(better, values, TIE) else {
        return Vec::new();
    };
    let near = |value: f64| (value - best.1).abs() <= TIE * best.1.abs().max(value.abs());
    let known = values.iter().enumerate();
    let near = known.filter(|(_, value)| !tie && value.is_some_and(near));
    near.map(|(run, _)| run).collect()
}

/// The best and the worst of several values, with their positions.
struct Extremes {
    best: (usize, f64),
    worst: (usize, f64),
    tie: bool,
}

impl Extremes {
    /// `None` with less than two values.
    fn of(better: Better, values: &[Option<f64>], tie: f64) -> Option<Extremes> {
        let known = values.iter().enumerate();
        let mut known: Vec<(usize, f64)> = known.filter_map(|(run, value)| Some((run, (*value)?))).collect();
        known.sort_by(|a, b| a.1.total_cmp(&b.1));
        let (mut best, mut worst) = (*known.first()?, *known.last()?);
        let tie = worst.1 - best.1 <= tie * worst.1.abs();
        if better == Better::Higher {
            (best, worst) = (worst, best);
        }
        (known.len() > 1).then_some(Extremes { best, worst, tie })
    }

    /// The greater one divided by the smaller one, `None` if that is 0.
    fn ratio(&self) -> Option<String> {
        let (low, high) = (self.best.1.min(self.worst.1), self.best.1.max(self.worst.1));
        (low > 0.0).then(|| match high / low {
            ratio @ 10.0.. => format!("{ratio:.0} times"),
            ratio => format!("{ratio:.2} times"),
        })
    }
}

/// Which run is better.
fn headline(runs: &[(&str, Summary)]) -> String {
    let name = |(run, _): (usize, f64)| runs[run].0;
    let same = runs.windows(2).all(|pair| pair[0].1.digest == pair[1].1.digest);
    if same {
        return "All results are the same: their digests agree.".into();
    }
    let mut tied = Vec::new();
    for (job, of) in times_of_jobs(runs) {
        match Extremes::of(Better::Lower, &of, TIE) {
            Some(of) if !of.tie => {
                let ratio = of.ratio().unwrap_or_default();
                return format!(
                    "Job {job} takes the least time in {}, {}; in {} it takes {ratio} as long, {}.",
                    name(of.best),
                    show::time(of.best.1),
                    name(of.worst),
                    show::time(of.worst.1)
                );
            }
            Some(of) => tied.push(format!("job {job} takes {} in all", show::time(of.best.1))),
            None => {}
        }
    }
    let network = |figure: fn(&crate::NetworkSummary) -> Option<f64>| -> Vec<Option<f64>> {
        runs.iter().map(|(_, run)| figure(&run.network)).collect()
    };
    let has_load = |n: &crate::NetworkSummary| (n.offered_load > 0.0).then_some(n.accepted_load);
    let offered = Extremes::of(
        Better::Higher,
        &network(|n| (n.offered_load > 0.0).then_some(n.offered_load)),
        TIE_OF_TRAFFIC,
    );
    let offered = match offered {
        Some(of) if !of.tie => format!(
            " They are offered different loads, {} to {}.",
            show::percent(of.worst.1),
            show::percent(of.best.1)
        ),
        _ => String::new(),
    };
    match Extremes::of(Better::Higher, &network(has_load), TIE_OF_TRAFFIC) {
        Some(of) if !of.tie => {
            let ratio = of
                .ratio()
                .map_or_else(|| "not 0 as".into(), |ratio| format!("{ratio} as much as"));
            let most = if runs.len() > 2 { " most," } else { "" };
            return format!(
                "{} delivers{most} {} of the injection bandwidth, {ratio} {} ({}).{offered}",
                name(of.best),
                show::percent(of.best.1),
                name(of.worst),
                show::percent(of.worst.1)
            );
        }
        Some(of) => tied.push(format!(
            "all deliver about {} of the injection bandwidth",
            show::percent(of.best.1)
        )),
        None => {}
    }
    let latency = Extremes::of(Better::Lower, &network(|n| n.latency_ns.mean), TIE_OF_TRAFFIC);
    let shorter = match latency {
        Some(of) if !of.tie => format!(
            "the mean packet latency is the shortest in {}, {}, and {} as long in {}, {}",
            name(of.best),
            show::time(of.best.1),
            of.ratio().unwrap_or_default(),
            name(of.worst),
            show::time(of.worst.1)
        ),
        Some(_) => "the mean packet latencies differ by less than 5 %".into(),
        None => "no packet was measured in most runs".into(),
    };
    tied.push(shorter);
    let sentence = tied.join("; ");
    let mut letters = sentence.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    format!("{}{}.{offered}", first.unwrap_or_default(), letters.as_str())
}

/// The times of the jobs of ranks that all runs finished, those that differ most first.
fn times_of_jobs(runs: &[(&str, Summary)]) -> Vec<(String, Vec<Option<f64>>)> {
    let Some((_, first)) = runs.first() else {
        return Vec::new();
    };
    let of = |name: &str| -> Option<Vec<Option<f64>>> {
        let time = |(_, run): &(&str, Summary)| {
            let job = run.jobs.iter().find(|job| job.name == name)?;
            (job.ranks > 0 && job.finished && !job.stopped).then_some(Some(job.time_ns))
        };
        runs.iter().map(time).collect()
    };
    let names = first.jobs.iter().map(|job| &job.name);
    let mut jobs: Vec<_> = names.filter_map(|name| Some((name.clone(), of(name)?))).collect();
    let spread = |times: &[Option<f64>]| {
        Extremes::of(Better::Lower, times, TIE).map_or(1.0, |of| of.worst.1 / of.best.1.max(1.0))
    };
    jobs.sort_by(|a, b| spread(&b.1).total_cmp(&spread(&a.1)));
    jobs
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
    use crate::{JobSummary, Latency};
    use serde_json::json;

    fn run(digest: &str, accepted_load: f64, mean_ns: f64) -> Summary {
        let mut summary = Summary {
            schema: crate::SCHEMA.into(),
            digest: digest.into(),
            experiment: Value::Null,
            network: crate::NetworkSummary::default(),
            jobs: Vec::new(),
            notes: Vec::new(),
            verdict: None,
            rounded_rates: Vec::new(),
            assumptions: crate::Assumptions::default(),
            schedule: None,
            interference: None,
            bounds: None,
            collect: None,
            run: crate::RunSummary::default(),
        };
        summary.network.offered_load = 0.5;
        summary.network.accepted_load = accepted_load;
        summary.network.latency_ns = Latency {
            mean: Some(mean_ns),
            ..Latency::default()
        };
        summary
    }

    fn with_job(mut summary: Summary, time_ns: f64, finished: bool) -> Summary {
        summary.jobs.push(JobSummary {
            name: "halo".into(),
            ranks: 8,
            time_ns,
            finished,
            ..JobSummary::default()
        });
        summary
    }

    #[test]
    fn the_first_measure_that_is_no_tie_decides() {
        let of = |runs: &[(&str, Summary)]| compare_runs(runs).headline;
        let load = [("A", run("a", 0.03, 900.0)), ("B", run("b", 0.3, 1800.0))];
        assert_eq!(
            of(&load),
            "B delivers 30.0 % of the injection bandwidth, 10 times as much as A (3.0 %)."
        );
        let tie = [("A", run("a", 0.30, 900.0)), ("B", run("b", 0.31, 1800.0))];
        assert_eq!(
            of(&tie),
            "All deliver about 31.0 % of the injection bandwidth; the mean packet latency is the shortest in A, 900 ns, \
             and 2.00 times as long in B, 1.8 µs."
        );
        let [(_, a), (_, b)] = load.clone();
        let jobs = [
            ("A", with_job(a.clone(), 3e3, true)),
            ("B", with_job(b.clone(), 4.5e3, true)),
        ];
        assert_eq!(
            of(&jobs),
            "Job halo takes the least time in A, 3 µs; in B it takes 1.50 times as long, 4.5 µs."
        );
        let cut = [("A", with_job(a, 3e3, true)), ("B", with_job(b, 4.5e3, false))];
        assert!(
            of(&cut).starts_with("B delivers"),
            "the time of a job that did not finish says nothing"
        );
        let same = [("A", run("a", 0.3, 900.0)), ("B", run("a", 0.3, 900.0))];
        assert_eq!(of(&same), "All results are the same: their digests agree.");
        let mut other = run("b", 0.1, 900.0);
        other.network.offered_load = 0.1;
        let words = of(&[("A", run("a", 0.3, 900.0)), ("B", other)]);
        assert!(
            words.ends_with("They are offered different loads, 10.0 % to 50.0 %."),
            "{words}"
        );
    }

    #[test]
    fn the_best_values_are_marked_where_they_are_no_tie() {
        let runs = [
            ("A", run("a", 0.3, 1000.0)),
            ("B", run("b", 0.303, 1010.0)),
            ("C", run("c", 0.1, 1500.0)),
        ];
        let found = compare_runs(&runs);
        let value = |label: &str| found.values.iter().find(|value| value.label == label).unwrap();
        assert_eq!(value("accepted load").best, [0, 1]);
        assert_eq!(value("packet latency, mean").best, [0, 1]);
        assert_eq!(value("packet latency, mean").of.as_deref(), Some("network"));
        assert_eq!(value("packet latency, mean").cells[2], "1.5 µs (1.50x)");
        assert!(value("offered load").best.is_empty(), "no run is better");
        assert!(value("routers").best.is_empty(), "all tie");
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
