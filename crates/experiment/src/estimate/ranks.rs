//! The work of a job of ranks: the messages of the operations of some of its ranks.

use des::Time;
use topology::HostId;
use workload::Operation;

use super::job_work::JobWork;
use super::pair_hops::PairHops;
use super::sample::sample;
use crate::Error;
use crate::setup::job::{Job, RankJob};

/// Largest number of ranks of a job whose programs are read.
const MOST_RANKS: u32 = 64;

/// The same for programs, which may be in Python.
const MOST_RANKS_OF_PROGRAMS: u32 = 16;

/// Largest number of ranks whose programs are read, over all jobs.
const MOST_RANKS_OF_ALL_JOBS: u32 = 2048;

const PS_PER_S: f64 = 1e12;

/// Different collectives of a rank whose work is kept, for programs that repeat them.
const KEPT_COLLECTIVES: usize = 8;

/// The operations, rounds and messages that may still be looked at.
pub struct StepBudget {
    /// Of all jobs.
    pub left: u64,
    /// Of programs, which are a part of all.
    pub left_for_programs: u64,
    /// Number of jobs of ranks in the experiment, for the number of ranks of each.
    pub jobs: usize,
}

impl StepBudget {
    /// Most ranks of a job.
    fn most_ranks(&self, is_program: bool) -> u32 {
        let share = MOST_RANKS_OF_ALL_JOBS / self.jobs.max(1) as u32;
        let most = if is_program {
            MOST_RANKS_OF_PROGRAMS
        } else {
            MOST_RANKS
        };
        most.min(share).max(2)
    }

    fn remaining(&self, is_program: bool) -> u64 {
        if is_program {
            self.left.min(self.left_for_programs)
        } else {
            self.left
        }
    }

    fn take(&mut self, steps: u64, is_program: bool) {
        self.left = self.left.saturating_sub(steps);
        if is_program {
            self.left_for_programs = self.left_for_programs.saturating_sub(steps);
        }
    }
}

/// The longest time that the ranks of a job can have, with this end of the run; `None` without an end.
pub fn longest_time(job: &Job, until: Option<Time>) -> Option<Time> {
    let until = until.map(|until| until.saturating_sub(job.start));
    match (job.end.map(|end| end.saturating_sub(job.start)), until) {
        (Some(end), Some(until)) => Some(end.min(until)),
        (end, until) => end.or(until),
    }
}

/// What is expected of a job of ranks.
#[derive(Clone, Copy, Debug, Default)]
pub struct RanksEstimate {
    /// The work, repetitions included.
    pub work: JobWork,
    /// Least time from the start to the end of its longest rank: computation, and each sent message on the injection
    /// link with its overhead. Waits are not part of it.
    pub least_time: Time,
}

/// The work of a job of ranks, for at most this time.
///
/// # Errors
/// The program of a rank cannot be opened or read, or has an invalid operation.
pub fn work_of(
    name: &str,
    job: &RankJob,
    time: Option<Time>,
    hops: &mut PairHops<'_>,
    steps: &mut StepBudget,
) -> Result<RanksEstimate, Error> {
    let is_program = job.kind == "program";
    let most = steps.most_ranks(is_program);
    let ranks = sample(job.hosts.len() as u32, most, &mut hops.random);
    let mut estimate = RanksEstimate::default();
    for (done, rank) in ranks.iter().enumerate() {
        // What a short program leaves is for the next ones.
        let share = steps.remaining(is_program) / (ranks.len() - done) as u64;
        let mut reader = RankReader::new(job, rank.index, time, hops);
        reader.read(share).map_err(|error| error.of_job(name))?;
        steps.take(reader.steps, is_program);
        let (times, is_known) = reader.repetitions();
        reader.work.is_lower_limit |= !is_known;
        estimate.work.add(reader.work, times * f64::from(rank.stands_for));
        let least_time = Time((reader.least_time().ps() as f64 * times) as u64);
        estimate.least_time = estimate.least_time.max(least_time);
    }
    estimate.least_time = estimate.least_time.min(time.unwrap_or(Time::MAX));
    Ok(estimate)
}

/// Why a program cannot be read.
enum ReadFailure {
    Trace(workload::TraceError),
    Replay(mpi::ReplayError),
}

impl ReadFailure {
    fn of_job(self, name: &str) -> Error {
        match self {
            ReadFailure::Trace(error) => error.into(),
            ReadFailure::Replay(source) => Error::Replay {
                job: name.into(),
                source,
            },
        }
    }
}

impl From<workload::TraceError> for ReadFailure {
    fn from(error: workload::TraceError) -> ReadFailure {
        ReadFailure::Trace(error)
    }
}

impl From<mpi::ReplayError> for ReadFailure {
    fn from(error: mpi::ReplayError) -> ReadFailure {
        ReadFailure::Replay(error)
    }
}

/// The messages of an operation.
#[derive(Clone, Copy, Default)]
struct Messages {
    work: JobWork,
    /// Overheads and times on the injection link of what the rank itself sends, in seconds.
    sending_s: f64,
}

