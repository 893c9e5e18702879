//! Running an experiment.

use std::path::Path;
use std::time::Instant;

use cpu_time::ProcessTime;
use des::{
    EngineStatistics, LpId, Lps, Observer, Partition, Processes, RunEnd, Settings, SingleProcess, Snapshot,
    Time,
};
use mpi::Rank;
use results::{PartSummary, Rollbacks, RunResult, RunSummary, TableStore, ThreadTimes};

use crate::Error;
use crate::bounds::{Effort, bounds};
use crate::checkpoint::{Checkpoint, Checkpoints, Writer};
use crate::collect::Collector;
use crate::lp::model::NetworkLp;
use crate::lp::net_event::{NetEvent, Record};
use crate::lp::shortcuts::{Declared, Observed, Shortcuts};
use crate::lp::simulation::{Failure, Simulation};
use crate::lp::wiring::Identity;
use crate::outcome::audit::audit;
use crate::outcome::final_state::FinalState;
use crate::outcome::inventory;
use crate::outcome::wait_cycles;
use crate::setup::experiment::{CreditSetting, Experiment};
use crate::setup::job::JobKind;

/// Ranks that an error about a deadlock names.
const NAMED_RANKS: usize = 8;

/// Shared with whoever watches a run: progress out, interruption in.
#[derive(Debug, Default)]
pub struct Control {
    kernel: des::Control,
}

impl Control {
    /// A fresh one. Runs that follow each other may share it; those at a time need one each.
    pub fn new() -> Control {
        Control::default()
    }

    /// Ends the run soon, without a result.
    pub fn stop(&self) {
        self.kernel.interrupt();
    }

    /// Simulated time reached, in picoseconds.
    pub fn now_ps(&self) -> u64 {
        self.kernel.now().ps()
    }
}

/// The circumstances of a run, which do not change its result.
pub struct RunContext<'a> {
    /// Who takes part.
    pub processes: &'a dyn Processes,
    /// Whether and how checkpoints are written.
    pub checkpoints: Option<&'a Checkpoints>,
    /// Where to go on; none: the run begins.
    pub from: Option<&'a Checkpoint>,
    /// What each thread simulates; none: about equal parts that keep neighbours together.
    pub partition: Option<Partition>,
    /// Folder for what is collected as the run goes on; none: it stays in memory. Of several processes the first
    /// writes there.
    pub parts: Option<&'a Path>,
}

impl Default for RunContext<'_> {
    fn default() -> Self {
        RunContext {
            processes: &SingleProcess,
            checkpoints: None,
            from: None,
            partition: None,
            parts: None,
        }
    }
}

/// Runs an experiment to its end. The result is the same for every executor and number of threads, but
/// for what the run itself cost.
///
/// # Errors
/// A trace that is broken, ranks that wait for ever, an interruption through `control`.
pub fn run(experiment: &Experiment, control: &Control) -> Result<RunResult, Error> {
    let result = run_in(experiment, control, &RunContext::default())?;
    Ok(result.expect("a process that is alone has the result"))
}

/// Runs an experiment, or its rest, possibly with other processes: all of them call this with the same
/// experiment. The first one gets the result.
///
/// # Errors
/// As [`run`]; checkpoints that cannot be written, or one that is not of this experiment. What has failed
/// in another process is [`Error::Elsewhere`].
pub fn run_in(
    experiment: &Experiment,
    control: &Control,
    context: &RunContext<'_>,
) -> Result<Option<RunResult>, Error> {
    let begin = Meter::start();
    let whole = context.checkpoints.is_none() && context.from.is_none();
    let (mut observed, declared) = (
        Observed::new(experiment, whole),
        Declared::new(&experiment.network),
    );
    loop {
        let shortcuts = Shortcuts::choose(&observed, &declared);
        match attempt(experiment, control, context, (&begin, shortcuts))? {
            Attempt::Done(result) => return Ok(result.map(|result| *result)),
            Attempt::CreditsRanShort => observed.credits = CreditSetting::Each,
        }
    }
}

/// How an attempt at a run ended.
enum Attempt {
    /// It was valid, and the first process has the result.
    Done(Option<Box<RunResult>>),
    /// A packet lacked credits while they returned in batches, in any process.
    CreditsRanShort,
}

