//! Waits and tests, and what the completion of a request does.

use std::ffi::{c_int, c_void};

use operation::{Call, Completed, Operation, ReceivedMessage, Takes};
use rank_channel::{Payload, PostedData, Reply};

use crate::abi::{self, MpiStatus, class};
use crate::failure::{Failure, Outcome};
use crate::process::Process;
use crate::request::{ActiveRequest, ContributionPart, Found, Rest, Target};

impl Target {
    /// Copies a message into it.
    pub fn fill(
        &self,
        process: &Process,
        message: ReceivedMessage,
        payload: Option<Payload>,
    ) -> Outcome<MpiStatus> {
        let status = MpiStatus::new(message.source as c_int, message.tag as c_int, message.bytes);
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
            let Some(&(position, number)) = numbers.iter().find(|(_, number)| Some(*number) == request)
            else {
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
        pending: Option<ActiveRequest>,
        message: Option<ReceivedMessage>,
        payload: Option<Payload>,
        contributions: Option<Vec<Option<Payload>>>,
        rest: &mut Vec<Rest>,
    ) -> Outcome<MpiStatus> {
        match (pending, message) {
            (Some(ActiveRequest::Receive(target)), Some(message)) => target.fill(self, message, payload),
            (Some(ActiveRequest::Receive(_)), None) => {
                let mut status = MpiStatus::empty();
                status.set_cancelled(true);
                Ok(status)
            }
            (Some(ActiveRequest::Collective(part, delivery)), _) => {
                let loaded = self.load_contributions(part, contributions.unwrap_or_default())?;
                rest.push(Box::new(move || delivery(loaded)));
                Ok(MpiStatus::empty())
            }
            (Some(ActiveRequest::Complete(status)), _) => Ok(status),
            _ => Ok(MpiStatus::empty()),
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
            Some(_) => {
                self.starters.remove(handle);
                self.requests.forget(handle)
            }
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
            let reply = self.ask(Operation::Wait { requests, call }, PostedData::default());
            self.end_requests(handles, &numbers, reply, &mut found)?;
        }
        found.complete.sort_by_key(|(position, _)| *position);
        Ok(found)
    }

    /// A request that the simulator has not: null, inactive, or complete from the start.
    fn end_without_simulator(
        &mut self,
        handles: &mut [c_int],
        position: usize,
        found: &mut Found,
    ) -> Outcome<()> {
        let mut status = MpiStatus::empty();
        let early = self
            .requests
            .early
            .iter()
            .position(|(own, _)| *own == handles[position]);
        found
            .rest
            .extend(early.map(|index| self.requests.early.swap_remove(index).1));
        if handles[position] != abi::REQUEST_NULL
            && let Some(ActiveRequest::Complete(own)) = self.requests.end(&mut handles[position])?
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
        let reply = self.ask(operation, PostedData::default());
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
