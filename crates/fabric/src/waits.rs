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
//! Changes are taken back by reverse computation ([`RouterDiaryUndo`], [`NicDiaryUndo`]).

use std::collections::VecDeque;

use des::{Journal, Time};
use serde::{Deserialize, Serialize};

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
pub trait Waits<Step>: Journal<Step> {
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
        let mut from = begin;
        let rest = Span {
            end: Time::MAX,
            reason,
            job: None,
        };
        for span in self.0.iter().copied().chain([rest]) {
            let until = span.end.min(end);
            if until <= from {
                continue;
            }
            let part = parts
                .iter_mut()
                .find(|part| (part.0, part.1) == (span.reason, span.job));
            match part {
                Some((_, _, length)) => *length += until - from,
                None => parts.push((span.reason, span.job, until - from)),
            }
            from = until;
        }
        show(parts, begin, see);
    }
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

/// The diary of one port of a NIC.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NicDiary {
    /// Messages in the NIC's own order.
    queue: VecDeque<Turn>,
    /// What held the link since the oldest of them has been waiting. A time in which it carried nothing was
    /// one without room, or without messages, and then nobody waited.
    spans: Spans,
    /// Whose packet left last.
    last: Option<u16>,
}

/// The next packet of a message in the queue of a NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// When the message went to the end of the queue; those behind it went there later.
    queued: Time,
    /// When the packet could have left: with the message's coming, or behind the packet before it.
    ready: Time,
}

/// One step back of a [`NicDiary`].
#[derive(Clone, Copy, Debug)]
pub enum NicDiaryUndo {
    /// A message went to the end of the queue.
    Queued,
    /// One left the front.
    Left(Turn),
    /// What held the link.
    Spans(SpansUndo),
    /// Whose packet had left last.
    Last(Option<u16>),
}

impl NicDiary {
    /// The NIC takes a message.
    pub fn taken<J: Journal<NicDiaryUndo>>(&mut self, now: Time, journal: &mut J) {
        self.queued(now, now, journal);
    }

    fn queued<J: Journal<NicDiaryUndo>>(&mut self, now: Time, ready: Time, journal: &mut J) {
        self.queue.push_back(Turn { queued: now, ready });
        if J::KEPT {
            journal.note(NicDiaryUndo::Queued);
        }
    }

    fn add<J: Journal<NicDiaryUndo>>(&mut self, span: Span, journal: &mut J) {
        let step = self.spans.add(span);
        if J::KEPT {
            journal.note(NicDiaryUndo::Spans(step));
        }
    }

    /// The first message gives a packet of this job to the wire, for so long; `last`: the last that it has.
    pub fn departed<W: Waits<NicDiaryUndo>>(
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
        if let Some(turn) = self.queue.pop_front() {
            if W::KEPT {
                out.note(NicDiaryUndo::Left(turn));
            }
            if turn.ready < now {
                self.spans
                    .divide(turn.ready, now, Reason::Wire, |wait| out.waited(wait));
            }
            if !last {
                self.queued(now, end, out);
            }
        }
        let carried = Span {
            end,
            reason: Reason::Wire,
            job: Some(job),
        };
        self.add(carried, out);
        let before = self.last.replace(job);
        if W::KEPT && before != Some(job) {
            out.note(NicDiaryUndo::Last(before));
        }
        let oldest = self.queue.front().map_or(now, |turn| turn.queued);
        while let Some(step) = self.spans.forget(oldest) {
            if W::KEPT {
                out.note(NicDiaryUndo::Spans(step));
            }
        }
    }

    /// Takes back one step; steps are taken back in reverse order.
    pub fn undo(&mut self, step: NicDiaryUndo) {
        match step {
            NicDiaryUndo::Queued => {
                self.queue.pop_back();
            }
            NicDiaryUndo::Left(turn) => self.queue.push_front(turn),
            NicDiaryUndo::Spans(step) => self.spans.undo(step),
            NicDiaryUndo::Last(before) => self.last = before,
        }
    }
}

/// The diary of a router of the model `packet`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouterDiary {
    vcs: u8,
    /// By output: the turns on its wire that are not over.
    wires: Vec<Spans>,
    /// By output, then VC.
    lanes: Vec<LaneDiary>,
}

