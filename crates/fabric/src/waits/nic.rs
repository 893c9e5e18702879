//! The wait tracker of one port of a NIC.

use std::collections::VecDeque;

use des::{Journal, Time};
use serde::{Deserialize, Serialize};

use super::{Reason, Span, Spans, SpansUndo, WaitOutputs};

/// The wait tracker of one port of a NIC.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NicWaitTracker {
    /// Messages in the order of the NIC.
    queue: VecDeque<QueuedPacket>,
    /// Holders of the link while the oldest message waited. A link without a packet lacked credits, or there were
    /// no messages and no waits.
    spans: Spans,
    /// The job whose packet left last.
    last: Option<u16>,
}

/// The next packet of a message in the queue of a NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuedPacket {
    /// Time at which the message joined the end of the queue. Later entries joined later.
    queued: Time,
    /// Time from which the packet could have left: the arrival of its message, or the departure of the previous
    /// packet.
    ready: Time,
}

/// An undo step of a [`NicWaitTracker`].
#[derive(Clone, Copy, Debug)]
pub enum NicWaitTrackerUndo {
    /// A message went to the end of the queue.
    Queued,
    /// A message left the front.
    Left(QueuedPacket),
    /// The holders of the link changed.
    Spans(SpansUndo),
    /// The job whose packet left last changed; its previous value.
    Last(Option<u16>),
}

const _: () = assert!(size_of::<NicWaitTrackerUndo>() <= 32);

impl NicWaitTracker {
    /// The NIC takes a message.
    pub fn taken<J: Journal<NicWaitTrackerUndo>>(&mut self, now: Time, journal: &mut J) {
        self.queued(now, now, journal);
    }

    fn queued<J: Journal<NicWaitTrackerUndo>>(&mut self, now: Time, ready: Time, journal: &mut J) {
        self.queue.push_back(QueuedPacket { queued: now, ready });
        journal.note(|| NicWaitTrackerUndo::Queued);
    }

    fn add<J: Journal<NicWaitTrackerUndo>>(&mut self, span: Span, journal: &mut J) {
        let step = self.spans.add(span);
        journal.note(|| NicWaitTrackerUndo::Spans(step));
    }

    /// A packet of the first message starts onto the link for `serialization`; the message belongs to `job`. `last`
    /// tells whether it is the last packet of the message.
    pub fn departed<W: WaitOutputs<NicWaitTrackerUndo>>(
        &mut self,
        now: Time,
        job: u16,
        serialization: Time,
        last: bool,
        out: &mut W,
    ) {
        if self.spans.end() < now {
            let full = Span {
                end: now,
                reason: Reason::Room,
                job: self.last,
            };
            self.add(full, out);
        }
        let end = now + serialization;
        if let Some(first) = self.queue.pop_front() {
            out.note(|| NicWaitTrackerUndo::Left(first));
            if first.ready < now {
                self.spans
                    .divide(first.ready, now, Reason::Wire, |wait| out.waited(wait));
            }
            if !last {
                self.queued(now, end, out);
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
        let oldest = self.queue.front().map_or(now, |turn| turn.queued);
        while let Some(step) = self.spans.forget(oldest) {
            out.note(|| NicWaitTrackerUndo::Spans(step));
        }
    }

    /// Undoes one step; steps are undone in reverse order.
    pub fn undo(&mut self, step: NicWaitTrackerUndo) {
        match step {
            NicWaitTrackerUndo::Queued => {
                self.queue.pop_back();
            }
            NicWaitTrackerUndo::Left(turn) => self.queue.push_front(turn),
            NicWaitTrackerUndo::Spans(step) => self.spans.undo(step),
            NicWaitTrackerUndo::Last(before) => self.last = before,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Wait;
    use crate::reverse_check::{Reversible, UndoRecorder, check, script};
    use crate::waits::recorder::{Out, shown};
    use proptest::prelude::*;

    #[test]
    fn in_a_nic_messages_wait_for_each_other_and_for_room() {
        let (mut wait_tracker, mut out) = (NicWaitTracker::default(), Out::default());
        wait_tracker.taken(Time(0), &mut out);
        wait_tracker.departed(Time(0), 1, Time(10), false, &mut out);
        wait_tracker.taken(Time(4), &mut out);
        // The second packet of the first message is ready at 10 and lacks credits until 25.
        wait_tracker.departed(Time(25), 1, Time(10), false, &mut out);
        wait_tracker.departed(Time(35), 2, Time(10), true, &mut out);
        wait_tracker.departed(Time(45), 1, Time(10), true, &mut out);
        assert_eq!(wait_tracker.queue.len(), 0);
        // After a pause, no wait is charged to the previous job.
        wait_tracker.taken(Time(100), &mut out);
        wait_tracker.departed(Time(100), 1, Time(10), true, &mut out);
        assert_eq!(
            shown(out),
            [
                (10, 25, "room", Some(1)),
                (4, 20, "wire", Some(1)),
                (20, 35, "room", Some(1)),
                (35, 45, "wire", Some(2)),
            ]
        );
    }

    #[derive(Clone, Debug)]
    pub(crate) enum NicOp {
        Taken,
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
                NicOp::Taken => self.taken(now, out),
                NicOp::Departed(job, last) if self.spans.end() <= now => {
                    let ready = self.queue.front().map_or(now, |turn| turn.ready);
                    let before = out.outputs.len();
                    self.departed(now, job, Time(5), last, out);
                    let parts = &out.outputs[before..];
                    let sum = parts
                        .iter()
                        .fold(Time(0), |sum, part| sum + (part.end - part.begin));
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
            2 => Just(NicOp::Taken),
            3 => (0u16..3, any::<bool>()).prop_map(|(job, last)| NicOp::Departed(job, last)),
        ]
    }

    proptest! {
        #[test]
        fn whatever_it_sees_can_be_taken_back_and_saved(script in script(nic_op(), 20)) {
            check::<NicWaitTracker>(&script)?;
        }
    }
}
