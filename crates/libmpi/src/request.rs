//! Requests of this rank, and what their completion does.

use std::ffi::{c_int, c_void};

use operation::{Call, Completed, Operation, ReceivedMessage, Takes};
use rank_channel::{Contribution, Payload, Reply};

use crate::abi::{self, Status, class};
use crate::datatype::Datatype;
use crate::error::{Failure, Outcome};
use crate::process::Process;

/// Where a message is received.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// An address in the program.
    buffer: usize,
    count: usize,
    datatype: Datatype,
}

impl Target {
    pub fn new(buffer: *mut c_void, count: usize, datatype: Datatype) -> Target {
        Target {
            buffer: buffer as usize,
            count,
            datatype,
        }
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        self.datatype.bytes(self.count)
    }

    /// Copies a message into it.
    pub fn fill(&self, process: &Process, message: ReceivedMessage, payload: Option<Payload>) -> Outcome<Status> {
        let status = Status::new(message.source as c_int, message.tag as c_int, message.bytes);
        if message.bytes > self.bytes() as u64 {
            let (sent, taken) = (message.bytes, self.bytes());
            let text = format!("a message of {sent} bytes for a buffer of {taken} bytes");
            return Err(Failure::new(class::TRUNCATE, text));
        }
        let bytes = process.load(payload)?;
        if bytes.len() as u64 != message.bytes {
            return Err(Failure::new(class::INTERN, "the bytes of a message are missing"));
        }
        // Safety: the program gave the buffer with this count, and the message is not longer.
        unsafe { self.datatype.unpack(&bytes, self.buffer as *mut c_void) };
        Ok(status)
    }
}

/// What a member of a collective reads of each contribution that it needs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part {
    Whole,
    /// The part of one member, of a contribution that begins with the ends of all parts ([`parted`]).
    Of {
        /// The member.
        member: usize,
        /// Number of members.
        members: usize,
    },
}

/// A contribution of one part for each member: the ends of the parts, 8 bytes each, and then the parts.
pub(crate) fn parted(parts: &[Vec<u8>]) -> Vec<u8> {
    let mut end = 0_u64;
    let mut all = Vec::with_capacity(parts.iter().map(|part| part.len() + 8).sum());
    for part in parts {
        end += part.len() as u64;
        all.extend_from_slice(&end.to_ne_bytes());
    }
    parts.iter().for_each(|part| all.extend_from_slice(part));
    all
}

/// Does something with the contributions once a collective is complete. Called while nothing is locked, as it may call
/// functions of the program.
pub(crate) type Delivery = Box<dyn FnOnce(Vec<Vec<u8>>) -> Outcome<()> + Send>;

/// What remains to be done after a call has been answered.
pub(crate) type Rest = Box<dyn FnOnce() -> Outcome<()> + Send>;

/// What a request waits for.
pub(crate) enum Pending {
    Send,
    Receive(Target),
    Collective(Part, Delivery),
    /// Nothing.
    Complete(Status),
}

/// What starts a persistent request, under its number.
pub(crate) type Starter = Box<dyn Fn(&mut Process, u64) -> Outcome<Pending> + Send>;

/// A request.
pub(crate) struct Request {
    /// `None` of an inactive persistent request.
    pending: Option<Pending>,
    starter: Option<Starter>,
}

/// All requests of a process. The simulator knows a request by its index.
#[derive(Default)]
pub(crate) struct Requests {
    all: Vec<Option<Request>>,
    free: Vec<usize>,
    /// Messages that matched probes have taken, by handle.
    pub taken: Vec<Option<ReceivedMessage>>,
    /// What remains of requests that were complete from the start.
    pub early: Vec<(c_int, Rest)>,
}

impl Requests {
    /// The index of the next request.
    pub fn next_number(&mut self) -> u64 {
        if self.free.is_empty() {
            self.free.push(self.all.len());
            self.all.push(None);
        }
        self.free.last().map_or(0, |index| *index as u64)
    }

    /// A new request, with the index that [`Requests::next_number`] has told.
    pub fn add(&mut self, pending: Option<Pending>, starter: Option<Starter>) -> c_int {
        self.next_number();
        let index = self.free.pop().unwrap_or_default();
        self.all[index] = Some(Request { pending, starter });
        abi::REQUEST | index as c_int
    }

    fn index(&self, handle: c_int) -> Outcome<usize> {
        let index = (handle & abi::INDEX_BITS) as usize;
        let is_there = matches!(self.all.get(index), Some(Some(_)));
        match handle & !abi::INDEX_BITS == abi::REQUEST && is_there {
            true => Ok(index),
            false => Err(Failure::new(class::REQUEST, format!("there is no request {handle:#x}"))),
        }
    }