/// What happened to one VC of one output.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct LaneDiary {
    /// Since when those wait that need room only for themselves, in their order.
    waiting: VecDeque<Time>,
    /// Since when those wait that need a bubble, in their order.
    entering: VecDeque<Time>,
    /// Which job was the last that had been sent into the VC, while packets wait.
    holders: Spans,
    /// Which one it is now.
    last: Option<u16>,
}

/// Which of the queues of an output's VC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lane {
    /// Output port.
    pub output: u16,
    /// VC.
    pub vc: u8,
    /// Whether that of packets that need a bubble.
    pub entering: bool,
}

/// One step back of a [`RouterDiary`].
#[derive(Clone, Copy, Debug)]
pub enum RouterDiaryUndo {
    /// A packet went to the end of a queue.
    Queued(Lane),
    /// One left the front, which had waited since then.
    Left(Lane, Time),
    /// Who has turns on a wire.
    Wire(u16, SpansUndo),
    /// Who had been sent into a VC.
    Holders(Lane, SpansUndo),
    /// Who had been sent into it last.
    Last(Lane, Option<u16>),
}

const _: () = assert!(size_of::<RouterDiaryUndo>() <= 32 && size_of::<NicDiaryUndo>() <= 32);

impl LaneDiary {
    fn queue(&mut self, entering: bool) -> &mut VecDeque<Time> {
        if entering {
            &mut self.entering
        } else {
            &mut self.waiting
        }
    }

    /// Since when the oldest of those that wait does.
    fn oldest(&self) -> Option<Time> {
        let fronts = [self.waiting.front(), self.entering.front()];
        fronts.into_iter().flatten().min().copied()
    }
}

impl RouterDiary {
    /// An empty one for a router with so many ports and VCs.
    pub fn new(ports: usize, vcs: u8) -> RouterDiary {
        RouterDiary {
            vcs,
            wires: vec![Spans::default(); ports],
            lanes: vec![LaneDiary::default(); ports * usize::from(vcs)],
        }
    }

    fn lane(&mut self, lane: Lane) -> &mut LaneDiary {
        &mut self.lanes[usize::from(lane.output) * usize::from(self.vcs) + usize::from(lane.vc)]
    }

    /// A packet begins to wait for room.
    pub fn queued<J: Journal<RouterDiaryUndo>>(&mut self, now: Time, lane: Lane, journal: &mut J) {
        self.lane(lane).queue(lane.entering).push_back(now);
        if J::KEPT {
            journal.note(RouterDiaryUndo::Queued(lane));
        }
    }

    /// The first packet of a queue has room, before [`RouterDiary::sent`] says that it is sent.
    pub fn left<W: Waits<RouterDiaryUndo>>(&mut self, now: Time, lane: Lane, out: &mut W) {
        let of = self.lane(lane);
        let Some(since) = of.queue(lane.entering).pop_front() else {
            return;
        };
        if W::KEPT {
            out.note(RouterDiaryUndo::Left(lane, since));
        }
        if since < now {
            let now_held = Span {
                end: now,
                reason: Reason::Room,
                job: of.last,
            };
            let step = of.holders.add(now_held);
            if W::KEPT {
                out.note(RouterDiaryUndo::Holders(lane, step));
            }
            of.holders
                .divide(since, now, Reason::Room, |wait| out.waited(wait));
        }
        let oldest = of.oldest().unwrap_or(Time::MAX);
        while let Some(step) = of.holders.forget(oldest) {
            if W::KEPT {
                out.note(RouterDiaryUndo::Holders(lane, step));
            }
        }
    }

