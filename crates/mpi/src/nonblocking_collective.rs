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

use des::Journal;
use serde::{Deserialize, Serialize};

use crate::MpiJob;
use crate::blocking_collective::CollectiveSchedule;
use crate::requests::{Owner, Request, RequestKind, Requests};

/// The non-blocking collectives in progress, by the handles of their requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct NonBlockingCollectives(BTreeMap<u32, NonBlockingCollective>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct NonBlockingCollective {
    pub schedule: CollectiveSchedule,
    pub progress: NonBlockingProgress,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct NonBlockingProgress {
    /// The next round.
    pub next: u32,
    /// Messages of the current round that are not complete.
    pub outstanding: u32,
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

    pub fn begin(
        &mut self,
        handle: u32,
        schedule: CollectiveSchedule,
        journal: &mut impl Journal<NonBlockingChange>,
    ) {
        let progress = NonBlockingProgress {
            next: 0,
            outstanding: 0,
        };
        self.0
            .insert(handle, NonBlockingCollective { schedule, progress });
        journal.note(|| NonBlockingChange::Began(handle));
    }

    pub fn set_progress(
        &mut self,
        handle: u32,
        progress: NonBlockingProgress,
        journal: &mut impl Journal<NonBlockingChange>,
    ) {
        if let Some(it) = self.0.get_mut(&handle) {
            let old = std::mem::replace(&mut it.progress, progress);
            journal.note(|| NonBlockingChange::Progressed(handle, old));
        }
    }

    pub fn end(&mut self, handle: u32, journal: &mut impl Journal<NonBlockingChange>) {
        if let Some(it) = self.0.remove(&handle) {
            journal.note(|| NonBlockingChange::Ended(handle, Box::new(it)));
        }
    }

    /// The collective whose request has this handle.
    pub fn get(&self, handle: u32) -> Option<&NonBlockingCollective> {
        self.0.get(&handle)
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
