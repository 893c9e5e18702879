//! Which of several runs is better, in a few sentences.
//!
//! Jobs of ranks are compared by their time alone. Synthetic traffic is compared by what arrives of what its own hosts
//! offer, and if all of it arrives, by the latency of its packets. Fractions of the injection bandwidth rank nothing:
//! they depend on idle hosts, on the bandwidth of links, and on the messages of ranks.

use std::cmp::Ordering;

use crate::delivery::Delivery;
use crate::extremes::{Better, Extremes};
use crate::{JobSummary, Summary, show};

/// Times that differ by less than this part are a tie.
pub const TIE_OF_TIMES: f64 = 0.02;

/// Loads and latencies of traffic tie up to this part: runs of random traffic differ by chance.
pub const TIE_OF_TRAFFIC: f64 = 0.05;

/// Maximum jobs without a difference that are named.
const MOST_TIES: usize = 3;

/// What a value says about a job.
struct HeadlineFinding {
    sentence: String,
    /// Positions of the best runs. Empty if all runs tie.
    leaders: Vec<usize>,
    measure: Measure,
    /// The greatest value over the smallest one.
    spread: f64,
}

/// What decides about a job. Later ones are told first.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Measure {
    Nothing,
    Latency,
    Delivered,
    Time,
}

/// Which run is better. Names are those of the runs.
pub(crate) fn headline(runs: &[(&str, Summary)]) -> String {
    if runs.windows(2).all(|pair| pair[0].1.digest == pair[1].1.digest) {
        return "All results are the same: their digests agree.".into();
    }
    let names: Vec<&str> = runs.iter().map(|(name, _)| *name).collect();
    let jobs = names_of_jobs(runs);
    let times: Vec<HeadlineFinding> = jobs.iter().filter_map(|job| time(&names, runs, job)).collect();
    let is_ranked = times.iter().any(|time| !time.leaders.is_empty());
    let mut traffic: Vec<HeadlineFinding> = jobs
        .iter()
        .filter_map(|job| delivered(&names, runs, job))
        .collect();
    if is_ranked {
        // Beside times only traffic that gets stuck in some network matters.
        traffic.retain(|of| of.measure == Measure::Delivered);
    }
    let sentences: Vec<String> = told(times).into_iter().chain(told(traffic)).collect();
    if sentences.is_empty() {
        return "These runs are not ranked: no job has a time or delivered traffic in all of them.".into();
    }
    sentences.join(" ")
}

/// Why jobs do not count in the headline.
pub(crate) fn not_ranked(runs: &[(&str, Summary)]) -> Vec<String> {
    let of_job = |name: &&str| -> Option<String> {
        let runs_with = |state: fn(Option<&JobSummary>) -> bool| -> Vec<&str> {
            let found = runs.iter().filter(|(_, run)| state(job_of(run, name)));
            found.map(|(run, _)| *run).collect()
        };
        let without = runs_with(|job| job.is_none());
        if !without.is_empty() {
            let lacking = if without.len() == 1 { "lacks" } else { "lack" };
            return Some(format!(
                "job {name} is not ranked: {} {lacking} it",
                listed(&without)
            ));
        }
        let is_timed = times_of_job(runs, name).is_some();
        let cut = runs_with(|job| job.is_some_and(|job| job.ranks > 0 && (!job.finished || job.stopped)));
        (!is_timed && !cut.is_empty())
            .then(|| format!("job {name} is not ranked: it did not finish in {}", listed(&cut)))
    };
    names_of_jobs(runs).iter().filter_map(of_job).collect()
}

/// The finding that matters most, and one that favours other runs. Without differences, one for each of the first jobs.
fn told(mut findings: Vec<HeadlineFinding>) -> Vec<String> {
    findings.sort_by(|a, b| {
        let by_measure = b.measure.partial_cmp(&a.measure).unwrap_or(Ordering::Equal);
        by_measure.then(b.spread.total_cmp(&a.spread))
    });
    let Some(first) = findings.first().filter(|first| !first.leaders.is_empty()) else {
        let ties = findings.into_iter().take(MOST_TIES);
        return ties.map(|finding| finding.sentence).collect();
    };
    let favours_others = |of: &&HeadlineFinding| {
        !of.leaders.is_empty() && of.leaders.iter().all(|run| !first.leaders.contains(run))
    };
    let other = findings.iter().skip(1).find(favours_others);
    let told = [Some(first), other].into_iter().flatten();
    told.map(|finding| finding.sentence.clone()).collect()
}

