//! One MPI process: its state, what its owner may call, and what it reports.
//!
//! What operations do stands in `operations`, for collectives in `ongoing` and `background`, for one-sided
//! communication in `one_sided`; what messages do stands in `progress`. The state changes only there, through its parts; `journal` takes it back.

use std::fmt;
use std::sync::Arc;

use des::Time;
use serde::{Deserialize, Serialize};
use workload::{Call, Program, Region};

use crate::blocking_collective::BlockingCollective;
use crate::collectives::round_of;
use crate::journal::{HandleMap, Journaled, RankJournal};
use crate::matching::{MatchPattern, MatchingQueues};
use crate::message::{COLLECTIVE_CONTEXT, Message, communicator_of};
use crate::nonblocking_collective::NonBlockingCollectives;
use crate::ordering::MessageOrder;
use crate::program::ProgramCursor;
use crate::requests::{Owner, Request, RequestInfo, RequestKind, Requests};
use crate::statistics::Statistics;
use crate::tracing::TracedUntil;
use crate::{MpiJob, RankStats, ReplayError, TraceEvent, WINDOW_CONTEXT};

/// What a rank wants of its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Carry this message to rank [`Message::to`] of the job (possibly this rank itself), call
    /// [`Rank::arrived`] there when all of it is there, and, if [`Message::reports_injection`], call
    /// [`Rank::injected`] here when its last byte has left.
    Send(Message),
    /// Call [`Rank::resume`] at this time, which is later than now. At most one is outstanding.
    ResumeAt(Time),
    /// The program has ended. Messages may still arrive and must still be brought.
    Finished,
    /// To be known, not to be done; only after [`Rank::set_tracing`].
    Trace(TraceEvent),
}

/// What the CPU of a rank does.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum CpuState {
    /// Not started.
    New,
    /// Goes from operation to operation; only while the owner's call lasts.
    Running,
    /// Computes or pays an overhead, and then lets a message go.
    Busy {
        until: Time,
        departure: Option<OutgoingSend>,
    },
    /// Blocked on requests; has paid the overheads of what arrived up to `busy_until`.
    Waiting { outstanding: u32, busy_until: Time },
    /// Blocked until a message of this kind is here; has looked at others up to `busy_until`.
    Probing { pattern: MatchPattern, busy_until: Time },
    /// The program has ended.
    Finished,
}

/// A message whose send overhead is being paid.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct OutgoingSend {
    /// Rank of the job.
    pub to: u32,
    pub context: u32,
    pub tag: u32,
    pub bytes: u64,
    pub call: Call,
    pub origin: SendOrigin,
}

impl OutgoingSend {
    /// Complete for the sender once it has left, whatever its size.
    pub fn is_buffered(&self) -> bool {
        matches!(self.call, Call::Bsend | Call::Ibsend)
    }

    /// Complete only when it is matched, whatever its size.
    pub fn is_synchronous(&self) -> bool {
        matches!(self.call, Call::Ssend | Call::Issend)
    }

    pub fn info(&self) -> RequestInfo {
        let OutgoingSend {
            to,
            context,
            tag,
            call,
            origin,
            ..
        } = *self;
        let kind = match origin {
            SendOrigin::Put => RequestKind::Put,
            SendOrigin::Get => RequestKind::Get,
            SendOrigin::Blocking | SendOrigin::NonBlocking(_) | SendOrigin::Collective => RequestKind::Send,
        };
        RequestInfo {
            kind,
            peer: Some(to),
            tag: Some(tag),
            context,
            call,
        }
    }
}

/// What the sender does once its message has left.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum SendOrigin {
    /// Blocks until the send is complete.
    Blocking,
    /// Goes on, and asks by this request later.
    NonBlocking(u64),
    /// Goes on with the round of a collective.
    Collective,
    /// Goes on; the payload goes into the memory of the other.
    Put,
    /// Goes on; the payload comes out of the memory of the other.
    Get,
}

/// What the time since the last operation began counts for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum CpuActivity {
    None,
    /// In this part of the application's code.
    Compute(Option<Region>),
    Call {
        call: Call,
        calls: u64,
    },
}

