//! What one thread of the optimistic executor holds: events that are pending or not yet certain, with how to
//! take them back.

use std::collections::{HashSet, VecDeque};
use std::ops::Range;

use smallvec::SmallVec;

use super::EventMessage;
use super::pending::Pending;
use crate::commit::Emitted;
use crate::event::{Indexed, Key};
use crate::event_signer::EventSigner;
use crate::slot::Slot;
use crate::{Context, Event, LpId, Model, Partition, Settings, Time};

/// The instance of events that a snapshot brings. Nobody cancels them, but their sources go on to send, and to
/// cancel: what is doomed must not be taken for one of these.
pub(super) const CERTAIN: u32 = 0;

/// An event's place while this thread holds it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EventState {
    /// In the queue.
    Pending,
    /// In the queue, to be thrown away when it comes out.
    Cancelled,
    /// Carried out, not yet certain.
    Processed,
}

#[derive(Clone, Copy)]
struct HeldEvent<P> {
    event: Event<P>,
    instance: u32,
    state: EventState,
}

/// One carrying out of an event: the event's place, that of its log, and a number that no other carrying
/// out has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct ProcessedEvent {
    place: u32,
    log: u32,
    serial: u64,
}

/// An event that was sent, for its cancellation.
#[derive(Clone, Copy)]
pub(super) struct SentEvent {
    pub(super) target: LpId,
    sequence: u32,
    time: Time,
    /// At an LP of this thread its place, at others its instance.
    mark: u32,
}

/// What carrying out an event has done.
struct EventLog<M: Model> {
    serial: u64,
    /// What the LP had carried out before.
    before: Option<ProcessedEvent>,
    draws: u64,
    steps: SmallVec<[M::Undo; 3]>,
    sent: SmallVec<[SentEvent; 3]>,
    records: Vec<M::Record>,
}

impl<M: Model> EventLog<M> {
    fn new() -> Self {
        EventLog {
            serial: 0,
            before: None,
            draws: 0,
            steps: SmallVec::new(),
            sent: SmallVec::new(),
            records: Vec::new(),
        }
    }
}

/// An LP with its past that is not yet certain.
pub(super) struct LpHistory<L> {
    pub(super) slot: Slot<L>,
    /// Events sent so far, those that were cancelled included, and one more, modulo 2^32.
    instance: u32,
    /// Its latest event that is not yet certain.
    pub(super) last: Option<ProcessedEvent>,
    /// The key of that event, or of one before.
    pub(super) last_key: Key,
    pub(super) rollbacks: u32,
}

impl<L> LpHistory<L> {
    pub(super) fn new(slot: Slot<L>) -> Self {
        LpHistory {
            slot,
            instance: CERTAIN + 1,
            last: None,
            last_key: Key::FIRST,
            rollbacks: 0,
        }
    }

    /// Whether an event of this key or a later one has been carried out.
    #[inline]
    pub(super) fn is_past(&self, key: Key) -> bool {
        self.last.is_some() && self.last_key >= key
    }
}

/// The part of a worker that handlers reach through [`Context`].
pub(super) struct WorkerContext<'a, M: Model> {
    pub(super) range: Range<u32>,
    partition: &'a Partition,
    pub(super) signer: EventSigner,
    /// The events that this thread holds, and their free places.
    events: Vec<HeldEvent<M::Payload>>,
    free: Vec<u32>,
    /// Of the events that have been carried out: fewer than are held, so that they stay in the cache.
    logs: Vec<EventLog<M>>,
    free_logs: Vec<u32>,
    queue: Pending,
    /// Events of other threads (source and instance) to be thrown away when they come out of the queue.
    cancelled: HashSet<(LpId, u32)>,
    /// What is not yet certain, in the order of its carrying out; some has been undone.
    processed: VecDeque<ProcessedEvent>,
    /// Whether it may be out of the total order, because an event came late.
    is_disordered: bool,
    /// The key that was last put in.
    newest: Key,
    serials: u64,
    pub(super) outboxes: Vec<Vec<EventMessage<M::Payload>>>,
    pub(super) records: Vec<Emitted<M::Record>>,
    /// Stops that models have asked for, by the event that did; few.
    stops: Vec<(Key, Time)>,
    /// Failures, by event; few.
    failures: Vec<(Key, M::Error)>,
    /// Earliest message sent since the last meeting.
    pub(super) sent: Time,
    pub(super) remote: u64,
    pub(super) anti_messages: u64,
    pub(super) committed: u64,
    pub(super) last_committed: Time,
    /// The event at work.
    key: Key,
    place: u32,
    log: u32,
    instance: u32,
}

