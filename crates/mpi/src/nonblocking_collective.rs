//! Non-blocking collectives, whose rounds progress independently of the program.
//!
//! A round starts when the previous round is complete, whatever the CPU does, as on a NIC that executes
//! collectives or with a progress thread. The wait for the request pays the CPU time that the same messages
//! cost in a blocking collective. A wait right after the start therefore takes as long as the blocking
//! collective wherever the rounds of a rank are sequential.
//!
//! Source: T. Hoefler, A. Lumsdaine, W. Rehm, "Implementation and Performance Analysis of Non-Blocking
//! Collective Operations for MPI", SC 2007.

use std::collections::BTreeMap;

use des::Time;
use serde::{Deserialize, Serialize};

use crate::blocking_collective::CollectiveSchedule;
use crate::journal::RankJournal;
use crate::operations::CpuStep;
use crate::rank::{Action, Rank};
use crate::requests::{Owner, Request, RequestInfo, RequestKind, Requests};
use crate::tracing::{TraceEvent, index_of};
use crate::{MpiJob, ReplayError, Round};

/// The non-blocking collectives in progress, by the handles of their requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct NonBlockingCollectives(BTreeMap<u32, NonBlockingCollective>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct NonBlockingCollective {
    schedule: CollectiveSchedule,
    progress: NonBlockingProgress,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct NonBlockingProgress {
    /// The next round.
    next: u32,
    /// Messages of the current round that are not complete.
    outstanding: u32,
}

/// A change of [`NonBlockingCollectives`].
#[derive(Debug)]
pub(crate) enum NonBlockingChange {
    Began(u32),
    /// The previous progress.
    Progressed(u32, NonBlockingProgress),
    Ended(u32, Box<NonBlockingCollective>),
}

impl NonBlockingCollectives {
    /// Whether the collective of this number in a context is in progress.
    pub fn contains(&self, context: u32, sequence: u32) -> bool {
        let mut schedules = self.0.values().map(|it| &it.schedule);
        schedules.any(|schedule| (schedule.context, schedule.sequence) == (context, sequence))
    }

    fn begin(&mut self, handle: u32, schedule: CollectiveSchedule, journal: &mut RankJournal) {
        let progress = NonBlockingProgress {
            next: 0,
            outstanding: 0,
        };
        self.0
            .insert(handle, NonBlockingCollective { schedule, progress });
        journal.note(|| NonBlockingChange::Began(handle));
    }

    fn set_progress(&mut self, handle: u32, progress: NonBlockingProgress, journal: &mut RankJournal) {
        if let Some(it) = self.0.get_mut(&handle) {
            let old = std::mem::replace(&mut it.progress, progress);
            journal.note(|| NonBlockingChange::Progressed(handle, old));
        }
    }

    fn end(&mut self, handle: u32, journal: &mut RankJournal) {
        if let Some(it) = self.0.remove(&handle) {
            journal.note(|| NonBlockingChange::Ended(handle, Box::new(it)));
        }
    }

    pub fn undo(&mut self, change: NonBlockingChange) {
        match change {
            NonBlockingChange::Began(handle) => {
                self.0.remove(&handle);
            }
            NonBlockingChange::Progressed(handle, old) => {
                if let Some(it) = self.0.get_mut(&handle) {
                    it.progress = old;
                }
            }
            NonBlockingChange::Ended(handle, it) => {
                self.0.insert(handle, *it);
            }
        }
    }

    /// Gives saved schedules what the job has.
    pub fn attach(&mut self, job: &MpiJob) {
        for it in self.0.values_mut() {
            it.schedule.attach(job);
        }
    }

    /// Whether they are consistent with this rank and its requests. A saved state may be damaged.
    pub fn is_consistent(&self, requests: &Requests, job: &MpiJob, rank: u32) -> bool {
        let mut outstanding: BTreeMap<u32, u32> = BTreeMap::new();
        for (_, request) in requests.iter() {
            if let Owner::Collective(handle) = request.owner {
                *outstanding.entry(handle).or_default() += 1;
            }
        }
        let awaited = |request: &Request| request.info.kind == RequestKind::Collective;
        outstanding.len() == self.0.len()
            && self.0.iter().all(|(handle, it)| {
                it.schedule.is_consistent(job, rank)
                    && outstanding.get(handle) == Some(&it.progress.outstanding)
                    && requests
                        .get(*handle)
                        .is_some_and(|request| awaited(request) && !request.complete)
            })
    }
}

impl Rank {
    /// Starts a non-blocking collective under a request of the program.
    pub(crate) fn begin_nonblocking(
        &mut self,
        schedule: CollectiveSchedule,
        request: u64,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<CpuStep, ReplayError> {
        let info = RequestInfo {
            kind: RequestKind::Collective,
            peer: None,
            tag: None,
            context: schedule.context,
            call: schedule.call,
        };
        let handle = self.requests.open(info, Owner::Program, &mut self.journal);
        self.open.insert(request, handle, &mut self.journal);
        self.nonblocking.begin(handle, schedule, &mut self.journal);
        self.issue_rounds(handle, now, out)?;
        Ok(CpuStep::Continue)
    }

    /// Accounts for a complete message of a non-blocking collective.
    pub(crate) fn complete_nonblocking(
        &mut self,
        handle: u32,
        cost: Time,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<(), ReplayError> {
        let Some(it) = self.nonblocking.0.get(&handle) else {
            return Err(self.contract_error(format!("no collective has request handle {handle}")));
        };
        let NonBlockingProgress { next, outstanding } = it.progress;
        let outstanding = outstanding.saturating_sub(1);
        let progress = NonBlockingProgress { next, outstanding };
        self.nonblocking.set_progress(handle, progress, &mut self.journal);
        self.charge(handle, cost);
        if outstanding > 0 {
            return Ok(());
        }
        self.issue_rounds(handle, now, out)
    }

    /// Issues rounds until a round has to wait or the collective is complete.
    fn issue_rounds(&mut self, handle: u32, now: Time, out: &mut Vec<Action>) -> Result<(), ReplayError> {
        let (mut round, mut messages) = (Round::default(), Vec::new());
        loop {
            let Some(it) = self.nonblocking.0.get(&handle) else {
                return Err(self.contract_error(format!("no collective has request handle {handle}")));
            };
            let (schedule, k) = (it.schedule.clone(), it.progress.next);
            round.clear();
            if !schedule.round(k, &mut round) {
                self.nonblocking.end(handle, &mut self.journal);
                return self.complete(handle, now, out);
            }
            let number = k.wrapping_add(round.round_offset);
            for receive in &round.receives {
                let departure = self.round_send(&schedule, number, receive.from, 0)?;
                messages.push(self.post_round_receive(departure, *receive, now, out)?);
            }
            for (to, bytes) in &round.sends {
                let departure = self.round_send(&schedule, number, *to, *bytes)?;
                self.charge(handle, self.send_cost(&departure));
                self.trace(
                    || TraceEvent::SendIssued {
                        at: now,
                        algorithm: index_of(schedule.algorithm()),
                    },
                    out,
                );
                messages.extend(self.issue(&departure, out));
            }
            let outstanding = self.attach_messages(handle, &mut messages);
            let next = k.saturating_add(1);
            let progress = NonBlockingProgress { next, outstanding };
            self.nonblocking.set_progress(handle, progress, &mut self.journal);
            if outstanding > 0 {
                return Ok(());
            }
        }
    }

    /// Assigns the messages of a round to their collective and closes those that are complete. Returns the
    /// number of the others.
    fn attach_messages(&mut self, collective: u32, messages: &mut Vec<u32>) -> u32 {
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