/// The first of so many things, and how many there are more.
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
    /// Whether it tells of what it does.
    pub(crate) tracing: bool,
    pub(crate) program: ProgramCursor,
    pub(crate) state: Journaled<CpuState>,
    pub(crate) activity: Journaled<CpuActivity>,
    /// Begin of the activity.
    pub(crate) since: Journaled<Time>,
    /// Until when parts of the activity have been told of.
    pub(crate) traced_until: Journaled<TracedUntil>,
    pub(crate) ordering: MessageOrder,
    pub(crate) matching: MatchingQueues,
    pub(crate) requests: Requests,
    /// Handles of the program's open requests, by its own numbers.
    pub(crate) open: HandleMap<u64>,
    /// Receives that have been cleared to send, by sender and sequence of their data.
    pub(crate) awaiting_data: HandleMap<(u32, u32)>,
    /// Collectives begun so far, by context, modulo 2^32.
    pub(crate) sequences: HandleMap<u32>,
    pub(crate) collective: BlockingCollective,
    pub(crate) nonblocking: NonBlockingCollectives,
    pub(crate) stats: Statistics,
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
    /// Rank `rank` of the job, which will carry out `program`.
    pub fn new(job: Arc<MpiJob>, rank: u32, program: Box<dyn Program>) -> Rank {
        Rank {
            job,
            rank,
            journal: RankJournal::default(),
            tracing: false,
            program: ProgramCursor::new(program),
            state: Journaled::new(CpuState::New),
            activity: Journaled::new(CpuActivity::None),
            since: Journaled::new(Time::ZERO),
            traced_until: Journaled::new(TracedUntil::default()),
            ordering: MessageOrder::default(),
            matching: MatchingQueues::default(),
            requests: Requests::default(),
            open: HandleMap::default(),
            awaiting_data: HandleMap::default(),
            sequences: HandleMap::default(),
            collective: BlockingCollective::default(),
            nonblocking: NonBlockingCollectives::default(),
            stats: Statistics::new(RankStats::default()),
        }
    }

    /// Begins the program. Messages may have arrived before.
    ///
    /// # Errors
    /// The first operations are wrong, or the rank has been started before.
    pub fn start(&mut self, now: Time, out: &mut Vec<Action>) -> Result<(), ReplayError> {
        if *self.state != CpuState::New {
            return Err(self.contract_error("it was started twice"));
        }
        self.state.set(CpuState::Running, &mut self.journal);
        self.since.set(now, &mut self.journal);
        self.stats.start(now, &mut self.journal);
        self.advance(now, out)
    }

    /// Goes on at the time of the last [`Action::ResumeAt`].
    ///
    /// # Errors
    /// The next operations are wrong, or the rank did not ask for this time.
    pub fn resume(&mut self, now: Time, out: &mut Vec<Action>) -> Result<(), ReplayError> {
        match *self.state {
            CpuState::Busy { until, departure } if until == now => {
                self.state.set(CpuState::Running, &mut self.journal);
                self.resume_after(departure, now, out)
            }
            state => Err(self.contract_error(format!("it was resumed at {now} in the state {state:?}"))),
        }
    }

    /// The whole message has arrived. The network may deliver in any order.
    ///
    /// # Errors
    /// The message is longer than the receive that it matches; the operations that it lets go on are
    /// wrong; or the message belongs to nothing that this rank has begun.
    pub fn arrived(&mut self, now: Time, message: Message, out: &mut Vec<Action>) -> Result<(), ReplayError> {
        self.accept_arrival(now, message, out)?;
        self.resume_if_complete(now, out)
    }

    /// The last byte of the data of this request has left the NIC.
    ///
    /// # Errors
    /// The operations that this lets go on are wrong, or no data of this request was under way.
    pub fn injected(&mut self, now: Time, request: u32, out: &mut Vec<Action>) -> Result<(), ReplayError> {
        self.accept_injection(now, request, out)?;
        self.resume_if_complete(now, out)
    }

    /// Whether the program has ended.
    pub fn finished(&self) -> bool {
        *self.state == CpuState::Finished
    }

    /// Whether nothing but an arrival or an injection lets it go on.
    pub fn blocked(&self) -> bool {
        matches!(*self.state, CpuState::Waiting { .. } | CpuState::Probing { .. })
    }

    /// What the rank has done so far; the operation under way is not yet in it.
    pub fn stats(&self) -> &RankStats {
        self.stats.get()
    }

    /// Messages that have arrived and that no receive has asked for so far.
    pub fn unexpected_messages(&self) -> usize {
        self.matching.unexpected() + self.ordering.early_count()
    }

    /// Sends, receives and so on that have begun and are not over, or that the program has not asked about.
    pub fn open_requests(&self) -> usize {
        self.requests.open_count()
    }

    /// What the rank is blocked on, for reports of a deadlock: `MPI_Wait for a message from rank 3, tag
    /// 7, communicator 0`. Nothing while it computes, before its start and after its end.
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
            CpuState::New | CpuState::Running | CpuState::Busy { .. } | CpuState::Finished => return None,
        };
        Some(format!("{} for {what}", call.name()))
    }

    /// The ranks of the job without which it cannot go on, in order: it waits for something of each of them.
    /// What any rank can end is not among them.
    pub fn awaited_ranks(&self) -> Vec<u32> {
        let mut ranks: Vec<u32> = match *self.state {
            CpuState::Waiting { .. } => {
                let blocks = |owner: Owner| match owner {
                    Owner::Blocked => true,
                    Owner::Collective(of) => {
                        let collective = self.requests.get(of);
                        collective.is_some_and(|request| request.owner == Owner::Blocked)
                    }
                    Owner::Program | Owner::Nobody => false,
                };
                let awaited = self.requests.iter().filter(|(_, request)| blocks(request.owner));
                awaited.filter_map(|(_, request)| request.info.peer).collect()
            }
            CpuState::Probing { pattern, .. } => pattern.from.into_iter().collect(),
            CpuState::New | CpuState::Running | CpuState::Busy { .. } | CpuState::Finished => Vec::new(),
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
            Some(peer) => format!("rank {}", self.job.rank_in(communicator, peer).unwrap_or(peer)),
        };
        let tag = match pattern.tag {
            _ if pattern.context == communicator | WINDOW_CONTEXT => String::new(),
            None => "any tag, ".to_string(),
            Some(tag) if pattern.context & COLLECTIVE_CONTEXT != 0 => format!("round {}, ", round_of(tag)),
            Some(tag) => format!("tag {tag}, "),
        };
        format!("{what} {peer}, {tag}communicator {communicator}")
    }

    /// The owner has broken the contract.
    pub(crate) fn contract_error(&self, what: impl Into<String>) -> ReplayError {
        ReplayError::Contract {
            rank: self.rank,
            what: what.into(),
        }
    }
}
