//! The operations of one rank, from its events.
//!
//! Time outside MPI functions is computation; the simulator determines the time inside. A receive that is
//! posted without a source takes source, tag and size from the event of its completion, and a non-blocking
//! collective its communicator, root and size. Operations wait in a queue until these are known.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use ::otf2::{CollectiveRecord, EventRecord, MessageRecord, RmaRecord, TimedEvent};

use super::archive::{EventSource, Otf2Archive};
use super::collective::{CollectiveKind, RecordedBytes, collective_kind};
use super::definitions::{CommunicatorMembership, Definitions, MpiRegion};
use crate::mpi_calls::{
    AGREE_ON_CONTEXT, EXCHANGE_WINDOWS, InternalCollective, ReplayFailure, creation_cost, internal_collective,
};
use crate::{Call, Operation, Program, Region, TraceError};

/// Largest number of operations that wait for a completion. Beyond it, a second pass over later events searches
/// for the completion of the first one, which costs time instead of memory.
pub const QUEUE: usize = 2048;

/// The current MPI function.
struct CurrentCall {
    region: MpiRegion,
    /// Regions entered since its start, the function itself first.
    stack: Vec<u32>,
    /// Requests that completed in it.
    completed: Vec<u64>,
    /// Sends of a Sendrecv, which follow its receives.
    sends: Vec<Operation>,
    /// Sequence number of its first operation.
    first: u64,
    is_wait: bool,
}

/// An open request.
#[derive(Clone, Copy, Debug)]
enum OpenRequest {
    Send { number: u64 },
    Receive { number: u64, sequence: u64 },
    Collective { number: u64, sequence: u64 },
}

/// The completion of a posted receive or collective.
#[derive(Clone, Copy, Debug)]
enum RequestCompletion {
    Receive(MessageRecord),
    Collective(CollectiveRecord),
}

enum QueuedOperation {
    Ready(Operation),
    /// A receive or non-blocking collective that is not complete, by OTF2 request.
    Posted {
        request: u64,
        number: u64,
        call: Call,
    },
    /// One that never completes, or moves no data of the application.
    Dropped,
}

/// The operations of one rank.
pub struct Otf2Program {
    archive: Arc<Otf2Archive>,
    replay: EventReplay,
    events: Box<dyn EventSource>,
}

impl Otf2Program {
    /// A program at the first event of `events`.
    pub fn new(archive: Arc<Otf2Archive>, rank: u32, events: Box<dyn EventSource>) -> Otf2Program {
        Otf2Program {
            replay: EventReplay::new(rank),
            archive,
            events,
        }
    }
}

impl Program for Otf2Program {
    fn next(&mut self) -> Result<Option<Operation>, TraceError> {
        let next = self.replay.next(&self.archive.definitions, &mut *self.events);
        next.map_err(|failure| failure.into_error(|message| self.archive.error(self.replay.rank, message)))
    }
}

/// State of the replay of one rank's events.
pub struct EventReplay {
    rank: u32,
    queue: VecDeque<QueuedOperation>,
    /// Sequence number of the queue's first operation.
    head: u64,
    current: Option<CurrentCall>,
    requests: HashMap<u64, OpenRequest>,
    next_number: u64,
    /// Time of the first event in ticks.
    origin: Option<u64>,
    /// Time since then, in picoseconds, up to which computation has been counted, and of the last event.
    computing_since: u64,
    last: u64,
    /// Computation by region that is not in the queue yet.
    computed: Vec<(Option<Region>, u64)>,
    /// Current regions outside MPI, the innermost last: OTF2's id, and the index in the workload's.
    regions: Vec<(u32, Region)>,
    ended: bool,
    /// Cached own rank in communicators.
    ranks: HashMap<u32, u64>,
}