/// Runs with these shortcuts.
fn attempt(
    experiment: &Experiment,
    control: &Control,
    context: &RunContext<'_>,
    (begin, shortcuts): (&Meter, Shortcuts),
) -> Result<Attempt, Error> {
    let executor = experiment.run.executor;
    let threads = if executor.is_parallel() {
        experiment.run.threads
    } else {
        1
    };
    let count = context.processes.count();
    if count > 1 && !executor.is_parallel() {
        return Err(Error::Processes(format!(
            "the executor {} runs in one process, not in {count}; use conservative or optimistic",
            executor.name()
        )));
    }
    same_experiment(experiment, context.processes)?;
    let simulation = Simulation::new(experiment, shortcuts);
    let partition = context.partition.clone();
    let partition = partition.unwrap_or_else(|| {
        simulation
            .numbering
            .partition(&experiment.network, count * threads)
    });
    let parts = parts(&simulation, &partition, threads);
    let settings = Settings {
        executor,
        partition,
        seed: experiment.run.seed,
        until: experiment.run.until.unwrap_or(Time::MAX),
        optimism: experiment.run.optimism,
    };
    let from = context.from.map(|checkpoint| &checkpoint.body);
    let start = from.map_or(Time::ZERO, |body| body.snapshot.time);
    let writer = context
        .checkpoints
        .map(|checkpoints| Writer::new(checkpoints, experiment, start));
    let store = match context.parts {
        Some(folder) => TableStore::Folder(folder.into()),
        None => TableStore::Memory,
    };
    let first = context.processes.index() == 0;
    let drawing = first.then(|| inventory::drawing(&simulation.network));
    let written = drawing.as_ref().map_or(Ok(()), |drawing| {
        inventory::write(&simulation.network, drawing, &store)
    });
    let collector = match from {
        // What was collected lies with the first process.
        Some(body) if first => {
            Collector::restored(&simulation, &experiment.collect, store, body.collected.clone())
        }
        _ => Ok(Collector::new(&simulation, &experiment.collect, store)),
    };
    let mut watcher = Watcher {
        collector: collector?,
        writer: writer.transpose()?,
        failure: None,
        control: &control.kernel,
    };
    if let Err(error) = written {
        // Other processes, which know nothing of it, learn it in the run.
        watcher.fail(Error::Collect(error));
    }
    let run = des::Run {
        model: &simulation,
        settings: &settings,
        control: &control.kernel,
        processes: context.processes,
        from: from.map(|body| &body.snapshot),
    };
    let finished = run.execute(&mut watcher);
    let (cpu_s, peak_rss_bytes) = sums(context.processes, begin.cpu(), peak_rss_bytes());
    let finished = finished.map_err(|why| match context.from {
        Some(checkpoint) => checkpoint.error(why),
        None => Error::Audit(why),
    })?;
    let batching = shortcuts.credit_batching;
    if batching.is_on() && ran_short(context.processes, &finished.end) {
        return Ok(Attempt::CreditsRanShort);
    }
    match finished.end {
        RunEnd::Failed(Failure::Error(error)) => return Err(error),
        RunEnd::Failed(Failure::CreditsRanShort) => unreachable!("only batches run short of credits"),
        RunEnd::FailedElsewhere => return Err(Error::Elsewhere),
        RunEnd::Irreversible(what) => return Err(Error::Audit(what)),
        _ if watcher.failure.is_some() => return Err(watcher.failure.unwrap_or(Error::Interrupted)),
        RunEnd::Interrupted => return Err(Error::Interrupted),
        RunEnd::Drained | RunEnd::Stopped | RunEnd::Until if !first => return Ok(Attempt::Done(None)),
        RunEnd::Drained => waiting_ranks(&simulation, &finished.lps, finished.time)?,
        RunEnd::Stopped => {
            if let Some(time) = stuck(&finished.lps) {
                waiting_ranks(&simulation, &finished.lps, time)?;
            }
        }
        RunEnd::Until => {}
    }
    audit(&simulation, &finished.lps, &finished.pending)?;
    let Watcher { collector, .. } = watcher;
    let final_state = FinalState {
        simulation: &simulation,
        processes: &finished.lps,
        pending: &finished.pending,
        end: finished.time,
        records: collector.records(),
        drawing: drawing.expect("the first process has made it"),
    };
    let collected = collector
        .finish(
            &simulation,
            &finished.lps,
            finished.time,
            &final_state.not_begun(),
        )
        .map_err(Error::Collect)?;
    let outcome = final_state.outcome();
    let cost = RunSummary {
        version: env!("CARGO_PKG_VERSION").into(),
        executor: executor.name().into(),
        credits: batching.name().into(),
        processes: count as u64,
        threads: threads as u64,
        wall_s: begin.wall(),
        cpu_s,
        peak_rss_bytes,
        simulated_ns: finished.time.as_ns(),
        resumed_at_ns: context.from.map(|_| start.as_ns()),
        parts,
        ..cost(&simulation, &finished.statistics)
    };
    let mut result = RunResult::new(experiment.settings.clone(), outcome, cost);
    result.collect(experiment.collect.summary(), collected);
    result.summary.bounds = bounds(experiment, Effort::RUN);
    Ok(Attempt::Done(Some(Box::new(result))))
}

