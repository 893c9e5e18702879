//! One MPI process: its state, the calls of its owner, and its reports.
//!
//! `operations`, `blocking_collective`, `nonblocking_collective` and `one_sided` execute operations, `progress`
//! handles messages. The state changes only there; `undo` undoes it.

pub(crate) mod agreement;
mod blocking_collective;
mod nonblocking_collective;
mod one_sided;
mod operations;
mod path;
mod progress;
mod repetition;
mod select;
pub(crate) mod state;
mod stop;
mod timeline;
pub(crate) mod undo;

use std::fmt;
use std::sync::Arc;

use des::Time;
use workload::{Program, Recording};

use crate::agreement::CollectiveHistories;
use crate::answering::Answering;
use crate::blocking_collective::BlockingCollective;
use crate::changes::RankJournal;
use crate::collectives::round_of;
use crate::cpu::{CpuActivity, CpuState};
use crate::journal::{HandleMap, Journaled};
use crate::matching::{MatchPattern, MatchingQueues};
use crate::message::{COLLECTIVE_CONTEXT, Message, communicator_of};
use crate::nonblocking_collective::NonBlockingCollectives;
use crate::ordering::MessageOrder;
use crate::path::{Arriving, PathState, Transit};
use crate::program::ProgramCursor;
use crate::repetition::{MeasuredEnd, Repetition};
use crate::requests::{Owner, Request, RequestInfo, RequestKind, Requests};
use crate::statistics::Statistics;
use crate::timeline::TimelineUntil;
use crate::{IdleTime, MpiJob, RMA_CONTEXT, RankStats, ReplayError, TimelineEvent};

/// What a rank asks of its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Deliver this message to rank [`Message::to`] of the job (possibly this rank), call [`Rank::arrived`]
    /// there when it is complete, and, if [`Message::reports_injection`], call [`Rank::injected`] here when its
    /// last byte has left.
    Send(Message),
    /// Call [`Rank::resume`] at this later time. At most one is outstanding.
    ResumeAt(Time),
    /// The program has ended, or the part of it that is measured. Messages may still arrive.
    Finished,
    /// [`Rank::stop`] has interrupted the program.
    Stopped,
    /// A repetition of the program has ended, with this number, from 1.
    RepetitionEnded(u64),
    /// A timeline event, only after [`Rank::set_timeline`].
    Timeline(TimelineEvent),
}

/// The first items of a list, and the number of the others.
fn shown(things: impl Iterator<Item = String>, count: usize) -> String {
    const SHOWN: usize = 3;
    let mut text = things.take(SHOWN).collect::<Vec<_>>().join("; ");
    if count > SHOWN {
        text += &format!("; and {} more", count - SHOWN);
    }
    text
}

/// One MPI process, driven by its owner.
pub struct Rank {
    pub(crate) job: Arc<MpiJob>,
    pub(crate) rank: u32,
    pub(crate) journal: RankJournal,
    /// Whether it reports timeline events.
    pub(crate) has_timeline: bool,
    pub(crate) program: ProgramCursor,
    pub(crate) state: Journaled<CpuState>,
    pub(crate) activity: Journaled<CpuActivity>,
    /// Start of the activity.
    pub(crate) since: Journaled<Time>,
    /// Time up to which the activity has been reported.
    pub(crate) timeline_until: Journaled<TimelineUntil>,
    pub(crate) path: Journaled<PathState>,
    /// The arrival that is being executed; `None` while the CPU acts and between calls.
    pub(crate) arriving: Option<Arriving>,
    pub(crate) ordering: MessageOrder,
    pub(crate) matching: MatchingQueues,
    pub(crate) requests: Requests,
    /// Handles of the program's open requests, by the program's numbers.
    pub(crate) open: HandleMap<u64>,
    /// Receives that were cleared to send, by sender and sequence number of their data.
    pub(crate) awaiting_data: HandleMap<(u32, u32)>,
    /// Collectives started, by context.
    pub(crate) histories: CollectiveHistories,
    pub(crate) collective: BlockingCollective,
    pub(crate) nonblocking: NonBlockingCollectives,
    pub(crate) stats: Statistics,
    pub(crate) repetition: Journaled<Repetition>,
    /// The state at the end of the part that is measured, if the program goes on after it.
    pub(crate) measured: MeasuredEnd,
    /// The answer for the program; `None` unless it reads answers.
    pub(crate) answering: Option<Box<Answering>>,
    /// What the recording of a finished rank tells, from its saved state: its program may not have been read again.
    pub(crate) restored_recording: Option<Box<Recording>>,
}