    /// A packet of this job takes its room and its turn on the wire of an output, which comes after `wait` and
    /// takes `serialization`.
    pub fn sent<W: Waits<RouterDiaryUndo>>(
        &mut self,
        now: Time,
        (output, vc, job): (u16, u8, u16),
        wait: Time,
        serialization: Time,
        out: &mut W,
    ) {
        let wire = &mut self.wires[usize::from(output)];
        while let Some(step) = wire.forget(now) {
            if W::KEPT {
                out.note(RouterDiaryUndo::Wire(output, step));
            }
        }
        let start = now + wait;
        if wait > Time::ZERO {
            wire.divide(now, start, Reason::Wire, |wait| out.waited(wait));
        }
        let turn = Span {
            end: start + serialization,
            reason: Reason::Wire,
            job: Some(job),
        };
        let step = wire.add(turn);
        if W::KEPT {
            out.note(RouterDiaryUndo::Wire(output, step));
        }
        let lane = Lane {
            output,
            vc,
            entering: false,
        };
        let of = self.lane(lane);
        if of.last == Some(job) {
            return;
        }
        // Only those who wait want to know how long it was another.
        if of.oldest().is_some_and(|oldest| oldest < now) {
            let held = Span {
                end: now,
                reason: Reason::Room,
                job: of.last,
            };
            let step = of.holders.add(held);
            if W::KEPT {
                out.note(RouterDiaryUndo::Holders(lane, step));
            }
        }
        let before = of.last.replace(job);
        if W::KEPT {
            out.note(RouterDiaryUndo::Last(lane, before));
        }
    }

    /// Takes back one step; steps are taken back in reverse order.
    pub fn undo(&mut self, step: RouterDiaryUndo) {
        match step {
            RouterDiaryUndo::Queued(lane) => {
                self.lane(lane).queue(lane.entering).pop_back();
            }
            RouterDiaryUndo::Left(lane, since) => self.lane(lane).queue(lane.entering).push_front(since),
            RouterDiaryUndo::Wire(output, step) => self.wires[usize::from(output)].undo(step),
            RouterDiaryUndo::Holders(lane, step) => self.lane(lane).holders.undo(step),
            RouterDiaryUndo::Last(lane, before) => self.lane(lane).last = before,
        }
    }

