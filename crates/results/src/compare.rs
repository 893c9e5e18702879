//! Compares several runs, as text for a terminal.

use crate::delivery::Delivery;
use crate::differing_keys::{DifferingKey, differing_keys};
use crate::extremes::{Better, Extremes};
use crate::headline::{
    TIE_OF_TIMES, TIE_OF_TRAFFIC, headline, names_of_jobs, not_ranked, time_per_repetition,
};
use crate::{
    BoundBy, EnergySummary, JobBounds, JobSummary, Latency, MpiParts, ScheduleDistribution, ScheduleSummary,
    SlowDown, Summary, TrafficSummary, show,
};

/// A table that compares runs: one column per run, one row per value, times also as a ratio to the first run. The
/// heads of the columns are the names; a missing value is a dash. Notes follow. If there are several runs, a headline
/// says first which is better, rows have marks of what is better, and the differing keys and the verdicts follow.
pub fn compare(runs: &[(&str, Summary)]) -> String {
    let mut all = vec![head(runs)];
    all.extend(rows(runs));
    if runs.len() < 2 {
        return aligned(&all) + &topologies(runs) + &notes(runs);
    }
    all.iter_mut().for_each(Row::mark);
    let paragraphs = ties(runs).into_iter().chain(not_ranked(runs));
    let paragraphs: String = paragraphs.map(|line| format!("\n{line}\n")).collect();
    let table = aligned(&all) + "\n↓ lower is better, ↑ higher is better\n";
    let below = topologies(runs) + &differences(runs) + &digests(runs) + &paragraphs;
    format!(
        "{}\n\n{table}{below}{}{}",
        headline(runs),
        notes(runs),
        verdicts(runs)
    )
}

/// The names of the runs.
fn head(runs: &[(&str, Summary)]) -> Row {
    Row::new("", runs.iter().map(|(name, _)| (*name).to_string()))
}

/// The keys in which the experiments differ, with their values.
fn differences(runs: &[(&str, Summary)]) -> String {
    let experiments: Vec<_> = runs.iter().map(|(_, run)| &run.experiment).collect();
    let (own, idle): (Vec<DifferingKey>, Vec<DifferingKey>) = differing_keys(&experiments)
        .into_iter()
        .partition(|key| key.has_effect);
    let row = |key: DifferingKey| {
        let values = key.values.into_iter();
        Row::new(key.key, values.map(|value| value.unwrap_or("-".into())))
    };
    let idle: Vec<String> = idle.into_iter().map(|key| key.key).collect();
    let without_effect = match idle.as_slice() {
        [] => String::new(),
        keys => format!(
            "\nkeys that differ and on which no result depends: {}\n",
            keys.join(", ")
        ),
    };
    if own.is_empty() {
        return format!("\nthe experiments do not differ in a key on which results depend\n{without_effect}");
    }
    let mut all = vec![head(runs)];
    all[0].label = "the experiments differ in".into();
    all.extend(own.into_iter().map(row));
    format!("\n{}{without_effect}", aligned(&all))
}

/// The values of all runs.
pub(crate) fn rows(runs: &[(&str, Summary)]) -> Vec<Row> {
    let mut rows = jobs(runs);
    rows.extend(schedule(runs));
    rows.extend(network(runs));
    rows.extend(cost(runs));
    rows
}

/// The notes of each run, with its name if there are several.
fn notes(runs: &[(&str, Summary)]) -> String {
    let of_run = |(name, run): &(&str, Summary)| -> String {
        let notes = run.notes.iter().map(|note| match runs.len() {
            1 => format!("\n{note}\n"),
            _ => format!("\n{name}: {note}\n"),
        });
        notes.collect()
    };
    runs.iter().map(of_run).collect()
}

/// The verdict on each of several runs, without what to try: that is a question about one run.
fn verdicts(runs: &[(&str, Summary)]) -> String {
    let known = runs
        .iter()
        .filter_map(|(name, run)| Some((name, run.verdict.as_ref()?)));
    let texts = known.map(|(name, verdict)| format!("\n{name}: {}", verdict.text(None)));
    texts.collect()
}

