//! Running an experiment.

use std::time::Instant;

use cpu_time::ProcessTime;
use des::{
    EngineStatistics, Executor, Finished, GearTime, LpId, Observer, Partition, Processes, RunEnd, Settings,
    SingleProcess, Snapshot, Time,
};
use experiment::{CreditSetting, Effort, Experiment, bounds};
use results::{
    Collect, GearSummary, Outcome, Rollbacks, RunPath, RunResult, RunSummary, TableStore, ThreadTimes,
    WorkerSummary,
};

use crate::Error;
use crate::checkpoint::{Checkpoint, CheckpointWriter, Checkpoints};
use crate::collect::Collector;
use crate::lp::expected_work::ExpectedWork;
use crate::lp::net_event::{NetEvent, Record};
use crate::lp::shortcuts::{Declared, Requested, Shortcuts};
use crate::lp::simulation::{LpFailure, Simulation};
use crate::lp::wiring::LpIdentity;
use crate::outcome::audit::audit;
use crate::outcome::deadlock::check_ranks;
use crate::outcome::final_state::FinalState;
use crate::outcome::inventory::{self, DrawingTables};

/// Shared with the observer of a run: reports progress, accepts an interruption.
#[derive(Debug, Default)]
pub struct RunControl {
    kernel: des::Control,
}

impl RunControl {
    /// A new control. Successive runs may share one; simultaneous runs need one each.
    pub fn new() -> RunControl {
        RunControl::default()
    }

    /// Ends the run soon, without a result.
    pub fn stop(&self) {
        self.kernel.interrupt();
    }

    /// Whether the end of the run was requested.
    pub fn is_stopped(&self) -> bool {
        self.kernel.interrupted()
    }

    /// Simulated time reached, in picoseconds.
    pub fn now_ps(&self) -> u64 {
        self.kernel.now().ps()
    }
}

/// The circumstances of a run. They do not change its result.
pub struct RunContext<'a> {
    /// The participating processes.
    pub processes: &'a dyn Processes,
    /// Whether and how checkpoints are written.
    pub checkpoints: Option<&'a Checkpoints>,
    /// The checkpoint to resume from; `None` starts a new run.
    pub from: Option<&'a Checkpoint>,
    /// The LPs of each thread; `None` for about equal parts that keep neighbours together.
    pub partition: Option<Partition>,
    /// Folder for tables that grow during the run; `None` keeps them in memory. Of several processes, the first
    /// writes there.
    pub parts: Option<&'a RunPath>,
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

/// Runs an experiment to its end. The result is the same for every executor and number of threads, except for the
/// cost of the run itself.
///
/// # Errors
/// A broken trace, ranks that wait forever, an interruption through `control`.
pub fn run(experiment: &Experiment, control: &RunControl) -> Result<RunResult, Error> {
    let result = run_in(experiment, control, &RunContext::default())?;
    Ok(result.expect("a process that is alone has the result"))
}

/// Runs an experiment, or resumes it, with any number of processes. All of them call this function with the same
/// experiment. The first process gets the result.
///
/// # Errors
/// As [`run`]; a checkpoint that cannot be written, or that belongs to another experiment. A failure of another
/// process is [`Error::Elsewhere`].
pub fn run_in(
    experiment: &Experiment,
    control: &RunControl,
    context: &RunContext<'_>,
) -> Result<Option<RunResult>, Error> {
    let stopwatch = Stopwatch::start();
    let whole = context.checkpoints.is_none() && context.from.is_none();
    let (mut requested, declared) = (
        Requested::new(experiment, whole),
        Declared::new(&experiment.network),
    );
    loop {
        let shortcuts = Shortcuts::choose(&requested, &declared);
        match attempt(experiment, control, context, (&stopwatch, shortcuts))? {
            Attempt::Done(result) => return Ok(result.map(|result| *result)),
            Attempt::CreditsRanShort => requested.credits = CreditSetting::Each,
        }
    }
}

