//! The wait tracker of the router model `packet`.

use std::collections::VecDeque;

use des::{Journal, Time};
use serde::{Deserialize, Serialize};

use super::{Reason, Span, Spans, SpansUndo, WaitOutputs, WaitTracker, WaitingChange};

/// The wait tracker of the router model `packet`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PacketWaitTracker {
    vcs: u8,
    /// Link reservations that have not ended, by output.
    wires: Vec<Spans>,
    /// Waits by output, then VC.
    vc_queues: Vec<VcWaits>,
}

/// Waits for one VC of one output.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct VcWaits {
    /// Times from which packets wait for credits, in queue order.
    waiting: VecDeque<Time>,
    /// Times from which packets wait for a bubble, in queue order.
    entering: VecDeque<Time>,
    /// The jobs that sent last into the VC, over the time in which packets wait.
    holders: Spans,
    /// The job whose packet was sent last.
    last: Option<u16>,
}

/// An observation of a packet in a router of the model `packet`.
#[derive(Clone, Copy, Debug)]
pub enum PacketObservation {
    /// It begins to wait for credits.
    Queued(VcQueue),
    /// It is the first of its queue and gets credits. Its departure follows.
    HasCredits(VcQueue),
    /// It reserves the link.
    Departed {
        /// Output port.
        output: u16,
        /// VC.
        vc: u8,
        /// Its job.
        job: u16,
        /// Time until its start.
        wait: Time,
        /// Serialization time.
        serialization: Time,
    },
}

/// One of the queues of an output's VC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VcQueue {
    /// Output port.
    pub output: u16,
    /// VC.
    pub vc: u8,
    /// Whether it is the queue of packets that need a bubble.
    pub entering: bool,
}

/// An undo step of a [`PacketWaitTracker`].
#[derive(Clone, Copy, Debug)]
pub enum PacketWaitTrackerUndo {
    /// A packet went to the end of a queue.
    Queued(VcQueue),
    /// A packet that had waited since this time left the front.
    Left(VcQueue, Time),
    /// Reservations of a link changed.
    Wire(u16, SpansUndo),
    /// The jobs that had sent into a VC changed.
    Holders(VcQueue, SpansUndo),
    /// The job that sent last into a VC changed; its previous value.
    Last(VcQueue, Option<u16>),
}

const _: () = assert!(size_of::<PacketWaitTrackerUndo>() <= 32);

impl VcWaits {
    fn queue(&mut self, entering: bool) -> &mut VecDeque<Time> {
        if entering {
            &mut self.entering
        } else {
            &mut self.waiting
        }
    }

    /// Time from which the oldest packet waits.
    fn oldest(&self) -> Option<Time> {
        let fronts = [self.waiting.front(), self.entering.front()];
        fronts.into_iter().flatten().min().copied()
    }
}

impl PacketWaitTracker {
    fn vc_queue(&mut self, vc_queue: VcQueue) -> &mut VcWaits {
        &mut self.vc_queues[usize::from(vc_queue.output) * usize::from(self.vcs) + usize::from(vc_queue.vc)]
    }

    fn queued<J: Journal<PacketWaitTrackerUndo>>(&mut self, now: Time, vc_queue: VcQueue, journal: &mut J) {
        self.vc_queue(vc_queue).queue(vc_queue.entering).push_back(now);
        journal.note(|| PacketWaitTrackerUndo::Queued(vc_queue));
    }

    fn left<W: WaitOutputs<PacketWaitTrackerUndo>>(&mut self, now: Time, vc_queue: VcQueue, out: &mut W) {
        let of = self.vc_queue(vc_queue);
        let Some(since) = of.queue(vc_queue.entering).pop_front() else {
            return;
        };
        out.note(|| PacketWaitTrackerUndo::Left(vc_queue, since));
        if since < now {
            let now_held = Span {
                end: now,
                reason: Reason::Credits,
                job: of.last,
            };
            let step = of.holders.add(now_held);
            out.note(|| PacketWaitTrackerUndo::Holders(vc_queue, step));
            of.holders
                .divide(since, now, Reason::Credits, |wait| out.waited(wait));
        }
        let oldest = of.oldest().unwrap_or(Time::MAX);
        while let Some(step) = of.holders.forget(oldest) {
            out.note(|| PacketWaitTrackerUndo::Holders(vc_queue, step));
        }
    }