    /// The request of a handle; `None` for `MPI_REQUEST_NULL`.
    ///
    /// # Errors
    /// There is none.
    fn get(&mut self, handle: c_int) -> Outcome<Option<(usize, &mut Request)>> {
        if handle == abi::REQUEST_NULL {
            return Ok(None);
        }
        let index = self.index(handle)?;
        Ok(self.all[index].as_mut().map(|request| (index, request)))
    }

    /// Ends an active request: a persistent one becomes inactive, another one goes.
    fn end(&mut self, handle: &mut c_int) -> Outcome<Option<Pending>> {
        let index = self.index(*handle)?;
        let Some(request) = &mut self.all[index] else {
            return Ok(None);
        };
        let pending = request.pending.take();
        if request.starter.is_none() {
            self.all[index] = None;
            self.free.push(index);
            *handle = abi::REQUEST_NULL;
        }
        Ok(pending)
    }

    /// Whether a request is persistent; `None` without one.
    pub fn is_persistent(&mut self, handle: c_int) -> Outcome<Option<bool>> {
        Ok(self.get(handle)?.map(|(_, request)| request.starter.is_some()))
    }

    /// Whether a request is active.
    pub fn is_active(&mut self, handle: c_int) -> Outcome<bool> {
        Ok(self.get(handle)?.is_some_and(|(_, request)| request.pending.is_some()))
    }

    /// The number of an active request that the simulator has; `None` of others.
    pub fn number(&mut self, handle: c_int) -> Outcome<Option<u64>> {
        let found = self.get(handle)?;
        Ok(found.and_then(|(index, request)| match &request.pending {
            None | Some(Pending::Complete(_)) => None,
            Some(_) => Some(index as u64),
        }))
    }

    /// A persistent request that is not active goes.
    pub fn forget(&mut self, handle: &mut c_int) -> Outcome<()> {
        let index = self.index(*handle)?;
        self.all[index] = None;
        self.free.push(index);
        *handle = abi::REQUEST_NULL;
        Ok(())
    }

    /// Takes what starts a persistent request.
    pub fn take_starter(&mut self, handle: c_int) -> Outcome<Starter> {
        let found = self.get(handle)?;
        let starter = found.and_then(|(_, request)| match request.pending {
            None => request.starter.take(),
            Some(_) => None,
        });
        starter.ok_or_else(|| Failure::new(class::REQUEST, "no inactive persistent request"))
    }

    /// Gives it back, with what the request waits for now.
    pub fn start(&mut self, handle: c_int, starter: Starter, pending: Option<Pending>) -> Outcome<()> {
        if let Some((_, request)) = self.get(handle)? {
            request.starter = Some(starter);
            request.pending = pending;
        }
        Ok(())
    }

    /// The index of a request for the simulator.
    pub fn index_of(&self, handle: c_int) -> Outcome<u64> {
        self.index(handle).map(|index| index as u64)
    }
}

/// What a wait or test has found.
#[derive(Default)]
pub(crate) struct Found {
    /// Complete requests by their position in the list: status, or the failure of that request.
    pub complete: Vec<(usize, Outcome<Status>)>,
    /// What remains to be done while nothing is locked.
    pub rest: Vec<Rest>,
}

impl Found {
    /// Does what remains.
    pub fn finish(rest: Vec<Rest>) -> Outcome<()> {
        rest.into_iter().try_for_each(|rest| rest())
    }
}

impl Process {
    /// The contributions of a collective, or their parts.
    pub fn load_contributions(&self, part: Part, payloads: Vec<Option<Payload>>) -> Outcome<Vec<Vec<u8>>> {
        let load = |payload: Option<Payload>| match part {
            Part::Whole => self.load(payload),
            Part::Of { .. } if payload.is_none() => Ok(Vec::new()),
            Part::Of { member, members } => {
                let end = |index: u64| -> Outcome<u64> {
                    let bytes = self.load_part(payload, 8 * index, 8)?;
                    Ok(u64::from_ne_bytes(bytes.try_into().unwrap_or_default()))
                };
                let start = match member {
                    0 => 0,
                    _ => end(member as u64 - 1)?,
                };
                let bytes = end(member as u64)?.saturating_sub(start);
                self.load_part(payload, 8 * members as u64 + start, bytes)
            }
        };
        payloads.into_iter().map(load).collect()
    }

    /// Notes the ends of requests that a reply tells.
    fn end_requests(
        &mut self,
        handles: &mut [c_int],
        numbers: &[(usize, u64)],
        mut reply: Reply,
        found: &mut Found,
    ) -> Outcome<()> {
        let completed = std::mem::take(&mut reply.answer.completed);
        for (index, Completed { request, message }) in completed.into_iter().enumerate() {
            let Some(&(position, number)) = numbers.iter().find(|(_, number)| Some(*number) == request) else {
                continue;
            };
            let payload = reply.messages.iter().find(|(own, _)| *own as usize == index);
            let payload = payload.map(|(_, payload)| *payload);
            let contributions = reply
                .contributions
                .iter_mut()
                .find(|(request, _)| *request == Some(number))
                .map(|(_, all)| std::mem::take(all));
            let pending = self.requests.end(&mut handles[position])?;
            let status = self.complete(pending, message, payload, contributions, &mut found.rest);
            found.complete.push((position, status));
        }
        Ok(())
    }

