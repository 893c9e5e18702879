//! Non-blocking collectives: rounds that go on beside the program.
//!
//! A round's receives are posted and its messages leave in the instant in which the round before is complete,
//! whatever the CPU does, as on a NIC that carries out collectives or with a progress thread of its own. What
//! the same messages would cost the CPU in a blocking collective is paid in the wait for the request; hence a
//! wait at once makes a non-blocking collective take as long as the blocking one wherever the rounds of a rank
//! are one after the other.
//!
//! Source of the schedule: T. Hoefler, A. Lumsdaine, W. Rehm, "Implementation and Performance Analysis of
//! Non-Blocking Collective Operations for MPI", SC 2007: rounds of point-to-point messages, the next one
//! when all messages of one are complete.

use std::collections::BTreeMap;

use des::Time;
use serde::{Deserialize, Serialize};

use crate::journal::Journal;
use crate::note::{Note, index_of};
use crate::ongoing::Part;
use crate::operations::Step;
use crate::rank::{Action, Rank};
use crate::requests::{Direction, Owner, Request, Requests, Subject};
use crate::{Job, ReplayError, Round};

/// The non-blocking collectives that are under way, by the handles of their requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Background(BTreeMap<u32, UnderWay>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct UnderWay {
    part: Part,
    progress: Progress,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Progress {
    /// The round to come.
    next: u32,
    /// Messages of the round before that are not complete.
    outstanding: u32,
}

/// What happened to one of them.
#[derive(Debug)]
pub(crate) enum Change {
    Began(u32),
    /// How far it was.
    Went(u32, Progress),
    Ended(u32, Box<UnderWay>),
}

impl Background {
    /// Whether the collective of this number in a context is under way.
    pub fn holds(&self, context: u32, sequence: u32) -> bool {
        let mut parts = self.0.values().map(|it| &it.part);
        parts.any(|part| (part.context, part.sequence) == (context, sequence))
    }

    fn begin(&mut self, handle: u32, part: Part, journal: &mut Journal) {
        let progress = Progress {
            next: 0,
            outstanding: 0,
        };
        self.0.insert(handle, UnderWay { part, progress });
        journal.note(|| Change::Began(handle));
    }

    fn go(&mut self, handle: u32, progress: Progress, journal: &mut Journal) {
        if let Some(it) = self.0.get_mut(&handle) {
            let old = std::mem::replace(&mut it.progress, progress);
            journal.note(|| Change::Went(handle, old));
        }
    }

    fn end(&mut self, handle: u32, journal: &mut Journal) {
        if let Some(it) = self.0.remove(&handle) {
            journal.note(|| Change::Ended(handle, Box::new(it)));
        }
    }

    pub fn undo(&mut self, change: Change) {
        match change {
            Change::Began(handle) => {
                self.0.remove(&handle);
            }
            Change::Went(handle, old) => {
                if let Some(it) = self.0.get_mut(&handle) {
                    it.progress = old;
                }
            }
            Change::Ended(handle, it) => {
                self.0.insert(handle, *it);
            }
        }
    }

    /// Whether all of them make sense for this rank and agree with its requests: what was read may be damaged.
    pub fn is_sound(&self, requests: &Requests, job: &Job, rank: u32) -> bool {
        let mut outstanding: BTreeMap<u32, u32> = BTreeMap::new();
        for (_, request) in requests.iter() {
            if let Owner::Collective(handle) = request.owner {
                *outstanding.entry(handle).or_default() += 1;
            }
        }
        let awaited = |request: &Request| request.subject.direction == Direction::Collective;
        outstanding.len() == self.0.len()
            && self.0.iter().all(|(handle, it)| {
                it.part.is_sound(job, rank)
                    && outstanding.get(handle) == Some(&it.progress.outstanding)
                    && requests
                        .get(*handle)
                        .is_some_and(|request| awaited(request) && !request.complete)
            })
    }
}

impl Rank {
    /// Begins a collective that goes on by itself, under a request of the program.
    pub(crate) fn begin_in_background(
        &mut self,
        part: Part,
        request: u64,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<Step, ReplayError> {
        let subject = Subject {
            direction: Direction::Collective,
            peer: None,
            tag: None,
            context: part.context,
            call: part.call,
        };
        let handle = self.requests.open(subject, Owner::Program, &mut self.journal);
        self.open.insert(request, handle, &mut self.journal);
        self.background.begin(handle, part, &mut self.journal);
        self.issue_rounds(handle, now, out)?;
        Ok(Step::GoesOn)
    }

    /// A message of a non-blocking collective is complete.
    pub(crate) fn complete_in_background(
        &mut self,
        handle: u32,
        cost: Time,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<(), ReplayError> {
        let Some(it) = self.background.0.get(&handle) else {
            return Err(self.broken(format!("no collective has request handle {handle}")));
        };
        let Progress { next, outstanding } = it.progress;
        let outstanding = outstanding.saturating_sub(1);
        let progress = Progress { next, outstanding };
        self.background.go(handle, progress, &mut self.journal);
        self.charge(handle, cost);
        if outstanding > 0 {
            return Ok(());
        }
        self.issue_rounds(handle, now, out)
    }

    /// Issues rounds until one of them has to wait, or the collective is complete.
    fn issue_rounds(&mut self, handle: u32, now: Time, out: &mut Vec<Action>) -> Result<(), ReplayError> {
        let (mut round, mut messages) = (Round::default(), Vec::new());
        loop {
            let Some(it) = self.background.0.get(&handle) else {
                return Err(self.broken(format!("no collective has request handle {handle}")));
            };
            let (part, k) = (it.part.clone(), it.progress.next);
            round.clear();
            if !part.round(k, &mut round) {
                self.background.end(handle, &mut self.journal);
                return self.complete(handle, now, out);
            }
            let number = k.wrapping_add(round.ahead);
            for (from, _) in &round.receives {
                let departure = self.departure_in(&part, number, *from, 0)?;
                messages.push(self.post_in_round(departure, now, out)?);
            }
            for (to, bytes) in &round.sends {
                let departure = self.departure_in(&part, number, *to, *bytes)?;
                self.charge(handle, self.job.settings.send_overhead);
                self.tell(
                    || Note::Asked {
                        at: now,
                        algorithm: index_of(part.algorithm()),
                    },
                    out,
                );
                messages.extend(self.let_go(&departure, out));
            }
            let outstanding = self.await_in_background(handle, &mut messages);
            let next = k.saturating_add(1);
            let progress = Progress { next, outstanding };
            self.background.go(handle, progress, &mut self.journal);
            if outstanding > 0 {
                return Ok(());
            }
        }
    }

    /// Hands the messages of a round to their collective, which takes those that are complete; how many are
    /// not.
    fn await_in_background(&mut self, collective: u32, messages: &mut Vec<u32>) -> u32 {
        let mut outstanding = 0;
        for message in messages.drain(..) {
            match self.requests.get(message) {
                Some(request) if request.complete => {
                    let cost = request.cost;
                    self.requests.close(message, &mut self.journal);
                    self.charge(collective, cost);
                }
                _ => {
                    let hand_over = |request: &mut Request| request.owner = Owner::Collective(collective);
                    self.requests.alter(message, hand_over, &mut self.journal);
                    outstanding += 1;
                }
            }
        }
        outstanding
    }
}