/// Whether a run in which credits returned in batches has to begin anew, in any process: a packet lacked credits, or no
/// event is left, and the last credit would have set the end.
fn ran_short(processes: &dyn Processes, end: &RunEnd<Failure>) -> bool {
    let short = matches!(end, RunEnd::Failed(Failure::CreditsRanShort) | RunEnd::Drained);
    let mut values = [u64::from(!short)];
    processes.least(&mut values);
    values[0] == 0
}

/// Files may differ from machine to machine.
fn same_experiment(experiment: &Experiment, processes: &dyn Processes) -> Result<(), Error> {
    let text = format!("{}{:?}", experiment.settings, experiment.run);
    // 63 bits of the hash are enough to tell two files apart.
    let digits = &results::hash(&[text.as_bytes()])[..16];
    let mine = u64::from_str_radix(digits, 16).expect("hexadecimal digits") >> 1;
    let mut values = [mine, u64::MAX - mine];
    processes.least(&mut values);
    if values != [mine, u64::MAX - mine] {
        return Err(Error::Processes(
            "the processes have read different experiments: they need the same file, on every machine".into(),
        ));
    }
    Ok(())
}

/// TraceRecord by the kernel as the run goes on.
struct Watcher<'a> {
    collector: Collector,
    writer: Option<Writer<'a>>,
    /// Why the run was broken off from here.
    failure: Option<Error>,
    control: &'a des::Control,
}

impl Watcher<'_> {
    fn fail(&mut self, why: Error) {
        self.failure = Some(why);
        self.control.interrupt();
    }
}

impl Observer<Simulation> for Watcher<'_> {
    fn commit(&mut self, time: Time, record: Record) {
        if let Err(error) = self.collector.take(time, record)
            && self.failure.is_none()
        {
            self.fail(Error::Collect(error));
        }
    }

    fn wants_snapshot(&mut self, now: Time) -> bool {
        self.writer.as_ref().is_some_and(|writer| writer.is_due(now))
    }

    fn snapshot(&mut self, snapshot: Snapshot<NetEvent>) {
        let Some(writer) = &mut self.writer else { return };
        if let Err(error) = writer.write(self.collector.state(), snapshot) {
            self.writer = None;
            self.fail(error);
        }
    }
}

/// What the kernel tells of the run.
fn cost(simulation: &Simulation, statistics: &EngineStatistics) -> RunSummary {
    let mut rollbacks = Rollbacks::default();
    for (lp, count) in statistics.rollbacks.iter().enumerate() {
        let of = match simulation.numbering.identity(LpId(lp as u32)) {
            Identity::Router(_) => &mut rollbacks.router,
            Identity::Host(_) => &mut rollbacks.host,
            Identity::TerminationDetector => &mut rollbacks.overseer,
        };
        *of += u64::from(*count);
    }
    let seconds = |t: &des::ThreadSeconds| ThreadTimes {
        processing: t.processing,
        queue: t.queue,
        synchronisation: t.synchronisation,
        rollback: t.rollback,
        idle: t.idle,
    };
    RunSummary {
        events_processed: statistics.processed,
        events_committed: statistics.committed,
        events_rolled_back: statistics.rolled_back,
        events_remote: statistics.remote,
        efficiency: 1.0 - statistics.rolled_back as f64 / statistics.processed.max(1) as f64,
        primary_rollbacks: statistics.primary_rollbacks,
        secondary_rollbacks: statistics.secondary_rollbacks,
        rollbacks,
        anti_messages: statistics.anti_messages,
        windows: statistics.windows,
        gvt_rounds: statistics.gvt_rounds,
        thread_seconds: statistics.threads.iter().map(seconds).collect(),
        ..RunSummary::default()
    }
}

