//! Point-to-point messages and their requests.

use ::otf2::MessageRecord;

use super::super::definitions::{CommunicatorMembership, Definitions};
use super::{EventReplay, OpenRequest, QueuedOperation, RequestCompletion, starts_send};
use crate::mpi_calls::ReplayFailure;
use crate::{Call, Operation};

impl EventReplay {
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

    pub(super) fn send(
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

    pub(super) fn blocking_receive(
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
    pub(super) fn post(&mut self, request: u64, call: Call, now: u64) -> (u64, u64) {
        self.wait_before_start(now);
        let number = self.number();
        self.push_item(
            QueuedOperation::Posted {
                request,
                number,
                call,
            },
            now,
        );
        (number, self.head + self.queue.len() as u64 - 1)
    }

    pub(super) fn complete(
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
    pub(super) fn note_completion(&mut self, number: u64, now: u64) {
        match &mut self.current {
            Some(current) => current.completed.push(number),
            None => {
                let requests = vec![number];
                let call = Call::Other;
                self.push(Operation::Wait { requests, call }, now);
            }
        }
    }

    pub(super) fn cancel(&mut self, id: u64, definitions: &Definitions) -> Result<(), ReplayFailure> {
        match self.requests.remove(&id) {
            Some(OpenRequest::Receive { sequence, .. } | OpenRequest::Collective { sequence, .. }) => {
                self.fill(sequence, None, definitions)
            }
            // A cancelled send has left, and no call waits for it.
            Some(_) => Ok(()),
            None => Err(format!("request {id} is cancelled but was never started").into()),
        }
    }

    pub(super) fn receive(
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
        let membership = super::membership(definitions, id)?;
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
}