/// How an attempt at a run ended.
enum Attempt {
    /// The attempt was valid. The first process has the result.
    Done(Option<Box<RunResult>>),
    /// A packet of any process lacked credits while they returned in batches.
    CreditsRanShort,
}

/// Runs with these shortcuts.
fn attempt(
    experiment: &Experiment,
    control: &RunControl,
    context: &RunContext<'_>,
    (stopwatch, shortcuts): (&Stopwatch, Shortcuts),
) -> Result<Attempt, Error> {
    let executor = experiment.run.executor;
    let count = context.processes.count();
    let threads = experiment.run.threads_of_executor(count);
    if count > 1 && !executor.is_parallel() {
        return Err(Error::Processes(format!(
            "the executor {} runs in one process, not in {count}; use conservative or optimistic",
            executor.name()
        )));
    }
    if let Some(job) = experiment.jobs.iter().find(|job| count > 1 && job.reacts()) {
        return Err(Error::Processes(format!(
            "the programs of job '{}' read answers and cannot be read again in another process; run it in one, on \
             several threads",
            job.name
        )));
    }
    same_experiment(experiment, context.processes)?;
    let simulation = Simulation::new(experiment, shortcuts);
    let work = ExpectedWork::new(&simulation, count);
    let partition = context.partition.clone();
    let settings = Settings {
        executor,
        partition: partition.unwrap_or_else(|| work.partition(&simulation, count * threads)),
        seed: experiment.run.seed,
        until: experiment.run.latest_end().unwrap_or(Time::MAX),
        optimism: experiment.run.optimism,
        pace: experiment.run.pace,
    };
    let first = context.processes.index() == 0;
    let drawing = first.then(|| inventory::drawing(&simulation.network));
    let mut observer = RunObserver::new(experiment, &simulation, control, context, drawing.as_ref())?;
    let run = des::Run {
        model: &simulation,
        settings: &settings,
        control: &control.kernel,
        processes: context.processes,
        from: context.from.map(|checkpoint| &checkpoint.body.snapshot),
    };
    let finished = run.execute(&mut observer);
    let (cpu_s, peak_rss_bytes) = sums(context.processes, stopwatch.cpu(), peak_rss_bytes());
    let mut finished = finished.map_err(|why| match context.from {
        Some(checkpoint) => checkpoint.error(why),
        None => Error::Audit(why),
    })?;
    let batching = shortcuts.credit_batching;
    if batching.is_on() && ran_short(context.processes, &finished.end) {
        return Ok(Attempt::CreditsRanShort);
    }
    observer.check_end(&simulation, &mut finished)?;
    let Some(drawing) = drawing else {
        return Ok(Attempt::Done(None));
    };
    let (executor, threads) = main_gear(&finished.statistics).unwrap_or((executor, threads));
    let partition = settings.partition.joined(count * threads);
    let parts = parts(&simulation, &work, &partition, threads);
    let cost = RunSummary {
        version: env!("CARGO_PKG_VERSION").into(),
        executor: executor.name().into(),
        credits: batching.name().into(),
        processes: count as u64,
        threads: threads as u64,
        wall_s: stopwatch.wall(),
        cpu_s,
        peak_rss_bytes,
        simulated_ns: finished.time.as_ns(),
        resumed_at_ns: context
            .from
            .map(|checkpoint| checkpoint.body.snapshot.time.as_ns()),
        parts,
        ..cost(&simulation, settings.executor, &finished.statistics)
    };
    let result = result(
        experiment,
        &simulation,
        &finished,
        observer.collector,
        drawing,
        cost,
    )?;
    Ok(Attempt::Done(Some(Box::new(result))))
}

