//! Replay of recorded MPI calls: the common part of the formats that record calls with their arguments (DUMPI,
//! liballprof).
//!
//! A format decodes arguments and knows its requests ([`RecordedCalls`]); here calls become operations. Time
//! between calls is computation; the simulator determines the time inside them.

mod collective;
pub mod communicators;

use std::collections::{BTreeMap, VecDeque};

pub use collective::{Side, unequal_own_parts};
pub use communicators::{CommunicatorRef, Communicators};

use crate::recording_window::{FINALIZE, INITIALIZE, RecordingEdges, RecordingTracker};
use crate::{Call, Collective, Operation, Recording, Reduction, TraceError};

/// `MPI_ANY_SOURCE` and `MPI_ANY_TAG` in an [`Envelope`].
pub const ANY: i64 = -1;

/// A collective that a call performs internally, and its bytes.
pub type InternalCollective = (Collective, u64);

/// The ranks agree on a free context id, as in MPICH: they reduce a mask of 64 words of 32 bits
/// (`MPIR_MAX_CONTEXT_MASK` in `src/mpi/comm/contextid.c`).
pub const AGREE_ON_CONTEXT: InternalCollective = (Collective::Allreduce, 256);
/// The ranks exchange colour and key (`src/mpi/comm/comm_split.c`).
pub const EXCHANGE_COLORS: InternalCollective = (Collective::Allgather, 8);
/// The ranks exchange base, size, displacement unit and handle of an RMA window: four addresses.
pub const EXCHANGE_RMA_WINDOWS: InternalCollective = (Collective::Allgather, 32);

/// The collectives that a call performs on the parent to create communicators, as in MPICH.
pub fn creation_cost(name: &str) -> Option<&'static [InternalCollective]> {
    Some(match name {
        "MPI_Comm_dup"
        | "MPI_Comm_dup_with_info"
        | "MPI_Comm_create"
        | "MPI_Cart_create"
        | "MPI_Graph_create"
        | "MPI_Dist_graph_create"
        | "MPI_Dist_graph_create_adjacent" => &[AGREE_ON_CONTEXT],
        "MPI_Comm_split" | "MPI_Comm_split_type" | "MPI_Cart_sub" => &[EXCHANGE_COLORS, AGREE_ON_CONTEXT],
        _ => return None,
    })
}

/// Why a call yields no operations.
#[derive(Debug)]
pub enum ReplayFailure {
    /// The trace cannot be read.
    Source(TraceError),
    /// The call is invalid.
    Invalid(String),
}

impl ReplayFailure {
    /// The error; `at` adds the place of an invalid call.
    pub fn into_error(self, at: impl FnOnce(String) -> TraceError) -> TraceError {
        match self {
            ReplayFailure::Source(error) => error,
            ReplayFailure::Invalid(message) => at(message),
        }
    }
}

impl From<String> for ReplayFailure {
    fn from(message: String) -> ReplayFailure {
        ReplayFailure::Invalid(message)
    }
}

impl From<TraceError> for ReplayFailure {
    fn from(error: TraceError) -> ReplayFailure {
        ReplayFailure::Source(error)
    }
}

/// The arguments that all sends and receives have.
#[derive(Clone, Debug)]
pub struct Envelope {
    /// The communicator.
    pub communicator: CommunicatorRef,
    /// Rank in it, or [`ANY`].
    pub peer: i64,
    /// Tag, or [`ANY`].
    pub tag: i64,
    /// Bytes, or why they are unknown.
    pub bytes: Result<u64, String>,
}

/// Which envelope of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnvelopeOf {
    /// The send of any call.
    Send,
    /// The receive of any call.
    Receive,
    /// The message that a probe looks for.
    Probe,
}

/// A persistent request.
#[derive(Clone, Debug)]
pub enum PersistentRequest {
    /// A send, and its call if it has a mode of its own.
    Send(Option<Envelope>, Option<Call>),
    /// A receive.
    Receive(Option<Envelope>),
}