impl fmt::Debug for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rank")
            .field("rank", &self.rank)
            .field("state", &*self.state)
            .finish_non_exhaustive()
    }
}

impl Rank {
    /// Rank `rank` of the job, which executes `program`.
    pub fn new(job: Arc<MpiJob>, rank: u32, program: Box<dyn Program>) -> Rank {
        Rank {
            job,
            rank,
            journal: RankJournal::default(),
            has_timeline: false,
            program: ProgramCursor::new(program),
            state: Journaled::new(CpuState::New),
            activity: Journaled::new(CpuActivity::None),
            since: Journaled::new(Time::ZERO),
            timeline_until: Journaled::new(TimelineUntil::default()),
            path: Journaled::new(PathState::default()),
            arriving: None,
            ordering: MessageOrder::default(),
            matching: MatchingQueues::default(),
            requests: Requests::default(),
            open: HandleMap::default(),
            awaiting_data: HandleMap::default(),
            histories: CollectiveHistories::default(),
            collective: BlockingCollective::default(),
            nonblocking: NonBlockingCollectives::default(),
            stats: Statistics::new(RankStats::default()),
            repetition: Journaled::new(Repetition::default()),
            measured: MeasuredEnd::default(),
            answering: None,
            restored_recording: None,
        }
    }

    /// Sets that the program reads answers ([`Workload::reacts`](workload::Workload::reacts)), before the start.
    /// Changes must then not be kept, and the state cannot be restored.
    pub fn set_answering(&mut self) {
        self.answering = Some(Box::default());
    }

    /// Changes the answer for the program, if it reads answers.
    #[inline]
    pub(crate) fn tell(&mut self, tell: impl FnOnce(&mut Answering)) {
        if let Some(answering) = &mut self.answering {
            tell(answering);
        }
    }

    /// Starts the program. Messages may have arrived before.
    ///
    /// # Errors
    /// The first operations are invalid, or the rank was started before.
    pub fn start(&mut self, now: Time, out: &mut Vec<Action>) -> Result<(), ReplayError> {
        if *self.state != CpuState::New {
            return Err(self.contract_error("it was started twice"));
        }
        self.state.set(CpuState::Running, &mut self.journal);
        self.since.set(now, &mut self.journal);
        self.stats.start(now, &mut self.journal);
        self.advance(now, out)
    }

    /// Continues at the time of the last [`Action::ResumeAt`].
    ///
    /// # Errors
    /// The next operations are invalid, or the rank did not ask for this time.
    pub fn resume(&mut self, now: Time, out: &mut Vec<Action>) -> Result<(), ReplayError> {
        match *self.state {
            CpuState::Busy { until, departure } if until == now => {
                self.state.set(CpuState::Running, &mut self.journal);
                self.resume_after(departure, now, out)
            }
            state => Err(self.contract_error(format!("it was resumed at {now} in the state {state:?}"))),
        }
    }

    /// Accepts a complete message, which took `transit` since its handover. The network may deliver in any order.
    ///
    /// # Errors
    /// The message is longer than the matching receive, the operations that follow are invalid, or the rank
    /// expects no such message.
    pub fn arrived(
        &mut self,
        now: Time,
        message: Message,
        transit: Transit,
        out: &mut Vec<Action>,
    ) -> Result<(), ReplayError> {
        let cause = Arriving {
            cause: message.path,
            transit,
            of_collective: message.is_of_collective(),
        };
        self.caused_by(cause, |rank| rank.accept_arrival(now, message, out))?;
        self.resume_if_complete(now, out)
    }

