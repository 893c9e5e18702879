//! The wait tracker of the router model `input-queued`.
//!
//! Until a packet is the first of its queue, it waits for the packets before it. Each of these holds the queue from
//! the time at which it becomes the first until its tail has crossed. Then the packet waits for its output of the
//! crossbar while that carries other packets; otherwise for its input port, if the port sends a packet of another
//! virtual channel; otherwise for space in the output buffer, that is for the packets on the link; otherwise for
//! credits. While it crosses and after that it waits for the link, behind the packets that crossed before. There is no
//! other reason to wait.

use std::collections::{BTreeMap, VecDeque};

use des::{Journal, Time};
use serde::{Deserialize, Serialize};

use super::{Reason, Span, Spans, SpansUndo, WaitOutputs, WaitTracker, WaitingChange, show};

/// A packet that starts to cross to its output, whose link it reserves.
#[derive(Clone, Copy, Debug)]
pub struct RouterDeparture {
    /// Input port.
    pub input: u16,
    /// VC of the input buffer.
    pub input_vc: u8,
    /// Output port.
    pub output: u16,
    /// VC at the far end of the output.
    pub output_vc: u8,
    /// Its job.
    pub job: u16,
    /// Arrival time of its head.
    pub arrived: Time,
    /// Time from which it could not underrun on its output.
    pub ready: Time,
    /// Span until its tail has crossed.
    pub crossing: Time,
    /// Span until it starts onto the link.
    pub wait: Time,
    /// Serialization time.
    pub serialization: Time,
    /// Bytes of other packets with which it has space in the output buffer; `None` if the buffer has no limit.
    pub space: Option<u32>,
    /// Its bytes.
    pub bytes: u32,
}

/// An observation of a packet in a router of the model `input-queued`.
#[derive(Clone, Copy, Debug)]
pub enum InputQueuedObservation {
    /// Its head has arrived.
    Arrived,
    /// It is the first of its queue and was routed to the output, for which it waits from now on.
    Routed,
    /// It starts to cross to its output.
    Crosses(RouterDeparture),
    /// As before, and it waits for this span, longer than 0, until it starts onto the link.
    Reserved(Time),
}

/// A packet in an output buffer of limited size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BufferStay {
    /// The time at which it took its space.
    from: Time,
    /// The time at which its tail leaves.
    until: Time,
    bytes: u32,
}

/// The wait tracker of the router model `input-queued`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputQueuedWaitTracker {
    vcs: u8,
    /// Number of packets in the router by arrival time. Spans are kept back to the earliest.
    present: BTreeMap<Time, u32>,
    /// Holders by input port, then VC: the job of the first packet of the queue.
    queues: Vec<Spans>,
    /// Holders by input port: the job whose packet the port sent, if any.
    inputs: Vec<Spans>,
    /// Holders by output port: the job whose packet the crossbar carried to it, if any.
    outputs: Vec<Spans>,
    /// Holders by output port: the job whose packet the link carried, if any.
    wires: Vec<Spans>,
    /// Packets by output port, if its buffer is limited.
    stays: Vec<VecDeque<BufferStay>>,
    /// Holders by output port, then VC: the job that sent last.
    holders: Vec<Spans>,
    /// The open last span of each list of `holders`.
    last: Vec<Option<u16>>,
}

/// Selects one of the lists of spans.
#[derive(Clone, Copy, Debug)]
pub enum SpanList {
    /// The list of a queue: input port and VC.
    Queue(u16, u8),
    /// The list of an input port.
    Input(u16),
    /// The list of an output of the crossbar.
    Output(u16),
    /// The list of the link of an output port.
    Wire(u16),
    /// The list of a VC of an output port.
    Holders(u16, u8),
}

/// An undo step of an [`InputQueuedWaitTracker`].
#[derive(Clone, Copy, Debug)]
pub enum InputQueuedWaitTrackerUndo {
    /// A packet arrived.
    Came(Time),
    /// A packet with this arrival time left.
    Left(Time),
    /// Spans changed.
    Spans(SpanList, SpansUndo),
    /// The job that sent last into a VC of an output port changed; its previous value.
    Last(u16, u8, Option<u16>),
    /// A packet took space in the buffer of an output port.
    Stayed(u16),
    /// The oldest packet in the buffer of an output port was forgotten.
    ForgotStay(u16, BufferStay),
}

