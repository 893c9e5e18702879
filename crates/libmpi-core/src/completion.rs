//! Waits and tests, and what the completion of a request does.

use std::ffi::c_int;

use operation::{Call, Completed, Operation, ReceivedMessage, Takes};
use rank_channel::{Payload, PostedData, Reply};

use crate::abi::{self, MpiStatus, class};
use crate::failure::{Failure, Outcome};
use crate::process::Process;
use crate::request::{ActiveRequest, ContributionPart, Found, GeneralizedRequest, Rest, Target};

impl Target {
    /// Copies a message into it.
    pub fn fill(
        &self,
        process: &Process,
        message: ReceivedMessage,
        payload: Option<Payload>,
    ) -> Outcome<MpiStatus> {
        let source = (message.source - self.source_offset) as c_int;
        let tag = message.tag as c_int & abi::GREATEST_TAG;
        let status = MpiStatus::new(source, tag, message.bytes);
        if message.bytes > self.bytes() as u64 {
            let (sent, taken) = (message.bytes, self.bytes());
            let text = format!("a message of {sent} bytes for a buffer of {taken} bytes");
            return Err(Failure::new(class::TRUNCATE, text).on(self.communicator));
        }
        let bytes = process.load(payload)?;
        if bytes.len() as u64 != message.bytes {
            return Err(Failure::new(class::INTERN, "the bytes of a message are missing"));
        }
        // Safety: the program gave the buffer with this count, and the message is not longer.
        unsafe { self.datatype.unpack(&bytes, self.buffer) };
        Ok(status)
    }
}

/// Where the simulator's number of something that is not complete belongs: position in the list of the call, number.
type OpenNumbers = Vec<(usize, u64)>;

/// What the end of a generalised request leaves to do.
fn end_generalized(request: GeneralizedRequest) -> Rest {
    Box::new(move || {
        let mut status = MpiStatus::empty();
        let mut code = class::SUCCESS;
        // Safety: the program has given the functions for this; nothing of the library is locked.
        unsafe {
            if let Some(query) = request.query {
                code = (query.call)(query.function, request.extra, &mut status);
            }
            if let Some(free) = request.free {
                let freed = (free.call)(free.function, request.extra);
                code = if code == class::SUCCESS { freed } else { code };
            }
        }
        match code {
            class::SUCCESS => Ok(Some(status)),
            code => Err(Failure::new(
                code,
                "a function of a generalised request has failed",
            )),
        }
    })
}

