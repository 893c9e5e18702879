//! The wait tracker of one port of a NIC.

use std::collections::{BTreeMap, VecDeque};

use des::{Journal, Time};
use serde::{Deserialize, Serialize};

use super::{Reason, Span, Spans, SpansUndo, WaitOutputs};
use crate::NicSource;

/// The wait tracker of one port of a NIC.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NicWaitTracker {
    /// Messages of each source that has any, in the order of the NIC.
    queues: BTreeMap<NicSource, VecDeque<QueuedPacket>>,
    /// Holders of the link while the oldest message waited. A link without a packet lacked credits, or there were
    /// no messages and no waits.
    spans: Spans,
    /// The job whose packet left last.
    last: Option<u16>,
}

/// The next packet of a message in the queue of a NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuedPacket {
    /// Time at which the message joined the end of the queue of its source. Later entries joined later.
    queued: Time,
    /// Time from which the packet could have left: the arrival of its message, or the departure of the previous
    /// packet.
    ready: Time,
}

/// An undo step of a [`NicWaitTracker`].
#[derive(Clone, Copy, Debug)]
pub enum NicWaitTrackerUndo {
    /// A message went to the end of the queue of its source.
    Queued(NicSource),
    /// A message left the front of this queue.
    Left(NicSource, QueuedPacket),
    /// The holders of the link changed.
    Spans(SpansUndo),
    /// The job whose packet left last changed; its previous value.
    Last(Option<u16>),
}

const _: () = assert!(size_of::<NicWaitTrackerUndo>() <= 32);

impl NicWaitTracker {
    /// The NIC takes a message of this source.
    pub fn taken<J: Journal<NicWaitTrackerUndo>>(&mut self, now: Time, source: NicSource, journal: &mut J) {
        self.queued(source, (now, now), journal);
    }

    fn queued<J: Journal<NicWaitTrackerUndo>>(
        &mut self,
        source: NicSource,
        (now, ready): (Time, Time),
        journal: &mut J,
    ) {
        let queue = self.queues.entry(source).or_default();
        queue.push_back(QueuedPacket { queued: now, ready });
        journal.note(|| NicWaitTrackerUndo::Queued(source));
    }

    /// Takes a message from one end of the queue of a source. A queue without messages is removed.
    fn take(
        &mut self,
        source: NicSource,
        end: impl FnOnce(&mut VecDeque<QueuedPacket>) -> Option<QueuedPacket>,
    ) -> Option<QueuedPacket> {
        let queue = self.queues.get_mut(&source)?;
        let message = end(queue);
        if queue.is_empty() {
            self.queues.remove(&source);
        }
        message
    }

    fn add<J: Journal<NicWaitTrackerUndo>>(&mut self, span: Span, journal: &mut J) {
        let step = self.spans.add(span);
        journal.note(|| NicWaitTrackerUndo::Spans(step));
    }

    /// A packet of the first message of a source starts onto the link for `serialization`; the message belongs to
    /// `job`. `last` tells whether it is the last packet of the message.
    pub fn departed<W: WaitOutputs<NicWaitTrackerUndo>>(
        &mut self,
        now: Time,
        (job, source): (u16, NicSource),
        serialization: Time,
        last: bool,
        out: &mut W,
    ) {
        if self.spans.end() < now {
            let full = Span {
                end: now,
                reason: Reason::Credits,
                job: self.last,
            };
            self.add(full, out);
        }
        let end = now + serialization;
        if let Some(first) = self.take(source, VecDeque::pop_front) {
            out.note(|| NicWaitTrackerUndo::Left(source, first));
            if first.ready < now {
                self.spans
                    .divide(first.ready, now, Reason::Wire, |wait| out.waited(wait));
            }
            if !last {
                self.queued(source, (now, end), out);
            }
        }
        let counters = Span {
            end,
            reason: Reason::Wire,
            job: Some(job),
        };
        self.add(counters, out);
        let before = self.last.replace(job);
        if before != Some(job) {
            out.note(|| NicWaitTrackerUndo::Last(before));
        }
        let firsts = self.queues.values().filter_map(VecDeque::front);
        let oldest = firsts.map(|first| first.queued).min().unwrap_or(now);
        while let Some(step) = self.spans.forget(oldest) {
            out.note(|| NicWaitTrackerUndo::Spans(step));
        }
    }