    /// Does what the completion of a request brings.
    fn complete(
        &mut self,
        pending: Option<Pending>,
        message: Option<ReceivedMessage>,
        payload: Option<Payload>,
        contributions: Option<Vec<Option<Payload>>>,
        rest: &mut Vec<Rest>,
    ) -> Outcome<Status> {
        match (pending, message) {
            (Some(Pending::Receive(target)), Some(message)) => target.fill(self, message, payload),
            (Some(Pending::Receive(_)), None) => {
                let mut status = Status::empty();
                status.set_cancelled(true);
                Ok(status)
            }
            (Some(Pending::Collective(part, delivery)), _) => {
                let loaded = self.load_contributions(part, contributions.unwrap_or_default())?;
                rest.push(Box::new(move || delivery(loaded)));
                Ok(Status::empty())
            }
            (Some(Pending::Complete(status)), _) => Ok(status),
            _ => Ok(Status::empty()),
        }
    }

    /// `MPI_Request_free`: a send goes on, and a receive is waited for, so that its buffer has the message.
    pub fn free_request(&mut self, handle: &mut c_int) -> Outcome<()> {
        if self.requests.number(*handle)?.is_some() {
            let mut handles = [*handle];
            self.wait_all(&mut handles, Call::Other)?;
            *handle = handles[0];
        }
        match self.requests.is_persistent(*handle)? {
            Some(_) => self.requests.forget(handle),
            None => Ok(()),
        }
    }

    /// Waits for all requests of a list.
    pub fn wait_all(&mut self, handles: &mut [c_int], call: Call) -> Outcome<Found> {
        let mut found = Found::default();
        let mut numbers = Vec::new();
        for position in 0..handles.len() {
            match self.requests.number(handles[position])? {
                Some(number) => numbers.push((position, number)),
                None => self.end_without_simulator(handles, position, &mut found)?,
            }
        }
        if !numbers.is_empty() {
            let requests = numbers.iter().map(|(_, number)| *number).collect();
            let reply = self.ask(Operation::Wait { requests, call }, Contribution::default());
            self.end_requests(handles, &numbers, reply, &mut found)?;
        }
        found.complete.sort_by_key(|(position, _)| *position);
        Ok(found)
    }

    /// A request that the simulator has not: null, inactive, or complete from the start.
    fn end_without_simulator(&mut self, handles: &mut [c_int], position: usize, found: &mut Found) -> Outcome<()> {
        let mut status = Status::empty();
        let early = self.requests.early.iter().position(|(own, _)| *own == handles[position]);
        found.rest.extend(early.map(|index| self.requests.early.swap_remove(index).1));
        if handles[position] != abi::REQUEST_NULL
            && let Some(Pending::Complete(own)) = self.requests.end(&mut handles[position])?
        {
            status = own;
        }
        found.complete.push((position, Ok(status)));
        Ok(())
    }

    /// Takes complete requests of a list. `None` if all are null or inactive.
    pub fn select(
        &mut self,
        handles: &mut [c_int],
        (takes, blocks): (Takes, bool),
        call: Call,
    ) -> Outcome<Option<Found>> {
        let mut found = Found::default();
        let (mut numbers, mut ready) = (Vec::new(), Vec::new());
        for (position, handle) in handles.iter().enumerate() {
            match self.requests.number(*handle)? {
                Some(number) => numbers.push((position, number)),
                None if self.requests.is_active(*handle)? => ready.push(position),
                None => {}
            }
        }
        if numbers.is_empty() && ready.is_empty() {
            return Ok(None);
        }
        // What is complete from the start comes first, and costs no time.
        let all_ready = match takes {
            Takes::First => !ready.is_empty(),
            Takes::Complete => !ready.is_empty(),
            Takes::All => numbers.is_empty(),
        };
        if all_ready {
            ready.truncate(if takes == Takes::First { 1 } else { usize::MAX });
            for position in ready {
                self.end_without_simulator(handles, position, &mut found)?;
            }
            return Ok(Some(found));
        }
        let requests = numbers.iter().map(|(_, number)| *number).collect();
        let operation = match (takes, blocks) {
            (Takes::All, true) => Operation::Wait { requests, call },
            _ => Operation::Select {
                requests,
                takes,
                blocks,
                call,
            },
        };
        let reply = self.ask(operation, Contribution::default());
        let flag = reply.answer.flag;
        self.end_requests(handles, &numbers, reply, &mut found)?;
        if takes == Takes::All && flag {
            for position in ready {
                self.end_without_simulator(handles, position, &mut found)?;
            }
            found.complete.sort_by_key(|(position, _)| *position);
        }
        Ok(Some(found))
    }
}
