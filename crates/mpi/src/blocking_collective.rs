//! The blocking collective of a rank: sequential rounds, which the CPU drives.

use std::mem;
use std::sync::Arc;

use des::Time;
use serde::{Deserialize, Serialize};
use workload::{Call, Counts};

use crate::agreement::RankCall;
use crate::collectives::{SEQUENCES, registered, tag};
use crate::journal::RankJournal;
use crate::message::{COLLECTIVE_CONTEXT, communicator_of};
use crate::operations::CpuStep;
use crate::rank::{Action, OutgoingSend, Rank, SendOrigin};
use crate::requests::{RequestInfo, RequestKind};
use crate::settings::time_at;
use crate::{
    CollectiveAlgorithm, CollectiveArgs, CollectiveCall, MpiJob, RanksByHost, ReplayError, Round,
    RoundReceive,
};

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
    /// The schedule of a call with valid counts, number `sequence` of its context.
    pub fn new(job: &MpiJob, context: u32, sequence: u32, rank_call: RankCall) -> CollectiveSchedule {
        let RankCall {
            collective,
            call,
            own: own_call,
            counts,
            ..
        } = rank_call;
        let hosts = job.ranks_by_host(communicator_of(context));
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
        self.hosts = job.ranks_by_host(communicator_of(self.context));
    }

    /// Whether a saved schedule is consistent with this rank.
    pub fn is_consistent(&self, job: &MpiJob, rank: u32) -> bool {
        let communicator = communicator_of(self.context);
        let ranks = job.members(communicator).map(<[u32]>::len);
        self.context & COLLECTIVE_CONTEXT != 0
            && ranks == Some(self.own_call.ranks as usize)
            && job.rank_in(communicator, rank) == Some(self.own_call.rank)
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

    fn set_progress(&mut self, progress: RoundProgress, journal: &mut RankJournal) {
        if let Some(current) = &mut self.state.current {
            let old = mem::replace(&mut current.progress, progress);
            journal.note(|| BlockingCollectiveChange::Progressed(old));
        }
    }

    fn end(&mut self, journal: &mut RankJournal) {
        if let Some(current) = self.state.current.take() {
            journal.note(|| BlockingCollectiveChange::Ended(Box::new(current)));
        }
    }

    fn progress(&self) -> Option<RoundProgress> {
        self.state.current.as_ref().map(|current| current.progress)
    }

    /// Returns true at the first call in a round.
    fn begin_waiting(&mut self, journal: &mut RankJournal) -> bool {
        let Some(progress) = self.progress().filter(|progress| !progress.waits) else {
            return false;
        };
        let waits = true;
        self.set_progress(RoundProgress { waits, ..progress }, journal);
        true
    }

    /// Enters the first round of a collective. Returns false if it has no round.
    fn begin(&mut self, schedule: CollectiveSchedule, journal: &mut RankJournal) -> bool {
        let progress = RoundProgress::default();
        self.state.current = Some(StartedCollective { schedule, progress });
        journal.note(|| BlockingCollectiveChange::Began);
        self.find_round()
    }

    /// Enters the next round. Returns false if there is none.
    fn enter_next_round(&mut self, journal: &mut RankJournal) -> bool {
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
    fn next_send(&mut self, journal: &mut RankJournal) -> Option<(u32, u64)> {
        let progress = self.progress()?;
        let send = self.round.sends.get(progress.issued as usize).copied()?;
        let issued = progress.issued + 1;
        self.set_progress(RoundProgress { issued, ..progress }, journal);
        Some(send)
    }

    /// Adds a request that must complete before the round does.
    pub fn add_pending(&mut self, request: u32, journal: &mut RankJournal) {
        self.state.pending.push(request);
        journal.note(|| BlockingCollectiveChange::Awaited);
    }

    /// Takes a request of the round.
    fn next_pending(&mut self, journal: &mut RankJournal) -> Option<u32> {
        let request = self.state.pending.pop()?;
        journal.note(|| BlockingCollectiveChange::Settled(request));
        Some(request)
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

impl Rank {
    /// The schedule of this rank in the next collective of a context.
    pub(crate) fn next_schedule(
        &mut self,
        context: u32,
        rank_call: RankCall,
    ) -> Result<CollectiveSchedule, ReplayError> {
        check_counts(self.rank, context, &rank_call)?;
        let sequence = self.histories.calls(context);
        if self
            .nonblocking
            .contains(context, sequence.wrapping_sub(SEQUENCES))
        {
            return Err(ReplayError::TooManyCollectives {
                rank: self.rank,
                call: rank_call.call.name(),
                communicator: communicator_of(context),
                limit: SEQUENCES,
            });
        }
        self.histories
            .add(context, &rank_call.arguments(), &mut self.journal);
        Ok(CollectiveSchedule::new(&self.job, context, sequence, rank_call))
    }

    /// Starts a blocking collective.
    pub(crate) fn begin_collective(
        &mut self,
        schedule: CollectiveSchedule,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<CpuStep, ReplayError> {
        let entered = self.collective.begin(schedule, &mut self.journal);
        self.begin_round(entered, now, out)
    }

    /// Issues the next send of the round. After the last send it waits for the round, then enters the next.
    pub(crate) fn collective_step(
        &mut self,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<CpuStep, ReplayError> {
        if let Some((to, bytes)) = self.collective.next_send(&mut self.journal) {
            let departure = self.current_send(to, bytes)?;
            return self.begin_send(departure, now, out);
        }
        if self.collective.begin_waiting(&mut self.journal) {
            self.begin_waiting(now);
            while let Some(handle) = self.collective.next_pending(&mut self.journal) {
                self.wait_for(handle)?;
            }
            return self.finish_wait(now, out);
        }
        let entered = self.collective.enter_next_round(&mut self.journal);
        self.begin_round(entered, now, out)
    }

    /// Posts the receives of the entered round, or ends the collective if there is none.
    fn begin_round(
        &mut self,
        entered: bool,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<CpuStep, ReplayError> {
        if !entered {
            self.collective.end(&mut self.journal);
            return Ok(CpuStep::Continue);
        }
        for index in 0..self.collective.round.receives.len() {
            let receive = self.collective.round.receives[index];
            let departure = self.current_send(receive.from, 0)?;
            let handle = self.post_round_receive(departure, receive, now, out)?;
            self.collective.add_pending(handle, &mut self.journal);
        }
        Ok(CpuStep::Continue)
    }

    /// A send of the current round to a rank of the communicator.
    fn current_send(&self, to: u32, bytes: u64) -> Result<OutgoingSend, ReplayError> {
        let Some(current) = &self.collective.state.current else {
            return Err(self.contract_error("it is in no collective"));
        };
        self.round_send(
            &current.schedule,
            current
                .progress
                .k
                .wrapping_add(self.collective.round.round_offset),
            to,
            bytes,
        )
    }

    /// A send of a round to a rank of the communicator.
    pub(crate) fn round_send(
        &self,
        schedule: &CollectiveSchedule,
        k: u32,
        to: u32,
        bytes: u64,
    ) -> Result<OutgoingSend, ReplayError> {
        let to = self.peer(schedule.call, communicator_of(schedule.context), to)?;
        Ok(OutgoingSend {
            to,
            context: schedule.context,
            tag: schedule.tag(k),
            bytes,
            call: schedule.call,
            origin: SendOrigin::Collective,
        })
    }

    /// Posts the receive from the rank to which `departure` would go. Its completion costs the time of its reduction.
    pub(crate) fn post_round_receive(
        &mut self,
        departure: OutgoingSend,
        receive: RoundReceive,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<u32, ReplayError> {
        let info = RequestInfo {
            kind: RequestKind::Receive,
            ..departure.info()
        };
        // Counts may differ between ranks, so no message is too long.
        let handle = self.post(info, u64::MAX, now, out)?;
        let bandwidth = self.job.settings.reduction_bandwidth;
        if receive.reduced > 0 && bandwidth.is_some() {
            self.charge(handle, time_at(receive.reduced, bandwidth));
        }
        Ok(handle)
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
