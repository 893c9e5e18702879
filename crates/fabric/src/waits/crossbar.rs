//! The wait tracker of the router model `crossbar`.
//!
//! In a first-in first-out queue a packet waits for the packets before it. Then it waits for its part of the crossbar
//! while that carries other packets, otherwise for what holds up its output. At the output it waits for the link while
//! that carries other packets, otherwise for credits.

use std::collections::BTreeMap;

use des::{Journal, Time};
use serde::{Deserialize, Serialize};

use super::{Reason, Span, Spans, SpansUndo, WaitOutputs, WaitTracker, WaitingChange, show};

/// A packet that starts to cross.
#[derive(Clone, Copy, Debug)]
pub struct CrossbarCrossing {
    /// The part of the crossbar that it takes.
    pub server: u16,
    /// Its job.
    pub job: u16,
    /// Input queue: input port, then VC.
    pub queue: u32,
    /// Span until its head crosses.
    pub wait: Time,
    /// Span for which it takes that part.
    pub span: Time,
}

/// A packet that reserves the link of an output.
#[derive(Clone, Copy, Debug)]
pub struct CrossbarDeparture {
    /// The part of the crossbar that it took.
    pub server: u16,
    /// Output port.
    pub output: u16,
    /// VC at the far end of the output.
    pub vc: u8,
    /// Its job.
    pub job: u16,
    /// Input queue: input port, then VC.
    pub queue: u32,
    /// Arrival time of its head.
    pub arrived: Time,
    /// Time from which nothing before it in its queue held it up.
    pub first: Time,
    /// Time at which it could have crossed, not before `first`.
    pub ready: Time,
    /// Time at which it could have departed.
    pub crossed: Time,
    /// Span until it starts onto the link.
    pub wait: Time,
    /// Serialization time.
    pub serialization: Time,
}

/// An observation of a packet in a router of the model `crossbar`.
#[derive(Clone, Copy, Debug)]
pub enum CrossbarObservation {
    /// Its head has arrived.
    Arrived,
    /// It was routed to the output, for which it waits from now on.
    Routed,
    /// It starts to cross.
    Crosses(CrossbarCrossing),
    /// It reserves the link of its output.
    Departs(CrossbarDeparture),
    /// As before, and it waits for this span, longer than 0, until it starts.
    Reserved(Time),
}

/// The wait tracker of the router model `crossbar`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrossbarWaitTracker {
    vcs: u8,
    /// Number of packets in the router by arrival time. Spans are kept back to the earliest.
    present: BTreeMap<Time, u32>,
    /// Holders by input port, then VC: the job of the first packet of the queue.
    queues: Vec<Spans>,
    /// Holders by part of the crossbar: the job whose packet it carried, if any.
    crossings: Vec<Spans>,
    /// Holders by output port: the job whose packet the link carried, if any.
    wires: Vec<Spans>,
    /// Holders by output port, then VC: the job that sent last.
    holders: Vec<Spans>,
    /// The open last span of each list of `holders`.
    last: Vec<Option<u16>>,
}

/// Selects one of the lists of spans.
#[derive(Clone, Copy, Debug)]
pub enum CrossbarSpans {
    /// That of an input queue.
    Queue(u32),
    /// That of a part of the crossbar.
    Crossing(u16),
    /// That of the link of an output port.
    Wire(u16),
    /// That of a VC of an output port, by its index.
    Holders(u32),
}

/// An undo step of a [`CrossbarWaitTracker`].
#[derive(Clone, Copy, Debug)]
pub enum CrossbarWaitTrackerUndo {
    /// A packet came at this time.
    Came(Time),
    /// A packet that had come at this time left.
    Left(Time),
    /// Spans changed.
    Spans(CrossbarSpans, SpansUndo),
    /// The job that sent last into a VC of an output port changed; its previous value.
    Last(u32, Option<u16>),
}

const _: () = assert!(size_of::<CrossbarWaitTrackerUndo>() <= 32);

impl CrossbarWaitTracker {
    fn list(&mut self, list: CrossbarSpans) -> &mut Spans {
        match list {
            CrossbarSpans::Queue(queue) => &mut self.queues[queue as usize],
            CrossbarSpans::Crossing(server) => &mut self.crossings[usize::from(server)],
            CrossbarSpans::Wire(output) => &mut self.wires[usize::from(output)],
            CrossbarSpans::Holders(index) => &mut self.holders[index as usize],
        }
    }

    /// Adds a span that ends after the others.
    fn add<J: Journal<CrossbarWaitTrackerUndo>>(
        &mut self,
        list: CrossbarSpans,
        (end, reason, job): (Time, Reason, Option<u16>),
        journal: &mut J,
    ) {
        if self.list(list).end() < end {
            let step = self.list(list).add(Span { end, reason, job });
            journal.note(|| CrossbarWaitTrackerUndo::Spans(list, step));
        }
    }

    fn came(&mut self, time: Time) {
        *self.present.entry(time).or_default() += 1;
    }

    fn take_away(&mut self, time: Time) {
        if let Some(count) = self.present.get_mut(&time) {
            *count -= 1;
            if *count == 0 {
                self.present.remove(&time);
            }
        }
    }