/// Whether several runs have the same results and the same collected tables.
fn digests(runs: &[(&str, Summary)]) -> String {
    let [(_, first), others @ ..] = runs else {
        return String::new();
    };
    let same = |of: fn(&Summary) -> Option<&str>| others.iter().all(|(_, run)| of(run) == of(first));
    let results = if same(|run| Some(&run.digest)) {
        "the same in all runs"
    } else {
        "differ"
    };
    let asked = |run: &Summary| Some((run.experiment.get("collect")?.clone(), run.network.measured_ns));
    let collected = if runs.iter().any(|(_, run)| run.collect.is_none()) {
        "not known of all runs"
    } else if same(collected) {
        "the same in all runs"
    } else if others.iter().all(|(_, run)| asked(run) == asked(first)) {
        "differs"
    } else {
        "differs, as the collect settings differ"
    };
    format!("\nresults: {results} (digest)\ncollected: {collected} (digest collected)\n")
}

/// The digest of the collected tables.
fn collected(run: &Summary) -> Option<&str> {
    Some(&run.collect.as_ref()?.digest)
}

/// The networks in words, below the table, as they may be long.
fn topologies(runs: &[(&str, Summary)]) -> String {
    let lines = runs
        .iter()
        .map(|(name, run)| format!("\n{name}: {}", run.network.topology));
    lines.collect::<String>() + "\n"
}

/// One value of all runs.
pub(crate) struct Row {
    /// Indented by two spaces for each level.
    pub label: String,
    /// Text of each run.
    pub cells: Vec<String>,
    /// Which values are better, and the value of each run. `None` if a difference makes no run better.
    pub judged: Option<(Better, Vec<Option<f64>>)>,
}

impl Row {
    fn new(label: impl Into<String>, cells: impl IntoIterator<Item = String>) -> Row {
        Row {
            label: label.into(),
            cells: cells.into_iter().collect(),
            judged: None,
        }
    }

    /// Times in nanoseconds, the lower the better.
    fn times(label: impl Into<String>, ns: &[Option<f64>]) -> Row {
        Row::new(label, times(ns)).judged(Better::Lower, ns)
    }

    fn judged(self, better: Better, values: &[Option<f64>]) -> Row {
        let judged = Some((better, values.to_vec()));
        Row { judged, ..self }
    }

    /// The row without judgement, unless this holds.
    fn judged_if(self, is_fair: bool) -> Row {
        let judged = self.judged.filter(|_| is_fair);
        Row { judged, ..self }
    }

    /// Adds what is better to the label.
    fn mark(&mut self) {
        match self.judged {
            Some((Better::Lower, _)) => self.label += " ↓",
            Some((Better::Higher, _)) => self.label += " ↑",
            None => {}
        }
    }
}

