//! Several runs compared: what differs in their experiments, which values differ, and a sentence about it.

use serde::Serialize;

use crate::Summary;
use crate::compare::{Row, rows, ties};
use crate::extremes::{Better, Extremes};
use crate::headline::{TIE_OF_TIMES, headline, not_ranked};

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headline::tests::{Run, traffic};

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
}