/// The audited result of a finished run, in the first process.
fn result(
    experiment: &Experiment,
    simulation: &Simulation,
    finished: &Finished<Simulation>,
    collector: Collector,
    drawing: DrawingTables,
    cost: RunSummary,
) -> Result<RunResult, Error> {
    let ledger = audit(simulation, &finished.lps, &finished.pending)?;
    let final_state = FinalState {
        simulation,
        lps: &finished.lps,
        pending: &finished.pending,
        end: finished.time,
        records: collector.records(),
        repetitions: collector.repetitions(),
        drawing,
        ledger,
    };
    let not_begun = final_state.not_begun();
    let (collected, busiest_period) = collector
        .finish(simulation, finished, &not_begun)
        .map_err(Error::Collect)?;
    let mut outcome = Outcome {
        rounded_rates: experiment.rounded_rates.clone(),
        assumptions: experiment.assumptions.clone(),
        ..final_state.outcome()
    };
    if let Some(schedule) = &experiment.schedule {
        outcome
            .tables
            .push(results::rows::schedule(schedule.rows.iter().cloned()));
        outcome.schedule = Some(schedule.summary.clone());
    }
    let mut result = RunResult::new(experiment.settings.clone(), outcome, cost);
    let collect = Collect {
        busiest_period,
        ..experiment.collect.summary()
    };
    result.collect(collect, collected);
    result.set_bounds(bounds(experiment, Effort::RUN));
    result.judge();
    Ok(result)
}

/// Whether a run with credit batching must be repeated without it, because of any process: a packet lacked credits,
/// or no event is left, so that the last credit would have determined the end.
fn ran_short(processes: &dyn Processes, end: &RunEnd<LpFailure>) -> bool {
    let short = matches!(end, RunEnd::Failed(LpFailure::CreditsRanShort) | RunEnd::Drained);
    let mut values = [u64::from(!short)];
    processes.least(&mut values);
    values[0] == 0
}

/// Checks that all processes have read the same experiment. Files may differ between machines.
fn same_experiment(experiment: &Experiment, processes: &dyn Processes) -> Result<(), Error> {
    let text = format!("{}{:?}", experiment.settings, experiment.run);
    // 63 bits of the hash distinguish two files.
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

/// Observes the run for the kernel.
struct RunObserver<'a> {
    collector: Collector,
    writer: Option<CheckpointWriter<'a>>,
    /// Failure that ended the run in this process.
    failure: Option<Error>,
    control: &'a des::Control,
}

impl<'a> RunObserver<'a> {
    /// Opens the tables and the checkpoint file. The process that has `drawing` writes the tables of routers and hosts.
    fn new(
        experiment: &'a Experiment,
        simulation: &Simulation,
        control: &'a RunControl,
        context: &RunContext<'a>,
        drawing: Option<&DrawingTables>,
    ) -> Result<Self, Error> {
        let from = context.from;
        let start = from.map_or(Time::ZERO, |from| from.body.snapshot.time);
        let writer = context
            .checkpoints
            .map(|checkpoints| CheckpointWriter::new(checkpoints, experiment, start));
        let store = match context.parts {
            Some(folder) => TableStore::Folder(folder.clone()),
            None => TableStore::Memory,
        };
        let written = drawing.map_or(Ok(()), |drawing| {
            inventory::write(&simulation.network, drawing, &store)
        });
        let collector = match from {
            // The first process has the collected rows.
            Some(from) if drawing.is_some() => {
                let body = &from.body;
                let state = body.collected.clone();
                let restored = Collector::restored(simulation, &experiment.collect, store, state);
                restored.map_err(|e| from.error(e.to_string()))
            }
            _ => Ok(Collector::new(simulation, &experiment.collect, store)),
        };
        let mut observer = RunObserver {
            collector: collector?,
            writer: writer.transpose()?,
            failure: None,
            control: &control.kernel,
        };
        if let Err(error) = written {
            // The other processes learn of the failure in the run.
            observer.fail(Error::Collect(error));
        }
        Ok(observer)
    }

    fn fail(&mut self, why: Error) {
        self.failure = Some(why);
        self.control.interrupt();
    }