    fn departs<W: WaitOutputs<CrossbarWaitTrackerUndo>>(
        &mut self,
        now: Time,
        departure: CrossbarDeparture,
        out: &mut W,
    ) {
        let CrossbarDeparture {
            server, output, job, ..
        } = departure;
        let index = u32::from(output) * u32::from(self.vcs) + u32::from(departure.vc);
        let start = now + departure.wait;
        let lists = [
            CrossbarSpans::Queue(departure.queue),
            CrossbarSpans::Crossing(server),
            CrossbarSpans::Wire(output),
            CrossbarSpans::Holders(index),
        ];
        let last = self.last[index as usize];
        for list in &lists[1..3] {
            self.add(*list, (start, Reason::Credits, None), out);
        }
        self.add(lists[3], (start, Reason::Credits, last), out);
        let first = departure.first.clamp(departure.arrived, start);
        if departure.arrived < first {
            self.list(lists[0])
                .divide(departure.arrived, first, Reason::Queue, |wait| out.waited(wait));
        }
        let ready = departure.ready.clamp(first, start);
        if ready < start {
            let parts = self.parts(&departure, index as usize, (ready, start));
            show(parts, ready, |wait| out.waited(wait));
        }
        let until = start + departure.serialization;
        self.add(lists[2], (until, Reason::Wire, Some(job)), out);
        if last != Some(job) {
            self.last[index as usize] = Some(job);
            out.note(|| CrossbarWaitTrackerUndo::Last(index, last));
        }
        self.take_away(departure.arrived);
        out.note(|| CrossbarWaitTrackerUndo::Left(departure.arrived));
        let oldest = self.present.keys().next().copied().unwrap_or(now).min(now);
        for list in lists {
            while let Some(step) = self.list(list).forget(oldest) {
                out.note(|| CrossbarWaitTrackerUndo::Spans(list, step));
            }
        }
    }

    /// Parts of the wait of a packet until it starts onto the link, each with its full length.
    fn parts(
        &self,
        departure: &CrossbarDeparture,
        index: usize,
        (ready, start): (Time, Time),
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
        let at_output = |from: Time, until: Time, count: &mut dyn FnMut(Span, Time)| {
            for (of_wire, from, until) in self.wires[usize::from(departure.output)].within(from, until) {
                if of_wire.job.is_some() {
                    count(of_wire, until - from);
                    continue;
                }
                for (held, from, until) in self.holders[index].within(from, until) {
                    count(held, until - from);
                }
            }
        };
        let crossed = departure.crossed.clamp(ready, start);
        let crossings = &self.crossings[usize::from(departure.server)];
        for (span, from, until) in crossings.within(ready, crossed) {
            match span.job {
                Some(_) => count(span, until - from),
                None => at_output(from, until, &mut count),
            }
        }
        at_output(crossed, start, &mut count);
        parts
    }
}

impl WaitTracker for CrossbarWaitTracker {
    type Undo = CrossbarWaitTrackerUndo;
    type Observation = CrossbarObservation;

    fn change(observation: &CrossbarObservation) -> Option<WaitingChange> {
        match observation {
            CrossbarObservation::Arrived | CrossbarObservation::Crosses(_) => None,
            CrossbarObservation::Routed => Some(WaitingChange::Began),
            CrossbarObservation::Departs(_) => Some(WaitingChange::Ended),
            CrossbarObservation::Reserved(wait) => Some(WaitingChange::Reserved(*wait)),
        }
    }

    fn new(ports: usize, vcs: u8) -> CrossbarWaitTracker {
        let vc_queues = ports * usize::from(vcs);
        CrossbarWaitTracker {
            vcs,
            present: BTreeMap::new(),
            queues: vec![Spans::default(); vc_queues],
            crossings: vec![Spans::default(); ports],
            wires: vec![Spans::default(); ports],
            holders: vec![Spans::default(); vc_queues],
            last: vec![None; vc_queues],
        }
    }

    fn observe<W: WaitOutputs<CrossbarWaitTrackerUndo>>(
        &mut self,
        now: Time,
        observation: CrossbarObservation,
        out: &mut W,
    ) {
        match observation {
            CrossbarObservation::Arrived => {
                self.came(now);
                out.note(|| CrossbarWaitTrackerUndo::Came(now));
            }
            CrossbarObservation::Crosses(crossing) => {
                let list = CrossbarSpans::Crossing(crossing.server);
                let head = now + crossing.wait;
                let queue = CrossbarSpans::Queue(crossing.queue);
                self.add(queue, (head, Reason::Queue, Some(crossing.job)), out);
                self.add(list, (head, Reason::Credits, None), out);
                self.add(
                    list,
                    (head + crossing.span, Reason::Wire, Some(crossing.job)),
                    out,
                );
            }
            CrossbarObservation::Departs(departure) => self.departs(now, departure, out),
            CrossbarObservation::Routed | CrossbarObservation::Reserved(_) => {}
        }
    }

    fn undo(&mut self, step: CrossbarWaitTrackerUndo) {
        match step {
            CrossbarWaitTrackerUndo::Came(time) => self.take_away(time),
            CrossbarWaitTrackerUndo::Left(time) => self.came(time),
            CrossbarWaitTrackerUndo::Spans(list, step) => self.list(list).undo(step),
            CrossbarWaitTrackerUndo::Last(index, before) => self.last[index as usize] = before,
        }
    }

    fn fits(&self, other: &CrossbarWaitTracker) -> bool {
        let size = |tracker: &CrossbarWaitTracker| {
            (
                tracker.vcs,
                [
                    tracker.queues.len(),
                    tracker.crossings.len(),
                    tracker.wires.len(),
                    tracker.holders.len(),
                    tracker.last.len(),
                ],
            )
        };
        size(self) == size(other)
    }
}
