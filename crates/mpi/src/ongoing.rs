//! The collective that a rank is in: rounds, one after the other.

use des::Time;
use workload::{Call, Collective};

use crate::collectives::tag;
use crate::message::COLLECTIVE_CONTEXT;
use crate::operations::Step;
use crate::rank::{Action, Departure, Origin, Rank};
use crate::requests::{Direction, Subject};
use crate::{Algorithm, CollectiveCall, ReplayError, Round};

/// Where a rank is in its collective; keeps the memory of its rounds from one to the next.
#[derive(Debug, Default)]
pub(crate) struct Ongoing {
    current: Option<Current>,
    round: Round,
    /// Receives of the round, and sends that are not complete at once.
    pending: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Current {
    algorithm: &'static Algorithm,
    part: CollectiveCall,
    communicator: u32,
    call: Call,
    /// Round.
    k: u32,
    /// Sends of the round that have been issued.
    issued: usize,
    /// Whether the rank has begun to wait for the round.
    waits: bool,
}

impl Ongoing {
    pub fn is_under_way(&self) -> bool {
        self.current.is_some()
    }

    fn begin(&mut self, current: Current) {
        self.current = Some(current);
    }

    fn end(&mut self) {
        self.current = None;
    }

    /// True the first time that it is called in a round.
    fn begin_waiting(&mut self) -> bool {
        self.current
            .as_mut()
            .is_some_and(|current| !std::mem::replace(&mut current.waits, true))
    }

    /// A request that belongs to the round.
    fn next_pending(&mut self) -> Option<u32> {
        self.pending.pop()
    }

    fn leave_round(&mut self) {
        if let Some(current) = &mut self.current {
            (current.k, current.issued, current.waits) = (current.k + 1, 0, false);
        }
    }

    /// The round is not over before this request is.
    pub fn await_also(&mut self, request: Option<u32>) {
        self.pending.extend(request);
    }

    /// The next send of the round.
    fn next_send(&mut self) -> Option<(u32, u64)> {
        let current = self.current.as_mut()?;
        let send = self.round.sends.get(current.issued).copied()?;
        current.issued += 1;
        Some(send)
    }

    /// Writes the messages of the current round; false if there is no such round.
    fn enter_round(&mut self) -> bool {
        self.round.clear();
        self.current
            .as_ref()
            .is_some_and(|c| (c.algorithm.round)(&c.part, c.k, &mut self.round))
    }
}

impl Rank {
    pub(crate) fn begin_collective(
        &mut self,
        collective: Collective,
        communicator: u32,
        part: CollectiveCall,
        call: Call,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<Step, ReplayError> {
        let algorithm = self.job.settings.collectives.of(collective);
        self.collective.begin(Current {
            algorithm,
            part,
            communicator,
            call,
            k: 0,
            issued: 0,
            waits: false,
        });
        self.begin_round(now, out)
    }

    /// Issues the next send of the round; after the last waits for the round; then goes to the next.
    pub(crate) fn collective_step(&mut self, now: Time, out: &mut Vec<Action>) -> Result<Step, ReplayError> {
        if let Some((to, bytes)) = self.collective.next_send() {
            let departure = self.departure(to, bytes)?;
            return self.begin_send(departure, now, out);
        }
        if self.collective.begin_waiting() {
            self.begin_waiting(now);
            while let Some(handle) = self.collective.next_pending() {
                self.wait_for(handle)?;
            }
            return self.settle(now, out);
        }
        self.collective.leave_round();
        self.begin_round(now, out)
    }

    /// Posts the receives of the round, or ends the collective if there is none.
    fn begin_round(&mut self, now: Time, out: &mut Vec<Action>) -> Result<Step, ReplayError> {
        if !self.collective.enter_round() {
            self.collective.end();
            return Ok(Step::GoesOn);
        }
        for index in 0..self.collective.round.receives.len() {
            let Departure {
                to: peer,
                context,
                tag,
                call,
                ..
            } = self.departure(self.collective.round.receives[index].0, 0)?;
            let direction = Direction::Receive;
            let subject = Subject {
                direction,
                peer: Some(peer),
                tag: Some(tag),
                context,
                call,
            };
            // Contributions may differ in size (the v variants), so nothing is too long.
            let handle = self.post(subject, u64::MAX, now, out)?;
            self.collective.await_also(Some(handle));
        }
        Ok(Step::GoesOn)
    }

    /// A message of the current round to a rank of the communicator.
    fn departure(&self, to: u32, bytes: u64) -> Result<Departure, ReplayError> {
        let Some(current) = &self.collective.current else {
            return Err(self.broken("it is in no collective"));
        };
        let to = self.peer(current.call, current.communicator, to)?;
        Ok(Departure {
            to,
            context: current.communicator | COLLECTIVE_CONTEXT,
            tag: tag(current.algorithm.collective, current.k),
            bytes,
            call: current.call,
            origin: Origin::Collective,
        })
    }
}
