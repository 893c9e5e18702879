//! The steps of the blocking collective of a rank.

use des::Time;

use crate::agreement::RankCall;
use crate::blocking_collective::{CollectiveSchedule, check_counts};
use crate::collectives::SEQUENCES;
use crate::cpu::{CpuStep, OutgoingSend, SendOrigin};
use crate::message::communicator_of;
use crate::rank::{Action, Rank};
use crate::requests::{RequestInfo, RequestKind};
use crate::settings::time_at;
use crate::{ReplayError, RoundReceive};

impl Rank {
    /// The schedule of this rank in the next collective of a context.
    pub(crate) fn next_schedule(
        &mut self,
        context: u32,
        rank_call: RankCall,
    ) -> Result<CollectiveSchedule, ReplayError> {
        check_counts(self.rank, context, &rank_call)?;
        let sequence = self.histories.calls(context);
        if self
            .nonblocking
            .contains(context, sequence.wrapping_sub(SEQUENCES))
        {
            return Err(ReplayError::TooManyCollectives {
                rank: self.rank,
                call: rank_call.call.name(),
                communicator: communicator_of(context),
                limit: SEQUENCES,
            });
        }
        self.histories
            .add(context, &rank_call.arguments(), &mut self.journal);
        let group = self.known(rank_call.call, communicator_of(context))?;
        Ok(CollectiveSchedule::new(
            &self.job,
            group,
            (context, sequence),
            rank_call,
        ))
    }

    /// Starts a blocking collective.
    pub(crate) fn begin_collective(
        &mut self,
        schedule: CollectiveSchedule,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<CpuStep, ReplayError> {
        let entered = self.collective.begin(schedule, &mut self.journal);
        self.begin_round(entered, now, out)
    }

    /// Issues the next send of the round. After the last send it waits for the round, then enters the next.
    pub(crate) fn collective_step(
        &mut self,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<CpuStep, ReplayError> {
        if let Some((to, bytes)) = self.collective.next_send(&mut self.journal) {
            let departure = self.current_send(to, bytes)?;
            return self.begin_send(departure, now, out);
        }
        if self.collective.begin_waiting(&mut self.journal) {
            self.begin_waiting(now);
            while let Some(handle) = self.collective.next_pending(&mut self.journal) {
                self.wait_for(handle)?;
            }
            return self.finish_wait(now, out);
        }
        let entered = self.collective.enter_next_round(&mut self.journal);
        self.begin_round(entered, now, out)
    }

    /// Posts the receives of the entered round, or ends the collective if there is none.
    fn begin_round(
        &mut self,
        entered: bool,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<CpuStep, ReplayError> {
        if !entered {
            self.collective.end(&mut self.journal);
            return Ok(CpuStep::Continue);
        }
        for index in 0..self.collective.round().receives.len() {
            let receive = self.collective.round().receives[index];
            let departure = self.current_send(receive.from, 0)?;
            let handle = self.post_round_receive(departure, receive, now, out)?;
            self.collective.add_pending(handle, &mut self.journal);
        }
        Ok(CpuStep::Continue)
    }

    /// A send of the current round to a rank of the communicator.
    fn current_send(&self, to: u32, bytes: u64) -> Result<OutgoingSend, ReplayError> {
        let Some((schedule, number)) = self.collective.current_round() else {
            return Err(self.contract_error("it is in no collective"));
        };
        self.round_send(schedule, number, to, bytes)
    }

    /// A send of a round to a rank of the communicator.
    pub(crate) fn round_send(
        &self,
        schedule: &CollectiveSchedule,
        k: u32,
        to: u32,
        bytes: u64,
    ) -> Result<OutgoingSend, ReplayError> {
        let to = self.peer(schedule.call, communicator_of(schedule.context), to)?;
        Ok(OutgoingSend {
            to,
            context: schedule.context,
            tag: schedule.tag(k),
            bytes,
            call: schedule.call,
            origin: SendOrigin::Collective,
        })
    }

    /// Posts the receive from the rank to which `departure` would go. Its completion costs the time of its reduction.
    pub(crate) fn post_round_receive(
        &mut self,
        departure: OutgoingSend,
        receive: RoundReceive,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<u32, ReplayError> {
        let info = RequestInfo {
            kind: RequestKind::Receive,
            ..departure.info()
        };
        // Counts may differ between ranks, so no message is too long.
        let handle = self.post(info, u64::MAX, now, out)?;
        let bandwidth = self.job.settings.reduction_bandwidth;
        if receive.reduced > 0 && bandwidth.is_some() {
            self.charge(handle, time_at(receive.reduced, bandwidth));
        }
        Ok(handle)
    }
}