/// State of the replay of one rank's calls.
#[derive(Default)]
pub struct CallReplay {
    rank: u32,
    /// Operations, and whether they are in the window that is replayed.
    queue: VecDeque<(Operation, bool)>,
    window: RecordingTracker,
    /// Whether the current call is in the window.
    inside: bool,
    /// Whether the last operation was in the window.
    pub was_inside: bool,
    /// Operations so far.
    pushed: u64,
    /// Computation that is not in the queue yet, in picoseconds.
    computed_ps: u64,
    ended: bool,
    next_request: u64,
    persistent: BTreeMap<u64, PersistentRequest>,
    /// Calls so far that created communicators.
    created: usize,
    /// The rank's numbers in communicators, and their sizes, by communicator.
    positions: BTreeMap<u32, (usize, usize)>,
    /// Receives from any source or with any tag.
    pub wildcards: u64,
    /// What the recording tells beside the operations.
    pub recording: Recording,
}

impl CallReplay {
    /// State before the first call.
    pub fn new(rank: u32, edges: RecordingEdges) -> CallReplay {
        CallReplay {
            rank,
            window: RecordingTracker::new(edges),
            inside: true,
            was_inside: true,
            ..CallReplay::default()
        }
    }

    /// Adds computation before the next operation, as far as it is in the window. It was recorded between two times,
    /// in picoseconds after the first event, perhaps by another clock.
    pub fn compute(&mut self, ps: u64, (from_ps, to_ps): (u64, u64)) {
        let ps = self.window.computation(ps, from_ps, to_ps);
        self.computed_ps = self.computed_ps.saturating_add(ps);
    }

    /// Passes the start of a call, after the computation before it has been added.
    pub fn begin_call(&mut self, name: &str, start_ps: u64) {
        if name == FINALIZE && self.window.finalizes(start_ps, &mut self.recording) {
            self.push_computed();
        }
        self.inside = self.window.call(start_ps, &mut self.recording);
    }

    /// Passes the end of a call.
    pub fn end_call(&mut self, name: &str, end_ps: u64) {
        if INITIALIZE.contains(&name)
            && self
                .window
                .initialized(end_ps, self.pushed == 0, &mut self.recording)
        {
            self.computed_ps = 0;
        }
    }

    /// Passes the end of the recording.
    pub fn end(&mut self) {
        if self.window.is_finalized() {
            self.computed_ps = 0;
        }
        self.push_computed();
        self.window.finish(&mut self.recording);
    }

    /// Notes a call in the window that is not replayed, and the recorded time in it.
    pub fn leave_out(&mut self, name: &str, ps: u64) {
        if self.inside {
            self.recording.leave_out(name, ps);
        }
    }

    /// Whether no later call is in the window.
    pub fn is_past(&self) -> bool {
        self.queue.is_empty() && self.window.is_past(self.recording.span_ps)
    }

    /// MPI calls so far, and those in the window.
    pub fn calls(&self) -> (u64, u64) {
        (self.window.calls(), self.window.calls_inside())
    }

    /// Appends an operation.
    pub fn push(&mut self, operation: Operation) {
        self.push_computed();
        self.queue.push_back((operation, self.inside));
        self.pushed += 1;
    }

    /// Appends a wait.
    pub fn push_wait(&mut self, requests: Vec<u64>, call: Call) {
        self.push(Operation::Wait { requests, call });
    }

    /// Appends the computation so far.
    pub fn push_computed(&mut self) {
        let ps = std::mem::take(&mut self.computed_ps);
        if ps > 0 {
            self.queue
                .push_back((Operation::Compute { ps, region: None }, true));
            self.pushed += 1;
        }
    }

    /// Number of queued operations.
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    /// A new request number.
    pub fn request(&mut self) -> u64 {
        self.next_request += 1;
        self.next_request - 1
    }

    /// Whether a persistent request exists at a key.
    pub fn is_persistent(&self, key: u64) -> bool {
        self.persistent.contains_key(&key)
    }

    /// Keys of persistent requests in a range.
    pub fn persistent_in(&self, keys: std::ops::Range<u64>) -> impl Iterator<Item = u64> {
        self.persistent.range(keys).map(|(key, _)| *key)
    }

