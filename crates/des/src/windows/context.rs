//! The state of a thread that handlers access in windows whose events are certain.

use std::collections::BinaryHeap;
use std::ops::Range;

use super::Calendar;
use crate::commit::Emitted;
use crate::event::{Head, Indexed, Key};
use crate::event_signer::EventSigner;
use crate::leg::RunLeg;
use crate::lps::LpEntry;
use crate::run::Run;
use crate::snapshot::{SavedLp, SnapshotPart};
use crate::team::{Mail, SnapshotParts};
use crate::{Context, Event, LpId, Model, Observer, Partition, Tally, TallyStep, Time};

/// The part of a worker that handlers access through [`Context`], where nothing is undone. `T`: a message to another
/// thread.
pub(crate) struct WindowContext<'a, M: Model, T> {
    /// The LPs of the thread.
    pub(crate) range: Range<u32>,
    partition: &'a Partition,
    pub(crate) signer: EventSigner,
    pub(crate) calendar: Calendar<M::Payload>,
    /// Events that the current LP sent itself within the current window.
    soon: BinaryHeap<Indexed>,
    soon_events: Vec<Event<M::Payload>>,
    /// Messages by part.
    pub(crate) outboxes: Vec<Vec<T>>,
    /// Events of windows that were taken, at or after the end of the run.
    pub(crate) leftover: Vec<Event<M::Payload>>,
    pub(crate) records: Vec<Emitted<M::Record>>,
    /// The first failure.
    pub(crate) failure: Option<(Key, M::Error)>,
    /// The earliest stop.
    pub(crate) stop: Time,
    /// Events sent to other threads.
    pub(crate) remote: u64,
    /// Time of the earliest message since the last synchronisation.
    pub(crate) sent: Time,
    /// Start and end of the window that was taken last.
    window: Range<Time>,
    /// Key of the current event.
    pub(crate) key: Key,
    emitted: u32,
    pub(crate) tally: M::Tally,
}

impl<'a, M: Model, T: Mail + From<Event<M::Payload>>> WindowContext<'a, M, T> {
    /// The context of a part, before the model starts.
    pub(crate) fn new(run: &Run<'a, M>, leg: &RunLeg<M>, part: usize) -> Self {
        let (model, partition) = (run.model, &run.settings.partition);
        let range = partition.range(part);
        WindowContext {
            calendar: Calendar::new(model.lookahead(), &range),
            range,
            partition,
            signer: EventSigner::new(model.lookahead(), run.settings),
            soon: BinaryHeap::new(),
            soon_events: Vec::new(),
            outboxes: (0..partition.parts()).map(|_| Vec::new()).collect(),
            leftover: Vec::new(),
            records: Vec::new(),
            failure: None,
            stop: leg.stop,
            remote: 0,
            sent: Time::MAX,
            window: Time::ZERO..Time::ZERO,
            key: Key::FIRST,
            emitted: 0,
            tally: model.tally(),
        }
    }

    /// Creates the LPs and the first events, from the model's start or from the snapshot, or takes what the leg before
    /// has left.
    ///
    /// # Errors
    /// The snapshot is not one of the model.
    pub(crate) fn begin(
        &mut self,
        run: &Run<'_, M>,
        leg: &RunLeg<M>,
        part: usize,
    ) -> Result<Vec<LpEntry<M::Lp>>, String> {
        if let Some((entries, pending)) = leg.take(part) {
            self.calendar.begin_at(leg.next);
            let mine = pending
                .iter()
                .flatten()
                .filter(|event| self.range.contains(&event.target.0));
            mine.for_each(|event| self.calendar.add(*event));
            self.signer.begin_events();
            return Ok(entries);
        }
        let mut entries = run.entries(self.range.clone())?;
        match run.from {
            Some(snapshot) => {
                let range = &self.range;
                // Other threads send no event before the first of all.
                let times = snapshot.pending.iter().map(|event| event.time);
                self.calendar.begin_at(times.min().unwrap_or(Time::ZERO));
                let mine = snapshot.pending.iter().filter(|e| range.contains(&e.target.0));
                mine.for_each(|event| self.calendar.add(*event));
            }
            None => {
                for (lp, entry) in self.range.clone().zip(&mut entries) {
                    self.signer.open(LpId(lp), entry);
                    run.model.start(&mut entry.lp, self);
                    self.signer.close(entry);
                }
            }
        }
        self.signer.begin_events();
        Ok(entries)
    }

    /// Whether an LP belongs to this thread.
    #[inline]
    pub(crate) fn owns(&self, lp: LpId) -> bool {
        self.range.contains(&lp.0)
    }

    /// Position of an LP of this thread.
    #[inline]
    pub(crate) fn local(&self, lp: LpId) -> usize {
        (lp.0 - self.range.start) as usize
    }

    /// Notes the window that was taken, and returns its start.
    pub(crate) fn open_window(&mut self, time: Time) -> Time {
        let (start, end) = self.calendar.bounds(time);
        self.window = start..end;
        start
    }

    /// End of the window that was taken last.
    pub(crate) fn window_end(&self) -> Time {
        self.window.end
    }

    /// A lower bound of the times of all pending events of the thread, and of its messages since the last
    /// synchronisation.
    pub(crate) fn next(&self) -> Time {
        self.calendar.next().min(self.sent)
    }

    /// Time of the first failure.
    pub(crate) fn failed(&self) -> Time {
        self.failure.as_ref().map_or(Time::MAX, |(key, _)| key.time)
    }