impl EventReplay {
    /// State before the first event.
    pub fn new(rank: u32) -> EventReplay {
        EventReplay {
            rank,
            queue: VecDeque::new(),
            head: 0,
            current: None,
            requests: HashMap::new(),
            next_number: 0,
            origin: None,
            computing_since: 0,
            last: 0,
            computed: Vec::new(),
            regions: Vec::new(),
            ended: false,
            ranks: HashMap::new(),
        }
    }

    /// Number of open requests.
    pub fn open_requests(&self) -> usize {
        self.requests.len()
    }

    /// Number of queued operations.
    #[cfg(test)]
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// The next operation; `None` at the end.
    ///
    /// # Errors
    /// The events cannot be read or are invalid.
    pub fn next(
        &mut self,
        definitions: &Definitions,
        events: &mut dyn EventSource,
    ) -> Result<Option<Operation>, ReplayFailure> {
        loop {
            match self.queue.front() {
                Some(QueuedOperation::Dropped) => {
                    self.pop();
                }
                Some(QueuedOperation::Ready(_)) if self.is_settled() => {
                    if let Some(QueuedOperation::Ready(operation)) = self.pop() {
                        return Ok(Some(operation));
                    }
                }
                None if self.ended => return Ok(None),
                Some(QueuedOperation::Posted { request, .. })
                    if self.queue.len() >= QUEUE && self.is_settled() =>
                {
                    let request = *request;
                    self.look_ahead(request, definitions, events)?;
                }
                _ => match events.next()? {
                    Some(event) => self.take(event, definitions)?,
                    None => self.end(),
                },
            }
        }
    }

    fn pop(&mut self) -> Option<QueuedOperation> {
        self.head += 1;
        self.queue.pop_front()
    }

    /// Whether the MPI function of the first operation has ended.
    fn is_settled(&self) -> bool {
        self.current.as_ref().is_none_or(|c| self.head < c.first)
    }

    /// Searches later events for the completion of a request.
    fn look_ahead(
        &mut self,
        wanted: u64,
        definitions: &Definitions,
        events: &mut dyn EventSource,
    ) -> Result<(), ReplayFailure> {
        let mut ahead = events.fork();
        let found = loop {
            match ahead.next()?.map(|e| e.record) {
                Some(EventRecord::Irecv { message, request }) if request == wanted => {
                    break Some(RequestCompletion::Receive(message));
                }
                Some(EventRecord::CollectiveComplete { collective, request }) if request == wanted => {
                    break Some(RequestCompletion::Collective(collective));
                }
                Some(EventRecord::RequestCancelled { request }) if request == wanted => break None,
                Some(_) => {}
                None => break None,
            }
        };
        self.fill(self.head, found, definitions)?;
        Ok(())
    }

    /// Completes a queued operation from its completion, or drops it.
    fn fill(
        &mut self,
        sequence: u64,
        found: Option<RequestCompletion>,
        definitions: &Definitions,
    ) -> Result<(), ReplayFailure> {
        // An operation that was completed by searching may have left the queue.
        let Some(index) = sequence.checked_sub(self.head) else {
            return Ok(());
        };
        let Some(QueuedOperation::Posted { number, call, .. }) = self.queue.get(index as usize) else {
            return Ok(());
        };
        let (number, call) = (*number, *call);
        let operation = match found {
            None => None,
            Some(RequestCompletion::Receive(message)) => {
                Some(self.receive(message, Some(number), call, definitions)?)
            }
            Some(RequestCompletion::Collective(it)) => {
                self.collective(it, Some(number), call, definitions)?
            }
        };
        self.queue[index as usize] = operation.map_or(QueuedOperation::Dropped, QueuedOperation::Ready);
        Ok(())
    }