/// The time of a job of ranks. `None` if it is not known of all runs.
fn time(names: &[&str], runs: &[(&str, Summary)], job: &str) -> Option<HeadlineFinding> {
    let (what, times) = times_of_job(runs, job)?;
    let of = Extremes::of(Better::Lower, &times, TIE_OF_TIMES)?;
    if of.tie {
        let (low, high) = of.range();
        let range = match (show::time(low), show::time(high)) {
            (low, high) if low == high => format!("{low} in all runs"),
            (low, high) => format!("{low} to {high}: equal within {}", limit(TIE_OF_TIMES)),
        };
        return Some(HeadlineFinding::tie(format!("{what} takes {range}.")));
    }
    let sentence = format!(
        "{what} takes the least time in {}, {}; in {} it takes {}{}.",
        leading(names, &of),
        show::time(of.best.1),
        names[of.worst.0],
        times_as(&of, " as long, "),
        show::time(of.worst.1)
    );
    Some(HeadlineFinding::ranking(Measure::Time, &of, sentence))
}

/// The times of a job that all runs finished. Jobs of different repetitions, and those that were stopped, are compared
/// by the time of one repetition.
fn times_of_job(runs: &[(&str, Summary)], name: &str) -> Option<(String, Vec<Option<f64>>)> {
    let jobs: Vec<&JobSummary> = runs
        .iter()
        .map(|(_, run)| job_of(run, name).filter(|job| job.ranks > 0))
        .collect::<Option<_>>()?;
    let is_whole = |job: &&JobSummary| job.finished && !job.stopped;
    let same_work = jobs
        .windows(2)
        .all(|two| two[0].repetitions == two[1].repetitions);
    if same_work && jobs.iter().all(is_whole) {
        let times = jobs.iter().map(|job| Some(job.time_ns)).collect();
        return Some((format!("Job {name}"), times));
    }
    let repetition = |job: &&JobSummary| time_per_repetition(job).filter(|_| job.finished || job.stopped);
    let times: Vec<Option<f64>> = jobs.iter().map(repetition).collect();
    let is_known = times.iter().all(Option::is_some);
    is_known.then(|| (format!("A repetition of job {name}"), times))
}

/// What arrives of the traffic of a job. `None` if it is not known of all runs.
fn delivered(names: &[&str], runs: &[(&str, Summary)], job: &str) -> Option<HeadlineFinding> {
    let of_run = |(_, run): &(&str, Summary)| Delivery::of(run, job_of(run, job)?);
    let deliveries: Vec<Delivery> = runs.iter().map(of_run).collect::<Option<_>>()?;
    let shares: Vec<Option<f64>> = deliveries.iter().map(|of| Some(of.share)).collect();
    let shares = Extremes::of(Better::Higher, &shares, TIE_OF_TRAFFIC)?;
    let offered: Vec<Option<f64>> = deliveries.iter().map(|of| of.offered_gbps).collect();
    let offered = Extremes::of(Better::Higher, &offered, TIE_OF_TRAFFIC).filter(|of| !of.tie);
    if deliveries.iter().all(Delivery::is_complete) {
        return Some(all_delivered(names, job, &deliveries, &shares, offered.as_ref()));
    }
    if offered.is_some() {
        return Some(different_loads(names, job, &deliveries, &shares));
    }
    if shares.tie {
        let (low, high) = shares.range();
        return Some(HeadlineFinding::tie(format!(
            "All deliver the same part of the traffic that job {job} offers, {} to {}: equal within {}. Latencies of \
             saturated networks rank nothing.",
            show::percent(low),
            show::percent(high),
            limit(TIE_OF_TRAFFIC)
        )));
    }
    let amount = |run: usize| {
        let gbps = deliveries[run].delivered_gbps;
        let gbps = gbps.map_or_else(String::new, |gbps| format!(" ({} per host)", show::gbps(gbps)));
        format!("{}{gbps}", show::percent(deliveries[run].share))
    };
    let one = if shares.leaders.len() == 1 { "s" } else { "" };
    let sentence = format!(
        "{} deliver{one} {} of the traffic that job {job} offers, {}; {} delivers {}.",
        leading(names, &shares),
        if names.len() > 2 { "most" } else { "more" },
        amount(shares.best.0),
        names[shares.worst.0],
        amount(shares.worst.0)
    );
    Some(HeadlineFinding::ranking(Measure::Delivered, &shares, sentence))
}

