//! One MPI process: its state, what its owner may call, and what it reports.
//!
//! What operations do stands in `operations` and, for collectives, in `ongoing`; what messages do
//! stands in `progress`. The state changes only there, through its parts; `journal` takes it back.

use std::fmt;
use std::sync::Arc;

use des::Time;
use serde::{Deserialize, Serialize};
use workload::{Call, Program};

use crate::collectives::round_of;
use crate::journal::{Handles, Journal, Value};
use crate::matching::Matching;
use crate::message::{COLLECTIVE_CONTEXT, Message};
use crate::ongoing::Ongoing;
use crate::ordering::Ordering;
use crate::program::Cursor;
use crate::requests::{Direction, Request, Requests, Subject};
use crate::statistics::Statistics;
use crate::{Job, RankStats, ReplayError};

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
}

/// What the CPU of a rank does.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum State {
    /// Not started.
    New,
    /// Goes from operation to operation; only while the owner's call lasts.
    Running,
    /// Computes or pays an overhead, and then lets a message go.
    Busy {
        until: Time,
        departure: Option<Departure>,
    },
    /// Blocked on requests; has paid the overheads of what arrived up to `busy_until`.
    Waiting { outstanding: u32, busy_until: Time },
    /// The program has ended.
    Finished,
}

/// A message whose send overhead is being paid.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Departure {
    /// Rank of the job.
    pub to: u32,
    pub context: u32,
    pub tag: u32,
    pub bytes: u64,
    pub call: Call,
    pub origin: Origin,
}

impl Departure {
    /// Complete for the sender once it has left, whatever its size.
    pub fn is_buffered(&self) -> bool {
        matches!(self.call, Call::Bsend | Call::Ibsend)
    }

    /// Complete only when it is matched, whatever its size.
    pub fn is_synchronous(&self) -> bool {
        matches!(self.call, Call::Ssend | Call::Issend)
    }

    pub fn subject(&self) -> Subject {
        let Departure {
            to,
            context,
            tag,
            call,
            ..
        } = *self;
        Subject {
            direction: Direction::Send,
            peer: Some(to),
            tag: Some(tag),
            context,
            call,
        }
    }
}

/// What the sender does once its message has left.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Origin {
    /// Blocks until the send is complete.
    Blocking,
    /// Goes on, and asks by this request later.
    NonBlocking(u64),
    /// Goes on with the round of a collective.
    Collective,
}

/// What the time since the last operation began counts for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Activity {
    None,
    Compute,
    Call { call: Call, calls: u64 },
}

/// One MPI process, driven by its owner.
pub struct Rank {
    pub(crate) job: Arc<Job>,
    pub(crate) rank: u32,
    pub(crate) journal: Journal,
    pub(crate) program: Cursor,
    pub(crate) state: Value<State>,
    pub(crate) activity: Value<Activity>,
    /// Begin of the activity.
    pub(crate) since: Value<Time>,
    pub(crate) ordering: Ordering,
    pub(crate) matching: Matching,
    pub(crate) requests: Requests,
    /// Handles of the program's open requests, by its own numbers.
    pub(crate) open: Handles<u64>,
    /// Receives that have been cleared to send, by sender and sequence of their data.
    pub(crate) awaiting_data: Handles<(u32, u32)>,
    pub(crate) collective: Ongoing,
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
    pub fn new(job: Arc<Job>, rank: u32, program: Box<dyn Program>) -> Rank {
        Rank {
            job,
            rank,
            journal: Journal::default(),
            program: Cursor::new(program),
            state: Value::new(State::New),
            activity: Value::new(Activity::None),
            since: Value::new(Time::ZERO),
            ordering: Ordering::default(),
            matching: Matching::default(),
            requests: Requests::default(),
            open: Handles::default(),
            awaiting_data: Handles::default(),
            collective: Ongoing::default(),
            stats: Statistics::new(RankStats::default()),
        }
    }