fn jobs(runs: &[(&str, Summary)]) -> Vec<Row> {
    let mut rows = Vec::new();
    for name in names_of_jobs(runs) {
        let jobs: Vec<_> = runs
            .iter()
            .map(|(_, run)| run.jobs.iter().find(|j| j.name == name))
            .collect();
        let of = |figure: &dyn Fn(&JobSummary) -> f64| -> Vec<Option<f64>> {
            jobs.iter().map(|job| job.map(figure)).collect()
        };
        let latency = |figure: &dyn Fn(&Latency) -> Option<f64>| -> Vec<Option<f64>> {
            jobs.iter().map(|job| figure(&job.as_ref()?.latency_ns)).collect()
        };
        if jobs.iter().flatten().any(|job| job.ranks > 0) {
            let unfinished = jobs.iter().flatten().any(|job| !job.finished);
            let stopped = jobs.iter().flatten().any(|job| job.stopped);
            let note = match (stopped, unfinished) {
                (true, _) => " (stopped at its end, says nothing about its work)",
                (false, true) => " (interrupted by the end of the run)",
                (false, false) => "",
            };
            // Times of work that was cut off rank nothing.
            let is_whole = !stopped && !unfinished;
            let time = Row::times(format!("job {name}: time{note}"), &of(&|j| j.time_ns));
            let mpi = Row::times("  MPI per rank", &of(&|j| j.mpi_ns));
            rows.push(time.judged_if(is_whole));
            rows.push(Row::new("  computation per rank", times(&of(&|j| j.compute_ns))));
            rows.push(mpi.judged_if(is_whole));
            rows.extend(mpi_parts(&jobs).into_iter().map(|row| row.judged_if(is_whole)));
            rows.extend(bound_by(&jobs));
            rows.extend(repetitions(&jobs));
            rows.extend(slow_downs(runs, name));
        } else {
            rows.push(Row::new(format!("job {name}"), jobs.iter().map(|j| sent(*j))));
        }
        // The loads of a job that is alone are those of the network. They are fractions of a bandwidth that may differ.
        let has_others = runs.iter().any(|(_, run)| run.jobs.len() > 1);
        match runs.len() {
            0 | 1 if has_others => rows.extend(loads(&jobs)),
            0 | 1 => {}
            _ => rows.extend(deliveries(runs, &jobs)),
        }
        if jobs.iter().flatten().any(|job| job.packets > 0) {
            rows.push(Row::times(
                "  packet latency, mean",
                &latency(&|latency| latency.mean),
            ));
            rows.push(Row::times(
                "  packet latency, p99",
                &latency(&|latency| latency.p99),
            ));
            let of = |figure: fn(&JobSummary) -> Option<f64>| -> Vec<Option<f64>> {
                jobs.iter().map(|job| figure(job.as_ref()?)).collect()
            };
            rows.extend(parts_of_latency(
                of(|job| job.mean_network_latency_ns),
                of(|job| job.network_latency_ns?.p99),
                of(|job| job.source_wait_ns?.mean),
            ));
        }
        rows.extend(energy_row(
            "  energy",
            jobs.iter().map(|job| Some(job.as_ref()?.energy?.total_j)),
            show::energy,
        ));
        let bounds: Vec<Option<&JobBounds>> = runs.iter().map(|(_, run)| bounds_of(run, name)).collect();
        let idle = |of: &Option<&JobBounds>| Some(of.as_ref()?.zero_load_latency_ns?.mean);
        let latencies: Vec<Option<f64>> = bounds.iter().map(idle).collect();
        if latencies.iter().any(Option::is_some) {
            rows.push(Row::new("  computed: latency without load", times(&latencies)));
        }
        if bounds.iter().flatten().any(|of| of.throughput.is_some()) {
            let shown = |of: &Option<&JobBounds>| {
                let throughput = of.as_ref().and_then(|of| of.throughput);
                throughput.map_or("-".into(), show::percent)
            };
            rows.push(Row::new("  computed: load, at most", bounds.iter().map(shown)));
        }
    }
    rows
}

/// Offered and accepted load of a job of synthetic traffic, of its hosts.
fn loads(jobs: &[Option<&JobSummary>]) -> Vec<Row> {
    let of = |load: fn(&TrafficSummary) -> f64| -> Vec<Option<f64>> {
        let traffic = jobs.iter().map(|job| job.as_ref()?.traffic.as_ref());
        traffic.map(|traffic| traffic.map(load)).collect()
    };
    let (offered, accepted) = (
        of(|traffic| traffic.offered_load),
        of(|traffic| traffic.accepted_load),
    );
    if offered.iter().all(Option::is_none) {
        return Vec::new();
    }
    let shown = |loads: &[Option<f64>]| -> Vec<String> {
        let loads = loads.iter();
        loads.map(|load| load.map_or("-".into(), show::percent)).collect()
    };
    vec![
        Row::new("  offered load of its hosts", shown(&offered)),
        Row::new("  accepted load of its hosts", shown(&accepted)),
    ]
}

/// Traffic of a job per host, and what arrives of it. Higher is better if all runs offer the same.
fn deliveries(runs: &[(&str, Summary)], jobs: &[Option<&JobSummary>]) -> Vec<Row> {
    let pairs = runs.iter().zip(jobs);
    let found: Vec<Option<Delivery>> = pairs.map(|((_, run), job)| Delivery::of(run, (*job)?)).collect();
    let of = |value: fn(Delivery) -> Option<f64>| -> Vec<Option<f64>> {
        found.iter().map(|of| value((*of)?)).collect()
    };
    let (offered, delivered) = (of(|of| of.offered_gbps), of(|of| of.delivered_gbps));
    let same = Extremes::of(Better::Higher, &offered, TIE_OF_TRAFFIC).is_none_or(|of| of.tie);
    let row = |label: &str, values: &[Option<f64>], shown: fn(f64) -> String| -> Option<Row> {
        let cells = values.iter().map(|value| value.map_or("-".into(), shown));
        let is_known = values.iter().any(Option::is_some);
        is_known.then(|| Row::new(label, cells).judged(Better::Higher, values))
    };
    let rows = [
        row("  offered per host", &offered, show::gbps).map(|row| row.judged_if(false)),
        row("  delivered per host", &delivered, show::gbps).map(|row| row.judged_if(same)),
        row("  delivered of offered", &of(|of| Some(of.share)), show::percent).map(|row| row.judged_if(same)),
    ];
    rows.into_iter().flatten().collect()
}

