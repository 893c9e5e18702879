//! Experiments from text and from programs in memory; running them on every executor.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use des::{Executor, Pace, Partition, Time};
use experiment::{CollectSetting, Experiment, Job, JobKind, RankJob, Series};
use results::{RunResult, Table};
use sim::{Checkpoint, Error, RunContext, RunControl, run_in};
use testkit::executors::{OF_DISTRIBUTED_SIMULATIONS, OF_SIMULATIONS};
use testkit::processes::ThreadProcess;
use topology::HostId;
use workload::{Call, Operation, Program, TraceError, Workload};

/// The largest number of events for the reverse check, which compares a whole LP at each event.
const REVERSE_CHECKED: u64 = 10_000;

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The recorded OTF2 traces beside the repository. Prints a message if they are absent.
pub fn shared_trace(name: &str) -> Option<PathBuf> {
    shared_dumpi_trace(name).filter(|_| otf2_is_available())
}

/// The recorded DUMPI traces beside the repository. Prints a message if they are absent.
pub fn shared_dumpi_trace(name: &str) -> Option<PathBuf> {
    let path = root().join("../shared/traces").join(name);
    if !path.is_dir() {
        testkit::skipped!(
            "{} is missing; clone the traces beside the repository",
            path.display()
        );
        return None;
    }
    Some(path)
}

/// Whether OTF2 traces can be read. Prints a message if they cannot.
pub fn otf2_is_available() -> bool {
    if !workload::otf2::is_available() {
        testkit::skipped!("this build has no OTF2 library (Debian: libotf2-trace-dev)");
    }
    workload::otf2::is_available()
}