    fn take(&mut self, event: TimedEvent, definitions: &Definitions) -> Result<(), ReplayFailure> {
        let now = self.clock(event.time, definitions)?;
        self.last = now;
        match event.record {
            EventRecord::Mark
            | EventRecord::RequestTest { .. }
            | EventRecord::Measurement { .. }
            | EventRecord::TransferComplete { .. } => {}
            EventRecord::Enter { region } => self.enter(region, now, definitions),
            EventRecord::Leave { region } => self.leave(region, now),
            EventRecord::BufferFlush { until } => {
                let until = self.clock(until, definitions)?;
                self.pause(now, until);
            }
            EventRecord::Send(message) => self.send(message, None, now, definitions)?,
            EventRecord::Isend { message, request } => self.send(message, Some(request), now, definitions)?,
            EventRecord::IrecvRequest { request } => {
                let call = self.call(Call::Irecv);
                let (number, sequence) = self.post(request, call, now);
                self.open(request, OpenRequest::Receive { number, sequence })?;
            }
            EventRecord::Recv(message) => self.blocking_receive(message, now, definitions)?,
            EventRecord::IsendComplete { request } => self.complete(request, None, now, definitions)?,
            EventRecord::Irecv { message, request } => {
                self.complete(request, Some(message), now, definitions)?
            }
            EventRecord::RequestCancelled { request } => self.cancel(request, definitions)?,
            EventRecord::Put(transfer) => self.transfer(transfer, (true, false), now, definitions)?,
            EventRecord::Get(transfer) => self.transfer(transfer, (false, true), now, definitions)?,
            EventRecord::Atomic(transfer) => {
                let directions = (transfer.bytes > 0, transfer.received > 0);
                self.transfer(transfer, directions, now, definitions)?;
            }
            EventRecord::WindowCollective { window, operation } => {
                self.window_collective(window, operation, now, definitions)?;
            }
            EventRecord::WindowLock { window } => self.window_lock(window, definitions)?,
            EventRecord::Collective(collective) => {
                self.make_communicator(collective, now, definitions)?;
                let call = self.call(Call::Other);
                if let Some(operation) = self.collective(collective, None, call, definitions)? {
                    self.push(operation, now);
                }
            }
            EventRecord::CollectiveRequest { request } => {
                let call = self.call(Call::Other);
                let (number, sequence) = self.post(request, call, now);
                self.open(request, OpenRequest::Collective { number, sequence })?;
            }
            EventRecord::CollectiveComplete { collective, request } => {
                self.complete_collective(collective, request, now, definitions)?;
            }
        }
        Ok(())
    }

    /// Picoseconds since the first event. Differences are exact over any span, since nothing is rounded twice.
    fn clock(&mut self, ticks: u64, definitions: &Definitions) -> Result<u64, String> {
        let origin = *self.origin.get_or_insert(ticks);
        definitions
            .picoseconds(ticks.saturating_sub(origin))
            .ok_or_else(|| "the trace is longer than 2^64 ps (213 days)".into())
    }

    fn call(&self, outside: Call) -> Call {
        self.current.as_ref().map_or(outside, |c| c.region.call)
    }

    /// Adds the computation up to now.
    fn compute_until(&mut self, now: u64) {
        if self.current.is_none() {
            let span = now.saturating_sub(self.computing_since);
            self.computing_since = now.max(self.computing_since);
            if span == 0 {
                return;
            }
            let region = self.regions.last().map(|(_, region)| *region);
            match self.computed.iter_mut().find(|(of, _)| *of == region) {
                Some((_, ps)) => *ps += span,
                None => self.computed.push((region, span)),
            }
        }
    }

    fn pause(&mut self, now: u64, until: u64) {
        self.compute_until(now);
        self.computing_since = until.max(self.computing_since);
        self.last = self.last.max(until);
    }

    fn push(&mut self, operation: Operation, now: u64) {
        self.push_slot(QueuedOperation::Ready(operation), now);
    }

    fn push_slot(&mut self, slot: QueuedOperation, now: u64) {
        self.compute_until(now);
        self.push_computed();
        self.queue.push_back(slot);
    }

    /// Computation between two calls is one operation for each region, in the order of first entry, so that
    /// frequent changes of region cost no memory.
    fn push_computed(&mut self) {
        let computed = self.computed.drain(..);
        let operation = |(region, ps)| QueuedOperation::Ready(Operation::Compute { ps, region });
        self.queue.extend(computed.map(operation));
    }