impl<M: Model> Context<M> for WorkerContext<'_, M> {
    const REVERSIBLE: bool = true;

    #[inline]
    fn now(&self) -> Time {
        self.key.time
    }
    #[inline]
    fn lp(&self) -> LpId {
        self.signer.lp()
    }
    #[inline]
    fn send(&mut self, target: LpId, delay: Time, payload: M::Payload) {
        let event = self.signer.write(self.key.time, target, delay, payload);
        let instance = self.instance;
        self.instance = instance.wrapping_add(1);
        let mark = if self.range.contains(&target.0) {
            self.hold(event, instance)
        } else {
            self.sent = self.sent.min(event.time);
            self.remote += 1;
            self.outboxes[self.partition.owner(target)].push(EventMessage::Event { event, instance });
            instance
        };
        // What the model's start sends is certain.
        if self.signer.is_in_event() {
            self.logs[self.log as usize].sent.push(SentEvent {
                target,
                sequence: event.sequence,
                time: event.time,
                mark,
            });
        }
    }
    #[inline]
    fn random(&mut self) -> u64 {
        self.signer.draw()
    }
    fn emit(&mut self, record: M::Record) {
        self.signer.may_emit();
        self.logs[self.log as usize].records.push(record);
    }
    #[inline]
    fn undo(&mut self, step: M::Undo) {
        if self.signer.is_in_event() {
            self.logs[self.log as usize].steps.push(step);
        }
    }
    fn stop(&mut self) {
        self.stops.push((self.key, self.signer.stop(self.key.time)));
    }
    fn fail(&mut self, error: M::Error) {
        self.failures.push((self.key, error));
    }
}

impl<'a, M: Model> WorkerContext<'a, M> {
    pub(super) fn new(
        model: &M,
        partition: &'a Partition,
        range: Range<u32>,
        settings: &Settings,
        (begin, stop): (Time, Time),
    ) -> Self {
        WorkerContext {
            range,
            partition,
            signer: EventSigner::new(model.lookahead(), settings),
            events: Vec::new(),
            free: Vec::new(),
            logs: Vec::new(),
            free_logs: Vec::new(),
            queue: Pending::new(Time(model.lookahead().0 / 64)),
            cancelled: HashSet::new(),
            processed: VecDeque::new(),
            is_disordered: false,
            newest: Key::FIRST,
            serials: 0,
            outboxes: (0..partition.parts()).map(|_| Vec::new()).collect(),
            records: Vec::new(),
            // One that a snapshot brings is certain.
            stops: vec![(Key::FIRST, stop)],
            failures: Vec::new(),
            sent: Time::MAX,
            remote: 0,
            anti_messages: 0,
            committed: 0,
            last_committed: begin,
            key: Key::FIRST,
            place: 0,
            log: 0,
            instance: 0,
        }
    }

    /// Takes an event of one of this thread's LPs; returns its place.
    pub(super) fn hold(&mut self, event: Event<M::Payload>, instance: u32) -> u32 {
        let held = HeldEvent {
            event,
            instance,
            state: EventState::Pending,
        };
        let place = match self.free.pop() {
            Some(place) => {
                self.events[place as usize] = held;
                place
            }
            None => {
                assert!(
                    self.events.len() < u32::MAX as usize,
                    "a thread holds more than 2^32 events"
                );
                self.events.push(held);
                (self.events.len() - 1) as u32
            }
        };
        let key = event.key();
        self.queue.push(Indexed { key, index: place });
        place
    }

    /// The first pending event and its place, if it may be carried out: not if a handler has failed before it.
    #[inline]
    pub(super) fn peek(&mut self) -> Option<Indexed> {
        while let Some(first) = self.queue.peek() {
            let held = &self.events[first.index as usize];
            let is_cancelled = held.state == EventState::Cancelled
                || (!self.cancelled.is_empty() && self.cancelled.remove(&(held.event.source, held.instance)));
            if !is_cancelled {
                let failed = self.failures.iter().any(|(failed, _)| *failed < first.key);
                return (!failed).then_some(first);
            }
            self.queue.pop();
            self.free.push(first.index);
        }
        None
    }