/// The parts of the time in MPI calls that take more than a hundredth of it in some run.
fn mpi_parts(jobs: &[Option<&JobSummary>]) -> Vec<Row> {
    const LEAST: f64 = 0.01;
    type PartOf = fn(&MpiParts) -> f64;
    let parts: [(&str, PartOf); 7] = [
        ("overhead", |parts| parts.overhead_ns),
        ("waiting for the partner", |parts| parts.partner_ns),
        ("transfer", |parts| parts.transfer_ns),
        ("waiting for links", |parts| parts.link_wait_ns),
        ("collectives, waiting for the partner", |parts| {
            parts.collective_partner_ns
        }),
        ("collectives, transfer", |parts| parts.collective_transfer_ns),
        ("collectives, waiting for links", |parts| {
            parts.collective_link_wait_ns
        }),
    ];
    let row = |(name, part): (&str, PartOf)| {
        let of_job = |job: &Option<&JobSummary>| {
            let job = job.as_ref()?;
            Some((part(job.mpi_parts.as_ref()?), job.mpi_ns))
        };
        let of_jobs: Vec<Option<(f64, f64)>> = jobs.iter().map(of_job).collect();
        let is_large = of_jobs.iter().flatten().any(|(part, mpi)| *part > LEAST * mpi);
        let cells: Vec<Option<f64>> = of_jobs
            .iter()
            .map(|of_job| of_job.map(|(part, _)| part))
            .collect();
        is_large.then(|| Row::times(format!("    {name}"), &cells))
    };
    parts.into_iter().filter_map(row).collect()
}

/// What bounds the time of a job, the greatest cause of all runs first.
fn bound_by(jobs: &[Option<&JobSummary>]) -> Vec<Row> {
    let of_run: Vec<Option<&BoundBy>> = jobs.iter().map(|job| job.as_ref()?.bound_by.as_ref()).collect();
    let mut causes: Vec<(String, f64)> = Vec::new();
    for (name, share) in of_run.iter().flatten().flat_map(|bound_by| bound_by.greatest()) {
        match causes.iter_mut().find(|cause| cause.0 == name) {
            Some(cause) => cause.1 = cause.1.max(share),
            None => causes.push((name, share)),
        }
    }
    causes.sort_by(|a, b| b.1.total_cmp(&a.1));
    let row = |(name, _): (String, f64)| {
        let share = |bound_by: &Option<&BoundBy>| {
            let causes = bound_by.map(BoundBy::causes).unwrap_or_default();
            let cause = causes.into_iter().find(|cause| cause.0 == name);
            cause.map_or("-".into(), |(_, share)| show::percent(share))
        };
        let cells: Vec<String> = of_run.iter().map(share).collect();
        Row::new(format!("  bound by {name}"), cells)
    };
    causes.into_iter().map(row).collect()
}

/// A network with less than this share of the critical path does not bound a job.
pub const NETWORK_BOUNDS: f64 = 0.2;

/// Says of which jobs the times tie because the network is not what bounds them.
pub(crate) fn ties(runs: &[(&str, Summary)]) -> Vec<String> {
    let Some((_, first)) = runs.first().filter(|_| runs.len() > 1) else {
        return Vec::new();
    };
    let tie = |job: &JobSummary| -> Option<String> {
        let all: Option<Vec<&JobSummary>> = runs
            .iter()
            .map(|(_, run)| run.jobs.iter().find(|of_run| of_run.name == job.name))
            .collect();
        let all = all?;
        let bounds: Option<Vec<&BoundBy>> = all.iter().map(|job| job.bound_by.as_ref()).collect();
        let bounds = bounds?;
        let times = all.iter().map(|job| job.time_ns);
        let least = times.clone().fold(f64::INFINITY, f64::min);
        let most = times.fold(0.0, f64::max);
        let network = bounds
            .iter()
            .map(|bound_by| bound_by.network())
            .fold(0.0, f64::max);
        let main = bounds.first()?.greatest().into_iter().next()?;
        (most - least <= TIE_OF_TIMES * least && network < NETWORK_BOUNDS).then(|| {
            format!(
                "job {}: the times differ by {}, and the network is at most {} of the critical path ({} is {}): these \
                 runs do not rank the networks",
                job.name,
                show::percent((most - least) / least),
                show::percent(network),
                main.0,
                show::percent(main.1),
            )
        })
    };
    first.jobs.iter().filter_map(tie).collect()
}