/// All traffic arrives, so that the latency decides.
fn all_delivered(
    names: &[&str],
    job: &str,
    deliveries: &[Delivery],
    shares: &Extremes,
    offered: Option<&Extremes>,
) -> HeadlineFinding {
    let least = match show::percent(shares.worst.1) {
        all if all == show::percent(1.0) => String::new(),
        least => format!(" ({least} or more)"),
    };
    let offered = offered
        .map(Extremes::range)
        .map_or_else(String::new, |(low, high)| {
            format!(", {} to {} per host", show::gbps(low), show::gbps(high))
        });
    let all = format!("All deliver everything that job {job} offers{least}{offered}");
    let latencies: Vec<Option<f64>> = deliveries.iter().map(|of| of.latency_ns).collect();
    let Some(of) = Extremes::of(Better::Lower, &latencies, TIE_OF_TRAFFIC) else {
        return HeadlineFinding::tie(format!(
            "{all}; not enough packets were measured to rank latencies."
        ));
    };
    let (low, high) = (show::time(of.range().0), show::time(of.range().1));
    if of.tie {
        return HeadlineFinding::tie(format!(
            "{all}; mean packet latencies are {low} to {high}: equal within {}.",
            limit(TIE_OF_TRAFFIC)
        ));
    }
    let sentence = format!(
        "{all}; the mean packet latency is the shortest in {}, {low}; in {} it is {}{high}.",
        leading(names, &of),
        names[of.worst.0],
        times_as(&of, " as long, "),
    );
    HeadlineFinding::ranking(Measure::Latency, &of, sentence)
}

/// What arrives of different loads, which do not rank the networks.
fn different_loads(names: &[&str], job: &str, deliveries: &[Delivery], shares: &Extremes) -> HeadlineFinding {
    let amount = |run: usize| {
        let of = &deliveries[run];
        let gbps = |gbps: Option<f64>| gbps.map_or_else(|| "an unknown rate".into(), show::gbps);
        format!(
            "{} delivers {} of {} per host, {}",
            names[run],
            gbps(of.delivered_gbps),
            gbps(of.offered_gbps),
            show::percent(of.share)
        )
    };
    let sentence = format!(
        "Job {job} offers different loads, which do not rank these runs: {}; {}.",
        amount(shares.best.0),
        amount(shares.worst.0)
    );
    HeadlineFinding::tie(sentence)
}

impl HeadlineFinding {
    fn tie(sentence: String) -> HeadlineFinding {
        HeadlineFinding {
            sentence,
            leaders: Vec::new(),
            measure: Measure::Nothing,
            spread: 1.0,
        }
    }

    fn ranking(measure: Measure, of: &Extremes, sentence: String) -> HeadlineFinding {
        HeadlineFinding {
            sentence,
            leaders: of.leaders.clone(),
            measure,
            spread: of.ratio(),
        }
    }
}

/// The jobs of all runs, each once.
pub(crate) fn names_of_jobs<'a>(runs: &'a [(&str, Summary)]) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for job in runs.iter().flat_map(|(_, run)| &run.jobs) {
        if !names.contains(&job.name.as_str()) {
            names.push(&job.name);
        }
    }
    names
}

/// Mean time of a repetition, in nanoseconds. `None` if the job was stopped before it ended one.
pub(crate) fn time_per_repetition(job: &JobSummary) -> Option<f64> {
    match job.repetition_times {
        Some(times) => Some(times.mean_ns),
        None => (!job.stopped).then(|| job.time_ns / job.repetitions.max(1) as f64),
    }
}

