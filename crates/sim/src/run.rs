//! Running an experiment.

use std::time::Instant;

use cpu_time::ProcessTime;
use des::{End, Executor, Partition, Settings, Time};
use results::{Digest, Run, RunResult, ThreadSeconds};

use crate::Error;
use crate::audit::audit;
use crate::experiment::Experiment;
use crate::fact::RankDone;
use crate::model::{Process, Simulation};
use crate::outcome::Remains;
use crate::placement::JobKind;

/// Ranks that an error about a deadlock names.
const NAMED_RANKS: usize = 8;

/// Shared with whoever watches a run: progress out, interruption in.
#[derive(Debug, Default)]
pub struct Control {
    kernel: des::Control,
}

impl Control {
    /// A fresh one; each run needs its own.
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

/// Runs an experiment to its end. The result is the same for every executor and number of threads, but
/// for what the run itself cost.
///
/// # Errors
/// A trace that is broken, ranks that wait for ever, an interruption through `control`.
pub fn run(experiment: &Experiment, control: &Control) -> Result<RunResult, Error> {
    let begin = Meter::start();
    let simulation = Simulation::new(experiment);
    let parts = match experiment.run.executor {
        Executor::Sequential => 1,
        Executor::Conservative => experiment.run.threads,
    };
    let partition: Partition = simulation
        .numbering
        .partition(experiment.network.topology.as_ref(), parts);
    let settings = Settings {
        executor: experiment.run.executor,
        partition,
        seed: experiment.run.seed,
        until: experiment.run.until.unwrap_or(Time::MAX),
    };
    let mut records = Digest::new();
    let finished = des::run(
        &simulation,
        &settings,
        &control.kernel,
        &mut |time, done: RankDone| {
            records.integers(
                "rank done",
                &[time.ps(), u64::from(done.job), u64::from(done.rank)],
            );
        },
    );
    match finished.end {
        End::Failed(error) => return Err(error),
        End::Interrupted => return Err(Error::Interrupted),
        End::Drained => waiting_ranks(&simulation, &finished.lps, finished.time)?,
        End::Stopped => {
            if let Some(time) = stuck(&finished.lps) {
                waiting_ranks(&simulation, &finished.lps, time)?;
            }
        }
        End::Until => {}
    }
    audit(&simulation, &finished.lps, &finished.pending)?;
    let outcome = Remains {
        simulation: &simulation,
        processes: &finished.lps,
        pending: &finished.pending,
        end: finished.time,
        records,
    }
    .outcome();
    let anatomy = finished.anatomy;
    let cost = Run {
        version: env!("CARGO_PKG_VERSION").into(),
        executor: experiment.run.executor.name().into(),
        threads: parts as u64,
        wall_s: begin.wall(),
        cpu_s: begin.cpu(),
        peak_rss_bytes: peak_rss_bytes(),
        simulated_ns: finished.time.as_ns(),
        events_processed: anatomy.processed,
        events_committed: anatomy.committed,
        events_rolled_back: anatomy.rolled_back,
        events_remote: anatomy.remote,
        windows: anatomy.windows,
        packet_hops_per_cpu_s: 0.0,
        thread_seconds: anatomy
            .threads
            .iter()
            .map(|t| ThreadSeconds {
                processing: t.processing,
                queue: t.queue,
                synchronisation: t.synchronisation,
            })
            .collect(),
    };
    Ok(RunResult::new(experiment.settings.clone(), outcome, cost))
}

/// When the overseer found that no rank can go on.
fn stuck(processes: &[Process]) -> Option<Time> {
    processes.iter().find_map(|process| match process {
        Process::Overseer(overseer) => overseer.stuck(),
        _ => None,
    })
}

/// Nothing is left to happen to ranks: all of them must have finished.
fn waiting_ranks(simulation: &Simulation, processes: &[Process], time: Time) -> Result<(), Error> {
    let mut waiting = Vec::new();
    let mut count = 0u64;
    for (job, rank, host) in ranks(simulation) {
        let Process::Host(host) = &processes[simulation.numbering.host(host).0 as usize] else {
            continue;
        };
        let Some(seat) = host.ranks().iter().find(|s| s.job == job && s.rank == rank) else {
            continue;
        };
        let Some(state) = seat.state.as_ref().filter(|state| !state.finished()) else {
            continue;
        };
        count += 1;
        if waiting.len() < NAMED_RANKS {
            let what = state
                .waiting_for()
                .unwrap_or_else(|| "nothing that is known".into());
            let name = &simulation.jobs[usize::from(job)].name;
            waiting.push(format!("  job '{name}', rank {rank}: {what}"));
        }
    }
    if count == 0 {
        return Ok(());
    }
    let more = count as usize - waiting.len();
    if more > 0 {
        waiting.push(format!("  and {more} more"));
    }
    Err(Error::Deadlock(format!(
        "the application waits for ever: at {time} nothing of it is under way any more, and {count} ranks have not finished\n{}",
        waiting.join("\n")
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