/// The latency in the network and at the source, of runs that have a drain phase or collect it.
fn parts_of_latency(
    network: Vec<Option<f64>>,
    network_p99: Vec<Option<f64>>,
    source_wait: Vec<Option<f64>>,
) -> Vec<Row> {
    if source_wait.iter().all(Option::is_none) {
        return Vec::new();
    }
    let mut rows = vec![Row::times("  network latency, mean", &network)];
    if network_p99.iter().any(Option::is_some) {
        rows.push(Row::times("  network latency, p99", &network_p99));
    }
    rows.push(Row::times("  wait at the source, mean", &source_wait));
    rows
}

/// The time of one repetition of a job that repeats its workload.
fn repetitions(jobs: &[Option<&JobSummary>]) -> Option<Row> {
    let repeats = jobs
        .iter()
        .flatten()
        .any(|job| job.repetitions > 1 || job.repetition_times.is_some());
    let each: Vec<Option<f64>> = jobs.iter().map(|job| job.and_then(time_per_repetition)).collect();
    repeats.then(|| Row::times("  time per repetition, mean", &each))
}

/// The slow-down of a job by other jobs, if known.
fn slow_downs(runs: &[(&str, Summary)], name: &str) -> Vec<Row> {
    let of = |run: &Summary| -> Option<SlowDown> {
        let mut jobs = run.interference.as_ref()?.jobs.iter();
        jobs.find(|job| job.name == name).cloned()
    };
    let known: Vec<Option<SlowDown>> = runs.iter().map(|(_, run)| of(run)).collect();
    if known.iter().all(Option::is_none) {
        return Vec::new();
    }
    let standalone: Vec<Option<f64>> = known.iter().map(|job| Some(job.as_ref()?.alone_ns)).collect();
    let slower = |job: &Option<SlowDown>| {
        let factor = job.as_ref().and_then(|job| job.slowdown);
        factor.map_or("-".into(), show::slow_down)
    };
    vec![
        Row::new("  time alone", times(&standalone)),
        Row::new("  slow-down by other jobs", known.iter().map(slower)),
    ]
}

/// Utilisation and waits of the schedules of job traces, in time of the trace. No row if no run has one.
fn schedule(runs: &[(&str, Summary)]) -> Vec<Row> {
    let schedules: Vec<Option<&ScheduleSummary>> =
        runs.iter().map(|(_, run)| run.schedule.as_ref()).collect();
    if schedules.iter().all(Option::is_none) {
        return Vec::new();
    }
    let row = |label: &str, of: &dyn Fn(&ScheduleSummary) -> Option<String>| {
        let value = |schedule: &Option<&ScheduleSummary>| schedule.and_then(of).unwrap_or("-".into());
        Row::new(label, schedules.iter().map(value))
    };
    let wait = |of: fn(&ScheduleDistribution) -> f64| {
        move |schedule: &ScheduleSummary| Some(show::time(of(schedule.wait_s.as_ref()?) * 1e9))
    };
    vec![
        row("schedule", &|schedule| Some(schedule.scheduler.clone())),
        row("  jobs, simulated", &|schedule| Some(schedule.simulated_of_all())),
        row("  utilisation", &|schedule| {
            Some(show::percent(schedule.utilisation))
        }),
        row("  wait of a job, mean", &wait(|wait| wait.mean)),
        row("  wait of a job, p90", &wait(|wait| wait.p90)),
        row("  wait of a job, max", &wait(|wait| wait.max)),
        row("  bounded slow-down, mean", &|schedule| {
            Some(show::slow_down(schedule.bounded_slowdown.as_ref()?.mean))
        }),
    ]
}

