//! What messages do to a rank: the side of the network.
//!
//! The protocol makes progress whatever the CPU does: matching, clear-to-send and data cost no CPU
//! time and wait for no call. CPU time of a received message is paid in the call that waits for it.

use des::Time;

use crate::ReplayError;
use crate::matching::Posted;
use crate::message::{COLLECTIVE_CONTEXT, Kind, Message};
use crate::rank::{Action, Rank, State};
use crate::requests::{Direction, Owner};

impl Rank {
    pub(crate) fn take_arrival(
        &mut self,
        now: Time,
        message: Message,
        out: &mut Vec<Action>,
    ) -> Result<(), ReplayError> {
        if message.to != self.rank {
            return Err(self.broken(format!("it was brought {message:?}")));
        }
        match message.kind {
            Kind::Eager | Kind::RequestToSend => {
                let mut next = self.ordering.admit(message).then_some(message);
                while let Some(envelope) = next {
                    self.bring(envelope, now, out)?;
                    next = self.ordering.release(message.from);
                }
                Ok(())
            }
            Kind::ClearToSend => self.send_data(message, out),
            Kind::Data => match self.awaiting_data.remove(&(message.from, message.sequence)) {
                Some(handle) => self.complete_receive(handle, &message, now),
                None => Err(self.broken(format!("nothing awaits {message:?}"))),
            },
        }
    }

    /// Brings an envelope, whose turn it is, to the receive that it matches.
    fn bring(&mut self, envelope: Message, now: Time, out: &mut Vec<Action>) -> Result<(), ReplayError> {
        debug_assert!(envelope.is_envelope());
        match self.matching.bring(envelope) {
            Some(receive) => self.take(receive, envelope, now, out),
            None => Ok(()),
        }
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
        if envelope.kind == Kind::Eager {
            return self.complete_receive(receive.handle, &envelope, now);
        }
        self.awaiting_data
            .insert((envelope.from, envelope.sequence), receive.handle);
        self.mark_matched(receive.handle);
        out.push(Action::Send(envelope.reply(Kind::ClearToSend)));
        Ok(())
    }

    /// The receiver is ready: the data of the rendezvous leaves.
    fn send_data(&mut self, clear: Message, out: &mut Vec<Action>) -> Result<(), ReplayError> {
        let asked = self.requests.get(clear.request).is_some_and(|request| {
            let subject = &request.subject;
            subject.direction == Direction::Send && subject.peer == Some(clear.from) && !request.matched
        });
        if !asked {
            return Err(self.broken(format!("it did not ask for {clear:?}")));
        }
        self.mark_matched(clear.request);
        out.push(Action::Send(clear.reply(Kind::Data)));
        Ok(())
    }

    pub(crate) fn take_injection(&mut self, now: Time, handle: u32) -> Result<(), ReplayError> {
        let under_way = self.requests.get(handle).is_some_and(|request| {
            request.subject.direction == Direction::Send && request.matched && !request.complete
        });
        if !under_way {
            return Err(self.broken(format!("no data of request handle {handle} was under way")));
        }
        self.complete(handle, now, Time::ZERO)
    }

    fn complete_receive(&mut self, handle: u32, message: &Message, now: Time) -> Result<(), ReplayError> {
        self.stats
            .count_received(message.communicator & COLLECTIVE_CONTEXT != 0, message.bytes);
        self.complete(handle, now, self.job.settings.receive_overhead)
    }

    /// A send or receive is over; a rank that is blocked on it pays the overhead now.
    fn complete(&mut self, handle: u32, now: Time, overhead: Time) -> Result<(), ReplayError> {
        let Some(request) = self.requests.get_mut(handle) else {
            return Err(self.broken(format!("request handle {handle} is gone")));
        };
        match request.owner {
            Owner::Program => request.complete = true,
            Owner::Nobody => self.requests.close(handle),
            Owner::Blocked => {
                self.requests.close(handle);
                let State::Waiting {
                    outstanding,
                    busy_until,
                } = self.state
                else {
                    return Err(self.broken("it is blocked and does not wait"));
                };
                // Arrivals while the CPU still works on an earlier one queue up behind it.
                let busy_until = self.after(busy_until.max(now), overhead)?;
                self.state = State::Waiting {
                    outstanding: outstanding - 1,
                    busy_until,
                };
            }
        }
        Ok(())
    }

    fn mark_matched(&mut self, handle: u32) {
        if let Some(request) = self.requests.get_mut(handle) {
            request.matched = true;
        }
    }

    fn truncation(&self, receive: &Posted, envelope: &Message) -> ReplayError {
        let call = self
            .requests
            .get(receive.handle)
            .map_or("MPI_Recv", |r| r.subject.call.name());
        let communicator = envelope.communicator & !COLLECTIVE_CONTEXT;
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