const _: () = assert!(size_of::<InputQueuedWaitTrackerUndo>() <= 32);

impl InputQueuedWaitTracker {
    fn vc_queue(&self, port: u16, vc: u8) -> usize {
        usize::from(port) * usize::from(self.vcs) + usize::from(vc)
    }

    fn list(&mut self, list: SpanList) -> &mut Spans {
        match list {
            SpanList::Queue(port, vc) => {
                let vc_queue = self.vc_queue(port, vc);
                &mut self.queues[vc_queue]
            }
            SpanList::Input(port) => &mut self.inputs[usize::from(port)],
            SpanList::Output(port) => &mut self.outputs[usize::from(port)],
            SpanList::Wire(port) => &mut self.wires[usize::from(port)],
            SpanList::Holders(port, vc) => {
                let vc_queue = self.vc_queue(port, vc);
                &mut self.holders[vc_queue]
            }
        }
    }

    fn add<J: Journal<InputQueuedWaitTrackerUndo>>(
        &mut self,
        list: SpanList,
        (end, reason, job): (Time, Reason, Option<u16>),
        journal: &mut J,
    ) {
        let step = self.list(list).add(Span { end, reason, job });
        journal.note(|| InputQueuedWaitTrackerUndo::Spans(list, step));
    }

    /// No packet was served from the end of the last span until now.
    fn pause<J: Journal<InputQueuedWaitTrackerUndo>>(&mut self, now: Time, list: SpanList, journal: &mut J) {
        if self.list(list).end() < now {
            self.add(list, (now, Reason::Credits, None), journal);
        }
    }

    /// A packet's head has arrived.
    fn arrived<J: Journal<InputQueuedWaitTrackerUndo>>(&mut self, now: Time, journal: &mut J) {
        *self.present.entry(now).or_default() += 1;
        journal.note(|| InputQueuedWaitTrackerUndo::Came(now));
    }

    fn take_away(&mut self, arrived: Time) {
        if let Some(count) = self.present.get_mut(&arrived) {
            *count -= 1;
            if *count == 0 {
                self.present.remove(&arrived);
            }
        }
    }

    /// A packet starts to cross to its output.
    fn sent<W: WaitOutputs<InputQueuedWaitTrackerUndo>>(
        &mut self,
        now: Time,
        departure: RouterDeparture,
        out: &mut W,
    ) {
        let RouterDeparture {
            input,
            input_vc,
            output,
            output_vc,
            job,
            arrived,
            ready,
            crossing,
            wait,
            serialization,
            ..
        } = departure;
        let queue = SpanList::Queue(input, input_vc);
        // The tail of the previous packet has crossed.
        let first = self.list(queue).end().clamp(ready.min(now), now);
        if ready < first {
            self.list(queue)
                .divide(ready, first, Reason::Queue, |wait| out.waited(wait));
        }
        for list in [
            SpanList::Input(input),
            SpanList::Output(output),
            SpanList::Wire(output),
        ] {
            self.pause(now, list, out);
        }
        let vc_queue = self.vc_queue(output, output_vc);
        let last = self.last[vc_queue];
        self.add(
            SpanList::Holders(output, output_vc),
            (now, Reason::Credits, last),
            out,
        );
        if first < now {
            show(self.parts_at_output(&departure, first, now), first, |wait| {
                out.waited(wait);
            });
        }
        let start = now + wait;
        if wait > Time::ZERO {
            let wire = &self.wires[usize::from(output)];
            wire.divide(now, start, Reason::Wire, |wait| out.waited(wait));
        }
        let (end, left) = (now + crossing, start + serialization);
        self.add(queue, (end, Reason::Queue, Some(job)), out);
        self.add(SpanList::Input(input), (end, Reason::Input, Some(job)), out);
        self.add(SpanList::Output(output), (end, Reason::Wire, Some(job)), out);
        self.add(SpanList::Wire(output), (left, Reason::Wire, Some(job)), out);
        if departure.space.is_some() {
            self.stays[usize::from(output)].push_back(BufferStay {
                from: now,
                until: left,
                bytes: departure.bytes,
            });
            out.note(|| InputQueuedWaitTrackerUndo::Stayed(output));
        }
        if last != Some(job) {
            self.last[vc_queue] = Some(job);
            out.note(|| InputQueuedWaitTrackerUndo::Last(output, output_vc, last));
        }
        self.take_away(arrived);
        out.note(|| InputQueuedWaitTrackerUndo::Left(arrived));
        let oldest = self.present.keys().next().copied().unwrap_or(now);
        for list in [
            queue,
            SpanList::Input(input),
            SpanList::Output(output),
            SpanList::Wire(output),
            SpanList::Holders(output, output_vc),
        ] {
            while let Some(step) = self.list(list).forget(oldest) {
                out.note(|| InputQueuedWaitTrackerUndo::Spans(list, step));
            }
        }
        let stays = &mut self.stays[usize::from(output)];
        while let Some(stay) = stays.front().copied().filter(|stay| stay.until <= oldest) {
            stays.pop_front();
            out.note(|| InputQueuedWaitTrackerUndo::ForgotStay(output, stay));
        }
    }

