//! Operations whose end the simulation decides, for programs that read answers: Waitany, Waitsome, the Test family,
//! Iprobe, matched probes and Cancel; and communicators that they make.
//!
//! Source: MPI 4.1, sections 3.7.3, 3.7.5 "Multiple Completions" and 3.8 "Probe and Cancel". Where the standard lets
//! any complete request be chosen, the first of the list is, so that a run can be repeated. A test that completes
//! nothing, and an Iprobe, take `mpi.poll_overhead`, without which a loop of them would stop the time;
//! [`Takes::Arrived`] leaves that to its program.

use des::Time;
use workload::{Call, ReceivedMessage, SentMessage, Takes};

use crate::ReplayError;
use crate::cpu::{CpuState, CpuStep};
use crate::job::Group;
use crate::matching::{MatchPattern, PostedReceive, UnexpectedMessage};
use crate::message::{Message, communicator_of};
use crate::rank::{Action, Rank};
use crate::requests::{Owner, Request, RequestInfo, RequestKind};

impl Rank {
    /// Takes complete requests, or waits for the first. Without requests it is a test that found nothing, in recordings
    /// too.
    #[cold]
    pub(crate) fn begin_select(
        &mut self,
        requests: Vec<u64>,
        (takes, blocks): (Takes, bool),
        call: Call,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<CpuStep, ReplayError> {
        if !requests.is_empty() {
            self.check_answered(call)?;
        }
        let mut complete = Vec::new();
        for number in &requests {
            let handle = self.open_request(call, *number)?;
            if self.requests.get(handle).is_some_and(|request| request.complete) {
                complete.push(*number);
            }
        }
        match takes {
            Takes::All if complete.len() < requests.len() => complete.clear(),
            Takes::First => complete.truncate(1),
            Takes::Arrived => complete.sort_by_key(|number| self.arrival_order(*number)),
            Takes::All | Takes::Complete => {}
        }
        self.begin_waiting(now);
        if !complete.is_empty() {
            for number in complete {
                let handle = self.take_request(call, number)?;
                self.wait_for(handle)?;
            }
            self.tell(|answering| answering.found());
            return self.finish_wait(now, out);
        }
        if requests.is_empty() {
            self.tell(|answering| answering.found());
        }
        if takes == Takes::Arrived && !blocks {
            return self.finish_wait(now, out);
        }
        if !blocks || requests.is_empty() {
            return self.pay_poll(now, out);
        }
        for number in &requests {
            let handle = self.open_request(call, *number)?;
            self.set_owner(handle, Owner::Contending);
        }
        self.tell(|answering| answering.contenders = requests);
        self.wait(1, now);
        Ok(CpuStep::Suspend)
    }

    /// Where the message of a receive of the program comes in the order of all.
    fn arrival_order(&self, number: u64) -> Option<u64> {
        let handle = self.open.get(number)?;
        self.answering.as_ref()?.order(handle)
    }

    /// The first of several requests is complete: the others go back to the program.
    #[cold]
    pub(crate) fn end_contention(&mut self, handle: u32) -> Result<(), ReplayError> {
        let contenders = self.answering.as_mut().map(|answering| {
            answering.found();
            std::mem::take(&mut answering.contenders)
        });
        for number in contenders.unwrap_or_default() {
            match self.open.get(number) {
                Some(own) if own == handle => {
                    self.open.remove(number, &mut self.journal);
                    self.tell(|answering| answering.awaits(handle, number));
                }
                Some(other) => self.set_owner(other, Owner::Program),
                None => return Err(self.contract_error(format!("request {number} is gone"))),
            }
        }
        Ok(())
    }

    /// Looks for a message.
    #[cold]
    pub(crate) fn begin_iprobe(
        &mut self,
        pattern: MatchPattern,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<CpuStep, ReplayError> {
        let search = self.matching.probe(&pattern);
        let cost = self.search_cost(search.looked_at);
        self.add_overhead(cost);
        let busy_until = self.add_time(now, cost)?;
        if let Some(index) = search.found
            && self.answering.is_some()
        {
            self.tell_found(index);
            self.tell(|answering| answering.found());
        }
        self.pay_poll(busy_until, out)
    }

    /// Looks for a message, and takes it for the program. One of a recording has found its message, and waits for it
    /// where the network is another one.
    #[cold]
    pub(crate) fn begin_matched_probe(
        &mut self,
        pattern: MatchPattern,
        (message, blocks): (u64, bool),
        call: Call,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<CpuStep, ReplayError> {
        let number = u32::try_from(message)
            .ok()
            .filter(|number| !self.matching.keeps(*number));
        let Some(number) = number else {
            return Err(ReplayError::RequestInUse {
                rank: self.rank,
                call: call.name(),
                request: message,
            });
        };
        let search = self.matching.take(&pattern, &mut self.journal);
        let cost = self.search_cost(search.looked_at);
        self.add_overhead(cost);
        let busy_until = self.add_time(now, cost)?;
        if let Some(found) = search.found {
            self.tell_probed(&found.message);
            self.take_for_program(number, found);
        } else if blocks || self.answering.is_none() {
            return self.await_probed(pattern, busy_until, Some(number));
        }
        if blocks {
            self.wait(0, busy_until);
            return self.finish_wait(now, out);
        }
        self.pay_poll(busy_until, out)
    }

    /// A probe waits for its message.
    pub(crate) fn await_probed(
        &mut self,
        pattern: MatchPattern,
        busy_until: Time,
        takes: Option<u32>,
    ) -> Result<CpuStep, ReplayError> {
        let probing = CpuState::Probing {
            pattern,
            busy_until,
            takes,
        };
        self.state.set(probing, &mut self.journal);
        Ok(CpuStep::Suspend)
    }

    /// The message for which a matched probe waited has arrived: it takes the message.
    #[cold]
    pub(crate) fn end_matched_probe(&mut self, pattern: &MatchPattern, number: u32) {
        if let Some(found) = self.matching.take(pattern, &mut self.journal).found {
            self.take_for_program(number, found);
        }
    }

    fn take_for_program(&mut self, number: u32, found: UnexpectedMessage) {
        self.matching.keep(number, found, &mut self.journal);
        self.tell(|answering| answering.found());
    }

    /// Receives a message that a matched probe has taken.
    #[cold]
    pub(crate) fn begin_receive_matched(
        &mut self,
        message: u64,
        capacity: u64,
        request: Option<u64>,
        call: Call,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<CpuStep, ReplayError> {
        let request = request
            .map(|request| self.check_unused(call, request))
            .transpose()?;
        let number = u32::try_from(message).ok();
        let taken = number.and_then(|number| self.matching.take_kept(number, &mut self.journal));
        let Some(UnexpectedMessage { message, looked_at }) = taken else {
            return Err(ReplayError::UnknownRequest {
                rank: self.rank,
                call: call.name(),
                request: message,
            });
        };
        let (context, from, tag) = (message.communicator, Some(message.from), Some(message.tag));
        let info = RequestInfo {
            kind: RequestKind::Receive,
            peer: from,
            tag,
            context,
            call,
        };
        let receive = Request {
            cost: self.job.settings.receive_overhead,
            ..Request::new(info, Owner::Program)
        };
        let handle = self.requests.add(receive, &mut self.journal);
        self.charge_match(handle, looked_at, Some(&message));
        let pattern = MatchPattern { context, from, tag };
        let posted = PostedReceive {
            pattern,
            capacity,
            handle,
        };
        self.accept(posted, message, now, out)?;
        self.own_receive(handle, request, now, out)
    }

    /// Cancels a receive that has no message yet. The standard lets a send go on (section 3.8.4).
    #[cold]
    pub(crate) fn cancel(&mut self, request: u64, call: Call) -> Result<CpuStep, ReplayError> {
        let handle = self.open_request(call, request)?;
        if self.matching.withdraw(handle, &mut self.journal) {
            let complete = |request: &mut Request| {
                request.complete = true;
                request.cost = Time::ZERO;
            };
            self.requests.alter(handle, complete, &mut self.journal);
            self.tell(|answering| answering.found());
        }
        Ok(CpuStep::Continue)
    }

    /// Makes a communicator known to this rank. It takes no time.
    #[cold]
    pub(crate) fn make_communicator(
        &mut self,
        communicator: u32,
        members: Vec<u32>,
        call: Call,
    ) -> Result<CpuStep, ReplayError> {
        self.check_answered(call)?;
        let group = self.job.make_group(communicator, members);
        let group = group.map_err(|what| ReplayError::NewCommunicator {
            rank: self.rank,
            call: call.name(),
            what,
        })?;
        group.member(self.rank, call, communicator)?;
        self.tell(|answering| {
            answering.made.insert(communicator, group);
        });
        Ok(CpuStep::Continue)
    }

    /// The members of a communicator that this rank has made.
    #[cold]
    pub(crate) fn made_group(&self, communicator: u32) -> Option<&Group> {
        let made = &self.answering.as_ref()?.made;
        made.get(&communicator).map(|group| &**group)
    }

    /// Ends an operation that a loop may repeat without end, after what it has paid until `busy_until`.
    fn pay_poll(&mut self, busy_until: Time, out: &mut Vec<Action>) -> Result<CpuStep, ReplayError> {
        let cost = self.job.settings.poll_overhead;
        self.add_overhead(cost);
        let until = self.add_time(busy_until, cost)?;
        self.wait(0, until);
        self.finish_wait(busy_until, out)
    }

    /// Tells the program what its last operation has brought.
    #[cold]
    pub(crate) fn tell_program(&mut self, now: Time) {
        if let Some(answering) = &mut self.answering {
            self.program.answer(answering.take(now));
        }
    }

    /// Tells the program the unexpected message that a probe has found, by its index.
    #[cold]
    pub(crate) fn tell_found(&mut self, index: u32) {
        let message = self.matching.unexpected_messages().nth(index as usize);
        if let Some(message) = message.copied() {
            self.tell_probed(&message);
        }
    }

    /// Tells the program the message that a probe has found.
    #[cold]
    pub(crate) fn tell_probed(&mut self, message: &Message) {
        let message = self.received_message(message);
        self.tell(|answering| answering.probed(message));
    }

    /// Tells the program which message its send has become.
    #[cold]
    pub(crate) fn tell_sent(&mut self, to: u32, sequence: u32) {
        let from = self.rank;
        self.program.sent(SentMessage { from, to, sequence });
    }

    /// Notes the message of a complete receive for the program.
    #[inline]
    pub(crate) fn tell_received(&mut self, handle: u32, message: &Message) {
        if self.answering.is_some() {
            self.tell_arrived(handle, message);
        }
    }

    #[cold]
    fn tell_arrived(&mut self, handle: u32, message: &Message) {
        if !message.is_of_collective() {
            let message = self.received_message(message);
            self.tell(|answering| answering.received(handle, message));
        }
    }

    fn received_message(&self, message: &Message) -> ReceivedMessage {
        let communicator = communicator_of(message.communicator);
        ReceivedMessage {
            source: self.rank_in(communicator, message.from),
            tag: message.tag,
            bytes: message.bytes,
            sent: SentMessage {
                from: message.from,
                to: self.rank,
                sequence: message.sequence,
            },
        }
    }

    fn check_answered(&self, call: Call) -> Result<(), ReplayError> {
        match self.answering {
            Some(_) => Ok(()),
            None => Err(ReplayError::Unanswered {
                rank: self.rank,
                call: call.name(),
            }),
        }
    }
}