    /// The child of the rank's next call that creates a communicator.
    pub fn next_created(&mut self, communicators: &Communicators) -> Option<CommunicatorRef> {
        self.created += 1;
        let created = &communicators.created[self.rank as usize];
        created.get(self.created - 1).copied().flatten()
    }

    /// Appends the collectives that a call performs internally.
    pub fn push_internal(&mut self, communicator: CommunicatorRef, steps: &[InternalCollective], call: Call) {
        let CommunicatorRef::Group(communicator) = communicator else {
            return;
        };
        for (collective, bytes) in steps {
            self.push(internal_collective(communicator, *collective, *bytes, call));
        }
    }
}

/// The operation of a collective that a call performs internally.
pub fn internal_collective(communicator: u32, collective: Collective, bytes: u64, call: Call) -> Operation {
    Operation::Collective {
        collective,
        communicator,
        root: 0,
        bytes,
        counts: None,
        request: None,
        reduction: None,
        call,
    }
}

/// The calls of one rank in a format that records arguments.
///
/// Requests have keys, handles or addresses, that the application may use again.
pub trait RecordedCalls {
    /// One call.
    type Record;

    /// State of the replay.
    fn replay(&mut self) -> &mut CallReplay;

    /// Communicators of the trace.
    fn communicators(&self) -> &Communicators;

    /// Reads and replays a call; false at the end.
    fn read(&mut self) -> Result<bool, TraceError>;

    /// Name of a call's function.
    fn name(record: &Self::Record) -> &'static str;

    /// The communicator of a call; the parent, where it creates one.
    fn communicator(&self, record: &Self::Record) -> Result<CommunicatorRef, String>;

    /// An envelope of a call; `None` for `MPI_PROC_NULL`, and for a probe that found nothing.
    fn envelope(&self, record: &Self::Record, of: EnvelopeOf) -> Result<Option<Envelope>, String>;

    /// Completes the envelope of a posted receive with what the trace records later; `None` if the receive
    /// never completes.
    fn complete_envelope(
        &mut self,
        _record: &Self::Record,
        envelope: Envelope,
    ) -> Result<Option<Envelope>, TraceError> {
        Ok(Some(envelope))
    }

    /// Key of a call's request.
    fn request_key(&self, record: &Self::Record) -> u64;

    /// Keys of the requests that `MPI_Startall` starts.
    fn started_keys(&self, record: &Self::Record) -> Result<Vec<u64>, String>;

    /// Opens a request; `number` is `None` if no operation belongs to it.
    fn open_request(&mut self, key: u64, number: Option<u64>);

    /// Forgets an open request.
    fn forget_request(&mut self, key: u64);

    /// Replays a call that waits for requests or tests them.
    fn complete_requests(&mut self, record: &Self::Record, call: Call) -> Result<(), String>;

    /// Replays what a call does to communicators.
    fn change_communicators(&mut self, record: &Self::Record, parent: CommunicatorRef);

    /// Recorded root of a collective.
    fn root(&self, record: &Self::Record, collective: Collective) -> i64;

    /// Bytes of the send or receive buffer of a collective with one count.
    fn buffer_bytes(&self, record: &Self::Record, side: Side) -> Result<u64, String>;

    /// Bytes for each rank of a collective with varying counts.
    fn bytes_by_rank(&self, record: &Self::Record, side: Side) -> Result<Vec<u64>, String>;

    /// Whether a buffer of a collective is `MPI_IN_PLACE`; `None` if the record does not tell.
    fn in_place(&self, record: &Self::Record) -> Option<bool>;

    /// The reduction of a collective; `None` if it has none, or if the record does not tell.
    fn reduction(&self, record: &Self::Record) -> Option<Reduction>;