/// What each thread simulates.
fn parts(simulation: &Simulation, partition: &Partition, threads: usize) -> Vec<PartSummary> {
    let work = |lp| simulation.numbering.work(&simulation.network, LpId(lp));
    let total: u64 = (0..simulation.numbering.lps()).map(work).sum();
    let part = |index: usize| {
        let mut part = PartSummary {
            process: (index / threads) as u64,
            thread: (index % threads) as u64,
            ..PartSummary::default()
        };
        for lp in partition.range(index) {
            part.share += work(lp) as f64 / total.max(1) as f64;
            match simulation.numbering.identity(LpId(lp)) {
                Identity::Router(router) => {
                    let id = u64::from(router.0);
                    if part.routers == 0 {
                        part.router_range[0] = id;
                    }
                    part.router_range[1] = id + 1;
                    part.routers += 1;
                }
                Identity::Host(_) => part.hosts += 1,
                Identity::TerminationDetector => {}
            }
        }
        part
    };
    (0..partition.parts()).map(part).collect()
}

/// Processor seconds and memory of all processes, in the first.
fn sums(processes: &dyn Processes, cpu_s: f64, rss_bytes: u64) -> (f64, u64) {
    let mut parcels = vec![Vec::new(); processes.count()];
    parcels[0] = [cpu_s.to_bits(), rss_bytes]
        .iter()
        .flat_map(|n| n.to_le_bytes())
        .collect();
    let mut sums = (0.0, 0);
    for parcel in processes.exchange(parcels) {
        let mut numbers = parcel
            .chunks_exact(8)
            .map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap_or_default()));
        sums.0 += f64::from_bits(numbers.next().unwrap_or(0));
        sums.1 += numbers.next().unwrap_or(0);
    }
    sums
}

/// When the overseer found that no rank can go on.
fn stuck(processes: &Lps<NetworkLp>) -> Option<Time> {
    processes.iter().find_map(|process| match process {
        NetworkLp::TerminationDetector(termination_detector) => termination_detector.stuck(),
        _ => None,
    })
}

/// Nothing is left to happen to ranks: all of them must have finished.
fn waiting_ranks(simulation: &Simulation, processes: &Lps<NetworkLp>, time: Time) -> Result<(), Error> {
    let mut lines = Vec::new();
    let mut count = 0u64;
    let mut awaited: Vec<wait_cycles::Awaited> = Vec::new();
    awaited.resize_with(simulation.jobs.len(), Vec::new);
    for (job, rank, host) in ranks(simulation) {
        let NetworkLp::Host(host) = &processes[simulation.numbering.host(host)] else {
            continue;
        };
        let Some(seat) = host.ranks().iter().find(|s| s.job == job && s.rank == rank) else {
            continue;
        };
        let state = seat.state.as_ref().filter(|state| !state.finished());
        // Ranks come in their order.
        awaited[usize::from(job)].push(state.map(Rank::awaited_ranks));
        let Some(state) = state else {
            continue;
        };
        count += 1;
        if lines.len() < NAMED_RANKS {
            let what = state
                .waiting_for()
                .unwrap_or_else(|| "nothing that is known".into());
            let name = &simulation.jobs[usize::from(job)].name;
            lines.push(format!("  job '{name}', rank {rank}: {what}"));
        }
    }
    if count == 0 {
        return Ok(());
    }
    let more = count as usize - lines.len();
    if more > 0 {
        lines.push(format!("  and {more} more"));
    }
    for (job, awaited) in simulation.jobs.iter().zip(&awaited) {
        let wait_cycles = wait_cycles::wait_cycles(awaited).into_iter();
        lines.extend(wait_cycles.map(|cycle| format!("  job '{}': {cycle}", job.name)));
    }
    Err(Error::Deadlock(format!(
        "the application waits for ever: at {time} nothing of it is under way any more, and {count} ranks have not finished\n{}",
        lines.join("\n")
    )))
}

/// Job, rank and host of all ranks.
fn ranks(simulation: &Simulation) -> impl Iterator<Item = (u16, u32, topology::HostId)> + '_ {
    simulation.jobs.iter().enumerate().flat_map(|(index, job)| {
        let hosts = match &job.kind {
            JobKind::Ranks(ranks) => ranks.hosts.as_slice(),
            JobKind::Traffic(_) => &[],
        };
        hosts
            .iter()
            .enumerate()
            .map(move |(rank, host)| (index as u16, rank as u32, *host))
    })
}

/// Wall and processor time since a moment.
struct Meter {
    wall: Instant,
    cpu: ProcessTime,
}

impl Meter {
    fn start() -> Meter {
        Meter {
            wall: Instant::now(),
            cpu: ProcessTime::now(),
        }
    }

    fn wall(&self) -> f64 {
        self.wall.elapsed().as_secs_f64()
    }

    fn cpu(&self) -> f64 {
        self.cpu.elapsed().as_secs_f64()
    }
}

/// Largest resident memory of this process so far; 0 where the system does not tell.
fn peak_rss_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