    fn enter(&mut self, region: u32, now: u64, definitions: &Definitions) {
        if let Some(current) = &mut self.current {
            // Functions called inside MPI (user reductions, ROMIO's calls) belong to the MPI function.
            current.stack.push(region);
            return;
        }
        let Some(mpi) = definitions.mpi_region(region) else {
            self.compute_until(now);
            let known = definitions.user_region(region);
            self.regions.extend(known.map(|place| (region, place)));
            return;
        };
        self.compute_until(now);
        self.current = Some(CurrentCall {
            region: mpi.clone(),
            stack: vec![region],
            completed: Vec::new(),
            sends: Vec::new(),
            first: self.head + self.queue.len() as u64,
            is_wait: mpi.call.completes_requests(),
        });
    }

    fn leave(&mut self, region: u32, now: u64) {
        let Some(current) = &mut self.current else {
            if let Some(depth) = self.regions.iter().rposition(|(id, _)| *id == region) {
                self.compute_until(now);
                self.regions.truncate(depth);
            }
            return;
        };
        // A region that was entered while the recording was off has no Enter.
        let Some(depth) = current.stack.iter().rposition(|r| *r == region) else {
            return;
        };
        current.stack.truncate(depth);
        if depth == 0 {
            self.finish_call(now);
            self.current = None;
            self.computing_since = now;
        }
    }

    /// Appends the operations that the end of a function determines: the sends of a Sendrecv, then one wait for all
    /// completed requests.
    fn finish_call(&mut self, now: u64) {
        let Some(current) = &mut self.current else {
            return;
        };
        let call = current.region.call;
        let sends = std::mem::take(&mut current.sends);
        let requests = std::mem::take(&mut current.completed);
        let waits = current.is_wait;
        for operation in sends {
            self.push(operation, now);
        }
        if waits || !requests.is_empty() {
            self.push(Operation::Wait { requests, call }, now);
        }
    }

    fn end(&mut self) {
        self.ended = true;
        self.finish_call(self.last);
        self.compute_until(self.last);
        self.current = None;
        self.push_computed();
        for slot in &mut self.queue {
            if matches!(slot, QueuedOperation::Posted { .. }) {
                *slot = QueuedOperation::Dropped;
            }
        }
    }

    /// Waits for the requests that the function has completed so far: operations that start afterwards may
    /// depend on them, as in the rounds of a collective.
    fn wait_before_start(&mut self, now: u64) {
        let Some(current) = &mut self.current else {
            return;
        };
        if current.region.call == Call::Sendrecv || current.completed.is_empty() {
            return;
        }
        let requests = std::mem::take(&mut current.completed);
        let call = current.region.call;
        self.push(Operation::Wait { requests, call }, now);
    }