    /// Takes the event that [`WorkerContext::peek`] has shown.
    #[inline]
    pub(super) fn pop(&mut self, place: u32) -> Event<M::Payload> {
        self.queue.pop();
        self.events[place as usize].event
    }

    /// Before a handler: lends an LP's counters to the author.
    #[inline]
    pub(super) fn open(&mut self, history: &LpHistory<M::Lp>, lp: LpId) {
        self.signer.open(lp, &history.slot);
        self.instance = history.instance;
    }

    /// Begins the log of an event, which is carried out next.
    #[inline]
    pub(super) fn begin(&mut self, key: Key, place: u32) {
        self.key = key;
        self.place = place;
        self.log = self.free_logs.pop().unwrap_or_else(|| {
            self.logs.push(EventLog::new());
            (self.logs.len() - 1) as u32
        });
    }

    #[inline]
    pub(super) fn close(&self, history: &mut LpHistory<M::Lp>) {
        self.signer.close(&mut history.slot);
        history.instance = self.instance;
    }

    /// After a handler: notes that the event at work has been carried out.
    #[inline]
    pub(super) fn note(&mut self, history: &mut LpHistory<M::Lp>) {
        self.serials += 1;
        let processed_event = ProcessedEvent {
            place: self.place,
            log: self.log,
            serial: self.serials,
        };
        let (draws, _) = self.signer.counters();
        let log = &mut self.logs[self.log as usize];
        log.serial = processed_event.serial;
        log.before = history.last;
        log.draws = draws - history.slot.draws;
        self.close(history);
        history.last = Some(processed_event);
        history.last_key = self.key;
        self.events[self.place as usize].state = EventState::Processed;
        self.is_disordered |= self.key < self.newest;
        self.newest = self.key;
        self.processed.push_back(processed_event);
    }

    /// Undoes an LP's latest event, which is pending again; what it had sent goes to `cancelled`.
    pub(super) fn take_back(
        &mut self,
        model: &M,
        history: &mut LpHistory<M::Lp>,
        processed_event: ProcessedEvent,
        cancelled: &mut Vec<(LpId, SentEvent)>,
    ) {
        let held = &mut self.events[processed_event.place as usize];
        held.state = EventState::Pending;
        let (key, source) = (held.event.key(), held.event.target);
        let log = &mut self.logs[processed_event.log as usize];
        while let Some(step) = log.steps.pop() {
            model.undo(&mut history.slot.lp, step);
        }
        history.slot.draws -= log.draws;
        history.slot.sequence = history.slot.sequence.wrapping_sub(log.sent.len() as u32);
        cancelled.extend(log.sent.drain(..).map(|sent| (source, sent)));
        log.records.clear();
        log.serial = 0;
        self.free_logs.push(processed_event.log);
        // What is certain is gone, and its log may be another's.
        let before = log
            .before
            .filter(|b| self.logs[b.log as usize].serial == b.serial);
        history.last = before;
        history.last_key = before.map_or(Key::FIRST, |b| self.events[b.place as usize].event.key());
        self.stops.retain(|(by, _)| *by != key);
        self.failures.retain(|(by, _)| *by != key);
        self.queue.push(Indexed {
            key,
            index: processed_event.place,
        });
    }

    /// Whether this thread owns an LP.
    pub(super) fn owns(&self, lp: LpId) -> bool {
        self.range.contains(&lp.0)
    }

    /// Whether an event that was sent to an LP of this thread has been carried out.
    pub(super) fn is_processed(&self, sent: &SentEvent) -> bool {
        self.events[sent.mark as usize].state == EventState::Processed
    }

    /// Cancels a pending event that was sent to an LP of this thread.
    pub(super) fn cancel(&mut self, sent: &SentEvent) {
        self.events[sent.mark as usize].state = EventState::Cancelled;
    }