impl Process {
    /// The contributions of a collective, or their parts.
    pub fn load_contributions(
        &self,
        part: ContributionPart,
        payloads: Vec<Option<Payload>>,
    ) -> Outcome<Vec<Vec<u8>>> {
        let load = |payload: Option<Payload>| match part {
            ContributionPart::Whole => self.load(payload),
            ContributionPart::Of { .. } if payload.is_none() => Ok(Vec::new()),
            ContributionPart::Of { member, members } => {
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

    /// Numbers of what the simulator has of a request, and whether it is complete without the simulator.
    fn open_numbers(&mut self, position: usize, handle: c_int, numbers: &mut OpenNumbers) -> Outcome<bool> {
        let Some(request) = self.requests.get(handle)? else {
            return Ok(false);
        };
        match &request.pending {
            None => return Ok(false),
            Some(ActiveRequest::Complete(..)) => return Ok(true),
            Some(ActiveRequest::Generalized(generalized)) => return Ok(generalized.is_complete),
            Some(ActiveRequest::Partitioned(_)) => return Ok(false),
            Some(ActiveRequest::Messages(messages)) => {
                let open = messages.open.iter().map(|(number, _)| (position, *number));
                numbers.extend(open);
                return Ok(messages.open.is_empty());
            }
            Some(_) => {}
        }
        numbers.push((position, self.requests.index(handle)? as u64));
        Ok(false)
    }

    /// Notes the ends of what a reply tells.
    fn end_requests(
        &mut self,
        handles: &mut [c_int],
        numbers: &[(usize, u64)],
        mut reply: Reply,
        found: &mut Found,
    ) -> Outcome<()> {
        let completed = std::mem::take(&mut reply.answer.completed);
        for (index, Completed { request, message }) in completed.into_iter().enumerate() {
            let Some(&(position, number)) = numbers.iter().find(|(_, number)| Some(*number) == request)
            else {
                continue;
            };
            let payload = reply.messages.iter().find(|(own, _)| *own as usize == index);
            let payload = payload.map(|(_, payload)| *payload);
            let is_grouped = match self.requests.get(handles[position])? {
                Some(request) => matches!(request.pending, Some(ActiveRequest::Messages(_))),
                None => false,
            };
            if is_grouped {
                if self.end_grouped(handles[position], number, message, payload)? {
                    self.end_without_simulator(handles, position, found)?;
                }
                continue;
            }
            let contributions = reply
                .contributions
                .iter_mut()
                .find(|(request, _)| *request == Some(number))
                .map(|(_, all)| std::mem::take(all));
            let pending = self.requests.end(&mut handles[position])?;
            let (status, rest) = self.complete(pending, message, payload, contributions)?;
            found.rest.extend(rest.map(|rest| (position, rest)));
            found.complete.push((position, status));
        }
        Ok(())
    }

    /// One message of a request of several is complete: whether all are.
    fn end_grouped(
        &mut self,
        handle: c_int,
        number: u64,
        message: Option<ReceivedMessage>,
        payload: Option<Payload>,
    ) -> Outcome<bool> {
        let request = self
            .requests
            .get(handle)?
            .and_then(|request| request.pending.as_mut());
        let Some(ActiveRequest::Messages(messages)) = request else {
            return Ok(false);
        };
        let target = messages.target.take_if(|(own, _)| *own == number);
        let open = messages.open.iter().position(|(own, _)| *own == number);
        let receive = open.and_then(|index| messages.open.swap_remove(index).1);
        let all = messages.open.is_empty();
        // The number was that of the message alone.
        self.requests.give_back(number);
        let status = match (target, message) {
            (Some((_, target)), Some(message)) => Some(target.fill(self, message, payload)),
            _ => None,
        };
        let bytes = match receive {
            Some(_) => self.load(payload)?,
            None => Vec::new(),
        };
        let request = self
            .requests
            .get(handle)?
            .and_then(|request| request.pending.as_mut());
        if let Some(ActiveRequest::Messages(messages)) = request {
            if let Some(receive) = receive {
                messages.received[receive] = bytes;
            }
            if let Some(status) = status {
                messages.status = status;
            }
        }
        Ok(all)
    }

    /// Does what the completion of a request brings.
    fn complete(
        &mut self,
        pending: Option<ActiveRequest>,
        message: Option<ReceivedMessage>,
        payload: Option<Payload>,
        contributions: Option<Vec<Option<Payload>>>,
    ) -> Outcome<(Outcome<MpiStatus>, Option<Rest>)> {
        Ok(match (pending, message) {
            (Some(ActiveRequest::Receive(target)), Some(message)) => {
                (target.fill(self, message, payload), None)
            }
            (Some(ActiveRequest::Receive(_)), None) => {
                let mut status = MpiStatus::empty();
                status.set_cancelled(true);
                (Ok(status), None)
            }
            (Some(ActiveRequest::Collective(part, delivery)), _) => {
                let loaded = self.load_contributions(part, contributions.unwrap_or_default())?;
                let rest: Rest = Box::new(move || delivery(loaded).map(|()| None));
                (Ok(MpiStatus::empty()), Some(rest))
            }
            (Some(ActiveRequest::Messages(messages)), _) => {
                let delivery = messages.delivery;
                let received = messages.received;
                let rest: Rest = Box::new(move || delivery(received).map(|()| None));
                (messages.status, Some(rest))
            }
            (Some(ActiveRequest::Generalized(request)), _) => {
                (Ok(MpiStatus::empty()), Some(end_generalized(request)))
            }
            (Some(ActiveRequest::Complete(status, rest)), _) => (status, rest),
            _ => (Ok(MpiStatus::empty()), None),
        })
    }

    /// `MPI_Request_free`: a send goes on, and a receive is waited for, so that its buffer has the message.
    pub fn free_request(&mut self, handle: &mut c_int) -> Outcome<Found> {
        let mut handles = [*handle];
        let is_persistent = match self.requests.get(*handle)? {
            None => return Err(Failure::new(class::REQUEST, "MPI_REQUEST_NULL")),
            Some(request) => request.is_persistent,
        };
        let found = self.wait_all(&mut handles, Call::Other)?;
        *handle = handles[0];
        if is_persistent {
            self.starters.remove(handle);
            self.requests.forget(handle)?;
        }
        Ok(found)
    }

    /// Waits for all requests of a list.
    pub fn wait_all(&mut self, handles: &mut [c_int], call: Call) -> Outcome<Found> {
        let mut found = Found::default();
        let mut numbers = Vec::new();
        for position in 0..handles.len() {
            let before = numbers.len();
            self.open_numbers(position, handles[position], &mut numbers)?;
            if numbers.len() == before {
                self.end_without_simulator(handles, position, &mut found)?;
            }
        }
        if !numbers.is_empty() {
            let requests = numbers.iter().map(|(_, number)| *number).collect();
            let reply = self.ask(Operation::Wait { requests, call }, PostedData::default());
            self.end_requests(handles, &numbers, reply, &mut found)?;
        }
        found.complete.sort_by_key(|(position, _)| *position);
        Ok(found)
    }

    /// Ends a request of which the simulator has nothing: null, inactive or complete.
    fn end_without_simulator(
        &mut self,
        handles: &mut [c_int],
        position: usize,
        found: &mut Found,
    ) -> Outcome<()> {
        if handles[position] == abi::REQUEST_NULL {
            found.complete.push((position, Ok(MpiStatus::empty())));
            return Ok(());
        }
        let pending = self.requests.end(&mut handles[position])?;
        let (status, rest) = self.complete(pending, None, None, None)?;
        found.rest.extend(rest.map(|rest| (position, rest)));
        found.complete.push((position, status));
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
        loop {
            let (mut numbers, mut ready, mut is_active) = (Vec::new(), Vec::new(), false);
            for (position, handle) in handles.iter().enumerate() {
                if self.open_numbers(position, *handle, &mut numbers)? {
                    ready.push(position);
                }
                is_active |= self.requests.is_active(*handle)?;
            }
            if !is_active {
                return Ok(None);
            }
            // What is complete already comes first, and costs no time.
            let ready_suffices = match takes {
                Takes::First | Takes::Complete | Takes::Arrived => !ready.is_empty(),
                Takes::All => ready.len() == self.active(handles)?,
            };
            if ready_suffices {
                ready.truncate(if takes == Takes::First { 1 } else { usize::MAX });
                for position in ready {
                    self.end_without_simulator(handles, position, &mut found)?;
                }
                return Ok(Some(found));
            }
            // A generalised request is not complete, and only the program can complete it.
            if numbers.is_empty() || takes == Takes::All && self.awaits_program(handles)? {
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
            let reply = self.ask(operation, PostedData::default());
            let flag = reply.answer.flag;
            self.end_requests(handles, &numbers, reply, &mut found)?;
            if takes == Takes::All && flag {
                for position in ready {
                    self.end_without_simulator(handles, position, &mut found)?;
                }
                found.complete.sort_by_key(|(position, _)| *position);
            }
            if !blocks || !found.complete.is_empty() {
                return Ok(Some(found));
            }
        }
    }

    /// Whether a list has requests that wait for the program itself.
    pub fn awaits_program(&mut self, handles: &[c_int]) -> Outcome<bool> {
        if self.requests.awaited == 0 {
            return Ok(false);
        }
        for handle in handles {
            let pending = self
                .requests
                .get(*handle)?
                .and_then(|request| request.pending.as_ref());
            match pending {
                Some(ActiveRequest::Generalized(own)) if !own.is_complete => return Ok(true),
                Some(ActiveRequest::Partitioned(_)) => return Ok(true),
                _ => {}
            }
        }
        Ok(false)
    }

    /// Number of active requests of a list.
    fn active(&mut self, handles: &[c_int]) -> Outcome<usize> {
        let mut active = 0;
        for handle in handles {
            active += usize::from(self.requests.is_active(*handle)?);
        }
        Ok(active)
    }

    /// Whether requests of a list are complete, which stay: their statuses. `None` if not all of them are. What remains
    /// to be done comes with a later wait or test.
    pub fn peek(&mut self, handles: &[c_int]) -> Outcome<Option<Vec<Outcome<MpiStatus>>>> {
        let mut copies = handles.to_vec();
        for (place, handle) in handles.iter().enumerate() {
            // Inactive requests are complete, and stay as they are.
            if !self.requests.is_active(*handle)? {
                copies[place] = abi::REQUEST_NULL;
            }
        }
        let persistent: Vec<bool> = handles
            .iter()
            .map(|handle| {
                Ok(self
                    .requests
                    .get(*handle)?
                    .is_some_and(|request| request.is_persistent))
            })
            .collect::<Outcome<_>>()?;
        let all_ready = |process: &mut Process| -> Outcome<bool> {
            let mut numbers = Vec::new();
            let mut ready = true;
            for handle in &copies {
                let is_active = process.requests.is_active(*handle)?;
                ready &= process.open_numbers(0, *handle, &mut numbers)? || !is_active;
            }
            Ok(ready)
        };
        if !all_ready(self)? {
            let mut taken = copies.clone();
            let found = self.select(&mut taken, (Takes::All, false), Call::Test)?;
            let Some(found) = found.filter(|found| !found.complete.is_empty()) else {
                return Ok(None);
            };
            let mut rests = found.rest;
            for (position, status) in found.complete {
                if copies[position] == abi::REQUEST_NULL {
                    continue;
                }
                let rest = rests.iter().position(|(own, _)| *own == position);
                let rest = rest.map(|index| rests.swap_remove(index).1);
                self.requests.restore(
                    copies[position],
                    ActiveRequest::Complete(status, rest),
                    persistent[position],
                );
            }
        }
        let mut statuses = Vec::new();
        for handle in &copies {
            let request = self.requests.get(*handle)?;
            statuses.push(match request.and_then(|request| request.pending.as_ref()) {
                Some(ActiveRequest::Complete(status, _)) => status.clone(),
                _ => Ok(MpiStatus::empty()),
            });
        }
        Ok(Some(statuses))
    }
}