    fn number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number - 1
    }

    fn open(&mut self, id: u64, request: OpenRequest) -> Result<(), String> {
        match self.requests.insert(id, request) {
            None => Ok(()),
            Some(_) => Err(format!("request {id} is started again before it is complete")),
        }
    }

    fn send(
        &mut self,
        message: MessageRecord,
        request: Option<u64>,
        now: u64,
        definitions: &Definitions,
    ) -> Result<(), ReplayFailure> {
        self.wait_before_start(now);
        let call = self.call(Call::Send);
        let (communicator, to) = self.place("send to", message, definitions)?;
        let in_pair = request.is_none() && call == Call::Sendrecv;
        // An Isend recorded without its request (Score-P without the group xnonblock) must not block, or ranks
        // that send to each other would deadlock.
        let number = (request.is_some() || in_pair || starts_send(call)).then(|| self.number());
        if let (Some(id), Some(number)) = (request, number) {
            self.open(id, OpenRequest::Send { number })?;
        }
        let operation = Operation::Send {
            to,
            tag: message.tag,
            communicator,
            bytes: message.bytes,
            request: number,
            call,
        };
        match &mut self.current {
            Some(current) if in_pair => {
                current.completed.extend(number);
                current.sends.push(operation);
            }
            _ => self.push(operation, now),
        }
        Ok(())
    }

    fn blocking_receive(
        &mut self,
        message: MessageRecord,
        now: u64,
        definitions: &Definitions,
    ) -> Result<(), ReplayFailure> {
        let call = self.call(Call::Recv);
        let number = (call == Call::Sendrecv).then(|| self.number());
        if let Some(current) = &mut self.current {
            current.completed.extend(number);
        }
        let operation = self.receive(message, number, call, definitions)?;
        self.push(operation, now);
        Ok(())
    }

    /// Queues an operation that is not complete yet. Returns its request and sequence number.
    fn post(&mut self, request: u64, call: Call, now: u64) -> (u64, u64) {
        self.wait_before_start(now);
        let number = self.number();
        self.push_slot(
            QueuedOperation::Posted {
                request,
                number,
                call,
            },
            now,
        );
        (number, self.head + self.queue.len() as u64 - 1)
    }

    fn complete(
        &mut self,
        id: u64,
        received: Option<MessageRecord>,
        now: u64,
        definitions: &Definitions,
    ) -> Result<(), ReplayFailure> {
        let number = match (self.requests.remove(&id), received) {
            (Some(OpenRequest::Send { number }), None) => number,
            (Some(OpenRequest::Receive { number, sequence }), Some(message)) => {
                self.fill(sequence, Some(RequestCompletion::Receive(message)), definitions)?;
                number
            }
            (None, _) => return Err(format!("request {id} completes but was never started").into()),
            (Some(_), _) => {
                return Err(format!("request {id} completes as another kind than it was started as").into());
            }
        };
        self.note_completion(number, now);
        Ok(())
    }

    /// Lets the current function wait for a complete request.
    fn note_completion(&mut self, number: u64, now: u64) {
        match &mut self.current {
            Some(current) => current.completed.push(number),
            None => {
                let requests = vec![number];
                let call = Call::Other;
                self.push(Operation::Wait { requests, call }, now);
            }
        }
    }

    fn cancel(&mut self, id: u64, definitions: &Definitions) -> Result<(), ReplayFailure> {
        match self.requests.remove(&id) {
            Some(OpenRequest::Receive { sequence, .. } | OpenRequest::Collective { sequence, .. }) => {
                self.fill(sequence, None, definitions)
            }
            // A cancelled send has left, and no call waits for it.
            Some(_) => Ok(()),
            None => Err(format!("request {id} is cancelled but was never started").into()),
        }
    }

    fn complete_collective(
        &mut self,
        collective: CollectiveRecord,
        id: u64,
        now: u64,
        definitions: &Definitions,
    ) -> Result<(), ReplayFailure> {
        let Some(OpenRequest::Collective { number, sequence }) = self.requests.remove(&id) else {
            return Err(format!("request {id} completes a collective but was never started as one").into());
        };
        self.fill(
            sequence,
            Some(RequestCompletion::Collective(collective)),
            definitions,
        )?;
        let replayed = self.collective(collective, None, Call::Other, definitions)?;
        if replayed.is_some() {
            self.note_completion(number, now);
        }
        Ok(())
    }

    fn receive(
        &self,
        message: MessageRecord,
        request: Option<u64>,
        call: Call,
        definitions: &Definitions,
    ) -> Result<Operation, String> {
        let (communicator, from) = self.place("receive from", message, definitions)?;
        Ok(Operation::Receive {
            from: Some(from),
            tag: Some(message.tag),
            communicator,
            bytes: message.bytes,
            request,
            call,
        })
    }

    /// Communicator and rank in it of the other side of a message.
    fn place(
        &self,
        what: &str,
        message: MessageRecord,
        definitions: &Definitions,
    ) -> Result<(u32, u32), String> {
        let id = message.communicator;
        let peer = message.peer;
        let membership = known(definitions, id)?;
        let (communicator, place) = match membership {
            CommunicatorMembership::Group(c) => (c, Some(peer)),
            CommunicatorMembership::Own(c) => (c, (peer == 0).then_some(self.rank)),
            CommunicatorMembership::Inter(c, second) => {
                let first_group = &definitions.communicators[c as usize][..second as usize];
                let in_first = first_group.contains(&self.rank);
                let place = if in_first {
                    peer.checked_add(second)
                } else {
                    Some(peer).filter(|p| *p < second)
                };
                (c, place)
            }
        };
        let size = definitions.communicators[communicator as usize].len();
        place
            .filter(|p| (*p as usize) < size)
            .map(|p| (communicator, p))
            .ok_or_else(|| {
                let size = if matches!(membership, CommunicatorMembership::Own(_)) {
                    1
                } else {
                    size
                };
                format!("{what} rank {peer}, which communicator {id} of {size} ranks does not have")
            })
    }

    /// The operation of a collective; `None` if it moves no data of the application.
    fn collective(
        &mut self,
        collective: CollectiveRecord,
        request: Option<u64>,
        call: Call,
        definitions: &Definitions,
    ) -> Result<Option<Operation>, String> {
        let number = collective.operation;
        let which =
            collective_kind(number).ok_or_else(|| format!("unknown collective operation number {number}"))?;
        let (CollectiveKind::Regular(kind) | CollectiveKind::Varying(kind)) = which else {
            return Ok(None);
        };
        let id = collective.communicator;
        let (communicator, inter) = match known(definitions, id)? {
            CommunicatorMembership::Own(_) => return Ok(None),
            CommunicatorMembership::Group(c) => (c, false),
            CommunicatorMembership::Inter(c, _) => (c, true),
        };
        let members = &definitions.communicators[communicator as usize];
        let own = self.own_rank(communicator, members);
        let rank =
            own.ok_or_else(|| format!("{} on communicator {id}, which it is no member of", kind.name()))?;
        let share = RecordedBytes {
            ranks: members.len() as u64,
            rank,
            sent: collective.sent,
            received: collective.received,
        };
        Ok(Some(Operation::Collective {
            collective: kind,
            communicator,
            root: root(collective.root, kind, rank, members.len(), inter)?,
            bytes: share.bytes(which),
            // The counts differ between ranks and are not recorded.
            counts: matches!(which, CollectiveKind::Varying(_)).then(Box::default),
            request,
            call,
        }))
    }

    /// Appends the internal collectives of a call that creates a communicator.
    fn make_communicator(
        &mut self,
        collective: CollectiveRecord,
        now: u64,
        definitions: &Definitions,
    ) -> Result<(), String> {
        if !creates(collective.operation) {
            return Ok(());
        }
        let Some(current) = &self.current else {
            return Ok(());
        };
        // MPI_Comm_create_group concerns some of the communicator's ranks only.
        let Some(steps) = creation_cost(&current.region.name) else {
            return Ok(());
        };
        let call = current.region.call;
        let membership = known(definitions, collective.communicator)?;
        self.push_internal(membership, steps, call, now);
        Ok(())
    }

    /// Appends the collectives that a function performs internally.
    fn push_internal(
        &mut self,
        membership: CommunicatorMembership,
        steps: &[InternalCollective],
        call: Call,
        now: u64,
    ) {
        let CommunicatorMembership::Group(communicator) = membership else {
            return;
        };
        for (collective, bytes) in steps {
            let operation = internal_collective(communicator, *collective, *bytes, call);
            self.push(operation, now);
        }
    }

    /// A one-sided transfer; `there` and `back` are the directions of its data.
    fn transfer(
        &mut self,
        transfer: RmaRecord,
        (there, back): (bool, bool),
        now: u64,
        definitions: &Definitions,
    ) -> Result<(), String> {
        let Some(CommunicatorMembership::Group(communicator)) = definitions.window(transfer.window)? else {
            // A window of another paradigm, or the rank's own memory.
            return Ok(());
        };
        let size = definitions.communicators[communicator as usize].len();
        let RmaRecord { peer, bytes, .. } = transfer;
        if peer as usize >= size {
            let window = transfer.window;
            return Err(format!(
                "transfer with rank {peer}, which window {window} of {size} ranks does not have"
            ));
        }
        let call = self.call(Call::Other);
        if there {
            let call = if call == Call::Other { Call::Put } else { call };
            let put = Operation::Put {
                to: peer,
                communicator,
                bytes,
                call,
            };
            self.push(put, now);
        }
        if back {
            let call = if call == Call::Other { Call::Get } else { call };
            let bytes = if there || bytes == 0 {
                transfer.received
            } else {
                bytes
            };
            let get = Operation::Get {
                from: peer,
                communicator,
                bytes,
                call,
            };
            self.push(get, now);
        }
        Ok(())
    }

    fn window_collective(
        &mut self,
        window: u32,
        operation: u32,
        now: u64,
        definitions: &Definitions,
    ) -> Result<(), String> {
        let Some(membership) = definitions.window(window)? else {
            return Ok(());
        };
        let call = self.call(Call::Other);
        if creates(operation) {
            self.push_internal(membership, &[AGREE_ON_CONTEXT, EXCHANGE_WINDOWS], call, now);
        } else if destroys(operation) {
            self.push_internal(membership, &[(crate::Collective::Barrier, 0)], call, now);
        } else if let CommunicatorMembership::Group(communicator) = membership {
            self.push(Operation::Fence { communicator, call }, now);
        }
        Ok(())
    }

    fn window_lock(&self, window: u32, definitions: &Definitions) -> Result<(), String> {
        if definitions.window(window)?.is_none() {
            return Ok(());
        }
        let name = self.current.as_ref().map_or("MPI", |c| &c.region.name);
        Err(format!(
            "{name}: one-sided communication other than between fences is not supported"
        ))
    }

    fn own_rank(&mut self, communicator: u32, members: &[u32]) -> Option<u64> {
        if let Some(rank) = self.ranks.get(&communicator) {
            return Some(*rank);
        }
        let rank = members.iter().position(|m| *m == self.rank)? as u64;
        self.ranks.insert(communicator, rank);
        Some(rank)
    }
}