    /// The error of a run that ended early, and of ranks that wait forever. The first process alone has the ranks.
    fn check_end(
        &mut self,
        simulation: &Simulation,
        finished: &mut Finished<Simulation>,
    ) -> Result<(), Error> {
        match std::mem::replace(&mut finished.end, RunEnd::Until) {
            RunEnd::Failed(LpFailure::Error(error)) => Err(error),
            RunEnd::Failed(LpFailure::CreditsRanShort) => unreachable!("only batches run short of credits"),
            RunEnd::FailedElsewhere => Err(Error::Elsewhere),
            RunEnd::Irreversible(what) => Err(Error::Audit(what)),
            _ if self.failure.is_some() => Err(self.failure.take().unwrap_or(Error::Interrupted)),
            RunEnd::Interrupted => Err(Error::Interrupted),
            RunEnd::Drained | RunEnd::Stopped | RunEnd::Until if finished.lps.is_empty() => Ok(()),
            end => check_ranks(simulation, finished, matches!(end, RunEnd::Drained)),
        }
    }
}

impl Observer<Simulation> for RunObserver<'_> {
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

/// The costs of the run, from the kernel's statistics. `asked`: the executor of the experiment.
fn cost(simulation: &Simulation, asked: Executor, statistics: &EngineStatistics) -> RunSummary {
    let mut rollbacks = Rollbacks::default();
    for (lp, count) in statistics.rollbacks.iter().enumerate() {
        let of = match simulation.numbering.identity(LpId(lp as u32)) {
            LpIdentity::Router(_) => &mut rollbacks.router,
            LpIdentity::Host(_) => &mut rollbacks.host,
            LpIdentity::TerminationDetector => &mut rollbacks.termination_detector,
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
    let gears = statistics
        .gears
        .iter()
        .map(|gear| GearSummary {
            executor: gear.executor.name().into(),
            threads: gear.threads as u64,
            wall_s: gear.seconds,
            events: gear.events,
        })
        .collect();
    let (auto, fewer_threads) = match asked {
        Executor::Auto => (gears, Vec::new()),
        _ => (Vec::new(), gears),
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
        thread_seconds: statistics
            .threads
            .iter()
            .take(main_gear(statistics).map_or(usize::MAX, |(_, threads)| threads))
            .map(seconds)
            .collect(),
        auto,
        fewer_threads,
        ..RunSummary::default()
    }
}

/// The executor and the number of threads on which a run that changed them has spent the most time.
fn main_gear(statistics: &EngineStatistics) -> Option<(Executor, usize)> {
    let longest = |a: &&GearTime, b: &&GearTime| a.seconds.total_cmp(&b.seconds);
    let gear = statistics.gears.iter().max_by(longest)?;
    Some((gear.executor, gear.threads))
}

/// The LPs of each thread, counted.
fn parts(
    simulation: &Simulation,
    work: &ExpectedWork,
    partition: &Partition,
    threads: usize,
) -> Vec<WorkerSummary> {
    let total = work.total();
    let part = |index: usize| {
        let mut part = WorkerSummary {
            process: (index / threads) as u64,
            thread: (index % threads) as u64,
            ..WorkerSummary::default()
        };
        for lp in partition.range(index) {
            part.share += work.of(LpId(lp)) as f64 / total.max(1) as f64;
            match simulation.numbering.identity(LpId(lp)) {
                LpIdentity::Router(router) => {
                    let id = u64::from(router.0);
                    if part.routers == 0 {
                        part.router_range[0] = id;
                    }
                    part.router_range[1] = id + 1;
                    part.routers += 1;
                }
                LpIdentity::Host(_) => part.hosts += 1,
                LpIdentity::TerminationDetector => {}
            }
        }
        part
    };
    (0..partition.parts()).map(part).collect()
}

/// Processor seconds and memory of all processes, in the first process.
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

/// Wall-clock and processor time since its start.
struct Stopwatch {
    wall: Instant,
    cpu: ProcessTime,
}

impl Stopwatch {
    fn start() -> Stopwatch {
        Stopwatch {
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

/// Largest resident memory of this process so far; 0 if the system does not report it.
fn peak_rss_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