    /// The next operation; `None` at the end and after an error.
    fn next_operation(&mut self) -> Result<Option<Operation>, TraceError> {
        loop {
            let replay = self.replay();
            if let Some((operation, inside)) = replay.queue.pop_front() {
                replay.was_inside = inside;
                return Ok(Some(operation));
            }
            if replay.ended {
                return Ok(None);
            }
            let more = self.read();
            let replay = self.replay();
            replay.ended = !matches!(more, Ok(true));
            if let Err(error) = more {
                replay.queue.clear();
                return Err(error);
            }
        }
    }

    /// Makes operations of a call; calls that do not communicate make none.
    fn replay_call(&mut self, record: &Self::Record) -> Result<(), ReplayFailure> {
        let name = Self::name(record);
        let call = Call::from_name(name).unwrap_or(Call::Other);
        match call {
            Call::Send | Call::Ssend | Call::Bsend | Call::Rsend => {
                let envelope = self.envelope(record, EnvelopeOf::Send)?;
                self.send(envelope, None, call)?;
            }
            Call::Isend | Call::Issend | Call::Ibsend | Call::Irsend => {
                let envelope = self.envelope(record, EnvelopeOf::Send)?;
                let key = self.request_key(record);
                self.replay().persistent.remove(&key);
                self.start_send(envelope, key, call)?;
            }
            Call::Recv => {
                if let Some(envelope) = self.envelope(record, EnvelopeOf::Receive)? {
                    let receive = self.receive(envelope, None, call)?;
                    self.replay().push(receive);
                }
            }
            Call::Irecv => {
                let envelope = self.envelope(record, EnvelopeOf::Receive)?;
                let key = self.request_key(record);
                self.replay().persistent.remove(&key);
                self.post_receive(record, envelope, key, call)?;
            }
            Call::Sendrecv => self.exchange(record)?,
            Call::Start => self.start(record, self.request_key(record), call)?,
            Call::Startall => {
                for key in self.started_keys(record)? {
                    self.start(record, key, call)?;
                }
            }
            _ if call.completes_requests() => self.complete_requests(record, call)?,
            Call::Probe | Call::Iprobe => self.probe(record, call)?,
            _ => match name {
                "MPI_Sendrecv_replace" => self.exchange(record)?,
                "MPI_Send_init" => self.prepare_send(record, None)?,
                "MPI_Ssend_init" => self.prepare_send(record, Some(Call::Issend))?,
                "MPI_Bsend_init" => self.prepare_send(record, Some(Call::Ibsend))?,
                "MPI_Rsend_init" => self.prepare_send(record, Some(Call::Irsend))?,
                "MPI_Recv_init" => {
                    let envelope = self.envelope(record, EnvelopeOf::Receive)?;
                    self.prepare(record, PersistentRequest::Receive(envelope));
                }
                "MPI_Request_free" => {
                    let key = self.request_key(record);
                    self.forget_request(key);
                    self.replay().persistent.remove(&key);
                }
                "MPI_Comm_free" | "MPI_Comm_disconnect" => {
                    self.change_communicators(record, CommunicatorRef::SelfOnly(0));
                }
                _ => match creation_cost(name) {
                    Some(steps) => self.create_communicators(record, steps, call)?,
                    None => self.collective(record, call)?,
                },
            },
        }
        Ok(())
    }

    /// Communicator and rank in it of the other side of a message.
    fn peer(&mut self, what: &str, communicator: CommunicatorRef, peer: i64) -> Result<(u32, u32), String> {
        let size = self.communicators().size(communicator);
        let rank = u32::try_from(peer).ok().filter(|rank| (*rank as usize) < size);
        let rank =
            rank.ok_or_else(|| format!("{what} {peer}, which a communicator of {size} ranks does not have"))?;
        match communicator {
            CommunicatorRef::Group(id) => Ok((id, rank)),
            CommunicatorRef::SelfOnly(id) => Ok((id, self.replay().rank)),
        }
    }

    /// Communicator and rank in it of the sender; no rank for `MPI_ANY_SOURCE`.
    fn source(&mut self, what: &str, envelope: &Envelope) -> Result<(u32, Option<u32>), String> {
        if envelope.peer == ANY {
            return Ok((envelope.communicator.index(), None));
        }
        let (communicator, from) = self.peer(what, envelope.communicator, envelope.peer)?;
        Ok((communicator, Some(from)))
    }