fn known(definitions: &Definitions, id: u32) -> Result<CommunicatorMembership, String> {
    definitions
        .membership(id)
        .ok_or_else(|| format!("communicator {id} is used but not defined"))
}

/// Whether an `OTF2_CollectiveOp` creates a communicator or window.
fn creates(operation: u32) -> bool {
    matches!(operation, 17 | 21)
}

/// Whether it frees one.
fn destroys(operation: u32) -> bool {
    matches!(operation, 18 | 22)
}

const ROOT_NONE: u32 = u32::MAX;
const ROOT_SELF: u32 = u32::MAX - 1;

/// Root of a collective in its communicator; 0 where there is none.
fn root(recorded: u32, kind: crate::Collective, own: u64, ranks: usize, inter: bool) -> Result<u32, String> {
    use crate::Collective::{Bcast, Gather, Reduce, Scatter};
    let name = kind.name();
    if !matches!(kind, Bcast | Gather | Reduce | Scatter) {
        return Ok(0);
    }
    match recorded {
        _ if inter => Err(format!(
            "{name} with a root on an inter-communicator is not supported"
        )),
        ROOT_NONE => Err(format!("{name} without a root")),
        ROOT_SELF => Ok(own as u32),
        root if (root as usize) < ranks => Ok(root),
        root => Err(format!(
            "{name} with root {root} on a communicator of {ranks} ranks"
        )),
    }
}

/// Whether a function starts a send that another function completes.
pub fn starts_send(call: Call) -> bool {
    matches!(
        call,
        Call::Isend | Call::Issend | Call::Ibsend | Call::Irsend | Call::Start | Call::Startall
    )
}

#[cfg(test)]
#[path = "program_tests.rs"]
mod tests;
