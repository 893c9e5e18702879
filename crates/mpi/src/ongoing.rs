//! The blocking collective that a rank is in: rounds, one after the other, at the pace of the CPU.

use std::mem;

use des::Time;
use serde::{Deserialize, Serialize};
use workload::{Call, Collective, Counts};

use crate::collectives::{SEQUENCES, registered, tag};
use crate::journal::Journal;
use crate::message::{COLLECTIVE_CONTEXT, communicator_of};
use crate::operations::Step;
use crate::rank::{Action, Departure, Origin, Rank};
use crate::requests::{Direction, Subject};
use crate::{Algorithm, CollectiveCall, Job, ReplayError, Round, Share};

/// What a rank does in one collective: all but how far it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Part {
    #[serde(with = "registered")]
    algorithm: &'static Algorithm,
    share: CollectiveCall,
    /// What ranks give and take, where it is known.
    counts: Option<Box<Counts>>,
    /// Communicator with its context bits.
    pub context: u32,
    /// Number among the collectives of its context, from 0, modulo 2^32.
    pub sequence: u32,
    pub call: Call,
}

impl Part {
    /// What it is carried out by.
    pub fn algorithm(&self) -> &'static Algorithm {
        self.algorithm
    }

    /// Writes the messages of a round into an empty one; false if there is no such round.
    pub fn round(&self, k: u32, round: &mut Round) -> bool {
        let share = Share::new(self.share, self.counts.as_deref());
        (self.algorithm.round)(&share, k, round)
    }

    /// Tag of the messages of a round.
    pub fn tag(&self, k: u32) -> u32 {
        tag(self.algorithm.collective, self.sequence, k)
    }

    /// Whether a part that was read makes sense for this rank.
    pub fn is_sound(&self, job: &Job, rank: u32) -> bool {
        let communicator = communicator_of(self.context);
        let ranks = job.members(communicator).map(<[u32]>::len);
        self.context & COLLECTIVE_CONTEXT != 0
            && ranks == Some(self.share.ranks as usize)
            && job.rank_in(communicator, rank) == Some(self.share.rank)
            && self.share.root < self.share.ranks
    }
}

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
    /// Receives of the round, and sends that are not complete at once.
    pending: Vec<u32>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Current {
    part: Part,
    progress: Progress,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Progress {
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
    Began,
    /// How far it was.
    Went(Progress),
    Ended(Box<Current>),
    Awaited,
    Settled(u32),
}

impl Ongoing {
    pub fn is_under_way(&self) -> bool {
        self.place.current.is_some()
    }

    /// What the current collective is carried out by.
    pub fn algorithm(&self) -> Option<&'static Algorithm> {
        self.place.current.as_ref().map(|current| current.part.algorithm)
    }

    fn go(&mut self, progress: Progress, journal: &mut Journal) {
        if let Some(current) = &mut self.place.current {
            let old = mem::replace(&mut current.progress, progress);
            journal.note(|| Change::Went(old));
        }
    }

    fn end(&mut self, journal: &mut Journal) {
        if let Some(current) = self.place.current.take() {
            journal.note(|| Change::Ended(Box::new(current)));
        }
    }

    fn progress(&self) -> Option<Progress> {
        self.place.current.as_ref().map(|current| current.progress)
    }

    /// True the first time that it is called in a round.
    fn begin_waiting(&mut self, journal: &mut Journal) -> bool {
        let Some(progress) = self.progress().filter(|progress| !progress.waits) else {
            return false;
        };
        let waits = true;
        self.go(Progress { waits, ..progress }, journal);
        true
    }

    /// Enters the first round of a collective, from none; false if it has none.
    fn begin(&mut self, part: Part, journal: &mut Journal) -> bool {
        let progress = Progress::default();
        self.place.current = Some(Current { part, progress });
        journal.note(|| Change::Began);
        self.find_round()
    }

    /// Enters the next round; false if there is none.
    fn enter_next_round(&mut self, journal: &mut Journal) -> bool {
        if let Some(progress) = self.progress() {
            let next = Progress {
                k: progress.k.saturating_add(1),
                ..Progress::default()
            };
            self.go(next, journal);
        }
        self.find_round()
    }

    /// The next send of the round.
    fn next_send(&mut self, journal: &mut Journal) -> Option<(u32, u64)> {
        let progress = self.progress()?;
        let send = self.round.sends.get(progress.issued as usize).copied()?;
        let issued = progress.issued + 1;
        self.go(Progress { issued, ..progress }, journal);
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
            Change::Began => {
                self.place.current = None;
                self.find_round();
            }
            Change::Went(old) => {
                let moved = self.progress().map(|progress| progress.k) != Some(old.k);
                if let Some(current) = &mut self.place.current {
                    current.progress = old;
                }
                if moved {
                    self.find_round();
                }
            }
            Change::Ended(current) => {
                self.place.current = Some(*current);
                self.find_round();
            }
            Change::Awaited => {
                self.place.pending.pop();
            }
            Change::Settled(request) => self.place.pending.push(request),
        }
    }

    /// Writes the messages of the current round; false if there is no such round.
    fn find_round(&mut self) -> bool {
        self.round.clear();
        let Ongoing { place, round } = self;
        let current = place.current.as_ref();
        current.is_some_and(|current| current.part.round(current.progress.k, round))
    }

    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Goes to a place that was read, unless it makes no sense for this rank.
    pub fn at(place: Place, job: &Job, rank: u32) -> Option<Ongoing> {
        let current = place.current.as_ref();
        let is_sound = current.is_none_or(|current| current.part.is_sound(job, rank));
        let round = Round::default();
        let mut ongoing = is_sound.then_some(Ongoing { place, round })?;
        let has_round = ongoing.find_round();
        (has_round == ongoing.is_under_way()).then_some(ongoing)
    }
}