    /// The operation of a send.
    fn send_operation(
        &mut self,
        envelope: Envelope,
        request: Option<u64>,
        call: Call,
    ) -> Result<Operation, String> {
        let (communicator, to) = self.peer("send to rank", envelope.communicator, envelope.peer)?;
        Ok(Operation::Send {
            to,
            tag: tag(envelope.tag)?,
            communicator,
            bytes: envelope.bytes?,
            request,
            call,
        })
    }

    /// Replays a send.
    fn send(&mut self, envelope: Option<Envelope>, request: Option<u64>, call: Call) -> Result<(), String> {
        if let Some(envelope) = envelope {
            let send = self.send_operation(envelope, request, call)?;
            self.replay().push(send);
        }
        Ok(())
    }

    /// Replays a send that opens a request.
    fn start_send(&mut self, envelope: Option<Envelope>, key: u64, call: Call) -> Result<(), String> {
        let number = envelope.is_some().then(|| self.replay().request());
        self.open_request(key, number);
        self.send(envelope, number, call)
    }

    /// The operation of a receive.
    fn receive(&mut self, envelope: Envelope, request: Option<u64>, call: Call) -> Result<Operation, String> {
        let (communicator, from) = self.source("receive from rank", &envelope)?;
        let tag = any_or_tag(envelope.tag)?;
        self.replay().wildcards += u64::from(from.is_none() || tag.is_none());
        Ok(Operation::Receive {
            from,
            tag,
            communicator,
            bytes: envelope.bytes?,
            request,
            call,
        })
    }

    /// Replays a receive that opens a request.
    fn post_receive(
        &mut self,
        record: &Self::Record,
        envelope: Option<Envelope>,
        key: u64,
        call: Call,
    ) -> Result<(), ReplayFailure> {
        let envelope = match envelope {
            Some(envelope) => self.complete_envelope(record, envelope)?,
            None => None,
        };
        let number = envelope.is_some().then(|| self.replay().request());
        self.open_request(key, number);
        if let Some(envelope) = envelope {
            let receive = self.receive(envelope, number, call)?;
            self.replay().push(receive);
        }
        Ok(())
    }

    /// Replays a send and a receive at once.
    fn exchange(&mut self, record: &Self::Record) -> Result<(), String> {
        let call = Call::Sendrecv;
        let (receive, send) = (self.replay().request(), self.replay().request());
        let mut requests = Vec::new();
        let mut operations = Vec::new();
        if let Some(envelope) = self.envelope(record, EnvelopeOf::Receive)? {
            operations.push(self.receive(envelope, Some(receive), call)?);
            requests.push(receive);
        }
        if let Some(envelope) = self.envelope(record, EnvelopeOf::Send)? {
            operations.push(self.send_operation(envelope, Some(send), call)?);
            requests.push(send);
        }
        for operation in operations {
            self.replay().push(operation);
        }
        if !requests.is_empty() {
            self.replay().push_wait(requests, call);
        }
        Ok(())
    }

    /// Replays the creation of a persistent send.
    fn prepare_send(&mut self, record: &Self::Record, mode: Option<Call>) -> Result<(), String> {
        let envelope = self.envelope(record, EnvelopeOf::Send)?;
        self.prepare(record, PersistentRequest::Send(envelope, mode));
        Ok(())
    }

    /// Replays the creation of a persistent request.
    fn prepare(&mut self, record: &Self::Record, request: PersistentRequest) {
        let key = self.request_key(record);
        self.forget_request(key);
        self.replay().persistent.insert(key, request);
    }

    /// Replays the start of a persistent request.
    fn start(&mut self, record: &Self::Record, key: u64, call: Call) -> Result<(), ReplayFailure> {
        match self.replay().persistent.get(&key).cloned() {
            Some(PersistentRequest::Send(envelope, mode)) => {
                self.start_send(envelope, key, mode.unwrap_or(call))?;
            }
            Some(PersistentRequest::Receive(envelope)) => self.post_receive(record, envelope, key, call)?,
            // Handles of DUMPI are signed.
            None => {
                let message = format!("request {} is started, but no recorded call makes it", key as i64);
                return Err(message.into());
            }
        }
        Ok(())
    }

