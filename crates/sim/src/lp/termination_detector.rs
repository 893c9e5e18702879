//! The termination detector: ends the run when all ranks have finished, and detects that none of them can continue. In
//! a drain phase, it ends the run when all measured packets have arrived.
//!
//! If nothing else runs, ranks that wait for each other leave no event, and the run ends. Synthetic traffic never ends,
//! so the detector must look for such ranks. In rounds, one interval (`run.watchdog`) apart, it asks all hosts with
//! ranks how many ranks are active (not started, computing, or paying an overhead) and how many messages they have sent
//! minus received. If no rank of a job is active and all its messages are received, none of its ranks can ever
//! continue.
//!
//! A job that goes on after the part that is measured does not end either, and a job with an end does not before. So
//! the detector looks for such ranks beside them, too.
//!
//! A distributed system must count twice, since its counts are not taken at one time (F. Mattern, "Algorithms for
//! distributed termination detection", Distributed Computing 2, 1987: the four-counter method). Here all hosts are
//! asked at one instant, by the last event of that instant: the question comes from the LP with the highest number, and
//! a host's own events always take time.
//!
//! In a drain phase it asks all hosts of synthetic traffic in the same way, how many measured bytes their sources have
//! made, and how many have arrived. Sources make no more of them, since the measured part is over. So the run may end
//! when the sums are equal. The drain phase has lasted [`FIRST_ROUND`] shortest links at the first round, and a quarter
//! longer at each further round: it lasts little longer than needed, and few rounds ask hosts of a long one.

use des::{Context, Time};
use serde::{Deserialize, Serialize};

use crate::lp::net_event::NetEvent;
use crate::lp::simulation::Simulation;

/// Time from the start of the drain phase to its first round, in latencies of the shortest link.
const FIRST_ROUND: u64 = 16;

/// Part of the drain phase so far that passes until its next round.
const PART: u64 = 4;

/// The state of the termination detector.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TerminationDetector {
    /// Ranks of all jobs that have neither finished nor been stopped.
    unfinished: u64,
    /// Answers of hosts that this round awaits.
    awaited: u64,
    /// Progress of each job.
    jobs: Vec<JobProgress>,
    /// Measured bytes under way in this round of the drain phase so far, modulo 2^64.
    under_way: u64,
    /// When the detector found that the ranks wait forever.
    stuck: Option<Time>,
}

/// Progress of the ranks of one job.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct JobProgress {
    /// Ranks that have neither finished nor been stopped.
    unfinished: u64,
    /// Active ranks in this round so far.
    active: u64,
    /// Messages sent but not received in this round so far, modulo 2^32.
    in_flight: u32,
}

impl TerminationDetector {
    /// The state before the run. `ranks` has the number of ranks of each job.
    pub fn new(ranks: impl Iterator<Item = u64>) -> TerminationDetector {
        let job = |unfinished| JobProgress {
            unfinished,
            ..JobProgress::default()
        };
        let jobs: Vec<JobProgress> = ranks.map(job).collect();
        TerminationDetector {
            unfinished: jobs.iter().map(|job| job.unfinished).sum(),
            awaited: 0,
            jobs,
            under_way: 0,
            stuck: None,
        }
    }

    /// Schedules the first round, if there are ranks and traffic, or a drain phase.
    pub fn start(&self, simulation: &Simulation, context: &mut impl Context<Simulation>) {
        if let Some(interval) = simulation.detection_interval {
            context.send(context.lp(), interval, NetEvent::RoundDue);
        }
        if simulation.drains {
            let first = Time(simulation.network.lookahead().ps().saturating_mul(FIRST_ROUND));
            let due = simulation.measured.until.saturating_add(first);
            context.send(context.lp(), due, NetEvent::RoundDue);
        }
    }

    /// Executes one event.
    ///
    /// Counts wrap: under an optimistic executor a host may answer twice until one answer is undone.
    pub fn handle<C: Context<Simulation>>(
        &mut self,
        simulation: &Simulation,
        event: &NetEvent,
        context: &mut C,
    ) {
        if C::REVERSIBLE {
            // The state is small and its events are rare, so the undo step copies it.
            context.undo(Box::new(self.clone()).into());
        }
        match *event {
            NetEvent::RankFinished { job } => {
                self.unfinished = self.unfinished.wrapping_sub(1);
                let job = &mut self.jobs[usize::from(job)];
                job.unfinished = job.unfinished.wrapping_sub(1);
                if self.unfinished == 0 {
                    context.stop();
                }
            }
            NetEvent::RoundDue if simulation.drains => self.ask_for_drain(simulation, context),
            NetEvent::RoundDue => self.ask(simulation, context),
            NetEvent::DrainReported { bytes } => {
                self.awaited = self.awaited.wrapping_sub(1);
                let bytes = u64::from(bytes[0]) | u64::from(bytes[1]) << 32;
                self.under_way = self.under_way.wrapping_add(bytes);
                if self.awaited == 0 {
                    self.conclude_drain(simulation, context);
                }
            }
            NetEvent::ProgressReported {
                job,
                active,
                in_flight,
            } => {
                self.awaited = self.awaited.wrapping_sub(1);
                let job = &mut self.jobs[usize::from(job)];
                job.active = job.active.wrapping_add(u64::from(active));
                job.in_flight = job.in_flight.wrapping_add(in_flight);
                if self.awaited == 0 {
                    self.conclude(simulation, context);
                }
            }
            _ => unreachable!("{event:?} does not happen to the termination detector"),
        }
    }

    /// When the ranks were found to wait forever; `None` if they were not.
    pub fn stuck(&self) -> Option<Time> {
        self.stuck
    }

    fn ask(&mut self, simulation: &Simulation, context: &mut impl Context<Simulation>) {
        for job in &mut self.jobs {
            (job.active, job.in_flight) = (0, 0);
        }
        for host in simulation.occupants.hosts() {
            let jobs = simulation.occupants.jobs(host).count() as u64;
            self.awaited = self.awaited.wrapping_add(jobs);
            let delay = simulation.network.lookahead();
            context.send(simulation.numbering.host(host), delay, NetEvent::ProgressAsked);
        }
    }

    fn ask_for_drain(&mut self, simulation: &Simulation, context: &mut impl Context<Simulation>) {
        self.under_way = 0;
        for host in simulation.occupants.hosts_with_sources() {
            self.awaited = self.awaited.wrapping_add(1);
            let delay = simulation.network.lookahead();
            context.send(simulation.numbering.host(host), delay, NetEvent::DrainAsked);
        }
    }

    fn conclude_drain(&self, simulation: &Simulation, context: &mut impl Context<Simulation>) {
        if self.under_way == 0 {
            return context.stop();
        }
        let lasted = context.now().saturating_sub(simulation.measured.until);
        // A round takes two of the shortest links, so that a quarter of the time since the first one is never 0.
        context.send(context.lp(), Time(lasted.ps() / PART), NetEvent::RoundDue);
    }

    fn conclude(&mut self, simulation: &Simulation, context: &mut impl Context<Simulation>) {
        // A rank that finished at the time of the question reported it before its host answered.
        let is_stuck = |job: &JobProgress| job.active == 0 && job.in_flight == 0 && job.unfinished > 0;
        if self.jobs.iter().any(is_stuck) {
            self.stuck = Some(context.now().saturating_sub(simulation.network.lookahead()));
            context.stop();
        } else if let Some(interval) = simulation.detection_interval {
            context.send(context.lp(), interval, NetEvent::RoundDue);
        }
    }
}