    /// Whether it is that of a router with so many ports and VCs.
    pub fn fits(&self, ports: usize, vcs: u8) -> bool {
        self.vcs == vcs && self.wires.len() == ports && self.lanes.len() == ports * usize::from(vcs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reverse_check::{Recorder, Reversible, check, script};
    use proptest::prelude::*;

    impl<Step, const KEPT: bool> Waits<Step> for Recorder<Step, Wait, KEPT> {
        fn waited(&mut self, wait: Wait) {
            assert!(wait.begin < wait.end);
            self.outputs.push(wait);
        }
    }

    type Out<Step> = Recorder<Step, Wait, false>;

    fn shown<Step>(out: Out<Step>) -> Vec<(u64, u64, &'static str, Option<u16>)> {
        let row = |wait: Wait| (wait.begin.0, wait.end.0, wait.reason.name(), wait.holder);
        out.outputs.into_iter().map(row).collect()
    }

    const LANE: Lane = Lane {
        output: 0,
        vc: 0,
        entering: false,
    };

    #[test]
    fn a_wire_is_held_by_those_whose_turns_fill_the_wait() {
        let (mut diary, mut out) = (RouterDiary::new(2, 1), Out::default());
        diary.sent(Time(0), (0, 0, 1), Time(0), Time(10), &mut out);
        diary.sent(Time(2), (0, 0, 2), Time(8), Time(10), &mut out);
        diary.sent(Time(3), (0, 0, 1), Time(17), Time(10), &mut out);
        // Another output is another wire.
        diary.sent(Time(3), (1, 0, 3), Time(0), Time(10), &mut out);
        diary.sent(Time(5), (0, 0, 1), Time(25), Time(10), &mut out);
        assert_eq!(
            shown(out),
            [
                (2, 10, "wire", Some(1)),
                (3, 10, "wire", Some(1)),
                (10, 20, "wire", Some(2)),
                // Of job 1 until 10 and from 20 to 30.
                (5, 20, "wire", Some(1)),
                (20, 30, "wire", Some(2)),
            ]
        );
    }

    #[test]
    fn a_buffer_is_held_by_those_who_were_sent_there_last() {
        let (mut diary, mut out) = (RouterDiary::new(1, 2), Out::default());
        diary.sent(Time(0), (0, 0, 7), Time(0), Time(10), &mut out);
        diary.sent(Time(10), (0, 1, 8), Time(0), Time(10), &mut out);
        diary.queued(Time(20), LANE, &mut out);
        diary.queued(Time(25), LANE, &mut out);
        diary.left(Time(40), LANE, &mut out);
        diary.sent(Time(40), (0, 0, 5), Time(0), Time(10), &mut out);
        diary.left(Time(70), LANE, &mut out);
        diary.sent(Time(70), (0, 0, 6), Time(0), Time(10), &mut out);
        assert_eq!(
            shown(out),
            [
                (20, 40, "room", Some(7)),
                (25, 40, "room", Some(7)),
                (40, 70, "room", Some(5)),
            ]
        );
        assert_eq!(diary.lanes[0].holders, Spans::default(), "nobody waits any more");
    }

    #[test]
    fn in_a_nic_messages_wait_for_each_other_and_for_room() {
        let (mut diary, mut out) = (NicDiary::default(), Out::default());
        diary.taken(Time(0), &mut out);
        diary.departed(Time(0), 1, Time(10), false, &mut out);
        diary.taken(Time(4), &mut out);
        // The second packet of the first message is ready at 10 and finds no room until 25.
        diary.departed(Time(25), 1, Time(10), false, &mut out);
        diary.departed(Time(35), 2, Time(10), true, &mut out);
        diary.departed(Time(45), 1, Time(10), true, &mut out);
        assert_eq!(diary.queue.len(), 0);
        // After a pause nothing is held against the next one.
        diary.taken(Time(100), &mut out);
        diary.departed(Time(100), 1, Time(10), true, &mut out);
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
    pub(crate) enum RouterOp {
        Queued(u16, u8, bool),
        /// Also where none has queued.
        Left(u16, u8, bool, u16),
        Sent(u16, u8, u16),
    }

    impl Reversible for RouterDiary {
        type Op = RouterOp;
        type Step = RouterDiaryUndo;
        type Output = Wait;
        type State = RouterDiary;

        fn fresh() -> RouterDiary {
            RouterDiary::new(2, 2)
        }

        fn apply<const KEPT: bool>(
            &mut self,
            now: Time,
            op: &RouterOp,
            out: &mut Recorder<RouterDiaryUndo, Wait, KEPT>,
        ) {
            let (output, vc, job) = match *op {
                RouterOp::Queued(output, vc, entering) => {
                    let lane = Lane { output, vc, entering };
                    return self.queued(now, lane, out);
                }
                RouterOp::Left(output, vc, entering, job) => {
                    let lane = Lane { output, vc, entering };
                    self.left(now, lane, out);
                    (output, vc, job)
                }
                RouterOp::Sent(output, vc, job) => (output, vc, job),
            };
            let wait = self.wires[usize::from(output)].end().saturating_sub(now);
            let before = out.outputs.len();
            self.sent(now, (output, vc, job), wait, Time(15), out);
            // The wait is divided without remainder among those who held the wire.
            let mut at = now;
            for part in &out.outputs[before..] {
                assert_eq!((part.begin, part.reason), (at, Reason::Wire));
                assert!(part.holder.is_some());
                at = part.end;
            }
            assert_eq!(at, now + wait);
        }

        fn undo(&mut self, step: RouterDiaryUndo) {
            RouterDiary::undo(self, step);
        }
        fn state(&self) -> RouterDiary {
            self.clone()
        }
        fn restore(&mut self, state: RouterDiary) -> Result<(), String> {
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

    #[derive(Clone, Debug)]
    pub(crate) enum NicOp {
        Taken,
        /// When the wire is free.
        Departed(u16, bool),
    }

    impl Reversible for NicDiary {
        type Op = NicOp;
        type Step = NicDiaryUndo;
        type Output = Wait;
        type State = NicDiary;

        fn fresh() -> NicDiary {
            NicDiary::default()
        }

        fn apply<const KEPT: bool>(
            &mut self,
            now: Time,
            op: &NicOp,
            out: &mut Recorder<NicDiaryUndo, Wait, KEPT>,
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

        fn undo(&mut self, step: NicDiaryUndo) {
            NicDiary::undo(self, step);
        }
        fn state(&self) -> NicDiary {
            self.clone()
        }
        fn restore(&mut self, state: NicDiary) -> Result<(), String> {
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
        fn whatever_a_router_does_can_be_taken_back_and_saved(script in script(router_op(), 20)) {
            check::<RouterDiary>(&script)?;
        }

        #[test]
        fn whatever_a_nic_does_can_be_taken_back_and_saved(script in script(nic_op(), 20)) {
            check::<NicDiary>(&script)?;
        }
    }
}
