//! What messages do to a rank: the side of the network.
//!
//! The protocol makes progress whatever the CPU does: matching, clear-to-send and data cost no CPU
//! time and wait for no call. CPU time of a received message is paid in the call that waits for it.

use des::Time;

use crate::ReplayError;
use crate::matching::Posted;
use crate::message::{Kind, Message, communicator_of};
use crate::note::Note;
use crate::rank::{Action, Rank, State};
use crate::requests::{Direction, Owner, Request};
use crate::statistics::Traffic;

impl Rank {
    pub(crate) fn take_arrival(
        &mut self,
        now: Time,
        message: Message,
        out: &mut Vec<Action>,
    ) -> Result<(), ReplayError> {
        if message.to != self.rank || message.from >= self.job.ranks {
            return Err(self.broken(format!("it was brought {message:?}")));
        }
        match message.kind {
            Kind::Eager | Kind::RequestToSend => {
                let mut next = self.ordering.admit(message, &mut self.journal).then_some(message);
                while let Some(envelope) = next {
                    self.bring(envelope, now, out)?;
                    next = self.ordering.release(message.from, &mut self.journal);
                }
                Ok(())
            }
            Kind::ClearToSend => self.send_data(message, out),
            Kind::Data => {
                let key = (message.from, message.sequence);
                match self.awaiting_data.remove(key, &mut self.journal) {
                    Some(handle) => self.complete_receive(handle, &message, now, out),
                    None => Err(self.broken(format!("nothing awaits {message:?}"))),
                }
            }
            Kind::Put | Kind::Get => self.serve(message, out),
            Kind::PutDone | Kind::GetData => self.take_answer(message, now, out),
        }
    }

    /// Brings an envelope, whose turn it is, to the receive that it matches, or to the probe.
    fn bring(&mut self, envelope: Message, now: Time, out: &mut Vec<Action>) -> Result<(), ReplayError> {
        let search = self.matching.bring(envelope, &mut self.journal);
        if let Some(receive) = search.found {
            self.charge(receive.handle, self.looking_at(search.looked_at));
            return self.take(receive, envelope, now, out);
        }
        let State::Probing { pattern, busy_until } = *self.state else {
            return Ok(());
        };
        // A probe that waits looks at each message that comes.
        let busy_until = self.after(busy_until.max(now), self.looking_at(1))?;
        if pattern.fits(&envelope) {
            self.wait(0, busy_until);
        } else {
            let probing = State::Probing { pattern, busy_until };
            self.state.set(probing, &mut self.journal);
        }
        Ok(())
    }

    /// A receive takes the envelope that it matches.
    pub(crate) fn take(
        &mut self,
        receive: Posted,
        envelope: Message,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<(), ReplayError> {
        if envelope.bytes > receive.capacity {
            return Err(self.truncation(&receive, &envelope));
        }
        self.tell(|| Note::Matched(envelope), out);
        if envelope.kind == Kind::Eager {
            return self.complete_receive(receive.handle, &envelope, now, out);
        }
        let key = (envelope.from, envelope.sequence);
        self.awaiting_data.insert(key, receive.handle, &mut self.journal);
        self.mark_matched(receive.handle);
        out.push(Action::Send(envelope.reply(Kind::ClearToSend)));
        Ok(())
    }

    /// The receiver is ready: the data of the rendezvous leaves.
    fn send_data(&mut self, clear: Message, out: &mut Vec<Action>) -> Result<(), ReplayError> {
        let asked = self.requests.get(clear.request).is_some_and(|request| {
            let subject = &request.subject;
            subject.direction == Direction::Send
                && subject.peer == Some(clear.from)
                && !request.matched
                && !request.complete
        });
        if !asked {
            return Err(self.broken(format!("it did not ask for {clear:?}")));
        }
        self.mark_matched(clear.request);
        out.push(Action::Send(clear.reply(Kind::Data)));
        Ok(())
    }

    pub(crate) fn take_injection(
        &mut self,
        now: Time,
        handle: u32,
        out: &mut Vec<Action>,
    ) -> Result<(), ReplayError> {
        let under_way = self.requests.get(handle).is_some_and(|request| {
            request.subject.direction == Direction::Send && request.matched && !request.complete
        });
        if !under_way {
            return Err(self.broken(format!("no data of request handle {handle} was under way")));
        }
        self.complete(handle, now, out)
    }

    fn complete_receive(
        &mut self,
        handle: u32,
        message: &Message,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<(), ReplayError> {
        let received = Traffic {
            of_collective: message.is_of_collective(),
            bytes: message.bytes,
        };
        self.stats.count_received(received, &mut self.journal);
        self.complete(handle, now, out)
    }

    /// A request is over; a rank that is blocked on it pays what it costs now.
    pub(crate) fn complete(
        &mut self,
        handle: u32,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<(), ReplayError> {
        let Some(request) = self.requests.get(handle) else {
            return Err(self.broken(format!("request handle {handle} is gone")));
        };
        let cost = request.cost;
        match request.owner {
            Owner::Program => {
                let complete = |request: &mut Request| request.complete = true;
                self.requests.alter(handle, complete, &mut self.journal);
            }
            Owner::Nobody => self.requests.close(handle, &mut self.journal),
            Owner::Collective(collective) => {
                self.requests.close(handle, &mut self.journal);
                self.complete_in_background(collective, cost, now, out)?;
            }
            Owner::Blocked => {
                self.requests.close(handle, &mut self.journal);
                let State::Waiting {
                    outstanding: outstanding @ 1..,
                    busy_until,
                } = *self.state
                else {
                    return Err(self.broken("it is blocked and does not wait"));
                };
                // Arrivals while the CPU still works on an earlier one queue up behind it.
                let busy_until = self.after(busy_until.max(now), cost)?;
                self.wait(outstanding - 1, busy_until);
            }
        }
        Ok(())
    }

    fn mark_matched(&mut self, handle: u32) {
        let matched = |request: &mut Request| request.matched = true;
        self.requests.alter(handle, matched, &mut self.journal);
    }

    fn truncation(&self, receive: &Posted, envelope: &Message) -> ReplayError {
        let call = self
            .requests
            .get(receive.handle)
            .map_or("MPI_Recv", |r| r.subject.call.name());
        let communicator = communicator_of(envelope.communicator);
        ReplayError::Truncation {
            rank: self.rank,
            call,
            source_rank: self
                .job
                .rank_in(communicator, envelope.from)
                .unwrap_or(envelope.from),
            tag: envelope.tag,
            communicator,
            sent: envelope.bytes,
            buffer: receive.capacity,
        }
    }
}