    /// Divides a span by whether the output buffer had space for a packet. Each part has a start, an end, and whether
    /// it had.
    fn parts_by_space(&self, departure: &RouterDeparture, start: Time, end: Time) -> Vec<(Time, Time, bool)> {
        let Some(space) = departure.space else {
            return vec![(start, end, true)];
        };
        let stays = &self.stays[usize::from(departure.output)];
        let mut changes: Vec<Time> = stays.iter().flat_map(|stay| [stay.from, stay.until]).collect();
        changes.retain(|time| start < *time && *time < end);
        changes.push(end);
        changes.sort_unstable();
        changes.dedup();
        let mut from = start;
        let part = |until| {
            let there = |stay: &&BufferStay| stay.from <= from && from < stay.until;
            let taken: u64 = stays.iter().filter(there).map(|stay| u64::from(stay.bytes)).sum();
            let part = (from, until, taken <= u64::from(space));
            from = until;
            part
        };
        changes.into_iter().map(part).collect()
    }

    /// Parts of the wait of the first packet of a queue, each with its full length.
    fn parts_at_output(
        &self,
        departure: &RouterDeparture,
        start: Time,
        end: Time,
    ) -> Vec<(Reason, Option<u16>, Time)> {
        let mut parts: Vec<(Reason, Option<u16>, Time)> = Vec::new();
        let mut count = |span: Span, length: Time| {
            let part = parts
                .iter_mut()
                .find(|part| (part.0, part.1) == (span.reason, span.job));
            match part {
                Some((_, _, all)) => *all += length,
                None => parts.push((span.reason, span.job, length)),
            }
        };
        let input = &self.inputs[usize::from(departure.input)];
        let holders = &self.holders[self.vc_queue(departure.output, departure.output_vc)];
        let wires = &self.wires[usize::from(departure.output)];
        for (crossed, from, until) in self.outputs[usize::from(departure.output)].within(start, end) {
            if crossed.job.is_some() {
                count(crossed, until - from);
                continue;
            }
            for (of_input, from, until) in input.within(from, until) {
                if of_input.job.is_some() {
                    count(of_input, until - from);
                    continue;
                }
                for (from, until, has_space) in self.parts_by_space(departure, from, until) {
                    let held = if has_space { holders } else { wires };
                    for (held, from, until) in held.within(from, until) {
                        count(held, until - from);
                    }
                }
            }
        }
        parts
    }
}

impl WaitTracker for InputQueuedWaitTracker {
    type Undo = InputQueuedWaitTrackerUndo;
    type Observation = InputQueuedObservation;

    fn change(observation: &InputQueuedObservation) -> Option<WaitingChange> {
        match observation {
            InputQueuedObservation::Arrived => None,
            InputQueuedObservation::Routed => Some(WaitingChange::Began),
            InputQueuedObservation::Crosses(_) => Some(WaitingChange::Ended),
            InputQueuedObservation::Reserved(wait) => Some(WaitingChange::Reserved(*wait)),
        }
    }

    fn new(ports: usize, vcs: u8) -> InputQueuedWaitTracker {
        let vc_queues = ports * usize::from(vcs);
        InputQueuedWaitTracker {
            vcs,
            present: BTreeMap::new(),
            queues: vec![Spans::default(); vc_queues],
            inputs: vec![Spans::default(); ports],
            outputs: vec![Spans::default(); ports],
            wires: vec![Spans::default(); ports],
            stays: vec![VecDeque::new(); ports],
            holders: vec![Spans::default(); vc_queues],
            last: vec![None; vc_queues],
        }
    }

