//! The collective that a rank is in: rounds, one after the other.

use std::mem;

use des::Time;
use serde::{Deserialize, Serialize};
use workload::{Call, Collective, Counts};

use crate::collectives::{registered, tag};
use crate::journal::Journal;
use crate::message::COLLECTIVE_CONTEXT;
use crate::operations::Step;
use crate::rank::{Action, Departure, Origin, Rank};
use crate::requests::{Direction, Subject};
use crate::{Algorithm, CollectiveCall, Job, Share, ReplayError, Round};

/// Where a rank is in its collective; keeps the memory of its rounds from one to the next.
#[derive(Debug, Default)]
pub(crate) struct Ongoing {
    place: Place,
    /// Follows from the place.
    round: Round,
}

/// Where a rank is in its collective.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Place {
    current: Option<Current>,
    /// Of the collective that it is in, where they are known.
    counts: Option<Box<Counts>>,
    /// Receives of the round, and sends that are not complete at once.
    pending: Vec<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Current {
    #[serde(with = "registered")]
    algorithm: &'static Algorithm,
    part: CollectiveCall,
    communicator: u32,
    call: Call,
    /// Round.
    k: u32,
    /// Sends of the round that have been issued.
    issued: u32,
    /// Whether the rank has begun to wait for the round.
    waits: bool,
}

/// What happened to the place.
#[derive(Debug)]
pub(crate) enum Change {
    /// What it was before.
    Current(Option<Current>),
    /// What they were before.
    Counts(Option<Box<Counts>>),
    Awaited,
    Settled(u32),
}

impl Ongoing {
    pub fn is_under_way(&self) -> bool {
        self.place.current.is_some()
    }

    fn set(&mut self, current: Option<Current>, journal: &mut Journal) {
        let old = mem::replace(&mut self.place.current, current);
        journal.note(|| Change::Current(old));
    }

    /// Hardly any collective has counts; the others note nothing.
    fn set_counts(&mut self, counts: Option<Box<Counts>>, journal: &mut Journal) {
        if self.place.counts.is_some() || counts.is_some() {
            let old = mem::replace(&mut self.place.counts, counts);
            journal.note(|| Change::Counts(old));
        }
    }

    fn end(&mut self, journal: &mut Journal) {
        self.set(None, journal);
        self.set_counts(None, journal);
    }

    /// True the first time that it is called in a round.
    fn begin_waiting(&mut self, journal: &mut Journal) -> bool {
        let Some(current) = self.place.current.filter(|current| !current.waits) else {
            return false;
        };
        let waits = true;
        self.set(Some(Current { waits, ..current }), journal);
        true
    }

    /// Enters the first round of a collective; false if it has none.
    fn begin(&mut self, current: Current, counts: Option<Box<Counts>>, journal: &mut Journal) -> bool {
        self.set_counts(counts, journal);
        self.set(Some(current), journal);
        self.find_round()
    }

    /// Enters the next round; false if there is none.
    fn enter_next_round(&mut self, journal: &mut Journal) -> bool {
        let next = self.place.current.map(|current| Current {
            k: current.k.saturating_add(1),
            issued: 0,
            waits: false,
            ..current
        });
        self.set(next, journal);
        self.find_round()
    }

    /// The next send of the round.
    fn next_send(&mut self, journal: &mut Journal) -> Option<(u32, u64)> {
        let current = self.place.current?;
        let send = self.round.sends.get(current.issued as usize).copied()?;
        let issued = current.issued + 1;
        self.set(Some(Current { issued, ..current }), journal);
        Some(send)
    }

    /// The round is not over before this request is.
    pub fn await_also(&mut self, request: u32, journal: &mut Journal) {
        self.place.pending.push(request);
        journal.note(|| Change::Awaited);
    }

    /// A request that belongs to the round.
    fn next_pending(&mut self, journal: &mut Journal) -> Option<u32> {
        let request = self.place.pending.pop()?;
        journal.note(|| Change::Settled(request));
        Some(request)
    }

    pub fn undo(&mut self, change: Change) {
        match change {
            Change::Current(old) => {
                let round = |current: &Option<Current>| current.map(|current| current.k);
                let moved = round(&self.place.current) != round(&old);
                self.place.current = old;
                // A collective begins from none, so that the same round is of the same collective.
                if moved {
                    self.find_round();
                }
            }
            Change::Counts(old) => self.place.counts = old,
            Change::Awaited => {
                self.place.pending.pop();
            }
            Change::Settled(request) => self.place.pending.push(request),
        }
    }