    /// Replays a probe that found a message.
    fn probe(&mut self, record: &Self::Record, call: Call) -> Result<(), String> {
        if let Some(envelope) = self.envelope(record, EnvelopeOf::Probe)? {
            let (communicator, from) = self.source("probe of rank", &envelope)?;
            let tag = any_or_tag(envelope.tag)?;
            self.replay().push(Operation::Probe {
                from,
                tag,
                communicator,
                call,
            });
        }
        Ok(())
    }

    /// Replays a call that creates communicators.
    fn create_communicators(
        &mut self,
        record: &Self::Record,
        steps: &[InternalCollective],
        call: Call,
    ) -> Result<(), String> {
        let parent = self.communicator(record)?;
        let call = match Self::name(record) {
            "MPI_Comm_dup_with_info" => Call::CommDup,
            _ => call,
        };
        self.replay().push_internal(parent, steps, call);
        self.change_communicators(record, parent);
        Ok(())
    }

    /// Replays a collective; other calls do nothing.
    fn collective(&mut self, record: &Self::Record, call: Call) -> Result<(), String> {
        let collective = match Self::name(record) {
            "MPI_Alltoallw" => Collective::Alltoall,
            _ => match call.collective() {
                Some(collective) => collective,
                None => return Ok(()),
            },
        };
        let communicator = self.communicator(record)?;
        let root = self.root(record, collective);
        let (_, root) = self.peer("root", communicator, root)?;
        let root = if communicator.is_shared() { root } else { 0 };
        let (bytes, counts) = self.amounts(record, call, communicator, root)?;
        let mut request = None;
        if call.is_nonblocking_collective() {
            request = communicator.is_shared().then(|| self.replay().request());
            let key = self.request_key(record);
            self.replay().persistent.remove(&key);
            self.open_request(key, request);
        }
        if let CommunicatorRef::Group(communicator) = communicator {
            let reduction = self.reduction(record);
            self.replay().push(Operation::Collective {
                collective,
                communicator,
                root,
                bytes,
                counts: counts.map(Box::new),
                request,
                reduction,
                call,
            });
        }
        Ok(())
    }

    /// Bytes of a collective, and the bytes that each rank sends and receives where they vary.
    fn amounts(
        &mut self,
        record: &Self::Record,
        call: Call,
        communicator: CommunicatorRef,
        root: u32,
    ) -> Result<(u64, Option<crate::Counts>), String> {
        let rank = self.replay().rank;
        let id = communicator.index();
        let (own, size) = match self.replay().positions.get(&id) {
            Some(known) => *known,
            None => self.communicators().position(communicator, rank),
        };
        self.replay().positions.insert(id, (own, size));
        collective::amounts(self, record, call, (own, size), own == root as usize)
    }
}

fn tag(recorded: i64) -> Result<u32, String> {
    u32::try_from(recorded).map_err(|_| format!("tag {recorded}"))
}

fn any_or_tag(recorded: i64) -> Result<Option<u32>, String> {
    (recorded != ANY).then(|| tag(recorded)).transpose()
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn send(to: u32, tag: u32, bytes: u64, request: Option<u64>, call: Call) -> Operation {
        Operation::Send {
            to,
            tag,
            communicator: 0,
            bytes,
            request,
            call,
        }
    }

    pub fn receive(
        from: Option<u32>,
        tag: Option<u32>,
        bytes: u64,
        request: Option<u64>,
        call: Call,
    ) -> Operation {
        Operation::Receive {
            from,
            tag,
            communicator: 0,
            bytes,
            request,
            call,
        }
    }

    pub fn wait(requests: &[u64], call: Call) -> Operation {
        let requests = requests.to_vec();
        Operation::Wait { requests, call }
    }
}