    /// Sends an anti-message.
    pub(super) fn cancel_remote(&mut self, source: LpId, sent: &SentEvent) {
        self.sent = self.sent.min(sent.time);
        self.anti_messages += 1;
        self.outboxes[self.partition.owner(sent.target)].push(EventMessage::Cancelled {
            target: sent.target,
            key: sent.key(source),
            instance: sent.mark,
        });
    }

    /// Throws away a pending event of another thread when it comes out of the queue.
    pub(super) fn mark_cancelled(&mut self, source: LpId, instance: u32) {
        self.cancelled.insert((source, instance));
    }

    /// A time before which no event is left here.
    pub(super) fn next(&mut self) -> Time {
        let next = self.peek().map_or(Time::MAX, |first| first.key.time);
        // After a failure nothing is carried out, and once GVT is past it, it is certain.
        let failed = self.failed();
        next.min(Time(failed.0.saturating_add(1)))
    }

    /// Time of the first failure.
    pub(super) fn failed(&self) -> Time {
        let times = self.failures.iter().map(|(key, _)| key.time);
        times.min().unwrap_or(Time::MAX)
    }

    /// The first failure.
    pub(super) fn into_failure(self) -> Option<(Key, M::Error)> {
        self.failures.into_iter().min_by_key(|(key, _)| *key)
    }

    /// Earliest stop that an event carried out here has asked for.
    pub(super) fn stop(&self) -> Time {
        self.stops
            .iter()
            .map(|(_, stop)| *stop)
            .min()
            .unwrap_or(Time::MAX)
    }

    /// Memory of the events carried out that are not certain; some of them have been undone since.
    pub(super) fn uncertain_bytes(&self) -> usize {
        self.processed.len() * (size_of::<HeldEvent<M::Payload>>() + size_of::<EventLog<M>>())
    }

    /// What has been carried out at `time` or later, latest first.
    pub(super) fn processed_since(&self, time: Time) -> Vec<Event<M::Payload>> {
        let since = self.processed.iter().rev().filter_map(|processed_event| {
            let stands = self.logs[processed_event.log as usize].serial == processed_event.serial;
            stands.then(|| self.events[processed_event.place as usize].event)
        });
        since.filter(|event| event.time >= time).collect()
    }

    /// What lies before `bound` is certain: commits its records and drops its undo steps.
    pub(super) fn commit_before(&mut self, bound: Time) {
        while let Some(processed_event) = self.processed.front().copied()
            && self.commit_if_before(processed_event, bound)
        {
            self.processed.pop_front();
        }
        if std::mem::take(&mut self.is_disordered) {
            let mut rest = std::mem::take(&mut self.processed);
            rest.retain(|processed_event| !self.commit_if_before(*processed_event, bound));
            self.is_disordered = !rest.is_empty();
            self.processed = rest;
        }
    }

    /// Returns false if the deed stands, and is not before `bound`.
    #[inline]
    fn commit_if_before(&mut self, processed_event: ProcessedEvent, bound: Time) -> bool {
        let log = &mut self.logs[processed_event.log as usize];
        if log.serial != processed_event.serial {
            return true;
        }
        let event = &self.events[processed_event.place as usize].event;
        if event.time >= bound {
            return false;
        }
        log.serial = 0;
        log.steps.clear();
        log.sent.clear();
        if !log.records.is_empty() {
            let key = event.key();
            for (index, record) in log.records.drain(..).enumerate() {
                let index = index as u32;
                self.records.push(Emitted { key, index, record });
            }
        }
        self.committed += 1;
        self.last_committed = self.last_committed.max(event.time);
        self.free.push(processed_event.place);
        self.free_logs.push(processed_event.log);
        true
    }

    /// All events that are pending, in no particular order.
    pub(super) fn pending(&self) -> impl Iterator<Item = Event<M::Payload>> + '_ {
        let held = self
            .queue
            .iter()
            .map(|queued| &self.events[queued.index as usize]);
        held.filter(|held| {
            held.state == EventState::Pending && !self.cancelled.contains(&(held.event.source, held.instance))
        })
        .map(|held| held.event)
    }
}

impl SentEvent {
    /// Place of the event in the total order.
    pub(super) fn key(&self, source: LpId) -> Key {
        Key::new(self.time, source, self.sequence)
    }
}