fn network(runs: &[(&str, Summary)]) -> Vec<Row> {
    let text = |figure: &dyn Fn(&crate::NetworkSummary) -> String| -> Vec<String> {
        runs.iter().map(|(_, run)| figure(&run.network)).collect()
    };
    let latency = |figure: &dyn Fn(&Latency) -> Option<f64>| -> Vec<Option<f64>> {
        let of = runs.iter().map(|(_, run)| figure(&run.network.latency_ns));
        of.collect()
    };
    let hops = |hops: f64| format!("{hops:.2}");
    let of = |figure: fn(&crate::NetworkSummary) -> Option<f64>| -> Vec<Option<f64>> {
        runs.iter().map(|(_, run)| figure(&run.network)).collect()
    };
    let parts = parts_of_latency(
        of(|network| network.mean_network_latency_ns),
        of(|network| network.network_latency_ns?.p99),
        of(|network| network.source_wait_ns?.mean),
    );
    // Fewer routers are better only for as many hosts.
    let same_hosts = runs
        .windows(2)
        .all(|two| two[0].1.network.hosts == two[1].1.network.hosts);
    let mut rows = vec![
        Row::new("network", runs.iter().map(|_| String::new())),
        Row::new("  hosts", text(&crate::NetworkSummary::hosts_text)),
        Row::new("  routers", text(&|n| show::count(n.routers)))
            .judged(Better::Lower, &of(|n| Some(n.routers as f64)))
            .judged_if(same_hosts),
        Row::new("  links", text(&|n| show::count(n.links)))
            .judged(Better::Lower, &of(|n| Some(n.links as f64)))
            .judged_if(same_hosts),
        Row::times("  packet latency, mean", &latency(&|latency| latency.mean)),
        Row::times("  packet latency, p99", &latency(&|latency| latency.p99)),
        Row::times("  packet latency, max", &latency(&|latency| latency.max)),
    ];
    rows.extend(parts);
    rows.extend([
        Row::new("  hops, mean", text(&|n| n.mean_hops.map_or("-".into(), hops)))
            .judged(Better::Lower, &of(|n| n.mean_hops)),
        Row::new("  offered load", text(&|n| show::percent(n.offered_load))),
        Row::new("  accepted load", text(&|n| show::percent(n.accepted_load))),
    ]);
    let energy = |of: fn(&EnergySummary) -> Option<f64>| -> Vec<Option<f64>> {
        let energies = runs.iter().map(|(_, run)| run.network.energy.as_ref());
        energies.map(|energy| of(energy?)).collect()
    };
    let per_bit = |joules_per_bit: f64| format!("{}/bit", show::energy(joules_per_bit));
    rows.extend(energy_row("  energy", energy(|e| Some(e.total_j)), show::energy));
    rows.extend(energy_row(
        "    added by load",
        energy(|e| Some(e.dynamic_j)),
        show::energy,
    ));
    rows.extend(energy_row(
        "  power, mean",
        energy(|e| e.mean_power_w),
        show::power,
    ));
    rows.extend(energy_row(
        "  energy of delivered data",
        energy(|e| e.pj_per_bit.map(|pj| pj / 1e12)),
        per_bit,
    ));
    rows
}

/// A row of energies or powers. `None` if no run has any.
fn energy_row(
    label: &str,
    values: impl IntoIterator<Item = Option<f64>>,
    shown: impl Fn(f64) -> String,
) -> Option<Row> {
    let values: Vec<Option<f64>> = values.into_iter().collect();
    let is_known = values.iter().any(Option::is_some);
    is_known.then(|| {
        let cells = values.iter().map(|value| value.map_or("-".into(), &shown));
        Row::new(label, cells).judged(Better::Lower, &values)
    })
}

/// The bounds of a job, if complete: bounds of host links alone say little.
fn bounds_of<'a>(run: &'a Summary, name: &str) -> Option<&'a JobBounds> {
    let bounds = run.bounds.as_ref()?;
    let mut known = bounds.jobs.iter().filter(|job| job.not_computed.is_empty());
    known.find(|job| job.name == name)
}