    /// Begins the program. Messages may have arrived before.
    ///
    /// # Errors
    /// The first operations are wrong, or the rank has been started before.
    pub fn start(&mut self, now: Time, out: &mut Vec<Action>) -> Result<(), ReplayError> {
        if *self.state != State::New {
            return Err(self.broken("it was started twice"));
        }
        self.state.set(State::Running, &mut self.journal);
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
            State::Busy { until, departure } if until == now => {
                self.state.set(State::Running, &mut self.journal);
                self.go_on(departure, now, out)
            }
            state => Err(self.broken(format!("it was resumed at {now} in the state {state:?}"))),
        }
    }

    /// The whole message has arrived. The network may deliver in any order.
    ///
    /// # Errors
    /// The message is longer than the receive that it matches; the operations that it lets go on are
    /// wrong; or the message belongs to nothing that this rank has begun.
    pub fn arrived(&mut self, now: Time, message: Message, out: &mut Vec<Action>) -> Result<(), ReplayError> {
        self.take_arrival(now, message, out)?;
        self.wake(now, out)
    }

    /// The last byte of the data of this request has left the NIC.
    ///
    /// # Errors
    /// The operations that this lets go on are wrong, or no data of this request was under way.
    pub fn injected(&mut self, now: Time, request: u32, out: &mut Vec<Action>) -> Result<(), ReplayError> {
        self.take_injection(now, request)?;
        self.wake(now, out)
    }

    /// Whether the program has ended.
    pub fn finished(&self) -> bool {
        *self.state == State::Finished
    }

    /// Whether nothing but an arrival or an injection lets it go on.
    pub fn blocked(&self) -> bool {
        matches!(*self.state, State::Waiting { .. })
    }

    /// What the rank has done so far; the operation under way is not yet in it.
    pub fn stats(&self) -> &RankStats {
        self.stats.get()
    }

    /// Messages that have arrived and that no receive has asked for so far.
    pub fn unexpected_messages(&self) -> usize {
        self.matching.unexpected() + self.ordering.held()
    }

    /// Sends and receives that have begun and are not over, or that the program has not asked about.
    pub fn open_requests(&self) -> usize {
        self.requests.open_count()
    }

    /// What the rank is blocked on, for reports of a deadlock: `MPI_Wait for a message from rank 3, tag
    /// 7, communicator 0`. Nothing while it computes, before its start and after its end.
    pub fn waiting_for(&self) -> Option<String> {
        const SHOWN: usize = 3;
        let State::Waiting { outstanding, .. } = *self.state else {
            return None;
        };
        let shown: Vec<String> = self
            .requests
            .blocking()
            .take(SHOWN)
            .map(|r| self.describe(r))
            .collect();
        let Activity::Call { call, .. } = *self.activity else {
            return None;
        };
        let rest = (outstanding as usize).saturating_sub(SHOWN);
        let more = if rest > 0 {
            format!("; and {rest} more")
        } else {
            String::new()
        };
        Some(format!("{} for {}{more}", call.name(), shown.join("; ")))
    }

    fn describe(&self, request: &Request) -> String {
        let subject = &request.subject;
        let communicator = subject.context & !COLLECTIVE_CONTEXT;
        let of_collective = subject.context != communicator;
        let peer = match subject.peer {
            None => "any rank".to_string(),
            Some(peer) => format!("rank {}", self.job.rank_in(communicator, peer).unwrap_or(peer)),
        };
        let tag = match subject.tag {
            None => "any tag".to_string(),
            Some(tag) if of_collective => format!("round {}", round_of(tag)),
            Some(tag) => format!("tag {tag}"),
        };
        let what = match (subject.direction, request.matched) {
            (Direction::Receive, false) => "a message from",
            (Direction::Receive, true) => "the data of a message from",
            (Direction::Send, false) => "the receive of a message to",
            (Direction::Send, true) => "the injection of a message to",
        };
        format!("{what} {peer}, {tag}, communicator {communicator}")
    }

    /// The owner has broken the contract.
    pub(crate) fn broken(&self, what: impl Into<String>) -> ReplayError {
        ReplayError::Contract {
            rank: self.rank,
            what: what.into(),
        }
    }
}
