//! Progress of the protocol: the effect of messages on a rank.
//!
//! Matching, clear-to-send and data need no CPU time and no call. The call that waits for a message pays the
//! CPU time of its receive.

use des::Time;

use crate::ReplayError;
use crate::cpu::CpuState;
use crate::matching::PostedReceive;
use crate::message::{Message, MessageKind, communicator_of};
use crate::rank::{Action, Rank};
use crate::requests::{Owner, Request, RequestKind};
use crate::statistics::CountedMessage;
use crate::timeline::TimelineEvent;

impl Rank {
    pub(crate) fn accept_arrival(
        &mut self,
        now: Time,
        message: Message,
        out: &mut Vec<Action>,
    ) -> Result<(), ReplayError> {
        if message.to != self.rank || message.from >= self.job.ranks {
            return Err(self.contract_error(format!("it received the unexpected {message:?}")));
        }
        match message.kind {
            MessageKind::Eager if !self.job.settings.keeps_order => self.deliver(message, now, out),
            MessageKind::Eager | MessageKind::RequestToSend => {
                let mut next = self.ordering.admit(message, &mut self.journal).then_some(message);
                while let Some(envelope) = next {
                    self.deliver(envelope, now, out)?;
                    next = self.ordering.release(message.from, &mut self.journal);
                }
                Ok(())
            }
            MessageKind::ClearToSend => self.send_data(message, out),
            MessageKind::Data => {
                let key = (message.from, message.sequence);
                match self.awaiting_data.remove(key, &mut self.journal) {
                    Some(handle) => self.complete_receive(handle, &message, now, out),
                    None => Err(self.contract_error(format!("nothing awaits {message:?}"))),
                }
            }
            MessageKind::Put | MessageKind::Get => self.serve_one_sided(message, out),
            MessageKind::PutDone | MessageKind::GetData => self.accept_reply(message, now, out),
        }
    }

    /// Delivers an envelope that is next in order to a matching receive or probe.
    fn deliver(&mut self, envelope: Message, now: Time, out: &mut Vec<Action>) -> Result<(), ReplayError> {
        let search = self.matching.deliver(envelope, &mut self.journal);
        if let Some(receive) = search.found {
            self.charge_match(receive.handle, search.looked_at, Some(&envelope));
            return self.accept(receive, envelope, now, out);
        }
        let CpuState::Probing {
            pattern,
            busy_until,
            takes,
        } = *self.state
        else {
            return Ok(());
        };
        self.report_blocked(busy_until, now, out);
        self.adopt_cause(busy_until, now);
        // A waiting probe compares each arriving message.
        let cost = self.search_cost(1);
        let busy_until = self.add_time(busy_until.max(now), cost)?;
        self.add_overhead(cost);
        if pattern.fits(&envelope) {
            if self.answering.is_some() {
                self.tell_probed(&envelope);
            }
            if let Some(number) = takes {
                self.end_matched_probe(&pattern, number);
            }
            self.wait(0, busy_until);
        } else {
            self.await_probed(pattern, busy_until, takes)?;
        }
        Ok(())
    }

    /// A receive accepts the envelope that it matches.
    pub(crate) fn accept(
        &mut self,
        receive: PostedReceive,
        envelope: Message,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<(), ReplayError> {
        if envelope.bytes > receive.capacity {
            return Err(self.truncation(&receive, &envelope));
        }
        self.add_to_timeline(|| TimelineEvent::ReceiveMatched(envelope), out);
        if envelope.kind == MessageKind::Eager {
            return self.complete_receive(receive.handle, &envelope, now, out);
        }
        let key = (envelope.from, envelope.sequence);
        self.awaiting_data.insert(key, receive.handle, &mut self.journal);
        self.mark_matched(receive.handle);
        let clear = self.with_path(envelope.reply(MessageKind::ClearToSend));
        out.push(Action::Send(clear));
        Ok(())
    }

    /// The receiver is ready: sends the data of the rendezvous.
    fn send_data(&mut self, clear: Message, out: &mut Vec<Action>) -> Result<(), ReplayError> {
        let asked = self.requests.get(clear.request).is_some_and(|request| {
            let info = &request.info;
            info.kind == RequestKind::Send
                && info.peer == Some(clear.from)
                && !request.matched
                && !request.complete
        });
        if !asked {
            return Err(self.contract_error(format!("it did not ask for {clear:?}")));
        }
        let data = self.with_path(clear.reply(MessageKind::Data));
        let clear_request = |request: &mut Request| {
            request.matched = true;
            request.path = data.path;
        };
        self.requests
            .alter(clear.request, clear_request, &mut self.journal);
        out.push(Action::Send(data));
        Ok(())
    }

    pub(crate) fn accept_injection(
        &mut self,
        now: Time,
        handle: u32,
        out: &mut Vec<Action>,
    ) -> Result<(), ReplayError> {
        let under_way = self.requests.get(handle).is_some_and(|request| {
            request.info.kind == RequestKind::Send && request.matched && !request.complete
        });
        if !under_way {
            return Err(self.contract_error(format!("no data of request handle {handle} was in flight")));
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
        let received = CountedMessage {
            of_collective: message.is_of_collective(),
            bytes: message.bytes,
        };
        self.stats.count_received(received, &mut self.journal);
        self.tell_received(handle, message);
        self.complete(handle, now, out)
    }

    /// Completes a request. A rank that is blocked on it pays its CPU time now.
    pub(crate) fn complete(
        &mut self,
        handle: u32,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<(), ReplayError> {
        let Some(request) = self.requests.get(handle) else {
            return Err(self.contract_error(format!("request handle {handle} is gone")));
        };
        let cost = request.cost;
        match request.owner {
            Owner::Program => {
                let complete = |request: &mut Request| request.complete = true;
                self.requests.alter(handle, complete, &mut self.journal);
            }
            Owner::Unawaited => self.requests.close(handle, &mut self.journal),
            Owner::Collective(collective) => {
                self.requests.close(handle, &mut self.journal);
                self.complete_nonblocking(collective, cost, now, out)?;
            }
            owner @ (Owner::Blocked | Owner::Contending) => {
                if owner == Owner::Contending {
                    self.end_contention(handle)?;
                }
                self.requests.close(handle, &mut self.journal);
                self.tell(|answering| answering.completed(handle));
                let CpuState::Waiting {
                    outstanding: outstanding @ 1..,
                    busy_until,
                } = *self.state
                else {
                    return Err(self.contract_error("it is blocked and does not wait"));
                };
                self.report_blocked(busy_until, now, out);
                self.adopt_cause(busy_until, now);
                self.add_overhead(cost);
                // Arrivals queue up while the CPU works on an earlier one.
                let busy_until = self.add_time(busy_until.max(now), cost)?;
                self.wait(outstanding - 1, busy_until);
            }
        }
        Ok(())
    }

    fn mark_matched(&mut self, handle: u32) {
        let matched = |request: &mut Request| request.matched = true;
        self.requests.alter(handle, matched, &mut self.journal);
    }

    fn truncation(&self, receive: &PostedReceive, envelope: &Message) -> ReplayError {
        let call = self
            .requests
            .get(receive.handle)
            .map_or("MPI_Recv", |r| r.info.call.name());
        let communicator = communicator_of(envelope.communicator);
        ReplayError::Truncation {
            rank: self.rank,
            call,
            source_rank: self.rank_in(communicator, envelope.from),
            tag: envelope.tag,
            communicator,
            sent: envelope.bytes,
            buffer: receive.capacity,
        }
    }
}