impl Rank {
    /// The part of this rank in the next collective of a context.
    pub(crate) fn next_part(
        &mut self,
        collective: Collective,
        context: u32,
        share: CollectiveCall,
        counts: Option<Box<Counts>>,
        call: Call,
    ) -> Result<Part, ReplayError> {
        if let Some(given) = counts
            .as_deref()
            .and_then(|counts| wrong_length(counts, share.ranks))
        {
            return Err(ReplayError::Counts {
                rank: self.rank,
                call: call.name(),
                given,
                communicator: communicator_of(context),
                size: share.ranks,
            });
        }
        let sequence = self.sequences.get(context).unwrap_or(0);
        if self.background.holds(context, sequence.wrapping_sub(SEQUENCES)) {
            return Err(ReplayError::TooManyCollectives {
                rank: self.rank,
                call: call.name(),
                communicator: communicator_of(context),
                limit: SEQUENCES,
            });
        }
        let next = sequence.wrapping_add(1);
        self.sequences.insert(context, next, &mut self.journal);
        let seen = Share::new(share, counts.as_deref());
        let algorithm = self.job.settings.collectives.of(collective, call, &seen);
        Ok(Part {
            algorithm,
            share,
            counts,
            context,
            sequence,
            call,
        })
    }

    /// Begins a collective that the CPU stays with until its end.
    pub(crate) fn begin_collective(
        &mut self,
        part: Part,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<Step, ReplayError> {
        let entered = self.collective.begin(part, &mut self.journal);
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
            let from = self.collective.round.receives[index].0;
            let departure = self.departure(from, 0)?;
            let handle = self.post_in_round(departure, now, out)?;
            self.collective.await_also(handle, &mut self.journal);
        }
        Ok(Step::GoesOn)
    }

    /// A message of the current round to a rank of the communicator.
    fn departure(&self, to: u32, bytes: u64) -> Result<Departure, ReplayError> {
        let Some(current) = &self.collective.place.current else {
            return Err(self.broken("it is in no collective"));
        };
        self.departure_in(
            &current.part,
            current.progress.k.wrapping_add(self.collective.round.ahead),
            to,
            bytes,
        )
    }

    /// A message of a round to a rank of the communicator.
    pub(crate) fn departure_in(
        &self,
        part: &Part,
        k: u32,
        to: u32,
        bytes: u64,
    ) -> Result<Departure, ReplayError> {
        let to = self.peer(part.call, communicator_of(part.context), to)?;
        Ok(Departure {
            to,
            context: part.context,
            tag: part.tag(k),
            bytes,
            call: part.call,
            origin: Origin::Collective,
        })
    }

    /// Posts the receive of the message that this one is answered with: the other direction of a pair.
    pub(crate) fn post_in_round(
        &mut self,
        departure: Departure,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<u32, ReplayError> {
        let subject = Subject {
            direction: Direction::Receive,
            ..departure.subject()
        };
        // Contributions may differ in size (the v variants), so nothing is too long.
        self.post(subject, u64::MAX, now, out)
    }
}

/// The length of a list that is neither empty, nor for one, nor for all of so many ranks.
fn wrong_length(counts: &Counts, ranks: u32) -> Option<usize> {
    [counts.sends.len(), counts.receives.len()]
        .into_iter()
        .find(|length| *length > 1 && *length != ranks as usize)
}