    /// Undoes one step; steps are undone in reverse order.
    pub fn undo(&mut self, step: NicWaitTrackerUndo) {
        match step {
            NicWaitTrackerUndo::Queued(source) => {
                self.take(source, VecDeque::pop_back);
            }
            NicWaitTrackerUndo::Left(source, first) => {
                self.queues.entry(source).or_default().push_front(first);
            }
            NicWaitTrackerUndo::Spans(step) => self.spans.undo(step),
            NicWaitTrackerUndo::Last(before) => self.last = before,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reverse_check::{Reversible, UndoRecorder, check, script};
    use crate::waits::recorder::{Out, shown};
    use crate::{NicArbiter, Wait};
    use proptest::prelude::*;

    /// The only source of a job.
    fn source(job: u16) -> NicSource {
        NicArbiter::RoundRobin.source(0, job, 0)
    }

    #[test]
    fn in_a_nic_messages_wait_for_each_other_and_for_credits() {
        let (mut wait_tracker, mut out) = (NicWaitTracker::default(), Out::default());
        wait_tracker.taken(Time(0), source(1), &mut out);
        wait_tracker.departed(Time(0), (1, source(1)), Time(10), false, &mut out);
        wait_tracker.taken(Time(4), source(2), &mut out);
        // The second packet of the first message is ready at 10 and lacks credits until 25.
        wait_tracker.departed(Time(25), (1, source(1)), Time(10), false, &mut out);
        wait_tracker.departed(Time(35), (2, source(2)), Time(10), true, &mut out);
        wait_tracker.departed(Time(45), (1, source(1)), Time(10), true, &mut out);
        assert_eq!(wait_tracker.queues.len(), 0);
        // After a pause, no wait is charged to the previous job.
        wait_tracker.taken(Time(100), source(1), &mut out);
        wait_tracker.departed(Time(100), (1, source(1)), Time(10), true, &mut out);
        assert_eq!(
            shown(out),
            [
                (10, 25, "credits", Some(1)),
                (4, 20, "wire", Some(1)),
                (20, 35, "credits", Some(1)),
                (35, 45, "wire", Some(2)),
            ]
        );
    }

    #[derive(Clone, Debug)]
    pub(crate) enum NicOp {
        Taken(u16),
        /// Time at which the link becomes free.
        Departed(u16, bool),
    }

    impl Reversible for NicWaitTracker {
        type Op = NicOp;
        type Step = NicWaitTrackerUndo;
        type Output = Wait;
        type State = NicWaitTracker;

        fn fresh() -> NicWaitTracker {
            NicWaitTracker::default()
        }

        fn apply<const KEPT: bool>(
            &mut self,
            now: Time,
            op: &NicOp,
            out: &mut UndoRecorder<NicWaitTrackerUndo, Wait, KEPT>,
        ) {
            match *op {
                NicOp::Taken(job) => self.taken(now, source(job), out),
                NicOp::Departed(job, last) if self.spans.end() <= now => {
                    let queue = self.queues.get(&source(job));
                    let ready = queue
                        .and_then(|queue| queue.front())
                        .map_or(now, |first| first.ready);
                    let before = out.outputs.len();
                    self.departed(now, (job, source(job)), Time(5), last, out);
                    let parts = &out.outputs[before..];
                    let sum = parts
                        .iter()
                        .fold(Time(0), |sum, part| sum + (part.end - part.start));
                    assert_eq!(ready + sum, now);
                }
                NicOp::Departed(..) => {}
            }
        }

        fn undo(&mut self, step: NicWaitTrackerUndo) {
            NicWaitTracker::undo(self, step);
        }
        fn state(&self) -> NicWaitTracker {
            self.clone()
        }
        fn restore(&mut self, state: NicWaitTracker) -> Result<(), String> {
            *self = state;
            Ok(())
        }
    }

    fn nic_op() -> impl Strategy<Value = NicOp> {
        prop_oneof![
            2 => (0u16..3).prop_map(NicOp::Taken),
            3 => (0u16..3, any::<bool>()).prop_map(|(job, last)| NicOp::Departed(job, last)),
        ]
    }

    proptest! {
        #[test]
        fn every_input_can_be_undone_and_saved(script in script(nic_op(), 20)) {
            check::<NicWaitTracker>(&script)?;
        }
    }
}
