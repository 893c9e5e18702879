//! The overseer: knows when all ranks have finished, and notices when none of them can go on.
//!
//! Ranks that wait for each other are found by themselves where nothing else runs: no event is left. Beside
//! synthetic traffic, which never ends, they have to be looked for. In rounds, one watchdog interval
//! apart, all hosts with ranks are asked how many of their ranks are active (not started yet, computing, or
//! paying an overhead) and how many messages they have sent more than received. If nobody is active
//! and all that was sent has been received, then no rank can ever go on.
//!
//! A distributed system has to count twice to be sure of that, since its counts are not taken at one time
//! (F. Mattern, "Algorithms for distributed termination detection", Distributed Computing 2, 1987: the
//! four-counter method). Here all hosts are asked at one instant, and as the last event of that instant: the
//! question comes from the LP with the highest number, and a host's own events never take no time.

use des::{Context, Time};
use serde::{Deserialize, Serialize};

use crate::lp::net_event::NetEvent;
use crate::lp::simulation::Simulation;

/// The state of the overseer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TerminationDetector {
    /// Ranks that have not finished.
    unfinished: u64,
    /// Hosts that have not answered in this round.
    awaited: u64,
    /// Active ranks in this round so far.
    active: u64,
    /// Messages sent but not received in this round so far, modulo 2^32.
    in_flight: u32,
    /// When the ranks were found to wait for ever.
    stuck: Option<Time>,
}

impl TerminationDetector {
    /// Before the run.
    pub fn new(ranks: u64) -> TerminationDetector {
        TerminationDetector {
            unfinished: ranks,
            awaited: 0,
            active: 0,
            in_flight: 0,
            stuck: None,
        }
    }

    /// The first round, if there is anything to watch.
    pub fn start(&self, simulation: &Simulation, context: &mut impl Context<Simulation>) {
        if let Some(interval) = simulation.watchdog {
            context.send(context.lp(), interval, NetEvent::RoundDue);
        }
    }

    /// Carries out one event.
    ///
    /// Counts wrap: under an optimistic executor it may hear of the same host twice, until one of the two is
    /// taken back.
    pub fn handle<C: Context<Simulation>>(
        &mut self,
        simulation: &Simulation,
        event: &NetEvent,
        context: &mut C,
    ) {
        if C::REVERSIBLE {
            // It is small, and its events are rare.
            context.undo(Box::new(self.clone()).into());
        }
        match *event {
            NetEvent::RankFinished => {
                self.unfinished = self.unfinished.wrapping_sub(1);
                if self.unfinished == 0 {
                    context.stop();
                }
            }
            NetEvent::RoundDue => self.ask(simulation, context),
            NetEvent::ProgressTold { active, in_flight } => {
                self.awaited = self.awaited.wrapping_sub(1);
                self.active = self.active.wrapping_add(u64::from(active));
                self.in_flight = self.in_flight.wrapping_add(in_flight);
                if self.awaited == 0 {
                    self.conclude(simulation, context);
                }
            }
            _ => unreachable!("{event:?} does not happen to the termination detector"),
        }
    }

    /// When the ranks were found to wait for ever; none if they were not.
    pub fn stuck(&self) -> Option<Time> {
        self.stuck
    }

    fn ask(&mut self, simulation: &Simulation, context: &mut impl Context<Simulation>) {
        (self.active, self.in_flight) = (0, 0);
        for host in simulation.occupants.hosts() {
            self.awaited = self.awaited.wrapping_add(1);
            let delay = simulation.network.lookahead();
            context.send(simulation.numbering.host(host), delay, NetEvent::ProgressAsked);
        }
    }

    fn conclude(&mut self, simulation: &Simulation, context: &mut impl Context<Simulation>) {
        // A rank that finished in the instant of the question has told so before its host answered.
        if self.active == 0 && self.in_flight == 0 && self.unfinished > 0 {
            self.stuck = Some(context.now().saturating_sub(simulation.network.lookahead()));
            context.stop();
        } else if let Some(interval) = simulation.watchdog {
            context.send(context.lp(), interval, NetEvent::RoundDue);
        }
    }
}
