//! The blocking collective of a rank: sequential rounds, which the CPU drives.

use std::mem;
use std::sync::Arc;

use des::Journal;
use serde::{Deserialize, Serialize};
use workload::{Call, Counts};

use crate::agreement::RankCall;
use crate::collectives::{registered, tag};
use crate::job::Group;
use crate::message::{COLLECTIVE_CONTEXT, communicator_of};
use crate::{CollectiveAlgorithm, CollectiveArgs, CollectiveCall, MpiJob, RanksByHost, ReplayError, Round};

/// The schedule of one rank in one collective, without its progress.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CollectiveSchedule {
    #[serde(with = "registered")]
    algorithm: &'static CollectiveAlgorithm,
    own_call: CollectiveCall,
    /// Bytes by rank, where known.
    counts: Option<Box<Counts>>,
    /// Communicator with its context bits.
    pub context: u32,
    /// Number among the collectives of its context, from 0, modulo 2^32.
    pub sequence: u32,
    pub call: Call,
    /// The communicator's ranks by host, which the job has.
    #[serde(skip)]
    hosts: Option<Arc<RanksByHost>>,
}

impl CollectiveSchedule {
    /// The schedule of a call with valid counts in a communicator, given with its context and its number in that.
    pub fn new(
        job: &MpiJob,
        group: &Group,
        (context, sequence): (u32, u32),
        rank_call: RankCall,
    ) -> CollectiveSchedule {
        let RankCall {
            collective,
            call,
            own: own_call,
            counts,
            ..
        } = rank_call;
        let hosts = group.hosts.clone();
        let seen = CollectiveArgs::new(own_call, counts.as_deref()).on_hosts(hosts.as_deref());
        let algorithm = job.settings.collectives.select(collective, call, &seen);
        CollectiveSchedule {
            algorithm,
            own_call,
            counts,
            context,
            sequence,
            call,
            hosts,
        }
    }

    /// The algorithm.
    pub fn algorithm(&self) -> &'static CollectiveAlgorithm {
        self.algorithm
    }

    /// Writes the messages of a round into an empty [`Round`]. Returns false if there is no such round.
    pub fn round(&self, k: u32, round: &mut Round) -> bool {
        let own_call =
            CollectiveArgs::new(self.own_call, self.counts.as_deref()).on_hosts(self.hosts.as_deref());
        (self.algorithm.round)(&own_call, k, round)
    }

    /// Tag of the messages of a round.
    pub fn tag(&self, k: u32) -> u32 {
        tag(self.algorithm.collective, self.sequence, k)
    }

    /// Gives a saved schedule what the job has.
    pub fn attach(&mut self, job: &MpiJob) {
        let group = job.group(communicator_of(self.context));
        self.hosts = group.and_then(|group| group.hosts.clone());
    }

    /// Whether a saved schedule is consistent with this rank.
    pub fn is_consistent(&self, job: &MpiJob, rank: u32) -> bool {
        let communicator = communicator_of(self.context);
        let is_own = |group: &Group| {
            group.size() == self.own_call.ranks && group.rank_in(rank) == Some(self.own_call.rank)
        };
        self.context & COLLECTIVE_CONTEXT != 0
            && job.group(communicator).is_some_and(is_own)
            && self.own_call.root < self.own_call.ranks
    }
}

/// The blocking collective of a rank. It reuses the memory of its rounds.
#[derive(Debug, Default)]
pub(crate) struct BlockingCollective {
    state: BlockingCollectiveState,
    /// The current round, which follows from the state.
    round: Round,
}

