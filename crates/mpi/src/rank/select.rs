//! Operations whose end the simulation decides, for programs that read answers: Waitany, Waitsome, the Test family and
//! Iprobe.
//!
//! Source: MPI 4.1, sections 3.7.3, 3.7.5 "Multiple Completions" and 3.8. Where the standard lets any complete request
//! be chosen, the first of the list is, so that a run can be repeated. A test that completes nothing, and an Iprobe,
//! take `mpi.poll_overhead`, without which a loop of them would stop the time.

use des::Time;
use workload::{Call, ReceivedMessage, Takes};

use crate::ReplayError;
use crate::cpu::CpuStep;
use crate::matching::MatchPattern;
use crate::message::{Message, communicator_of};
use crate::rank::{Action, Rank};
use crate::requests::Owner;

impl Rank {
    /// Takes complete requests, or waits for the first.
    #[cold]
    pub(crate) fn begin_select(
        &mut self,
        requests: Vec<u64>,
        (takes, blocks): (Takes, bool),
        call: Call,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<CpuStep, ReplayError> {
        self.check_answered(call)?;
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
        call: Call,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<CpuStep, ReplayError> {
        self.check_answered(call)?;
        let search = self.matching.probe(&pattern);
        let cost = self.search_cost(search.looked_at);
        self.add_overhead(cost);
        let busy_until = self.add_time(now, cost)?;
        if let Some(index) = search.found {
            self.tell_found(index);
            self.tell(|answering| answering.found());
        }
        self.pay_poll(busy_until, out)
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
            source: self
                .job
                .rank_in(communicator, message.from)
                .unwrap_or(message.from),
            tag: message.tag,
            bytes: message.bytes,
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