pub fn experiment(text: &str) -> Experiment {
    Experiment::from_toml(text, "test.toml", &[]).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

pub fn try_run(experiment: &Experiment) -> Result<RunResult, Error> {
    sim::run(experiment, &RunControl::new())
}

pub fn run(experiment: &Experiment) -> RunResult {
    try_run(experiment).unwrap_or_else(|e| panic!("{e}"))
}

/// Runs on all executors, in several processes and with other collected data. All have to agree on everything except
/// the costs of the run. Returns one of the results.
pub fn run_everywhere(experiment: &mut Experiment) -> RunResult {
    let reference = run_on_every_executor(experiment);
    run_in_processes_and_collections(experiment, &reference);
    reference
}

/// Runs on all executors in one process, and with the reverse check. Returns one of the results.
pub fn run_on_every_executor(experiment: &mut Experiment) -> RunResult {
    // So that the executor that chooses uses all others.
    experiment.run.pace = Pace::Events(300);
    let mut reference: Option<RunResult> = None;
    for (executor, threads) in OF_SIMULATIONS {
        (experiment.run.executor, experiment.run.threads) = (executor, threads);
        let result = run(experiment);
        let Some(reference) = &reference else {
            reference = Some(result);
            continue;
        };
        assert_same(
            reference,
            &result,
            &format!("{} with {threads} threads", executor.name()),
        );
    }
    let reference = reference.expect("there are executors");
    reverse_check(experiment, &reference);
    times_are_accounted_for(&reference);
    reference
}

/// Runs in several processes, and with other collected data: the result is this one.
pub fn run_in_processes_and_collections(experiment: &mut Experiment, reference: &RunResult) {
    for (executor, processes, threads) in OF_DISTRIBUTED_SIMULATIONS {
        (experiment.run.executor, experiment.run.threads) = (executor, threads);
        let result = run_together(experiment, processes);
        let what = format!(
            "{} in {processes} processes of {threads} threads",
            executor.name()
        );
        assert_same(reference, &result, &what);
    }
    collection_changes_nothing(experiment, reference);
}

/// Computation and calls fill the time of each rank, whether it has finished or was cut off.
pub fn times_are_accounted_for(result: &RunResult) {
    let Some(ranks) = result.table("ranks") else {
        return;
    };
    let [time, compute, mpi] = ["time_ps", "compute_ps", "mpi_ps"].map(|column| ranks.u64s(column).unwrap());
    for row in 0..ranks.rows() {
        let counted = compute[row] + mpi[row];
        assert_eq!(counted, time[row], "row {row}: {counted} of {} ps", time[row]);
    }
}

/// Results are the same whatever is collected, and collected data add up to them.
fn collection_changes_nothing(experiment: &mut Experiment, reference: &RunResult) {
    let (setting, collect) = (experiment.run.clone(), experiment.collect.clone());
    for series in [Series::Off, Series::Classes, Series::Vcs] {
        experiment.collect.set_series(series);
        if series < Series::Vcs {
            experiment.collect.set_traces(false, false);
        }
        // Two threads keep undo steps, one does not.
        (experiment.run.executor, experiment.run.threads) = match series {
            Series::Vcs => (Executor::Optimistic, 2),
            _ => (Executor::Conservative, 1),
        };
        let result = run(experiment);
        assert_same_simulation(reference, &result, series.name());
        crate::collection::series_add_up(experiment, &result);
        experiment.collect = collect.clone();
    }
    experiment.run = setting;
}

/// Every event of the run's beginning can be undone.
fn reverse_check(experiment: &mut Experiment, whole: &RunResult) {
    let setting = experiment.run.clone();
    experiment.run.threads = 1;
    let events = whole.summary.run.events_committed;
    if events > REVERSE_CHECKED {
        let end = (whole.summary.run.simulated_ns * REVERSE_CHECKED as f64 / events as f64) as u64;
        experiment.run.until = Some(Time::from_ns(end.max(1)));
        experiment.run.warmup = experiment.run.warmup.min(Time::from_ns(end / 4));
    }
    let mut result = |executor| {
        experiment.run.executor = executor;
        run(experiment)
    };
    let reference = result(Executor::Sequential);
    assert_same(&reference, &result(Executor::ReverseCheck), "reverse-check");
    experiment.run = setting;
}

/// Runs in several processes, which are threads of this process.
pub fn run_together(experiment: &Experiment, processes: usize) -> RunResult {
    run_from(experiment, processes, None, None)
}

/// Runs in several processes with the given parts, one for each thread of all processes.
pub fn run_in_parts(experiment: &Experiment, processes: usize, partition: &Partition) -> RunResult {
    assert_eq!(partition.parts(), processes * experiment.run.threads);
    run_from(experiment, processes, Some(partition), None)
}

/// Runs in several processes, from the start or from a checkpoint.
pub fn run_from(
    experiment: &Experiment,
    processes: usize,
    partition: Option<&Partition>,
    from: Option<&Checkpoint>,
) -> RunResult {
    let results = ThreadProcess::run(processes, |process| {
        let way = RunContext {
            processes: process,
            partition: partition.cloned(),
            from,
            ..RunContext::default()
        };
        run_in(experiment, &RunControl::new(), &way).unwrap_or_else(|e| panic!("{e}"))
    });
    let mut results = results.into_iter();
    let first = results
        .next()
        .flatten()
        .expect("the first process has the result");
    assert!(results.all(|other| other.is_none()), "the others have none");
    first
}

/// Number of LPs: routers, hosts and the termination detector.
pub fn lps(experiment: &Experiment) -> u32 {
    let network = &experiment.network;
    network.topology.routers() + network.hosts() + 1
}

/// Two results are the same except for the costs of the runs.
pub fn assert_same(reference: &RunResult, other: &RunResult, what: &str) {
    assert_same_tables(reference, other, |_| true, what);
    assert_same_simulation(reference, other, what);
    assert_eq!(
        reference.summary.collect, other.summary.collect,
        "{what}: what was collected"
    );
}

fn assert_same_tables(reference: &RunResult, other: &RunResult, which: fn(&Table) -> bool, what: &str) {
    let tables = |result: &RunResult| -> Vec<Table> {
        let tables = result.tables.iter().filter(|table| which(table));
        tables.cloned().collect()
    };
    let (left, right) = (tables(reference), tables(other));
    let names = |tables: &[Table]| -> Vec<String> { tables.iter().map(|t| t.name().into()).collect() };
    assert_eq!(names(&left), names(&right), "{what}: tables");
    for (left, right) in left.iter().zip(&right) {
        assert!(left == right, "{what}: table {} differs", left.name());
    }
}

/// Two results are the same except for collected data.
pub fn assert_same_simulation(reference: &RunResult, other: &RunResult, what: &str) {
    // Tables come before the digest because they show the place of the difference.
    let is_result = |table: &Table| !sim::COLLECTED.contains(&table.name());
    assert_same_tables(reference, other, is_result, what);
    assert_eq!(
        reference.summary.network, other.summary.network,
        "{what}: network"
    );
    assert_eq!(reference.summary.jobs, other.summary.jobs, "{what}: jobs");
    assert_eq!(reference.summary.digest, other.summary.digest, "{what}: digest");
}

pub fn table<'a>(result: &'a RunResult, name: &str) -> &'a Table {
    result
        .table(name)
        .unwrap_or_else(|| panic!("the result has no table {name}"))
}

