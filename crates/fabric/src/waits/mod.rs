//! Wait trackers: how long each packet waited at a NIC port or router, and for which job. They exist only if the
//! experiment collects waits.
//!
//! A packet waits if it starts onto a link later than it was ready. The wait tracker observes each packet that
//! queues or departs, and reports waits when they end with a departure. NIC and router do not depend on it.
//!
//! A wait for the link is charged to the jobs whose packets the link carried meanwhile. A wait for credits is
//! charged, at each moment, to the job that last sent a packet into the full buffer, since credits do not identify
//! packets. If several jobs held the link in turn, the wait is divided among them in proportion. The parts of each
//! job are merged, in the order of their first parts.
//!
//! Undo steps work as those of NICs and routers.

mod crossbar;
mod input_queued;
mod nic;
mod packet;

use std::collections::VecDeque;
use std::fmt::Debug;

use des::{Journal, Time};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use crossbar::{
    CrossbarCrossing, CrossbarDeparture, CrossbarObservation, CrossbarSpans, CrossbarWaitTracker,
    CrossbarWaitTrackerUndo,
};
pub use input_queued::{
    BufferStay, InputQueuedObservation, InputQueuedWaitTracker, InputQueuedWaitTrackerUndo, RouterDeparture,
    SpanList,
};
pub use nic::{NicWaitTracker, NicWaitTrackerUndo, QueuedPacket};
pub use packet::{PacketObservation, PacketWaitTracker, PacketWaitTrackerUndo, VcQueue};

/// The wait tracker of a router model.
pub trait WaitTracker: Serialize + DeserializeOwned {
    /// An undo step.
    type Undo: Debug + Send;
    /// An observation of a packet.
    type Observation;

    /// What an observation changes about the packets that wait for its output. The changes of an output and VC add up
    /// to [`crate::router::RouterModel::waiting_at`] and the packets whose link reservation has not begun.
    fn change(observation: &Self::Observation) -> Option<WaitingChange>;

    /// An empty tracker for a router with this many ports and VCs.
    fn new(ports: usize, vcs: u8) -> Self;

    /// Processes an observation. Reports the waits that end with it.
    fn observe<W: WaitOutputs<Self::Undo>>(&mut self, now: Time, observation: Self::Observation, out: &mut W);

    /// Undoes one step; steps are undone in reverse order.
    fn undo(&mut self, step: Self::Undo);

    /// Whether both trackers have the same numbers of ports and VCs.
    fn fits(&self, other: &Self) -> bool;
}

/// The wait tracker of models that track no waits.
impl WaitTracker for () {
    type Undo = ();
    type Observation = ();

    fn change((): &()) -> Option<WaitingChange> {
        None
    }

    fn new(_: usize, _: u8) {}

    fn observe<W: WaitOutputs<()>>(&mut self, _: Time, (): (), _: &mut W) {}

    fn undo(&mut self, (): ()) {}

    fn fits(&self, (): &()) -> bool {
        true
    }
}

/// A change of the packets that wait for a VC of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitingChange {
    /// One more packet waits.
    Began,
    /// One of these packets no longer waits.
    Ended,
    /// A packet has reserved the link. It waits for this span, longer than 0, until it starts.
    Reserved(Time),
}

/// The reason for a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reason {
    /// The link, or the output of the crossbar before it, carried other packets.
    Wire,
    /// The buffer at the far end was full.
    Credits,
    /// Other packets preceded it in its queue.
    Queue,
    /// Its input port sent other packets.
    Input,
}

impl Reason {
    /// Name in the table `waits`; there, a wait for the link in a NIC is `nic`.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Wire => "wire",
            Reason::Credits => "credits",
            Reason::Queue => "queue",
            Reason::Input => "input",
        }
    }
}

/// A part of a wait that is charged to one job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// Begin.
    pub start: Time,
    /// End, later than that.
    pub end: Time,
    /// The reason.
    pub reason: Reason,
    /// The job that held the link or buffer, if known.
    pub holder: Option<u16>,
}

/// The receiver of waits, and the journal of undo steps.
pub trait WaitOutputs<Step>: Journal<Step> {
    /// The departing packet has waited.
    fn waited(&mut self, wait: Wait);
}

