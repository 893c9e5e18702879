//! The operations of one rank, from its events.
//!
//! Time outside MPI functions is computation; the simulator determines the time inside. A receive that is
//! posted without a source takes source, tag and size from the event of its completion, and a non-blocking
//! collective its communicator, root and size. Operations wait in a queue until these are known.

mod collectives;
mod messages;
mod one_sided;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use ::otf2::{CollectiveRecord, EventRecord, MessageRecord, TimedEvent};

use super::archive::{EventSource, Otf2Archive};
use super::definitions::{CommunicatorMembership, Definitions, MpiRegion};
use crate::mpi_calls::ReplayFailure;
use crate::recording_window::{FINALIZE, INITIALIZE, RecordedProgram, RecordingEdges, RecordingTracker};
use crate::{Call, Operation, Program, Recording, Region, TraceError};

/// Largest number of operations that wait for a completion. Beyond it, a second pass over later events searches
/// for the completion of the first one, which costs time instead of memory.
pub const QUEUE: usize = 2048;

/// The current MPI function.
struct CurrentCall {
    region: MpiRegion,
    /// When it began.
    since: u64,
    /// Regions entered since its start, the function itself first.
    stack: Vec<u32>,
    /// Requests that completed in it.
    completed: Vec<u64>,
    /// Sends of a Sendrecv, which follow its receives.
    sends: Vec<Operation>,
    /// Sequence number of its first operation.
    first: u64,
    is_wait: bool,
    /// Whether it is in the window that is replayed.
    inside: bool,
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

/// A place in the queue.
struct QueueItem {
    operation: QueuedOperation,
    /// Whether it is in the window that is replayed.
    inside: bool,
}

/// The operations of one rank.
pub struct Otf2Program {
    archive: Arc<Otf2Archive>,
    replay: EventReplay,
    events: Box<dyn EventSource>,
}

impl Otf2Program {
    /// A program at the first event of `events`.
    pub fn new(
        archive: Arc<Otf2Archive>,
        rank: u32,
        edges: RecordingEdges,
        events: Box<dyn EventSource>,
    ) -> Otf2Program {
        Otf2Program {
            replay: EventReplay::new(rank, edges),
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

    fn recording(&self) -> Option<&Recording> {
        Some(&self.replay.recording)
    }
}

impl RecordedProgram for Otf2Program {
    fn is_inside(&self) -> bool {
        self.replay.was_inside
    }

    fn is_past(&self) -> bool {
        self.replay.queue.is_empty() && self.replay.window.is_past(self.replay.last)
    }

    fn calls(&self) -> (u64, u64) {
        (self.replay.window.calls(), self.replay.window.calls_inside())
    }
}

/// State of the replay of one rank's events.
pub struct EventReplay {
    rank: u32,
    queue: VecDeque<QueueItem>,
    window: RecordingTracker,
    /// Whether the last operation was in the window.
    was_inside: bool,
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
    pub recording: Recording,
    /// Cached own rank in communicators.
    ranks: HashMap<u32, u64>,
}

impl EventReplay {
    /// State before the first event.
    pub fn new(rank: u32, edges: RecordingEdges) -> EventReplay {
        EventReplay {
            rank,
            queue: VecDeque::new(),
            window: RecordingTracker::new(edges),
            was_inside: true,
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
            recording: Recording::default(),
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
            match self.queue.front().map(|item| &item.operation) {
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
        let item = self.queue.pop_front()?;
        self.was_inside = item.inside;
        Some(item.operation)
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
        let item = self.queue.get(index as usize).map(|item| &item.operation);
        let Some(QueuedOperation::Posted { number, call, .. }) = item else {
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
        self.queue[index as usize].operation =
            operation.map_or(QueuedOperation::Dropped, QueuedOperation::Ready);
        Ok(())
    }

    fn take(&mut self, event: TimedEvent, definitions: &Definitions) -> Result<(), ReplayFailure> {
        let now = self.clock(event.time, definitions)?;
        self.last = now;
        self.recording.event(now);
        if self.window.is_edge_next() {
            self.compute_until(now);
        }
        self.window.event(now, &mut self.recording);
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
            EventRecord::RmaCollective { window, operation } => {
                self.rma_collective(window, operation, now, definitions)?;
            }
            EventRecord::RmaLock { window } => self.rma_lock(window, definitions)?,
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
            let span = self.window.part(self.computing_since, now);
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
        self.recording.pass(until);
    }

    fn push(&mut self, operation: Operation, now: u64) {
        self.push_item(QueuedOperation::Ready(operation), now);
    }

    fn push_item(&mut self, operation: QueuedOperation, now: u64) {
        self.compute_until(now);
        self.push_computed();
        let inside = match &self.current {
            Some(current) => current.inside,
            None => self.window.is_inside(now),
        };
        self.queue.push_back(QueueItem { operation, inside });
    }

    /// Computation between two calls is one operation for each region, in the order of first entry, so that
    /// frequent changes of region cost no memory.
    fn push_computed(&mut self) {
        let computed = self.computed.drain(..);
        let item = |(region, ps)| QueueItem {
            operation: QueuedOperation::Ready(Operation::Compute { ps, region }),
            inside: true,
        };
        self.queue.extend(computed.map(item));
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
        if &*mpi.name == FINALIZE && self.window.finalizes(now, &mut self.recording) {
            self.push_computed();
        }
        let inside = self.window.call(now, &mut self.recording);
        self.current = Some(CurrentCall {
            inside,
            region: mpi.clone(),
            since: now,
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
            let name = self.current.take().map(|current| current.region.name);
            self.computing_since = now;
            if name.is_some_and(|name| INITIALIZE.contains(&&*name)) {
                let is_first = self.head + self.queue.len() as u64 == 0;
                if self.window.initialized(now, is_first, &mut self.recording) {
                    self.computed.clear();
                }
            }
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
        let queued = self.head + self.queue.len() as u64 - current.first;
        let made_operations = queued > 0 || !sends.is_empty() || !requests.is_empty();
        if current.inside && current.region.left_out.applies(made_operations) {
            let ps = now.saturating_sub(current.since);
            self.recording.leave_out(&current.region.name, ps);
        }
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
        if self.window.is_finalized() {
            self.computed.clear();
        }
        self.push_computed();
        self.window.finish(&mut self.recording);
        for item in &mut self.queue {
            if matches!(item.operation, QueuedOperation::Posted { .. }) {
                item.operation = QueuedOperation::Dropped;
            }
        }
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
}

/// The communicator of an OTF2 id.
fn membership(definitions: &Definitions, id: u32) -> Result<CommunicatorMembership, String> {
    definitions
        .membership(id)
        .ok_or_else(|| format!("communicator {id} is used but not defined"))
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