fn cost(runs: &[(&str, Summary)]) -> Vec<Row> {
    let text = |figure: &dyn Fn(&crate::RunSummary) -> String| -> Vec<String> {
        runs.iter().map(|(_, run)| figure(&run.run)).collect()
    };
    vec![
        Row::new("run", text(&|r| format!("{:25}", r.executed_by_in_short()))),
        Row::new("  simulated", text(&|r| show::time(r.simulated_ns))),
        Row::new("  wall clock", text(&|r| show::time(r.wall_s * 1e9))),
        Row::new(
            "  packet-hops per CPU second",
            text(&|r| show::rate(r.packet_hops_per_cpu_s)),
        ),
        Row::new("digest", runs.iter().map(|(_, run)| brief(&run.digest))),
        Row::new(
            "  collected",
            runs.iter()
                .map(|(_, run)| collected(run).map_or("-".into(), brief)),
        ),
    ]
}

/// A prefix of a digest, long enough to distinguish digests.
fn brief(digest: &str) -> String {
    digest.chars().take(12).collect()
}

fn sent(job: Option<&JobSummary>) -> String {
    job.map_or("-".into(), |job| {
        format!("{} on {} hosts", show::bytes(job.bytes), show::count(job.hosts))
    })
}

/// Times, each but the first with its ratio to the first.
fn times(ns: &[Option<f64>]) -> Vec<String> {
    let first = ns.first().copied().flatten().filter(|first| *first > 0.0);
    let cells = ns.iter().enumerate().map(|(i, time)| match (time, first) {
        (None, _) => "-".into(),
        (Some(time), Some(first)) if i > 0 => format!("{} ({:.2}x)", show::time(*time), time / first),
        (Some(time), _) => show::time(*time),
    });
    cells.collect()
}

/// Pads columns to their widest cell, with a line under the heading and without trailing blanks.
fn aligned(rows: &[Row]) -> String {
    let width = |text: &str| text.chars().count();
    let labels = rows.iter().map(|row| width(&row.label)).max().unwrap_or(0);
    let columns: Vec<usize> = (0..rows.first().map_or(0, |row| row.cells.len()))
        .map(|c| rows.iter().map(|row| width(&row.cells[c])).max().unwrap_or(0))
        .collect();
    let pad = |text: &str, to: usize| format!("{text}{}", " ".repeat(to.saturating_sub(width(text))));
    let mut lines = Vec::new();
    for (i, row) in rows.iter().enumerate() {
        let mut line = pad(&row.label, labels);
        for (cell, column) in row.cells.iter().zip(&columns) {
            line += "  ";
            line += &pad(cell, *column);
        }
        lines.push(line.trim_end().to_string());
        if i == 0 {
            lines.push("-".repeat(labels + columns.iter().map(|c| c + 2).sum::<usize>()));
        }
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headline::tests::{Run, traffic};
    use serde_json::json;

    fn run(digest: &str, algorithm: &str, threads: u64, accepted: f64) -> Summary {
        let mut run = Run::new(digest)
            .with(traffic("load", 64, 50.0, accepted, 900.0))
            .summary;
        run.experiment = json!({ "network": { "algorithm": algorithm }, "run": { "threads": threads } });
        run
    }

    #[test]
    fn several_runs_have_a_headline_marks_and_the_keys_in_which_they_differ() {
        let text = compare(&[
            ("A", run("a", "minimal", 1, 5.0)),
            ("B", run("b", "ugal", 2, 50.0)),
        ]);
        let headline = "B delivers more of the traffic that job load offers, 100.0 % (50 Gbps per host); A delivers 10.0 % (5 \
                        Gbps per host).\n\n";
        assert!(text.starts_with(headline), "{text}");
        for line in [
            "\n  offered per host            50 Gbps",
            "\n  delivered of offered ↑      10.0 %",
            "\n  packet latency, mean ↓      900 ns",
            "\n↓ lower is better, ↑ higher is better\n",
            "\nthe experiments differ in  A        B\n",
            "\nnetwork.algorithm          minimal  ugal\n",
            "\nkeys that differ and on which no result depends: run.threads\n",
            "\nresults: differ (digest)\n",
        ] {
            assert!(text.contains(line), "{line} is missing in\n{text}");
        }
        let same = compare(&[("A", run("a", "ugal", 1, 5.0)), ("B", run("a", "ugal", 2, 5.0))]);
        assert!(
            same.contains("\nthe experiments do not differ in a key on which results depend\n"),
            "{same}"
        );
    }

    #[test]
    fn one_run_is_not_compared() {
        let text = compare(&[("A", run("a", "minimal", 1, 5.0))]);
        for of_several in ["delivers", "↓", "differ", "digest)"] {
            assert!(!text.contains(of_several), "{text}");
        }
    }
}