/// The holder of a link from the end of the previous span to the end of this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    end: Time,
    reason: Reason,
    job: Option<u16>,
}

/// Spans without gaps between them; the first begins at time zero.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Spans(VecDeque<Span>);

/// An undo step of spans.
#[derive(Clone, Copy, Debug)]
pub enum SpansUndo {
    /// A span was added.
    Added,
    /// The last span was extended; its previous end.
    Extended(Time),
    /// The first was removed.
    Forgotten(Span),
}

impl Spans {
    /// End of the last span.
    fn end(&self) -> Time {
        self.0.back().map_or(Time::ZERO, |span| span.end)
    }

    fn add(&mut self, added: Span) -> SpansUndo {
        match self.0.back_mut() {
            Some(last) if (last.reason, last.job) == (added.reason, added.job) => {
                let before = std::mem::replace(&mut last.end, added.end);
                SpansUndo::Extended(before)
            }
            _ => {
                self.0.push_back(added);
                SpansUndo::Added
            }
        }
    }

    /// Removes the first span if it ended by `time`.
    fn forget(&mut self, time: Time) -> Option<SpansUndo> {
        let first = *self.0.front().filter(|first| first.end <= time)?;
        self.0.pop_front();
        Some(SpansUndo::Forgotten(first))
    }

    fn undo(&mut self, step: SpansUndo) {
        match step {
            SpansUndo::Added => {
                self.0.pop_back();
            }
            SpansUndo::Extended(before) => {
                if let Some(last) = self.0.back_mut() {
                    last.end = before;
                }
            }
            SpansUndo::Forgotten(span) => self.0.push_front(span),
        }
    }

    /// Divides the time from `begin` to `end` among the holders of the link. After the last span, the holder is
    /// unknown.
    fn divide(&self, start: Time, end: Time, reason: Reason, see: impl FnMut(Wait)) {
        let mut parts: Vec<(Reason, Option<u16>, Time)> = Vec::new();
        let rest = Span {
            end: Time::MAX,
            reason,
            job: None,
        };
        for (span, from, until) in within(self.0.iter().copied().chain([rest]), start, end) {
            let part = parts
                .iter_mut()
                .find(|part| (part.0, part.1) == (span.reason, span.job));
            match part {
                Some((_, _, length)) => *length += until - from,
                None => parts.push((span.reason, span.job, until - from)),
            }
        }
        show(parts, start, see);
    }

    /// Each span with its part between two times.
    fn within(&self, start: Time, end: Time) -> impl Iterator<Item = (Span, Time, Time)> {
        within(self.0.iter().copied(), start, end)
    }
}

/// Each span with its part between two times.
fn within(
    spans: impl Iterator<Item = Span>,
    start: Time,
    end: Time,
) -> impl Iterator<Item = (Span, Time, Time)> {
    let mut from = start;
    spans.filter_map(move |span| {
        let until = span.end.min(end);
        let part = (until > from).then_some((span, from, until));
        from = from.max(until);
        part
    })
}

/// Reports the parts of a wait in sequence.
fn show(parts: Vec<(Reason, Option<u16>, Time)>, start: Time, mut see: impl FnMut(Wait)) {
    let mut start = start;
    for (reason, holder, length) in parts {
        let end = start + length;
        see(Wait {
            start,
            end,
            reason,
            holder,
        });
        start = end;
    }
}

#[cfg(test)]
mod recorder {
    //! Records waits for tests.
    use super::*;
    use crate::reverse_check::UndoRecorder;

    impl<Step, const KEPT: bool> WaitOutputs<Step> for UndoRecorder<Step, Wait, KEPT> {
        fn waited(&mut self, wait: Wait) {
            assert!(wait.start < wait.end);
            self.outputs.push(wait);
        }
    }

    pub(super) type Out<Step> = UndoRecorder<Step, Wait, false>;

    /// Begin, end, reason and holder.
    pub(super) fn shown<Step>(out: Out<Step>) -> Vec<(u64, u64, &'static str, Option<u16>)> {
        let row = |wait: Wait| (wait.start.0, wait.end.0, wait.reason.name(), wait.holder);
        out.outputs.into_iter().map(row).collect()
    }
}