/// The state of the blocking collective of a rank.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct BlockingCollectiveState {
    current: Option<StartedCollective>,
    /// Incomplete requests of the round.
    pending: Vec<u32>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct StartedCollective {
    schedule: CollectiveSchedule,
    progress: RoundProgress,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RoundProgress {
    /// Number of the round.
    k: u32,
    /// Sends of the round that have been issued.
    issued: u32,
    /// Whether the rank has begun to wait for the round.
    waits: bool,
}

/// A change of [`BlockingCollective`].
#[derive(Debug)]
pub(crate) enum BlockingCollectiveChange {
    Began,
    /// The previous progress.
    Progressed(RoundProgress),
    Ended(Box<StartedCollective>),
    Awaited,
    Settled(u32),
}

impl BlockingCollective {
    pub fn in_progress(&self) -> bool {
        self.state.current.is_some()
    }

    /// Algorithm of the current collective.
    pub fn algorithm(&self) -> Option<&'static CollectiveAlgorithm> {
        self.state
            .current
            .as_ref()
            .map(|current| current.schedule.algorithm)
    }

    fn set_progress(
        &mut self,
        progress: RoundProgress,
        journal: &mut impl Journal<BlockingCollectiveChange>,
    ) {
        if let Some(current) = &mut self.state.current {
            let old = mem::replace(&mut current.progress, progress);
            journal.note(|| BlockingCollectiveChange::Progressed(old));
        }
    }

    pub fn end(&mut self, journal: &mut impl Journal<BlockingCollectiveChange>) {
        if let Some(current) = self.state.current.take() {
            journal.note(|| BlockingCollectiveChange::Ended(Box::new(current)));
        }
    }

    fn progress(&self) -> Option<RoundProgress> {
        self.state.current.as_ref().map(|current| current.progress)
    }

    /// Returns true at the first call in a round.
    pub fn begin_waiting(&mut self, journal: &mut impl Journal<BlockingCollectiveChange>) -> bool {
        let Some(progress) = self.progress().filter(|progress| !progress.waits) else {
            return false;
        };
        let waits = true;
        self.set_progress(RoundProgress { waits, ..progress }, journal);
        true
    }

    /// Enters the first round of a collective. Returns false if it has no round.
    pub fn begin(
        &mut self,
        schedule: CollectiveSchedule,
        journal: &mut impl Journal<BlockingCollectiveChange>,
    ) -> bool {
        let progress = RoundProgress::default();
        self.state.current = Some(StartedCollective { schedule, progress });
        journal.note(|| BlockingCollectiveChange::Began);
        self.find_round()
    }

    /// Enters the next round. Returns false if there is none.
    pub fn enter_next_round(&mut self, journal: &mut impl Journal<BlockingCollectiveChange>) -> bool {
        if let Some(progress) = self.progress() {
            let next = RoundProgress {
                k: progress.k.saturating_add(1),
                ..RoundProgress::default()
            };
            self.set_progress(next, journal);
        }
        self.find_round()
    }

    /// The next send of the round.
    pub fn next_send(&mut self, journal: &mut impl Journal<BlockingCollectiveChange>) -> Option<(u32, u64)> {
        let progress = self.progress()?;
        let send = self.round.sends.get(progress.issued as usize).copied()?;
        let issued = progress.issued + 1;
        self.set_progress(RoundProgress { issued, ..progress }, journal);
        Some(send)
    }

    /// Adds a request that must complete before the round does.
    pub fn add_pending(&mut self, request: u32, journal: &mut impl Journal<BlockingCollectiveChange>) {
        self.state.pending.push(request);
        journal.note(|| BlockingCollectiveChange::Awaited);
    }

    /// Takes a request of the round.
    pub fn next_pending(&mut self, journal: &mut impl Journal<BlockingCollectiveChange>) -> Option<u32> {
        let request = self.state.pending.pop()?;
        journal.note(|| BlockingCollectiveChange::Settled(request));
        Some(request)
    }

    /// The messages of the current round.
    pub fn round(&self) -> &Round {
        &self.round
    }

    /// The schedule of the current collective, and the number of the current round in its tags.
    pub fn current_round(&self) -> Option<(&CollectiveSchedule, u32)> {
        let StartedCollective { schedule, progress } = self.state.current.as_ref()?;
        Some((schedule, progress.k.wrapping_add(self.round.round_offset)))
    }

    pub fn undo(&mut self, change: BlockingCollectiveChange) {
        match change {
            BlockingCollectiveChange::Began => {
                self.state.current = None;
                self.find_round();
            }
            BlockingCollectiveChange::Progressed(old) => {
                let moved = self.progress().map(|progress| progress.k) != Some(old.k);
                if let Some(current) = &mut self.state.current {
                    current.progress = old;
                }
                if moved {
                    self.find_round();
                }
            }
            BlockingCollectiveChange::Ended(current) => {
                self.state.current = Some(*current);
                self.find_round();
            }
            BlockingCollectiveChange::Awaited => {
                self.state.pending.pop();
            }
            BlockingCollectiveChange::Settled(request) => self.state.pending.push(request),
        }
    }

    /// Writes the messages of the current round. Returns false if there is no such round.
    fn find_round(&mut self) -> bool {
        self.round.clear();
        let BlockingCollective { state, round } = self;
        let current = state.current.as_ref();
        current.is_some_and(|current| current.schedule.round(current.progress.k, round))
    }

    pub fn state(&self) -> &BlockingCollectiveState {
        &self.state
    }

    /// The collective of a saved state; `None` if the state is inconsistent with this rank.
    pub fn at(mut state: BlockingCollectiveState, job: &MpiJob, rank: u32) -> Option<BlockingCollective> {
        if let Some(current) = &mut state.current {
            current.schedule.attach(job);
        }
        let current = state.current.as_ref();
        let is_consistent = current.is_none_or(|current| current.schedule.is_consistent(job, rank));
        let round = Round::default();
        let mut ongoing = is_consistent.then_some(BlockingCollective { state, round })?;
        let has_round = ongoing.find_round();
        (has_round == ongoing.in_progress()).then_some(ongoing)
    }
}

/// Refuses counts that are not one for each rank.
pub(crate) fn check_counts(rank: u32, context: u32, rank_call: &RankCall) -> Result<(), ReplayError> {
    let size = rank_call.own.ranks;
    let counts = rank_call.counts.as_deref();
    match counts.and_then(|counts| wrong_length(counts, size)) {
        None => Ok(()),
        Some(given) => Err(ReplayError::Counts {
            rank,
            call: rank_call.call.name(),
            given,
            communicator: communicator_of(context),
            size,
        }),
    }
}

/// Length of a count list, unless it is 0, 1 or the number of ranks.
fn wrong_length(counts: &Counts, ranks: u32) -> Option<usize> {
    [counts.sends.len(), counts.receives.len()]
        .into_iter()
        .find(|length| *length > 1 && *length != ranks as usize)
}