/// Reads the first repetition of a rank's program.
struct RankReader<'a, 'n> {
    job: &'a RankJob,
    rank: u32,
    /// Longest time of the rank.
    time: Option<Time>,
    hops: &'a mut PairHops<'n>,
    /// The work of the operations so far.
    work: JobWork,
    /// Computation so far. The rank takes at least as long.
    computed: Time,
    /// Overheads and times on the injection link of the messages so far, in seconds.
    sending_s: f64,
    /// Operations, rounds and messages looked at.
    steps: u64,
    /// Collectives with their messages.
    kept: Vec<(Operation, Messages)>,
    /// Whether the program repeats.
    repeats: bool,
}

impl<'a, 'n> RankReader<'a, 'n> {
    fn new(
        job: &'a RankJob,
        rank: u32,
        time: Option<Time>,
        hops: &'a mut PairHops<'n>,
    ) -> RankReader<'a, 'n> {
        RankReader {
            job,
            rank,
            time,
            hops,
            work: JobWork::default(),
            computed: Time::ZERO,
            sending_s: 0.0,
            steps: 0,
            kept: Vec::new(),
            repeats: false,
        }
    }

    /// Reads to the end of a repetition, or for at most this number of steps. Operations after the end of the rank's
    /// time are never executed.
    fn read(&mut self, most: u64) -> Result<(), ReadFailure> {
        // What a program does that reads answers is not known before the run.
        if most == 0 || self.job.workload.reacts() {
            self.work.is_lower_limit = true;
            return Ok(());
        }
        let mut program = self.job.workload.program(self.rank)?;
        while self.time.is_none_or(|time| self.computed < time) {
            if self.steps >= most {
                self.work.is_lower_limit = true;
                break;
            }
            let Some(operation) = program.next()? else {
                break;
            };
            self.steps += 1;
            if matches!(operation, Operation::RepetitionEnd { .. }) {
                self.repeats = true;
                break;
            }
            self.execute(operation, most)?;
        }
        Ok(())
    }

    fn execute(&mut self, operation: Operation, most: u64) -> Result<(), ReadFailure> {
        let computation = self.job.mpi.expected_computation(self.rank, &operation);
        self.computed = self.computed.saturating_add(computation);
        let known = self.kept.iter().find(|(kept, _)| *kept == operation);
        if let Some((_, known)) = known {
            self.work.add(known.work, 1.0);
            self.sending_s += known.sending_s;
            return Ok(());
        }
        let messages = self.messages_of(&operation, most.saturating_sub(self.steps))?;
        self.work.add(messages.work, 1.0);
        self.sending_s += messages.sending_s;
        let is_collective = matches!(operation, Operation::Collective { .. } | Operation::Fence { .. });
        if is_collective && self.kept.len() < KEPT_COLLECTIVES {
            self.kept.push((operation, messages));
        }
        Ok(())
    }

    fn messages_of(&mut self, operation: &Operation, most: u64) -> Result<Messages, ReadFailure> {
        let RankReader { job, hops, rank, .. } = self;
        let (network, overhead) = (hops.network, job.mpi.settings.send_overhead);
        let s_per_byte = 8.0 / network.injection_bits_per_s() as f64;
        let mut messages = Messages::default();
        let mut add = |message: mpi::ExpectedMessage| {
            let [from, to]: [HostId; 2] = [message.from, message.to].map(|rank| job.hosts[rank as usize]);
            messages.work.messages += 1.0;
            if from != to {
                let packets = network.packet.packets(message.wire_bytes) as f64;
                messages.work.packet_hops += packets * hops.between(from, to);
            }
            if message.from == *rank && from != to {
                messages.sending_s +=
                    overhead.ps() as f64 / PS_PER_S + message.wire_bytes as f64 * s_per_byte;
            }
        };
        let steps = job.mpi.expected_messages(*rank, operation, most, &mut add)?;
        messages.work.is_lower_limit = steps > most;
        self.steps += steps;
        Ok(messages)
    }

    /// Number of repetitions, and whether it is known. Of those that go on until an end, so many are counted as fit by
    /// computation alone.
    fn repetitions(&self) -> (f64, bool) {
        let fit = self
            .time
            .filter(|_| self.computed > Time::ZERO)
            .map(|time| (time.ps() as f64 / self.computed.ps() as f64).max(1.0));
        let given = self.job.repetitions as f64;
        match (self.repeats, self.job.repetitions, fit) {
            (false, ..) => (1.0, true),
            (true, 0, fit) => (fit.unwrap_or(1.0), fit.is_some()),
            (true, _, Some(fit)) if !self.job.goes_on => (given.min(fit), true),
            (true, ..) => (given, !self.job.goes_on),
        }
    }

    /// Least time of what was read.
    fn least_time(&self) -> Time {
        self.computed
            .saturating_add(Time((self.sending_s * PS_PER_S) as u64))
    }
}