fn job_of<'a>(run: &'a Summary, name: &str) -> Option<&'a JobSummary> {
    run.jobs.iter().find(|job| job.name == name)
}

/// The names of the best runs.
fn leading(names: &[&str], of: &Extremes) -> String {
    let leaders: Vec<&str> = of.leaders.iter().map(|run| names[*run]).collect();
    listed(&leaders)
}

/// `A`, `A and B`, `A, B and C`.
fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).into(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// `1.50 times as long, `; nothing if the smaller value is 0.
fn times_as(of: &Extremes, words: &str) -> String {
    match of.ratio() {
        ratio if !ratio.is_finite() => String::new(),
        ratio @ 10.0.. => format!("{ratio:.0} times{words}"),
        ratio => format!("{ratio:.2} times{words}"),
    }
}

/// `2 %`.
fn limit(tie: f64) -> String {
    format!("{:.0} %", 100.0 * tie)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::{Latency, RepetitionSummary, TrafficSummary};

    /// A run under construction, of 1 us.
    pub(crate) struct Run {
        pub summary: Summary,
    }

    const MEASURED_NS: f64 = 1000.0;

    impl Run {
        pub fn new(digest: &str) -> Run {
            let mut summary = Summary {
                schema: crate::SCHEMA.into(),
                digest: digest.into(),
                experiment: serde_json::Value::Null,
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
            summary.network.measured_ns = MEASURED_NS;
            Run { summary }
        }

        /// The run with another job. The latency of the network is that of the last one.
        pub fn with(mut self, job: JobSummary) -> Run {
            self.summary.network.latency_ns = job.latency_ns;
            self.summary.jobs.push(job);
            self
        }

        /// Loads of the network, as fractions of the injection bandwidth of all hosts.
        fn loads(mut self, offered: f64, accepted: f64) -> Run {
            self.summary.network.offered_load = offered;
            self.summary.network.accepted_load = accepted;
            self
        }

        /// A job of ranks.
        pub fn ranks(name: &str, time_ns: f64, finished: bool) -> JobSummary {
            JobSummary {
                name: name.into(),
                ranks: 8,
                hosts: 8,
                repetitions: 1,
                time_ns,
                finished,
                ..JobSummary::default()
            }
        }
    }

    fn ranks(name: &str, time_ns: f64) -> JobSummary {
        Run::ranks(name, time_ns, true)
    }

    /// A job of traffic, with Gbps for each of its hosts.
    pub(crate) fn traffic(name: &str, hosts: u64, offered: f64, accepted: f64, mean_ns: f64) -> JobSummary {
        let bytes = |gbps: f64| (gbps * hosts as f64 * MEASURED_NS / 8.0) as u64;
        JobSummary {
            name: name.into(),
            hosts,
            packets: 1,
            finished: true,
            latency_ns: Latency {
                mean: Some(mean_ns),
                ..Latency::default()
            },
            traffic: Some(TrafficSummary {
                offered_bytes: bytes(offered),
                accepted_bytes: bytes(accepted),
                ..TrafficSummary::default()
            }),
            ..JobSummary::default()
        }
    }

    fn of<const N: usize>(runs: [Run; N]) -> String {
        headline(&named(runs))
    }

    fn named<const N: usize>(runs: [Run; N]) -> Vec<(&'static str, Summary)> {
        let names = ["A", "B", "C"].into_iter();
        names.zip(runs.map(|run| run.summary)).collect()
    }

    /// One recording at 100 and 400 Gbps: its bytes are 5.5 % and 1.4 % of the injection bandwidth.
    #[test]
    fn a_recording_at_two_bandwidths_is_compared_by_time_alone() {
        let at = |digest, load, ns| Run::new(digest).with(ranks("lammps", ns)).loads(load, load);
        assert_eq!(
            of([at("a", 0.055, 6_888_000.0), at("b", 0.0139, 6_800_000.0)]),
            "Job lammps takes 6.8 ms to 6.888 ms: equal within 2 %."
        );
        assert_eq!(
            of([at("a", 0.055, 9e6), at("b", 0.0139, 6e6)]),
            "Job lammps takes the least time in B, 6 ms; in A it takes 1.50 times as long, 9 ms."
        );
    }

    /// Three networks of 1,024 and 1,050 hosts at load 0.5, of which the last has 76 idle hosts.
    #[test]
    fn idle_hosts_do_not_count() {
        let run = |digest, hosts, load, mean_ns| {
            let job = traffic("load", hosts, 50.0, 49.9, mean_ns);
            Run::new(digest).with(job).loads(load, load)
        };
        assert_eq!(
            of([
                run("a", 1024, 0.5, 1300.0),
                run("b", 1050, 0.5, 1310.0),
                run("c", 974, 0.464, 1290.0)
            ]),
            "All deliver everything that job load offers (99.8 % or more); mean packet latencies are 1.29 µs to 1.31 µs: \
             equal within 5 %."
        );
        assert_eq!(
            of([
                run("a", 1024, 0.5, 1300.0),
                run("b", 1050, 0.5, 1310.0),
                run("c", 974, 0.464, 2600.0)
            ]),
            "All deliver everything that job load offers (99.8 % or more); the mean packet latency is the shortest in A \
             and B, 1.3 µs; in C it is 2.00 times as long, 2.6 µs."
        );
    }

    #[test]
    fn traffic_is_compared_by_what_arrives_of_it() {
        let run = |digest, accepted| Run::new(digest).with(traffic("load", 64, 50.0, accepted, 900.0));
        assert_eq!(
            of([run("a", 3.0), run("b", 48.0)]),
            "B delivers more of the traffic that job load offers, 96.0 % (48 Gbps per host); A delivers 6.0 % (3 Gbps \
             per host)."
        );
        assert_eq!(
            of([run("a", 50.0), run("b", 49.0), run("c", 25.0)]),
            "A and B deliver most of the traffic that job load offers, 100.0 % (50 Gbps per host); C delivers 50.0 % (25 \
             Gbps per host)."
        );
        assert_eq!(
            of([run("a", 20.0), run("b", 20.5)]),
            "All deliver the same part of the traffic that job load offers, 40.0 % to 41.0 %: equal within 5 %. Latencies \
             of saturated networks rank nothing."
        );
        assert!(
            of([run("a", 0.0), run("b", 0.0)]).contains("0.0 % to 0.0 %"),
            "nothing arrives"
        );
        assert!(of([run("a", 0.0), run("b", 9.0)]).starts_with("B delivers more"));
    }

    /// One load as a fraction of two bandwidths is two loads.
    #[test]
    fn different_loads_do_not_rank_networks() {
        let run = |digest, offered, accepted, mean_ns| {
            Run::new(digest).with(traffic("load", 64, offered, accepted, mean_ns))
        };
        assert_eq!(
            of([run("a", 50.0, 30.0, 900.0), run("b", 200.0, 180.0, 900.0)]),
            "Job load offers different loads, which do not rank these runs: B delivers 180 Gbps of 200 Gbps per host, \
             90.0 %; A delivers 30 Gbps of 50 Gbps per host, 60.0 %."
        );
        assert_eq!(
            of([run("a", 50.0, 50.0, 1800.0), run("b", 200.0, 200.0, 900.0)]),
            "All deliver everything that job load offers, 50 Gbps to 200 Gbps per host; the mean packet latency is the \
             shortest in B, 900 ns; in A it is 2.00 times as long, 1.8 µs."
        );
    }

    #[test]
    fn ranks_and_traffic_are_told_apart() {
        let run = |digest, time_ns, accepted, mean_ns| {
            let job = traffic("background", 45, 15.0, accepted, mean_ns);
            Run::new(digest).with(ranks("halo", time_ns)).with(job)
        };
        let time = "Job halo takes the least time in A, 3 µs; in B it takes 1.50 times as long, 4.5 µs.";
        assert_eq!(
            of([run("a", 3e3, 15.0, 900.0), run("b", 4.5e3, 15.0, 1800.0)]),
            time,
            "latencies of delivered traffic do not count beside times"
        );
        assert_eq!(
            of([run("a", 3e3, 7.5, 900.0), run("b", 4.5e3, 15.0, 900.0)]),
            format!(
                "{time} B delivers more of the traffic that job background offers, 100.0 % (15 Gbps per host); A delivers \
                 50.0 % (7.5 Gbps per host)."
            )
        );
        assert_eq!(
            of([run("a", 3e3, 15.0, 900.0), run("b", 3e3, 15.0, 1800.0)]),
            "Job halo takes 3 µs in all runs. All deliver everything that job background offers; the mean packet latency \
             is the shortest in A, 900 ns; in B it is 2.00 times as long, 1.8 µs."
        );
    }

    #[test]
    fn jobs_that_favour_other_runs_are_named_too() {
        let run = |digest, first, second| {
            Run::new(digest)
                .with(ranks("halo", first))
                .with(ranks("sweep", second))
        };
        assert_eq!(
            of([run("a", 1e3, 6e3), run("b", 3e3, 4e3)]),
            "Job halo takes the least time in A, 1 µs; in B it takes 3.00 times as long, 3 µs. Job sweep takes the least \
             time in B, 4 µs; in A it takes 1.50 times as long, 6 µs."
        );
        assert!(
            !of([run("a", 1e3, 4e3), run("b", 3e3, 6e3)]).contains("sweep"),
            "it favours A, too"
        );
    }

    #[test]
    fn jobs_that_a_run_lacks_or_did_not_finish_are_not_ranked() {
        let both = Run::new("a").with(ranks("halo", 1e3)).with(ranks("sweep", 1e3));
        let one = Run::new("b").with(ranks("halo", 2e3));
        let runs = named([both, one]);
        assert!(headline(&runs).starts_with("Job halo takes the least time in A, 1 µs; in B"));
        assert_eq!(not_ranked(&runs), ["job sweep is not ranked: B lacks it"]);
        let cut = Run::new("b").with(Run::ranks("halo", 5e2, false));
        let runs = named([Run::new("a").with(ranks("halo", 1e3)), cut]);
        assert_eq!(
            headline(&runs),
            "These runs are not ranked: no job has a time or delivered traffic in all of them."
        );
        assert_eq!(
            not_ranked(&runs),
            ["job halo is not ranked: it did not finish in B"]
        );
    }

    /// A job that repeats until it is stopped has a time that says nothing, and so have different numbers of
    /// repetitions.
    #[test]
    fn repeated_work_is_compared_by_one_repetition() {
        let repeated = |digest, mean_ns, stopped| {
            let mut job = ranks("halo", 1e6);
            job.stopped = stopped;
            job.finished = !stopped;
            job.repetition_times = Some(RepetitionSummary {
                complete: 10,
                mean_ns,
                ..RepetitionSummary::default()
            });
            Run::new(digest).with(job)
        };
        assert_eq!(
            of([repeated("a", 3e3, true), repeated("b", 6e3, true)]),
            "A repetition of job halo takes the least time in A, 3 µs; in B it takes 2.00 times as long, 6 µs."
        );
        let twice = JobSummary {
            repetitions: 2,
            ..ranks("halo", 1e3)
        };
        assert_eq!(
            of([Run::new("a").with(ranks("halo", 5e2)), Run::new("b").with(twice)]),
            "A repetition of job halo takes 500 ns in all runs."
        );
    }

    #[test]
    fn equal_digests_and_results_of_older_versions_are_compared() {
        let same = || Run::new("a").with(traffic("load", 64, 50.0, 50.0, 900.0));
        assert_eq!(
            of([same(), same()]),
            "All results are the same: their digests agree."
        );
        let old = |digest, accepted| {
            let job = JobSummary {
                traffic: None,
                ..traffic("load", 64, 50.0, 50.0, 900.0)
            };
            Run::new(digest).with(job).loads(0.5, accepted)
        };
        assert_eq!(
            of([old("a", 0.2), old("b", 0.5)]),
            "B delivers more of the traffic that job load offers, 100.0 %; A delivers 40.0 %."
        );
    }
}