/// A column of a table of integers, added up.
pub fn sum(table: &Table, column: &str) -> u64 {
    let values = table.u64s(column).unwrap_or_else(|| panic!("no column {column}"));
    values.iter().sum()
}

/// An application in memory: the operations of each rank.
pub struct Programs(pub Vec<Vec<Operation>>);

struct List(std::vec::IntoIter<Operation>);

impl Program for List {
    fn next(&mut self) -> Result<Option<Operation>, TraceError> {
        Ok(self.0.next())
    }
}

impl Workload for Programs {
    fn ranks(&self) -> u32 {
        self.0.len() as u32
    }
    fn communicators(&self) -> Arc<[Vec<u32>]> {
        Arc::new([(0..self.ranks()).collect()])
    }
    fn program(&self, rank: u32) -> Result<Box<dyn Program>, TraceError> {
        Ok(Box::new(List(self.0[rank as usize].clone().into_iter())))
    }
}

/// A job of such an application, with its ranks on these hosts.
pub fn job(name: &str, programs: Vec<Vec<Operation>>, settings: &mpi::MpiSettings, hosts: &[u32]) -> Job {
    job_of(name, Arc::new(Programs(programs)), settings, hosts)
}

/// A job of a workload, with its ranks on these hosts.
pub fn job_of(name: &str, workload: Arc<dyn Workload>, settings: &mpi::MpiSettings, hosts: &[u32]) -> Job {
    let hosts = hosts.iter().map(|host| HostId(*host)).collect();
    let ranks = RankJob::new(workload, settings.clone(), hosts);
    Job {
        name: name.into(),
        start: des::Time::ZERO,
        end: None,
        traffic_class: 0,
        kind: JobKind::Ranks(ranks.expect("a job that can be built")),
    }
}

/// A network with only these jobs, until they end. `network` is the table of that name.
pub fn jobs_on(network: &str, jobs: Vec<Job>) -> Experiment {
    // A file needs a job. This one is dropped.
    let text = format!(
        "{network}\n[[job]]\ntraffic = {{ pattern = \"uniform\", load = 0.5 }}\n[run]\nuntil = \"1 us\"\n"
    );
    let mut experiment = experiment(&text);
    experiment.jobs = jobs.into();
    experiment.run.until = None;
    experiment.collect = collected(network);
    experiment
}

/// The table `[collect]` of the text, if there is one, with bins for runs without a known end.
fn collected(text: &str) -> CollectSetting {
    let mut setting = CollectSetting::of(Series::Links);
    let asks = |key: &str| text.contains(&format!("\n{key} = true"));
    setting.set_traces(asks("timeline"), asks("waits"));
    setting
}

/// The same network with uniform traffic on all hosts, which never ends.
pub fn job_beside_traffic(network: &str, load: f64, job: Job) -> Experiment {
    let traffic = format!("[[job]]\ntraffic = {{ pattern = \"uniform\", load = {load} }}\n");
    // The second job of the file gives way to the given one.
    let mut experiment = experiment(&format!("{network}\n{traffic}{traffic}[run]\nuntil = \"1 us\"\n"));
    let jobs = Arc::get_mut(&mut experiment.jobs).expect("no other owner has the jobs yet");
    jobs[1] = job;
    experiment.run.until = None;
    experiment.collect = collected(network);
    experiment
}

pub fn compute(ns: u64) -> Operation {
    Operation::Compute {
        ps: ns * 1000,
        region: None,
    }
}

pub fn send(to: u32, bytes: u64) -> Operation {
    Operation::Send {
        to,
        tag: 0,
        communicator: 0,
        bytes,
        request: None,
        call: Call::Send,
    }
}

pub fn receive(from: u32, bytes: u64) -> Operation {
    Operation::Receive {
        from: Some(from),
        tag: Some(0),
        communicator: 0,
        bytes,
        request: None,
        call: Call::Recv,
    }
}