    /// A packet of `job` reserves the link of an output for `serialization`, after `wait`.
    fn sent<W: WaitOutputs<PacketWaitTrackerUndo>>(
        &mut self,
        now: Time,
        (output, vc, job): (u16, u8, u16),
        wait: Time,
        serialization: Time,
        out: &mut W,
    ) {
        let wire = &mut self.wires[usize::from(output)];
        while let Some(step) = wire.forget(now) {
            out.note(|| PacketWaitTrackerUndo::Wire(output, step));
        }
        let start = now + wait;
        if wait > Time::ZERO {
            wire.divide(now, start, Reason::Wire, |wait| out.waited(wait));
        }
        let reservation = Span {
            end: start + serialization,
            reason: Reason::Wire,
            job: Some(job),
        };
        let step = wire.add(reservation);
        out.note(|| PacketWaitTrackerUndo::Wire(output, step));
        let vc_queue = VcQueue {
            output,
            vc,
            entering: false,
        };
        let of = self.vc_queue(vc_queue);
        if of.last == Some(job) {
            return;
        }
        // Spans of holders matter only while packets wait.
        if of.oldest().is_some_and(|oldest| oldest < now) {
            let held = Span {
                end: now,
                reason: Reason::Credits,
                job: of.last,
            };
            let step = of.holders.add(held);
            out.note(|| PacketWaitTrackerUndo::Holders(vc_queue, step));
        }
        let before = of.last.replace(job);
        out.note(|| PacketWaitTrackerUndo::Last(vc_queue, before));
    }
}

impl WaitTracker for PacketWaitTracker {
    type Undo = PacketWaitTrackerUndo;
    type Observation = PacketObservation;

    fn change(observation: &PacketObservation) -> Option<WaitingChange> {
        match *observation {
            PacketObservation::Queued(_) => Some(WaitingChange::Began),
            PacketObservation::HasCredits(_) => Some(WaitingChange::Ended),
            PacketObservation::Departed { wait, .. } => {
                (wait > Time::ZERO).then_some(WaitingChange::Reserved(wait))
            }
        }
    }

    fn new(ports: usize, vcs: u8) -> PacketWaitTracker {
        PacketWaitTracker {
            vcs,
            wires: vec![Spans::default(); ports],
            vc_queues: vec![VcWaits::default(); ports * usize::from(vcs)],
        }
    }

    fn observe<W: WaitOutputs<PacketWaitTrackerUndo>>(
        &mut self,
        now: Time,
        observation: PacketObservation,
        out: &mut W,
    ) {
        match observation {
            PacketObservation::Queued(vc_queue) => self.queued(now, vc_queue, out),
            PacketObservation::HasCredits(vc_queue) => self.left(now, vc_queue, out),
            PacketObservation::Departed {
                output,
                vc,
                job,
                wait,
                serialization,
            } => self.sent(now, (output, vc, job), wait, serialization, out),
        }
    }

    fn undo(&mut self, step: PacketWaitTrackerUndo) {
        match step {
            PacketWaitTrackerUndo::Queued(vc_queue) => {
                self.vc_queue(vc_queue).queue(vc_queue.entering).pop_back();
            }
            PacketWaitTrackerUndo::Left(vc_queue, since) => {
                self.vc_queue(vc_queue).queue(vc_queue.entering).push_front(since)
            }
            PacketWaitTrackerUndo::Wire(output, step) => self.wires[usize::from(output)].undo(step),
            PacketWaitTrackerUndo::Holders(vc_queue, step) => self.vc_queue(vc_queue).holders.undo(step),
            PacketWaitTrackerUndo::Last(vc_queue, before) => self.vc_queue(vc_queue).last = before,
        }
    }