    fn observe<W: WaitOutputs<InputQueuedWaitTrackerUndo>>(
        &mut self,
        now: Time,
        observation: InputQueuedObservation,
        out: &mut W,
    ) {
        match observation {
            InputQueuedObservation::Arrived => self.arrived(now, out),
            // The reasons of a wait follow from the departures.
            InputQueuedObservation::Routed | InputQueuedObservation::Reserved(_) => {}
            InputQueuedObservation::Crosses(departure) => self.sent(now, departure, out),
        }
    }

    fn undo(&mut self, step: InputQueuedWaitTrackerUndo) {
        match step {
            InputQueuedWaitTrackerUndo::Came(arrived) => self.take_away(arrived),
            InputQueuedWaitTrackerUndo::Left(arrived) => *self.present.entry(arrived).or_default() += 1,
            InputQueuedWaitTrackerUndo::Spans(list, step) => self.list(list).undo(step),
            InputQueuedWaitTrackerUndo::Last(port, vc, before) => {
                let vc_queue = self.vc_queue(port, vc);
                self.last[vc_queue] = before;
            }
            InputQueuedWaitTrackerUndo::Stayed(output) => {
                self.stays[usize::from(output)].pop_back();
            }
            InputQueuedWaitTrackerUndo::ForgotStay(output, stay) => {
                self.stays[usize::from(output)].push_front(stay);
            }
        }
    }

