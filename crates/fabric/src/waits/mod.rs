//! Who waited how long for whom: the diary of a NIC port or a router beside it, kept only where waits are asked for.
//!
//! A packet waits when it gets its turn on a link later than it was ready for it. Its owner tells the diary
//! of each packet that queues and each that gets its turn, and is told the waits that end with that. The NIC
//! or router knows nothing of it and decides nothing by it.
//!
//! Whose packets held a link is known for the wire: those whose turns fill the wait. Whose packets fill the
//! buffer at the far end, a sender cannot know, as it hears of room without hearing whose it was; what it can
//! know is which job it last sent into that buffer, at any moment of the wait. Where several jobs held a link
//! in turn, the wait is divided among them: each gets as much of it as it held, all of its parts together, in
//! the order in which they first did.
//!
//! Changes are taken back by reverse computation, as those of NICs and routers are.

mod input_queued;
mod nic;
mod packet;

use std::collections::VecDeque;

use des::{Journal, Time};
use serde::{Deserialize, Serialize};

pub use input_queued::{InputQueuedWaitTracker, InputQueuedWaitTrackerUndo, Passage};
pub use nic::{NicWaitTracker, NicWaitTrackerUndo, Turn};
pub use packet::{PacketWaitTracker, PacketWaitTrackerUndo, VcQueue};

/// Why a packet waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reason {
    /// The link carried others.
    Wire,
    /// The buffer at the far end was full.
    Room,
    /// It was not the first in its first-in first-out queue.
    Queue,
    /// Its input port sent others.
    Input,
}

impl Reason {
    /// As in the table `waits`; a wait for the wire in a NIC is `nic` there.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Wire => "wire",
            Reason::Room => "room",
            Reason::Queue => "queue",
            Reason::Input => "input",
        }
    }
}

/// A part of a wait, for which one job held the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// Begin.
    pub begin: Time,
    /// End, later than that.
    pub end: Time,
    /// What the packet waited for.
    pub reason: Reason,
    /// The job whose packets held it; none: not known.
    pub holder: Option<u16>,
}

/// Where waits go, and where a diary notes how to take changes back.
pub trait WaitOutputs<Step>: Journal<Step> {
    /// The packet that gets its turn has waited.
    fn waited(&mut self, wait: Wait);
}

/// What held a link, until when: from the end of the span before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    end: Time,
    reason: Reason,
    job: Option<u16>,
}

/// Spans without gaps between them, the first since ever; forgotten from the front.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Spans(VecDeque<Span>);

/// How spans changed.
#[derive(Clone, Copy, Debug)]
pub enum SpansUndo {
    /// One was added.
    Added,
    /// The last was made longer; where it had ended.
    Extended(Time),
    /// The first was forgotten.
    Forgotten(Span),
}

impl Spans {
    /// Until when they reach.
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

    /// Forgets the first if it was over by `time`.
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

    /// Divides the time from `begin` to `end` among those that held the link then; what lies after the last
    /// span nobody is known to have held.
    fn divide(&self, begin: Time, end: Time, reason: Reason, see: impl FnMut(Wait)) {
        let mut parts: Vec<(Reason, Option<u16>, Time)> = Vec::new();
        let rest = Span {
            end: Time::MAX,
            reason,
            job: None,
        };
        for (span, from, until) in within(self.0.iter().copied().chain([rest]), begin, end) {
            let part = parts
                .iter_mut()
                .find(|part| (part.0, part.1) == (span.reason, span.job));
            match part {
                Some((_, _, length)) => *length += until - from,
                None => parts.push((span.reason, span.job, until - from)),
            }
        }
        show(parts, begin, see);
    }

    /// What held the link between two times: each span with the part of it between them.
    fn within(&self, begin: Time, end: Time) -> impl Iterator<Item = (Span, Time, Time)> {
        within(self.0.iter().copied(), begin, end)
    }
}

/// The parts of spans that lie between two times.
fn within(
    spans: impl Iterator<Item = Span>,
    begin: Time,
    end: Time,
) -> impl Iterator<Item = (Span, Time, Time)> {
    let mut from = begin;
    spans.filter_map(move |span| {
        let until = span.end.min(end);
        let part = (until > from).then_some((span, from, until));
        from = from.max(until);
        part
    })
}

/// Parts of a wait, one after the other.
fn show(parts: Vec<(Reason, Option<u16>, Time)>, begin: Time, mut see: impl FnMut(Wait)) {
    let mut begin = begin;
    for (reason, holder, length) in parts {
        let end = begin + length;
        see(Wait {
            begin,
            end,
            reason,
            holder,
        });
        begin = end;
    }
}

#[cfg(test)]
mod recorder {
    //! Waits as tests see them.
    use super::*;
    use crate::reverse_check::Recorder;

    impl<Step, const KEPT: bool> WaitOutputs<Step> for Recorder<Step, Wait, KEPT> {
        fn waited(&mut self, wait: Wait) {
            assert!(wait.begin < wait.end);
            self.outputs.push(wait);
        }
    }

    pub(super) type Out<Step> = Recorder<Step, Wait, false>;

    /// Begin, end, reason and holder.
    pub(super) fn shown<Step>(out: Out<Step>) -> Vec<(u64, u64, &'static str, Option<u16>)> {
        let row = |wait: Wait| (wait.begin.0, wait.end.0, wait.reason.name(), wait.holder);
        out.outputs.into_iter().map(row).collect()
    }
}
