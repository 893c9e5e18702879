//! The critical path of a rank, as its calls change it.

use des::Time;

use crate::ReplayError;
use crate::idle::IdleTime;
use crate::message::Message;
use crate::path::{Arriving, Awaited, PathState, PathTime, add};
use crate::rank::Rank;

impl Rank {
    /// The critical path of this rank up to the end of what its CPU does now. If the rank has finished, up to then; the
    /// parts and the transfers add up to the time since the start of the job.
    pub fn path(&self) -> PathTime {
        self.measured_path().path
    }

    /// Times of the messages that ended an idle wait.
    pub fn awaited(&self) -> Awaited {
        self.measured_path().awaited
    }

    /// What the rank keeps about its path, up to the end of the part that is measured.
    fn measured_path(&self) -> &PathState {
        self.measured.get().map_or(&*self.path, |measured| &measured.path)
    }

    /// The path of what this rank does now.
    fn cause(&self) -> PathTime {
        match &self.arriving {
            Some(arriving) => arriving.path(),
            None => self.path.path,
        }
    }

    /// Adds computation to the path.
    pub(crate) fn add_compute(&mut self, span: Time) {
        let more = |state: &mut PathState| add(&mut state.path.compute, span);
        self.path.update(more, &mut self.journal);
    }

    /// Adds MPI overhead to the path.
    #[inline]
    pub(crate) fn add_overhead(&mut self, span: Time) {
        if span > Time::ZERO {
            let more = |state: &mut PathState| add(&mut state.path.overhead, span);
            self.path.update(more, &mut self.journal);
        }
    }

    /// What arrives now ends an idle wait that began at `idle_since`, so that its path is the path of the rank. An
    /// arrival while the CPU is busy does not decide. The next wait begins now at the earliest, so that one arrival
    /// ends at most one.
    #[inline]
    pub(crate) fn adopt_cause(&mut self, idle_since: Time, now: Time) {
        if let Some(arriving) = &self.arriving
            && idle_since < now
        {
            let idle = IdleTime::ended_by(&arriving.transit, now.saturating_sub(idle_since));
            self.stats
                .count_idle(arriving.of_collective, idle, &mut self.journal);
            let take_over = |state: &mut PathState| {
                state.path = arriving.path();
                let Awaited {
                    serialization,
                    memory,
                    queueing,
                } = &mut state.awaited;
                add(serialization, arriving.transit.serialization);
                add(memory, arriving.transit.memory);
                add(queueing, arriving.transit.queueing);
            };
            self.path.update(take_over, &mut self.journal);
        }
    }

    /// Executes `step` as the effect of an arrival.
    #[inline]
    pub(crate) fn caused_by(
        &mut self,
        arriving: Arriving,
        step: impl FnOnce(&mut Rank) -> Result<(), ReplayError>,
    ) -> Result<(), ReplayError> {
        self.arriving = Some(arriving);
        let done = step(self);
        self.arriving = None;
        done
    }

    /// The message with the path of its cause.
    #[inline]
    pub(crate) fn with_path(&self, message: Message) -> Message {
        let Message {
            from,
            to,
            sequence,
            request,
            kind,
            ..
        } = message;
        let ranks = u64::from(from) << 32 | u64::from(to);
        let numbers = u64::from(sequence) << 3 ^ u64::from(request) << 35 ^ kind as u64;
        let seed = ranks.wrapping_mul(0xD6E8_FEB8_6659_FD93) ^ numbers;
        Message {
            path: self.cause().pack(seed),
            ..message
        }
    }
}