    /// Writes the messages of the current round; false if there is no such round.
    fn find_round(&mut self) -> bool {
        self.round.clear();
        let Place { current, counts, .. } = &self.place;
        let part = |call| Share::new(call, counts.as_deref());
        current.is_some_and(|c| (c.algorithm.round)(&part(c.part), c.k, &mut self.round))
    }

    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Goes to a place that was read, unless it makes no sense for this rank.
    pub fn at(place: Place, job: &Job, rank: u32) -> Option<Ongoing> {
        let is_sound = place.current.is_none_or(|current| {
            let (part, communicator) = (current.part, current.communicator);
            let ranks = job.members(communicator).map(<[u32]>::len);
            ranks == Some(part.ranks as usize)
                && job.rank_in(communicator, rank) == Some(part.rank)
                && part.root < part.ranks
        });
        let round = Round::default();
        let mut ongoing = is_sound.then_some(Ongoing { place, round })?;
        let has_round = ongoing.find_round();
        (has_round == ongoing.is_under_way()).then_some(ongoing)
    }
}

impl Rank {
    pub(crate) fn begin_collective(
        &mut self,
        collective: Collective,
        communicator: u32,
        part: CollectiveCall,
        counts: Option<Box<Counts>>,
        call: Call,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<Step, ReplayError> {
        if let Some(given) = counts
            .as_deref()
            .and_then(|counts| wrong_length(counts, part.ranks))
        {
            return Err(ReplayError::Counts {
                rank: self.rank,
                call: call.name(),
                given,
                communicator,
                size: part.ranks,
            });
        }
        let seen = Share::new(part, counts.as_deref());
        let algorithm = self.job.settings.collectives.of(collective, call, &seen);
        let first = Current {
            algorithm,
            part,
            communicator,
            call,
            k: 0,
            issued: 0,
            waits: false,
        };
        let entered = self.collective.begin(first, counts, &mut self.journal);
        self.begin_round(entered, now, out)
    }

    /// Issues the next send of the round; after the last waits for the round; then goes to the next.
    pub(crate) fn collective_step(&mut self, now: Time, out: &mut Vec<Action>) -> Result<Step, ReplayError> {
        if let Some((to, bytes)) = self.collective.next_send(&mut self.journal) {
            let departure = self.departure(to, bytes)?;
            return self.begin_send(departure, now, out);
        }
        if self.collective.begin_waiting(&mut self.journal) {
            self.begin_waiting(now);
            while let Some(handle) = self.collective.next_pending(&mut self.journal) {
                self.wait_for(handle)?;
            }
            return self.settle(now, out);
        }
        let entered = self.collective.enter_next_round(&mut self.journal);
        self.begin_round(entered, now, out)
    }

    /// Posts the receives of the round that was entered, or ends the collective if there is none.
    fn begin_round(&mut self, entered: bool, now: Time, out: &mut Vec<Action>) -> Result<Step, ReplayError> {
        if !entered {
            self.collective.end(&mut self.journal);
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
            self.collective.await_also(handle, &mut self.journal);
        }
        Ok(Step::GoesOn)
    }

    /// A message of the current round to a rank of the communicator.
    fn departure(&self, to: u32, bytes: u64) -> Result<Departure, ReplayError> {
        let Some(current) = &self.collective.place.current else {
            return Err(self.broken("it is in no collective"));
        };
        let to = self.peer(current.call, current.communicator, to)?;
        Ok(Departure {
            to,
            context: current.communicator | COLLECTIVE_CONTEXT,
            tag: tag(
                current.algorithm.collective,
                current.k.wrapping_add(self.collective.round.ahead),
            ),
            bytes,
            call: current.call,
            origin: Origin::Collective,
        })
    }
}

/// The length of a list that is neither empty, nor for one, nor for all of so many ranks.
fn wrong_length(counts: &Counts, ranks: u32) -> Option<usize> {
    [counts.sends.len(), counts.receives.len()]
        .into_iter()
        .find(|length| *length > 1 && *length != ranks as usize)
}