    fn fits(&self, other: &InputQueuedWaitTracker) -> bool {
        let size = |wait_tracker: &InputQueuedWaitTracker| {
            let ports = [
                wait_tracker.inputs.len(),
                wait_tracker.outputs.len(),
                wait_tracker.wires.len(),
                wait_tracker.stays.len(),
            ];
            (
                wait_tracker.vcs,
                ports,
                wait_tracker.queues.len(),
                wait_tracker.holders.len(),
                wait_tracker.last.len(),
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

    fn departure((input, input_vc): (u16, u8), output: u16, job: u16, arrived: u64) -> RouterDeparture {
        RouterDeparture {
            input,
            input_vc,
            output,
            output_vc: 0,
            job,
            arrived: Time(arrived),
            ready: Time(arrived),
            crossing: Time(10),
            wait: Time::ZERO,
            serialization: Time(10),
            space: None,
            bytes: 1,
        }
    }

    /// The crossbar is twice as fast as the links. An output buffer holds two packets.
    #[test]
    fn with_a_speedup_packets_wait_for_the_crossbar_the_output_buffer_and_the_link() {
        let (mut wait_tracker, mut out) = (InputQueuedWaitTracker::new(4, 2), Out::default());
        for arrived in [0, 1, 2, 3] {
            wait_tracker.arrived(Time(arrived), &mut out);
        }
        let departure = |input, job, arrived, wait| RouterDeparture {
            crossing: Time(5),
            wait: Time(wait),
            space: Some(1),
            ..departure((input, 0), 3, job, arrived)
        };
        wait_tracker.sent(Time(0), departure(0, 1, 0, 0), &mut out);
        // The crossbar is free at 5, the link at 10.
        wait_tracker.sent(Time(5), departure(1, 2, 1, 5), &mut out);
        // The output buffer has space for a third packet when the first has left the link at 10.
        wait_tracker.sent(Time(10), departure(2, 3, 2, 10), &mut out);
        // Space from 20 on; then it lacks credits until 24. The link carries the third packet until 30.
        wait_tracker.sent(Time(24), departure(0, 4, 3, 6), &mut out);
        assert_eq!(
            shown(out),
            [
                (1, 5, "wire", Some(1)),
                (5, 10, "wire", Some(1)),
                (2, 5, "wire", Some(1)),
                (5, 10, "wire", Some(2)),
                (10, 20, "wire", Some(2)),
                // Behind the first packet in its queue until 5; the crossbar then carries that of job 2, and from 10 to
                // 15 that of job 3. The buffer is full in the rest of the time until 20: job 1, then job 2 has the
                // link.
                (3, 5, "queue", Some(1)),
                (5, 15, "wire", Some(2)),
                (15, 20, "wire", Some(3)),
                (20, 24, "credits", Some(3)),
                (24, 30, "wire", Some(3)),
            ]
        );
        assert!(wait_tracker.present.is_empty());
        assert_eq!(wait_tracker.stays[3].len(), 2, "two packets have not left at 24");
    }

    #[test]
    fn each_part_of_a_wait_has_its_reason() {
        let (mut wait_tracker, mut out) = (InputQueuedWaitTracker::new(3, 2), Out::default());
        for arrived in [0, 1, 2, 3, 4] {
            wait_tracker.arrived(Time(arrived), &mut out);
        }
        wait_tracker.sent(Time(0), departure((0, 0), 2, 1, 0), &mut out);
        // From another input to the same output: waits for the link.
        wait_tracker.sent(Time(10), departure((1, 0), 2, 2, 1), &mut out);
        // Behind the first packet in its queue, to another output.
        wait_tracker.sent(Time(10), departure((0, 0), 1, 3, 2), &mut out);
        // Another VC of the same input, to an output that is free from 20 on and lacks credits until 27.
        wait_tracker.sent(Time(27), departure((0, 1), 2, 4, 3), &mut out);
        // Behind the third packet; its output is free, its input is busy from 27 on.
        wait_tracker.sent(Time(37), departure((0, 0), 0, 5, 4), &mut out);
        assert_eq!(
            shown(out),
            [
                (1, 10, "wire", Some(1)),
                (2, 10, "queue", Some(1)),
                (3, 10, "wire", Some(1)),
                (10, 20, "wire", Some(2)),
                (20, 27, "credits", Some(2)),
                (4, 10, "queue", Some(1)),
                (10, 20, "queue", Some(3)),
                // No packet was sent into this VC of the output.
                (20, 27, "credits", None),
                (27, 37, "input", Some(4)),
            ]
        );
        assert!(wait_tracker.present.is_empty());
    }

    #[derive(Clone, Debug)]
    pub(crate) enum Op {
        Arrived,
        /// Queue, output, job, and whether the crossbar is faster than the link and the output buffer limited.
        Sent((u16, u8), u16, u16, bool),
    }

    impl Reversible for InputQueuedWaitTracker {
        type Op = Op;
        type Step = InputQueuedWaitTrackerUndo;
        type Output = Wait;
        type State = InputQueuedWaitTracker;

        fn fresh() -> InputQueuedWaitTracker {
            InputQueuedWaitTracker::new(2, 2)
        }

        fn apply<const KEPT: bool>(
            &mut self,
            now: Time,
            op: &Op,
            out: &mut UndoRecorder<InputQueuedWaitTrackerUndo, Wait, KEPT>,
        ) {
            match *op {
                Op::Arrived => self.arrived(now, out),
                Op::Sent((input, vc), output, job, faster) => {
                    let Some(arrived) = self.present.keys().next().copied() else {
                        return;
                    };
                    let busy = [
                        SpanList::Input(input),
                        SpanList::Output(output),
                        SpanList::Queue(input, vc),
                    ];
                    if busy.into_iter().any(|list| self.list(list).end() > now) {
                        return;
                    }
                    let before = out.outputs.len();
                    let wait = self.list(SpanList::Wire(output)).end().saturating_sub(now);
                    let departure = RouterDeparture {
                        crossing: if faster { Time(5) } else { wait + Time(10) },
                        wait,
                        space: faster.then_some(1),
                        ..departure((input, vc), output, job, arrived.0)
                    };
                    self.sent(now, departure, out);
                    let mut at = arrived;
                    for part in &out.outputs[before..] {
                        assert_eq!(part.start, at);
                        at = part.end;
                    }
                    assert_eq!(at, now + wait);
                }
            }
        }

        fn undo(&mut self, step: InputQueuedWaitTrackerUndo) {
            WaitTracker::undo(self, step);
        }
        fn state(&self) -> InputQueuedWaitTracker {
            self.clone()
        }
        fn restore(&mut self, state: InputQueuedWaitTracker) -> Result<(), String> {
            *self = state;
            Ok(())
        }
    }

    fn op() -> impl Strategy<Value = Op> {
        prop_oneof![
            1 => Just(Op::Arrived),
            1 => ((0u16..2, 0u8..2), 0u16..2, 0u16..3, any::<bool>())
                .prop_map(|(queue, output, job, faster)| Op::Sent(queue, output, job, faster)),
        ]
    }

    proptest! {
        #[test]
        fn every_input_can_be_undone_and_saved(script in script(op(), 12)) {
            check::<InputQueuedWaitTracker>(&script)?;
        }
    }
}