    /// Reports that the last byte of the data of this request has left the NIC.
    ///
    /// # Errors
    /// The operations that follow are invalid, or no data of this request was in flight.
    pub fn injected(&mut self, now: Time, request: u32, out: &mut Vec<Action>) -> Result<(), ReplayError> {
        let injected = self.requests.get(request);
        let cause = Arriving {
            cause: injected.map(|request| request.path).unwrap_or_default(),
            transit: Transit::default(),
            of_collective: injected.is_some_and(|request| request.info.context & COLLECTIVE_CONTEXT != 0),
        };
        self.caused_by(cause, |rank| rank.accept_injection(now, request, out))?;
        self.resume_if_complete(now, out)
    }

    /// Whether the program has ended, or the part of it that is measured.
    pub fn finished(&self) -> bool {
        *self.state == CpuState::Finished || self.measured.get().is_some()
    }

    /// Whether it executes no further operation: the program has ended, or it was stopped.
    pub fn ended(&self) -> bool {
        matches!(*self.state, CpuState::Finished | CpuState::Stopped { .. })
    }

    /// Whether only an arrival or injection lets it continue.
    pub fn blocked(&self) -> bool {
        matches!(*self.state, CpuState::Waiting { .. } | CpuState::Probing { .. })
    }

    /// Statistics of complete operations, up to the end of the part that is measured.
    pub fn stats(&self) -> &RankStats {
        self.measured
            .get()
            .map_or(self.stats.get(), |measured| &measured.stats)
    }

    /// Statistics of a run that ends at this time: those of complete operations, and the one that the end interrupts.
    /// So computation and calls add up to the time of the rank, whether it has finished or not.
    pub fn stats_at(&self, end: Time) -> RankStats {
        if let Some(measured) = self.measured.get() {
            return measured.stats.clone();
        }
        let span = end.saturating_sub(*self.since);
        let idle = self.unended_idle(end);
        self.stats.get().with_interrupted(*self.activity, span, idle)
    }

    /// What the recording tells beside the operations. `None` before the rank has finished, since until then it depends
    /// on how far the program has been read ahead, and if the program is no recording.
    pub fn recording(&self) -> Option<&Recording> {
        if !self.finished() {
            return None;
        }
        self.restored_recording
            .as_deref()
            .or_else(|| self.program.recording())
    }

    /// Number of messages that have arrived and match no receive so far.
    pub fn unexpected_messages(&self) -> usize {
        self.matching.unexpected() + self.ordering.early_count() + self.matching.kept()
    }

    /// The first message of the program that has arrived and matches no receive so far: its sender and tag.
    pub fn first_unreceived(&self) -> Option<(u32, u32)> {
        let of_program = |message: &&Message| message.communicator & (COLLECTIVE_CONTEXT | RMA_CONTEXT) == 0;
        let message = self.matching.unexpected_messages().find(of_program)?;
        Some((message.from, message.tag))
    }

    /// Number of open requests.
    pub fn open_requests(&self) -> usize {
        self.requests.open_count()
    }

    /// What the rank is blocked on, for the error of a deadlock: `MPI_Wait for a message from rank 3, tag 7,
    /// communicator 0`. `None` if it is not blocked.
    pub fn waiting_for(&self) -> Option<String> {
        let CpuActivity::Call { call, .. } = *self.activity else {
            return None;
        };
        let what = match *self.state {
            CpuState::Waiting { outstanding, .. } => {
                let described = self
                    .requests
                    .blocking()
                    .map(|(handle, r)| self.describe(handle, r));
                shown(described, outstanding as usize)
            }
            CpuState::Probing { pattern, .. } => self.envelope("a message from", &pattern),
            CpuState::New
            | CpuState::Running
            | CpuState::Busy { .. }
            | CpuState::Finished
            | CpuState::Stopped { .. } => return None,
        };
        Some(format!("{} for {what}", call.name()))
    }

