//! The steps of non-blocking collectives.

use des::Time;

use crate::blocking_collective::CollectiveSchedule;
use crate::cpu::CpuStep;
use crate::nonblocking_collective::NonBlockingProgress;
use crate::rank::{Action, Rank};
use crate::requests::{Owner, Request, RequestInfo, RequestKind};
use crate::timeline::{TimelineEvent, index_of};
use crate::{ReplayError, Round};

impl Rank {
    /// Starts a non-blocking collective under a request of the program.
    pub(crate) fn begin_nonblocking(
        &mut self,
        schedule: CollectiveSchedule,
        request: u64,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<CpuStep, ReplayError> {
        let info = RequestInfo {
            kind: RequestKind::Collective,
            peer: None,
            tag: None,
            context: schedule.context,
            call: schedule.call,
        };
        let handle = self.requests.open(info, Owner::Program, &mut self.journal);
        self.open.insert(request, handle, &mut self.journal);
        self.nonblocking.begin(handle, schedule, &mut self.journal);
        self.issue_rounds(handle, now, out)?;
        Ok(CpuStep::Continue)
    }

    /// Accounts for a complete message of a non-blocking collective.
    pub(crate) fn complete_nonblocking(
        &mut self,
        handle: u32,
        cost: Time,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<(), ReplayError> {
        let Some(it) = self.nonblocking.get(handle) else {
            return Err(self.contract_error(format!("no collective has request handle {handle}")));
        };
        let NonBlockingProgress { next, outstanding } = it.progress;
        let outstanding = outstanding.saturating_sub(1);
        let progress = NonBlockingProgress { next, outstanding };
        self.nonblocking.set_progress(handle, progress, &mut self.journal);
        self.charge(handle, cost);
        if outstanding > 0 {
            return Ok(());
        }
        self.issue_rounds(handle, now, out)
    }

    /// Issues rounds until a round has to wait or the collective is complete.
    fn issue_rounds(&mut self, handle: u32, now: Time, out: &mut Vec<Action>) -> Result<(), ReplayError> {
        let (mut round, mut messages) = (Round::default(), Vec::new());
        loop {
            let Some(it) = self.nonblocking.get(handle) else {
                return Err(self.contract_error(format!("no collective has request handle {handle}")));
            };
            let (schedule, k) = (it.schedule.clone(), it.progress.next);
            round.clear();
            if !schedule.round(k, &mut round) {
                self.nonblocking.end(handle, &mut self.journal);
                return self.complete(handle, now, out);
            }
            let number = k.wrapping_add(round.round_offset);
            for receive in &round.receives {
                let departure = self.round_send(&schedule, number, receive.from, 0)?;
                messages.push(self.post_round_receive(departure, *receive, now, out)?);
            }
            for (to, bytes) in &round.sends {
                let departure = self.round_send(&schedule, number, *to, *bytes)?;
                self.charge(handle, self.send_cost(&departure));
                self.add_to_timeline(
                    || TimelineEvent::SendIssued {
                        at: now,
                        algorithm: index_of(schedule.algorithm()),
                    },
                    out,
                );
                messages.extend(self.issue(&departure, out));
            }
            let outstanding = self.attach_messages(handle, &mut messages);
            let next = k.saturating_add(1);
            let progress = NonBlockingProgress { next, outstanding };
            self.nonblocking.set_progress(handle, progress, &mut self.journal);
            if outstanding > 0 {
                return Ok(());
            }
        }
    }

    /// Assigns the messages of a round to their collective and closes those that are complete. Returns the
    /// number of the others.
    fn attach_messages(&mut self, collective: u32, messages: &mut Vec<u32>) -> u32 {
        let mut outstanding = 0;
        for message in messages.drain(..) {
            match self.requests.get(message) {
                Some(request) if request.complete => {
                    let cost = request.cost;
                    self.requests.close(message, &mut self.journal);
                    self.charge(collective, cost);
                }
                _ => {
                    let hand_over = |request: &mut Request| request.owner = Owner::Collective(collective);
                    self.requests.alter(message, hand_over, &mut self.journal);
                    outstanding += 1;
                }
            }
        }
        outstanding
    }
}