    fn fits(&self, other: &PacketWaitTracker) -> bool {
        let size = |wait_tracker: &PacketWaitTracker| {
            (
                wait_tracker.vcs,
                wait_tracker.wires.len(),
                wait_tracker.vc_queues.len(),
            )
        };
        size(self) == size(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Wait;
    use crate::reverse_check::{Reversible, UndoRecorder, check, script};
    use crate::waits::recorder::{Out, shown};
    use proptest::prelude::*;

    const LANE: VcQueue = VcQueue {
        output: 0,
        vc: 0,
        entering: false,
    };

    #[test]
    fn a_link_wait_is_charged_to_the_jobs_on_the_link() {
        let (mut wait_tracker, mut out) = (PacketWaitTracker::new(2, 1), Out::default());
        wait_tracker.sent(Time(0), (0, 0, 1), Time(0), Time(10), &mut out);
        wait_tracker.sent(Time(2), (0, 0, 2), Time(8), Time(10), &mut out);
        wait_tracker.sent(Time(3), (0, 0, 1), Time(17), Time(10), &mut out);
        // Another output has another link.
        wait_tracker.sent(Time(3), (1, 0, 3), Time(0), Time(10), &mut out);
        wait_tracker.sent(Time(5), (0, 0, 1), Time(25), Time(10), &mut out);
        assert_eq!(
            shown(out),
            [
                (2, 10, "wire", Some(1)),
                (3, 10, "wire", Some(1)),
                (10, 20, "wire", Some(2)),
                // Job 1 holds the link until 10 and from 20 to 30.
                (5, 20, "wire", Some(1)),
                (20, 30, "wire", Some(2)),
            ]
        );
    }

    #[test]
    fn a_credit_wait_is_charged_to_the_last_sender() {
        let (mut wait_tracker, mut out) = (PacketWaitTracker::new(1, 2), Out::default());
        wait_tracker.sent(Time(0), (0, 0, 7), Time(0), Time(10), &mut out);
        wait_tracker.sent(Time(10), (0, 1, 8), Time(0), Time(10), &mut out);
        wait_tracker.queued(Time(20), LANE, &mut out);
        wait_tracker.queued(Time(25), LANE, &mut out);
        wait_tracker.left(Time(40), LANE, &mut out);
        wait_tracker.sent(Time(40), (0, 0, 5), Time(0), Time(10), &mut out);
        wait_tracker.left(Time(70), LANE, &mut out);
        wait_tracker.sent(Time(70), (0, 0, 6), Time(0), Time(10), &mut out);
        assert_eq!(
            shown(out),
            [
                (20, 40, "credits", Some(7)),
                (25, 40, "credits", Some(7)),
                (40, 70, "credits", Some(5)),
            ]
        );
        assert_eq!(
            wait_tracker.vc_queues[0].holders,
            Spans::default(),
            "no packet waits"
        );
    }

    #[derive(Clone, Debug)]
    pub(crate) enum RouterOp {
        Queued(u16, u8, bool),
        /// May come without a queued packet.
        Left(u16, u8, bool, u16),
        Sent(u16, u8, u16),
    }

    impl Reversible for PacketWaitTracker {
        type Op = RouterOp;
        type Step = PacketWaitTrackerUndo;
        type Output = Wait;
        type State = PacketWaitTracker;

        fn fresh() -> PacketWaitTracker {
            PacketWaitTracker::new(2, 2)
        }

        fn apply<const KEPT: bool>(
            &mut self,
            now: Time,
            op: &RouterOp,
            out: &mut UndoRecorder<PacketWaitTrackerUndo, Wait, KEPT>,
        ) {
            let (output, vc, job) = match *op {
                RouterOp::Queued(output, vc, entering) => {
                    let vc_queue = VcQueue { output, vc, entering };
                    return self.queued(now, vc_queue, out);
                }
                RouterOp::Left(output, vc, entering, job) => {
                    let vc_queue = VcQueue { output, vc, entering };
                    self.left(now, vc_queue, out);
                    (output, vc, job)
                }
                RouterOp::Sent(output, vc, job) => (output, vc, job),
            };
            let wait = self.wires[usize::from(output)].end().saturating_sub(now);
            let before = out.outputs.len();
            self.sent(now, (output, vc, job), wait, Time(15), out);
            // The parts of the wait add up to the whole, and each has a holder.
            let mut at = now;
            for part in &out.outputs[before..] {
                assert_eq!((part.start, part.reason), (at, Reason::Wire));
                assert!(part.holder.is_some());
                at = part.end;
            }
            assert_eq!(at, now + wait);
        }

        fn undo(&mut self, step: PacketWaitTrackerUndo) {
            WaitTracker::undo(self, step);
        }
        fn state(&self) -> PacketWaitTracker {
            self.clone()
        }
        fn restore(&mut self, state: PacketWaitTracker) -> Result<(), String> {
            *self = state;
            Ok(())
        }
    }

    fn router_op() -> impl Strategy<Value = RouterOp> {
        let place = || (0u16..2, 0u8..2);
        let queue = || (place(), any::<bool>());
        prop_oneof![
            2 => queue().prop_map(|((output, vc), entering)| RouterOp::Queued(output, vc, entering)),
            2 => (queue(), 0u16..3).prop_map(|(((output, vc), entering), job)| {
                RouterOp::Left(output, vc, entering, job)
            }),
            1 => (place(), 0u16..3).prop_map(|((output, vc), job)| RouterOp::Sent(output, vc, job)),
        ]
    }

    proptest! {
        #[test]
        fn every_input_can_be_undone_and_saved(script in script(router_op(), 20)) {
            check::<PacketWaitTracker>(&script)?;
        }
    }
}