    /// The ranks of the job on each of which it waits, in order. A wait that any rank can end adds none.
    pub fn awaited_ranks(&self) -> Vec<u32> {
        let mut ranks: Vec<u32> = match *self.state {
            CpuState::Waiting { .. } => {
                let blocks = |owner: Owner| match owner {
                    Owner::Blocked => true,
                    Owner::Collective(of) => {
                        let collective = self.requests.get(of);
                        collective.is_some_and(|request| request.owner == Owner::Blocked)
                    }
                    // Any of several can end the wait.
                    Owner::Program | Owner::Unawaited | Owner::Contending => false,
                };
                let awaited = self.requests.iter().filter(|(_, request)| blocks(request.owner));
                awaited.filter_map(|(_, request)| request.info.peer).collect()
            }
            CpuState::Probing { pattern, .. } => pattern.from.into_iter().collect(),
            CpuState::New
            | CpuState::Running
            | CpuState::Busy { .. }
            | CpuState::Finished
            | CpuState::Stopped { .. } => Vec::new(),
        };
        ranks.sort_unstable();
        ranks.dedup();
        ranks
    }

    fn describe(&self, handle: u32, request: &Request) -> String {
        let RequestInfo {
            kind,
            peer: from,
            tag,
            context,
            call,
        } = request.info;
        let what = match (kind, request.matched) {
            (RequestKind::Receive, false) => "a message from",
            (RequestKind::Receive, true) => "the data of a message from",
            (RequestKind::Send, false) => "the receive of a message to",
            (RequestKind::Send, true) => "the injection of a message to",
            (RequestKind::Put, _) => "the acknowledgement of a put to",
            (RequestKind::Get, _) => "the data of a get from",
            (RequestKind::Collective, _) => {
                let messages = self.requests.of_collective(handle);
                let count = self.requests.of_collective(handle).count();
                let described = messages.map(|message| self.describe(handle, message));
                return format!("{}: {}", call.name(), shown(described, count));
            }
        };
        self.envelope(what, &MatchPattern { context, from, tag })
    }

    fn envelope(&self, what: &str, pattern: &MatchPattern) -> String {
        let communicator = communicator_of(pattern.context);
        let peer = match pattern.from {
            None => "any rank".to_string(),
            Some(peer) => format!("rank {}", self.rank_in(communicator, peer)),
        };
        let tag = match pattern.tag {
            _ if pattern.context == communicator | RMA_CONTEXT => String::new(),
            None => "any tag, ".to_string(),
            Some(tag) if pattern.context & COLLECTIVE_CONTEXT != 0 => format!("round {}, ", round_of(tag)),
            Some(tag) => format!("tag {tag}, "),
        };
        format!("{what} {peer}, {tag}communicator {communicator}")
    }

    /// The idle time until now of a wait that has not ended, and whether it is for a collective. No message tells its
    /// cause: it waits for another rank.
    pub(crate) fn unended_idle(&self, now: Time) -> (bool, IdleTime) {
        let since = match *self.state {
            CpuState::Waiting { busy_until, .. } | CpuState::Probing { busy_until, .. } => busy_until,
            _ => now,
        };
        let idle = IdleTime {
            partner: now.saturating_sub(since),
            ..IdleTime::default()
        };
        let mut contexts = self.requests.blocking().map(|(_, request)| request.info.context);
        (contexts.any(|context| context & COLLECTIVE_CONTEXT != 0), idle)
    }

    /// An error of the owner.
    pub(crate) fn contract_error(&self, what: impl Into<String>) -> ReplayError {
        ReplayError::Contract {
            rank: self.rank,
            what: what.into(),
        }
    }
}