    /// All pending events, in no particular order.
    pub(crate) fn pending(&self) -> impl Iterator<Item = Event<M::Payload>> + '_ {
        self.calendar.events().chain(self.leftover.iter().copied())
    }

    /// All pending events at the end of the run. At the end of a leg they are left to the next one.
    pub(crate) fn end(&mut self, model: &M, leg: &RunLeg<M>) -> Vec<Event<M::Payload>> {
        if leg.paused().is_none() {
            return self.pending().collect();
        }
        let empty = Calendar::new(model.lookahead(), &self.range);
        let mut events = std::mem::replace(&mut self.calendar, empty).into_lists();
        events.push(std::mem::take(&mut self.leftover));
        leg.leave(events);
        Vec::new()
    }

    /// Adds the part of this thread to a snapshot.
    pub(crate) fn share_snapshot(&self, model: &M, entries: &[LpEntry<M::Lp>], parts: &SnapshotParts<M>) {
        let part = SnapshotPart {
            first: self.range.start,
            lps: entries.iter().map(|entry| SavedLp::new(model, entry)).collect(),
            pending: self.pending().collect(),
        };
        parts
            .lock()
            .expect("no worker panics while it appends")
            .push(part);
    }

    /// Passes on the tally: to the observer, or as records if another thread has it. They have no place in the total
    /// order.
    pub(crate) fn drain_tally(&mut self, observer: &mut Option<&mut dyn Observer<M>>) {
        if let Some(observer) = observer {
            return self
                .tally
                .drain(&mut |record| observer.commit(Time::ZERO, record));
        }
        let mut index = 0;
        self.tally.drain(&mut |record| {
            let key = Key::FIRST;
            self.records.push(Emitted { key, index, record });
            index += 1;
        });
    }

    /// Begins an event.
    #[inline(always)]
    pub(crate) fn begin_event(&mut self, key: Key) {
        self.key = key;
        self.emitted = 0;
    }

    /// Takes an event that was sent to where it waits.
    #[inline(always)]
    pub(crate) fn deliver(&mut self, head: Head, payload: M::Payload) {
        if head.time < self.window.end {
            self.send_soon(head.event(payload));
        } else if self.range.contains(&head.target.0) {
            self.calendar.push(head, payload);
        } else {
            self.send_away(head.event(payload));
        }
    }

    /// An event in the current window. Before the end of the run, only the sending LP can receive one.
    #[inline(never)]
    fn send_soon(&mut self, event: Event<M::Payload>) {
        if event.target == self.signer.lp() {
            self.add_soon(event);
        } else {
            self.leftover.push(event);
        }
    }

    /// Adds an event to those that the current LP executes in the current window.
    pub(crate) fn add_soon(&mut self, event: Event<M::Payload>) {
        self.soon.push(Indexed {
            key: event.key(),
            index: self.soon_events.len() as u32,
        });
        self.soon_events.push(event);
    }

    /// An event for another worker's LP.
    #[inline(never)]
    fn send_away(&mut self, event: Event<M::Payload>) {
        self.remote += 1;
        self.post(event.target, event.time, event.into());
    }

    /// A message to the worker of an LP.
    pub(crate) fn post(&mut self, target: LpId, time: Time, message: T) {
        self.sent = self.sent.min(time);
        self.outboxes[self.partition.owner(target)].push(message);
    }

    /// Executes planned events of the open LP, and those that it sends itself for this window, in the total order.
    #[inline(always)]
    pub(crate) fn in_order<'e>(
        &mut self,
        planned: impl Iterator<Item = &'e Event<M::Payload>>,
        mut execute: impl FnMut(&mut Self, &Event<M::Payload>),
    ) where
        M: 'e,
    {
        let mut planned = planned;
        let mut next = planned.next();
        loop {
            match next {
                Some(event) if self.soon.peek().is_none_or(|soon| event.key() < soon.key) => {
                    execute(self, event);
                    next = planned.next();
                }
                _ => match self.soon.pop() {
                    Some(soon) => {
                        let event = self.soon_events[soon.index as usize];
                        execute(self, &event);
                    }
                    None => break,
                },
            }
        }
        self.soon_events.clear();
    }
}

impl<M: Model, T: Mail + From<Event<M::Payload>>> Context<M> for WindowContext<'_, M, T> {
    const REVERSIBLE: bool = false;

    #[inline]
    fn now(&self) -> Time {
        self.key.time
    }
    #[inline]
    fn lp(&self) -> LpId {
        self.signer.lp()
    }
    #[inline(always)]
    fn send(&mut self, target: LpId, delay: Time, payload: M::Payload) {
        let head = self.signer.sign(self.key.time, target, delay);
        self.deliver(head, payload);
    }
    #[inline]
    fn random(&mut self) -> u64 {
        self.signer.draw()
    }
    fn emit(&mut self, record: M::Record) {
        self.signer.may_emit();
        self.records.push(Emitted {
            key: self.key,
            index: self.emitted,
            record,
        });
        self.emitted += 1;
    }
    // Inlined, since the kind of step is known where it is made.
    #[inline(always)]
    fn tally(&mut self, step: TallyStep<M>) {
        self.tally.add(self.key.time, step);
    }
    #[inline(always)]
    fn certain_tally(&mut self) -> Option<&mut M::Tally> {
        Some(&mut self.tally)
    }
    #[inline]
    fn undo(&mut self, _: M::Undo) {}
    fn stop(&mut self) {
        self.stop = self.stop.min(self.signer.stop(self.key.time));
    }
    fn fail(&mut self, error: M::Error) {
        if self.failure.as_ref().is_none_or(|(first, _)| self.key < *first) {
            self.failure = Some((self.key, error));
        }
    }
}
